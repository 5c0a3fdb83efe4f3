"""A site, garner provider, and a whole cache: rs, uns, qm, botm and a bot, as garner up runs them."""
import gzip

import pushed
import pytest
from garner import wait_for
from pushed import run, states


@pytest.fixture
def site(tmp_path):
    yield from pushed.serve(tmp_path)


@pytest.fixture
def cache(garner):
    return pushed.start(garner())


def test_what_changes_on_a_site_is_in_the_cache(cache, site):
    g = cache
    root, url = site
    run(g, "register", url, "-w", str(root / "garner.txt"))
    done = run(g, "sync", "--tree", str(root), "--prefix", url, code=6)
    assert "103" in done.err
    run(g, "verify", url + "garner.txt")
    (root / "garner.txt").unlink()
    (root / "index.html").write_text("<p>home")
    (root / "a.html").write_text("<p>a")
    (root / "b.txt").write_text("b")
    (root / "x.png").write_text("x")
    run(g, "send", "--tree", str(root), "--prefix", url)
    assert states(g) == {url: ("stored", 0), url + "a.html": ("stored", 0), url + "b.txt": ("stored", 0)}
    run(g, "sync")
    done = g.run("why", url + "a.html")
    assert done.code == 0 and "cache:" in done.out and ", stored since" in done.out, done
    assert g.run("why", url + "a.html", "--json").json()["cache"][0]["state"] == "stored"
    (root / "a.html").write_text("<p>another")
    (root / "b.txt").unlink()
    run(g, "sync")
    assert states(g) == {url + "a.html": ("stored", 0), url + "b.txt": ("removed", 0)}
    # what the cache could not fetch is told, and sent again
    (root / "c.html").write_text("c")
    (root / "d.html").write_text("d")
    run(g, "send", "--tree", str(root), "--prefix", url, "-n")
    gone = url + "nothing.html"
    run(g, "send", gone)
    assert states(g) == {gone: ("failed", 304)}
    done = run(g, "sync")
    assert f"failed: {gone}: 304" in done.out
    assert set(states(g)) == {url + "c.html", url + "d.html"}
    done = run(g, "status", "--json").json()
    assert done["stored"]["files"] == 4 and done["verified"] is True
    # outside of what was proved
    done = g.run("provider", "send", "http://other.example/")
    assert done.code == 3 and "202" in done.err
    run(g, "set", "bandwidth=50K", "hours=0-8")
    assert run(g, "status", "--json").json()["contract"]["hours"] == "0-8"
    run(g, "password")
    run(g, "send", "--full")
    run(g, "deregister", "--yes")


def test_watch_and_full_sets(cache, site):
    g = cache
    root, url = site
    run(g, "register", url, "-w", str(root / "garner.txt"))
    run(g, "verify", url + "garner.txt")
    (root / "garner.txt").unlink()
    (root / "a.html").write_text("a")
    w = g.start("provider", "watch", str(root), "--prefix", url, "--quiet", "50ms")
    w.wait_line("accepted")
    (root / "sub").mkdir()
    (root / "sub" / "b.html").write_text("b")
    w.wait_line("accepted", times=2)
    wait_for("both", lambda: run(g, "status", "--json").json()["stored"]["files"] == 2)
    assert w.stop() == 0
    loc = "<{0}><loc>{1}{2}</loc><lastmod>2026-01-0{3}</lastmod></{0}>"
    (root / "sitemap.xml.gz").write_bytes(gzip.compress(b"<urlset>" + loc.format("url", url, "?page=1", 1).encode() + b"</urlset>"))
    (root / "index.xml").write_text("<sitemapindex>" + loc.format("sitemap", url, "sitemap.xml.gz", 1) + "</sitemapindex>")
    done = run(g, "send", "--sitemap", url + "index.xml", "--json").json()
    assert (done["new"], done["received"], done["full"]) == (1, 1, False)
    assert run(g, "send", "--remove", url + "?page=1", "--json").json()["removed"] == 1
    run(g, "forget", url + "index.xml")
    assert g.run("cache", "crashed").code == 0
    done = run(g, "sync", "-s", "provider.check=0")
    assert "wants a full set: crash" in done.out and "full: 3 URLs accepted" in done.out
    assert {s for s, _ in states(g).values()} <= {"stored", "unchanged"}
