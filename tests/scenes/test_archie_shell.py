"""The archive's shell as a login shell: of a user who owns no file and can write to none, at a terminal and between
pipes, with the real queuer. It reads /etc/garner/garner.conf and nothing else, so each has an /etc of its own."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from garner import left_running, wait_for
from terminal import Terminal

KEY = "ftp.example.test-192.0.2.1"
LISTING = """.:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 pub
-rw-r--r-- 1 root wheel  17 Jan  5  1994 README

./pub:
-rw-r--r-- 3 anna users 1234 Feb 28 1995 archie.tar.Z
"""
UID, GID = 64990, 64991  # nobody's
FIND = "\n\nHost ftp.example.test\t(192.0.2.1)\nLast updated "
FILE = "\n\n    Location: /pub\n      FILE    -rw-r--r--          1234  00:00 28 Feb 1995  archie.tar.Z\n"


class Account:
    """The account `archie` on a machine with one archive."""

    def __init__(self, garner, etc=None):
        if os.geteuid() != 0:
            pytest.skip("only root can be somebody else")
        self.g = g = garner(config="[up]\nroles = archie-queuer\n[archie]\nsearchers = 2\n")
        for folder in (g.dir, *g.dir.parents):  # others find the way to the data directory
            if not folder.stat().st_mode & 1:
                folder.chmod(0o711)
        self.etc = g.dir / "etc"
        (self.etc / "garner").mkdir(parents=True)
        (self.etc / "garner/garner.conf").write_text(f"data = {g.data}\n[archie]\nhost = archie.example.test\n")
        (self.etc / "passwd").write_text(f"archie::{UID}:{GID}:Archie:/nonexistent:/usr/bin/archie\n")
        (g.dir / "ls-lR").write_text(LISTING)
        assert g.run("archie", "build", "--site", KEY, g.dir / "ls-lR").code == 0
        for name, text in (etc or {}).items():
            (g.data / "archie/etc").mkdir(exist_ok=True)
            (g.data / "archie/etc" / name).write_text(text)
        self.up = g.start("up").wait_ready()
        for folder in (g.data, g.data / "run", g.data / "archie"):
            folder.chmod(0o711)

    def command(self, *args, name="-archie", program=None):
        """As login would start it."""
        program = program or self.g.program
        become = f"exec setpriv --reuid={UID} --regid={GID} --clear-groups bash -c 'exec -a \"$0\" \"$@\"' \"$@\""
        return ["unshare", "-m", "sh", "-c", f'mount --bind "$0" /etc && {become}', str(self.etc), name,
                str(program), *args]

    def processes(self, line):
        """Pids of those whose command line begins so."""
        return [pid for pid in left_running(self.g.dir)
                if Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").startswith(line)]

    def env(self, **more):
        return {**self.g.env, "TERM": "vt100", "GARNER_DATA": "/elsewhere", "GARNER_CONFIG": "/elsewhere",
                "GARNER_FAULTS": "nonsense", "GARNER_ARCHIE_HOST": "wrong", "TZ": "EST5", **more}

    def run(self, text, *args, **options):
        return subprocess.run(self.command(*args, **options), input=text, env=self.env(), cwd="/",
                              capture_output=True, text=True, timeout=30)


def terminal(account):
    return Terminal(account.command(), account.env())


def test_a_user_who_owns_nothing_asks_and_gets_an_answer(garner):
    a = Account(garner, etc={"archierc": "motd\nset prompt \"? \"\n", "motd.telnet": "Welcome.\n"})
    (a.g.dir / "whatis").write_text("zebrawood\ta tool for walnut\n")
    assert a.g.run("archie", "whatis", "import", a.g.dir / "whatis").code == 0
    done = a.run("find ARCHIE\nset search exact\nfind archie\nlist\nwhatis WALNUT\nwhatis x\nmail me@example.test\n"
                 "addnewsite ftp.new.test\nsite ftp.example.test\nset server archie.au\nquit\nfind pub\n")
    assert done.returncode == 0 and done.stderr == "", done
    assert done.stdout.startswith("Welcome.\n# garner ")
    assert "the archive of files at archie.example.test.\n# Terminal type set to `vt100 24 80'.\n" in done.stdout
    # times are those of the machine, whatever TZ says
    assert re.search(re.escape(FIND) + r"\d\d:\d\d [ \d]\d \w+ \d{4}" + re.escape(FILE), done.stdout), done.stdout
    assert "# Search type: exact.\n\n# No matches were found.\n" in done.stdout
    assert re.search(r"\nftp\.example\.test {31}192\.0\.2\.1     \d\d:\d\d", done.stdout)
    assert re.search(r"\nzebrawood +a tool for walnut\n# Nothing found that matched 'x'\.\n", done.stdout), done.stdout
    assert "# No mail is sent from here.\n# No requests for new sites are taken here.\n" in done.stdout
    for line in ("DIRECTORY    drwxr-xr-x           512", "FILE    -rw-r--r--            17"):
        assert line in done.stdout
    assert done.stdout.endswith("# This server, archie.example.test, answers for itself: it does not ask "
                                "`archie.au'.\n# Bye.\n")
    # indeed there is nothing that it could write to
    find = a.command("/", "-xdev", "(", "-type", "f", "-o", "-type", "d", ")", "-writable", "-path", f"{a.g.dir}/*",
                     name="find", program="/usr/bin/find")
    find[find.index("/")] = str(a.g.dir)
    done = subprocess.run(find, env=a.env(), cwd="/", capture_output=True, text=True, timeout=30)
    assert done.stdout == "", done


def test_no_argument_is_taken(garner):
    a = Account(garner)
    for args in (["-c", "id"], ["-c", "/etc/passwd"], ["--help"], ["--version"], ["-s", "data=/x"], ["x"], ["-"], [""]):
        done = a.run("find archie\n", *args)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("garner: archie shell: it takes no"), args
    for args in (["-c", "x", "archie", "shell"], ["archie", "shell", "-s", "data=/x"], ["archie", "shell", "-D", "net"],
                 ["archie", "shell", "x"]):
        done = a.run("find archie\n", *args, name="garner")
        assert done.returncode == 2 and done.stdout == "", args
    done = a.run("version\n", "archie", "shell", name="garner")
    assert done.returncode == 0 and "\n# garner " in done.stdout


def test_a_terminal_has_a_prompt_a_pager_and_keys(garner):
    a = Account(garner)
    t = terminal(a)
    before = t.wait("archie> ")
    assert "# Terminal type set to `vt100 10 80'.\n# `erase' character is `^?'.\n" in before
    t.type("fimd\x7f\x7fnd archie\n")
    assert FILE in t.wait("archie> ")
    t.type("half a line\x03")
    assert "\n" in t.wait("archie> ")  # at the prompt it does nothing
    t.type("help set\n")
    t.wait("help set> ")
    t.type("\x03")
    t.wait("archie> ")
    t.type("help\n")
    t.wait("help> ")
    t.type("\x04")
    t.wait("archie> ")
    t.type("pager\nmanpage\n")
    assert t.wait("--More--").count("\n") >= 9
    t.type(" ")
    assert t.wait("--More--").count("\n") == 9
    t.type("\n")
    assert t.wait("--More--").count("\n") == 1
    t.type("q")
    assert "FIND" not in t.wait("archie> ")
    t.type("\x1b[A\x1b[A\x01fi\x0b\x05nd archie\n")  # two lines back, and another one made of it
    assert FILE.rstrip() in t.wait("\narchie> ")
    # it has given up what it had
    shell, = a.processes("-archie")
    status = dict(re.findall(r"^(\w+):\t(.*)$", Path(f"/proc/{shell}/status").read_text(), re.M))
    assert status["NoNewPrivs"] == "1" and status["CapEff"] == "0" * 16 and status["Uid"].split() == [str(UID)] * 4
    assert os.getpriority(os.PRIO_PROCESS, shell) == min(os.getpriority(os.PRIO_PROCESS, 0) + 4, 19)
    t.type("\x04")
    t.wait("# Bye.\n")
    assert t.ended() == 0


def test_a_search_is_aborted_by_a_key(garner):
    a = Account(garner)
    t = terminal(a)
    t.wait("archie> ")
    searchers = a.processes("garner archie searcher")
    assert len(searchers) == 2
    for pid in searchers:
        os.kill(pid, signal.SIGSTOP)
    t.type("find archie\n")
    t.wait("working...  ")
    t.wait("\b")
    t.type("\x03")
    t.wait("# Aborted.\n")
    t.wait("archie> ")
    for pid in searchers:
        os.kill(pid, signal.SIGCONT)
    wait_for("the shell searches again", lambda: t.type("find archie\n") or FILE in t.wait("archie> "))
    t.type("bye\n")
    t.wait("# Bye.\n")
    assert t.ended() == 0
