"""From a URL to a search result: every allowed page is found by its own words, nothing else is. Of
pages with the same bytes one is found, and the others are its twins. And from what a provider pushes
to what his receipts say."""
import random
import time

import pytest

from caches import Cache
from crawl import MONTH, Crawl
from kill.cache_rounds import Pushers


@pytest.mark.limit(300)
def test_a_whole_crawl_finds_what_it_may_follows_changes_and_is_polite(garner):
    c = Crawl(garner, hosts=20, pages=100, seed=187)
    assert c.g.run("add", c.net.url(0)).code == 0
    c.settle(120)
    before = {p["url"]: p for p in c.net.expect()}
    assert len(before) > 500 and c.twins
    c.net.advance(MONTH)
    c.settle(120)
    now = {p["url"]: p for p in c.net.expect()}
    changed = [u for u in now if u in before and
               before[u]["version_word"] != now[u]["version_word"]]
    gone = sorted(before.keys() - now.keys())
    assert changed and gone and c.twins
    assert not c.found(before[changed[0]]["version_word"])
    why = c.g.run("why", "--json", gone[0]).json()
    assert why["known"] == "known" and not why["indexed"] and why["reason"], why
    c.net.check_polite()
    assert c.up.stop() == 0


@pytest.mark.limit(400)
def test_killed_at_random_it_ends_in_the_same_state(garner, seed, long_run):
    pick = random.Random(seed)
    c = Crawl(garner, hosts=10, pages=40, seed=262,
              cache=lambda g: Cache(None, g, cache="fullsets = 1000000\n", qm="retries = 100\n"))
    pushers = Pushers(c.cache, seed, owners=1)
    assert c.g.run("add", c.net.url(0)).code == 0
    for i in range(300 if long_run else 20):
        time.sleep(pick.uniform(0.05, 0.8))
        c.kill(pick)
        if i == 10:
            c.net.advance(MONTH)
    c.settle(120)
    assert c.twins
    c.net.check_polite()
    pushers.settle()
    assert c.up.stop() == 0
    c.cache.close()
    checked = c.g.run("check")
    assert checked.code == 0, checked
