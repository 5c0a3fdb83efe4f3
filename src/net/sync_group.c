/* Group commit on a loop: a timer, a thread, and a post back. A turn is one job of a pool with one
 * thread; since at most one runs at a time, many requests share the next. */
#include "net/sync_group.h"

static void turn_done(void *ctx)
{
	struct sync_group *g = ctx;
	g->is_busy = false;
	g->done(g->ctx, g->rc, &g->err);
}

static void turn_run(struct pool_job *job)
{
	struct sync_group *g = LIST_OF(struct sync_group, job, job);
	int64_t from_us = clock_mono_us();
	g->rc = g->run(g->ctx, &g->err);
	g->took_us = clock_mono_us() - from_us;
	loop_post(g->loop, turn_done, g);
}

static void turn_begin(void *ctx)
{
	struct sync_group *g = ctx;
	if (!g->begin(g->ctx))
		return;
	g->is_busy = true;
	g->job = (struct pool_job){.run = turn_run};
	pool_post(g->pool, &g->job);
}

int sync_group_open(struct sync_group *g, struct err *err)
{
	g->timer = (struct loop_timer){.fn = turn_begin, .ctx = g};
	return pool_new(&g->pool, &(struct pool_options){.threads = 1}, err);
}

void sync_group_soon(struct sync_group *g, int64_t wait_us)
{
	bool is_sooner = !g->timer.set || g->timer.due_us > loop_now_us(g->loop) + wait_us;
	if (g->pool && !g->is_busy && is_sooner)
		loop_timer_in(g->loop, &g->timer, wait_us);
}

int sync_group_close(struct sync_group *g, struct err *err)
{
	if (!g->pool)
		return 0;
	loop_timer_stop(&g->timer);
	pool_free(&g->pool);
	loop_post_cancel(g->loop, g);
	if (!g->is_busy || g->rc == 0)
		return 0;
	*err = g->err;
	return g->rc;
}
