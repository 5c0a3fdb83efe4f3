"""A notification server between providers and a queue manager that is there, away, or ill."""
import base64
import json
import select
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
from pathlib import Path

import pytest
import smalldb
from garner import free_port, wait_for
from notify import SECRET, FakeQm, Closed, Session, accepted, add_provider, code_of, notify, url
from web import alone

SITE = "http://www.example.com/"
ROWS = [url(SITE + "a"), url(SITE + "b", "text/plain")]


@pytest.fixture
def uns(garner):
    """Makes a Garner with an uns at g.door, whose provider is g.id and whose queue manager would be at g.qm."""
    def make(more="", env=None, cache=""):
        g = garner()
        g.door, g.qm = f"unix:{g.dir}/uns", g.dir / "qm"
        g.configure(f"[cache]\n{cache}\n[uns]\nlisten = {g.door}\nqm = unix:{g.qm}\n{more}\n")
        g.uns = g.start("uns", env=env).wait_ready()
        g.id = add_provider(g, [SITE])
        return g
    return make


def waiting(g):
    """Sets in unsdb, by its file: (number, kind, URLs)."""
    out = g.run("dump", Path(g.data) / "cache" / "unsdb").out
    words = [line.split() for line in out.splitlines()]
    sets = []
    for w in words:
        if "set" in w and "provider" in w:
            at = w.index("set")
            sets.append((int(w[at + 1]), w[at + 4], int(w[at + 5])))
    ended = [int(w[-1]) for w in words if "end" in w]
    return [s for s in sets if s[0] in ended]


def must_be_sound(g):
    done = g.run("check", Path(g.data) / "cache")
    assert done.code == 0, done


def test_sets_wait_in_unsdb_until_there_is_a_queue_manager(uns):
    g = uns()
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 1)
    assert accepted(notify(g.door, g.id, [url("c")], kind="full", urlprefix=SITE)) == (1, 2)
    assert [(2, "full", 1)] == [s for s in waiting(g) if s[0] == 2]
    with Session(g.door) as s:
        s.init(g.id)
        for asked, number, n in ((None, "2", 1), (1, "1", 2)):
            kept = s.receipts(asked)
            assert (kept.get("set"), kept.get("state")) == (number, "kept")
            assert [row.get("state") for row in kept] == ["queued"] * n
        assert s.receipts(77).get("state") == "unknown"
    qm = FakeQm(g.qm)
    wait_for("both", lambda: len(qm.sets) == 2)
    assert [n for _, n in qm.order] == [1, 2]
    assert [(p, kind, urls) for p, kind, urls, _ in qm.sets.values()] == [(g.id, "partial", 2), (g.id, "full", 1)]
    wait_for("an empty file", lambda: waiting(g) == [] and "0 records" in g.run(
        "dump", Path(g.data) / "cache" / "unsdb").out)
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 3)
    assert qm.order[-1][1] == 3 and waiting(g) == []
    qm.close()
    must_be_sound(g)


def test_a_set_that_was_not_answered_is_sent_again_under_its_number(uns):
    g = uns()
    heard = []

    def answer(number):
        heard.append(number)
        return False if len(heard) < 3 else None

    qm = FakeQm(g.qm, answer=answer)
    wait_for("the link", lambda: g.uns.lines("queue manager connected"))
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 1)
    wait_for("the set", lambda: qm.sets)
    assert heard[:3] == [1, 1, 1] and [n for _, n in qm.order] == [1]
    assert accepted(notify(g.door, g.id, ROWS))[1] == 2
    qm.close()


def test_a_queue_manager_that_does_not_greet_is_away(uns):
    g = uns()
    qm = FakeQm(g.qm, mute=True)
    wait_for("a connection", lambda: qm.links)
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 1)
    assert len(waiting(g)) == 1
    g.uns.wait_line("nobody answers there")
    qm.mute, qm.busy = False, True
    g.uns.wait_line("its queue is full")
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 2)
    qm.busy = False
    wait_for("both", lambda: len(qm.sets) == 2)
    qm.close()


def test_a_queue_manager_of_another_version_is_away(uns):
    g = uns()
    qm = FakeQm(g.qm, version=9)
    g.uns.wait_line("it speaks version 9 of this protocol, expected 2")
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 1)
    assert len(waiting(g)) == 1 and not qm.sets
    qm.version = 2
    wait_for("the set", lambda: qm.sets)
    qm.close()


def test_what_the_queue_manager_refuses_is_rejected(uns):
    g = uns()
    qm = FakeQm(g.qm, answer=lambda n: (203, "over <quota>") if n == 1 else None)
    wait_for("the link", lambda: g.uns.lines("queue manager connected"))
    result = notify(g.door, g.id, ROWS)
    assert code_of(result) == 203 and result.find("set_rejected").text == "over <quota>"
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 2)
    qm.close()


def wanted(g, id):
    with Session(g.door) as s:
        return s.init(id).find("quota/fullset").get("reason")


@pytest.mark.parametrize("fault", [None, "uns.lost=kill@1"])
def test_who_loses_a_set_that_was_accepted_is_asked_for_a_full_one(uns, fault):
    g = uns(env={"GARNER_FAULTS": fault} if fault else None)
    other = add_provider(g, [SITE])
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 1)
    assert accepted(notify(g.door, other, ROWS)) == (2, 2)
    qm = FakeQm(g.qm, answer=lambda n: (203, "over") if n == 1 else None)
    if fault:
        g.uns.wait()
        g.uns = g.start("uns").wait_ready()
    wait_for("the second", lambda: [n for _, n in qm.order][-1:] == [2])
    assert wait_for("the flag", lambda: wanted(g, g.id)) == "crash" and wanted(g, other) is None
    assert g.uns.lines("queue manager refused accepted set number=1 ")
    wait_for("an empty file", lambda: waiting(g) == [])
    qm.close()


def test_an_answer_takes_one_set_out_of_unsdb_also_where_the_link_is_lost_after_it(uns):
    g = uns()
    for number in (1, 2):
        assert accepted(notify(g.door, g.id, ROWS)) == (2, number)
    db = sqlite3.connect(Path(g.data) / "cache" / "pidb.db", isolation_level=None)
    db.execute("BEGIN IMMEDIATE")  # so what follows from a refusal waits
    heard, free = [], threading.Event()

    def answer(number):
        heard.append(number)
        if number == 1:
            return (203, "over") if heard.count(1) == 1 else None
        return None if free.is_set() else False

    qm = FakeQm(g.qm, answer=answer)
    wait_for("the second link", lambda: len(qm.links) > 1)
    time.sleep(0.2)  # for what may not be sent
    free.set()
    db.execute("ROLLBACK")
    db.close()
    wait_for("the second set", lambda: [n for _, n in qm.order][-1:] == [2])
    assert heard == [1, 2, 2]
    wait_for("an empty file", lambda: waiting(g) == [])
    assert wanted(g, g.id) == "crash"
    qm.close()


def test_a_full_set_that_is_refused_while_it_is_being_accepted_is_wanted_again(uns):
    g = uns(env={"GARNER_FAULTS": "uns.fullset=slow@1+"})
    unsdb = Path(g.data) / "cache" / "unsdb"
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 1)
    before = unsdb.stat().st_size

    def answer(number):  # the first one waits until the second is in unsdb
        if number == 1:
            wait_for("the second", lambda: unsdb.stat().st_size > before, every=0.001)
        return (203, "over") if number == 2 else None

    qm = FakeQm(g.qm, answer=answer)
    wait_for("the link", lambda: g.uns.lines("queue manager connected"))
    assert accepted(notify(g.door, g.id, ROWS, "full")) == (2, 2)
    g.uns.wait_line("queue manager refused accepted set number=2 ")
    assert wait_for("the flag", lambda: wanted(g, g.id)) == "crash"
    qm.close()


@pytest.mark.parametrize("fault", [None, "uns.damaged=kill@1"])
def test_a_damaged_unsdb_asks_everybody_for_full_sets(uns, fault):
    g = uns()
    other = add_provider(g, [SITE])
    for id in (g.id, other, g.id):
        assert accepted(notify(g.door, id, ROWS))
    g.uns.kill()
    unsdb = Path(g.data) / "cache" / "unsdb"

    def damage():
        damaged = bytearray(unsdb.read_bytes())
        damaged[100] ^= 1
        unsdb.write_bytes(damaged)
        return damaged

    damaged = damage()
    assert g.run("check", unsdb).code == 4

    def in_unsdb():
        return g.run("cache", "status", "--json").json()["cache"]["unsdb_bytes"]

    assert in_unsdb() == len(damaged)
    if fault:
        assert g.start("uns", env={"GARNER_FAULTS": fault}).wait() == -9
    g.uns = g.start("uns").wait_ready()
    assert [wanted(g, id) for id in (g.id, other)] == ["crash", "crash"]
    assert in_unsdb() == 0  # what was moved away waits for nobody
    aside, = unsdb.parent.glob("unsdb.*.damaged")
    assert aside.read_bytes().startswith(damaged)
    assert accepted(notify(g.door, g.id, ROWS)) and len(waiting(g)) == 1
    if fault:
        return
    assert accepted(notify(g.door, g.id, ROWS))  # what is damaged has something after it
    g.uns.kill()  # damaged once more: what was moved away before stays
    again = damage()
    g.uns = g.start("uns").wait_ready()
    second, = set(unsdb.parent.glob("unsdb.*.damaged")) - {aside}
    assert aside.read_bytes().startswith(damaged) and second.read_bytes().startswith(again)


def test_only_a_verified_provider_with_its_password_is_let_in(uns):
    g = uns()
    new = add_provider(g, [], verified=False)

    def told(id, password):
        with Session(g.door) as s:
            code = code_of(s.init(id, password))
            assert s.sock.recv(1) == b""
            return code

    assert told(new, "secret") == 103
    assert told("x", "secret") == 100
    for id, code in ((999, 100), (g.id, 101)):  # an address that was wrong has to wait a little
        assert wait_for("an answer", lambda: (said := told(id, "wrong")) != 102 and said) == code
    for text in ("nonsense\n", "<a/>", "GET / HTTP/1.1\r\n\r\n", "<!DOCTYPE a [<!ENTITY b 'c'>]>"):
        with Session(g.door) as s:
            s.send(text)
            assert code_of(s.answer("init_rejected")) == 200
    assert "secret" not in g.uns.text


def test_strangers_who_guess_do_not_hold_up_who_is_known(garner):
    """A password that was right is not hashed again, and does not wait for the hashes of others."""
    g = garner()
    port = free_port()
    g.configure(f"[uns]\nlisten = 127.0.0.1:{port}\nqm = unix:{g.dir}/qm\n")
    uns = g.start("uns").wait_ready()
    known = add_provider(g, [SITE])
    slow = add_provider(g, [SITE], password=SECRET.replace("m=8,t=1", "m=65536,t=8"))
    assert accepted(notify(f"127.0.0.1:{port}", known, ROWS))
    strangers = []
    for i in range(20):
        sock = socket.create_connection(("127.0.0.1", port), 30, (f"127.0.1.{i + 1}", 0))
        strangers.append(Session("", sock=sock))
        strangers[-1].send(strangers[-1].tag("init", bind=True) + f'><provider id="{slow}" passwd="x"/></lococa:init>\n')
    time.sleep(0.1)  # they are being looked at
    assert accepted(notify(f"127.0.0.1:{port}", known, ROWS))
    answered, _, _ = select.select([s.sock for s in strangers], [], [], 0)
    assert len(answered) < 10
    for s in strangers:
        s.close()
    uns.kill()


def test_sessions_are_counted_and_full_sets_too(uns):
    g = uns(cache="fullsets = 1")
    for seq, allowed, code in ((1, "1", None), (2, "0", 104)):
        with Session(g.door) as s:
            hello = s.init(g.id)
            assert hello.find("connect_info").get("seq") == str(seq)
            assert hello.find("connect_info").get("lastConnectIP") == ("" if seq == 1 else "unix")
            fullset = hello.find("quota/fullset")
            assert (fullset.get("allowed"), fullset.get("wanted")) == (allowed, "no")
            s.begin("full", empty="yes")
            if code is None:
                s.send(s.end("set"))
            assert code_of(s.result()) == code
    wanted = add_provider(g, [SITE], wanted=3)
    for left in (1, 0):
        with Session(g.door) as s:
            fullset = s.init(wanted).find("quota/fullset")
            assert fullset.get("wanted") == ("yes" if left else "no")
            assert fullset.get("reason") == ("crash" if left else None)
            assert accepted(s.set(ROWS, "full")) if left else True
    assert code_of(notify(g.door, g.id, ROWS, "full")) == 104
    assert accepted(notify(g.door, g.id, ROWS))


def test_a_database_that_cannot_be_asked_is_not_taken_for_too_many_full_sets(uns):
    g = uns()
    db = sqlite3.connect(Path(g.data) / "cache" / "pidb.db", timeout=20, isolation_level=None)
    with Session(g.door) as s:
        s.init(g.id)
        db.execute("ALTER TABLE fullset RENAME TO hidden")
        s.begin("full")
        assert code_of(s.result()) == 900
    db.execute("ALTER TABLE hidden RENAME TO fullset")
    with Session(g.door) as s:
        s.init(g.id)
        db.execute("DELETE FROM provider")
        s.begin("full")
        assert code_of(s.result()) == 100
    db.close()


def test_errors_of_rows_come_while_the_set_is_arriving(uns):
    g = uns()
    with Session(g.door) as s:
        s.init(g.id)
        s.begin(urlprefix=SITE)
        s.send(url("x.zip", "application/zip", title="a<b"))
        out, _ = s.read_until("</url>")
        assert b'code="201"' in out and b'url="http://www.example.com/x.zip"' in out and b'title="a&lt;b"' in out
        s.send(url("ok") + url("http://elsewhere.example/") + url("b#x") + s.end("set"))
        rest, _ = s.read_until("set_result>")
        assert b'code="202"' in rest and b'<set_accepted received="2"' in rest


@pytest.mark.parametrize("prefix", ["lococa", "x", ""])
def test_the_prefix_of_the_peer_is_used_and_pieces_do_not_matter(uns, prefix):
    g = uns()
    with Session(g.door, prefix) as s:
        assert s.init(g.id).tag == "init_accepted"
        assert accepted(s.set(ROWS)) == (2, 1)
    with Session(g.door, prefix) as s:  # all at once, without waiting for answers
        s.send(f'{s.tag("init", bind=True)}><provider id="{g.id}" passwd="secret"/>{s.end("init")}'
               f'{s.tag("receipts")}/>{s.tag("set", set="partial")}>{"".join(ROWS)}{s.end("set")}more')
        assert s.answer("init_accepted") is not None
        assert s.answer("receipts_result").get("state") == "kept"
        assert accepted(s.result()) == (2, 2)


def session_text(g):
    s = Session.__new__(Session)
    s.prefix = "lococa"
    init = f'{s.tag("init", bind=True)}><provider id="{g.id}" passwd="secret"/>{s.end("init")}'
    return init, (init + s.tag("set", set="full") + ">" + ROWS[0] + s.end("set")).encode()


def test_a_session_that_is_cut_anywhere_leaves_nothing(uns, long_run):
    g = uns(cache="fullsets = 10000")
    init, text = session_text(g)
    cuts = range(len(text)) if long_run else [*range(0, len(init), 29), *range(len(init), len(text), 5), len(text) - 1]
    for n in cuts:
        s = Session(g.door)
        s.send(text[:n])
        s.sock.shutdown(socket.SHUT_WR)
        while s.sock.recv(1 << 16):
            pass
        s.close()
    assert waiting(g) == []
    with Session(g.door) as s:
        s.send(text)
        s.answer("init_accepted")
        assert accepted(s.result()) == (1, 1)
    must_be_sound(g)


def test_a_set_that_is_too_large_is_rejected_while_it_arrives(uns):
    g = uns(more="set_max = 1000\nset_bytes = 200000")
    for rows in (url(SITE + "a") * 500, f"<!-- {'x' * 30000} -->"):
        with Session(g.door) as s:
            s.init(g.id)
            s.begin()
            for _ in range(40):
                s.send(rows)  # it reads on, so that this never fails
            assert code_of(s.result()) == 203
    assert waiting(g) == []


def test_while_unsdb_is_full_nobody_is_let_in(uns):
    g = uns(more="unsdb_max = 100")
    with Session(g.door) as late:
        late.init(g.id)
        assert accepted(notify(g.door, g.id, ROWS))
        late.begin()
        assert code_of(late.result()) == 102
    with Session(g.door) as s:
        assert code_of(s.init(g.id)) == 102
    qm = FakeQm(g.qm)
    wait_for("the set", lambda: qm.sets)

    def let_in():
        with Session(g.door) as s:
            return s.init(g.id).tag == "init_accepted"

    wait_for("it takes sets again", let_in)
    qm.close()


def test_an_empty_unsdb_is_not_full_even_where_it_may_have_nothing(uns):
    g = uns(more="unsdb_max = 0")
    qm = FakeQm(g.qm)
    g.uns.wait_line("queue manager connected")
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 1)
    assert len(qm.sets) == 1
    qm.close()


def big(n):
    """Rows that do not pack well, each of some hundred bytes."""
    return "".join(url(f"{SITE}{i}/{'%x' % (hash((i, 7)) & (1 << 63) - 1)}", title="x" * 100, size=i * 7919)
                   for i in range(n))


def test_a_full_disk_rejects_the_set_and_leaves_nothing(uns):
    g = uns(env={"GARNER_FAULTS": "file.write/unsdb=enospc@2+"})
    with Session(g.door) as s:
        s.init(g.id)
        assert code_of(s.set(ROWS)) == 102
    assert waiting(g) == []
    g.uns.kill()
    g.uns = g.start("uns", env={"GARNER_FAULTS": "file.write/spool=enospc@2+"}).wait_ready()
    with Session(g.door) as s:
        s.init(g.id)
        assert code_of(s.set([big(2000)])) == 102
    g.uns.kill()
    g.uns = g.start("uns").wait_ready()
    assert accepted(notify(g.door, g.id, ROWS))
    must_be_sound(g)


def test_sets_that_arrive_are_rejected_when_less_than_disk_free_is_left(garner):
    """On a real file system that is full, where one may be mounted."""
    g = garner()
    g.data.mkdir()
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", g.data],
                                 capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system may be mounted by root only")
    try:
        g.door = f"unix:{g.dir}/uns"
        g.configure(f"disk_free = 8M\n[uns]\nlisten = {g.door}\nqm = unix:{g.dir}/qm\n")
        g.uns = g.start("uns").wait_ready()
        g.id = add_provider(g, [SITE])
        filler = g.data / "filler"
        with Session(g.door) as s:
            s.init(g.id)
            s.begin()
            s.send(ROWS[0])
            s.read_until("set_result>")
            filler.write_bytes(b"x" * (16 << 20))
            out, _ = s.read_until("</set_rejected>")
            assert b'code="102">the disk is full' in out
        with Session(g.door) as s:
            assert code_of(s.init(g.id)) == 102
        filler.unlink()

        def let_in():
            with Session(g.door) as s:
                return s.init(g.id).tag == "init_accepted" and accepted(s.set(ROWS))
        assert wait_for("it takes sets again", let_in) == (2, 1)
        assert g.uns.stop() == 0
    finally:
        subprocess.run(["umount", "-l", g.data], check=True)


def test_sessions_within_a_set_are_told_when_the_role_stops(uns):
    g = uns()
    idle, inside, fresh = Session(g.door), Session(g.door), Session(g.door)
    idle.init(g.id)
    inside.init(g.id)
    inside.begin()
    inside.send(ROWS[0])
    inside.read_until("set_result>")
    assert g.uns.stop() == 0
    out, _ = inside.read_until("</set_rejected>")
    assert b'code="102"' in out
    for s in (idle, inside, fresh):
        s.close()


def test_large_sets_take_no_memory(uns):
    g = uns()
    qm = FakeQm(g.qm)
    wait_for("the link", lambda: g.uns.lines("queue manager connected"))
    notify(g.door, g.id, ROWS)  # a login takes memory, once
    rows = big(20000)
    before = peak(g)
    assert accepted(notify(g.door, g.id, [rows])) == (20000, 2)
    assert list(qm.sets.values())[1][2] == 20000
    assert peak(g) - before < 40000
    qm.close()


def peak(g):
    for line in Path(f"/proc/{g.uns.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    raise AssertionError("no VmHWM")


def test_many_connections_that_say_nothing_harm_nobody(uns, long_run):
    n = 5000 if long_run else 1000
    g = uns(more=f"max_connections = {n + 10}\nmemory = 64M")
    notify(g.door, g.id, ROWS)  # a login takes memory, once
    before = peak(g)
    idle = [Session(g.door) for _ in range(n)]
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 2)
    assert peak(g) - before < 20 * n
    for s in idle:
        s.close()


# Kills.

POINTS = ["uns.session", "uns.spool", "uns.number", "uns.unsdb", "uns.sent", "uns.accepted", "uns.empty"]


@pytest.mark.parametrize("with_qm", [False, True])
def test_killed_anywhere_it_keeps_what_it_accepted_and_numbers_once(uns, with_qm, long_run):
    g = uns(cache="fullsets = 1000")
    g.uns.kill()
    qm = FakeQm(g.qm) if with_qm else None
    heard, seqs = [], []
    rows = [big(300)]
    for point in POINTS:
        for nth in ((1, 2) if long_run else (1,)):
            g.uns = g.start("uns", env={"GARNER_FAULTS": f"{point}=kill@{nth}"}).wait_ready()
            for _ in range(3):
                try:
                    with Session(g.door) as s:
                        hello = s.init(g.id)
                        seqs.append(int(hello.find("connect_info").get("seq")))
                        heard.append(accepted(s.set(rows))[1])
                except (Closed, OSError):
                    pass
            g.uns.kill()
    g.uns = g.start("uns").wait_ready()
    qm = qm or FakeQm(g.qm)
    last = accepted(notify(g.door, g.id, rows))[1]
    wait_for("all that was accepted", lambda: {*heard, last} <= {n for _, n in qm.sets})
    assert len({*heard, last}) == len(heard) + 1 and last == max([*heard, last])
    assert seqs == sorted({*seqs})
    assert len({uns for uns, _ in qm.sets}) == 1
    assert all(urls == 300 for _, _, urls, _ in qm.sets.values())
    qm.close()
    assert g.uns.stop() == 0
    must_be_sound(g)


def test_settings_that_would_tell_passwords_to_anyone_are_refused(garner):
    g = garner(config="[uns]\nlisten = 0.0.0.0:8194\n")
    done = g.run("config", "check")
    assert done.code == 2 and "plain = yes" in done.err and "0.0.0.0:8194" in done.err
    g.configure("[uns]\nlisten = 0.0.0.0:8194\nplain = yes\nqm = unix:qm\n")
    assert g.run("config", "check").code == 0
    g.configure("[uns]\nqm = 192.0.2.1:8192\n")
    assert g.run("config", "check").code == 2


def test_a_server_whose_numbers_are_lost_takes_another_name(uns):
    """So none of its sets is taken for one that had the same number."""
    g = uns()
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 1)
    g.uns.kill()
    row = smalldb.read(g.data / "garner.db", "uns")[0]
    assert row["next"] == 65
    with sqlite3.connect(g.data / "garner.db") as db:
        db.execute("UPDATE uns SET next=1")  # and its sum is as before
    db.close()
    g.uns = g.start("uns").wait_ready()
    assert "rows may be lost" in g.uns.text and "table=uns" in g.uns.text
    now = smalldb.read(g.data / "garner.db", "uns")[0]
    assert now["name"] != row["name"]


def test_two_servers_have_names_and_files_of_their_own(garner):
    g = garner()
    doors = {name: f"unix:{g.dir}/{name}" for name in ("uns@1", "uns@2")}
    g.configure(f"[uns]\nqm = unix:{g.dir}/qm\n" + "".join(f"[{n}]\nlisten = {d}\n" for n, d in doors.items()))
    for name in doors:
        g.start(name).wait_ready()
    id = add_provider(g, [SITE])
    for door in doors.values():
        assert accepted(notify(door, id, ROWS)) == (2, 1)
    assert {p.name for p in (Path(g.data) / "cache").glob("uns*")} == {"unsdb@1", "unsdb@2"}
    rows = smalldb.read(Path(g.data) / "garner.db", "uns")
    assert {row["instance"] for row in rows} == set(doors) and len({row["name"] for row in rows}) == 2
    qm = FakeQm(g.dir / "qm")
    wait_for("a set of each", lambda: len(qm.sets) == 2)
    assert len({uns for uns, _ in qm.sets}) == 2
    qm.close()


def test_over_tls_a_password_is_enough(garner):
    g = garner()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=uns", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key",
                    "-out", "cert"], cwd=g.dir, check=True, capture_output=True)
    (g.dir / "key").chmod(0o600)
    g.configure(f"[uns]\nlisten = 0.0.0.0:0\nqm = unix:{g.dir}/qm\ntls_cert = {g.dir}/cert\ntls_key = {g.dir}/key\n")
    assert g.run("config", "check").code == 0
    uns = g.start("uns").wait_ready()
    port = int(uns.wait_line("listening").rpartition(":")[2])
    id = add_provider(g, [SITE])
    trust = ssl.create_default_context(cafile=g.dir / "cert")
    with socket.create_connection(("127.0.0.1", port), 20) as plain:
        with Session(None, sock=trust.wrap_socket(plain, server_hostname="127.0.0.1")) as s:
            hello = s.init(id)
            assert hello.tag == "init_accepted"
            assert accepted(s.set(ROWS)) == (2, 1)
    with Session(f"127.0.0.1:{port}") as s, pytest.raises(Closed):
        s.init(id)


# With the real queue manager.


def start_qm(g):
    return g.start("qm").wait_ready()


def test_each_url_of_a_set_has_a_receipt(uns):
    g = uns()
    g.conf.write_text(g.conf.read_text() + f"[qm]\nlisten = unix:{g.qm}\nbotm_listen = unix:{g.dir}/botm\n")
    n = 3000  # more than are made at a time
    assert accepted(notify(g.door, g.id, [big(n)])) == (n, 1)
    qm = start_qm(g)

    def absorbed():
        with Session(g.door) as s:
            s.init(g.id)
            told = s.receipts(1)
            return told.get("state") == "absorbed" and told

    told = wait_for("the set in the queue", absorbed)
    assert told.get("urls") == str(n) and len(told) == len({row.get("url") for row in told}) == n
    assert {(row.get("state"), row.get("mime")) for row in told} == {("queued", "text/html")}
    assert accepted(notify(g.door, g.id, [url(SITE + "x", "text/plain")])) == (1, 2)
    with Session(g.door) as s:
        assert s.init(g.id).find("processing_status").get("errors") == "0"
        last = wait_for("it", lambda: (told := s.receipts()).get("set") == "2" and told)
        assert [(row.get("url"), row.get("mime")) for row in last] == [(SITE + "x", "text/plain")]
        s.send(s.tag("receipts", set=1) + "/>")  # and does not wait for the answer
    qm.kill()
    wait_for("its end to be seen", lambda: g.uns.lines("queue manager disconnected"))
    assert accepted(notify(g.door, g.id, [url(SITE + "y")])) == (1, 3)
    with Session(g.door) as s:
        assert s.init(g.id).find("processing_status").get("processing") == str(n + 2)
        kept = s.receipts(3)
        assert kept.get("state") == "kept" and [(row.get("url"), row.get("state")) for row in kept] == [(SITE + "y", "queued")]
        assert len(s.receipts(1)) == n
    start_qm(g)
    with Session(g.door) as s:
        s.init(g.id)
        wait_for("all in the queue", lambda: s.receipts(3).get("state") == "absorbed")
    assert processing(g) == n + 2
    must_be_sound(g)


def test_a_url_is_queued_by_its_name_from_the_moment_it_is_accepted(uns):
    g = uns(more="[rs]\nlisten = 127.0.0.1:0")
    g.conf.write_text(g.conf.read_text() + f"[qm]\nlisten = unix:{g.qm}\nbotm_listen = unix:{g.dir}/botm\n")
    g.run("cache", "provider", str(g.id), "--quota-files", "0")  # so that the queue manager says that it has looked
    rs = alone(g, "rs")
    who = base64.b64encode(f"{g.id}:secret".encode()).decode()

    def known(c, mime=""):
        """Its states for the operator, who may be told of all types alone, and for the owner."""
        rows = json.loads(rs.ask(f"/api/receipts?url={c}&mime={mime}", Authorization=f"Basic {who}").body)["receipts"]
        told = [(r["mime"], r["state"]) for r in g.run("why", c, "--json").json().get("cache", [])]
        return [t for t in told if not mime or t[0] == mime], [(r["mime"], r["state"]) for r in rows]

    a, b = SITE + "a", SITE + "b"
    html, plain = ("text/html", "queued"), ("text/plain", "queued")
    assert known(a) == ([], [])
    assert accepted(notify(g.door, g.id, ROWS)) == (2, 1)
    assert known(a) == ([html], [html]) and known(b) == ([plain], [plain])
    out = g.run("why", a).out
    assert ", text/html, queued since " in out and "until the queue manager has absorbed the set" in out
    qm = start_qm(g)
    failed = [("text/html", "failed")]
    wait_for("the verdict", lambda: known(a) == (failed, failed))
    qm.kill()
    wait_for("its end to be seen", lambda: g.uns.lines("queue manager disconnected"))
    assert accepted(notify(g.door, g.id, [url(a, op="remove"), url(a, "text/plain")])) == (2, 2)
    assert sorted(known(a)[0]) == sorted(known(a)[1]) == [html, plain]
    assert known(a, "text/plain") == ([plain], [plain])
    assert known(b) == ([("text/plain", "failed")],) * 2
    start_qm(g)
    wait_for("the other verdict", lambda: dict(known(a)[1]).get("text/plain") == "failed")
    assert plain not in known(a)[0] and html not in known(a)[0]


def errors(g):
    with Session(g.door) as s:
        return int(s.init(g.id).find("processing_status").get("errors"))


def test_errors_since_the_last_finished_session_are_told(uns):
    g = uns()
    g.conf.write_text(g.conf.read_text() + f"[qm]\nlisten = unix:{g.qm}\nbotm_listen = unix:{g.dir}/botm\n")
    g.run("cache", "provider", str(g.id), "--quota-files", "0")
    qm = start_qm(g)
    accepted(notify(g.door, g.id, ROWS))
    wait_for("both errors", lambda: errors(g) == 2)
    assert errors(g) == 2  # a session without a set has not finished
    accepted(notify(g.door, g.id, []))
    assert errors(g) == 0
    # a database that was begun anew counts anew
    qm.stop()
    for path in (Path(g.data) / "cache").glob("cache.db*"):
        path.unlink()
    start_qm(g)
    g.uns.stop()
    g.uns = g.start("uns").wait_ready()
    with Session(g.door) as s:
        told = s.init(g.id).find("quota/fullset")
        assert (told.get("wanted"), told.get("reason")) == ("yes", "crash")
    accepted(notify(g.door, g.id, ROWS[:1]))
    wait_for("the new error", lambda: errors(g) == 1)
    accepted(notify(g.door, g.id, []))
    assert errors(g) == 0


def processing(g):
    with Session(g.door) as s:
        return int(s.init(g.id).find("processing_status").get("processing"))
