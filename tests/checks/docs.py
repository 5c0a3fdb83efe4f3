"""Documents: a README of at most 40 lines in every folder, a page for every file format, links and
paths of the tree that lead somewhere, no paths of one machine, decisions in few words."""
import re

import common

README_LINES = 40
DECISIONS_WORDS = 17500  # of all rooms together: more is not read
INSIDE = {"attributes.md", "broker-log.md", "notices.md", "record.md"}  # text, or what several formats hold
LINK = re.compile(r"\]\(([^)\s]+)\)")
# a path of the tree; one with a placeholder (src/cmd/NAME.c) is none
PATH = re.compile(r"`((?:bench|doc|fuzz|man|script|src|tests)/[\w./-]+)`")
PLACEHOLDER = re.compile(r"(?<![A-Z])(?!README)[A-Z]{2,}")
# the folders whose absolute paths mean somebody's machine; /home/me is everybody's
MACHINE = re.compile(r"(?<![\w./~])/(?:work|home(?!/me\b)|Users)/")
FORMAT = re.compile(r"\bconst struct format \w+ = \{(.*?)\};", re.S)


def folders(names):
    """Top-level folders and rooms; what lies deeper is explained by them."""
    found = set()
    for path in names:
        if len(path.parts) > 1 and not path.parts[0].startswith("."):
            found.add(path.parents[len(path.parts) - 2])
        if len(path.parts) > 2 and path.parts[0] == "src":
            found.add(path.parents[len(path.parts) - 3])
    return sorted(found)


def readmes(root, names):
    for folder in folders(names):
        readme = folder / "README.md"
        if not (root / readme).exists():
            yield f"{readme}:1: is missing"
        else:
            n = len(common.text(root / readme).splitlines())
            if n > README_LINES:
                yield f"{readme}:{n}: longer than {README_LINES} lines"


def formats(root, names):
    found = set()
    sources = {p: common.text(root / p) for p in names if p.parts[0] == "src" and p.suffix in (".c", ".h")}
    defines = dict(d for s in sources.values() for d in re.findall(r'#define (\w+) "([^"]+)"', s))
    for path, source in sources.items():
        for body in FORMAT.findall(source):
            name = re.search(r'\.name\s*=\s*"([^"]+)"', body)
            magic = re.search(r'\.magic\s*=\s*(?:"([^"]+)"|(\w+))', body)
            magic = magic and (magic.group(1) or defines.get(magic.group(2)))
            if ".claims" in body:  # older than ours, without a magic
                magic = ""
            if not name or magic is None:
                yield f"{path}:1: a struct format whose .name or .magic cannot be read"
                continue
            page = root / "doc" / "formats" / f"{name.group(1)}.md"
            found.add(page.name)
            if not page.exists():
                yield f"{path}:1: the format {name.group(1)} has no page doc/formats/{page.name}"
            elif magic.split("\\")[0] not in common.text(page):
                yield f"doc/formats/{page.name}:1: does not name the magic {magic}"
    table = root / "doc" / "formats" / "README.md"
    listed = set(re.findall(r"^\| \[[^]]+\]\(([^)]+)\)", common.text(table), re.M)) if table.exists() else found
    for name in sorted(listed ^ found):
        yield f"doc/formats/README.md:1: {name} is {'no format' if name in listed else 'not in the table'}"
    for page in names:
        if page.match("doc/formats/*.md") and page.name not in found | {"README.md"} | INSIDE:
            yield f"{page}:1: there is no struct format of this name"


def links(root, names):
    for path in (p for p in names if p.suffix == ".md"):
        code = False
        for n, line in enumerate(common.text(root / path).splitlines(), 1):
            code ^= line.startswith("```")
            for target in PATH.findall(line):
                if not PLACEHOLDER.search(target) and not (root / target).exists():
                    yield f"{path}:{n}: {target} is not there"
            for target in [] if code else LINK.findall(re.sub(r"`[^`]*`", "", line)):
                target = target.split("#")[0]
                if target and not re.match(r"\w+:", target) \
                        and not (root / path.parent / target).exists():
                    yield f"{path}:{n}: {target} is not there"


def machine_paths(root, names):
    for path in names:
        if path.name in ("docs.py", "selftest.py"):  # they speak of such paths
            continue
        for n, line in enumerate(common.text(root / path).splitlines(), 1):
            if MACHINE.search(line):
                yield f"{path}:{n}: a path of one machine"


def decisions(root, names):
    n = sum(len(common.text(root / p).split()) for p in names if p.match("doc/decisions/*.md"))
    if n > DECISIONS_WORDS:
        yield f"doc/decisions/README.md:1: {n} words in this folder, more than {DECISIONS_WORDS}"


def problems(root):
    names = common.files(root)
    for look in (readmes, decisions, formats, links, machine_paths):
        yield from look(root, names)


if __name__ == "__main__":
    common.main(problems)
