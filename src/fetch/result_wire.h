/* A result of the robot as bytes: what a spider tells a doc index in the HEAD of a RESULT
 * (doc/protocols/docindex.md), so that it can be judged there as a fetch of one's own. The reader
 * treats what comes as hostile. Pure: no connection, no clock. */
#pragma once
#include "base/buf.h"
#include "fetch/docindex_wire.h"
#include "fetch/robot.h"

/* The same instant on both clocks. Times of the request are sent as how long ago they were: clocks
 * of two machines are not compared. */
struct result_now {
	int64_t mono_us, wall_us;
};

/* Adds at most DOCINDEX_HEAD_MAX bytes; what cannot be sent (control characters in what a server
 * said, a Location beyond URL_MAX) is left out. */
void result_write(const struct robot_result *result, struct result_now now, struct buf *out);

/* Where a result lies that was read. */
struct result_room {
	struct robot_head head;
	char why[257];
};
/* Slices of *ret point into bytes, the rest into *room. ERR_DAMAGED names the attribute. */
int result_read(struct str bytes, struct result_now now, struct result_room *room,
		struct robot_result *ret, struct err *err) MUST_USE;
