"""States of the crawl: whatever a writer was told is durable is there after SIGKILL, nothing is half,
and a follower hears every change once."""
import pytest

from kill.crawl_rounds import UNUSUAL, Rounds  # for the fixture rounds

SHORT, LONG = 20, 200


@pytest.mark.limit(240)
def test_killed_at_every_point_the_crawl_keeps_what_it_told(rounds, long_run):
    points = rounds.points()
    assert len(points) >= 20
    missed = {point for point in points
              if not any([rounds.kill_at(point, nth) for nth in ((1, 2, 5) if long_run else (1,))])}
    assert missed <= UNUSUAL


@pytest.mark.limit(240)
def test_killed_at_any_time_the_crawl_keeps_what_it_told(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_any_time()
    rounds.kill_until(lambda: rounds.ever + rounds.told > 0)
