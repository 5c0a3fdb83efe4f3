"""Clients that ask for much and take nothing, or ask for more than their share: memory is bounded, and others are
answered all the same."""
import gzip
import select
import threading

import pytest
from browser import index
from garner import wait_for
from web import alone, demo, everything, until

OTHER, THIRD = "127.0.0.2", "127.0.0.3"
MIB = 1 << 20


def get(path, **headers):
    lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode()


def status(site, path, source=OTHER):
    with site.raw(get(path, Connection="close"), source=source) as s:
        return int(until(s, b"\r\n\r\n").split()[1])


def answered(sockets):
    return select.select(sockets, [], [], 0)[0]


def all_answered(sockets):
    wait_for("all to have a head", lambda: len(answered(sockets)) == len(sockets), 60)


def close(sockets):
    for s in sockets:
        s.close()


def large(n, size):
    """Documents of so many bytes each."""
    line = "pears of every kind, and apples\n"
    return [(f"http://a.example/{i}", {"Title": f"t{i}", "Type": "Text", "Update-Time": "1700000000",
                                       "Full-Text": f"common {i}\n" + line * (size // len(line))}) for i in range(n)]


def serve(garner, objects, **settings):
    """The role web alone, over these documents."""
    text = "".join(f"{k} = {v}\n" for k, v in settings.items())
    g = garner(config=f"[web]\nlisten = 127.0.0.1:0\n{text}")
    index(g, objects)
    return alone(g, "web")


@pytest.mark.limit(300)
def test_answers_that_nobody_reads_hold_no_more_than_their_budget(garner, long_run):
    n, size, most = (500, 9_000_000, 64 * MIB) if long_run else (40, 2_000_000, 16 * MIB)
    site = serve(garner, large(1, size), answer_memory="8M")
    path = "/cached?url=http://a.example/0"
    assert len(site.ask(path).body) > size
    before = site.memory()
    unread = [site.raw(get(path, **({"Accept_Encoding": "gzip"} if i % 2 else {}))) for i in range(n)]
    all_answered(unread)
    assert site.memory() < before + most
    assert status(site, path) == 200  # another address has the other half of it
    close(unread)


def test_a_body_that_lies_in_memory_counts_with_all_of_it(garner):
    # nobody is closed for taking nothing while this lasts, however slow the machine
    site = demo(garner, answer_memory="32M", idle_timeout="10min")
    before = site.memory()
    unread = [site.raw(get("/big?n=9000000")) for _ in range(20)]
    all_answered(unread)
    # one body, and what each of two threads had made when it was refused
    assert site.memory() < before + 60 * MIB
    heads = [until(s, b"\r\n\r\n") for s in unread]
    refused = [h for h in heads if b" 503 " in h]
    assert len(refused) == 19 and all(b"Retry-After: 5\r\n" in h for h in refused)
    assert status(site, "/big?n=1000000") == 200
    close(unread)
    wait_for("room again", lambda: status(site, "/big?n=9000000", "127.0.0.1") == 200)


def test_those_who_take_nothing_make_room_when_others_are_refused(garner):
    site = demo(garner, answer_memory="1M", idle_timeout="12s")
    unread = [site.raw(get("/letters?n=50000000"), source=source) for source in ("127.0.0.1", OTHER) for _ in range(8)]
    all_answered(unread)
    with site.raw(get("/letters?n=1000000"), source=THIRD) as first:
        assert b" 503 " in until(first, b"\r\n")
    wait_for("one of those who read nothing to be closed", lambda: status(site, "/letters?n=1000000", THIRD) == 200)
    assert site.counter("connections_late_total") > 0
    assert site.ask("/big?n=1").body == b"a"
    close(unread)


def test_large_answers_are_packed_without_holding_anybody_up(garner):
    site = demo(garner, threads=1, slow_threads=1, answer_memory="1G")
    n = 10_000_000
    packed = [site.raw(get(f"/big?n={n}", Accept_Encoding="gzip", Connection="close")) for _ in range(8)]
    done, whole = [], []

    def take(s):
        got = everything(s)
        done.append(got[:15])
        whole.append(got.endswith(b"\r\n0\r\n\r\n"))

    threads = [threading.Thread(target=take, args=(s,)) for s in packed]
    for t in threads:
        t.start()
    assert site.ask("/big?n=1").body == b"a"
    before = len(done)  # when a small answer was there that was asked for after them
    for t in threads:
        t.join()
    assert before == 0 and done == [b"HTTP/1.1 200 OK"] * 8 and all(whole)
    close(packed)


def test_a_light_question_does_not_wait_for_heavy_ones_of_another_address(garner):
    site = demo(garner, slow_threads=2, slow_queue=10)
    heavy = [site.raw(get("/slow?n=6000")) for _ in range(8)]
    wait_for("refusals", lambda: len(answered(heavy)) == 2)  # of twelve places six are for one address
    refused = answered(heavy)
    assert status(site, "/slow?n=1") == 200
    assert answered(heavy) == refused  # not one of them is done
    close(heavy)


def test_a_question_whose_client_has_gone_is_not_asked(garner):
    site = demo(garner, threads=1, slow_threads=1, slow_queue=7)
    running = site.raw(get("/slow?n=1500"))
    for _ in range(2):  # the only thread has been round, so this one is first in line
        assert site.ask("/big?n=1").status == 200
    gone = [site.raw(get("/slow?n=15000")) for _ in range(3)]  # with it, half of the places
    wait_for("the share to be used up", lambda: status(site, "/slow?n=1", "127.0.0.1") == 503)
    close(gone)
    assert status(site, "/slow?n=1", "127.0.0.1") == 200  # neither refused nor last of all these
    wait_for("the count", lambda: site.counter("requests_dropped_total") == 3)
    assert b" 200 " in until(running, b"\r\n")
    running.close()


def test_large_documents_are_not_kept_for_their_snippets(garner):
    site = serve(garner, large(8, 2_000_000))
    c = site.keep()
    site.ask("/api/search?q=nothing", connection=c)
    before = site.memory("RssAnon")
    found = site.ask("/api/search?q=common", connection=c)
    assert found.body.count(b'"url"') == 8
    assert site.memory("RssAnon") < before + 10 * MIB
    c.close()


def test_a_large_document_is_the_same_however_it_is_taken(garner):
    site = serve(garner, large(1, 500_000))
    for path in ("/cached?url=http://a.example/0", "/api/document?url=http://a.example/0"):
        plain = site.ask(path)
        packed = site.ask(path, Accept_Encoding="gzip")
        assert gzip.decompress(packed.body) == plain.body
        assert packed.headers["Content-Encoding"] == "gzip" and packed.headers["Vary"] == "Accept-Encoding"
        tag = plain.headers["ETag"]
        assert packed.headers["ETag"] == tag[:-1] + '-gz"'
        for known in (tag, packed.headers["ETag"]):
            a = site.ask(path, If_None_Match=known)
            assert (a.status, a.body, a.headers["ETag"]) == (304, b"", known)
        head = site.ask(path, "HEAD")
        assert (head.status, head.body, head.headers["ETag"]) == (200, b"", tag)
        assert plain.body.count(b"pears of every kind, and apples") == 500_000 // 32
        assert site.say(f"GET {path} HTTP/1.0\r\n\r\n".encode()).endswith(b"\r\n\r\n" + plain.body)
