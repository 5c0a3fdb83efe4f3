"""Processes that share a table of politeness (polite_worker.c), killed, and what their records show:
never two at once on one server, none too early, none left alone for long. Used by test_polite.py and
by prove/polite.py."""
import struct
import subprocess
import time

from garner import BUILD
from kill import rounds

SERVERS = 8
DELAY_US = 5000  # as polite_worker.c has it
LOST_S = 60      # a lease lasts 300 s: a process that waits for its end is far beyond
RECORD = struct.Struct("<IIqq")


def now_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


class Rounds(rounds.Crowd):
    """`starts` is how many requests were seen."""

    program, keeps = "polite-worker", "polite"
    hang_s = 30
    many, pause_s, at_once = 4, (0, 0.06), (1, 1, 1, 2, 4)

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.record = {}  # process: its record
        self.killed = {}  # record: when its process was still alive
        self.starts = 0

    def start(self, much=0, faults=""):
        record = self.folder / f"record.{len(self.record) + 1}"
        args = [BUILD / "tests" / self.program, "ask", self.thing, record,
                str(self.random.getrandbits(60)), str(much)]
        with open(self.errors, "ab") as err:
            child = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
                                     env=self.environment(faults))
        self.record[child] = record
        return child

    def kill(self, child):
        self.killed[self.record[child]] = now_us()
        super().kill(child)

    def kill_at(self, point, nth):
        """One worker dies at the point, while the others go on. What is passed only where a table
        is made begins with none."""
        if ".create." in point or ".make." in point:
            self.stop()
            self.check()
            self.thing.unlink(missing_ok=True)
            nth = 1
        else:
            self.fill()
        if ".claim" in point:
            nth = 1
        self.must_die_of(f"{point}=kill@{nth}", 20 * nth + 20)
        self.fill()
        time.sleep(0.02)
        return True

    def whole(self, record):
        data = record.read_bytes()
        return RECORD.iter_unpack(data[:len(data) // RECORD.size * RECORD.size])

    def read(self):
        """Per server: (time given, start, end) of every request; (from, to) of every retry."""
        asked = {s: [] for s in range(SERVERS)}
        retry = {s: [] for s in range(SERVERS)}
        for record in sorted(self.folder.glob("record.*")):
            open_one = None
            for what, server, a, b in self.whole(record):
                if what == ord("S"):
                    open_one = (server, a, b)
                elif what == ord("E"):
                    asked[server].append((open_one[1], open_one[2], a))
                    open_one = None
                elif what == ord("R"):
                    retry[server].append((a, b))
            if open_one:  # killed in between: it held on until just before the kill at least
                server, a, b = open_one
                asked[server].append((a, b, max(b, self.killed.get(record, b))))
            record.unlink()
        return asked, retry

    def check(self):
        """All that has happened since the last check. Nobody runs."""
        asked, retry = self.read()
        for server in range(SERVERS):
            requests = sorted(asked[server])
            self.starts += len(requests)
            for (given, _, end), (next_given, next_start, _) in zip(requests, requests[1:]):
                if next_given - given < DELAY_US:
                    raise self.broken(f"server {server}: asked after {next_given - given} us")
                if next_start < end:
                    raise self.broken(f"server {server}: two at once for {end - next_start} us")
                if next_given - given > LOST_S * 1_000_000:
                    raise self.broken(f"server {server}: left alone for {next_given - given} us")
            for begin, end in retry[server]:
                for given, _, _ in requests:
                    if begin < given < end:
                        raise self.broken(f"server {server}: asked {end - given} us before it "
                                          "wanted to be")
        self.looks += 1

    def missing(self):
        """Servers that nobody asked since the last check."""
        asked = {server for record in self.folder.glob("record.*")
                 for what, server, _, _ in self.whole(record) if what == ord("S")}
        return sorted(set(range(SERVERS)) - asked)

    def settle(self, seconds=LOST_S):
        super().settle(seconds)
