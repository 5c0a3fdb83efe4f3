/* Listings read in a cage: garner-parse --listing unpacks (gzip, xz, compress; by the first bytes)
 * and parses a file with all locks of cage_door.h shut, and entries come back over a pipe. What
 * comes back is checked as if a stranger had sent it. */
#pragma once
#include "extract/listing.h"

struct listing_run_options {
	const char *program; /* the path of garner-parse */
	struct listing_job job;
	uint64_t unpacked_max; /* bytes; more is refused. 0: no limit */
	size_t memory;         /* bytes that the worker may use; 0: a default */
	int64_t idle_us;       /* it says nothing for so long: it is ended. 0: a default */
	bool no_wait;          /* listing_run_next() says 2 where it would have to wait */
};

struct listing_run;
/* fd: the listing, read from its position; stays the caller's. */
int listing_run_open(struct listing_run **ret, int fd, const struct listing_run_options *options,
		     struct err *err);
/* The next entry; its texts are good until the next call. 1: the end, all is well. 2: nothing yet,
 * ask again when listing_run_fd() is readable, or idle_us has passed. Negative: it was refused
 * (ERR_USAGE), the worker died or overran, or its answer made no sense (ERR_REMOTE). */
int listing_run_next(struct listing_run *run, struct listing_entry *ret, struct err *err);
/* To be watched; good until listing_run_next() says 1 or fails. */
int listing_run_fd(const struct listing_run *run);
/* What was counted; complete after listing_run_next() said 1 or ERR_USAGE. */
const struct listing_stats *listing_run_stats(const struct listing_run *run);
void listing_run_close(struct listing_run **run); /* at any time; ends the worker */
