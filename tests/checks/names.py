"""A file-private function's name says what of what, in two words or more, so that a backtrace, a profile
and grep are read without the file. Only run, init and free may stand alone, in a table's own file."""
import re

import common

ALONE = {"run", "init", "free"}
STATIC = re.compile(r"^static [^(=;{]*?[ *]([a-z0-9]+)\(", re.M)


def problems(root):
    for path in common.files(root, "src/*/*.c", "src/*/*/*.c"):
        source = common.bare(common.text(root / path))
        for m in STATIC.finditer(source):
            if m.group(1) not in ALONE:
                line = source.count("\n", 0, m.start(1)) + 1
                yield f"{path}:{line}: {m.group(1)}(): a name of two words or more says what of what"


if __name__ == "__main__":
    common.main(problems)
