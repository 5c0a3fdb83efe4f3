/* What the modules of a cycle share: what their settings mean, where a URL stands, and how an index
 * is written anew in one pass, in the order of footprints, with what the state tells of its URLs
 * sorted in the same order. */
#include "shepherd/crawl.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/endpoint.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "shepherd/code.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *const crawl_follows[] = {"site", "all", NULL};
const char *const crawl_locals[] = {"auto", "always", "never", NULL};
const char *const crawl_auto[] = {"auto", NULL};
const char *const crawl_limit_names[CRAWL_LIMITS] = {
	"site", "dead-site", "fresh", "server", "section", "performance", "space", "active",
};

bool crawl_is_stopped(const struct crawl *c)
{
	return c->stopped && c->stopped(c->ctx);
}

int crawl_sort_new(struct sort **ret, const struct crawl *c, const struct state *st,
		   struct order order, struct err *err)
{
	const struct sort_spec spec = {
		.order = order, .memory = c->conf->sort_memory, .folder = state_folder(st)};
	return sort_new(ret, &spec, err);
}

int crawl_load_filter(const struct crawl_conf *conf, const char *folder, struct filter **ret,
		      struct err *err)
{
	const struct filter_defaults defaults = {conf->no_delay, conf->follow == CRAWL_ALL,
						 (uint64_t)conf->max_depth};
	char path[PATH_MAX + 32];
	snprintf(path, sizeof path, "%s/cf/filter", folder);
	return filter_load(path, &defaults, ret, err);
}

bool crawl_file_is_full(const struct crawl_conf *conf, uint64_t bytes)
{
	return bytes >= conf->bucket_file_size - conf->bucket_file_size / 64;
}

void crawl_sections(const struct filter *filter, char ret[STATE_SECTIONS])
{
	size_t n, at = 0;
	const struct filter_section *section = filter_sections(filter, &n);
	for (size_t i = 0; i < n && at < STATE_SECTIONS; i++)
		at += (size_t)snprintf(ret + at, STATE_SECTIONS - at, "%s%s", i ? " " : "",
				       section[i].name);
	if (at >= STATE_SECTIONS)
		ret[0] = '\0';
}

bool crawl_sections_hold(const struct filter *filter, const struct state_course *course)
{
	char now[STATE_SECTIONS];
	crawl_sections(filter, now);
	return !course->sections[0] || strcmp(now, course->sections) == 0;
}

int64_t crawl_due_s(const struct crawl_conf *conf, const struct state_course *course, int64_t now_s)
{
	int64_t longest_s = MAX(conf->refresh_us, conf->site_err_expire_us) / US_PER_S;
	if (course->due_s >= INT64_MAX)
		return INT64_MAX;
	return (int64_t)course->due_s > now_s + longest_s ? now_s : (int64_t)course->due_s;
}

#define CYCLE_MIN_US (30 * US_PER_S)
enum { REAP_SHARE = 9 };

int64_t crawl_cycle_us(const struct crawl_conf *conf, const struct state_course *course)
{
	if (conf->cycle_us)
		return conf->cycle_us;
	uint64_t us = MIN(course->passes_us, (uint64_t)US_PER_DAY) * REAP_SHARE;
	return MIN(MAX((int64_t)us, CYCLE_MIN_US), US_PER_DAY);
}

int crawl_conf_check(const struct crawl_conf *conf, struct err *err)
{
	struct endpoint to;
	struct schema schema;
	if (schema_parse(str_of(conf->refresh_schema), &schema, err) < 0)
		return err_in(err, "shepherd.refresh_schema");
	if (code_list_check(&conf->zombie_errors, err) < 0)
		return err_in(err, "shepherd.zombie_errors");
	for (size_t i = 0; i < conf->reapers.n; i++)
		if (endpoint_parse(str_of(conf->reapers.item[i]), &to, err) < 0)
			return err_in(err, "shepherd.reapers");
	if (conf->local == CRAWL_LOCAL_NEVER && conf->reapers.n == 0)
		return err_set(err, ERR_USAGE,
			       "shepherd.local = never, but shepherd.reapers names none: nobody "
			       "would fetch anything");
	return 0;
}

struct str crawl_digits(struct footprint fp, struct arena *arena)
{
	return str_of(arena_printf(arena, "%016" PRIx64 "%016" PRIx64, fp.site, fp.path));
}

struct str crawl_number(struct arena *arena, int64_t n)
{
	return str_of(arena_printf(arena, "%" PRId64, n));
}

int crawl_ask(void *state, struct str line, struct err *err)
{
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, canon;
	if (url_parse(line, NULL, room, sizeof room, &url) != 0 ||
	    url_canon(&url, true, strict, sizeof strict, &canon) != 0)
		return 0;
	struct contrib c = {.fp = footprint_of(&canon),
			    .flags = ITEM_INITIAL,
			    .time_s = (uint32_t)(clock_wall_us() / US_PER_S),
			    .url = canon.href};
	return state_contrib(state, &c, NULL, err);
}

int crawl_url_of(const struct crawl *c, struct state *st, const struct index_item *item,
		 struct arena *arena, struct str *ret, struct err *err)
{
	struct bucket bucket = {0};
	struct attrs header;
	if (item->flags & ITEM_CONTRIB) {
		struct contrib contrib;
		if (item->where == ITEM_NOWHERE)
			return 1;
		if (state_contrib_at(st, item->where, &contrib, err) < 0)
			return -1;
		*ret = arena_str(arena, contrib.url);
		return 0;
	}
	int rc = item->where < BUCKET_SPECIAL && c->buckets
			 ? bucket_read(c->buckets, (uint32_t)item->where, &bucket, err)
			 : 1;
	if (rc != 0)
		return rc < 0 && err->code != ERR_DAMAGED ? -1 : 1;
	bucket.data = arena_str(arena, bucket.data);
	if (bucket_header(bucket.type, bucket.data, arena, &header, NULL, err) < 0)
		return 1;
	*ret = attrs_get(&header, 'U');
	return ret->n ? 0 : 1;
}

/* Rewriting an index from files of the state */

/* Of one URL a cycle has a few records at most, or they are unified. */
enum { NEWS_MOST = 1 << 20, PLACE = 8 };
/* Records and URLs between two questions whether to stop; of those that stay as they are, one in
 * each block of the index counts. A few milliseconds. */
enum { STOP_EVERY = 64 };

struct rewriting {
	url_index_fn *fn;
	void *ctx;
	const struct crawl *crawl;
	uint64_t done;
	bool stopped;
};

static bool rewrite_is_stopped(struct rewriting *w)
{
	if (w->done++ % STOP_EVERY == 0)
		w->stopped = crawl_is_stopped(w->crawl);
	return w->stopped;
}

static int rewrite_item(void *ctx, const struct index_news *about, struct index_item *ret,
			struct err *err)
{
	struct rewriting *w = ctx;
	return rewrite_is_stopped(w) ? -1 : w->fn(w->ctx, about, ret, err);
}

struct str crawl_placed(struct str record, uint64_t *ret_place)
{
	struct reader r = reader_of(str_from(record, record.n - MIN(record.n, PLACE)));
	*ret_place = reader_u64le(&r);
	return str_head(record, record.n - MIN(record.n, PLACE));
}

/* All records of one round, each followed by its place. */
static int contribs_add_round(struct rewriting *w, struct sort *sort, struct record_reader *in,
			      unsigned round, const struct crawl_contribs *which, struct err *err)
{
	CLEANUP(buf_free) struct buf placed = BUF_INIT(64 << 20);
	struct record record;
	int rc;
	while ((rc = record_next(in, &record, err)) == 0) {
		buf_clear(&placed);
		if (which->take)
			which->take(record.payload, &placed);
		else
			buf_add_str(&placed, record.payload);
		put_u64le(&placed, contrib_place(round, record.place.at));
		if (rewrite_is_stopped(w) || sort_add(sort, buf_str(&placed), err) < 0)
			return -1;
	}
	return MIN(rc, 0);
}

/* Damage of one round takes nothing from the others. */
static int contribs_add(struct rewriting *w, struct sort *sort, struct state *st,
			const struct crawl_contribs *which, struct err *err)
{
	int rc = 0;
	for (unsigned round = 0; rc == 0 && round <= CONTRIB_ROUNDS; round++) {
		struct record_reader *in = NULL;
		rc = state_contribs(st, round, &in, err);
		if (rc == 0 && in)
			rc = contribs_add_round(w, sort, in, round, which, err);
		record_reader_free(&in);
		if (rc < 0 && !w->stopped && err->code == ERR_DAMAGED) {
			*which->lost = *err;
			rc = 0;
		}
	}
	return MIN(rc, 0);
}

int crawl_sort_contribs(struct state *st, const struct crawl *c, const struct crawl_contribs *which,
			struct sort **ret, struct err *err)
{
	struct rewriting w = {.crawl = c};
	const struct sort_spec spec = {
		.order = FOOTPRINT_ORDER,
		.memory = c->conf->sort_memory,
		.folder = state_folder(st),
		.unify = which->unify,
		.ctx = which->ctx,
	};
	int rc = sort_new(ret, &spec, err);
	if (rc == 0)
		rc = contribs_add(&w, *ret, st, which, err);
	if (rc < 0)
		sort_free(ret);
	return w.stopped ? 1 : rc;
}

static int rewrite_index(struct rewriting *w, struct state *st, const struct crawl_news *news,
			 struct err *err)
{
	CLEANUP(url_index_drop) struct url_index_writer *out = NULL;
	const struct url_index *old;
	if (state_index(st, &old, err) < 0 || state_index_create(st, &out, err) < 0 ||
	    url_index_apply(old, news->source, NEWS_MOST, news->still, rewrite_item, w, out, err) <
		    0)
		return -1;
	return news->changed && !*news->changed ? 0 : state_index_put(st, &out, err);
}

int crawl_rewrite(struct state *st, const struct crawl *c, const struct crawl_news *news,
		  url_index_fn *fn, void *ctx, struct err *err)
{
	struct rewriting w = {fn, ctx, c, 0, false};
	int rc = rewrite_index(&w, st, news, err);
	return w.stopped ? 1 : rc;
}
