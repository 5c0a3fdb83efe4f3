"""The whole broker: gatherers of Collection.conf and sources on this machine, collected, found by search,
and gone when they are gone; gatherers that misbehave harm nobody else."""
import hashlib
import time

import pytest

from garner import wait_for
from gatherd import Gatherd, soif

ODD = ("half", "huge", "bomb", "nothing", "silent", "no_end", "endless", "rubbish", "reset")


@pytest.fixture
def gatherd():
    made = []

    def make(odd=None, **more):
        made.append(Gatherd(odd, **more))
        return made[-1]
    make.running = made
    yield make
    for g in made:
        g.stop()


def point(g, kind):
    return f"{g.host} {g.port} {kind} --\n"


def broker(garner, *points, more=""):
    """A broker that asks these points, and follows a folder."""
    g = garner(config=f"[broker]\nsources = soif:in\n{more}")
    (g.data / "in").mkdir(parents=True)
    (g.data / "broker").mkdir()
    (g.data / "broker/Collection.conf").write_text("".join(points))
    return g


def put(g, number, url, text, **more):
    """An object of this machine, in a file of its own."""
    attributes = {"Gatherer-Name": "local", "Gatherer-Host": "here", "Gatherer-Version": "1",
                  "Update-Time": int(time.time()), "Full-Text": text, **more}
    (g.data / f"in/{number}.new").write_bytes(soif(url, attributes))
    (g.data / f"in/{number}.new").rename(g.data / f"in/{number}.soif")


def found(g, words):
    done = g.run("search", "--strict", "--json", words)
    return sorted(row["url"] for row in done.json()["results"]) if done.code == 0 else []


def until_found(g, words, *urls):
    wait_for(f"{words}: {urls}", lambda: found(g, words) == sorted(urls), every=0.1)


def ended(g, gatherer, state):
    """The point's last collection ended so."""
    def look():
        points = {p["name"]: p for p in g.run("status", "--json").json()["points"]}
        p = points.get(f"{gatherer.host}:{gatherer.port}")
        return p if p and p["state"] == state else None
    return wait_for(f"{gatherer.port} is {state}", look, every=0.1)


def test_objects_of_every_type_of_point_are_found(garner, gatherd):
    gatherers = [gatherd(name=f"g{kind}") for kind in range(4)]
    for kind, one in enumerate(gatherers):
        one.add(f"http://t{kind}.test/", f"walnut of type {kind}", Author=f"Writer{kind}")
    g = broker(garner, *(point(one, kind) for kind, one in enumerate(gatherers)))
    g.start("broker").wait_ready()
    until_found(g, "walnut", *(f"http://t{kind}.test/" for kind in range(4)))
    assert found(g, "author : writer2") == ["http://t2.test/"]
    assert found(g, "gatherer-name : g3") == ["http://t3.test/"]
    for kind, one in enumerate(gatherers):
        assert "SEND-UPDATE 0" in one.asked[0]
        assert ("SET compression" in one.asked[0]) == (kind in (2, 3))


def test_a_full_collection_drops_what_its_point_has_not_and_nothing_else(garner, gatherd):
    full, other = gatherd(name="full"), gatherd(name="other")
    full.add("http://a.test/1", "walnut one")
    full.add("http://a.test/2", "walnut two")
    other.add("http://b.test/", "walnut three")
    g = broker(garner, point(full, 0), point(other, 1))
    put(g, 1, "http://c.test/", "walnut four")
    role = g.start("broker").wait_ready()
    until_found(g, "walnut", "http://a.test/1", "http://a.test/2", "http://b.test/", "http://c.test/")
    assert role.stop() == 0
    full.delete("http://a.test/1")
    other.add("http://b.test/", "almond", now=time.time() + 5)
    role = g.start("broker").wait_ready()  # all are asked again
    until_found(g, "walnut", "http://a.test/2", "http://c.test/")
    until_found(g, "almond", "http://b.test/")
    since = int(other.asked[-1][-1 if "QUIT" not in other.asked[-1] else -2].split()[1])
    assert 0 < since <= time.time()  # only what is new was asked for
    assert role.stop() == 0
    g.start("broker", "-new").wait_ready()
    wait_for("all is asked for again", lambda: "SEND-UPDATE 0" in other.asked[-1], every=0.1)


def test_a_gatherer_that_is_gone_keeps_its_objects(garner, gatherd):
    gone = gatherd()
    gone.add("http://a.test/", "walnut")
    g = broker(garner, point(gone, 0))
    role = g.start("broker").wait_ready()
    until_found(g, "walnut", "http://a.test/")
    assert role.stop() == 0
    gone.stop()
    gatherd.running.remove(gone)
    g.start("broker").wait_ready()
    p = ended(g, gone, "failed")
    assert p["why"] and found(g, "walnut") == ["http://a.test/"]


@pytest.mark.limit(200)
def test_those_that_misbehave_harm_nobody_and_lose_nothing(garner, gatherd):
    """Each was collected well before; whatever it says now, what it told then stays."""
    odd = {what: gatherd(name=what) for what in ODD}
    good = gatherd(name="good")
    for what, one in odd.items():
        for n in (1, 2):
            one.add(f"http://{what}.test/{n}", f"walnut {what} {n}")
    g = broker(garner, *(point(one, 2 if what == "bomb" else 0) for what, one in odd.items()),
               point(good, 0))
    role = g.start("broker").wait_ready()
    every = [f"http://{what}.test/{n}" for what in ODD for n in (1, 2)]
    wait_for("all are collected", lambda: g.run("search", "--json", "--limit", "50", "walnut").json()["total"] ==
             len(every), every=0.1)
    assert role.stop() == 0
    bomb = gatherd("bomb").bomb
    for what, one in odd.items():
        one.odd = what
        one.delete(f"http://{what}.test/1")  # only a whole answer could say so
        one.bomb = bomb
    good.add("http://good.test/", "almond")
    role = g.start("broker").wait_ready()
    put(g, 1, "http://local.test/", "almond too")
    until_found(g, "almond", "http://good.test/", "http://local.test/")
    for what in ("half", "nothing", "no_end", "reset"):
        ended(g, odd[what], "failed")
    rows = g.run("search", "--json", "--limit", "50", "walnut").json()["results"]
    assert {row["url"] for row in rows} >= {url for url in every if not url.startswith("http://huge")}
    assert role.stop() == 0


def test_the_same_file_under_several_names_is_shown_once(garner):
    """As below /usr/share/doc, where packages of one source have one copyright."""
    g = broker(garner)
    text = "Copyright of the walnut"
    md5 = hashlib.md5(text.encode()).hexdigest()
    for n in range(1, 5):
        put(g, n, f"file:///usr/share/doc/walnut{n}/copyright", text, MD5=md5)
    g.start("broker").wait_ready()
    until_found(g, "walnut", "file:///usr/share/doc/walnut1/copyright")
    gone = soif("file:///usr/share/doc/walnut1/copyright",
                {"Gatherer-Name": "local", "Gatherer-Host": "here", "Gatherer-Version": "1",
                 "Update-Time": int(time.time()) + 1})
    (g.data / "in/9.new").write_bytes(b"@DELETE {\n" + gone + b"}\n")
    (g.data / "in/9.new").rename(g.data / "in/9.soif")
    until_found(g, "walnut", "file:///usr/share/doc/walnut2/copyright")
