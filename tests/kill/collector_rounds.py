"""The collector (collector_worker.c), killed: whatever it was at, going on ends where an undisturbed one
ends; no document is lost, none is there twice, none is left in the store that the index does not know.
Used by test_collector.py and by prove/line.py."""
import shutil
import time

from kill import rounds
from kill.words_rounds import RARE  # noqa: F401: the same stores

CHANGES = 150


class Rounds(rounds.Rounds):
    program, keeps = "collector-worker", "data"
    ends_well = (0,)
    little = CHANGES

    def start(self, much=CHANGES, faults="", what="run"):
        return self.begin(what, self.thing, much, faults=faults)

    def begin_anew(self):
        shutil.rmtree(self.thing, ignore_errors=True)
        self.thing.mkdir()

    def check(self):
        code = self.ends_by(self.start(what="check"))
        if code != 0:
            raise self.broken(f"check ends with {code}")
        self.looks += 1

    def kill_at(self, point, nth):
        """Kills at the nth time that a point is passed; False: it is not passed so often."""
        self.begin_anew()
        if point == "docstore.cut":  # something is to be cut off first
            self.dies_of("docstore.synced=kill@2")
        killed = self.dies_of(f"{point}=kill@{nth}")
        self.settle()
        return killed

    def kill_any_time(self, times=4):
        """Several times on the way, each at a random instant."""
        self.begin_anew()
        for _ in range(times):
            child = self.start()
            time.sleep(self.random.uniform(0, 0.1))
            self.kill(child)
        self.settle()
