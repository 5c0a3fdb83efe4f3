"""Crawls whose pages are fetched by reapds: who is refused and named, when this machine takes over, and
that what comes through a reapd is what the local reaper would have brought."""
import socket
import threading
from pathlib import Path

import pytest

import replay
import simnet
from garner import free_port, wait_for
from message import message

WORLD = {"profiles": "plain", "robots": "some=2,absent=1", "odd_pages": 0, "appear": 0, "vanish": 0, "change": 0,
         "delay": "0"}
# Those that end by a limit of the robot, which a reapd is told by its master: always compared.
BY_A_LIMIT = {"header-space-before-colon": "1408", "size-chunk-overhead": "2413"}


class Crawl:
    """A master on a world of simnet, and reapds with data directories of their own."""

    def __init__(self, garner, net=None, **world):
        self.make = garner
        self.g = garner()
        self.reapds = {}  # processes, by address
        self.net = net or simnet.start(self.g, **{**WORLD, **world})

    def reapd(self, settings="", robot=""):
        """Starts one; its address."""
        g = self.make()
        path = f"unix:{g.dir}/reapd"
        g.configure(f"[robot]\nnetworks = {self.net.network}\n{robot}\n[reapd]\nlisten = {path}\n{settings}\n")
        self.reapds[path] = g.start("reapd").wait_ready()
        return path

    def begin(self, reapers, settings="cycle = 3s", robot="delay = 10ms", urls=()):
        self.g.configure(f"""
[robot]
networks = {self.net.network}
dns_servers = {self.net.dns}
dns_order = ipv4
{robot}
[shepherd]
follow = all
lease = 1s
reapers = {" ".join(reapers)}
keep_old_states = 1000
keep_interim_states = 1000
{settings}
""")
        assert self.g.run("add", *(urls or [self.net.url(0)])).code == 0
        self.master = self.g.start("shepherd").wait_ready()
        return self.master

    def reapers(self):
        said = self.g.run("shep", "reapers", "--json")
        return {r["name"]: r for r in said.json()} if said.code == 0 else {}

    def wait_state(self, name, state):
        return wait_for(f"{name} is {state}",
                        lambda: self.reapers().get(name, {}).get("state") == state, every=0.2)

    def entries(self):
        """What the journals tell, by URL: the first of each."""
        journals = {p.stat().st_ino: p for p in sorted(self.g.data.glob("shepherd/state/[0-9]*/journal"))}
        lines = [line for p in journals.values() for line in self.g.run("dump", p).out.splitlines()]
        found = {}
        for line in sorted(lines, key=lambda line: line.split()[2:3]):
            words = line.split()
            url = next((w for w in words if w.startswith("http")), None)
            if url:
                found.setdefault(url, words)
        return found

    def wait_all(self):
        expected = {p["url"] for p in self.net.expect()}
        wait_for("all pages", lambda: expected <= self.entries().keys(), 60, every=0.5)
        return expected


def test_with_another_key_there_is_no_connection(garner):
    c = Crawl(garner, hosts=3, pages=6)
    for g, name, digit in ((c.g, "ours", "a"), (c.g, "theirs", "b")):
        Path(g.dir, name).write_text(digit * 64 + "\n")
        Path(g.dir, name).chmod(0o600)
    good = c.reapd(f"tls_shared_key = {c.g.dir}/ours")
    wrong = c.reapd(f"tls_shared_key = {c.g.dir}/theirs")
    plain = c.reapd()
    c.begin([good, wrong, plain], f"cycle = 3s\ntls_shared_key = {c.g.dir}/ours")
    c.wait_state(good, "up")
    c.wait_all()
    said = c.reapers()
    assert [said[n]["state"] for n in (wrong, plain)] == ["away", "away"]
    assert said[wrong]["jobs"] == said[plain]["jobs"] == 0
    assert c.master.lines(f"warn.*{wrong}") and c.master.lines(f"warn.*{plain}")
    c.reapds[wrong].wait_line("warn.*master disconnected peer=unix why=.*")
    assert not c.reapds[good].lines("master disconnected")


def test_another_version_is_refused_by_name(garner):
    c = Crawl(garner, hosts=3, pages=4)
    listener = socket.create_server(("127.0.0.1", 0))
    name = "127.0.0.1:%d" % listener.getsockname()[1]

    def greet():
        while True:
            try:
                with listener.accept()[0] as s:
                    s.sendall(message("hello", version=4711, capacity=10))
                    s.recv(1)
            except OSError:
                return
    threading.Thread(target=greet, daemon=True).start()
    c.begin([name, c.reapd()])
    assert "4711" in c.master.wait_line(f"warn.*{name}")
    c.wait_state(name, "refused")
    c.wait_all()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_the_local_reaper_takes_over_and_hands_back(garner):
    c = Crawl(garner, hosts=8, pages=20)
    name = f"127.0.0.1:{free_port()}"
    c.begin([name], "cycle = 3s\nreapers_wait = 1s", robot="delay = 300ms")
    wait_for("work of its own", lambda: c.reapers().get("local", {}).get("documents", 0) > 5, every=0.2)
    g = garner(config=f"[robot]\nnetworks = {c.net.network}\n[reapd]\nlisten = {name}\n")
    g.start("reapd").wait_ready()
    c.wait_state(name, "up")
    wait_for("work by the reapd", lambda: c.reapers()[name]["documents"] > 5, every=0.2)
    assert c.reapers()["local"]["state"] == "waits"
    c.wait_all()


@pytest.mark.parametrize("by", ["local", "reapd"])
def test_a_tarpit_gets_its_code_and_the_crawl_goes_on(garner, by):
    """A host that sends a byte now and then is never idle; the limit of the whole time ends it, though
    it outlasts cycles and leases."""
    c = Crawl(garner, hosts=4, pages=6, slow="100ms")
    c.net.set(2, "profile", "tarpit")
    robot = "delay = 10ms\nidle_max = 2s\ntime_max = 4s"
    log = c.g.dir / "urls"
    c.begin([c.reapd(robot=robot)] if by == "reapd" else [],
            f"cycle = 1s\nlocal = {'never' if by == 'reapd' else 'always'}\nurl_log = {log}", robot,
            [c.net.url(i) for i in range(4)])
    c.wait_all()
    tarpit = f" {c.net.url(2)}: 1408 "
    said = wait_for("its code", lambda: tarpit in log.read_text() and log.read_text(), 30)
    line = next(line for line in said.splitlines() if tarpit in line)
    assert f"[{'local' if by == 'local' else 'unix:'}" in line
    c.net.check_polite()


def test_a_page_given_by_hand_that_fails_is_asked_for_once(garner):
    """Its contribution is merged after it was judged, and does not make it new again."""
    g = garner()
    net = simnet.start(g, **{**WORLD, "hosts": 1, "pages": 3, "robots": "absent"})
    missing, silent = net.url(0, "/missing"), f"http://127.0.0.1:{free_port()}/"
    g.configure(f"""
[robot]
networks = {net.network}
dns_servers = {net.dns}
dns_order = ipv4
delay = 10ms
[shepherd]
auto_go_root = no
cycle = 1s
url_log = {g.dir}/urls
""")
    g.start("shepherd").wait_ready()
    log = g.dir / "urls"
    for url in (missing, silent, net.url(0, "/missing/too")):  # the last one: cycles have gone on
        g.run("add", url)
        wait_for("it is judged", lambda url=url: f" {url}: " in log.read_text(), 20)
        wait_for("it is known", lambda url=url: "known since:" in g.run("why", url).out, 20)
    assert "state:        error" in g.run("why", missing).out
    assert "state:        new" in g.run("why", silent).out
    said = log.read_text()
    assert [said.count(f" {url}: ") for url in (missing, silent)] == [1, 1], said


class NameServer:
    """Remembers the names that it is asked for. Of those with "broken" in them it says that it cannot
    read the question, to the others nothing."""

    def __init__(self):
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.answer, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()

    def answer(self):
        while True:
            question, whom = self.socket.recvfrom(2048)
            if not question:
                return
            self.asked.append(question[12:question.index(0, 12)])
            if b"broken" in question:
                said = question[:2] + b"\x81\x81" + question[4:6] + bytes(6) + question[12:]
                self.socket.sendto(said, whom)


def test_a_broken_answer_of_name_servers_is_told_from_none(garner):
    g = garner()
    with NameServer() as names:
        g.configure(f"""
[robot]
dns_servers = {names.address}
dns_order = ipv4
dns_timeout = 100ms
dns_tries = 1
[shepherd]
cycle = 1h
url_log = {g.dir}/urls
""")
        assert g.run("add", "http://broken.test/", "http://silent.test/").code == 0
        g.start("shepherd").wait_ready()
        said = wait_for("both", lambda: (g.dir / "urls").read_text().count(".test/: ") >= 2 and
                        (g.dir / "urls").read_text(), 20)
    assert "http://broken.test/: 2105 " in said and "http://silent.test/: 1104 " in said


def test_names_are_looked_up_while_there_is_no_reaper(garner):
    g = garner()
    with NameServer() as names:
        g.configure(f"""
[robot]
dns_servers = {names.address}
[shepherd]
reapers = unix:{g.dir}/nobody
local = never
""")
        assert g.run("add", "http://www.wanted.test/").code == 0
        g.start("shepherd").wait_ready()
        wait_for("a question", lambda: b"\3www\6wanted\4test" in names.asked, 20)


def test_odd_answers_and_hosts_that_hang_are_judged_as_the_local_reaper_does(garner, long_run):
    """What the journal says of each: operation, type and code."""
    cases = [c for c in replay.cases() if "ask" not in c]
    if not long_run:
        cases = cases[::4] + [c for i, c in enumerate(cases) if i % 4 and c["id"] in BY_A_LIMIT]
    robot = "delay = 0\nidle_max = 2s\ntime_max = 12s\nagent = oddbot"
    with replay.Replay(replay.cases(), 2.0) as server:
        urls = [server.url(c["id"]) for c in cases]
        crawls = [Crawl(garner, server) for _ in range(2)]
        for c, reapers in zip(crawls, ([], [crawls[1].reapd(robot=robot)])):
            c.begin(reapers, f"local = {'never' if reapers else 'always'}\ncycle = 20s", robot, urls)
        for c in crawls:
            wait_for("all of them", lambda c=c: c.entries().keys() >= set(urls), 60, every=1)
    told = [{url: c.entries()[url][4:8] for url in urls} for c in crawls]
    assert told[0] == told[1]
    assert {id: told[0][server.url(id)][3] for id in BY_A_LIMIT} == BY_A_LIMIT
    assert len({" ".join(words) for words in told[0].values()}) > 5
