"""Mails to the archive by a real Postfix, in both directions: it takes a mail by SMTP, brings it to garner by a .forward
and by an alias, and takes the replies from garner by its sendmail program."""
import email
import os
import re
import smtplib
import subprocess

import pytest

import peers
from garner import ROOT, free_port, wait_for

KEY = "ftp.example.test-192.0.2.1"
LISTING = ".:\n" + "".join(f"-rw-r--r-- 1 a b {i} Feb 28 1995 zebra{i}.tar\n" for i in range(60))
GARNER_USER, JOE, POSTFIX, POSTDROP = 64990, 64992, 64993, 64994  # nobody's
MAIN = """compatibility_level = 3.6
myhostname = archie.example.test
mydestination = archie.example.test, example.test
inet_interfaces = loopback-only
inet_protocols = ipv4
alias_maps = hash:/etc/aliases, hash:/etc/garner/aliases
default_transport = error:nobody leaves this scene
mail_spool_directory = {dir}/boxes
maillog_file = {dir}/maillog
maillog_file_prefixes = {dir}
queue_directory = {dir}/spool
data_directory = {dir}/state
setgid_group = postdrop
"""
SERVICES = """pickup unix n - n 1 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
retry unix - - n - - error
local unix - n n - - local
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""
START = """set -e
mount -t tmpfs none "$1/over"
mkdir "$1/over/upper" "$1/over/work"
mount -t overlay overlay -o "lowerdir=$2/usr:/usr,upperdir=$1/over/upper,workdir=$1/over/work" /usr
mount --bind "$1/etc" /etc
chgrp postdrop /usr/sbin/postdrop
chmod 2755 /usr/sbin/postdrop
postalias hash:/etc/aliases hash:/etc/garner/aliases
chown garner /etc/garner/aliases*
exec postfix start-fg
"""


class Postfix:
    def __init__(self, g):
        if os.geteuid() != 0:
            pytest.skip("only root can be several users")
        self.g, self.port, peer = g, free_port(), peers.need("postfix")
        self.etc(peer)
        for folder in (g.dir, *g.dir.parents, g.data, g.data / "run", g.data / "archie"):
            if not folder.stat().st_mode & 1:
                folder.chmod(folder.stat().st_mode | 0o711)
        command = ["unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child=SIGKILL", "sh", "-c", START, "sh",
                   str(g.dir), str(peer.root)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=open(g.dir / "postfix.err", "w"))
        wait_for("postfix", lambda: self.process.poll() is not None or "daemon started" in self.log())
        assert self.process.poll() is None, (g.dir / "postfix.err").read_text()

    def etc(self, peer):
        g, etc = self.g, self.g.dir / "etc"
        for folder in ("etc/postfix", "etc/garner", "over", "boxes", "state", "spool", "home", "log"):
            (g.dir / folder).mkdir(parents=True)
        (g.dir / "boxes").chmod(0o1777)
        os.chown(g.dir / "state", POSTFIX, POSTFIX)
        for folder in ("home", "log"):
            os.chown(g.dir / folder, GARNER_USER, GARNER_USER)
        users = (("root", 0, "/root"), ("postfix", POSTFIX, "/"), ("garner", GARNER_USER, g.dir / "home"), ("joe", JOE, "/"),
                 ("nobody", 65534, "/"))
        (etc / "passwd").write_text("".join(f"{n}:x:{i}:{i}::{h}:/bin/false\n" for n, i, h in users))
        (etc / "group").write_text("".join(f"{n}:x:{i}:\n" for n, i, _ in users) + f"postdrop:x:{POSTDROP}:\n")
        (etc / "services").write_text("smtp 25/tcp\n")
        (etc / "hosts").write_text("127.0.0.1 localhost archie.example.test\n")
        (etc / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")
        (etc / "postfix/main.cf").write_text(MAIN.format(dir=g.dir))
        (etc / "postfix/master.cf").write_text(f"127.0.0.1:{self.port} inet n - n - - smtpd\n" + SERVICES)
        for name in ("postfix-files", "dynamicmaps.cf"):
            for source in (peer.root / "etc/postfix" / name, peer.root / "usr/share/postfix" / name):
                if source.exists():
                    (etc / "postfix" / name).write_bytes(source.read_bytes())
        forward = (ROOT / "etc/archie/forward.in").read_text().replace("@bindir@", str(g.program.parent))
        forward = forward.replace("/etc/garner/garner.conf", str(g.conf)).replace("/var/log/garner", str(g.dir / "log"))
        (g.dir / "home/.forward").write_text(forward)
        os.chown(g.dir / "home/.forward", GARNER_USER, GARNER_USER)
        (etc / "aliases").write_text("archie: garner\narchie-errors: /dev/null\npostmaster: /dev/null\n")
        command = re.search(r'^archie: "(.*)"', (ROOT / "etc/archie/aliases.in").read_text(), re.M)[1]
        command = command.replace("@bindir@", str(g.program.parent)).replace("/etc/garner/garner.conf", str(g.conf))
        (etc / "garner/aliases").write_text(f'files: "{command}"\n')

    def log(self):
        path = self.g.dir / "maillog"
        return path.read_text() if path.exists() else ""

    def bring(self, to, text, sender="joe@example.test"):
        with smtplib.SMTP("127.0.0.1", self.port, timeout=30) as s:
            s.sendmail(sender, [to], text)

    def box(self, name="joe"):
        path = self.g.dir / "boxes" / name
        text = path.read_bytes() if path.exists() else b""
        return [email.message_from_bytes(m) for m in re.split(rb"(?m)^From .*\n", text)[1:]]

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(garner):
    g = garner()
    g.configure(f"data = {g.data}\n[archie]\nsearchers = 2\nhost = archie.example.test\n")
    (g.dir / "ls-lR").write_text(LISTING)
    assert g.run("archie", "build", "--site", KEY, g.dir / "ls-lR").code == 0
    g.start("archie-queuer").wait_ready()
    for f in (g.data, g.data / "archie", g.data / "run/archie", *g.data.glob("garner.db*")):
        os.chown(f, GARNER_USER, GARNER_USER)
    postfix = Postfix(g)
    yield g, postfix
    postfix.close()


def test_postfix_brings_mails_and_takes_replies(server):
    g, postfix = server
    head = "From: Joe <joe@example.test>\nTo: archie@archie.example.test\n"
    postfix.bring("archie@archie.example.test", head + "Subject: find zebra7.tar\n\nquit\n")
    wait_for("a reply", lambda: len(postfix.box()) == 1)
    reply, = postfix.box()
    assert reply["From"] == "archie-errors@archie.example.test" and reply["Precedence"] == "bulk"
    assert reply["Return-Path"] == "<archie-errors@archie.example.test>"
    assert "Host ftp.example.test" in reply.get_payload() and "1995  zebra7.tar" in reply.get_payload()
    assert "find zebra7.tar" in (g.dir / "log/archie.mail").read_text()  # the copy

    postfix.bring("files@example.test", head + "\nset encode uuencode\ncompress\nset max_split_size 1024\nfind zebra\n")
    wait_for("all parts", lambda: len(postfix.box()) > 1 and
             len(postfix.box()) == 1 + int(postfix.box()[1]["Subject"].split()[-1]))
    parts = sorted(postfix.box()[1:], key=lambda m: int(m["Subject"].split()[-3]))
    uudecode = peers.need("sharutils")
    text = "".join(m.get_payload().rstrip("\n") + "\n" for m in parts)
    decoded = subprocess.run([uudecode.program("uudecode"), "-o", "-"], input=text.encode(), capture_output=True,
                             check=True, env=uudecode.environment()).stdout
    plain = subprocess.run(["zcat"], input=decoded, capture_output=True, check=True).stdout.decode()
    assert plain.count("zebra") >= 60

    before = len(postfix.box())
    postfix.bring("archie@archie.example.test", head + "Subject: version\n\n", sender="")
    postfix.bring("files@example.test", "From: archie-errors@archie.example.test\nSubject: version\n\n")
    wait_for("both", lambda: len(re.findall("delivered to command", postfix.log())) >= 4)
    assert len(postfix.box()) == before
