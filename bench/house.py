"""The ledger of the house: how much there is of it, counted and not timed. `house.py PROGRAM` counts below the current
folder and runs PROGRAM in a folder of its own; it prints a table, and a line `figure NAME VALUE UNIT` each."""
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, "tests/checks")
import layers  # noqa: E402

# A comment, or a text or character in which what looks like one is none.
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
PAGES = 4
PATIENCE_S = 60
AFTER_S = 2  # from the last page that is found to the end


def lines_of(text):
    """Numbers of lines: with code, with a comment alone, blank."""
    bare = COMMENT_OR_TEXT.sub(lambda m: m[0] if m[0][0] in "\"'" else "\n" * m[0].count("\n"), text)
    code = comment = blank = 0
    for line, without in zip(text.splitlines(), bare.split("\n")):
        if without.strip():
            code += 1
        elif line.strip():
            comment += 1
        else:
            blank += 1
    return code, comment, blank


def source():
    return sorted(p for p in Path("src").rglob("*.[ch]"))


def doors():
    """Headers directly in a room that are not its own by their name, and how many of them no other room reaches
    (tests/checks/layers.py)."""
    used = [(path, door) for path in source() for door in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)]
    found = {str(p.relative_to("src")) for p in Path("src").glob("*/*.h")
             if not layers.own(str(p.relative_to("src"))) and p.parts[1] != "cmd"}
    return len(found), len(found - layers.doors(used))


def ran(program, *args, **more):
    return subprocess.run([program, *args], capture_output=True, text=True, **more).stdout


def wait_for(check):
    end = time.monotonic() + PATIENCE_S
    while not (got := check()):
        if time.monotonic() > end:
            sys.exit("house: a page was not found, or a role did not start")
        time.sleep(0.05)
    return got


def files_left(program):
    """Files in the data directory after a crawl of four pages, which `docs` serves in the same garner."""
    with tempfile.TemporaryDirectory() as folder:
        site, data = Path(folder, "site"), Path(folder, "data")
        site.mkdir()
        for n in range(PAGES):
            links = "".join(f"<a href=page{k}.html>next</a>" for k in range(1, PAGES)) if n == 0 else ""
            (site / ("index.html" if n == 0 else f"page{n}.html")).write_text(f"<title>Page {n}</title><p>walnut{n} {links}")
        env = {k: v for k, v in os.environ.items() if not k.startswith("GARNER")}
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            host = "127.0.0.1:%d" % s.getsockname()[1]
        conf, log = Path(folder, "garner.conf"), Path(folder, "log")
        conf.write_text(f"data = {data}\n[up]\nroles = docs shepherd broker\n[docs]\nlisten = {host}\nroot = {site}\n[broker]\n"
                        f"listen = 127.0.0.1:0\n[robot]\nnetworks = 127.0.0.1\n[shepherd]\nno_delay = {host}\n")
        ran(program, "-c", str(conf), "add", f"http://{host}/", env=env)
        with log.open("w") as out:
            up = subprocess.Popen([program, "-c", str(conf), "up"], env=env, cwd=folder, stdout=out, stderr=out)
        try:
            for n in range(PAGES):
                wait_for(lambda: ran(program, "-c", str(conf), "search", "--strict", "--urls", f"walnut{n}", env=env))
            time.sleep(AFTER_S)
        finally:
            up.terminate()
            up.wait(PATIENCE_S)
        return sum(p.is_file() and not p.is_symlink() for p in data.rglob("*"))


def main(program):
    counts = [lines_of(p.read_text()) for p in source()]
    code, comments, blank = (sum(n) for n in zip(*counts))
    total = code + comments + blank
    formats = len(re.findall(r"^\t&\w+,", Path("src/cmd/formats.c").read_text(), re.M))
    settings = len(re.findall(r"^#?\w+ =", ran(program, "config", "sample"), re.M))
    json = sum("jsonw_" in line for p in Path("src/cmd").rglob("*.[ch]") for line in p.read_text().splitlines())
    all_doors, own = doors()
    words = sum(len(p.read_text().split()) for p in Path("doc/decisions").rglob("*.md"))
    rows = [("code", "lines of C that are neither blank nor a comment", code, "lines", "(goal: at most 170000)"),
            ("lines", "all lines of C", total, "lines", ""),
            ("comments", "of these, only a comment", f"{100 * comments / total:.1f}", "%", "(goal: at least 6)"),
            ("formats", "formats on disk", formats, "formats", "(goal: at most 36)"),
            ("settings", "settings", settings, "keys", "(goal: at most 260)"),
            ("json", "lines of src/cmd that write JSON", json, "lines", "(goal: at most 200)"),
            ("doors", "headers directly in a room", all_doors, "headers", ""),
            ("own_doors", "of these, no other room reaches", own, "headers", "(goal: 0)"),
            ("decisions", "words of doc/decisions", words, "words", "(goal: at most 17500)"),
            ("files", f"files that a crawl of {PAGES} pages leaves", files_left(program), "files", "(goal: at most 40)")]
    print("house")
    for _, what, value, unit, goal in rows:
        print(f"  {what:50} {value:>10} {unit:8} {goal}".rstrip())
    for name, _, value, unit, _ in rows:
        print(f"figure house.{name} {value} {unit}")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
