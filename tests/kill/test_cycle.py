"""The cycle: a crawl that is killed in its modules ends with the documents of one that was not, and tells
each delete once."""
import pytest

from kill.cycle_rounds import SHARED, Rounds  # for the fixture rounds

SHORT, LONG = 20, 200


@pytest.mark.limit(240)
def test_killed_at_every_point_the_crawl_ends_the_same(rounds, long_run):
    points = rounds.points()
    assert len(points) >= 18
    for point in points:
        for nth in (1,) if point not in SHARED else (1, 2, 3, 5, 8) if long_run else (1, 3, 7):
            assert rounds.kill_at(point, nth), point
    rounds.finish()


@pytest.mark.limit(240)
def test_killed_at_any_time_the_crawl_ends_the_same(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_any_time()
    rounds.finish()
