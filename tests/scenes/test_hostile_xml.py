"""XML that is small to send and was made to be slow to read: it is read, within what a document may cost."""
import gzip
import json

MEGABYTE = 1 << 20


def packed(before, fill, after, size):
    return gzip.compress(before + fill * (size // len(fill)) + after, 1)


def test_packed_sitemaps_made_to_be_slow_are_read(garner):
    g = garner()
    page = b"<urlset><url><loc>http://example.org/1</loc></url>"
    slow = {
        "comment": packed(page + b"<!--", b" ", b"--></urlset>", 49 * MEGABYTE),
        "declared": packed(b"<?xml version='1.0'?><!DOCTYPE urlset [<!ATTLIST b" + b"".join(
            b" a%d CDATA ''" % i for i in range(4000)) + b">]>" + page, b"<b/>", b"</urlset>", 8 * MEGABYTE),
    }
    for name, body in slow.items():
        (g.dir / name).write_bytes(body)
    done = g.run("extract", "--json", *slow)
    assert done.code == 0, done
    for d in map(json.loads, done.out.splitlines()):
        assert d["end"] == "read" and "XML: " in d["remark"], d
        assert [link["url"] for link in d["links"]] == ["http://example.org/1"]
