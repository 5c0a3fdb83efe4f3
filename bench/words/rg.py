#!/usr/bin/python3
"""rg.py QUERIES FLAT [SAMPLE]: ripgrep over one file with a document a line: parts of words (all of them counted, case
ignored) and expressions (the first 100 lines). Of each class of queries SAMPLE (25) are asked, twice; CPU time of the
process. Lines as of the Lucene driver; the kind "start" is what the process costs without anything to look for, and is
still to be subtracted."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS, STARTS = 2, 30
KINDS = {"part": ["-c", "-i", "-F"], "regex": ["-N", "-m", "100"]}


def run(arguments):
    """(CPU microseconds, output) of the better run"""
    best, out = None, b""
    for _ in range(REPEATS):
        child = subprocess.Popen(["rg", "--no-config", *arguments], stdout=subprocess.PIPE)
        out = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1):
            sys.exit(f"rg: {arguments}: {child.returncode}")
        us = (used.ru_utime + used.ru_stime) * 1e6
        best = us if best is None else min(best, us)
    return best, out


def sampled(path, sample):
    """Numbers and queries, evenly over each class."""
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    for name in sorted({r[0] for r in rows}):
        inside = [i for i, r in enumerate(rows) if r[0] == name]
        for k in range(min(sample, len(inside))):
            number = inside[k * len(inside) // min(sample, len(inside))]
            yield number, rows[number][1]


def main(queries, flat, sample=25):
    with open(flat, "rb") as f:  # into the page cache
        while f.read(1 << 24):
            pass
    for kind, options in KINDS.items():
        for number, text in sampled(Path(queries) / f"{kind}.tsv", int(sample)):
            us, out = run([*options, "-e", text, flat])
            found = int(out or 0) if kind == "part" else out.count(b"\n")
            print(f"{kind}\t{number}\t{us:.1f}\t{found}", flush=True)
    with tempfile.NamedTemporaryFile("w") as nothing:
        nothing.write("a line\n")
        nothing.flush()
        for i in range(STARTS):
            us, _ = run(["-N", "-m", "100", "-F", "-e", "xyzzy", nothing.name])
            print(f"start\t{i}\t{us:.1f}\t0")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
