/* Group commit on a loop: many changes share one sync, and the loop never waits for the disk.
 *
 * The owner collects what has to be durable and says when the next turn may start. Then begin()
 * takes what was collected, run() makes it durable in a thread, and done() gets the result. Changes
 * that arrive meanwhile belong to the next turn. A failed turn stores nothing; its owner may retry
 * it or collect it again, and ask for another turn later. */
#pragma once
#include "base/pool.h"
#include "net/loop.h"

struct sync_group {
	/* Set by the owner. */
	struct loop *loop;
	bool (*begin)(void *ctx);               /* in the loop; false: there is nothing to do */
	int (*run)(void *ctx, struct err *err); /* in the thread */
	void (*done)(void *ctx, int rc, const struct err *err); /* in the loop */
	void *ctx;
	/* From here on its own, to be read. */
	bool is_busy;    /* from begin() to done() */
	int64_t took_us; /* the last run() */
	struct pool *pool;
	struct pool_job job;
	struct loop_timer timer;
	int rc;
	struct err err;
};

int sync_group_open(struct sync_group *g, struct err *err);
/* Starts the next turn in wait_us, or sooner if that was requested before; never from inside this
 * call. Does nothing during a turn: ask again in done(). */
void sync_group_soon(struct sync_group *g, int64_t wait_us);
/* Waits for the current turn and returns its result, in place of done(). No callback comes after
 * this. Safe if it was never opened. */
int sync_group_close(struct sync_group *g, struct err *err);
