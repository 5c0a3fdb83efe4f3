"""A URL server written from document 003 alone, to try a spider with; and both sides of a doc index, from
doc/protocols/docindex.md alone: the part that takes results, and one who borrows URLs and brings results.

    with Urlserver(path) as us:                 # a Unix socket, or (host, port)
        us.send("1.1", "doc-1", "127.10.0.1", "http://h0.sim.test:8000/")
        us.wait_done("1.1")                     # us.done: TRANS_ID to what follows DONE
"""
import collections
import hashlib
import socket
import threading

from garner import wait_for


def connect(where):
    s = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
    s.settimeout(60)
    s.connect(where)
    return s


class Urlserver:
    def __init__(self, where, reads=True):
        self.socket = connect(where)
        self.done, self.working, self.strange = {}, collections.Counter(), []
        self.closed = False
        if reads:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for line in self.socket.makefile("rb"):
                self._heard(line)
        except OSError:
            pass
        self.closed = True

    def _heard(self, line):
        words = line.decode("ascii", "replace").split(" ")
        if not line.endswith(b"\n"):
            self.strange.append(line)
        elif words[1:] == ["WORKING\n"]:
            self.working[words[0]] += 1
        elif len(words) in (2, 3) and words[1].strip() == "DONE" and words[0] not in self.done:
            self.done[words[0]] = words[2].strip() if len(words) == 3 else ""
        else:
            self.strange.append(line)

    def raw(self, data):
        self.socket.sendall(data)

    def send(self, trans, doc, ip, url):
        self.raw(f"{trans} {doc} {ip} {url}\n".encode())

    def wait_done(self, *trans, seconds=30):
        wait_for(f"DONE of {trans[:5]}", lambda: set(trans) <= set(self.done), seconds)

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class DocIndex:
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
