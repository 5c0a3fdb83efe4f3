"""The role archie-telnet with those who call it: inetutils-telnet and plink at a terminal, netcat, people who send
nothing but options; what a session may do; how many there may be; mails."""
import os
import re
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

import peers
import pytest

from archie_queue import build, searchers
from garner import wait_for
from telnet_memory import memory_kb, sessions
from terminal import Terminal

CONFIG = """[up]
roles = archie-queuer archie-telnet
[archie]
searchers = 2
host = archie.example.test
master = master@example.test
[mail]
via = {mail}
[archie-telnet]
listen = 127.0.0.1:0
{more}"""
LISTING = ".:\n-rw-r--r-- 3 anna users 1234 Feb 28 1995 archie.tar.Z\n"
FILE = "      FILE    -rw-r--r--          1234  00:00 28 Feb 1995  archie.tar.Z"
IAC, DONT, DO, WONT, WILL, SB, SE, IP, AYT = 255, 254, 253, 252, 251, 250, 240, 244, 246
ECHO, SGA, TTYPE, NAWS = 1, 3, 24, 31
OFFER = bytes([IAC, WILL, ECHO, IAC, WILL, SGA, IAC, DO, NAWS, IAC, DO, TTYPE])


class Server:
    def __init__(self, garner, more="", etc=(), mail="/nonexistent/sendmail"):
        self.g = g = garner(config=CONFIG.format(more=more, mail=mail))
        build(g, LISTING)
        (g.data / "archie/etc").mkdir(exist_ok=True)
        for name, text in dict(etc).items():
            (g.data / "archie/etc" / name).write_text(text)
        self.up = g.start("up").wait_ready()
        self.port = int(re.search(r"archie-telnet on 127\.0\.0\.1:(\d+)", self.up.wait_line("garner is up")).group(1))

    def role(self):
        """Its pid."""
        return next(r["pid"] for r in self.g.run("status", "--json").json()["roles"] if r["name"] == "archie-telnet")

    def sessions(self):
        return sessions(self.role())

    def count(self, name):
        roles = self.g.run("status", "--json", "-v").json()["roles"]
        return next(c["value"] for r in roles if r["name"] == "archie-telnet" for c in r["counters"] if c["name"] == name)


class Caller:
    """A socket; what it says and hears, option for option."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.socket.settimeout(30)
        self.seen = b""

    def say(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def wait(self, text):
        text = text.encode() if isinstance(text, str) else text
        while text not in self.seen:
            got = self.socket.recv(65536)
            assert got, f"hung up before {text!r}: {self.seen!r}"
            self.seen += got
        before, _, self.seen = self.seen.partition(text)
        return before.decode("latin-1")

    def rest(self):
        """Until it is hung up."""
        try:
            while got := self.socket.recv(65536):
                self.seen += got
        except ConnectionResetError:
            pass
        return self.seen.decode("latin-1")

    def ask(self, line):
        self.say(line + "\r\n")
        return self.wait("archie> ")


def keys_of_a_person(t, type):
    """Somebody at a terminal of 10 rows and 100 columns; the same with every client."""
    before = t.wait("\narchie> ")
    assert f"the archive of files at archie.example.test.\n# Terminal type set to `{type} 10 100'.\n" in before
    t.type("fimd\x7f\x7fnd archiv\x1b[D\x1b[C\x08e\r")
    assert FILE in t.wait("\narchie> ")
    t.type("\x1b[A\x01\x0bversion\r")
    assert "\n# garner " in t.wait("\narchie> ")
    t.type("half a line\x03")
    t.wait("\narchie> ")
    t.type("help set\r")
    t.wait("help set> ")
    t.type("\x03")
    t.wait("\narchie> ")
    t.type("pager\r")
    t.wait("\narchie> ")
    t.type("manpage\r")
    assert t.wait("--More--").count("\n") == 10
    t.type(" ")
    assert t.wait("--More--").count("\n") == 9
    t.type("\r")
    assert t.wait("--More--").count("\n") == 1
    t.type("q")
    t.wait("\rarchie> ")


@pytest.mark.parametrize("package, command, type", [
    ("inetutils-telnet", ["inetutils-telnet", "-E", "127.0.0.1"], "vt100"),
    ("putty-tools", ["plink", "-telnet", "127.0.0.1", "-P"], "xterm")])  # so it calls all terminals
def test_a_person_at_a_terminal(garner, package, command, type):
    peer = peers.need(package)
    s = Server(garner)
    t = Terminal([peer.program(command[0]), *command[1:], s.port],
                 {**peer.environment(HOME=str(s.g.dir)), "TERM": "vt100"}, rows=10, cols=100)
    keys_of_a_person(t, type)
    found = searchers(s.g)
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    t.type("find archie\r")
    t.wait("working...  ")
    t.type("\x03")
    t.wait("# Aborted.\n")
    t.wait("archie> ")
    for pid in found:
        os.kill(pid, signal.SIGCONT)
    wait_for("an answer again", lambda: t.type("find archie\r") or FILE in t.wait("\narchie> "))
    t.type("bye\r")
    t.wait("# Bye.\n")
    t.ended()
    assert s.up.stop() == 0


def test_lines_of_those_who_do_not_negotiate(garner):
    s = Server(garner)
    nc = peers.need("netcat-openbsd")
    done = subprocess.run([nc.program("nc.openbsd"), "-N", "127.0.0.1", str(s.port)], env=nc.environment(),
                          input=b"find archie\nset search exact\nfind archie\nbye\nfind archie\n",
                          capture_output=True, timeout=30)
    out = done.stdout.removeprefix(OFFER).decode().replace("\r\n", "\n")
    assert out.startswith("# garner ") and "# Terminal type set to `dumb 24 80'.\n" in out
    assert out.count(FILE) == 1 and "archie> # Search type: exact.\n\n# No matches were found.\narchie> # Bye.\n" in out
    assert out.endswith("# Bye.\n") and "find" not in out  # no echo
    # the same without a word of farewell, and with a last line that does not end
    done = subprocess.run([nc.program("nc.openbsd"), "-N", "127.0.0.1", str(s.port)], env=nc.environment(),
                          input=b"find archie", capture_output=True, timeout=30)
    assert FILE.encode() in done.stdout and done.stdout.endswith(b"# Bye.\r\n")
    # a client that wants to echo itself, and sends commands for keys
    c = Caller(s)
    c.say(bytes([IAC, DONT, ECHO, IAC, DO, SGA, IAC, WILL, NAWS, IAC, SB, NAWS, 0, 132, 0, 43, IAC, SE,
                 IAC, WILL, TTYPE]))
    c.wait(bytes([IAC, SB, TTYPE, 1, IAC, SE]))
    c.say(bytes([IAC, SB, TTYPE, 0]) + b"XTERM" + bytes([IAC, SE]))
    assert "`xterm 43 132'" in c.wait("archie> ")
    for pid in searchers(s.g):
        os.kill(pid, signal.SIGSTOP)
    c.say("find archie\r\n")
    time.sleep(0.2)
    c.say(bytes([IAC, IP, IAC, DO, 6]))  # and a timing mark, as telnet sends it
    answered = c.wait("# Aborted.\r\n")
    assert "\xff\xfc\x06" in answered
    c.wait("archie> ")
    for pid in searchers(s.g):
        os.kill(pid, signal.SIGCONT)
    c.say(bytes([IAC, AYT]))
    c.wait("[Yes]")
    c.say(bytes([IAC, SB, NAWS, 0, 100, 0, 20, IAC, SE]))
    assert "`xterm 20 100'" in c.ask("show term")
    # a byte of 255 is doubled on the way, in both directions
    c.say(b"set match_path a\xff\xffb\r\n")
    c.wait("archie> ")
    assert "`a\xff\xffb'" in c.ask("show match_path")
    assert "too long" in c.ask("find " + 300 * "x")
    # the server says so when it stops
    assert s.up.stop() == 0
    assert c.rest().endswith("\r\n# The server stops.\r\n# Bye.\r\n")


def test_a_session_can_do_nothing_but_talk(garner):
    s = Server(garner)
    c = Caller(s)
    c.wait("archie> ")
    assert FILE in c.ask("find archie")
    (pid,) = s.sessions()
    status = dict(re.findall(r"^(\w+):\t(.*)$", Path(f"/proc/{pid}/status").read_text(), re.M))
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(os.getpriority(os.PRIO_PROCESS, 0) + 4, 19)
    if os.geteuid() != 0:
        assert s.up.lines("sessions run as the user of this role")
        return
    assert status["Uid"].split() == ["65534"] * 4 and status["Groups"].strip() == ""
    assert status["CapEff"] == "0" * 16
    assert Path(f"/proc/{pid}/environ").read_bytes().strip(b"\0") == b""
    # its user, its parent, the queuer; and nothing that leads anywhere
    fds = {f.name: os.readlink(f) for f in Path(f"/proc/{pid}/fd").iterdir()}
    assert sorted(fds) == ["0", "1", "2", "3", "4", "5"]
    assert {fds[n] for n in "012"} == {"/dev/null"} and all(fds[n].startswith("socket:") for n in "345")
    # no memory that it shares can be written, such as the counters
    shared = [line for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if line.split()[1] == "rw-s"]
    assert not shared
    assert memory_kb(pid)[0] > 0
    # one that dies takes nobody along, and is counted
    other = Caller(s)
    other.wait("archie> ")
    (s.g.data / "archie/etc/motd.telnet").write_text("Written just now.\n")
    os.kill(pid, signal.SIGKILL)
    assert c.rest() == ""
    assert FILE in other.ask("find archie")
    s.up.wait_line("a session died")
    wait_for("its counter", lambda: s.count("session_deaths") == 1, every=0.2)
    # texts are those of the day on which a session begins

    def greets():
        with Caller(s).socket as new:
            new.sendall(b"motd\nbye\n")
            return b"Written just now.\r\n" in b"".join(iter(lambda: new.recv(4096), b""))
    wait_for("the new text", greets, every=0.2)


def test_too_many_are_told_and_shown_the_list(garner):
    s = Server(garner, more="max_sessions = 3\nmax_per_address = 2\n",
               etc={"serverlist": "archie.au\t139.130.4.6\tAustralia\n", "archierc": "set prompt \"? \"\n"})
    first, second = Caller(s), Caller(s)
    first.wait("? ")
    second.wait("? ")
    third = Caller(s).rest()
    assert third.startswith("# The server is busy: there are too many sessions.") and \
        third.endswith("archie.au\t139.130.4.6\tAustralia\r\n")
    second.say("bye\r\n")
    second.rest()

    def enters():
        c = Caller(s)
        c.socket.settimeout(30)
        c.seen = c.socket.recv(4096)
        return c if c.seen.startswith(OFFER) else None
    wait_for("a place", enters)
    wait_for("the counter", lambda: s.count("refused") >= 1, every=0.2)


def test_storms_of_options_and_other_bytes_hurt_nobody(garner):
    s = Server(garner)
    user = Caller(s)
    user.wait("archie> ")
    storms = [
        bytes(b for o in range(256) for c in (DO, DONT, WILL, WONT) for b in (IAC, c, o)) * 20,
        bytes([IAC, WILL, NAWS, IAC, WONT, NAWS]) * 5000,
        bytes([IAC, AYT]) * 5000,
        bytes([IAC, SB, TTYPE, 0]) + b"x" * 100000,
        bytes([IAC, SB, 86, IAC, SE]) + b"not compressed at all",
        bytes([IAC, SB, NAWS, 0, 1, 0, 1, IAC, SE]) * 5000,
        bytes(range(256)) * 400,
    ]
    for n, storm in enumerate(storms):
        c = Caller(s)
        try:
            c.say(storm)
            c.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was hung up on
        c.rest()
        assert FILE in user.ask("find archie"), n
    # one that asks and does not read is in nobody's way
    deaf = Caller(s)
    deaf.say("manpage\r\n" * 400)
    assert FILE in user.ask("find archie")
    wait_for("the counter", lambda: s.count("hostile") >= 4, every=0.2)
    assert s.count("session_deaths") == 0


def test_results_are_mailed_by_the_parent(garner, tmp_path):
    sendmail = tmp_path / "sendmail"
    sendmail.write_text(f"#!/bin/sh\ncat > {tmp_path}/mail.$$ && mv {tmp_path}/mail.$$ {tmp_path}/sent.$$\n")
    sendmail.chmod(0o755)
    s = Server(garner, mail=sendmail, more="[archie]\nmails_per_day = 4")
    c = Caller(s)
    c.wait("archie> ")
    assert "nothing to mail yet" in c.ask("mail anna@example.test")
    c.ask("find archie")
    for _ in range(3):
        assert "# Mailed to `anna@example.test'." in c.ask("mail anna@example.test")
    assert "a session may send 3 mails" in c.ask("mail anna@example.test")
    assert "# Cannot mail: " in c.ask("mail -oQ/tmp")
    c.ask("set mailto anna@example.test")
    assert "goes to the master" in c.ask("addnewsite ftp.new.test")
    sent = wait_for("the mails", lambda: (lambda m: m if len(m) == 4 else None)(list(tmp_path.glob("sent.*"))))
    texts = [m.read_text() for m in sent]
    results = [m for m in texts if "Subject: archie [find archie] part 1 of 1\n" in m]
    assert len(results) == 3 and all("To: anna@example.test\n" in m and FILE in m for m in results)
    request, = [m for m in texts if m not in results]
    assert "Reply-To: anna@example.test\n" in request and "ftp.new.test" in request
    other = Caller(s)
    other.wait("archie> ")
    other.ask("find archie")
    assert "# Mailed to" in other.ask("mail anna@example.test")  # three are of a session
    assert "# Cannot mail: too many mails today" in other.ask("mail bert@example.test")
    wait_for("the mail", lambda: len(list(tmp_path.glob("sent.*"))) == 5)
    assert s.up.stop() == 0


def test_one_whose_mail_is_being_sent_keeps_nobody_else_waiting(garner, tmp_path):
    sendmail, hold = tmp_path / "sendmail", tmp_path / "hold"
    sendmail.write_text(f"#!/bin/sh\nwhile [ -e {hold} ]; do sleep 0.05; done\n[ ! -e {tmp_path}/broken ]\n")
    sendmail.chmod(0o755)
    hold.touch()
    s = Server(garner, mail=sendmail, more="max_per_address = 50\n")
    a, b = Caller(s), Caller(s)
    a.wait("archie> ")
    b.wait("archie> ")
    a.say("addnewsite ftp.new.test\r\n")
    b.ask("find zebra")  # the role has to connect it to the queuer
    while select.select([a.socket], [], [], 0)[0]:
        a.seen += a.socket.recv(65536)
    assert b"archie> " not in a.seen
    hold.unlink()
    assert "goes to the master" in a.wait("archie> ")
    (tmp_path / "broken").touch()
    assert "# Cannot request `ftp.other.test': it cannot be sent now" in a.ask("addnewsite ftp.other.test")
    s.up.wait_line("mail lost why=.*status 1")
    # a session that ends meanwhile is missed by nobody
    hold.touch()
    role = s.role()

    def children(name):
        pids = []
        for pid in Path(f"/proc/{role}/task/{role}/children").read_text().split():
            try:
                pids += [int(pid)] if Path(f"/proc/{pid}/comm").read_text() == f"{name}\n" else []
            except OSError:
                pass  # it ended just now
        return pids

    a.say("addnewsite ftp.third.test\r\n")
    wait_for("a courier", lambda: children("archie-courier"))
    for pid in children("archie-session"):
        os.kill(pid, signal.SIGKILL)
    hold.unlink()
    wait_for("the end of the courier", lambda: not children("archie-courier"))
    c = Caller(s)
    c.wait("archie> ")
    assert FILE in c.ask("find archie") and s.role() == role
    hold.touch()
    c.say("mail anna@example.test\r\n")
    wait_for("a courier", lambda: children("archie-courier"))
    assert s.up.stop() == 0
    s.up.wait_line('mail lost why="the role stops"')
    hold.unlink()
