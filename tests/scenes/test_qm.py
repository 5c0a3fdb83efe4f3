"""The queue manager with its botm and bots, on sites of pages; notification servers are played."""
import threading

from bots import Bot
from cachelink import NAMED, REMOVE, Uns, cachedb, notice, pidb, provider
from garner import wait_for
from pages import Web

ROBOT = "[robot]\nnetworks = 127.0.0.0/8\n"


class Cache:
    """A Garner with qm, botm and a bot; `uns` is connected."""

    def __init__(self, make, tmp_path, bots=1, **settings):
        self.g = g = make()
        self.dir = tmp_path
        more = "".join(f"{k} = {v}\n" for k, v in settings.items())
        g.configure(f"""{ROBOT}
[qm]
listen = unix:{tmp_path}/qm
botm_listen = unix:{tmp_path}/source
{more}
[botm]
listen = unix:{tmp_path}/botm
source = unix:{tmp_path}/source
machine = m1
[bot]
botm = unix:{tmp_path}/botm
parallel = 10
""")
        self.qm = g.start("qm").wait_ready()
        self.botm = g.start("botm").wait_ready()
        for _ in range(bots):
            g.start("bot").wait_ready()
        self.uns = Uns(tmp_path / "qm")
        assert self.uns.connect() == "qm"

    def again(self):
        """Another qm, after this one ended."""
        self.uns.close()
        self.qm = self.g.start("qm").wait_ready()
        assert self.uns.connect() == "qm"

    def queued(self):
        return cachedb(self.g, "SELECT count(*) FROM queue")[0][0]

    def stored(self):
        """File names, by the database."""
        return sorted(row[0] for row in cachedb(self.g, "SELECT file FROM lcc"))

    def files(self):
        folder = self.g.data / "cache" / "files"
        return sorted(str(p.relative_to(folder)) for p in folder.glob("*/*"))

    def settled(self, stored):
        wait_for("an empty queue", lambda: self.queued() == 0)
        wait_for("each row with its file", lambda: len(self.stored()) == stored and self.files() == self.stored())

    def count(self, name):
        roles = self.g.run("status", "--json").json()["roles"]
        counters = next(r for r in roles if r["name"] == "qm")["counters"]
        return next(c["value"] for c in counters if c["name"] == name)


def watch(web, most):
    """How many of a site's pages are asked for at a time."""
    inside, lock = [0], threading.Lock()
    handler = web.server.RequestHandlerClass
    get = handler.do_GET

    def do_get(self):
        with lock:
            inside[0] += 1
            most[web] = max(most[web], inside[0])
        try:
            get(self)
        finally:
            with lock:
                inside[0] -= 1

    handler.do_GET = do_get


def site(n, size=300):
    web = Web()
    web.pages.update({f"/a/{i}": f"<p>page {i} " + "x" * size for i in range(n)})
    return web


def pages(web, n=None):
    paths = [p for p in web.pages if p.startswith("/a/")]
    return [notice(web.url + p) for p in paths[:n]]


def test_what_is_announced_is_fetched_one_at_a_time_and_stored(garner, tmp_path):
    c = Cache(garner, tmp_path)
    webs = [site(40), site(40)]
    most = {w: 0 for w in webs}
    for web in webs:
        watch(web, most)
    for web in webs:
        c.uns.send(provider(c.g, web.url + "/a/"), pages(web))
    c.settled(80)
    for web in webs:
        assert sorted(web.asked) == sorted(p for p in web.pages), "no robots.txt, each page once"
        assert most[web] == 1
        assert web.asked[:5] == [f"/a/{i}" for i in range(5)], "in the order in which they came"
    assert (c.g.data / "cache" / "files" / c.stored()[0]).read_text().startswith("<p>page")
    wait_for("the counters", lambda: c.count("stored") == 80 and c.count("urls_queued") == 80)
    assert c.qm.stop() == 0


def test_news_replace_what_is_stored_and_removals_delete_it(garner, tmp_path):
    c = Cache(garner, tmp_path)
    web = site(10)
    p = provider(c.g, web.url + "/a/")
    c.uns.send(p, pages(web))
    c.settled(10)
    before = c.stored()
    web.pages["/a/3"] = "<p>another page"
    c.uns.send(p, [notice(web.url + "/a/3"), notice(web.url + "/a/4", op=REMOVE)])
    c.settled(9)
    assert len(set(before) - set(c.stored())) == 2
    # a full set is all that there is, and what was refused is named
    c.uns.send(p, [notice(web.url + "/a/1", size=5, mtime=7), notice(web.url + "/a/2", op=NAMED)], full=True)
    c.settled(2)
    # what agrees with what is stored is not fetched again
    asked = web.count("/a/1")
    c.uns.send(p, [notice(web.url + "/a/1", size=5, mtime=7)])
    wait_for("it is confirmed", lambda: c.count("urls_unchanged") == 1)
    assert c.queued() == 0 and web.count("/a/1") == asked


def test_a_url_that_is_removed_while_it_is_fetched_is_not_stored(garner, tmp_path):
    c = Cache(garner, tmp_path)
    web = site(2)
    p = provider(c.g, web.url + "/a/")
    held = web.hold("/a/0")
    c.uns.send(p, pages(web))
    wait_for("it is asked for", lambda: web.count("/a/0"))
    c.uns.send(p, [notice(web.url + "/a/0", op=REMOVE)])
    wait_for("it is absorbed", lambda: c.count("urls_removed") == 1)
    held.set()
    c.settled(1)
    wait_for("the file is dropped", lambda: c.count("dropped") == 1)


def played(c, act):
    """A robot that does as it is told; announces text/plain."""
    return Bot(f"unix:{c.dir}/botm", c.g.data / "cache" / "files", act=act)


def texts(urls, **more):
    return [notice(url, mime="text/plain", **more) for url in urls]


def test_errors_are_tried_again_or_told(garner, tmp_path):
    c = Cache(garner, tmp_path, bots=0, retries=2, retry_wait="50ms", site_wait="50ms", wheel_step="20ms")
    away = [3]

    def act(bot, fetch):
        n = fetch["url"][-1]
        assert fetch["robots"] == "no" and fetch["delay"] == "0s" and fetch["within"] == "http://p.example/a/"
        if n == "1":
            bot.say(fetch, "temporary", status=500)
        elif n == "2":
            bot.say(fetch, "permanent", status=404)
        elif n == "3":
            bot.say(fetch, "limit", cause="body")
        elif n == "4" and away[0]:
            away[0] -= 1
            bot.say(fetch, "site-temporary", cause="connect")
        elif n == "5" and fetch["id"] not in seen:
            seen.add(fetch["id"])
            bot.say(fetch, "cancelled")
        else:
            return True

    seen = set()
    bot = played(c, act)
    p = provider(c.g, "http://p.example/a/")
    c.uns.send(p, texts(f"http://p.example/a/{i}" for i in range(8)) + texts(["http://p.example/b/1"])
               + texts(["http://p.example/a/md"], md5=b"0" * 16))
    c.settled(5)
    assert dict(cachedb(c.g, "SELECT code, count(*) FROM error GROUP BY code")) == {308: 1, 304: 1, 305: 1, 202: 1, 307: 1}
    asked = [f["url"][-1] for f in bot.fetches]
    # one with an error of its own goes after all others; the site is waited for where it failed
    assert "".join(asked) == "012344445567d11"
    wait_for("the counters", lambda: c.count("site_errors") == 3 and c.count("retried") == 2 and c.count("failed") == 5)


def test_the_higher_priority_goes_first_and_takes_over(garner, tmp_path):
    c = Cache(garner, tmp_path, bots=0, overload="0")
    go, order = threading.Event(), []

    def act(_, fetch):
        go.wait(60)
        order.append(fetch["url"].split("/")[2][0])
        return True

    bot = Bot(f"unix:{tmp_path}/botm", c.g.data / "cache" / "files", parallel=1, act=act)
    low, high = (provider(c.g, f"http://{name}.example/") for name in ("low", "high"))
    pidb(c.g, "UPDATE provider SET priority = 5 WHERE id = ?", high)
    c.uns.send(low, texts(f"http://low.example/{i}" for i in range(4)))
    wait_for("the first", lambda: bot.fetches)
    c.uns.send(high, texts(f"http://high.example/{i}" for i in range(3)))
    wait_for("both are absorbed", lambda: c.queued() == 7)
    go.set()
    c.settled(7)
    assert "".join(order) == "lhhhlll"


def test_qm_and_botm_may_be_killed_and_nothing_is_fetched_twice_or_lost(garner, tmp_path):
    c = Cache(garner, tmp_path)
    webs = [site(60) for _ in range(3)]
    for web in webs:
        c.uns.send(provider(c.g, web.url + "/a/"), pages(web))
    for done in (30, 80):
        wait_for("some are stored", lambda n=done: len(c.stored()) >= n)
        c.qm.kill()
        c.again()
    wait_for("more are stored", lambda: len(c.stored()) >= 120)
    c.botm.kill()
    c.botm = c.g.start("botm").wait_ready()
    c.settled(180)
    assert c.qm.stop() == 0


def test_a_set_is_absorbed_once_however_often_it_is_sent(garner, tmp_path):
    c = Cache(garner, tmp_path)
    web = site(5)
    p = provider(c.g, web.url + "/a/")
    c.uns.send(p, pages(web), number=7)
    c.settled(5)
    c.uns.close()
    assert c.uns.connect() == "qm"
    c.uns.send(p, pages(web), number=7)
    c.uns.send(p, pages(web, 1), number=8)
    wait_for("the second set", lambda: web.count("/a/0") == 2)
    c.settled(5)
    assert len(web.asked) == 6
    wait_for("it is known", lambda: c.count("sets_again") == 1)


def test_a_contract_holds_from_the_moment_it_is_changed(garner, tmp_path):
    c = Cache(garner, tmp_path)
    web = site(60, size=2000)
    p = provider(c.g, web.url + "/a/")
    pidb(c.g, "UPDATE provider SET bandwidth = 1 WHERE id = ?", p)
    c.uns.send(p, pages(web))
    wait_for("it waits", lambda: c.queued() == 59 and c.count("under_way") == 0)
    pidb(c.g, "UPDATE provider SET bandwidth = 0 WHERE id = ?", p)
    c.settled(60)


def test_hours_of_the_contract_and_of_a_url_both_hold(garner, tmp_path):
    c = Cache(garner, tmp_path)
    web = site(4)
    now = int(pidb_hour(c))
    later = f"{(now + 5) % 24}-{(now + 7) % 24}"
    p, q = provider(c.g, web.url + "/a/"), provider(c.g, web.url + "/a/")
    pidb(c.g, "UPDATE provider SET hours = ? WHERE id = ?", later, p)
    c.uns.send(p, pages(web, 3))
    c.uns.send(q, [notice(web.url + "/a/3", hours=later), notice(web.url + "/a/3", mime="text/css"), *pages(web, 1)])
    wait_for("what is allowed", lambda: len(c.stored()) == 1 and c.count("open_sets") == 0)
    wait_for("the rest waits", lambda: c.queued() == 4)
    assert sorted(set(web.asked)) == ["/a/0", "/a/3"] and web.count("/a/0") == 1
    pidb(c.g, "UPDATE provider SET hours = '' WHERE id = ?", p)
    wait_for("the contract is another one", lambda: len(c.stored()) == 4 and c.queued() == 1)
    # the last notice counts, also for when it is fetched
    c.uns.send(q, [notice(web.url + "/a/3")])
    c.settled(5)


def pidb_hour(c):
    return cachedb(c.g, "SELECT strftime('%H', 'now')")[0][0]


def test_a_provider_that_is_gone_leaves_nothing(garner, tmp_path):
    c = Cache(garner, tmp_path)
    web = site(20)
    p, other = provider(c.g, web.url + "/a/"), provider(c.g, web.url + "/a/")
    c.uns.send(p, pages(web))
    c.uns.send(other, pages(web, 3))
    c.settled(23)
    held = web.hold("/a/5")
    c.uns.send(p, pages(web)[5:])
    wait_for("it is asked for", lambda: web.count("/a/5") == 2)
    pidb(c.g, "DELETE FROM provider WHERE id = ?", p)
    pidb(c.g, "INSERT INTO gone VALUES(?, 1)", p)
    wait_for("it is forgotten", lambda: not pidb(c.g, "SELECT * FROM gone"))
    held.set()
    c.settled(3)
    # and what comes of it later is dropped
    c.uns.send(p, pages(web))
    wait_for("it is dropped", lambda: c.count("open_sets") == 0 and not cachedb(c.g, "SELECT * FROM sets WHERE provider=?", p))
    c.settled(3)


def test_prefixes_that_cannot_be_read_take_nothing_away(garner, tmp_path):
    c = Cache(garner, tmp_path)
    web = site(3)
    p = provider(c.g, web.url + "/a/")
    pidb(c.g, "ALTER TABLE prefix RENAME TO hidden")
    c.uns.offer(p, pages(web))
    assert c.qm.wait() == 4 and "prefix" in c.qm.text
    pidb(c.g, "ALTER TABLE hidden RENAME TO prefix")
    c.again()
    c.uns.send(p, pages(web))
    c.settled(3)
    assert not cachedb(c.g, "SELECT * FROM error")


def test_while_the_queue_is_full_links_hear_busy(garner, tmp_path):
    c = Cache(garner, tmp_path, qdb_max=20)
    web = site(30)
    p = provider(c.g, web.url + "/a/")
    held = web.hold("/a/0")
    c.uns.send(p, pages(web))
    assert c.uns.hear() == ("busy", {}) and c.uns.hear()[0] is None
    c.uns.close()
    assert c.uns.connect() == "busy"
    c.uns.close()
    held.set()
    wait_for("sets are taken again", lambda: c.uns.connect() == "qm" or c.uns.close())
    c.settled(30)


def test_deletes_wait_for_the_machine_that_has_the_files(garner, tmp_path):
    c = Cache(garner, tmp_path)
    web = site(8)
    p = provider(c.g, web.url + "/a/")
    c.uns.send(p, pages(web))
    c.settled(8)
    assert c.botm.stop() == 0
    c.uns.send(p, [notice(web.url + "/a/0", op=REMOVE)])
    wait_for("a file to be deleted", lambda: len(cachedb(c.g, "SELECT * FROM fsm")) == 1)
    assert len(c.files()) == 8
    c.qm.kill()
    c.again()
    c.botm = c.g.start("botm").wait_ready()
    c.settled(7)
    assert not cachedb(c.g, "SELECT * FROM fsm")


def test_damage_makes_full_sets_wanted(garner, tmp_path):
    c = Cache(garner, tmp_path, bots=0)
    p = provider(c.g, "http://p.example/")
    assert c.qm.stop() == 0
    path = c.g.data / "cache" / "cache.db"
    path.write_bytes(b"no database at all" * 1000)
    qm = c.g.start("qm")
    assert qm.wait() == 4 and "cache.db" in qm.text
    assert pidb(c.g, "SELECT wanted FROM provider WHERE id = ?", p) == [(3,)]
