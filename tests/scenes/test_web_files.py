"""Files of archives in the browser and as JSON: the form, results, the place in the queue without JavaScript,
those who go away, and what the queuer cannot answer."""
import contextlib
import json
import os
import re
import select
import threading
import urllib.parse

import pytest

from archie_queue import Asker, stopped
from browser import browse
from garner import wait_for
from web import Site

CONFIG = """[up]
roles = archie-queuer web
[archie]
searchers = 2
[web]
listen = 127.0.0.1:0
"""
LISTING = b""".:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 pub
-rw-r--r-- 1 root wheel  17 Jan  5  1994 README

./pub:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 walnut tools
-rw-r--r-- 3 anna users 1234 Feb 28  1995 archie.tar.Z
-rw-r--r-- 3 anna users 7 Feb 28  1995 <script>window.ran=1
-rw-r--r-- 3 anna users 8 Feb 28  1995 bytes \xff\xfe"onmouseover=window.ran=2 a='

./pub/walnut tools:
-rw-r--r-- 3 anna users 99 Mar  1  1996 zebrawood-1.4.tar.gz
-rw-r--r-- 3 anna users 3234567 Mar  1  1997 zebrawood-1.5.tar.gz
"""
ROOT = "ftp://ftp.example.test/"
FOLDER = ROOT + "pub/walnut%20tools/"


def start(g):
    up = g.start("up").wait_ready()
    line = up.wait_line("garner is up")
    site = Site(up, int(re.search(r"web on http://127\.0\.0\.1:(\d+)/", line).group(1)))
    site.g = g
    return site


@pytest.fixture
def site(garner):
    g = garner(CONFIG)
    (g.dir / "listing").write_bytes(LISTING)
    os.utime(g.dir / "listing", (1e9, 1e9))
    assert g.run("archie", "build", "--site", "ftp.example.test-192.0.2.1", g.dir / "listing").code == 0
    return start(g)


def page(site, code=200, **params):
    a = site.ask("/files?" + urllib.parse.urlencode(params))
    assert a.status == code, a
    return a.body.decode()


def api(site, code=200, **params):
    a = site.ask("/api/files?" + urllib.parse.urlencode(params))
    assert a.status == code, a
    return a.body and json.loads(a.body)


def paths(answer):
    return [h["path"] for h in answer["hits"]]


def refresh(answer):
    seconds, _, url = answer.headers["Refresh"].partition("; url=")
    assert int(seconds) >= 1
    return url


def test_a_file_is_found_with_size_date_age_and_links(site):
    text = page(site, q="ZEBRAWOOD-1.5")
    for part in (f'<a href="{FOLDER}zebrawood-1.5.tar.gz"', f'<a href="{FOLDER}"', "ftp.example.test/pub/walnut tools",
                 "3.2 MB", "1997-03-01", "years ago", "1 file,"):
        assert part in text, part
    hit, = api(site, q="ZEBRAWOOD-1.5")["hits"]
    assert hit == {"host": "ftp.example.test", "address": "192.0.2.1", "listed": 10**9, "kind": "file",
                   "mode": "-rw-r--r--", "size": 3234567, "time": 857174400,
                   "path": "pub/walnut tools/zebrawood-1.5.tar.gz", "url": FOLDER + "zebrawood-1.5.tar.gz"}
    assert "Nothing was found" in page(site, q="nowheretobefound") and paths(api(site, q="nowheretobefound")) == []
    assert f'<a href="{ROOT}pub/walnut%20tools/"' in page(site, q="walnut")  # a folder
    empty = page(site)
    assert "<form" in empty and "Nothing" not in empty and 'value="usa"' in empty  # pseudo-domains
    assert '"/files"' in site.ask("/status").body.decode()


def test_limits_are_those_of_the_line_protocol(site):
    both = ["pub/walnut tools/zebrawood-1.5.tar.gz", "pub/walnut tools/zebrawood-1.4.tar.gz"]
    assert paths(api(site, q="zebra", sortby="size")) == both
    assert paths(api(site, q="zebra", sortby="rsize")) == both[::-1]
    assert paths(api(site, q="zebra", size_max="1K")) == both[1:]
    assert paths(api(site, q="zebra", time_min="1997-03-01", time_max="1997-03-01")) == both[:1]
    assert paths(api(site, q="zebra", match_domain="de:test")) and not paths(api(site, q="zebra", match_domain="usa"))
    assert paths(api(site, q="zebra", match_path="pub")) and not paths(api(site, q="zebra", match_path="gnu"))
    assert not paths(api(site, q="zebra", match_site="ftp.example.org")) and not paths(api(site, q="zebra", kind="dir"))
    assert paths(api(site, q="^arch.*Z$", search="regex")) == ["pub/archie.tar.Z"]
    assert paths(api(site, q="README", search="exact")) == ["README"] and not paths(api(site, q="EADM", search="exact"))
    one = api(site, q="zebra", maxhits=1, offset=1)
    assert (len(one["hits"]), one["total"]) == (1, 2)
    first = page(site, q="zebra", maxhits=1, sortby="size", kind="", size_min="", maxmatch="", time_min="")
    link = re.search(r'<a href="([^"]*)" rel="next"', first).group(1).replace("&amp;", "&")
    assert urllib.parse.parse_qs(link.split("?")[1]) == {
        "q": ["zebra"], "maxhits": ["1"], "sortby": ["size"], "offset": ["1"]}
    second = site.ask(link).body.decode()
    assert "zebrawood-1.4" in second and 'rel="prev"' in second and 'rel="next"' not in second
    names = {p["name"] for p in json.loads(site.ask("/api/openapi.json").body)["paths"]["/api/files"]["get"]["parameters"]}
    assert {"q", "id", "search", "match_domain", "status"} <= names


def test_names_of_others_stay_text(site):
    text = page(site, q="window.ran")
    assert "<script" not in text and text.count("window.ran=1") and "&lt;script&gt;" in text
    assert not re.search(r"<[^>]* onmouseover", text)
    odd = api(site, q="bytes ")["hits"][0]
    assert odd["path"].startswith("pub/bytes \ufffd\ufffd") and "%FF%FE" in odd["url"]
    assert urllib.parse.quote(odd["url"], safe=":/%'") == odd["url"] and "%FF%FE" in page(site, q="bytes ")
    same = site.ask("/api/files?q=%FF%FE")
    assert same.status == 200 and len(json.loads(same.body)["hits"]) == 1
    again = page(site, q='"><script>window.ran=3</script>', match_site='"><img src=x>', kind="")
    assert "<script" not in again and "<img" not in again


def test_what_cannot_be_asked_is_said_in_the_page(site):
    (site.g.data / "archie" / "etc").mkdir(exist_ok=True)
    (site.g.data / "archie" / "etc" / "ardomains.cf").write_text("a b:c A\nb a:x B\n")
    for why, params in (("match_domain", {"match_domain": "a"}), ("bytes", {"q": "x" * 5000}),
                        ("kind", {"kind": "door"}), ("time_min", {"time_min": "yesterday"}),
                        ("expression", {"search": "regex", "q": "["})):
        params = {"q": "zebra", **params}
        text = page(site, 400, **params)
        assert 'class="note bad"' in text and "<form" in text, why
        assert api(site, 400, **params)["error"]
    assert "q" in api(site, 400)["error"]
    for bad in ("q=x&maxhits=10001", "q=x&search=fuzzy", "q=x&q=y", "q=x&nothing=1", "q=x&size_min=big", "q=%00", "q=%4"):
        assert site.ask("/api/files?" + bad).status == 400, bad
        assert site.ask("/files?" + bad, Accept="text/html").status == (200 if "nothing" in bad else 400), bad
    assert site.ask("/api/files?q=" + "y" * 30000).status in (400, 414, 431)
    lists = "&".join(f"match_{k}=" + ":".join(f"{k}{i}" for i in range(65)) for k in ("domain", "path"))
    assert site.ask("/api/files?q=x&" + lists).status == 400
    assert paths(api(site, q="README")) == ["README"]


def waits(site, n):
    q = Asker(site.g)
    wait_for(f"{n} to wait", lambda: q.load()["queue"] == n)
    q.close()


def test_a_page_that_waits_tells_its_place_and_keeps_it(site):
    patient = []
    with stopped(site.g):
        before = Asker(site.g)
        for _ in range(3):
            before.ask(pattern="zebra")
        waits(site, 3)
        first = site.ask("/files?q=zebra&sortby=size")
        text = first.body.decode()
        assert (first.status, first.headers["Cache-Control"]) == (200, "no-store")
        assert re.search(r"its place is \d+, and it may take \d+ second", text) and "<form" in text
        again = refresh(first)
        assert again.startswith("/files?q=zebra&sortby=size&id=") and again.replace("&", "&amp;") in text
        assert site.ask(again).headers["Refresh"].endswith(again)
        waits(site, 4)  # it is the same one
        place = api(site, 202, q="README", status="yes")
        assert place["waiting"] and place["position"] >= 1 and place["seconds"] >= 0 and len(place["id"]) == 32
        thread = threading.Thread(target=lambda: patient.append(api(site, q="archie.tar")))
        thread.start()
        waits(site, 6)
        assert api(site, 202, q="README", status="yes", id=place["id"])["id"] == place["id"]
        waits(site, 6)
        # the id of a question is no key to another
        other = api(site, 202, q="archie", status="yes", id=place["id"])
        assert other["id"] != place["id"]
        assert site.ask("/status").status == 200
    thread.join()
    assert paths(patient[0]) == ["pub/archie.tar.Z"] and patient[0]["wait_us"] > 0
    last = site.ask(again)
    assert "Refresh" not in last.headers and "zebrawood-1.5" in last.body.decode()
    assert paths(api(site, q="README", status="yes", id=place["id"])) == ["README"]
    assert paths(api(site, q="README", id=place["id"])) == ["README"]  # it was fetched: it is asked again
    before.close()


def test_one_who_goes_away_leaves_the_queue(site):
    with stopped(site.g):
        s = site.raw(b"GET /api/files?q=zebra HTTP/1.1\r\nHost: localhost\r\n\r\n")
        page(site, q="README")  # and is never asked for again
        waits(site, 2)
        s.close()
        waits(site, 0)


def test_busy_and_away_are_said_so(site):
    with stopped(site.g):
        many = [site.raw(b"GET /api/files?q=zebra HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(25)]
        wait_for("refusals", lambda: len(select.select(many, [], [], 0)[0]) >= 3)  # 20 of one address may wait
        for path in ("/files?q=zebra", "/api/files?q=zebra"):
            full = site.ask(path)
            assert (full.status, full.headers["Retry-After"]) == (503, "5"), full
    heads = [s.recv(100)[9:12] for s in many]
    assert heads.count(b"200") >= 20 and set(heads) == {b"200", b"503"}
    for s in many:
        s.close()
    with stopped(site.g), site.raw(b"GET /api/files?q=zebra HTTP/1.1\r\nHost: localhost\r\n\r\n") as s:
        waits(site, 1)
        assert site.process.stop() == 0
        assert s.recv(100).startswith(b"HTTP/1.1 503 ")


def test_without_a_queuer_pages_say_so(garner):
    site = start(garner(CONFIG.replace("archie-queuer ", "")))
    away = site.ask("/files?q=zebra")
    assert away.status == 503 and away.headers["Retry-After"] and b"<form" in away.body
    assert "does not search now" in away.body.decode()
    asked = site.ask("/api/files?q=zebra")
    assert asked.status == 503 and str(site.g.data) not in away.body.decode() + asked.body.decode()
    assert site.ask("/archie/sites").status == 404
    (site.g.data / "archie" / "public").mkdir(parents=True)
    (site.g.data / "archie" / "public" / "sites").write_bytes(b"# sites\nftp://a.example/ 192.0.2.1\n")
    got = site.ask("/archie/sites")
    assert got.headers["Content-Type"].startswith("text/plain") and got.body == b"# sites\nftp://a.example/ 192.0.2.1\n"
    assert site.ask("/archie/sites", If_None_Match=got.headers["ETag"]).status == 304
    (site.g.data / "archie" / "public" / "sites").unlink()
    os.mkfifo(site.g.data / "archie" / "public" / "sites")
    failed = site.ask("/archie/sites")
    assert failed.status == 500 and str(site.g.data) not in failed.body.decode()
    site.process.wait_line("a pipe, expected a file")


@pytest.mark.limit(260)
def test_somebody_looks_for_files(site):
    browse(site, "files")


@pytest.mark.limit(260)
def test_somebody_sees_their_place_in_the_queue(site):
    """The story asks for a page that is not there when it has seen enough of the queue."""
    not_there = re.compile(r'requests_total\{.*class="4xx".*\} [1-9]')
    played = threading.Event()
    held = contextlib.ExitStack()
    before = Asker(site.g)

    def release():
        while not played.wait(0.2) and not not_there.search(site.g.run("status", "--metrics").out):
            pass
        held.close()

    held.enter_context(stopped(site.g))
    for _ in range(3):
        before.ask(pattern="zebra")
    waits(site, 3)
    thread = threading.Thread(target=release)
    thread.start()
    try:
        browse(site, "queue")
    finally:
        played.set()
        thread.join()
        before.close()
