"""simnet does what it says: what is proved with it stands on this."""
import gzip
import http.client
import json
import re
import signal
import socket
import struct
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest

import garner as real
import simnet

PLAIN = {"profiles": "plain", "robots": "some"}


@pytest.fixture
def net(garner):
    g = garner()
    return lambda **options: simnet.start(g, **options)


def get(net, url, method="GET", connection=None, timeout=10, **headers):
    """(status, headers, body) from the address that the URL's host has when nothing is shared."""
    parts = urllib.parse.urlsplit(url)
    index = int(re.match(r"(?:www\.)?h(\d+)\.", parts.hostname)[1])
    c = connection or http.client.HTTPConnection(net.address(index), net.port, timeout=timeout)
    c.request(method, parts.path or "/", headers={"Host": parts.netloc, **headers})
    answer = c.getresponse()
    body = answer.read()
    if not connection:
        c.close()
    return answer.status, answer.headers, body


def text_of(headers, body):
    if headers["Content-Encoding"] == "gzip":
        body = gzip.decompress(body)
    said = re.search(r"charset=\"?([\w-]+)", headers["Content-Type"] + " " + body[:200].decode("latin-1"))
    return body.decode(said[1] if said else "utf-8")


# The world.

def test_every_page_is_as_the_truth_has_it(net):
    n = net(hosts=3, pages=150, odd_pages=50, delay=0, **PLAIN)
    n.advance(20 * 86400)
    seen = set()
    for p in n.truth():
        status, headers, body = get(n, p["url"], **{"Accept-Encoding": "gzip"})
        assert status == p["status"], p
        seen.add((p["kind"], status))
        if status == 200 and p["kind"] != "binary":
            text = text_of(headers, body)
            assert p["word"] in text and p["version_word"] in text and p["accent_word"] in text
            assert ("noindex" in text) == p["noindex"]
        assert ("/private/" not in p["url"]) == p["allowed"]
        assert p["findable"] == (status == 200 and p["kind"] in ("html", "text", "down")
                                 and p["allowed"] and not p["noindex"])
    assert {("html", 200), ("html", 404), ("html", 410), ("text", 200), ("binary", 200),
            ("broken", 500)} <= seen
    words = [p["word"] for p in n.truth() if "word" in p]
    assert len(set(words)) == len(words)
    assert n.expect() == [p for p in n.truth() if p["findable"]]


def test_the_same_seed_is_the_same_world_and_another_is_not(net):
    port = real.free_port()
    worlds = []
    for seed in (7, 7, 8):
        n = net(hosts=20, pages=30, seed=seed, port=port)
        worlds.append((n.truth(), get(n, n.url(0))[2]))
        n.stop()
    assert worlds[0] == worlds[1] != worlds[2]


def test_every_findable_page_is_reached_by_links_from_the_first_host(net):
    n = net(hosts=12, pages=60, delay=0, appear=50, **PLAIN)
    n.advance(15 * 86400)
    todo, seen = [n.url(0)], set()
    while todo:
        url = todo.pop()
        if url in seen or url.endswith("robots.txt"):
            continue
        seen.add(url)
        status, headers, body = get(n, url)
        if status in (301, 302, 303, 307, 308):
            todo.append(urllib.parse.urljoin(url, headers["Location"]))
        elif status == 200 and "html" in headers["Content-Type"]:
            todo += [urllib.parse.urljoin(url, u)
                     for u in re.findall(r'href="([^"]+)"', text_of(headers, body))]
    assert {p["url"] for p in n.expect()} <= seen


def test_a_validator_holds_until_the_page_changes_and_no_longer(net):
    n = net(hosts=1, pages=60, delay=0, change=100, odd_pages=0, vanish=0, **PLAIN)
    before = {p["url"]: p for p in n.truth()}
    kept = {url: get(n, url) for url in before}
    n.advance(3 * 86400)
    after = {p["url"]: p for p in n.truth()}
    changed = 0
    for url, (_, headers, body) in kept.items():
        ask = {"If-None-Match": headers["ETag"], "If-Modified-Since": headers["Last-Modified"]}
        ask = {k: v for k, v in ask.items() if v}
        if before[url]["status"] != 200 or not ask:
            continue
        status, _, now = get(n, url, **ask)
        same = before[url]["version"] == after[url]["version"]
        assert status == (304 if same else 200), (url, ask)
        assert same or (now != body and after[url]["version_word"].encode() in now)
        assert not same or get(n, url)[2] == body
        changed += not same
    assert 10 < changed < 60


def test_the_clock_runs_at_its_speed_or_stands(net):
    n = net(hosts=1, pages=1)
    assert n.time() == n.time() == 1577836800
    assert n.advance(60) == 1577836860
    n.stop()
    n = net(hosts=1, pages=1, speed=1000)
    first = n.time()
    time.sleep(0.05)
    assert n.time() - first >= 50


def test_pages_appear_and_vanish(net):
    n = net(hosts=1, pages=400, appear=30, vanish=30, **PLAIN)
    start = n.time()
    now, later = ({p["url"]: p["status"] for p in n.truth(at=start + days * 86400)}
                  for days in (0, 40))
    pairs = {(now[u], later[u]) for u in now}
    assert {(404, 200), (200, 404), (200, 410), (200, 200)} <= pairs


# Hosts and what they do.

def test_redirects_lead_where_the_truth_says(net):
    n = net(hosts=9, pages=300, odd_pages=100, appear=0, vanish=0, delay=0, **PLAIN)
    seen = set()
    for p in n.truth(0):
        if p["kind"] not in ("redirect", "away", "loop"):
            continue
        url, hops = p["url"], 0
        while hops < 12:
            status, headers, _ = get(n, url)
            if status == 200:
                break
            url, hops = urllib.parse.urljoin(url, headers["Location"]), hops + 1
        assert (hops == 12) if p["kind"] == "loop" else (url, hops) == (p["to"], p["hops"])
        seen.add((p["kind"], hops))
    assert {("redirect", 1), ("redirect", 4), ("away", 1), ("loop", 12)} <= seen


def test_each_profile_does_its_thing(net):
    n = net(hosts=4, pages=20, delay=0, slow="50ms", **PLAIN)

    def look(profile, path="/", timeout=10):
        n.set(1, "profile", profile)
        return get(n, n.url(1, path), timeout=timeout)
    assert look("plain")[0] == look("slow")[0] == 200
    with pytest.raises(TimeoutError):
        look("hang", timeout=0.3)
    with pytest.raises(ConnectionRefusedError):
        look("refuse")
    with pytest.raises(ConnectionResetError):
        look("reset")
    with pytest.raises((ConnectionResetError, http.client.IncompleteRead)):
        look("cut")
    limited = [look("limited") for _ in range(10)]
    assert sorted(s for s, _, _ in limited) == [200] * 8 + [429] * 2
    assert {h["Retry-After"] for s, h, _ in limited if s == 429} == {"1"}
    day = set()
    for _ in range(4):
        day.add(look("busy")[0])
        n.advance(21600)
    assert day == {200, 503}
    assert look("broken")[0] == 500 and look("broken", "/robots.txt")[0] == 200
    assert look("plain", "/nowhere")[0] == 404 and look("soft404", "/nowhere")[0] == 200
    assert look("moved")[1]["Location"] == n.url(0)
    assert look("mirror")[2] == get(n, n.url(0))[2]
    assert look("plain")[2] != get(n, n.url(0))[2]
    path = "/cal/2020/1"
    for _ in range(30):
        status, _, body = look("calendar", path)
        assert status == 200
        path = re.search(rb'href="(\S+)">after', body)[1].decode()
    assert path == "/cal/2022/7"


def test_each_robots_txt_is_of_its_kind(net):
    n = net(hosts=2, pages=20, delay=0, **PLAIN)

    def look(kind, timeout=10):
        n.set(1, "robots", kind)
        return get(n, n.url(1, "/robots.txt"), timeout=timeout)
    statuses = {k: look(k)[0] for k in ("some", "open", "empty", "absent", "forbidden", "wild", "named",
                                        "delay", "moved", "huge", "garbage", "deny", "failed", "busy")}
    assert statuses.pop("absent") == 404 and statuses.pop("forbidden") == 403
    assert statuses.pop("failed") == 500 and statuses.pop("busy") == 503
    assert statuses.pop("moved") == 301
    assert set(statuses.values()) == {200}
    with pytest.raises(TimeoutError):
        look("hang", timeout=0.3)
    assert b"Disallow: /private/" in look("some")[2] and look("empty")[2] == b""
    assert len(look("huge")[2]) > 700_000 and b"Crawl-delay: 1" in look("delay")[2]
    assert b"User-agent: garner" in look("named")[2]
    assert look("moved")[1]["Location"] == "/robots-moved.txt"
    assert get(n, n.url(1, "/robots-moved.txt"))[0] == 200
    look("wild")
    allowed = {p["url"]: p["allowed"] for p in n.truth(1)}
    assert all(a == ("/private/" not in u or u.endswith(".txt")) for u, a in allowed.items())
    look("deny")
    assert not any(p["allowed"] or p["findable"] for p in n.truth(1))


def test_a_kept_connection_serves_several_hosts_of_one_address(net):
    n = net(hosts=8, addresses=2, pages=5, delay=0, **PLAIN)
    c = http.client.HTTPConnection(n.address(0), n.port, timeout=10)
    found = []
    for host in range(8):
        c.request("GET", "/", headers={"Host": f"{n.name(host)}:{n.port}"})
        answer = c.getresponse()
        found.append((answer.status, f"Page 0 of h{host}," in answer.read().decode("latin-1")))
    assert found.count((200, True)) >= 2 and set(found) == {(200, True), (421, False)}
    assert n.report()["wrong_host"] == found.count((421, False))


# Names.

def query(net, name, kind=1, tcp=False, timeout=20):
    """(rcode, truncated, [(type, data)]) of an answer."""
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split("."))
    packet = struct.pack(">6H", 77, 0x100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1)
    host, port = net.dns.split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as s:
        s.settimeout(timeout)
        s.connect((host, int(port)))
        if tcp:
            s.sendall(struct.pack(">H", len(packet)) + packet)
            f = s.makefile("rb")
            got = f.read(struct.unpack(">H", f.read(2))[0])
        else:
            s.send(packet)
            got = s.recv(4096)
    ident, flags, _, answers, _, _ = struct.unpack(">6H", got[:12])
    assert ident == 77 and got[12:len(packet)] == packet[12:]
    at, records = len(packet), []
    for _ in range(answers):
        while got[at] not in (0, 0xc0):
            at += got[at] + 1
        at += 2 if got[at] == 0xc0 else 1
        rtype, _, _, size = struct.unpack(">HHIH", got[at:at + 10])
        records.append((rtype, got[at + 10:at + 10 + size]))
        at += 10 + size
    return flags & 15, bool(flags & 0x200), records


def test_names_are_answered(net):
    n = net(hosts=4, addresses=3, pages=1, slow="50ms", **PLAIN)
    first = (1, socket.inet_aton(n.address(0)))
    assert query(n, "h0.sim.test") == query(n, "H0.Sim.TEST", tcp=True) == (0, False, [first])
    assert query(n, "h0.sim.test", kind=28) == (0, False, [])
    assert [r[0] for r in query(n, "www.h0.sim.test")[2]] == [5, 1]
    assert query(n, "h3.sim.test")[2][0][1] in [socket.inet_aton(n.address(i)) for i in range(3)]
    assert query(n, "h4.sim.test")[0] == query(n, "h00.sim.test")[0] == 3
    assert query(n, "elsewhere.example")[0] == 5
    assert query(n, "servfail.sim.test")[0] == 2
    assert query(n, "slow.sim.test") == (0, False, [first])
    assert query(n, "many.sim.test") == (0, True, [])
    assert len(query(n, "many.sim.test", tcp=True)[2]) == 100
    assert query(n, "metadata.sim.test")[2] == [(1, socket.inet_aton("169.254.169.254"))]
    assert query(n, "mapped.sim.test", kind=28)[2][0][1][-6:] == b"\xff\xff\x7f\0\0\1"
    inside = [(1, socket.inet_aton("127.0.0.1"))]
    assert [query(n, "rebind.sim.test")[2] for _ in range(3)] == [[first], inside, [first]]
    with pytest.raises(TimeoutError):
        query(n, "mute.sim.test", timeout=0.2)
    n.set(0, "profile", "nxdomain")
    assert query(n, "h0.sim.test")[0] == 3


# Counting.

def test_a_polite_client_has_a_clean_report(net):
    n = net(hosts=2, pages=10, delay="100ms", **PLAIN)
    for path in ("/robots.txt", "/", "/p/1.html"):
        for host in (0, 1):
            get(n, n.url(host, path))
        time.sleep(0.11)
    report = n.check_polite()
    assert (report["requests"], report["robots"], report["addresses"]) == (6, 2, 2)
    assert report["min_gap_us"] >= 100_000 and report["violations"] == 0
    assert n.report(each=True)["each"][1]["address"] == n.address(1)


def test_gaps_overlaps_and_forbidden_pages_are_reported(net):
    n = net(hosts=3, pages=50, delay="60s", slow="1s", retry_after=60, **PLAIN)
    get(n, n.url(0))
    get(n, n.url(0))
    assert n.report()["short_gaps"] == n.report()["violations"] == 1
    n.reset()
    n.set(1, "profile", "slow")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: get(n, n.url(1)), range(2)))
    report = n.report()
    assert (report["overlaps"], report["short_gaps"]) == (1, 1)
    assert {s["what"] for s in report["samples"]} == {"overlap", "short gap"}
    n.reset()
    get(n, next(p["url"] for p in n.truth(2) if not p["allowed"]))
    report = n.report()
    assert report["disallowed"] == 1 and "/private/" in report["samples"][0]["url"]
    n.reset()
    n.set(2, "profile", "limited")
    while get(n, n.url(2))[0] != 429:
        pass
    assert n.report()["early"] == 0
    get(n, n.url(2))
    assert n.report()["early"] == 1
    with pytest.raises(AssertionError):
        n.check_polite()


def test_a_client_that_gave_up_does_not_overlap_with_its_next_request(net):
    n = net(hosts=1, pages=10, delay=0, profiles="hang", robots="some")
    for _ in range(20):
        s = socket.create_connection((n.address(0), n.port))
        s.sendall(b"GET / HTTP/1.1\r\nHost: h0.sim.test\r\n\r\n")
        s.close()
    real.wait_for("the requests", lambda: n.report()["requests"] == 20)
    assert n.report()["overlaps"] == 0


def test_a_client_that_ends_before_it_is_heard_asked_when_it_sent(net):
    n = net(hosts=1, pages=10, delay="1s", **PLAIN)

    def send():
        s = socket.create_connection((n.address(0), n.port))
        s.sendall(b"GET / HTTP/1.1\r\nHost: h0.sim.test\r\n\r\n")
        return s

    for pause in (0.4, 0):  # the second time the gap is really short, and seen
        n.process.send(signal.SIGSTOP)
        first = send()
        time.sleep(2 * pause)
        first.close()
        time.sleep(pause)
        second = send()
        n.process.send(signal.SIGCONT)
        assert second.recv(65536)
        second.close()
        real.wait_for("the requests", lambda: n.report()["requests"] == 2)
        assert n.report()["short_gaps"] == (0 if pause else 1)
        n.reset()


def test_requests_sent_ahead_of_answers_overlap(net):
    n = net(hosts=1, pages=10, delay=0, **PLAIN)
    head = b"GET /p/1.html HTTP/1.1\r\nHost: h0.sim.test\r\n"
    with socket.create_connection((n.address(0), n.port), timeout=10) as s:
        s.sendall((head + b"\r\n") * 2 + head + b"Connection: close\r\n\r\n")
        while s.recv(65536):
            pass
    assert n.report()["requests"] == 3 and n.report()["overlaps"] == 2


def test_a_stopped_simnet_blames_nobody(net):
    """The start of a request is when the kernel got it, not when simnet had time for it."""
    n = net(hosts=1, pages=10, delay="300ms", **PLAIN)
    get(n, n.url(0))
    time.sleep(0.31)
    n.process.send(19)  # STOP
    late = threading.Thread(target=get, args=(n, n.url(0)))
    late.start()
    time.sleep(2)       # a busy machine may take a second to send it
    n.process.send(18)  # CONT
    late.join()
    time.sleep(0.1)     # less than the delay since simnet saw it, more since it was sent
    get(n, n.url(0))
    n.check_polite()


def test_ten_thousand_addresses_are_served(net):
    n = net(hosts=10000, pages=10, **PLAIN)
    for host in (0, 1, 4999, 9999):
        status, headers, body = get(n, n.url(host))
        assert status == 200 and f"Page 0 of h{host},".encode() in body
    assert n.check_polite()["addresses"] == 4
    assert len(n.truth(9999)) == 10
    kib = re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{n.process.pid}/status").read())[1]
    assert int(kib) < 100_000


# Odd answers, hostile input, the end.

def test_odd_answers_are_replayed(net, tmp_path):
    cases = [{"id": "plain", "send": [{"bytes": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\u00e9!"}]},
             {"id": "many", "send": [{"bytes": "HTTP/1.1 200 OK\r\n\r\n"},
                                     {"repeat": {"bytes": "abc", "times": 400000}}, {"close": True}]},
             {"id": "late", "send": [{"pause_idle": 0.5}, {"bytes": "HTTP/1.1 204 None\r\nDate: "},
                                     {"http_date": 0}, {"bytes": "\r\n\r\n"}]},
             {"id": "bomb", "send": [{"bytes": "HTTP/1.1 200 OK\r\n\r\n"}, {"gzip_bomb": {"mb": 3}},
                                     {"close": True}]},
             {"id": "reset", "send": [{"bytes": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"},
                                      {"reset": True}]},
             {"id": "hang", "send": [{"hang": True}]}]
    file = tmp_path / "odd.jsonl"
    file.write_text("".join(json.dumps(c) + "\n" for c in cases))
    n = net(hosts=2, pages=5, odd=file, odd_idle="200ms", delay=0, **PLAIN)
    assert query(n, "odd.test")[2] == [(1, socket.inet_aton(n.address(2)))]
    c = http.client.HTTPConnection(n.address(2), n.port, timeout=30)

    def look(case):
        c.request("GET", f"/c/{case}", headers={"Host": "odd.test"})
        answer = c.getresponse()
        return answer.status, answer.read()
    assert look("plain?again") == look("plain") == (200, b"\xe9!")
    start = time.monotonic()
    assert look("late")[0] == 204 and time.monotonic() - start >= 0.1
    assert look("many") == (200, b"abc" * 400000)
    assert gzip.decompress(look("bomb")[1]) == bytes(3 << 20)
    with pytest.raises((ConnectionResetError, http.client.IncompleteRead)):
        look("reset")
    c.close()
    c.timeout = 0.5
    with pytest.raises(TimeoutError):
        look("hang")
    c.close()
    c.timeout = 30
    assert look("nothing")[0] == 404


def test_hostile_input_hurts_nobody(net):
    n = net(hosts=2, pages=5, delay=0, **PLAIN)

    def send(data, port=n.port, address=n.address(0)):
        with socket.create_connection((address, port), timeout=30) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except OSError:
                pass
    for data in (b"", b"\n", b"\r\n\r\n", b"GET\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n", b"\0" * 100_000,
                 b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10_000, b"GET * HTTP/1.1\r\n\r\n",
                 b"GET /p/99999999999999999999.html HTTP/1.1\r\nHost: h0.sim.test\r\n\r\n",
                 b"GET /p/ HTTP/1.1\r\nHost:\r\n\r\n", b"GET /c HTTP/1.1\r\nHost: h99\r\n\r\n",
                 b"GET http://h0.sim.test HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n" + b"x" * 9999):
        send(data)
    for data in (b"", b"\0", b"\0\5abcde", b"\xff\xff" + b"\xc0" * 65535, b"\0\x11" + b"\0" * 17):
        send(data, int(n.dns.split(":")[1]), "127.0.0.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("127.0.0.1", int(n.dns.split(":")[1])))
        for data in (b"", b"x", b"\0" * 12, b"\0\0\1\0\0\1\0\0\0\0\0\0" + b"\xff" * 400):
            s.send(data)
    for line in ("no such", "advance -1", "advance", "set host h9 profile plain", "truth h9",
                 "set host h0 profile none", "set a b c d"):
        with pytest.raises(AssertionError):
            n.ask(line)
    assert get(n, n.url(0))[0] == 200 and query(n, "h0.sim.test")[0] == 0


def test_it_ends_by_itself_and_when_told(net):
    n = net(**{"for": "200ms"}, hosts=1, pages=1)
    assert n.process.wait() == 0
    n = net(hosts=1, pages=1)
    n.ask("quit")
    assert n.process.wait() == 0
    n = net(hosts=1, pages=1)
    assert n.stop() == 0


def test_wrong_options_are_named(garner):
    import subprocess
    for option, said in (("--hosts=0", "hosts"), ("--nothing", "no such option"), ("x", "expected --"),
                         ("--profiles=nice", "NAME=WEIGHT"), ("--network=10.0.0.0", "127.0.0.0/8"),
                         ("--odd=/nonexistent", "no such file")):
        done = subprocess.run([real.BUILD / "tests" / "simnet", option], capture_output=True,
                              text=True, timeout=10)
        assert done.returncode == 2 and said in done.stderr, done
