#!/bin/sh
# The search page over 100,000 documents: CPU of the role web for each page, 2,000 distinct queries (words, all of
# two or three words, phrases, with filters), each page as a browser asks for it. Run by bench/run.
#
#	SEARCH_DIR   where the index is kept (build/search): what is there is used again
set -eu
documents=$((100000 * SCALE))
dir=${SEARCH_DIR:-build/search}/$documents
if [ ! -e "$dir/made" ]; then
	rm -rf "$dir"
	mkdir -p "$dir/data"
	ninja -C "$BUILD" bench/search-corpus >"$dir/log" || { cat "$dir/log"; exit 1; }
	"$BUILD/bench/search-corpus" "$dir/data" "$dir/queries.tsv" $documents 4000
	touch "$dir/made"
fi
exec /usr/bin/python3 -B bench/search.py "$BUILD/garner" "$dir"
