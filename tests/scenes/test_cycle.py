"""The modules of the crawl at the command line, and what the role makes of its settings and files."""
import pytest

from garner import wait_for
from pages import Web


@pytest.fixture
def slow():
    w = Web()
    w.pages["/slow"] = "<p>slow"
    yield w
    w.stop()


@pytest.fixture
def web():
    w = Web()
    w.pages["/"] = "<title>front</title><a href=/a>a</a> <a href=/b>b</a> <a href=/cgi/x>c</a>"
    w.pages |= {"/a": "<p>pagea", "/b": "<p>pageb", "/cgi/x": "<p>pagex"}
    yield w
    w.stop()


def configuration(w, roles="shepherd broker", delay="10ms", **shepherd):
    settings = {"cycle": "1s", "refresh": "1h", "no_delay": w.host, **shepherd}
    return (f"[up]\nroles = {roles}\n[robot]\nnetworks = 127.0.0.1\ndelay = {delay}\n[shepherd]\n" +
            "".join(f"{k} = {v}\n" for k, v in settings.items()))


def rules(g, text):
    folder = g.data / "shepherd" / "cf"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "filter").write_text(text)


def phases(g):
    return [s["phase"] for s in g.run("shep", "states", "--json").json()]


def test_modules_by_hand_do_what_the_role_does(garner, web):
    g = garner(config=configuration(web))
    assert g.run("shep", "init").code == 0
    assert g.run("add", f"{web.url}/").code == 0
    for _ in range(2):
        assert "plan" in g.run("shep", "plan").out
        assert "the state is cork" in g.run("shep", "reap").out
        assert "the state is corked" in g.run("shep", "cork").out
        for module in ("merge", "equiv", "select"):
            done = g.run("shep", module)
            assert done.code == 0 and f"the state is {module}" in done.out, done
        assert "the state is closed" in g.run("shep", "record").out
    assert {web.count(f"/{p}") for p in ("", "a", "b", "cgi/x")} == {1}
    wrong = g.run("shep", "merge")
    assert wrong.code == 2 and "merge cannot work on it; these can: feedback plan cleanup" in wrong.err
    assert "the state is closed" in g.run("shep", "cleanup").out
    assert phases(g)[-1] == "closed" and g.run("check").code == 0
    why = g.run("why", "--json", f"{web.url}/a").json()
    assert why["type"] == "gathered"
    assert [d["module"] for d in why["decisions"]] == ["merge", "reap"]


def test_a_module_says_what_it_lacks(garner, web):
    g = garner(config=configuration(web))
    none = g.run("shep", "plan")
    assert none.code == 2 and "garner shep init" in none.err
    assert g.run("shep", "init").code == 0
    assert "garner shep states" in g.run("shep", "plan", "20200101-000000").err
    rules(g, "hots x: reject\n")
    bad = g.run("shep", "plan")
    assert bad.code == 2 and "did you mean 'host'" in bad.err
    rules(g, "")
    (g.data / "shepherd" / "cf" / "url-equiv").write_text("http://a.example/\n\thttp://www.b.example/\n")
    bad = g.run("shep", "plan")
    assert bad.code == 2 and "url-equiv:2" in bad.err


def test_a_damaged_feedback_is_named_by_the_module(garner, web):
    g = garner(config=configuration(web))
    assert g.run("shep", "init").code == 0
    (g.data / "shepherd" / "feedback").write_text("nothing of the kind")
    done = g.run("shep", "feedback")
    assert done.code == 0 and f"{g.data}/shepherd/feedback: " in done.out and "set aside" in done.out


def test_a_select_by_hand_that_is_held_leaves_nothing_behind(garner, web, long_run):
    if not long_run:
        pytest.skip("a thousand pages: only in the long form")
    paths = [f"/q{i}" for i in range(1010)]
    web.pages = {path: f"<p>{path}" for path in paths}
    web.pages["/"] = "".join(f"<a href={path}>x</a>" for path in paths)
    g = garner(config=configuration(web, cycle="1min"))
    doctor = lambda: {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}.get("brake")
    assert g.run("shep", "init").code == 0
    assert g.run("add", f"{web.url}/").code == 0
    for module in ("plan", "reap", "cork", "merge", "equiv", "select", "record", "plan", "reap", "cork",
                   "merge", "equiv"):
        assert g.run("shep", module).code == 0, module
    held = g.run("-s", "shepherd.site_max=10", "shep", "select")
    assert held.code == 1 and "braked: " in held.out
    assert phases(g)[-1] == "corked" and g.run("shep", "record").code == 2
    assert doctor() and "would have dropped" in doctor()["reason"]
    for module in ("merge", "equiv", "select", "record"):
        assert g.run("shep", module).code == 0, module
    assert not doctor(), "the limit is gone, and so is what it held back"


def test_why_agrees_with_plan_and_select(garner, web):
    """What is told of a page is what the newest state has, not what came of its last try."""
    g = garner(config=configuration(web))
    assert g.run("shep", "init").code == 0
    assert g.run("add", f"{web.url}/").code == 0
    why = lambda path: g.run("why", f"{web.url}{path}").out
    modules = ("plan", "reap", "cork", "merge", "equiv", "select", "record")
    for module in 2 * modules:
        assert g.run("shep", module).code == 0, module
    due = [line.split()[-1] for line in why("/a").splitlines() if line[:4] in ("next", "band")]
    assert len(due) == 2 and due[0] == due[1]
    assert "server:       127.0.0.1, delay 0 s" in why("/a")  # by no_delay
    rules(g, "host 127.0.0.1: min_delay=3s\n")
    assert "server:       127.0.0.1, delay 3 s" in why("/a")
    rules(g, "path /*: reject\n")
    assert "none; the filter rejects it" in why("/a") and "rejected" not in why("/")
    rules(g, "any: soft_limit=1\n")
    for module in modules:
        assert g.run("shep", module).code == 0, module
    assert "state:        sleeping" in why("/a") and "none while it sleeps" in why("/a")
    rules(g, "any: soft_limit=1 hard_limit=1\n")
    for module in modules:
        assert g.run("shep", module).code == 0, module
    assert "forgotten: " in why("/a") and g.run("check").out.strip().endswith("0 noted, 0 damaged, 0 unreadable")


def test_a_file_that_is_not_finished_is_no_damage(garner, web):
    """A pass that is stopped, or runs, leaves such a one next to the file that counts."""
    g = garner(config=configuration(web))
    assert g.run("shep", "init").code == 0
    for sites in g.data.glob("shepherd/state/2*/sites"):
        (sites.parent / ".sites.new").write_bytes(sites.read_bytes()[:32])
    done = g.run("check")
    assert done.code == 0 and "0 damaged" in done.out
    for sites in g.data.glob("shepherd/state/2*/sites"):
        sites.write_bytes(sites.read_bytes()[:32])
    assert g.run("check").code == 4


def test_no_module_runs_beside_the_role_but_what_only_reads(garner, web):
    g = garner(config=configuration(web))
    up = g.start("up").wait_ready()
    for module in ("feedback", "plan", "reap", "cork", "merge", "equiv", "select", "record", "cleanup"):
        assert g.run("shep", module).code == 5, module
    explained = g.run("shep", "plan", "--explain")
    assert explained.code == 0 and max(map(len, explained.out.splitlines())) <= 80
    assert g.run("shep", "equiv", "--propose").code == 0
    assert up.stop() == 0


def test_what_is_asked_for_joins_the_running_reap(garner, web, slow):
    """The reap is kept by a server that answers when it is told to."""
    hold = slow.hold("/slow")
    g = garner(config=configuration(web, cycle="1h", no_delay=f"{web.host} {slow.host}"))
    up = g.start("up").wait_ready()
    assert g.run("add", f"{slow.url}/slow").code == 0
    wait_for("the reap", lambda: slow.count("/slow"))
    state = g.run("shep", "states", "--json").json()[-1]["name"]
    assert g.run("add", f"{web.url}/a").code == 0
    wait_for("the page", lambda: web.count("/a"))
    wait_for("its decision", lambda: g.run("why", "--json", f"{web.url}/a").json()["decisions"])
    last = g.run("shep", "states", "--json").json()[-1]
    assert (last["name"], last["phase"]) == (state, "reap")
    hold.set()
    wait_for("both to be found", lambda: len(g.run("search", "--strict", "--urls", "pagea OR slow").out.split()) == 2)
    assert web.count("/a") == 1
    assert up.stop() == 0


def test_what_is_asked_for_many_times_is_fetched_once(garner, slow):
    """As long as it waits. The first request keeps the others waiting."""
    slow.pages |= {"/once": "<p>once", "/last": "<p>last"}
    hold = slow.hold("/slow")
    g = garner(config=configuration(slow, roles="shepherd", cycle="1h", no_delay=""))
    up = g.start("up").wait_ready()
    assert g.run("add", f"{slow.url}/slow").code == 0
    wait_for("the reap", lambda: slow.count("/slow"))
    for path in ["/once"] * 3 + ["/last"]:
        assert g.run("add", f"{slow.url}{path}", f"{slow.url}{path}").code == 0
    wait_for("the requests to be taken", lambda: not list((g.data / "shepherd" / "requests").glob("*.add")))
    hold.set()
    wait_for("the end of the reap", lambda: phases(g)[-1] == "closed")
    assert up.stop() == 0
    assert slow.count("/once") == slow.count("/last") == 1


def test_merge_follows_every_so_many_corks_and_loses_nothing(garner, web):
    # so many pages that something is always due: where nothing is, merge follows at once
    paths = [f"/p{i}" for i in range(60)]
    web.pages |= {path: f"<p>{path}" for path in paths}
    web.pages["/"] = "".join(f"<a href={path}>x</a>" for path in paths)
    g = garner(config=configuration(web, delay="40ms", no_delay="", merge_every=3, refresh="4s",
                                    keep_interim_states=9))
    up = g.start("up").wait_ready()
    assert g.run("add", f"{web.url}/").code == 0
    wait_for("all pages", lambda: all(web.count(path) for path in paths), 60)
    wait_for("corks in a row", lambda: any(phases(g)[i:i + 3] == ["corked"] * 3 for i in range(20)), 60)
    assert up.stop() == 0 and g.run("check").code == 0


def test_rules_hold_at_once_and_a_bad_file_leaves_the_old_ones(garner, web):
    g = garner(config=configuration(web, refresh="1s"))
    rules(g, "path /cgi/*: reject\n")
    up = g.start("up").wait_ready()
    assert g.run("add", f"{web.url}/").code == 0
    wait_for("the others", lambda: web.count("/a") and web.count("/b"))
    why = g.run("why", f"{web.url}/cgi/x")
    assert why.code == 1 and "cf/filter:1" in why.out
    rules(g, "path /cgi/*: rejekt\n")
    up.wait_line("filter:1: .*rejekt")
    assert g.run("config", "check").code == 2
    rules(g, "path /b: reject\n")
    wait_for("what is not rejected any more", lambda: web.count("/cgi/x"))
    wait_for("what is now", lambda: not g.run("search", "--strict", "--urls", "pageb").out.split())
    assert up.stop() == 0


DELAY_S = 0.5


@pytest.mark.parametrize("rule, robots", [(f"min_delay={DELAY_S:g}s", ""),
                                          ("min_delay=0 max_conn=4", f"Crawl-delay: {DELAY_S:g}\n")])
def test_the_longer_delay_holds_from_the_first_request_on(garner, web, rule, robots):
    """That of a rule or of robots.txt, across cycles, and for what is asked for meanwhile."""
    if robots:
        web.pages["/robots.txt"] = (200, {"Content-Type": "text/plain"}, "User-agent: *\n" + robots)
    g = garner(config=configuration(web, roles="shepherd", delay="100ms", no_delay="", cycle="1s"))
    rules(g, f"host 127.0.0.1: {rule}\n")
    up = g.start("up").wait_ready()
    assert g.run("add", f"{web.url}/", f"{web.url}/a").code == 0
    wait_for("all pages", lambda: all(web.count(p) for p in ("/", "/a", "/b", "/cgi/x")))
    assert up.stop() == 0
    gaps = [b - a for a, b in zip(web.times, web.times[1:])]
    assert min(gaps) > 0.95 * DELAY_S, gaps


def test_a_role_with_bad_rules_does_not_begin(garner, web):
    g = garner(config=configuration(web, roles="shepherd"))
    rules(g, "hots x: reject\n")
    refused = g.run("shepherd")
    assert refused.code == 2 and "did you mean 'host'" in refused.err


@pytest.mark.parametrize("file, text, said", [("filter", "hots x: reject\n", "did you mean 'host'"),
                                              ("url-equiv", "http://www.x.example/\n", "url-equiv:1: ")])
def test_a_module_with_bad_rules_does_not_begin(garner, web, file, text, said):
    g = garner(config=configuration(web))
    assert g.run("shep", "init").code == 0
    rules(g, "")
    (g.data / "shepherd" / "cf" / file).write_text(text)
    for module in ("plan", "cleanup"):
        refused = g.run("shep", module)
        assert refused.code == 2 and said in refused.err, refused


def test_a_bad_file_of_classes_leaves_those_that_there_are(garner, web):
    g = garner(config=configuration(web, roles="shepherd"))
    folder = g.data / "shepherd" / "cf"
    folder.mkdir(parents=True)
    (folder / "url-equiv").write_text("http://www.one.example/\n")
    assert g.run("config", "check").code == 2
    up = g.start("up").wait_ready()
    up.wait_line("reading the classes of sites failed.*url-equiv:1")
    assert g.run("add", f"{web.url}/").code == 0
    wait_for("the pages", lambda: web.count("/a") and web.count("/b"))
    assert up.stop() == 0


def test_a_chain_of_redirects_without_end_meets_the_limits(garner, web):
    web.pages |= {f"/r{i}": (302, {"Location": f"/r{i + 1}"}, "") for i in range(50)}
    g = garner(config=configuration(web, site_max=2, auto_go_root="no"))
    assert g.run("shep", "init").code == 0
    assert g.run("add", f"{web.url}/r0").code == 0
    for _ in range(12):
        for module in ("plan", "reap", "cork", "merge", "equiv", "select", "record"):
            assert g.run("-s", "robot.redirects_max=2", "shep", module).code == 0, module
    assert len({path for path in web.asked if path.startswith("/r") and path != "/robots.txt"}) <= 6


def test_status_tells_how_long_each_pass_took(garner, web):
    g = garner(config=configuration(web))
    up = g.start("up").wait_ready()
    assert g.run("add", f"{web.url}/").code == 0
    wait_for("a reap", lambda: "last reap" in g.run("status").out)
    assert up.stop() == 0


def test_pages_outlive_a_new_list_of_sections(garner, web):
    """Their sections have the numbers of the old list; by the new one 0 has no share of the space."""
    g = garner(config=configuration(web))
    rules(g, "section pages 1\nsection images 0\n" "type text/*: section=pages\n")
    up = g.start("up").wait_ready()
    g.run("add", f"{web.url}/")
    wait_for("all pages", lambda: web.count("/cgi/x"))
    wait_for("their state", lambda: g.run("why", "--json", f"{web.url}/cgi/x").json().get("type") == "gathered")
    assert up.stop() == 0
    rules(g, "section images 0\nsection pages 1\n" "type text/*: section=pages\n")
    up = g.start("up").wait_ready()
    wait_for("the cleanup", lambda: g.run("shep", "params", "--json").json()["sections"] == ["images", "pages"])
    g.run("add", f"{web.url}/")
    wait_for("a cycle", lambda: web.count("/") == 2 and phases(g)[-1] == "closed")
    assert up.stop() == 0
    assert [g.run("why", "--json", f"{web.url}{p}").json()["type"] for p in ("/a", "/b", "/cgi/x")] == ["gathered"] * 3
    assert {web.count(p) for p in ("/a", "/b", "/cgi/x")} == {1}


def test_names_in_settings_are_checked_before_a_start(garner):
    g = garner()
    for setting, word in (("zombie_errors=2404,gone", "'gone'"), ("zombie_errors=404", "2404"), ("refresh_schema=2:0.5,4:0.5", "falling")):
        wrong = g.run("-s", f"shepherd.{setting}", "config", "check")
        assert wrong.code == 2 and word in wrong.err and "all good" not in wrong.out, wrong
    assert g.run("-s", "shepherd.zombie_errors=2404 1500-1599 permanent", "config", "check").code == 0
    for bad in ("reapers=localhost:8188", "local=never"):
        refused = g.run("-s", f"shepherd.{bad}", "config", "check")
        assert refused.code == 2 and "shepherd." + bad.split("=")[0] in refused.err + refused.out


def test_why_tells_when_a_page_that_changes_often_is_due(garner, web):
    g = garner(config=configuration(web, refresh="30d"))
    up = g.start("up").wait_ready()
    g.run("add", f"{web.url}/")
    wait_for("the page", lambda: web.count("/a"))
    wait_for("its frequency", lambda: "none, due" in g.run("why", f"{web.url}/a").out)
    said = dict(line.split(":", 1) for line in g.run("why", f"{web.url}/a").out.splitlines()[1:] if ":" in line)
    assert said["next try"].strip() == said["band"].split("due")[1].strip(), said
    assert up.stop() == 0
