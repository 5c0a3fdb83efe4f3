"""garner extract: what garner sees in a document, and the cage in which it is read."""
import gzip
import http.server
import json
import os
import signal
import socketserver
import threading
from pathlib import Path

import pytest

import garner as real

HERE = "127.0.0.2"
PAGE = (b"<!DOCTYPE html><html lang=en><head><title>A page</title><meta name=description content='Of a test'>"
        b"<meta name=robots content=noarchive></head><body><h1>First</h1><p>Caf\xe9 <b>strong</b> "
        b"<a href='../other?q#part' rel='nofollow ugc'>that way</a> <img src=p.png alt=Picture>"
        b"<script>not()</script></body></html>")


def extract(g, *args, code=0, **more):
    """The documents, as JSON tells them."""
    done = g.run("extract", "--json", *args, **more)
    assert done.code == code, done
    return [json.loads(line) for line in done.out.splitlines()]


def read(g, body, *args, **more):
    (g.dir / "doc").write_bytes(body)
    (document,) = extract(g, "--url", "http://example.org/dir/doc", *args, "doc", **more)
    return document


def trick(name):
    """An environment in which workers play this trick (tests/support/parse_tricks.c)."""
    return {"PARSE_TRICK": name, "GARNER_PARSE_PROGRAM": str(real.BUILD / "tests/parse-tricks")}


def misbehave(g, how, *args, code=3):
    """A worker that does what it must not with a document."""
    return read(g, b"words", *args, code=code, env=trick(how))


def test_a_page_in_json(garner):
    d = read(garner(), PAGE, "--type", "text/html; charset=latin1")
    assert (d["end"], d["type"], d["media_type"]) == ("read", "html", "text/html")
    assert (d["charset"], d["charset_by"]) == ("windows-1252", "header")
    assert (d["title"], d["description"], d["language"], d["robots"]) == (
        "A page", "Of a test", "en", "noarchive")
    assert d["text"] == "First\nCaf\u00e9 strong that way"
    assert {"kind": "anchor", "url": "http://example.org/other?q", "nofollow": True, "ugc": True,
            "text": "that way"} in d["links"]
    assert {"kind": "image", "url": "http://example.org/dir/p.png"}.items() <= d["links"][-1].items()
    assert {"tag": "heading", "level": 1, "weight": 2, "text": "First"} in d["meta"]
    assert d["size"] == len(PAGE)


def test_a_page_of_another_charset_is_read_as_browsers_do(garner):
    g = garner()
    head = b"<html><head><style>" + b"p { color: red }\n" * 200 + b"</style>"
    page = '<title>Поиск</title><body><a href="/поиск?q=при€中#при">髙 №</a>'
    old = page.encode("windows-1251", "xmlcharrefreplace")
    d = read(g, head + b"<meta charset=windows-1251>" + old)  # long after byte 1024
    assert (d["charset"], d["charset_by"], d["title"]) == ("windows-1251", "document", "Поиск")
    assert d["links"][0]["url"] == (
        "http://example.org/%D0%BF%D0%BE%D0%B8%D1%81%D0%BA?q=%EF%F0%E8%88%26%2320013%3B")
    for charset in ("utf-16le", "utf-16be"):  # without a mark: declared, and known by its zeroes
        body = page.encode(charset)
        for args in (("--type", f"text/html; charset={charset}"), ("--type", "text/html"), ()):
            d = read(g, body, *args)
            assert (d["type"], d["charset"], d["text"]) == ("html", charset, "髙 №")
            assert d["links"][0]["url"].endswith("?q=%D0%BF%D1%80%D0%B8%E2%82%AC%E4%B8%AD")
    kanji = b"<p>\xfc\xe2 \xad\xe2"  # in euc-jp, where tables of other systems differ
    assert read(g, kanji, "--type", "text/html; charset=euc-jp")["text"] == "髙 №"


def test_the_cage_changes_nothing(garner):
    g = garner()
    pages = [PAGE, b"", b"\0\1\2", b"plain text", b"<rss><item><link>http://a/</link></item></rss>",
             gzip.compress(b"<urlset><url><loc>http://a/1</loc></url></urlset>"), b"<a>" * 50000]
    for n, page in enumerate(pages):
        caged, here = read(g, page), read(g, page, "--in-process")
        for d in (caged, here):
            d.pop("cpu_us")
        assert caged == here, n


def test_people_and_brokers_get_their_own_form(garner):
    g = garner()
    (g.dir / "doc.html").write_bytes(PAGE)
    text = g.run("extract", "doc.html").out
    assert "title: A page\n" in text and "heading 1: First\n" in text and "text:\nFirst\n" in text
    soif = g.run("extract", "--soif", "-u", "http://example.org/", "doc.html").out
    assert soif.startswith("@FILE { http://example.org/\nTitle{6}:\tA page\n")
    assert "Type{4}:\tHTML\n" in soif and "References{" in soif
    assert g.run("soif", "check", input=soif).code == 0


def test_a_document_cannot_command_the_terminal(garner):
    g = garner()
    (g.dir / "doc.html").write_bytes(b"<title>a\xc2\x9b31mb</title><a href=/>c\xc2\x9b2Jd</a><p>e\xc2\x9d0;f\x7fg")
    text = g.run("extract", "-u", "http://a/", "doc.html").out
    assert "title: a31mb\n" in text and '"c2Jd"' in text and "text:\nc2Jd\ne0;fg\n" in text


def test_standard_input_and_several_files(garner):
    g = garner()
    (g.dir / "a.txt").write_text("one")
    (g.dir / "b.md").write_text("# two\n")
    one, two, three = extract(g, "a.txt", "b.md", "-", input="three")
    assert [d["type"] for d in (one, two, three)] == ["text", "markdown", "text"]
    assert [d["text"] for d in (one, two, three)] == ["one", "two", "three"]


def test_what_cannot_be_read_is_named(garner):
    g = garner()
    done = g.run("extract", "nowhere.html")
    assert done.code == 2 and "nowhere.html: no such file" in done.err
    done = g.run("extract", ".")
    assert done.code == 7 and "Is a directory" in done.err
    (g.dir / "big").write_bytes(b"x" * 5000)
    done = g.run("-s", "parse.body_max=4096", "extract", "big")
    assert done.code == 2 and "parse.body_max" in done.err
    done = g.run("-s", "parse.program=/nonexistent", "extract", "big")
    assert done.code == 7 and "/nonexistent cannot be started" in done.err


def test_one_that_cannot_be_read_does_not_keep_the_others_from_being_shown(garner):
    g = garner()
    (g.dir / "a.txt").write_text("one")
    (g.dir / "b.txt").write_text("two")
    for first, last in (("nowhere", "a.txt"), ("a.txt", "nowhere"), (".", "a.txt")):
        done = g.run("extract", "--json", first, "b.txt", last)
        assert done.code == 3 and (first if last == "a.txt" else last) in done.err
        assert sorted(json.loads(line)["text"] for line in done.out.splitlines()) == ["one", "two"]
    assert g.run("extract", "nowhere", ".").code == 2 and g.run("extract", ".", "nowhere").code == 7


def test_the_crawl_reads_documents_by_the_same_settings(garner):
    done = garner().run("-s", "parse.program=/nonexistent", "shepherd", timeout=30)
    assert done.code == 7 and "/nonexistent cannot be started" in done.err


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = PAGE if self.path == "/page" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=windows-1252")
        self.send_header("X-Robots-Tag", "noindex, otherbot: none")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with socketserver.ThreadingTCPServer((HERE, 0), Pages) as s:
        threading.Thread(target=s.serve_forever, daemon=True).start()
        yield f"http://{HERE}:{s.server_address[1]}"
        s.shutdown()


def test_a_url_is_fetched_and_its_headers_count(garner, server):
    g = garner(config=f"[robot]\nnetworks = {HERE}\ndelay = 0\n")
    (d,) = extract(g, server + "/page")
    assert d["url"] == server + "/page" and d["title"] == "A page"
    assert (d["charset"], d["charset_by"]) == ("windows-1252", "header")
    assert d["robots"] == "noindex"
    assert d["links"][0]["url"] == server + "/other?q"
    done = g.run("extract", server + "/none")
    assert done.code == 6 and "404" in done.err
    done = g.run("extract", server + "/none", server + "/page")
    assert done.code == 3 and "title: A page" in done.out
    done = garner().run("extract", server + "/page")  # not a network that was named
    assert done.code == 6 and "address" in done.err


@pytest.mark.parametrize("options, words", [
    (["--charset", "bogus"], "--charset: expected a name of the Encoding Standard, such as utf-8"),
    (["-u", "nonsense"], "--url: URL 'nonsense': relative not allowed"),
    (["--url", "data:,x"], "--url: URL 'data:,x': unknown protocol 'data', expected http"),
    (["--json", "--soif"], "--json and --soif cannot be combined")])
def test_options_that_mean_nothing_are_refused(garner, options, words):
    done = garner().run("extract", *options, input="<p>x")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("garner: " + words)


def test_a_worker_cannot_open_a_socket(garner):
    d = misbehave(garner(), "socket")
    assert d["end"] == "died" and "SIGSYS" in d["remark"] and d["text"] == ""
    assert d["size"] == 5 and d["md5"] == "89759e1284e2479b991d2669de104942"


def test_a_worker_cannot_open_a_file(garner):
    d = misbehave(garner(), "file", code=0)
    assert (d["end"], d["remark"]) == ("read", "file: Permission denied")


@pytest.mark.skipif("asan" in str(real.BUILD), reason="the sanitizer needs mprotect")
def test_a_worker_cannot_write_to_a_document(garner):
    d = misbehave(garner(), "body", code=0)
    assert (d["end"], d["remark"]) == ("read", "body: Permission denied")


@pytest.mark.skipif("asan" in str(real.BUILD), reason="the sanitizer needs its own memory")
def test_a_worker_cannot_have_more_memory(garner):
    d = misbehave(garner(), "memory", code=0)
    given = int(d["remark"].split("after ")[1].split(" MB")[0])
    assert d["remark"].startswith("memory: refused after ") and given < 512
    assert d["remark"].endswith(" MB, stack refused, addresses refused, shared refused")
    d = misbehave(garner(config="[parse]\nmemory = 128M\n"), "memory", code=0)
    assert int(d["remark"].split("after ")[1].split(" MB")[0]) < 128


def test_a_worker_cannot_compute_for_ever(garner):
    d = misbehave(garner(config="[parse]\ncpu = 300ms\n"), "cpu")
    assert d["end"] == "overran" and "s of CPU, and was ended" in d["remark"]


def test_a_worker_that_lies_or_crashes_is_ended(garner):
    g = garner()
    d = misbehave(g, "lie")
    assert d["end"] == "broke" and "a value outside" in d["remark"]
    d = misbehave(g, "crash")
    assert d["end"] == "died" and "SIGABRT" in d["remark"]


def worker_of(pid, program="garner-parse"):
    """The worker that this process has started."""
    def find():
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    stat = Path("/proc", entry, "stat").read_text()
                except OSError:
                    continue
                if f"({program}) " in stat and stat.rpartition(")")[2].split()[1] == str(pid):
                    return int(entry)
    return real.wait_for("a worker", find)


def fields(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {k: v.split() for k, _, v in (line.partition(":") for line in lines)}


def cpu_ticks(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


@pytest.fixture
def waiting(garner):
    """A garner that waits for its input, and its worker."""
    g = garner()
    os.mkfifo(g.dir / "pipe")
    process = g.start("extract", "--json", "pipe")
    worker = worker_of(process.pid)
    yield g, process, worker
    process.kill()


def test_what_a_worker_has_given_up(waiting):
    _, _, worker = waiting
    real.wait_for("the door to shut", lambda: fields(worker)["Seccomp"] == ["2"])
    status = fields(worker)
    assert status["NoNewPrivs"] == ["1"] and status["CapEff"] == ["0" * 16]
    if os.geteuid() == 0:
        assert status["Uid"] == ["65534"] * 4 and status["Gid"] == ["65534"] * 4
        assert status["Groups"] == []
        assert sorted(os.listdir(f"/proc/{worker}/fd")) == ["0", "1", "2", "3"]


def test_a_worker_dies_with_its_owner(waiting):
    _, process, worker = waiting
    process.kill()
    real.wait_for("the worker to end", lambda: not Path(f"/proc/{worker}").exists()
                  or fields(worker)["State"][0] == "Z")


def test_a_worker_that_is_killed_is_named(garner):
    g = garner()
    (g.dir / "doc").write_text("words")
    process = g.start("extract", "--json", "doc", env=trick("cpu"))
    worker = worker_of(process.pid, "parse-tricks")
    # until it is at the document: one that dies before is not blamed on it, and another worker comes
    real.wait_for("it to compute", lambda: cpu_ticks(worker) > 20)
    os.kill(worker, signal.SIGKILL)
    assert process.wait() == 3
    assert '"remark":"no text: the worker was reading this document when it died of SIGKILL"' in process.text


HUGE = {
    "text": b"<p>words and more words " * 4_400_000,
    "nested": b"<div>" * 1_000_000 + b"deep",
    "links": b"".join(b"<a href=/%d>x</a>" % i for i in range(1_000_000)),
    "attributes": b"<p " + b"".join(b"a%d=v " % i for i in range(1_000_000)) + b">text",
    "one attribute": b"<p title='" + b"x" * 100_000_000 + b"'>text",
    "comment": b"<!--" + b"-" * 100_000_000 + b"--><p>text",
    "entities": b"&amp;" * 20_000_000,
}


@pytest.mark.parametrize("kind", HUGE)
def test_huge_documents_are_bounded(garner, kind):
    """With 100 MB or a million of something, in a worker that has 96 MB in addition to the document."""
    g = garner(config="[parse]\nbody_max = 128M\nmemory = 96M\ncpu = 60s\n")
    d = read(g, HUGE[kind], "--type", "text/html", timeout=120)
    assert d["end"] == "read" and d["size"] == len(HUGE[kind])
    assert len(d["text"]) < 16 << 20 and len(d["links"]) <= 10000
    if kind in ("text", "links", "entities"):
        assert "cut after" in d["remark"]
    if kind == "nested":
        assert d["text"] == "deep"


def test_the_doctor_looks_at_the_parser(garner):
    g = garner()
    found = {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}
    assert "garner-parse works" in found["parser"]["reason"]
    done = g.run("-s", "parse.program=/nonexistent", "doctor", "--json")
    found = {c["name"]: c for c in json.loads(done.out)["checks"]}
    assert found["parser"]["level"] == "fail" and "parse.program" in found["parser"]["mend"]
