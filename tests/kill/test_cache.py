"""A whole cache: any role may be killed at any instant."""
import pytest

from kill.cache_rounds import LONG, SHORT, CacheRounds, points

MOST_S = 0.3


@pytest.mark.limit(1500)
def test_whatever_is_killed_what_was_accepted_is_as_its_receipts_say(garner, seed, long_run):
    r = CacheRounds(garner, seed, pause_s=0.2 if long_run else 0.8)
    passed = {point for point, roles in points(long_run).items() if r.at_point(point, roles)}
    for _ in range(LONG if long_run else SHORT):
        r.at_random(MOST_S)
    r.settle()
    assert passed == set(points(long_run))
