#!/bin/sh
# The names index beside SQLite (b-tree and trigrams), plocate and ripgrep: 2,000 queries of each kind over
# every path of the package archive, CPU time; size and build beside plocate's; the archive's own
# listing replaced among those names. The rivals' drivers are in bench/names. Run by bench/run.
#
#	NAMES         a folder with names.txt, basenames.txt and, for "replace", ls-lR.gz; without it
#	              they are made of what apt's mirror has (60 MB)
#	NAMES_DIR     where indexes are kept (build/names): SQLite's is used again
#	NAMES_PARTS   which of build, queries, replace; all of them where it is not given
#	NAMES_SAMPLE  queries of each class that are asked where a rival scans (40)
#	SEED          of the queries; another one each time where it is not given
#
# SCALE may be a fraction: that part of the paths. Above 1 there are more queries.
set -eu
here=bench/names
dir=${NAMES_DIR:-build/names}
corpus=${NAMES:-$dir/corpus}
seed=${SEED:-$(date +%s)}
sample=${NAMES_SAMPLE:-40}
repeats=3
parts=" ${NAMES_PARTS:-build queries replace} "
garner=$BUILD/garner
plocate_build=/usr/sbin/plocate-build
export LC_ALL=C
mkdir -p "$dir"

# wants PART
wants() {
	case $parts in *" $1 "*) ;; *) return 1 ;; esac
}
absent() {
	echo "  rival $1: absent"
	return 1
}

[ -n "${NAMES:-}" ] || /usr/bin/python3 $here/corpus.py "$corpus"
listing=$corpus/ls-lR.gz
if [ "$(awk "BEGIN { print ($SCALE < 1) }")" = 1 ]; then # a part of it, spread evenly
	part=$dir/corpus-$SCALE
	mkdir -p "$part"
	for f in names basenames; do
		[ -e "$part/$f.txt" ] || awk -v part="$SCALE" 'int(NR * part) > int((NR - 1) * part)' "$corpus/$f.txt" \
			>"$part/$f.txt"
	done
	corpus=$part
	dir=$dir/$SCALE
fi
mkdir -p "$dir/rivals" "$dir/data"
export GARNER_DATA="$dir/data"
index=$dir/data/archie
paths=$(wc -l <"$corpus/names.txt")
queries=$dir/queries-$seed
echo "names, scale $SCALE: $paths paths, queries of seed $seed"

# cpu FILE COMMAND...: CPU seconds of it and its children into FILE
cpu() {
	to=$1
	shift
	/usr/bin/time -q -f '%U %S' -o "$to" "$@"
	awk '{ print $1 + $2 }' "$to" >"$to.new"
	mv "$to.new" "$to"
}
least() {
	sort -n "$@" | head -n 1
}

# Build and size: the better of two.
plocate_make() {
	[ -x $plocate_build ] || absent plocate || return 1
	cpu "$dir/plocate.$1" $plocate_build -p -l no "$corpus/names.txt" "$dir/rivals/paths.db"
}
names_build() {
	rm -rf "$index"
	cpu "$dir/build.$1" "$garner" index names build "$index" <"$corpus/names.txt" >/dev/null
}
# Bytes of the index without the four parts.
names_size() {
	find "$index/names" -type f ! -name index ! -name nocaseindex ! -name data ! -name direc -printf '%s\n' |
		awk '{ n += $1 } END { print n }'
}
if wants build || [ ! -e "$index/names/manifest" ]; then
	for i in 1 2; do # in turn, so that both have the same weather
		names_build $i
		if plocate_make $i; then theirs=yes; else theirs=; fi
	done
	ours=$(least "$dir/build.1" "$dir/build.2")
	size=$(names_size)
	awk -v n="$paths" -v s="$ours" -v b="$size" 'BEGIN {
		printf "figure names.build_garner %.0f paths/cpu-s\nfigure names.size_garner %.0f bytes\n", n / s, b }'
	if [ "$theirs" ]; then
		awk -v n="$paths" -v s="$ours" -v p="$(least "$dir/plocate.1" "$dir/plocate.2")" -v b="$size" \
			-v d="$(wc -c <"$dir/rivals/paths.db")" 'BEGIN {
			printf "figure names.build_plocate %.0f paths/cpu-s\nfigure names.size_plocate %.0f bytes\n", n / p, d
			printf "ratio names.build %.3f\nratio names.size %.3f\n", p / s, b / d }'
	fi
fi

# Each rival: have_X says whether it is here and makes its index, ask_X prints lines of its driver.
have_sqlite() {
	command -v sqlite3 >/dev/null && ninja -C "$BUILD" bench/names-sqlite >"$dir/log" 2>&1 || absent sqlite || return 1
	[ -e "$dir/rivals/sqlite.done" ] && return
	rm -f "$dir/rivals/names.db"
	sqlite3 "$dir/rivals/names.db" <<-S >/dev/null
		pragma journal_mode=off; pragma synchronous=off; pragma cache_size=-1000000;
		create table r(name text);
		.mode ascii
		.separator "\001" "\n"
		.import '$corpus/basenames.txt' r
		create index rn on r(name);
		create virtual table t using fts5(name, content='r', tokenize='trigram', columnsize=0);
		insert into t(t) values('rebuild');
	S
	touch "$dir/rivals/sqlite.done"
}
ask_sqlite() {
	"$BUILD/bench/names-sqlite" "$dir/rivals/names.db" $repeats "$queries/exact.tsv" "$queries/sub.tsv" "$queries/subcase.tsv"
}
have_plocate() {
	command -v plocate >/dev/null || absent plocate || return 1
	[ -e "$dir/rivals/paths.db" ] || plocate_make 1
}
ask_plocate() {
	/usr/bin/python3 $here/process.py plocate "$queries" "$dir/rivals/paths.db" "$sample"
}
have_rg() {
	command -v rg >/dev/null || absent rg
}
ask_rg() {
	/usr/bin/python3 $here/process.py rg "$queries" "$corpus/basenames.txt" "$sample"
}

# answer KIND FILE OPTIONS...: lines as of the drivers. All queries go in so many times over, in one process.
answer() {
	kind=$1
	/usr/bin/python3 $here/report.py ask "$queries/$2.tsv" $repeats >"$dir/asked"
	shift 2
	"$garner" index names query --batch "$@" "$index" <"$dir/asked" >"$dir/answers"
	/usr/bin/python3 $here/report.py lines "$kind" $repeats "$dir/answers"
}

if wants queries; then
	[ -e "$queries/regex0.tsv" ] || /usr/bin/python3 $here/queries.py "$corpus/basenames.txt" "$queries" "$seed" \
		"$(awk "BEGIN { print int(2000 * ($SCALE > 1 ? $SCALE : 1)) }")"
	{
		answer exact exact --type exact --names -k 100
		answer sub sub --type sub -k 100
		answer subcase subcase --type subcase -k 100
		answer sub_count sub --type sub --count
		answer regex regex --type regex -k 100
		answer regex0 regex0 --type regex -k 100
	} >"$dir/garner.tsv"
	tools="garner=$dir/garner.tsv"
	for r in sqlite plocate rg; do
		if "have_$r"; then
			"ask_$r" >"$dir/$r.tsv"
			tools="$tools $r=$dir/$r.tsv"
		fi
	done
	/usr/bin/python3 $here/report.py latency $tools
fi

# A site replaced among all others, one file of a hundred changed, while queries go on; beside the same listing
# alone. The median of three.
key=bench.example-192.0.2.1
replace_alone() {
	rm -rf "$dir/alone"
	GARNER_DATA=$dir/alone cpu "$dir/alone.$1" "$garner" archie build --site $key "$dir/changed-$1.gz" >/dev/null
}
replace_among() {
	cpu "$dir/among.$1" "$garner" archie build --site $key "$dir/changed-$1.gz" >/dev/null
}
ask_on() {
	while [ ! -e "$dir/stop" ]; do
		"$garner" index names query --batch --type sub -k 10 "$index" <"$dir/asked" >>"$dir/answers" || touch "$dir/failed"
	done
}
if wants replace && [ ! -e "$listing" ]; then
	echo "  replace: $listing is absent, not measured"
elif wants replace; then
	rm -f "$dir/stop" "$dir/failed" "$dir/answers"
	for i in 1 2 3; do
		[ -e "$dir/changed-$i.gz" ] || /usr/bin/python3 $here/change.py "$listing" "$dir/changed-$i.gz" $i
		replace_alone $i
	done
	"$garner" archie build --site $key "$listing" >/dev/null
	head -n 500 "$corpus/basenames.txt" >"$dir/asked"
	ask_on &
	asking=$!
	for i in 1 2 3; do replace_among $i; done
	touch "$dir/stop"
	wait $asking
	[ ! -e "$dir/failed" ] || { echo 'a query failed while the site was replaced'; exit 1; }
	/usr/bin/python3 $here/report.py live "$dir/answers"
	sort -n "$dir/alone.1" "$dir/alone.2" "$dir/alone.3" | sed -n 2p >"$dir/alone.s"
	sort -n "$dir/among.1" "$dir/among.2" "$dir/among.3" | sed -n 2p >"$dir/among.s"
	paste "$dir/among.s" "$dir/alone.s" | awk '{
		printf "figure names.replace_among %.2f cpu-s\nfigure names.replace_alone %.2f cpu-s\n", $1, $2
		printf "ratio names.replace %.3f\n", $1 / $2 }'
fi
