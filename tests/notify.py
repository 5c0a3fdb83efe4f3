"""The notification protocol of the cache, written from doc/protocols/lococa.md alone: a provider, and a queue manager
that takes sets as doc/protocols/cache-link.md has it and does nothing with them."""
import os
import re
import socket
import sqlite3
import threading
import time
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import quoteattr

from message import message, read_message

NS = "http://www.lococa.org/1.0"
# Stands for "secret", and is quickly checked: lines that registration makes take 50 ms.
SECRET = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$fIbdC2xakJ6cNlONBQKde0ZQtJof49m9l+7mj3O30mA"


def attrs(**values):
    return "".join(f" {k.rstrip('_')}={quoteattr(str(v))}" for k, v in values.items())


def url(c, mime="text/html", **more):
    """A row of a set."""
    return f"<url{attrs(c=c, mime=mime, **more)}/>\n"


def add_provider(g, prefixes, verified=True, **columns):
    """A provider with the password "secret" in the database of providers, as registration would have put it there; the
    database is made by the first role that opens it. Returns its id."""
    db = sqlite3.connect(Path(g.data) / "cache" / "pidb.db", timeout=20)
    now = int(time.time() * 1e6)
    values = {"site": "http://www.example.com/", "mail": "", "password": SECRET, "created_us": now,
              "verified_us": now if verified else 0, **columns}
    with db:
        names = ",".join(values)
        marks = ",".join("?" * len(values))
        id = db.execute(f"INSERT INTO provider({names}) VALUES ({marks})", list(values.values())).lastrowid
        for p in prefixes:
            db.execute("INSERT INTO prefix(provider, prefix, verified_us) VALUES (?, ?, ?)", (id, p, now))
    db.close()
    return id


def connect(address, timeout=30):
    """unix:PATH or HOST:PORT."""
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(timeout)
        s.connect(address[5:])
        return s
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout)


class Closed(Exception):
    """The server has hung up in the middle of an answer, or before it."""


class Session:
    """One connection of a provider. Answers are elements whose names have no prefix: the server's prefix is checked,
    and taken off."""

    def __init__(self, address, prefix="lococa", sock=None):
        self.sock = sock or connect(address)
        self.prefix = prefix
        self.got = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def send(self, text):
        self.sock.sendall(text if isinstance(text, bytes) else text.encode())

    def name(self, name):
        return f"{self.prefix}:{name}" if self.prefix else name

    def tag(self, name, bind=False, **values):
        """The beginning of a message, without its end."""
        where = f"xmlns:{self.prefix}" if self.prefix else "xmlns"
        bound = f' {where}="{NS}"' if bind or not self.prefix else ""
        return f"<{self.name(name)}{bound}{attrs(**values)}"

    def end(self, name):
        return f"</{self.name(name)}>"

    def read_until(self, *ends):
        """All bytes up to the first of these, or to the end: what was read, and what was found."""
        found = re.compile(b"|".join(re.escape(e.encode()) for e in ends))
        while True:
            at = found.search(self.got)
            if at:
                out, self.got = self.got[:at.end()], self.got[at.end():]
                return out, at.group().decode()
            try:
                piece = self.sock.recv(1 << 16)
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Closed(self.got.decode(errors="replace"))
            self.got += piece

    def answer(self, *names):
        """The next message, which has to be one of these."""
        out, _ = self.read_until(*(self.end(n) for n in names))
        text = out.decode().strip()
        bound = f'xmlns:{self.prefix}="{NS}"' if self.prefix else ""
        root = ET.fromstring(f"<stream {bound}>{text}</stream>")
        assert len(root) == 1, text
        message = root[0]
        message.tag = message.tag.replace(f"{{{NS}}}", "")
        assert message.tag in names, text
        return message

    def init(self, id, password="secret"):
        self.send(f'{self.tag("init", bind=True)}>\n<provider{attrs(id=id, passwd=password)}/>\n{self.end("init")}\n')
        return self.answer("init_accepted", "init_rejected")

    def begin(self, kind="partial", **more):
        self.send(self.tag("set", set=kind, **more) + ">\n")

    def result(self):
        return self.answer("set_result")

    def set(self, rows, kind="partial", **more):
        """Sends a whole set, and returns its result."""
        self.begin(kind, **more)
        self.send("".join(rows) + self.end("set"))
        return self.result()

    def receipts(self, number=None):
        self.send(self.tag("receipts", **({} if number is None else {"set": number})) + "/>")
        return self.answer("receipts_result", "error")


def code_of(message):
    """Of init_rejected, and of a set_result that was rejected; None: it was not."""
    for path in ("reason", "set_rejected"):
        found = message.find(path)
        if found is not None:
            return int(found.get("code"))
    return None


def accepted(result):
    """(received, set) of a set_result; None: it was not accepted."""
    found = result.find("set_accepted")
    return found is not None and (int(found.get("received")), int(found.get("set"))) or None


def notify(address, id, rows, kind="partial", password="secret", **more):
    """A session with one set; returns its result."""
    with Session(address) as s:
        hello = s.init(id, password)
        assert hello.tag == "init_accepted", ET.tostring(hello)
        return s.set(rows, kind, **more)


class FakeQm:
    """Takes sets and remembers them by uns and number. mute: it accepts connections and says nothing; busy: it says
    so; version: of the protocol. answer(number): what it says of a set, that it has it if that is None, else (code, text) of a refusal; False:
    nothing, and it hangs up."""

    def __init__(self, path, mute=False, busy=False, answer=None, version=2):
        self.version = version
        self.path, self.mute, self.busy, self.answer = str(path), mute, busy, answer
        self.sets = {}     # (uns, number) -> (provider, kind, urls, bytes)
        self.order = []    # (uns, number), each time
        self.links = []
        self.is_over = False
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.path)
        self.server.listen()
        self.address = f"unix:{self.path}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            if self.is_over:
                sock.close()
                return
            self.links.append(sock)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        try:
            self.talk(sock, sock.makefile("rb"))
        except (OSError, ValueError):
            pass
        finally:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def talk(self, sock, file):
        if self.mute:
            file.readline()
            return
        sock.sendall(message("busy") if self.busy else message("qm", version=self.version))
        name, said = (None, {}) if self.busy else read_message(file)
        if name != "uns":
            return
        uns = said["name"]
        while True:
            name, begun = read_message(file)
            if name != "set":
                return
            number, provider, urls = int(begun["number"]), int(begun["provider"]), int(begun["urls"])
            kind, size = "full" if begun.get("full") else "partial", 0
            while (piece := read_message(file, counted={"notices"}))[0] == "piece":
                size += len(piece[1]["notices"])
            if piece != ("end", {"number": str(number)}):
                return
            said = self.answer(number) if self.answer else None
            if said is False:
                return
            self.order.append((uns, number))
            self.sets.setdefault((uns, number), (provider, kind, urls, size))
            sock.sendall(message("refused", number=number, code=said[0], text=said[1]) if said
                         else message("have", number=number))

    def hang_up(self):
        for sock in self.links:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.links = []

    def close(self):
        self.is_over = True
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.hang_up()
        if os.path.exists(self.path):
            os.unlink(self.path)
