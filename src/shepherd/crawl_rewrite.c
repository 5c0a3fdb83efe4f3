#include "base/cursor.h"
#include "shepherd/crawl_inner.h"

#include <string.h>

/* Of one URL a cycle has a few records at most, or they are unified. */
enum { NEWS_MOST = 1 << 20, PLACE = 8 };
/* Records and URLs between two questions whether to stop; a few milliseconds. */
enum { STOP_EVERY = 4096 };

struct rewriting {
	url_index_fn *fn;
	void *ctx;
	const struct crawl_stop *stop;
	uint64_t done;
	bool stopped;
};

static bool is_stopped(struct rewriting *w)
{
	if (w->stop && w->done++ % STOP_EVERY == 0)
		w->stopped = w->stop->wanted(w->stop->ctx);
	return w->stopped;
}

static int rewrite_item(void *ctx, const struct index_news *about, struct index_item *ret,
			struct err *err)
{
	struct rewriting *w = ctx;
	return is_stopped(w) ? -1 : w->fn(w->ctx, about, ret, err);
}

struct str crawl_placed(struct str record, uint64_t *ret_place)
{
	struct reader r = reader_of(str_from(record, record.n - MIN(record.n, PLACE)));
	*ret_place = reader_u64le(&r);
	return str_head(record, record.n - MIN(record.n, PLACE));
}

/* All records of a file of the state, each with its place behind it. */
static int add_all(struct rewriting *w, struct sort *sort, struct state *st, const char *file,
		   struct err *err)
{
	CLEANUP(buf_free) struct buf placed = BUF_INIT(64 << 20);
	struct record_reader *r;
	struct record record;
	int rc = state_read(st, file, &r, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while ((rc = record_next(r, &record, err)) == 0) {
		buf_clear(&placed);
		buf_add_str(&placed, record.payload);
		put_u64le(&placed, record.place.at);
		rc = is_stopped(w) ? -1 : sort_add(sort, buf_str(&placed), err);
		if (rc < 0)
			break;
	}
	record_reader_free(&r);
	return rc < 0 ? -1 : 0;
}

static int rewrite(struct rewriting *w, struct state *st, const struct crawl_news *news,
		   struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	CLEANUP(sort_free) struct sort *sort = NULL;
	CLEANUP(url_index_drop) struct url_index_writer *out = NULL;
	const struct url_index *old;
	if (state_index(st, &old, err) < 0 || state_index_create(st, &out, err) < 0)
		return -1;
	if (news) {
		struct sort_spec spec = {
			.order = FOOTPRINT_ORDER,
			.memory = news->memory,
			.folder = state_path(st, &arena, "."),
			.unify = news->unify,
		};
		if (sort_new(&sort, &spec, err) < 0 || add_all(w, sort, st, news->file, err) < 0)
			return -1;
	}
	if (url_index_apply(old, sort, NEWS_MOST, rewrite_item, w, out, err) < 0)
		return -1;
	return state_index_put(st, &out, err);
}

int crawl_rewrite(struct state *st, const struct crawl_news *news, url_index_fn *fn, void *ctx,
		  const struct crawl_stop *stop, struct err *err)
{
	struct rewriting w = {fn, ctx, stop, 0, false};
	int rc = rewrite(&w, st, news, err);
	return w.stopped ? 1 : rc;
}
