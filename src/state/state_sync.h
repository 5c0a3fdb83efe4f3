/* Several syncs at the same time, each in a thread that is kept for the next time. For this room.
 */
#pragma once
#include "base/err.h"

enum { SYNC_JOBS = 8 };

struct sync_job {
	int (*run)(void *ctx, struct err *err);
	void *ctx;
	int rc;
	struct err err;
};

struct sync_pool;
struct sync_pool *sync_pool_new(void);
void sync_pool_free(struct sync_pool **p);
/* Runs at most SYNC_JOBS jobs and waits for all. Negative: one failed; err is that of the first. */
int sync_pool_run(struct sync_pool *p, struct sync_job *job, size_t n, struct err *err);
