"""garner provider against a cache of the test (tests/lococa.py): what a webmaster sees, and what goes out."""
import json
import os
import stat
from pathlib import Path

import lococa
import pytest
from garner import wait_for

PREFIX = "http://h.example/"


@pytest.fixture
def cache(request):
    uns, rs = lococa.Uns(), lococa.Rs()
    yield uns, rs
    uns.close()
    rs.close()


def provider(garner, cache, more=""):
    """A Garner whose provider is registered."""
    uns, rs = cache
    g = garner()
    g.configure(f"[provider]\nrs = {rs.url}\nuns = {uns.address}\n{more}")
    g.run("provider", "register", PREFIX)
    g.file = Path(g.data) / "provider"
    return g


def site(g, **files):
    root = Path(g.dir) / "site"
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def tree(g, root, *args):
    return g.run("provider", "send", "--tree", str(root), "--prefix", PREFIX, *args)


def rows(uns, n=-1):
    return {r["c"]: r.get("op", "update") for r in uns.sets[n]["rows"]}


def test_registration_from_the_first_word_to_the_last(garner, cache):
    uns, rs = cache
    g = garner()
    g.configure(f"[provider]\nrs = {rs.url}\n")
    assert g.run("provider", "status").code == 2
    secret = Path(g.dir) / "garner.txt"
    done = g.run("provider", "register", PREFIX, "--mail", "a@b.example", "-w", str(secret))
    assert done.code == 0 and "garner provider verify http://h.example/" in done.out
    assert "mail      not sent: the mail server is away" in done.out
    assert rs.asked[-1] == ("POST", "/api/providers", {"site": PREFIX, "mail": "a@b.example", "send": "yes"})
    assert secret.read_text() == "s" * 32 + "\n"
    file = Path(g.data) / "provider"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    done = g.run("provider", "register", PREFIX)
    assert done.code == 2 and "--again" in done.err
    done = g.run("provider", "verify", PREFIX + "no.txt")
    assert done.code == 6 and "there is no such file" in done.err
    done = g.run("provider", "verify", PREFIX + "garner.txt", "--json")
    assert done.json()["prefix"] == PREFIX
    assert g.run("provider", "set", "bandwidth=50K", "hours=0-8").code == 0
    assert rs.asked[-1] == ("POST", "/api/providers/17/contract", {"bandwidth": "50K", "hours": "0-8"})
    asked = len(rs.asked)
    assert g.run("provider", "set", "priority=9").code == 2
    done = g.run("provider", "set", "hours=0-8", "bandwidth=fast")
    assert done.code == 2 and "bandwidth, in bytes a second: expected a size" in done.err, done
    assert len(rs.asked) == asked  # nobody had to be asked
    done = g.run("provider", "status")
    assert "50K a second" in done.out and "any number of files, 1M" in done.out and "a full set (old)" in done.out
    done = g.run("provider", "status", "-s", "provider.rs=http://127.0.0.1:1/")
    assert done.code == 6 and "provider.rs says where the registration server is" in done.err
    assert g.run("provider", "secret", "--json").json()["secret"] == "t" * 32
    assert g.run("provider", "password").code == 0 and rs.password == "new-pw"
    assert g.run("provider", "status", "--json").json()["queued"] == 2
    file.chmod(0o640)
    done = g.run("provider", "status")
    assert done.code == 2 and "others may read it" in done.err
    file.chmod(0o600)
    shown = g.run("dump", str(file))
    assert shown.code == 0 and "new-pw" not in shown.out and "id 17" in shown.out
    assert g.run("check", g.data).code == 0
    assert g.run("provider", "deregister").code == 2
    assert g.run("provider", "deregister", "--yes").code == 0 and not file.exists()


def test_a_tree_sends_its_changes_alone(garner, cache):
    uns, _ = cache
    g = provider(garner, cache)
    root = site(g, index_html="<p>1", a_html="a", sub__index_html="s", pic_png="p", _hidden_txt="h", doc_pdf="d")
    (root / ".dot.html").write_text("x")
    (root / "sub" / "way out.html").symlink_to("/etc/hostname")
    (root / "sub" / "in.html").symlink_to("../a.html")
    done = tree(g, root, "-n")
    assert done.code == 0 and not uns.sessions
    done = tree(g, root)
    assert done.code == 0 and "5 new" in done.out, done
    assert rows(uns) == {PREFIX + n: "update" for n in ("", "a.html", "sub/", "sub/in.html", "doc.pdf")}
    one = next(r for r in uns.sets[0]["rows"] if r["c"].endswith("a.html"))
    assert one["mime"] == "text/html" and one["size"] == "1" and one["md5"] == "0cc175b9c0f1b6a831c399e269772661"
    assert tree(g, root).code == 1 and len(uns.sets) == 1
    os.utime(root / "a.html", (1, 1))
    assert tree(g, root).code == 1, "only touched"
    (root / "a.html").write_text("b")
    (root / "doc.pdf").unlink()
    (root / "new.txt").write_text("n")
    assert tree(g, root).code == 0
    assert rows(uns) == {PREFIX + "a.html": "update", PREFIX + "doc.pdf": "remove", PREFIX + "new.txt": "update",
                         PREFIX + "sub/in.html": "update"}
    assert uns.sets[1]["set"] == "partial"
    for path in sorted(root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    done = tree(g, root)
    assert done.code == 2 and "--empty" in done.err
    assert tree(g, root, "--empty").code == 0 and not uns.stored


def test_what_the_cache_does_not_take_is_said_and_not_remembered(garner, cache):
    uns, _ = cache
    g = provider(garner, cache)
    root = site(g, a_html="a", b_html="b", c_html="c" * 100)
    uns.refuse = {PREFIX + "a.html": (202, "outside")}
    uns.free_space = 50
    done = tree(g, root)
    assert done.code == 3 and "refused: http://h.example/a.html: 202 outside" in done.err
    assert "left out: http://h.example/c.html (text/html): over the quota" in done.err
    assert list(uns.stored) == [(PREFIX + "b.html", "text/html")]
    uns.refuse, uns.free_space = {}, 1 << 30
    done = tree(g, root, "--json")
    assert done.code == 0 and done.json()["received"] == 2 and sorted(rows(uns)) == [PREFIX + "a.html", PREFIX + "c.html"]
    done = g.run("provider", "send", PREFIX + "x.zip")
    assert done.code == 3 and "does not take its type" in done.err and len(uns.sets) == 2
    done = g.run("provider", "send", str(root))
    assert done.code == 2 and "--tree" in done.err and len(uns.sets) == 2


def test_a_relative_file_of_the_provider_is_below_the_data_directory(garner, cache):
    g = provider(garner, cache, "file = second\n")
    assert (Path(g.data) / "second").exists()
    assert g.run("provider", "status", "--json").json()["provider"] == 17


def test_a_tree_under_a_wrong_prefix_is_not_synced(garner, cache):
    uns, _ = cache
    g = provider(garner, cache)
    root = site(g, a_html="a")
    uns.refuse = {"http://other.example/a.html": (202, "outside")}
    done = g.run("provider", "send", "--tree", str(root), "--prefix", "http://other.example/")
    assert done.code == 3 and "garner provider status shows your prefixes" in done.err
    assert g.run("provider", "sync").code == 2, "nothing to sync"
    assert tree(g, root).code == 0 and rows(uns) == {PREFIX + "a.html": "update"}
    done = g.run("provider", "sync")
    assert done.code == 0 and len(uns.sets) == 2, done


@pytest.mark.parametrize("how", ["rejected", "cut", "away", "password"])
def test_a_set_that_was_not_taken_is_sent_again(garner, cache, how):
    uns, _ = cache
    g = provider(garner, cache)
    root = site(g, **{f"f{i}_html": str(i) for i in range(50)})
    assert tree(g, root).code == 0
    for i in range(50):
        (root / f"f{i}.html").write_text(f"again {i}")
    if how == "rejected":
        uns.reject = (104, "too many full sets")
    elif how == "password":
        uns.password = "other"
    elif how == "away":
        uns.close()
    uns.cut = how == "cut"
    done = tree(g, root)
    assert done.code == 6 and len(uns.sets) == 1, done
    assert "104" in done.err if how == "rejected" else "pw" not in done.err
    if how == "away":
        return
    uns.reject, uns.cut, uns.password = None, False, "pw"
    assert tree(g, root).code == 0 and len(uns.sets[1]["rows"]) == 50


def test_a_rejection_ends_a_large_set_while_it_is_sent(garner, cache):
    uns, _ = cache
    g = provider(garner, cache)
    uns.reject, uns.reject_after = (203, "too large"), 1000
    big = Path(g.dir) / "rows.xml"
    big.write_text("".join(f'<url c="{i}.html" size="1" mime="text/html"/>\n' for i in range(20000)))
    done = g.run("provider", "send", "--xml", str(big), "--prefix", PREFIX)
    assert done.code == 6 and "203 too large" in done.err
    uns.reject = None
    uns.refuse = {f"{PREFIX}{i}.html": (202, "outside") for i in range(0, 20000, 2)}
    done = g.run("provider", "send", "--xml", str(big), "--prefix", PREFIX)
    assert done.code == 3 and "10000 URLs accepted" in done.out and "refused: 9980 more" in done.err
    assert g.run("provider", "status", "--json").code == 0


def test_rows_of_xml_keep_their_attributes(garner, cache):
    uns, _ = cache
    g = provider(garner, cache)
    text = ('<url c="index.htm" b="frame.htm?a&amp;b" f="index.htm?lococa" mime="text/html" mtime="5" hours="0-8" sub="a:b"/>\n'
            '<url c="http://h.example/gone" f=""/>\n<url c="page" browse="no"/>')
    done = g.run("provider", "send", "--xml", "-", "--prefix", PREFIX, input=text)
    assert done.code == 0, done
    by = {r["c"]: r for r in uns.sets[0]["rows"]}
    assert by[PREFIX + "index.htm"] == {"c": PREFIX + "index.htm", "b": PREFIX + "frame.htm?a&b", "f": PREFIX + "index.htm?lococa",
                                        "mime": "text/html", "mtime": "5", "hours": "0-8", "sub": "a:b"}
    assert by[PREFIX + "gone"]["op"] == "remove" and by[PREFIX + "page"]["browse"] == "no"
    assert g.run("provider", "send", "--full").code == 0
    assert uns.sets[1]["set"] == "full" and len(uns.sets[1]["rows"]) == 2
    assert {r["c"]: r for r in uns.sets[1]["rows"]}[PREFIX + "index.htm"] == by[PREFIX + "index.htm"]
    done = g.run("provider", "send", "--xml", "-", input='<url c="http://h/" md5="1"/>')
    assert done.code == 2 and "line 1" in done.err and "md5" in done.err


def test_sync_sends_what_was_sent_before_and_a_full_set_where_one_is_wanted(garner, cache):
    uns, _ = cache
    g = provider(garner, cache, "check = 1d\n")
    assert g.run("provider", "sync").code == 2
    root = site(g, a_html="a", b_html="b")
    sitemap = Path(g.dir) / "sitemap.xml"
    loc = "<url><loc>http://h.example/%s</loc><lastmod>%s</lastmod></url>"
    sitemap.write_text("<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
                       + loc % ("s", "2026-01-01") + loc % ("t.pdf", "2026-01-01T00:00:00Z") + "</urlset>")
    assert tree(g, root).code == 0
    assert g.run("provider", "send", "--sitemap", str(sitemap)).code == 0
    assert rows(uns) == {PREFIX + "s": "update", PREFIX + "t.pdf": "update"}
    done = g.run("provider", "sync")
    assert (done.code, done.out, uns.sessions) == (0, "", 2)
    sitemap.write_text("<urlset>" + loc % ("s", "2026-01-02") + "</urlset>")
    (root / "b.html").unlink()
    uns.faults = [(304, PREFIX + "a.html", "text/html", "not found")]
    done = g.run("provider", "sync")
    assert done.code == 0 and "failed: http://h.example/a.html: 304 not found" in done.out
    assert rows(uns) == {PREFIX + "s": "update", PREFIX + "t.pdf": "remove", PREFIX + "b.html": "remove"}
    uns.wanted = "crash"
    done = g.run("provider", "sync")
    assert "wants a full set: crash" in done.out and uns.sets[-1]["set"] == "full"
    assert rows(uns) == {PREFIX + "a.html": "update", PREFIX + "s": "update"}
    uns.wanted = "old"
    told = g.run("provider", "send", "--once", "--xml", "-", input='<url c="http://h.example/u" mime="text/html" mtime="1"/>')
    assert "wants a full set (old): garner provider sync sends it" in told.err and uns.sets[-1]["set"] == "partial"
    done = g.run("provider", "sync")
    assert "wants a full set: old" in done.out and uns.sets[-1]["set"] == "full"
    assert g.run("provider", "sync").out == ""
    uns.seq += 3
    done = g.run("provider", "sync", "-s", "provider.check=0")
    assert done.code == 0 and "3 sessions of this provider were not ours" in done.err and "192.0.2.7" in done.err
    assert g.run("provider", "forget", str(root)).code == 0
    assert g.run("provider", "forget", str(root)).code == 2


def test_watch_sends_what_changes_and_survives_a_cache_that_is_away(garner, cache):
    uns, _ = cache
    g = provider(garner, cache)
    root = site(g, a_html="a")
    w = g.start("provider", "watch", str(root), "--prefix", PREFIX, "--quiet", "50ms")
    wait_for("the first set", lambda: len(uns.sets) == 1)
    w.wait_line("watching")
    (root / "new").mkdir()
    (root / "new" / "deep").mkdir()
    (root / "new" / "deep" / "x.html").write_text("x")
    wait_for("the new folder", lambda: (PREFIX + "new/deep/x.html", "text/html") in uns.stored)
    uns.cut = True
    (root / "new" / "deep" / "y.html").write_text("y")
    before = uns.sessions
    wait_for("a try", lambda: uns.sessions > before)
    uns.cut = False
    wait_for("it comes", lambda: (PREFIX + "new/deep/y.html", "text/html") in uns.stored)
    (root / "new").rename(root / "other")
    wait_for("the move", lambda: sorted(c for c, _ in uns.stored) == [PREFIX + "a.html", PREFIX + "other/deep/x.html", PREFIX + "other/deep/y.html"])
    assert w.stop() == 0
    assert w.text.count("accepted") == len(uns.sets)


def test_a_site_that_is_a_name_alone_is_verified_by_a_whole_url(garner, cache):
    g = provider(garner, cache)
    done = g.run("provider", "register", "www.example.com", "--again")
    assert done.code == 0 and "garner provider verify http://www.example.com/garner.txt" in done.out


def test_watch_without_anything_to_watch_says_so_and_ends(garner, cache):
    g = provider(garner, cache)
    done = g.run("provider", "watch")
    assert done.code == 2 and "nothing to watch: expected DIR and --prefix" in done.err


def test_receipts_are_waited_for(garner, cache):
    _, rs = cache
    g = provider(garner, cache)
    done = g.run("provider", "receipts")
    assert done.code == 1 and "no set was sent yet; garner provider send sends one" in done.err and not done.out
    done = g.run("provider", "receipts", "12")
    assert done.code == 1 and "the cache has no set 12 of this provider" in done.err and not done.out
    done = g.run("provider", "receipts", "--url", PREFIX + "no.html")
    assert done.code == 1 and "nothing is known of http://h.example/no.html" in done.err
    rs.receipts = [{"url": f"{PREFIX}{i}", "mime": "text/html", "state": "stored", "code": 0,
                    "at": "2026-11-18T10:00:00Z"} for i in range(1500)]
    rs.state = "kept"
    assert "set 1: kept until the queue manager of the cache is back, 1500 URLs" in g.run("provider", "receipts", "1").out
    rs.state = "absorbed"
    rs.receipts[7]["state"] = "queued"
    w = g.start("provider", "receipts", "1", "--wait")
    wait_for("it asks", lambda: len([a for a in rs.asked if a[1] == "/api/receipts"]) >= 2)
    rs.receipts[7].update(state="failed", code=304, why="not found")
    rs.receipts[8].update(state="failed", code=306, why="is text/plain")
    assert w.wait() == 3
    assert w.text.count("stored") == 1498 and " 304 not found\n" in w.text
    assert " 306 not the type that was said: is text/plain\n" in w.text
    done = g.run("provider", "receipts", "--json")
    assert len(done.json()["receipts"]) == 1500


def test_a_file_that_was_changed_by_hand_is_named(garner, cache):
    g = provider(garner, cache)
    text = g.file.read_text()
    g.file.write_text(text.replace("id 17", "id 18"))
    done = g.run("provider", "status")
    assert done.code == 4 and "sum" in done.err and json.dumps("pw") not in done.err


@pytest.mark.parametrize("point", ["provider.save", "provider.saved"])
def test_one_that_is_killed_loses_nothing(garner, cache, point):
    uns, _ = cache
    g = provider(garner, cache)
    root = site(g, a_html="a", b_html="b")
    done = g.run("provider", "send", "--tree", str(root), "--prefix", PREFIX, env={"GARNER_FAULTS": f"{point}=kill"})
    assert done.code == -9 and len(uns.sets) == 1
    done = tree(g, root)
    if point == "provider.save":
        assert done.code == 0 and rows(uns) == rows(uns, 0), "sent again"
    else:
        assert done.code == 1 and len(uns.sets) == 1
    assert g.run("check", g.data).code == 0


def test_watch_ends_while_a_cache_does_not_answer(garner, cache):
    uns, _ = cache
    uns.stalls = True
    g = provider(garner, cache)
    root = site(g, a_html="a")
    w = g.start("provider", "watch", str(root), "--prefix", PREFIX)
    wait_for("a session", lambda: uns.sessions)
    assert w.stop() == 0
    uns.stalls = False
    assert tree(g, root).code == 0


def test_a_password_does_not_leave_the_machine_in_plain(garner, cache):
    g = provider(garner, cache)
    done = g.run("provider", "status", "-s", "provider.rs=http://cache.example/")
    assert done.code == 2 and "unencrypted" in done.err
    done = g.run("provider", "send", PREFIX, "-s", "provider.uns=192.0.2.1:8194")
    assert done.code == 2 and "tls" in done.err, done
    for key, value, words in (("rs", "http://cache.example/", "unencrypted"), ("rs", "ftp://127.0.0.1/", "http"),
                              ("uns", "192.0.2.1:8194", "tls"), ("uns", "nowhere", "nowhere"),
                              ("tls_ca", "/none.pem", "/none.pem")):
        done = g.run("config", "check", "-s", f"provider.{key}={value}")
        assert done.code == 2 and "provider" in done.err and words in done.err, done
    g.configure("[provider]\nrs = http://cache.example/\nuns = 192.0.2.1:8194\nplain = yes\n")
    assert g.run("config", "check").code == 0
