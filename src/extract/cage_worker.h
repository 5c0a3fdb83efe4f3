/* The worker's side of the cage: garner-parse. */
#pragma once
#include "extract/extract.h"

/* What a worker does other than reading, for tests that prove the cage. */
struct cage_tricks {
	void (*after_read)(const struct extract_job *job, struct out *out,
			   struct extract_result *ret);
	void (*before_wait)(void);
};

/* Loads everything, gives up all rights, then reads documents until the owner is gone. 0: it is
 * gone. Call with the owner's socket and memory in place (cage_inner.h) and no threads. `tricks`:
 * NULL but in tests. */
int cage_work(size_t body_max, size_t memory, const struct cage_tricks *tricks, struct err *err);
