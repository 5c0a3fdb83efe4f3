"""The pages as a person sees them: Chromium on a phone and on a desk, light and dark, with
JavaScript and without."""
import re

import pytest

from browser import browse, index
from web import Site, web

TEXT = "Of the harvest: the barley comes first, then oats and wheat, and the fields lie bare. " * 9
WORDS = ("harvest field barley plough orchard mill granary thresher sickle meadow furrow "
         "seed").split()


def documents():
    for n in range(1, 24):
        more = " ".join(WORDS[(n + k) % len(WORDS)] for k in range(40))
        yield f"http://pages.example/{n}.html", {
            "Title": f"{WORDS[n % len(WORDS)].title()} and what follows, part {n}",
            "Type": "HTML", "File-Size": str(700 * n), "Update-Time": "1700000000",
            "Full-Text": f"Part {n}. {more}. The harvest is told here.\n{more}\n"}
    for n in range(1, 5):
        yield f"http://texts.example/{'long-folder-name/' * 6}{n}.txt", {
            "Type": "Text", "File-Size": "1234567", "Update-Time": "1600000000",
            "Full-Text": f"Barley, text {n}.\n{TEXT}"}
    yield "http://texts.example/other", {"Title": "Nothing of it", "Type": "Text",
                                         "Full-Text": "unrelated"}


SCRIPT = "<script>window.ran=1</script>"
IMAGE = "<img src=x onerror=\"window.ran=2\"><img src=http://elsewhere.example/pixel>"
HOSTILE = [
    ("http://evil.example/a", SCRIPT, IMAGE),
    ("http://evil.example/\"><script>window.ran=3</script>", "</title></h1>" + SCRIPT, SCRIPT),
    ("javascript:window.ran=4//", "javascript:window.ran=4", "a link that runs"),
    ("data:text/html,<script>window.ran=5</script>", IMAGE, "a page in its address"),
    ("JaVaScRiPt://evil.example/%0awindow.ran=6", "mixed case", "<svg onload=window.ran=6>"),
    ("http://evil.example/b?x='onmouseover='window.ran=7", "' onfocus='window.ran=7' autofocus='",
     "</p></main><style>*{display:none}</style><base href=http://elsewhere.example/>"
     "<meta http-equiv=refresh content='0;url=http://elsewhere.example/'>"),
    ("http://evil.example/c", "{{constructor.constructor('window.ran=8')()}}",
     "&lt;script&gt;window.ran=8&lt;/script&gt; &#60;script&#62; \x00\x01\x1b[31m"),
    ("http://evil.example/d", b"\xff\xfe\xc3\x28 <script>", b"\xf0\x9f <iframe src=//elsewhere.example>"),
    ("http://evil.example/" + "x" * 1500, "W" * 3000, "y" * 3000 + "<object data=//elsewhere.example>"),
    ("http://evil.example/e", "\u202egnp.exe \u2066harmless\u2069", "<link rel=prefetch href=//elsewhere.example>"),
]


def hostile():
    def both(value):
        return (value.encode() if isinstance(value, str) else value) + b" harmless "
    for url, title, text in HOSTILE:
        yield url, {"Title": both(title), "Type": "HTML", "Full-Text": both(text)
                    + b"<img src=x onerror=window.ran=9> harmless", "Update-Time": "1700000000"}


def serve(garner, objects):
    g = garner(config="[up]\nroles = web\n[web]\nlisten = 127.0.0.1:0\n")
    index(g, list(objects))
    up = g.start("up").wait_ready()
    site = Site(up, int(re.search(r"127\.0\.0\.1:(\d+)/", up.wait_line("garner is up")).group(1)))
    site.g = g
    return site


@pytest.mark.limit(260)
def test_somebody_searches_pages_filters_and_opens_the_cached_copy(garner):
    browse(serve(garner, documents()), "searching")


@pytest.mark.limit(260)
def test_documents_that_attack_the_reader_stay_text(garner):
    browse(serve(garner, hostile()), "hostile")


@pytest.mark.limit(260)
def test_pages_have_no_barriers(garner):
    browse(serve(garner, documents()), "accessible")


@pytest.mark.limit(260)
def test_the_status_page_follows_a_crawl(garner, tmp_path, free_port):
    for n in range(400):
        (tmp_path / f"{n}.html").write_text(f"<title>Page {n}</title><p>Words of page {n}.")
    port = free_port()
    site = web(garner, f"""docs shepherd broker web
[docs]
listen = 127.0.0.1:{port}
root = {tmp_path}
[robot]
networks = 127.0.0.0/8
delay = 100ms""")
    assert site.g.run("add", f"http://127.0.0.1:{port}/").code == 0
    browse(site, "status")
