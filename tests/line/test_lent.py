"""The line, fetched by others: URL servers and spiders fetch everything, and it ends as without them."""
import random
import time

import pytest

from crawl import MONTH, Crawl, Fabric


def crawl(garner, local, spiders, **more):
    # twice the usual delay, of which as much is owed: six processes more compete for the machine
    c = Crawl(garner, shepherd=Fabric.lends(local), delay="120ms", **more)
    fabric = Fabric(garner, c, spiders)
    assert c.g.run("add", c.net.url(0)).code == 0
    return c, fabric


@pytest.mark.limit(400)
def test_a_crawl_that_is_lent_to_a_url_server_ends_as_one_that_is_not(garner, long_run):
    world = {"hosts": 20, "pages": 30, "seed": 187} if long_run else {"hosts": 10, "pages": 10, "seed": 262}
    c, _ = crawl(garner, "never", [2], **world)
    c.settle(150)
    reapers = {r["kind"]: r for r in c.g.run("shep", "reapers", "--json").json()}
    assert reapers["local"]["jobs"] == 0 and reapers["lent"]["documents"] > 50
    c.net.advance(MONTH)
    c.settle(150)
    c.net.check_polite()
    assert c.up.stop() == 0


@pytest.mark.limit(500)
@pytest.mark.parametrize("local, spiders", [("never", [2]), ("always", [1, 1])])
def test_whoever_is_killed_a_lent_crawl_ends_in_the_same_state(garner, seed, long_run, local, spiders):
    """Two URL servers and the crawl's own robot have each a table of politeness of their own: a server that is in two
    hands is asked too often."""
    if not long_run and local == "always":
        pytest.skip("in the long form; scenes/test_doc_index.py has a short one")
    pick = random.Random(seed)
    c, fabric = crawl(garner, local, spiders, seed=262,
                      **({"hosts": 10, "pages": 20} if long_run else {"hosts": 10, "pages": 10}))
    for _ in range(150 if long_run else 12):
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
