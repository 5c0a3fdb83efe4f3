"""SIGKILL to the URL server wherever its outcomes become durable, and at random instants: the next one
goes on with the same list, and in the end each URL has one outcome. And no less than was promised is
kept: what was synced before a kill is not sent again."""
import random
import re
import time

import pytest

from garner import ROOT, wait_for
from spider003 import Spider

POINTS = sorted(set(re.findall(r'FAULT\("([^"]+)"\)', (ROOT / "src/fetch/spider/docindex_file.c").read_text())))
HOSTS, SHORT, LONG = 20, 6, 100


class World:
    """A list, a spider, and a URL server that is killed."""

    def __init__(self, garner, spider, urls):
        self.spider, self.urls = spider, urls
        self.g = garner(config=f"[robot]\nnetworks = 127.0.0.0/8\n[urlserver]\n"
                        f"doc_index = file:urls.txt\nspider_host = 127.0.0.1:{spider.port}\n"
                        "req_host_per_sec = 50\n")
        self.g.data.mkdir(exist_ok=True)
        (self.g.data / "urls.txt").write_text(
            "".join(f"http://127.0.0.{i % HOSTS + 1}/{i}\n" for i in range(urls)))

    def start(self, faults=""):
        return self.g.start("urlserver", env={"GARNER_FAULTS": faults} if faults else {})

    def kept(self):
        """Lines that have an outcome; none has two."""
        dump = self.g.run("dump", str(self.g.data / "urls.txt.done"))
        assert dump.code == 0, dump
        lines = re.findall(r"line=(\d+) outcome='done'", dump.out)
        assert len(lines) == len(set(lines)), "one has two outcomes"
        return set(lines)

    def kill(self, process, kept):
        """What was kept before is kept after, and was not sent again."""
        process.kill()
        now = self.kept()
        assert now >= kept
        again = {j.doc for j in self.spider.jobs} & kept
        assert not again, f"{again} were done, and sent again"
        self.spider.jobs.clear()
        return now

    def settle(self):
        process = self.g.start("-s", "urlserver.req_host_per_sec=1000", "urlserver").wait_ready()
        wait_for("all outcomes", lambda: len(self.kept()) == self.urls, every=0.2)
        assert process.stop() == 0
        assert self.g.run("check", str(self.g.data / "urls.txt.done")).code == 0


def test_there_are_fault_points():
    assert POINTS == ["outcomes.append", "outcomes.synced"]


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_where_outcomes_become_durable(garner, point):
    with Spider() as spider:
        w = World(garner, spider, 120)
        kept = set()
        for time_ in (1, 2):
            process = w.start(f"{point}=kill@{time_}")
            assert process.wait() == -9
            kept = w.kill(process, kept)
        assert point != "outcomes.synced" or kept
        w.settle()


@pytest.mark.limit(400)
def test_killed_at_any_time_it_goes_on(garner, seed, long_run):
    dice = random.Random(seed)
    rounds = LONG if long_run else SHORT
    with Spider() as spider:
        w = World(garner, spider, 400 * rounds)  # 1000 a second, for at most 0.3 s a round
        kept = set()
        for _ in range(rounds):
            process = w.start().wait_ready()
            time.sleep(dice.random() * 0.3)
            kept = w.kill(process, kept)
        assert 0 < len(kept) < w.urls
        w.settle()
