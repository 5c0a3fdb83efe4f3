"""A client of Prospero over ARDP, and a relay that loses, doubles and reorders packets. Both are written after
doc/protocols/archie-prospero.md, and share nothing with garner.

    address = start(g)                              # the role, on a free port
    Client(address).match("emacs", "S")             # lines of the reply, as a client of 1992 asks
    Client(address, version=5).match("emacs", "S")  # and as one of 1994
    with Relay(address, seed) as way: Client(way)"""
import heapq
import random
import re
import select
import socket
import struct
import threading
import time

ACK, CANCEL, STATUS = 0x80, 1, 254


def start(g, role="archie-prospero"):
    line = g.start(role).wait_ready().wait_line("listening setting=listen ")
    host, port = re.search(r"address=udp:([\d.]+):(\d+)", line).groups()
    return host, int(port)


class NoAnswer(Exception):
    """It was asked for as often as clients do."""


class Refused(Exception):
    """By a packet that says so."""


class Packet:
    def __init__(self, data):
        n = data[0]
        assert 1 <= n < 32 and len(data) >= n, data[:32]
        self.raw, self.length, self.text = data, n, data[n:]
        fields = [0, 1, 1 if n < 5 else 0, 0, 0]
        for i in range(5):
            if n >= 3 + 2 * i:
                fields[i], = struct.unpack_from(">H", data, 1 + 2 * i)
        self.cid, self.number, self.total, self.through, self.wait = fields
        self.flags = data[11] if n > 11 else 0
        self.option = data[12] if n > 12 else 0
        self.status = struct.unpack_from(">HI", data, 14) if self.option == STATUS else None


class Client:
    """quiet: seconds without a packet after which an ack is sent; first: seconds to the first retry."""

    def __init__(self, address, version=1, cid=None, quiet=0.02, first=1.2, tries=6):
        self.address, self.version, self.quiet, self.first, self.tries = address, version, quiet, first, tries
        self.cid = cid if cid is not None else random.randrange(1, 65536)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.packets, self.waits, self.places, self.sends = [], [], [], 0

    def close(self):
        self.socket.close()

    def send(self, data):
        self.sends += 1
        self.socket.sendto(data, self.address)

    def receive(self, seconds):
        if not select.select([self.socket], [], [], max(seconds, 0))[0]:
            return None
        return Packet(self.socket.recv(65536))

    def header(self, number, total, through):
        return struct.pack(">BHHHH", 9, self.cid, number, total, through)

    def through(self, have):
        n = 0
        while n + 1 in have:
            n += 1
        return n if n > 1 or self.version == 5 else 0

    def ask(self, text):
        """The text of the reply. Packets that came are in self.packets, in their order."""
        have, total, arrived, wants_ack, wait = {}, None, False, False, None
        timeout, tries, due = self.first, 0, time.monotonic() + self.first
        self.send(self.header(1, 1, 0) + text)
        while total is None or len(have) < total:
            p = self.receive(min(due - time.monotonic(), self.quiet if wants_ack else 1e9))
            if p is None and wants_ack:
                self.acknowledge(have)
                wants_ack = False
            elif p is None:
                tries += 1
                if tries > self.tries:
                    raise NoAnswer
                timeout *= 1.5
                due = time.monotonic() + timeout
                if arrived:
                    self.acknowledge(have)
                else:
                    self.send(self.header(1, 1, self.through(have)) + text)
            elif p.cid == self.cid:
                self.packets.append(p)
                if p.length >= 9 and p.through:
                    arrived = True
                if p.length >= 11:
                    wait = p.wait or None
                if p.number == 0:
                    if p.option == CANCEL:
                        raise Refused
                    self.waits.append(p.wait)
                    if p.status:
                        self.places.append(p.status)
                else:
                    if p.number not in have:
                        tries, timeout = 0, self.first
                    have[p.number] = p.text
                    total = p.total or total
                    wants_ack = wants_ack or bool(p.flags & ACK)
                due = time.monotonic() + (wait or timeout)
        if wants_ack:
            self.acknowledge(have)
        return b"".join(have[i] for i in sorted(have))

    def acknowledge(self, have):
        self.send(self.header(0, 1 if self.version == 1 else 0, self.through(have)))

    def text(self, name, component="", filters=(), before=()):
        if self.version == 5:
            quoted = "'" + name.replace("'", "''") + "'"
            lines = ["VERSION", "VERSION 5 test", "AUTHENTICATE '' UNAUTHENTICATED nobody", *before,
                     f"DIRECTORY ASCII {quoted}",
                     "LIST ATTRIBUTES" + ("+FILTER" if filters else "") + f" COMPONENTS {component}"]
            lines += ["FILTER DIRECTORY SERVER PRE PREDEFINED " + f for f in filters]
        else:
            lines = ["VERSION 1 B42E", "AUTHENTICATOR UNAUTHENTICATED nobody", f"DIRECTORY ASCII {name}",
                     f"LIST ATTRIBUTES COMPONENTS {component}"]
        return "".join(line + "\n" for line in lines).encode(errors="surrogateescape")

    def lines(self, name, **how):
        return self.ask(self.text(name, **how)).decode(errors="surrogateescape").splitlines()

    def match(self, string, letter="S", hits=95, **how):
        return self.lines(f"ARCHIE/MATCH({hits},0,{letter})/{string}", **how)


class Relay:
    """Between clients and the server: of 100 packets, in each direction, so many are lost, come twice, or late."""

    def __init__(self, server, seed, lost=10, twice=10, late=10, delay=0.05):
        self.server, self.random = server, random.Random(seed)
        self.lost, self.twice, self.late, self.delay = lost, twice, late, delay
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        self.address = self.front.getsockname()
        self.backs, self.ends, self.did = {}, False, {"lost": 0, "twice": 0, "late": 0}
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self.address

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()
        for s in (self.front, *self.backs):
            s.close()

    def copies(self):
        """After which delays the packet goes on."""
        if self.random.randrange(100) < self.lost:
            self.did["lost"] += 1
            return []
        delays = [0]
        if self.random.randrange(100) < self.twice:
            self.did["twice"] += 1
            delays.append(self.random.uniform(0, self.delay))
        if self.random.randrange(100) < self.late:
            self.did["late"] += 1
            delays[0] = self.random.uniform(0, self.delay)
        return delays

    def run(self):
        by_client, held, n = {}, [], 0
        while not self.ends:
            now = time.monotonic()
            while held and held[0][0] <= now:
                _, _, sock, data, to = heapq.heappop(held)
                sock.sendto(data, to)
            wait = min(0.05, held[0][0] - now) if held else 0.05
            for s in select.select([self.front, *self.backs], [], [], max(wait, 0))[0]:
                data, frm = s.recvfrom(65536)
                if s is self.front:
                    if frm not in by_client:
                        by_client[frm] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                        self.backs[by_client[frm]] = frm
                    sock, to = by_client[frm], self.server
                else:
                    sock, to = self.front, self.backs[s]
                for delay in self.copies():
                    n += 1
                    heapq.heappush(held, (time.monotonic() + delay, n, sock, data, to))
