"""Files for programs: the line protocol with a real queuer, those who send ahead, cancel, hang up or send
rubbish, other servers, and garner archie find."""
import json
import os
import socket
import subprocess
import threading

import pytest

from archie_ng import Client, start
from archie_queue import Asker, build, listing, searchers, stopped
from garner import free_port, wait_for

CONFIG = "[archie]\nsearchers = 2\nhost = archie.example.test\n[archie-ng]\nlisten = 127.0.0.1:0\n"
LISTING = """.:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 pub
-rw-r--r-- 1 root wheel  17 Jan  5  1994 README

./pub:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 walnut tools
-rw-r--r-- 3 anna users 1234 Feb 28  1995 archie.tar.Z

./pub/walnut tools:
-rw-r--r-- 3 anna users 99 Mar  1  1996 zebrawood-1.4.tar.gz
"""
SITE = ["ftp.example.test", "192.0.2.1"]


@pytest.fixture
def server(garner):
    """A garner with a small archive, its queuer, and the role."""
    g = garner(CONFIG)
    (g.dir / "listing").write_text(LISTING)
    os.utime(g.dir / "listing", (1e9, 1e9))
    assert g.run("archie", "build", "--site", "ftp.example.test-192.0.2.1", g.dir / "listing").code == 0
    (g.data / "archie" / "etc").mkdir(exist_ok=True)
    (g.data / "archie" / "etc" / "ardomains.cf").write_text("west edu:com West\neverywhere west:test All\n")
    (g.dir / "whatis").write_text("zebrawood\ta tool for walnut\n")
    assert g.run("archie", "whatis", "import", g.dir / "whatis").code == 0
    g.queuer = g.start("archie-queuer").wait_ready()
    g.ng = start(g)
    return g


def test_every_request_has_its_lines_and_one_last_line(server):
    c, listed = Client(server.ng), "20010909014640Z"
    zebra = ["HIT", *SITE, listed, "file", "-rw-r--r--", "99", "19960301000000Z",
             "pub/walnut tools/zebrawood-1.4.tar.gz"]
    assert c.ask("FIND ZEBRA") == ([zebra], "OK 1")
    assert c.ask("whatis WALNUT") == ([["WHATIS", "zebrawood", "a tool for walnut"]], "OK 1")
    assert c.ask("LIST") == ([["SITE", *SITE, listed, "5"]], "OK 1")
    assert c.ask("LIST ^nothing") == ([], "OK 0")
    assert c.ask("DOMAINS") == ([["DOMAIN", "west", "edu:com"], ["DOMAIN", "everywhere", "west:test"]], "OK 2")
    own = f"archie.example.test:{server.ng[1]}"
    assert c.ask("SERVERS") == ([["SERVER", own]], "OK 1")
    (word, name, queue, wait, rate, age), = c.ask("LOAD")[0]
    assert (word, name, queue, age) == ("LOAD", own, "0", "0") and float(rate) > 0 and int(wait) >= 0
    assert c.ask("ADDNEWSITE ftp.example.org")[1].startswith("ERROR refused ")
    rows, last = c.ask("HELP")
    assert last == f"OK {len(rows)}" and {"FIND STRING", "SET sortby"} <= {r[1] for r in rows}
    assert c.ask("CANCEL") == ([], "OK 0")
    assert c.ask("QUIT") == ([], "OK 0") and c.line() == ""


def test_paths_are_those_on_the_server_wherever_its_listing_begins(server):
    build(server, ".:\n-rw-r--r-- 1 a a 5 Jan  5  1994 InRelease\n", key="mirror.example.test+http+debian-192.0.2.2")
    assert Client(server.ng).ask("FIND InRelease")[0][0][-1] == "debian/InRelease"
    found = server.run("archie", "find", "--server", "%s:%d" % server.ng, "InRelease")
    assert found.out.startswith("\nHost mirror.example.test\n\n    Location: /debian\n"), found


def test_variables_limit_what_is_found(server):
    c = Client(server.ng)

    def names(string, *variables):
        for v in variables:
            assert c.ask("SET " + v) == ([], "OK 0"), v
        rows, last = c.ask("FIND " + string)
        assert last == f"OK {len(rows)}"
        for v in variables:
            assert c.ask("SET " + v.split()[0]) == ([], "OK 0"), v
        return [r[-1].rpartition("/")[2] for r in rows]

    assert names("archie.tar.Z", "search exact") == ["archie.tar.Z"]
    assert names("^README$", "search regex") == ["README"]
    assert names("(README|zebra.*)", "search regex", "syntax extended", "sortby rfilename") == \
        ["zebrawood-1.4.tar.gz", "README"]
    assert names("tools/zebra", "path yes") == ["zebrawood-1.4.tar.gz"]
    assert names("a", "kind file link", "sortby time", "maxhits 2") == ["zebrawood-1.4.tar.gz", "archie.tar.Z"]
    assert names("a", "kind dir") == ["walnut tools"]
    assert names("a", "size_min 18", "size_max 100", "kind file") == ["zebrawood-1.4.tar.gz"]
    assert names("a", "time_min 19950101000000Z", "time_max 19951231000000Z") == ["archie.tar.Z"]
    assert names("r", "sortby filename", "offset 1", "kind file") == ["archie.tar.Z", "zebrawood-1.4.tar.gz"]
    assert names("z", "match_path WALNUT TOOLS:none") == ["zebrawood-1.4.tar.gz"]
    assert names("zebra", "match_domain everywhere") == ["zebrawood-1.4.tar.gz"]
    assert names("zebra", "match_domain west") == [] == names("zebra", "match_site ftp.example.org")
    assert names("zebra", "mirrors yes", "niceness 32765", "maxmatch 1", "maxhitspm 1") == ["zebrawood-1.4.tar.gz"]
    for bad in ("nothing 1", "maxhits 10001", "maxhits -1", "search whatis", "kind file door", "time_min 1995",
                "niceness 32766", "status perhaps", "match_path " + ":".join(["x"] * 65), "size_min x"):
        assert c.ask("SET " + bad)[1].startswith("ERROR bad "), bad
    assert names("zebra") == ["zebrawood-1.4.tar.gz"]
    assert c.ask("SET search regex")[1] == "OK 0" and c.ask("FIND a[")[1].startswith("ERROR bad ")


def test_what_is_sent_ahead_is_answered_in_its_order_and_names_are_escaped(server):
    c = Client(server.ng)
    c.say(b"SET search exact\r\nFIND README\nFIND \n\nFIND nothing \nBOGUS\nset search sub\nFIND zebra\nQUIT\n")
    got = [c.answer() for _ in range(9)]
    assert [len(rows) for rows, _ in got] == [0, 1, 0, 0, 0, 0, 0, 1, 0]
    assert [last.split()[:2] for _, last in got] == [["OK", "0"], ["OK", "1"], ["ERROR", "bad"], ["ERROR", "unknown"],
                                                     ["OK", "0"], ["ERROR", "unknown"], ["OK", "0"], ["OK", "1"],
                                                     ["OK", "0"]]
    assert c.line() == ""
    build(server, ".:\n-rw-r--r-- 1 a b 1 Jan  5  1994 back\\slash\r.txt\n", "other.example.test-192.0.2.2")
    c = Client(server.ng)
    assert c.ask("FIND slash")[0][0][-1] == "back\\\\slash\\r.txt"


def test_a_request_is_told_its_place_and_cancelled_by_a_word_or_by_hanging_up(server):
    c, watch = Client(server.ng), Asker(server)
    with stopped(server):
        assert c.ask("SET status yes")[1] == c.ask("SET search regex")[1] == "OK 0"
        other = Client(server.ng)
        other.say("SET search regex\nFIND first.*\n")
        assert other.line() == "OK 0\n"
        wait_for("the first", lambda: watch.load()["queue"] == 1)
        c.say("FIND second.*\nFIND third.*\n")
        assert c.line().startswith("QUEUE\t1\t")
        c.say("CANCEL\n")
        assert [c.answer()[1] for _ in range(3)] == ["ERROR cancelled as was asked"] * 2 + ["OK 2"]
        other.close()
        wait_for("an empty queue", lambda: watch.load()["queue"] == 0)
    assert c.ask("FIND zebra.*")[1] == "OK 1"


def test_answers_come_after_quit_though_the_asker_has_closed_his_side(server):
    for _ in range(20):
        with socket.create_connection(server.ng) as s:
            s.sendall(b"FIND zebra\nQUIT\n")
            s.shutdown(socket.SHUT_WR)
            lines = s.makefile("rb").read().splitlines()
        assert [line.split()[0] for line in lines] == [b"HIT", b"OK", b"OK"], lines


def test_rubbish_and_too_much_are_bounded(server):
    for rubbish, word in ((b"x" * 100000, b"ERROR bad "), (b"\0\xff\x80\n\t\t\nFIND\n" * 3, b"ERROR unknown ")):
        c = Client(server.ng)
        c.say(rubbish)
        assert c.file.readline().startswith(word)
        c.close()
    with stopped(server):
        c = Client(server.ng)
        c.say("FIND zebra\n" * 100)
        assert c.line().startswith("ERROR busy ") and c.line() == ""
    assert Client(server.ng).ask("FIND zebra")[1] == "OK 1"


def test_many_hits_arrive_whole(garner):
    g = garner(CONFIG)
    build(g, listing(5000, name="a-name-of-some-length-so-that-the-answer-is-large-{}" + "x" * 400))
    g.start("archie-queuer").wait_ready()
    c = Client(start(g))
    c.say("SET maxhits 0\nFIND a-name\nFIND nothing\n")
    rows = [c.answer() for _ in range(3)]
    assert len(rows[1][0]) == 5000 and rows[1][1] == "OK 5000" and rows[2] == ([], "OK 0")


def test_a_queuer_that_is_away_is_told_and_found_again(server):
    c = Client(server.ng)
    assert c.ask("FIND zebra")[1] == "OK 1"
    server.queuer.stop()
    other = Client(server.ng)
    other.say("LOAD\n")
    assert c.ask("FIND zebra")[1] == "ERROR away the server does not search now"
    assert other.answer()[0][0][2:] == ["-"] * 4
    server.start("archie-queuer").wait_ready()
    assert c.ask("FIND zebra")[1] == "OK 1"


def test_loads_of_other_servers_are_told_with_their_age(server, garner):
    dead, (host, port) = free_port(), server.ng
    g = garner(CONFIG.replace("[archie-ng]", f"servers = {host}:{port}, 127.0.0.1:{dead}\n[archie-ng]"))
    g.start("archie-queuer").wait_ready()
    c = Client(start(g))
    wait_for("its load", lambda: c.ask("LOAD")[0][1][2] == "0")
    own, other, nobody = c.ask("LOAD")[0]
    assert (own[2], own[5]) == ("0", "0") and other[1] == f"{host}:{port}" and int(other[5]) < 60
    assert nobody == ["LOAD", f"127.0.0.1:{dead}", *["-"] * 4]
    assert [r[1] for r in c.ask("SERVERS")[0]] == [own[1], other[1], nobody[1]]


def test_inetd_hands_over_one_connection(server):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener_port = listener.getsockname()[1]
        c = Client(listener.getsockname())
        taken, _ = listener.accept()
    with taken:
        p = subprocess.Popen(server.command("archie", "ng", "-s", "archie.servers=192.0.2.9:1527"), stdin=taken, stdout=taken,
                             env=server.env)
    c.say("SET search exact\nFIND README\nSERVERS\nLOAD\nQUIT\n")
    (_, found), (_, hits), (servers, _), (loads, last), (_, end) = [c.answer() for _ in range(5)]
    assert (found, hits, last, end) == ("OK 0", "OK 1", "OK 2", "OK 0") and c.line() == ""
    names = [f"archie.example.test:{listener_port}", "192.0.2.9:1527"]      # ours has the port of inetd
    assert [s[1] for s in servers] == names == [load[1] for load in loads]
    assert loads[0][2] == "0" and float(loads[0][4]) > 0 and loads[1][2:] == ["-"] * 4
    c.close()
    assert p.wait(20) == 0
    assert server.run("archie", "ng").code == 2


DEFAULT = """
Host ftp.example.test

    Location: /
           FILE -rw-r--r--         17  Jan  5 1994  README
    Location: /pub
           FILE -rw-r--r--       1234  Feb 28 1995  archie.tar.Z
      DIRECTORY drwxr-xr-x        512  Jan  5 1994  walnut tools
    Location: /pub/walnut tools
           FILE -rw-r--r--         99  Mar  1 1996  zebrawood-1.4.tar.gz
"""


def test_find_prints_the_layouts_of_the_old_clients(server):
    at = ("archie", "find", "--server", "%s:%d" % server.ng)

    def find(*args, code=0):
        done = server.run(*at, *args)
        assert done.code == code, done
        return done.out

    assert find("a") == DEFAULT
    assert find("-l", "--type", "regex", "^[Rw]", "--sort", "filename") == \
        "19940105000000Z     17 ftp.example.test /README\n19940105000000Z    512 ftp.example.test /pub/walnut tools/\n"
    assert find("-a", "zebra") == "/alex/test/example/ftp/pub/walnut tools/zebrawood-1.4.tar.gz"
    newest = [line.split("/")[-1] for line in find("-l", "-t", "--kind", "file", "a").splitlines()]
    assert newest == ["zebrawood-1.4.tar.gz", "archie.tar.Z", "README"]
    got = json.loads(find("--json", "--in", "pub", "--larger", "99", "--smaller", "99", "--older", "1d", "--kind",
                          "file,link", "--domain", "everywhere", "--site", "ftp.example.test", "--maxmatch", "1", "z"))
    assert got["hits"] == [{"host": SITE[0], "address": SITE[1], "listed": 1000000000, "kind": "file",
                            "mode": "-rw-r--r--", "size": 99, "time": 825638400,
                            "path": "pub/walnut tools/zebrawood-1.4.tar.gz"}] and not got["cut"]
    assert find("nothing", code=1) == "" == find("--newer", "1d", "a", code=1)
    assert server.run(*at, "nothing").err == "garner: no file was found\n" and server.run(*at, "--json", "nothing").err == ""
    ends = "garner: %s:%d: the answer ends at --limit 2; there may be more\n" % server.ng
    assert server.run(*at, "-m", "2", "a").err == ends and server.run(*at, "-m", "2", "--json", "a").err == ""
    assert server.run(*at, "a").err == "" == server.run(*at, "-m", "0", "a").err
    assert "no ]" in server.run(*at, "--type", "regex", "a[").err
    find("--type", "regex", "a[", code=2)
    find("--in", "a:b", "x", code=2)
    find("two\nlines", code=2)


def test_find_asks_the_server_with_the_least_wait_and_on_failure_the_next(server, garner):
    dead, own, (host, port) = free_port(), free_port(), server.ng
    config = f"[archie]\nsearchers = 2\nservers = 127.0.0.1:{dead}, {host}:{port}\n[archie-ng]\nlisten = 127.0.0.1:{own}\n"
    g = garner(config)
    done = g.run("archie", "find", "--json", "zebra")       # nobody is here: as the configuration has them
    assert done.code == 0 and json.loads(done.out)["server"] == f"{host}:{port}", done
    assert done.err.count("asking the next server") == 2
    g.start("archie-queuer").wait_ready()                   # without names; as busy as the other, and asked first
    start(g)
    c = Client(("127.0.0.1", own))
    wait_for("its load", lambda: c.ask("LOAD")[0][2][2] == "0")
    done = g.run("archie", "find", "--json", "zebra")
    assert done.code == 0 and json.loads(done.out)["server"] == f"{host}:{port}", done
    assert done.err.count("asking the next server") == 1 and f"127.0.0.1:{dead}" not in done.err
    refused = g.run("archie", "find", "--server", f"127.0.0.1:{dead}", "zebra")
    assert refused.code == 6 and "up.roles" not in refused.err
    alone = garner(f"[archie-ng]\nlisten = 127.0.0.1:{dead}\n").run("archie", "find", "zebra")
    assert alone.code == 6 and "garner up runs servers, if up.roles names archie-ng and archie-queuer" in alone.err


def test_find_takes_no_rubbish_for_an_answer(garner):
    g = garner("")

    def serve(listener, answer):
        with listener.accept()[0] as c:
            c.recv(65536)
            c.sendall(answer)
            c.shutdown(socket.SHUT_WR)
            c.recv(1)

    for answer in (b"", b"OK 0\n" * 4, b"OK 0\n" * 4 + b"HIT\tx\nOK 1\n", b"\0" * 1000, b"ERROR busy \x1b[2J\n"):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=serve, args=(listener, answer))
            thread.start()
            done = g.run("archie", "find", "--server", "127.0.0.1:%d" % listener.getsockname()[1], "x")
            thread.join()
        assert done.code == 6 and done.out == "" and "\x1b" not in done.err, done


def test_columns_of_find_stay_where_a_listing_does_not_tell(garner):
    g = garner("")
    hits = b"".join(b"HIT\tftp.x.test\t192.0.2.1\t-\t%s\t-\t-\t-\tpub/%s\n" % (kind, kind) for kind in (b"dir", b"file"))

    def serve(listener):
        with listener.accept()[0] as c:
            c.recv(65536)
            c.sendall(b"OK 0\n" * 4 + hits + b"OK 2\nOK 0\n")
            c.shutdown(socket.SHUT_WR)
            c.recv(1)

    def find(*args):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=serve, args=(listener,))
            thread.start()
            done = g.run("archie", "find", "--server", "127.0.0.1:%d" % listener.getsockname()[1], *args, "x")
            thread.join()
        assert done.code == 0, done
        return done.out

    assert find() == "\nHost ftp.x.test\n\n    Location: /pub\n" \
        "      DIRECTORY d---------          0            -  dir\n" \
        "           FILE ----------          0            -  file\n"
    assert find("-l") == "00000000000000Z      0 ftp.x.test /pub/dir/\n00000000000000Z      0 ftp.x.test /pub/file\n"
    assert [h.keys() for h in json.loads(find("--json"))["hits"]] == [{"host", "address", "kind", "path"}] * 2


def test_find_is_not_held_by_a_server_that_never_ends(garner):
    g = garner("")

    def dribble(c):
        while True:
            c.sendall(b"x")
            threading.Event().wait(0.05)

    def stay(c):
        c.sendall(b"OK 0\n" * 5)  # all that was asked but QUIT
        c.recv(65536)

    def serve(listener, talk):
        with listener.accept()[0] as c:
            c.settimeout(20)
            c.recv(65536)
            try:
                talk(c)
            except OSError:
                pass

    for talk, code, words in ((dribble, 6, "no answer in time"), (stay, 1, "")):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=serve, args=(listener, talk))
            thread.start()
            done = g.run("archie", "find", "--timeout", "400ms", "--server",
                         "127.0.0.1:%d" % listener.getsockname()[1], "x")
            thread.join()
        assert done.code == code and words in done.err, done
