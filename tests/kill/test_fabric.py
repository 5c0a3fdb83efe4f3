"""Both chains of the fabric, whole, on simnet: any process may be killed at any instant."""
import pytest

from kill.fabric_rounds import LONG, SHORT, Bots, Spiders

MOST_S = 0.3


@pytest.mark.limit(900)
@pytest.mark.parametrize("chain", [Spiders, Bots])
def test_whatever_is_killed_each_url_has_one_outcome_and_no_server_is_asked_too_often(garner, seed, long_run, chain):
    kills = LONG if long_run else SHORT
    # The short form has half the pages at half the speed: as long as before, and half the work.
    c = chain(garner, seed, pages=1000 if long_run else 150, delay_ms=50 if long_run else 100)
    passed = [p for p in chain.POINTS if c.at_point(p)]
    for _ in range(kills):
        c.at_random(MOST_S)
    c.settle()
    assert passed == list(chain.POINTS)
    assert c.useful > kills // 2, f"the list was done after {c.useful} of {kills} kills"
