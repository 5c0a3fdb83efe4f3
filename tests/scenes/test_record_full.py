"""A file system that fills up under the writers of a record file: nothing that was not kept is called
kept, and when there is space again the same writers go on."""
import os
import shutil
import signal
import subprocess
import time

import pytest

from garner import wait_for
from kill.record_rounds import Rounds

# a quarter of each takes what is written between two checkpoints
SIZES = {"tmpfs": 16 << 20, "ext4": 16 << 20}


def run(*args):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True)


@pytest.fixture(params=sorted(SIZES))
def small(request, tmp_path):
    """A small file system of its own, mounted."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()
    size = SIZES[request.param]
    if request.param == "tmpfs":
        mounted = run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder)
    else:
        image = tmp_path / "image"
        with open(image, "wb") as f:
            f.truncate(size)
        made = run("mkfs.ext4", "-q", image)
        mounted = made if made.returncode else run("mount", "-o", "loop", image, folder)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount {request.param} here: {mounted.stderr.strip()}")
    yield folder
    assert run("umount", folder).returncode == 0


def fill(path, most):
    """Takes so much space, or all there is."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    piece = 64 << 10
    try:
        while most > 0 and piece:
            try:
                most -= os.write(fd, bytes(min(piece, most)))
            except OSError:
                piece //= 2
        os.fsync(fd)
    finally:
        os.close(fd)


class Writers(Rounds):
    def refused(self):
        return [line for line in self.errors.read_text().splitlines() if line.startswith("refused: ")]

    def stuck(self):
        """Refused, and nobody was told anything for a while."""
        said = len(self.lines())
        time.sleep(0.3)
        return self.refused() and len(self.lines()) == said

    def look(self, child):
        """Whole, and all that was told. The writers stand still meanwhile: what a refusal takes back
        may disappear under a reader."""
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        self.check(again_allowed=True)
        child.send_signal(signal.SIGCONT)


def test_a_full_file_system_loses_nothing_and_writing_goes_on_when_there_is_space(small, tmp_path):
    writers = Writers(tmp_path, 1)
    writers.thing = small / "record"
    ballast = [small / f"ballast{i}" for i in range(3)]
    for path in ballast:
        fill(path, shutil.disk_usage(small).free // 5)
    child = writers.start()
    try:
        wait_for("the first word", writers.lines)
        for path in ballast:
            fill(small / "rest", 1 << 30)
            wait_for("writers that are stuck", writers.stuck, 30)
            assert child.poll() is None
            writers.look(child)
            said = len(writers.lines())
            (small / "rest").unlink()
            path.unlink()
            wait_for("another word when there is space", lambda: len(writers.lines()) > said, 30)
            writers.look(child)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    writers.check(again_allowed=True)
    assert any("No space left on device" in line and "are not kept" in line
               for line in writers.refused())


def test_a_full_file_system_is_a_clear_error_at_the_start(small, tmp_path):
    writers = Writers(tmp_path, 1)
    writers.thing = small / "record"
    fill(small / "rest", 1 << 30)
    assert writers.ends_by(writers.start(1)) == 1
    assert "record: " in writers.errors.read_text()
    assert "No space left on device" in writers.errors.read_text()
    (small / "rest").unlink()
    writers.settle()
