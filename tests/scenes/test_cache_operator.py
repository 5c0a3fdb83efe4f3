"""The operator of a content cache: what is checked and mended, what providers may have, what is told of it all."""
import sqlite3
from pathlib import Path

import pushed
import pytest
from caches import Cache
from garner import wait_for
from pushed import run, states


@pytest.fixture
def site(tmp_path):
    yield from pushed.serve(tmp_path)


@pytest.fixture
def cache(garner):
    return pushed.start(garner())


def files(g):
    return sorted(p for p in (Path(g.data) / "cache" / "files").glob("*/*"))


def check(g, *args, code=0):
    done = g.run("cache", "check", "--json", *args)
    assert done.code == code, done
    return [f["text"] for f in done.json()["findings"]] if done.out else []


def test_rows_without_files_and_files_without_rows_are_mended(cache, site):
    g = cache
    root, url = site
    run(g, "register", url, "-w", str(root / "garner.txt"))
    run(g, "verify", url + "garner.txt")
    (root / "garner.txt").unlink()
    for name in "abc":
        (root / f"{name}.html").write_text(name)
    run(g, "send", "--tree", str(root), "--prefix", url)
    assert len(states(g)) == 3
    assert check(g) == []
    done = g.run("cache", "check", "--fix")
    assert done.code == 5 and "qm" in done.err, done

    g.up.stop()
    found = files(g)
    assert len(found) == 3
    lost = next(p for p in found if p.read_text() == "b")
    kept = {p.read_text(): p for p in found}
    lost.unlink()
    strange = lost.with_name("999.7")
    strange.write_text("of nobody")
    kept["c"].write_text("")  # cut by somebody
    texts = check(g, code=4)
    assert any(strange.name in t for t in texts) and len(texts) == 3, texts
    # killed when the rows are mended, and nothing is wrong with them any more: the flag is set by then
    assert g.run("cache", "check", "--fix", env={"GARNER_FAULTS": "cachedb.rebuild=kill"}).code == -9
    assert g.run("cache", "provider", "1", "--json").json()["wanted"] == "crash"
    texts = check(g, "--fix")
    assert len(texts) == 1 and strange.name in texts[0], texts
    # the owner is told what was lost, and asked for a full set
    g.up = g.start("up").wait_ready()
    assert g.run("cache", "provider", "1", "--json").json()["wanted"] == "crash"
    done = run(g, "sync", "-s", "provider.check=0")
    assert "wants a full set: crash" in done.out, done
    wait_for("the files", lambda: sorted(p.read_text() for p in files(g)) == ["a", "b", "c"], every=0.1)
    assert kept["a"].exists() and not strange.exists()
    assert check(g) == []


def spoil(g):
    """An index of the database loses its entries: SQLite says so, and all rows can still be read."""
    path = Path(g.data) / "cache" / "cache.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    page, = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sets_provider'").fetchone()
    size, = db.execute("PRAGMA page_size").fetchone()
    db.close()
    with path.open("r+b") as f:
        f.seek((page - 1) * size + 3)  # how many entries there are
        f.write(bytes(2))


def test_a_database_with_damaged_pages_is_begun_anew_and_no_row_loses_its_file(garner):
    c = Cache(garner).start()
    owner = c.register(c.owner())
    for path in ("/a", "/b"):
        owner.write(path)
    rows = [owner.row(path, md5=owner.md5(path)) for path in ("/a", "/b")]
    c.settle(owner, c.push(owner, rows).set)
    c.members["qm"].stop()
    spoil(c.g)
    found = check(c.g, code=4)
    assert found and not any("no row has this file" in text for text in found), found
    assert any("set aside" in text for text in check(c.g, "--fix"))
    # nobody believes that what was stored is still there, nor asks the database that was moved away
    c.begin("qm").wait_ready()
    told = c.push(owner, rows, full=True)
    assert told.accepted and b'reason="crash"' in told.said and b'<files used="0"' in told.said, told
    assert {r["state"] for r in c.settle(owner, told.set).values()} == {"stored"}
    wait_for("the old files to go", lambda: len(c.files()) == 2)
    assert check(c.g) == []
    c.stop()
    c.close()


@pytest.mark.parametrize("name", ["cache.db", "pidb.db"])
def test_a_database_of_another_version_is_refused_and_left_as_it_is(garner, name):
    g = garner()
    folder = Path(g.data) / "cache"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "pidb.db").touch(mode=0o600)
    assert g.run("cache", "crashed").code == 0 and check(g, "--fix") == []  # both are made
    db = sqlite3.connect(folder / name)
    version, = db.execute("PRAGMA user_version").fetchone()
    db.execute(f"PRAGMA user_version = {version + 1}")
    db.close()
    for args in (("check", "--fix"), ("check",)) if name == "cache.db" else (("crashed",),):
        done = g.run("cache", *args)
        assert done.code == 2 and "another version of garner made it" in done.err, done
    assert not list(folder.glob("*.damaged"))
    db = sqlite3.connect(folder / name)
    assert db.execute("PRAGMA user_version").fetchone() == (version + 1,)
    db.close()


def test_what_is_wrong_with_a_provider_is_found_and_left_to_people(cache, site):
    g = cache
    _, url = site
    run(g, "register", url)
    g.up.stop()
    assert check(g) == []
    db = sqlite3.connect(Path(g.data) / "cache" / "pidb.db")
    db.execute("UPDATE provider SET hours='always'")
    db.execute("INSERT INTO prefix VALUES(99, 'http://gone.example/', 1)")
    db.commit()
    db.close()
    for args in ((), ("--fix",)):
        texts = check(g, *args, code=4)
        assert len(texts) == 2 and "provider 1: " in texts[0] and "1 prefixes have no provider" in texts[1], texts


def test_the_operator_sets_what_a_provider_may_have(cache, site):
    g = cache
    _, url = site
    assert g.run("cache", "provider").code == 1
    run(g, "register", url)
    done = g.run("cache", "provider", "1", "--priority", "5", "--quota-files", "7", "--quota-space", "none", "--json")
    contract = done.json()["contract"]
    assert (contract["priority"], contract["quota_files"], contract["quota_space"]) == (5, 7, None)
    assert run(g, "status", "--json").json()["contract"]["quota_files"] == 7
    assert url in g.run("cache", "provider").out
    done = g.run("cache", "provider", "1", "--quota-space", "much")
    assert done.code == 2 and "none, got 'much'" in done.err
    assert g.run("cache", "provider", "2").code == 1
    assert g.run("cache", "provider", "--remove").code == 2
    assert "not verified" in g.run("status").out
    doctor = {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}
    assert doctor["cache"]["level"] == "ok" and doctor["cache database"]["level"] == "ok", doctor
    assert g.run("cache", "provider", "1", "--remove").code == 0
    assert g.run("cache", "provider").code == 1
