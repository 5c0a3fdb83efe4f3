#!/bin/sh
# Archie's interfaces over 7 million names (those of names.sh): what a search costs beside the search itself, and how
# long exact ones take among expensive expressions, and what an idle telnet session holds. Run by bench/run.
#
#	NAMES       a folder with names.txt and basenames.txt; without it they are made (see names.sh)
#	NAMES_DIR   where the database is kept (build/names): it is used again
#	SEED        of the queries; another one each time where it is not given
#
# SCALE may be a fraction: that part of the names, of the queries and of the sessions.
set -eu
dir=${NAMES_DIR:-build/names}
corpus=${NAMES:-$dir/corpus}
seed=${SEED:-$(date +%s)}
export LC_ALL=C
unset GARNER_DATA GARNER_CONFIG || true
mkdir -p "$dir"
[ -n "${NAMES:-}" ] || /usr/bin/python3 bench/names/corpus.py "$corpus"
if [ "$(awk "BEGIN { print ($SCALE < 1) }")" = 1 ]; then # a part of it, spread evenly
	part=$dir/corpus-$SCALE
	mkdir -p "$part"
	for f in names basenames; do
		[ -e "$part/$f.txt" ] || awk -v part="$SCALE" 'int(NR * part) > int((NR - 1) * part)' "$corpus/$f.txt" \
			>"$part/$f.txt"
	done
	corpus=$part
fi
. bench/common
ninja -C "$BUILD" garner tests/prospero-ask >"$scratch/log" || { cat "$scratch/log"; exit 1; }
data=$dir/archie-$SCALE
paths=$(wc -l <"$corpus/names.txt")
echo "archie, scale $SCALE: $paths names, queries of seed $seed"
if [ ! -e "$data/done" ]; then
	rm -rf "$data"
	mkdir -p "$data"
	"$BUILD/garner" index names build --site ftp.bench.test-192.0.2.1 --url ftp://ftp.bench.test/ "$data/archie" \
		"$corpus/names.txt"
	touch "$data/done"
fi
/usr/bin/python3 bench/names/queries.py "$corpus/basenames.txt" "$scratch/queries" "$seed" 2000
/usr/bin/python3 -B bench/archie.py "$BUILD" "$scratch" "$data" "$SCALE"
