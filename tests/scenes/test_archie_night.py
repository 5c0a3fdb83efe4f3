"""The role archie-getter: listings and databases, each night."""
import gzip
import os
import re
import time

import pytest

import archives
import garner as real
from archives import HERE, Odd, Reply, settings

LISTING = ".:\n" + "".join(f"-rw-r--r-- 1 root root {i} Jan  1  2020 name{i}.txt\n" for i in range(40))


@pytest.fixture
def odd():
    made = Odd({"/ls-lR.gz": Reply(gzip.compress(LISTING.encode()), last_modified=1700000000)})
    yield made
    made.stop()


def add(g, url, *args):
    assert g.run("archie", "sites", "add", url, *args).code == 0
    return g.run("archie", "sites", "list", "--json").json()[0]["key"]


def nights(g):
    """When the last one was; None: there was none."""
    return (g.run("status", "--json").json().get("archie") or {}).get("last_night")


def test_a_night_that_was_missed_is_made_up_for_once(garner, odd):
    g = garner(settings())
    key = add(g, odd.url)
    role = g.start("archie-getter").wait_ready()
    real.wait_for("the end of the night", lambda: nights(g))
    assert (g.data / "archie/index" / key).read_text().splitlines() == [f"name{i}.txt" for i in range(40)]
    row = g.run("archie", "sites", "list", "--json").json()[0]
    assert (row["entries"], row["method"], row["waiting"]) == (40, "ls-lR", False)
    assert "1 archive, 1 with a database, 40 files" in g.run("status").out
    assert len(role.lines(rf"Z info archie-getter/role: database site={re.escape(key)} .*files=40 ")) == 1
    assert role.lines("built, ") == [], "the builder writes to the log"
    why = g.run("why", odd.url + "name7.txt")
    assert why.code == 0 and "40 entries" in why.out and key in why.out
    assert role.stop() == 0
    # the next start waits for the next night
    odd.asked.clear()
    role = g.start("archie-getter").wait_ready()
    assert g.run("archie", "sites", "add", odd.url + "other/").code == 0
    time.sleep(0.3)
    assert odd.asked == [] and role.alive
    assert role.stop() == 0
    assert role.lines(r"Z (error|warn) ") == []


def test_failures_are_counted_and_the_others_go_on(garner, odd):
    g = garner(settings(idle_max="300ms"))
    key = add(g, odd.url)
    silent = Odd({"/": Reply(b"", length=100, stay=60)}, address="127.0.0.7")
    try:
        assert g.run("archie", "sites", "add", silent.url).code == 0
        role = g.start("archie-getter").wait_ready()
        real.wait_for("the end of the night", lambda: nights(g))
        assert (g.data / "archie/data" / key).stat().st_size == 40 * 67
        text = g.run("status", "--metrics").out
        said = [line for line in text.splitlines() if line.startswith("garner_archie_getter_") and not line.endswith(" 0")]
        assert any('failures_total{' in line and 'cause="idle"' in line for line in said), said
        assert any('listings_total{' in line and 'end="got"' in line for line in said), said
        assert "1 failed last time" in g.run("status").out
        assert role.stop() == 0
    finally:
        silent.stop()


def test_a_night_that_was_interrupted_is_begun_again(garner, odd):
    g = garner(settings())
    key = add(g, odd.url)
    whole = odd.replies["/ls-lR.gz"]
    odd.replies["/ls-lR.gz"] = Reply(whole.body, length=10**6, stay=60)
    for end in ("stop", "kill"):
        odd.asked.clear()
        role = g.start("archie-getter").wait_ready()
        real.wait_for("the request", lambda: odd.asked)
        assert getattr(role, end)() in (0, None)
        assert nights(g) is None and not (g.data / "archie/index").exists()
    odd.replies["/ls-lR.gz"] = whole
    role = g.start("archie-getter").wait_ready()
    real.wait_for("the end of the night", lambda: nights(g))
    assert (g.data / "archie/index" / key).exists()
    assert role.stop() == 0


def test_a_wrong_time_of_night_is_named(garner):
    g = garner(settings(nightly_at="25:00"))
    done = g.run("archie-getter")
    assert done.code == 2 and "archie.nightly_at" in done.err


def test_make_run_starts_all_roles_of_archives_but_the_master(garner):
    roles = set(re.findall(r"^  (archie-[a-z]+)(?: |$)", garner().run("--help").out, re.M))
    script = (real.ROOT / "script" / "run").read_text()
    assert set(re.search(r"^archie='(.*)'$", script, re.M).group(1).split()) == roles - {"archie-master"}
    assert script.count("-s up.roles=") == script.count(" $archie ") == 2


def test_a_newcomer_finds_the_names_of_the_files_that_garner_serves(garner):
    """What make run does."""
    g = garner()
    root = g.dir / "tree"
    paths = archives.tree(root)
    port = real.free_port(HERE)
    url = f"http://{HERE}:{port}/"
    assert g.run("-s", "robot.networks=127.0.0.2", "archie", "sites", "add", url).code == 0
    up = g.start("-s", "up.roles=docs archie-getter", "-s", f"docs.root={root}", "-s", f"docs.listen={HERE}:{port}",
                 "-s", "robot.networks=127.0.0.2", "-s", "robot.delay=0", "-s", "disk_free=0", "up").wait_ready()
    key = f"{HERE},{port}-{HERE}"
    real.wait_for("the database", (g.data / "archie/direc" / key).exists)
    assert sorted((g.data / "archie/index" / key).read_text().splitlines()) == sorted(os.path.basename(p) for p in paths)
    real.wait_for("the end of the night", lambda: nights(g))
    checked = g.run("check", "--json").json()
    assert checked["problems"] == [] and checked["sound"] > 10
    assert up.stop() == 0


def test_a_listing_that_was_refused_is_not_got_again(garner, odd):
    g = garner(settings())
    key = add(g, odd.url)
    odd.replies = {"/ls-lR": Reply(b"this is not a listing\n" * 99, last_modified=1700000000),
                   "/": Reply(b"<title>Index of /</title><a href=file>file</a>", type="text/html")}
    assert g.run("archie", "get").code == 0
    assert g.run("archie", "build").code != 0
    assert (g.data / "archie/failed" / key).exists() and not (g.data / "archie/index" / key).exists()
    row = g.run("archie", "sites", "list", "--json").json()[0]
    assert row["cause"] == "build" and "no entries in 99 lines" in row["error"], row
    assert row["error"] in g.run("archie", "sites", "list").out
    assert row["error"] in g.run("why", odd.url).out
    assert g.run("status", "--json").json()["archie"]["failing"] == 1
    assert g.run("archie", "get", "--json").json()["method"] == "walk"
    assert g.run("archie", "build").code == 0
    assert (g.data / "archie/index" / key).read_text() == "file\n"
    assert "error" not in g.run("archie", "sites", "list", "--json").json()[0]
