"""The collector (collector_worker.c), killed: whatever it was at, going on ends where an undisturbed one
ends; no object is lost, none is there twice, none has another text, twins included; no text is left in the
store that the registry does not know, and the index follows. Used by test_collector.py, prove/line.py and
prove/registry.py."""
import shutil
import time

from kill import registry_rounds, rounds, words_rounds

CHANGES = 150
LARGE = CHANGES + 4500      # then the registry is compressed
OF_LARGE = ("registry.compress", "registry.mend")
# Passed by the programs of one store alone.
RARE = registry_rounds.RARE | words_rounds.RARE | {
    "docstore.sweep.empty", "registry.cut", "registry.tables", "registry.tables.rename",
    "registry.tables.renamed", "registry.tables.written"}
# What an opening passes only after another death.
BEFORE = {**words_rounds.BEFORE, "registry.mend": "registry.compress.renamed=kill",
          "registry.mend.commit": "registry.compress.rename=kill"}
# What may be lost between two starts: each is made again from the others.
CACHES = ("registry.tables", "docs/table", "words", "words/manifest")


class Rounds(rounds.Rounds):
    program, keeps = "collector-worker", "data"
    ends_well = (0,)
    little = CHANGES

    def start(self, much=CHANGES, faults="", what="run"):
        return self.begin(what, self.thing, much, faults=faults)

    def begin_anew(self):
        shutil.rmtree(self.thing, ignore_errors=True)
        self.thing.mkdir()

    def check(self, much=CHANGES):
        code = self.ends_by(self.start(much, what="check"))
        if code != 0:
            raise self.broken(f"check ends with {code}")
        self.looks += 1

    def settle(self, much=CHANGES):
        code = self.ends_by(self.start(much))
        if code != 0:
            raise self.broken(f"the next start ends with {code}")
        self.check(much)

    def lose(self, name):
        path = self.thing / "broker" / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def kill_at(self, point, nth):
        """Kills at the nth time that a point is passed; False: it is not passed so often."""
        much = LARGE if point.startswith(OF_LARGE) else CHANGES
        self.begin_anew()
        if point in BEFORE:
            self.dies_of(BEFORE[point], much)
        if point.startswith("indexer.exchange"):  # an index is to be built again
            self.settle()
            (self.thing / "broker" / "words" / "manifest").write_bytes(b"damaged")
        killed = self.dies_of(f"{point}=kill@{nth}", much)
        self.settle(much)
        return killed

    def kill_any_time(self, times=4):
        """Several times on the way, each at a random instant, and now and then something is lost."""
        self.begin_anew()
        for _ in range(times):
            child = self.start()
            time.sleep(self.random.uniform(0, 0.1))
            self.kill(child)
            if self.random.random() < 0.2:
                self.lose(self.random.choice(CACHES))
        self.settle()
