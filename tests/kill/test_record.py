"""Record files: whatever a writer was told is durable is there after SIGKILL, whole and in order."""
import pytest

from kill.record_rounds import Rounds  # for the fixture rounds

SHORT, LONG = 20, 200


@pytest.mark.limit(120)
def test_killed_at_every_point_a_record_file_keeps_what_it_told(rounds, long_run):
    points = rounds.points()
    assert len(points) >= 10
    for point in points:
        for nth in (1, 2) if long_run else (1,):
            rounds.kill_at(point, nth)
            rounds.kill_at(point, 10 * nth, slow=True)


@pytest.mark.limit(120)
def test_killed_at_any_time_a_record_file_keeps_what_it_told(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_any_time()
    rounds.settle()
    assert rounds.records > 0
