#!/bin/sh
# Fetching: the robot's CPU per page beside that of the least loop over libcurl (fetch_curl.c), both
# hashing, from nginx on loopback: kept connections to 16 addresses, and a new connection for each
# page over 1,000 addresses. curl, wget and scrapy, where they are, for orientation. Run by bench/run.
set -eu
. bench/common
port=8097
hosts=1000
pages=$((20000 * SCALE))
rounds=5
kept=16

nginx_get || { echo 'fetch: nginx cannot be had from its package: nothing is measured'; exit 0; }
ninja -C "$BUILD" bench/fetch-robot bench/fetch-curl >"$scratch/log" || { cat "$scratch/log"; exit 1; }

mkdir "$scratch/www" "$scratch/tmp"
for kb in 1 20; do
	yes 'some words of text for a page that is fetched again and again' |
		head -c ${kb}000 >"$scratch/www/${kb}k.html"
done
awk -v n=$hosts -v port=$port 'BEGIN {
	for (i = 0; i < n; i++) print "listen 127.0." 1 + int(i / 250) "." 1 + i % 250 ":" port " backlog=4096;"
}' >"$scratch/listen"
cat >"$scratch/nginx.conf" <<C
worker_processes 1; daemon off; pid $scratch/pid; error_log $scratch/error crit;
events { worker_connections 8000; }
http {
	access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
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

# list HOSTS PAGE
list() {
	awk -v n="$hosts" -v h="$1" -v page="$2" -v port=$port 'BEGIN {
		for (i = 0; i < n; i++) {
			k = i % h
			print "http://127.0." 1 + int(k / 250) "." 1 + k % 250 ":" port "/u/" i "/" page
		}
	}'
}

# measure NAME LIST IN-FLIGHT keep|new: the median of the ratios of rounds, each with both
measure() {
	: >"$scratch/rounds"
	for round in $(seq $rounds); do
		ours=$("$BUILD/bench/fetch-robot" "$2" "$pages" "$3" "$4" "$scratch")
		loop=$("$BUILD/bench/fetch-curl" "$2" "$pages" "$3" "$4")
		echo "$ours $loop" >>"$scratch/rounds"
	done
	awk -v name="$1" -v n="$pages" '
		{ o[NR] = $1; c[NR] = $4; r[NR] = $1 / $4; wrong += $3 + $6; w[NR] = $2; v[NR] = $5 }
		function median(a, m, i, j, t) {
			for (i = 1; i <= m; i++) for (j = i + 1; j <= m; j++)
				if (a[j] < a[i]) { t = a[i]; a[i] = a[j]; a[j] = t }
			return m % 2 ? a[(m + 1) / 2] : (a[m / 2] + a[m / 2 + 1]) / 2
		}
		END {
			printf "  %-10s garner %6.1f us CPU a page, %6.0f pages/s; loop %6.1f us, %6.0f pages/s%s\n",
				name, median(o, NR) / n * 1e6, n / median(w, NR), median(c, NR) / n * 1e6,
				n / median(v, NR), wrong ? "; " wrong " FAILED" : ""
			printf "figure fetch.%s.us %.1f us\nratio fetch.%s %.3f\n", name, median(o, NR) / n * 1e6,
				name, median(r, NR) >"/dev/stderr"
			exit wrong ? 1 : 0
		}' "$scratch/rounds" 2>>"$scratch/lines"
}

# rival NAME COMMAND...: CPU of a whole program for the pages of a list
rival() {
	name=$1
	shift
	command -v "$1" >/dev/null || { echo "  rival $name: absent"; return 0; }
	/usr/bin/env bash -c 'TIMEFORMAT="%U %S %R"; time "$@" >/dev/null 2>&1' bash "$@" 2>"$scratch/time" || true
	awk -v name="$name" -v n="$hosts" '{ printf "  rival %-8s %6.1f us CPU a page, %6.0f pages/s (its start included)\n",
		name, ($1 + $2) / n * 1e6, n / $3 }' "$scratch/time"
}

echo "fetch, scale $SCALE"
: >"$scratch/lines"
rc=0
for kb in 1 20; do
	list $kept ${kb}k.html >"$scratch/kept"
	list $hosts ${kb}k.html >"$scratch/new"
	measure keep.${kb}k "$scratch/kept" 64 keep || rc=1
	measure new.${kb}k "$scratch/new" 200 new || rc=1
done
list $hosts 1k.html >"$scratch/new"
sed 's|.*|url = "&"\noutput = "/dev/null"|' "$scratch/new" >"$scratch/curlrc"
rival curl curl -s --parallel --parallel-max 200 -K "$scratch/curlrc"
rival wget wget -q -O /dev/null -i "$scratch/new"
cat >"$scratch/spider.py" <<S
import scrapy
class Pages(scrapy.Spider):
    name = "pages"
    start_urls = open("$scratch/new").read().split()
    custom_settings = {"CONCURRENT_REQUESTS": 200, "LOG_ENABLED": False, "ROBOTSTXT_OBEY": False}
    def parse(self, response):
        pass
S
rival scrapy scrapy runspider "$scratch/spider.py"
cat "$scratch/lines"
exit $rc
