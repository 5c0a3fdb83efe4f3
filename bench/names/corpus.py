#!/usr/bin/python3
"""corpus.py FOLDER: every path of every package of the archive that apt is configured for, from its Contents
indices, and the archive's own listing. FOLDER gets names.txt (paths, sorted by bytes, each once), basenames.txt (the
same order, the last component) and, where the mirror has it, ls-lR.gz. What is there already is not done again. 60 MB to fetch; MIRROR, SUITE and ARCH in the environment stand for what apt says."""
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

PACKAGES = re.compile(rb"[ \t]+[^ \t]+$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def archive():
    """(URL of the mirror, suite)"""
    uri, suite = os.environ.get("MIRROR"), os.environ.get("SUITE")
    if not (uri and suite):
        for line in output("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                           "Identifier: Packages").splitlines():
            found = line.split()
            if len(found) == 3 and found[2] == "main" and "-" not in found[1]:
                return uri or found[0].rstrip("/"), suite or found[1]
        sys.exit("corpus: apt names no mirror; set MIRROR and SUITE")
    return uri.rstrip("/"), suite


def fetch(url, path):
    if path.exists():
        return
    proxy = re.sub(r"^p='(.*)'\n?$", r"\1", output("apt-config", "shell", "p", "Acquire::http::Proxy"))
    new = path.with_suffix(".new")
    subprocess.run(["curl", "-fsS", *(["-x", proxy] if proxy else []), "-o", new, url], check=True)
    os.replace(new, path)


def paths(files):
    """Every path of Contents files, whose lines end in a column of packages."""
    for f in files:
        with gzip.open(f) as lines:
            for line in lines:
                yield PACKAGES.sub(b"", line.rstrip(b"\n"))


def write(path, lines):
    new = path.with_suffix(".new")
    with open(new, "wb") as f:
        f.writelines(line + b"\n" for line in lines)
    os.replace(new, path)


def main(folder):
    names, bases, listing = (folder / n for n in ("names.txt", "basenames.txt", "ls-lR.gz"))
    folder.mkdir(parents=True, exist_ok=True)
    if not (names.exists() and bases.exists()):
        uri, suite = archive()
        arches = [os.environ.get("ARCH") or output("dpkg", "--print-architecture").strip(), "all"]
        files = [folder / f"Contents-{a}.gz" for a in arches]
        for a, f in zip(arches, files):
            fetch(f"{uri}/dists/{suite}/main/Contents-{a}.gz", f)
        found = sorted(set(paths(files)))
        write(names, found)
        write(bases, (p.rsplit(b"/", 1)[-1] for p in found))
        print(f"{len(found)} paths, {names.stat().st_size / 1e6:.0f} MB", file=sys.stderr)
    try:
        fetch(f"{archive()[0]}/ls-lR.gz", listing)
    except subprocess.CalledProcessError:  # not every mirror has one; only "replace" of names.sh wants it
        print("corpus: the mirror has no ls-lR.gz, nothing is replaced", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
