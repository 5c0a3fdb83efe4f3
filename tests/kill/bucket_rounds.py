"""Who keeps a bucket file (bucket_writer.c), killed: what a checkpoint covers is there, unchanged, under
the number that is noted, or was deleted. Used by test_bucket.py and by prove/bucket.py."""
from kill import rounds

FRESH_NUMBERS = 6000
ONCE = ("bucket.cut", "bucket.giveup", "bucket.sweep", "bucket.train")  # passed once in a start


class Rounds(rounds.Rounds):
    """Numbers below `told` were told to be kept."""

    program, keeps = "bucket-writer", "objects"
    little = 3

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.kept = 0

    def begin_anew(self):
        for path in self.thing.parent.glob(self.thing.name + "*"):
            path.unlink()
        self.told = 0

    def grown(self):
        return self.told > FRESH_NUMBERS

    def start(self, much=0, faults="", what="write"):
        return self.begin(what, self.thing, *[much] * (what == "write"), faults=faults)

    def look(self):
        """Mends as a start does; the numbers that are lost."""
        done = self.ask("check", self.thing)
        if done.returncode != 0:
            raise self.broken(f"the file is not whole: {done.stderr.strip()}")
        found = [line.split() for line in done.stdout.splitlines()]
        self.kept = int(dict(f for f in found if f[0] == "kept")["kept"])
        noted = int(dict(f for f in found if f[0] == "noted")["noted"])
        if noted < self.told:
            raise self.broken(f"{self.told} numbers were told, {noted} are noted")
        return [int(number) for word, number in found if word == "lost"]

    def check(self):
        self.hear()
        lost = self.look()
        if lost:
            raise self.broken(f"lost: {lost[:10]}")
        self.looks += 1

    def kill_at(self, point, nth=1):
        """Brings the file into the state in which the point is passed, and kills there."""
        if point.startswith("bucket.fix"):
            return self.kill_fix_at(point)
        nth = 1 if point in ONCE else nth
        faults = f"{point}=kill@{nth}"
        if point == "bucket.cut":
            self.settle()
        if point == "bucket.train":
            self.begin_anew()
        if point == "bucket.sweep":  # a shakedown that was killed, and no start since
            self.kill_at("bucket.shake.written")
            self.must_die_of("bucket.shake.written=kill", 400)
            self.hear()
        if point == "bucket.giveup":  # something has to be refused
            faults = "".join(f"file.sync//objects=eio@{5 + 3 * i}," for i in range(3 * nth)) + faults
        self.must_die_of(faults, 400)
        self.check()
        self.settle()
        return True

    def damage(self):
        """Changes a byte of a body, one of a head, and tears the end. The file must be closed."""
        data = bytearray(self.thing.read_bytes())
        heads = [at for at in range(0, len(data) - 20, 128)
                 if data[at:at + 4] == b"\x0d\xf0\xad\xde"
                 and int.from_bytes(data[at + 4:at + 8], "little") == at >> 7]
        body, head = self.random.sample(heads[:-2], 2)
        data[body + 16 + self.random.randrange(4)] ^= 0x40
        data[head + self.random.randrange(4)] ^= 0x10
        del data[-self.random.randrange(1, 128):]
        self.thing.write_bytes(data)

    def kill_fix_at(self, point):
        """A fix that is killed is done again, and loses no more than was damaged."""
        self.settle()
        self.damage()
        self.must_die_of(f"{point}=kill", what="fix")
        for _ in range(2):
            if self.ends_by(self.start(what="fix")) != 0:
                raise self.broken("the file cannot be fixed")
        if self.lines():
            raise self.broken(f"a fixed file still has problems: {self.lines()}")
        note = self.thing.with_name(self.thing.name + ".note")
        data = bytearray(note.read_bytes())  # the checkpoint is after the new end
        data[:8] = self.thing.stat().st_size.to_bytes(8, "little")
        note.write_bytes(data)
        lost = self.look()
        if not 1 <= len(lost) <= 3:
            raise self.broken(f"three were damaged, {len(lost)} are lost")
        self.begin_anew()
        return True
