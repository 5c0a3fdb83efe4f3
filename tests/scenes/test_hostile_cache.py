"""What a stranger, a broken provider, a full disk and a wrong clock do to a cache."""
import resource
import socket

import pytest

import peers
from caches import Cache, a_set, init
from garner import shifted, wait_for
from smtp import Sink

YEAR = 365 * 24 * 3600


@pytest.fixture
def cache(garner):
    made = []

    def make(**sections):
        made.append(Cache(garner, **sections))
        return made[-1]

    yield make
    for c in made:
        c.close()


def dial(c, source="127.0.0.1"):
    host, _, port = c.uns.rpartition(":")
    s = socket.create_connection((host, int(port)), timeout=20, source_address=(source, 0))
    return s


def hear(s, until=b"\0"):
    """What it says until it hangs up, or said this."""
    said = b""
    try:
        while until not in said and (piece := s.recv(1 << 16)):
            said += piece
    except ConnectionResetError:
        pass
    return said


def test_a_session_cut_at_any_byte_counts_whole_or_not_at_all(cache, long_run):
    c = cache()
    c.start("rs", "uns")
    owner = c.register(c.owner())
    whole = len(init(owner)) + len(a_set([owner.row("/cut000")]))
    cuts = sorted({*range(0, whole, 1 if long_run else 9), *range(whole - 12, whole + 1)})
    for at in cuts:
        text = init(owner) + a_set([owner.row(f"/cut{at:03}")])
        with dial(c) as s:
            if at > len(init(owner)):
                s.sendall(text[:len(init(owner))])
                assert b"init_accepted>" in hear(s, b"init_accepted>")
                s.sendall(text[len(init(owner)):at])
            else:
                s.sendall(text[:at])
            s.shutdown(socket.SHUT_WR)
            said = hear(s)
        assert (b"set_accepted" in said) == (at >= whole - 1), (at, said)
    c.start("qm", "botm", "bot")
    c.settle(owner, 0)
    for at in cuts:
        assert (c.receipt(owner, f"/cut{at:03}") is not None) == (at >= whole - 1), at
    c.stop()


def bombs(owner):
    first = init(owner)
    start = b'<lococa:set set="partial">'
    doctype = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY a%d "%s">' % (i, (b"&a%d;" % (i - 1) if i else b"&a;") * 10) for i in range(9)) + b"]>"
    return {
        "entities": doctype + first.replace(b'passwd="', b'passwd="&a8;'),
        "a document type": b"<!DOCTYPE html>" + first,
        "a file of ours": b'<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><lococa:init xmlns:lococa="http://www.lococa.org/1.0">&a;',
        "deep": first + b"<a>" * 100000,
        "deep in a set": first + start + b"<url>" * 100000,
        "an attribute without end": first + start + b'<url c="' + b"x" * (1 << 20),
        "a tag of many attributes": first + start + b"<url " + b" ".join(b'a%d=""' % i for i in range(50000)),
        "no tag at all": b"x" * (1 << 20),
        "blanks": b" " * (1 << 20),
        "a comment without end": first + b"<!--" + b"-x" * (1 << 20),
        "other bytes": first + start + bytes(range(256)) * 4000,
        "instructions": first + b"<?a " + b"b" * (1 << 20),
        "character data": first + start + b"<![CDATA[" + b"a" * (1 << 20),
    }


def test_what_was_made_to_be_slow_or_large_is_hung_up_on(cache):
    c = cache()
    c.start("rs", "uns")
    owner = c.register(c.owner())
    for name, bytes_ in bombs(owner).items():
        with dial(c) as s:
            try:
                s.sendall(bytes_)
                s.shutdown(socket.SHUT_WR)
                said = hear(s)
            except (BrokenPipeError, ConnectionResetError):
                said = b""
        assert b"set_accepted" not in said and b"root:" not in said, (name, said)
        assert said == b"" or b"code=" in said or b"set_result" in said, (name, said)
    owner.write("/a")
    assert c.push(owner, [owner.row("/a")]).accepted
    peak = int(next(line for line in open(f"/proc/{c.members['uns'].pid}/status") if "VmHWM" in line).split()[1])
    assert peak < 200 << 10, f"{peak} KiB"
    c.stop()


def test_thousands_of_connections_do_not_shut_others_out(cache, long_run):
    n = 5000 if long_run else 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < n + 100:
        pytest.skip(f"only {hard} files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, n + 100), hard))
    c = cache()
    c.start("rs", "uns")
    owner = c.register(c.owner())
    owner.write("/a")
    held = []
    try:
        for i in range(n):
            try:
                held.append(dial(c, source="127.0.0.2"))
                if i % 2:
                    held[-1].sendall(init(owner)[:-20])
            except OSError:
                pass  # it was hung up on
        assert len(held) > n * 9 // 10
        assert c.push(owner, [owner.row("/a")]).accepted
    finally:
        for s in held:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    c.stop()


def test_a_provider_who_does_not_read_holds_up_nobody_but_himself(cache, long_run):
    c = cache()
    c.start("rs", "uns")
    owner, other = c.register(c.owner()), c.register(c.owner())
    other.write("/a")
    rows = a_set([{"c": owner.url + "/" + "x" * 1000, "mime": "image/png"}] * 20).partition(b">")[2].partition(b"</lococa:set")[0]
    with dial(c) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(init(owner) + b'<lococa:set set="partial">')
        s.settimeout(0.3)
        try:
            for _ in range(10000 if long_run else 3000):  # each row is an error, told at once
                s.sendall(rows)
        except OSError:
            pass  # it is not read any more, or was hung up on
        assert c.push(other, [other.row("/a")]).accepted
        peak = int(next(line for line in open(f"/proc/{c.members['uns'].pid}/status") if "VmHWM" in line).split()[1])
        assert peak < 200 << 10, f"{peak} KiB"
    c.stop()


def push_until(c, owner, path, accepted):
    def once():
        told = c.push(owner, [owner.row(path)])
        return [told] if bool(told.accepted) == accepted else None
    return wait_for(f"a set that is {'accepted' if accepted else 'refused'}", once, 30, every=0.1)[0]


@pytest.mark.parametrize("role", ["uns", "qm"])
def test_without_room_on_the_disk_a_set_is_refused_and_nothing_is_half_there(cache, role):
    c = cache()
    c.start()
    owner = c.register(c.owner())
    paths = [f"/p{i}" for i in range(30)]
    for path in paths:
        owner.write(path)
    first = c.push(owner, [owner.row(p) for p in paths[:10]])
    assert first.accepted
    c.settle(owner, first.set)
    c.members[role].stop()
    fault = {"uns": "file.write=enospc@5+", "qm": "file.write/cache.db=enospc@10+"}[role]
    member = c.begin(role, faults=fault).wait_ready()
    told = [c.push(owner, [owner.row(p)]) for p in paths[10:20]]
    assert all(t.accepted or t.code == 102 for t in told), told
    if role == "uns":
        assert any(not t.accepted for t in told)
        member.stop()
    else:  # a round that fails ends the process
        assert member.wait() != 0 and "No space left" in member.text
    c.begin(role).wait_ready()
    last = push_until(c, owner, paths[20], True)
    rows = c.settle(owner, last.set)
    assert [r["state"] for r in rows.values()] == ["stored"]
    for path, t in zip(paths[10:20], told):
        if t.accepted:
            rows = c.settle(owner, t.set)
            assert [r["state"] for r in rows.values()] == ["stored"]
        else:
            assert c.receipt(owner, path) is None
    c.stop()
    assert c.g.run("cache", "check").code == 0


@pytest.mark.parametrize("years", [-70, 30])
def test_clocks_that_jump_harm_nobody(cache, years):
    """Before 1970, or far ahead, and put right again: nothing that is stored goes, and fetching goes on."""
    c = cache()
    c.start()
    owner = c.register(c.owner())
    paths = [f"/p{i}" for i in range(6)]
    for path in paths:
        owner.write(path)
    told = c.push(owner, [owner.row(p) for p in paths[:3]])
    assert all(r["state"] == "stored" for r in c.settle(owner, told.set).values())
    for env, at in ((shifted(years * YEAR), 3), (None, 4)):
        c.stop()
        c.start(env=env)
        told = push_until(c, owner, paths[at], True)
        assert [r["state"] for r in c.settle(owner, told.set).values()] == ["stored"]
        info = c.ask(f"/api/providers/{owner.id}", owner)
        assert info["stored"]["files"] == at + 1 and info["wanted"] == "", info
        assert len(c.files()) == at + 1
    c.stop()
    assert c.g.run("cache", "check").code == 0


def test_msmtp_brings_the_mail_of_a_registration(cache):
    msmtp = peers.need("msmtp")
    sink = Sink()
    c = cache()
    program = c.g.dir / "sendmail"
    _, host, port = sink.via.split(":")
    path = msmtp.environment()["LD_LIBRARY_PATH"]
    program.write_text(f"#!/bin/sh\nLD_LIBRARY_PATH='{path}' exec '{msmtp.program('msmtp')}' --file=/dev/null "
                       f"--host={host} --port={port} --auth=off --tls=off \"$@\"\n")
    program.chmod(0o755)
    c.configure(mail=f"via = {program}\n")
    c.start("rs")
    told = c.ask("/api/providers", site="http://www.example.com/", mail="owner@example.com", send="yes")
    assert told["mailed"], told
    mails = wait_for("the mail", lambda: sink.mails)
    sender, to, message = mails[0]
    assert to == "owner@example.com" and sender
    text = message.get_payload(decode=True).decode()
    assert told["secret"] in text and told["password"] in text and str(told["provider"]) in text
    c.stop()
    sink.close()
