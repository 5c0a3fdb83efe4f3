"""The getter: listings of real servers, and of servers that hang, lie, cut or never end."""
import gzip
import json
import lzma
import os
import re
import time

import pytest

import archives
import garner as real
import peers
from archives import HERE, Ftpd, Odd, Reply, settings
from garner import shifted

LISTING = ".:\ntotal 8\n" + "".join(f"-rw-r--r-- 1 root root {i} Jan  1  2020 file{i}.txt\n" for i in range(9))
READY = [f"/{folder}{name}" for name in ("ls-lR.gz", "ls-lR.xz", "ls-lR.Z", "ls-lR") for folder in ("", "pub/", "PUB/")]


@pytest.fixture
def odd():
    made = Odd({})
    yield made
    made.stop()


@pytest.fixture
def ftpd():
    made = Ftpd()
    yield made
    made.stop()


def get(g, *args, code=0):
    """What became of each site, by its URL."""
    got = g.run("archie", "get", "--json", *args)
    assert got.code == code, got
    return {r["url"]: r for r in map(json.loads, got.out.splitlines())}


def add(g, url, *args):
    got = g.run("archie", "sites", "add", url, *args)
    assert got.code == 0, got
    return next(r["key"] for r in sites(g) if r["url"] == url)


def sites(g):
    return g.run("archie", "sites", "list", "--json").json()


def site(g, url):
    return next(r for r in sites(g) if r["url"] == url)


def parsed(g, key):
    """What the listing of a site says: path -> entry."""
    out = g.run("archie", "parse", g.data / "archie" / "lslr" / key, "--json")
    assert out.code == 0, out
    entries = [json.loads(line) for line in out.out.splitlines()]
    return {"/".join(p for p in (e["dir"], e["name"]) if p): e for e in entries}


def build(g, key):
    """Makes a database of a listing, which counts as made a while after the one before."""
    listing = g.data / "archie" / "lslr" / key
    build.later = getattr(build, "later", 0) + 9
    os.utime(listing, (time.time() + build.later,) * 2)
    built = g.run("archie", "build")
    assert built.code == 0, built


def left(g, folder):
    return sorted(os.listdir(g.data / "archie" / folder))


@pytest.mark.parametrize("kind, method", [("nginx", "walk"), ("lighttpd", "walk"), ("apache", "walk"), ("python", "walk"),
                                          ("docs", "ls-lR"), ("vsftpd", "LIST -lR"), ("vsftpd-one", "walk")])
def test_real_servers_are_sites(garner, kind, method):
    g = garner(settings())
    root = g.dir / "tree"
    os.chmod(g.dir, 0o755)
    paths = archives.tree(root)
    if kind.startswith("vsftpd"):
        url = archives.vsftpd(g, root, recurse=kind == "vsftpd")
    else:
        url = getattr(archives, kind)(g, root)
    key = add(g, url)
    assert get(g)[url]["method"] == method
    found = parsed(g, key)
    assert sorted(found) == paths
    assert all((found[p]["kind"] == "dir") == (root / p).is_dir() for p in paths)
    if kind not in ("python",):
        assert abs(found["README"]["size"] - 1200) < 100 and abs(found["README"]["time"] - 1741064767) < 86400
    assert left(g, "tmp") == []
    assert g.run("archie", "get").code == 1  # it is not due any more


def test_ready_made_listings_are_tried_in_their_order(garner, odd):
    g = garner(settings())
    assert "there are no sites yet; garner archie sites add URL" in g.run("archie", "get").err
    key = add(g, odd.url)
    odd.replies["/PUB/ls-lR"] = Reply(LISTING.encode(), last_modified=1700000000)
    got = get(g)[odd.url]
    assert odd.asked == READY and got["method"] == "ls-lR"
    assert sorted(parsed(g, key)) == [f"file{i}.txt" for i in range(9)]
    assert int((g.data / "archie" / "lslr" / key).stat().st_mtime) == 1700000000
    # a folder of a server has its own and no other
    below = odd.url + "some/folder/"
    add(g, below)
    odd.asked.clear()
    odd.replies["/some/folder/ls-lR.xz"] = Reply(lzma.compress(LISTING.encode()), last_modified=1700000000)
    assert get(g)[below]["method"] == "ls-lR"
    assert odd.asked == ["/some/folder/ls-lR.gz", "/some/folder/ls-lR.xz"]


def test_a_listing_is_taken_only_if_it_is_newer_and_is_one(garner, odd):
    g = garner(settings())
    key = add(g, odd.url, "--max-age", "1ms")
    page = b"<title>Index of /</title><a href=file>file</a>"
    odd.replies = {"/ls-lR.gz": Reply(gzip.compress(LISTING.encode()), last_modified=1700000000),
                   "/": Reply(page, type="text/html")}
    assert get(g)[odd.url]["method"] == "ls-lR"
    # the same: not transferred, and nothing else is asked for
    odd.asked.clear(), odd.since.clear()
    assert get(g, odd.url)[odd.url]["end"] == "unchanged"
    assert odd.asked == ["/ls-lR.gz"] and odd.since == ["Tue, 14 Nov 2023 22:13:20 GMT"]
    # the builder refused it: the same one is of no use
    (g.data / "archie" / "lslr" / key).rename(g.data / "archie" / "failed" / key)
    odd.asked.clear()
    assert get(g, odd.url)[odd.url]["method"] == "walk"
    assert odd.asked == READY + ["/"] and sorted(parsed(g, key)) == ["file"]
    # and says nothing about what the walk found
    assert get(g, odd.url)[odd.url]["method"] == "walk"
    # newer than the walk
    odd.replies["/ls-lR.gz"].last_modified = int(time.time()) + 2
    assert get(g, odd.url)[odd.url]["method"] == "ls-lR"
    # too small, and pages about something else
    del odd.replies["/"]
    odd.replies["/ls-lR.gz"] = Reply(gzip.compress(b"x"), last_modified=int(time.time()) + 9)
    odd.replies["/ls-lR.xz"] = Reply(b"<html>" + b"not found" * 99, type="text/html")
    odd.replies["/ls-lR"] = Reply(b"\n <!DOCTYPE html>" + b"not found" * 99, type="text/plain")
    assert get(g, odd.url, code=6)[odd.url]["end"] == "failed"
    assert sorted(parsed(g, key)) == [f"file{i}.txt" for i in range(9)]  # the old one is still there


def test_ftp_files_are_compared_by_mdtm(garner, ftpd):
    g = garner(settings())
    key = add(g, ftpd.url, "--max-age", "1ms")
    ftpd.files["pub/ls-lR.gz"] = (gzip.compress(LISTING.encode()), 1700000000)
    ftpd.all = ".:\r\ndrwxr-xr-x 2 a a 4096 Jan 1 2020 d\r\n\r\n./d:\r\n-rw-r--r-- 1 a a 1 Jan 1 2020 f\r\n"
    assert get(g)[ftpd.url]["method"] == "ls-lR"
    assert int((g.data / "archie" / "lslr" / key).stat().st_mtime) == 1700000000
    assert get(g, key)[ftpd.url]["end"] == "unchanged"
    assert [s for s in ftpd.said if s.startswith("RETR")].count("RETR ls-lR.gz") == 1
    assert not any(s.startswith("LIST") for s in ftpd.said)
    ftpd.files["pub/ls-lR.gz"] = (gzip.compress(LISTING.encode()), None)  # nobody knows how old
    assert get(g, key)[ftpd.url]["method"] == "LIST -lR"
    assert sorted(parsed(g, key)) == ["d", "d/f"]
    ftpd.files["pub/ls-lR.gz"] = (gzip.compress(LISTING.encode()), 1700000000)  # older than that
    assert get(g, key)[ftpd.url]["method"] == "LIST -lR"
    ftpd.files["pub/ls-lR.gz"] = (gzip.compress(LISTING.encode()), int(time.time()) + 2)
    assert get(g, key)[ftpd.url]["method"] == "ls-lR"


def test_a_server_that_lists_one_folder_is_walked(garner, ftpd):
    g = garner(settings())
    key = add(g, ftpd.url)
    ftpd.lists = {"": "total 1\r\ndrwxr-xr-x 2 a a 1 Jan 1 2020 a b\r\nlrwxrwxrwx 1 a a 1 Jan 1 2020 l -> a b\r\n"
                      "drwxr-xr-x 2 a a 1 Jan 1 2020 secret\r\n-rw-r--r-- 1 a a 7 Jan 1 2020 f",
                  "a b": "drwxr-xr-x 2 a a 1 Jan 1 2020 c\r\n", "a b/c": "-rw-r--r-- 1 a a 9 Jan 1 2020 g\r\n"}
    got = get(g)[ftpd.url]
    assert (got["method"], got["folders"]) == ("walk", 4)
    found = parsed(g, key)
    assert sorted(found) == ["a b", "a b/c", "a b/c/g", "f", "l", "secret"]
    assert found["a b/c/g"]["size"] == 9 and found["l"]["kind"] == "link"


WHOLE = {
    "headings that begin like folders": ".:\r\ndrwxr-xr-x 2 a a 1 Jan 1 2020 docs\r\ndrwxr-xr-x 2 a a 1 Jan 1 2020 data\r\n"
    "\r\ndocs:\r\n-rw-r--r-- 1 a a 1 Jan 1 2020 f\r\n\r\ndata:\r\n-rw-r--r-- 1 a a 1 Jan 1 2020 g\r\n",
    "no folder": "total 1\r\n-rw-r--r-- 1 a a 1 Jan 1 2020 f\r\n",
    "folders that are empty or forbidden": "drwxr-xr-x 2 a a 1 Jan 1 2020 a\r\ndrwxr-xr-x 2 a a 1 Jan 1 2020 b\r\n\r\na:\r\ntotal 0\r\n",
}
PART = {
    "one folder, with a heading": ".:\r\ndrwxr-xr-x 2 a a 1 Jan 1 2020 sub\r\n",
    "one folder, in the manner of DOS": "04-27-00  12:09PM       <DIR>          sub\r\n04-14-00  03:47PM          589 f\r\n",
    "names with colons": "drwxr-xr-x 2 a a 1 Jan 1 2020 sub\r\n-rw-r--r-- 1 a a 1 Jan 1 2020 f:\r\n",
}


@pytest.mark.parametrize("what", [*WHOLE, *PART])
def test_what_list_leaves_out_is_noticed(garner, ftpd, what):
    g = garner(settings())
    add(g, ftpd.url)
    ftpd.all = WHOLE.get(what) or PART[what]
    ftpd.lists = {"": ftpd.all, "sub": "-rw-r--r-- 1 a a 9 Jan 1 2020 g\r\n"}
    assert get(g)[ftpd.url]["method"] == ("LIST -lR" if what in WHOLE else "walk")


def test_a_parser_that_hangs_holds_up_no_other_site(garner, odd, ftpd):
    g = garner(settings())
    parser = g.dir / "parser"
    parser.write_text("#!/bin/sh\nexec sleep 60\n")
    parser.chmod(0o755)
    add(g, ftpd.url), add(g, odd.url)
    ftpd.lists = {"": "drwxr-xr-x 2 a a 1 Jan 1 2020 sub\r\n"}

    class Late(dict):
        def get(self, path, default):
            if path != "/robots.txt":
                real.wait_for("LIST", lambda: any(s.startswith("LIST") for s in ftpd.said))
                time.sleep(1)
            return dict.get(self, path, default)
    odd.replies = Late({"/ls-lR.gz": Reply(gzip.compress(LISTING.encode()))})
    run = g.start("archie", "get", "-s", f"parse.program={parser}")
    run.wait_line("got .*: ls-lR")
    assert run.stop() == 3
    assert left(g, "tmp") == []


def page(*names):
    links = "".join(f"<a href='{n}'>{n}</a>\n" for n in names)
    return Reply(f"<title>Index of /x</title><a href='../'>up</a><a href='?C=N'>sort</a>{links}".encode(), type="text/html")


def test_a_walk_that_was_cut_replaces_nothing_better(garner, odd):
    g = garner(settings(walk_max=2))
    key = add(g, odd.url, "--max-age", "1ms")
    odd.replies = {"/": page("a/", "b/", "f"), "/a/": page("g", "h"), "/b/": page("i")}
    # where there is nothing it is better than nothing
    got = get(g)[odd.url]
    assert (got["method"], got["cut"]) == ("walk", True)
    build(g, key)
    assert site(g, odd.url)["partial"] and site(g, odd.url)["entries"] == 5
    assert "5 (partial)" in g.run("archie", "sites", "list").out
    odd.replies["/"] = page("a/", "b/")
    assert get(g, key)[odd.url]["cut"]  # another cut one takes its place
    build(g, key)
    assert site(g, odd.url)["entries"] == 4
    # a listing of everything comes, and goes away
    odd.replies["/ls-lR.gz"] = Reply(gzip.compress(LISTING.encode()))
    assert get(g, key)[odd.url]["method"] == "ls-lR"
    del odd.replies["/ls-lR.gz"]
    failed = get(g, key, code=6)[odd.url]  # it waits for the builder
    assert failed["cause"] == "partial" and len(parsed(g, key)) == 9
    build(g, key)
    assert not site(g, odd.url)["partial"]
    failed = get(g, key, code=6)[odd.url]
    assert failed["cause"] == "partial" and "walk_max" in failed["why"]
    row = site(g, odd.url)
    assert row["entries"] == 9 and "4 entries; the database stays, with 9" in row["error"]
    assert row["next"][:10] > row["tried"][:10]  # not before some days
    assert left(g, "lslr") == [] and left(g, "failed") == [key]
    # one that comes to its end is the truth, whatever its size
    del odd.replies["/b/"], odd.replies["/a/"]
    odd.replies["/"] = page("a/", "f")
    assert not get(g, key)[odd.url]["cut"]
    build(g, key)
    assert site(g, odd.url)["entries"] == 2 and not site(g, odd.url)["partial"]


def test_an_unchanged_listing_makes_the_database_young(garner, odd):
    g = garner(settings())
    add(g, odd.url, "--max-age", "1h")
    odd.replies = {"/ls-lR.gz": Reply(gzip.compress(LISTING.encode()), last_modified=1700000000), "/": page("f")}

    def at(hours, *args):
        return g.run("archie", *args, "--json", env=shifted(hours * 3600))

    def age(hours):
        return at(hours, "sites", "list").json()[0]["age"]
    assert at(0, "get").code == 0 and g.run("archie", "build").code == 0
    assert at(0.5, "get", odd.url).code == 1  # it is not due, named or not
    assert age(2) >= 7200
    odd.asked.clear()
    assert at(2, "get").json()["end"] == "unchanged" and odd.asked == ["/ls-lR.gz"]
    assert age(2) < 60 and at(2.5, "get", odd.url).code == 1
    assert at(3.5, "get").json()["end"] == "unchanged"
    del odd.replies["/ls-lR.gz"]
    assert at(5, "get").json()["method"] == "walk"


def test_a_clock_that_stood_years_ahead_keeps_no_listing_away(garner, odd):
    g = garner(settings())
    key = add(g, odd.url, "--max-age", "1h")
    odd.replies = {"/ls-lR.gz": Reply(gzip.compress(LISTING.encode()))}
    assert g.run("archie", "get", env=shifted(20 * 365 * 86400)).code == 0
    assert g.run("archie", "build").code == 0
    odd.replies = {"/ls-lR.gz": Reply(gzip.compress(LISTING.replace("file", "newer").encode()), last_modified=1700000000)}
    got = g.run("archie", "get", "--json", env=shifted(2 * 3600)).json()
    assert got["key"] == key and got["end"] != "unchanged", got
    built = g.run("archie", "build")
    assert built.code == 0 and "9 files" in built.out, built
    assert g.run("index", "names", "query", "--count", g.data / "archie", "newer").out == "9\n"


def test_hits_of_a_listing_in_pub_have_paths_of_the_site(garner, odd):
    g = garner(settings())
    add(g, odd.url)
    listing = LISTING + "\n./sub:\n-rw-r--r-- 1 root root 1 Jan  1  2020 deep.txt\n"
    odd.replies = {"/pub/ls-lR.gz": Reply(gzip.compress(listing.encode()))}
    assert get(g)[odd.url]["method"] == "ls-lR" and g.run("archie", "build").code == 0
    for name, path in (("file1.txt", "pub/file1.txt"), ("deep.txt", "pub/sub/deep.txt")):
        out = g.run("index", "names", "query", g.data / "archie", "--type", "exact", "--json", name)
        assert out.code == 0 and path in out.out, out


def test_a_walk_stays_in_its_folder_and_asks_each_once(garner, odd):
    g = garner(settings(walk_max=6))
    url = odd.url + "x/"
    key = add(g, url)
    odd.replies = {"/x/": page("a/", "b/", "/y/", "own/", "moved/", "f", "q?x/", "../z/", "//h.test/"),
                   "/x/a/": page("c/", "/x/", "/x/a/"), "/x/b/": Reply(b"no", 403), "/x/a/c/": page("g", "d/", "e/"),
                   "/x/own/": Reply(b"<title>Welcome</title><a href=h>h</a>", type="text/html"),
                   "/x/moved/": Reply(b"", 301, headers={"Location": "/x/a/"}), "/x/a/c/d/": page("i")}
    got = get(g)[url]
    assert (got["method"], got["folders"], got["cut"]) == ("walk", 6, True)
    assert sorted(parsed(g, key)) == ["a", "a/c", "a/c/d", "a/c/e", "a/c/g", "b", "f", "moved", "own"]
    walked = [p for p in odd.asked if "ls-lR" not in p]
    assert sorted(set(walked)) == ["/x/", "/x/a/", "/x/a/c/", "/x/b/", "/x/moved/", "/x/own/"]
    assert walked.count("/x/") == 1


def test_a_link_to_a_folder_above_is_not_walked_again(garner):
    g = garner(settings())
    root = g.dir / "tree"
    paths = archives.tree(root)
    for link in ("pub/loop", "pub/sub dir/deep/up"):
        (root / link).symlink_to(root if link.endswith("up") else ".")
        paths.append(link)
    url = archives.nginx(g, root)
    key = add(g, url)
    got = get(g)[url]
    assert (got["method"], got["cut"]) == ("walk", False)
    assert sorted(parsed(g, key)) == sorted(paths)


def test_other_spellings_of_a_folder_are_the_same_folder(garner, odd):
    g = garner(settings())
    key = add(g, odd.url + "x/")
    odd.replies = {"/x/": page("a/", "%61/", "./a/", "a/.", "a//", "a/../a/", "../x/", "..%2F/", "%2e%2e/", ".%2e/", "/", "//",
                               "a%00b", "a%0Ab", "b%2Fc", "http://other.test/x/d/", f"{odd.url}x/e", "javascript:x", "é"),
                   "/x/a/": page("%2E/", "../", "../../x/", "f")}
    got = get(g)[odd.url + "x/"]
    assert got["folders"] == 2 and not got["cut"]
    assert sorted(parsed(g, key)) == ["a", "a/f", "e", "é"]
    assert [p for p in odd.asked if "ls-lR" not in p] == ["/x/", "/x/a/"]


def test_of_a_page_without_end_the_beginning_is_taken(garner, odd):
    g = garner(settings())
    key = add(g, odd.url)
    odd.replies = {"/": page(*(f"name{i}" for i in range(80000)))}
    assert get(g)[odd.url]["cut"]
    said = g.run("archie", "parse", g.data / "archie" / "lslr" / key).out.splitlines()
    assert said[0].endswith("name0") and 50000 < int(re.match(r"(\d+) entries in \d+ lines, 0 bad", said[-1])[1]) < 80000


def test_what_is_too_large_for_us_cuts_the_walk(garner, odd):
    g = garner(settings("[parse]", "body_max = 64K"))
    key = add(g, odd.url)
    odd.replies = {"/": page("a/", "f"), "/a/": page(*(f"name{i}" for i in range(10000)))}
    got = get(g)[odd.url]
    assert got["cut"] and sorted(parsed(g, key)) == ["a", "f"]


def test_robots_txt_holds_for_each_request(garner, odd):
    g = garner(settings())
    add(g, odd.url)
    elsewhere = Odd({"/x.gz": Reply(gzip.compress(LISTING.encode())),
                     "/robots.txt": Reply(b"User-agent: *\nDisallow: /x\n", type="text/plain")}, address="127.0.0.6")
    odd.replies = {"/robots.txt": Reply(b"User-agent: *\nDisallow: /pub/\nDisallow: /no/\n", type="text/plain"),
                   "/ls-lR.gz": Reply(b"", 302, headers={"Location": elsewhere.url + "x.gz"}),
                   "/": page("no/", "pub/", "yes/"), "/yes/": page("f")}
    try:
        assert get(g)[odd.url]["method"] == "walk"
    finally:
        elsewhere.stop()
    assert elsewhere.asked == []
    assert [p for p in odd.asked if p.startswith(("/pub", "/no"))] == [] and "/yes/" in odd.asked


def test_each_request_keeps_its_distance(garner, odd):
    g = garner(settings().replace("delay = 0", "delay = 400ms"))
    add(g, odd.url + "x/")
    odd.replies = {"/x/": page("a/", "b/", "c/"), "/x/a/": page("f")}
    assert get(g)[odd.url + "x/"]["folders"] == 4
    near = [b - a for a, b in zip(odd.times, odd.times[1:])]
    # the lease counts from before the connection: on a busy machine what arrives may be closer
    assert len(near) == 7 and min(near) > 0.2, near


def test_redirects_without_end_are_given_up(garner, odd):
    g = garner(settings())
    add(g, odd.url)
    around = Reply(b"", 302, headers={"Location": "/ls-lR.gz?"})
    odd.replies = {"/ls-lR.gz": around, "/ls-lR.gz?": Reply(b"", 302, headers={"Location": "/ls-lR.gz"}), "/": page("f")}
    assert get(g)[odd.url]["method"] == "walk"
    assert odd.asked.count("/ls-lR.gz") < 20


def test_a_bomb_costs_no_more_than_a_large_listing(garner, odd):
    g = garner(settings(listing_max="1M"))
    key = add(g, odd.url)
    odd.replies = {"/ls-lR.gz": Reply(gzip.compress(LISTING.encode() * 10**4 + b" " * 10**7))}
    assert get(g)[odd.url]["end"] == "got"
    out = g.run("archie", "build")
    assert out.code != 0 and "more than" in out.out + out.err
    assert left(g, "failed") == [key]


BAD = {
    "hangs": (Reply(LISTING.encode(), length=10**6, stay=60), "idle"),
    "is cut": (Reply(LISTING.encode(), length=10**6), "cut"),
    "never ends": (Reply(LISTING.encode() * 100, forever=True), "body"),
    "is silent": (Reply(b"", length=10**6, stay=60), "idle"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_server_costs_nothing_but_its_bytes(garner, odd, what):
    reply, cause = BAD[what]
    g = garner(settings(idle_max="300ms", listing_max="1M"))
    key = add(g, odd.url)
    odd.replies = {"/ls-lR.gz": reply, "/": reply}
    got = get(g, code=6)[odd.url]
    assert got["end"] == "failed"
    row = site(g, odd.url)
    assert row["failures"] == 1 and row["error"] and row["next"] > row["tried"]
    assert row["cause"] == cause
    assert f"{cause}, {row['error']}" in g.run("archie", "sites", "list").out
    assert left(g, "lslr") == [] and left(g, "tmp") == []
    if reply.body:
        kept = (g.data / "archie" / "failed" / key).read_bytes()
        assert kept and (LISTING.encode() * 100).startswith(kept[:len(LISTING)])
        assert len(kept) <= 1 << 20
    why = g.run("why", odd.url + "pub/x")
    assert why.code == 0 and f"failed once: {cause}, " in why.out and key in why.out
    # it is left alone, unless it is named
    odd.asked.clear()
    assert g.run("archie", "get").code == 1 and odd.asked == []
    odd.replies = {"/ls-lR.gz": Reply(gzip.compress(LISTING.encode()))}
    assert get(g, odd.url)[odd.url]["end"] == "got"
    assert left(g, "failed") == [] and site(g, odd.url)["failures"] == 0


def test_causes_are_counted(garner, odd, ftpd):
    g = garner(settings(idle_max="300ms"))
    for url in (odd.url, ftpd.url):
        add(g, url)
    add(g, f"http://{HERE}:{real.free_port(HERE)}/", "--address", "127.0.0.7")
    add(g, "http://no.such.name.test/", "--address", "192.0.2.1")
    said = g.run("archie", "get")
    assert said.code == 6 and "4 of 4 sites: 0 got, 0 unchanged, 4 failed" in said.out
    assert "1 dns" in said.out
    assert g.run("archie", "get", "nobody.test").code == 2


def test_an_ftp_transfer_that_breaks_off_is_not_a_listing(garner, ftpd):
    g = garner(settings())
    key = add(g, ftpd.url)
    ftpd.files["ls-lR"], ftpd.cut = (LISTING.encode(), 1700000000), 150
    assert get(g, code=6)[ftpd.url]["end"] == "failed"
    assert (g.data / "archie" / "failed" / key).read_bytes() == LISTING.encode()[:150]
    assert left(g, "lslr") == [] and left(g, "tmp") == []


def test_a_site_that_moved_has_a_new_key(garner):
    peer, port = peers.need("dnsmasq-base"), real.free_port()
    g = garner(settings().replace("127.0.0.1:9", f"127.0.0.1:{port}"))

    def name_server(address):
        started = peer.start(g, "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                             "--log-queries", "--log-facility=-", "--user=", "--group=", "--pid-file=",
                             "--listen-address=127.0.0.1", "--bind-interfaces", f"--port={port}", "--local=/test/",
                             f"--host-record=moving.test,{address}")
        started.wait_line("started")
        return started

    odd = Odd({"/ls-lR.gz": Reply(gzip.compress(LISTING.encode()))}, address="127.0.0.6")
    http = odd.server.server_port
    try:
        dns = name_server("127.0.0.5")
        url = f"http://moving.test:{http}/"
        assert add(g, url, "--tz", "+01:00", "--max-age", "1ms") == f"moving.test,{http}-127.0.0.5"
        assert dns.stop() == 0
        dns = name_server("127.0.0.6")
        assert get(g, url)[url]["key"] == f"moving.test,{http}-127.0.0.6"
        assert f"{url} 127.0.0.6 tz=+01:00 max_age=1ms\n" == (g.data / "archie" / "sites.local").read_text()
        assert left(g, "lslr") == [f"moving.test,{http}-127.0.0.6"]
        # from where nothing comes the site does not move
        assert dns.stop() == 0
        name_server("127.0.0.5")
        assert get(g, url, code=6)[url]["key"] == f"moving.test,{http}-127.0.0.6"
        assert left(g, "lslr") == [f"moving.test,{http}-127.0.0.6"]
    finally:
        odd.stop()


def test_one_getter_at_a_time(garner, odd):
    g = garner(settings())
    add(g, odd.url)
    odd.replies = {"/ls-lR.gz": Reply(LISTING.encode(), length=10**6, stay=60)}
    first = g.start("archie", "get")
    real.wait_for("the first request", lambda: odd.asked)
    second = g.run("archie", "get")
    assert second.code == 5 and f"tmp: held by pid {first.pid} (" in second.err
    assert first.stop() == 3
    assert left(g, "tmp") == [] and left(g, "lslr") == []
