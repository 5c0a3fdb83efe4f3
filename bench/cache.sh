#!/bin/sh
# The content cache with 10 million rows of 1,000 providers: a set of a million URLs of one of them through the
# socket of uns (a third is queued already, a third stored), fetching through qm, botm and bots against bare botm
# and bots, and how soon qm is ready after kill -9. Run by bench/run.
#
#	CACHE_DIR   where the databases are kept (build/cache-bench): they are copied for each run
#
# SCALE may be a fraction: that part of the providers, of the set and of the pages.
set -eu
dir=${CACHE_DIR:-build/cache-bench}
export TMPDIR="${TMPDIR:-$PWD/$BUILD}" # files are to be on a disk, and /tmp may be in memory
unset GARNER_DATA GARNER_CONFIG http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY || true
. bench/common
port=8097
password=benchbenchbench
of() { awk "BEGIN { n = int($1 * $SCALE); print n < $2 ? $2 : n }"; }
providers=$(of 1000 4)
urls=$(of 999999 3000)
rows=$(awk "BEGIN { print int((10000000 * $SCALE - $urls * 2 / 3) / ($providers - 1)) }")
pages=60 # of each provider

nginx_get || { echo 'cache: nginx cannot be had from its package: nothing is measured'; exit 0; }
ninja -C "$BUILD" garner garner-parse bench/cache-fill >"$scratch/log" || { cat "$scratch/log"; exit 1; }
echo "cache, scale $SCALE: $providers providers with $rows rows each, a set of $urls URLs"
base=$dir/$SCALE
if [ ! -e "$base/done" ]; then
	rm -rf "$base"
	mkdir -p "$base"
	"$BUILD/bench/cache-fill" "$base" "$providers" "$rows" $pages $port "$urls" $password
	touch "$base/done"
fi

mkdir "$scratch/www" "$scratch/tmp"
yes 'some words of text for a page that is fetched again and again' | head -c 1000 >"$scratch/www/1k.html"
awk -v n="$providers" -v port=$port 'BEGIN {
	print "listen 127.1.1.1:" port ";"
	for (i = 1; i < n; i++) print "listen 127.0." 1 + int(i / 250) "." 1 + i % 250 ":" port " backlog=4096;"
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
/usr/bin/python3 -B bench/cache.py "$BUILD" "$scratch" "$base" "$urls" "$providers" $pages $port $password
