"""The writers of a record file (record_writer.c), killed: every record that was told durable is there,
whole, in order, and nothing is half. Used by test_record.py and by prove/record.py."""
from kill import rounds

WRITERS = 8
FRESH_BYTES = 8 << 20


def repeats(point):
    """Passed more than once in the life of a writer."""
    return point.startswith(("record.write", "record.sync", "record.cut"))


class Rounds(rounds.Rounds):
    """`told` is what each thread was told is durable."""

    program, keeps = "record-writer", "record"
    working_s = 0.08

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.told = [0] * WRITERS
        self.records = 0

    def begin_anew(self):
        self.thing.unlink(missing_ok=True)
        self.told = [0] * WRITERS

    def grown(self):
        return self.thing.exists() and self.thing.stat().st_size > FRESH_BYTES

    def start(self, much=0, faults=""):
        return self.begin("write", self.thing, much, faults=faults)

    def hear(self):
        for line in self.lines():
            thread, number = map(int, line.split())
            self.told[thread] = max(self.told[thread], number)

    def check(self, again_allowed=False):
        self.hear()
        done = self.ask("check", self.thing)
        if done.returncode != 0:
            raise self.broken(f"the file is not whole: {done.stderr.strip()}")
        there = dict(line.split() for line in done.stdout.splitlines())
        for thread in range(WRITERS):
            if int(there[str(thread)]) < self.told[thread]:
                raise self.broken(f"thread {thread} was told of {self.told[thread]} records, "
                                  f"{there[str(thread)]} are there")
        if int(there["again"]) and not again_allowed:
            raise self.broken(f"{there['again']} records are there twice")
        self.records = int(there["records"])
        self.looks += 1

    def kill_at(self, point, nth, slow=False):
        """Brings the file into the state in which the point is passed, and kills there; slow: after
        a while, in which the other threads go on and say what they should not."""
        nth = nth if repeats(point) else 1
        if point.startswith("record.create"):
            self.begin_anew()
        if point.startswith("record.mend"):
            self.kill_after(0.02)
        faults = f"{point}=kill@{nth}" + f",{point}=slow@{nth}" * slow
        refusal = point.startswith("record.cut")
        if refusal:  # something has to be taken back
            what = self.random.choice(["file.write/record=short", "file.sync/record=eio",
                                       "file.write/record=enospc"])
            faults = ",".join(f"{what}@{10 + 5 * i}" for i in range(nth)) + "," + faults
        self.must_die_of(faults, 400 if refusal else 20)
        self.check(again_allowed=refusal)
        self.settle(again_allowed=refusal)
        if refusal:
            self.begin_anew()
        return True
