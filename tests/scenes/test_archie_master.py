"""The master: requests for new sites by command and by mail, the five steps, the list and who gets it, tests from
time to time."""
import gzip
import json
import os
import re

import pytest

import archives
import peers
from archives import Ftpd, settings
from garner import ROOT, free_port, shifted, wait_for
from smtp import fails, sendmail, sent

LISTING = "-rw-r--r-- 1 root root 5 Jan  1  2020 file\r\ndrwxr-xr-x 2 root root 1 Jan  1  2020 pub\r\n" \
          "\r\n./pub:\r\n-rw-r--r-- 1 root root 7 Jan  1  2020 inner\r\n"
BOUNCE = "Return-Path: <>\nFrom: MAILER-DAEMON@x.test\nContent-Type: multipart/report; boundary=b\n"


@pytest.fixture
def ftp():
    """Makes FTP servers, each at an address of its own."""
    made = []

    def make(**how):
        made.append(Ftpd(**{"all": LISTING, "address": f"127.0.0.{20 + len(made)}", **how}))
        made[-1].host = made[-1].url[6:-1]
        return made[-1]
    yield make
    for one in made:
        one.stop()


@pytest.fixture
def master(garner):
    def make(*settings_, **archie):
        g = garner()
        g.configure(settings("[archie-master]", *settings_, "[mail]", f"via = {sendmail(g)}", **archie))
        g.role = g.start("archie-master").wait_ready()
        return g
    return make


def listed(g):
    path = g.data / "archie/public/sites"
    return path.read_text().splitlines() if path.exists() else []


def mail(g, text):
    done = g.run("archie", "newsite", "--mail", input=text)
    assert done.code == 0, done
    return done.err


def answer(g, n=1):
    wait_for("an answer", lambda: len(sent(g)) >= n)
    assert len(sent(g)) == n
    return sent(g)[-1]


def test_a_site_is_tested_and_listed_and_its_asker_told(master, ftp):
    g, one = master(), ftp()
    dry = g.run("archie", "newsite", "--dry-run", one.host)
    assert dry.code == 0 and f"would be listed: {one.url} {one.address}" in dry.out and "3 entries (LIST -lR)" in dry.out
    assert listed(g) == [] and os.listdir(g.data / "archie/newsites") == ["dry-run"]
    done = g.run("archie", "newsite", one.host)
    assert done.code == 0 and done.out == f"{one.url} is in the list of sites; its listing has 3 entries\n", done
    assert listed(g) == [f"{one.url} {one.address}"]
    assert (g.data / "archie/public/sites").stat().st_mode & 0o777 == 0o644
    again = g.run("archie", "newsite", one.url)
    assert again.code == 0 and "is in the list" in again.out
    assert g.run("archie", "newsite", "--dry-run", one.host).code == 1
    other = g.run("archie", "newsite", f"{one.address}:{free_port(one.address)}")  # the same address
    assert other.code == 1 and f"known, its address has {one.url} already" in other.out
    assert os.listdir(g.data / "archie/newsites") == ["dry-run"]
    for folder in ("lslr", "failed", "tmp"):
        assert os.listdir(g.data / "archie/master" / folder) == []
    shown = g.run("dump", g.data / "garner.db", "archie_master").out
    assert one.url in shown and "known" in shown
    done = g.run("dump", g.data / "garner.db", "archie_mister")
    assert done.code == 2 and re.search(r"no table archie_mister; it has: archie_master\b", done.err), done
    assert g.run("check").code in (0, 1)
    wait_for("its number", lambda: "1  sites\n" in g.run("status", "-v").out, every=0.1)
    assert g.role.stop() == 0


def test_what_cannot_be_indexed_is_refused_with_its_reason(master, ftp):
    g = master(idle_max="300ms")
    noise = b"this is not a listing at all\n" * 50
    cases = {f"127.0.0.3:{free_port('127.0.0.3')}": "robots-unreachable",
             "no.such.name.test": "dns",
             "10.1.2.3": "address",
             ftp(all=None).host: "",
             ftp(all=noise.decode(), files={"ls-lR.gz": (gzip.compress(noise), 1700000000)}).host: ""}
    for host, cause in cases.items():
        done = g.run("archie", "newsite", host)
        assert done.code == 6 and f"is not taken into the list of sites: {cause}" in done.out, done
        assert g.run("archie", "newsite", "--dry-run", host).code == 6
    assert listed(g) == []
    for host in ("a b", "ftp.test:25", "x/y", "-x", "ftp://a@b.test/"):
        assert g.run("archie", "newsite", "--", host).code == 2, host
    assert g.run("archie", "newsite").code == 2 and g.run("archie", "newsite", "--mail", "x.test").code == 2


def test_a_listing_that_the_site_keeps_is_read_before_it_is_listed(master, ftp):
    g = master()
    names = "".join(f"-rw-r--r-- 1 root root {i} Jan  1  2020 {i * i}\n" for i in range(99))
    good = ftp(all=None, files={"ls-lR.gz": (gzip.compress(names.encode()), 1700000000)})
    bad = ftp(files={"ls-lR": (b"no listing, but text\n" * 50, 1700000000)})
    assert "99 entries (ls-lR)" in g.run("archie", "newsite", "--dry-run", good.host).out
    assert "3 entries (LIST -lR)" in g.run("archie", "newsite", "--dry-run", bad.host).out


def test_requests_by_mail_are_answered_by_mail(master, ftp):
    g, one, two = master(host="master.test"), ftp(), ftp(all=None)
    mail(g, "From: archie-errors@archie.test\nReturn-Path: <archie-errors@archie.test>\nReply-To: ann@x.test\n"
         "Precedence: bulk\nAuto-Submitted: auto-generated\nMessage-ID: <7@archie.test>\nSubject: addnewsite\n\n"
         f"addnewsite {one.host}\n")
    got = answer(g)
    assert got["To"] == "ann@x.test" and got["In-Reply-To"] == "<7@archie.test>"
    assert got["Auto-Submitted"] == "auto-replied" and got["Precedence"] == "bulk"
    assert got["From"].endswith("archie-errors@master.test") and got["Subject"] == f"addnewsite {one.host}"
    assert f"{one.url} is in the list of sites; its listing has 3 entries." in got.get_payload()
    assert len(listed(g)) == 1
    mail(g, f"From: bob@x.test\nSubject: addnewsite {two.host}\n\n")
    refused = answer(g, 2)
    assert refused["To"] == "bob@x.test" and "is not taken into the list of sites: " in refused.get_payload()
    mail(g, f"From: bob@x.test\n\naddnewsite ftp.test:25\n")
    assert "not a port of an FTP server" in answer(g, 3).get_payload()
    # a server that does not say who asked: nobody is told
    three = ftp()
    mail(g, f"From: archie-errors@archie.test\nPrecedence: bulk\n\naddnewsite {three.host}\n")
    wait_for("the list", lambda: len(listed(g)) == 2)
    assert len(sent(g)) == 3


def test_an_answer_that_cannot_be_sent_waits_with_its_request(master, ftp):
    g, one = master(host="master.test"), ftp()
    fails(g, 75)
    mail(g, f"From: ann@x.test\nMessage-ID: <7@x.test>\nSubject: addnewsite {one.host}\n\n")
    mail(g, "From: bob@x.test\nMessage-ID: <7@x.test>\n\naddnewsite ftp.test:25\n")
    for who in "ann", "bob":
        g.role.wait_line(f"answer cannot be sent now; trying again later to={who}@x.test")
    assert len(listed(g)) == 1 and sent(g) == []
    told = [c for c in json.loads(g.run("doctor", "--json").out)["checks"] if c["name"] == "mails"]
    assert told[0]["reason"].startswith("2 answers of archie-master cannot be sent, the first for "), told
    assert g.role.stop() == 0
    fails(g, 0)
    one.stop()  # the site is not tested again for that
    role = g.start("archie-master", env=shifted(120)).wait_ready()
    wait_for("the answers", lambda: len(sent(g)) == 2)
    assert {m["To"] for m in sent(g)} == {"ann@x.test", "bob@x.test"}
    assert {m["In-Reply-To"] for m in sent(g)} == {"<7@x.test>"}
    assert any(f"{one.url} is in the list of sites" in m.get_payload() for m in sent(g))
    assert role.stop() == 0


def test_what_a_server_passes_on_is_what_the_master_takes(master, ftp, garner):
    g, one, server = master(), ftp(), garner()
    server.configure(f"[archie]\nhost = archie.test\nmaster = newsite@master.test\n[mail]\nvia = {sendmail(server)}\n")
    asks = server.run("archie", "mail", input=f"From: ann@x.test\n\naddnewsite {one.host}\n")
    assert asks.code == 0
    passed, = [m for m in sent(server) if m["To"] == "newsite@master.test"]
    mail(g, passed.as_string())
    assert answer(g)["To"] == "ann@x.test" and listed(g) == [f"{one.url} {one.address}"]


def test_nothing_is_taken_from_bounces_replies_and_lists(master, ftp):
    g, one = master(host="master.test"), ftp()
    text = f"\naddnewsite {one.host}\n"
    for head, why in {BOUNCE: "a report about a mail",
                      "From: MAILER-DAEMON@x.test\nReply-To: a@x.test\n": "from a mailer daemon",
                      "From: a@x.test\nAuto-Submitted: auto-replied\nPrecedence: bulk\n": "sent by a program",
                      "Precedence: bulk\nReturn-Path: <>\nReply-To: a@x.test\n": "without a sender",
                      "From: l@x.test\nList-Id: <l.x.test>\n": "from a list",
                      "Reply-To: archie@master.test\nPrecedence: bulk\n": "from ourselves",
                      "Subject: nothing\n": "from no address"}.items():
        assert why in mail(g, head + text), head
    assert "without a request" in mail(g, "From: a@x.test\nSubject: addnewsite\n\nhello\naddnewsite a b\n")
    for _ in range(20):
        assert "request stored" in mail(g, "From: eve@x.test\n\naddnewsite no.such.name.test\n")
    assert "too many requests" in mail(g, "From: EVE@x.test\n\naddnewsite no.such.name.test\n")
    assert listed(g) == [] and not any(m["To"] != "eve@x.test" for m in sent(g))


def test_what_is_asked_while_no_master_runs_is_kept(master, ftp):
    g, one = master(), ftp()
    assert g.role.stop() == 0
    done = g.run("archie", "newsite", one.host)
    assert done.code == 3 and "the request is kept" in done.out
    g.start("archie-master").wait_ready()
    wait_for("the list", lambda: listed(g))


def test_listed_sites_are_tested_anew_and_leave_when_they_fail_for_long(master, ftp):
    g = master("retest = 1s", "leave_after = 3s", retry_min="1s", retry_max="1s")
    one, two = ftp(), ftp()
    for site in (one, two):
        assert g.run("archie", "newsite", site.host).code == 0
    said = len(one.said)
    wait_for("another test", lambda: len(one.said) > said)
    one.stop()
    wait_for("its leaving", lambda: listed(g) == [f"{two.url} {two.address}"])
    assert g.role.wait_line("site left the list.*connect")
    shown = g.run("dump", g.data / "garner.db", "archie_master").out
    assert one.url in shown and "connect" in shown
    (g.data / "archie/master/sites.local").write_text("")  # the operator takes the other one out
    wait_for("the empty list", lambda: listed(g) == [])
    # one that no record has room for; the others are tested all the same
    (g.data / "archie/master/sites.local").write_text(f"ftp://127.0.0.9/{'a' * 400}/ 127.0.0.9\n{two.url} {two.address}\n")
    g.role.wait_line("site left out: its URL is too long")
    said = len(two.said)
    wait_for("its test", lambda: len(two.said) > said)
    assert listed(g) == [f"{two.url} {two.address}"]


def test_a_site_that_fails_for_89_days_stays(master, ftp):
    g, one = master(), ftp()
    assert g.run("archie", "newsite", one.host).code == 0
    assert g.role.stop() == 0
    one.stop()
    for days, stays in ((31, True), (31 + 89, True), (31 + 91, False)):
        role = g.start("archie-master", env=shifted(days * 86400)).wait_ready()
        role.wait_line("listed site failed its test")
        wait_for("the list", lambda: bool(listed(g)) == stays)
        assert role.stop() == 0


def test_servers_get_the_list_by_anonymous_ftp(master, ftp, garner):
    if os.getuid() != 0:
        pytest.skip("vsftpd drops privileges, which needs some")
    g, one, address, port = master(), ftp(), "127.0.0.5", free_port("127.0.0.5")
    assert g.run("archie", "newsite", one.host).code == 0
    for folder in (g.dir, g.data, g.data / "archie"):
        os.chmod(folder, 0o711)
    (g.dir / "none").mkdir()
    text = (ROOT / "etc/archie/vsftpd-archie.conf").read_text().replace("DATA/archie", f"{g.data}/archie")
    (g.dir / "vsftpd.conf").write_text(text + f"""background=NO
listen_address={address}
listen_port={port}
ftp_username=daemon
nopriv_user=nobody
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
secure_chroot_dir={g.dir}/none
vsftpd_log_file={g.dir}/vsftpd.log
xferlog_enable=NO
""")
    peers.need("vsftpd").start(g, "vsftpd", g.dir / "vsftpd.conf")
    archives.wait_port(port, address)
    server = garner(settings())
    got = server.run("archie", "sites", "get", f"ftp://{address}:{port}/sites")
    assert got.code == 0 and "1 after: 1 added" in got.out, got
    assert server.run("archie", "sites", "list", "--json").json()[0]["url"] == one.url
    assert server.run("archie", "sites", "get", f"ftp://{address}:{port}/../master/sites.local").code == 6


def test_config_check_warns_of_a_master_where_people_search(garner):
    g = garner("[up]\nroles = archie-master archie-queuer\n")
    done = g.run("config", "check")
    assert done.code == 0 and "warning: up.roles has archie-master and archie-queuer" in done.err
    alone = ("-s", "up.roles=archie-master", "-s")
    assert "warning" not in g.run("config", "check", *alone, "mail.via=smtp:localhost").err
    assert "warning" not in g.run("config", "check", *alone, "mail.via=/bin/true").err
    done = g.run("config", "check", *alone, "mail.via=/bin/nothing")
    assert done.code == 0 and "warning: mail.via: /bin/nothing: No such file" in done.err, done


def test_roles_refuse_what_config_check_refuses_with_the_same_words(garner):
    g = garner("")
    roles = ("archie-queuer", "archie-getter", "archie-telnet", "archie-ng", "archie-prospero", "archie-master")
    free = [f"-s{role}.listen=127.0.0.1:0" for role in ("archie-telnet", "archie-ng")] + ["-sarchie-prospero.listen=udp:127.0.0.1:0"]
    for n, bad in enumerate(("archie.host=my host", "archie.errors=nobody", "archie.master=a b@x.org", "mail.via=smtp", "archie.servers=ftp.x.org:none",
                "archie.nightly_at=3")):
        done = g.run("config", "check", "-s", bad)
        assert done.code == 2 and done.err.startswith(bad.split("=")[0]), (bad, done)
        refused = g.run(roles[n % len(roles)], "-s", bad, *free)
        assert refused.code == 2 and done.err.strip() in refused.err, (bad, refused)
