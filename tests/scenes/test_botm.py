"""A botm between a source and robots: what a user of the fabric sees, and what robots with bad manners do to it."""
import json
import socket
import threading
from pathlib import Path

import bots
import peers
from bots import Bot, Link, Source, connect, content
from garner import wait_for


def botm(make, source, machine="m1", folder=None, **settings):
    """A Garner with a botm that listens at unix:DIR/botm."""
    g = make()
    more = "".join(f"{k} = {v}\n" for k, v in settings.items())
    folder = "" if folder is None else f"folder = {folder}\n"
    g.configure(f"[botm]\nlisten = unix:{g.dir}/botm\nsource = unix:{source}\nmachine = {machine}\n{folder}{more}")
    g.door = f"unix:{g.dir}/botm"
    g.files = Path(g.data) / "cache" / "files"
    g.botm = g.start("botm").wait_ready()
    return g


def urls(n, site="http://h.example"):
    return [f"{site}/{i}" for i in range(n)]


def through(g, path, *args):
    return g.start("fetch", "--through", f"unix:{path}", "--json", *args)


def lines_of(process):
    return [json.loads(line) for line in process.text.split("\n") if line.startswith("{")]


def names(g):
    return bots.names(g.data)


def stored_files(g):
    return sorted(str(p.relative_to(g.files)) for p in g.files.glob("*/*"))


def must_be_sound(g):
    done = g.run("check", str(Path(g.data) / "cache"))
    assert done.code == 0, done
    return done


def test_each_url_has_a_line_and_a_file(garner, tmp_path):
    g = botm(garner, tmp_path / "s")
    robots = [Bot(g.door, g.files, 7) for _ in range(2)]
    want = [url for k in range(10) for url in urls(30, f"http://h{k}.example")]
    list_file = tmp_path / "list"
    list_file.write_text("# a comment\n\n" + "\n".join(want[1:]) + "\nnot a url\n")
    source = through(g, tmp_path / "s", "--from", str(list_file), want[0])
    assert source.wait(30) == 3
    lines = lines_of(source)
    assert sorted(l["url"] for l in lines) == sorted([*want, "not a url"])
    good = [l for l in lines if l["outcome"] == "ok"]
    assert len(good) == 300 and len({l["file"] for l in good}) == 300
    for l in good:
        assert l["machine"] == "m1"
        assert (g.files / l["file"]).read_bytes() == content(l["url"])
    assert all(b.fetches for b in robots)
    wait_for("everything kept", lambda: len(names(g)["kept"]) == 300)
    assert g.botm.stop() == 0
    assert stored_files(g) == sorted(l["file"] for l in good)
    must_be_sound(g)


def test_text_lines_look_as_those_of_fetch(garner, tmp_path):
    g = botm(garner, tmp_path / "s")
    Bot(g.door, g.files, 1)
    source = g.start("fetch", "--through", f"unix:{tmp_path}/s", "http://h.example/a")
    assert source.wait() == 0
    assert "ok             200 " in source.text and "1 of 1 URLs, 1 ok" in source.text
    done = g.run("fetch", "--through", f"unix:{tmp_path}/s", "-o", "x", "http://h/")
    assert done.code == 2 and "--through" in done.err
    done = g.run("fetch", "--through", "0.0.0.0:0", "http://h/")
    assert done.code == 2 and "tls" in done.err


def test_capacity_is_told_at_once_and_at_every_change(garner, tmp_path):
    g = botm(garner, tmp_path / "s")
    g.botm.wait_line("source away; reconnecting")
    s = Source(tmp_path / "s")
    wait_for("the botm", lambda: s.capacity() == 0)
    a = Bot(g.door, g.files, 5)
    wait_for("a robot", lambda: s.capacity() == 5)
    Bot(g.door, g.files, 100)
    wait_for("two robots", lambda: s.capacity() == 105)
    a.close()
    wait_for("one robot", lambda: s.capacity() == 100)
    a = Bot(g.door, g.files, 5)
    a.link.send("robot", parallel=9)
    wait_for("a robot that can do more", lambda: s.capacity() == 109)
    assert s.all("botm")[0]["machine"] == "m1"
    s.close()


def test_the_url_of_a_dead_robot_goes_to_another_under_the_same_name(garner, tmp_path):
    s = Source(tmp_path / "s")
    g = botm(garner, tmp_path / "s")
    wait_for("the botm", lambda: s.link)
    first = Bot(g.door, g.files, 10, act=lambda bot, fetch: False)
    wait_for("a robot", lambda: s.capacity() == 10)
    for i in range(5):
        s.send("fetch", id=f"f{i}", url=f"http://h/{i}")
    wait_for("it has all", lambda: len(first.fetches) == 5)
    second = Bot(g.door, g.files, 10)
    first.close()
    wait_for("all answers", lambda: len(s.answers()) == 5)
    assert {f["id"]: f["file"] for f in first.fetches} == {f["id"]: f["file"] for f in second.fetches}
    assert {a["id"]: a["file"] for a in s.answers()} == {f["id"]: f["file"] for f in first.fetches}
    s.close()


def test_a_failure_and_a_delete_free_the_name(garner, tmp_path):
    s = Source(tmp_path / "s")
    g = botm(garner, tmp_path / "s")
    outcome = {"http://h/gone": "permanent", "http://h/same": "unchanged"}

    def act(bot, fetch):
        if fetch["url"] in outcome:
            bot.say(fetch, outcome[fetch["url"]], status=404)
            return False
        return True

    Bot(g.door, g.files, 1, act)
    wait_for("a robot", lambda: s.capacity() == 1)

    def ask(id, url):
        s.send("fetch", id=id, url=url)
        return wait_for(id, lambda: [a for a in s.answers() if a["id"] == id])[0]

    gone = ask("1", "http://h/gone")
    assert gone["outcome"] == "permanent" and "file" not in gone and gone["machine"] == "m1"
    assert ask("2", "http://h/same")["outcome"] == "unchanged"
    a = ask("3", "http://h/a")
    assert a["file"] == "000000/002"
    s.send("kept", id="3", machine="m1", file=a["file"])
    b = ask("4", "http://h/b")
    assert b["file"] == "000000/003"
    s.send("dropped", id="4")
    s.send("delete", id="d1", machine="m1", file=a["file"])
    s.send("delete", id="d2", machine="m1", file="000000/777")
    s.send("delete", id="d3", machine="m2", file=a["file"])
    wait_for("three deletes", lambda: len(s.all("deleted")) >= 3)
    assert {d["id"]: d["outcome"] for d in s.all("deleted")} == {"d1": "ok", "d2": "none", "d3": "absent"}
    wait_for("no files", lambda: stored_files(g) == [])
    found = names(g)
    assert not found["kept"] and not found["stored"] and len(found["free"]) == 4
    # it gives them again, under names of their own
    for i in range(4, 1000):
        s.send("fetch", id=f"all{i}", url="http://h/gone")
    wait_for("all names", lambda: len(s.answers()) == 1000, 60)
    assert ask("again", "http://h/again")["file"].endswith(".2")
    s.close()


def test_a_source_that_says_nonsense_is_left_and_tried_again(garner, tmp_path):
    s = Source(tmp_path / "s")
    g = botm(garner, tmp_path / "s")
    wait_for("the botm", lambda: s.capacity() == 0)
    for nonsense in (b"<fly/>", b"<robot parallel='1'/>", b"<!DOCTYPE a><fetch id='1' url='u'/>", b"\0\0",
                     b"<delete id='1' machine='m1' file='../../x/y'/>"):
        before = len(s.all("botm"))
        s.link.send_bytes(nonsense)
        wait_for("it is back", lambda: len(s.all("botm")) > before)
    assert g.botm.alive
    s.close()


def test_answers_are_repeated_until_the_source_has_spoken(garner, tmp_path):
    s = Source(tmp_path / "s")
    g = botm(garner, tmp_path / "s")
    Bot(g.door, g.files, 10)
    wait_for("a robot", lambda: s.capacity() == 10)
    for i in range(4):
        s.send("fetch", id=f"f{i}", url=f"http://h/{i}")
    wait_for("all answers", lambda: len(s.answers()) == 4)
    first = {a["id"]: a for a in s.answers()}
    s.send("kept", id="f0")
    s.send("dropped", id="f1", machine="m1", file=first["f1"]["file"])
    wait_for("heard", lambda: len(names(g)["kept"]) == 1 and len(names(g)["free"]) == 1)
    s.close()
    s = Source(tmp_path / "s")
    wait_for("the rest again", lambda: len(s.answers()) == 2)
    assert {a["id"]: a for a in s.answers()} == {i: first[i] for i in ("f2", "f3")}
    # one that is asked for once more is not fetched once more
    s.send("fetch", id="f2", url="http://h/2")
    wait_for("f2 once more", lambda: len(s.answers()) == 3)
    assert s.answers()[2] == first["f2"]
    # killed, it still has their files, and nothing else of them
    g.botm.kill()
    s.heard.clear()
    g.botm = g.start("botm").wait_ready()
    wait_for("the rest again", lambda: len(s.answers()) == 2)
    again = {a["file"]: a for a in s.answers()}
    for old in (first["f2"], first["f3"]):
        assert again[old["file"]] == {"id": f"file:{old['file']}", "outcome": "ok", "machine": "m1", "file": old["file"],
                                      "size": old["size"]}
    id2, id3 = (f"file:{first[i]['file']}" for i in ("f2", "f3"))
    s.send("kept", id=id2, machine="m1", file="000000/999")  # not that one
    s.send("dropped", id=id2)
    s.send("kept", id=id3)
    kept = sorted(first[i]["file"] for i in ("f0", "f3"))
    wait_for("all settled", lambda: names(g)["kept"] == kept and not names(g)["stored"] and stored_files(g) == kept)
    s.close()
    assert g.botm.stop() == 0
    must_be_sound(g)


def test_without_its_names_a_botm_loses_no_file(garner, tmp_path):
    s = Source(tmp_path / "s")
    g = botm(garner, tmp_path / "s")
    Bot(g.door, g.files, 3)
    wait_for("a robot", lambda: s.capacity() == 3)

    def ask(ids):
        for i in ids:
            s.send("fetch", id=i, url=f"http://h/{i}")
        wait_for(ids, lambda: {*ids} <= {a["id"] for a in s.answers()})
        for i in ids:
            s.send("kept", id=i)
        files = {a["id"]: a["file"] for a in s.answers()}
        return [files[i] for i in ids]

    before = ask(["1", "2", "3"])
    g.botm.kill()
    for part in Path(g.data).glob("garner.db*"):
        part.unlink()
    s.heard.clear()
    g.botm = g.start("botm").wait_ready()
    g.botm.wait_line("records of file names lost or outdated")
    Bot(g.door, g.files, 3)
    wait_for("a robot", lambda: s.capacity() == 3)
    after = ask(["4", "5", "6"])
    for i, file in enumerate(before + after, 1):
        assert (g.files / file).read_bytes() == content(f"http://h/{i}")
    assert not {*before} & {*after}
    s.send("delete", id="d", machine="m1", file=before[0])
    wait_for("deleted", lambda: s.all("deleted"))
    assert s.all("deleted")[0]["outcome"] == "ok" and not (g.files / before[0]).exists()
    s.close()
    assert g.botm.stop() == 0
    must_be_sound(g)


def test_answers_to_a_source_that_was_killed_are_dropped(garner, tmp_path):
    g = botm(garner, tmp_path / "s")
    held = threading.Event()

    def act(bot, fetch):
        held.wait(30)
        return True

    bot = Bot(g.door, g.files, 10, act)
    source = through(g, tmp_path / "s", *urls(20))
    wait_for("some are out", lambda: bot.fetches)
    source.kill()
    held.set()
    source = through(g, tmp_path / "s", *urls(5, "http://other.example"))
    assert source.wait() == 0
    lines = lines_of(source)
    assert sorted(l["url"] for l in lines) == sorted(urls(5, "http://other.example"))
    wait_for("nothing else", lambda: stored_files(g) == sorted(l["file"] for l in lines))
    assert g.botm.stop() == 0
    must_be_sound(g)


# Robots with bad manners.


def fabric(make, tmp_path, **settings):
    s = Source(tmp_path / "s")
    g = botm(make, tmp_path / "s", **settings)
    wait_for("the botm", lambda: s.link)
    return s, g


def test_a_file_that_is_not_there_is_not_believed(garner, tmp_path):
    s, g = fabric(garner, tmp_path)

    def lie(bot, fetch):
        if fetch["id"] == "short":
            (g.files / fetch["file"]).write_bytes(b"x")
        if fetch["id"] == "folder":
            (g.files / fetch["file"]).mkdir()
        bot.say(fetch, "ok", status=200, size=1000, md5="0" * 32, file="000000/555", machine="other")
        return False

    Bot(g.door, g.files, 10, lie)
    wait_for("a robot", lambda: s.capacity() == 10)
    s.send("fetch", id="none", url="http://h/1")
    s.send("fetch", id="short", url="http://h/2")
    s.send("fetch", id="folder", url="http://h/3")
    wait_for("answers", lambda: len(s.answers()) == 3)
    for a in s.answers():
        assert a["outcome"] == "temporary" and a["cause"] == "no-file"
        assert a["machine"] == "m1" and "file" not in a
    wait_for("free", lambda: len(names(g)["free"]) == 2)
    assert [(g.files / name).is_dir() for name in stored_files(g)] == [True]
    g.botm.kill()
    g.botm = g.start("botm").wait_ready()  # what it cannot remove it leaves
    s.close()


HOSTILE = [
    b"<robot parallel='1'/><fetched id='x' outcome='ok'/>",
    b"<robot parallel='1'/><delete id='1' machine='m1' file='a'/>",
    b"<robot parallel='1'/><machine machine='m9' node='9' state='up'/>",
    b"<fetched id='1' outcome='ok'/>",
    b"<botm machine='m2' node='1' capacity='1'/>",
    b"<robot parallel='-5'/>",
    b"<robot parallel='99999999999999999999'/>",
    b"<robot parallel='1' parallel='2'/>",
    b"<robot/>",
    b"<robot parallel='1'><robot parallel='1'/></robot>",
    b"<robot parallel='1'>words</robot>",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]><robot parallel='1'/>",
    b"<" + b"a" * 300_000,
    b"<a>" * 50_000,
    b"<robot " + b" ".join(b"a%d='1'" % i for i in range(1000)) + b"/>",
    b"\xff\xfe\0<\0r",
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"</robot>",
]


def test_hostile_words_end_a_connection_and_nothing_else(garner, tmp_path):
    s, g = fabric(garner, tmp_path)
    for words in HOSTILE:
        link = Link(connect(g.door), lambda *_: None)
        link.send_bytes(words)
        assert link.is_over.wait(20), words[:60]
        assert link.refused, words[:60]
        link.close()
    Bot(g.door, g.files, 3)
    wait_for("a good robot alone", lambda: s.capacity() == 3)
    s.send("fetch", id="1", url="http://h/")
    wait_for("its answer", lambda: s.answers())
    s.close()


def test_one_connection_too_many_is_refused_with_a_reason(garner, tmp_path):
    g = botm(garner, tmp_path / "s", max_connections=1)
    first = Link(connect(g.door), lambda *_: None)
    first.send("robot", parallel="1")
    second = Link(connect(g.door), lambda *_: None)
    assert second.is_over.wait(20) and second.refused == "too many connections"
    first.close()
    second.close()


def test_a_silent_robot_is_given_up(garner, tmp_path):
    s, g = fabric(garner, tmp_path, idle="2s")
    silent = Bot(g.door, g.files, 5, act=lambda bot, fetch: False)
    wait_for("a robot", lambda: s.capacity() == 5)
    for i in range(3):
        s.send("fetch", id=str(i), url=f"http://h/{i}")
    wait_for("it has them", lambda: len(silent.fetches) == 3)
    assert silent.link.is_over.wait(20)
    wait_for("gone", lambda: s.capacity() == 0)
    good = Bot(g.door, g.files, 5)
    wait_for("answers", lambda: len(s.answers()) == 3)
    assert len(good.fetches) == 3
    s.close()


def test_a_flood_does_not_stop_the_others(garner, tmp_path):
    s, g = fabric(garner, tmp_path)
    flood = Bot(g.door, g.files, 1, act=lambda bot, fetch: False)
    stop = threading.Event()

    def pour():
        words = b"<robot parallel='1'/>" * 1000
        while not stop.is_set() and not flood.link.is_over.is_set():
            flood.link.send_bytes(words)

    t = threading.Thread(target=pour)
    t.start()
    Bot(g.door, g.files, 10)
    wait_for("both", lambda: s.capacity() == 11)
    for i in range(60):
        s.send("fetch", id=str(i), url=f"http://h/{i}")
    wait_for("all but one", lambda: len(s.answers()) >= 59)
    stop.set()
    t.join()
    flood.close()
    wait_for("and that", lambda: len(s.answers()) == 60)
    assert len({a["file"] for a in s.answers()}) == 60
    s.close()


# Trees.


def tree(make, source, machines=("m1", "m2")):
    top = make()
    top.configure(f"[botm]\nlisten = unix:{top.dir}/botm\nsource = unix:{source}\nfolder =\n")
    top.door = f"unix:{top.dir}/botm"
    top.botm = top.start("botm").wait_ready()
    leaves = {m: botm(make, f"{top.dir}/botm", m) for m in machines}
    return top, leaves


def test_a_tree_feeds_all_machines_and_routes_deletes(garner, tmp_path):
    s = Source(tmp_path / "s")
    top, leaves = tree(garner, tmp_path / "s")
    for g in leaves.values():
        g.bot = Bot(g.door, g.files, 10)
    wait_for("both machines", lambda: s.machines() == ["m1", "m2"] and s.capacity() == 20)
    for i in range(40):
        s.send("fetch", id=str(i), url=f"http://h{i % 8}/{i}")
    wait_for("all answers", lambda: len(s.answers()) == 40)
    by_machine = {m: [a for a in s.answers() if a["machine"] == m] for m in leaves}
    assert all(by_machine.values())
    for m, g in leaves.items():
        assert stored_files(g) == sorted(a["file"] for a in by_machine[m])
    for a in s.answers():
        s.send("kept", id=a["id"], machine=a["machine"], file=a["file"])
    wait_for("all kept", lambda: all(not names(g)["stored"] for g in leaves.values()))
    one = by_machine["m2"][0]
    s.send("delete", id="d1", machine="m2", file=one["file"])
    s.send("delete", id="d2", machine="m3", file=one["file"])
    wait_for("deleted", lambda: len(s.all("deleted")) == 2)
    assert {d["id"]: d["outcome"] for d in s.all("deleted")} == {"d1": "ok", "d2": "absent"}
    assert not (leaves["m2"].files / one["file"]).exists()
    # a machine goes, and fails at once; it comes back, and the source hears of both
    leaves["m2"].botm.kill()
    wait_for("m2 is gone", lambda: s.machines() == ["m1"] and s.capacity() == 10)
    s.send("delete", id="d3", machine="m2", file=by_machine["m2"][1]["file"])
    wait_for("absent", lambda: len(s.all("deleted")) == 3)
    assert s.all("deleted")[2]["outcome"] == "absent"
    leaves["m2"].botm = leaves["m2"].start("botm").wait_ready()
    wait_for("m2 is back", lambda: s.machines() == ["m1", "m2"])
    # a source that comes back hears of all
    s.close()
    s = Source(tmp_path / "s")
    wait_for("both again", lambda: s.machines() == ["m1", "m2"])
    s.close()


def test_a_second_botm_of_one_machine_and_a_ring_are_refused(garner, tmp_path):
    s = Source(tmp_path / "s")
    top, leaves = tree(garner, tmp_path / "s", ("m1",))
    wait_for("m1", lambda: s.machines() == ["m1"])
    second = botm(garner, f"{top.dir}/botm", "m1")
    second.botm.wait_line("machine 'm1' is connected here already")
    assert s.machines() == ["m1"]
    robot = Link(connect(top.door), lambda *_: None)
    robot.send("robot", parallel=1)
    assert robot.is_over.wait(20) and "no folder" in robot.refused
    # a ring of two, and of one
    a, b = garner(), garner()
    for g, other in ((a, b), (b, a)):
        g.configure(f"[botm]\nlisten = unix:{g.dir}/botm\nsource = unix:{other.dir}/botm\nfolder =\n")
    a.botm, b.botm = a.start("botm").wait_ready(), b.start("botm").wait_ready()
    wait_for("a ring", lambda: "a ring: this botm is below itself" in a.botm.text + b.botm.text)
    one = garner()
    one.configure(f"[botm]\nlisten = unix:{one.dir}/botm\nsource = unix:{one.dir}/botm\nfolder =\n")
    one.start("botm").wait_line("a ring: this botm is below itself")
    s.close()


def test_an_instance_has_the_folder_of_its_robots_and_no_other_botm_has(garner):
    for folder, files in (("", "cache/files"), ("pages/", "pages"), ("cache/files@7", "cache/files@7")):
        g = garner()
        setting = f"folder = {folder}\n" if folder else ""
        g.configure(f"[botm]\nsource = unix:{g.dir}/s\n{setting}[bot@1]\nbotm = unix:{g.dir}/botm\n{setting}"
                    f"[botm@1]\nlisten = unix:{g.dir}/botm\n[botm@2]\nlisten = unix:{g.dir}/other\n")
        first = g.start("botm@1").wait_ready()
        Bot(f"unix:{g.dir}/botm", g.data / files)
        done = g.run("fetch", "--through", f"unix:{g.dir}/s", "--json", "http://h.example/a", timeout=30)
        assert done.code == 0 and json.loads(done.out.splitlines()[0])["outcome"] == "ok", done
        assert len(list((g.data / files).glob("*/*"))) == 1 and len(bots.names(g.data, files)["kept"]) == 1
        second = g.run("botm@2", timeout=20)
        assert second.code == 5 and "another botm has this folder; set botm.folder" in second.err, second
        assert first.stop() == 0
        # the day after
        second = g.start("botm@2").wait_ready()
        assert second.stop() == 0
        assert len(list((g.data / files).glob("*/*"))) == 1
        assert "is lost or old" not in second.text


def test_the_data_directory_is_no_folder_of_a_botm(garner):
    g = garner()
    (g.dir / "link").symlink_to(g.data)
    for folder in (".", f"{g.data}/", g.dir / "link"):
        g.configure(f"[botm]\nlisten = unix:{g.dir}/botm\nsource = unix:{g.dir}/s\nfolder = {folder}\n")
        done = g.run("botm")
        assert done.code == 2 and "botm.folder: " in done.err and "is the data directory" in done.err, done


def test_config_check_compares_the_folders_of_a_botm_and_its_bots(garner):
    for bot, said in (("bot@1]\nbotm = unix:x\n", "no file will be stored"), ("bot@1]\nbotm = unix:y\n", ""),
                      ("bot@1]\nbotm = unix:x\nfolder = f\n", "")):
        done = garner(config=f"[botm@1]\nlisten = unix:x\nfolder = f\n[{bot}").run("-s", "net.port=8080", "config", "check")
        assert done.code == 0 and (said in done.err if said else not done.err), (bot, done)
    # the same, spelled otherwise
    g = garner()
    for folder, said in ((f"{g.data}/f/", False), (f"{g.data}/g", True)):
        g.configure(f"[botm]\nlisten = 127.0.0.1:8191\nfolder = f\n[bot]\nbotm = localhost:8191\nfolder = {folder}\n")
        assert ("no file will be stored" in g.run("-s", "net.port=8080", "config", "check").err) == said, folder


def test_settings_are_checked(garner):
    for settings, words in (("listen = 0.0.0.0:8191", "tls"), ("source = 192.0.2.1:1", "tls"),
                            ("machine = a/b", "botm.machine"), ("source =", "source: empty: set HOST:PORT")):
        done = garner(config=f"[botm]\n{settings}\n").run("-s", "net.port=8080", "config", "check")
        assert done.code == 2 and words in done.err, (settings, done)


def test_the_name_of_a_source_is_asked_of_the_robots_name_server(garner):
    names = garner()
    _, port = peers.name_server(names, "--host-record=source.test,127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as source:
        source.settimeout(20)
        g = garner(config=f"[robot]\ndns_servers = 127.0.0.1:{port}\ndns_order = ipv4\n"
                          f"[botm]\nlisten = unix:botm\nsource = source.test:{source.getsockname()[1]}\n")
        g.start("botm").wait_line("connected to the source")
        source.accept()[0].close()
