#!/usr/bin/python3
"""queries.py CORPUS OUT SEED [N]: N (2,000) different queries of each kind, and known items for the quality.

OUT/term.tsv, and.tsv, or.tsv, phrase.tsv, attr.tsv: a class and one to three words a line. Words are letters, 4 to 16
of them, of three bands: rare (2 to 9 documents), medium (0.1 to 0.8 % of them), common (7.7 to 65 %). Words of an AND
stand in one document, phrases are taken from the text, attr is a word of titles, alone or with one of the body.

OUT/prefix.tsv: the first 3 to 6 letters of medium words. fuzzy1.tsv, fuzzy2.tsv: medium and common words with one or
two edits. part.tsv: 4 to 8 letters from inside a word. regex.tsv: expressions of four classes: r0, letters after a
beginning; r1, before an end; r2, two words; r3, one of two beginnings and digits.

OUT/known.tsv: 500 times somebody remembers a document and types words of its title (40 %), of a heading (30 %), the
name or the one line of a manual page (30 %); one in five with a typo. Query id, source, typo (0, 1), query, and the ids
of the right documents: it and those that cannot be told from it, at most three. The same seed and corpus give the
same queries; a claim wants a seed that was not tuned with."""
import collections
import html
import random
import re
import sys
from pathlib import Path

from vocabulary import STOP, WORD, count, documents, typo

KNOWN = 500
SAMPLE = 2500


class Words:
    """The vocabulary in bands."""

    def __init__(self, path, wanted):
        self.n, self.bodies, self.titles = count(path)
        self.good = sorted(w for w in self.bodies if w.isalpha() and 4 <= len(w) <= 16 and w not in STOP)
        self.rare = self.band(2, 10)
        self.medium = self.band(max(2, self.n * .001), max(5, self.n * .008))
        low = self.n * .077
        self.common = self.band(low, self.n * .65)
        while len(self.common) <= wanted // 3 and low > 2:  # a small corpus is short of them
            low *= .8
            self.common = self.band(low, self.n * .65)

    def band(self, low, high):
        return [w for w in self.good if low <= self.bodies[w] < high]


def different(*words):
    return words if len(set(words)) == len(words) else None


def makers(words, sample):
    """By kind: (class, function of dice that gives words, or None: try again)."""
    sets = [sorted(set(WORD.findall(d.lower()))) for d in sample]

    def any_of(*bands):
        return lambda dice: different(*(dice.choice(b) for b in bands))

    def together(*bands):
        inside = [set(b) for b in bands]

        def pick(dice):
            there = dice.choice(sets)
            found = [[w for w in there if w in s] for s in inside]
            return different(*(dice.choice(f) for f in found)) if all(found) else None
        return pick

    def phrase(n):
        pattern = re.compile(r"[A-Za-z]{3,}" + r" [A-Za-z]{3,}" * (n - 1) + r"(?![A-Za-z])")

        def pick(dice):
            text = dice.choice(sample)
            m = pattern.search(text, dice.randrange(len(text)))
            if not m or (m.start() and text[m.start() - 1].isalnum()):
                return None
            found = tuple(m.group().lower().split(" "))
            return found if found[0] not in STOP and found[-1] not in STOP else None
        return pick

    def prefix(n):
        long = [w for w in words.medium if len(w) >= 8]
        return lambda dice: (dice.choice(long)[:n],)

    def fuzzy(band, edits):
        long = [w for w in band if len(w) >= 4 + 2 * edits]
        return lambda dice: (typo(dice, dice.choice(long), edits),)

    def part(band):  # neither the first nor the last letter
        long = [w for w in band if len(w) >= 6]

        def pick(dice):
            w = dice.choice(long)
            n = dice.randint(4, min(8, len(w) - 2))
            i = dice.randint(1, len(w) - n - 1)
            return (w[i:i + n],)
        return pick

    def wrong(edits):  # three medium ones to two common
        return [("medium", fuzzy(m, edits))] * 3 + [("common", fuzzy(c, edits))] * 2

    titled = [w for w in words.good if words.titles[w] >= 2]
    both = [w for w in titled if words.bodies[w] >= 20]
    r, m, c = words.rare, words.medium, words.common
    return {
        "term": [("rare", any_of(r)), ("medium", any_of(m)), ("common", any_of(c))],
        "and": [("medium+medium", together(m, m)), ("medium+common", together(m, c)), ("common+common", together(c, c))],
        "or": [("medium+medium", any_of(m, m)), ("medium+common", any_of(m, c)), ("common+common", any_of(c, c))],
        "phrase": [("two", phrase(2)), ("three", phrase(3))],
        "attr": [("title", any_of(titled)), ("title+body", any_of(both, c))],
        "prefix": [(f"first{n}", prefix(n)) for n in (3, 4, 5, 6)],
        "fuzzy1": wrong(1),
        "fuzzy2": wrong(2),
        "part": [("rare", part(r)), ("medium", part(m)), ("common", part(c))],
        "regex": [("r0", lambda dice: (dice.choice(m)[:4] + "[a-z]*ing",)),
                  ("r1", lambda dice: ("[A-Z][a-z]*" + dice.choice(m)[-4:],)),
                  ("r2", lambda dice: (dice.choice(m) + "[ _-]" + dice.choice(c),)),
                  ("r3", lambda dice: (f"({dice.choice(m)[:5]}|{dice.choice(m)[:5]})[0-9]+",))],
    }


def write_kind(out, kind, classes, seed, n):
    dice = random.Random(f"{kind}/{seed}")
    seen, rows = set(), []
    for i, (name, make) in enumerate(classes):
        want, tries = n * (i + 1) // len(classes), 0
        while len(rows) < want and tries < 300 * n:
            tries += 1
            found = make(dice)
            if found and found not in seen:
                seen.add(found)
                rows.append((name, *found))
    (out / f"{kind}.tsv").write_text("".join("\t".join(r) + "\n" for r in rows))


# known items

BETWEEN = re.compile(r"\s+[-|\u2013\u2014\u00b7:]+\s+|\s*[|\u2014]\s*")
MANUAL = re.compile(r"/man/man\d/(.+)\.\d[a-z]*\.gz$")
ONE_LINE = re.compile(r'\.SH "?NAME"? (.{3,200}?) \\?\\- (.{10,200}?) \.(?:SH|\\"|IX|PP)')
HEADING = re.compile(r"<h[1-3][^>]*>(.{5,300}?)</h[1-3]>", re.S | re.I)


def typed(text, least, bodies):
    """What somebody would type of it, or None where that says too little."""
    if not text.isascii() or re.search(r"\.(rst|txt|gz|html)\b", text):
        return None
    w = [x for x in re.findall(r"[A-Za-z0-9_]+", text) if x.lower() not in STOP and not x.isdigit() and len(x) > 1]
    if not least <= len(w) <= 12 or len({x.lower() for x in w}) < len(w) or sum(len(x) > 3 for x in w) < least:
        return None
    return tuple(x.lower() for x in w) if all(bodies[t] for x in w for t in WORD.findall(x.lower())) else None


def memories(corpus, words, dice):
    """By source: words -> ids of the documents that they could mean."""
    pool = {s: collections.defaultdict(set) for s in ("title", "heading", "man-name", "man-line")}
    titles, parts = [], collections.Counter()
    for number, _, path, title, body in documents(corpus / "docs.tsv"):
        manual = MANUAL.search(path)
        if manual:
            if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{3,30}", manual.group(1)):
                pool["man-name"][(manual.group(1).lower(),)].add(number)
            line = ONE_LINE.search(body[:20000])
            found = typed(line.group(2), 3, words.bodies) if line else None
            if found:
                pool["man-line"][found].add(number)
        elif path.endswith(".html"):
            pieces = [p.strip() for p in BETWEEN.split(re.sub(r"\s*\(([^()]*)\)", r" | \1 | ", title)) if p]
            parts.update(set(pieces))
            titles.append((number, path, pieces))
    for number, _, pieces in titles:  # what stands in many titles is the name of the book
        found = typed(" ".join(p for p in pieces if parts[p] <= 20), 2, words.bodies)
        if found:
            pool["title"][found].add(number)
    dice.shuffle(titles)
    for number, path, _ in titles[:12 * KNOWN]:
        try:
            text = (corpus / "x" / path).read_text(encoding="utf-8", errors="replace")[:400000]
        except OSError:
            continue
        for heading in set(HEADING.findall(text)):
            heading = html.unescape(re.sub(r"<[^>]+>", "", heading)).strip()
            found = typed(re.sub(r"^[\d.A-Z]*\d[.\d]*\s", "", heading), 3, words.bodies)
            if found and found not in pool["title"]:
                pool["heading"][found].add(number)
    return pool


def write_known(corpus, out, words, seed):
    dice = random.Random(f"known/{seed}")
    pool, chosen, used = memories(corpus, words, dice), [], set()
    for source, share in (("title", .4), ("heading", .3), ("man-name", .15), ("man-line", .15)):
        keys = sorted(k for k, ids in pool[source].items() if len(ids) <= 3)
        dice.shuffle(keys)
        want = round(KNOWN * share)
        for key in keys:
            ids = pool[source][key]
            if want and not ids & used:
                rarest = sorted(range(len(key)), key=lambda i: min(words.bodies[t] for t in WORD.findall(key[i])))[:5]
                chosen.append([source, [w for i, w in enumerate(key) if i in rarest], ids, False])
                used |= ids
                want -= 1
    dice.shuffle(chosen)
    left = {source: n // 5 for source, n in collections.Counter(item[0] for item in chosen).items()}
    for item in chosen:  # one in five of each source
        at = [i for i, w in enumerate(item[1]) if len(w) >= 5 and w.isalpha()]
        for _ in range(50 if at and left[item[0]] else 0):
            i = dice.choice(at)
            wrong = typo(dice, item[1][i])
            if wrong.isalpha() and not words.bodies[wrong]:
                item[1][i], item[3] = wrong, True
                left[item[0]] -= 1
                break
    dice.shuffle(chosen)
    with open(out / "known.tsv", "w") as f:
        for i, (source, w, ids, wrong) in enumerate(chosen):
            f.write(f"{i}\t{source}\t{int(wrong)}\t{' '.join(w)}\t{','.join(sorted(ids, key=int))}\n")


def main(corpus, out, seed, n):
    out.mkdir(parents=True, exist_ok=True)
    words = Words(corpus / "docs.tsv", n)
    dice = random.Random(f"sample/{seed}")
    keep = min(1, SAMPLE / words.n)
    sample = [d[4][:20000] for d in documents(corpus / "docs.tsv") if dice.random() < keep]
    for kind, classes in makers(words, sample).items():
        write_kind(out, kind, classes, seed, n)
    write_known(corpus, out, words, seed)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 2000)
