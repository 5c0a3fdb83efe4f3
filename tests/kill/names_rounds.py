"""Who keeps sites of a names index (names_worker.c), killed, while another process asks for names: what is there is
what some commit left, whole, and no question fails. Used by test_names.py and by prove/names.py."""
import subprocess

from kill import rounds

# passed only where something was lost: the manifest is removed before
LOST = ("names.mended", "names.rebuilt")


class Rounds(rounds.Commits):
    program, keeps = "names-worker", "archie"
    opening_s = 0.02
    working_s = 0.06        # a score of commits
    little = 3
    fresh = 300

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.reader = None
        self.asked = self.folder / "asked"

    def start(self, much=0, faults=""):
        if not self.reader:
            self.start_reader()
        return super().start(much, faults)

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
        self.check_reader()
        super().check()

    def kill_at(self, point, nth):
        """Kills at the nth time that a point is passed; False: it is not passed so often."""
        if self.grown():
            self.begin_anew()
        if point in LOST:
            return self.kill_mending(point, nth)
        return self.kill_once(point, nth)

    def kill_mending(self, point, nth):
        """Without a manifest there is nothing to check until the next start has made one."""
        self.settle(10)
        self.stop()
        (self.thing / "names/manifest").unlink()
        killed = self.dies_of(f"{point}=kill@{nth}", 1)
        self.hear()
        self.settle()
        return killed
