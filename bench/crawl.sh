#!/bin/sh
# The whole line: garner up (shepherd, broker, web) on simnet, 10,000 x SCALE hosts of 4 pages of
# 20 KB, with robots.txt and a delay too small to matter. Documents that became searchable per CPU
# second of all garner processes; how long after its fetch a document was searchable, with all the
# speed there is and at 50 pages a second; memory of the idle roles; how soon garner is up again
# after kill -9 with 1,000,000 x SCALE URLs. SCALE may be a fraction. Run by bench/run.
set -eu
. bench/common
# tree PID: it and all below it
tree() {
	echo "$1"
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do tree "$child"; done
}
hosts=$(awk "BEGIN { print int(10000 * $SCALE) }")
urls=$(awk "BEGIN { print int(1000000 * $SCALE) }")
pages=4
rounds=3
limit_s=900
garner="$BUILD/garner"

ninja -C "$BUILD" garner garner-parse tests/simnet >"$scratch/log" || { cat "$scratch/log"; exit 1; }

# of NAME FILE: a number in what simnet said
of() {
	sed -n "s/.*\"$1\": *\"\{0,1\}\([0-9][0-9.:]*\).*/\1/p" "$2"
}

# world HOSTS: simnet, anew
world() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
	"$BUILD/tests/simnet" --hosts="$1" --pages=$pages --page-size=20K --same-size --delay=0 \
		--profiles=plain --robots=some --odd-pages=0 --appear=0 --vanish=0 --change=0 \
		--for=60min >"$scratch/simnet" &
	server=$!
	for try in $(seq 100); do
		grep -q '"http"' "$scratch/simnet" && break
		sleep 0.1
	done
	control=$(of control "$scratch/simnet")
	port=$(of http "$scratch/simnet")
}

# ask LINE [END]: what the control port answers, up to a line like END; one line without
ask() {
	bash -c 'exec 3<>"/dev/tcp/${1%:*}/${1#*:}"; echo "$2" >&3; sed "/$3/q" <&3' \
		bash "$control" "$1" "${2-.}"
}

# configure NAME SETTING...: a garner with data of its own
configure() {
	data=$scratch/$1
	shift
	cat >"$scratch/conf" <<C
data = $data
[up]
roles = shepherd broker web
[robot]
networks = 127.0.0.0/8
dns_servers = 127.0.0.1:$(of dns "$scratch/simnet")
dns_order = ipv4
[shepherd]
follow = all
keep_old_states = 1000
keep_interim_states = 1000
[web]
listen = 127.0.0.1:0
C
	settings=
	for s in "$@"; do settings="$settings -s $s"; done
}

now_ms() {
	date +%s%3N
}

# run: garner up; up_ms is what it took to be ready
run() {
	from=$(now_ms)
	: >"$scratch/up"
	"$garner" -c "$scratch/conf" $settings up >"$scratch/up" 2>&1 &
	ours=$!
	for try in $(seq 3000); do
		grep -q '^garner is up' "$scratch/up" && break
		kill -0 "$ours" 2>/dev/null || { cat "$scratch/up"; exit 1; }
		sleep 0.01
	done
	up_ms=$(($(now_ms) - from))
}

# count NAME [LABELS]: a counter of any role
count() {
	sed 's/},/&\n/g' "$scratch/status" |
		sed -n "s/.*\"name\":\"$1\",\"labels\":\"${2-}\",\"value\":\([0-9]*\).*/\1/p" | head -n 1
}

# follow N: looks five times a second how many documents are searchable, until N are
follow() {
	begin=$(now_ms)
	said=$begin
	: >"$scratch/polls"
	while :; do
		"$garner" -c "$scratch/conf" status --json >"$scratch/status"
		at=$(now_ms)
		docs=$(count documents)
		echo "$at ${docs:-0}" >>"$scratch/polls"
		[ "${docs:-0}" -lt "$1" ] || break
		if [ $((at - said)) -ge 10000 ]; then
			said=$at
			echo "  ... ${docs:-0} of $1 documents after $(((at - begin) / 1000)) s"
		fi
		[ $((at - begin)) -lt $((limit_s * 1000)) ] || {
			echo "crawl: only ${docs:-0} of $1 documents after $limit_s s"
			exit 1
		}
		sleep 0.2
	done
}

# processes: PID, name and CPU in ticks (with that of ended children) of all garner processes
processes() {
	for pid in $(tree "$ours"); do
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | awk -v pid="$pid" '{
			for (i = 1; i <= NF; i++) if ($i ~ /^(up|shepherd|broker|web)$/) name = $i
			print pid, $1 ~ /garner-parse/ ? "parse" : name }' >"$scratch/name"
		sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null |
			awk -v name="$(cat "$scratch/name")" '{ print name, $12 + $13 + $14 + $15 }'
	done
}

# lag: for each document from its fetch, as the journal has it, to the look that found it
# searchable: the collector takes the journal in its order. Prints median, p95 and greatest, s.
lag() {
	for journal in "$data"/shepherd/state/[0-9]*/journal; do
		"$garner" dump "$journal" 2>/dev/null || true
	done | awk '$5 == "update" && !seen[$3 $4]++ { print $3 }' >"$scratch/times"
	date -u -f "$scratch/times" +%s%3N | awk -v polls="$scratch/polls" '
		BEGIN { while ((getline line <polls) > 0) { split(line, f, " "); n++; at[n] = f[1]; docs[n] = f[2] } i = 1 }
		{ while (i < n && docs[i] < NR) i++; print (at[i] - $1) / 1000 }' | sort -n >"$scratch/lags"
	awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], v[int(NR * 0.95 + 0.5)], v[NR] }' "$scratch/lags"
}

echo "crawl, scale $SCALE: $hosts hosts, $pages pages of 20 KB each"
: >"$scratch/lines"

# All the speed there is.
world "$hosts"
ask 'expect *' '^$' | sed -n 's/^{"url": *"\([^"]*\)".*"word": *"\([^"]*\)".*/\1 \2/p' >"$scratch/expect"
documents=$(wc -l <"$scratch/expect")
configure full robot.delay=10ms shepherd.cycle=10s
run
echo "  up after $up_ms ms, empty"
seq 0 $((hosts - 1)) | sed "s|.*|http://h&.sim.test:$port/|" >"$scratch/list"
"$garner" -c "$scratch/conf" add --from "$scratch/list" >/dev/null
follow "$documents"
took=$((at - begin))
sleep 3 # what the roles do behind their last document counts
processes >"$scratch/processes"
awk -v n="$documents" -v hz="$(getconf CLK_TCK)" -v took="$took" -v lines="$scratch/lines" '
	{ cpu[$2] += $3 / hz; all += $3 / hz }
	END {
		for (name in cpu) printf "  %-10s %8.0f us CPU a document\n", name, cpu[name] / n * 1e6
		printf "  %-10s %8.0f us CPU a document; %d documents in %.1f s\n", "all", all / n * 1e6, n, took / 1000
		printf "figure crawl.docs_per_cpu_s %.0f documents/s\n", n / all >>lines
	}' "$scratch/processes"
lag | awk '{ printf "  searchable after %.1f s (median), %.1f s (p95), %.1f s, with all speed\n", $1, $2, $3 }'

# Everything that was expected is really found.
awk 'NR % 997 == 1' "$scratch/expect" | while read -r url word; do
	"$garner" -c "$scratch/conf" search --json "$word" | grep -qF "\"$url\"" || echo "$url"
done >"$scratch/missing"
[ ! -s "$scratch/missing" ] || { echo 'crawl: not found by their words:'; cat "$scratch/missing"; exit 1; }

sleep 5
processes | while read -r pid name rest; do
	sed -n "s/^Pss: *\([0-9]*\).*/$name \1/p" "/proc/$pid/smaps_rollup"
done | awk -v lines="$scratch/lines" '
	{ kib += $2; printf "  %-10s %8.1f MiB of memory, idle\n", $1, $2 / 1024 }
	END { printf "figure crawl.idle_pss_mib %.1f MiB\n", kib / 1024 >>lines }'
stop
rm -rf "$data"

# At a rate that leaves time: what waits is the checkpoint, the commit and the disk.
world 25
ask 'expect *' '^$' | grep -c '"url"' >"$scratch/n" || true
configure slow robot.delay=500ms shepherd.cycle=10s
run
seq 0 24 | sed "s|.*|http://h&.sim.test:$port/|" >"$scratch/list"
"$garner" -c "$scratch/conf" add --from "$scratch/list" >/dev/null
follow "$(cat "$scratch/n")"
lag | awk -v lines="$scratch/lines" '{
	printf "  searchable after %.1f s (median), %.1f s (p95), %.1f s, at 50 pages/s\n", $1, $2, $3
	printf "figure crawl.searchable_s %.1f s\n", $2 >>lines
}'
stop
rm -rf "$data"

# Up again after kill -9, in the middle of a reap.
per_host=$((urls / 1000))
world 1000
awk -v n="$urls" -v per="$per_host" -v port="$port" 'BEGIN {
	for (i = 0; i < n; i++) print "http://h" int(i / per) ".sim.test:" port "/ready/" i % per ".html"
}' >"$scratch/list"
configure many robot.delay=1s shepherd.cycle=1h
run
"$garner" -c "$scratch/conf" add --from "$scratch/list" >/dev/null
for try in $(seq $limit_s); do
	"$garner" -c "$scratch/conf" status --json >"$scratch/status"
	known=$(sed 's/},/&\n/g' "$scratch/status" |
		sed -n 's/.*"name":"urls","labels":"[^,]*","value":\([0-9]*\).*/\1/p' |
		awk "{ n += \$1 } END { print n + 0 }")
	[ "${known:-0}" -lt "$urls" ] || break
	[ $((try % 10)) -ne 0 ] || echo "  ... ${known:-0} of $urls URLs in the index"
	sleep 1
done
for round in $(seq $rounds); do
	sleep 2
	kill -9 "$ours"
	wait "$ours" 2>/dev/null || true
	run
	awk -v ms="$up_ms" -v n="$urls" '{ cpu += $3 } END {
		printf "  up after kill -9 in %.2f s, %.2f s of CPU, with %d URLs\n", ms / 1000, cpu / '"$(getconf CLK_TCK)"', n
	}' <<P
$(processes)
P
	echo "$up_ms" >>"$scratch/ready"
done
sort -n "$scratch/ready" | awk '{ v[NR] = $1 } END {
	printf "figure crawl.ready_s %.2f s\n", v[int((NR + 1) / 2)] / 1000 }' >>"$scratch/lines"
stop
cat "$scratch/lines"
