"""Who keeps documents and their words (words_worker.c), killed: what is there is what some commit left,
whole, in both stores. Used by test_words.py and by prove/words.py."""
import shutil

from kill import rounds

FRESH_COMMITS = 400

# A table grows with thousands of documents, and only a failure takes documents back: the unit
# programs of the store do that.
RARE = {"docstore.table.grow", "docstore.back", "docstore.back.cut"}

# What an opening passes only after another death: where that was, and in which state it finds it.
BEFORE = {
    "docstore.cut": "docstore.block.written=kill@3",
    "docstore.sweep": "docstore.block.written=kill",
    "docstore.sweep.new": "docstore.compact.copied=kill",
    "docstore.sweep.empty": "docstore.compact.remove=kill@4",
}
FRESH = ("docstore.cut", "docstore.file", "docstore.sweep", "docstore.table.new", "docstore.table.rename")


class Rounds(rounds.Rounds):
    """`told` is the last commit that was spoken of, or that was seen."""

    program, keeps = "words-worker", "index"
    opening_s = 0.02

    def begin_anew(self):
        shutil.rmtree(self.thing, ignore_errors=True)
        self.told = 0

    def grown(self):
        return self.told > FRESH_COMMITS

    def start(self, much=0, faults=""):
        return self.begin("write", self.thing, much, faults=faults)

    def check(self):
        self.hear()
        done = self.ask("check", self.thing)
        if done.returncode != 0:
            raise self.broken(f"what is there is not right: {done.stderr.strip()}")
        there = int(done.stdout)
        if there < self.told:
            raise self.broken(f"commit {self.told} was told, {there} is there")
        if there > self.told + 1:
            raise self.broken(f"commit {there} is there, only {self.told} was told")
        self.looks += 1
        self.told = there  # also one that was killed before it could tell; it stays

    def kill_at(self, point, nth):
        """Kills at the nth time that a point is passed; False: it is not passed so often."""
        if point.startswith(FRESH) or self.grown():
            self.begin_anew()
        if point in BEFORE:
            self.dies_of(BEFORE[point], 60)
            self.check()
        killed = self.dies_of(f"{point}=kill@{nth}", 60)
        self.check()
        self.settle()
        return killed
