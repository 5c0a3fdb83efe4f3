"""The queue before the searchers, with real ones: every kind of request, order, cancelling, searchers that die or
take too long, what is too much, and a queuer that comes and goes."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from archie_queue import Asker, Gone, ask, build, listing, queuer_pid, searchers
from garner import ROOT, wait_for

CONFIG = "[archie]\nsearchers = 2\n"
KEY = "ftp.example.test-192.0.2.1"
LISTING = """.:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 pub
-rw-r--r-- 1 root wheel  17 Jan  5  1994 README

./pub:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 walnut tools
drwxr-xr-x 2 root wheel 512 Jan  5  1994 empty
-rw-r--r-- 3 anna users 1234 Feb 28  1995 archie.tar.Z

./pub/walnut tools:
-rw-r--r-- 3 anna users 99 Feb 28  1995 zebrawood-1.4.tar.gz
"""


@pytest.fixture
def queue(garner):
    """A garner with a small archive, and its queuer."""
    g = garner(CONFIG)
    build(g, LISTING)
    g.queuer = g.start("archie-queuer").wait_ready()
    return g


@contextlib.contextmanager
def stopped(g):
    """Searchers that get no CPU: what is asked meanwhile waits."""
    wait_for("searchers", lambda: len(searchers(g)) == 2)
    pids = searchers(g)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield pids
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def rows(result):
    assert result.code == 0, result
    return [json.loads(line) for line in result.out.splitlines()][-1]["rows"]


def test_every_kind_of_request_is_answered_the_same_on_both_ways(queue):
    g = queue
    (g.dir / "whatis").write_text("zebrawood\ta tool for walnut\nother\tthing\n")
    assert g.run("archie", "whatis", "import", g.dir / "whatis").code == 0
    asked = {
        "find": (("type=exact", "pattern=archie.tar.Z"), ["archie.tar.Z"]),
        "whatis": (("pattern=WALNUT",), ["zebrawood"]),
        "sites": (("pattern=^FTP\\..*test$",), [""]),
        "site": (("site=192.0.2.1", "offset=1", "hits=2"), ["README", "walnut tools"]),
        "folder": ((f"site={KEY}", "pattern=pub/walnut tools"), ["zebrawood-1.4.tar.gz"]),
    }
    for what, (options, names) in asked.items():
        called, linked = (rows(ask(g, f"way={way}", f"what={what}", *options)) for way in ("call", "link"))
        assert [r["name"] for r in called] == names and called == linked, what
    row = rows(ask(g, "type=sub", "pattern=ZEBRA"))[0]
    assert row["url"] == "ftp://ftp.example.test/pub/walnut%20tools/zebrawood-1.4.tar.gz"
    assert (row["host"], row["address"], row["key"]) == ("ftp.example.test", "192.0.2.1", KEY)
    assert (row["dir"], row["mode"], row["links"], row["size"]) == ("pub/walnut tools", "-rw-r--r--", 3, 99)
    assert (row["owner"], row["group"], row["entries"]) == ("anna", "users", 6)
    assert rows(ask(g, "what=sites"))[0]["url"] == "ftp://ftp.example.test/"
    assert rows(ask(g, "what=folder", "site=ftp.example.test", "pattern=pub/empty")) == []
    # and by one who knows the protocol alone
    q = Asker(g)
    got = q.find("zebra")
    assert got["rows"][0]["root"] == "ftp://ftp.example.test/" and got["rows"][0]["name"] == "zebrawood-1.4.tar.gz"
    assert got["exact"] and not got["cut"] and got["total"] == 1 and got["problem"] == ""
    build(g, listing(10002, folder=20000), key="ftp.large.test-192.0.2.3")
    large = [q.wait(q.ask(what="folder", sites=["ftp.large.test"], pattern="d0", hits=n, offset=o))
             for n, o in ((0, 0), (0, 2), (7, 0))]
    assert [(a["total"], len(a["rows"]), a["cut"]) for a in large] == \
        [(10002, 10000, True), (10002, 10000, False), (10002, 7, False)]
    assert q.load()["queue"] == 0 and q.load()["per_1000_s"] > 0


def test_what_cannot_be_is_refused_with_the_reason(queue):
    g = queue
    for options, why, said in (
            (("type=regex", "pattern=a["), "bad", "byte 2 of the expression"),
            (("what=site", "site=nowhere"), "empty", "no site 'nowhere'"),
            (("what=folder", "site=192.0.2.1", "pattern=nowhere"), "empty", "no such folder"),
            (("what=whatis", "pattern=x"), "empty", "no descriptions"),
            (("pattern=" + "x" * 5000,), "bad", "4096 are the most"),
            (("pattern=x", "offset=99999999"), "bad", "99999999")):
        done = ask(g, *options)
        assert done.code == 1 and done.out.count("\n") == 1
        got = json.loads(done.out)
        assert got["why"] == why and said in got["text"], got


def test_what_was_built_meanwhile_is_found_and_an_archive_without_names_is_empty(garner):
    g = garner(CONFIG)
    g.start("archie-queuer").wait_ready()
    q = Asker(g)
    assert q.find("zebrawood")["why"] == "empty"
    build(g, LISTING)
    assert len(q.find("zebrawood")["rows"]) == 1
    build(g, LISTING.replace("zebrawood", "cedarwood"))
    assert q.find("zebrawood")["rows"] == [] and len(q.find("cedarwood")["rows"]) == 1


def test_requests_wait_by_niceness_and_cost_and_are_told_their_places(queue):
    g, q, numbers, order = queue, Asker(queue), {}, []
    with stopped(g):
        busy = q.ask(type="regex", pattern="first")         # with the searcher that takes all
        for name, how in {"nicest": {"type": "regex", "pattern": "a", "nice": 32765},
                          "dear": {"type": "regex", "pattern": "b"},
                          "nice": {"pattern": "c", "nice": 500},
                          "usual": {"pattern": "d"}}.items():
            numbers[name] = q.ask(verbose=True, **how)
            while numbers[name] not in q.places:
                q.hear()
        assert [q.places[n][0][0] for n in numbers.values()] == [1, 1, 2, 1]
        assert all(seconds >= 1 for places in q.places.values() for _, seconds in places)
        assert q.load()["queue"] == 5
        while q.places[numbers["nicest"]][-1][0] != 4:      # it is told how it was overtaken
            q.hear()
    while set(numbers.values()) | {busy} > set(q.ended):
        got = q.hear()
        order += [name for name, n in numbers.items() if n == got and got in q.ended]
    assert order == ["usual", "dear", "nice", "nicest"]


def test_many_ask_at_once_and_each_has_its_own_answer(queue):
    askers = [Asker(queue) for _ in range(20)]
    words = ["zebrawood", "archie.tar.Z", "README", "walnut", "nothing of it"]
    asked = [(q, words[(i + k) % 5], q.ask(pattern=words[(i + k) % 5], frm=f"192.0.2.{i}"))
             for i, q in enumerate(askers) for k in range(10)]
    for q, word, n in asked:
        got = q.wait(n)
        assert got["why"] == "" and [word in r["name"] for r in got["rows"]] == [True] * (word != words[4])


def test_a_request_is_cancelled_by_a_word_or_by_hanging_up(queue):
    g, q, other = queue, Asker(queue), Asker(queue)
    with stopped(g) as pids:
        searched, waits = q.ask(type="regex", pattern="a"), q.ask(type="regex", pattern="b")
        q.cancel(waits)
        assert q.wait(waits)["why"] == "cancelled"
        q.cancel(searched)
        assert q.wait(searched)["why"] == "cancelled"
        # one that does not hear that it should stop is replaced
        wait_for("another searcher", lambda: len(searchers(g)) == 2 and set(searchers(g)) != set(pids))
    assert q.find("zebra")["total"] == 1
    done = ask(g, "way=link", "type=exact", "pattern=zebra", "stop_ms=1000")
    assert json.loads(done.out)["why"] == ""
    with stopped(g):
        for way in ("call", "link"):
            assert json.loads(ask(g, f"way={way}", "pattern=zebra", "stop_ms=20").out)["why"] == "cancelled"
        other.ask(type="regex", pattern="c")
        other.ask(type="regex", pattern="d")
        other.close()
        wait_for("an empty queue", lambda: q.load()["queue"] <= 1)  # the searcher may not have noticed


def test_a_searcher_that_is_killed_is_replaced_and_its_request_tried_once_more(queue):
    g, q = queue, Asker(queue)
    for number in (0, 1):       # one takes cheap requests only
        with stopped(g) as pids:
            n = q.ask(pattern="zebrawood-1.4.tar.gz", type=["exact", "regex"][number])
            wait_for("it to be searched", lambda: q.load()["queue"] == 1)
            os.kill(pids[number], signal.SIGKILL)
            wait_for("another searcher", lambda: set(searchers(g)) - set(pids))
        got = q.wait(n)
        assert got["why"] == "" and got["total"] == 1
    metrics = wait_for("counters", lambda: [m for m in [g.run("status", "--metrics").out]
                                            if "garner_archie_queuer_searcher_deaths_total" in m])[0]
    assert "searched_again_total" in metrics


@pytest.mark.parametrize("point", ["searcher.begun", "searcher.done"])
def test_a_search_that_kills_twice_is_refused(garner, point):
    g = garner(CONFIG)
    build(g, LISTING)
    g.start("archie-queuer", env={"GARNER_FAULTS": f"{point}=kill@1+"}).wait_ready()
    got = Asker(g).find("zebra")
    assert got["why"] == "failed" and "twice" in got["said"]


def test_a_costly_expression_is_cut_at_the_time_limit_and_holds_up_nobody(garner):
    g = garner(CONFIG + "search_time_limit = 1ms\n")
    build(g, listing(60000, name="a{0:06d}e{0:06d}a{0:06d}"))
    g.start("archie-queuer").wait_ready()
    q, other = Asker(g), Asker(g)
    n = q.ask(type="regex", pattern="([0-4].{8}|[3-9].{7}|[e5].{6})[x-z]")
    assert other.find("a000001e000001a000001", "exact")["total"] == 1
    got = q.wait(n)
    assert got["why"] == "" and got["cut"] and not got["exact"], got


def test_more_than_twenty_of_an_address_or_a_full_queue_is_busy(garner):
    g = garner(CONFIG + "queue_max = 22\n")
    build(g, LISTING)
    g.start("archie-queuer").wait_ready()
    q = Asker(g)
    with stopped(g):
        mine = [q.ask(type="regex", pattern="x", frm="192.0.2.1") for _ in range(21)]   # one is searched
        assert q.load()["queue"] == 21
        assert "your address" in q.find("x", "regex", frm="192.0.2.1")["said"]
        others = [q.ask(type="regex", pattern="x", frm=f"192.0.2.{i}") for i in (2, 3)]
        got = q.find("x", "regex", frm="192.0.2.9")
        assert got["why"] == "busy" and "full" in got["said"]
    assert {q.wait(n)["why"] for n in mine + others} == {""}
    # one that is away, and one that came back, in the door's words
    assert json.loads(ask(g, "pattern=zebra").out)["why"] == ""


def test_one_that_does_not_read_costs_a_bounded_lot_and_others_nothing(garner):
    g = garner(CONFIG)
    build(g, listing(10000, name="a-name-of-some-length-{:06d}.tar.gz"))
    queuer = g.start("archie-queuer").wait_ready()
    lazy, q = Asker(g), Asker(g)
    for i in range(60):
        lazy.ask(what="site", sites=["192.0.2.1"], hits=10000, frm=str(i))
    wait_for("it to be held back", lambda: q.load()["queue"] and q.find("nothing")["why"] == "")
    assert q.load()["queue"] > 30
    peak = [line for line in open(f"/proc/{queuer.pid}/status") if line.startswith("VmHWM")][0]
    if "asan" not in os.environ.get("GARNER_BUILD", ""):
        assert int(peak.split()[1]) < 60 << 10
    lazy.decodes = False
    assert {lazy.wait(n)["why"] for n in range(1, 61)} == {""}


def test_many_that_do_not_read_share_a_bound(queue):
    g = queue
    lazy = [Asker(g) for _ in range(500)]
    for one in lazy:
        one.socket.setblocking(False)
    for _ in range(4):
        for one in lazy:
            with contextlib.suppress(OSError):  # its buffer is full, or it was hung up on
                one.socket.send(b"load 0\n" * 10000)

    def rests():
        used = [open(f"/proc/{g.queuer.pid}/stat").read().split()[13:15] for _ in range(2) if not time.sleep(0.2)]
        return used[0] == used[1]
    wait_for("it to have read all", rests)
    assert Asker(g).load()["queue"] == 0
    peak = [line for line in open(f"/proc/{g.queuer.pid}/status") if line.startswith("VmHWM")][0]
    if "asan" not in os.environ.get("GARNER_BUILD", ""):
        assert int(peak.split()[1]) < 350 << 10
    for one in lazy:
        one.close()


def test_there_is_one_queuer_and_its_process_is_named(queue):
    g = queue
    assert queuer_pid(g) == g.queuer.pid
    second = g.run("archie-queuer")
    assert second.code == 5 and queuer_pid(g) == g.queuer.pid
    assert "2 searchers" in wait_for("a status", lambda: g.queuer.wait_note("STATUS=0 waiting, 2 searchers")
                                     and g.queuer.notes[-1])
    assert g.queuer.stop() == 0
    # a searcher is locked in: LeakSanitizer cannot look at one that ends by itself, and says so
    said = [line for line in g.queuer.lines("error|warn") if "LeakSanitizer has encountered" not in line]
    assert queuer_pid(g) is None and said == []
    done = ask(g, "pattern=zebra")
    assert json.loads(done.out)["why"] == "away"


def test_a_queuer_that_is_killed_under_garner_up_refuses_nobody(garner):
    g = garner(CONFIG + "[up]\nroles = archie-queuer\n")
    build(g, LISTING)
    up = g.start("up").wait_ready()
    q = Asker(g)
    with stopped(g):
        n = q.ask(pattern="zebra")
        asks = [subprocess.Popen([str(ROOT / "build" / os.environ.get("GARNER_BUILD", "") / "tests" / "archie-ask"),
                                  str(g.data), f"way={way}", "type=regex", "pattern=zebra"], env=g.env,
                                 stdout=subprocess.PIPE, text=True) for way in ("call", "link")]
        wait_for("all to wait", lambda: Asker(g).load()["queue"] == 3)
        before = queuer_pid(g)
        os.kill(before, signal.SIGKILL)
        with pytest.raises(Gone):
            q.wait(n)
    again = Asker(g)            # the socket is there at once
    assert again.find("zebra")["total"] == 1 and queuer_pid(g) != before
    for p in asks:              # and those that waited ask again by themselves
        out, _ = p.communicate(timeout=30)
        assert json.loads(out)["why"] == "" and p.returncode == 0
    assert up.stop() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_may_ask_where_run_can_be_entered_and_nowhere_else(queue):
    g = queue
    client = ("import os, socket, sys; os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX); "
              "s.connect(sys.argv[1]); print(s.recv(100).decode(), end='')")

    def as_nobody():
        done = subprocess.run([sys.executable, "-c", client, "run/archie"], capture_output=True, text=True, cwd=g.data)
        return done.stdout or done.stderr.splitlines()[-1]
    assert "PermissionError" in as_nobody()
    for folder in (g.data, g.data / "run"):
        os.chmod(folder, 0o711)
    assert as_nobody() == "archie 10\nversion 2\n"
