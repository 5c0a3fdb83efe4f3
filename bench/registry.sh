#!/bin/sh
# Collecting against building: CPU of the broker from a gatherer's 200,000 objects of 2 KB on loopback until all are
# found, over that of `garner index words build` of the same objects. Run by bench/run, after registry.c.
#
#	COLLECT_OBJECTS   how many; SCALE multiplies them
set -eu
exec /usr/bin/python3 -B bench/registry.py "$BUILD/garner" $((${COLLECT_OBJECTS:-200000} * SCALE))
