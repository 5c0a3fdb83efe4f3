"""Clients of Prospero with a real queuer: recorded exchanges, both dialects, every name and letter, lost packets,
slow searches, floods and rubbish."""
import contextlib
import os
import re
import signal
import socket
import threading
import time

import pytest

from archie_queue import Asker, stopped
from garner import ROOT, new_seed, wait_for
from prospero import Client, Packet, Refused, Relay, start

CONFIG = """[archie]
searchers = 2
host = archie.example.test
[archie-prospero]
listen = udp:127.0.0.1:0
unacked = 1G
"""
FILES = 400  # in /pub/many


def listing():
    months = ["Jan", "Feb"]
    out = [".:", "drwxr-xr-x 2 root wheel 512 Jan  5  1994 pub", "-rw-r--r-- 1 root wheel  17 Jan  5  1994 README", "",
           "./pub:", "drwxr-xr-x 2 root wheel 512 Jan  5  1994 gnu", "drwxr-xr-x 2 root wheel 512 Jan  5  1994 many",
           "drwxr-xr-x 2 root wheel 512 Jan  5  1994 walnut tools", "-rw-r--r-- 1 root wheel 5 Jan  5  1994 it's", "",
           "./pub/gnu:"]
    for i in range(40):
        size, date = (1706393, "Feb  9 22:40") if i == 22 else (1000000 + i, f"Jan {1 + i % 28:2} 12:00")
        out.append(f"-rw-r--r-- 1 root wheel {size} {date} emacs-19.{i}.tar.gz")
    out += ["", "./pub/walnut tools:", "-rw-r--r-- 1 root wheel 99 Jan  5  1994 zebrawood.gz", "", "./pub/many:"]
    out += [f"-rw-r--r-- 1 root wheel {i} {months[i % 2]}  5  1994 many{i:04}.txt" for i in range(FILES)]
    return "\n".join(out) + "\n"


@pytest.fixture
def server(garner):
    """A garner with a small archive, its queuer, and the role."""
    g = garner(CONFIG)
    (g.dir / "listing").write_text(listing())
    os.utime(g.dir / "listing", (760881600, 760881600))     # 1994-02-10 12:00
    done = g.run("archie", "build", "--site", "ftp.example.org-192.0.2.10", g.dir / "listing")
    assert done.code == 0, done
    (g.data / "archie" / "etc").mkdir(exist_ok=True)
    (g.data / "archie" / "etc" / "ardomains.cf").write_text("west edu:com West\nall west:org All of it\n")
    (g.data / "archie" / "etc" / "motd.telnet").write_text("It's\nnew\n")
    (g.dir / "whatis").write_text("zebrawood\ta tool for walnut\n")
    assert g.run("archie", "whatis", "import", g.dir / "whatis").code == 0
    g.queuer = g.start("archie-queuer").wait_ready()
    g.at = start(g)
    return g


def counter(g, name):
    found = g.run("status", "--json").json()
    return sum(c["value"] for r in found["roles"] if r["name"].startswith("archie-prospero")
               for c in r.get("counters", []) if c["name"] == name)


def exchanges():
    """The recorded ones: name, and (direction, header in hex, whole packet, text) of each packet."""
    found, steps = {}, None
    for line in (ROOT / "tests" / "data" / "ardp.txt").read_text().splitlines():
        if line.startswith("= "):
            steps = found.setdefault(line.split()[1], [])
        elif line[:2] in ("C ", "S ", "X ", "D "):
            direction, _, *parts = line.partition("#")[0].split()
            data = bytes.fromhex("".join(parts))
            steps.append((direction, data, data[data[0]:] if data[0] < 32 else data))
    return found


def hits(text):
    """Each LINK with the lines of its attributes, in any order."""
    links = re.split(r"(?m)^(?=LINK )", text.decode())
    return sorted((lines[0], *sorted(lines[1:])) for lines in (link.splitlines() for link in links) if lines)


def reply(s, packets=None, seconds=30):
    """Packets of one reply, whole."""
    got, end = packets or [], time.monotonic() + seconds
    s.settimeout(seconds)
    while time.monotonic() < end:
        got.append(Packet(s.recv(65536)))
        data = {p.number for p in got if p.number}
        if data and len(data) == got[-1].total or (got[-1].flags & 0x80):
            return got
    raise AssertionError([p.raw[:12].hex() for p in got])


@contextlib.contextmanager
def talking(g):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(g.at)
        yield s


def test_recorded_exchanges_are_met(server):
    known = exchanges()
    assert sum(map(len, known.values())) == 128
    cid = lambda data: data[1:3]
    for name in ("1", "1d", "1h", "1e", "1f"):              # one packet, header 3, the id echoed
        steps = known[name] if name != "1e" else known[name][:2]
        for (_, asked, _), (_, told, _) in zip(steps[::2], steps[1::2]):
            with talking(server) as s:
                s.send(asked)
                got, = reply(s)
                assert got.raw[:3] == told[:3] and hits(got.text) == hits(told[3:]), (name, got.raw)
                if name != "1":
                    assert len(got.raw) == len(told), name
    for name in ("2", "4"):                                 # more packets, header 7, no ack wanted
        (_, asked, _), *told = known[name]
        with talking(server) as s:
            s.send(asked)
            got = reply(s)
            assert [p.raw[:7] for p in got] == [b"\7" + cid(asked) + bytes([0, i + 1, 0, len(got)]) for i in range(len(got))]
            assert set(hits(b"".join(t for _, _, t in told[:9]))) <= set(hits(b"".join(p.text for p in got)))
            assert all(len(p.text) <= 1250 and p.text.endswith(b"\n") for p in got)
            if name == "4":                                 # one was lost: all of it comes again
                time.sleep(1.05)
                s.send(told[9][1])
                assert [p.raw for p in reply(s)] == [p.raw for p in got]
    for _, asked, _ in known["10"]:                         # every header that says the same
        with talking(server) as s:
            s.send(asked)
            got, = reply(s)
            assert got.length == 3 and got.raw[1:3] == (cid(asked) if asked[0] > 1 else b"\0\0")
            assert hits(got.text) == hits(known["1"][1][2]), asked[:20].hex()
    with talking(server) as s:                              # the contents of a folder
        s.send(known["1g"][0][1])
        assert len(hits(b"".join(p.text for p in reply(s)))) == 40
    with talking(server) as s:                              # dropped: only what is sent after them is answered
        for _, data, _ in known["11"]:
            s.send(data)
        s.send(known["1"][0][1])
        assert reply(s)[0].raw[:3] == b"\3\x8d\xea"
    wait_for("garbage", lambda: counter(server, "garbage") == len(known["11"]), every=0.25)


def test_a_window_waits_for_its_ack_and_a_wait_is_taken_back(server):
    known = exchanges()
    asked = known["6"][0][1].replace(b"emacs-19", b"many").replace(b"(95,0,S)", b"(400,0,S)")
    last = known["6"][16][1]
    assert last[:1] == b"\x0c" and last[11] == 0x80
    with talking(server) as s:
        s.send(asked)
        first = reply(s)
        total = first[0].total
        assert total > 48 and [p.number for p in first] == list(range(1, 17))
        assert all(p.raw[:7] == b"\7" + asked[1:3] + bytes([0, p.number, 0, total]) for p in first[:15])
        assert first[15].raw[:12] == b"\x0c" + asked[1:3] + bytes([0, 16, 0, total, 0, 1, 0, 0, 0x80])
        s.settimeout(0.3)
        with pytest.raises(TimeoutError):                   # nothing beyond it comes by itself
            s.recv(2000)
        s.send(known["6"][17][1])
        assert [p.number for p in reply(s)] == list(range(17, 33))
        s.send(b"\x09" + asked[1:3] + bytes([0, 0, 0, 1, 0, 32]))
        assert [p.number for p in reply(s)] == list(range(33, 49))
    (_, asked, _), (_, wait, _), (_, told, text), (_, ack, _) = known["5"]
    with talking(server) as s:
        s.settimeout(30)
        with stopped(server):
            s.send(asked)
            got = s.recv(2000)
            assert got[:9] == wait[:9] and len(got) == 11 and got[9:] > b"\0\0"
        got = reply(s)[-1]
        assert got.raw[:12] == told[:12] and hits(got.text) == hits(text)
        s.send(ack)


def test_version_5_hears_its_place_is_refused_when_busy_and_cancels(server):
    with contextlib.ExitStack() as stack:
        stack.enter_context(stopped(server))
        c = stack.enter_context(contextlib.closing(Client(server.at, 5, cid=0xb60d)))
        others = [stack.enter_context(contextlib.closing(Client(server.at))) for _ in range(20)]
        for i, o in enumerate(others):
            o.send(o.header(1, 1, 0) + o.text("ARCHIE/MATCH(95,0,R)/[a-z].*"))
            if i == 0:      # a searcher has it, so that the next one waits in the queue
                wait_for("the queue", lambda: Asker(server).load()["queue"] == 1)
                c.send(c.header(1, 1, 0) + c.text("ARCHIE/MATCH(95,0,S)/emacs"))
        got = c.receive(5)
        assert got.length == 20 and got.raw[:9].hex() == "14b60d" + "0" * 12 and got.raw[11:14].hex() == "00fe03"
        assert got.status[0] >= 1
        with pytest.raises(Refused), contextlib.closing(Client(server.at, 5)) as one_more:
            one_more.match("emacs")
        with contextlib.closing(Client(server.at)) as old:
            assert re.match("FAILURE SERVER-FAILED .", old.match("emacs")[0])
        cancel = exchanges()["9"][3][1]
        c.send(cancel)
        wait_for("cancelled", lambda: counter(server, "cancelled") == 1, every=0.25)
    with contextlib.closing(Client(server.at)) as c:
        assert len(c.match("emacs-19.3.", "S")) == 6


def test_every_name_and_letter_is_answered_in_both_dialects(server):
    def ask(name, version=1, **how):
        with contextlib.closing(Client(server.at, version)) as c:
            return c.lines(name, **how)

    me = f"archie.example.test({server.at[1]})"
    assert "LINK L DIRECTORY pub INTERNET-D " + me + " ASCII ARCHIE/HOST/ftp.example.org/pub 0 0" in \
        ask("ARCHIE/HOST/ftp.example.org")
    folder = ask("ARCHIE/HOST/ftp.example.org/pub")
    assert "LINK L DIRECTORY gnu INTERNET-D " + me + " ASCII ARCHIE/HOST/ftp.example.org/pub/gnu 0 0" in folder
    assert "LINK L EXTERNAL(AFTP,BINARY) 'it''s' INTERNET-D ftp.example.org ASCII /pub/it's 0 0" in folder
    assert folder[-1].startswith("WARNING OUT-OF-DATE 1 ") and not any("walnut" in line for line in folder)
    folder = ask("ARCHIE/HOST/ftp.example.org//pub/", 5)
    assert "LINK  L DIRECTORY 'walnut tools' INTERNET-D " + me + \
        " ASCII 'ARCHIE/HOST/ftp.example.org/pub/walnut tools' 0" in folder
    assert ask("ARCHIE/HOST/ftp.example.org/pub/walnut tools", 5)[1].split()[3] == "zebrawood.gz"
    site = ["LINK L DIRECTORY ftp.example.org INTERNET-D " + me + " ASCII ARCHIE/HOST/ftp.example.org 0 0",
            "LINK-INFO CACHED AR_H_IP_ADDR ASCII 192.0.2.10", "LINK-INFO CACHED AR_H_LAST_MOD ASCII 19940210120000Z"]
    for name in ("ARCHIE/HOST", "ARCHIE/HOST/*", "ARCHIE/HOST/ftp.*", "ARCHIE/HOST/f?p.example.org",
                 "ARCHIE/HOST/(ex.*\\.org)"):
        assert ask(name) == site, name
    assert ask("ARCHIE/HOST", component="ftp.example.org") == site
    assert ask("ARCHIE/HOST", component="tp.example.org") == ["NONE-FOUND"] == ask("ARCHIE/HOST/*.edu")
    assert ask("ARCHIE/HOST/nowhere.example.org/")[0].startswith("FAILURE NOT-FOUND ")
    assert ask("ARCHIE/FIND(1,1,1,x)/y")[0].startswith("FAILURE NOT-FOUND ")
    assert ask("ARCHIE/DOMAINS", 5) == [
        "VERSION 5 garner",
        "LINK  L OBJECT west INTERNET-D " + me + " ASCII ARCHIE/DOMAIN/west 0",
        "ATTRIBUTE CACHED INTRINSIC CONTENTS SEQUENCE west edu:com West",
        "LINK  L OBJECT all INTERNET-D " + me + " ASCII ARCHIE/DOMAIN/all 0",
        "ATTRIBUTE CACHED INTRINSIC CONTENTS SEQUENCE all west:org 'All of it'"]
    assert len(ask("ARCHIE/DOMAIN/west", 5)) == 3 and ask("ARCHIE/DOMAINS")[0].startswith("WARNING OUT-OF-DATE 2 ")
    assert ask("ARCHIE/WHATIS/walnut", 5)[2:] == \
        ["ATTRIBUTE CACHED INTRINSIC CONTENTS SEQUENCE zebrawood 'a tool for walnut'"]

    def names(letter, string, hits="95,0", version=1, **how):
        lines = ask(f"ARCHIE/MATCH({hits},{letter})/{string}", version, **how)
        return [line.split()[3] for line in lines if line.startswith("LINK ")]

    one = ["emacs-19.7.tar.gz"]
    for letter, string in {"=": one[0], "S": "MACS-19.7.", "C": "acs-19.7.", "R": "^emacs.*9\\.7\\.", "s": "19.7.t",
                           "c": "19.7.t", "r": "s-19\\.7\\.", "X": "9\\.7\\.", "x": "9\\.7\\.", "Z": "S-19.7.",
                           "z": "S-19.7.", "K": "s-19.7.", "k": "s-19.7.", "n": one[0], "?": "MACS-19.7."}.items():
        assert names(letter, string) == one, letter
        assert names(letter, string, "10,10,10,0") == one, letter
    for letter in "=nCck":
        assert names(letter, "EMACS-19.7.tar.gz") == []
    assert ask("ARCHIE/MATCH(95,0,Z)/19.7.") == ["LINK L DIRECTORY emacs-19.7.tar.gz INTERNET-D " + me +
                                                 " ASCII ARCHIE/MATCH(95,95,95,0,=)/emacs-19.7.tar.gz 0 0"]
    assert len(names("S", "many", "0,0")) == 100 and len(names("S", "many", "300,0")) == 300
    assert names("S", "many", "5,3") == names("S", "many", "8,0")[3:]
    lines = ask("ARCHIE/MATCH(20000,0,S)/many")
    assert lines[-1] == "WARNING MESSAGE limits lowered to 10000 hits, 1000 names, 100 hits of each name"
    assert len([line for line in lines if line.startswith("LINK ")]) == FILES + 1
    assert ask("ARCHIE/MATCH(1,0,S)")[0].startswith("FAILURE ") and ask("ARCHIE/MATCH(1,0,R)/a[")[0].startswith("ERROR ")
    five = ask("ARCHIE/MATCH(20000,0,0,0,=)/emacs-19.22.tar.gz", 5, before=["PARAMETER GET MOTD"])
    assert five == [
        "VERSION 5 garner", "PARAMETER VALUE MOTD 'It''s new'",
        "WARNING MESSAGE limits lowered to 10000 hits, 100 names, 20 hits of each name",
        "LINK  L EXTERNAL emacs-19.22.tar.gz INTERNET-D ftp.example.org ASCII /pub/gnu/emacs-19.22.tar.gz 0",
        "ATTRIBUTE LINK FIELD ACCESS-METHOD AFTP '' '' '' '' BINARY",
        "ATTRIBUTE CACHED APPLICATION AR_H_IP_ADDR SEQUENCE 192.0.2.10",
        "ATTRIBUTE CACHED INTRINSIC SIZE SEQUENCE '1706393 bytes'",
        "ATTRIBUTE CACHED INTRINSIC UNIX-MODES SEQUENCE -rw-r--r--",
        "ATTRIBUTE CACHED INTRINSIC LAST-MODIFIED SEQUENCE 19940209224000Z",
        "ATTRIBUTE CACHED APPLICATION AR_H_LAST_MOD SEQUENCE 19940210120000Z"]
    assert names("S", "a", version=5, filters=["AR_DOMAIN ARGS west"]) == []
    assert len(names("S", "emacs", version=5, filters=["AR_DOMAIN ARGS all", "AR_PATHCOMP ARGS nothing gnu"])) == 40
    assert names("S", "emacs", version=5, filters=["AR_PATHCOMP ARGS many"]) == []


def test_replies_come_through_a_way_that_loses_doubles_and_reorders(server):
    seed, got = new_seed(), {}

    def ask(version, cid):
        with contextlib.closing(Client(way, version, cid=cid)) as c:
            got[version, cid] = [line.split()[3] for line in c.match("many", "S", hits=120) if line.startswith("LINK ")]

    relay = Relay(server.at, seed)
    with relay as way:
        threads = [threading.Thread(target=ask, args=(v, cid)) for v in (1, 5) for cid in (7, 40000)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert min(relay.did.values()) > 0, relay.did
    assert len(got) == 4 and all(len(names) == len(set(names)) == 120 for names in got.values()), seed


def test_rubbish_is_dropped_and_an_address_that_says_nothing_gets_little(server):
    with talking(server) as s:
        valid = Client(server.at).text("ARCHIE/MATCH(95,0,=)/README")
        whole = b"\x09\x12\x34\0\1\0\1\0\0" + valid
        for n in (*range(0, 64), *range(64, len(whole)), 1500, 2047, 2048, 2049, 9000, 65507):
            s.send((whole * (n // len(whole) + 1))[:n])
            if n < 32:
                s.send(bytes([n]) + os.urandom(40))
                s.send(bytes([n + 32]) + os.urandom(40))
            if n % 16 == 0:
                time.sleep(0.005)   # so that the socket holds them
    with contextlib.closing(Client(server.at)) as c:
        assert c.match("README", "=")[0].startswith("LINK L EXTERNAL(AFTP,BINARY) README ")
    wait_for("garbage", lambda: counter(server, "garbage") > 64, every=0.25)
    server.configure(CONFIG.replace("unacked = 1G", "unacked = 32K"))
    at = start(server, "archie-prospero@2")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.5)
        c, got, begin = Client(at), 0, time.monotonic()
        for cid in range(1, 11):
            c.cid = cid
            s.sendto(c.header(1, 1, 0) + c.text("ARCHIE/MATCH(95,0,S)/many"), at)
        while time.monotonic() - begin < 1 or got <= 4000:
            with contextlib.suppress(TimeoutError):
                got += len(s.recv(2000))
        assert got <= 32768 * (time.monotonic() - begin + 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:     # nor one whose acks are guessed
        s.bind(("127.0.0.2", 0))
        s.setblocking(False)
        c, got, begin = Client(at, cid=77), 0, time.monotonic()
        s.sendto(c.header(1, 1, 0) + c.text("ARCHIE/MATCH(400,0,S)/many"), at)
        while time.monotonic() - begin < 1 or got <= 4000:
            for through in range(1, 17):
                s.sendto(c.header(0, 1, through + int(time.monotonic() * 100) % 100), at)
            time.sleep(0.01)
            with contextlib.suppress(BlockingIOError):
                while True:
                    got += len(s.recv(2000))
        assert got <= 32768 * (time.monotonic() - begin + 1) * 3 / 2
    with contextlib.closing(Client(at)) as c:                       # one who receives them proves it
        c.socket.bind(("127.0.0.3", 0))
        assert sum(line.startswith("LINK ") for line in c.match("many", "S", hits=400)) == 400
    wait_for("proof", lambda: counter(server, "proven_bytes") > 32768, every=0.25)


def test_a_flood_of_requests_does_not_end_the_transfer_of_another(server):
    def flood(s, first, n):
        for cid in range(first, first + n):
            flooder.cid = cid
            s.sendto(flooder.header(1, 1, 0) + text, server.at)
            s.recv(2000)

    flooder = Client(server.at)
    text = flooder.text("ARCHIE/NOTHING")
    with talking(server) as s, contextlib.closing(flooder), contextlib.ExitStack() as stack:
        asks = Client(server.at, cid=4711)
        stack.enter_context(contextlib.closing(asks))
        s.send(asks.header(1, 1, 0) + asks.text("ARCHIE/MATCH(400,0,S)/many"))
        assert reply(s)[-1].number == 16
        one = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        one.bind(("127.0.0.2", 0))
        one.settimeout(30)
        flood(one, 1, 300)
        s.send(asks.header(0, 1, 16))
        assert [p.number for p in reply(s)] == list(range(17, 33))
        for i in range(300):                                # nor does one of many addresses
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                other.bind((f"127.0.{1 + i // 200}.{1 + i % 200}", 0))
                other.settimeout(30)
                flood(other, 1, 1)
        s.send(asks.header(0, 1, 32))
        assert [p.number for p in reply(s)] == list(range(33, 49))
    wait_for("those that were kept", lambda: counter(server, "kept") == 256, every=0.25)
    assert counter(server, "evicted") == 0


def udp_addresses(pids):
    """Of their sockets."""
    mine = {os.readlink(f"/proc/{pid}/fd/{fd}") for pid in pids for fd in os.listdir(f"/proc/{pid}/fd")}
    with open("/proc/net/udp", encoding="ascii") as f:
        return [line.split()[1] for line in f if f"socket:[{line.split()[9]}]" in mine]


def test_garner_up_runs_daemons_that_share_the_address(garner):
    config = CONFIG + "daemons = 3\n[up]\nroles = archie-queuer archie-prospero\nrestart_min = 10ms\n"
    g = garner(config)
    (g.dir / "listing").write_text(listing())
    assert g.run("archie", "build", "--site", "ftp.example.org-192.0.2.10", g.dir / "listing").code == 0
    up = g.start("up").wait_ready()

    def daemons():
        return {r["name"]: r["pid"] for r in g.run("status", "--json").json()["roles"]
                if r["name"].startswith("archie-prospero@") and r["state"] == "ready"}

    def ask_from_many():
        for host in range(1, 9):                            # each address has its daemon; acks find it
            with contextlib.closing(Client(at)) as c:
                c.socket.bind((f"127.0.0.{host}", 0))
                assert sum(line.startswith("LINK ") for line in c.match("many", "S", hits=100)) == 100

    assert up.wait_line("garner is up").count(" on udp:127.0.0.1:") == 1
    assert sorted(daemons()) == [f"archie-prospero@{i}" for i in (1, 2, 3)]
    addresses = udp_addresses(daemons().values())
    assert len(addresses) == 3 and len(set(addresses)) == 1, addresses
    at = ("127.0.0.1", int(addresses[0].split(":")[1], 16))
    ask_from_many()
    for pid in daemons().values():
        os.kill(pid, signal.SIGKILL)
    ask_from_many()
    for n in (2, 4):                                        # fewer of them, and more
        g.configure(config.replace("daemons = 3", f"daemons = {n}"))
        up.send(signal.SIGHUP)
        wait_for("the daemons", lambda: len(daemons()) == n, every=0.25)
        ask_from_many()
    up.stop()
