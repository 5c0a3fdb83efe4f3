"""The registry: after SIGKILL the last commit stands, whole, and nothing else."""
import pytest

from kill.registry_rounds import RARE, Rounds  # for the fixture rounds

SHORT, LONG = 20, 200


@pytest.mark.limit(200)
def test_killed_at_every_point_the_last_commit_stands(rounds, long_run):
    points = rounds.points()
    assert len(points) >= 20
    for point in points:
        for nth in (1, 2, 5) if long_run else (1,):
            assert rounds.kill_at(point, nth) or nth > 1 or point in RARE, f"{point} was not passed"


@pytest.mark.limit(200)
def test_killed_at_any_time_the_last_commit_stands(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_any_time()
    rounds.settle(30)
    assert rounds.told > 30
