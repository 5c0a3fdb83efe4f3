"""Servers that end a page before its end, or send what would break a head: the page that was whole
stays, and what is healthy is asked again."""
import gzip
import json
import socket
import threading
import zlib

import pytest

import replay
from garner import wait_for

PAGE = b"<title>t</title>" + b" ".join(b"word%d" % i for i in range(400))


def answer(body, *fields, length=None):
    head = [b"HTTP/1.1 200 OK", b"Content-Type: text/html", b"Connection: close", *fields,
            b"Content-Length: %d" % (len(body) if length is None else length)]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def raw_deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


class Raw:
    """A server that sends bytes: path -> all of an answer. It remembers whole requests."""

    def __init__(self):
        self.pages, self.asked = {}, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.host = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.url = f"http://{self.host}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                request = b""
                while b"\r\n\r\n" not in request and (more := connection.recv(65536)):
                    request += more
                if not request:
                    continue
                path = request.split()[1].decode()
                missing = b"HTTP/1.1 404 None\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                connection.sendall(self.pages.get(path, missing))
                self.asked.append(request)

    def of(self, path):
        return [r for r in self.asked if r.split()[1].decode() == path]


@pytest.fixture
def raw():
    server = Raw()
    yield server
    server.socket.shutdown(socket.SHUT_RDWR)
    server.socket.close()


PACKED = gzip.compress(PAGE, mtime=0)
GZIP = b"Content-Encoding: gzip"
CASES = {  # path: the answer, outcome, cause, size
    "whole": (answer(PACKED, GZIP), "ok", "answer", len(PAGE)),
    "half": (answer(PACKED[:len(PACKED) // 2], GZIP), "temporary", "coding-cut", None),
    "no-sum": (answer(PACKED[:-8], GZIP), "temporary", "coding-cut", None),
    "head-only": (answer(PACKED[:10], GZIP), "temporary", "coding-cut", None),
    "bad-sum": (answer(PACKED[:-8] + bytes(8), GZIP), "temporary", "coding", None),
    "padded": (answer(PACKED + b"\0\0<!-- cached -->", GZIP), "ok", "answer", len(PAGE)),
    "two": (answer(PACKED + PACKED, GZIP), "ok", "answer", 2 * len(PAGE)),
    "second-half": (answer(PACKED + PACKED[:60], GZIP), "temporary", "coding-cut", None),
    "empty": (answer(b"", GZIP), "ok", "answer", 0),
    "deflate": (answer(zlib.compress(PAGE), b"Content-Encoding: deflate"), "ok", "answer", len(PAGE)),
    "deflate-half": (answer(zlib.compress(PAGE)[:90], b"Content-Encoding: deflate"), "temporary",
                     "coding-cut", None),
    "raw-half": (answer(raw_deflate(PAGE)[:90], b"Content-Encoding: deflate"), "temporary",
                 "coding-cut", None),
    "inner-half": (answer(gzip.compress(PACKED[:99]), b"Content-Encoding: gzip, gzip"), "temporary",
                   "coding-cut", None),
    "short": (answer(PACKED[:90], GZIP, length=len(PACKED)), "temporary", "cut", None),
    "plain-short": (answer(PAGE[:90], length=len(PAGE)), "temporary", "cut", None),
    "chunked-half": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + GZIP +
                     b"\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (60, PACKED[:60]), "temporary",
                     "coding-cut", None),
    "transfer": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3c\r\n" +
                 PACKED[:60] + b"\r\n0\r\n\r\n", "temporary", "protocol", None),
    "bomb": (answer(gzip.compress(bytes(300 << 10)), GZIP), "limit", "body", None),
    "error-page": (b"HTTP/1.1 404 None\r\n" + GZIP + b"\r\nContent-Length: 30\r\n\r\n" +
                   PACKED[:30], "permanent", "answer", None),
}


def test_a_body_ends_where_its_coding_says(garner):
    cases = [{"id": name, "send": [{"bytes": bytes_.decode("latin-1")}, {"close": True}]}
             for name, (bytes_, *_) in CASES.items()]
    wrong = []
    with replay.Replay(cases, 2.0) as server:
        g = garner(f"[robot]\nnetworks = {server.network}\ndns_servers = {server.dns}\n"
                   "dns_order = ipv4\ndelay = 0\nbody_max = 200K\n")
        names = {server.url(name): name for name in CASES}
        (g.dir / "list").write_text("".join(url + "\n" for url in names))
        done = g.run("fetch", "--json", "--from", "list", "-o", "kept")
    for r in map(json.loads, done.out.splitlines()):
        name = names.pop(r["url"])
        _, outcome, cause, size = CASES[name]
        if (r["outcome"], r["cause"]) != (outcome, cause) or (size is not None and r["size"] != size):
            wrong.append(f"{name}: {r['outcome']} {r['cause']} {r['size']} {r.get('why')}")
        if ("file" in r) != (outcome == "ok"):
            wrong.append(f"{name}: kept as {r.get('file')}")
        if name == "bomb":
            assert r["why"] == "larger than 204800 bytes unpacked, see robot.body_max"
        if name == "half":
            assert r["why"] == "ends before its coding (gzip) does"
    assert not wrong and not names, wrong


def test_half_a_robots_txt_allows_nothing(garner, raw):
    rules = gzip.compress(b"User-agent: *\nAllow: /\n" + b"# more\n" * 50 + b"Disallow: /x\n", mtime=0)
    raw.pages["/robots.txt"] = answer(rules[:40], GZIP)
    raw.pages["/x"] = answer(PAGE)
    g = garner("[robot]\nnetworks = 127.0.0.1\ndelay = 0\n")
    got = g.run("fetch", "--json", f"{raw.url}/x").json()
    assert (got["outcome"], got["cause"]) == ("site-temporary", "robots-unreachable")
    assert not raw.of("/x")


def test_a_validator_that_would_break_a_head_is_not_taken(garner, raw):
    raw.pages["/"] = answer(PAGE, b'ETag: "a\rX-Evil: 1"', b"Last-Modified: Mon\x07")
    g = garner("[robot]\nnetworks = 127.0.0.1\ndelay = 0\n")
    got = g.run("fetch", "--json", f"{raw.url}/").json()
    assert got["outcome"] == "ok" and "etag" not in got and "last_modified" not in got
    for option in "--etag", "--last-modified":
        done = g.run("fetch", option, '"a\rX-Evil: 1"', f"{raw.url}/")
        assert done.code == 2 and done.err.startswith(f"garner: {option}: expected at most ")


def test_half_a_page_does_not_take_the_place_of_the_whole(garner, raw):
    def page(word):
        return b"<title>t</title><p>%s %s end%s" % (word, PAGE, word)

    whole = gzip.compress(page(b"first"), mtime=0)
    raw.pages["/"] = answer(whole, GZIP, b'ETag: "a\rb"')
    g = garner("[up]\nroles = shepherd broker\n[robot]\nnetworks = 127.0.0.1\ndelay = 10ms\n"
               f"[shepherd]\nno_delay = {raw.host}\ncycle = 1s\nrefresh = 2s\nretry = 1s\n"
               "retries = 255\n")
    g.start("up").wait_ready(20)
    url = f"{raw.url}/"

    def found(word):
        return g.run("search", "--strict", "--urls", word).out.split() == [url]

    def why():
        return g.run("why", "--json", url).json()

    assert g.run("add", url).code == 0
    wait_for("the first", lambda: found("endfirst"), 20)
    half = gzip.compress(page(b"second"), mtime=0)
    raw.pages["/"] = answer(half[:len(half) // 2], GZIP)
    wait_for("a failure", lambda: why().get("code") == 1502, 20)
    assert "ends before its coding" in why()["reason"]
    assert found("endfirst") and not found("second")
    raw.pages["/"] = answer(gzip.compress(page(b"third"), mtime=0), GZIP)
    wait_for("the third", lambda: found("endthird"), 40)
    assert not any(b"If-None-Match" in r for r in raw.of("/"))
