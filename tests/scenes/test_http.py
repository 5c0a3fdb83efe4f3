"""The HTTP server: what every answer does, with the routes of the demonstration server."""
import gzip
import json
import os
import re
import select
import signal
import socket
import string
import threading
import time

import pytest
from garner import wait_for
from web import demo, everything, until


def test_parameters_are_read_and_checked(garner):
    site = demo(garner)
    a = site.ask("/echo/h%C3%A9%2Fllo?times=3&loud=yes&share=0.25&colour=green&tags=a,b&tags=c")
    assert a.status == 200 and a.headers["Content-Type"] == "application/json"
    assert json.loads(a.body) == {"word": "hé/llo", "times": 3, "loud": True, "share": 0.25,
                                  "colour": "green", "tags": ["a", "b", "c"]}
    for query, words in (("", "'colour': is missing"), ("colour=blue", "one of red, green"),
                         ("colour=red&times=11", "'times': must be 1 to 10, got '11'"),
                         ("colour=red&tims=1", "did you mean 'times'?"),
                         ("colour=red&word=x", "'word': is there twice")):
        a = site.ask(f"/echo/x?{query}")
        assert a.status == 400 and words in json.loads(a.body)["error"], (query, a)


@pytest.mark.skipif(os.environ.get("GARNER_BUILD") == "tsan",
                    reason="the thread sanitizer has a thread of its own, which blocks all signals")
def test_no_thread_blocks_the_signal_of_a_mapped_file_that_fails(garner):
    """Answers are read from mapped files; a blocked SIGBUS would end the server."""
    site = demo(garner)
    assert site.ask("/nothing").status == 404
    tasks = f"/proc/{site.process.pid}/task"
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/status", encoding="ascii") as f:
            blocked = int(re.search(r"^SigBlk:\s*([0-9a-f]+)", f.read(), re.M).group(1), 16)
        assert not blocked >> (signal.SIGBUS - 1) & 1, f"thread {task}"
    assert len(os.listdir(tasks)) > 1


def test_what_is_not_there_and_what_is_not_allowed(garner):
    site = demo(garner)
    assert site.ask("/nothing").status == 404
    assert json.loads(site.ask("/nothing").body)["status"] == 404
    a = site.ask("/nothing", Accept="text/html,*/*;q=0.8")
    assert a.headers["Content-Type"].startswith("text/html") and b"<h1>404</h1>" in a.body
    assert b'name="viewport"' in a.body and b'<meta name="color-scheme" content="light dark">' in a.body
    a = site.ask("/body", "DELETE")
    assert a.status == 405 and a.headers["Allow"] == "POST, PUT"
    assert site.ask("/echo/x", "OPTIONS").headers["Allow"] == "GET, HEAD"
    assert site.ask("/%zz").status == 400


def test_addresses_and_names_of_our_own_may_be_asked_for(garner):
    site = demo(garner)
    for host, status in (("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:80", 200),
                         ("evil.example", 421), ("127.8.9.1:65535", 200), ("x", 200),
                         ("192.0.2.1", 200), ("[::2]", 200)):
        assert site.ask("/big?n=1", Host=host).status == status, host


def test_an_answer_that_is_known_is_not_sent_again(garner):
    site = demo(garner)
    a = site.ask("/big?n=100")
    tag = a.headers["ETag"]
    assert re.fullmatch(r'"[^"]+"', tag) and a.headers["Cache-Control"] == "no-cache"
    for value in (tag, f'"x", W/{tag}', "*"):
        b = site.ask("/big?n=100", If_None_Match=value)
        assert b.status == 304 and b.body == b"" and b.headers["ETag"] == tag
    assert site.ask("/big?n=101", If_None_Match=tag).status == 200


def test_head_has_the_head_alone(garner):
    site = demo(garner)
    a, b = site.ask("/big?n=5000"), site.ask("/big?n=5000", "HEAD")
    assert b.status == 200 and b.body == b""
    for name in ("Content-Length", "Content-Type", "ETag"):
        assert a.headers[name] == b.headers[name]


def test_large_text_is_packed_for_who_takes_it(garner):
    site = demo(garner)
    plain = site.ask("/big?n=50000", Accept_Encoding="identity")
    packed = site.ask("/big?n=50000", Accept_Encoding="br, gzip")
    assert packed.headers["Content-Encoding"] == "gzip" and "Content-Encoding" not in plain.headers
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert len(packed.body) < 5000 and gzip.decompress(packed.body) == plain.body
    assert packed.headers["ETag"] != plain.headers["ETag"]
    for tag in (packed.headers["ETag"], plain.headers["ETag"]):
        known = site.ask("/big?n=50000", Accept_Encoding="gzip", If_None_Match=tag)
        assert known.status == 304 and known.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in site.ask("/big?n=50000", Accept_Encoding="gzip;q=0").headers
    assert "Content-Encoding" not in site.ask("/big?n=900", Accept_Encoding="gzip").headers


def test_ranges_of_a_file(garner, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 1000)
    whole = path.read_bytes()
    site = demo(garner, file=path)
    a = site.ask("/file")
    assert a.body == whole and a.headers["Accept-Ranges"] == "bytes"
    tag, modified = a.headers["ETag"], a.headers["Last-Modified"]
    for text, part in (("0-9", whole[:10]), ("100-", whole[100:]), ("-10", whole[-10:]),
                       ("255990-999999", whole[255990:])):
        b = site.ask("/file", Range=f"bytes={text}")
        assert b.status == 206 and b.body == part, text
        assert int(b.headers["Content-Length"]) == len(part)
    assert site.ask("/file", Range="bytes=0-9").headers["Content-Range"] == f"bytes 0-9/{len(whole)}"
    b = site.ask("/file", Range="bytes=256000-")
    assert b.status == 416 and b.headers["Content-Range"] == f"bytes */{len(whole)}"
    assert site.ask("/file", Range="bytes=0-1,5-6").body == whole
    assert site.ask("/file", Range="bytes=0-9", If_Range=tag).status == 206
    assert site.ask("/file", Range="bytes=0-9", If_Range=modified).status == 206
    assert site.ask("/file", Range="bytes=0-9", If_Range='"other"').status == 200
    assert site.ask("/file", If_None_Match=tag).status == 304
    assert site.ask("/file", If_Modified_Since=modified).status == 304
    b = site.ask("/file", "HEAD")
    assert b.status == 200 and int(b.headers["Content-Length"]) == len(whole)
    path.unlink()
    assert site.ask("/file").status == 500
    assert len(os.listdir(f"/proc/{site.process.pid}/fd")) < 60


def test_bodies_up_to_their_limit(garner):
    site = demo(garner)
    assert site.ask("/body", "POST", b"x" * 1000).body == b"x" * 1000
    assert site.ask("/body", "POST", b"").body == b""
    assert site.ask("/body", "PUT", bytes(1 << 20)).body == bytes(1 << 20)
    a = site.ask("/body", "POST", b"x" * 1001)
    assert a.status == 413 and a.headers["Connection"] == "close" and b"1000 bytes" in a.body
    # in pieces, without a length
    head = b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    assert site.say(head + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").endswith(b"abcde")
    assert b" 413 " in site.say(head + b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n")
    # a request that takes none
    assert site.ask("/big?n=1", "GET", b"x").status == 413


def test_headers_cannot_be_broken_out_of(garner):
    site = demo(garner)
    a = site.ask("/header?value=caf%C3%A9", X_Asked="yes")
    assert a.status == 200 and a.body == b"yes" and a.headers["X-Said"]
    for bad in ("a%0D%0AX-Evil:1", "a%0Ab", "%01", "%7F"):
        a = site.ask(f"/header?value={bad}")
        assert a.status == 500 and "X-Evil" not in a.headers and "X-Said" not in a.headers
    site.process.wait_line("a header of the answer has a control character")


def test_every_answer_guards_itself(garner):
    site = demo(garner)
    for path in ("/big?n=1", "/nothing", "/fails"):
        a = site.ask(path)
        assert a.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'self'" in a.headers["Content-Security-Policy"]
        assert a.headers["Referrer-Policy"]


def test_failures_say_it_in_the_log_alone(garner):
    site = demo(garner)
    a = site.ask("/fails")
    assert a.status == 500 and b"fire" not in a.body
    site.process.wait_line("the disk is on fire")
    a = site.ask("/busy")
    assert a.status == 503 and b"somebody else has it" in a.body


def test_an_answer_in_pieces_is_whole_or_cut_off(garner):
    site = demo(garner)
    want = lambda n: (string.ascii_lowercase.encode() * (n // 26 + 1))[:n]  # noqa: E731
    for n in (0, 1, 65535, 65536, 65537, 1_000_000):
        a = site.ask(f"/letters?n={n}")
        assert (a.status, a.body) == (200, want(n))
        assert ("Content-Length" in a.headers) == (n <= 65536)  # one piece is an answer like any other
        b = site.ask(f"/letters?n={n}", Accept_Encoding="gzip")
        body = gzip.decompress(b.body) if "Content-Encoding" in b.headers else b.body
        assert body == want(n) and a.headers["ETag"] != site.ask("/letters?n=2").headers["ETag"]
        assert site.ask(f"/letters?n={n}", If_None_Match=b.headers["ETag"]).status == 304
    got = site.say(b"GET /letters?n=777777 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b" 200 " in got[:20] and not got.endswith(b"\r\n0\r\n\r\n")
    site.process.wait_line("the letters are used up")
    assert site.ask("/big?n=1").status == 200


def test_slow_answers_hold_nobody_up(garner):
    site = demo(garner, threads=1, slow_threads=4, slow_queue=4)  # a client has half of the places
    answers = []

    def slow():
        answers.append(site.ask("/slow?n=3000"))

    threads = [threading.Thread(target=slow) for _ in range(8)]
    for t in threads:
        t.start()
    wait_for("refusals", lambda: len(answers) == 4)
    assert all(a.status == 503 and a.headers["Retry-After"] == "1" for a in answers)
    assert site.ask("/big?n=1").body == b"a"  # while four are at work
    assert len(answers) == 4
    for t in threads:
        t.join()
    assert sorted(a.status for a in answers) == [200] * 4 + [503] * 4


def test_clients_take_turns_at_slow_answers(garner):
    site = demo(garner, threads=1, slow_threads=1, slow_queue=7)
    ask = b"GET /slow?n=800 HTTP/1.1\r\nHost: x\r\n\r\n"
    many = [site.raw(ask) for _ in range(6)]
    answered = lambda: select.select(many, [], [], 0)[0]  # noqa: E731
    wait_for("refusals", lambda: len(answered()) >= 2)  # of eight places four are for one address
    with site.raw(ask, source="127.0.0.2") as other:
        assert b" 200 " in until(other, b"\r\n")
    assert len(answered()) < 6  # the other came last and did not wait for all of them
    heads = [until(s, b"\r\n")[9:12] for s in many]
    assert sorted(heads) == [b"200"] * 4 + [b"503"] * 2
    for s in many:
        s.close()


def test_answers_that_come_later_hold_no_thread(garner):
    site = demo(garner, threads=1, slow_threads=1, slow_queue=40)
    many = [site.raw(b"GET /later?n=2 HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(20)]
    wait_for("twenty to wait", lambda: site.ask("/again?n=0").body == b"20\n")
    assert site.ask("/slow?n=0").status == 200  # there is one thread, and it is free
    gone = site.raw(b"GET /later?n=1 HTTP/1.1\r\nHost: x\r\n\r\n", source="127.0.0.2")
    wait_for("all to wait", lambda: site.ask("/again?n=0").body == b"21\n")
    gone.close()
    assert site.ask("/again").body == b"21\n"
    wait_for("all but one to wait again", lambda: site.ask("/again?n=0").body == b"20\n")
    assert site.ask("/again").body == b"20\n"
    for s in many:
        assert b" 200 " in until(s, b"127.0.0.1\n")
        s.close()
    assert site.counter("requests_dropped_total") == 1
    with site.raw(b"GET /later?n=9 HTTP/1.1\r\nHost: x\r\n\r\n") as s:
        wait_for("it to wait", lambda: site.ask("/again?n=0").body == b"1\n")
        assert site.process.stop() == 0
        assert everything(s).startswith(b"HTTP/1.1 503 ")


def test_a_stream_arrives_whole_and_waits_for_its_source(garner):
    site = demo(garner)
    a = site.ask("/lines?n=300")
    assert a.body == b"".join(b"line %d\n" % i for i in range(1, 301))
    assert site.ask("/lines?n=0").body == b""
    assert site.ask("/lines?n=5", "HEAD").body == b""
    with site.raw(b"GET /lines?n=100000 HTTP/1.1\r\nHost: x\r\n\r\n") as s:
        until(s, b"line 3\n")
    assert site.ask("/big?n=1").status == 200  # the one that left was given up


def listen(site):
    s = site.raw(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b"text/event-stream" in until(s, b"retry: 2000\n\n")
    return s


def test_events_reach_all_who_listen(garner):
    site = demo(garner)
    listeners = [listen(site) for _ in range(5)]
    assert site.ask("/events", "POST", b"one\ntwo\r\n").body == b"5\n"
    for s in listeners:
        until(s, b"event: word\ndata: one\ndata: two\n\n")
        s.close()
    def alone():
        site.ask("/events", "POST", b"x")
        return site.ask("/events", "POST", b"x").body == b"0\n"
    wait_for("those who left to be noticed", alone)


def test_heartbeats_find_out_who_has_gone(garner):
    site = demo(garner, beat="1s")
    gone, stays = listen(site), listen(site)
    gone.close()
    until(stays, b":\n\n")
    until(stays, b":\n\n")
    until(stays, b":\n\n")
    assert site.ask("/events", "POST", b"x").body == b"1\n"


def test_too_many_listeners_are_refused(garner):
    site = demo(garner, max_listeners=2)
    kept = [listen(site), listen(site)]
    assert site.ask("/events").status == 503
    for s in kept:
        s.close()


def test_a_listener_that_lags_is_dropped_and_told(garner):
    site = demo(garner)
    slow, quick = listen(site), listen(site)
    for _ in range(400):
        site.ask("/events", "POST", b"x" * 60000)
        assert until(quick, b"x\n\n").count(b"event: word") == 1  # so it never lags itself
    got = until(slow, b"too slow, come again")
    assert got.count(b"event: word") < 400
    slow.close()
    quick.close()


def test_what_runs_is_finished_before_the_end(garner):
    site = demo(garner)
    kept = site.keep()
    assert site.ask("/big?n=1", connection=kept).status == 200
    listener = listen(site)
    answers = []
    threads = [threading.Thread(target=lambda p=p: answers.append(site.ask(p)))
               for p in ("/slow?n=700", "/lines?n=200")]
    for t in threads:
        t.start()
    wait_for("all to be connected", lambda: site.counter("connections_open") == 4)
    time.sleep(0.2)  # and to have said what they want
    site.process.send(signal.SIGTERM)
    for t in threads:
        t.join()
    assert [a.status for a in answers] == [200, 200]
    assert any(a.body.endswith(b"line 200\n") for a in answers)
    everything(listener)
    assert site.process.wait() == 0


def test_what_does_not_end_is_cut_at_the_deadline(garner):
    site = demo(garner, drain="200ms")
    with site.raw(b"GET /lines?n=1000000 HTTP/1.1\r\nHost: x\r\n\r\n") as s, listen(site) as l:
        until(s, b"line 3\n")
        assert site.process.stop() == 0
        everything(s)
        everything(l)


def test_a_unix_socket_serves_as_well(garner, tmp_path):
    path = tmp_path / "socket"
    g = garner(config=f"[demo]\nlisten = unix:{path}\n", program="tests/garner-http")
    process = g.start("demo").wait_ready()
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(b"GET /big?n=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 200 OK" in everything(s)
    assert process.stop() == 0


def test_both_families_are_served_and_counted_apart(garner):
    g = garner(config="[demo]\nlisten = *:0\nmax_per_address = 2\n", program="tests/garner-http")
    process = g.start("demo").wait_ready()
    port = int(re.search(r'address="?\*:(\d+)', process.wait_line("listening")).group(1))
    for host in ("::1", "127.0.0.1"):
        inside = []
        for _ in range(3):
            inside.append(socket.create_connection((host, port), 20))
            try:
                inside[-1].sendall(b"GET /big?n=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert (b" 200 OK" in inside[-1].recv(100)) == (len(inside) <= 2)
            except ConnectionError:
                assert len(inside) == 3
        for s in inside:
            s.close()
    assert process.stop() == 0
