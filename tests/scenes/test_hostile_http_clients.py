"""The HTTP server among clients that mean no good: others are unharmed, memory stays flat."""
import os
import random
import socket
import time

import pytest
from garner import wait_for
from web import closes, demo, everything, until

GET = b"GET /big?n=1 HTTP/1.1\r\nHost: x\r\n\r\n"


def fine(site):
    assert site.ask("/big?n=3").body == b"abc"


def test_half_requests_are_closed_in_their_time(garner):
    site = demo(garner, idle_timeout="1s", request_timeout="1s")
    halves = [b"", b"G", b"GET /big", b"GET /big?n=1 HTTP/1.1\r\n", GET[:-2],
              b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
              b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"]
    sockets = [site.raw(h) for h in halves]
    fine(site)
    for s in sockets:
        assert b"200 OK" not in closes(s)
        s.close()
    fine(site)


@pytest.mark.limit(90)
def test_slow_senders_are_late_however_busy_they_look(garner):
    site = demo(garner, idle_timeout="30s", request_timeout="2s")
    slow = [site.raw(b"GET /big?n=1 HTTP/1.1\r\nHost: x\r\n") for _ in range(50)]
    body = site.raw(b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n")
    open_now = set(range(len(slow)))
    end = time.monotonic() + 20
    while open_now and time.monotonic() < end:
        for i in list(open_now):
            try:
                slow[i].sendall(b"X-A: b\r\n")
                slow[i].setblocking(False)
                if slow[i].recv(1) == b"":
                    open_now.discard(i)
            except BlockingIOError:
                slow[i].setblocking(True)
            except OSError:
                open_now.discard(i)
        try:
            body.sendall(b"x")
        except OSError:
            pass
        fine(site)
        time.sleep(0.2)
    assert not open_now
    assert b"200 OK" not in closes(body)
    wait_for("the last to be late", lambda: site.counter("connections_late_total") == 51)
    for s in slow:
        s.close()


@pytest.mark.limit(90)
def test_a_client_that_does_not_read_is_let_go(garner):
    site = demo(garner, answer_timeout="2s", idle_timeout="60s")
    before = site.memory()
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(20)
        s.connect(("127.0.0.1", site.port))
        s.sendall(b"GET /big?n=20000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        until(s, b"\r\n\r\n")
        site.process.wait_line("path=/big status=200", 20)  # the request is over
        wait_for("its memory to be given back", lambda: site.memory() <= before + (8 << 20))
        assert len(everything(s)) < 20_000_000
    fine(site)


def test_floods_beyond_the_caps_are_refused_and_leave_room_for_others(garner):
    site = demo(garner, max_connections=100, max_per_address=20)
    flood, kept = [], 0
    for _ in range(300):
        s = site.raw(source="127.0.0.2")
        flood.append(s)
    wait_for("all to be counted", lambda: site.counter("connections_refused_total")
             + site.counter("connections_open") == len(flood))
    for s in flood:
        s.settimeout(0.05)
        try:
            kept += s.recv(1) != b""
        except socket.timeout:
            kept += 1
        except ConnectionError:
            pass
    assert 20 <= kept <= 24  # as many threads may pass the cap at once
    assert site.counter("connections_refused_total") == 300 - kept
    assert site.counter("connections_open") == kept
    fine(site)
    more = [site.raw(source=f"127.0.0.{i}") for i in range(3, 13) for _ in range(20)]
    wait_for("all places to be taken", lambda: site.counter("connections_open") >= 100)
    def refused():
        try:
            with site.raw(GET, timeout=30) as s:
                return s.recv(1) == b""
        except ConnectionError:
            return True
    assert refused()  # all places are taken
    for s in flood + more:
        s.close()
    wait_for("room again", lambda: not refused())
    fine(site)


def test_garbage_is_answered_with_an_error_or_the_door(garner):
    site = demo(garner, request_timeout="2s", idle_timeout="1s")
    dice = random.Random(7)
    garbage = [bytes(dice.randrange(256) for _ in range(dice.randrange(1, 2000))) for _ in range(60)]
    garbage += [b"\r\n" * 1000, b"\0" * 5000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                b"GET /big?n=1 HTTP/1.1\r\nHost : x\r\n\r\n",
                b"GET /big?n=1 HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                b"GET /big?n=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
                b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
    for g in garbage:
        with site.raw(g + b"\r\n\r\n") as s:
            s.shutdown(socket.SHUT_WR)
            assert not everything(s).startswith(b"HTTP/1.1 200"), g
    fine(site)


def test_long_lines_and_heads_are_refused(garner):
    site = demo(garner)
    for request in (b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                    b"GET /big?n=1 HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 40000 + b"\r\n\r\n",
                    b"GET /big?n=1 HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 10000 + b"\r\n"):
        with site.raw() as s:
            try:
                s.sendall(request)
            except ConnectionError:
                pass
            got = everything(s)
            assert got == b"" or got.split(b" ")[1] in (b"414", b"431", b"413"), got[:100]
    assert site.ask("/echo/" + "a" * 8000 + "?colour=red").status == 200
    fine(site)


def test_pipelined_requests_are_answered_in_their_order(garner):
    site = demo(garner)
    n = 200
    requests = b"".join(b"GET /echo/%d?colour=red HTTP/1.1\r\nHost: x\r\n\r\n" % i for i in range(n))
    requests += b"GET /slow?n=20 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    got = site.say(requests)
    words = [part.split(b'"')[0] for part in got.split(b'"word":"')[1:]]
    assert words == [b"%d" % i for i in range(n)]
    assert got.endswith(b"20\n")


def test_a_body_is_never_taken_for_the_next_request(garner):
    site = demo(garner)
    hidden = b"GET /echo/smuggled?colour=red HTTP/1.1\r\nHost: x\r\n\r\n"
    length = b"Content-Length: %d\r\n" % len(hidden)
    for head in (b"GET /big?n=1 HTTP/1.1\r\nHost: x\r\n" + length,
                 b"DELETE /nothing HTTP/1.1\r\nHost: x\r\n" + length,
                 b"POST /nothing HTTP/1.1\r\nHost: x\r\n" + length,
                 b"POST /body HTTP/1.1\r\nHost: x\r\n" + length + b"Transfer-Encoding: chunked\r\n"):
        assert b"smuggled\",\"times" not in site.say(head + b"\r\n" + hidden + b"GET / HTTP/1.0\r\n\r\n")
    fine(site)


def test_a_head_that_can_be_read_in_two_ways_ends_the_connection(garner):
    site = demo(garner, request_timeout="3s")
    hidden = b"GET /echo/smuggled?colour=red HTTP/1.1\r\nHost: x\r\n\r\n"
    length = b"Content-Length: %d" % len(hidden)
    for fields, rest in (((b"Host: x", b"Content-Length: 0", length), b""),
                         ((b"Host: x", b"Content-Length: 0", b"Transfer-Encoding: chunked"), b"0\r\n\r\n"),
                         ((b"Host: x", b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
                          b"0\r\n\r\n"),
                         ((b"Host: x", b"Transfer-Encoding: xchunked"), b"0\r\n\r\n"),
                         ((b"Host: x", b"Transfer-Encoding: gzip, chunked"), b"0\r\n\r\n"),
                         ((b"Host: x", b"Transfer-Encoding : chunked"), b"0\r\n\r\n"),
                         ((b"Host: x", length.replace(b":", b" :")), b""),
                         ((b"Host: x", b"A: b\rContent-Length: 5"), b""),
                         ((b"Host: x", b"Host: y"), b""),
                         ((b"Host: a b",), b""),
                         ((b"Host: x/y",), b"")):
        got = site.say(b"GET /big?n=1 HTTP/1.1\r\n" + b"\r\n".join(fields) + b"\r\n\r\n" + rest + hidden)
        assert got.startswith(b"HTTP/1.1 400 ") and got.count(b"HTTP/1.1") == 1, (fields, got)
        assert b"Connection: close" in got
    for fields in ((b"Host:x",), (b"hOST: [::1]:80", b"TRANSFER-ENCODING: Chunked"),
                   (b"Host: X:8080", b"X-Text: a\tb \xe4\xc3\xa4", b"A:")):
        got = site.say(b"GET /big?n=1 HTTP/1.1\r\nConnection: close\r\n" + b"\r\n".join(fields)
                       + b"\r\n\r\n0\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 200 "), (fields, got)
    fine(site)


def test_who_stays_after_a_large_answer_holds_little(garner):
    site = demo(garner)
    stay = [site.keep() for _ in range(300)]
    for c in stay:
        site.ask("/big?n=1", connection=c)
    before = site.memory()
    for c in stay:
        assert len(site.ask("/big?n=60000", connection=c).body) == 60000
        site.ask("/big?n=60000", connection=c, Accept_Encoding="gzip")
    assert site.memory() - before < len(stay) * 48 * 1024
    for c in stay:
        c.close()


@pytest.mark.limit(600)
def test_connections_that_come_and_go_leave_nothing_behind(garner, long_run):
    site = demo(garner, idle_timeout="2s", request_timeout="2s", max_per_address=2000)
    n = 100_000 if long_run else 3_000

    def come_and_go(count):
        for i in range(count):
            s = site.raw(source=f"127.0.{1 + i % 8}.{1 + i // 8 % 250}")
            if i % 3 == 0:
                s.sendall(GET)
                until(s, b"\r\n\r\na")
            elif i % 3 == 1:
                s.sendall(GET[:20])
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            s.close()

    come_and_go(2000)  # memory that is kept for the next is there now
    fine(site)
    before = site.memory()
    come_and_go(n)
    fine(site)
    assert site.memory() <= before + (4 << 20)
    wait_for("descriptors to be closed",
             lambda: len(os.listdir(f"/proc/{site.process.pid}/fd")) < 40)
