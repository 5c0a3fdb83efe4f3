"""From a listing to a name that is found: garner archie build, garner index names query, the broker's one search,
and descriptions."""
import gzip
import os
import re
import subprocess

from garner import wait_for

KEY = "ftp.example.test-192.0.2.1"
LISTING = """.:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 pub
-rw-r--r-- 1 root wheel  17 Jan  5  1994 README

./pub:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 walnut tools
-rw-r--r-- 3 anna users 1234 Feb 28 1995 archie.tar.Z

./pub/walnut tools:
-rw-r--r-- 3 anna users 99 Feb 28 1995 zebrawood-1.4.tar.gz
"""


def put_listing(g, text, name="ls-lR.gz"):
    path = g.dir / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def names(g, *args):
    done = g.run("index", "names", "query", "--json", *args[:-1], g.data / "archie", args[-1])
    return [hit["path"] for hit in done.json()["hits"]] if done.code == 0 else []


def found(g, words):
    done = g.run("search", "--strict", "--json", words)
    return sorted(row["url"] for row in done.json()["results"]) if done.code == 0 else []


def test_a_listing_by_hand_is_found_by_name_and_by_the_broker(garner):
    g = garner(config="[broker]\nsources = crawl archie\n[up]\nroles = broker\n")
    up = g.start("up").wait_ready()     # before there is any archive
    path = put_listing(g, LISTING)
    done = g.run("archie", "build", "--site", KEY, path)
    assert done.code == 0 and f"{KEY}: built, 5 files" in done.out
    assert path.exists()
    assert names(g, "--type", "sub", "ZEBRA") == ["pub/walnut tools/zebrawood-1.4.tar.gz"]
    folder = "ftp://ftp.example.test/pub/walnut%20tools/"
    wait_for("the broker has it", lambda: found(g, "zebrawood") == [folder])
    assert found(g, 'title : "pub walnut"') == [folder]
    # a site that is replaced: what went is found neither here nor there
    done = g.run("archie", "build", "--json", "--site", KEY, put_listing(g, LISTING.partition("\n\n./pub/walnut")[0], "plain"))
    assert done.code == 0 and done.json()["files"] == 4
    assert names(g, "--type", "sub", "ZEBRA") == []
    wait_for("the broker dropped it", lambda: found(g, "zebrawood") == [])
    assert found(g, "full-text : archie") == ["ftp://ftp.example.test/pub/"]
    assert up.stop() == 0


def test_what_was_fetched_is_built_and_a_bad_listing_is_kept_for_a_look(garner):
    g = garner()
    lslr = g.data / "archie/lslr"
    lslr.mkdir(parents=True)
    assert g.run("archie", "build").code == 1
    (lslr / KEY).write_text(LISTING)
    (lslr / "bad.test-192.0.2.2").write_text("<html>\n<p>404</p>\n</html>\n")
    done = g.run("archie", "build")
    assert done.code == 3 and f"{KEY}: built, 5 files" in done.out and "bad.test-192.0.2.2: failed" in done.out
    assert not list(lslr.iterdir())
    assert (g.data / "archie/failed/bad.test-192.0.2.2").read_text().startswith("<html>")
    assert names(g, "--type", "exact", "README") == ["README"]
    assert g.run("archie", "build", "nobody.test-192.0.2.3").code == 3
    assert g.run("archie", "build", "--site", "nokey", put_listing(g, LISTING)).code == 2


def test_doctor_knows_what_mends_the_databases(garner):
    def doctor():
        return {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}.get("databases")

    g = garner()
    assert doctor() is None
    build = ("archie", "build", "--site", KEY, put_listing(g, LISTING))
    assert g.run(*build).code == 0
    said = doctor()
    assert (said["level"], said["reason"]) == ("ok", "5 files of 1 archive")
    (g.data / "archie/names/manifest").write_bytes(b"spoilt")
    said = doctor()
    assert (said["level"], said["mend"]) == ("warn", "garner archie build")
    g.run("archie", "build")
    assert doctor()["level"] == "ok"
    for part in (g.data / "archie").glob("**/data"):
        if part.is_file():
            part.unlink()
    (g.data / "archie/data" / KEY).unlink()
    said = doctor()
    assert said["level"] == "warn" and "--site" in said["mend"]
    assert g.run(*build).code == 0 and doctor()["level"] == "ok"


def test_descriptions_are_imported_and_found(garner):
    g = garner()
    done = g.run("archie", "whatis", "import", "-", input="Package: zip\nDescription: packs files\n more\n\n")
    assert done.code == 0 and "descriptions: 1 read, 1 new, 0 changed, 1 in all" in done.out
    done = g.run("archie", "whatis", "import", "-", input="zip (1)  - package and compress files\nnonsense\n")
    assert done.code == 3 and "1 lines were skipped: 2" in done.out
    assert (g.data / "archie/whatis").read_text() == "zip\tpackage and compress files\n"
    done = g.run("archie", "whatis", "import", "-", input="just words\n")
    assert done.code == 2 and "line 1: neither" in done.err


def test_progress_is_shown_on_a_terminal_alone(garner):
    g = garner()
    listing = put_listing(g, "".join(f"-rw-r--r-- 1 a b {i} Jan  5  1994 file-{i}\n" for i in range(9000)))
    assert g.run("archie", "build", "--site", KEY, listing).err == ""
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(g.command("archie", "build", "--site", KEY, listing), env=g.env, text=True, stderr=theirs,
                              stdout=subprocess.PIPE, timeout=60)
        shown = os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0 and done.stdout.startswith(f"{KEY}: built, 9000 files")
    assert re.search(KEY + r": \d+ files, \d+ files/s, \d+ %, .* left", shown), shown


def check(g):
    """What garner check says of the files in archie/ that have no head of ours: verdicts and formats by path."""
    done = g.run("check", "--json")
    rows = {p["path"].split("/archie/")[1]: p for p in done.json()["problems"]}
    return done.code, {path: (row["verdict"], row["format"]) for path, row in rows.items()}, rows


def test_check_knows_the_files_of_archie(garner):
    g = garner()
    archie = g.data / "archie"
    assert g.run("archie", "sites", "add", "ftp://ftp.example.test/", "--address", "192.0.2.1").code == 0
    assert g.run("archie", "whatis", "import", "-", input="zip\tpacks files\n").code == 0
    (archie / "sites").write_text("ftp://other.test/ 192.0.2.2\n")
    for folder in ("lslr", "failed", "tmp", "errors"):
        (archie / folder).mkdir()
        for head in (b"GARNERGT\0\0\0\0 not ours", b"\x1f\x8b cut", b""):   # whatever others send
            (archie / folder / f"a{len(head)}.test-192.0.2.3").write_bytes(head)
    (archie / "lslr" / KEY).write_text(LISTING)
    assert g.run("archie", "build", KEY).code == 0
    assert check(g)[:2] == (0, {})
    for name in ("sites", "sites.local", "whatis"):
        good, path = (archie / name).read_bytes(), archie / name
        fmt = "whatis" if name == "whatis" else "archie-sites"
        for spoilt, want in ((good + good[:3], "noted"), (good[:3], "damaged"), (b"\0\1\2\n\xff" * 9, "damaged"),
                             (b"", None)):
            path.write_bytes(spoilt)
            code, said, rows = check(g)
            assert said == ({name: (want, fmt)} if want else {}), spoilt
            assert code == (4 if want == "damaged" else 0)
            assert want != "damaged" or rows[name]["remedy"]
        path.write_bytes(good)
        assert g.run("dump", path).out.encode() == good
    assert "gzip" in g.run("dump", archie / "lslr/a6.test-192.0.2.3").out
