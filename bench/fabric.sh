#!/bin/sh
# The fetch fabric: CPU per URL of all garner processes over that of `garner fetch -o` with the same list, from
# nginx on loopback: 1 KB pages, 1,000 addresses, a new connection for each page, no delay. Three chains (fabric.py): a
# URL server with a spider; a source, a botm and two bots; a botm over four botms with four bots each. Files are
# durable before a URL is done; those of `garner fetch -o` are synced once, at its end. Run by bench/run.
set -eu
export TMPDIR="${TMPDIR:-$PWD/$BUILD}" # files are to be on a disk, and /tmp may be in memory
. bench/common
port=8097
hosts=1000
pages=$(awk "BEGIN { print int(20000 * $SCALE) }")
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
echo "fabric, scale $SCALE: $pages pages of 1 KB, $hosts addresses"
/usr/bin/python3 -B bench/fabric.py "$BUILD/garner" "$scratch" "$scratch/list"
