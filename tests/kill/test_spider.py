"""A spider that is killed: what it said to be done is kept, and servers are left in peace."""
import pytest

from kill.spider_rounds import POINTS, Rounds

SHORT, LONG = 8, 300


@pytest.mark.limit(1200)
def test_done_means_kept_whenever_a_spider_is_killed(garner, seed, long_run):
    rounds = Rounds(garner(), seed)
    for point in POINTS:
        # one sync serves all that came meanwhile: on a busy machine there may be no third
        if not rounds.serve(None, f"{point}=kill@{rounds.random.randint(1, 3)}"):
            assert rounds.serve(None, f"{point}=kill@1"), point
    for _ in range(LONG if long_run else SHORT):
        rounds.serve(rounds.random.random() * 0.4)
    rounds.serve(None)
