"""What a broker with Glimpse's meaning has to answer, computed from the objects: which match, and in
which lines. Without flags capitals count and parts of words match; a word with errors never joins two
words or splits one. For ASCII, and letters with accents, which count exactly when capitals do."""
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

LINES_MOST = 10


@dataclass(frozen=True)
class Flags:
    insensitive: bool = False
    matchword: bool = False
    errors: int = 0


def folded(word):
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c))


def words_of(text):
    return re.findall(r"[^\W_]+", text)


@lru_cache(maxsize=1 << 18)
def distance(word, text, free_before, free_after):
    """The least number of errors between a word and the text, or its end (free_before), or its
    beginning (free_after), or a part of it (both)."""
    row = [0 if free_before else j for j in range(len(text) + 1)]
    for i, c in enumerate(word, 1):
        diagonal, row[0] = row[0], i
        for j, d in enumerate(text, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (c != d))
    return min(row) if free_after else row[-1]


class Word:
    """A word or a phrase, anywhere or in an attribute."""

    def __init__(self, text, attribute=None):
        self.words, self.attribute = words_of(text), attribute

    def __str__(self):
        text = self.words[0] if len(self.words) == 1 else f'"{" ".join(self.words)}"'
        return f"{self.attribute} : {text}" if self.attribute else text

    def leaves(self):
        return [self]

    def in_line(self, line, flags):
        """Whether a line has it."""
        fold = folded if flags.insensitive else (lambda w: w)
        want, have = [fold(w) for w in self.words], [fold(w) for w in words_of(line)]
        last = len(want) - 1
        parts = not flags.matchword
        for at in range(len(have) - last):
            errors = [distance(w, have[at + i], parts and i == 0, parts and i == last)
                      for i, w in enumerate(want)]
            if sum(errors) <= flags.errors and all(e < len(w) or e == 0 for e, w in zip(errors, want)):
                return True
        return False

    def lines(self, attributes, flags):
        """(attribute, line) of an object that have it."""
        return [(name, line) for name, value in attributes.items()
                if not self.attribute or name.lower() == self.attribute.lower()
                for line in str(value).split("\n") if self.in_line(line, flags)]

    def matches(self, attributes, flags):
        return bool(self.lines(attributes, flags))


class Join:
    """Two with AND, OR or EXCEPT between them, in brackets."""

    def __init__(self, left, how, right):
        self.left, self.how, self.right = left, how, right

    def __str__(self):
        return f"({self.left} {self.how} {self.right})"

    def leaves(self):
        """Those that are looked for: not what EXCEPT takes away."""
        return self.left.leaves() + ([] if self.how.lower() == "except" else self.right.leaves())

    def matches(self, attributes, flags):
        left, right = self.left.matches(attributes, flags), self.right.matches(attributes, flags)
        return {"and": left and right, "or": left or right, "except": left and not right}[self.how.lower()]


def matching(query, objects, flags):
    """{url: its matched lines, in their order}."""
    found = {}
    for url, attributes in objects.items():
        if query.matches(attributes, flags):
            hit = {pair for leaf in query.leaves() for pair in leaf.lines(attributes, flags)}
            found[url] = [(name, line) for name, value in attributes.items()
                          for line in str(value).split("\n") if (name, line) in hit][:LINES_MOST]
    return found
