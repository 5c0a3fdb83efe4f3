"""A crawl of simnet by a master and three reapds, each with a data directory of its own, all of which are
killed, stopped for longer than the lease, and cut off from one another: every page is gathered, none
twice, and no server is asked early. Used by test_reap.py and by prove/reap.py."""
import random
import signal
import socket
import threading
import time

import simnet
from garner import wait_for
from kill.rounds import Broken

# What garner keeps, and what simnet calls too early: see fetch_rounds.py.
DELAY_MS, OWED_MS = 250, 200
LEASE_S = 1
HOSTS, PAGES = 12, 60
REAPDS = 3
PIECE = 1 << 16
DONE_S = 120  # all that may still take after the last round


class Proxy:
    """Between the master and a reapd, which listens on a Unix socket. When it falls silent it keeps the
    connections that there are and hands on nothing more of them, nor takes new ones, until it speaks."""

    def __init__(self, path):
        self.path = path
        self.pairs = []
        self.silent = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                if self.silent:
                    raise OSError
                far.connect(self.path)
            except OSError:
                near.close()
                far.close()
                continue
            self.pairs.append((near, far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.hand_on, args=(a, b), daemon=True).start()

    def hand_on(self, a, b):
        try:
            while piece := a.recv(PIECE):
                while self.silent:
                    time.sleep(0.01)
                b.sendall(piece)
        except OSError:
            pass
        if not self.silent:
            self.end(a, b)

    @staticmethod
    def end(*sockets):
        for s in sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def fall_silent(self):
        self.silent = True

    def speak(self):
        """To those who come from now on: what was under way has gone."""
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            self.end(*pair)
        self.silent = False

    def close(self):
        self.end(self.listener)
        self.speak()


class Reapd:
    """One reapd, and the proxy in front of it."""

    def __init__(self, make, net):
        self.g = make()
        self.path = str(self.g.dir / "reapd")
        self.g.configure(f"[robot]\nnetworks = {net.network}\n[reapd]\nlisten = unix:{self.path}\n")
        self.proxy = Proxy(self.path)
        self.start()

    def start(self):
        self.process = self.g.start("reapd")

    def kill(self):
        self.process.kill()
        self.start()

    def close(self):
        self.process.send(signal.SIGCONT)
        self.proxy.close()


class Rounds:
    """One world; its pages last for about 20 rounds. make(): a garner with a directory of its own."""

    def __init__(self, make, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.done = dict.fromkeys(("kill", "stop", "cut", "master"), 0)
        self.lost = 0  # jobs, as the masters know of them
        self.g = make()
        self.net = simnet.start(self.g, hosts=HOSTS, pages=PAGES, seed=seed % 1000, delay=f"{OWED_MS}ms",
                                profiles="plain=3,slow=2", slow="100ms", robots="some=3,open=1,absent=1",
                                odd_pages=0, appear=0, vanish=0, change=0, **{"for": "20min"})
        self.reapds = [Reapd(make, self.net) for _ in range(REAPDS)]
        self.g.configure(f"""
[robot]
networks = {self.net.network}
dns_servers = {self.net.dns}
dns_order = ipv4
delay = {DELAY_MS}ms
[shepherd]
follow = all
cycle = 5s
retry = 1s
keep_old_states = 1000
keep_interim_states = 1000
reapers = {" ".join(r.proxy.address for r in self.reapds)}
lease = {LEASE_S}s
local = never
""")
        self.expected = {p["url"] for p in self.net.expect()}
        added = self.g.run("add", self.net.url(0))
        if added.code != 0:
            raise self.broken(f"add: {added}")
        self.start_master()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for r in self.reapds:
            r.close()

    def broken(self, what):
        return Broken(f"{what}; seed {self.seed}, after {self.done}, in {self.g.dir}")

    def start_master(self):
        self.master = self.g.start("shepherd")

    def disturb(self):
        """One round: something happens to one of them, and is over at its end."""
        time.sleep(self.random.uniform(0.1, 0.6))
        kind = self.random.choice(list(self.done))
        reapd = self.random.choice(self.reapds)
        away_s = LEASE_S * self.random.uniform(1.1, 1.6)
        if kind == "kill":
            reapd.kill()
        elif kind == "stop":
            reapd.process.send(signal.SIGSTOP)
            time.sleep(away_s)
            reapd.process.send(signal.SIGCONT)
        elif kind == "cut":
            reapd.proxy.fall_silent()
            time.sleep(away_s)
            reapd.proxy.speak()
        else:
            self.count_lost()
            self.master.kill()
            self.start_master()
        self.done[kind] += 1
        self.check_polite()

    def count_lost(self):
        """Before the master ends: it begins to count with its start."""
        said = self.g.run("shep", "reapers", "--json")
        self.lost += sum(r["lost"] for r in said.json()) if said.code == 0 else 0

    def check_polite(self):
        report = self.net.report()
        for what in ("overlaps", "short_gaps", "disallowed", "early", "wrong_host"):
            if report[what]:
                raise self.broken(f"{what}: {report[what]}, {report['samples'][:5]}")
        return report

    def told(self):
        """The URL of each document that is told as new or changed, as often as it is. A journal is in the
        state that was reaped and may be in others."""
        journals = {path.stat().st_ino: path for path in self.g.data.glob("shepherd/state/[0-9]*/journal")}
        found = []
        for path in journals.values():
            lines = self.g.run("dump", path).out.splitlines()
            found += [line.split()[-1] for line in lines if " update " in line]
        return found

    def kept(self):
        """The URL of each bucket that has a document."""
        found = []
        for bucket in self.g.run("shep", "buckets", "cat").out.split("\n\n"):
            header = {line[:1]: line[1:] for line in bucket.splitlines() if not line.startswith("#")}
            if "C" in header:
                found.append(header.get("U"))
        return found

    def settle(self):
        """Nothing is disturbed any more: everything is gathered, once."""
        def missing():
            if not self.master.alive:
                raise self.broken(f"the master ended: {self.master.text[-500:]}")
            return self.expected - set(self.told())
        end = time.monotonic() + DONE_S
        while left := missing():
            if time.monotonic() > end:
                raise self.broken(f"{len(left)} of {len(self.expected)} pages are missing: {sorted(left)[:5]}")
            time.sleep(1)
        self.count_lost()
        if self.master.stop() != 0:
            raise self.broken(f"the master ends badly: {self.master.text[-500:]}")
        for what, found in (("told", self.told()), ("kept", self.kept())):
            twice = {url for url in self.expected if found.count(url) != 1}
            if twice:
                raise self.broken(f"not {what} once: {sorted(twice)[:5]}")
        checked = self.g.run("check")
        if checked.code != 0:
            raise self.broken(f"check: {checked}")
        return self.check_polite()
