"""Answers of the words index compared with those of agrep, glimpse and ripgrep, on files made from a seed.

Both are asked the same and say which files they find. Where they differ, a rule has to explain it, and a rule
computes: the least number of errors by brute force, within one word (doc/query.md) and within one line (the manual of
agrep). What garner says must follow from its definition in any case, and what the peer says from a rule about it; a
difference without one is raised. The rules, and what is known of the peers, are the functions explain_...()."""
import json
import random
import re
import subprocess
import unicodedata
from collections import Counter
from functools import lru_cache, partial

import garner

WORDS = """garden harvest apple orchard gatherer broker index search engine object summary message server client
network protocol archive library catalogue document dictionary vocabulary language grammar spelling mistake letter
alphabet character sentence paragraph chapter volume editor printer publisher bookshop reader writer author
history geography mountain valley river island harbour sailor captain voyage compass weather thunder lightning
rainbow sunshine shadow morning evening midnight winter summer autumn spring october november station railway
carriage bicycle engineer machine factory furnace copper silver mercury hydrogen oxygen chemistry physics
mathematics geometry triangle rectangle circle number fraction addition division kitchen kettle saucepan recipe
butter cheese vinegar pepper cinnamon cabbage potato tomato carrot onion mushroom chicken turkey rabbit hedgehog
squirrel elephant giraffe leopard butterfly caterpillar spider beetle window curtain cushion blanket pillow
candle lantern mirror picture painting sculpture museum theatre concert violin trumpet melody rhythm dancer
house horse mouse moose goose cat bat hat car cart chart smart start star stair fair pair pear year the and of
to in it is was for with that this from into over under after before between because although""".split()
FOREIGN = """Émile naïve façade Größe Straße Überfluß crème brûlée señor mañana piñata Ångström København smörgåsbord
łódź žluťoučký kůň словарь Слово книга КНИГА ελλάδα Ελλάδα λέξη ΛΕΞΗ été ÉTÉ e\u0301te\u0301 coöperate résumé""".split()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORD, LISTED = re.compile(r"[A-Za-z0-9]+"), re.compile(r"[A-Za-z0-9_]+")
BLOCK = 48 << 10  # what agrep reads at a time
BEYOND = 99  # more errors than are ever asked for


class Unexplained(Exception):
    """A difference that no rule explains."""


# texts

def mistyped(dice, word):
    at = dice.randrange(len(word))
    other = dice.choice(LETTERS)
    return dice.choice([
        word[:at] + other + word[at:], word[:at] + word[at + 1:], word[:at] + other + word[at + 1:],
        word[:at] + word[at + 1:at + 2] + word[at:at + 1] + word[at + 2:]]) or other


def written(dice, word):
    """A word as somebody wrote it: with mistakes, in capitals, in two, or as a part of a longer one."""
    for _ in range(dice.choice([0] * 12 + [1, 1, 1, 2, 2, 3])):
        word = mistyped(dice, word)
    turn = dice.random()
    if turn < 0.12:
        return word.capitalize()
    if turn < 0.16:
        return word.upper()
    if turn < 0.19 and len(word) > 3:
        at = dice.randrange(1, len(word))
        return word[:at] + dice.choice(" -'._") + word[at:]
    if turn < 0.22:
        return dice.choice(["", "un", "x", "re"]) + word + dice.choice(["s", "ing", "er", "2", "s's"])
    return word


def one_text(dice, words):
    """Lines of words, the first ones of the list more often than the last."""
    lines = []
    for _ in range(dice.randint(1, 6)):
        line = [written(dice, words[min(dice.randrange(len(words)), dice.randrange(len(words)))])
                for _ in range(dice.randint(1, 7))]
        if dice.random() < 0.2:
            line.append(str(dice.randrange(3000)))
        lines.append(dice.choice(["", "", "- ", "  "]) + dice.choice([" ", " ", " ", ", "]).join(line)
                     + dice.choice(["", ".", "!"]))
    return "\n".join(lines) + dice.choice(["\n", "\n", "\n\n"])


class Texts:
    """Files of text in a folder, and an index of them."""

    def __init__(self, folder, count, seed, foreign=False):
        dice = random.Random(seed)
        words = WORDS[:]
        dice.shuffle(words)
        if foreign:
            words = [w for pair in zip(words, FOREIGN * 9) for w in pair]
        self.folder, self.index = folder / "files", folder / "index"
        self.folder.mkdir(parents=True)
        self.text = {f"f{i:04}": one_text(dice, words) for i in range(count)}
        for name, text in self.text.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        lines = "".join(json.dumps({"key": name, "full-text": text}) + "\n" for name, text in self.text.items())
        self.run("build", self.index, text=lines)

    @staticmethod
    def run(*args, text):
        done = subprocess.run([garner.BUILD / "garner", "index", "words", *args], input=text, text=True,
                              encoding="utf-8", capture_output=True, timeout=120, env=garner.clean_environment())
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout

    def ask(self, queries, *options):
        """The names of the files that each query finds."""
        told = self.run("query", self.index, "--batch", "--order", "none", "-k", str(len(self.text)), *options,
                           text="".join(q + "\n" for q in queries))
        answers = [json.loads(line) for line in told.splitlines()]
        assert len(answers) == len(queries) and not [a for a in answers if "error" in a], told[:500]
        return [set(a["ids"]) for a in answers]


# errors by brute force

@lru_cache(maxsize=200_000)
def least_errors(word, text, whole, first=True):
    """The least number of errors between the word and any part of the text; with `whole` only parts that no letter
    or digit stands next to; without `first` only where no letter is left out before the first character
    of the text. The table of edit distances, a row for each character of the text."""
    n = len(word)
    row = list(range(n + 1)) if first else [0] + [BEYOND] * n
    best = row[n] if text == "" else BEYOND
    for at, c in enumerate(text, 1):
        last, row = row, [0 if not whole or not c.isalnum() else row[0] + 1]
        for i in range(1, n + 1):
            row.append(min(last[i - 1] + (word[i - 1] != c), last[i] + 1, row[i - 1] + 1))
        if row[n] < best and (not whole or at == len(text) or not text[at].isalnum()):
            best = row[n]
    return best


class Query:
    """A word, how many errors it may have, whether it must be a whole word and whether case counts."""

    def __init__(self, word, k, whole, case):
        self.word, self.k, self.whole, self.case = word if case else word.lower(), k, whole, case

    def __str__(self):
        return f"{self.word}~{self.k}{' -w' * self.whole}{' -i' * (not self.case)}"

    def written(self):
        """As garner has it; the errors of parts are an option."""
        word = "=" * self.case + (f'"{self.word}"' if self.word in ("and", "or", "not") else self.word)
        return word + f"~{self.k}" * (self.whole and self.k > 0)

    def flags(self):
        """As agrep and glimpse have it."""
        return [f"-{self.k}"] * (self.k > 0) + ["-w"] * self.whole + ["-i"] * (not self.case)

    def as_read(self, text):
        return text if self.case else text.lower()

    def errors_in_a_word(self, text):
        """What garner goes by: an error neither joins words nor splits one."""
        words = set(WORD.findall(self.as_read(text)))
        return min((least_errors(self.word, w, self.whole) for w in words), default=BEYOND)

    def errors_in_a_line(self, text):
        """What the manual of agrep says: a part of a line, with -w one without letters or digits next to it."""
        return min(least_errors(self.word, self.as_read(line), self.whole) for line in text.split("\n"))

    def is_near(self, word, first=True):
        """Whether glimpse takes a word of its list for it. Case does not count there; a whole word without errors, if
        its case does not count either, is looked up as it is."""
        if self.whole and self.k == 0 and not self.case:
            return word == self.word
        return least_errors(self.word.lower(), word, self.whole, first) <= self.k


def explain_agrep(query, text, ours, theirs):
    """agrep finds more: it counts an error that replaces, adds or drops what separates two words as any other."""
    if theirs and not ours and query.errors_in_a_line(text) <= query.k:
        return "an error across words"
    return None


class List:
    """The words of glimpse's index, in small letters and with _ as a letter: the line before that of each, and those that
    are lost with errors, because their line ends in the block after the one that it begins in, or up to two bytes before
    the end of it (tried with one word at every place)."""

    def __init__(self, index):
        lines = index.decode("latin-1").split("\n")
        words = [line.partition("\2")[0] for line in lines]
        self.before = dict(zip(words[1:], lines))
        self.lost = {words[index.count(b"\n", 0, at - n)] for at in range(BLOCK, len(index), BLOCK) for n in range(4)}

    def passes_over(self, query, word):
        """Right after a line that matches, be it in the bytes after its word, it does not see that first letters of the
        query are left out."""
        return not query.is_near(word, first=False) and query.is_near(self.before.get(word, "").lower())


def explain_glimpse(query, text, ours, theirs, listed):
    """glimpse looks for words in its list and lets agrep look into the files that have them. So it may find more
    for the same reason as agrep. It finds less, though agrep finds it in the file, where _ makes one word of two in the
    list, and where all words that match are lost in the list or passed over."""
    if theirs and not ours:
        return explain_agrep(query, text, ours, theirs)
    near = {word for word in LISTED.findall(text.lower()) if query.is_near(word)}
    if not near:
        return "words joined by _ in the list"
    if query.k > 0 and near <= listed.lost:
        return "a word between blocks of the list"
    if query.k > 0 and not query.whole and all(listed.passes_over(query, word) for word in near - listed.lost):
        return "first letters missing after a match in the list"
    return None


class Comparison:
    """What was asked, and how often the answers were equal; what explains the others, by file."""

    def __init__(self, peer):
        self.peer, self.queries, self.equal, self.files, self.found = peer, 0, 0, 0, 0
        self.why = Counter()

    def add(self, query, ours, theirs, explain):
        self.queries += 1
        self.equal += ours == theirs
        self.files += len(ours ^ theirs)
        self.found += len(ours & theirs)
        for name in sorted(ours ^ theirs):
            why = explain(name, name in ours, name in theirs)
            if why is None:
                raise Unexplained(f"{self.peer}: {query}: {name} is found by "
                                  f"{'garner' if name in ours else self.peer} alone, and no rule says why")
            self.why[why] += 1

    def __str__(self):
        return (f"{self.peer}: {self.queries} queries, {self.equal} answers equal, {self.found} files found by both, "
                f"{self.files} by one" + "".join(f", {n} {why}" for why, n in sorted(self.why.items())))


# agrep and glimpse

def error_queries(dice, count):
    """So many words, each with 0 to 4 errors, as a whole word and as a part."""
    for _ in range(count):
        word, case = dice.choice(WORDS), dice.random() < 0.3
        for _ in range(dice.choice([0, 0, 1, 2])):
            word = mistyped(dice, word)
        if case and dice.random() < 0.5:
            word = word.capitalize()
        yield from (Query(word, k, whole, case) for k in range(min(5, len(word))) for whole in (True, False))


def answers_to(texts, queries):
    """What garner says to each."""
    answers = dict(zip([q for q in queries if q.whole],
                       texts.ask([q.written() for q in queries if q.whole])))
    for k in range(5):
        some = [q for q in queries if not q.whole and q.k == k]
        answers.update(zip(some, texts.ask([q.written() for q in some], "--parts", "--errors", str(k))))
    return answers


class Glimpse:
    """agrep and glimpse, out of one package, on the files of some texts."""

    def __init__(self, peer, texts):
        self.peer, self.texts = peer, texts
        self.run("glimpseindex", "-H", texts.folder.parent, "-E", "-o", "-n", texts.folder)
        self.listed = List((texts.folder.parent / ".glimpse_index").read_bytes())

    def run(self, program, *args):
        done = subprocess.run([self.peer.program(program), *args], cwd=self.texts.folder, capture_output=True,
                              text=True, timeout=120, stdin=subprocess.DEVNULL, env=self.peer.environment())
        assert done.returncode in (0, 1) and "usage" not in done.stderr, (program, args, done.stderr)
        return done

    def agrep(self, query):
        return set(self.run("agrep", "-l", *query.flags(), query.word, *self.texts.text).stdout.split())

    def glimpse(self, query):
        found = self.run("glimpse", "-H", self.texts.folder.parent, "-y", "-l", *query.flags(), query.word).stdout
        return {path.rpartition("/")[2] for path in found.split()}

    def best(self, program, query, *args):
        """How many errors it settled for, and its lines."""
        done = self.run(program, "-B", "-y", *["-w"] * query.whole, "-i", *args)
        told = re.search(r"match(?:es)? within (\d+) error", done.stderr)
        return int(told[1]) if told else 0, done.stdout.splitlines()

    def agrep_best(self, query):
        """Of several files agrep takes the errors that the last one needs, and from a large one it prints lines cut in
        two. So one file with all the lines says how many errors, and then the files say which they are."""
        together = self.texts.folder.parent / "all"
        together.write_text("".join(self.texts.text.values()))
        k, _ = self.best("agrep", query, query.word, together)
        return k, self.agrep(Query(query.word, k, query.whole, query.case))

    def glimpse_best(self, query):
        k, lines = self.best("glimpse", query, "-H", self.texts.folder.parent, query.word)
        return k, {line.partition(": ")[0].rpartition("/")[2] for line in lines}


def explained(texts, query, rule):
    """The rule for a file by its name, if garner found in it what is within the errors, and nothing else."""
    def explain(name, ours, theirs):
        text = texts.text[name]
        right = (query.errors_in_a_word(text) <= query.k) == ours
        return rule(text, ours, theirs) if right else None
    return explain


def compare_errors(peer, texts, count, seed):
    """Words with errors, in agrep and glimpse too: a Comparison with each."""
    queries = list(error_queries(random.Random(seed), count))
    ours, programs = answers_to(texts, queries), Glimpse(peer, texts)
    agrep, glimpse = Comparison("agrep"), Comparison("glimpse")
    for q in queries:
        agrep.add(q, ours[q], programs.agrep(q), explained(texts, q, partial(explain_agrep, q)))
        rule = partial(explain_glimpse, q, listed=programs.listed)
        glimpse.add(q, ours[q], programs.glimpse(q), explained(texts, q, rule))
    return agrep, glimpse


# the best match

def best_words(dice, count):
    """Words with mistakes."""
    while count > 0:
        word = dice.choice(WORDS)
        for _ in range(dice.choice([1, 2, 2, 3])):
            word = mistyped(dice, word)
        if len(word) >= 4:
            count -= 1
            yield word


def explain_best(query, best, text, ours, theirs, rule, passed_over):
    """query has the number of errors that garner settled for, best that of the peer. An error across words may find
    something with fewer, or more files with as many. glimpse may need more, where it passed over everything that
    has fewer. With -w neither agrep nor glimpse tries any errors."""
    if query.whole:
        return "-B tries no errors with -w" if ours and best.k == 0 < query.k else None
    if best.k < query.k and ours:
        return "fewer errors across words" if best.errors_in_a_line(text) > best.k else None
    if best.k > query.k and theirs:
        return "more errors, the best was passed over" if passed_over else None
    return rule(best, text, ours, theirs)


def compare_best(peer, texts, count, seed):
    """Words with as few errors as find anything, as with agrep -B and glimpse -B."""
    words, programs = list(best_words(random.Random(seed), count)), Glimpse(peer, texts)
    agrep, glimpse = Comparison("agrep -B"), Comparison("glimpse -B")
    of_glimpse = partial(explain_glimpse, listed=programs.listed)
    for whole in (True, False):
        for word, ours in zip(words, texts.ask(words, "--best", *["--parts"] * (not whole))):
            q = Query(word, 0, whole, False)
            errors = {name: q.errors_in_a_word(text) for name, text in texts.text.items()}
            q.k = min(errors.values())
            if ours != {name for name in errors if errors[name] == q.k}:  # with -w the peers would not show it
                raise Unexplained(f"{q}: garner does not find what has {q.k} errors")
            needed = min(map(q.errors_in_a_line, texts.text.values()))
            k, theirs = programs.agrep_best(q)
            if not whole and k != needed:
                raise Unexplained(f"agrep -B: {q}: {k} errors, and {needed} would do")
            rule = partial(explain_best, q, Query(word, k, whole, False), rule=explain_agrep, passed_over=False)
            agrep.add(q, ours, theirs, explained(texts, q, rule))
            passed_over = all(of_glimpse(q, texts.text[name], True, False) for name in ours)
            k, theirs = programs.glimpse_best(q)
            rule = partial(explain_best, q, Query(word, k, whole, False), rule=of_glimpse, passed_over=passed_over)
            glimpse.add(q, ours, theirs, explained(texts, q, rule))
    return agrep, glimpse


# expressions

def fold(text):
    """As words are folded: no accents, small letters, compatibility forms taken apart. An accent on something else (`_`)
    is no part of a word, and stays."""
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    folded, in_word = [], False
    for c in apart:
        accent = unicodedata.combining(c) != 0
        in_word = in_word if accent else c.isalnum()
        if not (accent and in_word):
            folded.append(c)
    return "".join(folded)


def expressions(dice, texts, count):
    """Expressions of every kind about words of the texts: (pattern, whether case counts)."""
    words = sorted({w for text in texts.text.values() for w in re.findall(r"[^\W\d_]{4,}", text)})
    for number in range(count):
        a, b, case = dice.choice(words), dice.choice(words), dice.random() < 0.5
        at = dice.randrange(1, len(a) - 1)
        if not case and dice.random() < 0.5:
            a, b = a.upper(), b.lower()
        some = "".join(c for c in a if len(fold(c)) == 1)  # a class of one letter each: folded, ß is two
        yield [
            a[:4], rf"{a[:at]}.{a[at + 1:]}", rf"{a[:-1]}(er|ing|s|{b[-1]})", rf"{a}s?\b", rf"\b{a[:3]}\w+", rf"^{a}",
            rf"{a}[.!]?$", rf"{a} {b}", rf"{a[:3]}\w*[ ,-]+{b[0]}", rf"{a[-3:]}\s\d{{3,4}}\b", r"^\W*\w{3,5}$",
            rf"[{some}]{{4,6}}\b", rf"\p{{L}}{{2}}{a[-3:]}\s\p{{L}}", rf"({a}|{b})+", rf"({a[:3]}|{b[:3]})\w*(s|er)?\b",
            rf"^- {a[0]}", rf"{a[:2]}.*{b[-2:]}$", r"\p{Lu}\p{Ll}+ \p{Lu}{3}", rf"[^{some}\s]{{5}}{b[-1]}\b", r"^\s+\d",
            rf"\b{a[0]}\w?{b[-1]}\b", rf"{a[:3]}\W+{b[:2]}", rf"(^|\s){a[:2]}\w+(\s|$)", rf"{a[:3]}\w{{0,3}}\b.\b",
            r"\d{4}[.!]$", r"^$", rf"\D{a[-2:]}\d", rf"({a[:2]}|{b[:2]}){{2}}", rf"{a[:-1]}\B", rf"\S{{12,}}{a[-1]}",
        ][number % 30], case


class Ripgrep:
    """ripgrep on the files as they are, and on copies that are folded as garner folds."""

    def __init__(self, peer, texts):
        self.peer, self.folder = peer, texts.folder.parent
        (self.folder / "folded").mkdir()
        for name, text in texts.text.items():
            (self.folder / "folded" / name).write_text(fold(text), encoding="utf-8")

    def ask(self, where, pattern, case):
        options = ["--no-config", "--no-ignore", "-j1", "-l", "-s" if case else "-i"]
        done = subprocess.run([self.peer.program("rg"), *options, "-e", pattern, "."], cwd=self.folder / where,
                              capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                              env=self.peer.environment())
        assert done.returncode in (0, 1), (pattern, done.stderr)
        return {path.removeprefix("./") for path in done.stdout.split()}


def compare_expressions(peer, texts, count, seed):
    """Where case does not count, accents do not either, but for ripgrep they do: in texts and an expression that are
    folded it must find what garner finds. Nothing else explains a difference."""
    asked = list(expressions(random.Random(seed), texts, count))
    ours, rg = texts.ask(["=" * case + f"/{p}/" for p, case in asked]), Ripgrep(peer, texts)
    compared = Comparison("ripgrep")
    for (pattern, case), found in zip(asked, ours):
        theirs = rg.ask("files", pattern, case)
        folded = None if case or found == theirs else rg.ask("folded", fold_pattern(pattern), case)

        def explain(name, in_ours, _, folded=folded):
            return "accents do not count" if folded is not None and (name in folded) == in_ours else None
        compared.add("=" * case + f"/{pattern}/", found, theirs, explain)
    return compared


def fold_pattern(pattern):
    """Its letters, but not those of escapes."""
    return "".join(part if part.startswith("\\") else fold(part) for part in re.split(r"(\\(?:p\{\w+\}|.))", pattern))
