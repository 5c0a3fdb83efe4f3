"""Rounds of killing `garner fetch` while it fetches from simnet, which is the witness: whatever is
killed, no server is asked by two at once or too early, and none is left alone for long. Used by
kill/test_fetch.py in its short form and by prove/fetch.py in its long one."""
import os
import random
import signal
import subprocess
import time

import simnet

# What garner keeps, and what simnet calls too early (1 % less). Between garner's note of a request and
# its first byte a busy machine may run others. Garner notes it down again when it notices; killed
# before, it cannot. The difference is for that, and for what the witness itself may be off: its
# stamps are by the wall clock.
DELAY_MS, OWED_MS = 125, 100
HOSTS, PAGES = 40, 10
FETCHERS = 2
LOST_S = 20  # a lease lasts 300 s: whoever waits for its end is far beyond


class Impolite(AssertionError):
    """A promise is broken: the message says which, and how to see it again."""


class Rounds:
    """Two processes on the same list; every round kills one or both, and starts others."""

    def __init__(self, g, seed):
        self.g, self.seed = g, seed
        self.random = random.Random(seed)
        self.net = simnet.start(g, hosts=HOSTS, pages=PAGES, delay=f"{OWED_MS}ms", odd_pages=0,
                                appear=0, vanish=0, profiles="plain=8,slow=1", slow="30ms",
                                robots="some=3,open=1", **{"for": "20min"})
        g.configure(f"[robot]\nnetworks = {self.net.network}\ndns_servers = {self.net.dns}\n"
                    f"dns_order = ipv4\ndelay = {DELAY_MS}ms\n")
        self.urls = [p["url"] for p in self.net.truth()]
        self.errors = g.dir / "errors"
        self.children = []
        self.kills = 0

    def start(self):
        """In an order of its own, so that two are seldom at the same URL."""
        path = self.g.dir / f"list.{len(self.children)}"
        path.write_text("\n".join(self.random.sample(self.urls, len(self.urls))) + "\n")
        with open(self.errors, "ab") as err:
            self.children.append(subprocess.Popen(
                self.g.command("fetch", "--json", "--from", path), env=self.g.env, cwd=self.g.dir,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err))

    def fill(self):
        while len(self.children) < FETCHERS:
            self.start()

    def broken(self, what):
        text = self.errors.read_text() if self.errors.exists() else ""
        return Impolite(f"{what}; seed {self.seed}, after {self.kills} kills\n{text}")

    def kill(self, child):
        code = child.poll()
        if code is not None and code not in (0, 3):
            raise self.broken(f"a fetcher ended by itself with {code}")
        child.send_signal(signal.SIGKILL)
        self.kills += child.wait() == -signal.SIGKILL

    def kill_some(self):
        self.fill()
        time.sleep(self.random.uniform(0.02, 0.5))
        for _ in range(self.random.choice((1, 1, FETCHERS))):
            self.kill(self.children.pop(self.random.randrange(len(self.children))))

    def stop(self):
        while self.children:
            self.kill(self.children.pop())

    def check(self):
        report = self.net.report()
        for what in ("overlaps", "short_gaps", "disallowed", "early", "wrong_host"):
            if report[what]:
                raise self.broken(f"{what}: {report[what]}, {report['samples'][:5]}")
        return report

    def settle(self):
        """Whatever was killed before: every server can be asked again soon."""
        self.stop()
        self.net.reset()
        self.fill()
        end = time.monotonic() + LOST_S
        while (seen := self.net.report()["addresses"]) < HOSTS:
            if time.monotonic() > end:
                raise self.broken(f"only {seen} of {HOSTS} servers are asked within {LOST_S} s")
            time.sleep(0.05)
        self.check()
        self.stop()


def new_seed():
    return int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
