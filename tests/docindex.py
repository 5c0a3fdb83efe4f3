"""A doc index, written from doc/protocols/docindex.md: it lends URLs and keeps what became of them."""
import collections
import socket
import threading


def connect(where):
    s = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
    s.settimeout(60)
    s.connect(where)
    return s


class DocIndex:
    """Lends by name. `outcomes` has, by DOC_ID, all outcomes that were reported; cut() ends the connections."""

    def __init__(self, urls):
        self.urls = dict(enumerate(urls, 1))
        self.lent, self.names = {}, []  # DOC_ID to NAME; NAMEs that said HELLO
        self.outcomes = collections.defaultdict(list)
        self.rejects = []  # of each WANT
        self.lock = threading.Lock()
        self.conns = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            self.conns.add(conn)
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        name = None
        try:
            with conn.makefile("rb") as lines:
                for line in lines:
                    verb, *args = line.decode().rstrip("\n").split(" ")
                    with self.lock:
                        if verb == "HELLO" and not name:
                            name = args[0]
                            self.names.append(name)
                            self.lent = {d: n for d, n in self.lent.items() if n != name}
                            answer = "OK\n"
                        elif verb == "WANT" and name:
                            rejected = {next(lines).decode().strip() for _ in range(int(args[1]))}
                            self.rejects.append(rejected)
                            answer = self._lend(name, int(args[0]), rejected)
                        elif verb == "DONE" and name:
                            self.outcomes[int(args[0])].append(args[1])
                            self.lent.pop(int(args[0]), None)
                            answer = "OK\n"
                        else:
                            answer = "ERROR what?\n"
                    conn.sendall(answer.encode())
        except OSError:
            pass
        self.conns.discard(conn)

    def _lend(self, name, count, rejected):
        free = [d for d, u in self.urls.items() if d not in self.lent and d not in self.outcomes
                and u.split("/")[2].split(":")[0] not in rejected][:min(count, 20)]
        self.lent.update(dict.fromkeys(free, name))
        return f"HAVE {len(free)}{'' if free else ' 1'}\n" + "".join(f"{d} {self.urls[d]}\n" for d in free)

    def cut(self):
        for conn in list(self.conns):
            try:
                conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()
