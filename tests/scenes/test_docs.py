"""The role docs: a directory tree over HTTP."""
import gzip
import os
import re

from web import Site


def docs(garner, root):
    g = garner(config=f"[docs]\nlisten = 127.0.0.1:0\nroot = {root}\n")
    process = g.start("docs").wait_ready()
    line = process.wait_line("listening")
    return Site(process, int(re.search(r"address=127\.0\.0\.1:(\d+)", line).group(1)))


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
