#!/bin/sh
# The tree itself: how long it takes to build, how long garner takes to say its help, what it loads,
# and how often an idle supervisor wakes up. Run by bench/run.
set -eu
. bench/common

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# timed COMMAND...: its wall time in seconds goes to $seconds
timed() {
	start=$(now_ms)
	"$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
	seconds=$(awk "BEGIN { printf \"%.2f\", ($(now_ms) - $start) / 1000 }")
}

# row WHAT VALUE UNIT GOAL, and the figure NAME
row() {
	printf '  %-44s %10s %-8s %s\n' "$2" "$3" "$4" "$5"
	lines="${lines}figure tree.$1 $3 $4
"
}

# Voluntary context switches of all threads of a process.
switches() {
	cat /proc/"$1"/task/*/status | awk '/^voluntary_ctxt/ { n += $2 } END { print n }'
}

build_times() {
	timed meson setup "$scratch/build"
	configure=$seconds
	timed ninja -C "$scratch/build"
	row build_s 'full build from clean, with configuring' \
		"$(awk "BEGIN { print $configure + $seconds }")" s '(goal: under 30)'
	# a copy of the source tree would be slower to make than the build; touching is a change to ninja
	one=src/base/str.c
	before=$(stat -c %y $one)
	touch $one
	timed ninja -C "$scratch/build"
	touch -d "$before" $one
	row rebuild_s "one file changed ($one)" "$seconds" s '(goal: under 5)'
}

help_times() {
	set -- $($BUILD/bench/spawn $((200 * (SCALE < 5 ? SCALE : 5))) $BUILD/garner --help)
	row help_wall_us 'garner --help, median wall' "$1" us '(goal: within 3000)'
	row help_cpu_us 'garner --help, median CPU' "$2" us ''
	row true_wall_us '/bin/true in the same run, median wall' "$3" us ''
	lines="${lines}ratio tree.help.true $(awk "BEGIN { printf \"%.2f\", $1 / $3 }")
"
	row help_objects 'shared objects that garner loads' \
		"$(ldd $BUILD/garner | grep -c '=> /')" objects ''
}

idle_wakeups() {
	seconds=$((30 * SCALE))
	GARNER_DATA=$scratch/data $BUILD/garner up -s web.listen=127.0.0.1:0 >"$scratch/up.log" 2>&1 &
	ours=$!
	sleep 3 # everything has started, and what runs once after a start has run
	if ! kill -0 "$ours" 2>/dev/null; then
		cat "$scratch/up.log"
		ours=
		echo '  garner up does not stay: no figure for the idle supervisor'
		return 1
	fi
	before=$(switches "$ours")
	sleep "$seconds"
	row idle_wakeups_per_10s "idle supervisor, wakeups in $seconds s, per 10 s" \
		"$(awk "BEGIN { printf \"%.2f\", ($(switches "$ours") - $before) * 10 / $seconds }")" wakeups \
		'(goal: under 1)'
}

lines=
echo "tree, scale $SCALE"
build_times
help_times
rc=0
idle_wakeups || rc=1
printf '%s' "$lines"
exit $rc
