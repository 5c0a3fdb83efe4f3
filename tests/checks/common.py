"""What the checks share: which files there are, C without comments and strings, and how a check
ends. A check is a module with problems(root), which yields "file:line: what"; "note: ..." does not
fail."""
import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent.parent


def files(root, *patterns):
    """Files of the tree, as paths relative to root: those that git knows or would add."""
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                             capture_output=True, text=True, check=True).stdout
        names = [Path(n) for n in out.split("\0") if n]
    except (OSError, subprocess.CalledProcessError):  # not a git tree
        names = [p.relative_to(root) for p in Path(root).rglob("*") if "build" not in p.parts]
    return sorted(n for n in names if (root / n).is_file()
                  and (not patterns or any(n.match(p) for p in patterns)))


def text(path):
    return path.read_text(errors="replace")


PIECE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def bare(source):
    """The same C, as many lines, without comments and what stands in quotes."""
    def blank(m):
        quote = m.group()[0]
        return re.sub(r"[^\n]", " ", m.group()) if quote == "/" else quote * 2
    return PIECE.sub(blank, source)


def compile_commands(root, build="build"):
    """What the build compiles: (folder, arguments, file), without the output options."""
    path = root / build / "compile_commands.json"
    if not path.exists():
        return []
    found = []
    for entry in json.loads(path.read_text()):
        args, skip = [], False
        for a in shlex.split(entry["command"].removeprefix("ccache ")):
            if skip or a in ("-c", "-MD"):
                skip = False
            elif a in ("-o", "-MQ", "-MF"):
                skip = True
            else:
                args.append(a)
        found.append((entry["directory"], args, entry["file"]))
    return found


def run_all(commands):
    """Runs (what, arguments, folder) two at a time; yields (what, exit code, output)."""
    def one(job):
        what, args, folder = job
        done = subprocess.run(args, cwd=folder, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL)
        return what, done.returncode, done.stdout + done.stderr
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(one, commands)


def main(problems):
    bad = 0
    for line in problems(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT):
        print(line)
        bad += not line.startswith("note: ")
    sys.exit(1 if bad else 0)
