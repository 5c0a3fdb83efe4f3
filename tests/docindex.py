"""Both sides of a doc index, written from doc/protocols/docindex.md: one that lends URLs and keeps what became
of them, one that takes results, and one who borrows URLs and brings results."""
import collections
import hashlib
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


class Results:
    """Takes HELLO and RESULT; `results` are (doc_id, {letter: value}, body). Answers OK while `answers`, and
    hangs up on who says HELLO while not `greets`."""

    def __init__(self, path):
        self.results, self.names, self.conns = [], [], []
        self.answers = self.greets = True
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.socket.accept()
            except OSError:
                return
            self.conns.append(conn)
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        stream = conn.makefile("rb")
        try:
            for line in stream:
                words = line.decode().split()
                if words[0] == "HELLO":
                    self.names.append(words[1])
                    if not self.greets:
                        conn.shutdown(socket.SHUT_RDWR)
                        return
                    conn.sendall(b"OK\n")
                    continue
                assert words[0] == "RESULT", line
                head = stream.read(int(words[2])).decode()
                body = stream.read(int(words[3]))
                self.results.append((words[1], {a[0]: a[1:] for a in head.splitlines()}, body))
                if self.answers:
                    conn.sendall(b"OK\n")
        except (OSError, ValueError, IndexError):
            pass

    def hang_up(self):
        for conn in self.conns:
            try:
                conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.conns.clear()

    def close(self):
        self.socket.close()
        self.hang_up()


class Borrower:
    """Borrows from a doc index, and fetches itself: b.want(10) -> {doc_id: url}; b.result(doc, url)."""

    def __init__(self, where, name=None):
        self.socket = connect(where)
        self.stream = self.socket.makefile("rb")
        if name:
            assert self.ask(f"HELLO {name}") == "OK"

    def say(self, text, more=b""):
        self.socket.sendall(text.encode() + b"\n" + more)

    def hear(self):
        return self.stream.readline().decode().rstrip("\n")

    def ask(self, text, more=b""):
        self.say(text, more)
        return self.hear()

    def want(self, count, rejects=()):
        words = self.ask("\n".join([f"WANT {count} {len(rejects)}", *rejects])).split()
        assert words[0] == "HAVE", words
        return dict(self.hear().split(" ") for _ in range(int(words[1])))

    def result(self, doc, body, outcome="ok", status=200, more=()):
        """What is said of a page of HTML; not yet heard."""
        body = body if outcome == "ok" else b""
        head = "".join(line + "\n" for line in (
            f"o{outcome}", "canswer", f"s{status}", f"b{len(body)}", "C" + hashlib.md5(body).hexdigest(),
            "Ttext/html", "Eutf-8", "g1000", "t1000", *more)).encode()
        self.say(f"RESULT {doc} {len(head)} {len(body)}", head + body)

    def close(self):
        self.stream.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
