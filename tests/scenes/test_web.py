"""The role web: the status page, health, readiness, metrics, events."""
import html.parser
import json
import re
import signal
import subprocess

import peers
from garner import wait_for
from web import until, web


class Page(html.parser.HTMLParser):
    """Checks that elements nest; gathers the text."""
    VOID = {"meta", "link", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.links = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.links += [v for k, v in attrs if k in ("href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data.split()


def test_up_names_the_address_to_look_at(garner):
    site = web(garner)
    assert re.search(r"1 role ready, web on http://127\.0\.0\.1:\d+/, data in",
                     site.process.wait_line("garner is up"))
    assert site.process.stop() == 0
    assert not site.process.lines(r" (error|warn) ")


def test_health_and_readiness(garner):
    site = web(garner)
    a = site.ask("/healthz")
    assert a.status == 200 and json.loads(a.body) == {"alive": True}
    a = site.ask("/readyz")
    assert a.status == 200
    said = json.loads(a.body)
    assert said["ready"] and not said["waiting"]
    assert {k: v for k, v in said["roles"].items() if v != "stopped"} == {"up": "running",
                                                                          "web": "ready"}


def test_what_is_not_to_be_kept_is_never_known_already(garner):
    site = web(garner)
    for tag in ('""', '"-gz"', "*"):
        a = site.ask("/healthz", If_None_Match=tag)
        assert a.status == 200 and a.body, tag


def test_readiness_names_who_is_not_ready(garner):
    """The counters of a supervisor whose other role has stalled, beside a web that runs alone."""
    site = web(garner)
    other = garner(program="tests/garner-demo")
    other.configure("[up]\nroles = echo tick\nrestart_min = 1h\nrestart_max = 1h\n"
                    "[echo]\nfail = start\n")
    up = other.start("up").wait_ready()
    alone = garner(config="[web]\nlisten = 127.0.0.1:0\n", directory=None)
    process = alone.start("web", env={"GARNER_DATA": str(other.data)}).wait_ready()
    site.port = int(re.search(r":(\d+)$", process.wait_line("listening")).group(1))
    a = site.ask("/readyz")
    assert a.status == 503 and json.loads(a.body)["waiting"] == ["echo"]
    assert json.loads(a.body)["roles"]["echo"] == "backing off"
    page = site.ask("/").body.decode()
    assert "echo is backing off." in page
    assert process.stop() == 0 and up.stop() == 0


def test_the_status_page_is_whole_and_asks_nobody_else(garner):
    site = web(garner)
    for path in ("/", "/status", "/?utm_source=x"):
        a = site.ask(path)
        assert a.status == 200 and a.headers["Content-Type"] == "text/html; charset=utf-8"
        page = Page(a.body.decode())
        assert {"web", "ready", "up", "running", "Restarts", "connections_open"} <= set(page.words)
        assert all(link.startswith("/") for link in page.links)
        for link in page.links:
            assert site.ask(link).status == 200, link
    assert b"prefers-color-scheme" in site.ask("/style.css").body
    assert site.ask("/style.css", Range="bytes=0-4").body == b":root"


def test_status_is_the_same_as_the_commands(garner):
    site = web(garner)
    ours, theirs = json.loads(site.ask("/api/status").body), site.g.run("status", "--json").json()
    for s in (ours, theirs):
        for role in s["roles"]:
            for key in ("cpu_us", "rss_bytes", "counters"):
                assert role.pop(key) is not None or role["state"] == "stopped"
    assert ours == theirs


def test_metrics_are_clean_in_both_forms(garner):
    promtool = peers.need("prometheus").program("promtool")
    site = web(garner)
    a = site.ask("/metrics")
    assert a.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    done = subprocess.run([promtool, "check", "metrics"], input=a.body, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def refused(metrics):
    return int(re.search(rb'class="4xx"} (\d+)', metrics).group(1))


def test_metrics_follow_what_is_accepted(garner):
    site = web(garner)
    a = site.ask("/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert a.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert a.body.endswith(b"# EOF\n") and b"# TYPE garner_web_requests counter" in a.body
    a = site.ask("/metrics", Accept="text/plain, */*")
    assert b"# EOF" not in a.body and b"# TYPE garner_web_requests_total counter" in a.body
    for _ in range(5):
        site.ask("/nothing")
    before = refused(a.body)
    # a request is counted when its connection has let go of it, just behind the answer
    wait_for("five more", lambda: refused(site.ask("/metrics").body) == before + 5)


def test_the_interface_describes_itself(garner):
    site = web(garner)
    paths = json.loads(site.ask("/api/openapi.json").body)["paths"]
    assert {"/", "/healthz", "/readyz", "/metrics", "/api/status", "/api/events"} <= set(paths)
    for path in paths:
        assert "get" in paths[path] and paths[path]["get"]["summary"]


def test_events_tell_the_states_at_once(garner):
    site = web(garner)
    with site.raw(b"GET /api/events HTTP/1.1\r\nHost: x\r\n\r\n") as s:
        got = until(s, b'"web":"ready"')
        assert b"event: status\ndata: {" in got


def test_requests_are_logged_when_wanted(garner):
    site = web(garner, access_log="yes")
    site.ask("/healthz?")
    line = site.process.wait_line("web/http: request")
    assert re.search(r"method=GET path=/healthz status=200 bytes=15 us=\d+ address=127\.0\.0\.1:\d+",
                     line)
    site.ask("/a%22b%0Ac\"d")
    site.process.wait_line(r'path="/a%22b%0Ac\\"d" status=404')
    quiet = web(garner)
    quiet.ask("/healthz")
    assert quiet.process.stop() == 0 and not quiet.process.lines("request")


def test_nobody_is_refused_while_the_role_restarts(garner):
    site = web(garner)
    for _ in range(5):
        before = json.loads(site.ask("/api/status").body)
        pid = next(r["pid"] for r in before["roles"] if r["name"] == "web")
        subprocess.run(["kill", "-KILL", str(pid)], check=True)
        assert site.ask("/healthz").status == 200

    def ready():
        return site.ask("/readyz").status == 200
    wait_for("the role to be ready again", ready)


def test_an_empty_address_is_an_error_that_says_so(garner):
    g = garner(config="[web]\nlisten =\n")
    done = g.run("web")
    assert done.code == 2 and "web.listen is empty" in done.err


def test_int_ends_it_like_term(garner):
    g = garner(config="[web]\nlisten = 127.0.0.1:0\n")
    process = g.start("web").wait_ready()
    assert process.stop(number=signal.SIGINT) == 0
