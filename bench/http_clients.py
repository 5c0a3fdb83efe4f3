#!/usr/bin/python3
"""http_clients.py BUILD FOLDER: a role web of its own, and a client that means no good.

unread: 500 connections ask for the cached copy of a text of 9 MB, packed and plain, and read nothing.
light: 200 connections of one address ask ORs of 500 words again and again; another address asks for words."""
import http.client
import os
import random
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

UNREAD, TEXTS, TEXT_BYTES = 500, 3, 9_000_000
HEAVY, WORDS, LIGHT = 200, 500, 300


class Web:
    """garner web over a data directory."""

    def __init__(self, garner, data):
        self.process = subprocess.Popen([garner, "-s", f"data={data}", "-s", "web.listen=127.0.0.1:0", "web"],
                                        stderr=subprocess.PIPE, text=True)
        self.port = next(int(m.group(1)) for line in self.process.stderr
                         if (m := re.search(r"listening.*127\.0\.0\.1:(\d+)", line)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def rss_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1024

    def ask(self, path):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60, source_address=("127.0.0.2", 0))
        c.request("GET", path)
        answer = c.getresponse()
        body = answer.read()
        c.close()
        return answer.status, body


def request(path, packed=False):
    coding = "Accept-Encoding: gzip\r\n" if packed else ""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{coding}\r\n".encode()


def make_texts(build, folder):
    """An index of a few large texts."""
    dice = random.Random(1)
    words = ["".join(dice.choice("abcdefghijklmnop") for _ in range(dice.randrange(2, 9))) for _ in range(30000)]
    os.makedirs(f"{folder}/soif")
    os.makedirs(f"{folder}/data")
    with open(f"{folder}/soif/1.soif", "w", encoding="ascii") as f:
        for i in range(TEXTS):
            text = "\n".join(" ".join(dice.choices(words, k=12)) for _ in range(TEXT_BYTES // 60))[:TEXT_BYTES]
            f.write(f"@FILE {{ http://a/{i}\nUpdate-Time{{10}}:\t1700000000\nFull-Text{{{len(text)}}}:\t{text}\n}}\n")
    subprocess.run([f"{build}/tests/collect", f"{folder}/data", f"{folder}/soif"], check=True)


def unread(build):
    with tempfile.TemporaryDirectory(dir=build) as folder:
        make_texts(build, folder)
        with Web(f"{build}/garner", f"{folder}/data") as web:
            for i in range(TEXTS):
                assert len(web.ask(f"/cached?url=http://a/{i}")[1]) > TEXT_BYTES
            idle, most, slowest = web.rss_mib(), 0, 0
            sockets = []
            for i in range(UNREAD):
                s = socket.create_connection(("127.0.0.1", web.port))
                s.sendall(request(f"/cached?url=http://a/{i % TEXTS}", i % 2))
                sockets.append(s)
            for _ in range(50):
                start = time.monotonic()
                assert web.ask("/healthz")[0] == 200
                slowest = max(slowest, time.monotonic() - start)
                most = max(most, web.rss_mib())
                time.sleep(0.1)
            refused = sum(b" 503 " in s.recv(20, socket.MSG_PEEK) for s in sockets)
            for s in sockets:
                s.close()
    print(f"http: {UNREAD} connections that read nothing of {TEXT_BYTES / 1e6:.0f} MB each: {refused} refused, "
          f"{idle:.0f} MiB before, at most {most:.0f}; /healthz within {slowest * 1000:.0f} ms")
    print(f"figure http.unread_mib {most - idle:.1f} MiB")
    print(f"figure http.unread_health_ms {slowest * 1000:.1f} ms")


def attack(port, path):
    """Heavy connections, each asking again as soon as it has its answer; refused ones do as they are told. Ends
    with its parent at the latest."""
    parent = os.getppid()
    selector = selectors.DefaultSelector()
    again = {}
    for _ in range(HEAVY):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(request(path))
        selector.register(s, selectors.EVENT_READ)
    while os.getppid() == parent:
        for key, _ in selector.select(0.1):
            got = key.fileobj.recv(1 << 20)
            if b" 503 " in got[:20]:
                again[key.fileobj] = time.monotonic() + 1
            elif got.endswith(b"\n"):
                key.fileobj.sendall(request(path))
        for s in [s for s, at in again.items() if at < time.monotonic()]:
            del again[s]
            s.sendall(request(path))


def light(build, folder):
    with open(f"{folder}/queries.tsv", encoding="ascii") as f:
        lines = [line.split("\t")[0] for line in f.read().splitlines()]
    words = sorted({w for line in lines for w in re.findall(r"[a-z]{3,}", line)} - {"and", "not"})
    heavy = "/api/search?" + urllib.parse.urlencode({"q": " OR ".join(words[:WORDS]), "n": 100})
    asked = ["/?" + urllib.parse.urlencode({"q": w}) for w in words[WORDS:WORDS + LIGHT]]
    with Web(f"{build}/garner", f"{folder}/data") as web:
        status, body = web.ask(heavy)
        assert status == 200, body
        for path in asked:
            web.ask(path)
        client = os.fork()  # clients are a process of their own
        if client == 0:
            try:
                attack(web.port, heavy)
            finally:
                os._exit(0)
        try:
            time.sleep(2)
            took, refused = [], 0
            for path in asked:
                start = time.monotonic()
                status, _ = web.ask(path)
                took.append((time.monotonic() - start) * 1000)
                refused += status != 200
                time.sleep(0.01)
        finally:
            os.kill(client, 9)
            os.waitpid(client, 0)
    took.sort()
    print(f"http: light questions while {HEAVY} connections of another address ask ORs of {WORDS} words: median "
          f"{took[len(took) // 2]:.1f} ms, most {took[-1]:.1f} ms, {refused} of {len(took)} refused")
    print(f"figure http.light_p99_ms {took[len(took) * 99 // 100]:.1f} ms")
    print(f"figure http.light_refused {refused} questions")


def main(build, folder):
    unread(build)
    light(build, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
