/* Worker pools: threads for jobs that would hold up the caller: syncs, merges, transfers, slow
 * answers. Each user makes a pool of its own. Clients take turns: each client with waiting jobs is
 * served once before any is served again, and its own jobs are done in the order in which they
 * came; and one client has only so many threads at a time. So a client that asks for a hundred
 * things does not hold up one that asks for one. */
#pragma once
#include "base/err.h"
#include "base/list.h"

struct pool_job {
	void (*run)(struct pool_job *job);
	/* Whether the job is no longer needed; NULL: never. Called before the job runs, and before
	 * a claim is refused, with the pool's lock held, so it must be quick. If it returns true,
	 * run() is still called, with `dropped` set. */
	bool (*unwanted)(const struct pool_job *job);
	uint64_t client; /* a number made from the client's address; 0: the program itself */
	bool beyond;     /* ignores queue and share: its owner limits the number */
	/* The job outlives its run and is waited for with pool_wait(). Otherwise the pool does not
	 * touch it after run(), which may free it. */
	bool kept;
	/* The rest belongs to the pool. */
	bool dropped; /* read by run() */
	bool claimed, placed, out;
	struct link link;
};

struct pool_options {
	size_t threads;
	size_t queue;   /* jobs that may wait, beyond the threads; 0: as many as are posted */
	size_t share;   /* jobs that one client other than 0 may have in the pool; 0: all of them */
	size_t abreast; /* jobs of one client that may run at a time; 0: all */
	int nice;       /* of the threads, 0 to 19 */
};

struct pool;

int pool_new(struct pool **ret, const struct pool_options *options, struct err *err);
/* Runs all jobs that were claimed or posted, then ends the threads. */
void pool_free(struct pool **p);

/* Reserves a place for pool_post(), so that the caller can prepare the job in between. false: the
 * pool is full, the client has its share, or the pool is ending. */
bool pool_claim(struct pool *p, struct pool_job *job);
/* Also accepts a job that was not claimed, as if `beyond` were set. */
void pool_post(struct pool *p, struct pool_job *job);
/* Waits until a kept job has left the pool. Meanwhile the caller runs waiting jobs itself, so a
 * pool of one thread has two at work. */
void pool_wait(struct pool *p, struct pool_job *job);
/* Refuses further claims and waits until all granted ones are done. */
void pool_drain(struct pool *p);
