"""A whole garner on a synthetic internet: what the line tests share."""
import json
import os
import signal
import time
import urllib.parse
import urllib.request

import simnet
from caches import ROLES

# What garner keeps, and what simnet calls too early: between garner's note of a request and its
# first byte a busy machine may run others.
DELAY, OWED = "60ms", "30ms"

# What a slow host waits before each of the three pieces of an answer. More than the delay, all in
# all, but no more than lets it keep pace with the others.
SLOW = "50ms"

PROFILES = "plain=15,slow=1,calendar=1,mirror=1,soft404=1,broken=1"
ROBOTS = "some=8,open=3,empty=1,absent=3,forbidden=1,wild=2,named=1,moved=1,huge=1,garbage=1,deny=1"
MONTH = 30 * 86400


class Crawl:
    """garner up on simnet, with everything hurried: a page is looked at again after seconds."""

    def __init__(self, garner, hosts, pages, seed, refresh="15s", shepherd="", delay=DELAY, cache=None):
        """shepherd: more lines of its section, in which DIR is the directory of the test. cache: a function that
        makes a Cache of the garner, whose roles run as well."""
        self.g = garner()
        self.cache = cache and cache(self.g)
        self.delay = delay
        self.net = simnet.start(self.g, hosts=hosts, pages=pages, seed=seed, delay=OWED,
                                profiles=PROFILES, robots=ROBOTS, crawl_delay=0,
                                odd_pages=30, change=60, vanish=20, slow=SLOW)
        kinds = {p["profile"] for p in self.net.truth()}
        assert kinds == {p.split("=")[0] for p in PROFILES.split(",")}, "another seed has them all"
        self.g.configure(f"""
[up]
roles = shepherd broker web {" ".join(ROLES) if cache else ""}
restart_max = 200ms
[robot]
networks = {self.net.network}
dns_servers = {self.net.dns}
dns_order = ipv4
delay = {delay}
idle_max = 2s
time_max = 10s
{self.cache.text() if cache else ""}
[shepherd]
follow = all
cycle = 3s
refresh = {refresh}
retry = 1s
retries = 3
site_max = 400
{shepherd.replace("DIR", str(self.g.dir))}
[web]
listen = 127.0.0.1:0
""")
        self.start()

    def start(self):
        self.up = self.g.start("up").wait_ready(30)
        line = self.up.wait_line("garner is up")
        self.web = line.split("web on ")[1].split("/,")[0]

    def ask(self, path, **query):
        url = f"{self.web}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)

    def found(self, words):
        return {r["url"] for r in self.ask("/api/search", q=words, n=100, forgive="no")["results"]}

    def indexed(self):
        """Every URL of the index."""
        urls, page = set(), 1
        while True:
            got = self.ask("/api/search", q="*", n=100, page=page)["results"]
            urls |= {r["url"] for r in got}
            if len(got) < 100:
                return urls
            page += 1

    def wrong(self):
        """What is not as it should be now, at most a few of it. Empty: everything is."""
        wrong = []
        expected = self.net.expect()
        having = {}  # a page and its mirrors have the same bytes
        for p in expected:
            having.setdefault(p["version_word"], set()).add(p["url"])
        self.twins = []  # pairs of a URL and the one that is found for it
        for word, urls in having.items():
            if len(wrong) >= 5:
                return wrong
            found = self.found(word)
            if len(found) != 1 or not found <= urls:
                wrong.append(("not found once by their words", *sorted(urls), "found", *sorted(found)))
            else:
                self.twins += [(url, *found) for url in sorted(urls - found)]
        pages = {p["url"]: p for p in self.net.truth()}
        good = {p["url"] for p in expected}
        for url in self.indexed() - good:
            page = pages.get(url)
            # A calendar has pages that nobody listed; binaries are known by their names.
            if page and (page["status"] != 200 or not page["allowed"] or page["noindex"]):
                wrong.append(("is found and should not be", url, page["status"], page["kind"]))
        return wrong or self.wrong_twins()

    def wrong_twins(self):
        """Which of them are not registered as such."""
        wrong = []
        for url, shown in self.twins:
            objects = self.g.run("why", "--json", url).json()["objects"]
            if [o.get("twin_of") for o in objects] != [shown]:
                wrong.append(("is not the twin of", url, shown, objects))
            if len(wrong) >= 5:
                break
        return wrong

    def settle(self, seconds=90):
        """Waits until all is as it should be."""
        end = time.monotonic() + seconds
        while (wrong := self.wrong()) and time.monotonic() < end:
            time.sleep(2)  # hundreds of questions each time
        assert not wrong, f"after {seconds} s: {wrong}"

    def kill(self, pick):
        """SIGKILL to one of the roles, or to what keeps them, which is then started anew."""
        roles = [r for r in self.g.run("status", "--json").json()["roles"] if r["pid"]]
        role = pick.choice(roles)
        if role["name"] == "up":
            self.up.kill()
            self.start()
            return "up"
        try:
            os.kill(role["pid"], signal.SIGKILL)
        except ProcessLookupError:
            pass
        return role["name"]


class Fabric:
    """URL servers and spiders that fetch for the crawl of `c`, which lends by a Unix socket: `spiders` has one number
    for each URL server, how many spiders of its own it has."""

    def __init__(self, garner, c, spiders):
        self.robot = (f"[robot]\nnetworks = {c.net.network}\ndns_servers = {c.net.dns}\ndns_order = ipv4\n"
                      f"delay = {c.delay}\nidle_max = 2s\ntime_max = 10s\n")
        self.index = f"unix:{c.g.dir}/doc_index"
        self.members = []
        for i, n in enumerate(spiders):
            self.feeder(garner, f"feeder{i}", [self.spider(garner, f"spider{i}.{j}") for j in range(n)])

    @staticmethod
    def lends(local):
        """Lines of the crawl's section."""
        return f"local = {local}\ndoc_index = unix:DIR/doc_index\nlend = 20s\nlease = 1s\n"

    def spider(self, garner, name):
        g = garner()
        g.configure(f"{self.robot}[spider]\nlisten = unix:{g.dir}/spider\nname = {name}\nresults = {self.index}\n"
                    "status_interval = 1s\nstatus_words = yes\n")
        self.members.append([g, "spider", g.start("spider").wait_ready(30)])
        return f"unix:{g.dir}/spider"

    def feeder(self, garner, name, spiders):
        g = garner()
        g.configure(f"{self.robot}[urlserver]\ndoc_index = {self.index}\nname = {name}\nreq_host_per_sec = 16\n"
                    f"timeout_spider_status = 5s\nstatus_words = yes\nspider_host = {' '.join(spiders)}\n")
        self.members.append([g, "urlserver", g.start("urlserver").wait_ready(30)])

    def kill(self, pick):
        """SIGKILL to one of them, which is started anew."""
        member = pick.choice(self.members)
        member[2].kill()
        member[2] = member[0].start(member[1]).wait_ready(30)
        return member[1]
