#!/bin/sh
# Politeness at scale: garner fetches 10,000 x SCALE hosts of simnet, 10 pages and robots.txt each,
# with 0.5 s between the requests to one host; none has trouble, which would double that. How near it
# comes to the rate that these delays allow, and how often it came too early, as simnet saw it. SCALE
# may be a fraction. Run by bench/run.
set -eu
. bench/common
hosts=$(awk "BEGIN { print int(10000 * $SCALE) }")
pages=10
delay_ms=500
open=$(ulimit -n)
at_once=$((open - 1000 < 15000 ? open - 1000 : 15000))

ninja -C "$BUILD" tests/simnet >"$scratch/log" || { cat "$scratch/log"; exit 1; }
"$BUILD/tests/simnet" --hosts="$hosts" --pages=$pages --delay=${delay_ms}ms --profiles=plain \
	--robots=some --odd-pages=0 --for=20min >"$scratch/simnet" &
server=$!
for try in $(seq 100); do
	grep -q '"http"' "$scratch/simnet" && break
	sleep 0.1
done

# of NAME: a number in what simnet said last
of() {
	sed -n "s/.*\"$1\": *\"\{0,1\}\([0-9][0-9.:]*\).*/\1/p" "$2"
}
control=$(of control "$scratch/simnet")

# ask LINE [END]: what the control port answers, up to a line like END; one line without
ask() {
	bash -c 'exec 3<>"/dev/tcp/${1%:*}/${1#*:}"; echo "$2" >&3; sed "/$3/q" <&3' \
		bash "$control" "$1" "${2-.}"
}
ask 'truth *' '^$' | sed -n 's/^{"url": *"\([^"]*\)".*/\1/p' >"$scratch/list"
ask reset >"$scratch/log"
ask report >"$scratch/before"

GARNER_DATA=$scratch/data bash -c 'TIMEFORMAT="%U %S %R"; time "$@"' bash \
	"$BUILD/garner" fetch --from "$scratch/list" --delay ${delay_ms}ms \
	-s robot.networks=127.0.0.0/8 -s robot.dns_servers="127.0.0.1:$(of dns "$scratch/simnet")" \
	-s robot.dns_order=ipv4 -s robot.at_once=$at_once \
	>"$scratch/out" 2>"$scratch/time" || [ $? -eq 3 ] || { head -n 3 "$scratch/out" "$scratch/time"; exit 1; }
ask report >"$scratch/report"

urls=$(wc -l <"$scratch/list")
echo "polite, scale $SCALE: $hosts hosts, $urls URLs, a request each $delay_ms ms"
tail -n 2 "$scratch/out" | sed 's/^/  /'
requests=$(of requests "$scratch/report")
violations=$(of violations "$scratch/report")
forbidden=$(of disallowed "$scratch/report")
# The first request to a host waits for none: it does not count for the rate.
tail -n 1 "$scratch/time" | awk -v n="$requests" -v hosts="$hosts" -v delay=$delay_ms \
	-v span="$(of span_us "$scratch/report")" -v bad="$violations" -v forbidden="$forbidden" \
	-v gap="$(of min_gap_us "$scratch/report")" \
	-v connections="$(of connections "$scratch/report")" \
	-v sim=$(($(of cpu_us "$scratch/report") - $(of cpu_us "$scratch/before"))) '{
	allowed = hosts * 1000 / delay
	rate = (n - hosts) / (span / 1e6)
	printf "  %-40s %10.0f /s, of %.0f that the delays allow\n", "requests", rate, allowed
	printf "  %-40s %10d, shortest gap %.1f ms; %d forbidden\n", "violations", bad, gap / 1000, forbidden
	printf "  %-40s %10.1f s, %.0f us a request; %d connections\n", "CPU of garner", $1 + $2,
		($1 + $2) / n * 1e6, connections
	printf "  %-40s %10.1f s, %.0f us a request\n", "CPU of simnet", sim / 1e6, sim / n
	printf "figure polite.rate_percent %.1f percent\n", rate / allowed * 100
	printf "figure polite.violations %d requests\n", bad
	printf "figure polite.us %.1f us\n", ($1 + $2) / n * 1e6
}'
[ "$violations" -eq 0 ] && [ "$forbidden" -eq 0 ]
