/* Turns the output of FTP's LIST into entries. garner-parse reads one listing at a time, and its
 * entries are taken as they come, so neither a listing of four gigabytes nor a worker that hangs
 * delays other sites. If the visit has ended meanwhile, reading stops at the next sign of life. */
#include "archie/getter/getter_inner.h"
#include "extract/listing_run.h"

enum {
	AT_A_TIME = 4096, /* entries before others have their turn */
	IDLE_S = 60,
};

static void read_start(struct getter *g);

static void read_close(struct getter *g)
{
	loop_io_end(&g->run_io);
	loop_timer_stop(&g->run_timer);
	listing_run_close(&g->run);
}

static void read_end(struct task *t, int rc, const struct listing_stats *stats,
		     const struct err *err)
{
	struct visit *v = t->visit;
	if (v->ended || v->getter->stopping)
		task_free(t);
	else
		t->read(t, rc, stats, err);
	visit_settle(v);
}

static void read_some(void *ctx)
{
	struct getter *g = ctx;
	struct task *t = g->read;
	const struct visit *v = t->visit;
	struct loop *loop = g->o.kit->loop;
	struct listing_entry e;
	struct err err = {0};
	int rc = 0;
	loop_io_end(&g->run_io); /* its end closes the descriptor */
	for (int n = 0; n < AT_A_TIME && rc == 0 && !v->ended; n++)
		if ((rc = listing_run_next(g->run, &e, &err)) == 0)
			t->entry(t, &e);
	if (rc == 2 && !v->ended)
		loop_io_want(loop, &g->run_io, listing_run_fd(g->run), LOOP_READ);
	if ((rc == 0 || rc == 2) && !v->ended) {
		loop_timer_in(loop, &g->run_timer, rc == 0 ? 0 : IDLE_S * US_PER_S);
		return;
	}
	struct listing_stats stats = *listing_run_stats(g->run);
	read_close(g);
	g->read = NULL;
	read_end(t, rc, &stats, &err);
	read_start(g);
}

static void read_ready(void *ctx, unsigned what)
{
	(void)what;
	read_some(ctx);
}

static int read_open(struct task *t, struct err *err)
{
	struct visit *v = t->visit;
	struct getter *g = v->getter;
	const struct getter_options *o = &g->o;
	bool is_whole_site = t->list.fd < 0;
	struct listing_run_options options = {
		.program = o->parse->program,
		.job = {.listed_s = v->begun_us / US_PER_S,
			.tz_s = v->site.tz_s,
			.prefix = is_whole_site ? v->site.path : STR(""),
			.errors_max_percent = is_whole_site ? (uint32_t)o->conf->errors_max : 100u},
		.unpacked_max = is_whole_site ? o->conf->listing_max : (uint64_t)GETTER_LIST_MOST,
		.memory = o->parse->memory,
		.idle_us = IDLE_S * US_PER_S,
		.no_wait = true,
	};
	return listing_run_open(&g->run, is_whole_site ? v->file.file.fd : t->list.fd, &options,
				err);
}

static void read_start(struct getter *g)
{
	struct task *t;
	while (!g->read && !g->stopping && (t = LIST_FIRST(struct task, &g->lists, reading))) {
		struct err err;
		list_remove(&t->reading);
		if (t->visit->ended || read_open(t, &err) < 0) {
			read_end(t, -1, &(struct listing_stats){0}, &err);
			continue;
		}
		g->read = t;
		g->run_io = (struct loop_io){.fn = read_ready, .ctx = g};
		g->run_timer = (struct loop_timer){.fn = read_some, .ctx = g};
		loop_timer_in(g->o.kit->loop, &g->run_timer, 0);
	}
}

void getter_read(struct task *t, void (*entry)(struct task *, const struct listing_entry *),
		 getter_read_fn *done)
{
	struct getter *g = t->visit->getter;
	t->entry = entry;
	t->read = done;
	list_append(&g->lists, &t->reading);
	read_start(g);
}

void getter_read_close(struct getter *g)
{
	if (g->read) {
		read_close(g);
		task_free(g->read);
		g->read = NULL;
	}
	LIST_EACH (struct task, t, &g->lists, reading)
		task_free(t);
}
