"""The real program in a temporary directory: what scenes and kill tests start, ask and stop.

    def test_status_names_the_roles_that_run(garner):
        g = garner(config="[web]\\nlisten = 127.0.0.1:0\\n")
        up = g.start("up")
        up.wait_ready()
        assert g.run("status", "--json").json()["roles"]
        up.stop()

Everything that a scene starts carries the scene's directory in its environment (SCENE), so that
whatever is left behind, by whatever way, is found in /proc, ended, and reported.
"""
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / os.environ.get("GARNER_BUILD", "")  # "", asan or tsan

SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


# How long something may take that takes a moment: the machine may be busy. A test that hangs has a
# limit of its own (conftest.py).
PATIENCE_S = 30.0


def clean_environment(**more):
    """What a program under test may know of this machine: where programs are, and no more."""
    env = {k: os.environ[k] for k in ("PATH", "TMPDIR", "TEST_LONG") if k in os.environ}
    return {**env, "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC", **SANITIZERS, **more}


def shifted(seconds):
    """An environment in which the wall clock is so many seconds ahead."""
    return {"LD_PRELOAD": str(BUILD / "tests" / "clock_shift.so"), "CLOCK_SHIFT": str(int(seconds)),
            "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}


def left_running(token):
    """Pids of live processes whose environment has SCENE=token (or, for a folder, one below it)."""
    found = []
    want = f"SCENE={token}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            env = Path("/proc", entry, "environ").read_bytes().split(b"\0")
            state = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z" and any(v == want or v.startswith(want + b"/") for v in env):
            found.append(int(entry))
    return found


def end_all(token):
    """Ends what is left running; says what it was."""
    said = []
    for pid in left_running(token):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            os.kill(pid, signal.SIGKILL)
            said.append(f"{pid} ({line})")
        except OSError:
            pass
    return said


GIVEN = set()  # ports that a test of this process has had


def free_port(address="127.0.0.1"):
    """A port that nobody listens on now, and that nobody gets who asks for any: it is below those
    that the system hands out; another one each time. Better: listen on port 0 and ask."""
    least = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(100):
        with socket.socket() as s:
            try:
                s.bind((address, random.randrange(least // 2, least)))
            except OSError:
                continue
            port = s.getsockname()[1]
            if port not in GIVEN:
                GIVEN.add(port)
                return port
    raise AssertionError(f"no port is free on {address}")


def new_seed():
    """For a test's dice: that of SEED=n, or a new one."""
    return int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))


def wait_for(what, check, timeout=PATIENCE_S, every=0.01):
    """Asks until check() gives something true, and returns it. every: seconds; more where asking is a
    program that runs."""
    end = time.monotonic() + timeout
    while True:
        got = check()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout:g} s in vain for {what}")
        time.sleep(every)


class Result:
    """What a finished command left: code, out, err."""

    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"<{' '.join(self.args)}: exit {self.code}\n{self.out}{self.err}>"


class Process:
    """A program that runs on: in a process group of its own, its output in a file."""

    def __init__(self, args, env, cwd, log):
        self.args, self.log = args, log
        self._notes = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notes.settimeout(0.05)
        notify = log.with_suffix(".notify")
        self._notes.bind(str(notify))
        with open(log, "wb") as out:
            self._child = subprocess.Popen(args, env={**env, "NOTIFY_SOCKET": str(notify)}, cwd=cwd,
                                           stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                           start_new_session=True)
        self.pid = self._child.pid
        self.notes = []  # every line it sent to NOTIFY_SOCKET
        self.expected = False  # it was stopped, killed or waited for by the test

    @property
    def alive(self):
        return self._child.poll() is None

    @property
    def text(self):
        return self.log.read_text(errors="replace")

    def lines(self, pattern="."):
        return [line for line in self.text.splitlines() if re.search(pattern, line)]

    def _wait(self, what, check, timeout):
        def look():
            ended = not self.alive
            got = check()
            assert got or not ended, f"{self.args[0]} ended ({self._child.returncode}) before {what}"
            return got
        return wait_for(what, look, timeout)

    def wait_line(self, pattern, timeout=PATIENCE_S, times=1):
        """The times-th line of its output that the pattern is found in."""
        def check():
            found = self.lines(pattern)
            return found[times - 1] if len(found) >= times else None
        return self._wait(f"a line like {pattern!r}", check, timeout)

    def wait_note(self, line, timeout=PATIENCE_S):
        def check():
            try:
                while True:
                    self.notes += self._notes.recv(65536).decode().splitlines()
            except OSError:
                return line in self.notes
        return self._wait(f"the note {line}", check, timeout)

    def wait_ready(self, timeout=PATIENCE_S):
        self.wait_note("READY=1", timeout)
        return self

    def send(self, number):
        os.kill(self.pid, number)

    def wait(self, timeout=PATIENCE_S):
        """Its exit code; negative is a signal."""
        self.expected = True
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{' '.join(self.args)} did not end within {timeout:g} s") from None

    def stop(self, timeout=PATIENCE_S, number=signal.SIGTERM):
        """Asks it to end, and returns the exit code."""
        if self.alive:
            self.send(number)
        return self.wait(timeout)

    def kill(self):
        """SIGKILL to this process alone: its children have to see to themselves."""
        self.expected = True
        if self.alive:
            self._child.kill()
        self._child.wait()

    def close(self):
        self._notes.close()
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        self._child.wait()


class Garner:
    """One data directory and one configuration file, and commands that use them."""

    def __init__(self, config="", program="garner", directory=None):
        self.dir = Path(directory or tempfile.mkdtemp(prefix="garner-"))
        self.data = self.dir / "data"
        self.conf = self.dir / "garner.conf"
        self.program = BUILD / program
        # scenes run side by side: what is not told where to listen takes a free port, and what is
        # not told where to connect to fails
        self.env = clean_environment(SCENE=str(self.dir), HOME=str(self.dir),
                                     GARNER_DATA=str(self.data), GARNER_NET_PORT="0")
        self.processes = []
        self.configure(config)

    def configure(self, text):
        self.conf.write_text(text)

    def command(self, *args):
        return [str(self.program), "-c", str(self.conf), *map(str, args)]

    def run(self, *args, input=None, env=None, timeout=30, text=True):
        """Runs to the end. Text in, text out; bytes with text=False."""
        command = self.command(*args)
        done = subprocess.run(command, env={**self.env, **(env or {})}, cwd=self.dir, input=input,
                              stdin=subprocess.DEVNULL if input is None else None,
                              capture_output=True, timeout=timeout, text=text,
                              errors="replace" if text else None)
        return Result(command, done.returncode, done.stdout, done.stderr)

    def start(self, *args, env=None):
        """Starts and leaves it running; the scene's end stops it."""
        log = self.dir / f"log{len(self.processes) + 1}"
        process = Process(self.command(*args), {**self.env, **(env or {})}, self.dir, log)
        self.processes.append(process)
        return process

    def logs(self):
        return [(f"{p.log.name}: {' '.join(p.args)}", p.text) for p in self.processes]

    def close(self):
        """Stops everything. Returns what went wrong: what did not stop, what was left behind."""
        wrong = []
        for p in reversed(self.processes):
            if not p.expected and not p.alive:
                wrong.append(f"{' '.join(p.args)} ended by itself, exit {p._child.returncode}")
            try:
                if p.alive:
                    p.stop()
            except AssertionError as e:
                wrong.append(str(e))
        for _ in range(100):  # children of a killed supervisor get the time to follow it
            if not left_running(self.dir):
                break
            time.sleep(0.02)
        wrong += [f"left running: {said}" for said in end_all(self.dir)]
        for p in self.processes:
            p.close()
        return wrong

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


# A process begins with the peak of the one that it was forked from: a small one measures.
_PEAK = """
import os, subprocess, sys
p = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(p.pid, 0)
open(sys.argv[1], "w").write(str(used.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak_of(command, note, **options):
    """Runs a command; returns its exit code, its output and the peak of its memory in KiB. note: a
    path to write that to."""
    done = subprocess.run(["/usr/bin/python3", "-c", _PEAK, str(note), *map(str, command)],
                          stdin=subprocess.DEVNULL, **options)
    return done.returncode, done.stdout, int(Path(note).read_text())
