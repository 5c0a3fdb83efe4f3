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

    def __init__(self, garner, hosts, pages, seed, cache=None):
        """cache: a function that makes a Cache of the garner, whose roles run as well."""
        self.g = garner()
        self.cache = cache and cache(self.g)
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
delay = {DELAY}
idle_max = 2s
time_max = 10s
{self.cache.text() if cache else ""}
[shepherd]
follow = all
cycle = 3s
refresh = 15s
retry = 1s
retries = 3
site_max = 400
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
