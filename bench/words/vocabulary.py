"""What the makers of queries share: the documents of docs.tsv and their words."""
import collections
import re

WORD = re.compile(r"[a-z0-9]+")
STOP = set("the a an and or not of to in is are be by for on at as it this that with from near was were will would "
           "can if no but they then there their these into such".split())


def documents(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 5:
                yield fields


def count(path):
    """(documents, in how many bodies each word is, in how many titles)"""
    n, bodies, titles = 0, collections.Counter(), collections.Counter()
    for fields in documents(path):
        n += 1
        bodies.update(set(WORD.findall(fields[4].lower())))
        titles.update(set(WORD.findall(fields[3].lower())))
    return n, bodies, titles


def typo(dice, word, edits=1):
    """Edits, never of the first letter: a letter replaced, left out, put in, or two swapped."""
    while True:
        w = list(word)
        for _ in range(edits):
            i, how = dice.randrange(1, len(w)), dice.randrange(4)
            letter = dice.choice("abcdefghijklmnopqrstuvwxyz")
            if how == 0:
                w[i] = letter
            elif how == 1:
                del w[i]
            elif how == 2:
                w.insert(i, letter)
            elif i + 1 < len(w):
                w[i], w[i + 1] = w[i + 1], w[i]
        if "".join(w) != word:
            return "".join(w)
