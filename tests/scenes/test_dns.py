"""DNS against dnsmasq: a real server's answers, over UDP and TCP."""
import re
import subprocess

import pytest

import garner as real
import peers

MANY = [f"198.41.{i // 250}.{i % 250 + 1}" for i in range(150)]  # too many for a datagram


@pytest.fixture
def server(garner):
    """Starts dnsmasq with options of its own; returns the port."""
    g = garner()

    def start(*options):
        return peers.name_server(g, *options)[1]
    start.garner = g
    return start


def ask(port, *hosts, code=0, **settings):
    """Lines of dns-ask by (how, host): (outcome, reason, seconds, addresses)."""
    keys = {"dns_servers": f"127.0.0.1:{port}", "dns_timeout": "500ms", **settings}
    done = subprocess.run([real.BUILD / "tests" / "dns-ask",
                           *(f"{k}={v}" for k, v in keys.items()), "--", *hosts],
                          capture_output=True, text=True, timeout=30,
                          env=real.clean_environment())
    assert done.returncode == code, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        how, host, outcome, why, holds, addresses = re.fullmatch(
            r"(\w+) (\S*): (.*?); (.*?); (-?\d+);(.*)", line).groups()
        found[how, host] = (outcome, why, int(holds), addresses.split())
    return found


def test_names_of_both_families_are_found_and_then_known(server):
    port = server("--host-record=a.test,8.8.8.8,2606:4700::1", "--host-record=b.test,8.8.4.4",
                  "--cname=alias.test,a.test")
    got = ask(port, "a.test", "b.test", "alias.test", "none.test")
    assert got["asked", "a.test"] == ("found", "-", 300, ["8.8.8.8", "2606:4700::1"])
    assert got["cached", "a.test"] == got["asked", "a.test"]
    assert got["asked", "b.test"] == ("found", "-", 300, ["8.8.4.4"])
    assert got["asked", "alias.test"][3] == ["8.8.8.8", "2606:4700::1"]
    assert got["asked", "none.test"][0] == "no such name"
    assert got["cached", "none.test"][0] == "no such name"


def test_a_name_that_leads_inside_is_refused_unless_its_network_is_named(server):
    port = server("--host-record=inside.test,127.0.0.1", "--host-record=cloud.test,169.254.169.254",
                  "--address=/mixed.test/10.0.0.1", "--address=/mixed.test/8.8.8.8")
    got = ask(port, "inside.test", "cloud.test", "mixed.test", "127.0.0.1", "localhost")
    assert got["asked", "inside.test"][:2] == ("refused by policy", "loopback")
    assert got["asked", "cloud.test"][:2] == ("refused by policy", "metadata")
    assert got["asked", "mixed.test"][3] == ["8.8.8.8"]
    assert got["known", "127.0.0.1"][:2] == ("refused by policy", "loopback")
    assert got["known", "localhost"][:2] == ("refused by policy", "loopback")
    got = ask(port, "inside.test", "cloud.test", "localhost", networks="127.0.0.0/8,169.254.0.0/16")
    assert got["asked", "inside.test"][3] == ["127.0.0.1"]
    assert got["asked", "cloud.test"][:2] == ("refused by policy", "metadata")
    assert got["known", "localhost"][3] == ["127.0.0.1"]


def test_an_answer_too_large_for_a_datagram_comes_by_tcp(server):
    port = server(*(f"--host-record=many.test,{a}" for a in MANY))
    outcome, _, _, addresses = ask(port, "many.test", dns_order="ipv4")["asked", "many.test"]
    assert outcome == "found"
    assert len(addresses) == 16 and set(addresses) <= set(MANY)


def test_the_second_server_answers_where_the_first_is_dead(server):
    port = server("--host-record=a.test,8.8.8.8")
    dead = real.free_port()
    got = ask(port, "a.test", dns_servers=f"127.0.0.1:{dead},127.0.0.1:{port}")
    assert got["asked", "a.test"][3] == ["8.8.8.8"]
    got = ask(dead, "a.test", dns_tries=1)
    assert got["asked", "a.test"][0] == "temporary failure"
    assert got["asked", "a.test"][2] == 30


def test_a_refusing_server_is_a_temporary_failure(server):
    got = ask(server(), "elsewhere.example")  # nothing to forward to: REFUSED
    assert got["asked", "elsewhere.example"][0] == "temporary failure"


def test_a_thousand_names_at_once_are_all_found(server):
    g = server.garner
    hosts = g.dir / "hosts"
    hosts.write_text("".join(f"8.{i >> 8}.{i & 255}.1 n{i}.test\n" for i in range(1000)))
    port = server(f"--addn-hosts={hosts}")
    got = ask(port, *(f"n{i}.test" for i in range(1000)))
    assert sum(how == "asked" for how, _ in got) == 1000
    for i in range(1000):
        assert got["cached", f"n{i}.test"][3] == [f"8.{i >> 8}.{i & 255}.1"]


def test_wrong_settings_are_named():
    def refused(**settings):
        done = subprocess.run([real.BUILD / "tests" / "dns-ask",
                               *(f"{k}={v}" for k, v in settings.items()), "--"],
                              capture_output=True, text=True, timeout=30,
                              env=real.clean_environment())
        assert done.returncode == 2
        return done.stderr
    assert "got 'ns.example'" in refused(dns_servers="ns.example")
    assert "say 10.0.0.0/8" in refused(networks="10.1.0.0/8")
    assert "1 to 10" in refused(dns_tries="0")
