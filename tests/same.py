"""What garner said when it was recorded, in tests/data/same, and what it says now:

    book = Book(ROOT / "tests/data/same", {"/tmp/x": "DIR"})
    book.command("shep", g, "shep", "states", "--json")   # runs it; an entry of shep.txt
    book.said("port-broker", "#USER #END pears", answer)   # of a connection
    book.close()                                           # compares all; SAME_WRITE=1 writes instead

An entry is `$ ` and the command, or `> ` and what was sent; then `| ` and each line of the output, `! ` and each line of
standard error, and `= ` and the exit code. JSON is spread over lines, token by token as it came, so that a difference
is one line. What is another one each time becomes a word like <time>, by VOLATILE, and by no more than that."""
import difflib
import os
import re
import shlex

# Patterns for all entries: times from the year of this test on, so that dates within documents and listings are compared.
VOLATILE = [
    (r'("(?:cpu_us|took_us|wait_us|search_us|us|seconds|passes|age|after_us)": )[\d.e-]+', r"\1<t>"),
    (r"\b20(?:2[5-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?", "<time>"),
    (r"\b20(?:2[5-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d\b", "<time>"),
    (r"\b20(?:2[5-9]|[3-9]\d)-?\d\d-?\d\d(?:[T-]?\d{6}Z?)?\b", "<time>"),
    (r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} 20(?:2[5-9]|[3-9]\d) \d\d:\d\d:\d\d GMT", "<time>"),
    (r"(?<![0-9])(?:1[7-9]|2\d)\d{14}\b", "<us>"),
    (r"(?<![0-9])(?:1[7-9]|2\d)\d{8}(?:\.\d+)?\b", "<s>"),
    (r"held by pid \d+", "held by pid <pid>"),
    (r"(?m)^\d+ files: \d+ sound, \d+ unknown", "<n> files: <n> sound, <n> unknown"),  # of garner check
    (r"((?: in|,|passes:) +)\d+(?:\.\d+)? ?(?:us|ms|s)(?:\d+us)?$", r"\1<t>"),
]
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


def spread(text):
    """JSON with each value on a line of its own; numbers and texts stay as they were written."""
    out, depth, tokens = [""], 0, TOKEN.findall(text)
    for at, token in enumerate(tokens):
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        if token in "]}" and tokens[at - 1] not in "[{":
            depth -= 1
            out.append("  " * depth)
        out[-1] += token + (" " if token == ":" else "")
        if token in "[{" and after not in ("]", "}"):
            depth += 1
            out.append("  " * depth)
        elif token == ",":
            out.append("  " * depth)
    return out


def lines_of(text, is_json=False):
    if is_json and text.lstrip()[:1] in ("{", "["):
        return [line for one in text.splitlines() for line in spread(one)]
    lines = CONTROL.sub(lambda c: f"\\x{ord(c[0]):02x}", text).split("\n")
    if lines[-1]:
        lines.append("(no end of line)")
    return lines[:-1] if not lines[-1] else lines


class Book:
    def __init__(self, folder, words):
        """words: what stands for texts of this run, such as its directory: text -> word."""
        self.folder, self.words, self.entries, self.commands = folder, dict(words), {}, set()
        self.volatile = list(VOLATILE)

    def plain(self, line, more=()):
        for text, word in sorted(self.words.items(), key=lambda w: -len(w[0])):
            line = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", word, line)
        for pattern, word in (*more, *self.volatile):
            line = re.sub(pattern, word, line)
        return line

    def add(self, group, head, lines, more=()):
        entry = [head, *lines]
        self.entries.setdefault(group, []).append([self.plain(line, more) for line in entry])

    def command(self, group, g, *args, input=None, more=(), sort=False):
        """more: patterns of this entry alone. sort: the order of the lines is left to chance."""
        done = g.run(*args, input=input, text=False)
        is_json = any(a in ("--json", "-j") for a in args)
        out, err = (b.decode(errors="backslashreplace") for b in (done.out, done.err))
        out, err = lines_of(out, is_json), lines_of(err)
        if sort:
            out.sort()
        self.commands.add(tuple(args))
        self.add(group, "$ garner " + shlex.join(map(str, args)),
                 ["| " + line for line in out] + ["! " + line for line in err] + [f"= {done.code}"], more)
        return done

    def said(self, group, sent, answer, more=()):
        """An exchange: what was sent, and what came (bytes or text)."""
        text = answer if isinstance(answer, str) else answer.decode(errors="backslashreplace")
        self.add(group, "> " + sent.replace("\n", "\n> "), ["| " + line for line in lines_of(text)], more)

    def close(self):
        """The differences of all groups, as one text; empty: it is the same as before."""
        texts = {f"{group}.txt": "\n".join("\n".join(entry) + "\n" for entry in entries)
                 for group, entries in self.entries.items()}
        if os.environ.get("SAME_WRITE"):
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in self.folder.glob("*.txt"):
                path.unlink()
            for name, text in texts.items():
                (self.folder / name).write_text(text)
            return ""
        before = {path.name: path.read_text() for path in self.folder.glob("*.txt")}
        return "".join(line if line.endswith("\n") else line + "\n" for name in sorted({*before, *texts}) for line in difflib.unified_diff(
            before.get(name, "").splitlines(True), texts.get(name, "").splitlines(True), f"recorded/{name}", f"now/{name}"))
