"""The role docs: a directory tree over HTTP."""
import gzip
import json
import os
import random
import re
import socket
import tempfile

import pytest

from web import alone


def docs(garner, root):
    return alone(garner(config=f"[docs]\nlisten = 127.0.0.1:0\nroot = {root}\n"), "docs")


def tree(path):
    root = path / "tree"
    (root / "a b" / "deep").mkdir(parents=True)
    (root / "index").mkdir()
    (root / "index" / "index.html").write_text("<title>x</title>")
    (root / "README").write_text("plain words\n")
    (root / "bytes").write_bytes(b"\0\1\2")
    (root / "a b" / "<x>&.html").write_text("<p>odd")
    (root / "notes.txt.gz").write_bytes(gzip.compress(b"packed words\n"))
    (root / "all.tar.gz").write_bytes(gzip.compress(b"tar"))
    (root / ".hidden").write_text("h")
    (path / "outside").write_text("secret")
    os.symlink("../outside", root / "out")
    os.symlink(path / "outside", root / "out2")
    os.symlink("README", root / "in")
    os.mkfifo(root / "pipe")
    return root


def test_files_have_types_and_validators(garner, tmp_path):
    site = docs(garner, tree(tmp_path))
    a = site.ask("/README")
    assert a.status == 200 and a.body == b"plain words\n"
    assert a.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert site.ask("/README", If_None_Match=a.headers["ETag"]).status == 304
    assert site.ask("/README", If_Modified_Since=a.headers["Last-Modified"]).status == 304
    assert site.ask("/README", Range="bytes=6-10").body == b"words"
    assert site.ask("/bytes").headers["Content-Type"] == "application/octet-stream"
    assert site.ask("/in").body == b"plain words\n"


def test_what_is_packed_is_content_coded(garner, tmp_path):
    site = docs(garner, tree(tmp_path))
    a = site.ask("/notes.txt.gz", Accept_Encoding="gzip")
    assert a.headers["Content-Encoding"] == "gzip" and a.headers["Content-Type"] == "text/plain"
    assert gzip.decompress(a.body) == b"packed words\n"
    a = site.ask("/notes.txt.gz")
    assert "Content-Encoding" not in a.headers
    assert a.headers["Content-Type"] == "application/gzip"
    a = site.ask("/all.tar.gz", Accept_Encoding="gzip")
    assert "Content-Encoding" not in a.headers
    assert a.headers["Content-Type"] == "application/gzip"


def test_folders_are_listed_and_links_in_them_lead_on(garner, tmp_path):
    site = docs(garner, tree(tmp_path))
    a = site.ask("/a%20b")
    assert a.status == 301 and a.headers["Location"] == "/a%20b/"
    listing = site.ask("/a%20b/").body.decode()
    assert "<x>" not in listing and "&lt;x" in listing
    href = re.search(r'href="\./([^"]*html)"', listing)[1]
    assert site.ask("/a%20b/" + href).body == b"<p>odd"
    assert site.ask("/index/").body == b"<title>x</title>"
    top = site.ask("/").body.decode()
    assert 'href="./a%20b/"' in top and "hidden" not in top and "pipe" not in top


def test_nothing_outside_is_reached(garner, tmp_path):
    site = docs(garner, tree(tmp_path))
    for path in ("/../outside", "/a%20b/../../outside", "/%2e%2e/outside", "/..%2foutside", "/out",
                 "/out2", "/pipe", "/README/", "//etc/passwd", "/nothing", "/%2fetc%2fpasswd"):
        a = site.ask(path)
        assert a.status == 404 and b"secret" not in a.body, path
    assert site.ask("/%00").status == 400
    assert site.ask("/", "POST").status == 405


def test_a_root_that_is_not_there_is_named(garner, tmp_path):
    g = garner(config=f"[docs]\nlisten = 127.0.0.1:0\nroot = {tmp_path}/none\n")
    r = g.run("docs")
    assert r.code == 2 and "docs.root: there is no directory" in r.err


# what a file system allows: all but NUL and the slash
ODD = [b"a\nb", b"a\r\nb.txt", b"tab\there", b"\x01\x7f", b"per%cent%0a", b"a?b#c", b"a+b c", b"back\\slash",
       b"quote\"'<>&", b"latin-\xe9.txt", b"\xff\xfe", "gr\u00fc\u00df.html".encode(), b"semi;colon:at@", b"\n",
       b" ", b"~"]


def test_files_of_any_name_are_listed_and_found(garner, tmp_path):
    for folder in (b"", b"fol\nder\xe9/"):
        os.makedirs(os.fsencode(tmp_path) + b"/tree/" + folder, exist_ok=True)
        for name in ODD:
            with open(os.fsencode(tmp_path) + b"/tree/" + folder + name, "wb") as f:
                f.write(b"I am " + name)
    site = docs(garner, tmp_path / "tree")
    for folder in ("/", "/fol%0Ader%E9/"):
        a = site.ask(folder)
        assert a.status == 200
        links = re.findall(r'href="\./([^"/]*)"', a.body.decode())
        found = {site.ask(folder + link).body for link in links}
        assert found == {b"I am " + name for name in ODD}
    assert 'href="./fol%0Ader%E9/"' in site.ask("/").body.decode()
    a = site.ask("/fol%0Ader%E9")
    assert a.status == 301 and a.headers["Location"] == "/fol%0Ader%E9/"


def test_a_name_with_control_characters_is_served_and_the_crawl_says_why_it_leaves_it_out(garner, tmp_path):
    """By document 001 a URL with an escaped byte below 0x20 has no canonical form."""
    root = tree(tmp_path)
    (root / "a\nb.html").write_text("<p>two lines")
    site = docs(garner, root)
    assert site.ask("/a%0Ab.html").body == b"<p>two lines"
    g = garner()
    for command in ("add", "why"):
        done = g.run(command, f"http://127.0.0.1:{site.port}/a%0Ab.html")
        assert done.code == 2 and "/a%0Ab.html" in done.err and "invalid escaped char" in done.err


def listed(garner, site, tmp_path):
    """What the listing of the tree says: path -> entry."""
    (tmp_path / "got.gz").write_bytes(site.ask("/ls-lR.gz").body)
    out = garner().run("archie", "parse", tmp_path / "got.gz", "--json")
    assert out.code == 0, out
    entries = [json.loads(line) for line in out.out.splitlines()]
    return {"/".join(p for p in (e["dir"], e["name"]) if p): e for e in entries}


def test_the_listing_of_the_tree_names_what_is_served(garner, tmp_path):
    root = tree(tmp_path)
    (root / "line\nfeed").write_text("x")
    os.utime(root / "README", (0, 1741064767))
    site = docs(garner, root)
    a = site.ask("/ls-lR.gz", Accept_Encoding="gzip")
    assert a.headers["Content-Type"] == "application/gzip" and "Content-Encoding" not in a.headers
    assert gzip.decompress(a.body).startswith(b".:\n")
    got = listed(garner, site, tmp_path)
    assert sorted(got) == sorted(["README", "a b", "a b/<x>&.html", "a b/deep", "all.tar.gz", "bytes", "in",
                                  "index", "index/index.html", "notes.txt.gz"])
    assert (got["README"]["size"], got["README"]["time"]) == (12, 1741064760)
    assert (got["a b"]["kind"], got["in"]["kind"], got["bytes"]["kind"]) == ("dir", "link", "file")


def test_a_large_tree_is_listed_whole_and_again(garner, tmp_path):
    root = tmp_path / "tree"
    for i in range(30):
        (root / f"folder{i}").mkdir(parents=True)
        for k in range(100):
            (root / f"folder{i}" / f"a file with a longer name {k}").touch()
    site = docs(garner, root)
    for _ in range(2):
        assert len(listed(garner, site, tmp_path)) == 30 + 3000
    # a tree that has a listing of its own keeps it
    (root / "ls-lR.gz").write_bytes(b"mine")
    assert site.ask("/ls-lR.gz").body == b"mine"


@pytest.fixture
def many_files():
    """A tree whose listing is 2 MB when it is packed; in memory, where files cost less."""
    dice = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="garner-", dir="/dev/shm") as folder:
        for i in range(20000):
            os.mknod(f"{folder}/{i}{dice.randbytes(100).hex()}", 0o644)
        yield folder


def test_a_reader_that_stops_reading_holds_nobody_up(garner, many_files):
    site = docs(garner, many_files)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", site.port))
        slow.sendall(b"GET /ls-lR.gz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.recv(12) == b"HTTP/1.1 200"
        answers = [site.ask("/ls-lR.gz") for _ in range(2)]
    assert [a.status for a in answers] == [200, 200]
    assert gzip.decompress(answers[0].body).count(b"\n") == 20001
    assert answers[0].headers["ETag"] == answers[1].headers["ETag"]  # made once
    assert site.ask("/ls-lR.gz", Range="bytes=0-1").body == b"\x1f\x8b"
