"""Others on the same machine: links in our way, modes, what a kill leaves behind, and folders that are served."""
import os
import re
import signal
import stat
import subprocess
import tempfile
from contextlib import contextmanager

import pytest
from garner import wait_for
from web import alone, everything


@contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_a_link_in_place_of_the_bucket_file_is_refused_by_name(garner, tmp_path):
    victim = tmp_path / "precious"
    victim.write_bytes(b"\0" * 100)
    g = garner()
    (g.data / "shepherd").mkdir(parents=True)
    (g.data / "shepherd/objects").symlink_to(victim)
    for _ in range(2):
        done = g.run("shepherd")
        assert done.code != 0 and "shepherd/objects: is a symbolic link" in done.err, done.err
        assert victim.read_bytes() == b"\0" * 100


def test_a_link_put_there_later_is_refused_too(garner, tmp_path):
    g = garner()
    role = g.start("shepherd").wait_ready()
    assert role.stop() == 0
    objects = g.data / "shepherd/objects"
    before = tmp_path / "moved"
    objects.rename(before)
    victim = tmp_path / "precious"
    victim.write_text("not a bucket\n")
    objects.symlink_to(victim)
    done = g.run("shepherd")
    assert done.code != 0 and "shepherd/objects: is a symbolic link" in done.err, done.err
    assert victim.read_text() == "not a bucket\n"


@pytest.mark.parametrize("role,folder", [("shepherd", "shepherd/state"), ("broker", "broker/words"),
                                         ("broker", "broker/docs")])
def test_a_link_in_place_of_a_folder_that_is_swept_is_refused(garner, tmp_path, role, folder):
    g = garner()
    assert g.start(role).wait_ready().stop() == 0
    (g.data / folder).rename(tmp_path / "moved")
    (g.data / folder).symlink_to(tmp_path / "moved")
    precious = [tmp_path / "moved" / name for name in (".x", "00000255.docs", "000000ff.words")]
    for path in precious:
        path.write_text("kept")
    done = g.run(role)
    assert done.code != 0 and f"{folder}: is a symbolic link" in done.err, done.err
    assert all(path.read_text() == "kept" for path in precious)


def test_nobody_else_can_write_what_garner_keeps_whatever_the_umask(garner):
    with umask(0):
        g = garner(config="[up]\nroles = web shepherd broker\n[web]\nlisten = 127.0.0.1:0\n")
        assert g.run("add", "http://127.0.0.1:9/").code == 0
        up = g.start("up").wait_ready()
        up.stop()
    wide = []
    for folder, folders, files in os.walk(g.data):
        for name in [".", *files]:
            st = os.lstat(os.path.join(folder, name))
            if stat.S_IMODE(st.st_mode) & 0o022:
                wide.append((oct(st.st_mode), folder, name))
    assert not wide
    assert stat.S_IMODE(g.data.stat().st_mode) == 0o750
    for folder in ("run", "shepherd", "broker", "shepherd/state", "broker/words"):
        assert stat.S_IMODE((g.data / folder).stat().st_mode) == 0o750, folder


def test_a_narrow_umask_is_kept(garner):
    with umask(0o077):
        g = garner()
        g.start("shepherd").wait_ready().stop()
    assert stat.S_IMODE(g.data.stat().st_mode) == 0o700
    assert stat.S_IMODE((g.data / "shepherd/objects").stat().st_mode) == 0o600


def test_the_doctor_minds_a_data_directory_that_anyone_may_write(garner):
    g = garner()
    g.data.mkdir(parents=True, exist_ok=True)

    def found():
        return {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}["data directory"]

    for mode, level, words in ((0o777, "warn", "anyone"), (0o1777, "warn", "anyone"), (0o770, "warn", "its group"),
                               (0o750, "ok", ""), (0o700, "ok", "")):
        g.data.chmod(mode)
        assert found()["level"] == level and words in found()["reason"], (oct(mode), found())
    g.data.chmod(0o777)
    assert subprocess.run(found()["mend"].split(), check=False).returncode == 0
    assert found()["level"] == "ok"


def test_what_a_kill_left_is_removed_at_the_next_start(garner):
    g = garner(config="[up]\nroles = web\n[web]\nlisten = 127.0.0.1:0\n")
    up = g.start("up", env={"GARNER_FAULTS": "file.rename/up.conf=kill"})
    assert up.wait() == -signal.SIGKILL
    left = [p.name for p in (g.data / "run").glob(".*tmp*")]
    assert left and re.fullmatch(r"\.up\.conf\.tmp\.\d+", left[0]), left
    (g.data / "run" / f".mine.tmp.{os.getpid()}").write_text("")  # someone writes it now
    up = g.start("up").wait_ready()
    assert [p.name for p in (g.data / "run").glob(".*tmp*")] == [f".mine.tmp.{os.getpid()}"]
    assert up.stop() == 0


# The role docs.

def docs(garner, root, **settings):
    text = "".join(f"{k} = {v}\n" for k, v in settings.items())
    return alone(garner(config=f"[docs]\nlisten = 127.0.0.1:0\nroot = {root}\n{text}"), "docs")


def test_what_is_hidden_is_not_served_and_links_out_are_not_listed(garner, tmp_path):
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    (root / "sub").mkdir()
    for name in (".htpasswd", ".git/config", "sub/.secret", "a.txt"):
        (root / name).write_text("text")
    (tmp_path / "outside").write_text("secret")
    (root / "out").symlink_to("../outside")
    (root / "absolute").symlink_to(tmp_path / "outside")
    (root / "etc").symlink_to("/etc")
    site = docs(garner, root)
    for path in ("/.htpasswd", "/.git", "/.git/", "/.git/config", "/sub/.secret", "/%2egit/config", "/sub/..%2f.htpasswd",
                 "/sub/%2e%2e/.htpasswd", "/out", "/absolute", "/etc/passwd", "/etc/", "/sub//.secret"):
        assert site.ask(path).status == 404, path
    listing = site.ask("/").body.decode()
    assert re.findall(r'href="([^"]+)"', listing) == ["./a.txt", "./sub/"]
    assert site.ask("/a.txt").body == b"text"


@pytest.fixture
def in_memory():
    """A folder in which files are made quickly."""
    with tempfile.TemporaryDirectory(prefix="garner-", dir="/dev/shm") as folder:
        yield folder


@pytest.mark.limit(240)
def test_a_large_folder_is_listed_in_part_away_from_the_threads_that_answer(garner, in_memory, long_run):
    n = 100_000 if long_run else 10_500
    for i in range(n):
        os.close(os.open(f"{in_memory}/{i:06d}.txt", os.O_CREAT | os.O_WRONLY))
    site = docs(garner, in_memory, threads=1, slow_threads=1, slow_queue=1)
    before = site.memory()
    body = site.ask("/").body.decode()
    names = re.findall(r'href="\./(\d+)\.txt"', body)
    assert names == [f"{i:06d}" for i in range(10_000)]
    assert f"{n - 10_000} more are not listed" in body
    assert site.memory() <= before + (48 << 20)

    def one_is_refused():
        """Only those that wait for the pool are: a thread of its own would answer one after the other."""
        asked = [site.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") for _ in range(6)]
        answers = [everything(s) for s in asked]
        for s in asked:
            s.close()
        return any(a.startswith(b"HTTP/1.1 503") for a in answers)
    wait_for("the pool to be full", one_is_refused)
