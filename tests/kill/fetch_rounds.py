"""Two processes of `garner fetch` on the same list of simnet's, which is the witness, killed: no server
is asked by two at once or too early, and none is left alone for long. Used by test_fetch.py and by
prove/fetch.py."""
import subprocess

import simnet
from kill import rounds

# What garner keeps, and what simnet calls too early (1 % less). The difference is for what the witness
# itself may be off: its stamps are by the wall clock, and of a client that was killed before simnet had
# time for it, it knows the start only to a tick of the system.
DELAY_MS, OWED_MS = 125, 100
HOSTS, PAGES = 40, 10
LOST_S = 120  # a lease lasts 300 s: a process that waits for its end is far beyond


class Rounds(rounds.Crowd):
    ends_well = (0, 3)
    many, pause_s, at_once = 2, (0.02, 0.5), (1, 1, 2)

    def __init__(self, g, seed):
        super().__init__(g.dir, seed)
        self.g = g
        self.net = simnet.start(g, hosts=HOSTS, pages=PAGES, delay=f"{OWED_MS}ms", odd_pages=0,
                                appear=0, vanish=0, profiles="plain=8,slow=1", slow="30ms",
                                robots="some=3,open=1", **{"for": "20min"})
        g.configure(f"[robot]\nnetworks = {self.net.network}\ndns_servers = {self.net.dns}\n"
                    f"dns_order = ipv4\ndelay = {DELAY_MS}ms\n")
        self.urls = [p["url"] for p in self.net.truth()]

    def start(self):
        """In an order of its own, so that two are seldom at the same URL."""
        path = self.g.dir / f"list.{len(self.children)}"
        path.write_text("\n".join(self.random.sample(self.urls, len(self.urls))) + "\n")
        with open(self.errors, "ab") as err:
            return subprocess.Popen(self.g.command("fetch", "--json", "--from", path), env=self.g.env,
                                    cwd=self.g.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=err)

    def check(self):
        report = self.net.report()
        for what in ("overlaps", "short_gaps", "disallowed", "early", "wrong_host"):
            if report[what]:
                raise self.broken(f"{what}: {report[what]}, {report['samples'][:5]}")
        self.looks += 1
        return report

    def missing(self):
        """How many servers were not asked since the rounds ended."""
        return HOSTS - self.net.report()["addresses"]

    def settle(self, seconds=LOST_S):
        self.stop()
        self.net.reset()
        super().settle(seconds)
