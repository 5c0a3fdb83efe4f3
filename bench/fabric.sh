#!/bin/sh
# The fetch fabric: CPU per URL of all garner processes over that of `garner fetch -o` with the same list, from
# nginx on loopback: 1 KB pages, 1,000 addresses, a new connection for each page, no delay. Three chains: a URL
# server with a spider; a source, a botm and two bots; a botm over four botms with four bots each. Files are
# durable before a URL is done; those of `garner fetch -o` are synced once, at its end. Run by bench/run.
set -eu
. bench/common
port=8097
hosts=1000
pages=$(awk "BEGIN { print int(20000 * $SCALE) }")
rounds=3
limit_s=300
garner="$BUILD/garner"
hz=$(getconf CLK_TCK)
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY

nginx_get || { echo 'fabric: nginx cannot be had from its package: nothing is measured'; exit 0; }
ninja -C "$BUILD" garner >"$scratch/log" || { cat "$scratch/log"; exit 1; }

mkdir "$scratch/www" "$scratch/tmp"
yes 'some words of text for a page that is fetched again and again' | head -c 1000 >"$scratch/www/1k.html"
awk -v n=$hosts -v port=$port 'BEGIN {
	for (i = 0; i < n; i++) print "listen 127.0." 1 + int(i / 250) "." 1 + i % 250 ":" port " backlog=4096;"
}' >"$scratch/listen"
cat >"$scratch/nginx.conf" <<C
worker_processes 1; daemon off; pid $scratch/pid; error_log $scratch/error crit;
events { worker_connections 8000; }
http {
	access_log off; sendfile on; tcp_nopush on; keepalive_timeout 0;
	open_file_cache max=100; types { text/html html; }
	client_body_temp_path $scratch/tmp; proxy_temp_path $scratch/tmp; fastcgi_temp_path $scratch/tmp;
	uwsgi_temp_path $scratch/tmp; scgi_temp_path $scratch/tmp;
	server {
		include $scratch/listen; root $scratch/www;
		location ~ ^/u/ { rewrite ^/u/[^/]*/(.*)\$ /\$1 last; }
	}
}
C
nginx_start
awk -v n="$pages" -v h=$hosts -v port=$port 'BEGIN {
	for (i = 0; i < n; i++) {
		k = i % h
		print "http://127.0." 1 + int(k / 250) "." 1 + k % 250 ":" port "/u/" i "/1k.html"
	}
}' >"$scratch/list"

# configure [LINE...]: a garner with data of its own
configure() {
	rm -rf "$scratch/data" "$scratch/got" "$scratch"/list.done
	cat >"$scratch/conf" <<C
data = $scratch/data
[robot]
networks = 127.0.0.0/8
delay = 0
concurrent = 8
C
	printf '%s\n' "$@" >>"$scratch/conf"
}

# run COMMAND...: a garner process; its PID joins $ours
run() {
	"$garner" -c "$scratch/conf" "$@" >>"$scratch/roles.log" 2>&1 &
	ours="$ours $!"
}

# cpu PID...: seconds of these
cpu() {
	for pid in "$@"; do
		sed 's/.*) //' "/proc/$pid/stat"
	done | awk -v hz="$hz" '{ sum += $12 + $13 } END { print sum / hz }'
}

# timed COMMAND...: its CPU in seconds
timed() {
	/usr/bin/env bash -c 'TIMEFORMAT="%U %S"; time "$@" >"$0.out" 2>"$0.err"' "$scratch/timed" "$@" 2>"$scratch/time" || {
		cat "$scratch/timed.err"
		exit 1
	}
	awk '{ print $1 + $2 }' "$scratch/time"
}

# have FILE: waits until it has a line for each page
have() {
	from=$(date +%s)
	while [ ! -e "$1" ] || [ "$(wc -l <"$1")" -lt "$pages" ]; do
		[ $(($(date +%s) - from)) -lt $limit_s ] || {
			echo "fabric: $1 is not complete after $limit_s s"
			cat "$scratch/roles.log"
			stop
			exit 1
		}
		sleep 0.1
	done
}

# good FILE: every page has its line, and is good
good() {
	n=$(grep -c '"outcome":"ok"' "$1" || true)
	[ "$n" -eq "$pages" ] || { echo "fabric: $n of $pages pages in $1"; exit 1; }
}

plain() {
	configure
	timed "$garner" -c "$scratch/conf" fetch --json -o "$scratch/got" --from "$scratch/list"
	good "$scratch/timed.out"
}

spider() {
	configure '[spider]' 'listen = 127.0.0.1:8390' "results = dir:$scratch/got" '[urlserver]' 'spider_port = 8390' \
		'req_host_per_sec = 1000000' 'req_host_concurrent = 8' "doc_index = file:$scratch/list"
	run spider
	run urlserver
	have "$scratch/got/results.jsonl"
	sleep 1
	cpu $ours
	stop
	good "$scratch/got/results.jsonl"
}

# through: the source's list goes to the botm that connects to it
through() {
	timed "$garner" -c "$scratch/conf" fetch --json --through 127.0.0.1:8393 --from "$scratch/list" >"$scratch/source"
	cpu $ours | awk -v source="$(cat "$scratch/source")" '{ print $1 + source }'
	stop
	good "$scratch/timed.out"
}

bot() {
	configure '[botm]' 'listen = 127.0.0.1:8391' 'source = 127.0.0.1:8393' 'machine = m' '[bot]' 'botm = 127.0.0.1:8391'
	run botm
	for i in 1 2; do run bot@$i; done
	through
}

tree() {
	set -- '[botm]' 'listen = 127.0.0.1:8391' 'source = 127.0.0.1:8393' 'folder =' 'machine ='
	for i in 1 2 3 4; do
		set -- "$@" "[botm@$i]" "listen = 127.0.0.1:840$i" 'source = 127.0.0.1:8391' "machine = m$i" "folder = $scratch/data/files$i"
		for k in 1 2 3 4; do
			set -- "$@" "[bot@$i$k]" "botm = 127.0.0.1:840$i" "folder = $scratch/data/files$i"
		done
	done
	configure "$@"
	run botm
	for i in 1 2 3 4; do
		run botm@$i
		for k in 1 2 3 4; do run bot@$i$k; done
	done
	through
}

# median FILE: of its lines
median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

echo "fabric, scale $SCALE: $pages pages of 1 KB, $hosts addresses"
for round in $(seq $rounds); do
	base=$(plain)
	for chain in spider bot tree; do
		us=$($chain) || { echo "$us"; exit 1; }
		echo "$us $base" | awk -v n="$pages" '{ printf "%.4f %.1f %.1f\n", $1 / $2, $1 / n * 1e6, $2 / n * 1e6 }' >>"$scratch/$chain"
	done
	echo "  round $round of $rounds done"
done
for chain in spider bot tree; do
	sort -n "$scratch/$chain" | awk -v name=$chain '{ line[NR] = $0 } END {
		split(line[int((NR + 1) / 2)], v, " ")
		printf "  %-8s %6.1f us CPU a URL, garner fetch -o %6.1f us\n", name, v[2], v[3]
	}'
done
for chain in spider bot tree; do
	echo "ratio fabric.$chain $(median "$scratch/$chain" | awk '{ printf "%.3f", $1 }')"
done
