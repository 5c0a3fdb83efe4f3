"""The list of archives: garner archie sites, and what doctor says of it."""
import os
import time

import pytest

import garner as real
import peers
from archives import HERE, Odd, Reply, settings


@pytest.fixture
def master():
    odd = Odd({})
    yield odd
    odd.stop()


def rows(g):
    """The sites by their keys."""
    return {row["key"]: row for row in g.run("archie", "sites", "list", "--json").json()}


def lines(count, first=1):
    return "".join(f"ftp://s{i}.test/ 192.0.2.{i}\n" for i in range(first, first + count))


def test_sites_are_added_listed_and_removed(garner):
    g = garner(settings())
    assert g.run("archie", "sites", "list").code == 1
    added = g.run("archie", "sites", "add", f"http://{HERE}:8080/pub", "--tz", "+01:00", "--os", "unix")
    assert added.code == 0 and f"http://{HERE}:8080/pub/ {HERE} tz=+01:00 os=unix" in added.out
    assert g.run("archie", "sites", "add", f"http://{HERE}:8080/pub/").code == 1
    assert g.run("archie", "sites", "add", "ftp://ftp.cs.pdx.edu", "--address", "131.252.21.14").code == 0
    taken = g.run("archie", "sites", "add", "ftp://other.test", "--address", "131.252.21.14")
    assert taken.code == 2 and "ftp://ftp.cs.pdx.edu/" in taken.err
    assert g.run("archie", "sites", "add", "http://ftp.cs.pdx.edu", "--address", "131.252.21.14").code == 0
    got = rows(g)
    pub = f"{HERE}+http+pub,8080-{HERE}"
    assert sorted(got) == [pub, "ftp.cs.pdx.edu+http-131.252.21.14", "ftp.cs.pdx.edu-131.252.21.14"]
    assert (got[pub]["tz"], got[pub]["os"]) == (3600, "unix")
    assert all(row["local"] and row["entries"] == 0 for row in got.values())
    shown = g.run("archie", "sites", "list").out
    assert "ftp.cs.pdx.edu-131.252.21.14" in shown and "ENTRIES" in shown
    assert g.run("archie", "sites", "remove", "ftp.cs.pdx.edu").code == 2  # two have this name
    assert g.run("archie", "sites", "remove", "ftp://ftp.cs.pdx.edu/").code == 0
    assert g.run("archie", "sites", "remove", "ftp://ftp.cs.pdx.edu/").code == 1
    assert len(rows(g)) == 2
    assert g.run("archie", "sites", "add", "http://no.such.name.test/").code == 6
    assert g.run("archie", "sites", "add", "http://10.1.2.3/").code == 2  # not public, and not named


def test_what_cannot_be_a_site_is_named(garner):
    g = garner(settings())
    there = ("--address", "192.0.2.1")
    for url, args, why in (("ftp://anna:secret@a.test/", there, "no user name"),
                           ("http://a.test/pub/ls-lR.gz", there, "http://a.test/pub/ls-lR.gz: name the folder"),
                           ("http://a.test/", ("--address", "192.0.2.1:80"), "--address: expected an address"),
                           ("http://a.test/", (*there, "--name", "../x"), "name: '../x' is not a host name"),
                           ("http://a.test/", (*there, "--name", "a b"), "is not a host name"),
                           ("http://10.1.2.3/", (), "10.1.2.3: its address is not public"),
                           ("ftp.a.test", there, "write it in full")):
        done = g.run("archie", "sites", "add", url, *args)
        assert done.code == 2 and why in done.err and "secret" not in done.err, done.err
    assert not (g.data / "archie/sites.local").exists()
    assert g.run("archie", "sites", "add", "ftp://anonymous@a.test/", "--address", "::ffff:192.0.2.1").code == 0
    assert (g.data / "archie/sites.local").read_text() == "ftp://a.test/ 192.0.2.1\n"
    # what the getter brought waits for the builder, which takes sites by any of their names
    (g.data / "archie/lslr").mkdir()
    (g.data / "archie/lslr/a.test-192.0.2.1").write_text("-rw-r--r-- 1 a b 1 Jan  5  1994 file\n")
    assert "build" in g.run("archie", "sites", "list").out.splitlines()[1].split()
    assert g.run("archie", "build", "ftp://a.test/").code == 0
    done = g.run("archie", "build")
    assert done.code == 1 and "no listing waits" in done.err


def test_sites_are_shown_without_what_the_getter_remembers(garner):
    g = garner(settings())
    assert g.run("archie", "sites", "add", "ftp://a.test/", "--address", "192.0.2.1").code == 0
    (g.data / "garner.db").write_bytes(b"SQLite format 3, cut")
    for command in (("archie", "sites", "list"), ("why", "ftp://a.test/x")):
        done = g.run(*command)
        assert done.code in (0, 1) and "a.test-192.0.2.1" in done.out and "garner.db" in done.err


def test_a_new_list_keeps_edits_and_must_not_have_lost_a_fifth(garner, master):
    g = garner(settings())
    get = ("archie", "sites", "get", master.url + "sites")
    none = g.run(*get)
    assert none.code == 6 and none.err.endswith("/sites: permanent (404)\n")
    master.replies["/sites"] = Reply(("# sites\n" + lines(10) + "nonsense\n").encode())
    first = g.run(*get)
    assert first.code == 0 and first.out.count("+ ftp://") == 10
    assert "the new list:12: " in first.err
    (g.data / "archie" / "sites.local").write_text("# mine\n- s3.*\nftp://mine.test/ 192.0.2.99\n")
    assert g.run("archie", "sites", "remove", "ftp://s4.test/").code == 0
    assert len(rows(g)) == 9
    local = (g.data / "archie" / "sites.local").read_text()
    master.replies["/sites"] = Reply((lines(9) + lines(3, 20)).encode())
    again = g.run(*get, "--json").json()
    assert (again["removed"], len(again["added"]), again["taken"]) == (["ftp://s10.test/"], 3, True)
    before = (g.data / "archie" / "sites").read_text()
    master.replies["/sites"] = Reply(lines(9).encode())  # 3 of 12
    refused = g.run(*get)
    assert refused.code == 2 and "--force" in refused.err and "- ftp://s20.test/" in refused.out
    assert (g.data / "archie" / "sites").read_text() == before
    assert g.run(*get, "--force").code == 0
    assert (g.data / "archie" / "sites").read_text() == lines(9)
    assert (g.data / "archie" / "sites.local").read_text() == local
    assert "s3.test-192.0.2.3" not in rows(g) and "mine.test-192.0.2.99" in rows(g)


def test_a_new_list_says_how_many_addresses_are_others(garner, master):
    g = garner(settings())
    get = ("archie", "sites", "get", master.url + "sites")
    master.replies["/sites"] = Reply(lines(3).encode())
    assert g.run(*get).code == 0
    master.replies["/sites"] = Reply(lines(3).replace("192.0.2.1", "192.0.2.77").replace("192.0.2.2", "192.0.2.78").encode())
    told = g.run(*get)
    assert told.code == 0 and told.out.endswith(" 2 changed, 2 of them with another address\n")


def test_a_list_that_is_too_large_is_told_with_its_bound(garner, master):
    g = garner(settings())
    master.replies["/sites"] = Reply(b"#" * ((32 << 20) + 1))
    done = g.run("archie", "sites", "get", master.url + "sites")
    assert done.code == 6 and "larger than 32 MiB" in done.err and "body_max" not in done.err


def test_bad_lines_and_an_old_list_are_reported(garner):
    g = garner(settings())
    found = {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}
    assert "archives" not in found
    (g.data / "archie").mkdir(parents=True)
    (g.data / "archie" / "sites").write_text("ftp://a.test/ 192.0.2.1\nftp://b.test/ nowhere\n")
    shown = g.run("archie", "sites", "list")
    assert shown.code == 0 and "sites:2: " in shown.err and "a.test-192.0.2.1" in shown.out
    found = {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}
    assert found["archives"]["level"] == "warn" and "sites:2" in found["archives"]["reason"]
    (g.data / "archie" / "sites").write_text("ftp://a.test/ 192.0.2.1\n")
    for days, level in ((30.9, "ok"), (31.1, "warn")):
        at = time.time() - days * 86400
        os.utime(g.data / "archie" / "sites", (at, at))
        found = {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}
        assert found["archives"]["level"] == level
    assert "garner archie sites get" in found["archives"]["mend"]


def test_a_site_is_named_by_the_end_of_its_chain_of_aliases(garner):
    peer, port = peers.need("dnsmasq-base"), real.free_port()
    g = garner(settings().replace("127.0.0.1:9", f"127.0.0.1:{port}"))
    peer.start(g, "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
               "--log-queries", "--log-facility=-", "--user=", "--group=", "--pid-file=",
               "--listen-address=127.0.0.1", "--bind-interfaces", f"--port={port}", "--local=/test/",
               "--host-record=real.test,127.0.0.9", "--cname=ftp.test,alias.test",
               "--cname=alias.test,real.test").wait_line("started")
    assert g.run("archie", "sites", "add", "ftp://ftp.test/").code == 0
    assert list(rows(g)) == ["real.test-127.0.0.9"]
    assert "ftp://ftp.test/ 127.0.0.9 name=real.test" in (g.data / "archie" / "sites.local").read_text()
    again = g.run("archie", "sites", "add", "ftp://alias.test/")  # the same server
    assert again.code == 2 and "FTP site already" in again.err
