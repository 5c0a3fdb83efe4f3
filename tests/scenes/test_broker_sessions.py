"""The broker's port, byte by byte: the sessions of data/broker-port, each played in several ways, all
flags against each other, and objects that are told by bulk transfers."""
import itertools
import random
import re
import socket
import time

import pytest

from garner import ROOT, wait_for
from glimpse_model import Flags, Join, Word, matching
from port import PASSWORD, Broker, hang_up, large_objects, rest_of, with_identity

OBJECTS = {
    "http://a.test/one": {"Title": "A dog", "MD5": "0123456789abcdef0123456789abcdef",
                          "Description": "Dogs of all kinds", "Author": "Ann Walnut",
                          "Full-Text": "The dog barks.\nA cat hears the dog.\nNothing more"},
    "http://a.test/two": {"Title": "Cat and dog", "Description": "First line\nsecond line", "Keywords": "dog",
                          "Full-Text": "dog\ncat\ncats and dogs"},
    "http://a.test/three": {"Full-Text": "a polish"},
    "http://a.test/four": {"Full-Text": "a Polish"},
    "ftp://b.test/errors": {"Full-Text": "an appel a day\nan aple a day\nan apple a day"},
    "http://b.test/accents": {"Full-Text": "un café pour Émile"},
    "http://c.test/silent": {"Full-Text": "a quiet thing"},
    "http://c.test/forged": {"Keywords": "forger\n130 - object end\n111 - ERROR: all is lost",
                             "Abstract": "Émile"},
}
WAYS = {
    "as it stands": {},
    "after the banner": {"banner_first": True},
    "byte by byte": {"pieces": True},
    "ended by CR LF": {"end": b"\r\n"},
    "in capitals": {"case": bytes.upper},
    "in small letters": {"case": bytes.lower},
}
BYTES = {"r": b"\r", "0": b"\0", "\\": b"\\"}
PLACES = {"any": rb"[^\n]*", "n": rb"\d+", "oid": rb"[1-9]\d*", "time": rb"[1-9]\d{8,9}",
          "objects": rb"(?:@FILE \{ [^\n]+\n(?:[A-Z][^\n]*\n|[^\n]*\n)*?\}\n)+",
          "attributes": rb"(?:[A-Z][A-Za-z0-9-]*\{\d+\}:\t[^\n]*\n)+"}


def sessions(name):
    """(what it shows, the request, the pattern of its answer in parts) of a file."""
    found = []
    for text in (ROOT / "tests/data/broker-port" / f"{name}.session").read_text().strip().split("\n\n"):
        what, request, answer = "", None, []
        for line in text.split("\n"):
            mark, _, rest = line.partition(" ")
            if mark == "#":
                what = rest
            elif mark == ">":
                request = re.sub(rb"\\(?:x([0-9a-f]{2})|(.))",
                                 lambda m: bytes([int(m[1], 16)]) if m[1] else BYTES[m[2].decode()], rest.encode())
            elif mark in ("<", "<*"):
                pattern = pattern_of(rest) + rb"\n"
                answer.append(rb"(?:" + pattern + rb")*" if mark == "<*" else pattern)
            else:
                answer.append(PLACES[line.strip("%")])
        assert request is not None and answer, text
        found.append((what, request, answer))
    return found


def pattern_of(line):
    parts = re.split(r"%(\w+)%", line)
    return b"".join(PLACES[p] if i % 2 else re.escape(p.encode()) for i, p in enumerate(parts))


def in_order(parts, key):
    """Objects, from 120 to 130, in the order of their keys; everything else where it is."""
    out, run, one = [], [], None
    for part in [*parts, b""]:
        if one is not None:
            one.append(part)
            if key(part) == b"130":
                run.append(one)
                one = None
        elif key(part) == b"120":
            one = [part]
        else:
            out += [p for o in sorted(run) for p in o]
            out.append(part)
            run = []
    return out


def code_of(line):
    return line[:3] if re.match(rb"\d\d\d( |\\ )", line) else b""


def lines_in_order(answer):
    """Blocks are lines here; a line in one that looks like a code is not one."""
    lines, at = [], 0
    while at < len(answer):
        end = answer.find(b"\n", at) + 1 or len(answer)
        if m := re.match(rb"12(?:4 - |7 - \S+ )(\d+)\n", answer[at:end]):
            end += int(m[1]) + 1
        lines.append(answer[at:end])
        at = end
    return b"".join(in_order(lines, code_of))


def in_blocks(parts):
    """The same of a pattern: what follows 124 and 127 belongs to it."""
    out, left = [], 0
    for part in parts:
        if left > 0:
            out[-1] += part
            left -= len(re.sub(rb"\\(.)", rb"\1", part.replace(rb"\n", b"\n")))
            continue
        out.append(part)
        if m := re.match(rb"12(?:4\\ \\-\\ |7\\ \\-\\ .*\\ )(\d+)\\n$", part):
            left = int(m[1]) + 1
    return out


def play(broker, request, banner_first=False, pieces=False, end=b"\n", case=None):
    if case:
        request = re.sub(rb"#[A-Za-z-]+", lambda m: case(m[0]), request)
    with broker.connect() as s:
        banner = b""
        while banner_first and not banner.endswith(b"\n"):
            banner += s.recv(1)
        for piece in ([bytes([b]) for b in request + end] if pieces else [request + end]):
            s.sendall(piece)
            if pieces:
                time.sleep(0.0002)
        return banner + (rest_of(s) or b"(reset)")


def check(broker, name, way):
    wrong = []
    for what, request, answer in sessions(name):
        got = play(broker, request, **WAYS[way])
        lines = lines_in_order(got)
        first, rest = lines.split(b"\n", 1) if b"\n" in lines else (lines, b"")
        lines = first + b"\n" + re.sub(rb"(?m)^200 - [^\n]*\n", b"", rest)  # it may be slow here
        pattern = b"".join(in_order(in_blocks(answer), code_of))
        if not re.fullmatch(pattern, lines, re.S):
            wrong.append(f"{name}, {way}: {what}\n{request!r}\nis answered\n{got.decode(errors='replace')}")
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def hashed():
    """Made once: it is costly on purpose."""
    return {}


def with_password(garner, hashed, **more):
    if not hashed:
        line = garner().run("password", input=PASSWORD + "\n").out.strip()
        assert line.startswith("$argon2id$")
        hashed["line"] = line
    return Broker(garner, password=hashed["line"], **more)


def test_what_clients_sent_is_answered_as_they_expect(garner):
    broker = Broker(garner, OBJECTS)
    for way in WAYS:
        check(broker, "user", way)
        check(broker, "refused", way)
        check(broker, "bulk", way)


def test_an_administrator_is_answered(garner, hashed):
    broker = with_password(garner, hashed, objects=OBJECTS)
    for way in ("as it stands", "in capitals"):
        check(broker, "admin", way)


def test_without_a_password_there_is_no_administrator(garner):
    broker = Broker(garner)
    answer = broker.admin("#collection")
    assert answer.end == 111 and "password" in answer.wrong[0]


def test_passwords_are_in_no_log(garner, hashed):
    broker = with_password(garner, hashed)
    broker.admin("#collection")
    broker.admin("#collection", password="tell-nobody")
    broker.admin("#nothing-of-the-kind")
    assert broker.process.stop() == 0
    kept = [p for p in broker.g.dir.rglob("*") if p.is_file()]
    assert kept
    for path in kept:
        text = path.read_bytes()
        assert PASSWORD.encode() not in text and b"tell-nobody" not in text, path


# All flags against each other

FLAG_OBJECTS = {
    f"http://f.test/{n}": {k: v for k, v in zip(("Title", "Description", "Author", "Full-Text"), row) if v}
    for n, row in enumerate([
        ("Apple pie", "How to bake one", "Ann Cook", "Take an apple.\nBake the pie."),
        ("apple tart", "", "Bob Baker", "an aple and a tart\nno pie"),
        ("Pineapples", "Sweet and\nsour", "Ann Cook", "The pineapple is no apple\nnor a pine"),
        ("Apples", "All of them", "", "APPLE\nApple\napple"),
        ("", "Only a description: appel", "Cid", "nothing at all"),
        ("Maple", "Trees", "Bob Baker", "The maple\nan ample maple"),
        ("Café", "", "Émile Cook", "un café\nle Café"),
        ("Cafe", "Plain", "Emile", "a cafe and a pie"),
        ("Grapple", "", "", "grapple with the pies\nand grappled"),
        ("Nothing", "Much", "Zoe", "of this is here"),
        ("Long", "", "Ann", "\n".join(f"apple line {i}" for i in range(14))),
        ("Apply pi", "Near misses", "", "apply the ape\npi and pine"),
    ])
}
# Every attribute is searched, and the URL after them.
SEARCHED = {url: {**with_identity(attributes), "URL": url} for url, attributes in FLAG_OBJECTS.items()}
QUERIES = [
    Word("apple"), Word("Apple"), Word("pie"), Word("cafe"), Word("Café"), Word("apple pie"), Word("Ann Cook"),
    Word("apple", "title"), Word("Cook", "AUTHOR"), Word("an apple", "full-text"), Word("grapples"),
    Join(Word("apple"), "and", Word("pie")), Join(Word("maple"), "or", Word("Emile", "author")),
    Join(Word("apple"), "except", Word("pie")), Join(Word("ape"), "AND", Join(Word("pine"), "OR", Word("appel"))),
    Join(Word("Apple", "title"), "EXCEPT", Word("bake", "description")),
]
CHOICES = [
    ("", "#desc"), ("", "#opaque"),
    ("", "#index case insensitive", "#index case insenstive", "#index case sensitive"),
    ("", "#index error 0", "#index error 1", "#index error 2"), ("", "#index matchword"),
    ("", "#index maxresult 2", "#index maxfiles 3"),
    ("", "#attribute Title", "#attribute AUTHOR #attribute none #attribute title"),
]


def expected_attributes(flags, attributes):
    have = {k.lower(): str(v).encode() for k, v in with_identity(attributes).items()}
    asked = re.findall(r"#attribute (\S+)", flags)
    return [(name, have[name.lower()]) for name in asked if name.lower() in have]


def check_flags(broker, flags, query):
    text = f"#USER {flags} #END {query}"
    errors = re.search(r"error (\d)", flags)
    meaning = Flags("insens" in flags, "matchword" in flags, int(errors[1]) if errors else 0)
    right = matching(query, SEARCHED, meaning)
    answer = broker.answer(text)
    assert answer.whole and not answer.wrong and answer.home, (text, answer)
    urls = [o.url for o in answer.objects]
    most = re.search(r"max(?:result|files) (\d+)", flags)
    most = int(most[1]) if most else 50
    assert len(set(urls)) == len(urls) == min(most, len(right)), (text, urls, sorted(right))
    assert set(urls) <= set(right), (text, urls, sorted(right))
    for o in answer.objects:
        attributes = FLAG_OBJECTS[o.url]
        assert o.at.startswith("http://pages.test/object/"), text
        assert o.attributes == expected_attributes(flags, attributes), (text, o.url, o.attributes)
        desc = attributes.get("Description", "").encode() or None
        assert o.desc == (desc if "#desc" in flags else None), (text, o.url, o.desc)
        lines = [] if "#opaque" in flags else right[o.url]
        assert o.lines == lines, (text, o.url, o.lines, lines)


def flag_list(flags, dice):
    """In any order; but that of attributes is that of the answer."""
    asked = [f for f in flags if f.startswith("#attribute")]
    others = [f for f in flags if f and f not in asked]
    dice.shuffle(others)
    return " ".join(others + asked)


@pytest.mark.limit(300)
def test_all_flags_agree_with_each_other(garner, long_run, seed):
    """In the long form all 1,152 combinations, and every query with all that change what matches."""
    broker, dice = Broker(garner, FLAG_OBJECTS), random.Random(seed)
    every = [(flags, query) for flags in itertools.product(*CHOICES) for query in dice.sample(QUERIES, 2)]
    every += [(flags, query) for flags in itertools.product(*CHOICES[2:5]) for query in QUERIES]
    for flags, query in every if long_run else dice.sample(every, 200):
        check_flags(broker, flag_list(flags, dice), query)


# What is large, odd, or asked for too often

def test_50_objects_are_told_where_nothing_is_asked(garner):
    broker = Broker(garner, {f"http://n.test/{i}": {"Full-Text": f"walnut {i}"} for i in range(70)})
    assert len(broker.answer("#USER #END walnut").objects) == 50
    assert len(broker.answer("#USER #index maxresult 70 #END walnut").objects) == 70
    assert len(broker.answer("#USER #index maxresult 60 #index maxfiles 7 #END walnut").objects) == 7
    assert len(broker.answer("#USER #index maxresult 1000 #END #allb").objects) == 70


def test_a_large_attribute_comes_whole(garner):
    text = "walnut\n" + "0123456789abcdef" * 200_000
    broker = Broker(garner, {"http://l.test/": {"Full-Text": text}})
    (o,) = broker.answer("#USER #attribute full-text #END walnut").objects
    assert o.attributes == [("full-text", text.encode())]
    assert o.lines == [("Full-Text", "walnut")]


def test_lines_of_more_than_a_kilobyte_are_cut_around_what_matched(garner):
    broker = Broker(garner, {"http://l.test/": {"Full-Text": "x " * 3000 + "walnut" + " y" * 3000}})
    (o,) = broker.answer("#USER #END walnut").objects
    ((name, line),) = o.lines
    assert name == "Full-Text" and "walnut" in line and len(line) <= 1024


def test_each_query_of_the_event_log_has_its_end(garner):
    broker = Broker(garner, large_objects(60))
    log = broker.g.data / "broker/LOG"
    start = log.stat().st_size
    before = broker.counters()["queries_cancelled"]
    broker.ask("#USER #END (almond")
    broker.ask("#BULK #END (almond")
    with broker.connect(small=True) as s:  # and more than fits between the two
        s.sendall(b"#USER #opaque #attribute full-text #index maxresult 60 #END walnut\n")
        assert s.recv(1000, socket.MSG_WAITALL)
        hang_up(s)
    wait_for("its end", lambda: broker.counters()["queries_cancelled"] == before + 1, every=0.05)
    assert broker.process.stop() == 0
    said = re.findall(r" (Query|Query-Return|Bulk-Transfer|Bulk-Return) \S+ (?:result=(\w+))?", log.read_text()[start:])
    assert said == [("Query", ""), ("Query-Return", "refused"), ("Bulk-Transfer", ""), ("Bulk-Return", "refused"),
                    ("Query", ""), ("Query-Return", "cancelled")]


def test_no_byte_of_an_object_can_end_its_line(garner):
    """Whatever the values hold: an answer that is taken apart strictly has just this object."""
    text = ("walnut\r130 - object end\r\n120 - http://forged.test/\x0b\x0c\x85\u2028111 - ERROR\0end\n"
            "126 - http://x/\nwalnut")
    broker = Broker(garner, {"http://odd.test/": {"Title": text, "Description": text, "Full-Text": text}})
    (o,) = broker.answer("#USER #desc #attribute title #END walnut").objects
    assert o.url == "http://odd.test/" and o.desc == text.encode() == o.attributes[0][1]
    assert all("\n" not in line and "\r" not in line for _, line in o.lines)


# Bulk transfers

class Stream:
    """A bulk answer taken apart: {section: {url: {attribute: value}}}."""

    def __init__(self, text):
        m = re.fullmatch(rb"200 - [^\n]*Broker[^\n]*\n000 - [^\n]*\n(.*)099 - end of bulk transfer, next (\d+)\n",
                         text, re.S)
        assert m, text[:1000]
        self.next, self.sections, at, body = int(m[2]), {}, 0, m[1]
        for name in ("DELETE", "REFRESH", "UPDATE"):
            self.sections[name] = {}
            head = re.compile(rb"@%s \{( \}\n|\n)" % name.encode()).match(body, at)
            assert head, (name, body[at:at + 200])
            at = head.end()
            while head[1] == b"\n" and body[at:at + 2] != b"}\n":
                at = self.take(body, at, self.sections[name])
            at += 2 if head[1] == b"\n" else 0
        assert at == len(body), body[at:at + 200]

    @staticmethod
    def take(body, at, into):
        m = re.compile(rb"@FILE \{ (\S+)\n").match(body, at)
        assert m, body[at:at + 200]
        at, url = m.end(), m[1].decode()
        assert url not in into
        into[url] = {}
        while body[at:at + 2] != b"}\n":
            m = re.compile(rb"([^{}\n]+)\{(\d+)\}:\t").match(body, at)
            assert m, body[at:at + 200]
            end = m.end() + int(m[2])
            assert body[end:end + 1] == b"\n" and m[1].decode() not in into[url]
            into[url][m[1].decode()] = body[m.end():end]
            at = end + 1
        return at + 2

    def __getitem__(self, name):
        return self.sections[name]


def bulk(broker, since, query="#allb"):
    return Stream(broker.ask(f"#BULK #since {since} #END {query}"))


def as_bytes(attributes):
    return {k: str(v).encode() for k, v in with_identity(attributes).items()}


def test_a_bulk_transfer_tells_every_object_as_it_was_collected(garner):
    broker = Broker(garner, OBJECTS)
    told = bulk(broker, 0)
    assert not told["DELETE"] and not told["REFRESH"] and set(told["UPDATE"]) == set(OBJECTS)
    for url, attributes in OBJECTS.items():
        want = as_bytes(attributes)
        assert {k: v for k, v in told["UPDATE"][url].items() if k in want} == want
    assert set(bulk(broker, 0, "dog or quiet")["UPDATE"]) == {
        "http://a.test/one", "http://a.test/two", "http://c.test/silent"}


def test_what_is_deleted_refreshed_and_changed_since_is_told_as_such(garner):
    broker = Broker(garner, {f"http://s.test/{i}": {"Full-Text": f"walnut {i}"} for i in range(4)})
    first = bulk(broker, 0)
    wait_for("another second", lambda: int(time.time()) > first.next, every=0.1)
    later = int(time.time())
    broker.put({"http://s.test/0": {"Update-Time": later}}, "DELETE")
    broker.put({"http://s.test/1": {"Update-Time": later}}, "REFRESH")
    broker.put({"http://s.test/2": {"Update-Time": later, "Full-Text": "almond"}})
    wait_for("the changes", lambda: broker.urls("#USER #END almond") and
             len(broker.urls("#USER #END #allb")) == 3, every=0.05)
    told = wait_for("the refresh", lambda: (lambda t: t if t["REFRESH"] else None)(bulk(broker, later)), every=0.1)
    assert set(told["DELETE"]) == {"http://s.test/0"}
    assert set(told["REFRESH"]) == {"http://s.test/1"}
    assert set(told["UPDATE"]) == {"http://s.test/2"}
    assert told["REFRESH"]["http://s.test/1"]["Update-Time"] == str(later).encode()
    assert "Full-Text" not in told["REFRESH"]["http://s.test/1"]
    assert told["UPDATE"]["http://s.test/2"]["Full-Text"] == b"almond"
    assert told.next >= first.next


def test_the_administrator_sees_to_objects(garner, hashed):
    broker = with_password(garner, hashed, objects=OBJECTS)
    gone = broker.admin("#rem-object-query quiet")
    assert gone.said and not gone.wrong, gone
    wait_for("it is gone", lambda: broker.urls("#USER #END quiet") == [], every=0.05)
    (o,) = broker.answer("#USER #END Walnut").objects
    assert broker.admin(f"#rem-object-path {o.at}").said
    wait_for("it is gone", lambda: broker.urls("#USER #END Walnut") == [], every=0.05)
    assert broker.admin("#full-index").said
    assert len(broker.urls("#USER #END #allb")) == len(OBJECTS) - 2


def test_of_many_that_are_left_out_the_first_are_named_and_the_others_counted(garner, hashed):
    broker = with_password(garner, hashed, objects=OBJECTS)
    bad = "@FILE { bad\n" * 50
    (broker.g.data / "broker/add/bad.soif").write_text(bad)
    assert broker.admin("#add-object bad.soif").said == ["0 objects were taken, 50 left out"]
    assert len(broker.process.lines("object skipped file=")) == 20
    assert broker.process.lines("added file=bad.soif objects=0 bad=50")
    (broker.g.data / "in/bad.new").write_text(bad)
    (broker.g.data / "in/bad.new").rename(broker.g.data / "in/1000.soif")
    # the last has no end yet, and may grow
    broker.process.wait_line("more objects skipped feed=soif:in objects=29")
    assert len(broker.process.lines("object skipped feed=")) == 20


def test_every_command_of_an_administrator_is_known(garner, hashed):
    """Each is done, or refused with a word about what it lacks, and the broker goes on."""
    broker = with_password(garner, hashed, objects=OBJECTS)
    (broker.g.data / "broker/add").mkdir(exist_ok=True)
    commands = ("#add-log Update", "#add-log Nonsense", "#add-object missing", "#add-object ../in/1.soif",
                "#clean-broker", "#close-log", "#open-log", "#collection", "#do-stats", "#flush-log",
                "#full-index", "#incremental-index", "#rem-log Update", "#rem-object-path 4000000",
                "#rem-object-query (", "#restart", "#rotate-log", "#set max_lifetime 30s", "#set nonsense 1")
    refused = {"#add-log Nonsense", "#add-object missing", "#add-object ../in/1.soif", "#rem-object-path 4000000",
               "#rem-object-query (", "#set nonsense 1"}
    for command in commands:
        answer = wait_for(command, lambda: broker.admin(command), every=0.1)  # noqa: B023
        assert bool(answer.wrong) == (command in refused), (command, answer)
        assert all("ERROR: unknown" not in w for w in answer.wrong)
    assert len(broker.urls("#USER #END #allb")) == len(OBJECTS)
    assert broker.admin("#shutdown").said
    assert broker.process.wait() == 0
