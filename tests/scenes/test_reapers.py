"""Reapds: machines that fetch for the crawl of another, as a user sees them."""
import simnet
from garner import wait_for

HOSTS, PAGES = 12, 12


def reapd(make, net, env=None):
    g = make()
    g.configure(f"[robot]\nnetworks = {net.network}\n[reapd]\nlisten = unix:{g.dir}/reapd\n")
    g.start("reapd", env=env).wait_ready(30)
    return f"unix:{g.dir}/reapd"


def master(g, net, reapers_of, **settings):
    more = "\n".join(f"{k} = {v}" for k, v in settings.items())
    g.configure(f"""
[robot]
networks = {net.network}
dns_servers = {net.dns}
dns_order = ipv4
delay = 60ms
[shepherd]
follow = all
cycle = 3s
lease = 1s
reapers = {' '.join(reapers_of)}
{more}
""")
    shepherd = g.start("shepherd").wait_ready(30)
    wait_for("all reapers", lambda: [r["state"] for r in reapers(g).values()].count("up") >= len(reapers_of), 20)
    g.run("add", *(net.url(i) for i in range(net.hosts)))
    return shepherd


def reapers(g):
    done = g.run("shep", "reapers", "--json")
    return {r["name"]: r for r in done.json()} if done.code == 0 else {}


def test_three_reapds_share_a_crawl(garner):
    g = garner()
    net = simnet.start(g, hosts=HOSTS, pages=PAGES, seed=5, delay="30ms", crawl_delay=0,
                       profiles="plain=1", robots="open=1")
    names = [reapd(garner, net) for _ in range(3)]
    master(g, net, names)
    want = len(net.expect())
    wait_for("all documents", lambda: sum(r["documents"] for r in reapers(g).values()) >= want, 60)
    wait_for("nothing out", lambda: not any(r["out"] for r in reapers(g).values()), 20)
    got = reapers(g)
    assert got["local"]["jobs"] == 0 and got["local"]["state"] == "waits"
    shares = [got[n]["jobs"] for n in names]
    assert max(shares) <= 1.1 * min(shares), shares
    net.check_polite()


def test_a_reapd_that_lies_is_named_and_the_crawl_goes_on(garner):
    g = garner()
    net = simnet.start(g, hosts=4, pages=4, seed=5, delay="30ms", crawl_delay=0,
                       profiles="plain=1", robots="open=1")
    liar = reapd(garner, net, env={"GARNER_FAULTS": "lie.url=lie@5"})
    shepherd = master(g, net, [liar], reapers_wait="1s")
    shepherd.wait_line(f"reaper lied; ignored peer={liar} for=10min .*another URL", 30)
    want = len(net.expect())
    wait_for("all documents", lambda: sum(r["documents"] for r in reapers(g).values()) >= want, 60)
    got = reapers(g)
    assert got[liar]["state"] == "punished" and got["local"]["state"] == "up"
    assert liar in g.run("shep", "reapers").out
    net.check_polite()


def test_a_proxy_and_reapds_do_not_go_together(garner):
    g = garner()
    done = g.run("-s", "robot.proxy=http://127.0.0.1:1", "-s", "shepherd.reapers=127.0.0.1:8188", "shepherd")
    assert done.code == 2 and "robot.proxy and shepherd.reapers" in done.err


def test_a_reapd_and_its_master_need_two_data_directories(garner):
    """In one run/polite the lease of the master would put off every job of the reapd, for ever."""
    g = garner()
    g.configure("[reapd]\nlisten = unix:reapd\n")
    for first, second in (("shepherd", "reapd"), ("reapd", "shepherd")):
        runs = g.start(first).wait_ready()
        refused = g.run(second)
        assert refused.code == 5
        assert f"garner {first} runs on this data directory (process {runs.pid})" in refused.err
        assert "-s data=DIR" in refused.err
        assert runs.stop() == 0


def test_the_check_of_the_settings_looks_at_keys_and_at_who_could_connect(garner):
    """What would stop the start of a shepherd or a reapd stops the check, with the same words."""
    g = garner(config="")
    key = g.dir / "key"

    def check(*settings):
        return g.run(*(a for s in settings for a in ("-s", s)), "config", "check")
    for section in ("shepherd", "reapd"):
        lost = check(f"{section}.tls_shared_key={key}")
        assert lost.code == 2 and f"{section}: " in lost.err and str(key) in lost.err
    key.write_text("a" * 64 + "\n")
    key.chmod(0o644)
    read_by_all = check(f"reapd.tls_shared_key={key}")
    assert read_by_all.code == 2 and str(key) in read_by_all.err
    key.chmod(0o600)
    assert check(f"reapd.tls_shared_key={key}", f"shepherd.tls_shared_key={key}", "reapd.listen=*:8188").code == 0
    for address in ("*:8188", "192.0.2.7:8188", "[2001:db8::7]:8188"):
        seen = check(f"reapd.listen={address}")
        assert seen.code == 2 and f"reapd: listen: other machines reach {address}" in seen.err
    assert [check(f"reapd.listen={a}").code for a in ("127.0.0.1:8188", "[::1]:1", "unix:x", "")] == [0] * 4


def test_the_url_log_has_what_a_reap_judged_when_it_ends(garner):
    g = garner()
    net = simnet.start(g, hosts=1, pages=1, seed=5, delay="30ms", profiles="plain=1", robots="open=1")
    g.configure(f"""
[robot]
networks = {net.network}
dns_servers = {net.dns}
dns_order = ipv4
[shepherd]
cycle = 1h
url_log = {g.dir}/urls
""")
    g.run("add", "http://nosuch.sim.test/")
    g.start("shepherd").wait_ready()
    wait_for("an error", lambda: "state:        error" in g.run("why", "http://nosuch.sim.test/").out, 20)
    assert "http://nosuch.sim.test/: 2103 " in (g.dir / "urls").read_text()


def test_a_reapd_that_is_not_there_is_named_and_the_doctor_knows(garner):
    g, there = garner(), garner()
    there.configure(f"[reapd]\nlisten = unix:{there.dir}/reapd\n")
    g.configure(f"[shepherd]\nreapers = unix:{there.dir}/reapd\n")
    shepherd = g.start("shepherd").wait_ready()
    shepherd.wait_line("reaper away; reconnecting .*reapd")
    sick = g.run("doctor")
    assert f"unix:{there.dir}/reapd is away" in " ".join(sick.out.split())
    runs = there.start("reapd").wait_ready()
    shepherd.wait_line("reaper connected peer=.* capacity=1000")
    wait_for("the doctor to see it", lambda: "1 of other machines, all there" in g.run("doctor").out)
    assert runs.stop() == 0
    shepherd.kill()
    done = g.run("shep", "reapers")
    assert (done.code, done.out) == (1, "") and "does not run" in done.err


def test_a_reapd_that_may_not_ask_our_servers_is_refused_and_pages_are_not_judged(garner):
    g, other = garner(), garner()
    net = simnet.start(g, hosts=2, pages=3, seed=5, delay="30ms", crawl_delay=0, profiles="plain=1",
                       robots="open=1")
    other.configure(f"[reapd]\nlisten = unix:{other.dir}/reapd\n")  # without robot.networks
    other.start("reapd").wait_ready()
    name = f"unix:{other.dir}/reapd"
    shepherd = master(g, net, [name], reapers_wait="1s")
    shepherd.wait_line(f"robot.networks of the reaper forbid .* peer={name} server=127", 30)
    want = len(net.expect())
    wait_for("all documents", lambda: reapers(g)["local"]["documents"] >= want, 60)
    assert reapers(g)[name]["state"] == "refused"
    net.check_polite()
