"""SIGKILL to the queuer and to searchers, at every fault point and at random instants: anyone who asks has an answer or a
clear error within 4 s, and the service is whole within 2 s."""
import json
import os
import random
import re
import signal
import subprocess
import threading
import time

import pytest

from archie_queue import ANSWER_S, WHOLE_S, Asker, Gone, build, listing, queuer_pid, searchers
from garner import BUILD, ROOT, wait_for

POINTS = sorted({p for f in (ROOT / "src/archie").rglob("*.c") if f.name in ("queuer.c", "searcher.c")
                 for p in re.findall(r'FAULT\("([^"]+)"\)', f.read_text())})
CONFIG = "[archie]\nsearchers = 2\n[up]\nroles = archie-queuer\nsteady = 1ms\n"
LITTLE, MUCH = 20, 300
CLEAR = {"", "away", "failed"}


class Client:
    """One who asks again and again, by the door of interfaces; it notes how long each answer took."""

    def __init__(self, g, *how):
        self.child = subprocess.Popen([str(BUILD / "tests" / "archie-ask"), str(g.data), "times=1000000", "quiet=1",
                                       "at_once=1", "pause_ms=5", *how], env=g.env, stdout=subprocess.PIPE, text=True)
        self.last, self.longest, self.whys, self.odd = time.monotonic(), 0, {}, []
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        for line in self.child.stdout:
            got = json.loads(line) if line.endswith("\n") else {"why": ""}
            now = time.monotonic()
            self.longest, self.last = max(self.longest, now - self.last), now
            self.whys[got["why"]] = self.whys.get(got["why"], 0) + 1
            if got["why"] not in CLEAR or got.get("n", 1) != 1:
                self.odd.append(got)

    def stop(self):
        alive = self.child.poll() is None
        self.longest = max(self.longest, time.monotonic() - self.last)
        self.child.kill()
        self.child.wait()
        self.thread.join()
        assert alive and not self.odd, self.odd
        assert self.longest <= ANSWER_S, self.longest
        assert self.whys.get(""), self.whys


@pytest.fixture
def archive(garner):
    g = garner(CONFIG)
    build(g, listing(2000))
    g.clients = []
    yield g
    for c in g.clients:
        c.child.kill()


def clients(g):
    g.clients = [Client(g, f"way={way}", f"type={type}", "pattern=file7.txt", f"from={way}{type}")
                 for way in ("call", "link") for type in ("exact", "regex")]


def is_whole(g):
    try:
        return len(searchers(g)) == 2 and Asker(g, timeout=WHOLE_S).find("file8.txt", "exact")["total"] == 1
    except (OSError, Gone):
        return False


def test_there_are_fault_points():
    assert {p.partition(".")[0] for p in POINTS} == {"queuer", "searcher"} and len(POINTS) >= 5


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_a_point_leaves_nobody_without_an_answer(archive, point):
    g = archive
    dies = g.start("archie-queuer", env={"GARNER_FAULTS": f"{point}=kill@20"}).wait_ready()
    clients(g)
    if point.startswith("queuer."):
        assert dies.wait() == -signal.SIGKILL
    else:
        dies.wait_line("searcher ended")
        dies.kill()
    time.sleep(0.5)  # a searcher that was about to be started has the lock until it dies with its parent
    assert g.start("archie-queuer").wait_ready()
    wait_for("a whole service", lambda: is_whole(g), WHOLE_S)
    for c in g.clients:
        answers = c.whys.get("", 0)
        wait_for("answers again", lambda: c.whys.get("", 0) > answers)
        c.stop()


def test_kills_at_random_instants_leave_nobody_without_an_answer(archive, seed, long_run):
    g, dice, kills = archive, random.Random(seed), 0
    up = g.start("up").wait_ready()
    clients(g)
    wait_for("first answers", lambda: all(c.whys.get("") for c in g.clients))
    while kills < (MUCH if long_run else LITTLE):
        victims = [queuer_pid(g), *searchers(g)]
        time.sleep(dice.uniform(0, 0.15))
        try:
            os.kill(dice.choice(victims), signal.SIGKILL)
            kills += 1
        except (ProcessLookupError, TypeError):
            continue            # it went with the one before
        if dice.random() < 0.5:
            wait_for("a whole service", lambda: is_whole(g), WHOLE_S)
    wait_for("a whole service", lambda: is_whole(g), WHOLE_S)
    for c in g.clients:
        c.stop()
    assert up.stop() == 0
