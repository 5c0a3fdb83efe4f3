"""The collector: after SIGKILL it goes on where it was, and ends as if nothing had been."""
import pytest

from kill.collector_rounds import RARE, Rounds  # for the fixture rounds

SHORT, LONG = 20, 200


@pytest.mark.limit(300)
def test_killed_at_every_point_it_ends_in_the_same_state(rounds, long_run):
    points = rounds.points()
    assert {"collector.commit", "collector.synced", "collector.committed", "collector.deleted", "compact.copied",
            "compact.ended", "indexer.committed", "indexer.exchange", "indexer.exchanged"} <= set(points)
    for point in points:
        if point in RARE and not long_run:
            continue
        for nth in (1, 2, 5) if long_run or point.startswith(("co", "indexer.c")) else (1,):
            assert rounds.kill_at(point, nth) or nth > 1 or point in RARE, f"{point} was not passed"


@pytest.mark.limit(300)
def test_killed_at_any_time_it_ends_in_the_same_state(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_any_time()
