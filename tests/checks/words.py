"""Words that read as if translated, in comments, messages and documents. Each has a plain one in its
place; a use that is right is in ALLOW, by file."""
import re

import common

PLAIN = {
    "behind": "after", "beside": "next to, while or also", "besides": "also",
    "whoever": "anyone who, or the caller", "at hand": "current",
}
WORD = re.compile(r"\b(" + "|".join(word.replace(" ", r"\s+") for word in PLAIN) + r")\b", re.I)
RIGHT = re.compile(r"\b(?:left|leav\w+|lag\w*|fall\w*|fell)(?:\s+\w+){0,2}\s+behind\b", re.I)
PLACES = ("src/*/*", "src/*/*/*", "doc/*", "doc/*/*", "man/*", "tests/*", "tests/*/*", "tests/*/*/*")
KINDS = (".c", ".h", ".py", ".js", ".md", ".build", "")
# file: words that are right there
ALLOW = {
    "tests/checks/words.py": set(PLAIN),
    "tests/checks/selftest.py": set(PLAIN),
    "src/disk/stream.h": {"behind"},  # write-behind
    "src/fetch/robot/robot.c": {"behind"},  # a server behind a proxy
    "src/fetch/robot.h": {"behind"},
    "src/net/addr.h": {"behind"},  # the server behind an address
    "src/net/http_server.c": {"behind"},  # a proxy
}


def prose(path, source):
    """Of C the comments and what stands in quotes, elsewhere everything; as many lines."""
    if path.suffix not in (".c", ".h"):
        return source
    kept, end = [], 0
    for m in common.PIECE.finditer(source):
        kept += [re.sub(r"[^\n]", " ", source[end:m.start()]), m.group()]
        end = m.end()
    return "".join(kept)


def problems(root):
    for path in common.files(root, *PLACES):
        if path.parts[0] not in ("src", "doc", "man", "tests") or path.suffix not in KINDS:
            continue
        source = prose(path, common.text(root / path))
        source = RIGHT.sub(lambda m: re.sub(r"\S", "-", m.group()), source)
        for m in WORD.finditer(source):
            word = " ".join(m.group().lower().split())
            if word not in ALLOW.get(str(path), ()):
                line = source.count("\n", 0, m.start()) + 1
                yield f"{path}:{line}: \"{word}\": {PLAIN[word]}"


if __name__ == "__main__":
    common.main(problems)
