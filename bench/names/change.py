#!/usr/bin/python3
"""change.py LISTING.gz OUT.gz SEED: a listing in which one file of a hundred has another name and size."""
import gzip
import random
import re
import sys

SIZE = re.compile(rb"( +)(\d+)( [A-Z][a-z]{2} [ \d]\d )")


def main(path, out, seed):
    dice = random.Random(seed)
    with gzip.open(path) as lines, gzip.open(out, "wb", compresslevel=1) as f:
        for line in lines:
            if line.startswith(b"-") and dice.random() < .01:
                line = SIZE.sub(lambda m: b" %d%s" % (int(m[2]) + 1, m[3]), line, count=1).rstrip(b"\n") + b"~\n"
            f.write(line)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
