"""SIGKILL to a sort: its temporary files have no names, so nothing is left of it."""
import os
import random
import subprocess
import time

import pytest

from garner import BUILD, clean_environment

DRIVER = str(BUILD / "tests" / "kill-sort")


def start(folder, records=30000, **env):
    return subprocess.Popen([DRIVER, str(folder), str(records)], env=clean_environment(**env),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def killed(child):
    """Ends it, if it has not ended by itself, and returns (exit code, output)."""
    child.kill()
    out, err = child.communicate(timeout=10)
    return child.returncode, out + err


def one_sort_s(folder):
    """What a first sort takes, from the start of the program, as busy as the machine is now."""
    begin = time.monotonic()
    child = start(folder)
    assert child.stdout.readline() == b"sorted\n"
    took = time.monotonic() - begin
    killed(child)
    return took


def test_killed_at_random_instants_it_leaves_nothing(tmp_path, seed, long_run):
    rng = random.Random(seed)
    finished = 0
    most = 3 * one_sort_s(tmp_path)
    for _ in range(200 if long_run else 20):
        child = start(tmp_path)
        time.sleep(rng.uniform(0, most))
        code, said = killed(child)
        assert code == -9, said
        finished += said.count(b"sorted")
        assert os.listdir(tmp_path) == []
    assert finished > 0, "it was never given the time to finish one"


@pytest.mark.parametrize("point", ["file.open", "file.write", "file.read"])
def test_killed_at_any_call_it_leaves_nothing(tmp_path, point, long_run):
    """Every call of a first sort, and some of the second."""
    at = 1
    while True:
        child = start(tmp_path, GARNER_FAULTS=f"{point}=kill@{at}")
        try:
            out, err = child.communicate(timeout=30)
        finally:
            child.kill()
        assert child.returncode == -9, err
        assert os.listdir(tmp_path) == []
        if b"sorted" in out:
            break
        at += 1 if long_run else 1 + at // 4
    assert at > 1


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path):
    child = start(tmp_path, GARNER_FAULTS="file.write=enospc@5+")
    out, err = child.communicate(timeout=30)
    assert child.returncode == 1
    assert b"No space left" in err
    assert os.listdir(tmp_path) == []
