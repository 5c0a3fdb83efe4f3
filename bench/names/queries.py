#!/usr/bin/python3
"""queries.py BASENAMES OUT SEED [N]: N (2,000) different queries of each kind, a class and a pattern a line.

OUT/exact.tsv: whole names: common ones (in a thousand places or more), medium (10 to 199), rare (one), and names that
are nowhere. sub.tsv: parts of names, of 3 to 5, 6 to 8 and 9 to 12 characters, some letters in the other case.
subcase.tsv: the same as they stand. regex.tsv: expressions with three literal characters in a row: r0, a beginning and
an ending; r1, digits between; r2, letters about an inner part; r3, a character that may be there; r4, one of two words
and a number. regex0.tsv: such as have no three in a row: z0 to z4. Each was made from a name that it finds. The same
seed and names give the same queries; a claim wants a seed that was not tuned with."""
import collections
import random
import re
import sys
from pathlib import Path

COMMON = 1000
PART = re.compile(r"[A-Za-z0-9._+~][A-Za-z0-9._+~-]*")
DOTTED = re.compile(r"([A-Za-z]{3,})(?:[^A-Za-z].*)?\.([A-Za-z0-9]{1,5})")
NUMBERED = re.compile(r"([A-Za-z]{2})[a-z]*([a-z]{2})([0-9]+)([A-Za-z_.-]{0,2}).*\.([A-Za-z])[A-Za-z0-9]{0,4}")
TWO_WORDS = re.compile(r"[A-Za-z0-9]+[^A-Za-z0-9][A-Za-z0-9]+")
RUN = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|.")
OPERATOR = re.compile(r"[][.+*?^$(){}|\\]")


def escaped(text):
    return OPERATOR.sub(r"\\\g<0>", text)


def shape(name):
    """Runs of classes instead of the characters: lib32-x.so is [a-z]{3}[0-9]{2}-[a-z]{1}\\.[a-z]{2}."""
    out = []
    for run in RUN.findall(name):
        kind = "[a-z]" if run.islower() else "[A-Z]" if run.isupper() else "[0-9]" if run.isdigit() else None
        out.append(kind + "{%d}" % len(run) if kind else escaped(run))
    return "".join(out)


class Names:
    def __init__(self, path):
        with open(path, encoding="utf-8", errors="replace") as f:
            self.count = collections.Counter(line.rstrip("\n") for line in f)
        self.all = sorted(n for n in self.count if self.plain(n))
        self.rare = self.band(1, 2)
        self.medium = self.band(10, 200) or self.band(2, 200)
        least = COMMON
        while least > 1 and not self.band(least, 1 << 40):  # a small corpus is short of them
            least //= 2
        self.common = self.band(least, 1 << 40)

    @staticmethod
    def plain(name):
        return (len(name) >= 3 and name.isascii() and name.isprintable() and " " not in name and "\\" not in name
                and name[0] != "-")

    def band(self, low, high):
        return [n for n in self.all if low <= self.count[n] < high]


def makers(names):
    """By kind: (class, function of dice that gives a pattern, or None: try again)."""
    def one_of(band):
        return lambda dice: dice.choice(band) if band else None

    def nowhere(dice):
        made = dice.choice(names.all)[::-1] + "qz"
        return None if made in names.count else made

    def part(low, high, swap):
        def pick(dice):
            name, n = dice.choice(names.all), dice.randint(low, high)
            if len(name) <= n:
                return None
            at = dice.randrange(len(name) - n + 1)
            found = name[at:at + n]
            if not PART.fullmatch(found):
                return None
            return "".join(c.swapcase() if swap and dice.random() < .3 else c for c in found)
        return pick

    def parts(swap):
        return [(f"len{a}-{b}", part(a, b, swap)) for a, b in ((3, 5), (6, 8), (9, 12))]

    def dotted(make):
        def pick(dice):
            m = DOTTED.fullmatch(dice.choice(names.all))
            other = re.sub(r"[^A-Za-z0-9_-]", "x", dice.choice(names.all)[:4])
            return make(*m.groups(), other) if m else None
        return pick

    def numbered(make):
        def pick(dice):
            m = NUMBERED.fullmatch(dice.choice(names.all))
            other = dice.choice(names.all)[:2].lower()
            return make(m, other) if m and other.isalnum() and other != m.group(2) else None
        return pick

    def shaped(dice):
        m = TWO_WORDS.search(dice.choice(names.all))
        return shape(m.group()) if m and len(m.group()) <= 20 else None

    return {
        "exact": [("common", one_of(names.common)), ("medium", one_of(names.medium)), ("medium", one_of(names.medium)),
                  ("rare", one_of(names.rare)), ("rare", one_of(names.rare)), ("nowhere", nowhere)],
        "sub": parts(True),
        "subcase": parts(False),
        "regex": [("r0", dotted(lambda a, e, o: rf"^{a[:5]}.*\.{e}$")),
                  ("r1", dotted(lambda a, e, o: rf"{a[:4]}[0-9]+\.{e}$")),
                  ("r2", dotted(lambda a, e, o: rf"^[a-z]+{a[-4:].lower()}[a-z_]*\.({e}|gz)")),
                  ("r3", dotted(lambda a, e, o: f"{a[:2]}.?{a[2:6]}")),
                  ("r4", dotted(lambda a, e, o: f"({a[:5]}|{o})[-_.][0-9]+"))],
        # The shape that never runs short comes last.
        "regex0": [("z2", numbered(lambda m, o: rf"^[A-Za-z]{{{m.end(2)}}}[0-9]+.*\.{m[5]}[a-z0-9]{{0,4}}$")),
                   ("z1", numbered(lambda m, o: f"{m[1]}[a-z]*[0-9]+{escaped(m[4])}")),
                   ("z0", numbered(lambda m, o: f"^{m[1]}[a-z]+[0-9]{{{len(m[3])}}}")),
                   ("z4", numbered(lambda m, o: f"({m[2]}|{o})[0-9]{{{len(m[3])}}}[^0-9]")),
                   ("z3", shaped)],
    }


def write_kind(out, kind, classes, seed, n):
    dice = random.Random(f"{kind}/{seed}")
    seen, rows = set(), []
    for i, (name, make) in enumerate(classes):
        want, tries = n * (i + 1) // len(classes), 0
        while len(rows) < want and tries < 100 * n:
            tries += 1
            found = make(dice)
            if found and found not in seen:
                seen.add(found)
                rows.append(f"{name}\t{found}\n")
    (out / f"{kind}.tsv").write_text("".join(rows))


def main(path, out, seed, n):
    out.mkdir(parents=True, exist_ok=True)
    names = Names(path)
    for kind, classes in makers(names).items():
        write_kind(out, kind, classes, seed, n)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 2000)
