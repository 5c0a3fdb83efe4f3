"""A Harvest gatherer for scenes: what a broker collects from, well behaved or not."""
import gzip
import hashlib
import socket
import struct
import threading
import time


def soif(url, attributes):
    """An object in its canonical form."""
    out = [f"@FILE {{ {url}\n".encode()]
    for name, value in attributes.items():
        value = value if isinstance(value, bytes) else str(value).encode()
        if value:
            out.append(f"{name}{{{len(value)}}}:\t".encode() + value + b"\n")
    return b"".join(out) + b"}\n"


class Gatherd:
    """Serves objects that a scene changes as it likes, on loopback, and remembers what it was asked:
    `asked` has a list of lines for each connection. `odd` names what is wrong with it:

      half       goes away in the middle of an object      huge       an object of {4294967295}
      bomb       gzip that grows a thousand times           nothing    goes away without a word
      silent     says hello and no more                     no_end     everything but the closing line
      endless    objects for ever                           banner     a greeting of 1 MB
      long_line  a line in place of the answer, for ever    reset      RST in the middle
      refuse     103 in place of the answer                 late       103 in place of the closing line
      rubbish    bytes that are nothing, for ever           ignore_set knows no compression"""

    def __init__(self, odd=None, name="test", host="gatherer.test", version="1.0", port=0):
        self.odd, self.asked, self.lock = odd, [], threading.Lock()
        self.identity = {"Gatherer-Name": name, "Gatherer-Host": host, "Gatherer-Version": version}
        self.objects, self.deleted, self.refreshed = {}, {}, {}  # url -> (changed, attributes)
        self.bomb = gzip.compress(b"\n" * 10_000_000) if odd == "bomb" else b""
        self.listener = socket.create_server(("127.0.0.1", port), backlog=100)
        self.host, self.port = self.listener.getsockname()
        self.open = set()
        threading.Thread(target=self.accept, daemon=True).start()

    # What it has

    def identified(self, attributes, now):
        return {**self.identity, "Update-Time": now, **attributes}

    def add(self, url, text="", now=None, **attributes):
        """New or changed. Underscores in names stand for dashes."""
        now = int(now or time.time())
        named = {name.replace("_", "-"): value for name, value in attributes.items()}
        md5 = hashlib.md5(text.encode()).hexdigest()
        with self.lock:
            self.deleted.pop(url, None)
            self.refreshed.pop(url, None)
            self.objects[url] = now, self.identified({"MD5": md5, "Full-Text": text, **named}, now)

    def delete(self, url, now=None):
        with self.lock:
            attributes = self.objects.pop(url)[1]
            self.refreshed.pop(url, None)
            self.deleted[url] = int(now or time.time()), self.only_identity(attributes)

    def refresh(self, url, now=None):
        """Looked at again, and unchanged."""
        now = int(now or time.time())
        with self.lock:
            attributes = self.objects[url][1]
            attributes["Update-Time"] = now
            self.refreshed[url] = now, self.only_identity(attributes)

    @staticmethod
    def only_identity(attributes):
        names = ["Gatherer-Name", "Gatherer-Host", "Gatherer-Version", "Update-Time", "MD5"]
        return {name: attributes[name] for name in names if name in attributes}

    def sections(self, since):
        """What changed since then; 0: everything, which needs no word of what is gone."""
        with self.lock:
            parts = [(b"DELETE", self.deleted if since else {}),
                     (b"REFRESH", self.refreshed if since else {}), (b"UPDATE", self.objects)]
            return b"".join(b"@%s {\n%s}\n" % (name, b"".join(
                soif(url, attributes) for url, (changed, attributes) in sorted(these.items())
                if changed >= since)) for name, these in parts)

    # Who asks

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.open.add(client)
                self.asked.append([])
                asked = self.asked[-1]
            threading.Thread(target=self.serve, args=(client, asked), daemon=True).start()

    def serve(self, client, asked):
        try:
            self.talk(client, asked)
        except OSError:
            pass  # the other side has gone
        with self.lock:
            self.open.discard(client)
        client.close()

    def talk(self, client, asked):
        if self.odd == "nothing":
            return
        if self.odd == "banner":
            client.sendall(b"000 - HELLO " + b"x" * 1_000_000 + b"\r\n")
        client.sendall(f"000 - HELLO {self.host} - are you ready?\r\n".encode())
        compressed = False
        for line in client.makefile("rb"):
            words = line.decode("latin-1").split()
            asked.append(" ".join(words))
            verb = words[0].upper() if words else ""
            if verb == "HELLO":
                client.sendall(b"100 - pleased to meet you\r\n")
            elif verb == "SET":
                compressed = self.odd != "ignore_set"
                client.sendall(b"500 - compression is on\r\n" if compressed else b"")
            elif verb == "SEND-UPDATE":
                if not self.answer(client, int(words[1]), compressed):
                    return
            elif verb == "QUIT":
                client.sendall(b"999 - bye\r\n")
                return
            else:
                client.sendall(b"501 - unknown command\r\n")

    def answer(self, client, since, compressed):
        """False: the connection is over."""
        if self.odd == "silent":
            return True
        if self.odd == "refuse":
            client.sendall(b"103 - not for you\r\n")
            return True
        if self.odd == "long_line":
            return self.repeat(client, b"4" * 65536)
        client.sendall(b"400 - here it comes\r\n")
        if self.odd == "rubbish":
            return self.repeat(client, bytes(range(32)) * 2048)
        if self.odd == "endless":
            return self.repeat(client, self.sections(0), pause_s=0.01)
        if self.odd == "bomb":
            return self.repeat(client, self.bomb)
        body = self.sections(since)
        if self.odd == "huge":
            body += b"@UPDATE {\n@FILE { http://huge/\nFull-Text{4294967295}:\tx\n}\n}\n"
        if self.odd == "half":
            client.sendall(body[:-20])
            return False
        if self.odd == "reset":
            client.sendall(body[:len(body) // 2])
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        client.sendall(gzip.compress(body) if compressed else body)
        if self.odd == "no_end":
            return False
        client.sendall(b"103 - disk full\r\n" if self.odd == "late" else b"499 - that was it\r\n")
        return True

    @staticmethod
    def repeat(client, piece, pause_s=0):
        while True:
            client.sendall(piece)
            time.sleep(pause_s)

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for client in self.open:
                try:
                    client.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
