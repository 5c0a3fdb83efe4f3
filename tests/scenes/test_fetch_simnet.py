"""garner fetch on a synthetic internet: what a list of its pages ends in, and how politely."""
import json

import pytest

import simnet

# What garner keeps, and what simnet calls too early. Between garner's note of a request and its
# first byte a busy machine may run others: the difference is for that.
DELAY, OWED = "80ms", "50ms"
# Hosts that answer; each kind of robots.txt that does.
ANSWER = "plain=12,slow=1,calendar=1,mirror=1,soft404=1"
ROBOTS = ("some=6,open=2,empty=1,absent=2,forbidden=1,wild=2,named=2,delay=1,moved=1,huge=1,"
          "garbage=1,deny=2")
# Hosts that do not, and how their URLs end. Trouble doubles the delay: two URLs of each are enough.
TROUBLE = {
    "hang": ("site-temporary", "robots-unreachable"),
    "refuse": ("site-temporary", "robots-unreachable"),
    "reset": ("site-temporary", "robots-unreachable"),
    "broken": ("temporary", "answer"),
    "nxdomain": ("site-permanent", "no-name"),
    "servfail": ("site-temporary", "dns"),
}


def settings(net, **more):
    keys = {"networks": net.network, "dns_servers": net.dns, "dns_order": "ipv4", "delay": DELAY,
            "idle_max": "1s", "time_max": "5s", **more}
    return "[robot]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items())


def fetch(g, pages, *options):
    (g.dir / "list").write_text("".join(p["url"] + "\n" for p in pages))
    done = g.run("fetch", "--json", "--from", "list", *options, timeout=50)
    assert done.code in (0, 3, 6), done
    results = [json.loads(line) for line in done.out.splitlines()]
    assert sorted(r["url"] for r in results) == sorted(p["url"] for p in pages), "each once"
    return {r["url"]: r for r in results}


def ends_as(page):
    """Outcome and status of a page of a host that answers. A redirect is not followed."""
    if not page["allowed"]:
        return "robots", None
    status = page["status"]
    if status < 300:
        return "ok", status
    if status < 400:
        return "redirect", status
    return {404: "permanent", 410: "permanent", 500: "temporary",
            503: "site-temporary"}[status], status


def test_every_allowed_page_comes_and_no_other_is_asked_for(garner):
    g = garner()
    net = simnet.start(g, hosts=30, pages=9, delay=OWED, seed=3, profiles=ANSWER, robots=ROBOTS,
                       crawl_delay=0)
    g.configure(settings(net))
    pages = net.truth()
    assert len({p["robots"] for p in pages}) >= 8
    assert sum(not p["allowed"] for p in pages) >= 15
    got = fetch(g, pages, "--no-follow")
    wrong = [(p["url"], p["profile"], p["robots"], p["kind"], ends_as(p),
              got[p["url"]]["outcome"], got[p["url"]].get("status"))
             for p in pages
             if (got[p["url"]]["outcome"], got[p["url"]].get("status")) != ends_as(p)]
    assert not wrong
    report = net.check_polite()
    assert report["requests"] - report["robots"] >= sum(p["allowed"] for p in pages)


def test_redirects_are_followed_as_politely(garner):
    g = garner()
    net = simnet.start(g, hosts=30, pages=12, delay=OWED, seed=5, profiles="plain=3,moved=1",
                       robots=ROBOTS, crawl_delay=0)
    g.configure(settings(net))
    pages = [p for p in net.truth() if p["status"] in (301, 302, 303, 307, 308)]
    assert len(pages) >= 20
    got = fetch(g, pages)
    followed = [r for r in got.values() if r.get("redirects") and r["outcome"] == "ok"]
    assert len(followed) >= 10
    forbidden = [p for p in pages if not p["allowed"]]
    assert forbidden
    for p in forbidden:
        assert got[p["url"]]["outcome"] == "robots", p
    net.check_polite()


@pytest.mark.parametrize("profile", TROUBLE)
def test_a_host_in_trouble_is_told_from_others(garner, profile):
    g = garner()
    net = simnet.start(g, hosts=2, pages=4, delay=OWED, odd_pages=0, appear=0, vanish=0,
                       profiles="plain", robots="open")
    net.set(1, "profile", profile)
    g.configure(settings(net))
    pages = net.truth(0) + net.truth(1)[:2]
    got = fetch(g, pages)
    for p in pages:
        r = got[p["url"]]
        want = TROUBLE[profile] if p["url"].startswith(net.url(1, "")) else ("ok", "answer")
        assert (r["outcome"], r["cause"]) == want, r
    net.check_polite()


def test_a_server_that_says_when_to_come_back_is_left_alone_until_then(garner):
    g = garner()
    net = simnet.start(g, hosts=2, pages=10, delay=OWED, odd_pages=0, appear=0, vanish=0,
                       profiles="plain", robots="open", retry_after=1)
    net.set(1, "profile", "limited")
    g.configure(settings(net))
    got = fetch(g, net.truth())
    assert [r for r in got.values() if r.get("status") == 429]
    assert net.check_polite()["status"]["429"] >= 1
