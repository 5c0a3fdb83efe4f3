"""garner archie parse: listings as a user sees them, packed or not, through the real worker."""
import bz2
import gzip
import json
import lzma
import pathlib

import pytest

LISTINGS = pathlib.Path(__file__).parent.parent / "data" / "listings"


def pairs():
    for path in sorted(LISTINGS.glob("*.json")):
        yield path.stem, json.loads(path.read_text())


def told_of(pair):
    told = [f"--listed={pair['listed']}", f"--tz={pair['tz_s']}", "--errors-max=100"]
    return told + ([f"--prefix={pair['prefix']}"] if "prefix" in pair else [])


def test_every_pair_is_printed_as_it_says(garner):
    g = garner()
    for name, pair in pairs():
        ran = g.run("archie", "parse", "--json", "--bytes", *told_of(pair), str(LISTINGS / f"{name}.txt"))
        assert ran.code == (0 if pair["entries"] else 2), name
        assert [json.loads(line) for line in ran.out.splitlines()] == pair["entries"], name
        bad = [int(line.split(".txt:")[1].split(":")[0]) for line in ran.err.splitlines() if ".txt:" in line
               and not line.startswith("garner: ")]
        assert bad == pair["bad"], name


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, lambda b: gzip.compress(b[:50]) + gzip.compress(b[50:])],
                         ids=["gzip", "xz", "members"])
def test_packed_listings_are_unpacked(garner, pack):
    g = garner()
    plain = (LISTINGS / "ls-gnu.txt").read_bytes()
    (g.dir / "listing").write_bytes(pack(plain))
    ran = g.run("archie", "parse", "--json", "listing")
    assert ran.code == 0 and len(ran.out.splitlines()) == 9


def test_other_packings_are_refused_as_what_they_are(garner):
    g = garner()
    (g.dir / "listing").write_bytes(bz2.compress((LISTINGS / "ls-gnu.txt").read_bytes()))
    ran = g.run("archie", "parse", "listing")
    assert ran.code == 2 and "no entries" in ran.err


def test_a_table_ends_with_the_bad_lines_and_their_reasons(garner):
    g = garner()
    (g.dir / "listing").write_text(".:\n" + "-rw-r--r-- 1 root root 7 Jan  2  2003 fine\n" * 40 + "once upon a time\n")
    ran = g.run("archie", "parse", "listing")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "-rw-r--r--    1 root     root                7 2003-01-02T00:00:00Z fine"
    assert ran.out.endswith("\n40 entries in 42 lines, 1 bad\nlisting:42: not a line of a listing\n")


def test_too_many_bad_lines_refuse_the_listing(garner):
    g = garner()
    (g.dir / "listing").write_text("-rw-r--r-- 1 root root 7 Jan  2  2003 fine\nonce upon a time\n")
    assert g.run("archie", "parse", "listing").code == 2
    assert g.run("archie", "parse", "--errors-max", "50", "listing").code == 0


def test_terminals_are_not_told_what_names_say(garner):
    g = garner()
    (g.dir / "listing").write_bytes(b"-rw-r--r-- 1 a b 7 Jan  2  2003 \x1b[31mred\n")
    ran = g.run("archie", "parse", "listing")
    assert "\x1b" not in ran.out and "[31mred" in ran.out


@pytest.mark.parametrize("option", ["--tz=+2500", "--tz=noon", "--listed=yesterday", "--errors-max=101"])
def test_what_makes_no_sense_is_refused(garner, option):
    g = garner()
    (g.dir / "listing").write_text("-rw-r--r-- 1 root root 7 Jan  2  2003 fine\n")
    ran = g.run("archie", "parse", option, "listing")
    assert ran.code == 2 and not ran.out


def test_a_file_that_is_not_there_is_named(garner):
    ran = garner().run("archie", "parse", "nothing")
    assert ran.code == 2 and "nothing: no such file" in ran.err
