/* Group commit on a loop: many share one sync, and the loop never waits for the disk.
 *
 * What has to be durable gathers with its owner, who says when the next turn may begin. Then
 * begin() declares what has gathered to be under way, run() makes it durable in a thread, and
 * done() hears whether it is. What comes meanwhile gathers for the turn after it. After a failed
 * turn nothing of it is kept; its owner may leave it under way or let it gather again, and ask for
 * another turn after a while. */
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
/* The next turn begins in wait_us, or sooner if that was asked for before; never from inside this
 * call. While one is under way nothing happens: done() is where to ask again. */
void sync_group_soon(struct sync_group *g, int64_t wait_us);
/* Waits for the turn that is under way and returns how it ended, in place of done(). Nothing is
 * called any more. Also of one that was not opened. */
int sync_group_close(struct sync_group *g, struct err *err);
