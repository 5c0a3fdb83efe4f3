"""Mails to the archive: real mails through the real queuer, replies by a sendmail program and by SMTP; what gets no
reply; what strangers write to break it; requests for new sites on their way to the master."""
import contextlib
import os
import re
import sqlite3
import subprocess

import pytest

import peers
from archie_ng import Client, start
from smtp import Sink, certificate, fails, sendmail, sent

KEY = "ftp.example.test-192.0.2.1"
LISTING = """.:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 pub

./pub:
-rw-r--r-- 3 anna users 1234 Feb 28 1995 archie.tar.Z
-rw-r--r-- 3 anna users 99 Mar  1  1996 zebrawood-1.4.tar.gz
"""
CONFIG = """[archie]
searchers = 2
host = archie.example.test
master = master@master.example.test
mails_per_day = {per_day}
[archie-ng]
listen = 127.0.0.1:0
[mail]
via = {via}
"""
HEAD = "Return-Path: <joe@example.org>\nFrom: Joe <joe@example.org>\nMessage-ID: <1@example.org>\n"


@pytest.fixture
def server(garner):
    """An archive, its queuer, and a sendmail program."""
    g = garner()
    configure(g, sendmail(g))
    (g.dir / "ls-lR").write_text(LISTING)
    assert g.run("archie", "build", "--site", KEY, g.dir / "ls-lR").code == 0
    g.queuer = g.start("archie-queuer").wait_ready()
    return g


def configure(g, via, per_day=50):
    g.configure(CONFIG.format(via=via, per_day=per_day))


def counts(g):
    """Mails that each address got today."""
    with contextlib.closing(sqlite3.connect(g.data / "garner.db")) as db:
        return dict(db.execute("SELECT who, count FROM daily WHERE kind = 'mails' AND who != '*'"))


def mail(g, text, code=0):
    done = g.run("archie", "mail", input=text, text=isinstance(text, str))
    assert done.code == code, done
    return done.err if isinstance(done.err, str) else done.err.decode()


def test_a_mail_is_answered_with_the_output_of_its_commands(server):
    g = server
    mail(g, "From joe@example.org Sat Jan  3 01:05:34 1996\n" + HEAD +
         "Subject: set output_format machine\n\nDear archie,\n  find zebra\nwhatis nothing\nquit\nfind archie\n")
    reply, = sent(g)
    assert reply["X-Args"] == "-i -f archie-errors@archie.example.test -- joe@example.org"
    assert (reply["From"], reply["To"]) == ("archie-errors@archie.example.test", "joe@example.org")
    assert reply["Subject"] == "archie [whatis nothing] part 1 of 1"
    assert (reply["Precedence"], reply["Auto-Submitted"]) == ("bulk", "auto-replied")
    assert reply["In-Reply-To"] == "<1@example.org>" and reply["Date"] and reply["Message-ID"]
    lines = reply.get_payload().splitlines()
    assert [x for x in lines if x.startswith(">> ")][:3] == \
        [">> set output_format machine", ">> find zebra", ">> whatis nothing"]
    assert "19960301000000Z ftp.example.test 99 -rw-r--r-- /pub/zebrawood-1.4.tar.gz" in lines
    assert not any("archie.tar" in x or "Dear" in x for x in lines)
    mail(g, HEAD + "Subject: hello\n\nHow are you?\n")
    assert sent(g)[1]["Subject"] == "archie [help] part 1 of 1"
    assert sent(g)[1].get_payload().startswith("HELP for the archie mail server")


def test_replies_are_packed_encoded_and_split(server):
    g = server
    uudecode = peers.need("sharutils")
    commands = "set encode uuencode\ncompress\nset max_split_size 1024\nmanpage\n"
    mail(g, HEAD + f"Subject:\n\n{commands}")
    replies = sorted(sent(g), key=lambda m: int(m["Subject"].split()[-3]))
    n = len(replies)
    assert n > 3 and [m["Subject"] for m in replies] == [f"archie [manpage] part {i + 1} of {n}" for i in range(n)]
    text = "".join(m.get_payload() for m in replies)
    assert all(len(m.get_payload()) <= 1024 + 62 for m in replies) and text.startswith("begin 644 archie-output\n")
    decoded = subprocess.run([uudecode.program("uudecode"), "-o", "-"], input=text.encode(), capture_output=True,
                             check=True, env=uudecode.environment()).stdout
    plain = subprocess.run(["zcat"], input=decoded, capture_output=True, check=True).stdout.decode()
    assert plain.startswith(">> set encode uuencode\n") and plain.count("\n") > 100


def test_a_server_by_smtp_takes_refuses_or_puts_off(server):
    g, sink = server, Sink()
    text = HEAD + "Subject: version\n\n"
    configure(g, sink.via, per_day=3)
    mail(g, text)
    (sender, to, reply), = sink.mails
    assert (sender, to) == ("archie-errors@archie.example.test", "joe@example.org")
    assert reply.get_payload().startswith(">> version\n# garner ")
    for verb, words, code in (("RCPT", "450 later", 75), ("hello", "421 busy", 75), ("DATA", "451 later", 75),
                              (".", "452 full", 75), (".", None, 75), ("MAIL", None, 75), ("hello", "rubbish", 75),
                              ("hello", "550 go away", 75), ("MAIL", "530 log in first", 75)):
        sink.says = {verb: words}
        assert "garner:" in mail(g, text, code=code), verb  # the count of the day is given back
    sink.says, sink.leaves = {"EHLO": "550 not you"}, True  # that was not about the mail
    assert "garner:" in mail(g, text, code=75)
    sink.says, sink.leaves = {".": "554 spam"}, False
    assert "not answered" in mail(g, text)
    sink.says = {"RCPT": "550-nobody\r\n550 here"}
    said = mail(g, text)
    assert "not answered" in said and "the server said: 550 here" in said, said  # and not its answer to QUIT
    assert len(sink.mails) == 1
    sink.close()
    configure(g, sink.via)
    mail(g, text, code=75)


def test_a_server_gets_mails_by_tls_and_a_password_only_if_its_certificate_holds(server):
    g, text, tls = server, HEAD + "Subject: version\n\n", certificate(server.dir)
    trust = {"SSL_CERT_FILE": str(g.dir / "cert")}
    login = g.dir / "login"
    login.write_text("joe\nse cret\n")
    login.chmod(0o600)

    def bring(sink, code=0, env=None, with_login=True):
        configure(g, f"{sink.via}\nlogin = {login}" if with_login else sink.via)
        done = g.run("archie", "mail", input=text, env=env)
        assert done.code == code, done
        return done.err

    offers = Sink(tls)
    bring(offers, with_login=False)  # any certificate is better than none
    assert offers.secure == [True]
    asks = Sink(tls, ("joe", "se cret"))
    assert "certificate" in bring(asks, code=75) and not any(b"AUTH" in x for x in asks.heard)
    bring(asks, env=trust)
    assert asks.secure == [True]
    wrong = Sink(tls, ("joe", "other"))
    assert "535" in bring(wrong, code=75, env=trust)
    plain = Sink(login=("joe", "se cret"))  # as if somebody had taken STARTTLS out of what the server says
    bring(plain, code=75, env=trust)
    assert plain.mails == [] and not any(b"AUTH" in x for x in plain.heard)
    secure = Sink(tls, at_once=True)
    assert "certificate" in bring(secure, code=75, with_login=False)
    bring(secure, env=trust, with_login=False)
    assert secure.secure == [True]
    login.chmod(0o644)
    assert "chmod 600" in bring(asks, code=75, env=trust)
    assert g.run("config", "check").code == 2


def test_what_programs_write_gets_no_reply(server):
    g = server
    for head in ("Return-Path: <>\nFrom: joe@example.org\n", "From: MAILER-DAEMON@example.org\n",
                 HEAD + "Precedence: bulk\n", HEAD + "Auto-Submitted: auto-replied\n", HEAD + "List-Id: <l.org>\n",
                 HEAD + "Content-Type: multipart/report; boundary=b\n", "From: archie@archie.example.test\n",
                 HEAD + "X-Far: away\n" * 300 + "Precedence: bulk\n", HEAD + "Return-Path: <>\n",
                 "From MAILER-DAEMON Sat Jan  3 01:05:34 1996\nFrom: joe@example.org\n", "Subject: version\n"):
        assert "not answered" in mail(g, head + "Subject: version\n\nversion\n"), head
    assert sent(g) == []
    mail(g, HEAD + "Subject: version\n\n")
    reply, = sent(g)
    assert "not answered" in mail(g, reply.as_string())  # its own reply comes back: no loop
    mail(g, HEAD + "Subject: path archie@archie.example.test\n\nversion\n")
    mail(g, HEAD + "Subject: version\n\npath archie-errors@archie.example.test\n")
    (g.data / "archie/etc").mkdir(exist_ok=True)
    (g.data / "archie/etc/archierc").write_text("set mail_from files@example.test\n")  # an address of its own
    assert "not answered" in mail(g, "From: files@example.test\nSubject: version\n\n")
    assert "not answered" in mail(g, HEAD + "Subject: path files@example.test\n\nversion\n")
    assert len(sent(g)) == 1


def test_a_sender_has_so_many_replies_a_day(server):
    g = server
    configure(g, g.dir / "sendmail", per_day=2)
    for n in (1, 2, 2):
        mail(g, HEAD + "Subject: version\n\n")
        assert len(sent(g)) == n
    for i in range(4):  # many senders, one victim
        mail(g, f"From: joe{i}@example.org\nSubject: path victim@example.org\n\nversion\n")
    assert [m["To"] for m in sent(g)[2:]] == ["victim@example.org"] * 2
    assert counts(g) == {"joe@example.org": 2, "victim@example.org": 2, **{f"joe{i}@example.org": 1 for i in range(4)}}
    assert g.run("check").code == 0


def test_each_part_of_a_reply_is_of_the_share_of_who_gets_it(server):
    g = server
    configure(g, g.dir / "sendmail", per_day=4)
    mail(g, HEAD + "Subject:\n\nset max_split_size 1024\n" + "version\nmail victim@example.org\n" * 6)
    assert [m["To"] for m in sent(g)].count("victim@example.org") == 4
    assert [m["To"] for m in sent(g)].count("joe@example.org") == 1
    mail(g, HEAD + "Subject:\n\nset max_split_size 1024\nmanpage\n")  # it has more than three parts
    assert len(sent(g)) == 5
    mail(g, HEAD + "Subject: version\n\n")
    assert len(sent(g)) == 6


def test_what_cannot_be_sent_after_the_first_part_is_lost_and_named(server):
    g = server
    text = (g.dir / "sendmail").read_text()
    (g.dir / "sendmail").write_text(text.replace("[ ! -e", "[ $(ls | wc -l) -lt 2 ] || exit 75\n[ ! -e"))
    said = mail(g, HEAD + "Subject:\n\nset max_split_size 1024\nmanpage\n")
    assert len(sent(g)) == 2 and "answered in part" in said
    lost = int(re.search(r"parts of a mail lost to=joe@example.org sent=2 lost=(\d+)", said)[1])
    assert lost > 2 and counts(g)["joe@example.org"] == lost + 2
    said = mail(g, HEAD + "Subject:\n\nset mailto jim@example.org\nversion\nmail\nversion\n", code=75)  # nothing has gone
    assert len(sent(g)) == 2 and "lost" not in said
    (g.dir / "sendmail").write_text(text.replace("[ ! -e", "[ $(ls | wc -l) -lt 3 ] || exit 75\n[ ! -e"))
    said = mail(g, HEAD + "Subject:\n\nversion\nmail jim@example.org\nversion\n")  # one of two
    assert [m["To"] for m in sent(g)][2:] == ["jim@example.org"]
    assert "mail lost to=joe@example.org" in said and "answered in part" in said


def test_strangers_cannot_break_it(server):
    g = server
    evil = "=?utf-8?q?version=0ABcc:_victim=40example.org=0A=0Afind_zebra?="
    mail(g, HEAD + f"Subject: {evil}\nReply-To: \"a@b\\\nBcc: c@d\" <joe@example.org>\n\n"
         'path "x@y.org\tBcc: z@y.org"\npath -oQ/tmp\nversion\n')
    for reply in sent(g):
        assert reply["Bcc"] is None and reply["X-Args"].split()[-1] == "joe@example.org"
    big = (HEAD + "Subject: version\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
           "Content-Type: text/plain\n\nset search exact\n--b\nContent-Type: application/octet-stream\n"
           "Content-Transfer-Encoding: base64\n\n").encode()
    before = len(sent(g))
    mail(g, big + (b"QUJD" * 18 + b"\n") * 700_000)  # 50 MB
    assert len(sent(g)) == before + 1 and ">> set search exact" in sent(g)[-1].get_payload()
    for text in (b"", b"\0" * 100_000, b"\n", b"From " * 10_000, os.urandom(100_000), HEAD.encode(),
                 HEAD.encode() + b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n" * 100_000,
                 b"X: y\n" * 100_000, HEAD.encode() + b"Subject: " + b"find x " * 50_000 + b"\n\n"):
        mail(g, text)


def test_requests_for_new_sites_reach_the_master(server):
    g = server
    mail(g, HEAD + "Subject: addnewsite ftp.new.test\n\naddnewsite no/host\n")
    reply, = (m for m in sent(g) if m["To"] == "joe@example.org")
    assert "# The request to index `ftp.new.test' goes to the master." in reply.get_payload()
    assert "# Cannot request `no/host'" in reply.get_payload()
    request, = (m for m in sent(g) if m["To"] == "master@master.example.test")
    assert (request["Reply-To"], request["Precedence"]) == ("joe@example.org", "bulk")
    assert request.get_payload() == "addnewsite ftp.new.test\n"
    fails(g, 75)  # nothing is requested by a mail that will come again
    mail(g, HEAD + "Subject: addnewsite ftp.again.test\n\n", code=75)
    assert len(sent(g)) == 2

    address = start(g)
    c = Client(address)
    assert c.ask("ADDNEWSITE ftp.other.test jim@example.org") == \
        ([], "ERROR failed it cannot be sent now; try again later")
    g.processes[-1].wait_line("request for a site lost host=ftp.other.test why=.*status 75")
    fails(g, 67)
    assert c.ask("ADDNEWSITE ftp.other.test jim@example.org")[1] == "ERROR refused the mail server refuses it"
    fails(g, 0)
    assert c.ask("ADDNEWSITE ftp.other.test jim@example.org") == ([], "OK 0")
    assert len(sent(g)) == 3 and sent(g)[2]["Reply-To"] == "jim@example.org"
    # five a day: one was, the one of the mail that comes again was not; the sixth is told
    mail(g, HEAD + "Subject: x\n\n" + "".join(f"addnewsite ftp{i}.test\n" for i in range(5)))
    reply = [m for m in sent(g) if m["To"] == "joe@example.org"][-1].get_payload()
    assert reply.count("goes to the master.") == 4
    assert "# Cannot request `ftp4.test': 5 requests a day are enough" in reply
