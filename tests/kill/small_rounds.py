"""Two processes that write one database of small state (small_worker.c), killed: every commit that was
told is there as a whole, also after its file was damaged elsewhere. Used by test_small.py and by
prove/small.py."""
import os
import signal
import subprocess
import time

from garner import BUILD
from kill import rounds

MARK = b"the mark of a writer"


class Rounds(rounds.Rounds):
    """`last` is the last commit that each writer told, or that was seen to be there."""

    program, keeps = "small-worker", "garner.db"
    writers = (0, 1)

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.last = dict.fromkeys(self.writers, 0)
        self.children = {}

    def begin_anew(self):
        self.stop()
        for file in self.folder.glob("*garner.db*"):
            file.unlink()
        self.last = dict.fromkeys(self.writers, 0)

    def said_by(self, who):
        return self.folder / f"said.{who}"

    def start(self, much=0, faults="", who=0):
        args = [BUILD / "tests" / self.program, "write", self.thing, str(who), str(much)]
        with open(self.said_by(who), "wb") as out, open(self.errors, "ab") as err:
            return subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                    env=self.environment(faults))

    def wait_word(self, child, who):
        end = time.monotonic() + self.hang_s
        while not self.said_by(who).stat().st_size:
            if child.poll() is not None or time.monotonic() > end:
                raise self.broken(f"writer {who} never said anything")
            time.sleep(0.0005)

    def check(self):
        for who in self.writers:
            if self.said_by(who).exists():
                told = self.said_by(who).read_text().split("\n")[:-1]
                self.last[who] = max([self.last[who], *map(int, told)])
        done = self.ask("check", self.thing)
        if done.returncode != 0:
            raise self.broken(f"{self.last}: {done.stderr.strip()}")
        for who, there in zip(self.writers, map(int, done.stdout.split())):
            if not self.last[who] <= there <= self.last[who] + 1:
                raise self.broken(f"writer {who}: {self.last[who]} was told, {there} is there")
            self.last[who] = there
        self.looks += 1

    def kill_both(self, point=None, nth=1):
        """While both write, one is killed at a point, or at any time; later the other. Whether the point was passed."""
        other = self.start(who=1)
        first = self.start(much=60 if point else 0, faults=f"{point}=kill@{nth}" if point else "")
        try:
            if point:
                code = self.ends_by(first)
                if code not in (0, -signal.SIGKILL):
                    raise self.broken(f"{point}: ended with {code}")
                self.kills += code != 0
            else:
                time.sleep(self.random.uniform(0, self.working_s))
                self.kill(first)
            self.wait_word(other, 1)
            time.sleep(self.random.uniform(0, 0.02))
        finally:
            for child in (first, other):
                if child.poll() is None:
                    child.kill()
                    child.wait()
                    self.kills += 1
        self.check()
        if os.path.exists(f"{self.thing}.damaged"):
            raise self.broken("a kill was taken for damage")
        return not point or code != 0

    def damage(self):
        """One byte of a row that no promise is about."""
        data = bytearray(self.thing.read_bytes())
        at = data.rfind(MARK)
        assert at > 0
        data[at + 4] ^= 0x20
        self.thing.write_bytes(data)

    def settle_all(self):
        """Undisturbed starts, after which all is in the database itself and none in its log."""
        for who in self.writers:
            child = self.start(much=6, who=who)
            if self.ends_by(child) != 0:
                raise self.broken(f"writer {who} does not go on")
        self.check()
        assert not os.path.exists(f"{self.thing}-wal")
