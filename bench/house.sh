#!/bin/sh
# The ledger of the house: lines, formats, settings, doors, files that a small crawl leaves. Run by bench/run.
set -eu
exec /usr/bin/python3 -B bench/house.py $BUILD/garner
