"""The role bot: a robot that fetches into files for a botm, or for a person who types."""
import hashlib
import os
import re
import signal
import socket
import subprocess
import time
import xml.etree.ElementTree as ET
from xml.sax.saxutils import quoteattr

import peers
import pytest
from garner import wait_for
from pages import Web

CONF = "[robot]\nnetworks = 127.0.0.0/8\ndelay = 0\ntime_max = 2s\n"


class Line:
    """A connection to a bot: messages as (name, attributes)."""

    def __init__(self, sock):
        self.sock, self.file = sock, sock.makefile("rb")
        sock.settimeout(30)

    def say(self, name, **attrs):
        text = "".join(f" {k}={quoteattr(str(v))}" for k, v in attrs.items())
        self.sock.sendall(f"<{name}{text}/>\n".encode())

    def hear(self):
        line = self.file.readline()
        assert line, "the bot has hung up"
        element = ET.fromstring(line)
        return element.tag, dict(element.attrib)

    def fetch(self, id, url, **more):
        self.say("fetch", id=id, url=url, **more)

    def fetched(self):
        name, attrs = self.hear()
        assert name == "fetched", (name, attrs)
        return attrs

    def close(self):
        self.file.close()
        self.sock.close()


class Botm:
    """Listens as a botm does."""

    def __init__(self):
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.sock.settimeout(30)
        self.address = f"127.0.0.1:{self.sock.getsockname()[1]}"

    def accept(self):
        return Line(self.sock.accept()[0])


@pytest.fixture
def site():
    web = Web()
    yield web
    web.stop()


@pytest.fixture
def botm():
    b = Botm()
    yield b
    b.sock.close()


def start(garner, botm, *more, conf=""):
    g = garner(config=CONF + f"[bot]\nbotm = {botm.address}\nparallel = 7\n" + conf)
    return g, g.start("bot", *more)


def test_it_announces_itself_fetches_and_answers(garner, site, botm):
    site.pages["/a"] = (200, {"ETag": '"1"', "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"}, "aaa")
    g, bot = start(garner, botm)
    line = botm.accept()
    assert line.hear() == ("robot", {"parallel": "7"})
    folder = g.data / "cache/files"
    (folder / "000000").mkdir()
    line.fetch("one", site.url + "/a", file="000000/1.1")
    assert line.fetched() == {
        "id": "one", "outcome": "ok", "cause": "answer", "status": "200", "size": "3", "etag": '"1"',
        "mtime": "784111777", "mime": "text/html", "md5": hashlib.md5(b"aaa").hexdigest()}
    assert (folder / "000000/1.1").read_text() == "aaa"
    # without a file; empty; not there
    line.fetch("two", site.url + "/a")
    assert line.fetched()["size"] == "3"
    site.pages["/empty"] = ""
    line.fetch("three", site.url + "/empty", file="000000/2")
    assert line.fetched()["size"] == "0" and (folder / "000000/2").read_bytes() == b""
    line.fetch("four", site.url + "/none", file="000000/3")
    got = line.fetched()
    assert (got["outcome"], got["status"]) == ("permanent", "404") and "md5" not in got
    line.fetch("five", "nothing:", file="000000/3")
    assert line.fetched()["cause"] == "url"
    assert sorted(os.listdir(folder / "000000")) == ["1.1", "2"]
    rows = g.run("status", "--json").json()["roles"]
    assert [r["state"] for r in rows if r["name"] == "bot"] == ["running"]
    # its botm will refuse it again, until somebody has changed something
    line.say("refused", reason="another folder")
    bot.wait_line('botm refused this robot .*why="another folder"')
    bot.wait_line("botm away; reconnecting.* retry=30s")
    assert bot.stop() == 0


def test_one_sync_serves_many_files(garner, site, botm):
    site.pages.update({f"/{i}": f"page {i}" for i in range(120)})
    g, bot = start(garner, botm)
    line = botm.accept()
    line.hear()
    for i in range(120):  # many more than it announced: they wait
        line.fetch(i, site.url + f"/{i}", file=str(i))
    got = [line.fetched() for _ in range(120)]
    assert {a["outcome"] for a in got} == {"ok"} and {a["id"] for a in got} == set(map(str, range(120)))
    assert all((g.data / "cache/files" / str(i)).read_text() == f"page {i}" for i in range(120))
    assert bot.stop() == 0
    rows = g.run("status", "--json").json()["roles"]
    counts = {c["name"]: c["value"] for r in rows if r["name"] == "bot" for c in r["counters"]}
    assert counts["stored"] == 120 and 1 < counts["syncs"] < 120


def test_an_unchanged_document_leaves_its_file_alone(garner, site, botm):
    site.pages["/a"] = (304, {}, "")
    g, _ = start(garner, botm)
    line = botm.accept()
    line.hear()
    file = g.data / "cache/files/1"
    file.write_text("old")
    before = file.stat()
    line.fetch("1", site.url + "/a", file="1", since="784111777", etag='"x"')
    assert line.fetched()["outcome"] == "unchanged"
    assert file.read_text() == "old" and file.stat().st_mtime_ns == before.st_mtime_ns


def test_each_limit_is_a_failure_with_its_own_cause(garner, site, botm):
    other = Web()
    site.pages["/html"] = "x" * 1000
    site.pages["/in/out"] = (302, {"Location": other.url + "/b"}, "")
    other.pages["/b"] = "b"
    late = site.hold("/late")
    g, _ = start(garner, botm)
    line = botm.accept()
    line.hear()
    asked = {
        "mime": dict(url=site.url + "/html", mime="text/plain"),
        "body": dict(url=site.url + "/html", size_max=999),
        "within": dict(url=site.url + "/in/out", within=site.url + "/in/"),
        "time": dict(url=site.url + "/late"),
        "fine": dict(url=site.url + "/html", mime="text/html", size_max=1000, within=site.url),
    }
    for id, attrs in asked.items():
        line.say("fetch", id=id, file=id, **attrs)
    got = {a["id"]: a for a in (line.fetched() for _ in asked)}
    late.set()
    other.stop()
    assert {id: (a["outcome"], a["cause"]) for id, a in got.items()} == {
        "mime": ("limit", "mime"), "body": ("limit", "body"), "within": ("limit", "within"),
        "time": ("temporary", "time"), "fine": ("ok", "answer")}
    assert os.listdir(g.data / "cache/files") == ["fine"]
    assert other.asked == []


def test_names_stay_inside_the_folder_whatever_they_say(garner, site, botm):
    site.pages["/a"] = "hostile"
    g, bot = start(garner, botm)
    line = botm.accept()
    line.hear()
    folder, outside = g.data / "cache/files", g.dir / "outside"
    outside.mkdir()
    (outside / "kept").write_text("old")
    (folder / "link").symlink_to(outside)
    (folder / "file").symlink_to(outside / "kept")
    (folder / "up").symlink_to("..")
    for id, name in enumerate(("link/new", "up/new", "nowhere/x")):
        line.fetch(id, site.url + "/a", file=name)
        got = line.fetched()
        assert got["cause"] == "sink" and got["reason"], got
    assert f"{folder}/nowhere/x: " in got["reason"] and "No such file" in got["reason"]
    assert len(bot.lines("cannot store files")) == 1  # of those in a row
    assert bot.lines(f"cannot store files path={folder}/link/new why=")
    line.fetch("replaced", site.url + "/a", file="file")
    assert line.fetched()["outcome"] == "ok"
    assert (folder / "file").read_text() == "hostile" and not (folder / "file").is_symlink()
    # no form of a name at all: that is no botm
    for name in ("../x", "/etc/passwd", "a/../../b", "", "a//b", "x" * 65, "a b"):
        line.fetch("bad", site.url + "/a", file=name)
        assert line.file.read() == b"", name
        line.close()
        line = botm.accept()
        line.hear()
    line.sock.sendall(b'<fetch id="1" url="http://a/" file="a\0b"/>\n')
    assert line.file.read() == b""
    assert (outside / "kept").read_text() == "old" and os.listdir(outside) == ["kept"]
    assert sorted(os.listdir(g.data / "cache")) == ["files"]
    assert bot.lines("cannot store files")


def test_what_a_lost_connection_asked_for_is_cancelled(garner, site, botm):
    site.pages["/slow"] = site.pages["/quick"] = "x"
    held = site.hold("/slow")
    g, _ = start(garner, botm, conf="[up]\nroles = bot\n")
    line = botm.accept()
    line.hear()
    for i in range(3):
        line.fetch(i, site.url + f"/slow", file=f"s{i}")
    wait_for("the question", lambda: site.count("/slow"))
    line.close()
    line = botm.accept()  # it comes back by itself
    assert line.hear()[0] == "robot"
    held.set()
    line.fetch("quick", site.url + "/quick", file="q")
    assert line.fetched()["id"] == "quick"
    assert os.listdir(g.data / "cache/files") == ["q"]


def test_one_that_slept_leaves_the_file_of_another_alone(garner, site, botm):
    """Its botm has hung up meanwhile and given the name to another robot."""
    site.pages["/page"] = "old"
    held = site.hold("/page")
    g, sleeper = start(garner, botm)
    line = botm.accept()
    line.hear()
    line.fetch("1", site.url + "/page", file="f")
    wait_for("the question", lambda: site.count("/page"))
    sleeper.send(signal.SIGSTOP)
    held.set()
    wait_for("the answer", lambda: "/page" in site.answered)
    line.close()
    (g.data / "cache/files/f").write_text("new")
    sleeper.send(signal.SIGCONT)
    line = botm.accept()
    assert line.hear()[0] == "robot"
    assert (g.data / "cache/files/f").read_text() == "new"


def test_killed_with_the_file_named_it_does_it_again_under_the_same_name(garner, site, botm):
    site.pages["/a"] = "aaa"
    g = garner(config=CONF + f"[bot]\nbotm = {botm.address}\n")
    for point in ("bot.named", "bot.synced", "bot.answers"):
        bot = g.start("bot", env={"GARNER_FAULTS": f"{point}=kill"})
        line = botm.accept()
        line.hear()
        line.fetch(point, site.url + "/a", file="f")
        assert line.file.read() == b""
        assert bot.wait() == -signal.SIGKILL
        line.close()
        bot = g.start("bot")
        line = botm.accept()
        line.hear()
        line.fetch(point, site.url + "/a", file="f")
        assert line.fetched()["outcome"] == "ok"
        assert (g.data / "cache/files/f").read_text() == "aaa"
        assert os.listdir(g.data / "cache/files") == ["f"]
        line.close()
        assert bot.stop() == 0


def test_a_contract_is_a_botms_to_say(garner, site, botm):
    site.pages.update({"/robots.txt": "User-agent: *\nDisallow: /\n", "/a": "a"})
    g, _ = start(garner, botm)
    line = botm.accept()
    line.hear()
    line.fetch("plain", site.url + "/a", file="1")
    assert line.fetched()["outcome"] == "robots"
    line.fetch("contract", site.url + "/a", file="2", delay="0s", robots="no")
    assert line.fetched()["outcome"] == "ok"


def test_another_machine_needs_a_key(garner):
    g = garner(config=CONF + "[bot]\nbotm = 192.0.2.1:8191\n")
    said = g.run("config", "check")
    assert said.code == 2 and "tls_shared_key" in said.err
    said = g.run("-s", "bot.botm=nowhere", "config", "check")
    assert said.code == 2 and "bot: botm: expected HOST:PORT" in said.err
    g.configure(CONF + "[bot@2]\nlisten = 0.0.0.0:0\n")
    said = g.run("config", "check")
    assert said.code == 2 and "bot@2" in said.err and "tls_shared_key" in said.err


def test_hostile_xml_and_floods_harm_nobody_else(garner, site):
    site.pages["/a"] = "a"
    g = garner(config=CONF + "[bot]\nlisten = 127.0.0.1:0\nparallel = 4\n")
    bot = g.start("bot")
    port = int(re.search(r":(\d+)$", bot.wait_line("listening")).group(1))

    def connect():
        line = Line(socket.create_connection(("127.0.0.1", port)))
        assert line.hear()[0] == "robot"
        return line

    line = connect()
    for text in (b'<!DOCTYPE a [<!ENTITY b "c">]><fetch id="&b;"/>', b"<fetch id='&lol;'/>",
                 b"<a><a><a>", b"<fetch id='" + b"x" * 300000 + b"'/>", b"<p:fetch/>", b"\xff\xfe"):
        line.sock.sendall(text + b"\n")
        name, attrs = line.hear()
        assert name == "error" and int(attrs["line"]) > 0, (text[:20], attrs)
    line.fetch("fine", site.url + "/a", file="fine")
    assert line.fetched()["outcome"] == "ok"
    flood = connect()
    flood.sock.sendall(b"".join(b'<fetch id="%d" url="%s/a" file="f%d"/>\n' %
                                (i, site.url.encode(), i) for i in range(500)))
    wait_for("a file of the flood", lambda: any(f.name != "fine" for f in
                                                (g.data / "cache/files").iterdir()))
    flood.close()
    line.fetch("after", site.url + "/a", file="after")
    assert line.fetched()["outcome"] == "ok"
    assert bot.stop() == 0
    assert not [f for f in (g.data / "cache/files").iterdir() if f.name.endswith(".part")]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_browser_cannot_be_made_to_ask_a_bot(garner, site, version):
    site.pages["/a"] = "a"
    g = garner(config=CONF + "[bot]\nlisten = 127.0.0.1:0\n")
    bot = g.start("bot")
    port = int(re.search(r":(\d+)$", bot.wait_line("listening")).group(1))
    request = f'POST / HTTP/{version}\r\nHost: x\r\n\r\n<fetch id="1" url="{site.url}/a" file="a"/>\n'.encode()
    for cut in (0, 1, 12, 15, 16):
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.settimeout(30)
            if cut:
                sock.sendall(request[:cut])
                time.sleep(0.05)
            sock.sendall(request[cut:])
            said = b""
            try:
                while piece := sock.recv(4096):
                    said += piece
            except ConnectionResetError:
                pass
            assert b"fetched" not in said
    assert bot.stop() == 0
    assert not list((g.data / "cache/files").iterdir())


def type_to(g, port, text):
    """What inetutils-telnet shows, after all that is typed was answered."""
    peer = peers.need("inetutils-telnet")
    telnet = subprocess.Popen([peer.program("inetutils-telnet"), "-E", "127.0.0.1", str(port)],
                              env=peer.environment(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    shown = []
    try:
        for typed in text:
            telnet.stdin.write(typed + "\n")
            telnet.stdin.flush()
        for line in telnet.stdout:
            if line.startswith("<"):
                shown.append(line.strip())
            if len(shown) == len(text) + 1:
                break
    finally:
        telnet.kill()
        telnet.wait()
        telnet.stdin.close()
        telnet.stdout.close()
    return shown


def test_a_person_types_with_telnet(garner, site):
    site.pages["/a"] = "typed"
    g = garner(config=CONF + "[bot]\nlisten = 127.0.0.1:0\n")
    bot = g.start("bot")
    port = re.search(r":(\d+)$", bot.wait_line("listening")).group(1)
    shown = type_to(g, port, [
        "hello",
        f'<fetch id="1" url="{site.url}/a" delay="0s"/>',
        f'<fetch id="2" url="{site.url}/a" robots="no"/>',
        '<fetch id="3"/>',
        "<kept id='1'/>",
        f'<fetch id="4" url="{site.url}/a" file="../page"/>',
        f'  <fetch id="5" url="{site.url}/a" file="page"/>',
    ])
    assert shown[0] == '<robot parallel="100"/>'
    errors = [ET.fromstring(s).attrib for s in shown if s.startswith("<error")]
    assert [(e["line"], e["column"]) for e in errors] == [(str(n), "1") for n in range(1, 7)]
    assert "contract" in errors[1]["reason"] and "contract" in errors[2]["reason"]
    answers = [ET.fromstring(s).attrib for s in shown if s.startswith("<fetched")]
    assert [(a["id"], a["outcome"]) for a in answers] == [("5", "ok")]
    assert (g.data / "cache/files/page").read_text() == "typed"
    assert bot.stop() == 0
