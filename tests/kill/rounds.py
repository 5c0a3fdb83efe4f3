"""Rounds of killing: a program of this folder that keeps something says on its output what is kept; it
is killed at a fault point or at a random instant, and what it left is looked at. Each kind of program
is a class of its own on top of this one: how it is started, and what must hold then (check)."""
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from garner import BUILD, clean_environment


class Broken(AssertionError):
    """A promise is broken: the message says which, and how to see it again."""


class Rounds:
    """`thing` is what is kept, killed again and again; `told` is what was said to be kept of it."""

    program = ""            # below build/tests
    keeps = ""              # name of the thing
    ends_well = ()          # codes with which it may end before it is killed
    hang_s = 60             # a program that has not ended or said a word by then hangs
    opening_s = 0.01        # kill_any_time: a start is killed within this,
    working_s = 0.15        # or one that works so long after its first word
    little = 1              # how much an undisturbed start does

    def __init__(self, folder, seed):
        self.folder = Path(folder)
        self.thing = self.folder / self.keeps
        self.said = self.folder / "said"
        self.errors = self.folder / "errors"
        self.random = random.Random(seed)
        self.seed = seed
        self.told = self.kills = self.looks = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def begin_anew(self):
        """With nothing."""
        raise NotImplementedError

    def start(self, much=0, faults=""):
        """The program at its work: so much of it, or without end (0)."""
        raise NotImplementedError

    def check(self):
        """Looks at what is there, and counts the look."""
        raise NotImplementedError

    def grown(self):
        """The thing is large enough: a round at a random instant begins anew."""
        return False

    def environment(self, faults=""):
        more = {"GARNER_FAULTS": faults} if faults else {}
        return clean_environment(SCENE=str(self.folder), **more)

    def begin(self, *args, faults=""):
        args = [BUILD / "tests" / self.program, *map(str, args)]
        with open(self.said, "wb") as out, open(self.errors, "wb") as err:
            return subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                    env=self.environment(faults))

    def ask(self, *args, faults="", seconds=120):
        """Runs the program to its end, which is not looked at: returncode, stdout, stderr."""
        args = [BUILD / "tests" / self.program, *map(str, args)]
        return subprocess.run(args, capture_output=True, text=True, timeout=seconds,
                              env=self.environment(faults))

    def points(self):
        found = self.ask("points")
        if found.returncode != 0:
            raise self.broken(f"points: {found.stderr}")
        return sorted(set(found.stdout.split()))

    def lines(self):
        """What was said; the last line may be half, if the program was killed while it spoke."""
        return self.said.read_text().split("\n")[:-1]

    def hear(self):
        self.told = max([self.told, *map(int, self.lines())])

    def broken(self, what):
        errors = self.errors.read_text() if self.errors.exists() else ""
        return Broken(f"{what}; seed {self.seed}, after {self.kills} kills, in {self.folder}\n{errors}")

    def kill(self, child):
        child.send_signal(signal.SIGKILL)
        code = child.wait()
        if code not in (-signal.SIGKILL, *self.ends_well):
            raise self.broken(f"ended by itself with {code}")
        self.kills += code == -signal.SIGKILL

    def ends_by(self, child):
        """How it ends by itself."""
        try:
            return child.wait(self.hang_s)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise self.broken("the program hangs") from None

    def dies_of(self, faults, *args, **more):
        """Starts it with these faults. Whether one of them killed it; else it ended well."""
        code = self.ends_by(self.start(*args, faults=faults, **more))
        if code not in (0, -signal.SIGKILL):
            raise self.broken(f"{faults}: ended with {code}")
        self.kills += code != 0
        return code != 0

    def must_die_of(self, faults, *args, **more):
        if not self.dies_of(faults, *args, **more):
            raise self.broken(f"{faults}: the point was not passed")

    def settle(self, much=None, **how):
        """A start that is not disturbed goes on."""
        code = self.ends_by(self.start(self.little if much is None else much))
        if code != 0:
            raise self.broken(f"the next start ends with {code}")
        self.check(**how)

    def kill_after(self, seconds):
        """Kills it so long after its first word."""
        if self.grown():
            self.begin_anew()
        child = self.start()
        end = time.monotonic() + self.hang_s
        while not self.said.stat().st_size:
            if child.poll() is not None or time.monotonic() > end:
                child.kill()
                child.wait()
                raise self.broken("the program never said anything")
            time.sleep(0.0005)
        time.sleep(seconds)
        self.kill(child)
        self.check()

    def kill_any_time(self):
        """At a random instant: while it opens and mends, or while it works."""
        if self.random.random() < 0.2 and self.thing.exists():
            child = self.start()
            time.sleep(self.random.uniform(0, self.opening_s))
            self.kill(child)
            self.check()
        else:
            self.kill_after(self.random.uniform(0, self.working_s))

    def kill_until(self, seen):
        """More rounds, each with more time: a busy machine may have killed it before it had kept anything."""
        while not seen():
            self.working_s *= 2
            self.kill_any_time()

    def stop(self):
        """Ends whatever runs between two rounds."""


class Commits(Rounds):
    """Who makes commits, numbered, one after the other (worker.h). `told` is the last that was spoken of, or seen."""

    fresh = 400  # so many, and it begins anew

    def begin_anew(self):
        self.stop()
        shutil.rmtree(self.thing, ignore_errors=True)
        self.told = 0

    def grown(self):
        return self.told > self.fresh

    def start(self, much=0, faults=""):
        return self.begin("write", self.thing, much, faults=faults)

    def check(self):
        self.hear()
        done = self.ask("check", self.thing)
        if done.returncode != 0:
            raise self.broken(f"after commit {self.told}: {done.stderr.strip()}")
        there = int(done.stdout)
        if there < self.told:
            raise self.broken(f"commit {self.told} was told, {there} is there")
        if there > self.told + 1:
            raise self.broken(f"commit {there} is there, only {self.told} was told")
        self.looks += 1
        self.told = there  # also one that was killed before it could tell; it stays

    def kill_once(self, point, nth):
        killed = self.dies_of(f"{point}=kill@{nth}", 60)
        self.check()
        self.settle()
        return killed


class Crowd(Rounds):
    """Several programs at once; every round kills some of them, and others take their places."""

    many = 2
    pause_s = (0, 0.1)      # kill_some: so long after the last
    at_once = (1,)          # one of these many are killed

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.children = []

    def fill(self):
        while len(self.children) < self.many:
            self.children.append(self.start())

    def kill_some(self):
        self.fill()
        time.sleep(self.random.uniform(*self.pause_s))
        for _ in range(self.random.choice(self.at_once)):
            self.kill(self.children.pop(self.random.randrange(len(self.children))))

    def stop(self):
        while self.children:
            self.kill(self.children.pop())

    def settle(self, seconds):
        """Whatever was killed before: every server is asked again soon."""
        self.stop()
        self.check()
        self.fill()
        end = time.monotonic() + seconds
        while missing := self.missing():
            if time.monotonic() > end:
                raise self.broken(f"not asked within {seconds} s: {missing}")
            time.sleep(0.02)
        self.stop()
        self.check()
