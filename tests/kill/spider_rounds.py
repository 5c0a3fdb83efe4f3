"""A spider that is killed while a URL server, which sends again what was not done, gives it one list again
and again: whatever was said to be DONE is in results.jsonl and in its file, and no server is asked
too often. Used by test_spider.py."""
import hashlib
import json
import random
import time
from pathlib import Path

import simnet
from garner import wait_for
from kill.rounds import Broken
from urlserver003 import Urlserver

POINTS = ("spider.written", "spider.synced", "spider.kept")
DELAY_MS, OWED_MS = 50, 35  # see fetch_rounds.py
HOSTS, PAGES = 12, 4


class Rounds:
    def __init__(self, g, seed):
        self.g, self.random, self.seed = g, random.Random(seed), seed
        self.net = simnet.start(g, hosts=HOSTS, pages=PAGES, delay=f"{OWED_MS}ms", odd_pages=0, appear=0,
                                vanish=0, profiles="plain=8,slow=1", slow="30ms", robots="some=3,open=1",
                                crawl_delay=0, **{"for": "20min"})
        g.configure(f"[robot]\nnetworks = {self.net.network}\ndns_servers = 127.0.0.1:1\n"
                    f"delay = {DELAY_MS}ms\n"
                    f"[spider]\nlisten = unix:{g.dir}/spider\nresults = dir:{g.dir}/results\n")
        self.pages = self.net.truth()
        self.turn = self.kills = 0

    def broken(self, what):
        return Broken(f"{what}; seed {self.seed}, after {self.kills} kills")

    def serve(self, seconds, faults=""):
        """A life of the spider: to the fault, or killed after so long, or (None) to the end of the list.
        Whether it died by itself."""
        spider = self.g.start("spider", env={"GARNER_FAULTS": faults} if faults else None)
        spider.wait_ready(30)
        self.turn += 1
        todo = {f"{i}.{self.turn}": i for i in range(len(self.pages))}
        us = Urlserver(f"{self.g.dir}/spider")
        try:
            for trans, i in todo.items():
                host = int(self.pages[i]["url"].split("//h")[1].split(".")[0])
                us.send(trans, f"d{i}", self.net.address(host), self.pages[i]["url"])
        except OSError:
            pass  # it is dead already
        if faults:
            wait_for(faults, lambda: not spider.alive or set(todo) <= set(us.done), 60)
        elif seconds is None:
            us.wait_done(*todo, seconds=60)
        else:
            time.sleep(seconds)
        died = not spider.alive
        spider.kill()
        wait_for("the end of the connection", lambda: us.closed, 60)
        self.kills += 1
        self.check({todo[t] for t in us.done if t in todo})
        us.close()
        return died

    def check(self, done):
        """`done`: what this life said."""
        raw = (Path(self.g.dir) / "results" / "results.jsonl").read_bytes()
        kept = {}
        for line in raw.split(b"\n")[:-1]:
            r = json.loads(line)
            kept[r["doc_id"]] = r
        for i in done:
            r = kept.get(f"d{i}")
            if not r or r["url"] != self.pages[i]["url"]:
                raise self.broken(f"DONE of {self.pages[i]['url']}, and no result")
            if (r["outcome"] == "robots") == self.pages[i]["allowed"]:
                raise self.broken(f"not what the site says: {r}")
            if r["outcome"] == "ok" and hashlib.md5(Path(r["file"]).read_bytes()).hexdigest() != r["md5"]:
                raise self.broken(f"{r['file']} is not what came")
        report = self.net.report()
        for what in ("overlaps", "short_gaps", "disallowed", "early", "wrong_host"):
            if report[what]:
                raise self.broken(f"{what}: {report[what]}, {report['samples'][:5]}")
