"""Who keeps documents and their words (words_worker.c), killed: what is there is what some commit left,
whole, in both stores. Used by test_words.py and by prove/words.py."""
from kill import rounds

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


class Rounds(rounds.Commits):
    program, keeps = "words-worker", "index"
    opening_s = 0.02

    def kill_at(self, point, nth):
        """Kills at the nth time that a point is passed; False: it is not passed so often."""
        if point.startswith(FRESH) or self.grown():
            self.begin_anew()
        if point in BEFORE:
            self.dies_of(BEFORE[point], 60)
            self.check()
        return self.kill_once(point, nth)
