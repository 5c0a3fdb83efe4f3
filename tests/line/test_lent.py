"""The line, fetched by others: a URL server and two spiders fetch everything, and it ends as without them."""
import random
import time

import pytest

from crawl import MONTH, Crawl, Fabric


def crawl(garner, **more):
    c = Crawl(garner, shepherd=Fabric.LENDS, **more)
    fabric = Fabric(garner, c, 2)
    assert c.g.run("add", c.net.url(0)).code == 0
    return c, fabric


@pytest.mark.limit(400)
def test_a_crawl_that_is_lent_to_a_url_server_ends_as_one_that_is_not(garner):
    c, _ = crawl(garner, hosts=20, pages=30, seed=187)
    c.settle(150)
    reapers = {r["kind"]: r for r in c.g.run("shep", "reapers", "--json").json()}
    assert reapers["local"]["jobs"] == 0 and reapers["lent"]["documents"] > 100
    c.net.advance(MONTH)
    c.settle(150)
    c.net.check_polite()
    assert c.up.stop() == 0


@pytest.mark.limit(500)
def test_whoever_is_killed_a_lent_crawl_ends_in_the_same_state(garner, seed, long_run):
    pick = random.Random(seed)
    c, fabric = crawl(garner, hosts=10, pages=20, seed=262)
    for _ in range(300 if long_run else 12):
        time.sleep(pick.uniform(0.05, 0.8))
        if pick.random() < 0.6:
            fabric.kill(pick)
        else:
            c.kill(pick)
    c.settle(200)
    c.net.check_polite()
    assert c.up.stop() == 0
    checked = c.g.run("check")
    assert checked.code == 0, checked
