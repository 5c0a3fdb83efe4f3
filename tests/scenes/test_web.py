"""The role web: search and status pages, health, readiness, metrics, events."""
import html.parser
import json
import re
import signal
import subprocess
import urllib.parse

import peers
from browser import index
from garner import wait_for
from web import until, web


class Page(html.parser.HTMLParser):
    """Checks that elements nest; gathers the text."""
    VOID = {"meta", "link", "br", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.links = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.links += [v for k, v in attrs if k in ("href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data.split()


def test_up_names_the_address_to_look_at(garner):
    site = web(garner)
    assert re.search(r"1 role ready, web on http://127\.0\.0\.1:\d+/, data in",
                     site.process.wait_line("garner is up"))
    assert site.process.stop() == 0
    assert not site.process.lines(r" (error|warn) ")


def test_health_and_readiness(garner):
    site = web(garner)
    a = site.ask("/healthz")
    assert a.status == 200 and json.loads(a.body) == {"alive": True}
    a = site.ask("/readyz")
    assert a.status == 200
    said = json.loads(a.body)
    assert said["ready"] and not said["waiting"]
    assert {k: v for k, v in said["roles"].items() if v != "stopped"} == {"up": "running",
                                                                          "web": "ready"}


def test_what_is_not_to_be_kept_is_never_known_already(garner):
    site = web(garner)
    for tag in ('""', '"-gz"', "*"):
        a = site.ask("/healthz", If_None_Match=tag)
        assert a.status == 200 and a.body, tag


def test_readiness_names_who_is_not_ready(garner):
    """The counters of a supervisor whose other role has stalled, shown by a web that runs alone."""
    site = web(garner)
    other = garner(program="tests/garner-demo")
    other.configure("[up]\nroles = echo tick\nrestart_min = 1h\nrestart_max = 1h\n"
                    "[echo]\nfail = start\n")
    up = other.start("up").wait_ready()
    alone = garner(config="[web]\nlisten = 127.0.0.1:0\n", directory=None)
    process = alone.start("web", env={"GARNER_DATA": str(other.data)}).wait_ready()
    site.port = int(re.search(r":(\d+)$", process.wait_line("listening")).group(1))
    a = site.ask("/readyz")
    assert a.status == 503 and json.loads(a.body)["waiting"] == ["echo"]
    assert json.loads(a.body)["roles"]["echo"] == "backing off"
    page = site.ask("/status").body.decode()
    assert "echo is backing off." in page
    assert process.stop() == 0 and up.stop() == 0


def whole(site, path):
    """A page whose elements nest and whose links lead to our own pages, which are there."""
    a = site.ask(path)
    assert a.status == 200 and a.headers["Content-Type"] == "text/html; charset=utf-8"
    assert a.headers["Content-Security-Policy"].startswith("default-src 'self'")
    page = Page(a.body.decode())
    assert page.links
    for link in page.links:
        assert link.startswith("/") and site.ask(link).status == 200, link
    return page


def test_the_status_page_is_whole_and_asks_nobody_else(garner):
    site = web(garner)
    for path in ("/status", "/status?utm_source=x"):
        assert {"web", "ready", "up", "running", "Restarts",
                "connections_open"} <= set(whole(site, path).words)


def test_search_is_whole_where_nothing_is_indexed(garner):
    site = web(garner)
    for path in ("/", "/?utm_source=x", "/?q="):
        assert "0 documents" in " ".join(whole(site, path).words), path
    page = whole(site, "/?q=words&type=HTML&site=a.example&page=3")
    assert "Nothing is indexed yet." in " ".join(page.words)
    said = json.loads(site.ask("/api/search?q=words").body)
    assert said["results"] == [] and said["total"] == 0
    assert site.ask("/api/document?url=http://a.example/").status == 404
    a = site.ask("/cached?url=http://a.example/")
    assert a.status == 404 and b"http://a.example/</p>" in a.body


def test_a_search_that_is_none_says_where_it_is_wrong(garner):
    site = web(garner)
    index(site.g, [("http://a.example/", {"Title": "words", "Full-Text": "more words"})])
    assert "note bad" in site.ask("/?q=%28open").body.decode()
    assert site.ask("/api/search?q=%28open").status == 400
    for path in ("/api/search?q=words&page=0", "/api/search?q=words&n=101", "/api/search?q=w&x=1"):
        assert site.ask(path).status == 400, path


FRUIT = [("http://a.example/1", {"Title": "The linux kernel", "Full-Text": "one\nThe Linux\nkernel is here\nkernels"}),
         ("http://a.example/2", {"Title": "Pears", "Full-Text": "linux in pineapples"})]


def test_lines_that_matched_are_told_with_their_marks(garner):
    g = web(garner).g
    index(g, FRUIT)
    rows = g.run("search", "--json", "--lines", '"linux kernel"').json()["results"]
    assert [line for row in rows for line in row["lines"]] == [
        {"attribute": "Title", "text": "The linux kernel", "marks": [[4, 5], [10, 6]]},
        {"attribute": "Full-Text", "text": "The Linux", "marks": [[4, 5]]},
        {"attribute": "Full-Text", "text": "kernel is here", "marks": [[0, 6]]}]
    text = g.run("search", "--lines", "kernel").out
    assert "     Title: The linux kernel\n     Full-Text: kernel is here\n" in text
    assert "kernels" not in text
    assert "lines" not in g.run("search", "--json", "kernel").json()["results"][0]


def test_what_was_perhaps_meant_is_offered_where_it_has_hits(garner):
    site = web(garner)
    index(site.g, FRUIT)
    assert site.g.run("search", "--strict", "linux", "kerenl").out.endswith("Did you mean: linux kernel\n")
    said = json.loads(site.ask("/api/search?q=linux+kernal").body)
    assert said["did_you_mean"] == "linux kernel"
    page = site.ask("/?q=linux+kernal&site=a.example").body.decode()
    assert 'Did you mean <a href="/?q=linux%20kernel&amp;site=a.example">linux kernel</a>?' in page
    assert "did_you_mean" not in json.loads(site.ask("/api/search?q=pears+kernal").body)
    assert "did_you_mean" not in json.loads(site.ask("/api/search?q=linux").body)


def test_matches_are_counted_where_it_is_asked_for(garner):
    site = web(garner)
    index(site.g, FRUIT)
    want = [{"name": "site", "values": [{"value": "a.example", "count": 2}], "rest": 0}]
    assert site.g.run("search", "--json", "--facets", "site", "linux").json()["facets"] == want
    assert "\nsite:\n       2  a.example\n" in site.g.run("search", "--facets", "site", "linux").out
    assert json.loads(site.ask("/api/search?q=linux&facets=site").body)["facets"] == want
    assert "facets" not in json.loads(site.ask("/api/search?q=linux").body)
    assert b"cannot count by 'colour'" in site.ask("/api/search?q=linux&facets=colour").body
    assert site.ask("/api/search?q=linux&facets=a,b,c,d,e,f,g,h,i").status == 400
    assert "at most 8" in site.g.run("search", "--facets", "a,b,c,d,e,f,g,h,i", "linux").err


def test_words_are_taken_as_options_say(garner):
    site = web(garner)
    index(site.g, FRUIT)

    def found(*options):
        done = site.g.run("search", "--urls", *options)
        return [url[-1] for url in done.out.split()]
    assert found("--strict", "kernal") == [] and found("kernal") == ["1"]
    assert found("--strict", "-e", "1", "kernal") == ["1"]
    assert found("--strict", "-e", "2", "kennal") == ["1"]
    assert found("--strict", "--best", "kennal") == ["1"]
    assert found("--strict", "--parts", "neapp") == ["2"]
    assert found("--strict", "--case", "Linux") == ["1"]
    for option, page in (("errors=1", "1"), ("best=yes", "1"), ("parts=yes", "")):
        said = json.loads(site.ask(f"/api/search?q=kernal&forgive=no&{option}").body)
        assert "".join(row["url"][-1] for row in said["results"]) == page, option


def test_an_object_is_soif_as_it_is_stored(garner):
    site = web(garner)
    for path, status in (("/object/1", 404), ("/object/0", 400), ("/object/x", 400), ("/object/4294967296", 400)):
        assert site.ask(path).status == status, path
    text = "The <b>kernel</b>\n}\n@FILE { http://forged/\n" * 20000
    index(site.g, [("http://a.example/", {"Title": "Ünï", "Full-Text": text})])
    row, = json.loads(site.ask("/api/search?q=kernel").body)["results"]
    a = site.ask(f"/object/{row['oid']}")
    assert a.status == 200 and a.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert a.body.startswith(b"@FILE { http://a.example/\n") and a.body.endswith(b"\n}\n")
    assert f"Full-Text{{{len(text)}}}:\t{text}\n".encode() in a.body
    assert site.ask(f"/object/{row['oid']}", If_None_Match=a.headers["ETag"]).status == 304
    assert site.ask(f"/object/{row['oid'] + 1}").status == 404
    assert site.ask(f"/object/{row['oid']}", "HEAD").body == b""


def test_the_classic_form_answers_in_its_own_page(garner):
    site = web(garner)
    page = whole(site, "/query.html?broker=x")
    assert "Submit" in page.words and "found." not in page.words
    first = site.ask("/query.html").body.decode()
    ticked = set(re.findall(r'name="(\w+)" value="on" checked', first))
    assert ticked == {"caseflag", "wordflag", "descflag", "opaqueflag", "verbose"}
    assert re.search(r'name="maxresultflag"[^>]* value="50"', first)
    assert re.search(r'name="maxobjflag"[^>]* value="50"', first)
    index(site.g, [("http://a.example/1", {"Title": "Pineapple <tart>", "Description": "A <cake> & more",
                                           "Full-Text": "first\nApple pie\nlast"}),
                   ("http://a.example/2", {"Title": "Trees", "Full-Text": "apple tree"})])

    def urls(more):
        body = site.ask("/query.html?" + more).body.decode()
        return sorted(re.findall('<h2><a href="([^"]*)"', body)), body
    one, two = "http://a.example/1", "http://a.example/2"
    assert urls("query=apple")[0] == [one, two]  # a part of pineapple
    assert urls("query=apple&wordflag=on")[0] == [two]  # capitals count
    assert urls("query=apple&wordflag=on&caseflag=on")[0] == [one, two]
    assert urls("query=aple&wordflag=on&errorflag=1")[0] == [two]
    assert len(urls("query=apple&maxresultflag=1")[0]) == 1
    assert len(urls("query=apple&maxobjflag=1")[0]) == 1
    found, body = urls("query=Apple&wordflag=on&descflag=on&opaqueflag=on&verbose=on&lifetime=20")
    assert found == [one] and "1 of 2 objects match" in body
    assert "A &lt;cake&gt; &amp; more" in body and "<mark>Apple</mark> pie" in body
    assert 'name="lifetime" value="20"' in body
    summary = site.ask(re.search('href="(/object/[0-9]+)"', body).group(1)).body
    assert b"Description{15}:\tA <cake> & more\n" in summary
    found, body = urls("query=Apple&wordflag=on")
    assert "cake" not in body and "<mark>" not in body and "objects match" not in body
    assert "note bad" in urls("query=%28open")[1]
    # whatever the fields hold, there is an answer: the nearest that can be, or as without it
    assert 'name="errorflag" min="0" value="8"' in urls("query=a&errorflag=99")[1]
    assert 'name="maxresultflag" min="1" value="1"' in urls("query=a&maxresultflag=-7")[1]
    assert 'name="maxresultflag" min="1" value="100000"' in urls("query=a&maxresultflag=99999999999999999999")[1]
    assert 'name="maxlineflag" min="0" value="50"' in urls("query=a&maxlineflag=")[1]
    assert urls("query=apple&lifetime=&caseflag=&errorflag=x&maxobjflag=many&descflag=maybe")[0] == [one, two]


def test_the_title_of_a_cached_page_is_cut_between_characters(garner):
    site = web(garner)
    index(site.g, [("http://a.example/", {"Title": "x" + "ü" * 300, "Full-Text": "words"})])
    page = site.ask("/cached?url=http://a.example/").body.decode()
    assert re.search("<title>(.*) - garner</title>", page).group(1) == "x" + "ü" * 99
    assert "<h1>x" + "ü" * 300 + "</h1>" in page


def test_a_cached_page_has_what_there_is_of_title_and_text(garner):
    site = web(garner)
    index(site.g, [("http://a.example/1", {"Partial-Text": "first & <foremost>\n\n\nlast"}),
                   ("http://a.example/2", {"Title": "A <title>", "Partial-Text": "part", "Full-Text": "all of it"})])
    page = site.ask("/cached?url=http://a.example/1").body.decode()
    assert "<h1>http://a.example/1</h1>" in page
    assert re.findall("<p>(.*)</p>", page) == ["first &amp; &lt;foremost&gt;", "last"]
    page = site.ask("/cached?url=http://a.example/2").body.decode()
    assert "<h1>A &lt;title&gt;</h1>" in page and re.findall("<p>(.*)</p>", page) == ["all of it"]


def test_style_and_script_are_asked_for_again_and_known(garner):
    site = web(garner)
    for path, word in (("/style.css", b"prefers-color-scheme"), ("/status.js", b"EventSource")):
        a = site.ask(path)
        assert word in a.body and a.headers["Cache-Control"] == "no-cache"
        assert site.ask(path, If_None_Match=a.headers["ETag"]).status == 304
    assert site.ask("/style.css", Range="bytes=0-4").body == b":root"


def test_pages_of_results_lead_to_each_other_and_filters_narrow(garner):
    site = web(garner)
    index(site.g, [(f"http://{'ab'[n % 2]}.example/{n}",
                    {"Title": f"number {n}", "Full-Text": "words", "Type": ["HTML", "Text"][n % 3 > 0]})
                   for n in range(45)])

    def urls(**ask):
        a = site.ask("/?" + urllib.parse.urlencode({"q": "words", **ask})).body.decode()
        return re.findall(r'class="where">([^<]+)<', a), 'rel="next"' in a, 'rel="prev"' in a
    seen = []
    for page in range(1, 6):
        found, after, before = urls(page=page)
        assert (len(found), after, before) == (10 if page < 5 else 5, page < 5, page > 1)
        seen += found
    assert len(set(seen)) == 45
    assert urls(page=6) == ([], False, True)
    assert all(u.startswith("http://a.example/") for u in urls(site="A.example")[0])
    found = urls(site="b.example", type="HTML")[0]
    assert {int(u.rpartition("/")[2]) % 6 for u in found} == {3} and len(found) == 7
    for n in (3, 4):  # the word is rarer than what it is narrowed by
        assert urls(q=f"title:{n}", type="HTML")[0] == [f"http://b.example/{n}"][n - 3:], n


def test_status_is_the_same_as_the_commands(garner):
    site = web(garner)
    ours, theirs = json.loads(site.ask("/api/status").body), site.g.run("status", "--json").json()
    for s in (ours, theirs):
        for role in s["roles"]:
            for key in ("cpu_us", "rss_bytes", "counters"):
                assert role.pop(key) is not None or role["state"] == "stopped"
    assert ours == theirs


def test_metrics_are_clean_in_both_forms(garner):
    promtool = peers.need("prometheus").program("promtool")
    site = web(garner)
    a = site.ask("/metrics")
    assert a.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    done = subprocess.run([promtool, "check", "metrics"], input=a.body, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def refused(metrics):
    return int(re.search(rb'class="4xx"} (\d+)', metrics).group(1))


def test_metrics_follow_what_is_accepted(garner):
    site = web(garner)
    a = site.ask("/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert a.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert a.body.endswith(b"# EOF\n") and b"# TYPE garner_web_requests counter" in a.body
    a = site.ask("/metrics", Accept="text/plain, */*")
    assert b"# EOF" not in a.body and b"# TYPE garner_web_requests_total counter" in a.body
    for _ in range(5):
        site.ask("/nothing")
    before = refused(a.body)
    # a request is counted when its connection has let go of it, just after the answer
    wait_for("five more", lambda: refused(site.ask("/metrics").body) == before + 5)


def test_the_interface_describes_itself(garner):
    site = web(garner)
    paths = json.loads(site.ask("/api/openapi.json").body)["paths"]
    assert {"/", "/query.html", "/object/{oid}", "/status", "/api/search", "/api/document", "/healthz", "/readyz", "/metrics", "/api/status", "/api/events"} <= set(paths)
    for path in paths:
        assert "get" in paths[path] and paths[path]["get"]["summary"]


def test_events_tell_the_states_at_once(garner):
    site = web(garner)
    with site.raw(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n") as s:
        got = until(s, b'"web":"ready"')
        assert b"event: status\ndata: {" in got


def test_events_tell_the_numbers_every_second(garner):
    site = web(garner)
    with site.raw(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n") as s:
        got = until(s, b"event: numbers\n") + until(s, b"event: numbers\n")
        said = json.loads(re.search(rb"event: numbers\ndata: (.*)\n", got).group(1))
    assert set(said) == {"at_us", "pages", "shown", "causes", "codes"}
    assert said["causes"] == [] and said["codes"] == []
    assert said["shown"]["rate"] == "0.0" and said["shown"]["commit"] == "none yet"


def test_requests_are_logged_when_wanted(garner):
    site = web(garner, access_log="yes")
    site.ask("/healthz?")
    line = site.process.wait_line("web/http: request")
    assert re.search(r"method=GET path=/healthz status=200 bytes=15 us=\d+ address=127\.0\.0\.1:\d+",
                     line)
    site.ask("/a%22b%0Ac\"d")
    site.process.wait_line(r'path="/a%22b%0Ac\\"d" status=404')
    quiet = web(garner)
    quiet.ask("/healthz")
    assert quiet.process.stop() == 0 and not quiet.process.lines("request")


def test_nobody_is_refused_while_the_role_restarts(garner):
    site = web(garner)
    for _ in range(5):
        before = json.loads(site.ask("/api/status").body)
        pid = next(r["pid"] for r in before["roles"] if r["name"] == "web")
        subprocess.run(["kill", "-KILL", str(pid)], check=True)
        assert site.ask("/healthz").status == 200

    def ready():
        return site.ask("/readyz").status == 200
    wait_for("the role to be ready again", ready)


def test_an_empty_address_is_an_error_that_says_so(garner):
    g = garner(config="[web]\nlisten =\n")
    done = g.run("web")
    assert done.code == 2 and "web.listen is empty" in done.err


def test_int_ends_it_like_term(garner):
    g = garner(config="[web]\nlisten = 127.0.0.1:0\n")
    process = g.start("web").wait_ready()
    assert process.stop(number=signal.SIGINT) == 0
