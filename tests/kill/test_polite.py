"""Politeness among four processes that are killed: no server is asked by two at once or too early,
and none is lost for long."""
import pytest

from kill.polite_rounds import Rounds  # for the fixture rounds

SHORT, LONG = 20, 300


def go_on(rounds):
    """A busy machine kills workers before they ask: more of them, until enough was seen."""
    while rounds.starts <= 100:
        rounds.kill_some()
        rounds.settle()


@pytest.mark.limit(120)
def test_killed_at_every_point_no_server_is_asked_too_early(rounds, long_run):
    points = rounds.points()
    assert len(points) >= 10
    for point in points:
        for nth in (1, 2, 7) if long_run else (1, 4):
            rounds.kill_at(point, nth)
    rounds.settle()
    go_on(rounds)


@pytest.mark.limit(240)
def test_killed_at_any_time_no_server_is_asked_too_early(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_some()
    rounds.settle()
    go_on(rounds)
