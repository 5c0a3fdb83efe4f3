"""A notification server as the queue manager knows it (doc/protocols/cache-link.md), and providers that need not register."""
import socket
import sqlite3
import struct
import time

from garner import wait_for
from message import message, read_message

UPDATE, REMOVE, NAMED = 0, 1, 2


def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def text(s):
    return varint(len(s)) + s.encode()


def notice(c, op=UPDATE, mime="text/html", hours="", mtime=None, size=None, md5=None):
    flags = (0x80 if hours else 0) | (mtime is not None) | (size is not None) << 1 | (md5 is not None) << 2
    out = bytes([op, flags]) + text(c) + text(mime) + (text(hours) if hours else b"")
    out += varint(mtime) if mtime is not None else b""
    out += varint(size) if size is not None else b""
    return out + (md5 or b"")


def packed(data):
    """A zstd frame of blocks that are as they are."""
    out = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))
    pieces = [data[i:i + 100000] for i in range(0, len(data), 100000)] or [b""]
    for i, piece in enumerate(pieces):
        out += struct.pack("<I", (i == len(pieces) - 1) | len(piece) << 3)[:3] + piece
    return out


class Uns:
    """One that sends sets, each with its number, and remembers which it has been told are had."""

    def __init__(self, path, name="u1"):
        self.path, self.name, self.number, self.sock = path, name, 0, None

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(str(self.path))
        self.file = self.sock.makefile("rb")
        greeting, said = self.hear()
        if greeting == "qm":
            assert said == {"version": "2"}
            self.say(message("uns", name=self.name))
        return greeting

    def hear(self):
        """The name of a message (None: it hung up), and what it says."""
        return read_message(self.file)

    def say(self, what):
        self.sock.sendall(what)

    def offer(self, provider, notices, full=False, number=None):
        """Sends a set and does not wait for the answer."""
        self.number = number or self.number + 1
        urls = sum(n[0] != NAMED for n in notices)
        self.say(message("set", number=self.number, provider=provider, full=full, urls=urls, at=int(time.time() * 1e6)))
        for i in range(0, len(notices), 500):
            self.say(message("piece", notices=packed(b"".join(notices[i:i + 500]))))
        self.say(message("end", number=self.number))

    def send(self, provider, notices, **more):
        self.offer(provider, notices, **more)
        answer = self.hear()
        assert answer == ("have", {"number": str(self.number)}), answer

    def close(self):
        if self.sock:
            self.file.close()
            self.sock.close()
        self.sock = None


def pidb(g, sql, *values):
    """The providers' database, as the other roles write it."""
    db = sqlite3.connect(g.data / "cache" / "pidb.db", timeout=30)
    with db:
        rows = db.execute(sql, values)
        found, row = rows.fetchall(), rows.lastrowid
    db.close()
    return found if sql.startswith("SELECT") else row


def provider(g, prefix):
    """One that is verified, and has this prefix."""
    wait_for("the providers' database", lambda: (g.data / "cache" / "pidb.db").exists())
    n = pidb(g, "INSERT INTO provider(site, mail, password, created_us, verified_us) VALUES(?, '', '', 1, 1)", prefix)
    pidb(g, "INSERT INTO prefix VALUES(?, ?, 1)", n, prefix)
    return n


def cachedb(g, sql, *values):
    db = sqlite3.connect(f"file:{g.data}/cache/cache.db?mode=ro", uri=True, timeout=30)
    rows = db.execute(sql, values).fetchall()
    db.close()
    return rows
