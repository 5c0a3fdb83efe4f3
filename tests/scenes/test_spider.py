"""The spider as a URL server sees it, one that was written from document 003 alone."""
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

import simnet
from garner import wait_for
from urlserver003 import Urlserver

PLAIN = dict(odd_pages=0, appear=0, vanish=0, profiles="plain", robots="open", crawl_delay=0)


def spider(make, net, more="", env=None, **settings):
    """One that could not resolve a name if it wanted to."""
    g = make()
    settings.setdefault("results", f"dir:{g.dir}/results")
    said = "\n".join(f"{k} = {v}" for k, v in settings.items())
    g.configure(f"[robot]\nnetworks = {net.network}\ndns_servers = 127.0.0.1:1\ndelay = 80ms\n{more}\n"
                f"[spider]\nlisten = unix:{g.dir}/spider\n{said}\n")
    g.process = g.start("spider", env=env).wait_ready(30)
    g.where = f"{g.dir}/spider"
    return g


def results(g):
    lines = (Path(g.dir) / "results" / "results.jsonl").read_text().splitlines()
    return {r.get("doc_id"): r for r in map(json.loads, lines)}


def counter(g, name):
    done = g.run("status", "--json")
    assert done.code == 0, done.err
    for role in done.json()["roles"]:
        if role["name"] == "spider":
            return sum(c["value"] for c in role["counters"] if c["name"] == name)
    raise AssertionError("no spider")


def ask_all(us, net, pages, turn=0):
    """Sends all pages; the DOC_ID of a page is its place in the list."""
    for i, p in enumerate(pages):
        host = int(p["url"].split("//h")[1].split(".")[0])
        us.send(f"{i}.{turn}", f"d{i}", net.address(host), p["url"])
    us.wait_done(*(f"{i}.{turn}" for i in range(len(pages))))


def test_what_a_url_server_names_is_fetched_from_where_it_says(garner):
    net = simnet.start(garner(), hosts=5, pages=6, delay="60ms", odd_pages=30, appear=0, vanish=0,
                       profiles="plain", robots="some,moved")
    g = spider(garner, net, status_words="yes")
    pages = net.truth()
    with Urlserver(g.where) as us:
        ask_all(us, net, pages)
        assert not us.strange
        got = results(g)
        assert len(got) == len(pages)
        for i, p in enumerate(pages):
            r = got[f"d{i}"]
            assert us.done[f"{i}.0"] == r["outcome"]
            assert r["url"] == p["url"]
            if not p["allowed"]:
                assert r["outcome"] == "robots" and r["why"], (p, r)
            else:
                assert r["status"] == p["status"], (p, r)
                assert r.get("redirects", 0) == 0
            if r["outcome"] == "ok":
                assert len(Path(r["file"]).read_bytes()) == r["size"]
        assert {r["outcome"] for r in got.values()} >= {"ok", "robots", "redirect"}
    net.check_polite()


def test_a_redirect_of_robots_txt_to_the_same_host_asks_no_name_server(garner):
    """`moved` sends http://h0/robots.txt to another path of the host; the address is the one of the line."""
    net = simnet.start(garner(), hosts=1, pages=3, delay="60ms", odd_pages=0, appear=0, vanish=0,
                       profiles="plain", robots="moved")
    g = spider(garner, net, status_words="yes")
    with Urlserver(g.where) as us:
        us.send("a", "d", net.address(0), net.url(0))
        us.wait_done("a")
        assert us.done["a"] == "ok", results(g)


def test_status_is_told_until_a_url_is_done_and_what_is_lost_is_cancelled(garner):
    net = simnet.start(garner(), hosts=2, pages=2, delay="60ms", **PLAIN)
    g = spider(garner, net, "time_max = 1500ms\nidle_max = 1500ms", status_interval="100ms")
    with Urlserver(g.where) as us, Urlserver(g.where) as other:
        us.send("well", "d", net.address(0), net.url(0))
        us.wait_done("well")
        net.set(0, "profile", "hang")
        us.send("slow", "d0", net.address(0), net.url(0))
        other.send("fast", "d1", net.address(1), net.url(1))
        other.wait_done("fast")
        wait_for("WORKING", lambda: us.working["slow"] >= 3)
        us.wait_done("slow")
        assert results(g)["d0"]["outcome"] == "temporary", results(g)["d0"]
        us.send("slow2", "d2", net.address(0), net.url(0))
        wait_for("WORKING", lambda: us.working["slow2"] >= 1)
    wait_for("cancelled", lambda: counter(g, "cancelled_urls") == 1)
    net.set(0, "profile", "plain")
    with Urlserver(g.where) as us:
        us.send("again", "d2", net.address(0), net.url(0))
        us.wait_done("again")
        assert not us.strange and results(g)["d2"]["outcome"] == "ok"
    wait_for("nothing left", lambda: counter(g, "urls_under_way") == 0)


def test_odd_lines_get_done_where_somebody_can_be_told(garner):
    net = simnet.start(garner(), hosts=1, pages=2, delay="60ms", **PLAIN)
    g = spider(garner, net, status_words="yes")
    odd = {"no-url": ("no-url d1 127.10.0.1", "permanent"),
           "no-ip": ("no-ip d2 h0.sim.test http://h0.sim.test/", "permanent"),
           "blank": (f"blank d3 {net.address(0)} {net.url(0)} x", "permanent"),
           "scheme": (f"scheme d4 {net.address(0)} gopher://h0.sim.test/", "permanent"),
           "alone": ("alone", "permanent"),
           "inside": ("inside d5 10.0.0.1 http://h0.sim.test/", "address"),
           "six": ("six d6 ::1 http://h0.sim.test/", "address"),
           "file": (f"file d7 {net.address(0)} https://results.jsonl:443/", "limit"),
           "nul": (f"nul d8 {net.address(0)} {net.url(0)}\0x", "permanent"),
           "cr": (f"cr d9 {net.address(0)} {net.url(0)}\rx", "permanent"),
           "none": (f"none d10 0.0.0.0 {net.url(0)}", "address"),
           "mapped": (f"mapped d11 ::ffff:{net.address(0)} {net.url(0)}", "address"),
           "zone": (f"zone d12 fe80::1%lo {net.url(0)}", "address"),
           "t" * 64: (f"{'t' * 64} d13 127.1 {net.url(0)}", "permanent"),
           "long": (f"long d14 {net.address(0)} ".ljust(8192, "x"), "permanent")}
    with Urlserver(g.where) as us:
        us.raw(b"\n \n\xff\xfe\x00 x y z\n" + b"t" * 65 + b" d 127.10.0.1 http://x/\n")
        for line, _ in odd.values():
            us.raw(line.encode() + b"\r\n")
        us.send("good", "d0", net.address(0), net.url(0).replace("//", "//me:secret@"))
        us.wait_done("good", *odd)
        assert {t: us.done[t] for t in odd} == {t: o for t, (_, o) in odd.items()}
        got = results(g)
        assert got["d0"]["outcome"] == "ok" and all(got[f"d{i}"]["why"] for i in range(1, 15))
        assert "secret" not in str(got) + g.process.text
        wait_for("counters", lambda: counter(g, "garbage_lines") == 4)
        assert not us.strange
        us.raw(b"twice\n" * 2)  # what a TRANS_ID means is the business of the URL server
        wait_for("both", lambda: us.strange == [b"twice DONE permanent\n"])
        us.raw(b"x" * 8193 + b"\n")
        wait_for("hung up", lambda: us.closed)
        g.process.wait_line("URL server disconnected .*a line is too long")


def test_a_browser_cannot_be_made_to_ask_a_spider(garner):
    net = simnet.start(garner(), hosts=1, pages=1, delay="60ms", **PLAIN)
    g = spider(garner, net)
    with Urlserver(g.where) as us:
        us.raw(f"POST / HTTP/1.1\r\nHost: x\r\n\r\nt d {net.address(0)} {net.url(0)}\r\n".encode())
        wait_for("hung up", lambda: us.closed)
        assert not us.done and not us.strange
    g.process.wait_line("URL server disconnected .*it speaks HTTP")
    wait_for("counted", lambda: counter(g, "garbage_lines") == 1)
    assert not results(g) and counter(g, "hung_up") == 1


def test_one_who_never_reads_and_one_who_floods_hold_up_nobody(garner):
    net = simnet.start(garner(), hosts=2, pages=4, delay="60ms", **PLAIN)
    g = spider(garner, net, urls_max=50, queue_max="64K", status_interval="50ms")
    deaf = Urlserver(g.where, reads=False)
    deaf.socket.settimeout(2)
    try:
        for i in range(200000):
            deaf.raw(b"t%d d 127.10.0.1\n" % i)
    except OSError:
        pass
    with Urlserver(g.where) as us:
        us.send("1.1", "d1", net.address(1), net.url(1))
        us.wait_done("1.1", seconds=60)
    deaf.close()
    wait_for("nothing left", lambda: counter(g, "urls_under_way") == 0)


def test_one_who_reads_after_all_is_sent_is_not_waited_for(garner):
    """Or each would wait for the other to read."""
    g = garner()
    g.configure(f"[spider]\nlisten = unix:{g.dir}/spider\n")
    g.start("spider").wait_ready(30)
    lines, trans = 20000, "{:064}"
    us = Urlserver(f"{g.dir}/spider", reads=False)
    us.socket.settimeout(10)
    for half in range(0, lines, lines // 2):
        us.raw("".join(f"{trans.format(i)} d nowhere http://h/\n" for i in range(half, half + lines // 2)).encode())
        time.sleep(1)  # most of the answers are there
    with us.socket.makefile("rb") as answers:
        said = {answers.readline() for _ in range(lines)}
    assert said == {f"{trans.format(i)} DONE\n".encode() for i in range(lines)}
    us.close()
    # what costs nothing to say does not fill the disk
    assert (g.data / "spider/results.jsonl").read_bytes().count(b"\n") == 10000


def test_no_more_is_read_than_memory_has_room_for(garner):
    net = simnet.start(garner(), hosts=1, pages=1, delay="60ms", **PLAIN)
    net.set(0, "profile", "hang")
    g = spider(garner, net, memory="1M")
    with Urlserver(g.where) as us:
        us.socket.settimeout(3)
        with pytest.raises(OSError):
            for i in range(1000):
                us.send(f"t{i}", f"d{i}", net.address(0), net.url(0, "/" + "x" * 7800))
        wait_for("URLs", lambda: counter(g, "urls_under_way") > 50, every=0.2)
        assert counter(g, "urls_under_way") < 100


def test_a_spider_that_is_stopped_and_started_goes_on_in_the_same_files(garner):
    net = simnet.start(garner(), hosts=2, pages=2, delay="60ms", **PLAIN)
    g = spider(garner, net)
    with Urlserver(g.where) as us:
        us.send("1.1", "d1", net.address(0), net.url(0))
        us.wait_done("1.1")
        second = g.run("spider", "-s", f"spider.listen=unix:{g.dir}/other", timeout=20)
        assert second.code == 5, second.err
        g.process.stop()
        wait_for("hung up", lambda: us.closed)
    path = Path(g.dir) / "results" / "results.jsonl"
    path.write_bytes(path.read_bytes() + b'{"url":"half a li')
    g.start("spider").wait_ready(30)
    with Urlserver(g.where) as us:
        us.send("1.2", "d2", net.address(1), net.url(1))
        us.wait_done("1.2")
    assert set(results(g)) == {"d1", "d2"}


@pytest.fixture
def small(tmp_path):
    """A file system of 1 MiB."""
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", tmp_path],
                                 capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system may be mounted by root only")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def test_a_full_disk_is_waited_for(garner, small):
    net = simnet.start(garner(), hosts=3, pages=2, delay="60ms", **PLAIN)
    g = spider(garner, net, env={"GARNER_DISK_FREE": "0"}, results=f"dir:{small}", status_words="yes",
               status_interval="100ms")
    filler = small / "filler"
    with Urlserver(g.where) as us:
        us.send("before", "d", net.address(0), net.url(0))
        us.wait_done("before")
        filler.write_bytes(bytes(os.statvfs(small).f_bfree * os.statvfs(small).f_frsize))
        for i in range(3):
            us.send(f"full{i}", f"d{i}", net.address(i), net.url(i))
        g.process.wait_line("fetching paused why=.*No space left on device")
        wait_for("WORKING", lambda: us.working["full2"] >= 20)  # longer than three tries take
        assert set(us.done) == {"before"}
        filler.unlink()
        us.wait_done("full0", "full1", "full2")
        g.process.wait_line("disk no longer full; fetching resumed")
        assert set(us.done.values()) == {"ok"}
        lines = [json.loads(line) for line in (small / "results.jsonl").read_text().splitlines()]
        assert sorted(r["doc_id"] for r in lines) == ["d", "d0", "d1", "d2"]
    assert len(g.process.lines("fetching paused")) == 1
    net.check_polite()


@pytest.mark.parametrize("point, times", [("file.write/results.jsonl", 1), ("file.sync/results.jsonl", 2)])
def test_lines_that_find_no_room_are_written_again_and_a_failed_sync_has_kept_nothing(garner, point, times):
    """After the sync the document is fetched once more: nobody knows whether it is on disk."""
    net = simnet.start(garner(), hosts=1, pages=2, delay="60ms", **PLAIN)
    g = spider(garner, net, env={"GARNER_FAULTS": f"{point}=enospc"}, status_words="yes")
    with Urlserver(g.where) as us:
        us.send("1.1", "d1", net.address(0), net.url(0))
        g.process.wait_line("fetching paused why=.*No space left on device")
        us.send("wrong", "d2", "nowhere", net.url(0))
        us.wait_done("1.1", "wrong")
        assert us.done == {"1.1": "ok", "wrong": "permanent"}
    lines = (Path(g.dir) / "results" / "results.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["doc_id"] for line in lines) == ["d1", "d2"]
    wait_for("fetches", lambda: counter(g, "documents") == times, every=0.2)
    assert len(g.process.lines("fetching paused")) == 1


@pytest.mark.parametrize("settings, words", [
    ("listen = 0.0.0.0:0", "tls_shared_key"), ("results = nowhere", "results: expected dir:PATH, got 'nowhere'"),
    ("results = dir:", "expected dir:PATH")])
def test_what_cannot_work_is_said_before_anything_runs(garner, settings, words):
    g = garner()
    listen = "" if "listen" in settings else f"listen = unix:{g.dir}/spider\n"
    g.configure(f"[spider]\n{listen}{settings}\n")
    done = g.run("config", "check")
    assert done.code == 2 and words in done.err, done.err
    done = g.run("spider", timeout=20)
    assert done.code == 2 and words in done.err, done.err


def test_a_proxy_and_a_spider_do_not_go_together(garner):
    """The proxy would ask servers at other addresses than the URL server says. Who runs no spider may have one."""
    proxy = "[robot]\nproxy = http://127.0.0.1:1\n"
    g = garner(config=f"{proxy}[spider]\nlisten = unix:x\n")
    done = g.run("spider", timeout=20)
    assert done.code == 2 and "robot.proxy is set, and a spider is to run" in done.err, done
    for more, code in (("[spider]\nlisten = unix:x\n", 2), ("[up]\nroles = spider\n", 2), ("[up]\nroles = spider@1\n", 2),
                       ("[up]\nroles = web\n", 0)):
        done = garner(config=proxy + more).run("config", "check")
        assert done.code == code and ("robot.proxy is set" in done.err) == (code == 2), (more, done)
