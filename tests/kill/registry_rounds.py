"""Who keeps a registry (registry_worker.c), killed: what is there is what some commit left, whole. Used by
test_registry.py and by prove/registry.py."""
import shutil

from kill import rounds

FRESH_COMMITS = 400

# Only a file of thousands of commits is written anew: the unit program of the registry does that.
RARE = {"registry.join", "registry.join.rename", "registry.join.renamed"}


class Rounds(rounds.Rounds):
    """`told` is the last commit that was spoken of, or that was seen."""

    program = "registry-worker"
    keeps = "broker"

    def begin_anew(self):
        shutil.rmtree(self.thing, ignore_errors=True)
        self.told = 0

    def grown(self):
        return self.told > FRESH_COMMITS

    def start(self, much=0, faults=""):
        return self.begin("write", self.thing, much, faults=faults)

    def check(self):
        self.hear()
        looked = self.ask("check", self.thing)
        if looked.returncode != 0:
            raise self.broken(f"after commit {self.told}: {looked.stderr.strip()}")
        there = int(looked.stdout)
        if there < self.told:
            raise self.broken(f"commit {self.told} was told, {there} is there")
        if there > self.told + 1:
            raise self.broken(f"commit {there} is there, only {self.told} was told")
        self.looks += 1
        self.told = there  # also one that was killed before it could tell; it stays

    def kill_at(self, point, nth):
        """Kills at the nth time that a point is passed; False: it is not passed so often."""
        if point.startswith("registry.make") or point.startswith("registry.made") or self.grown():
            self.begin_anew()
        if point.startswith("registry.mend"):  # a compression that did not end
            self.must_die_of("registry.compress.rename=kill", 60)
            self.check()
        if point == "registry.cut":  # something is to be cut off first
            self.must_die_of("registry.commit=kill@1", 60)
            self.check()
        killed = self.dies_of(f"{point}=kill@{nth}", 60)
        self.check()
        self.settle()
        return killed
