"""A machine whose clock is wrong: before 1970, years ahead, and put right again."""
from garner import shifted, wait_for
from pages import Web

YEAR = 365 * 24 * 3600


def crawl(garner, web, **more):
    settings = {"cycle": "1s", "refresh": "1h", **more}
    return garner(config="[up]\nroles = shepherd broker\nrestart_max = 200ms\n"
                         "[robot]\nnetworks = 127.0.0.1\ndelay = 10ms\n[shepherd]\n"
                         f"no_delay = {web.host}\n" +
                         "".join(f"{k} = {v}\n" for k, v in settings.items()))


def found(g, word):
    return g.run("search", "--strict", "--urls", word).out


def test_a_clock_before_1970_is_lived_with(garner):
    web = Web()
    web.pages["/"] = "<title>t</title>banana"
    g = crawl(garner, web)
    up = g.start("up", env=shifted(-70 * YEAR)).wait_ready()
    assert g.run("add", web.url + "/", env=shifted(-70 * YEAR)).code == 0
    wait_for("the page", lambda: found(g, "banana"), every=0.2)
    assert up.stop() == 0
    again = g.start("up", env=shifted(-70 * YEAR)).wait_ready()
    assert again.stop() == 0
    assert not again.lines(" (warn|error) ") and g.run("check").code == 0
    # and put right
    web.pages["/"] = "<title>t</title>apple"
    right = g.start("up").wait_ready()
    wait_for("the page as it is", lambda: found(g, "apple"), every=0.2)
    assert right.stop() == 0 and not right.lines(" (warn|error) ")
    web.stop()


def test_a_clock_that_was_years_ahead_and_is_put_right_puts_nothing_off(garner):
    web = Web()
    web.pages["/"] = "<title>t</title>banana"
    g = crawl(garner, web)
    ahead = shifted(30 * YEAR)
    up = g.start("up", env=ahead).wait_ready()
    assert g.run("add", web.url + "/", env=ahead).code == 0
    wait_for("the page", lambda: found(g, "banana"), every=0.2)
    assert up.stop() == 0
    assert web.count("/") == 1
    web.pages["/"] = "<title>t</title>apple"
    right = g.start("up").wait_ready()  # for it the page was seen in 30 years
    wait_for("the page as it is", lambda: found(g, "apple"), every=0.2)
    assert right.stop() == 0
    assert g.run("check").code == 0
    web.stop()
