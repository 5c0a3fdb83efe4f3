"""Rounds of killing the writers of a record file (record_writer.c) and looking at what is there. Used
by kill/test_record.py in its short form and by prove/record.py in its long one."""
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from garner import BUILD, clean_environment

WRITER = BUILD / "tests" / "record-writer"
WRITERS = 8
FRESH_BYTES = 8 << 20  # then the next round begins with a new file


class Lost(AssertionError):
    """A promise is broken: the message says which, and how to see it again."""


class Rounds:
    """One record file, killed again and again. `told` is what each thread was told is durable."""

    def __init__(self, folder, seed):
        self.file = Path(folder) / "record"
        self.said = Path(folder) / "said"
        self.errors = Path(folder) / "errors"
        self.random = random.Random(seed)
        self.seed = seed
        self.told = [0] * WRITERS
        self.rounds = self.records = 0

    def points(self):
        out = subprocess.run([WRITER, "points"], capture_output=True, text=True, check=True).stdout
        return out.split()

    def begin_anew(self):
        self.file.unlink(missing_ok=True)
        self.told = [0] * WRITERS

    def start(self, faults="", groups=0):
        env = clean_environment(SCENE=str(self.file.parent))
        if faults:
            env["GARNER_FAULTS"] = faults
        with open(self.said, "wb") as out, open(self.errors, "wb") as err:
            return subprocess.Popen([WRITER, "write", self.file, str(groups)], stdout=out,
                                    stderr=err, stdin=subprocess.DEVNULL, env=env)

    def lines(self):
        """What was said; the last line may be half, if the writer was killed while it spoke."""
        return self.said.read_text().split("\n")[:-1]

    def hear(self):
        for line in self.lines():
            thread, number = map(int, line.split())
            self.told[thread] = max(self.told[thread], number)

    def broken(self, what):
        return Lost(f"{what}; seed {self.seed}, round {self.rounds}, file {self.file}\n"
                    f"{self.errors.read_text()}")

    def check(self, again_allowed=False):
        """Every record that was told durable is there, whole, in order, and nothing is half."""
        self.hear()
        env = clean_environment(SCENE=str(self.file.parent))
        done = subprocess.run([WRITER, "check", self.file], capture_output=True, text=True, env=env)
        if done.returncode != 0:
            raise self.broken(f"the file is not whole: {done.stderr.strip()}")
        there = dict(line.split() for line in done.stdout.splitlines())
        for thread in range(WRITERS):
            if int(there[str(thread)]) < self.told[thread]:
                raise self.broken(f"thread {thread} was told of {self.told[thread]} records, "
                                  f"{there[str(thread)]} are there")
        if int(there["again"]) and not again_allowed:
            raise self.broken(f"{there['again']} records are there twice")
        self.records = int(there["records"])
        self.rounds += 1

    def ends_by(self, child, seconds=60):
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise self.broken("the writer hangs") from None

    def settle(self):
        """A start that is not disturbed mends the file and goes on."""
        code = self.ends_by(self.start(groups=1))
        if code != 0:
            raise self.broken(f"the next start ends with {code}")

    def kill_at(self, point, nth, slow=False):
        """Brings the file into the state in which the point is passed, and kills there; slow: after
        a while, in which the other threads go on and say what they should not."""
        if point.startswith("record.create"):
            self.begin_anew()
        if point.startswith("record.mend"):
            self.kill_after(0.02)
        faults = f"{point}=kill@{nth}" + f",{point}=slow@{nth}" * slow
        refusal = point.startswith("record.cut")
        if refusal:  # something has to be taken back
            what = self.random.choice(["file.write/record=short", "file.sync/record=eio",
                                       "file.write/record=enospc"])
            faults = ",".join(f"{what}@{10 + 5 * i}" for i in range(nth)) + "," + faults
        code = self.ends_by(self.start(faults, groups=400 if refusal else 20))
        if code != -signal.SIGKILL:
            raise self.broken(f"{faults}: ended with {code}, the point was not passed")
        self.check(again_allowed=refusal)
        self.settle()
        self.check(again_allowed=refusal)
        if refusal:
            self.begin_anew()

    def kill_after(self, seconds):
        """Kills the writer so long after its first word."""
        if self.file.exists() and self.file.stat().st_size > FRESH_BYTES:
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
        if self.random.random() < 0.2 and self.file.exists():
            child = self.start()
            time.sleep(self.random.uniform(0, 0.01))
            child.send_signal(signal.SIGKILL)
            child.wait()
            self.check()
        else:
            self.kill_after(self.random.uniform(0, 0.08))


def new_seed():
    return int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
