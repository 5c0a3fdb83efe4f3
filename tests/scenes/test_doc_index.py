"""The crawl as a doc index: what is lent, to whom and for how long. The borrower here fetches nothing: it
says what it likes of pages that nobody serves."""
import re

import pytest

import simnet
from docindex import Borrower
from garner import free_port, wait_for

HOSTS = 3


def crawl(make, more="", env=None):
    """A crawl that asks nobody: hosts are numbers, and the local reaper takes no part."""
    g = make()
    g.index = f"{g.dir}/index"
    g.configure(f"[robot]\nnetworks = 127.0.0.0/8\ndelay = 20ms\nconcurrent = 1\n"
                f"[shepherd]\nlocal = never\nfollow = all\ncycle = 2s\nretry = 1s\nlease = 1s\n"
                f"doc_index = unix:{g.index}\nurl_log = {g.dir}/urls\n{more}\n")
    g.process = g.start("shepherd", env=env).wait_ready(30)
    return g


def url(host, page=""):
    return f"http://127.9.0.{host + 1}/{page}"


def want(b, what, seconds=30):
    """Asks until these are lent; all that were, as {url: doc}. A robots.txt is answered: there is none."""
    got = {}

    def look():
        for doc, u in b.want(100).items():
            if u.endswith("/robots.txt"):
                b.result(doc, b"", "permanent", 404)
                assert b.hear() == "OK"
            else:
                got[u] = doc
        return set(what) <= set(got)
    wait_for(f"loans of {what}", look, seconds)
    return got


def judged(g, u):
    """The codes of a URL in the log, in order."""
    try:
        lines = open(f"{g.dir}/urls", encoding="utf-8").read().splitlines()
    except FileNotFoundError:
        return []
    return [line.split(f" {u}: ")[1].split()[0] for line in lines if f" {u}: " in line]


def reaper(g):
    return {r["kind"]: r for r in g.run("shep", "reapers", "--json").json()}["lent"]


def test_a_result_is_read_and_its_links_are_lent(garner):
    g = crawl(garner)
    with Borrower(g.index, "us") as b:
        assert g.run("add", url(0)).code == 0
        got = want(b, [url(0)])
        b.result(got[url(0)], f'<title>Zebra</title><a href="{url(0, "a")}">a</a><a href="{url(1)}">b</a>'.encode())
        assert b.hear() == "OK"
        assert judged(g, url(0)) == ["0000"]
        more = want(b, [url(0, "a"), url(1)])
        # The second RESULT, the DONE that follows, and what was never lent: OK, and nothing happens.
        b.result(got[url(0)], b"something else")
        b.say(f"DONE {got[url(0)]} ok")
        b.say("DONE 0123456789abcdef:0123456789abcdef ok")
        b.result("0123456789abcdef:0123456789abcdef", b"of nothing")
        assert [b.hear() for _ in range(4)] == ["OK"] * 4
        wait_for("late", lambda: reaper(g)["late"] == 2)
        counters = g.run("dump", g.data / "run/counters/shepherd").out
        assert re.findall(r'lent_unknown{line="(\w+)"}\s+(\d+) ', counters) == [("done", "1"), ("result", "1")]
        b.say(f"DONE {more[url(0, 'a')]} site-temporary")
        b.say(f"DONE {more[url(1)]} done")
        assert [b.hear() for _ in range(2)] == ["OK"] * 2
        assert judged(g, url(0, "a")) == ["1104"] and judged(g, url(1)) == ["1507"]
        assert judged(g, url(0)) == ["0000"]


def test_all_urls_of_a_server_go_to_one_and_come_back_when_it_is_gone(garner):
    g = crawl(garner, "lend = 3s")
    first = [url(0, str(i)) for i in range(5)]
    with Borrower(g.index, "one") as one:
        assert g.run("add", first[0]).code == 0
        want(one, first[:1])
        with Borrower(g.index, "two") as two:
            assert g.run("add", *first[1:], url(1)).code == 0
            want(two, [url(1)])
            assert not any(u in first for u in two.want(100).values())
            assert set(want(one, first[1:])) >= set(first[1:])  # many at once: it keeps the delay
        assert two.socket.fileno() == -1
    with Borrower(g.index, "two") as two:
        assert set(want(two, first)) >= set(first)
    assert reaper(g)["lost"] >= 5


def test_a_name_that_says_hello_anew_gets_what_it_had_and_others_do_not(garner):
    g = crawl(garner)
    with Borrower(g.index, "one") as one:
        assert g.run("add", url(0)).code == 0
        doc = want(one, [url(0)])[url(0)]
    with Borrower(g.index, "two") as two:
        assert two.want(100) == {}
    with Borrower(g.index, "one") as one, Borrower(g.index, "spider") as spider:
        assert want(one, [url(0)])[url(0)] == doc
        spider.result(doc, b"<p>hello")
        assert spider.hear() == "OK"
    assert judged(g, url(0)) == ["0000"]


def test_hosts_of_the_reject_list_are_not_lent(garner):
    g = crawl(garner)
    with Borrower(g.index, "us") as b:
        assert g.run("add", url(0), url(1)).code == 0
        rejects = ["127.9.0.1", "x.example"]
        got = {}

        def look():
            for doc, u in b.want(100, rejects).items():
                got[u] = doc
                if u.endswith("/robots.txt"):
                    b.result(doc, b"", "permanent", 404)
                    assert b.hear() == "OK"
            return url(1) in got
        wait_for("the other host", look)
        assert not any(u.startswith(url(0)) for u in got)
        want(b, [url(0)])


def test_reject_lists_are_bounded_over_all_clients(garner):
    g = crawl(garner)
    rejects = "WANT 0 100000\n" + "\n".join(f"h{i}" for i in range(100000))
    clients = [Borrower(g.index, f"us{i}") for i in range(21)]
    for b in clients[:20]:
        assert b.ask(rejects).startswith("HAVE 0")
    assert clients[20].ask("WANT 0 100000").startswith("ERROR too many hosts")
    clients[0].close()

    def is_answered():
        with Borrower(g.index, "another") as b:
            return b.ask(rejects).startswith("HAVE 0")
    wait_for("room", is_answered)
    for b in clients[1:]:
        b.close()


def test_what_is_not_the_protocol_ends_the_connection_with_a_reason(garner):
    g = crawl(garner)
    for lines in (b"WANT 1 0\n", b"HELLO a b\n", b"HELLO x\nHELLO x\n", b"HELLO x\nWANT -1 0\n",
                  b"HELLO x\nRESULT y 99999999 0\n", b"\xff\n", b"x" * 9000):
        with Borrower(g.index) as b:
            b.socket.sendall(lines)
            answers = b.stream.read().decode("utf-8", "replace").splitlines()
            assert answers[-1].startswith("ERROR ") and len(answers[-1]) > 10, (lines, answers)
    with Borrower(g.index, "us") as b:
        assert b.want(1) == {}


def test_a_result_that_lies_is_not_kept_and_one_that_is_too_large_is_judged(garner):
    g = crawl(garner, "[robot]\nbody_max = 10K")
    with Borrower(g.index, "us") as b:
        assert g.run("add", url(0), url(1)).code == 0
        got = want(b, [url(0), url(1)])
        b.result(got[url(0)], b"x" * 2_000_000)
        assert b.hear() == "OK" and judged(g, url(0)) == ["2413"]
        with Borrower(g.index, "liar") as liar:
            head = "ook\ncanswer\ns200\nb5\nC" + "0" * 32 + "\n"
            assert "another body" in liar.ask(f"RESULT {got[url(1)]} {len(head)} 5", head.encode() + b"hello")
        assert judged(g, url(1)) == []
        b.result(got[url(1)], b"<p>true")
        assert b.hear() == "OK" and judged(g, url(1)) == ["0000"]


def test_the_links_of_a_lent_crawl_are_encrypted(garner):
    g = garner()
    net = simnet.start(g, hosts=2, pages=3, delay="30ms", crawl_delay=0, profiles="plain", robots="open",
                       odd_pages=0, appear=0, vanish=0)
    (g.dir / "key").write_text("0123456789abcdef" * 4 + "\n")
    (g.dir / "key").chmod(0o600)
    key = f"tls_shared_key = {g.dir}/key\n"
    robot = f"[robot]\nnetworks = {net.network}\ndns_servers = {net.dns}\ndns_order = ipv4\ndelay = 60ms\n"
    index = f"127.0.0.1:{free_port()}"
    g.configure(f"{robot}[shepherd]\nlocal = never\nfollow = all\ncycle = 2s\nlease = 1s\n"
                f"doc_index = {index}\n{key}")
    g.start("shepherd").wait_ready(30)
    spider, feeder = garner(), garner()
    spider.configure(f"{robot}[spider]\nlisten = unix:{spider.dir}/spider\nresults = {index}\n{key}")
    spider.start("spider").wait_ready(30)
    feeder.configure(f"{robot}[urlserver]\ndoc_index = {index}\nspider_host = unix:{spider.dir}/spider\n"
                     f"req_host_per_sec = 16\n{key}")
    feeder.start("urlserver").wait_ready(30)
    assert g.run("add", net.url(0)).code == 0
    wait_for("documents", lambda: reaper(g)["documents"] >= len(net.expect()), 60, every=0.3)
    net.check_polite()


@pytest.mark.parametrize("orderly", [False, True])
def test_a_crawl_that_is_started_anew_leaves_servers_with_those_who_have_them(garner, orderly):
    """Two URL servers, and the crawl fetches itself: each has a table of politeness of its own, simnet is the judge."""
    g = garner()
    net = simnet.start(g, hosts=6, pages=40, delay="35ms", crawl_delay=0, profiles="plain", robots="open",
                       odd_pages=0, appear=0, vanish=0)
    robot = f"[robot]\nnetworks = {net.network}\ndns_servers = {net.dns}\ndns_order = ipv4\ndelay = 60ms\n"
    index = f"unix:{g.dir}/index"
    g.configure(f"{robot}[shepherd]\nlocal = always\nfollow = all\ncycle = 10s\nlease = 1s\ndoc_index = {index}\n")
    shepherd = g.start("shepherd").wait_ready(30)
    for name in ("one", "two"):
        other = garner()
        other.configure(f"{robot}[spider]\nlisten = unix:{other.dir}/spider\nresults = {index}\nname = of-{name}\n"
                        f"[urlserver]\ndoc_index = {index}\nname = {name}\nspider_host = unix:{other.dir}/spider\n"
                        "req_host_per_sec = 8\n")
        other.start("spider").wait_ready(30)
        other.start("urlserver").wait_ready(30)
    assert g.run("add", *(p["url"] for p in net.truth() if p["status"] == 200)).code == 0
    for _ in range(2):
        wait_for("loans", lambda: reaper(g)["out"] > 50, 30, every=0.2)
        if orderly:
            assert shepherd.stop() == 0
        else:
            shepherd.kill()
        lent = g.run("dump", g.data / "run/lent")
        assert " to one at " in lent.out and " to two at " in lent.out, lent
        assert g.run("check").code == 0
        shepherd = g.start("shepherd").wait_ready(30)
        fetched = reaper(g)["documents"]
        wait_for("more", lambda: reaper(g)["documents"] > fetched + 10, 30, every=0.2)
    net.check_polite()


@pytest.mark.parametrize("point", ["lent.note", "lent.noted", "lent.back", "lent.handed", "lent.result", "lent.answered", "lent.kept"])
def test_killed_at_any_point_a_result_without_ok_is_fetched_again_and_one_with_is_there(garner, point):
    g = crawl(garner, env={"GARNER_FAULTS": f"{point}=kill@2"})
    said = []
    assert g.run("add", *(url(i) for i in range(HOSTS))).code == 0
    while g.process.alive:
        try:
            with Borrower(g.index, "us") as b:
                while True:
                    for doc, u in b.want(10).items():
                        robots = u.endswith("/robots.txt")
                        b.result(doc, b"<p>page", *(("permanent", 404) if robots else ()))
                        if b.hear() != "OK":
                            raise OSError
                        said += [] if robots else [u]
                        if b.ask(f"DONE {doc} ok") != "OK":
                            raise OSError
        except (OSError, AssertionError, IndexError, ValueError):
            wait_for("the end", lambda: not g.process.alive, 20)
    g.process.kill()
    g.start("shepherd").wait_ready(30)
    with Borrower(g.index, "us") as b:
        rest = [url(i) for i in range(HOSTS) if url(i) not in said]
        for u, doc in want(b, rest).items() if rest else ():
            assert u not in said
            b.result(doc, b"<p>page")
            assert b.hear() == "OK"
    for i in range(HOSTS):
        why = g.run("why", "--json", url(i)).json()
        assert why["known"] == "known", why


LENDS = "[shepherd]\ndoc_index = 127.0.0.1:8189\n"


@pytest.mark.parametrize("settings, words, code", [
    ("[shepherd]\ndoc_index = 0.0.0.0:8189", "tls_shared_key", 2),
    ("[robot]\nproxy = http://127.0.0.1:1\n[shepherd]\ndoc_index = unix:x", "", 0),
    (f"{LENDS}[spider]\nresults = 127.0.0.1:8189", "warning: spider.results is ", 0),
    (f"{LENDS}[spider@2]\nresults = localhost:8189", "warning: spider@2.results is ", 0),
    (f"{LENDS}lend_lease = no\n[spider@2]\nresults = localhost:8189", "", 0)])
def test_config_check_says_what_cannot_work(garner, settings, words, code):
    g = garner()
    g.configure(settings + "\n")
    done = g.run("config", "check")
    assert done.code == code and words in done.err, (done.code, done.err)


def test_one_up_does_not_wait_for_itself(garner):
    g = garner(config=f"[up]\nroles = shepherd urlserver spider@2\n{LENDS}[spider@2]\nresults = 127.0.0.1:8189\n")
    for command in (["up"], ["config", "check"]):
        done = g.run(*command)
        assert done.code == 2 and "spider@2.results is shepherd.doc_index" in done.err, done
        assert "set shepherd.lend_lease = no" in done.err
    assert g.run("-s", "shepherd.lend_lease=no", "config", "check").err == ""
