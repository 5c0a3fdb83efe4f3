#!/bin/sh
# What one client can do to the others: connections that never read large answers, and heavy questions. Uses the
# index of the area search, which makes it, and one of three texts of 9 MB. Run by bench/run.
set -eu
dir=${SEARCH_DIR:-build/search}/$((100000 * SCALE))
[ -e "$dir/made" ] || sh bench/search.sh >/dev/null
ninja -C "$BUILD" tests/collect >/dev/null
exec /usr/bin/python3 -B bench/http_clients.py "$BUILD" "$dir"
