"""Both chains of the fabric on simnet, which is the witness: a URL server with two spiders, and a source with a
botm over two botms of two bots each. Any of them is killed, at a fault point or at a random instant, and started
anew: each URL has one outcome at its source, no file name is lost or doubled, and no server is asked too
often. Used by test_fabric.py and prove/fabric.py."""
import json
import random
import re
import time
from collections import Counter
from pathlib import Path

import bots
import simnet
from garner import wait_for
from kill.rounds import Broken

HOSTS = 12
SHORT, LONG = 10, 150  # kills at random instants of each chain


class Chain:
    """Members: [garner, role, process]; those of one garner share a table of politeness."""

    top = None              # a member without fault points of its own

    def __init__(self, make, seed, pages, delay_ms):
        """delay_ms: of each server; 7 in 10 of it are owed, see fetch_rounds.py."""
        self.make, self.dice, self.seed = make, random.Random(seed), seed
        self.kills = self.useful = 0
        self.g = make()
        self.net = simnet.start(self.g, hosts=HOSTS, pages=pages, delay=f"{delay_ms * 7 // 10}ms", odd_pages=0, appear=0,
                                vanish=0, profiles="plain=8,slow=1", slow="30ms", robots="some=3,open=1",
                                crawl_delay=0, **{"for": "25min"})
        self.robot = (f"[robot]\nnetworks = {self.net.network}\ndns_servers = {self.net.dns}\ndns_order = ipv4\n"
                      f"delay = {delay_ms}ms\n")
        self.urls = [p["url"] for p in self.net.truth()]
        self.dice.shuffle(self.urls)  # else all robots would wait for one server
        self.members = []

    def broken(self, what):
        return Broken(f"{what}; seed {self.seed}, after {self.kills} kills")

    def add(self, g, role):
        self.members.append([g, role, g.start(role).wait_ready()])

    def replace(self, member, faults=""):
        """It is killed, and another takes its place: one that a fault kills, or one that works."""
        self.kills += member[2].alive
        member[2].kill()
        member[2] = member[0].start(member[1], env={"GARNER_FAULTS": faults} if faults else None)
        if not faults:
            member[2].wait_ready()

    def go_on(self):
        """Where all is done, the same again: a slow machine kills fewer while one list is worked on."""
        if self.is_done():
            self.finish()
            self.begin_again()

    def at_point(self, point):
        """One of those that may pass it is killed there; whether it passed it, on this list or another."""
        return any(self.is_passed(point) for _ in range(3))

    def is_passed(self, point):
        self.go_on()
        role = point.partition(".")[0]
        role = {"outcomes": "urlserver"}.get(role, role)
        member = self.dice.choice([m for m in self.members if m[1].partition("@")[0] == role and m[0] is not self.top])
        self.replace(member, f"{point}=kill@{self.dice.randint(1, 3)}")
        wait_for(point, lambda: not member[2].alive or self.is_done(), 60, every=1)
        died = not member[2].alive
        self.kills += died
        self.replace(member)
        return died

    def at_random(self, most_s):
        """One is killed within this time; counted where there was still something to do."""
        self.go_on()
        time.sleep(self.dice.uniform(0, most_s))
        self.useful += not self.is_done()
        self.replace(self.dice.choice(self.members))

    def stop(self):
        for member in self.members:
            if member[2].stop() != 0:
                raise self.broken(f"{member[1]} did not end well")

    def check_polite(self):
        try:
            self.net.check_polite()
        except AssertionError as e:
            raise self.broken(str(e)) from None


class Spiders(Chain):
    """A list in a file, a URL server, two spiders that store results in folders of their own."""

    POINTS = ("outcomes.append", "outcomes.synced", "spider.written", "spider.synced", "spider.kept")

    def __init__(self, make, seed, pages, delay_ms):
        super().__init__(make, seed, pages, delay_ms)
        self.delay_ms, self.lists = delay_ms, 0
        self.new_list()
        for role in ("spider@1", "spider@2", "urlserver"):
            self.add(self.g, role)

    def new_list(self):
        self.lists += 1
        self.list = Path(self.g.dir) / f"urls{self.lists}.txt"
        self.list.write_text("\n".join(self.urls) + "\n")
        spiders = "".join(f"[spider@{i}]\nlisten = unix:{self.g.dir}/spider{i}\n" for i in (1, 2))
        self.g.configure(f"{self.robot}{spiders}[urlserver]\ndoc_index = file:{self.list}\n"
                         f"req_host_per_sec = {900 // self.delay_ms}\n"
                         f"timeout_spider_status = 5s\nspider_host = unix:{self.g.dir}/spider1 unix:{self.g.dir}/spider2\n"
                         "[spider]\nstatus_interval = 1s\n")

    def begin_again(self):
        self.new_list()
        self.replace(self.members[-1])

    def outcomes(self):
        done = self.g.run("dump", f"{self.list}.done")
        return re.findall(r"line=(\d+) outcome='done'", done.out)

    def is_done(self):
        return len(set(self.outcomes())) == len(self.urls)

    def finish(self):
        outcomes = self.outcomes()
        if sorted(map(int, outcomes)) != list(range(1, len(self.urls) + 1)):
            raise self.broken(f"{len(outcomes)} outcomes of {len(self.urls)} URLs")
        if self.g.run("check", f"{self.list}.done").code != 0:
            raise self.broken("garner check does not like the outcomes")

    def settle(self):
        wait_for("all outcomes", self.is_done, 300, every=1)
        self.stop()
        self.finish()
        kept = Counter()
        for i in (1, 2):
            for line in (self.g.data / f"spider@{i}" / "results.jsonl").read_text().split("\n")[:-1]:
                kept[json.loads(line)["url"]] += 1
        if missing := [u for u in self.urls if kept[u] < self.lists]:
            raise self.broken(f"done, and no result: {sorted(missing)[:5]}")
        self.check_polite()


class Bots(Chain):
    """garner fetch --through, a botm without folder, two botms with two bots each. The bots of both machines share a
    table of politeness, as on one machine."""

    POINTS = ("botm.flush", "botm.reserve", "botm.reserved", "bot.answers", "bot.synced", "bot.named")
    # botm.remove and botm.removed are passed where a source drops something: test_botm.py

    def __init__(self, make, seed, pages, delay_ms):
        super().__init__(make, seed, pages, delay_ms)
        self.source_at = f"unix:{self.g.dir}/source"
        self.top = make(config=f"[botm]\nlisten = unix:{self.g.dir}/top\nsource = {self.source_at}\nfolder =\n")
        self.add(self.top, "botm")
        machines = "".join(f"[botm@{i}]\nlisten = unix:{self.g.dir}/m{i}\nsource = unix:{self.g.dir}/top\nmachine = m{i}\n"
                           f"folder = cache/files@{i}\n"
                           for i in (1, 2))
        bots = "".join(f"[bot@{i}{j}]\nbotm = unix:{self.g.dir}/m{i}\nparallel = 6\nfolder = cache/files@{i}\n"
                       for i in (1, 2) for j in "ab")
        self.g.configure(self.robot + machines + bots)
        for role in ("botm@1", "botm@2", "bot@1a", "bot@1b", "bot@2a", "bot@2b"):
            self.add(self.g, role)
        self.files = []  # that a source was told of, with their machines
        self.begin_again()

    def begin_again(self):
        self.begin(self.urls)

    def begin(self, urls):
        self.asked = urls
        path = Path(self.g.dir) / "list"
        path.write_text("\n".join(urls) + "\n")
        self.source = self.g.start("fetch", "--through", self.source_at, "--json", "--from", path)

    def is_done(self):
        return not self.source.alive

    def lines(self):
        return [json.loads(line) for line in self.source.text.split("\n") if line.startswith('{"url"') and line.endswith("}")]

    def stored(self):
        """Names that still wait for a word of the source."""
        return [n for i in (1, 2) for n in bots.names(self.g.data, f"cache/files@{i}")["stored"]]

    def finish(self):
        if self.source.wait(300) not in (0, 3):
            raise self.broken("the source failed")
        lines = self.lines()
        if sorted(l["url"] for l in lines) != sorted(self.asked):
            raise self.broken(f"{len(lines)} lines for {len(self.asked)} URLs")
        self.files += [(l["machine"], l["file"]) for l in lines if l["outcome"] == "ok"]

    def settle(self):
        self.finish()
        files = self.files
        for member in self.members:  # what went to two machines may still be under way in one of them
            if member[1] in ("botm@1", "botm@2"):
                self.replace(member)

        def is_quiet():  # a later source drops what that has left
            self.begin([next(u for u in self.urls if "/private/" not in u)])  # robots.txt forbids that
            self.finish()
            return not self.stored()

        wait_for("all answers spoken about", is_quiet, 60, every=0.1)
        self.stop()
        if len(set(files)) != len(files):
            raise self.broken("a name was given twice")
        for i in (1, 2):
            folder = self.g.data / "cache" / f"files@{i}"
            missing = [f for m, f in files if m == f"m{i}" and not (folder / f).is_file()]
            if missing:
                raise self.broken(f"kept, and not there: {missing[:5]}")
        self.again("botm@1", "botm@2")  # removes what a robot that was cut off may have left
        there = {(f"m{i}", str(p.relative_to(f))) for i in (1, 2)
                 for f in [self.g.data / "cache" / f"files@{i}"] for p in f.glob("*/*")}
        if there != set(files):
            raise self.broken(f"files that nobody knows: {sorted(there - set(files))[:5]}")
        done = self.g.run("check", str(self.g.data / "cache"))
        if done.code != 0 or " 0 noted" not in done.out:
            raise self.broken(f"garner check: {done}")
        self.check_polite()

    def again(self, *roles):
        for role in roles:
            self.g.start(role).wait_ready().stop()
