#!/usr/bin/python3
"""Finds a hash for the names in src/extract/html_element_inner.h under which no two of them meet, and
prints src/extract/html_element_hash_inner.h."""
import pathlib
import re
import subprocess

SLOTS = 512
HEADER = pathlib.Path(__file__).parent.parent / "src/extract/html_element_inner.h"

TEXT = """/* Made by script/html_elements.py; not to be edited. The place of each name in the table of
 * elements, by a hash of its length, its first, middle and last letter. 0: no name. */
#pragma once

enum {{ HASH_SLOTS = {slots}, HASH_FIRST = {a}, HASH_MIDDLE = {b}, HASH_LAST = {c} }};

static const unsigned char hash_slot[HASH_SLOTS] = {{{table}}};
"""


def hashed(name, a, b, c):
    return (len(name) + ord(name[0]) * a + ord(name[len(name) // 2]) * b + ord(name[-1]) * c) % SLOTS


def search(names):
    for a in range(1, 512):
        for b in range(1, 512, 2):
            for c in range(1, 512, 3):
                seen = set()
                for name in names:
                    h = hashed(name, a, b, c)
                    if h in seen:
                        break
                    seen.add(h)
                else:
                    return a, b, c
    raise SystemExit("no hash fits; take more slots")


def main():
    names = re.findall(r'^\tE\(\w+, "([^"]+)"', HEADER.read_text(), re.M)
    a, b, c = search(names)
    table = [0] * SLOTS
    for i, name in enumerate(names, 1):
        table[hashed(name, a, b, c)] = i
    text = TEXT.format(slots=SLOTS, a=a, b=b, c=c, table=", ".join(map(str, table)))
    made = subprocess.run(["clang-format", "--assume-filename=" + str(HEADER)], input=text,
                          capture_output=True, text=True, check=True)
    print(made.stdout, end="")


if __name__ == "__main__":
    main()
