"""Sites as they are: pages that change, vanish, come back, lead in circles; servers that are down or
never answer. What the crawl makes of them, and what is found then."""
import os
import socket
import time

import pytest

from garner import left_running, wait_for
from pages import Web


@pytest.fixture
def web():
    made = []

    def make(port=0):
        made.append(Web(port))
        return made[-1]
    yield make
    for w in made:
        w.stop()


class Crawl:
    """Everything hurried: cycles of a second, pages are looked at again after two."""

    def __init__(self, garner, hosts, **shepherd):
        settings = {"cycle": "1s", "refresh": "2s", "retry": "1s", "retries": "2",
                    "forget": "3s", **shepherd}
        self.g = garner(config="[up]\nroles = shepherd broker\nrestart_max = 200ms\n"
                               "[robot]\nnetworks = 127.0.0.1\ndelay = 10ms\n[shepherd]\n"
                               f"no_delay = {' '.join(hosts)}\n" +
                               "".join(f"{k} = {v}\n" for k, v in settings.items()))
        self.up = self.g.start("up").wait_ready(20)

    def add(self, *urls):
        assert self.g.run("add", *urls).code == 0

    def found(self, words):
        return set(self.g.run("search", "--strict", "--urls", words).out.split())

    def wait_found(self, words, *urls, timeout=60):
        wait_for(f"{words} in {urls}", lambda: self.found(words) == set(urls), timeout)

    def why(self, url):
        return self.g.run("why", "--json", url).json()


def test_a_redirect_in_a_circle_is_not_followed_for_ever(garner, web):
    w = web()
    w.pages["/a"] = (302, {"Location": "/b"}, "")
    w.pages["/b"] = (302, {"Location": "/a"}, "")
    c = Crawl(garner, [w.host], refresh="1h", forget="1h")
    c.add(f"{w.url}/a")
    wait_for("both", lambda: w.count("/a") and w.count("/b"), 20)
    time.sleep(4)
    assert w.count("/a") <= 2 and w.count("/b") <= 2
    c.add(f"{w.url}/a")  # by hand it is asked again
    before = w.count("/a")
    wait_for("once more", lambda: w.count("/a") > before, 20)


def test_the_next_plan_is_explained_while_the_crawl_runs(garner, web):
    w = web()
    w.pages["/"] = '<title>t</title>first <a href="/b">b</a>'
    w.pages["/b"] = "<title>b</title>banana"
    c = Crawl(garner, [w.host], refresh="1h")
    c.add(f"{w.url}/")
    c.wait_found("banana", f"{w.url}/b")

    def explained(*settings, state="closed"):
        return c.g.run(*settings, "shep", "plan", "--explain", "--json", state).json()
    wait_for("a state that knows both", lambda: explained()["left_out"]["not-due"] >= 2, 20)
    later = explained()
    name = later["state"]
    folder = c.g.data / "shepherd" / "state" / later["state"]

    def files():
        return sorted((f.name, f.stat().st_mtime_ns) for f in folder.iterdir())
    before = files()
    assert later["urls"] == 0 and later["servers"] == [] and later["next"] > "2000"
    time.sleep(1.1)
    sooner = explained("-s", "shepherd.refresh=1s", "-s", "shepherd.avg_bucket_size=1000", state=name)
    assert sooner["urls"] >= 2 and sooner["bytes"] == sooner["urls"] * 1000
    server, = sooner["servers"]
    assert server["urls"] == sooner["urls"] and server["share"] == 1 and server["delay"] == 0
    slow = explained("-s", "shepherd.refresh=1s", "-s", "shepherd.no_delay=", "-s", "robot.delay=1s",
                     state=name)
    assert slow["urls"] == 1 and slow["left_out"]["server"] == sooner["urls"] - 1
    assert slow["servers"][0]["room"] == 1
    assert files() == before  # nothing came of it


def test_a_first_page_that_leads_to_another_site_brings_that_site(garner, web):
    old, new = web(), web()
    old.pages["/"] = (301, {"Location": f"{new.url}/start"}, "")
    new.pages["/start"] = '<title>s</title>start <a href="/more">m</a>'
    new.pages["/more"] = "<title>m</title>elsewhere"
    c = Crawl(garner, [old.host, new.host])
    c.add(f"{old.url}/")
    c.wait_found("elsewhere", f"{new.url}/more")
    wait_for("where it leads", lambda: "leads to" in c.why(f"{old.url}/").get("reason", ""), 20)


def test_a_page_that_was_gone_is_found_when_it_is_back(garner, web):
    w = web()
    w.pages["/"] = '<title>t</title>first <a href="/b">b</a>'
    w.pages["/b"] = "<title>b</title>banana"
    c = Crawl(garner, [w.host])
    c.add(f"{w.url}/")
    c.wait_found("banana", f"{w.url}/b")
    page = w.pages.pop("/b")
    c.wait_found("banana")
    why = c.why(f"{w.url}/b")
    assert why["code"] == 2404
    assert "zombie" == [d["verdict"] for d in why["decisions"] if d["module"] == "reap"][-1]
    w.pages["/b"] = page
    c.wait_found("banana", f"{w.url}/b")


def test_noindex_that_comes_with_the_header_of_an_unchanged_page(garner, web):
    w = web()
    w.pages["/"] = "<title>t</title>secret"
    w.pages["/tagged"] = (200, {"ETag": '"1"'}, "<title>t</title>tagged")
    c = Crawl(garner, [w.host])
    c.add(f"{w.url}/", f"{w.url}/tagged")
    c.wait_found("secret", f"{w.url}/")
    c.wait_found("tagged", f"{w.url}/tagged")
    w.pages["/"] = (200, {"X-Robots-Tag": "noindex"}, "<title>t</title>secret")
    w.pages["/tagged"] = (304, {"X-Robots-Tag": "noindex", "ETag": '"1"'}, "")
    c.wait_found("secret OR tagged")
    wait_for("why", lambda: "not to be indexed" in c.why(f"{w.url}/").get("reason", ""), 20)
    w.pages["/"] = "<title>t</title>secret"
    c.wait_found("secret", f"{w.url}/")


def test_a_host_that_is_down_for_a_while_keeps_its_pages(garner, web):
    w = web()
    w.pages["/"] = "<title>t</title>durable"
    c = Crawl(garner, [w.host], retries="255")
    c.add(f"{w.url}/")
    c.wait_found("durable", f"{w.url}/")
    port = w.server.server_port
    w.stop()
    wait_for("a failure", lambda: c.why(f"{w.url}/").get("code", 0) == 1107, 20)
    time.sleep(3)
    assert c.found("durable") == {f"{w.url}/"}
    again = web(port)
    again.pages["/"] = "<title>t</title>changed"
    c.wait_found("changed", f"{w.url}/", timeout=40)


def test_why_tells_what_was_decided_and_by_whom(garner, web):
    w = web()
    w.pages["/"] = ('<title>t</title>word <a href="/1/2/3">deep</a> <a href="/b">b</a> '
                    '<a href="http://other.example/">o</a>')
    w.pages["/b"] = "<title>b</title>banana"
    c = Crawl(garner, [w.host], refresh="1h", max_depth="2")
    c.add(f"{w.url}/")
    c.wait_found("banana", f"{w.url}/b")
    deep = c.why(f"{w.url}/1/2/3")
    assert deep["known"] == "never" and deep["decisions"][0]["rule"] == "shepherd.max_depth"
    assert w.count("/1/2/3") == 0
    why = c.why(f"{w.url}/b")
    modules = [d["module"] for d in why["decisions"]]
    assert modules.index("merge") < modules.index("reap")
    tried = why["decisions"][modules.index("reap")]
    assert tried["verdict"] == "gathered" and tried["state"] and tried["reason"] == "ok"
    assert why["weight"] > 0 and why["class"] is None
    wait_for("the server", lambda: c.why(f"{w.url}/b").get("server", {}).get("key"), 20)
    assert c.why(f"{w.url}/b")["site"]["url"] == w.url
    text = c.g.run("why", f"{w.url}/b").out
    assert "decisions:\n" in text and "reap: gathered" in text and "server: " in text
    answer = c.g.run("why", "--json", "http://other.example/")
    never = answer.json()
    assert answer.code == 1 and never["known"] == "never"
    assert [(d["module"], d["verdict"]) for d in never["decisions"]] == [("filter", "rejected")]
    assert "follow" in never["decisions"][0]["rule"]
    assert "rule: " in c.g.run("why", "http://other.example/").out


def test_status_tells_what_came_of_it(garner, web):
    w = web()
    w.pages["/"] = '<title>t</title>word <a href="/gone">g</a> <a href="/no">n</a>'
    w.pages["/robots.txt"] = (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /no\n")
    c = Crawl(garner, [w.host], refresh="1h", forget="1h")
    c.add(f"{w.url}/")
    wait_for("both", lambda: "not fetched: robots" in c.g.run("status").out and
             "not fetched: permanent" in c.g.run("status").out, 20)

    def lines():
        return [line.split(None, 1) for line in c.g.run("status").out.splitlines()]
    for line in (["1", "documents indexed"], ["3", "URLs known"], ["0", "pages waiting"]):
        wait_for(line, lambda: line in lines(), 20)
    lines = lines()
    assert any(line and line[-1].startswith("ago") and "last commit" in line[-1] for line in lines)
    assert any(line[-1:] == ["pages per second since the start"] for line in lines)


def test_no_more_states_are_kept_than_the_settings_say(garner, web):
    w = web()
    w.pages["/"] = "<title>t</title>again"
    g = garner(config="[up]\nroles = shepherd\n[robot]\nnetworks = 127.0.0.1\ndelay = 10ms\n"
                      f"[shepherd]\nno_delay = {w.host}\ncycle = 1s\nrefresh = 1s\n"
                      "keep_old_states = 1\nkeep_interim_states = 0\n")
    up = g.start("up").wait_ready(20)
    assert g.run("add", f"{w.url}/").code == 0
    wait_for("some cycles", lambda: w.count("/") > 5, 30)
    for what in ("audit", "quick"):  # who looks does not disturb, and finds nothing wrong
        assert g.run("shep", "buckets", what).code == 0
    up.stop()
    phases = [s["phase"] for s in g.run("shep", "states", "--json").json()]
    assert phases.count("closed") <= 2 and len(phases) <= 3  # and what it was at


def test_pages_are_found_and_refreshed_across_cleanups(garner, web):
    w = web()
    w.pages["/"] = '<title>t</title>first <a href="/b">b</a>'
    w.pages["/b"] = "<title>b</title>banana"
    c = Crawl(garner, [w.host], periodic_cleanup="1s")
    c.add(f"{w.url}/")
    c.wait_found("banana", f"{w.url}/b")

    def params():
        return c.g.run("shep", "params", "--json").json()
    wait_for("sizes", lambda: params()["gathered"] == 2 and params()["bucket_bytes"], 20)
    w.pages["/b"] = "<title>b</title>cherry"
    c.wait_found("cherry", f"{w.url}/b")
    cleaned = params()["cleaned"]
    wait_for("one more", lambda: params()["cleaned"] > cleaned, 20)
    assert c.found("banana OR first") == {f"{w.url}/"}
    assert c.g.run("check").code == 0


def test_it_ends_in_time_while_a_server_never_answers(garner):
    with socket.create_server(("127.0.0.1", 0)) as s:
        host = f"127.0.0.1:{s.getsockname()[1]}"
        c = Crawl(garner, [host], cycle="1h")
        c.add(f"http://{host}/")
        s.settimeout(20)
        held, _ = s.accept()
        assert c.up.stop(60) == 0
        held.close()
    assert not c.up.lines("(?i)did not end|killed")


def test_many_add_at_once_and_garbage_is_refused(garner, web):
    w = web()
    for i in range(12):
        w.pages[f"/{i}"] = f"<title>t</title>number{i}"
    c = Crawl(garner, [w.host])
    adds = [c.g.start("add", f"{w.url}/{i}") for i in range(12)]
    assert [p.wait() for p in adds] == [0] * 12
    assert "ftp cannot be used here" in c.g.run("add", "ftp://a/b").err
    for bad in ("", "x", "ftp://a/b", "http://", "http://a b/", "javascript:1", "http://[::1", "\udcff"):
        assert c.g.run("add", bad).code == 2, bad
    nothing = c.g.run("add")
    assert nothing.code == 1 and "no URL" in nothing.err
    requests = c.g.data / "shepherd" / "requests"
    (requests / "1.add").write_bytes(os.urandom(5000) + b"\nhttp://\xff\xfe/\n" + b"x" * 200000)
    (requests / "2.add").mkdir()
    for i in range(12):
        c.wait_found(f"number{i}", f"{w.url}/{i}")
    c.add(f"{w.url}/0")
    wait_for("it goes on", lambda: w.count("/0") > 1, 20)
    assert not c.up.lines("level=error|ERROR")


@pytest.mark.parametrize("files", ["broker/docs", "broker/words", "broker/registry", "shepherd/objects", "journal"])
def test_a_full_disk_is_waited_for_without_haste(garner, web, files):
    w = web()
    w.pages["/"] = "<title>t</title>words"
    c = Crawl(garner, [w.host], refresh="1s")
    c.add(f"{w.url}/")
    c.wait_found("words", f"{w.url}/")
    assert c.up.stop() == 0
    w.pages["/"] = "<title>t</title>other"
    up = c.g.start("up", env={"GARNER_FAULTS": f"file.write/{files}=enospc@1+"}).wait_ready(20)
    up.wait_line("No space left", timeout=20)
    asked, lines, before = len(w.asked), len(up.lines()), cpu_s(c.g)
    time.sleep(4)
    assert cpu_s(c.g) - before < 2.5
    assert len(up.lines()) - lines < 100
    assert len(w.asked) - asked < 100
    assert up.stop() == 0
    c.g.start("up").wait_ready(20)
    c.wait_found("other", f"{w.url}/")


def cpu_s(g):
    """Of all that the scene has started, and what that has waited for."""
    ticks = 0
    for pid in left_running(g.dir):
        try:
            with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
                ticks += sum(map(int, f.read().rpartition(")")[2].split()[11:15]))
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")
