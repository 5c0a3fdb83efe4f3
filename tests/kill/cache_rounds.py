"""A whole cache, whose roles are killed one after the other while owners of sites push sets, partial and full, and
their pages change. What must hold: a URL that was accepted has a receipt, which becomes final and says what is
so; a set that was not accepted counts whole or not at all, and not at all where its end tag was not sent; an
owner's URLs are fetched one at a time; and when all has come to rest there is no row without its file and no
file without its row. Used by test_cache.py and prove/cache.py."""
import contextlib
import random
import re
import sqlite3
import threading
import time

from caches import ROLES, Cache, content
from garner import ROOT, wait_for
from kill.rounds import Broken

SHORT, LONG = 20, 500  # kills at random instants
POINT_S = 15  # a point is passed within this
OWNERS, PAGES = 2, 25
ROLES_OF = {"pidb": ("rs", "uns"), "cachedb": ("qm",)}
# Damage: scenes kill at these. And a log of more pages than a short run writes.
RARE = ("cachedb.rebuild", "cachedb.fix", "sql.checkpoint", "uns.lost", "uns.damaged")
LATE = ("qm.slot", "cachedb.ages", "cachedb.trim")  # passed within a minute and a half: in the long form
WITHOUT_QM = ("uns.unsdb", "uns.empty")
OF_THE_GONE = ("qm.forget", "cachedb.forget")
ONCE = (*WITHOUT_QM, *OF_THE_GONE, "uns.number")  # not passed often
MOST_QUEUED = 60  # URLs of one owner, then he waits


def points(late):
    """Fault points of the cache's own roles, with the roles that pass them."""
    found = {}
    for room in ("cache", "store"):
        for path in sorted((ROOT / "src" / room).rglob("*.c")):
            for point in re.findall(r'FAULT\("([a-z_.]+)"\)', path.read_text()):
                head = point.partition(".")[0]
                roles = (head,) if head in ROLES else ROLES_OF.get(head)
                if roles and point not in RARE and (late or point not in LATE):
                    found[point] = roles
    return found


class Sent:
    """A set that was sent: `fate` is accepted, unsent (its end tag was not), refused, or unknown."""

    def __init__(self, number, full):
        self.number, self.full = number, full
        self.rows = {}      # path -> (op, version, whether its sum was said)
        self.fate, self.set = "unsent", 0
        self.marks = (f"/set{number}/first", f"/set{number}/last")


class Pusher:
    """An owner who pushes without end, in a thread of its own."""

    def __init__(self, rounds, owner, seed):
        self.rounds, self.owner, self.dice = rounds, owner, random.Random(seed)
        self.sent, self.is_over, self.wrong, self.queued = [], threading.Event(), None, 0
        self.known = set()  # paths of sets that were accepted
        self.history = {}   # path -> its versions, one after the other
        for i in range(PAGES):
            self.write(f"/p{i}")
        self.thread = threading.Thread(target=self.run, daemon=True)

    def write(self, path, gone=False):
        history = self.history.setdefault(path, [])
        history.append(0 if gone else max(history, default=0) + 1)
        self.owner.write(path, history[-1])

    def make(self):
        full = self.dice.random() < 0.15
        one = Sent(len(self.sent), full)
        for mark in one.marks:
            self.write(mark)
        paths = [f"/p{i}" for i in range(PAGES)]
        if full:
            paths = [p for p in paths if self.owner.pages[p]] + sorted(self.known - set(paths))
        else:
            paths = self.dice.sample(paths, self.dice.randint(1, 6))
        rows = []
        for path in [one.marks[0], *paths, one.marks[1]]:
            if path.startswith("/p") and self.dice.random() < 0.5:
                self.write(path, gone=self.owner.pages[path] and self.dice.random() < 0.2)
            version = self.owner.pages[path]
            if not version:
                rows.append(self.owner.row(path, op="remove"))
                one.rows[path] = ("remove", 0, False)
                continue
            sum_said = self.dice.random() < 0.3
            more = {"md5": self.owner.md5(path)} if sum_said else {}
            rows.append(self.owner.row(path, **more))
            one.rows[path] = ("update", version, sum_said)
        return one, rows

    def push_one(self):
        one, rows = self.make()
        self.sent.append(one)
        told = self.rounds.cache.push(self.owner, rows, full=one.full)
        one.set = told.set
        if told.accepted:  # what a full set names has been known before
            self.known |= set(one.rows)
        self.queued = told.processing
        one.fate = ("accepted" if told.accepted else "refused" if told.code else "unknown" if told.ended else "unsent")

    def run(self):
        try:
            while not self.is_over.is_set():
                self.push_one()
                time.sleep(self.dice.uniform(0, self.rounds.pause_s) if self.queued < MOST_QUEUED else 0.5)
        except Exception as e:  # pylint: disable=broad-except
            self.wrong = e
            raise

    def stop(self):
        self.is_over.set()
        self.thread.join(60)
        if self.wrong or self.thread.is_alive():
            raise self.rounds.broken(f"a provider could not go on: {self.wrong!r}")

    # what must be so at the end

    def counts(self, one):
        """Whether the set counts; its first and last URL are in no set before it."""
        if one.fate == "accepted":
            return True  # its receipts were looked at
        known = [self.rounds.cache.receipt(self.owner, mark) is not None for mark in one.marks]
        if known[0] != known[1]:
            raise self.rounds.broken(f"set {one.number} of {self.owner.url} counts by half")
        if known[0] and one.fate != "unknown":
            raise self.rounds.broken(f"set {one.number} of {self.owner.url} was {one.fate}, and counts")
        return known[0]

    def expected(self):
        """path -> what its last notice was, by the sets that count."""
        last = {}
        for one in self.sent:
            if not self.counts(one):
                continue
            if one.full:
                last.update({path: ("leave out", 0, False) for path in last if path not in one.rows})
            last.update(one.rows)
        return last

    def judge(self, path, notice, receipt, file):
        """What is wrong with the URL, or None. file: version of the one that is there."""
        operation, version, sum_said = notice
        later = self.history[path][self.history[path].index(version):] if version else []
        if operation == "remove":
            return None if receipt["state"] == "removed" and file is None else "should be removed"
        if operation == "leave out":  # of a URL that failed before there is nothing to remove
            return None if receipt["state"] in ("removed", "failed") and file is None else "should not be there"
        if receipt["state"] in ("stored", "unchanged"):
            return None if file in later else f"version {file} is there, not one of {later}"
        if receipt["state"] != "failed" or file is not None:
            return f"should be stored; a file of version {file}"
        if (receipt["code"] == 304 and 0 in later) or (receipt["code"] == 307 and sum_said and len(later) > 1):
            return None
        return "failed for no reason"

    def check(self, files):
        """files: (site, path) -> version of what is stored."""
        for one in self.sent:
            if one.fate == "accepted" and set(self.receipts[one.set]) != {self.owner.url + path for path in one.rows}:
                raise self.rounds.broken(f"the receipts of set {one.set} are of other URLs")
        now = {url: row for rows in self.receipts.values() for url, row in rows.items()}
        for path, notice in self.expected().items():
            receipt = now.get(self.owner.url + path) or self.rounds.cache.receipt(self.owner, path)
            if receipt is None:
                raise self.rounds.broken(f"{path} has no receipt, after {notice}")
            wrong = self.judge(path, notice, receipt, files.pop((self.owner.url, path), None))
            if wrong:
                raise self.rounds.broken(f"{path} after {notice}: {wrong}; {receipt}")


class Pushers:
    """Owners who push to a cache, from now on until settle()."""

    def __init__(self, cache, seed, owners, pause_s=0.5):
        self.cache, self.seed, self.kills, self.pause_s = cache, seed, 0, pause_s
        self.all = []
        for i in range(owners):
            owner = cache.register(cache.owner(slow_every=40, slow_s=1.3))
            self.all.append(Pusher(self, owner, seed * owners + i))
        for pusher in self.all:
            pusher.thread.start()

    def broken(self, what):
        return Broken(f"{what}; seed {self.seed}, after {self.kills} kills, in {self.cache.g.dir}")

    def look(self):
        """site and path -> version, by the files alone."""
        found = {}
        for name, path in self.cache.files().items():
            said = re.search(r"version (\d+) of (\S+) at (\S+)", path.read_text())
            if not said or path.read_bytes() != content(said[3], said[2], int(said[1])):
                raise self.broken(f"{name} is not a whole page")
            if (said[3], said[2]) in found:
                raise self.broken(f"{said[2]} of {said[3]} has two files")
            found[said[3], said[2]] = int(said[1])
        return found

    def is_clean(self):
        """Each row has its file, and each file its row."""
        with contextlib.closing(sqlite3.connect(f"file:{self.cache.g.data}/cache/cache.db?mode=ro", uri=True)) as db:
            rows = sorted(file for file, in db.execute("SELECT file FROM lcc"))
        return rows == sorted(self.cache.files())

    def settle(self):
        for pusher in self.all:
            pusher.stop()
        for pusher in self.all:  # one more, which nothing disturbs
            pusher.push_one()
            if pusher.sent[-1].fate != "accepted":
                raise self.broken(f"an undisturbed set was {pusher.sent[-1].fate}")
        for pusher in self.all:
            self.cache.settle(pusher.owner, pusher.sent[-1].set, 120)
        for pusher in self.all:
            pusher.receipts = {one.set: self.cache.settle(pusher.owner, one.set)
                               for one in pusher.sent if one.fate == "accepted"}
        wait_for("the delete manager", self.is_clean, 60, every=0.5)
        files = self.look()
        for pusher in self.all:
            pusher.check(files)
            if pusher.owner.together:
                raise self.broken(f"fetched at the same time: {pusher.owner.together[:5]}")
        if left := {site for site, _ in files} & {p.owner.url for p in self.all}:
            raise self.broken(f"files of {left} that no set named")


class CacheRounds:
    """The roles, each started by itself."""

    def __init__(self, garner, seed, pause_s):
        self.dice = random.Random(seed)
        self.cache = Cache(garner, cache="fullsets = 1000000\nslot_seconds = 1min\n", qm="retries = 100\n")
        self.cache.start()
        # all of them now: a host is asked for few secrets a minute
        self.spare = [self.cache.register(self.cache.owner()) for _ in range(1 + len(OF_THE_GONE))]
        self.pushers = Pushers(self.cache, seed, OWNERS, pause_s)

    def replace(self, role, faults=""):
        member = self.cache.members[role]
        self.pushers.kills += member.alive
        member.kill()
        member = self.cache.begin(role, faults)
        if not faults:
            member.wait_ready()
        return member

    def at_point(self, point, roles):
        """One of the roles is killed there; whether it passed it."""
        role = self.dice.choice(roles)
        nth = 1 if point in (*ONCE, *LATE) else self.dice.randint(1, 3)
        member = self.replace(role, f"{point}=kill@{nth}")
        provoking = threading.Thread(target=self.provoke, args=(point, role, member), daemon=True)
        provoking.start()
        try:
            wait_for(point, lambda: not member.alive, 90 if point in LATE else POINT_S)
        except AssertionError:
            pass
        died = not member.alive
        if died and member.wait() != -9:
            raise self.pushers.broken(f"{role} ended by itself at {point}:\n{member.text[-2000:]}")
        self.replace(role)
        provoking.join()
        return died

    def provoke(self, point, role, member):
        """What passes a point that pushing alone does not."""
        while member.alive and point in WITHOUT_QM:
            self.cache.members["qm"].kill()
            time.sleep(0.5)
            self.cache.begin("qm").wait_ready()
            time.sleep(1)
        if point in OF_THE_GONE:
            owner = self.spare.pop()
            owner.write("/a")
            self.cache.settle(owner, self.cache.push(owner, [owner.row("/a")]).set)
            self.cache.ask(f"/api/providers/{owner.id}/deregister", owner, _=None)
        while member.alive and point == "uns.spool":  # what is small waits in memory
            owner = self.spare[0]
            self.cache.push(owner, [owner.row(f"/{i}", op="remove") for i in range(10000)])
        while member.alive and role == "rs":
            try:
                self.cache.ask("/api/providers", site="http://www.example.com/")
            except OSError:
                time.sleep(0.1)

    def at_random(self, most_s):
        time.sleep(self.dice.uniform(0, most_s))
        self.replace(self.dice.choice(ROLES))

    def settle(self):
        self.pushers.settle()
        self.cache.stop()
        self.cache.close()
        done = self.cache.g.run("cache", "check")
        if done.code != 0:
            raise self.pushers.broken(f"garner cache check: {done}")
