"""Rounds of killing processes that share a table of politeness (polite_worker.c), and what their
records show: never two at once on one server, none too early, none left alone for long. Used by
kill/test_polite.py in its short form and by prove/polite.py in its long one."""
import os
import random
import signal
import struct
import subprocess
import time
from pathlib import Path

from garner import BUILD, clean_environment

WORKER = BUILD / "tests" / "polite-worker"
WORKERS = 4
SERVERS = 8
DELAY_US = 5000      # as polite_worker.c has it
LOST_US = 20_000_000  # a lease lasts 300 s: whoever waits for its end is far beyond
RECORD = struct.Struct("<IIqq")


class Impolite(AssertionError):
    """A promise is broken: the message says which, and how to see it again."""


def now_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


class Rounds:
    """One table, four workers; every round kills some of them and starts others."""

    def __init__(self, folder, seed):
        self.folder = Path(folder)
        self.table = self.folder / "polite"
        self.errors = self.folder / "errors"
        self.random = random.Random(seed)
        self.seed = seed
        self.workers = []  # (process, record)
        self.killed = {}   # record: when it was still alive
        self.kills = self.starts = self.number = 0
        self.begin_us = now_us()

    def points(self):
        out = subprocess.run([WORKER, "points"], capture_output=True, text=True, check=True).stdout
        return out.split()

    def start(self, faults="", asks=0):
        env = clean_environment(SCENE=str(self.folder))
        if faults:
            env["GARNER_FAULTS"] = faults
        self.number += 1
        record = self.folder / f"record.{self.number}"
        with open(self.errors, "ab") as err:
            child = subprocess.Popen([WORKER, "ask", self.table, record,
                                      str(self.random.getrandbits(60)), str(asks)],
                                     stdout=subprocess.DEVNULL, stderr=err,
                                     stdin=subprocess.DEVNULL, env=env)
        return child, record

    def fill(self):
        while len(self.workers) < WORKERS:
            self.workers.append(self.start())

    def broken(self, what):
        return Impolite(f"{what}; seed {self.seed}, after {self.kills} kills, in {self.folder}\n"
                        f"{self.errors.read_text() if self.errors.exists() else ''}")

    def kill(self, worker):
        child, record = worker
        if child.poll() is not None:
            raise self.broken(f"a worker ended by itself with {child.returncode}")
        self.killed[record] = now_us()
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.kills += 1

    def kill_some(self):
        """At a random instant, one of them or several at once; others take their places."""
        self.fill()
        time.sleep(self.random.uniform(0, 0.06))
        for _ in range(self.random.choice((1, 1, 1, 2, WORKERS))):
            self.kill(self.workers.pop(self.random.randrange(len(self.workers))))

    def kill_at(self, point, nth):
        """One worker dies at the point, while the others go on. What is passed only where a table
        is made begins with none."""
        if ".create." in point or ".make." in point:
            self.stop()
            self.check()
            self.table.unlink(missing_ok=True)
            nth = 1
        else:
            self.fill()
        if ".claim" in point:
            nth = 1
        child, _ = self.start(f"{point}=kill@{nth}", asks=20 * nth + 20)
        try:
            code = child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise self.broken(f"{point}: the worker hangs") from None
        if code != -signal.SIGKILL:
            raise self.broken(f"{point}=kill@{nth}: ended with {code}, the point was not passed")
        self.kills += 1
        self.fill()
        time.sleep(0.02)

    def stop(self):
        while self.workers:
            self.kill(self.workers.pop())

    def read(self):
        """Per server: (time given, start, end) of every request; (from, to) of every retry."""
        asked = {s: [] for s in range(SERVERS)}
        retry = {s: [] for s in range(SERVERS)}
        for record in sorted(self.folder.glob("record.*")):
            open_one = None
            whole = record.read_bytes()
            for what, server, a, b in RECORD.iter_unpack(whole[:len(whole) // 24 * 24]):
                if what == ord("S"):
                    open_one = (server, a, b)
                elif what == ord("E"):
                    asked[server].append((open_one[1], open_one[2], a))
                    open_one = None
                elif what == ord("R"):
                    retry[server].append((a, b))
            if open_one:  # killed in between: it held on until just before the kill at least
                server, a, b = open_one
                asked[server].append((a, b, max(b, self.killed.get(record, b))))
            record.unlink()
        return asked, retry

    def check(self):
        """All that has happened since the last check. Nobody runs."""
        asked, retry = self.read()
        for server in range(SERVERS):
            requests = sorted(asked[server])
            self.starts += len(requests)
            for (given, _, end), (next_given, next_start, _) in zip(requests, requests[1:]):
                if next_given - given < DELAY_US:
                    raise self.broken(f"server {server}: asked after {next_given - given} us")
                if next_start < end:
                    raise self.broken(f"server {server}: two at once for {end - next_start} us")
                if next_given - given > LOST_US:
                    raise self.broken(f"server {server}: left alone for {next_given - given} us")
            for begin, end in retry[server]:
                for given, _, _ in requests:
                    if begin < given < end:
                        raise self.broken(f"server {server}: asked {end - given} us before it "
                                          "wanted to be")

    def settle(self):
        """Whatever was killed before: every server can be asked again soon."""
        self.stop()
        self.check()
        self.fill()
        end = time.monotonic() + LOST_US / 1e6
        missing = set(range(SERVERS))
        while missing:
            if time.monotonic() > end:
                raise self.broken(f"servers {sorted(missing)} are not asked any more")
            time.sleep(0.02)
            for record in self.folder.glob("record.*"):
                whole = record.read_bytes()
                missing -= {server for what, server, _, _ in
                            RECORD.iter_unpack(whole[:len(whole) // 24 * 24]) if what == ord("S")}
        self.stop()
        self.check()


def new_seed():
    return int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
