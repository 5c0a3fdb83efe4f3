#!/usr/bin/python3
"""process.py rg QUERIES BASENAMES [SAMPLE]     ripgrep over the flat list of names
process.py plocate QUERIES DB [SAMPLE]      plocate over paths, whose last component is asked for

One process a query, CPU time of the better of two runs; lines as of the SQLite driver. The kind "start" is what the
process costs without anything to look for, and is still to be subtracted. Of each class SAMPLE (40) queries are asked
where it scans, and all of them where it does not: plocate's parts of names."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS, STARTS = 2, 30
RG = ["rg", "--no-config", "-N"]
PLOCATE = ["plocate", "-b", "-d"]
# kind: (file of queries, options, counted)
RG_KINDS = {"exact": ("exact", ["-m", "100", "-x", "-F", "-e"], False), "sub": ("sub", ["-m", "100", "-i", "-F", "-e"], False),
            "sub_count": ("sub", ["-c", "-i", "-F", "-e"], True), "subcase": ("subcase", ["-m", "100", "-F", "-e"], False),
            "regex": ("regex", ["-m", "100", "-e"], False), "regex0": ("regex0", ["-m", "100", "-e"], False)}
# An exact name it cannot be asked for.
PLOCATE_KINDS = {"sub": ("sub", ["-i", "-l", "100"], False), "sub_count": ("sub", ["-i", "-c"], True),
                 "subcase": ("subcase", ["-l", "100"], False), "regex": ("regex", ["-l", "100", "--regex"], False),
                 "regex0": ("regex0", ["-l", "100", "--regex"], False)}


def run(command):
    """(CPU microseconds, output) of the better run"""
    best, out = None, b""
    for _ in range(REPEATS):
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        out = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1):
            sys.exit(f"{command}: {child.returncode}")
        us = (used.ru_utime + used.ru_stime) * 1e6
        best = us if best is None else min(best, us)
    return best, out


def chosen(path, sample):
    """Numbers and queries, evenly over each class; 0: all."""
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    for name in sorted({r[0] for r in rows}):
        inside = [i for i, r in enumerate(rows) if r[0] == name]
        n = min(sample, len(inside)) if sample else len(inside)
        for k in range(n):
            number = inside[k * len(inside) // n]
            yield number, rows[number][1]


def ask(kind, queries, file, counted, sample, command):
    for number, pattern in chosen(queries / f"{file}.tsv", sample):
        us, out = run(command(pattern))
        found = int(out or 0) if counted else out.count(b"\n")
        print(f"{kind}\t{number}\t{us:.1f}\t{found}", flush=True)


def start(command):
    for i in range(STARTS):
        us, _ = run(command)
        print(f"start\t{i}\t{us:.1f}\t0")


def warm(path):
    with open(path, "rb") as f:
        while f.read(1 << 24):
            pass


def main(tool, queries, path, sample=40):
    warm(path)
    queries, sample = Path(queries), int(sample)
    with tempfile.TemporaryDirectory() as folder:
        nothing = Path(folder) / "nothing"
        nothing.write_text("a/b\n")
        if tool == "rg":
            for kind, (file, options, counted) in RG_KINDS.items():
                ask(kind, queries, file, counted, sample, lambda p: [*RG, *options, p, path])
            start([*RG, "-m", "100", "-F", "-e", "xyzzy", nothing])
        else:
            build = "/usr/sbin/plocate-build"
            subprocess.run([build, "-p", "-l", "no", nothing, f"{nothing}.db"], check=True)
            for kind, (file, options, counted) in PLOCATE_KINDS.items():
                part = sample if counted else max(1, sample // 5) if "--regex" in options else 0
                ask(kind, queries, file, counted, part, lambda p: [*PLOCATE, path, *options, p])
            start([*PLOCATE, f"{nothing}.db", "-l", "100", "xyzzy"])


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
