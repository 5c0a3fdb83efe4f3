"""Who keeps sites of a names index (names_worker.c), killed, while another process asks for names: what is there is
what some commit left, whole, and no question fails. Used by test_names.py and by prove/names.py."""
import shutil
import subprocess

from kill import rounds

FRESH_COMMITS = 300

# passed only where something was lost: the manifest is removed before
LOST = ("names.mended", "names.rebuilt")


class Rounds(rounds.Rounds):
    """`told` is the last commit that was spoken of, or that was seen."""

    program, keeps = "names-worker", "archie"
    opening_s = 0.02
    little = 3

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.reader = None
        self.asked = self.folder / "asked"

    def begin_anew(self):
        self.stop()
        shutil.rmtree(self.thing, ignore_errors=True)
        self.told = 0

    def grown(self):
        return self.told > FRESH_COMMITS

    def start(self, much=0, faults=""):
        if not self.reader:
            self.start_reader()
        return self.begin("write", self.thing, much, faults=faults)

    def start_reader(self):
        with open(self.asked, "wb") as out:
            self.reader = subprocess.Popen([rounds.BUILD / "tests" / self.program, "read", self.thing],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out,
                                           env=self.environment())

    def check_reader(self):
        if self.reader and self.reader.poll() is not None:
            code, self.reader = self.reader.returncode, None
            raise self.broken(f"who asks meanwhile ended with {code}: {self.asked.read_text()}")

    def stop(self):
        self.check_reader()
        if self.reader:
            self.reader.kill()
            self.reader.wait()
            self.reader = None

    def check(self):
        self.hear()
        self.check_reader()
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
        if self.grown():
            self.begin_anew()
        if point in LOST:
            return self.kill_mending(point, nth)
        killed = self.dies_of(f"{point}=kill@{nth}", 60)
        self.check()
        self.settle()
        return killed

    def kill_mending(self, point, nth):
        """Without a manifest there is nothing to check until the next start has made one."""
        self.settle(10)
        self.stop()
        (self.thing / "names/manifest").unlink()
        killed = self.dies_of(f"{point}=kill@{nth}", 1)
        self.hear()
        self.settle()
        return killed

