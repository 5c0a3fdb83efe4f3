"""The builder killed: what is found is what some listing said, whole, while queries go on; the next run
builds what is left."""
import json
import os
import random
import re
import subprocess
import threading
import time

import pytest

from garner import ROOT

KEY = "ftp.test-192.0.2.1"
FILES = 400
SHORT, LONG = 20, 200

# Those of names are passed by a build, too; some only by a merge, a sweep, or a start after damage.
POINTS = {room: sorted({p for f in (ROOT / "src" / room).rglob(glob)
                        for p in re.findall(r'FAULT\("([^"]+)"\)', f.read_text())})
          for room, glob in (("archie", "build.c"), ("index", "names*.c"))}


def put_listing(g, number):
    """A listing that is newer than those before; all its names tell its number."""
    path = g.data / "archie/lslr" / KEY
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"-rw-r--r-- 1 a b {i} Jan  5  1994 file-{i}-of-{number}.\n" for i in range(FILES)]
    new = path.with_name(f".{KEY}")
    new.write_text("".join(lines))
    at = 1_700_000_000 + number
    os.utime(new, (at, at))
    new.rename(path)


def which(g, numbers):
    """The listing whose names are found: all of them, and no others."""
    asked = "".join(f"-of-{n}.\n" for n in numbers)
    done = g.run("index", "names", "query", "--batch", "--type", "subcase", "--count", g.data / "archie",
                 input=asked)
    found = [json.loads(line)["total"] for line in done.out.splitlines()]
    there = [n for n, total in zip(numbers, found) if total]
    assert len(there) == 1 and sum(found) == FILES, (there, found)
    return there[0]


@pytest.mark.limit(200)
def test_a_builder_killed_at_any_point_leaves_the_old_or_the_new(garner):
    g = garner()
    put_listing(g, 1)
    assert g.run("archie", "build").code == 0
    number, killed = 1, set()
    for point in POINTS["archie"] + POINTS["index"]:
        number += 1
        put_listing(g, number)
        done = g.run("archie", "build", env={"GARNER_FAULTS": f"{point}=kill"})
        if done.code == -9:
            killed.add(point)
        assert which(g, (number - 1, number)) in (number - 1, number), point
        assert g.run("archie", "build").code in (0, 1), point
        assert which(g, (number - 1, number)) == number, point
        assert not list((g.data / "archie/lslr").iterdir()), point
    assert {"archie.build.read", "archie.build.committed", "archie.build.removed"} <= killed
    assert len(killed) >= 8
    assert g.run("index", "names", "check", g.data / "archie").code == 0


class Asker:
    """Queries without end, in one process; each answer is of one whole listing."""

    def __init__(self, g):
        self.child = subprocess.Popen(g.command("index", "names", "query", "--batch", "--count", g.data / "archie"),
                                      env=g.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.wrong, self.answers, self.ends = [], 0, False
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()

    def ask(self):
        while not self.ends:
            self.child.stdin.write("file-\n")
            self.child.stdin.flush()
            line = self.child.stdout.readline()
            answer = json.loads(line) if line else {"error": "it ended"}
            self.answers += 1
            if answer.get("total") != FILES or answer.get("scanned"):
                self.wrong.append(line)
                return
            time.sleep(0.005)  # others want to compute, too

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()
        self.child.stdin.close()
        self.child.wait()


@pytest.mark.limit(200)
def test_a_builder_killed_at_any_time_disturbs_no_query(garner, seed, long_run):
    dice = random.Random(seed)
    g = garner()
    put_listing(g, 1)
    began = time.monotonic()
    assert g.run("archie", "build").code == 0
    took = time.monotonic() - began
    last = 1
    with Asker(g) as asker:
        for number in range(2, 2 + (LONG if long_run else SHORT)):
            put_listing(g, number)
            child = g.start("archie", "build")
            time.sleep(dice.random() * took)
            child.kill()
            last = which(g, range(last, number + 1))
    assert not asker.wrong and asker.answers > 10
    assert g.run("archie", "build").code in (0, 1)
    assert which(g, range(last, number + 1)) == number


def test_a_refused_listing_and_a_killed_builder_leave_the_old(garner):
    g = garner()
    put_listing(g, 1)
    assert g.run("archie", "build").code == 0
    path = g.data / "archie/lslr" / KEY
    path.write_text("no listing\nat all\n")
    assert g.run("archie", "build", env={"GARNER_FAULTS": "archie.build.refused=kill"}).code == -9
    assert path.exists() and which(g, (1,)) == 1
    done = g.run("archie", "build")
    assert done.code == 3 and "the old database stays" in done.out
    assert not path.exists() and (g.data / "archie/failed" / KEY).exists()
    assert which(g, (1,)) == 1


def test_a_site_that_moved_is_found_whenever_the_builder_is_killed(garner):
    g = garner()
    moved = KEY.replace(".1", ".2")
    lslr, sites = g.data / "archie/lslr", g.data / "archie/sites"
    put_listing(g, 1)
    sites.write_text("ftp://ftp.test/ 192.0.2.1\n")
    assert g.run("archie", "build").code == 0
    sites.write_text("ftp://ftp.test/ 192.0.2.2\n")
    for point in ("refused", "read", "committed"):
        put_listing(g, 2)
        (lslr / KEY).rename(lslr / moved)
        if point == "refused":
            (lslr / moved).write_text("no listing\nat all\n")
        assert g.run("archie", "build", env={"GARNER_FAULTS": f"archie.build.{point}=kill"}).code == -9, point
        assert point == "committed" or which(g, (1, 2)) == 1
    assert g.run("archie", "build", env={"GARNER_FAULTS": "archie.build.drop=kill"}).code == -9
    assert (g.data / "archie/index" / KEY).exists() and (g.data / "archie/index" / moved).exists()
    assert g.run("archie", "build").code in (0, 1)
    assert which(g, (1, 2)) == 2 and not (g.data / "archie/index" / KEY).exists()
