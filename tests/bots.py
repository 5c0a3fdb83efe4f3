"""Robots and sources for scenes of the fetch fabric, written from doc/protocols/bot.md alone. They fetch nothing:
what a URL holds is a function of the URL."""
import hashlib
import os
import socket
import sqlite3
import threading
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from xml.sax.saxutils import quoteattr


def content(url):
    return f"page of {url}\n".encode() * 20


def message(name, **attrs):
    return f"<{name}{''.join(f' {k}={quoteattr(str(v))}' for k, v in attrs.items())}/>\n".encode()


def names(data, folder="cache/files"):
    """place -> file names: what garner.db says of the names of a botm, and what lies in its folder. Of names that are
    open those with a file are told to the source. Of free ones the number alone is known."""
    found = {"free": [], "stored": [], "kept": []}
    there = {}
    for path in (Path(data) / folder).glob("*/*"):
        there.setdefault(f"{path.parent.name}/{path.name.partition('.')[0]}", []).append(f"{path.parent.name}/{path.name}")
    rows = sqlite3.connect(Path(data) / "garner.db")
    try:
        blocks = dict((block, more) for block, *more in
                      rows.execute("SELECT block, free, kept FROM botm_names WHERE folder=?", [folder]))
    except sqlite3.OperationalError:  # it has not begun yet
        blocks = {}
    rows.close()
    for block, bits in blocks.items():
        for i in range(1000):
            number = f"{block:06}/{i:03}"
            is_free, is_kept = (bool(b[i // 8] >> i % 8 & 1) for b in bits)
            if is_free:
                found["free"].append(number)
            else:
                found["kept" if is_kept else "stored"] += there.get(number, [])
    found["kept"] += [f for number, files in there.items() if int(number[:6]) not in blocks for f in files]
    return found


def connect(address):
    """unix:PATH or HOST:PORT."""
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(address[5:])
        return s
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)))


class Link:
    """A connection on which messages come and go: a thread hands each to hear(name, attributes)."""

    def __init__(self, sock, hear, ended=lambda: None):
        self.sock, self.hear, self.ended = sock, hear, ended
        self.lock = threading.Lock()
        self.refused = None
        self.is_over = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        parser = ET.XMLPullParser(["end"])
        parser.feed("<stream>")
        try:
            while piece := self.sock.recv(1 << 16):
                parser.feed(piece)
                for _, element in parser.read_events():
                    if element.tag == "refused":
                        self.refused = element.get("reason")
                    self.hear(element.tag, dict(element.attrib))
        except OSError:
            pass
        self.is_over.set()
        self.ended()

    def send(self, name, **attrs):
        self.send_bytes(message(name, **attrs))

    def send_bytes(self, data):
        with self.lock:
            try:
                self.sock.sendall(data)
            except OSError:
                pass

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


class Bot:
    """A robot. act(bot, fetch) does something else than to store the page and to say so; it returns whether
    that is to be done all the same."""

    def __init__(self, address, folder, parallel=10, act=None):
        self.folder, self.act = str(folder), act
        self.fetches = []
        self.link = Link(connect(address), self.hear)
        self.link.send("robot", parallel=parallel)

    def hear(self, name, fetch):
        if name != "fetch":
            return
        self.fetches.append(fetch)
        if not self.act or self.act(self, fetch):
            self.store(fetch)

    def store(self, fetch):
        page = content(fetch["url"])
        path = os.path.join(self.folder, fetch["file"])
        part = f"{path}.{id(self)}.part"
        try:
            with open(part, "wb") as f:
                f.write(page)
            os.rename(part, path)
        except OSError:
            return
        self.say(fetch, "ok", status=200, size=len(page), md5=hashlib.md5(page).hexdigest(), mime="text/plain")

    def say(self, fetch, outcome, **attrs):
        self.link.send("fetched", id=fetch["id"], outcome=outcome, **attrs)

    def close(self):
        self.link.close()


class Source:
    """A source: listens, and remembers what it hears. It says nothing by itself."""

    def __init__(self, path):
        self.path = str(path)
        self.heard = []          # (name, attributes)
        self.link = None
        self.server = socket.socket(socket.AF_UNIX)
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.server.bind(self.path)
        self.server.listen()
        self.is_over = False
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
            self.link = Link(sock, lambda name, attrs: self.heard.append((name, attrs)))

    def send(self, name, **attrs):
        self.link.send(name, **attrs)

    def all(self, name):
        return [attrs for n, attrs in list(self.heard) if n == name]

    def answers(self):
        return self.all("fetched")

    def capacity(self):
        told = self.all("botm")
        return int(told[-1]["capacity"]) if told else -1

    def machines(self):
        up = {}
        for name, m in list(self.heard):
            if name == "machine" or (name == "botm" and m["machine"]):
                up[m["machine"]] = m.get("state", "up") == "up"
        return sorted(m for m, is_up in up.items() if is_up and m)

    def close(self):
        self.is_over = True
        if self.link:
            self.link.close()
        self.server.close()
        if os.path.exists(self.path):
            os.unlink(self.path)



class Herd:
    """Robots that come back whenever they are hung up on, until closed."""

    def __init__(self, address, folder, n=2, parallel=10, act=None):
        self.args = (address, folder, parallel, act)
        self.is_closed = False
        self.bots = [None] * n
        self.threads = [threading.Thread(target=self.keep, args=(i,), daemon=True) for i in range(n)]
        for t in self.threads:
            t.start()

    def keep(self, i):
        while not self.is_closed:
            try:
                self.bots[i] = Bot(*self.args)
            except OSError:
                time.sleep(0.02)
                continue
            self.bots[i].link.is_over.wait()

    def kill_one(self, i):
        bot = self.bots[i % len(self.bots)]
        if bot:
            bot.close()

    def close(self):
        self.is_closed = True
        for bot in self.bots:
            if bot:
                bot.close()
        for t in self.threads:
            t.join(5)
