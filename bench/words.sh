#!/bin/sh
# The words index and the document store beside Lucene, tantivy and SQLite's FTS5 with bm25: the best
# 100 of 2,000 queries of each kind, one thread, CPU time; parts of words and expressions beside ripgrep
# over the flat file; build, sizes, known items, one document of a million replaced, queries while 500
# a second are. The rivals' drivers are in bench/words. Run by bench/run.
#
#	WORDS_DIR    where corpus and indexes are kept (build/words): what is there is used again
#	WORDS_SEED   of the queries; another one each time where it is not given
#	WORDS_SIZE   "small": 45 MB of text instead of 650
#	WORDS_PARTS  which of build, queries, scans, known, update, live; all of them where it is not given
#	NODE_PATH    where npm put @oxdev03/node-tantivy-binding-linux-x64-gnu
set -eu
here=bench/words
dir=${WORDS_DIR:-build/words}
corpus=$dir/corpus
seed=${WORDS_SEED:-$(date +%s)}
repeats=3
kinds='term and or phrase attr prefix fuzzy1 fuzzy2'
parts=" ${WORDS_PARTS:-build queries scans known update live} "
garner=$BUILD/garner
export GARNER_DATA="$dir/data" LC_ALL=C.UTF-8
mkdir -p "$dir/rivals"

# wants PART
wants() {
	case $parts in *" $1 "*) ;; *) return 1 ;; esac
}

ninja -C "$BUILD" bench/words-update bench/words-live >"$dir/log" || { cat "$dir/log"; exit 1; }
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
	mkdir -p "$dir/rivals/classes"
	[ "$dir/rivals/classes/Lucene.class" -nt $here/Lucene.java ] ||
		javac -nowarn -d "$dir/rivals/classes" -cp "$(jars)" $here/Lucene.java
	java -Xmx4g -cp "$dir/rivals/classes:$(jars)" Lucene "$@"
}
build_lucene() {
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
if ! wants build && [ -e "$dir/index" ]; then
	: # it is used again
elif command -v /usr/bin/time >/dev/null; then
	name=build build
	name=build_one_segment build --merge
else
	echo '  build: /usr/bin/time is absent, not measured'
	rm -rf "$dir/index"
	"$garner" index words build --merge "$dir/index" "$dir/input.tsv"
fi
"$garner" index words stats --json "$dir/index" | /usr/bin/python3 -c '
import json, sys
s, text = json.load(sys.stdin), float(sys.argv[1])
print("ratio words.index_to_text %.4f" % (s["index_bytes"] / text))
print("ratio words.stored_to_text %.4f" % (s["stored_bytes"] / text))' "$text"

# answer KIND OPTIONS...: lines as of the drivers
answer() {
	/usr/bin/python3 $here/report.py ask "$queries" "$1" >"$dir/asked"
	kind=$1
	shift
	"$garner" index words query --batch "$@" "$dir/index" <"$dir/asked" >"$dir/answers"
	/usr/bin/python3 $here/report.py lines "$kind" "$dir/answers"
}

# Queries: ours and theirs, one after the other, the same ones.
if wants queries; then
	for k in $kinds; do answer "$k" -k 100 --repeat $repeats; done >"$dir/garner.tsv"
	tools="garner=$dir/garner.tsv"
	for r in lucene tantivy sqlite; do
		if "have_$r" && rival $r; then
			"ask_$r" >"$dir/$r.tsv"
			tools="$tools $r=$dir/$r.tsv"
		fi
	done
	/usr/bin/python3 $here/report.py latency $tools
fi

# Parts of words, all of them counted; expressions, the first 100 in any order.
if wants scans; then
	{
		answer part --count --repeat $repeats
		answer regex -k 100 --order none --repeat $repeats
	} >"$dir/garner-scans.tsv"
	if command -v rg >/dev/null; then
		/usr/bin/python3 $here/rg.py "$queries" "$dir/input.tsv" >"$dir/rg.tsv"
		/usr/bin/python3 $here/report.py scans "$queries" "$dir/garner-scans.tsv" "$dir/rg.tsv"
	else
		absent rg || true
	fi
fi

# Known items.
if wants known; then
	/usr/bin/python3 $here/report.py ask-known "$queries/known.tsv" >"$dir/asked"
	"$garner" index words query --batch --forgive -k 10 "$dir/index" <"$dir/asked" >"$dir/answers"
	/usr/bin/python3 $here/report.py lines-known "$queries/known.tsv" "$dir/answers" >"$dir/garner-known.tsv"
	runs="garner=$dir/garner-known.tsv"
	if have_lucene && rival lucene; then
		lucene known "$dir/rivals/lucene" "$queries/known.tsv" >"$dir/lucene-known.tsv"
		lucene known "$dir/rivals/lucene" fuzzy "$queries/known.tsv" >"$dir/lucene-known-fuzzy.tsv"
		runs="$runs lucene=$dir/lucene-known.tsv lucene_fuzzy=$dir/lucene-known-fuzzy.tsv"
	fi
	/usr/bin/python3 $here/report.py quality "$queries/known.tsv" $runs
fi

# One document of a million, and 500 a second.
million=1000000
slices=5
[ -z "${WORDS_SIZE:-}" ] || { million=100000 slices=3; }
if wants update || wants live; then
	"$BUILD/bench/words-update" "$dir/million" "$corpus/docs.tsv" $million || { # of another version, perhaps
		rm -rf "$dir/million"
		"$BUILD/bench/words-update" "$dir/million" "$corpus/docs.tsv" $million
	}
fi
if wants live; then
	/usr/bin/python3 $here/report.py ask "$queries" term and prefix | shuf --random-source="$dir/input.tsv" >"$dir/asked"
	"$BUILD/bench/words-live" "$dir/million" "$corpus/docs.tsv" "$dir/asked" $million $slices
fi
