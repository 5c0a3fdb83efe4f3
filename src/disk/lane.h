/* Lanes: a thread that does the transfers of any number of streams, begun in the order in which
 * they were asked for. Who waits for one does others meanwhile, so that two are under way while
 * there is nothing else to do. Streams see to it that a buffer is not touched while it is out. */
#pragma once
#include "base/file.h"

struct lane_job {
	struct lane_job *next;
	const struct file *file;
	void *p;
	uint64_t at;
	size_t n;
	size_t done_n;   /* a read may be shorter at the end of the file */
	bool write, out; /* out: the lane has it */
	int rc;
	struct err err; /* when rc is negative */
};

struct lane;

int lane_new(struct lane **ret, struct err *err);
void lane_free(struct lane **l); /* does what was posted first */

void lane_post(struct lane *l, struct lane_job *job);
/* Returns when the job is not out: its rc and done_n are good, its buffer is the caller's again. */
void lane_wait(struct lane *l, struct lane_job *job);
