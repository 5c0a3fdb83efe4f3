#!/bin/sh
# The words index and the document store beside Lucene, tantivy and SQLite's FTS5 with bm25: the best
# 100 of 2,000 queries of each kind, one thread, CPU time; build, sizes, one document of a million
# replaced, known items. The rivals' drivers are in bench/words. Run by bench/run.
#
#	WORDS_DIR    where corpus and indexes are kept (build/words): what is there is used again
#	WORDS_SEED   of the queries; another one each time where it is not given
#	WORDS_SIZE   "small": 45 MB of text instead of 650
#	NODE_PATH    where npm put @oxdev03/node-tantivy-binding-linux-x64-gnu
set -eu
here=bench/words
dir=${WORDS_DIR:-build/words}
corpus=$dir/corpus
seed=${WORDS_SEED:-$(date +%s)}
repeats=3
kinds='term and or phrase attr'
garner=$BUILD/garner
export GARNER_DATA="$dir/data" LC_ALL=C.UTF-8
mkdir -p "$dir/rivals"

ninja -C "$BUILD" bench/words-update >"$dir/log" || { cat "$dir/log"; exit 1; }
/usr/bin/python3 $here/corpus.py "$corpus" ${WORDS_SIZE:-}
[ "$dir/input.tsv" -nt "$corpus/docs.tsv" ] || cut -f1,4,5 "$corpus/docs.tsv" >"$dir/input.tsv"
text=$(wc -c <"$dir/input.tsv")
queries=$dir/queries-$seed
[ -e "$queries/known.tsv" ] || /usr/bin/python3 $here/queries.py "$corpus" "$queries" "$seed"
files=$(for k in $kinds; do echo "$queries/$k.tsv"; done)
echo "words: $((text / 1000000)) MB of text, queries of seed $seed"

# Each rival is built once; rival_NAME says with what.
rival() {
	[ -e "$dir/rivals/$1.done" ] || {
		rm -rf "$dir/rivals/$1"
		"build_$1" || { echo "  rival $1: its index could not be made"; return 1; }
		touch "$dir/rivals/$1.done"
	}
}
absent() {
	echo "  rival $1: absent"
	return 1
}

jars() {
	dpkg -L liblucene8-java 2>/dev/null | grep -E '/java/lucene-(core|analyzers-common)-[0-9.]+jar$' | paste -sd:
}
lucene() {
	java -Xmx4g -cp "$dir/rivals/classes:$(jars)" Lucene "$@"
}
build_lucene() {
	mkdir -p "$dir/rivals/classes"
	javac -nowarn -d "$dir/rivals/classes" -cp "$(jars)" $here/Lucene.java &&
		lucene index "$dir/rivals/lucene" "$corpus/docs.tsv"
}
have_lucene() {
	command -v javac >/dev/null && [ -n "$(jars)" ] || absent lucene
}
ask_lucene() {
	lucene query "$dir/rivals/lucene" $repeats $files
}

build_tantivy() {
	node $here/tantivy.js index "$dir/rivals/tantivy" "$corpus/docs.tsv"
}
have_tantivy() {
	command -v node >/dev/null &&
		node -e 'require("@oxdev03/node-tantivy-binding-linux-x64-gnu")' 2>/dev/null || absent tantivy
}
ask_tantivy() {
	node $here/tantivy.js query "$dir/rivals/tantivy" $repeats $files
}

build_sqlite() {
	cut -f1,4,5 "$corpus/docs.tsv" >"$dir/rivals/sqlite.tsv"
	sqlite3 "$dir/rivals/sqlite" <<-S
		pragma journal_mode=off; pragma synchronous=off; pragma cache_size=-1000000;
		create table d(id integer primary key, title text, body text);
		.mode ascii
		.separator "\t" "\n"
		.import '$dir/rivals/sqlite.tsv' d
		create virtual table t using fts5(title, body, content='d', content_rowid='id');
		insert into t(t, rank) values('hashsize', 67108864);
		insert into t(t) values('rebuild');
		insert into t(t) values('optimize');
	S
	rm "$dir/rivals/sqlite.tsv"
}
have_sqlite() {
	command -v sqlite3 >/dev/null && ninja -C "$BUILD" bench/words-sqlite >"$dir/log" 2>&1 || absent sqlite
}
ask_sqlite() {
	"$BUILD/bench/words-sqlite" "$dir/rivals/sqlite" $repeats $files
}

# Build: CPU seconds of all of it, text stored and one segment at the end or not.
build() {
	rm -rf "$dir/index"
	/usr/bin/time -f '%U %S' -o "$dir/time" "$garner" index words build "$@" "$dir/index" "$dir/input.tsv" >/dev/null
	awk -v text="$text" -v name="$name" '{ printf "figure words.%s %.1f MB/cpu-s\n", name, text / 1e6 / ($1 + $2) }' \
		"$dir/time"
}
if command -v /usr/bin/time >/dev/null; then
	name=build build
	name=build_one_segment build --merge
else
	echo '  build: /usr/bin/time is absent, not measured'
	"$garner" index words build --merge "$dir/index" "$dir/input.tsv"
fi
"$garner" index words stats --json "$dir/index" | /usr/bin/python3 -c '
import json, sys
s, text = json.load(sys.stdin), float(sys.argv[1])
print("ratio words.index_to_text %.4f" % (s["index_bytes"] / text))
print("ratio words.stored_to_text %.4f" % (s["stored_bytes"] / text))' "$text"

# Queries: ours and theirs, one after the other, the same ones.
for k in $kinds; do
	/usr/bin/python3 $here/report.py ask "$queries" "$k" >"$dir/asked"
	"$garner" index words query --batch -k 100 --repeat $repeats "$dir/index" <"$dir/asked" >"$dir/answers"
	/usr/bin/python3 $here/report.py lines "$k" "$dir/answers"
done >"$dir/garner.tsv"
tools="garner=$dir/garner.tsv"
for r in lucene tantivy sqlite; do
	if "have_$r" && rival $r; then
		"ask_$r" >"$dir/$r.tsv"
		tools="$tools $r=$dir/$r.tsv"
	fi
done
/usr/bin/python3 $here/report.py latency "$queries" $tools

# Known items.
/usr/bin/python3 $here/report.py ask-known "$queries/known.tsv" >"$dir/asked"
"$garner" index words query --batch -k 10 "$dir/index" <"$dir/asked" >"$dir/answers"
/usr/bin/python3 $here/report.py lines-known "$queries/known.tsv" "$dir/answers" >"$dir/garner-known.tsv"
runs="garner=$dir/garner-known.tsv"
if [ -e "$dir/rivals/lucene.done" ] && have_lucene >/dev/null; then
	lucene known "$dir/rivals/lucene" "$queries/known.tsv" >"$dir/lucene-known.tsv"
	runs="$runs lucene=$dir/lucene-known.tsv"
fi
/usr/bin/python3 $here/report.py quality "$queries/known.tsv" $runs

# One document of a million.
million=1000000
[ -z "${WORDS_SIZE:-}" ] || million=100000
"$BUILD/bench/words-update" "$dir/million" "$corpus/docs.tsv" $million
