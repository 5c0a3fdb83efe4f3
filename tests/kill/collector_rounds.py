"""Rounds of killing the collector (collector_worker.c): whatever it was at, going on ends where an
undisturbed one ends; no document is lost, none is there twice, none is left in the store that the index
does not know. Used by kill/test_collector.py in its short form and by prove/line.py in its long one."""
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from garner import BUILD, clean_environment

WORKER = BUILD / "tests" / "collector-worker"
CHANGES = 150

# Only a ledger with thousands of syncs is written anew, only a file of a gigabyte is full: the unit
# programs of the store do that.
RARE = {"docstore.ledger.new", "docstore.ledger.rename"}


class Lost(AssertionError):
    """A promise is broken: the message says which, and how to see it again."""


class Rounds:
    def __init__(self, folder, seed):
        self.folder, self.seed = Path(folder), seed
        self.data = self.folder / "data"
        self.errors = self.folder / "errors"
        self.random = random.Random(seed)
        self.rounds = 0

    def points(self):
        out = subprocess.run([WORKER, "points"], capture_output=True, text=True, check=True).stdout
        return sorted(set(out.split()))

    def start(self, what, changes, faults=""):
        env = clean_environment(SCENE=str(self.folder), GARNER_FAULTS=faults)
        with open(self.errors, "wb") as err:
            return subprocess.Popen([WORKER, what, self.data, str(changes)], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=err, env=env)

    def broken(self, what):
        return Lost(f"{what}; seed {self.seed}, round {self.rounds}, folder {self.folder}\n"
                    f"{self.errors.read_text()}")

    def ends(self, what, changes, faults=""):
        child = self.start(what, changes, faults)
        try:
            return child.wait(60)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise self.broken(f"{what} hangs") from None

    def settle(self, changes):
        """A start that is not disturbed ends, and all is as it should be."""
        for what in ("run", "check"):
            code = self.ends(what, changes)
            if code != 0:
                raise self.broken(f"{what} ends with {code}")
        self.rounds += 1

    def begin_anew(self):
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir()

    def kill_at(self, point, nth):
        """Kills at the nth time that a point is passed; False: it is not passed so often."""
        self.begin_anew()
        if point == "docstore.cut":  # something is to be cut off first
            self.ends("run", CHANGES, "docstore.synced=kill@2")
        code = self.ends("run", CHANGES, f"{point}=kill@{nth}")
        if code not in (0, -signal.SIGKILL):
            raise self.broken(f"{point}: ended with {code}")
        self.settle(CHANGES)
        return code != 0

    def kill_any_time(self, times=4):
        """Several times on the way, each at a random instant."""
        self.begin_anew()
        for _ in range(times):
            child = self.start("run", CHANGES)
            time.sleep(self.random.uniform(0, 0.1))
            child.kill()
            child.wait()
        self.settle(CHANGES)


def new_seed():
    return int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
