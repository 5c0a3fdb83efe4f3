"""SIGKILL to the getter wherever it changes something, and at random instants: a listing is there whole
or not at all, the site list is the old one or the new one, and the next run goes on as if nothing had been."""
import os
import random
import re
import time

import pytest

from archives import Odd, Reply, settings
from garner import ROOT

POINTS = sorted({"small.commit", "small.committed"} |
                {p for f in (ROOT / "src/archie").rglob("*.c") if re.match("getter|walk|sites", f.name)
                 for p in re.findall(r'FAULT\("([^"]+)"\)', f.read_text())})
OF_EDITS = ["archie.sites", "archie.sites-local"]
NAMES = ["a", "a/x", "b", "b/y", "f"]


def page(*names):
    links = "".join(f"<a href='{n}'>{n}</a>\n" for n in names)
    return Reply(f"<title>Index of /</title>{links}".encode(), type="text/html")


@pytest.fixture
def world(garner):
    """A garner with a site that is walked and one with a listing of its own."""
    walked = Odd({"/": page("a/", "b/", "f"), "/a/": page("x"), "/b/": page("y")})
    ready = Odd({"/ls-lR": Reply(b"".join(b"-rw-r--r-- 1 a a 1 Jan  1  2020 %d\n" % i for i in range(9)))})
    g = garner(settings())
    g.whole = set()  # listings, for look()
    for odd in (walked, ready):
        assert g.run("archie", "sites", "add", odd.url, "--max-age", "1ms").code == 0
    yield g
    walked.stop(), ready.stop()


def look(g):
    """Listings that are there are whole; the same bytes are parsed once."""
    folder = g.data / "archie" / "lslr"
    for key in os.listdir(folder) if folder.exists() else []:
        text = (folder / key).read_bytes()
        if text in g.whole:
            continue
        out = g.run("archie", "parse", folder / key)
        assert out.code == 0, out
        assert re.search(r"\b(5|9) entries in \d+ lines, 0 bad", out.out), out
        g.whole.add(text)


def goes_on(g):
    """Both listings come, and nothing is left over."""
    assert g.run("archie", "get").code == 0
    look(g)
    assert len(os.listdir(g.data / "archie" / "lslr")) == 2
    assert os.listdir(g.data / "archie" / "tmp") == []
    assert g.run("check").code in (0, 1)


def test_there_are_fault_points():
    assert len(POINTS) >= 6 and set(OF_EDITS) < set(POINTS)


@pytest.mark.parametrize("point", [p for p in POINTS if p not in OF_EDITS])
def test_a_kill_leaves_whole_listings(world, point):
    for time_ in (1, 2):
        assert world.run("archie", "get", env={"GARNER_FAULTS": f"{point}=kill@{time_}"}).code == -9
        look(world)
    goes_on(world)


@pytest.mark.parametrize("point, call", [("archie.sites-local", "short"), ("archie.sites", "short")])
def test_an_edit_is_done_or_not(world, point, call):
    folder = world.data / "archie"
    master = Odd({"/sites": Reply(b"ftp://a.test/ 192.0.2.1\n")})
    try:
        args = {"archie.sites-local": ("archie", "sites", "add", "ftp://new.test/", "--address", "192.0.2.9"),
                "archie.sites": ("archie", "sites", "get", master.url + "sites")}[point]
        before = (folder / "sites.local").read_text()
        assert world.run(*args, env={"GARNER_FAULTS": f"{point}=kill"}).code == -9
        assert (folder / "sites.local").read_text() == before and not (folder / "sites").exists()
        assert world.run(*args, env={"GARNER_FAULTS": f"file.write/{folder.name}/.sites={call}"}).code == 7
        assert (folder / "sites.local").read_text() == before and not (folder / "sites").exists()
        assert world.run(*args).code == 0
        assert len(world.run("archie", "sites", "list", "--json").json()) == 3
    finally:
        master.stop()


def test_a_full_disk_keeps_what_is_there(world):
    goes_on(world)
    kept = {key: (world.data / "archie" / "lslr" / key).read_bytes() for key in os.listdir(world.data / "archie" / "lslr")}
    assert world.run("archie", "get", env={"GARNER_FAULTS": "file.write/archie/tmp=enospc@1+"}).code == 6
    assert "No space left" in world.run("archie", "sites", "list").out
    assert kept == {key: (world.data / "archie" / "lslr" / key).read_bytes() for key in kept}


def test_kills_at_any_time_leave_whole_listings(world, seed):
    dice = random.Random(seed)
    for _ in range(20):
        run = world.start("archie", "get")
        time.sleep(dice.uniform(0, 0.12))
        run.kill()
        look(world)
    goes_on(world)
