"""Whatever of a fabric is killed, each URL has one line at its source, and no file name is lost or given twice."""
import json
import random
import threading
import time
from pathlib import Path

import pytest

import bots
from bots import Herd, Source, content
from garner import wait_for

POINTS = ["botm.reserve", "botm.reserved", "botm.flush", "botm.remove", "botm.removed", "small.commit",
          "small.committed"]  # botm.sweep is passed where there is something to sweep: botm_names.c
HELD = 4  # URLs without which a list is not over


class Fabric:
    """A source, botms and robots: one botm with a folder, or two below one without."""

    def __init__(self, make, folder, seed, machines=1):
        self.make, self.folder, self.machines = make, Path(folder), machines
        self.dice = random.Random(seed)
        self.botms, self.herds, self.doors = [], [], []
        self.top = None
        source = self.folder / "source"
        if machines > 1:
            self.top = self.configure(source, "folder =")
            source = Path(self.top.dir) / "botm"
        for i in range(machines):
            g = self.configure(source, f"machine = m{i}")
            g.machine, g.files = f"m{i}", Path(g.data) / "cache" / "files"
            self.botms.append(g)
        self.given = {}          # (machine, file) -> url: whom a name was given to
        self.held = set()        # URLs that no robot answers now
        self.waiting = []        # fetches of these
        self.lock = threading.Lock()

    def configure(self, source, more):
        g = self.make()
        g.configure(f"[botm]\nlisten = unix:{g.dir}/botm\nsource = unix:{source}\n{more}\n")
        g.running = None
        return g

    def start(self, g, faults=""):
        env = {"GARNER_FAULTS": faults} if faults else None
        g.running = g.start("botm", env=env)
        if not faults:  # else it may be dead before it is ready
            g.running.wait_ready()

    def start_all(self, faults=""):
        if self.top:
            self.start(self.top)
        for g in self.botms:
            self.start(g, faults)
            self.herds.append(Herd(f"unix:{g.dir}/botm", g.files, 2, 8, lambda bot, f, g=g: self.act(g, bot, f)))

    def act(self, g, bot, fetch):
        """Robots see every name that is given: never the same one to another URL. Some fetches fail."""
        with self.lock:
            if fetch["url"] in self.held:
                self.waiting.append((g, bot, fetch))
                return False
        time.sleep(0.002)  # so that a list is not over before anyone can be killed
        first = self.given.setdefault((g.machine, fetch["file"]), fetch["url"])
        if first != fetch["url"]:
            self.given[g.machine, fetch["file"]] = f"TWICE: {first} and {fetch['url']}"
        if int(fetch["url"].rpartition("/")[2]) % 5 == 0:
            bot.say(fetch, "permanent", status=404)
            return False
        return True

    def source(self, urls):
        path = self.folder / "list"
        path.write_text("\n".join(urls) + "\n")
        return self.botms[0].start("fetch", "--through", f"unix:{self.folder}/source", "--json", "--from", str(path))

    def hold(self, urls):
        with self.lock:
            self.held = set(urls)

    def release(self):
        with self.lock:
            self.held, waiting, self.waiting = set(), self.waiting, []
        for g, bot, fetch in waiting:
            if not bot.link.is_over.is_set() and self.act(g, bot, fetch):
                bot.store(fetch)

    @staticmethod
    def lines(process):
        return [json.loads(line) for line in process.text.split("\n") if line.startswith('{"url"') and line.endswith("}")]

    def settle(self):
        """Sources end when all machines have noted what they keep. What is still open after that (it went to two
        machines, or its robot was cut off) is dropped, then everything is stopped."""
        for herd in self.herds:
            herd.close()
        time.sleep(0.2)  # a robot that was cut off may still write what it has
        for g in self.botms:
            g.running.kill()
            self.start(g)
        source = Source(self.folder / "source")

        def is_quiet():
            for answer in source.answers():
                source.send("dropped", **{k: answer[k] for k in ("id", "machine", "file") if k in answer})
            return not any(bots.names(g.data)["stored"] for g in self.botms)

        wait_for("all answers dropped", is_quiet)
        source.close()
        self.stop()
        for g in self.botms:  # removes what was to be removed
            self.start(g)
            g.running.stop()

    def stop(self):
        for herd in self.herds:
            herd.close()
        for g in [*self.botms, *([self.top] if self.top else [])]:
            if g.running:
                g.running.stop()

    def check(self, urls, lines, also=()):
        """also: lines of a source that was killed, whose files may have been kept or not."""
        assert sorted(l["url"] for l in lines) == sorted(urls)
        twice = [v for v in self.given.values() if v.startswith("TWICE")]
        assert not twice, twice
        for g in self.botms:
            mine = {l["file"]: l["url"] for l in lines if l["outcome"] == "ok" and l["machine"] == g.machine}
            perhaps = {l["file"]: l["url"] for l in also if l["outcome"] == "ok" and l["machine"] == g.machine}
            there = {str(p.relative_to(g.files)) for p in g.files.glob("*/*")}
            assert not set(mine) - there
            assert not there - set(mine) - set(perhaps)
            for name in there:
                assert (g.files / name).read_bytes() == content({**perhaps, **mine}[name])
            assert sorted(bots.names(g.data)["kept"]) == sorted(there)
            done = g.run("check", str(Path(g.data) / "cache"))
            assert done.code == 0 and " 0 noted" in done.out, done


@pytest.fixture
def fabric(garner, tmp_path, seed):
    made = []

    def make(machines=1):
        made.append(Fabric(garner, tmp_path, seed, machines))
        return made[-1]

    yield make
    for f in made:
        f.stop()


def urls(n, site="a"):
    return [f"http://{site}.example/{i}" for i in range(n)]


def drop_all(f, want):
    """A source that has no use for any of its files, until the botm dies of that."""
    source = Source(f.folder / "source")
    wait_for("robots", lambda: source.capacity() > 0)
    for url in want:
        source.send("fetch", id=url, url=url)
    wait_for("all answers", lambda: {a["id"] for a in source.answers()} >= set(want))
    for answer in source.answers():
        source.send("dropped", id=answer["id"])
        time.sleep(0.01)  # so that they are removed in several turns
    wait_for("its death", lambda: not f.botms[0].running.alive)
    source.close()


def fetch_all(f, want):
    """A source whose botm may die. Its lines."""
    g = f.botms[0]
    source = f.source(want)
    wait_for("its death", lambda: not g.running.alive or not source.alive)
    if not g.running.alive:
        g.running.kill()
        f.start(g)
    assert source.wait(60) in (0, 3)
    return f.lines(source)


def test_a_botm_killed_at_every_point_loses_no_name(fabric, long_run):
    f = fabric()
    f.start_all()
    g, also = f.botms[0], []
    for point in POINTS:
        died = 0
        for n in (1, 3, 9, 20) if long_run else (1, 4):
            want = urls(60, f"{point}{n}")
            g.running.stop()
            f.start(g, f"{point}=kill@{n}")
            faulty = g.running
            if point.startswith("botm.remove"):
                drop_all(f, want)
                faulty.kill()
                f.start(g)
            else:
                lines = fetch_all(f, want)
                assert len(lines) == len(want)
                also += lines
            died += g.running is not faulty
        assert died
    last = urls(30, "last")
    source = f.source(last)
    source.wait(60)
    f.settle()
    f.check(last, f.lines(source), also)


def play(f, rounds, n):
    """A list is fetched while botms and robots die."""
    f.start_all()
    want = urls(n)
    f.hold(want[-HELD:])
    source = f.source(want)
    for _ in range(rounds):
        kind = f.dice.choice(["leaf", "bot", "top"] if f.top else ["leaf", "bot"])
        g = f.top if kind == "top" else f.dice.choice(f.botms)
        enough = min(len(f.lines(source)) + 1 + f.dice.randrange(20), n - HELD)
        wait_for("some lines", lambda: len(f.lines(source)) >= enough)
        if kind == "bot":
            f.dice.choice(f.herds).kill_one(f.dice.randrange(2))
        else:
            g.running.kill()
            f.start(g)
    assert source.alive  # each kill came while it had URLs out
    f.release()
    assert source.wait(100) in (0, 3)
    f.settle()
    f.check(want, f.lines(source))


@pytest.mark.limit(600)
def test_botm_and_robots_may_die_at_any_time(fabric, long_run):
    play(fabric(), 60 if long_run else 6, 3000 if long_run else 400)


@pytest.mark.limit(600)
def test_every_level_of_a_tree_may_die_at_any_time(fabric, long_run):
    play(fabric(2), 60 if long_run else 6, 3000 if long_run else 400)


@pytest.mark.limit(600)
def test_a_source_may_die_at_any_time(fabric, long_run):
    f = fabric(2)
    f.start_all()
    dropped = []
    for i in range(20 if long_run else 3):
        want = urls(300, f"s{i}")
        f.hold(want[-HELD:])
        source = f.source(want)
        least = f.dice.randrange(1, 150)
        wait_for("some lines", lambda: len(f.lines(source)) > least)
        assert source.alive
        source.kill()
        f.release()
        dropped += f.lines(source)
    want = urls(100, "last")
    source = f.source(want)
    assert source.wait(60) in (0, 3)
    f.settle()
    f.check(want, f.lines(source), dropped)
