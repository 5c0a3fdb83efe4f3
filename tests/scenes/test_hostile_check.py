"""Files that somebody spoilt: garner check names each, with what to do, and a start does not make it
worse without a word. The files are those of a real crawl."""
import re
import shutil
import socket

import pytest

from crc32c import crc32c
from garner import Garner, wait_for
from pages import Web

# Written for people or for the next process, and read back by nothing that keeps something.
NOT_READ = re.compile(r"(^|/)up\.conf$")
# What is mapped and counted in place: after their heads these have no checksum, since any process may
# be killed between two stores. Entries of politeness mend themselves, counters begin anew.
HEAD_ONLY = re.compile(r"^run/(polite|counters/)")
POLITE_HEAD = 24
# Where documents lie is mapped as well: magic and version, then slots of 16 bytes, whose address is 0
# where there is no document.
TABLE_HEAD, TABLE_SLOTS, SLOT = 12, 65536, 16


def flip(data, low, high, dice):
    low, high = max(low, 0), min(high, len(data))
    at, spoilt = low + dice % (high - low), bytearray(data)
    spoilt[at] ^= 1 << dice % 8
    return bytes(spoilt)


DAMAGES = {
    "half of it": lambda d, n: d[:len(d) // 2],
    "all but a byte": lambda d, n: d[:-1],
    "a bit in the first hundred bytes": lambda d, n: flip(d, 0, 100, n),
    "a bit in the middle": lambda d, n: flip(d, len(d) // 2 - 50, len(d) // 2 + 50, n),
    "a bit in the last hundred bytes": lambda d, n: flip(d, len(d) - 100, len(d), n),
    "another magic": lambda d, n: bytes([d[0] ^ 0xff]) + d[1:],
    "nothing left": lambda d, n: b"",
}
IN_PLACE = ("a bit in the middle", "a bit in the last hundred bytes")


@pytest.fixture(scope="module")
def crawled():
    """The data directory of a crawl with pages that were found, changed and forgotten."""
    web = Web()
    pages = {f"/{i}": f"<title>p{i}</title>banana " + " ".join(f"w{i}x{k}" for k in range(60))
             for i in range(8)}
    web.pages = {"/": "<title>t</title>" + "".join(f'<a href="{p}">x</a>' for p in pages), **pages}
    g = Garner(config="[up]\nroles = shepherd broker\n"
                      "[robot]\nnetworks = 127.0.0.1\ndelay = 10ms\n[shepherd]\ncycle = 1s\n"
                      f"refresh = 1s\nretry = 1s\nretries = 1\nforget = 1s\nno_delay = {web.host}\n")
    up = g.start("up").wait_ready()
    assert g.run("add", web.url + "/").code == 0

    def found():
        return len(g.run("search", "--strict", "--urls", "banana").out.split())
    wait_for("all pages", lambda: found() == len(pages), every=0.2)
    del web.pages["/0"], web.pages["/1"]
    web.pages["/2"] = "<title>p</title>apple"
    wait_for("the change", lambda: found() == len(pages) - 3, every=0.2)
    wait_for("what is forgotten", lambda: (g.data / "shepherd/gone").stat().st_size > 100)
    assert up.stop() == 0
    web.stop()
    yield g.data
    assert not g.close()
    g.remove()


def copy_of(crawled, garner):
    g = garner(config="[robot]\nnetworks = 127.0.0.1\n")
    shutil.copytree(crawled, g.data, symlinks=True, dirs_exist_ok=True)
    return g


def files_of(data, all_states):
    """Paths below data: of states all, or the newest that has a file of the name."""
    found = {}
    for path in sorted(data.rglob("*")):
        name = str(path.relative_to(data))
        if path.is_symlink() or not path.is_file() or NOT_READ.search(name):
            continue
        found[name if all_states else re.sub(r"\d{8}-\d{6}|\d{8}", "#", name)] = path
    return list(found.values())


def spoils(path, name, data, dice):
    """The damaged bytes, or None where this does nothing that anybody could see."""
    whole = path.read_bytes()
    if HEAD_ONLY.search(str(path.relative_to(data))) and name in IN_PLACE:
        return None
    if path.name == "polite" and "first" in name:
        return flip(whole, 0, POLITE_HEAD, dice)
    if path.name == "table" and "bit" in name:
        if "first" in name:
            return flip(whole, 0, TABLE_HEAD, dice)
        used = [at for at in range(TABLE_SLOTS, len(whole), SLOT) if any(whole[at:at + 8])]
        return flip(whole, used[-1], used[-1] + SLOT, dice)
    if path.name.endswith(".db") and "bit" in name:  # much of a page is not used
        at = 0 if "first" in name else whole.find(b"for people")
        return flip(whole, at, at + 10, dice)
    spoilt = DAMAGES[name](whole, dice) if whole else whole
    return spoilt if spoilt != whole else None


# A killed process may leave these without their end, so that damage there is noted; all others were closed.
MAY_BE_CUT = ("broker/registry.commit", "run/polite")


def test_every_damage_to_every_file_is_named_with_a_remedy(crawled, garner, long_run, seed):
    g = copy_of(crawled, garner)
    sound = g.run("check", "--json").json()
    assert sound["problems"] == [] and sound["sound"] > 20
    names, dice = list(DAMAGES), seed
    for path in files_of(g.data, long_run):
        whole = path.read_bytes()
        # the short form: two kinds of damage each, others every time
        for name in names if long_run else (names[dice % 7], names[(dice + 3) % 7]):
            dice = (dice * 1103515245 + 12345) % (1 << 31)
            spoilt = spoils(path, name, g.data, dice)
            if spoilt is None:
                continue
            path.write_bytes(spoilt)
            check = g.run("check", "--json", path)
            path.write_bytes(whole)
            told = [p for p in check.json()["problems"] if p["path"] == str(path)]
            assert told, f"{path}: {name} (seed {seed}): {check.out}"
            assert str(path) in told[0]["reason"]
            if str(path.relative_to(g.data)) not in MAY_BE_CUT:
                assert told[0]["verdict"] == "damaged", f"{path}: {name}"
            assert check.code == (4 if told[0]["verdict"] == "damaged" else 0)
            mends = told[0]["remedy"] or path.suffix == ".db" and "sets it aside" in told[0]["reason"]
            assert mends or told[0]["verdict"] == "noted" or "version" in told[0]["reason"]
    assert g.run("check", "--json").json()["problems"] == []


def test_a_state_that_is_being_removed_is_not_damaged(crawled, garner):
    """A crawl that runs removes old states file by file, under another name."""
    g = copy_of(crawled, garner)
    states = g.data / "shepherd" / "state"
    kept = next(states.glob("*/index")).parent
    going = states / f".{kept.name}.gone"
    shutil.copytree(kept, going, symlinks=True)
    (going / "index").write_bytes((kept / "index").read_bytes()[:-1])
    assert g.run("check", going).code == 4
    assert g.run("check").code == 0


def test_a_file_that_is_being_written_is_not_damaged(crawled, garner):
    """It counts once it has its name; one whose writer was killed is begun again."""
    g = copy_of(crawled, garner)
    for name in ("run/counters/.broker.tmp.1", "shepherd/.feedback.tmp.999999"):
        (g.data / name).write_bytes(b"")
    assert g.run("check").code == 0
    (g.data / "run/counters/.broker.tmp").write_bytes(b"")
    assert g.run("check").code == 4


def start_over(g, name):
    """What the one says that writes a file first; and whether it could."""
    if name.startswith("shepherd/"):
        done = g.run("shep", "recover")
        return done.code == 0, done.out + done.err
    role = g.start("broker" if name.startswith("broker/") else "shepherd")
    try:
        role.wait_ready()
    except AssertionError:  # it ended instead
        assert role.wait() != 0
        return False, role.text
    assert role.stop() == 0
    return True, role.text


# Each start begins these anew; nothing is kept in them.
WRITTEN_ANEW = re.compile(r"^run/counters/")
# A sample of files and damages whose start once said nothing.
SILENT_ONCE = [("shepherd/gone", "another magic"), ("broker/registry.commit", "nothing left"),
               ("broker/registry", "all but a byte"), ("broker/docs/table", "half of it"),
               ("broker/words/manifest", "nothing left"), ("run/robots.db", "another magic"), ("garner.db", "nothing left"),
               ("shepherd/objects", "half of it")]


@pytest.mark.limit(600)
def test_a_start_does_not_make_it_worse_without_a_word(crawled, garner, long_run, seed):
    g = copy_of(crawled, garner)
    cases = SILENT_ONCE
    if long_run:
        cases = [(str(p.relative_to(g.data)), d) for p in files_of(g.data, False) for d in DAMAGES]
    for name, damage in cases:
        shutil.rmtree(g.data)
        shutil.copytree(crawled, g.data, symlinks=True)
        path = g.data / name
        spoilt = spoils(path, damage, g.data, seed)
        if spoilt is None or WRITTEN_ANEW.search(name):
            continue
        path.write_bytes(spoilt)
        check = g.run("check", path)
        well, said = start_over(g, name)
        kept = path.is_file() and path.read_bytes() == spoilt
        # what a killed process may leave is mended as after any kill; slots of the table since its
        # last checkpoint are written by each start
        mended = check.code == 0 or (path.name == "table" and g.run("check", path).code == 0)
        quiet = long_run and (kept or mended) and well
        assert quiet or path.name in said, f"{name}, {damage}: {said}"
        after = g.run("check")
        assert after.code == 0 or name in after.out or path.name in said, f"{name}, {damage}"


def banana(g):
    return set(g.run("search", "--strict", "--urls", "banana").out.split())


def finds(g, found):
    """A broker starts and comes to find these; what it said."""
    broker = g.start("broker").wait_ready()
    wait_for("what was found", lambda: banana(g) == found, every=0.1)
    assert broker.stop() == 0
    return broker.text


@pytest.mark.parametrize("name, damage", [
    ("registry", "all but a byte"), ("registry", "another letter of a URL"),
    ("registry", "another magic"), ("registry", "nothing left"), ("registry.commit", "nothing left"),
    ("registry.commit", "another magic"), ("docs/00000001.docs", "half of it")])
def test_without_what_says_which_objects_there_are_a_broker_does_not_start(crawled, garner, name, damage):
    """It says what to remove, and after that everything is there again."""
    g = copy_of(crawled, garner)
    found, broker = banana(g), g.data / "broker"
    assert found
    (broker / "Collection.conf").write_text("# nobody\n")
    path = broker / name
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole, 0) if damage in DAMAGES else
                     whole.replace(b"http", b"htto", 1))
    before = {p: p.read_bytes() for p in broker.rglob("*") if p.is_file()}
    well, said = start_over(g, f"broker/{name}")
    assert not well and f"{path}: " in said and "remove registry*, docs and words from its folder" in said
    assert before == {p: p.read_bytes() for p in before}
    for old in broker.glob("registry*"):
        old.unlink()
    shutil.rmtree(broker / "docs")
    shutil.rmtree(broker / "words")
    finds(g, found)
    assert g.run("check").code == 0 and (broker / "Collection.conf").exists()


@pytest.mark.parametrize("name, damage, says", [
    ("docs/table", "another magic", "rebuilding the table of documents"),
    ("docs/table", "a bit in the first hundred bytes", "rebuilding the table of documents"),
    ("docs/table", "all but a byte", "rebuilding the table of documents"),
    ("words/manifest", "a bit in the middle", "rebuilding the words index"),
    ("words/manifest", "nothing left", "rebuilding the words index")])
def test_what_follows_from_registry_and_documents_is_made_again(crawled, garner, name, damage, says):
    """Without the crawl: nobody has to tell anything a second time."""
    g = copy_of(crawled, garner)
    found, path = banana(g), g.data / "broker" / name
    shutil.rmtree(g.data / "shepherd")
    path.write_bytes(spoils(path, damage, g.data, 0))
    assert g.run("check", path).code == 4
    assert found and says in finds(g, found)
    assert g.run("check").code == 0


def test_a_damaged_segment_of_the_index_goes_with_its_folder(crawled, garner):
    """A start does not read all of it; garner check does, and what it says is enough."""
    g = copy_of(crawled, garner)
    found, words = banana(g), g.data / "broker/words"
    shutil.rmtree(g.data / "shepherd")
    for path in words.glob("*.words"):
        path.write_bytes(DAMAGES["a bit in the middle"](path.read_bytes(), 0))
    told = g.run("check", words)
    assert told.code == 4 and "remove its folder words: it is built again from registry" in told.out
    shutil.rmtree(words)
    finds(g, found)
    assert found and g.run("check").code == 0


def test_an_old_state_that_is_damaged_goes_with_recovery(crawled, garner):
    g = copy_of(crawled, garner)
    index = sorted(g.data.glob("shepherd/state/*-*/index"))[0]
    index.write_bytes(index.read_bytes()[:-1])
    assert g.run("check").code == 4
    assert f"{index}: " in g.run("shep", "recover").out
    assert not index.parent.exists() and g.run("check").code == 0


def test_a_state_amid_others_that_is_dropped_does_not_stop_followers(crawled, garner):
    """The broker begins anew, from the oldest state that is left, and must come to the newest."""
    g = copy_of(crawled, garner)
    (g.data / "garner.db").unlink()  # and with it the lock
    states = sorted(g.data.glob("shepherd/state/*-*"))
    assert len(states) > 3
    sites = states[1] / "sites"
    sites.write_bytes(sites.read_bytes()[:-1])
    assert g.run("shep", "recover").code == 0
    assert not states[1].exists() and states[2].exists()
    found = banana(g)
    assert found
    shutil.rmtree(g.data / "broker")  # a broker that has seen nothing
    assert "was deleted" not in finds(g, found)


def test_what_a_newer_garner_wrote_is_left_alone(crawled, garner):
    """Its checksum fits, so it is not damage."""
    g = copy_of(crawled, garner)
    path = (g.data / "shepherd/state/current/control").resolve()
    was = path.read_bytes()
    head = was[:8] + (99).to_bytes(4, "little") + was[12:16]
    newer = head + crc32c(head + was[20:]).to_bytes(4, "little") + was[20:]
    path.write_bytes(newer)
    done = g.run("shep", "recover")
    assert done.code == 2 and f"{path}: control file in version 99" in done.err, done
    assert path.read_bytes() == newer


def test_the_live_journal_may_end_anywhere_but_not_before_its_checkpoint(garner):
    """One page was fetched, a server that never answers keeps the state open, and it is killed so."""
    web, silent = Web(), socket.create_server(("127.0.0.1", 0))
    web.pages["/"] = "<title>t</title>one"
    quiet = f"127.0.0.1:{silent.getsockname()[1]}"
    g = garner(config="[robot]\nnetworks = 127.0.0.1\ndelay = 10ms\n[shepherd]\ncycle = 1h\n"
                      f"no_delay = {web.host} {quiet}\n")
    shepherd = g.start("shepherd").wait_ready()
    assert g.run("add", f"{web.url}/", f"http://{quiet}/").code == 0

    def known():
        told = g.run("shep", "dump", "--checkpoints").out
        lengths = re.search(r"^state \S+, reap$.*^shown .* journal (\d+)", told, re.M | re.S)
        return int(lengths[1]) if lengths else 0
    length = wait_for("a page that is kept", known, every=0.1)
    shepherd.kill()
    web.stop()
    silent.close()
    assert g.run("check").code == 0
    journal = sorted(g.data.glob("shepherd/state/*-*"))[-1] / "journal"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b"torn")
    noted = g.run("check")
    assert noted.code == 0 and f"noted: {journal}" in noted.out
    journal.write_bytes(whole[:length - 1])
    damaged = g.run("check")
    assert damaged.code == 4 and f"damaged: {journal}" in damaged.out
