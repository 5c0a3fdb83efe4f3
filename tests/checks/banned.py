"""Calls that may not be made, or only in some places, and words that may not stay."""
import re

import common

EVERYWHERE = {
    "strcpy strcat stpcpy strncpy strncat gets": "unbounded or half-bounded; use struct str and struct buf",
    "sprintf vsprintf": "unbounded; use buf_printf() or snprintf()",
    "strtok strtok_r": "writes into its input; use struct str",
    "atoi atol atoll atof": "cannot say that the input is wrong; use the parsers of base/str.h",
    "system popen": "a shell",
    "alloca": "unbounded on the stack",
    "tmpnam tempnam mktemp": "a race",
    "localtime gmtime ctime asctime": "one buffer for all; use base/clock.h",
}
# Only in src/, and not in the files that are named.
PLACES = [
    ("open openat creat fopen fdopen freopen rename renameat renameat2 unlink unlinkat remove fsync "
     "fdatasync sync_file_range pwrite pwritev pread preadv truncate ftruncate fallocate "
     "posix_fallocate mkdir mkdirat rmdir opendir fdopendir scandir mkstemp mkostemp link linkat "
     "symlink symlinkat",
     "files go through base/file.h, so that tests can make them fail",
     r"(base/(file|dir|beneath)|disk/(lock|tree))\.c"),
    ("exit _exit _Exit quick_exit", "only src/cmd ends the program", r"cmd/.*"),
    ("fork vfork clone daemon", "only src/cmd starts processes", r"cmd/.*"),
]
WORDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
WORD_FILES = ("*.c", "*.h", "*.py", "*.sh", "*.md", "*.build", "Makefile", "run", "bootstrap")


def calls(names):
    return re.compile(r"(?<![\w.>])(" + "|".join(names.split()) + r")\s*\(")


def problems(root):
    everywhere = [(calls(names), why) for names, why in EVERYWHERE.items()]
    places = [(calls(names), why, re.compile(r"src/(?:" + but + ")")) for names, why, but in PLACES]
    for path in common.files(root, *WORD_FILES):
        for n, line in enumerate(common.text(root / path).splitlines(), 1):
            for word in WORDS.findall(line):
                yield f"{path}:{n}: {word}: finish it or leave it out"
    for path in common.files(root, "*.c", "*.h"):
        rules = everywhere + [(expr, why) for expr, why, but in places
                              if path.parts[0] == "src" and not but.fullmatch(str(path))]
        source = common.text(root / path).replace('open("/dev/null"', "a device, no file")
        for n, line in enumerate(common.bare(source).splitlines(), 1):
            for expr, why in rules:
                for m in expr.finditer(line):
                    # a declaration or definition of a function of our own is no call
                    if not re.search(r"\b(int|void|bool|char|size_t)\s+\**$", line[:m.start()]):
                        yield f"{path}:{n}: {m.group(1)}(): {why}"


if __name__ == "__main__":
    common.main(problems)
