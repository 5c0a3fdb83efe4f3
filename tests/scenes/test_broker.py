"""The role broker from outside: its settings, its flags, what status and why tell of it."""
import json
import re

import pytest

from garner import free_port, wait_for
from port import NOW, Broker
from web import Site


WALNUT = {"http://a.test/": "walnut tree"}
UNNAMED = {"http://b.test/": {"Title": "x", "Gatherer-Host": ""}}  # is left out


def at_rest(garner, objects=None, points=""):
    """A broker that was not started yet, and its data directory."""
    broker = Broker(garner, objects, points=points, start=False)
    return broker, broker.g


def found(g, words):
    done = g.run("search", "--strict", "--json", words)
    return sorted(row["url"] for row in done.json()["results"]) if done.code == 0 else []


def until(what, check):
    return wait_for(what, check, every=0.1)


def points(g):
    return {p["name"]: p for p in g.run("status", "--json").json()["points"]}


def state_of(g, name, *states):
    """Waits until a point has one of these states, and returns it."""
    def look():
        p = points(g).get(name)
        return p if p and p["state"] in states else None
    return until(f"{name} is {' or '.join(states)}", look)


def test_a_folder_is_a_source_and_an_unknown_one_is_refused_by_name(garner):
    broker, g = at_rest(garner, WALNUT)
    role = broker.start()
    until("it is found", lambda: found(g, "walnut") == ["http://a.test/"])
    until("it is counted", lambda: broker.counters()["documents"] == 1)
    assert role.stop() == 0
    for items, said in (("soif:in bucket", "there is no source 'bucket'; there are crawl, archie, soif:FOLDER"),
                        ("soif:", "there is no source 'soif:'"),
                        ("crawling", "there is no source 'crawling'"),
                        ("crawl crawl", "named twice: crawl")):
        for args in (["broker"], ["config", "check"]):
            done = g.run("-s", f"broker.sources={items}", *args)
            assert done.code == 2 and f"-s: broker.sources: {said}" in done.err, args


def test_a_bad_line_of_the_collection_is_named_and_the_others_are_asked(garner):
    port = free_port()
    broker, g = at_rest(garner, points=f"# the library\n127.0.0.1 {port} 1 --\n127.0.0.1 none 1 --\n")
    path = g.data / "broker/Collection.conf"
    done = g.run("config", "check")
    assert done.code == 2 and f"{path}:3:" in done.err
    role = broker.start()
    role.wait_line("Collection.conf:3:")
    state_of(g, f"127.0.0.1:{port}", "failed")
    assert role.stop() == 0
    path.write_text(f"127.0.0.1 {port} 1 --\n")
    done = g.run("config", "check")
    assert done.code == 0 and f"{path}: all good\n" in done.out
    path.unlink()
    assert g.run("config", "check").code == 0
    done = g.run("-s", "broker.collection=other.conf", "config", "check")
    assert done.code == 2 and f"{g.data}/other.conf: there is no such file" in done.err


def test_without_a_collection_there_is_nothing_to_warn_of(garner):
    g = garner(config="[up]\nroles = broker\n")
    up = g.start("up").wait_ready()         # hands its configuration on with all defaults
    assert up.stop() == 0
    assert not up.lines("Collection.conf")


def test_status_tells_how_it_went_with_each_source(garner):
    port = free_port()
    broker, g = at_rest(garner, {**WALNUT, **UNNAMED}, points=f"127.0.0.1 {port} 0 --\n")
    role = broker.start()
    failed = state_of(g, f"127.0.0.1:{port}", "failed")
    assert failed["why"] and failed["next"] > failed["last"] and failed["objects"] == 0
    good = state_of(g, "soif:in", "good")
    assert (good["objects"], good["bad"]) == (2, 1)
    assert "next" not in good and "why" not in good
    text = g.run("status").out
    assert "SOURCE" in text and f"127.0.0.1:{port}" in text and failed["why"] in text
    assert role.stop() == 0
    assert "SOURCE" not in g.run("status").out      # of a broker that runs
    assert "SOURCE" in g.run("status", "-v").out


def test_one_source_that_is_followed_has_no_table(garner):
    broker, g = at_rest(garner, WALNUT)
    role = broker.start()
    state_of(g, "soif:in", "good")
    assert "SOURCE" not in g.run("status").out
    assert role.stop() == 0


def test_the_numbers_of_a_source_that_is_followed_grow(garner):
    broker, g = at_rest(garner, WALNUT)
    role = broker.start()
    state_of(g, "soif:in", "good")
    broker.put(UNNAMED)
    until("both are counted", lambda: points(g)["soif:in"]["objects"] == 2)
    assert points(g)["soif:in"]["bad"] == 1
    assert "SOURCE" in g.run("status").out      # for the one that was left out
    assert role.stop() == 0


def test_a_folder_that_is_not_there_is_named_until_it_is(garner):
    broker, g = at_rest(garner)
    (g.data / "in").rmdir()
    done = g.run("config", "check")
    assert done.code == 2 and f"there is no folder {g.data}/in" in done.err
    role = broker.start()
    role.wait_line("cannot read source")
    assert state_of(g, "soif:in", "failed")["why"].startswith(f"{g.data}/in: ")
    assert f"{g.data}/in: " in g.run("status").out
    (g.data / "in").mkdir()
    broker.put(WALNUT)
    until("it is found", lambda: found(g, "walnut") == ["http://a.test/"])
    state_of(g, "soif:in", "good")
    assert g.run("config", "check").code == 0
    assert role.stop() == 0
    assert len(role.lines("cannot read source")) == 1


def test_the_page_shows_what_status_tells(garner):
    broker, g = at_rest(garner, WALNUT, points=f"127.0.0.1 {free_port()} 2 --\n")
    role = broker.start()
    state_of(g, "soif:in", "good")
    process = g.start("-s", "web.listen=127.0.0.1:0", "web").wait_ready()
    site = Site(process, int(re.search(r":(\d+)$", process.wait_line("listening")).group(1)))
    page = site.ask("/status").body.decode()
    assert "Sources" in page and "soif:in" in page
    told = json.loads(site.ask("/api/status").body)["points"]
    assert {p["name"] for p in told} == set(points(g))
    assert process.stop() == 0 and role.stop() == 0


def test_nocol_asks_no_gatherer_and_follows_what_is_here(garner):
    port = free_port()
    broker, g = at_rest(garner, WALNUT, points=f"127.0.0.1 {port} 1 --\n")
    for flag in ("-nocol", "--nocol"):
        role = broker.start(flag)
        state_of(g, "soif:in", "good")
        assert points(g)[f"127.0.0.1:{port}"]["state"] == "never asked"
        assert role.stop() == 0
    assert found(g, "walnut") == ["http://a.test/"]


def test_new_collects_all_again_and_drops_what_is_not_told(garner):
    broker, g = at_rest(garner, WALNUT)
    broker.put({"http://b.test/": "walnut oil"})
    both = ["http://a.test/", "http://b.test/"]
    role = broker.start()
    until("both are found", lambda: found(g, "walnut") == both)
    assert role.stop() == 0
    (g.data / "in/1.soif").unlink()
    role = broker.start()
    state_of(g, "soif:in", "good")
    assert role.stop() == 0
    assert found(g, "walnut") == both
    role = broker.start("-new")
    until("one is left", lambda: found(g, "walnut") == both[1:])
    assert role.stop() == 0


def test_help_has_the_flags(garner):
    g = garner()
    text = g.run("broker", "--help").out
    assert "--new" in text and "short for -s broker.start=nocol" in " ".join(text.split())
    assert "['garner broker']='--new --nocol'" in g.run("completion", "bash").out
    assert "nocol" in g.run("help", "--man", "broker").out
    assert g.run("broker", "-nocoll").code == 2
    done = g.run("broker", "-new", "-nocol")
    assert done.code == 2 and "--new and --nocol exclude each other" in done.err


def test_why_tells_who_gathered_a_url_and_which_object_is_shown(garner):
    url = "http://a.test/"
    tree = {"Title": "walnut tree", "Gatherer-Name": "lib", "Gatherer-Host": "gatherer.test",
            "Update-Time": NOW - 3600, "MD5": "0123456789abcdef0123456789abcdef"}
    oil = {"Title": "walnut oil", "Gatherer-Name": "museum", "Gatherer-Host": "gatherer.test"}
    broker, g = at_rest(garner, {url: tree})
    broker.put({url: oil})
    broker.put({"http://b.test/": tree})
    role = broker.start()
    until("the newest is found", lambda: found(g, "oil") == [url])
    until("the twin is registered", lambda: g.run("why", "http://b.test/").code == 0)
    told = {o["gatherer_name"]: o for o in g.run("why", "--json", url).json()["objects"]}
    assert set(told) == {"lib", "museum"}
    assert told["museum"]["shown"] and not told["lib"]["shown"]
    assert all(o["gatherer_host"] == "gatherer.test" and o["point"] == "soif:in" and o["oid"]
               and o["expires"] > o["updated"] for o in told.values())
    text = g.run("why", url).out
    assert "registered:   museum of gatherer.test, version 1, from soif:in, shown" in text
    assert "registered:   lib of gatherer.test, version 1, from soif:in\n" in text
    twin, = g.run("why", "--json", "http://b.test/").json()["objects"]
    assert twin["twin_of"] == url and "oid" not in twin and not twin["shown"]
    assert f"twin of {url}" in g.run("why", "http://b.test/").out
    done = g.run("why", "http://c.test/")
    assert done.code == 1 and "registered" not in done.out
    assert role.stop() == 0
    assert g.run("why", url).code == 0


@pytest.mark.parametrize("spelling", ["HTTP://A.test:80/%7ex", "http://a.test/%7Ex"])
def test_why_finds_a_url_as_its_gatherer_wrote_it(garner, spelling):
    broker, g = at_rest(garner, {spelling: "walnut tree"})
    role = broker.start()
    until("it is known", lambda: g.run("why", spelling).code == 0)
    assert role.stop() == 0
