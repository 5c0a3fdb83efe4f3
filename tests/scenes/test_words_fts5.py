"""The words index and SQLite's FTS5 count the same: words, AND, OR, phrases, attributes, over the documentation of
this machine. FTS5 folds as unicode61 does; where the two differ, the documents that do have letters beyond ASCII in
them (FTS5 makes one word of "Linux" and the Chinese letters next to it, and does not know that a ligature is two letters)."""
import json
import pathlib
import random
import re
import sqlite3

import pytest

DOCS, QUERIES, SEED = 1500, 400, 20240517
WORD = re.compile(r"[a-z]{2,12}")


def documents():
    """Texts from /usr/share/doc, cut; the same ones in every run on the same machine."""
    paths = sorted(p for p in pathlib.Path("/usr/share/doc").glob("*/*") if p.suffix in ("", ".txt", ".md", ".html"))
    for path in random.Random(SEED).sample(paths, min(len(paths), 2 * DOCS)):
        if path.is_file() and path.stat().st_size < 200_000:
            text = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            yield str(path), path.parent.name + " " + path.name, text[:20_000]


def queries(texts):
    dice = random.Random(SEED)
    words = [w for text in dice.sample(texts, min(len(texts), 200)) for w in WORD.findall(text.lower())]
    words = [w for w in words if w not in ("and", "or", "not")]
    for number in range(QUERIES):
        a, b, at = dice.choice(words), dice.choice(words), dice.randrange(len(words) - 3)
        run = " ".join(words[at:at + dice.randint(2, 3)])
        yield [(a, f'"{a}"'), (f"{a} {b}", f'"{a}" AND "{b}"'), (f"{a} OR {b}", f'"{a}" OR "{b}"'),
               (f'"{run}"', f'"{run}"'), (f"title : {a} {b}", f'title:"{a}" AND "{b}"'),
               (f"{a} -{b}", f'"{a}" NOT "{b}"')][number % 6]


def test_counts_agree_with_fts5(garner):
    found = list(documents())[:DOCS]
    if len(found) < 50:
        pytest.skip("this machine has no documentation")
    g = garner()
    lines = [json.dumps({"key": k, "title": t, "full-text": x}) for k, t, x in found]
    built = g.run("index", "words", "build", "w", input="\n".join(lines) + "\n")
    assert built.code == 0, built.err
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table t using fts5(k unindexed, title, body, tokenize='unicode61 remove_diacritics 2')")
    db.executemany("insert into t values(?, ?, ?)", found)
    plain = {k for k, t, x in found if (t + x).isascii()}
    asked = list(queries([x for _, _, x in found]))
    told = g.run("index", "words", "query", "w", "--batch", "-k", str(DOCS),
                 input="".join(ours + "\n" for ours, _ in asked))
    assert told.code == 0, told.err
    hits = 0
    for (ours, theirs), line in zip(asked, told.out.splitlines(), strict=True):
        ids = set(json.loads(line)["ids"])
        want = {row[0] for row in db.execute("select k from t where t match ?", (theirs,))}
        assert not (ids ^ want) & plain, ours
        hits += len(ids & want)
    assert hits > QUERIES
