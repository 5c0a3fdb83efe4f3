"""The botm with garner's own robots, on a site of pages: one machine under garner up, and a tree of two machines."""
import json

from garner import wait_for
from pages import Web

ROBOT = "[robot]\nnetworks = 127.0.0.0/8\ndelay = 0\nconcurrent = 8\n"


def site(n):
    web = Web()
    web.pages.update({f"/{i}": f"<p>page {i}" * 30 for i in range(n)})
    return web


def lines_of(text):
    return {l["url"]: l for l in map(json.loads, filter(lambda t: t.startswith("{"), text.split("\n")))}


def settled(g):
    """What garner check says of the cache, which is sound."""
    check = g.run("check", str(g.data / "cache"))
    assert check.code == 0, check
    return check


def files_hold(g, lines, *webs):
    pages = {web.url + path: page for web in webs for path, page in web.pages.items()}
    for url, line in lines.items():
        if line["outcome"] == "ok":
            text = (g.data / "cache" / "files" / line["file"]).read_text()
            assert text == pages[url]
            assert line["size"] == len(text) and line["type"] == "text/html"


def test_up_runs_a_botm_with_two_bots(garner, tmp_path):
    web = site(60)
    g = garner(config=f"""up.roles = botm bot@1 bot@2
{ROBOT}
[botm]
listen = unix:{tmp_path}/botm
source = unix:{tmp_path}/source
machine = m1
[bot]
botm = unix:{tmp_path}/botm
parallel = 5
[bot@2]
parallel = 3
""".replace("up.roles", "[up]\nroles"))
    up = g.start("up").wait_ready()
    urls = [f"{web.url}/{i}" for i in range(60)] + [f"{web.url}/none"]
    done = g.run("fetch", "--through", f"unix:{tmp_path}/source", "--json", *urls, timeout=60)
    assert done.code == 3, done
    lines = lines_of(done.out)
    assert sorted(lines) == sorted(urls) and len(done.out.splitlines()) == 61
    assert lines[f"{web.url}/none"]["outcome"] == "permanent" and lines[f"{web.url}/none"]["status"] == 404
    assert all(l["machine"] == "m1" for l in lines.values())
    files_hold(g, lines, web)
    assert len({l["file"] for l in lines.values() if "file" in l}) == 60
    status = g.run("status").out
    assert "bot@1" in status and "bot@2" in status
    # what has not changed is not stored once more
    web.pages["/1"] = (304, {}, "")
    done = g.run("fetch", "--through", f"unix:{tmp_path}/source", "--json", "--last-modified",
                 "Sun, 06 Nov 1994 08:49:37 GMT", f"{web.url}/1", timeout=60)
    assert done.code == 0 and lines_of(done.out)[f"{web.url}/1"]["outcome"] == "unchanged"
    # people see what garner fetch shows them
    urls = [f"{web.url}/2", f"{web.url}/none", "http://10.1.2.3/", "mailto:x"]
    alone = g.run("fetch", *urls, timeout=60)
    done = g.run("fetch", "--through", f"unix:{tmp_path}/source", *urls, timeout=60)
    assert sorted(done.out.split("\n\n")[0].splitlines()) == sorted(alone.out.split("\n\n")[0].splitlines())
    assert not (tmp_path / "source").exists()
    refused = g.run("fetch", "--through", f"unix:{tmp_path}/source", "--wait", "1h", *urls)
    assert refused.code == 2 and "--wait" in refused.err
    assert up.stop() == 0
    assert "syntax error" not in up.text  # the source said nothing but messages, to the end
    assert " 0 noted" in settled(g).out
    web.stop()


def test_a_tree_of_two_machines_with_bots_that_are_killed(garner, tmp_path):
    webs = [site(30) for _ in range(4)]
    top = garner(config=f"[botm]\nlisten = unix:{tmp_path}/top\nsource = unix:{tmp_path}/source\nfolder =\n")
    top.start("botm").wait_ready()
    leaves = []
    for m in ("m1", "m2"):
        g = garner(config=f"""{ROBOT}
[botm]
listen = unix:{tmp_path}/{m}
source = unix:{tmp_path}/top
machine = {m}
[bot]
botm = unix:{tmp_path}/{m}
parallel = 6
""")
        g.botm = g.start("botm").wait_ready()
        g.bots = [g.start("bot@1").wait_ready(), g.start("bot@2").wait_ready()]
        leaves.append(g)
    for g in leaves:
        g.botm.wait_line("connected to the source")
        for bot in g.bots:
            bot.wait_line("connected to the botm")
    urls = [f"{web.url}/{i}" for i in range(30) for web in webs]
    (tmp_path / "list").write_text("\n".join(urls))
    last = [web.hold("/29") for web in webs]
    source = top.start("fetch", "--through", f"unix:{tmp_path}/source", "--json", "--from", str(tmp_path / "list"))
    for i, g in enumerate(leaves):
        wait_for("some lines", lambda: len(lines_of(source.text)) > 20 * (i + 1))
        g.bots[0].kill()
        g.bots[0] = g.start("bot@1").wait_ready()
    assert source.alive
    for page in last:
        page.set()
    assert source.wait(60) == 0
    lines = lines_of(source.text)
    assert sorted(lines) == sorted(urls)
    assert source.text.count('{"url"') == 120
    for g, m in zip(leaves, ("m1", "m2")):
        mine = {u: l for u, l in lines.items() if l["machine"] == m}
        assert mine
        files_hold(g, mine, *webs)
        for bot in g.bots:
            bot.stop()
        g.botm.stop()
        assert " 0 damaged" in settled(g).out
    for web in webs:
        web.stop()
