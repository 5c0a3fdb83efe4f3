"""A disk without room: a crawl that cannot keep pages does not fetch them, says so once, and goes on by
itself when there is room."""
import os
import signal
import subprocess

import pytest

from garner import wait_for
from pages import Web

PAGES, IN_FLIGHT = 50, 4


@pytest.fixture
def web():
    site = Web()
    site.pages = {f"/{i}": f"<title>p{i}</title>banana {i}" for i in range(PAGES)}
    site.pages["/"] = "<title>t</title>" + "".join(f'<a href="/{i}">x</a>' for i in range(PAGES))
    yield site
    site.stop()


def configuration(web, disk_free="1M", **shepherd):
    settings = {"cycle": "30s", "refresh": "1h", "no_delay": web.host, **shepherd}
    return (f"disk_free = {disk_free}\n[up]\nroles = shepherd\nrestart_max = 200ms\n[robot]\nnetworks = 127.0.0.1\n"
            f"delay = 10ms\nat_once = {IN_FLIGHT}\n[shepherd]\n" +
            "".join(f"{k} = {v}\n" for k, v in settings.items()))


def asked_for_pages(web):
    return [path for path in web.asked if path != "/robots.txt"]


def test_nothing_is_fetched_while_less_is_free_than_is_wanted(garner, web):
    g = garner(config=configuration(web, disk_free="1000T"))
    up = g.start("up").wait_ready()
    assert g.run("add", web.url + "/").code == 0
    up.wait_line("disk full; fetching paused")
    assert "for room on the disk" in g.run("status").out
    assert "disk_free" in g.run("doctor").out
    g.configure(configuration(web, disk_free="0"))
    assert asked_for_pages(web) == []
    up.send(signal.SIGHUP)  # by the new setting there is room
    wait_for("all pages", lambda: len(set(asked_for_pages(web))) == PAGES + 1)
    assert len(up.lines("disk full; fetching paused")) == 1
    assert up.stop() == 0


@pytest.mark.parametrize("file", ["", "/shepherd/objects"])
def test_a_write_that_is_refused_ends_the_fetching_and_not_the_role(garner, web, file):
    """All writes from some time on, of all files or of one. What was fetched since the last checkpoint
    is fetched again, and while that cannot be kept one page at a time."""
    g = garner(config=configuration(web))
    first = g.start("up").wait_ready()  # what a start needs is there
    assert first.stop() == 0
    refusal = "disk full; fetching paused.*No space left"
    up = g.start("up", env={"GARNER_FAULTS": f"file.write{file}=enospc@{2 if file else 30}+"})
    up.wait_ready()
    assert g.run("add", web.url + "/").code == 0
    up.wait_line(refusal)
    asked = len(asked_for_pages(web))
    if file:  # a trial goes well each time
        up.wait_line(refusal, times=3)
    assert len(asked_for_pages(web)) <= asked + IN_FLIGHT + (2 if file else 0)
    assert len(up.lines("role started")) == 1
    assert up.stop() == 0
    last = g.start("up").wait_ready()
    wait_for("all pages", lambda: len(set(asked_for_pages(web))) == PAGES + 1)
    assert len(asked_for_pages(web)) <= PAGES + 1 + asked + IN_FLIGHT + 2
    assert last.stop() == 0 and g.run("check").code == 0


def test_it_goes_on_by_itself_when_there_is_room(garner, web):
    """A real file system that is full, where one may be mounted."""
    g = garner(config=configuration(web, disk_free="2M"))
    g.data.mkdir()
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", g.data],
                                 capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system may be mounted by root only")
    try:
        up = g.start("up").wait_ready()
        filler = g.data / "filler"
        free = os.statvfs(g.data).f_bavail * os.statvfs(g.data).f_frsize
        filler.write_bytes(b"x" * (free - (1 << 20)))
        assert g.run("add", web.url + "/").code == 0
        up.wait_line("disk full; fetching paused")
        assert asked_for_pages(web) == []
        filler.unlink()
        up.wait_line("disk no longer full; fetching resumed")
        wait_for("all pages", lambda: len(set(asked_for_pages(web))) == PAGES + 1)
        assert len(asked_for_pages(web)) == PAGES + 1
        assert up.stop() == 0
    finally:
        subprocess.run(["umount", "-l", g.data], check=True)
