#!/usr/bin/python3
"""corpus.py FOLDER [small]: a text corpus from Debian's documentation packages, which apt fetches from the mirror
that it is configured for (no root needed). FOLDER gets debs/, x/ (unpacked) and docs.tsv: id, package, path, title
and body of a document a line. About 650 MB of text in 5 GB of files; "small": six packages, 45 MB. What is there
already is not done again. Ids depend on the versions of the packages."""
import gzip
import html
import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path

SMALL = "manpages manpages-dev git-doc debian-policy python3.11-doc apache2-doc"
ALL = SMALL + """ linux-doc-6.1 openjdk-17-doc postgresql-doc-15 erlang-doc racket-doc python-pandas-doc python-scipy-doc
 ghc-doc qtbase5-doc-html cppreference-doc-en-html libstdc++-12-doc debian-handbook libreoffice-help-en-us perl-doc
 debian-reference-en developers-reference bash-doc lilypond-doc-html twisted-doc derby-doc libboost1.74-doc sqlite3-doc
 emacs-common debian-kernel-handbook aptitude-doc-en ruby3.1-doc tcl8.6-doc cmake-doc nginx-doc exim4-doc-html
 postfix-doc r-doc-html maxima-doc zsh-doc octave-doc gnuplot-doc autoconf-doc ntp-doc python-django-doc
 python-sklearn-doc"""
WANTED = re.compile(r"\.(html|txt|rst|txt\.gz|rst\.gz|[1-8][a-z]*\.gz|info(-\d+)?\.gz)$", re.I)
HIDDEN = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->", re.S | re.I)
TITLE = re.compile(r"<title[^>]*>(.*?)</title\s*>", re.S | re.I)
TAG = re.compile(r"<[^<>]*>")
BLANK = re.compile(r"[\s\0-\x1f]+")


def one_line(text):
    return BLANK.sub(" ", text).strip()


def read(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except OSError:
            return ""
    return "" if b"\0" in data else data.decode("utf-8", "ignore")


def document(job):
    """(package, path, title, body), or None for what is too short to be one."""
    folder, name = job
    text = read(folder / name)
    title = Path(name).name
    if name.lower().endswith(".html"):
        text = HIDDEN.sub(" ", text)
        found = TITLE.search(text)
        title = html.unescape(found.group(1)) if found else title
        text = html.unescape(TAG.sub(" ", TITLE.sub(" ", text)))
    body = one_line(text)
    return (name.split("/")[0], name, one_line(title), body) if len(body) >= 200 else None


def fetch(folder, packages):
    debs = folder / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    for p in packages:
        if not list(debs.glob(f"{p}_*.deb")):
            if subprocess.run(["apt-get", "download", "-q", p], cwd=debs, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode:
                print(f"not to be had here: {p}", file=sys.stderr)


def unpack(folder):
    for deb in sorted((folder / "debs").glob("*.deb")):
        to = folder / "x" / deb.name.split("_")[0]
        if not to.exists():
            to.mkdir(parents=True)
            subprocess.run(["dpkg-deb", "-x", deb, to], check=True)


def names(x):
    for where, _, files in os.walk(x):
        for name in files:
            path = Path(where) / name
            if WANTED.search(name) and path.is_file() and not path.is_symlink():
                yield str(path.relative_to(x))


def main(folder, packages):
    docs = folder / "docs.tsv"
    if docs.exists():
        return
    fetch(folder, packages)
    unpack(folder)
    x = folder / "x"
    number = 0
    with multiprocessing.Pool() as pool, open(folder / "docs.new", "w", encoding="utf-8") as out:
        for d in pool.imap(document, ((x, n) for n in sorted(names(x))), chunksize=64):
            if d:
                out.write("\t".join((str(number), *d)) + "\n")
                number += 1
    os.replace(folder / "docs.new", docs)
    print(f"{number} documents, {docs.stat().st_size / 1e6:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), (SMALL if sys.argv[2:] == ["small"] else ALL).split())
