#!/bin/sh
# The broker's port over 1 million objects of 1 KB: its CPU for each of 2,000 queries with 50 results, light queries
# while 16 heavy ones run, and bulk transfers; glimpse on the same files. Run by bench/run.
#
#	BROKER_DIR       where the objects are kept (build/broker): what is there is used again
#	BROKER_OBJECTS   how many; SCALE multiplies them
set -eu
objects=$((${BROKER_OBJECTS:-1000000} * SCALE))
exec /usr/bin/python3 -B bench/broker.py "$BUILD/garner" "${BROKER_DIR:-build/broker}/$objects" $objects
