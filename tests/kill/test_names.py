"""Sites of a names index: after SIGKILL the last commit stands, whole, and who asks meanwhile never fails."""
import pytest

from kill.names_rounds import Rounds  # for the fixture rounds

SHORT, LONG = 20, 200


@pytest.mark.limit(200)
def test_killed_at_every_point_the_last_commit_stands(rounds, long_run):
    points = rounds.points()
    assert len(points) >= 12
    for point in points:
        for nth in (1, 2, 5) if long_run else (1,):
            assert rounds.kill_at(point, nth) or nth > 1, f"{point} was not passed"
    rounds.stop()


@pytest.mark.limit(200)
def test_killed_at_any_time_the_last_commit_stands(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_any_time()
    rounds.settle(10)
    rounds.stop()
    assert rounds.told > 10


def test_changed_bytes_are_found(rounds, long_run):
    rounds.settle(25)  # with a merge of all
    rounds.stop()
    done = rounds.ask("damage", rounds.thing, 2000 if long_run else 50, rounds.seed)
    assert done.returncode == 0, done.stderr
