"""garner shep buckets, as who looks after a crawl uses it."""
import fcntl
import json
import os
import struct

import pytest

from crc32c import crc32c

PAGES = ("Uhttp://a.example/\nO1\nTtext/html\nXhello\nXworld\n\n"
         "Uhttp://b.example/\nX" + "a" * 3000 + "\n\n"
         "Uhttp://c.example/\nXc\n")


@pytest.fixture
def filled(garner):
    """A data directory with three buckets in the crawl's file."""
    g = garner()
    (g.data / "shepherd").mkdir(parents=True)
    (g.data / "shepherd" / "objects").touch()
    done = g.run("shep", "buckets", "insert", input=PAGES)
    assert (done.code, done.out) == (0, "00000000\n00000001\n00000002\n")
    g.objects = g.data / "shepherd" / "objects"
    return g


def listed(g, *args):
    return g.run("shep", "buckets", "list", *args).out.splitlines()


def test_what_was_inserted_is_listed_and_printed(filled):
    assert [line.split()[0] for line in listed(filled)] == ["00000000", "00000001", "00000002"]
    rows = filled.run("shep", "buckets", "list", "--json").json()
    assert [r["type_name"] for r in rows] == ["v3.3", "v3.3 zstd", "v3.3"]
    one = filled.run("shep", "buckets", "extract", "0")
    assert one.out == "Uhttp://a.example/\nO1\nTtext/html\nXhello\nXworld\n\n"
    as_json = filled.run("shep", "buckets", "extract", "-j", "0x1").json()
    assert as_json["header"] == [["U", "http://b.example/"]]
    assert as_json["body"] == [["X", "a" * 3000]]


def test_cat_and_insert_make_a_copy(filled):
    text = filled.run("shep", "buckets", "cat").out
    filled.run("shep", "buckets", "insert", "-o", "copy", "-u", input=text)
    assert filled.run("shep", "buckets", "cat", "-o", "copy").out == text
    rows = filled.run("shep", "buckets", "list", "-j", "-o", "copy").json()
    assert {r["type_name"] for r in rows} == {"v3.3"}


def test_the_letters_of_the_old_tool_do_the_same(filled):
    assert filled.run("shep", "buckettool", "-l").out.splitlines() == listed(filled)
    assert filled.run("shep", "buckettool", "-x", "2").out == "Uhttp://c.example/\nXc\n\n"
    assert filled.run("shep", "buckettool", "-d", "2").code == 0
    assert filled.run("shep", "buckettool", "-L").out.splitlines()[2].startswith("DELETED ")
    assert filled.run("shep", "buckettool", "-q").code == 0
    assert filled.run("shep", "buckettool", "-l", "-q").code == 2


def test_a_deleted_bucket_is_gone_and_shakedown_tells_the_new_numbers(filled):
    assert filled.run("shep", "buckets", "delete", "0").code == 0
    gone = filled.run("shep", "buckets", "extract", "0")
    assert gone.code == 1 and "00000000: no such bucket" in gone.err
    assert len(listed(filled)) == 2 and len(listed(filled, "-L")) == 3
    shaken = filled.run("shep", "buckets", "shakedown")
    assert (shaken.code, shaken.out) == (0, "00000001 00000000\n00000002 00000001\n")
    assert filled.run("shep", "buckets", "extract", "1").out == "Uhttp://c.example/\nXc\n\n"
    assert sorted(p.name for p in filled.objects.parent.iterdir()) == ["objects"]


def test_with_states_nothing_is_renumbered_by_accident(filled):
    (filled.objects.parent / "state").mkdir()
    refused = filled.run("shep", "buckets", "shakedown")
    assert refused.code == 2 and "--anyway" in refused.err
    assert not list(filled.objects.parent.glob("objects.*"))
    assert filled.run("shep", "buckets", "shakedown", "--anyway").code == 0
    assert (filled.objects.parent / "objects.moves").exists()
    again = filled.run("shep", "buckets", "shakedown", "--anyway")
    assert again.code == 5 and "worked off" in again.err
    assert "00000002-00000002" in filled.run("dump", filled.objects.parent / "objects.moves").out


def test_with_states_nothing_is_inserted_that_would_be_lost(filled):
    assert filled.run("shep", "recover").code == 0
    before = filled.objects.read_bytes()
    page = "Uhttp://d.example/\nXd\n"
    refused = filled.run("shep", "buckets", "insert", input=page)
    assert (refused.code, refused.out) == (2, "") and "--anyway" in refused.err
    copy = filled.objects.parent / "copy"     # no state knows that one
    assert filled.run("shep", "buckets", "insert", "-o", copy, input=page).code == 0
    done = filled.run("shep", "buckets", "insert", "--anyway", input=page)
    assert (done.code, done.out) == (0, "00000003\n")
    assert filled.objects.read_bytes().startswith(before)
    assert filled.run("shep", "recover", "--rebuild").code == 0
    assert filled.run("shep", "states", "-j").json()[-1]["urls"] == 4


def test_next_to_an_open_state_nothing_is_inserted_at_all(filled):
    assert filled.run("shep", "recover").code == 0
    control = filled.objects.parent / "state" / "current" / "control"
    old = control.read_bytes()
    payload = b"\x04reap" + old[20 + 1 + old[20]:]     # the phase comes first
    head = old[:12] + struct.pack("<I", len(payload))
    control.write_bytes(head + struct.pack("<I", crc32c(head + payload)) + payload)
    before = filled.objects.read_bytes()
    refused = filled.run("shep", "buckets", "insert", "--anyway", input="Uhttp://d.example/\nXd\n")
    assert (refused.code, refused.out) == (2, "") and "is open (reap)" in refused.err
    assert filled.objects.read_bytes() == before


def test_while_a_crawl_runs_nothing_is_renumbered_at_all(filled):
    (filled.objects.parent / "state").mkdir()
    lock = os.open(filled.objects.parent, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    busy = filled.run("shep", "buckets", "shakedown", "--anyway")
    os.close(lock)
    assert busy.code == 5 and f"held by pid {os.getpid()} (" in busy.err
    assert not list(filled.objects.parent.glob("objects.*"))


def test_damage_is_named_and_fixed(filled):
    with open(filled.objects, "r+b") as f:
        f.seek(128 + 30)
        f.write(b"?")
        f.seek(0, 2)
        f.write(struct.pack("<IIII", 0xdeadfee1, 3, 9, 0x80000000))
    quick = filled.run("shep", "buckets", "quick")
    assert quick.code == 4 and "objects" in quick.err
    found = filled.run("shep", "buckets", "audit")
    assert found.code == 4
    assert "00000001 at 128 (128 bytes): its checksum does not fit" in found.out
    assert "00000003 at 384 (16 bytes): the file ends in it" in found.out
    as_json = filled.run("shep", "buckets", "audit", "-j").json()
    assert [p["oid"] for p in as_json["found"]] == ["00000001", "00000003"]
    assert as_json["problems"] == 2
    assert filled.run("shep", "buckets", "fix").code == 0
    assert filled.run("shep", "buckets", "audit").code == 0
    assert filled.run("shep", "buckets", "quick").code == 0
    assert len(listed(filled)) == 2


def test_who_only_looks_does_not_stop_who_appends(filled):
    size = filled.objects.stat().st_size
    with open(filled.objects, "r+b") as f:
        fcntl.lockf(f, fcntl.LOCK_EX, 1, 0)     # as an appender has it
        f.seek(0, 2)
        f.write(struct.pack("<IIII", 0xdeadf00d, 3, 9000, 0x80000000))
        f.flush()
        for what in ("audit", "quick", "list", "cat"):
            assert filled.run("shep", "buckets", what).code == 0
        assert filled.run("shep", "buckets", "audit", "-j").json()["end"] == size
        busy = filled.run("shep", "buckets", "fix")
        assert busy.code == 5
    assert filled.run("shep", "buckets", "audit").code == 4


def test_dump_and_check_know_bucket_files(filled):
    assert filled.run("dump", filled.objects).out.splitlines() == listed(filled)
    assert "1 sound" in filled.run("check", filled.objects).out
    with open(filled.objects, "r+b") as f:
        f.seek(30)
        f.write(b"?")
    bad = filled.run("check", filled.objects)
    assert bad.code == 4 and "bucket 00000000" in bad.out
    assert json.loads(filled.run("check", "--json", filled.objects).out)["damaged"] == 1


def test_what_cannot_be_inserted_is_named_and_nothing_of_it_is_kept(filled):
    before = filled.objects.read_bytes()
    done = filled.run("shep", "buckets", "insert", input="Uhttp://d/\n\n\x01bad\n")
    assert done.code == 2 and ":3: " in done.err and done.out == ""
    assert filled.objects.read_bytes() == before


def test_numbers_that_are_none_are_refused(filled):
    for oid in ("xyz", "123456789", ""):
        done = filled.run("shep", "buckets", "extract", oid)
        assert done.code == 2 and "hexadecimal" in done.err
    inside = filled.run("shep", "buckets", "extract", "ffffffff")
    assert inside.code == 1


def test_a_missing_file_is_named(garner):
    g = garner()
    for what in ("list", "cat", "audit", "quick", "fix", "shakedown", "insert"):
        done = g.run("shep", "buckets", what, input="")
        assert done.code == 2 and "shepherd/objects: there is no bucket file" in done.err
    assert not (g.data / "shepherd").exists()
    named = g.data.parent / "nowhere"
    for what in ("fix", "shakedown"):
        assert g.run("shep", "buckets", what, "-o", named).code == 2
    assert g.run("shep", "buckets", "delete", "-o", named, "1").code == 2
    assert not named.exists()


def test_dictionaries_are_trained_and_used(garner):
    g = garner()
    words = [f"word{i}" for i in range(90)]  # the same on all pages, but hardly twice on one
    pages = "".join(f"Uhttp://a.example/{i}\nX{i} {' '.join(words[i % 9:])}\n\n" for i in range(500))
    g.run("shep", "buckets", "insert", "-o", "objects", "-u", input=pages)
    before = g.run("shep", "buckets", "cat", "-o", "objects").out
    size = (g.dir / "objects").stat().st_size
    assert g.run("shep", "buckets", "shakedown", "-t", "-p", "-o", "objects").code == 0
    assert "dictionary " in g.run("dump", g.dir / "objects.dict").out
    assert g.run("shep", "buckets", "cat", "-o", "objects").out == before
    assert (g.dir / "objects").stat().st_size < size
    assert g.run("check", g.dir / "objects").code == 0
    (g.dir / "objects.dict").rename(g.dir / "kept")
    check = g.run("check", g.dir / "objects")
    assert check.code == 4 and "its dictionary " in check.out and "objects.dict" in check.out
    audit = g.run("shep", "buckets", "audit", "-o", "objects", "-j")
    told = audit.json()
    assert audit.code == 4 and told["problems"] == 0 and told["lacking"] > 100
    assert [p["lacking"] for p in told["found"]] == [True]
    assert g.run("shep", "buckets", "fix", "-o", "objects").code == 4
    (g.dir / "kept").rename(g.dir / "objects.dict")
    assert g.run("shep", "buckets", "cat", "-o", "objects").out == before
