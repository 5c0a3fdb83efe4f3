"""simnet for scenes: starts tests/simnet, talks to its control port, reads its report.

    def test_a_crawl_is_polite(garner):
        g = garner()
        net = simnet.start(g, hosts=20, pages=100, delay="500ms")
        ... crawl net.url(0), with net.dns as name server and net.network reachable ...
        assert {p["url"] for p in net.expect()} == found
        net.check_polite()

What it is and what its hosts do: tests/simnet/README.md.
"""
import ipaddress
import json
import socket

import garner


class Simnet:
    def __init__(self, g, options):
        log = g.dir / f"log{len(g.processes) + 1}"
        command = [str(garner.BUILD / "tests" / "simnet"),
                   *(f"--{k.replace('_', '-')}={say(v)}" for k, v in options.items())]
        self.process = garner.Process(command, g.env, g.dir, log)
        g.processes.append(self.process)
        ready = json.loads(self.process.wait_line('^{"http"'))
        self.port = ready["http"]          # of all web servers
        self.dns = f"127.0.0.1:{ready['dns']}"
        self.zone, self.hosts, self.pages = ready["zone"], ready["hosts"], ready["pages"]
        self.first = ipaddress.ip_address(options.get("network", "127.10.0.0")) + 1
        self.network = "127.0.0.0/8"       # of all addresses that it has
        host, _, port = ready["control"].rpartition(":")
        self._control = socket.create_connection((host, int(port)), timeout=30)
        self._lines = self._control.makefile("r", encoding="utf-8")

    def name(self, host):
        return f"h{host}.{self.zone}"

    def url(self, host, path="/"):
        return f"http://{self.name(host)}:{self.port}{path}"

    def address(self, index):
        """Host `index` is there, unless addresses are shared; odd.test comes after the last."""
        return str(self.first + index)

    def _say(self, line):
        self._control.sendall(f"{line}\n".encode())

    def ask(self, line):
        """One line to the control port, and the object that it answers with."""
        self._say(line)
        got = json.loads(self._lines.readline())
        assert "error" not in got, f"{line}: {got['error']}"
        return got

    def _list(self, verb, host, at):
        self._say(f"{verb} {'*' if host is None else self.name(host)} {'' if at is None else int(at)}")
        pages = []
        while (line := self._lines.readline()) != "\n":
            assert line, "simnet has gone"
            pages.append(json.loads(line))
            assert "error" not in pages[-1], pages[-1]
        return pages

    def truth(self, host=None, at=None):
        """All pages, as they are now or at a virtual time: url, status, kind, allowed, words ..."""
        return self._list("truth", host, at)

    def expect(self, host=None, at=None):
        """Those of them that a good crawl finds by their words."""
        return self._list("expect", host, at)

    def time(self):
        return self.ask("time")["time"]

    def advance(self, seconds):
        return self.ask(f"advance {int(seconds)}")["time"]

    def set(self, host, what, value):
        """what: "profile" or "robots"."""
        self.ask(f"set host {self.name(host)} {what} {value}")

    def reset(self):
        self.ask("reset")

    def report(self, each=False):
        return self.ask("report all" if each else "report")

    def check_polite(self):
        """Nothing overlapped, came too soon, was forbidden, or ignored Retry-After."""
        report = self.report()
        for what in ("overlaps", "short_gaps", "disallowed", "early", "wrong_host"):
            assert report[what] == 0, f"{what}: {report[what]}; {report['samples']}"
        return report

    def stop(self):
        self._lines.close()
        self._control.close()
        return self.process.stop()


def say(value):
    return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value


def start(g, **options):
    """Started for the garner g and ended with it; the options are those of simnet --help."""
    return Simnet(g, {"for": "5min", **options})
