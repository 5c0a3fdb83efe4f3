"""garner index words: documents in, answers out, and the same counts as SQLite's FTS5 gives."""
import gzip
import html
import json
import random
import re
import sqlite3
import unicodedata

import pytest

import peers

TSV = "1\tFirst words\tthe quick brown fox\n2\tSecond\tthe lazy dog, and a Fox\n3\tThird\tnothing of this\n"


def build(garner, text, *args, name="i"):
    g = garner()
    g.built = g.run("index", "words", "build", *args, name, input=text, timeout=120)
    return g


def ask(g, *args):
    return g.run("index", "words", "query", "i", *args)


def ids(g, *args):
    return [h["key"] for h in ask(g, "--json", *args).json()["hits"]]


def batch(g, queries, *args):
    done = g.run("index", "words", "query", "i", "--batch", *args, input="\n".join(queries) + "\n", timeout=120)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


# what goes in

def test_lines_with_tabs_are_documents_with_title_and_text(garner):
    g = build(garner, TSV)
    assert g.built.code == 0 and g.built.out == "3 documents, 0 rejected\n" and g.built.err == ""
    assert sorted(ids(g, "fox")) == ["1", "2"]
    assert ids(g, "title : second") == ["2"]
    assert ids(g, "full-text : second") == []
    assert ids(g, '"quick brown"') == ["1"] and ids(g, '"brown quick"') == []
    assert ids(g, "the AND NOT lazy") == ["1"]
    assert ids(g, "--exact", "Fox") == ["2"]


def test_matches_are_counted_by_columns_by_year_and_by_size(garner):
    docs = [{"url": f"http://{site}/{i}", "title": "apple", "Site": site, "type": kind, "size": size,
             "Last-Modification-Time": when}
            for i, (site, kind, size, when) in enumerate([
                ("A.org", "HTML", 10, 1700000000), ("a.org", "HTML", 5000, 1700000001), ("b.org", "PDF", 5000, 1600000000)])]
    g = build(garner, "".join(json.dumps(d) + "\n" for d in docs), "--columns", "size,site:word,type:word")
    assert g.built.code == 0
    told = ask(g, "--facets", "site,type,year,size", "--json", "apple").json()
    assert told["total"] == 3 and "facet_sample" not in told
    counts = {f["name"]: {v["value"]: v["count"] for v in f["values"]} for f in told["facets"]}
    assert counts == {"site": {"a.org": 2, "b.org": 1}, "type": {"html": 2, "pdf": 1},
                      "year": {"2023": 2, "2020": 1}, "size": {"1k-10k": 2, "under 1k": 1}}
    assert all(f["rest"] == 0 for f in told["facets"])
    assert "       2  a.org\n       1  b.org\n" in ask(g, "--facets", "site", "apple").out
    assert ask(g, "--count", "site : A.ORG").out == "2\n"
    assert ask(g, "--count", "apple AND NOT site : a.org").out == "1\n"
    wrong = ask(g, "--facets", "colour", "apple")
    assert wrong.code == 2 and "cannot count by 'colour'; it can by year, size, site, type" in wrong.err


def test_json_and_soif_are_told_apart_from_lines_with_tabs(garner):
    g = build(garner, '{"url":"http://a/","title":"One","size":12,"keywords":["red","green apples"]}\n'
              '{"id":"b","title":"Two","size":40,"Full-Text":"apples"}\n', "--columns", "size")
    assert g.built.code == 0
    assert sorted(ids(g, "apples")) == ["b", "http://a/"]
    assert ids(g, "apples AND size > 20") == ["b"]
    (g.dir / "more.soif").write_text("@FILE { http://c/\nTitle{5}:\tThree\nFull-Text{6}:\tapples\n}\n")
    assert g.run("index", "words", "build", "i", "more.soif").code == 0
    assert ask(g, "--count", "apples").out == "3\n"
    (g.dir / "less.soif").write_text("@DELETE { @FILE { http://a/\n}\n}\n")
    assert g.run("index", "words", "build", "i", "less.soif").code == 0
    assert sorted(ids(g, "apples")) == ["b", "http://c/"]


def test_what_is_no_document_is_named_and_the_rest_is_taken(garner):
    g = build(garner, '{"url":"http://a/","title":"One"}\n{"title":"nobody"}\n[1]\nno\n{"url":"c","x":"yes"}\n')
    assert g.built.code == 3 and g.built.out == "2 documents, 3 rejected\n"
    assert "standard input:2: no member" in g.built.err
    assert ids(g, "yes") == ["c"]
    done = g.run("index", "words", "build", "-f", "tsv", "i", input="one\ttwo\n")
    assert done.code == 3 and "expected id, title and text" in done.err


def test_a_document_replaces_the_one_with_its_key_also_in_the_store(garner):
    g = build(garner, TSV)
    assert g.run("index", "words", "build", "i", input="1\tFirst\tcat\n9\tx\tcat\n9\ty\tcat again\n").code == 0
    assert sorted(ids(g, "cat")) == ["1", "9"] and ids(g, "quick") == []
    stats = g.run("index", "words", "stats", "--json", "i").json()
    assert stats["documents"] == 4 and stats["stored_documents"] == 6 and stats["stored_deleted"] == 2
    soif = g.run("index", "words", "dump", "--soif", "i").out
    assert soif.count("@FILE") == 4 and "cat again" in soif and "quick" not in soif


def test_without_text_there_is_an_index_and_no_store(garner):
    g = build(garner, TSV, "--no-text")
    assert sorted(ids(g, "fox")) == ["1", "2"]
    assert not (g.dir / "i" / "docs").exists()
    assert g.run("index", "words", "dump", "--soif", "i").code == 4


# what comes out

def test_a_batch_answers_every_line_also_one_that_is_no_query(garner):
    g = build(garner, TSV)
    done = g.run("index", "words", "query", "i", "--batch", "-k", "1", input="fox\n(fox\nnowhere\n")
    found, wrong, none = map(json.loads, done.out.splitlines())
    assert done.code == 3
    assert len(found["ids"]) == 1 and found["total"] == 2 and found["us"] > 0
    assert "bracket" in wrong["error"]
    assert none["ids"] == [] and none["total"] == 0 and none["exact"]


def test_answers_for_people_have_titles_and_an_exit_code(garner):
    g = build(garner, TSV)
    done = ask(g, "lazy")
    assert done.code == 0 and re.search(r"^ +\d+\.\d+  2  Second$", done.out, re.M)
    assert ask(g, "nowhere").code == 1
    assert ask(g).code == 2 and g.run("index", "words", "query", "nothing-here", "x").code == 2


def test_what_is_shown_stays_on_its_line_and_gives_a_terminal_no_orders(garner):
    g = build(garner, json.dumps({"id": "a", "title": "one\ntwo \x1b[31m red \u009b1m é"}) + "\n")
    done = ask(g, "two")
    assert done.out.splitlines()[0].endswith("a  one two  [31m red  1m é")
    assert len(done.out.splitlines()) == 2


def test_what_is_typed_is_completed_to_words_and_titles(garner):
    g = build(garner, "1\tThe fox\tfox foxes\n2\tThe foxglove\tfox\n3\tThe foxglove\tfrog\n")
    done = g.run("index", "words", "suggest", "i", "fo")
    assert [line.split() for line in done.out.splitlines()[:3]] == [["2", "fox"], ["2", "foxglove"], ["1", "foxes"]]
    both = g.run("index", "words", "suggest", "i", "--json", "-n", "1", "the", "fox").json()
    assert both["words"] == [{"text": "the fox", "documents": 2}]
    assert sorted(both["titles"]) == ["The fox", "The foxglove"]
    assert g.run("index", "words", "suggest", "i", "xyzzy").code == 1


def test_dump_and_check_look_at_all_of_it(garner):
    g = build(garner, TSV)
    lines = g.run("index", "words", "dump", "i").out.splitlines()
    assert sorted(line.split("\t")[0] for line in lines) == ["1", "2", "3"]
    terms = g.run("index", "words", "dump", "--terms", "i").out.splitlines()
    assert "\tfox\t2\t2" in terms and any(t.startswith("title\tsecond\t1") for t in terms)
    assert g.run("index", "words", "check", "i").out == "3 documents in 1 segments, all sound\n"
    assert g.run("check", "i").code == 0
    docs = next((g.dir / "i" / "docs").glob("*.docs"))
    assert "3 documents" in g.run("dump", docs).out
    assert "file 1: 3 documents" in g.run("dump", "i/docs/table").out
    bytes_ = bytearray(docs.read_bytes())
    bytes_[100] ^= 1
    docs.write_bytes(bytes_)
    done = g.run("index", "words", "check", "i")
    assert done.code == 4 and "block of documents at byte 64 is damaged" in done.err
    assert g.run("check", "i").code == 4


# the same counts as SQLite's FTS5

MARKS = "".join(map(chr, (c for c in range(0x110000) if unicodedata.category(chr(c))[0] == "M")))
WORD = re.compile(f"[^\\W_][^\\W_{MARKS}]*(?:[{MARKS}]+[^\\W_]*)*")
NO_BLANKS = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")


def debian_documents():
    """Title and text of manual pages and of the Debian policy."""
    root = peers.need("manpages", "debian-policy").root
    for path in sorted(p for p in root.glob("usr/share/man/**/*.gz") if p.is_file()):
        yield path.name, gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    for path in sorted(p for p in root.glob("usr/share/doc/debian-policy/**/*.html") if p.is_file()):
        text = path.read_text(encoding="utf-8", errors="replace")
        title = re.search(r"<title>(.*?)</title>", text, re.S)
        yield title.group(1) if title else path.name, html.unescape(re.sub(r"<[^<>]*>", " ", text))


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def fold(word):
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word.group()).casefold())
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.combining(c) in (0, 8, 9))
    return re.sub(f"[^\\w{MARKS}]|_", "", unicodedata.normalize("NFC", plain))


def same_folding(text):
    """What garner does and FTS5 does not: a word is found in the text as it is, and then its compatibility forms
    and cases are folded, so that a fraction in one character is one word of two numbers; accents go from letters of
    all scripts, not of Latin ones alone; each letter is a word in scripts without blanks."""
    return " ".join(part if part.isascii() else NO_BLANKS.sub(r" \1 ", WORD.sub(fold, part))
                    for part in text.split(" "))


def make_queries(documents, seed):
    dice = random.Random(seed)
    words = [re.findall(r"[^\W_]+", f"{title} {text}") for title, text in documents]
    words = [w for w in words if len(w) > 3]

    def word():
        return dice.choice(dice.choice(words))

    def run_of(n):
        w = dice.choice(words)
        at = dice.randrange(len(w) - n)
        return " ".join(w[at:at + n])
    for _ in range(400):
        yield "term", f'"{word()}"'
        yield "and", f'"{word()}" AND "{word()}"'
        yield "or", f'"{word()}" OR "{word()}"'
        yield "phrase", f'"{run_of(dice.choice((2, 2, 3, 4)))}"'


@pytest.mark.limit(240)
def test_counts_agree_with_fts5_on_debian_documentation(garner, seed):
    documents = [(one_line(t), one_line(x)) for t, x in debian_documents()]
    assert len(documents) > 300
    g = build(garner, "".join(f"{i}\t{t}\t{x}\n" for i, (t, x) in enumerate(documents)))
    assert g.built.code == 0, g.built.err
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table t using fts5(title, body, tokenize='unicode61 remove_diacritics 2')")
    db.executemany("insert into t values(?, ?)", [(same_folding(t), same_folding(x)) for t, x in documents])
    queries = list(make_queries(documents, seed))
    answers = batch(g, [q for _, q in queries], "--count")
    found = 0
    for (kind, query), answer in zip(queries, answers, strict=True):
        want, = db.execute("select count(*) from t where t match ?", (same_folding(query).replace(" and ", " AND ")
                                                                      .replace(" or ", " OR "),)).fetchone()
        assert answer["exact"] and answer["total"] == want, f"{kind} {query}: {answer['total']}, FTS5 has {want}"
        found += want
    assert found > len(queries)
