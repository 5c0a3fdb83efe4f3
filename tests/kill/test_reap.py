"""A master and three reapds, killed, stopped and cut off in turn: every page once, and no server early."""
import pytest

from kill.reap_rounds import Rounds

SHORT, LONG = 20, 60


@pytest.mark.limit(400)
def test_whatever_is_lost_every_page_comes_once_and_no_server_is_asked_early(garner, seed, long_run):
    with Rounds(garner, seed) as rounds:
        for _ in range(LONG if long_run else SHORT):
            rounds.disturb()
        report = rounds.settle()
        assert rounds.lost > 0  # some of what was out was asked for again, for it is all there
        assert report["requests"] > len(rounds.expected)
