"""The fixture itself: scenes that leave something behind, or hang, fail and are cleaned up after."""
import subprocess
import sys
import tempfile
from pathlib import Path

import garner as real

SHELL = """
import pytest

def scene(garner, script):
    g = garner()
    g.command = lambda *args: ["/bin/sh", "-c", script]
    return g, g.start()
"""


def outcome(body):
    """Runs one scene by itself; returns (passed, output)."""
    with tempfile.TemporaryDirectory(prefix="s-") as name:  # short, because of Unix sockets in it
        return run_scene(Path(name), body)


def run_scene(where, body):
    for name in ("conftest.py", "garner.py", "pytest.ini"):
        (where / name).write_text((real.ROOT / "tests" / name).read_text())
    (where / "test_it.py").write_text(SHELL + body)
    done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:xdist", str(where)],
                          capture_output=True, text=True, cwd=where, timeout=50,
                          env=real.clean_environment(TMPDIR=str(where)))
    assert not real.left_running(where), "a process outlived its scene"
    return done.returncode == 0, done.stdout


def test_a_scene_that_stops_what_it_started_passes():
    passed, out = outcome("""
def test_it(garner):
    g, p = scene(garner, "echo hello; exec sleep 100")
    p.wait_line("^hello$")
    assert p.stop() == -15
""")
    assert passed, out


def test_a_scene_may_leave_the_stopping_to_the_fixture():
    passed, out = outcome("""
def test_it(garner):
    scene(garner, "exec sleep 100")
""")
    assert passed, out


def test_a_process_that_is_left_behind_fails_the_scene():
    passed, out = outcome("""
def test_it(garner):
    g, p = scene(garner, "setsid sleep 100 & echo hello; exec sleep 100")
    p.wait_line("hello")
    p.kill()
""")
    assert not passed and "left running" in out


def test_a_program_that_ends_unasked_fails_the_scene():
    passed, out = outcome("""
def test_it(garner):
    g, p = scene(garner, "echo the last words; exit 3")
    while p.alive:
        pass
""")
    assert not passed and "ended by itself, exit 3" in out and "the last words" in out


def test_a_scene_that_hangs_fails_and_is_cleaned_up():
    passed, out = outcome("""
@pytest.mark.limit(1)
def test_it(garner):
    g, p = scene(garner, "exec sleep 100")
    p.wait_line("never", timeout=100)
""")
    assert not passed and "took more than 1 s" in out


def test_readiness_comes_by_the_notify_socket():
    passed, out = outcome("""
SEND = "import os,socket; s=socket.socket(1,2); s.sendto(b'READY=1', os.environ['NOTIFY_SOCKET'])"

def test_it(garner):
    g, p = scene(garner, f'/usr/bin/python3 -c "{SEND}"; exec sleep 100')
    p.wait_ready()
    assert p.notes == ["READY=1"]
""")
    assert passed, out


def test_variables_of_garner_do_not_leak_into_scenes(garner, monkeypatch):
    monkeypatch.setenv("GARNER_WEB_LISTEN", "nonsense")
    g = garner()
    assert [k for k in g.env if k.startswith("GARNER_")] == ["GARNER_DATA", "GARNER_NET_PORT"]
