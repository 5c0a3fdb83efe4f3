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
	/* NULL: never. Whether nobody wants it any more; asked before it runs, and when a claim
	 * would be refused, with the pool's lock held: it must be quick. If so, run() is called all
	 * the same, with `dropped` set. */
	bool (*unwanted)(const struct pool_job *job);
	uint64_t client; /* who asks: a number made of an address; 0: the program itself */
	bool beyond;     /* the queue and the share: its owner limits how many there are */
	/* The job outlives its run and is waited for with pool_wait(). Otherwise run() is the last
	 * that the pool sees of it, so that run() may give it away. */
	bool kept;
	/* From here on the pool's. */
	bool dropped; /* for run() to read */
	bool claimed, placed, out;
	struct link link;
};

struct pool_options {
	size_t threads;
	size_t queue;   /* jobs that may wait, beyond the threads; 0: as many as are posted */
	size_t share;   /* jobs that one client other than 0 may have in the pool; 0: all of them */
	size_t abreast; /* and that run at a time, so that threads are free for others; 0: all */
	int nice;       /* how much the threads give way to others, 0 to 19 */
};

struct pool;

int pool_new(struct pool **ret, const struct pool_options *options, struct err *err);
/* Does what was claimed and posted, then ends the threads. */
void pool_free(struct pool **p);

/* Claims a place, which pool_post() then fills: between the two the caller can still prepare.
 * false: the pool is full, the client has its share, or the pool ends. */
bool pool_claim(struct pool *p, struct pool_job *job);
/* A job that was not claimed is taken all the same, as one beyond. */
void pool_post(struct pool *p, struct pool_job *job);
/* Returns when a job that is kept is not in the pool any more. Meanwhile the caller does waiting
 * jobs itself, so a pool of one thread has two at work while its owner waits. */
void pool_wait(struct pool *p, struct pool_job *job);
/* Grants no more claims; returns when all granted ones are done. */
void pool_drain(struct pool *p);
