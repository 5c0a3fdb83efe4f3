/* The answer to #BULK: which objects a query finds, where there is one, and then the transfer of
 * these. A transfer that lacks something ends with 400, so a query that was cut, or that finds more
 * than can be told, is a failure before the first object. */
#include "base/clock.h"
#include "broker/bulk_inner.h"
#include "broker/port_inner.h"
#include "broker/reply_inner.h"

#include <stdlib.h>

enum {
	HITS_MOST = 1 << 30,  /* bytes of what a query found, for a moment */
	BULK_HOLDS = 1 << 20, /* bytes of a transfer without its piece, about */
};

struct bulk_answer {
	struct port_bulk_options o;
	struct bulk *bulk;
	bool is_long;
	int64_t moment_us; /* of the clock, as of a reply */
	bool failed, cut;
};

void *port_bulk_new(const struct port_bulk_options *options)
{
	struct bulk_answer *a = mem_alloc(sizeof *a);
	a->o = *options;
	a->moment_us = options->moment_us;
	return a;
}

static void bulk_answer_close(void *ctx)
{
	struct bulk_answer *a = ctx;
	bulk_free(&a->bulk);
	mem_free(&a);
}

static bool is_of_all(const struct request *q)
{
	return q->all && q->results == REQUEST_RESULTS_MOST;
}

static int compare_oids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static int open_found(struct bulk_answer *a, struct search_hits *hits, struct arena *arena,
		      struct err *err)
{
	uint32_t *oid = arena_array(arena, search_count(hits) + 1, sizeof *oid);
	const struct hit *hit;
	size_t n = 0;
	while ((hit = search_next(hits)))
		if (hit->oid <= UINT32_MAX)
			oid[n++] = (uint32_t)hit->oid;
	qsort(oid, n, sizeof *oid, compare_oids);
	return bulk_open(&a->bulk,
			 &(struct bulk_options){.data = a->o.data,
						.since_s = a->o.request->since_s,
						.oid = oid,
						.oids = n,
						.now_us = clock_wall_us()},
			 err);
}

/* 1: it has to be begun again, perhaps among those that take long. */
static int open_by_query(struct bulk_answer *a, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(HITS_MOST);
	CLEANUP(search_end) struct search_hits *hits = NULL;
	const struct request *q = a->o.request;
	int64_t start_us = clock_thread_us();
	struct search_ask ask = reply_question(q);
	ask.order = QUERY_ANYHOW;
	ask.budget_us = a->is_long ? a->o.lifetime_us : a->moment_us;
	ask.cancel = a->o.cancel;
	if (search_begin(a->o.search, &ask, &arena, &hits, err) < 0)
		return -1;
	if (search_said(hits)->cut) {
		if (!a->is_long) {
			a->is_long = reply_moment_was_had(&a->moment_us, a->o.moment_us,
							  clock_thread_us() - start_us);
			return 1;
		}
		a->cut = true;
		return err_set(err, ERR_PARTLY, "the lifetime of the query was over");
	}
	if (q->results == REQUEST_RESULTS_MOST && search_said(hits)->total > search_count(hits))
		return err_set(err, ERR_PARTLY,
			       "more than %d objects match, ask for less or for #allb",
			       REQUEST_RESULTS_MOST);
	return open_found(a, hits, &arena, err);
}

static int open_bulk(struct bulk_answer *a, struct err *err)
{
	if (!is_of_all(a->o.request))
		return open_by_query(a, err);
	return bulk_open(&a->bulk,
			 &(struct bulk_options){.data = a->o.data,
						.since_s = a->o.request->since_s,
						.now_us = clock_wall_us()},
			 err);
}

static int bulk_answer_make(void *ctx, size_t n, struct buf *out, struct err *err)
{
	struct bulk_answer *a = ctx;
	if (!a->bulk) {
		int rc = open_bulk(a, err);
		if (rc != 0 || !is_of_all(a->o.request)) /* the rest is for another pool */
			return rc < 0 ? -1 : 0;
	}
	int rc = bulk_make(a->bulk, n, out, err);
	if (rc >= 0)
		return rc;
	a->failed = true;
	buf_add_text(out, "400 - ");
	reply_put_line(out, str_of(port_problem(err)));
	buf_add_byte(out, '\n');
	return 1;
}

static enum port_pool bulk_answer_pool(const void *ctx)
{
	const struct bulk_answer *a = ctx;
	if (a->bulk || is_of_all(a->o.request))
		return PORT_POOL_BULK;
	return a->is_long ? PORT_POOL_LONG : PORT_POOL_QUICK;
}

static size_t bulk_answer_memory(const void *ctx)
{
	const struct bulk_answer *a = ctx;
	return a->bulk ? BULK_HOLDS : 0;
}

uint64_t port_bulk_objects(const void *ctx)
{
	const struct bulk_answer *a = ctx;
	return a->bulk ? bulk_objects(a->bulk) : 0;
}

bool port_bulk_failed(const void *ctx)
{
	return ((const struct bulk_answer *)ctx)->failed;
}

bool port_bulk_was_cut(const void *ctx)
{
	return ((const struct bulk_answer *)ctx)->cut;
}

const struct port_answer_ops port_bulk_ops = {.make = bulk_answer_make,
					      .close = bulk_answer_close,
					      .pool = bulk_answer_pool,
					      .memory = bulk_answer_memory};
