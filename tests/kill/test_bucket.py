"""Bucket files: what a checkpoint covers is there after SIGKILL, under the number that is noted; a
shakedown leaves the old file or the new one with its report."""
import pytest

from kill.bucket_rounds import Rounds  # for the fixture rounds

SHORT, LONG = 20, 200


@pytest.mark.limit(240)
def test_killed_at_every_point_a_bucket_file_keeps_what_it_told(rounds, long_run):
    points = [p for p in rounds.points() if not p.startswith("bucket.fix")]
    assert len(points) >= 14
    for point in points:
        for nth in (1, 3) if long_run else (1,):
            rounds.kill_at(point, nth)


@pytest.mark.limit(120)
def test_killed_at_every_point_a_fix_loses_no_more_than_was_damaged(rounds, long_run):
    points = [p for p in rounds.points() if p.startswith("bucket.fix")]
    assert len(points) >= 3
    for point in points + ["bucket.delete"]:
        for _ in range(5 if long_run else 1):
            rounds.kill_fix_at(point)


@pytest.mark.limit(240)
def test_killed_at_any_time_a_bucket_file_keeps_what_it_told(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_any_time()
    rounds.settle()
    assert rounds.kept > 0
