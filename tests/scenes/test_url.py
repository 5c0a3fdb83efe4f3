"""garner url: JSON, batches, equivalences, and agreement with another implementation of the standard."""
import json
import random
import re
import shutil
import subprocess
import time
import unicodedata

import pytest

from garner import BUILD, clean_environment, peak_of

GARNER = BUILD / "garner"
NODE = """
const lines = require("fs").readFileSync(0, "utf8").split("\\n");
lines.pop();
for (const line of lines) {
	const [url, base] = line.split("\\t");
	let said = null;
	try { said = (base ? new URL(url, base) : new URL(url)).href; } catch (e) {}
	console.log(JSON.stringify(said));
}
"""


def batch(lines, *args):
    done = subprocess.run([GARNER, "url", "--batch", *args], input="".join(x + "\n" for x in lines),
                          capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [json.loads(x) for x in done.stdout.splitlines()]


# answers

def test_an_url_is_shown_in_its_parts(garner):
    got = garner().run("url", "https://me:pw@WWW.Example.co.uk:8443/a/./b%7e?q=1#f").json()
    assert got == {
        "url": "https://me:pw@WWW.Example.co.uk:8443/a/./b%7e?q=1#f",
        "href": "https://me:pw@www.example.co.uk:8443/a/b%7e?q=1#f",
        "scheme": "https", "username": "me", "password": "pw", "host": "www.example.co.uk",
        "port": 8443, "path": "/a/b%7e", "query": "q=1", "fragment": "f",
        "site": "https://www.example.co.uk:8443", "domain": "example.co.uk",
        "footprint": got["footprint"]}
    strict = garner().run("url", "--strict", got["url"]).json()
    assert strict["href"] == "https://www.example.co.uk:8443/a/b~?q=1"
    assert strict["footprint"] == got["footprint"]
    assert "username" not in strict and "fragment" not in strict


def test_footprints_are_the_known_ones(garner):
    done = garner().run("url", "http://www.example.com/", "http://example.com/robots.txt",
                        "http://example.com/a?b=c", "ftp://example.com/")
    assert [json.loads(x)["footprint"] for x in done.out.splitlines()] == [
        "7487015f09754160:76cd6666465669f9", "6b70cafbe7788a32:c3ced96e5d3e1f56",
        "6b70cafbe7788a32:8ea3f221f1cac11a", "3e41294e83be3b52:76cd6666465669f9"]


def test_the_exit_code_says_how_many_could_be_understood(garner):
    g = garner()
    assert g.run("url", "http://a/", "http://b/").code == 0
    some = g.run("url", "http://a/", "mailto:me@example.com", "http://a:99999/")
    assert some.code == 3
    assert [json.loads(x).get("error") for x in some.out.splitlines()] == [
        None, "unknown protocol", "invalid port"]
    assert json.loads(some.out.splitlines()[1])["scheme"] == "mailto"
    assert g.run("url", "nowhere").code == 1
    assert g.run("url").code == 2
    assert g.run("url", "http://a/..").code == 0
    assert g.run("url", "--strict", "http://a/..").json()["error"] == "path underflow"


def test_links_are_resolved_against_a_base(garner):
    g = garner()
    assert g.run("url", "--base", "http://a/b/c?d", "../e").json()["href"] == "http://a/e"
    for options in (["-b", "data:,x", "../e"], ["-b", "nonsense", "http://a/"],
                    ["--base=http://[", "--batch"]):
        wrong = g.run("url", *options, input="")
        assert wrong.code == 2 and wrong.out == ""
        assert wrong.err.startswith("garner: --base: URL ")


def test_a_loop_is_named():
    assert batch(["http://a/b/b/b/b/b/b", "http://a/b"])[0]["loop"] is True


# batches

def test_a_batch_takes_a_base_on_each_line():
    said = batch(["c\thttp://a/b", "c\t", "c", "http://x/\tnonsense", ""], "--base", "http://z/y/")
    assert [x.get("href") for x in said] == ["http://a/c", "http://z/y/c", "http://z/y/c", None,
                                             "http://z/y/"]
    assert said[3]["error"] == "relative not allowed" and said[3]["base"] == "nonsense"


def test_a_line_without_end_and_one_that_is_too_long_are_answered():
    done = subprocess.run([GARNER, "url", "--batch"], input="http://" + "a" * 300000 + "\nhttp://b",
                          capture_output=True, text=True, env=clean_environment())
    first, last = map(json.loads, done.stdout.splitlines())
    assert first["error"] == "too long" and last["href"] == "http://b/"


def test_each_line_is_answered_before_the_next_is_asked():
    with subprocess.Popen([GARNER, "url", "--batch"], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, env=clean_environment()) as p:
        for n in range(20):
            p.stdin.write(f"http://a/{n}\n")
            p.stdin.flush()
            assert json.loads(p.stdout.readline())["path"] == f"/{n}"
        p.stdin.close()
        assert p.wait() == 0


def test_answers_go_out_before_they_are_many(garner):
    g = garner()
    (g.dir / "lines").write_text("x\n" * 20000)
    code, _, kib = peak_of([GARNER, "url", "--batch", "--base", "http://a/" + "b" * 8000 + "/",
                            g.dir / "lines"], g.dir / "peak", stdout=subprocess.DEVNULL,
                           env=clean_environment())
    assert code == 0 and kib < 150 << 10  # the answers are 300 MB


def test_a_batch_ends_quietly_when_nobody_reads_its_answers():
    with subprocess.Popen([GARNER, "url", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, bufsize=0, env=clean_environment()) as p:
        p.stdout.close()
        with pytest.raises(BrokenPipeError):
            for _ in range(1000):
                p.stdin.write(b"http://a/\n" * 1000)
        assert p.stderr.read() == b""


# equivalences

def test_equivalent_sites_have_one_normalized_footprint(garner):
    g = garner()
    table = g.dir / "url-equiv"
    table.write_text("# mirrors\nhttp://example.com/\n\thttp://example.org/\n\n  https://example.com/\n")
    said = batch(["http://www.example.org/a", "https://example.com/a", "http://www.example.com/a",
                  "http://example.com/a", "http://example.net/a"], "--equiv", str(table))
    assert len({x["footprint"] for x in said}) == 5
    assert len({x["normalized_footprint"] for x in said[:4]}) == 1
    assert {x["normalized_site"] for x in said[:4]} == {"http://example.com"}
    assert said[4]["normalized_site"] == "http://example.net"


def test_a_record_with_www_is_an_error_that_names_its_line(garner):
    g = garner()
    table = g.dir / "url-equiv"
    table.write_text("http://example.com/\n\n http://www.example.org/\n")
    done = g.run("url", "--equiv", str(table), "http://a/")
    assert done.code == 2 and f"{table}:3:" in done.err and "www." in done.err and done.out == ""
    assert g.run("url", "--equiv", str(g.dir / "none"), "http://a/").code == 2


# against another implementation

SCHEMES = ["http", "https", "ftp", "HTTP", "Https", "fTp", "mailto", "javascript", "data", "h", "", ""]
SLASHES = ["://", "://", "://", "://", ":", ":/", ":///", ":\\\\", ":/\\", "//", "/", ""]
USERS = ["", "", "", "", "", "u@", "u:p@", ":@", "@", "u:@", ":p@", "a@b@", "ü:%zz@", "a:b:c@", "u;=/@",
         "[]@", "%20:'@"]
HOSTS = ["example.com", "EXAMPLE.Com", "a.b.c.example", "a_b.example", "x--y.example", "localhost", "a",
         "1.2.3.4", "0x7f.1", "0177.0.0.1", "1.2.3", "256", "4294967295", "4294967296", "1.2.3.4.5",
         "1.2.3.256", "1.2.3.4.", "1.2.3.4..", "0x", "0x.0x.0", "08.1", "1.2.3.08", "a.0x1", "a.09",
         "a.0xg", "1e2", "0.0.0x100", "00000000000000000001", "999999999999999999999", ".", "..", "a..b",
         ".a", "a.", "[::1]", "[::]", "[1:2:3:4:5:6:7:8]", "[1::8]", "[::ffff:1.2.3.4]", "[1:2::3:4:0:0]",
         "[0:0:1:0:0:0:1:0]", "[::1.2.3]", "[::1.2.3.04]", "[1:2:3:4:5:6:7::]", "[::1:2:3:4:5:6:7]",
         "[1:2:3:4:5:6:7:8:9]", "[:1]", "[1:]", "[1::2::3]", "[12345::]", "[::1%25eth0]", "[::g]", "[",
         "[]", "]", "[::1", "[FE80::ABCD]", "[1:2:3:4:5:6:1.2.3.4]", "[1:2:3:4:5:6:7:1.2.3.4]",
         "ex%61mple.com", "%", "%zz", "a%00b", "a%20b", "a%2fb", "a%3Ab", "%E2%98%95.example", "%ff", "a b",
         "a<b", "a|b", "a^b", "a\"b", "a{b}", "a'b", "a`b", "a~b", "a!b$c&d(e)*f+g,h;i=j", "a\x7fb",
         "faß.de", "bücher.example", "BÜCHER.example", "☕.example", "ａ．ｂ", "例え.テスト", "xn--bcher-kva.example",
         "XN--BCHER-KVA.example", "xn--zca.example", "xn--53h.example", "xn--a", "xn--", "a.xn--iñvalid.b",
         "é.example", "a。b", "\u00ad", "a\u00adb", "\u200bx", "a\u200db", "अ\u094d\u200dक.example", "ﬃ.example",
         "١٢.example", "אב.example", "aא.example", "1א.example", "\ufffd.example", "\u2028.example", "Ⅷ.example",
         "㎏.example", "ƒ!ü.example", "ü_a.example", "a--ü.example", "ς.example", "Σ.example", "１.２.３.４",
         "İ.example", "", "", ""]
PORTS = ["", "", "", "", ":", ":80", ":443", ":21", ":0", ":8080", ":00080", ":65535", ":65536", ":-1",
         ":8a", ":999999999999", ":80:80", ": 80"]
SEGMENTS = ["a", "b", "A", "", ".", "..", "...", "%2e", "%2E", ".%2e", "%2e%2e", "%2e.", "%2E%2e.", "a.b",
            "..a", ".a", "a..", "c%20d", "%7e", "%zz", "%", "%4", "ü", "日本", "a b", "x;y=z", "a:b", "@", "!$&'()*+,",
            "\"", "<>", "`", "{}", "|", "[]", "~", "\x01", "\x7f", "C:", "C|", "%00", "*", "☕"]
QUERIES = ["", "", "", "?", "?a=b&c=d", "?q='x'", "?ü", "?a b", "?#", "?%zz", "?\"<>`{}|^", "??", "?/..", "?\\",
           "?%20%7e"]
FRAGMENTS = ["", "", "", "", "#", "#f", "#ü \"<>`{}|^", "##", "#?/..", "#%zz", "#\\"]
BASES = ["", "", "", "http://example.com/a/b/c?q#f", "https://u:p@h:8443/x/", "ftp://f/", "http://[::1]:80/a/../b?",
         "https://example.org", "http://h//a//b", "http://h/?q"]
ALPHABET = list("abcXYZ019./\\:?#@%[]<>|^`{}\"'&=+;,!~*()-_ $") + ["ü", "ß", "☕", "%2e", "%2F", "..", "//", "xn--",
                                                                   "\u3002", "0x", "\x1f", "\x7f", "例"]


def make_url(dice):
    path = "".join(dice.choice("///\\") + dice.choice(SEGMENTS) for _ in range(dice.randrange(6)))
    if dice.random() < 0.35:  # relative
        start = dice.choice(["", "", "/", "//" + dice.choice(HOSTS), "\\\\" + dice.choice(HOSTS), "./", "../../"])
        url = start + path.lstrip("/") if dice.random() < 0.5 else path
    else:
        url = (dice.choice(SCHEMES) + dice.choice(SLASHES) + dice.choice(USERS) + dice.choice(HOSTS)
               + dice.choice(PORTS) + path)
    url += dice.choice(QUERIES) + dice.choice(FRAGMENTS)
    for _ in range(dice.choice([0, 0, 0, 1, 1, 2, 5])):  # mutations
        at = dice.randrange(len(url) + 1)
        url = url[:at] + dice.choice(ALPHABET + [""]) + url[at + dice.randrange(2):]
    return url


def labels(href):
    """Pairs: each label of the host as it is, and decoded."""
    host = re.match(r"\w+://(?:[^/@]*@)?([^/:]*)", href).group(1)
    return [(x, x[4:].encode().decode("punycode") if x.startswith("xn--") else x)
            for x in host.split(".")]


# Where the two may differ, and why. Each says whether it explains a difference.

def newer_standard(url, base, ours, theirs):
    """The standard escapes ^ in paths since 2024; this node does not yet."""
    if not ours:
        return False
    (path, *rest), (their_path, *their_rest) = ours.split("?", 1), theirs.split("?", 1)
    return path.replace("%5E", "^") == their_path.replace("%5E", "^") and rest == their_rest


def bidi(url, base, ours, theirs):
    """The standard has CheckBidi, which refuses labels that mix directions or begin with a digit; this
    node checks some of that only."""
    return not ours and any(unicodedata.bidirectional(c) in ("R", "AL", "AN")
                            for _, x in labels(theirs) for c in x)


def needless_code(url, base, ours, theirs):
    """A label that was encoded though it is ASCII is an error since UTS 46 revision 33; so is one that is
    not how it would be encoded."""
    return not ours and any(x != y and (y.isascii() or "xn--" + y.encode("punycode").decode() != x)
                            for x, y in labels(theirs))


def hyphens(url, base, ours, theirs):
    """libidn2 refuses hyphens at either end of a label and in its third and fourth place, as IDNA 2008
    does. It is asked only where a host is not plain ASCII."""
    return not ours and (not url.isascii() or "xn--" in theirs or "%" in url) and any(
        x and ("-" in (x[0], x[-1]) or x[2:4] == "--") for _, x in labels(theirs))


def punctuation(url, base, ours, theirs):
    """libidn2 refuses punctuation in labels that are not ASCII."""
    return not ours and any(
        x != y and re.search(r"[^\w\x80-\U0010ffff-]|_", y) for x, y in labels(theirs))


def joiners(url, base, ours, theirs):
    """libidn2 refuses symbols; we take them where transitional processing would not change the name."""
    return not ours and any(c in x for _, x in labels(theirs) for c in "\u200c\u200dßς")


def lost_query(url, base, ours, theirs):
    """This node forgets that a base has an empty query."""
    return base.endswith("?") and ours and ours.replace("?", "", 1) == theirs


def lost_dots(url, base, ours, theirs):
    """This node leaves dot segments in paths such as /.a/../b; no serialised URL has any."""
    return ours and re.search(r"/\.\.?(/|$)", re.split("[?#]", theirs)[0])


DIFFERENCES = [newer_standard, bidi, needless_code, hyphens, punctuation, joiners, lost_query, lost_dots]


def test_node_and_garner_agree(long_run):
    if not shutil.which("node"):
        pytest.skip("node (Debian: nodejs) is not on this machine")
    seed = int(time.time()) if long_run else 20240229
    print(f"seed {seed}")
    dice = random.Random(seed)
    lines = [(make_url(dice), dice.choice(BASES)) for _ in range(200000 if long_run else 20000)]
    text = [f"{url}\t{base}" for url, base in lines]
    said = [x.get("href") for x in batch(text)]
    node = subprocess.run(["node", "-e", NODE], input="".join(x + "\n" for x in text),
                          capture_output=True, text=True, check=True)
    theirs = [json.loads(x) for x in node.stdout.splitlines()]
    assert len(said) == len(theirs) == len(lines)
    wrong, differ, understood = [], {}, 0
    for (url, base), our, their in zip(lines, said, theirs):
        if their and not re.match("(https?|ftp):", their):
            their = None
        understood += bool(our)
        if our != their:
            why = their and next((d.__name__ for d in DIFFERENCES if d(url, base, our, their)), None)
            differ[why] = differ.get(why, 0) + 1
            if not why:
                wrong.append((url, base, our, their))
    print(f"{understood} of {len(lines)} understood; explained differences: {differ}")
    assert understood > len(lines) / 4
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(map(repr, wrong[:60]))
