"""Heads that are no heads: each gets one answer that says what is wrong, at once, and the connection ends."""
import random
import socket

import pytest
from web import demo, everything

GET = b"GET /big?n=1 HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /body HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
END = b"\r\n\r\n"
HIDDEN = b"GET /echo/smuggled?colour=red HTTP/1.1\r\nHost: x\r\n\r\n"

# what comes, and the status and words of the answer
REFUSED = [
    (b"GET /big?n=1 HTTP/1.1\r\nHost: a\0.evil\r\n\r\n", 400, b"control character"),
    (GET + b"Content-Length: 0\0 5\r\n\r\n", 400, b"control character"),
    (b"GET /big\0?n=1 HTTP/1.1\r\nHost: x\r\n\r\n", 400, b"control character"),
    (GET + b"A: b\rC: d\r\n\r\n", 400, b"control character"),
    (GET.replace(b"\r", b"") + b"\n", 400, b"LF alone"),
    (GET + b"A: b\n\r\n", 400, b"LF alone"),
    (b"\n" + GET + b"\r\n", 400, b"LF alone"),
    (GET + b"A: b\r\n c\r\n\r\n", 400, b"folded"),
    (GET + b"A : b\r\n\r\n", 400, b"impossible name"),
    (GET + b"A\r\n\r\n", 400, b"no colon"),
    (b"GET\r\n\r\n", 400, b"first line"),
    (b"GET / a HTTP/1.1\r\nHost: x\r\n\r\n", 400, b"first line"),
    (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505, b"1.1"),
    (b"GET ! HTTP/1.1\r\nHost: x\r\n\r\n", 400, b"begins with /"),
    (b"GET /big?n=1 HTTP/1.1\r\n\r\n", 400, b"no Host"),
    (b"HEAD /big?n=1 HTTP/1.1\r\n\r\n", 400, b"no Host"),
    (GET + b"Content-Length: x\r\n\r\n", 400, b"not a number"),
    (GET + b"Content-Length: -1\r\n\r\n", 400, b"not a number"),
    (GET + b"Content-Length: 5 \r\n\r\n", 400, b"not a number"),
    (GET + b"Content-Length: 99999999999999999999\r\n\r\n", 413, b"larger"),
    (POST + b"Content-Length: 999999\r\n\r\n", 413, b"at most 1000 bytes"),
    (POST + b"Expect: 100-continue\r\nContent-Length: 999999\r\n\r\n", 413, b"at most 1000 bytes"),
    (b"GET /big?" + b"&" * 1000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 400, b"too many parameters"),
    (b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, b"too long"),
    (GET + b"A: " + b"a" * 40000 + b"\r\n\r\n", 431, b"too large"),
    (GET + b"A:\r\n" * 2000 + b"\r\n", 431, b"too large"),
    (GET + b"Cookie: " + b"a;" * 2000 + b"\r\n\r\n", 431, b"too large"),
    (b"POST /body HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, b"HTTP/1.0"),
    (CHUNKED + b"zz\r\n\r\n", 400, b""),
    (CHUNKED + b"f" * 30 + b"\r\n\r\n", 413, b""),
    (CHUNKED + b"0\r\nA\r\n\r\n", 400, b""),
    (CHUNKED + b"0\r\nA: " + b"a" * 40000 + b"\r\n\r\n", 431, b""),
]


@pytest.fixture(scope="module", params=["whole", "pieces", "second"])
def way(request):
    return request.param


def send(site, way, data):
    """What comes back for these bytes: in one piece, in many, or after another request."""
    with site.raw() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pieces = {"whole": [data], "second": [GET + b"\r\n" + data],
                  "pieces": [data[i:i + 7] for i in range(0, min(len(data), 700), 7)] + [data[700:]]}[way]
        try:
            for piece in pieces:
                s.sendall(piece)
        except ConnectionError:
            pass  # it has said enough
        return everything(s)


def test_each_gets_one_answer_and_the_door(garner, way):
    site = demo(garner)
    for data, status, words in REFUSED:
        got = send(site, way, data + HIDDEN)
        if way == "second":
            first, _, got = got[1:].partition(b"HTTP/1.1 ")
            assert first.startswith(b"TTP/1.1 200 "), (data, first)
            got = b"HTTP/1.1 " + got
        assert got.startswith(b"HTTP/1.1 %d " % status) and words in got, (data[:200], got)
        assert got.count(b"HTTP/1.1 ") == 1 and got.count(b"Content-Length:") == 1, (data[:200], got)
        assert b"smuggled" not in got
    assert site.ask("/big?n=3").body == b"abc"


def test_heads_up_to_the_limit_are_answered_and_none_beyond_is_left_waiting(garner):
    site = demo(garner, connection_memory=4096)
    close = b"Connection: close\r\n"
    for make in (lambda n: GET + close + b"A: " + b"a" * n * 100 + END,
                 lambda n: GET + close + b"A:\r\n" * n + b"\r\n",
                 lambda n: GET + close + b"Cookie: " + b"a=b;" * n + END,
                 lambda n: b"GET /echo/" + b"a" * n * 50 + b"?colour=red HTTP/1.1\r\nHost: x\r\n" + close + b"\r\n",
                 lambda n: POST + close + b"Content-Length: 900\r\nA: " + b"a" * n * 100 + END + b"x" * 900):
        seen = []
        for n in range(1, 42, 2):
            got = site.say(make(n))
            assert got.count(b"HTTP/1.1 ") == 1 and b"webserver" not in got, (n, got)
            seen.append(int(got[9:12]))
        fit = seen.count(200)
        assert fit > 5 and seen[:fit] == [200] * fit and set(seen[fit:]) <= {414, 431}, seen


def test_a_connection_is_closed_after_a_chunked_body(garner):
    site = demo(garner)
    got = site.say(CHUNKED + b"3\r\nabc\r\n0\r\n\r\n" + HIDDEN)
    assert got.endswith(b"\r\n\r\nabc") and b"Connection: close" in got


def test_pipelined_requests_with_bodies_survive_any_cut(garner):
    site = demo(garner)
    dice = random.Random(5)
    for _ in range(20):
        bodies = [bytes(dice.choice(b"\n\r\0 aG") for _ in range(dice.randrange(1000))) for _ in range(20)]
        data = b"".join(POST + b"Content-Length: %d\r\n\r\n" % len(b) + b for b in bodies)
        data += POST + b"Connection: close\r\nContent-Length: 3\r\n\r\nend"
        with site.raw() as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            at = 0
            while at < len(data):
                n = dice.choice((1, 10, 100, 1000, 10000))
                s.sendall(data[at:at + n])
                at += n
            got = everything(s)
        answers = [part.partition(END)[2] for part in got.split(b"HTTP/1.1 200 OK\r\n")[1:]]
        assert answers == bodies + [b"end"]
