"""A file system that fills up under who keeps a bucket file: nothing that was not kept is called kept,
what a checkpoint covers stays, and when there is space again the same process goes on."""
import os
import shutil
import signal

import pytest

from garner import wait_for
from kill.bucket_rounds import Rounds
from scenes.test_record_full import fill, small  # noqa: F401


class Keeper(Rounds):
    def refused(self):
        return [line for line in self.errors.read_text().splitlines() if line.startswith("refused: ")]

    def stop_and_check(self, child):
        """Looks at a copy, as a start after a crash would see it."""
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        copy = Keeper(self.folder / "copy", self.seed)
        shutil.rmtree(copy.folder, ignore_errors=True)
        copy.folder.mkdir()
        copy.errors.write_text("")
        for path in self.thing.parent.glob("objects*"):
            shutil.copy(path, copy.folder)
        self.hear()
        copy.told = self.told
        lost = copy.look()
        assert not lost
        child.send_signal(signal.SIGCONT)


@pytest.mark.limit(120)
def test_a_full_file_system_loses_no_bucket_and_work_goes_on_when_there_is_space(small, tmp_path):  # noqa: F811
    keeper = Keeper(tmp_path, 1)
    keeper.thing = small / "objects"
    ballast = [small / f"ballast{i}" for i in range(2)]
    for path in ballast:
        fill(path, shutil.disk_usage(small).free // 4)
    child = keeper.start()
    try:
        wait_for("the first word", keeper.lines)
        for path in ballast:
            fill(small / "rest", 1 << 30)
            wait_for("a refusal", keeper.refused, 30)
            keeper.stop_and_check(child)
            said = len(keeper.lines())
            (small / "rest").unlink()
            path.unlink()
            wait_for("another word when there is space", lambda: len(keeper.lines()) > said, 30)
            assert child.poll() is None
            keeper.stop_and_check(child)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert any("No space left on device" in line for line in keeper.refused())
    for path in small.glob("rest"):
        path.unlink()
    keeper.check()
