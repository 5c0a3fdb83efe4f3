"""The broker's port as its clients see it: a broker with objects, requests, and answers taken apart
strictly, by the document's result codes."""
import collections
import itertools
import os
import re
import signal
import socket
import struct
import time
from pathlib import Path

from garner import wait_for
from gatherd import soif

BANNER = re.compile(rb"200 - [^\n]*Broker[^\n]*\n")
NOW = int(time.time())
PASSWORD = "open-sesame"
UNREAD = 60  # seconds that a client waits for the next byte
# What it finds has no letter of its own and is not within one word, so that all text is read.
HEAVY = '#USER #END full-text regexp "[a-f][.][0-9]"'
LARGE = "0123456789abcdef.\n" * 8000


def large_objects(n):
    """Some megabytes, so that an answer does not fit into the buffers of a connection, and a small one."""
    return {**{f"http://large.test/{i}": {"Title": f"walnut {i}", "Full-Text": f"{i}\n{LARGE}"} for i in range(n)},
            "http://small.test/": {"Full-Text": "almond"}}


def with_identity(attributes):
    """What a gatherer tells of an object; a text alone is its title and its text."""
    if isinstance(attributes, str):
        attributes = {"Title": attributes, "Full-Text": attributes}
    return {"Gatherer-Name": "local", "Gatherer-Host": "here", "Gatherer-Version": "1",
            "Update-Time": NOW, **attributes}


class Broker:
    """A broker, alone or below `garner up`, that follows a folder of SOIF files. It serves on a port
    of its own choice; the pages have a name that nobody listens on. points: its Collection.conf."""

    def __init__(self, garner, objects=None, more="", up=False, password=None, start=True, env=None, points=""):
        line = f"password = {password}\n" if password else ""
        roles = "[up]\nroles = broker\nrestart_min = 10ms\nrestart_max = 200ms\n" if up else ""
        self.g = garner(config=f"{roles}[web]\nurl = http://pages.test/\n[broker]\nlisten = 127.0.0.1:0\n"
                               f"sources = soif:in\n{line}{more}")
        (self.g.data / "in").mkdir(parents=True)
        if points:
            (self.g.data / "broker").mkdir()
            (self.g.data / "broker/Collection.conf").write_text(points)
        self.up, self.files, self.env = up, itertools.count(1), env
        self.put(objects or {})
        self.process = self.address = None
        if start:
            self.start()
            self.until_objects(len(objects or {}))

    def put(self, objects, section=None):
        """Objects as a file of the folder; all of them in a section (DELETE, REFRESH), if one is
        named."""
        if not objects:
            return
        text = b"".join(soif(url, with_identity(attributes)) for url, attributes in objects.items())
        if section:
            text = f"@{section} {{\n".encode() + text + b"}\n"
        name = self.g.data / "in" / f"{next(self.files)}.soif"
        name.with_suffix(".new").write_bytes(text)
        name.with_suffix(".new").rename(name)

    def start(self, *flags):
        self.process = self.g.start("up" if self.up else "broker", *flags, env=self.env).wait_ready()
        said = (r"garner is up.*broker on " if self.up else r"listening setting=listen address=") + r"([\d.]+):(\d+)"
        host, port = re.search(said, self.process.wait_line(said)).groups()
        self.address = host, int(port)
        return self.process

    def until_objects(self, n):
        """Until so many are found."""
        wait_for(f"{n} objects", lambda: len(self.urls("#USER #opaque #index maxresult 100000 #END #allb")) == n,
                 every=0.05)

    # Asking

    def connect(self, source="127.0.0.1", small=False):
        """A client that has said nothing yet. small: it takes little before it has to read."""
        s = socket.socket()
        if small:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(UNREAD)
        s.bind((source, 0))
        s.connect(self.address)
        return s

    def ask(self, line, source="127.0.0.1"):
        """All that is answered, as bytes. The line: text or bytes, without its end."""
        with self.connect(source) as s:
            s.sendall((line if isinstance(line, bytes) else line.encode()) + b"\n")
            return rest_of(s)

    def told(self, line):
        """What comes after the banner, as bytes."""
        return after_banner(self.ask(line))

    def answer(self, line, source="127.0.0.1"):
        return Answer(self.ask(line, source))

    def urls(self, line):
        return sorted(o.url for o in self.answer(line).objects)

    def admin(self, command, password=PASSWORD):
        return self.answer(f"#ADMIN #Password {password} {command}")

    # Looking

    def pid(self):
        """Of the process that serves."""
        if not self.up:
            return self.process.pid
        return int(re.search(r"\bpid=(\d+)", self.process.lines(r"role=broker.*\bpid=\d+")[-1]).group(1))

    def memory(self):
        """Bytes of its own, without files that it maps."""
        status = Path(f"/proc/{self.pid()}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+) kB", status).group(1)) * 1024

    def counters(self):
        """By name; those of several kinds together."""
        roles = self.g.run("status", "--json").json()["roles"]
        sums = collections.Counter()
        for c in (c for r in roles if r["name"] == "broker" for c in r["counters"]):
            sums[c["name"]] += c["value"]
        return sums


def after_banner(text):
    """An answer without the banner, which is there once."""
    banner = BANNER.match(text)
    assert banner, text
    return text[banner.end():]


def urls_of(text):
    return re.findall(rb"^120 - (.*)$", text, re.M)


def rest_of(s):
    """What comes until the broker hangs up; None after a reset."""
    parts = []
    try:
        while piece := s.recv(1 << 20):
            parts.append(piece)
    except (ConnectionResetError, BrokenPipeError):
        return None
    return b"".join(parts)


def hang_up(s):
    """Without a goodbye."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


class Strange(AssertionError):
    """An answer that no client could read."""


class Object:
    """What one object of an answer said."""

    def __init__(self, url):
        self.url, self.at, self.desc, self.attributes, self.lines = url, None, None, [], []


class Answer:
    """An answer to #USER or #ADMIN, taken apart. Whatever the document does not allow is Strange."""

    def __init__(self, text):
        self.text, self.objects, self.said, self.wrong, self.home, self.end = text, [], [], [], None, None
        self.pings = 0
        at = 0
        now = None
        while at < len(text):
            line, at = self.take_line(at)
            m = re.fullmatch(rb"(\d\d\d) - (.*)", line, re.S)
            if not m or b"\r" in line:
                raise Strange(f"not a result line: {line[:200]!r}")
            code, rest = int(m.group(1)), m.group(2)
            if self.home is not None or self.end is not None:
                if code != 200:
                    raise Strange(f"after the end of an answer: {line[:200]!r}")
            if not self.pings and code != 200:
                raise Strange(f"before the banner: {line[:200]!r}")
            if code == 200:
                if not self.pings and b"Broker" not in rest:
                    raise Strange(f"a banner without the word Broker: {line!r}")
                self.pings += 1
            elif code in (101, 103, 111):
                if now:
                    raise Strange(f"a message within an object: {line!r}")
                (self.said if code == 101 else self.wrong).append(rest.decode())
                if code != 101 and b"ERROR" not in rest:
                    raise Strange(f"an error without the word ERROR: {line!r}")
                self.end = 111 if code == 111 else None
            elif code == 120:
                if now:
                    raise Strange(f"an object within an object: {line!r}")
                now = Object(rest.decode())
            elif code == 126:
                if now:
                    raise Strange(f"the home page within an object: {line!r}")
                self.home = rest.decode()
            elif not now:
                raise Strange(f"outside of an object: {line[:200]!r}")
            elif code == 125:
                if now.at is not None:
                    raise Strange(f"two places of one object: {line!r}")
                now.at = rest.decode()
            elif code == 124:
                if now.desc is not None:
                    raise Strange(f"two descriptions of one object: {line!r}")
                now.desc, at = self.take_block(rest, at)
            elif code == 127:
                name, _, size = rest.rpartition(b" ")
                value, at = self.take_block(size, at)
                now.attributes.append((name.decode(), value))
            elif code == 122:
                m = re.fullmatch(rb"Matched line: ([^:]+): (.*)", rest)
                if not m:
                    raise Strange(f"not a matched line: {line[:200]!r}")
                now.lines.append((m.group(1).decode(), m.group(2).decode(errors="replace")))
            elif code == 130:
                if rest != b"object end":
                    raise Strange(f"an object that ends otherwise: {line!r}")
                self.objects.append(now)
                now = None
            else:
                raise Strange(f"a code that the document does not have: {line[:200]!r}")
        self.whole = now is None and (self.home is not None or self.end is not None)

    def take_line(self, at):
        end = self.text.find(b"\n", at)
        if end < 0:
            raise Strange(f"a line without its end: {self.text[at:at + 200]!r}")
        return self.text[at:end], end + 1

    def take_block(self, size, at):
        if not re.fullmatch(rb"[1-9]\d*", size):
            raise Strange(f"not a number of bytes: {size!r}")
        end = at + int(size)
        if self.text[end:end + 1] != b"\n":
            raise Strange(f"{int(size)} bytes that no line feed ends: {self.text[at:at + 200]!r}")
        return self.text[at:end], end + 1

    def __repr__(self):
        return f"<answer {self.text[:2000]!r}>"


def served(broker):
    """When a client was answered in full just now; None: it was not."""
    try:
        answer = Answer(broker.ask("#USER #END almond") or b"")
        return time.monotonic() if [o.url for o in answer.objects] == ["http://small.test/"] else None
    except (OSError, Strange):
        return None


def kill_while_answering(broker, dice):
    """SIGKILL below `garner up`, with large_objects(), while it sends a bulk transfer and runs queries. Returns after
    how many seconds the next client was answered in full."""
    clients = []
    for request in ("#BULK #since 0 #END #allb", HEAVY, "#USER #desc #END walnut"):
        s = broker.connect(small=True)
        s.sendall(request.encode() + b"\n")
        clients.append(s)
    clients[0].recv(1000)
    time.sleep(dice.random() * 0.05)
    os.kill(broker.pid(), signal.SIGKILL)
    killed = time.monotonic()
    for s in clients:
        rest_of(s)  # a beginning of an answer, or all of it
        s.close()
    return wait_for("the next client to be served", lambda: served(broker)) - killed
