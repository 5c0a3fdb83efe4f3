"""Rounds of killing a writer that plays the crawl (crawl_writer.c) and looking at what is there. Used by
kill/test_crawl.py in its short form and by prove/shepherd.py in its long one."""
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from garner import BUILD, clean_environment

WRITER = BUILD / "tests" / "crawl-writer"
FRESH_OPERATIONS = 1500  # then the next round begins with a new crawl
# what recovery finds: files behind the last checkpoint, a merge half done
BEFORE = ("state.checkpoint.note=kill@3", "state.put=kill@2")
# passed only where something was damaged, refused by the system or asked for by hand
UNUSUAL = {"bucket.delete", "bucket.fix.cut", "bucket.fix.head", "bucket.fix.trailer", "bucket.giveup", "bucket.write",
           "bucket.train", "bucket.sweep", "state.keep", "state.own", "recover.build"}


class Lost(AssertionError):
    """A promise is broken: the message says which, and how to see it again."""


def new_seed():
    return int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))


class Rounds:
    """One crawl, killed again and again. `told` is how many operations the writer said are durable."""

    def __init__(self, folder, seed):
        self.folder = Path(folder) / "crawl"
        self.cursor = Path(folder) / "cursor"
        self.said = Path(folder) / "said"
        self.errors = Path(folder) / "errors"
        self.random = random.Random(seed)
        self.seed = seed
        self.told = self.rounds = self.operations = 0
        self.begin_anew()

    def points(self):
        return self.run("points").stdout.split()

    def run(self, *args, faults=""):
        env = clean_environment(SCENE=str(self.folder.parent))
        if faults:
            env["GARNER_FAULTS"] = faults
        return subprocess.run([WRITER, *map(str, args)], capture_output=True, text=True, env=env,
                              timeout=120)

    def begin_anew(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.cursor.unlink(missing_ok=True)
        self.told = 0
        done = self.run("init", self.folder)
        if done.returncode != 0:
            raise self.broken(f"init: {done.stderr}")
        self.check()  # the follower is known from the first state on

    def broken(self, what):
        return Lost(f"{what}; seed {self.seed}, round {self.rounds}, crawl {self.folder}")

    def start(self, operations, faults=""):
        env = clean_environment(SCENE=str(self.folder.parent))
        if faults:
            env["GARNER_FAULTS"] = faults
        with open(self.said, "wb") as out, open(self.errors, "wb") as err:
            return subprocess.Popen([WRITER, "write", self.folder, str(operations)], stdout=out,
                                    stderr=err, stdin=subprocess.DEVNULL, env=env)

    def hear(self):
        """The last line may be half, if the writer was killed while it spoke."""
        for line in self.said.read_text().split("\n")[:-1]:
            self.told = max(self.told, int(line))

    def check(self, faults=""):
        """Recovers; nothing that was told is missing or changed, nothing half is there, and whoever
        follows hears every change once."""
        done = self.run("check", self.folder, self.told, self.cursor, faults=faults)
        if faults and done.returncode == -signal.SIGKILL:
            return False
        if done.returncode != 0:
            raise self.broken(f"after {self.told} operations: {done.stderr.strip()}")
        self.told = self.operations = int(done.stdout)
        self.rounds += 1
        return True

    def end(self, child, seconds=120):
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise self.broken("the writer hangs") from None

    def kill_at(self, point, nth):
        """Kills at the n-th passing, in the writer or, where it does not pass there, in the recovery of
        one that was killed. Whether it was passed."""
        faults = f"{point}=kill@{nth}"
        code = self.end(self.start(100, faults))
        self.hear()
        killed = code == -signal.SIGKILL
        if not killed and code != 0:
            raise self.broken(f"{faults}: ended with {code}: {self.errors.read_text()}")
        for before in BEFORE:
            if killed:
                break
            self.end(self.start(100, before))
            self.hear()
            killed = not self.check(faults)
        self.check()
        return killed

    def kill_after(self, seconds):
        """Kills the writer so long after its first word."""
        child = self.start(0)
        end = time.monotonic() + 60
        while not self.said.stat().st_size:
            if child.poll() is not None or time.monotonic() > end:
                child.kill()
                child.wait()
                raise self.broken(f"the writer never said anything: {self.errors.read_text()}")
            time.sleep(0.0005)
        time.sleep(seconds)
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.hear()
        self.check()

    def kill_any_time(self):
        """At a random instant: while it recovers, or while it works."""
        if self.operations > FRESH_OPERATIONS:
            self.begin_anew()
        if self.random.random() < 0.2:
            child = self.start(0)
            time.sleep(self.random.uniform(0, 0.02))
            child.send_signal(signal.SIGKILL)
            child.wait()
            self.hear()
            self.check()
        else:
            self.kill_after(self.random.uniform(0, 0.1))
