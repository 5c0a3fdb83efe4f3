"""Documents and their words: after SIGKILL the last commit stands, whole, in both stores."""
import pytest

from kill.words_rounds import RARE, Rounds
from kill.rounds import new_seed

SHORT, LONG = 20, 200


@pytest.fixture
def rounds(tmp_path):
    r = Rounds(tmp_path, new_seed())
    print(f"seed {r.seed}")
    return r


@pytest.mark.limit(200)
def test_killed_at_every_point_the_last_commit_stands(rounds, long_run):
    points = rounds.points()
    assert len(points) >= 15
    for point in points:
        for nth in (1, 2, 5) if long_run else (1,):
            assert rounds.kill_at(point, nth) or nth > 1 or point in RARE, f"{point} was not passed"


@pytest.mark.limit(200)
def test_killed_at_any_time_the_last_commit_stands(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_any_time()
    rounds.settle(30)
    assert rounds.told > 30
