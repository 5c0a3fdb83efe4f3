#!/bin/sh
# Reaping: the role shepherd alone, without a broker. Documents fetched, parsed, packed, stored and
# planned per CPU second of all garner processes: on simnet, 10,000 x SCALE hosts of 10 pages of
# 20 KB, with robots.txt and a delay too small to matter, by the local reaper and by two reapds; and on a
# tree of pages (reap_tree.py) served by nginx, against `wget -r`, which only stores, and Scrapy, where they
# are. SCALE may be a fraction. Run by bench/run.
set -eu
. bench/common
hosts=$(awk "BEGIN { print int(10000 * $SCALE) }")
tree_pages=$(awk "BEGIN { print int(5000 * $SCALE) }")
pages=10
addresses=8
port=8093
rounds=3
limit_s=900
garner="$BUILD/garner"
hz=$(getconf CLK_TCK)
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY

ninja -C "$BUILD" garner garner-parse tests/simnet >"$scratch/log" || { cat "$scratch/log"; exit 1; }

# of NAME: a number in what simnet said
of() {
	sed -n "s/.*\"$1\": *\"\{0,1\}\([0-9][0-9.:]*\).*/\1/p" "$scratch/simnet"
}

# configure [DNS-PORT [DELAY [CONNECTIONS]]]: a crawl with data of its own
configure() {
	rm -rf "$scratch/data"
	cat >"$scratch/conf" <<C
data = $scratch/data
[robot]
networks = 127.0.0.0/8
dns_servers = 127.0.0.1:${1-53}
dns_order = ipv4
delay = ${2-10ms}
concurrent = ${3-1}
[shepherd]
follow = all
cycle = 10s
C
}

# run COMMAND...: a garner process; its PID joins $ours
run() {
	log=$scratch/$(echo "$*" | tr -c 'a-z0-9\n' _).log
	"$garner" -c "$scratch/conf" "$@" >"$log" 2>&1 &
	ours="$ours $!"
}

# cpu PID...: ticks of these and of their children, of ended ones too
cpu() {
	for pid in "$@"; do
		for p in $pid $(cat "/proc/$pid/task/$pid/children"); do
			sed 's/.*) //' "/proc/$p/stat" | awk '{ print $12 + $13 + $14 + $15 }'
		done
	done | awk '{ sum += $1 } END { print sum }'
}

# follow N: until N documents are gathered and the index knows of them
follow() {
	from=$(date +%s)
	while :; do
		"$garner" -c "$scratch/conf" status --json >"$scratch/status" 2>/dev/null || true # not up yet
		docs=$(sed 's/},/&\n/g' "$scratch/status" |
			sed -n 's/.*"name":"urls","labels":"type=\\"gathered\\"","value":\([0-9]*\).*/\1/p' | head -n 1)
		[ "${docs:-0}" -lt "$1" ] || break
		[ $(($(date +%s) - from)) -lt $limit_s ] || {
			echo "reap: only ${docs:-0} of $1 documents after $limit_s s"
			cat "$scratch"/*.log
			exit 1
		}
		sleep 0.5
	done
}

# median FILE: of its lines
median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

echo "reap, scale $SCALE: $hosts hosts of $pages pages, a tree of $tree_pages; 20 KB each"
: >"$scratch/lines"

"$BUILD/tests/simnet" --hosts="$hosts" --pages=$pages --page-size=20K --same-size --delay=0 \
	--profiles=plain --robots=some --odd-pages=0 --appear=0 --vanish=0 --change=0 \
	--for=60min >"$scratch/simnet" &
server=$!
for try in $(seq 100); do
	grep -q '"http"' "$scratch/simnet" && break
	sleep 0.1
done
control=$(of control)
documents=$(bash -c 'exec 3<>"/dev/tcp/${1%:*}/${1#*:}"; echo "expect *" >&3; sed "/^$/q" <&3' bash "$control" |
	grep -c '"url"')
seq 0 $((hosts - 1)) | sed "s|.*|http://h&.sim.test:$(of http)/|" >"$scratch/list"

# seed: what the crawl begins with; a page that is in no robots.txt's way is reached from it
seed() {
	"$garner" -c "$scratch/conf" add --from "$scratch/list" >/dev/null
}

configure "$(of dns)"
seed
run shepherd
follow "$documents"
cpu $ours >"$scratch/cpu"
stop
awk -v n="$documents" -v hz="$hz" -v lines="$scratch/lines" '{
	printf "  local      %6.0f us CPU a document, %d documents\n", $1 / hz / n * 1e6, n
	printf "figure reap.docs_per_cpu_s %.0f documents/s\n", n / ($1 / hz) >>lines
}' "$scratch/cpu"

configure "$(of dns)"
echo "reapers = unix:$scratch/1 unix:$scratch/2" >>"$scratch/conf"
echo 'local = never' >>"$scratch/conf"
seed
for i in 1 2; do
	run -s data="$scratch/reapd$i" -s reapd.listen="unix:$scratch/$i" reapd
done
reapds=$ours
run shepherd
follow "$documents"
cpu $ours >"$scratch/cpu"
cpu $reapds >>"$scratch/cpu"
stop
awk -v n="$documents" -v hz="$hz" -v lines="$scratch/lines" '
	NR == 1 { all = $1 / hz }
	NR == 2 { master = all - $1 / hz }
	END {
		printf "  two reapds %6.0f us CPU a document, %.0f of it the master\n", all / n * 1e6, master / n * 1e6
		printf "figure reap.remote_docs_per_cpu_s %.0f documents/s\n", n / all >>lines
		printf "figure reap.master_us %.0f us\n", master / n * 1e6 >>lines
	}' "$scratch/cpu"
end_all $server
server=

# The tree.
nginx_get || {
	echo '  nginx cannot be had from its package: no rival is measured'
	cat "$scratch/lines"
	exit 0
}
first=$(/usr/bin/python3 bench/reap_tree.py "$scratch" "$tree_pages" $addresses $port)
echo "$first" >"$scratch/list"
nginx_start

# rival NAME COMMAND...: its CPU for the tree in us a page, into $scratch/NAME
rival() {
	name=$1
	shift
	/usr/bin/env bash -c 'TIMEFORMAT="%U %S"; time "$@" 2>/dev/null' bash "$@" 2>"$scratch/time" >"$scratch/out" || true
	case $name in
	wget) got=$(find "$scratch/got" -name '*.html' | wc -l) ;;
	*) got=$(tail -n 1 "$scratch/out") ;;
	esac
	[ "${got:-0}" -ge "$tree_pages" ] || { echo "reap: $name has ${got:-0} of $tree_pages pages"; exit 1; }
	awk -v n="$tree_pages" '{ print ($1 + $2) / n * 1e6 }' "$scratch/time" >>"$scratch/$name"
}

names=$(seq $addresses | sed 's/.*/127.0.3.&/' | paste -sd,)
for round in $(seq $rounds); do
	configure 53 0 8 # our own servers, as wget treats them
	seed
	run shepherd
	follow "$tree_pages"
	cpu $ours | awk -v n="$tree_pages" -v hz="$hz" '{ print $1 / hz / n * 1e6 }' >>"$scratch/garner"
	stop
	! command -v wget >/dev/null || {
		rm -rf "$scratch/got"
		rival wget wget -q -r -l inf -H -D "$names" -P "$scratch/got" "$first"
	}
done
! command -v scrapy >/dev/null || rival scrapy scrapy runspider "$scratch/spider.py"
for name in garner wget scrapy; do
	[ -e "$scratch/$name" ] || { echo "  rival $name: absent"; continue; }
	awk -v name=$name -v us="$(median "$scratch/$name")" \
		'BEGIN { printf "  %-10s %6.0f us CPU a page of the tree, %.0f per CPU second\n", name, us, 1e6 / us }'
done
[ ! -e "$scratch/wget" ] || awk -v ours="$(median "$scratch/garner")" -v wget="$(median "$scratch/wget")" \
	'BEGIN { printf "ratio reap.wget %.3f\n", wget / ours }' >>"$scratch/lines"
cat "$scratch/lines"
