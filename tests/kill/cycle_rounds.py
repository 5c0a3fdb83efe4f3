"""A crawl of many cycles (cycle_writer.c), killed again and again on its way: in the end who followed it
knows the same documents as if it had never been disturbed, and has heard of every delete once. Used by
test_cycle.py and by prove/cycle.py."""
import shutil

from kill import rounds

CYCLES = 12
# where crawl_rounds.py kills: in recovery, where locks expire or something is damaged, and where states go that the
# follower needs no more
ELSEWHERE = {"state.delete", "state.delete.named", "state.keep", "state.own", "state.lock.away", "state.lock.expire",
             "state.rollback", "state.rollback.objects", "state.places"}
# passed by one module after the other
SHARED = {"state.control", "state.index", "state.put", "state.put.named"}


class Rounds(rounds.Rounds):
    """`told` is how many cycles are done. A crawl that comes to its end is compared, and begun anew."""

    program, keeps = "cycle-writer", "crawl"
    ends_well = (0,)
    opening_s, working_s = 0.02, 0.3
    little = CYCLES

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.known = self.folder / "known"
        self.crawls = 0
        self.undisturbed = ""
        self.begin_anew()
        self.settle()
        self.undisturbed = self.learned()
        self.begin_anew()

    def begin_anew(self):
        shutil.rmtree(self.thing, ignore_errors=True)
        self.known.unlink(missing_ok=True)
        self.said.write_text("")
        self.told = 0
        done = self.ask("init", self.thing)
        if done.returncode != 0:
            raise self.broken(f"init: {done.stderr}")
        self.check()  # the follower is known from the first state on

    def points(self):
        return [point for point in super().points() if point not in ELSEWHERE]

    def grown(self):
        return self.told >= CYCLES

    def start(self, much=0, faults=""):
        return self.begin("write", self.thing, much or CYCLES, faults=faults)

    def learned(self):
        """What who followed knows: a line for each page."""
        shown = self.ask("show", self.known)
        if shown.returncode != 0:
            raise self.broken(f"show: {shown.stderr}")
        return shown.stdout

    def check(self):
        self.hear()
        done = self.ask("check", self.thing, self.told, self.known)
        if done.returncode != 0:
            raise self.broken(f"after {self.told} cycles: {done.stderr.strip()}")
        self.told = int(done.stdout)
        self.looks += 1

    def compare(self):
        """At the end of a crawl."""
        wrong = [f"{a} instead of {b}" for a, b in zip(self.learned().splitlines(), self.undisturbed.splitlines())
                 if a != b]
        if wrong:
            raise self.broken(f"page, version, deletes: {'; '.join(wrong[:5])}")
        self.crawls += 1

    def finish(self):
        """Goes on without kills."""
        self.settle()
        self.compare()
        self.begin_anew()

    def kill_at(self, point, nth):
        """Kills at the n-th passing from where the crawl is, or in the next one. Whether it was passed."""
        for _ in range(2):
            killed = self.dies_of(f"{point}=kill@{nth}")
            self.check()
            if killed:
                return True
            self.finish()
        return False

    def kill_any_time(self):
        if self.grown():
            self.finish()
        super().kill_any_time()
