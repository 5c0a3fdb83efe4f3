"""The same as before: every command, and a session on every port of a document, over one data directory, compared with
what was recorded in tests/data/same. SAME_WRITE=1 records anew (tests/README.md)."""
import base64
import functools
import gzip
import http.client
import os
import re
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import archie_ng
import bots
import notify
import prospero
import pytest
from cachelink import notice, packed
from docindex import DocIndex

from garner import ROOT, free_port, wait_for
from message import message, read_message
from same import Book, spread
from spider003 import Spider
from urlserver003 import Urlserver
from web import everything, until

SITE = "http://www.house.test/"
KEY = "ftp.example.test-192.0.2.1"
LISTING = """.:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 pub
-rw-r--r-- 1 root wheel  17 Jan  5  1994 README

./pub:
drwxr-xr-x 2 root wheel 512 Jan  5  1994 walnut tools
-rw-r--r-- 3 anna users 1234 Feb 28  1995 archie.tar.Z
lrwxrwxrwx 1 anna users    8 Feb 28  1995 latest -> archie.tar.Z

./pub/walnut tools:
-rw-r--r-- 3 anna users 99 Mar  1  1996 zebrawood-1.4.tar.gz
"""
PAGES = {
    SITE: "<title>Apples</title><meta name=description content='All about apples'><h1>Red apples</h1>"
          "<p>Red apples and <a href=pears.html>pears</a>, <a href=old.html>old</a> and <a href=private/x.html>private</a>,"
          "<a href=gone.html>gone</a>, <a href=text.txt>plain</a>, <a href=twin.html>twin</a>, <a href=http://other.test/>other</a>.",
    SITE + "pears.html": "<html lang=fr><title>Poires</title><p>Green pears, no plums. Les poires vertes sont arriv&eacute;es.",
    SITE + "twin.html": "<html lang=fr><title>Poires</title><p>Green pears, no plums. Les poires vertes sont arriv&eacute;es.",
    SITE + "text.txt": "Plain words\nabout cherries & <plums>.\n",
    SITE + "private/x.html": "<title>Private</title>",
    SITE + "robots.txt": "User-agent: *\nDisallow: /private\n",
    "http://files.house.test/ls-lR.gz": gzip.compress(LISTING.encode(), mtime=0),
    SITE + "pushed.html": "<title>Pushed</title><p>A quince that was pushed.",
}
OBJECT = """@FILE { http://soif.house.test/object
Gatherer-Name{4}:	hand
Gatherer-Host{4}:	here
Gatherer-Version{1}:	1
Update-Time{10}:	1600000000
Title{11}:	Apple trees
Author{4}:	Anna
Full-Text{33}:	How to plant a tree
of apples
now
}
"""


class Proxy:
    """Through which garner reaches all sites of this test, so that no URL has a port; also a site. pages: URL -> text."""

    def __init__(self):
        self.pages = dict(PAGES)
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                text = proxy.pages.get(SITE + self.path[1:] if self.path[0] == "/" else self.path)
                status = 301 if self.path.endswith("/old.html") else 404 if text is None else 200
                body = text if isinstance(text, bytes) else (text or "").encode()
                self.send_response_only(status)
                kind = {"txt": "text/plain", "gz": "application/gzip"}.get(self.path.rpartition(".")[2], "text/html; charset=utf-8")
                for name, value in (("Content-Type", kind), ("Content-Length", len(body)),
                                    ("Last-Modified", "Sun, 09 Sep 2001 01:46:40 GMT"), ("Connection", "close")):
                    self.send_header(name, str(value))
                if status == 301:
                    self.send_header("Location", "/pears.html")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def proxy():
    p = Proxy()
    yield p
    p.stop()


@pytest.fixture
def book():
    return Book(ROOT / "tests/data/same", {})


# Each role, and the group of entries that has a session with it; None: it has no port of a document.
ROLES = {"docs": "web", "shepherd": None, "reapd": None, "bot": "cache", "urlserver": "urlserver", "spider": "spider",
         "botm": "botm", "qm": "qm", "uns": "uns", "archie-getter": None, "archie-queuer": "archie", "archie-ng": "archie-ng",
         "archie-prospero": "prospero", "archie-telnet": "telnet", "archie-master": None, "rs": "rs", "broker": "broker",
         "web": "web"}
# What doctor says of the machine.
MACHINE = [(r'"Linux [^"]*"', '"<kernel>"'), (r"\d+ may be open", "<n> may be open"), (r"[\d.]+ \w+ free, \d+ % of all", "<n> free"),
           (r'"\w+; O_DIRECT[^"]*"', '"<file system>"'), (r"belongs to \w+", "belongs to <user>"),
           (r"garner-parse works, [^\"]*", "garner-parse works, <how>")]
UP = "archie-queuer archie-ng archie-telnet archie-prospero broker web docs qm botm bot uns rs"


def config(g, proxy):
    g.rs, g.uns, g.ng = (f"127.0.0.1:{free_port()}" for _ in range(3))
    return f"""disk_free = 0
[up]
roles = {UP}
[robot]
proxy = http://{proxy.address}
networks = 127.0.0.0/8
delay = 0
dns_servers = 127.0.0.1:9
dns_timeout = 50ms
dns_tries = 1
[shepherd]
refresh = 1h
cycle = 4s
[broker]
listen = 127.0.0.1:0
sources = crawl archie soif:in
password = {notify.SECRET}
[web]
listen = 127.0.0.1:0
[docs]
listen = 127.0.0.1:0
root = {g.dir}/docs
[archie]
host = archie.example.test
searchers = 2
[archie-ng]
listen = {g.ng}
[archie-telnet]
listen = 127.0.0.1:0
[archie-prospero]
listen = udp:127.0.0.1:0
daemons = 1
[mail]
via = /nonexistent/sendmail
[rs]
listen = {g.rs}
[uns]
listen = {g.uns}
qm = unix:{g.dir}/qm
[qm]
listen = unix:{g.dir}/qm
botm_listen = unix:{g.dir}/source
wheel_step = 100ms
[botm]
listen = unix:{g.dir}/botm
source = unix:{g.dir}/source
machine = m1
folder = cache/files
[bot]
botm = unix:{g.dir}/botm
[provider]
rs = http://{g.rs}/
uns = {g.uns}
"""


def alone(book, g):
    """What needs no data."""
    run = functools.partial(book.command, "alone", g)
    run("version")
    run("help", "--links")
    for args in ((), ("statsu",), ("url",), ("url", "--jsno"), ("soif", "shake"), ("help", "statsu"), ("completion",)):
        run(*args)
    run("url", "http://Example.COM:80/a/../b?c#d", "gopher://x/", "https://münchen.de/ü")
    run("url", "--base", "http://example.com/a/b", "../c")
    run("url", "--strict", "http://a.test/%7Euser")
    run("url", "--batch", input=b"http://a.test/\n../x\thttp://a.test/b/\n")
    (g.dir / "robots.txt").write_text(PAGES[SITE + "robots.txt"])
    run("robots", "test", "robots.txt", "http://a.test/private/x", "http://a.test/x")
    run("robots", "test", "--json", "robots.txt", "http://a.test/private/x", "http://a.test/x")
    (g.dir / "one.soif").write_text(OBJECT)
    (g.dir / "bad.soif").write_text(OBJECT[:-30])
    for words in (["cat"], ["check"], ["grep", "-a", "Title", "tree"], ["grep", "nothing"], ["to-json"]):
        run("soif", *words, "one.soif")
    run("soif", "check", "bad.soif")
    run("soif", "from-json", input=b'{"type":"FILE","url":"http://a.test/","attributes":[]}\n')
    (g.dir / "page.html").write_text(PAGES[SITE])
    for form in ("--json", "--soif", None):
        run("extract", *filter(None, [form]), "-u", SITE, "page.html")
    run("password", input=b"has blanks in it\n")
    run("password", input=b"open-sesame\n", more=[(r"\$argon2id\S+", "<hash>")])
    run("dump", "page.html", more=[("can be printed: .*", "can be printed: <formats>")])
    run("dump", "nothing")


def empty(book, g):
    """A data directory with nothing in it."""
    run = functools.partial(book.command, "empty", g)
    for words in ("status", "status --json", "status --metrics", "search apples", "search --json apples", f"why {SITE}", f"why --json {SITE}", "check",
                  "check --json", "dumpregistry", "shep states", "shep states --json", "shep plan", "shep params", "archie find --server 127.0.0.1:1 x",
                  "archie sites list", "archie get", "archie build", "cache status", "cache status --json", "cache check",
                  "cache provider", "provider status", "provider sync", "index words stats broker/words", "index names stats archie",
                  "doctor --json", "brkclient 127.0.0.1 1 #USER", "add", "add nothing", "up x", "config", "config explain nothing.x"):
        run(*words.split(), more=MACHINE if words.startswith("doctor") else ())


def crawl(book, g):
    run = functools.partial(book.command, "shep", g)
    run("shep", "init")
    run("shep", "init")
    run("add", SITE)
    modules = ("plan", "reap", "cork", "merge", "equiv", "select", "record")
    for _ in range(2):
        for module in modules:
            run("shep", module)
    for module in ("merge", "feedback", "cleanup"):
        run("shep", module)
    (g.data / "shepherd/cf").mkdir(exist_ok=True)
    (g.data / "shepherd/cf/filter").write_text("path /private/*: reject\ntype image/*: reject\n")
    filters = [SITE, SITE + "private/x.html"]
    for words in (["filter"], ["filter", "--json"]):
        run("shep", *words, *filters)
    run("shep", "plan", "--explain")
    run("shep", "plan", "--explain", "--json")
    for words in ("states", "states --json", "params", "params --json", "reapers", "reapers --json", "dump", "dump -i",
                  "dump -i -j", "dump --sites", "dump -p", "dump --contrib", "dump --changes", "dump --gone", "dump nothing",
                  "equiv --propose", "buckets list", "buckets list --json", "buckets cat", "buckets extract 0",
                  "buckets extract fffff", "buckets audit", "buckets quick", "buckettool -l", "buckettool -q", "recover"):
        run("shep", *words.split(), more=[(r"fresh 0 \d+ms", "fresh 0 <t>")])
    run("shep", "buckets", "insert", input=b"nothing of the kind\n")
    for words in ("delete 0", "fix", "train", "shakedown"):
        run("shep", "buckets", *words.split(), "-o", "copy")
    for path in ("", "pears.html", "twin.html", "gone.html", "old.html", "private/x.html", "unknown.html"):
        run("why", SITE + path)
    run("why", "--json", SITE)
    run("why", "nothing")


def archive(book, g):
    run = functools.partial(book.command, "archie", g)
    (g.dir / "ls-lR").write_text(LISTING)
    os.utime(g.dir / "ls-lR", (10**9, 10**9))
    run("archie", "parse", "ls-lR")
    run("archie", "parse", "--json", "ls-lR")
    run("archie", "parse", "--json", ROOT / "tests/data/listings/vms-ucx.txt")
    run("archie", "parse", "page.html")
    run("archie", "build", "--site", KEY, "ls-lR")
    run("archie", "build", "--json", "--site", KEY, "ls-lR")
    run("archie", "sites", "add", "ftp://ftp.example.test/", "--address", "192.0.2.1")
    run("archie", "sites", "add", "ftp://ftp.example.test/", "--address", "192.0.2.1")
    run("archie", "sites", "add", "http://mirror.example.test/pub", "--address", "192.0.2.2", "--tz", "+01:00", "--os", "unix")
    run("archie", "sites", "remove", "nothing.test")
    run("archie", "sites", "remove", "mirror.example.test")
    run("archie", "sites", "list", more=[(r"\d+s  in 6d \d+h", "<t>  in <t>")])
    run("archie", "sites", "list", "--json")
    run("archie", "sites", "get")
    (g.dir / "whatis").write_text("zebrawood\ta tool for walnut\n")
    run("archie", "whatis", "import", "whatis")
    run("archie", "get", "nothing.test")
    run("archie", "sites", "add", "http://files.house.test/", "--address", "192.0.2.3")
    run("archie", "get", more=[(r"\d+(?:\.\d+)?m?s", "<t>")])
    run("archie", "build")
    run("archie", "sites", "list", "--json")
    run("archie", "newsite", "--dry-run", "ftp.example.test")
    run("archie", "searcher")
    run("archie", "shell", input=b"find zebra\n")
    (g.data / "archie/etc").mkdir(exist_ok=True)
    (g.data / "archie/etc/ardomains.cf").write_text("west edu:com West\neverywhere west:test All\n")


def lines_until_closed(address, text):
    with socket.create_connection(address, timeout=30) as s:
        s.sendall(text)
        out = b""
        while piece := s.recv(65536):
            out += piece
        return out


def asked(address, path, **headers):
    """The answer to a GET: status, some of its headers, and body."""
    c = http.client.HTTPConnection(*address, timeout=30)
    c.request("GET", path, headers=headers)
    r = c.getresponse()
    body = r.read().decode(errors="backslashreplace")
    c.close()
    heads = "".join(f"{k}: {v}\n" for k, v in r.headers.items() if k.lower() in ("content-type", "location", "cache-control"))
    if "json" in (r.headers["Content-Type"] or ""):
        body = "\n".join(spread(body)) + "\n"
    return f"{r.status} {r.reason}\n{heads}\n{body}"


def broker(book, g, at):
    line = lambda text: book.said("broker", text, lines_until_closed(at["broker"], text.encode() + b"\n"))
    for text in ("#USER #END apples", "#USER #desc #attribute title #index maxresult 1 #END Apple", "#USER #opaque #END title : pears",
                 "#USER #END (", "#BULK #since 0 #END #allb", "#BULK #since 4000000000 #END #allb", "#BULK #END pears",
                 "#ADMIN #Password secret #collection", "#ADMIN #Password open-barley #collection",
                 "#ADMIN #Password secret #bogus", "#RESTART", "nothing"):
        line(text)
    run = functools.partial(book.command, "broker", g)
    for words in (["apples"], ["--json", "apples"], ["--urls", "title : poires"], ["--facets", "site,type,language", "--json", "pears"],
                  ["--lines", "zebrawood"], ["nothingatall"], ["("], ["--order", "time", "--json", "cherries OR aples~1"]):
        run("search", *words)
    host, port = at["broker"]
    for text in ("#USER #END cherries", "#bogus"):
        run("brkclient", host, port, text)
    run("brkclient", host, "x", "#USER")
    run("why", SITE)
    run("why", "--json", SITE + "pears.html")
    run("why", f"ftp://ftp.example.test/pub/walnut%20tools/")
    run("dumpregistry")
    run("dumpregistry", "--count")


def files(book, g, at):
    """The archive's doors."""
    run = functools.partial(book.command, "archie", g)
    for words in (["zebra"], ["--json", "zebra"], ["-l", "--type", "regex", "^arch"], ["--type", "exact", "none"], ["--urls", "x"]):
        run("archie", "find", "--server", g.ng, *words)
    run("archie", "ng", input=b"FIND zebra\r\nLIST\r\nNOTHING\r\n")
    run("archie", "shell", input=b"set pager\nfind zebra\nwhatis walnut\nlist\nshow\nservers\nbogus\nbye\n")
    run("archie", "mail", input=b"From: joe@example.org\nSubject: find zebra\n\n")
    c = archie_ng.Client(at["archie-ng"])
    for line in ("FIND ZEBRA", "find archie type=exact", "WHATIS walnut", "LIST", "DOMAINS", "SERVERS", "FIND", "BOGUS", "HELP"):
        rows, last = c.ask(line)
        book.said("archie-ng", line, "".join("\t".join(row) + "\n" for row in rows) + last + "\n")
    c.close()
    said = "find zebra\nwhatis walnut\nlist\nshow search\nservers\nversion\nbogus\nbye"
    book.said("telnet", said, lines_until_closed(at["archie-telnet"], said.replace("\n", "\r\n").encode() + b"\r\n"))
    for version in (1, 5):
        c = prospero.Client(at["archie-prospero"], version=version)
        for name in ("MATCH(95,0,S)/zebra", "MATCH(95,0,=)/archie.tar.Z", "MATCH(95,0,=)/none", "HOST", "WHATIS/walnut", "DOMAINS", "BOGUS"):
            said = c.text("ARCHIE/" + name)
            book.said("prospero", said.decode().rstrip("\n"), c.ask(said))
        c.close()
    for words in ("stats", "stats --json", "check", "dump"):
        book.command("index", g, "index", "names", *words.split(), "data/archie")
    for words in (["zebra"], ["--json", "zebra"], ["--urls", "--type", "regex", "^arch"]):
        book.command("index", g, "index", "names", "query", "data/archie", *words)


def web(book, g, at):
    """Pages and JSON of web, and what docs shows."""
    ago = [(r"\d+ (?:s|seconds?|min|minutes?) ago", "<t> ago"), (r"(>|, )\d+\.\d ms", r"\1<t>")]
    for path in ("/", "/search?q=apples", "/search?q=%28", "/api/search?q=apples", "/api/search", f"/api/document?url={SITE}",
                 "/api/document?url=http://no.test/", "/api/files?q=zebra", "/files?q=zebra", "/healthz", "/readyz", "/nothing",
                 "/robots.txt", "/opensearch.xml", "/object/1", "/query.html", "/help"):
        book.said("web", "GET " + path, asked(at["web"], path), more=ago)
    names = sorted({re.split("[ {]", line)[0] for line in asked(at["web"], "/metrics").splitlines() if line.startswith("garner_")})
    book.said("web", "names of GET /metrics", "\n".join(names) + "\n")
    for path in ("/", "/sub/", "/index.html", "/none", "/../x"):
        book.said("web", "GET " + path + " of docs", asked(at["docs"], path))


def words(book, g):
    run = functools.partial(book.command, "index", g, "index", "words")
    how = {"stats": [(r'((?:bytes|words|generation|segments)"?:? +)\d+', r"\1<n>")], "check": [(r"\d+ segments", "<n> segments")]}  # as commits fell
    for args in (["stats", "data/broker"], ["stats", "--json", "data/broker"], ["check", "data/broker"],
                 ["dump", "data/broker"], ["query", "data/broker", "apples"], ["query", "--json", "data/broker", "pears"],
                 ["suggest", "data/broker", "app"], ["suggest", "--json", "data/broker", "pe"], ["query", "nothing", "x"],
                 ["build", "made", "one.soif"], ["query", "made", "tree"]):
        run(*args, more=how.get(args[0], ()))
    (g.dir / "paths").write_text("pub/a.txt\npub/b.txt\n")
    book.command("index", g, "index", "names", "build", "made-names", "paths")


def cache(book, g, proxy):
    """A provider and its cache."""
    run = functools.partial(book.command, "cache", g)
    mask = [(r'("?secret"?:? +"?)[0-9a-zA-Z]{16,}', r"\1<secret>"), (r'("?password"?:? +"?)[0-9a-zA-Z]{12,}', r"\1<password>"),
            (r"^(\| +)[0-9a-zA-Z]{20,}$", r"\1<secret>")]
    run("provider", "register", SITE, "--write", "secret.txt", more=mask)
    proxy.pages[SITE + "garner.txt"] = (g.dir / "secret.txt").read_text()
    run("provider", "register", SITE)
    run("provider", "verify", SITE + "none.txt")
    run("provider", "verify", "--json", SITE + "garner.txt")
    run("provider", "set", "bandwidth=50K", "hours=0-24")
    run("provider", "set", "priority=9")
    (g.dir / "tree").mkdir()
    for name in ("pushed.html", "gone.html"):
        (g.dir / "tree" / name).write_text(PAGES.get(SITE + name, "x"))
    send = ("provider", "send", "--tree", "tree", "--prefix", SITE)
    run(*send, "-n")
    run(*send)
    run("provider", "receipts", "--wait", "--timeout", "30s")
    run("provider", "receipts", "--json")
    run("provider", "receipts", "--url", SITE + "pushed.html")
    run("provider", "sync")
    run("provider", "send", "http://elsewhere.test/")
    run("provider", "secret", "--json", more=mask)
    run("provider", "password", "--json", more=mask)
    for words in ("provider status", "provider status --json", "provider forget nothing", "provider watch nothing", "provider deregister",
                  "cache status", "cache status --json", "cache check", "cache check --json", "cache check --fix", "cache provider",
                  "cache provider --json", "cache provider 1 --priority 5", "cache provider 99", f"why {SITE}pushed.html",
                  f"why --json {SITE}gone.html"):
        run(*words.split())
    g.owner = dict(re.findall(r"^(id|password) (\S+)$", (g.data / "provider").read_text(errors="replace"), re.M))


def settings(book, g):
    run = functools.partial(book.command, "config", g)
    run("config", "check")
    run("config", "check", "page.html")
    run("config", "show", more=[("  +", "  ")])
    run("config", "show", "--json")
    run("config", "explain", "uns.listen")
    run("config", "sample", "x")
    keys = re.findall(r"^#?(\[[\w-]+\]|\w+ =.*)", g.run("config", "sample").out, re.M)
    book.said("config", "keys of garner config sample", "\n".join(keys) + "\n")


def usage(book, g, commands):
    """The options of all commands and roles; what help says of them is no part of this."""
    for words in commands:
        text = g.run("help", *words).out
        book.said("usage", "help " + " ".join(words), re.match(r"usage: .*\n(?: .*\n)*", text)[0])
    for role in ROLES:
        book.command("usage", g, role, "x")


def afterwards(book, g, up):
    """What the tools say of it all, while it runs and then."""
    run = functools.partial(book.command, "afterwards", g)
    run("status", more=[(r"^(\| \S+ +(?:ready|running)) .*", r"\1 ..."), (r"\b\d[\d.]*[a-zµ]*\b", "<n>"), ("  +", "  ")])
    run("status", "--json", more=[(r'": -?\d+(?:\.\d+)?', '": <n>')])
    run("fetch", SITE, SITE + "old.html", SITE + "gone.html", SITE + "private/x.html", "http://10.1.2.3/", sort=True)
    run("fetch", "--json", SITE + "text.txt", more=[(r'("\w+_us": )\d+', r"\1<t>")])
    run("fetch", "-o", "out", SITE + "text.txt")
    run("fetch", "--through", "nothing", SITE)
    run("extract", SITE + "text.txt")
    run("cache", "crashed", "--json")
    run("dump", "data/provider")
    run("cache", "status")
    assert up.stop() == 0
    for words in ("status", "check", "doctor --json", "cache check --fix", "cache status", "archie build"):
        run(*words.split(), more=MACHINE if words.startswith("doctor") else ())
    for name in ("archie/sites.local", "garner.db points", "shepherd/objects"):
        run("dump", *f"data/{name}".split())


def settled(g):
    """Waits until the cache has done what it was told."""
    def is_settled():
        told = g.run("cache", "status", "--json").json()["cache"]
        return not told["queued"] and not told["open_sets"] and not told["deletions"]
    wait_for("the cache", is_settled, every=0.1)


def providers(book, g, at):
    """Document 004's ports: uns, rs, qm."""
    with socket.create_connection(at["uns"], timeout=30) as s:
        def say(text, end):
            s.sendall(text.encode())
            book.said("uns", text.replace(g.owner["password"], "<password>"), until(s, end), more=[(r'seq="\d+"', 'seq="<n>"')])
        hello = f'<lococa:init xmlns:lococa="{notify.NS}"><provider id="1" passwd="{g.owner["password"]}"/></lococa:init>\n'
        say(hello, b"</lococa:init_accepted>")
        say('<lococa:receipts set="77"/>', b"</lococa:receipts_result>")
        say(f'<lococa:set set="partial">\n<url c="{SITE}pushed.html" mime="text/html"/>\n<url c="http://elsewhere.test/" mime="text/html"/>\n'
            '</lococa:set>\n', b"</lococa:set_result>")
    for text in (hello.replace(g.owner["password"], "wrong"), "nothing of the kind\n"):
        book.said("uns", text, lines_until_closed(at["uns"], text.encode()))
    assert g.run("provider", "receipts", "3", "--wait", "--timeout", "30s").code == 0
    settled(g)
    basic = "Basic " + base64.b64encode(f"1:{g.owner['password']}".encode()).decode()
    for path, who in (("/", None), ("/api/providers/1", basic), ("/api/providers/1", None), ("/api/receipts?set=1", basic), ("/nothing", None)):
        book.said("rs", f"GET {path}{' as the provider' if who else ''}", asked(at["rs"], path, **({"Authorization": who} if who else {})))
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(f"{g.dir}/qm")
        s.settimeout(30)
        answers = s.makefile("rb")
        book.said("qm", "", str(read_message(answers)))
        s.sendall(message("uns", name="other") + message("set", number=1, provider=1, urls=1, at=int(time.time() * 1e6))
                  + message("piece", notices=packed(notice(SITE + "late.html"))) + message("end", number=1))
        book.said("qm", "uns, set, piece, end", str(read_message(answers)))
        s.sendall(b"bogus 0\n")
        book.said("qm", "BOGUS", everything(s))
    settled(g)


def fabric(book, make, proxy):
    """The wires of documents 003 and 004 between those who have URLs and those who fetch."""
    g = make(f"disk_free = 0\n[robot]\nproxy = http://{proxy.address}\nnetworks = 127.0.0.0/8\ndelay = 0\n[botm]\nlisten = unix:DIR/botm\n"
             "source = unix:DIR/source\nmachine = m1\nfolder = cache/files\n[spider]\nlisten = unix:DIR/spider\nresults = dir:results\n"
             "status_words = yes\n[urlserver]\ndoc_index = file:list\nreq_host_per_sec = 1000\nstatus_words = yes\n")
    g.configure(g.conf.read_text().replace("DIR", str(g.dir)))
    book.words[str(g.dir)] = "DIR"
    source = bots.Source(g.dir / "source")
    botm = g.start("botm").wait_ready()
    wait_for("the botm", lambda: source.capacity() == 0)
    bot = bots.Bot(f"unix:{g.dir}/botm", g.data / "cache/files", 4)
    wait_for("the bot", lambda: source.capacity() == 4)
    source.send("fetch", id="1", url=SITE, mime="text/*", size_max="10000")
    wait_for("an answer", lambda: len(source.answers()) == 1)
    source.send("kept", id="1", machine="m1", file=source.answers()[0]["file"])
    source.send("delete", id="2", machine="m1", file=source.answers()[0]["file"])
    wait_for("a deletion", lambda: source.all("deleted"))
    mask = [(r'node="[^"]*"', 'node="<random>"')]
    book.said("botm", "to the bot", "".join(bots.message("fetch", **f).decode() for f in bot.fetches))
    book.said("botm", "to the source", "".join(bots.message(name, **a).decode() for name, a in source.heard), more=mask)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(f"{g.dir}/botm")
        s.settimeout(30)
        s.sendall(b"<bogus/>\n")
        book.said("botm", "<bogus/>", everything(s))
    for p in (botm,):
        assert p.stop() == 0
    bot.close()
    source.close()
    (g.data / "list").write_text("http://127.0.0.1:81/a\n# a comment\nhttp://127.0.0.1:81/b\ngopher://x/\n")
    with Spider(lambda s, job: s.done(job, "ok" if job.url.endswith("a") else "permanent")) as s:
        us = g.start("-s", f"urlserver.spider_host=127.0.0.1:{s.port}", "urlserver").wait_ready()
        wait_for("all outcomes", lambda: g.run("dump", "data/list.done").out.count("line=") == 3, every=0.1)
        book.said("urlserver", "to the spider", "".join(f"<trans> {j.doc} {j.ip} {j.url}\n" for j in sorted(s.jobs, key=lambda j: j.doc)))
        book.command("urlserver", g, "dump", "data/list.done", sort=True)
        assert us.stop() == 0
    with DocIndex(["http://127.0.0.1:81/c"]) as index, Spider(lambda s, job: s.done(job, "ok")) as s:
        us = g.start("-s", f"urlserver.spider_host=127.0.0.1:{s.port}", "-s", f"urlserver.doc_index={index.address}", "urlserver").wait_ready()
        wait_for("the outcome", lambda: index.outcomes)
        book.said("urlserver", "to the doc index", f"{dict(index.outcomes)}\n")
        assert us.stop() == 0
    spider = g.start("-s", "robot.proxy=", "spider").wait_ready()  # a proxy would not let it go where it is told
    book.words[proxy.address] = book.words[proxy.address.replace(":", ",")] = "www.house.test"
    here = f"http://{proxy.address}/"
    with Urlserver(f"{g.dir}/spider", reads=False) as us:
        lines = us.socket.makefile("rb")
        for line in ("1.1 d1 127.0.0.1 " + here, "2.1 d2 127.0.0.1 " + here + "gone.html", "3.1 d3 10.1.2.3 nothing"):
            us.raw(line.encode() + b"\n")
            book.said("spider", line, lines.readline())
    assert spider.stop() == 0
    results = Path(g.data) / "results/results.jsonl"
    book.said("spider", "results.jsonl", "".join("\n".join(spread(line)) + "\n" for line in results.read_text().splitlines()),
              more=[(r'("\w+_us": )\d+', r"\1<t>")])


def leaves(g):
    """All commands, with those below them, but for roles; as the program lists them."""
    def below(*words):
        part = re.search(r"\nCommands\n((?:  .*\n)+)", g.run("help", *words).out)
        names = re.findall(r"^  (\S+)", part.group(1), re.M) if part else []
        return [leaf for name in names for leaf in below(*words, name)] or [words]
    names = g.run().err.split("\n\n")[1].split()
    return [leaf for name in names if name not in ROLES for leaf in below(name)]


def test_all_is_said_as_it_was_recorded(garner, book, proxy):
    g = garner()
    book.words.update({str(g.dir): "DIR", str(ROOT): "ROOT"})
    host = re.escape(socket.gethostname())
    book.volatile += [(rf"(Gatherer-Host)\{{\d+\}}(:\s){host}$", r"\1{<n>}\2<host>"), (rf'(Gatherer-Host: |: "|(?:garner|archie) of ){host}\b', r"\1<host>")]
    g.configure(config(g, proxy))
    book.words[proxy.address.partition(":")[2]] = "PROXY"
    for n, address in enumerate((g.rs, g.uns, g.ng)):
        book.words[address.partition(":")[2]] = ("RS", "UNS", "NG")[n]
    alone(book, g)
    empty(book, g)
    crawl(book, g)
    archive(book, g)
    (g.data / "in").mkdir()
    (g.data / "in/1.soif").write_text(OBJECT.replace("1600000000", str(int(time.time()))))
    (g.dir / "docs/sub").mkdir(parents=True)
    (g.dir / "docs/index.html").write_text(PAGES[SITE])
    up = g.start("up").wait_ready()
    said = up.wait_line("garner is up")
    at = {role: (host, int(port)) for role, host, port in re.findall(r"([\w-]+)(?:@\d+)? on (?:\w+:(?://)?)?([\d.]+):(\d+)", said)}
    for role, (_, port) in at.items():
        book.words.setdefault(str(port), role.upper())
    wait_for("all objects", lambda: g.run("dumpregistry", "--count").out.startswith("records 11\n"), every=0.1)
    broker(book, g, at)
    files(book, g, at)
    web(book, g, at)
    cache(book, g, proxy)
    providers(book, g, at)
    afterwards(book, g, up)
    words(book, g)
    settings(book, g)
    commands = leaves(g)
    usage(book, g, commands)
    fabric(book, garner, proxy)
    said = {tuple(map(str, args[:len(leaf)])) for leaf in commands for args in book.commands}
    assert not [leaf for leaf in commands if leaf not in said], "commands without an entry"
    assert {group for group in ROLES.values() if group} <= set(book.entries)
    differences = book.close()
    assert not differences, differences
