"""Someone who asks the queuer of an archive, written after doc/protocols/archie-queue.md: a socket, lines and blocks.

    q = Asker(g)
    q.find("zebrawood", "exact")["rows"]      # the answer of one request
    n = q.ask(type="regex", pattern=".*")     # or its number, for later: q.wait(n), q.cancel(n)

Those to be killed are found by searchers(g); with stopped(g) whatever is asked waits."""
import contextlib
import os
import signal
import socket
import struct
import subprocess
from pathlib import Path

from garner import BUILD, Result, wait_for

WHATS = ["find", "whatis", "sites", "site", "folder"]
TYPES = ["exact", "sub", "subcase", "regex", "exact_sub", "exact_subcase", "exact_regex"]
KINDS = ["file", "dir", "link", "other"]
MODE, SAME_DIR, MORE, MIRRORS = 4, 8, 16, 32
# What is promised to those who ask after a kill: an answer, and a whole service. The long run keeps to it; in
# `make test` the machine may be busy with others.
ANSWER_S, WHOLE_S = (4, 2) if os.environ.get("TEST_LONG") == "1" else (20, 20)


def number(v):
    out = b""
    while v >= 128:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def text(t):
    t = t if isinstance(t, bytes) else t.encode()
    return number(len(t)) + t


def request(what="find", type="sub", pattern="", frm="", hits=100, offset=0, ed=False, sites=(), domains=(), inside=()):
    out = number(WHATS.index(what)) + text(frm) + number(TYPES.index(type)) + number(ed) + text(pattern)
    out += number(0) * 3                                # bits, kinds, sort
    out += number(hits) + number(0) + number(0) + number(offset)
    out += number(0) * 4                                # sizes and times
    for names in (sites, domains, inside):
        out += number(len(names)) + b"".join(map(text, names))
    return out


class Block:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        assert self.at + n <= len(self.data)
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self):
        v = shift = 0
        while True:
            c = self.take(1)[0]
            v |= (c & 127) << shift
            shift += 7
            if c < 128:
                return v

    def signed(self):
        v = self.number()
        return v >> 1 ^ -(v & 1)

    def text(self):
        return self.take(self.number()).decode(errors="surrogateescape")

    def row(self, sites, dirs):
        n = self.number()
        if n > len(sites):
            assert n == len(sites) + 1
            sites.append({k: self.text() for k in ("key", "host", "address", "root")})
            sites[-1].update(listed=self.signed(), entries=self.signed())
        row = dict(sites[n - 1]) if n else {}
        bits = self.take(1)[0]
        row["kind"] = KINDS[bits & 3]
        if bits & MODE:
            row["mode"] = self.take(10).decode()
        row["name"] = self.text()
        if not bits & SAME_DIR:
            dirs[0] = self.text()
        row.update(dir=dirs[0], size=self.signed(), time=self.signed())
        if bits & MORE:
            row.update(links=self.signed(), owner=self.text(), group=self.text())
        row["mirrors"] = self.number() if bits & MIRRORS else 0
        row["text"] = self.text()
        return row

    def answer(self):
        n, = struct.unpack("<I", self.take(4))
        what, sites, dirs = WHATS[self.number()], [], [""]
        rows = [self.row(sites, dirs) for _ in range(n)]
        bits = self.number()
        return {"what": what, "rows": rows, "exact": bool(bits & 1), "cut": bool(bits & 2), "total": self.number(),
                "search_us": self.number(), "problem": self.text()}


class Gone(Exception):
    """The queuer hung up."""


class Asker:
    def __init__(self, g, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(str(g.data / "run" / "archie"))
        self.held, self.n, self.ended, self.places = bytearray(), 0, {}, {}
        self.decodes = True     # rows are looked at
        assert self.line() == "ARCHIE 1"

    def close(self):
        self.socket.close()

    def more(self):
        try:
            got = self.socket.recv(1 << 16)
        except ConnectionError:
            got = b""
        if not got:
            raise Gone
        self.held += got

    def line(self):
        while b"\n" not in self.held:
            self.more()
        return bytes(self.take(self.held.index(b"\n") + 1)[:-1]).decode()

    def block(self, n):
        while len(self.held) < n:
            self.more()
        return self.take(n)

    def take(self, n):
        data = bytes(self.held[:n])
        del self.held[:n]
        return data

    def say(self, data):
        try:
            self.socket.sendall(data if isinstance(data, bytes) else data.encode())
        except ConnectionError:
            raise Gone from None

    def ask(self, nice=0, verbose=False, **how):
        self.n += 1
        block = request(**how)
        self.say(f"ASK {os.getpid()}.{self.n} {nice} {int(verbose)} {len(block)}\n".encode() + block)
        return self.n

    def cancel(self, n):
        self.say(f"CANCEL {os.getpid()}.{n}\n")

    def hear(self):
        """One line of the queuer, with its block; what it is about: a number, or the load."""
        word, *rest = self.line().split(" ")
        if word == "LOAD":
            return dict(zip(("queue", "wait_us", "per_1000_s"), map(int, rest)))
        pid, _, n = rest[0].partition(".")
        n = int(n)
        assert int(pid) == os.getpid(), rest
        if word == "QUEUED":
            self.places.setdefault(n, []).append((int(rest[1]), int(rest[2])))
        elif word == "REFUSED":
            self.ended[n] = {"why": rest[1], "said": " ".join(rest[2:])}
        else:
            assert word == "ANSWER", word
            block = self.block(int(rest[3]))
            self.ended[n] = {"why": "", "wait_us": int(rest[1]), "cut": rest[2] == "1"}
            if self.decodes:
                self.ended[n].update(Block(block).answer())
                assert self.ended[n]["cut"] == (rest[2] == "1")
        return n

    def wait(self, n):
        while n not in self.ended:
            self.hear()
        return self.ended.pop(n)

    def find(self, pattern, type="sub", **how):
        return self.wait(self.ask(pattern=pattern, type=type, **how))

    def load(self):
        self.say("LOAD\n")
        while not isinstance(got := self.hear(), dict):
            pass
        return got


def ask(g, *options, timeout=60):
    """The door of archie.h: build/tests/archie-ask. Result.out has a JSON object on each line."""
    command = [str(BUILD / "tests" / "archie-ask"), str(g.data), *options]
    done = subprocess.run(command, env=g.env, capture_output=True, text=True, errors="replace", timeout=timeout,
                          stdin=subprocess.DEVNULL)
    return Result(command, done.returncode, done.stdout, done.stderr)


def queuer_pid(g):
    try:
        return int((g.data / "archie" / "queuer.pid").read_text())
    except (OSError, ValueError):
        return None


def searchers(g):
    """Their pids, the one that takes cheap requests among them."""
    pid = queuer_pid(g)
    try:
        return sorted(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


@contextlib.contextmanager
def stopped(g):
    """Searchers that get no CPU: what is asked meanwhile waits."""
    wait_for("searchers", lambda: len(searchers(g)) == 2)
    pids = searchers(g)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def listing(files, name="file{}.txt", folder=5000):
    """ls -lR of so many files, in folders of at most so many."""
    folders = (files + folder - 1) // folder
    out = [".:"] + [f"drwxr-xr-x 2 root wheel 512 Jan  5  1994 d{d}" for d in range(folders)]
    for d in range(folders):
        out += ["", f"./d{d}:"]
        out += [f"-rw-r--r-- 1 anna users {i + 1} Feb 28  1995 {name.format(i)}"
                for i in range(d * folder, min((d + 1) * folder, files))]
    return "\n".join(out) + "\n"


def build(g, text, key="ftp.example.test-192.0.2.1"):
    path = g.dir / "ls-lR"
    path.write_text(text)
    done = g.run("archie", "build", "--site", key, path)
    assert done.code == 0, done
