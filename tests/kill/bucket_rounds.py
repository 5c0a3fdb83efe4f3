"""Rounds of killing who keeps a bucket file (bucket_writer.c) and looking at what is there. Used by
kill/test_bucket.py in its short form and by prove/bucket.py in its long one."""
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from garner import BUILD, clean_environment

WRITER = BUILD / "tests" / "bucket-writer"
FRESH_NUMBERS = 6000  # then the next round begins with a new file


class Lost(AssertionError):
    """A promise is broken: the message says which, and how to see it again."""


class Rounds:
    """One bucket file, killed again and again. `told`: numbers below it were told to be kept."""

    def __init__(self, folder, seed):
        self.file = Path(folder) / "objects"
        self.said = Path(folder) / "said"
        self.errors = Path(folder) / "errors"
        self.random = random.Random(seed)
        self.seed = seed
        self.told = 0
        self.rounds = self.kept = 0

    def points(self):
        out = subprocess.run([WRITER, "points"], capture_output=True, text=True, check=True).stdout
        return out.split()

    def begin_anew(self):
        for path in self.file.parent.glob(self.file.name + "*"):
            path.unlink()
        self.told = 0

    def start(self, faults="", rounds=0, what="write"):
        env = clean_environment(SCENE=str(self.said.parent))
        if faults:
            env["GARNER_FAULTS"] = faults
        args = [WRITER, what, self.file] + [str(rounds)] * (what == "write")
        with open(self.said, "wb") as out, open(self.errors, "wb") as err:
            return subprocess.Popen(args, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=env)

    def lines(self):
        """What was said; the last line may be half, if the writer was killed while it spoke."""
        return self.said.read_text().split("\n")[:-1]

    def hear(self):
        for line in self.lines():
            self.told = max(self.told, int(line))

    def broken(self, what):
        return Lost(f"{what}; seed {self.seed}, round {self.rounds}, file {self.file}\n"
                    f"{self.errors.read_text()}")

    def look(self):
        """Mends as a start does; the numbers that are lost."""
        env = clean_environment(SCENE=str(self.said.parent))
        done = subprocess.run([WRITER, "check", self.file], capture_output=True, text=True, env=env)
        if done.returncode != 0:
            raise self.broken(f"the file is not whole: {done.stderr.strip()}")
        found = [line.split() for line in done.stdout.splitlines()]
        self.kept = int(dict(f for f in found if f[0] == "kept")["kept"])
        noted = int(dict(f for f in found if f[0] == "noted")["noted"])
        if noted < self.told:
            raise self.broken(f"{self.told} numbers were told, {noted} are noted")
        return [int(number) for word, number in found if word == "lost"]

    def check(self):
        """Every number that was told is there or was deleted, and nothing is half."""
        self.hear()
        lost = self.look()
        if lost:
            raise self.broken(f"lost: {lost[:10]}")
        self.rounds += 1

    def ends_by(self, child, seconds=60):
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise self.broken("the writer hangs") from None

    def settle(self):
        """A start that is not disturbed goes on."""
        code = self.ends_by(self.start(rounds=3))
        if code != 0:
            raise self.broken(f"the next start ends with {code}")

    def kill_at(self, point, nth=1):
        """Brings the file into the state in which the point is passed, and kills there."""
        faults = f"{point}=kill@{nth}"
        if point == "bucket.cut":
            self.settle()
        if point == "bucket.train":
            self.begin_anew()
        if point == "bucket.sweep":  # a shakedown that was killed
            self.kill_at("bucket.shake.written")
            self.leave_half_a_shakedown()
        if point == "bucket.giveup":  # something has to be refused
            faults = "".join(f"file.sync//objects=eio@{5 + 3 * i}," for i in range(3 * nth)) + faults
        code = self.ends_by(self.start(faults, rounds=400))
        if code != -signal.SIGKILL:
            raise self.broken(f"{faults}: ended with {code}, the point was not passed")
        self.check()
        self.settle()
        self.check()

    def leave_half_a_shakedown(self):
        code = self.ends_by(self.start("bucket.shake.written=kill", rounds=400))
        if code != -signal.SIGKILL:
            raise self.broken(f"no shakedown came: {code}")
        self.hear()

    def kill_after(self, seconds):
        """Kills the writer so long after its first word."""
        if self.told > FRESH_NUMBERS:
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
        """At a random instant: while it starts and mends, or while it works."""
        if self.random.random() < 0.2 and self.file.exists():
            child = self.start()
            time.sleep(self.random.uniform(0, 0.01))
            child.send_signal(signal.SIGKILL)
            child.wait()
            self.check()
        else:
            self.kill_after(self.random.uniform(0, 0.15))

    def damage(self):
        """Changes a byte of a body, one of a head, and tears the end. The file must be closed."""
        data = bytearray(self.file.read_bytes())
        heads = [at for at in range(0, len(data) - 20, 128)
                 if data[at:at + 4] == b"\x0d\xf0\xad\xde"
                 and int.from_bytes(data[at + 4:at + 8], "little") == at >> 7]
        body, head = self.random.sample(heads[:-2], 2)
        data[body + 16 + self.random.randrange(4)] ^= 0x40
        data[head + self.random.randrange(4)] ^= 0x10
        del data[-self.random.randrange(1, 128):]
        self.file.write_bytes(data)

    def kill_fix_at(self, point):
        """A fix that is killed is done again, and loses no more than was damaged."""
        self.settle()
        self.check()
        self.damage()
        code = self.ends_by(self.start(f"{point}=kill", what="fix"))
        if code != -signal.SIGKILL:
            raise self.broken(f"{point}: ended with {code}, the point was not passed")
        if self.ends_by(self.start(what="fix")) != 0 or self.ends_by(self.start(what="fix")) != 0:
            raise self.broken("the file cannot be fixed")
        if self.lines():
            raise self.broken(f"a fixed file still has problems: {self.lines()}")
        note = self.file.with_name(self.file.name + ".note")
        data = bytearray(note.read_bytes())  # the checkpoint is behind the new end
        data[:8] = self.file.stat().st_size.to_bytes(8, "little")
        note.write_bytes(data)
        lost = self.look()
        if not 1 <= len(lost) <= 3:
            raise self.broken(f"three were damaged, {len(lost)} are lost")
        self.begin_anew()


def new_seed():
    return int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
