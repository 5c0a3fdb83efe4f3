"""Processes that fetch and are killed: no server is asked too early or by two at once, and none is
lost for long. The servers themselves (simnet) say so."""
import json

import pytest

import simnet
from kill.fetch_rounds import Rounds

SHORT, LONG = 20, 300


@pytest.mark.limit(400)
def test_killed_at_any_time_no_server_is_asked_too_early(garner, seed, long_run):
    with Rounds(garner(), seed) as rounds:
        many = LONG if long_run else SHORT
        # a busy machine may kill them before they ask: it takes more rounds
        while rounds.kills < many or rounds.check()["requests"] < 10 * SHORT:
            rounds.kill_some()
        rounds.check()
        rounds.settle()


def test_two_at_once_on_the_same_list_never_meet(garner):
    g = garner()
    net = simnet.start(g, hosts=20, pages=6, delay="50ms", odd_pages=0, appear=0, vanish=0,
                       profiles="plain", robots="open")
    g.configure(f"[robot]\nnetworks = {net.network}\ndns_servers = {net.dns}\ndns_order = ipv4\n"
                "delay = 80ms\n")  # more than is owed: see fetch_rounds.py
    urls = [p["url"] for p in net.truth()]
    (g.dir / "list").write_text("".join(u + "\n" for u in urls))
    both = [g.start("fetch", "--json", "--from", "list") for _ in range(2)]
    for p in both:
        assert p.wait(100) == 0
        got = [json.loads(line) for line in p.lines("^{")]
        assert sorted(r["url"] for r in got) == sorted(urls)
        assert {r["outcome"] for r in got} == {"ok"}
    report = net.check_polite()
    assert report["requests"] >= 2 * len(urls)
