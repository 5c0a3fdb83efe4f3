"""Rounds of killing the one that keeps documents and their words (words_worker.c) and looking at what is
there. Used by kill/test_words.py in its short form and by prove/words.py in its long one."""
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from garner import BUILD, clean_environment

WORKER = BUILD / "tests" / "words-worker"
FRESH_COMMITS = 400  # then the next round begins with nothing


class Lost(AssertionError):
    """A promise is broken: the message says which, and how to see it again."""


class Rounds:
    """One folder, whose writer is killed again and again. `told` is the last commit it spoke of, or
    that was seen."""

    def __init__(self, folder, seed):
        self.folder = Path(folder) / "index"
        self.said = Path(folder) / "said"
        self.errors = Path(folder) / "errors"
        self.random = random.Random(seed)
        self.seed = seed
        self.told = self.rounds = self.commits = 0

    def points(self):
        out = subprocess.run([WORKER, "points"], capture_output=True, text=True, check=True).stdout
        return sorted(set(out.split()))

    def begin_anew(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.told = 0

    def start(self, commits=0, faults=""):
        env = clean_environment(SCENE=str(self.folder.parent))
        if faults:
            env["GARNER_FAULTS"] = faults
        with open(self.said, "wb") as out, open(self.errors, "wb") as err:
            return subprocess.Popen([WORKER, "write", self.folder, str(commits)], stdout=out, stderr=err,
                                    stdin=subprocess.DEVNULL, env=env)

    def broken(self, what):
        return Lost(f"{what}; seed {self.seed}, round {self.rounds}, folder {self.folder}\n"
                    f"{self.errors.read_text()}")

    def check(self):
        """What is there is what some commit left, whole, and no earlier one than was told."""
        lines = self.said.read_text().split("\n")[:-1]
        self.told = max([self.told] + [int(line) for line in lines])
        done = subprocess.run([WORKER, "check", self.folder], capture_output=True, text=True,
                              env=clean_environment(SCENE=str(self.folder.parent)))
        if done.returncode != 0:
            raise self.broken(f"what is there is not right: {done.stderr.strip()}")
        there = int(done.stdout)
        if there < self.told:
            raise self.broken(f"commit {self.told} was told, {there} is there")
        if there > self.told + 1:
            raise self.broken(f"commit {there} is there, only {self.told} was told")
        self.rounds += 1
        self.commits = self.told = there  # also one that was killed before it could tell; it stays

    def ends_by(self, child, seconds=60):
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise self.broken("the writer hangs") from None

    def settle(self, commits=1):
        """A start that is not disturbed goes on."""
        code = self.ends_by(self.start(commits))
        if code != 0:
            raise self.broken(f"the next start ends with {code}")
        self.check()

    def kill_at(self, point, nth):
        """Kills at the nth time that a point is passed; False: it is not passed so often."""
        if point.startswith("docstore.file") or self.commits > FRESH_COMMITS:
            self.begin_anew()
        if point == "docstore.cut":  # something is to be cut off first
            self.ends_by(self.start(60, "docstore.block.written=kill@3"))
            self.check()
        code = self.ends_by(self.start(60, f"{point}=kill@{nth}"))
        if code not in (0, -signal.SIGKILL):
            raise self.broken(f"{point}: ended with {code}")
        self.check()
        self.settle()
        return code != 0

    def kill_after(self, seconds):
        """Kills the writer so long after its first word."""
        if self.commits > FRESH_COMMITS:
            self.begin_anew()
        child = self.start()
        end = time.monotonic() + 30
        while not self.said.stat().st_size:
            if child.poll() is not None or time.monotonic() > end:
                child.kill()
                child.wait()
                raise self.broken("the writer never said anything")
            time.sleep(0.0005)
        time.sleep(seconds)
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.check()

    def kill_any_time(self):
        """At a random instant: while it opens and mends, or while it writes."""
        if self.random.random() < 0.2 and self.folder.exists():
            child = self.start()
            time.sleep(self.random.uniform(0, 0.02))
            child.send_signal(signal.SIGKILL)
            child.wait()
            self.check()
        else:
            self.kill_after(self.random.uniform(0, 0.15))


def new_seed():
    return int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
