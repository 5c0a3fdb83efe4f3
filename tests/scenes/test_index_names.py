"""A names index at the command line: built of paths and of a listing, counted, checked, printed; and what is said
where something of it is damaged."""
import gzip

LISTING = """\
.:
total 8
drwxr-xr-x 2 ftp staff 4096 Jan  1  1999 pub
-rw-r--r-- 1 ftp staff 1234 Jan  2  1999 README

./pub:
-rw-r--r-- 1 ftp staff 99 Jan  3  1999 Kernel.tar
this is not a line of a listing, is it?
"""


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    with open(path, "r+b") as f:
        f.write(data)


def built(garner, text="a/b\nc/D/\n./e\n", *args):
    g = garner()
    assert g.run("index", "names", "build", "i", *args, input=text).code == 0
    return g


def test_paths_become_the_four_parts_of_a_site(garner):
    g = built(garner)
    key = "paths-0.0.0.0"
    assert (g.dir / "i/index" / key).read_text() == "b\nD\ne\n"
    assert (g.dir / "i/nocaseindex" / key).read_text() == "b\nd\ne\n"
    assert (g.dir / "i/direc" / key).read_text() == "a\nc\n\n"
    assert (g.dir / "i/data" / key).read_text() == "".join(f"{kind:65}{n}\n" for n, kind in enumerate(["", "d", ""]))
    stats = g.run("index", "names", "stats", "--json", "i").json()
    assert (stats["files"], stats["directories"], stats["sites"], stats["problem"]) == (3, 3, 1, None)
    assert stats["site_list"][0]["key"] == key
    assert g.run("index", "names", "dump", "i").out.splitlines()[1] == f"{key}\tdir\t-\t-\tc/D"
    assert "3 files of 1 sites in 1 segments, all sound" in g.run("index", "names", "check", "i").out


def test_names_of_any_bytes_come_with_nul(garner):
    g = built(garner, "d/with\nnewline\0plain\0", "-0")
    assert (g.dir / "i/index/paths-0.0.0.0").read_text() == "with\\nnewline\nplain\n"
    assert "d/with\\nnewline" in g.run("index", "names", "dump", "i").out


def test_a_listing_is_read_packed_or_not(garner):
    g = garner()
    (g.dir / "ls-lR").write_text(LISTING)
    refused = g.run("index", "names", "build", "--listing", "--site", "a-1.2.3.4", "i", "ls-lR")
    assert refused.code == 2 and g.run("index", "names", "stats", "--json", "i").json()["sites"] == 0
    good = "".join(line for line in LISTING.splitlines(True) if "not a line" not in line)
    (g.dir / "ls-lR.gz").write_bytes(gzip.compress(good.encode()))
    assert g.run("index", "names", "build", "--listing", "--site", "a-1.2.3.4", "i", "ls-lR.gz").code == 0
    assert g.run("dump", "i/index/a-1.2.3.4").out.splitlines() == [
        "0\tdrwxr-xr-x\t2\tftp\tstaff\t4096\t915148800\tpub",
        "1\t-rw-r--r--\t1\tftp\tstaff\t1234\t915235200\tREADME",
        "2\t-rw-r--r--\t1\tftp\tstaff\t99\t915321600\tpub/Kernel.tar"]


def test_what_cannot_be_a_path_is_rejected_and_said(garner):
    g = garner()
    done = g.run("index", "names", "build", "i", input="good\n" + "x" * 70000 + "\n" + "y/" * 100000 + "z\nlast\n")
    assert done.code == 3 and "2 files, 2 rejected" in done.out
    assert g.run("index", "names", "build", "--site", "a/b", "i", input="x\n").code == 2
    assert g.run("index", "names", "build", "--url", "gopher://x/", "i", input="x\n").code == 2
    assert g.run("index", "names", "stats", "nowhere").code == 2


def test_damage_is_found_wherever_it_is(garner):
    for name in ("names/1/data", "index/paths-0.0.0.0", "names/1/pages", "names/1/segment", "names/manifest"):
        g = built(garner)
        assert g.run("check", "i").code == 0
        flip(g.dir / "i" / name, 2)
        done = g.run("check", "i")
        assert done.code == 4 and f"i/{name}" in done.out, name
        assert g.run("index", "names", "check", "i").code == 4, name


def test_a_part_that_is_one_byte_too_short_or_long_is_told_by_every_answer(garner):
    for part, by in (("index", -1), ("direc", 1)):
        g = built(garner)
        assert g.run("index", "names", "build", "--site", "b-1", "i", input="x/bb\n").code == 0
        path = g.dir / "i/names/1" / part
        with open(path, "r+b") as f:
            f.truncate(path.stat().st_size + by)
        done = g.run("check", "i")
        assert done.code == 4 and f"i/names/1/{part}" in done.out
        for _ in range(2):                                       # before and after the next build
            answer = g.run("index", "names", "query", "--json", "i", "b").json()
            assert (answer["total"], answer["exact"], answer["lost"]) == (1, False, ["paths-0.0.0.0"])
            assert f"names/1/{part}" in answer["problem"]
            text = g.run("index", "names", "query", "i", "b").out
            assert "at least 1 file\n" in text and f"names/1/{part}" in text and "paths-0.0.0.0" in text
            assert g.run("index", "names", "build", "--site", "c-1", "i", input="y\n").code == 0
        assert f"i/index/paths-0.0.0.0: the site is left out: i/names/1/{part}" in g.run("check", "i").out
        assert g.run("index", "names", "build", "i", input="a/b\n").code == 0
        assert g.run("index", "names", "query", "--json", "i", "b").json()["exact"] is True


def test_without_its_manifest_names_are_scanned_until_the_next_build(garner):
    g = built(garner)
    (g.dir / "i/names/manifest").unlink()
    assert "manifest: it is lost" in g.run("index", "names", "stats", "--json", "i").json()["problem"]
    assert len(g.run("index", "names", "dump", "i").out.splitlines()) == 3
    assert "noted" in g.run("check", "i").out
    assert g.run("index", "names", "build", "--site", "b-1", "i", input="x\n").code == 0
    stats = g.run("index", "names", "stats", "--json", "i").json()
    assert (stats["problem"], stats["sites"], stats["files"]) == (None, 2, 4)
    assert g.run("index", "names", "check", "i").code == 0
