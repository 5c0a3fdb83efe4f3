"""A writer that plays the crawl (crawl_writer.c), killed: nothing that was told is missing or changed,
nothing half is there, and a follower hears every change once. Used by test_crawl.py and by
prove/shepherd.py."""
import shutil
import signal

from kill import rounds

FRESH_OPERATIONS = 1500
# what recovery finds: files longer than the last checkpoint, a merge half done
BEFORE = ("state.checkpoint.note=kill@3", "select.index=kill@1")
# passed only where something was damaged, refused by the system or asked for by hand
UNUSUAL = {"bucket.delete", "bucket.fix.cut", "bucket.fix.head", "bucket.fix.trailer", "bucket.giveup", "bucket.write",
           "bucket.train", "bucket.sweep", "state.keep", "state.own", "state.places",
           "recover.build"}


class Rounds(rounds.Rounds):
    """`told` is how many operations were said to be durable, or were found, since it was begun anew; `ever`
    how many before that."""
    ever = 0

    program, keeps = "crawl-writer", "crawl"
    hang_s = 120
    opening_s, working_s = 0.02, 0.1

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.cursor = self.folder / "cursor"
        self.begin_anew()

    def begin_anew(self):
        shutil.rmtree(self.thing, ignore_errors=True)
        self.cursor.unlink(missing_ok=True)
        self.said.write_text("")
        self.ever += self.told
        self.told = 0
        done = self.ask("init", self.thing)
        if done.returncode != 0:
            raise self.broken(f"init: {done.stderr}")
        self.check()  # the follower is known from the first state on

    def grown(self):
        return self.told > FRESH_OPERATIONS

    def start(self, much=0, faults=""):
        return self.begin("write", self.thing, much, faults=faults)

    def check(self, faults=""):
        """False: the faults killed the recovery."""
        self.hear()
        done = self.ask("check", self.thing, self.told, self.cursor, faults=faults)
        if faults and done.returncode == -signal.SIGKILL:
            self.kills += 1
            return False
        if done.returncode != 0:
            raise self.broken(f"after {self.told} operations: {done.stderr.strip()}")
        self.told = int(done.stdout)
        self.looks += 1
        return True

    def kill_at(self, point, nth):
        """Kills at the n-th passing, in the writer or, where it does not pass there, in the recovery of
        one that was killed. Whether it was passed."""
        faults = f"{point}=kill@{nth}"
        killed = self.dies_of(faults, 100)
        for before in BEFORE:
            if killed:
                break
            self.dies_of(before, 100)
            killed = not self.check(faults)
        self.check()
        return killed
