"""Someone who asks the queuer of an archive, written after doc/protocols/archie-queue.md: a socket and messages.

    q = Asker(g)
    q.find("zebrawood", "exact")["rows"]      # the answer of one request
    n = q.ask(type="regex", pattern=".*")     # or its number, for later: q.wait(n), q.cancel(n)

Those to be killed are found by searchers(g); with stopped(g) whatever is asked waits."""
import contextlib
import os
import signal
import socket
import subprocess
from pathlib import Path

from garner import BUILD, Result, wait_for
from message import attributes, message, read_message, unpack

# What is promised to those who ask after a kill: an answer, and a whole service. The long run keeps to it; in
# `make test` the machine may be busy with others.
ANSWER_S, WHOLE_S = (4, 2) if os.environ.get("TEST_LONG") == "1" else (20, 20)


def request(what="find", type="sub", pattern="", frm="", hits=100, offset=0, ed=False, sites=(), domains=(), inside=()):
    def coded(t):
        return (t if isinstance(t, bytes) else t.encode()) or None

    def texts(names):
        return [{"is": coded(n) or b""} for n in names]
    return attributes({"what": what, "from": coded(frm), "type": type, "syntax": "ed" if ed else None,
                       "pattern": coded(pattern), "maxhits": hits or None, "offset": offset or None,
                       "sites": texts(sites), "domains": texts(domains), "components": texts(inside)})


KINDS = ["file", "dir", "link", "other"]
SITE = [("key", "bytes"), ("host", "bytes"), ("address", "bytes"), ("url", "bytes"), ("listed", "signed"),
        ("entries", "signed")]
ROW = [("name", "bytes"), ("site", "number"), ("kind", "word"), ("mode", "bytes"), ("same", "flag"), ("dir", "bytes"),
       ("size", "signed"), ("time", "signed"), ("links", "signed"), ("owner", "bytes"), ("group", "bytes"),
       ("mirrors", "number"), ("no-url", "flag"), ("text", "bytes")]


def answer(said):
    """What the rows of an answer say, each with its site."""
    rows, folder = [], ""
    sites = [{"key": s["key"], "host": s.get("host", ""), "address": s.get("address", ""), "root": s.get("url", ""),
              "listed": s.get("listed", -1), "entries": s.get("entries", -1)}
             for s in unpack(SITE, said.get("sites", b""))]
    for told in unpack(ROW, said.get("rows", b"")):
        folder = folder if told.get("same") else told.get("dir", "")
        row = dict(sites[told["site"] - 1]) if "site" in told else {}
        row.update(name=told["name"], dir=folder, kind=KINDS[told.get("kind", 0)], text=told.get("text", ""),
                   mirrors=told.get("mirrors", 0), size=told.get("size", -1), time=told.get("time", -1))
        row.update({k: told[k] for k in ("mode", "owner", "group", "links") if k in told})
        rows.append(row)
    return rows


class Gone(Exception):
    """The queuer hung up."""


class Asker:
    def __init__(self, g, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(str(g.data / "run" / "archie"))
        self.file, self.n, self.ended, self.places = self.socket.makefile("rb"), 0, {}, {}
        self.decodes = True     # rows are looked at
        assert self.read() == ("archie", {"version": "2"})

    def close(self):
        self.file.close()
        self.socket.close()

    def read(self):
        try:
            name, said = read_message(self.file, lists={"sites", "rows"})
        except (ConnectionError, AssertionError, ValueError):
            name = None
        if not name:
            raise Gone
        return name, said

    def say(self, data):
        try:
            self.socket.sendall(data if isinstance(data, bytes) else data.encode())
        except ConnectionError:
            raise Gone from None

    def ask(self, nice=0, verbose=False, **how):
        self.n += 1
        self.say(message("ask", pid=os.getpid(), number=self.n, niceness=nice, verbose=verbose, request=request(**how)))
        return self.n

    def cancel(self, n):
        self.say(message("cancel", pid=os.getpid(), number=n))

    def hear(self):
        """One message of the queuer; what it is about: a number, or the load."""
        word, said = self.read()
        if word == "loaded":
            return {"queue": int(said["queue"]), "wait_us": int(said["wait"]), "per_1000_s": int(said["per-1000s"])}
        n = int(said["number"])
        assert int(said["pid"]) == os.getpid(), said
        if word == "queued":
            self.places.setdefault(n, []).append((int(said["position"]), int(said["seconds"])))
        elif word == "refused":
            self.ended[n] = {"why": said["why"], "said": said.get("text", "")}
        else:
            assert word == "answer", word
            self.ended[n] = {"why": "", "wait_us": int(said.get("wait", 0)), "cut": "cut" in said, "exact": "exact" in said,
                             "total": int(said.get("total", 0)), "search_us": int(said.get("search", 0)),
                             "problem": said.get("problem", "")}
            if self.decodes:
                self.ended[n]["rows"] = answer(said)
        return n

    def wait(self, n):
        while n not in self.ended:
            self.hear()
        return self.ended.pop(n)

    def find(self, pattern, type="sub", **how):
        return self.wait(self.ask(pattern=pattern, type=type, **how))

    def load(self):
        self.say(message("load"))
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
