/* The modules of a cycle in their plain form: plan, cork, merge (with select), record, cleanup.
 * Each is one pass over the index, in the order of footprints, with what the state tells of its
 * URLs sorted in the same order. */
#include "shepherd/crawl.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "fetch/outcome.h"
#include "state/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const crawl_follows[] = {"site", "all", NULL};

const char *crawl_status_text(uint16_t status, char ret[64])
{
	static const char *const texts[OUTCOME_COUNT] = {
		[OUTCOME_TEMPORARY] = "no complete answer came",
		[OUTCOME_PERMANENT] = "it cannot be fetched",
		[OUTCOME_SITE_TEMPORARY] = "the server could not be reached",
		[OUTCOME_SITE_PERMANENT] = "the server does not exist",
		[OUTCOME_LIMIT] = "larger or slower than the limits",
		[OUTCOME_ROBOTS] = "robots.txt forbids it",
		[OUTCOME_ADDRESS] = "its address is not allowed (robot.networks)",
	};
	unsigned outcome = status - CRAWL_STATUS;
	if (status == 0)
		snprintf(ret, 64, "not tried yet");
	else if (status < CRAWL_STATUS)
		snprintf(ret, 64, "HTTP status %u", status);
	else if (status == CRAWL_NOINDEX)
		snprintf(ret, 64, "it asks not to be indexed");
	else
		snprintf(ret, 64, "%s",
			 outcome < OUTCOME_COUNT && texts[outcome] ? texts[outcome] : "failed");
	return ret;
}

struct str crawl_digits(struct footprint fp, struct arena *arena)
{
	return str_of(arena_printf(arena, "%016" PRIx64 "%016" PRIx64, fp.site, fp.path));
}

bool crawl_is_fast(const struct crawl_conf *conf, const struct site *site)
{
	char with_port[URL_SITE_MAX + 16];
	bool usual = site->port == url_default_port(site->protocol);
	snprintf(with_port, sizeof with_port, STR_FMT ":%u", STR_ARG(site->host), site->port);
	for (size_t i = 0; i < conf->no_delay.n; i++) {
		struct str host = str_of(conf->no_delay.item[i]);
		if (str_is(host, with_port) || (usual && str_eq(host, site->host)))
			return true;
	}
	return false;
}

int crawl_ask(void *state, struct str line, struct err *err)
{
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, canon;
	if (url_parse(line, NULL, room, sizeof room, &url) != 0 ||
	    url_canon(&url, true, strict, sizeof strict, &canon) != 0)
		return 0;
	struct contrib c = {.fp = footprint_of(&canon), .flags = ITEM_INITIAL, .url = canon.href};
	return state_contrib(state, &c, NULL, err);
}

/* An index that is written anew by what a file of the state tells of its URLs */

/* Records of the state by which its index is rewritten. */
struct crawl_news {
	const char *file; /* "journal", "contrib" */
	uint64_t memory;  /* for sorting them */
	/* NULL, or makes one of two of the same URL. */
	void (*unify)(void *ctx, struct buf *into, struct str from);
	/* NULL: damage is an error. Else what lies before it counts, and here is why no more. */
	struct err *lost;
};

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

static bool rewrite_is_stopped(struct rewriting *w)
{
	if (w->stop && w->done++ % STOP_EVERY == 0)
		w->stopped = w->stop->wanted(w->stop->ctx);
	return w->stopped;
}

static int rewrite_item(void *ctx, const struct index_news *about, struct index_item *ret,
			struct err *err)
{
	struct rewriting *w = ctx;
	return rewrite_is_stopped(w) ? -1 : w->fn(w->ctx, about, ret, err);
}

/* The payload of such a record, and where in its file it lies. */
static struct str crawl_placed(struct str record, uint64_t *ret_place)
{
	struct reader r = reader_of(str_from(record, record.n - MIN(record.n, PLACE)));
	*ret_place = reader_u64le(&r);
	return str_head(record, record.n - MIN(record.n, PLACE));
}

/* All records of a file of the state, each followed by its place. */
static int rewrite_add_news(struct rewriting *w, struct sort *sort, struct state *st,
			    const struct crawl_news *news, struct err *err)
{
	CLEANUP(buf_free) struct buf placed = BUF_INIT(64 << 20);
	struct record_reader *r = NULL;
	struct record record;
	int rc = state_read(st, news->file, &r, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		buf_clear(&placed);
		buf_add_str(&placed, record.payload);
		put_u64le(&placed, record.place.at);
		rc = rewrite_is_stopped(w) ? -1 : sort_add(sort, buf_str(&placed), err);
	}
	record_reader_free(&r);
	if (rc < 0 && !w->stopped && err->code == ERR_DAMAGED && news->lost) {
		*news->lost = *err;
		rc = 0;
	}
	return MIN(rc, 0);
}

static int rewrite_index(struct rewriting *w, struct state *st, const struct crawl_news *news,
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
		if (sort_new(&sort, &spec, err) < 0 || rewrite_add_news(w, sort, st, news, err) < 0)
			return -1;
	}
	if (url_index_apply(old, sort, NEWS_MOST, rewrite_item, w, out, err) < 0)
		return -1;
	return state_index_put(st, &out, err);
}

/* Writes a new index for a state: fn says what becomes of each URL, in view of the news of it
 * (NULL: none); each is to be read by crawl_placed(). 1: stopped, and the index is as it was. */
static int crawl_rewrite(struct state *st, const struct crawl_news *news, url_index_fn *fn,
			 void *ctx, const struct crawl_stop *stop, struct err *err)
{
	struct rewriting w = {fn, ctx, stop, 0, false};
	int rc = rewrite_index(&w, st, news, err);
	return w.stopped ? 1 : rc;
}

/* plan */

/* Cycles in which a site may be busy with what was planned for it once. */
enum { SITE_SLACK = 2, SITE_LEAST = 16 };

/* New pages go before old ones, those that were given by hand before all; what failed comes last,
 * so that the pauses after trouble hold up nothing else. */
enum { PRIORITY_HAND = 3, PRIORITY_NEW = 2, PRIORITY_OLD = 1, PRIORITY_FAILED = 0 };

struct planning {
	const struct crawl_conf *conf;
	const struct sites *sites;
	uint32_t now_s;
	size_t per_site; /* of a site that is asked with the usual delay */
	size_t most;     /* of the site that is being read */
	struct planned *ret;
	struct plan_entry *best; /* a heap, the least on top, of at most plan_max */
	size_t n, room;          /* room: of both */
	struct plan_entry *site; /* of the site that is being read, the same */
	size_t nsite;
};

static bool plan_less(const struct plan_entry *a, const struct plan_entry *b)
{
	return a->priority < b->priority;
}

/* Keeps the `most` greatest of all that are offered. Whether one was left out. */
static bool plan_keep(struct plan_entry *heap, size_t *n, size_t most, const struct plan_entry *e)
{
	size_t at;
	if (*n < most) {
		for (at = (*n)++; at > 0 && plan_less(e, &heap[(at - 1) / 2]); at = (at - 1) / 2)
			heap[at] = heap[(at - 1) / 2];
		heap[at] = *e;
		return false;
	}
	if (!plan_less(&heap[0], e))
		return true;
	for (at = 0; 2 * at + 1 < *n;) {
		size_t child = 2 * at + 1;
		child += child + 1 < *n && plan_less(&heap[child + 1], &heap[child]);
		if (!plan_less(&heap[child], e))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = *e;
	return true;
}

/* When an item is to be gathered, seconds since 1970; UINT32_MAX: never. */
static uint32_t plan_due_of(const struct planning *p, const struct index_item *item)
{
	uint64_t refresh_s = (uint64_t)(p->conf->refresh_us / US_PER_S), due = 0;
	if (item->type == ITEM_GATHERED && !(item->flags & ITEM_REGATHER))
		due = item->last_seen_s + refresh_s / (item->freq ? item->freq : 1);
	else if (item->type == ITEM_ERROR && item->flags & ITEM_INITIAL)
		due = item->last_seen_s + refresh_s;
	else if (item->type != ITEM_NEW && item->type != ITEM_GATHERED)
		return UINT32_MAX;
	if (item->retry || item->type == ITEM_NEW)
		due = item->due_s; /* after a failure */
	else if (item->due_s > due)
		due = item->due_s;
	/* nothing is put off for longer: the clock was put back since */
	if (due > p->now_s + refresh_s)
		due = p->now_s;
	return (uint32_t)MIN(due, UINT32_MAX - 1);
}

static uint32_t plan_priority_of(const struct planning *p, const struct index_item *item,
				 uint32_t due_s)
{
	uint32_t class = item->retry                   ? PRIORITY_FAILED
			 : item->type == ITEM_GATHERED ? PRIORITY_OLD
			 : item->flags & ITEM_INITIAL  ? PRIORITY_HAND
						       : PRIORITY_NEW;
	uint32_t age_s = due_s ? p->now_s - due_s
			       : p->now_s - MIN(p->now_s, (uint32_t)item->since_day * 86400);
	return class << 28 | (uint32_t)(item->weight & 0xf0) << 20 | MIN(age_s / 16, 0xffffff);
}

static void plan_end_site(struct planning *p)
{
	for (size_t i = 0; i < p->nsite; i++)
		p->ret->waiting +=
			plan_keep(p->best, &p->n, (size_t)p->conf->plan_max, &p->site[i]);
	p->nsite = 0;
}

static void plan_consider(struct planning *p, const struct index_item *item)
{
	uint32_t due_s = plan_due_of(p, item);
	if (due_s == UINT32_MAX)
		return;
	if (due_s > p->now_s) {
		p->ret->next_s = MIN(p->ret->next_s, (int64_t)due_s);
		return;
	}
	struct plan_entry e = {
		.fp = item->fp,
		.where = item->where,
		.priority = plan_priority_of(p, item, due_s),
		.flags = item->type == ITEM_GATHERED ? PLAN_REFRESH : 0,
		.item_flags = item->flags,
		.retry = item->retry,
		.weight = item->weight,
		.section = item->section,
	};
	if (p->nsite && p->site[0].fp.site != item->fp.site)
		plan_end_site(p);
	if (p->nsite == 0) {
		const struct site *site = sites_get(p->sites, item->fp.site);
		bool fast = site && crawl_is_fast(p->conf, site);
		p->most = fast ? p->room : p->per_site;
	}
	p->ret->waiting += plan_keep(p->site, &p->nsite, p->most, &e);
}

static int plan_by_footprint(const void *a, const void *b)
{
	const struct plan_entry *x = a, *y = b;
	if (x->fp.site != y->fp.site)
		return x->fp.site < y->fp.site ? -1 : 1;
	return x->priority != y->priority ? (x->priority > y->priority ? -1 : 1)
					  : footprint_cmp(x->fp, y->fp);
}

static int plan_write(struct planning *p, struct state *st, const struct sites *sites,
		      struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct plan_writer *w;
	if (plan_create(&w, state_path(st, &arena, "plan"), err) < 0)
		return -1;
	qsort(p->best, p->n, sizeof *p->best, plan_by_footprint);
	for (size_t i = 0, end; i < p->n; i = end) {
		const struct site *known = sites_get(sites, p->best[i].fp.site);
		struct plan_site site = {
			.fp = p->best[i].fp.site,
			.qkey = known ? known->qkey : 0,
			.robots_where = ITEM_NOWHERE,
			.delay_ms = known ? known->delay_ms : 0,
			.entry = &p->best[i],
		};
		for (end = i;
		     end < p->n && p->best[end].fp.site == site.fp && end - i < PLAN_SITE_MOST;)
			end++;
		site.n = end - i;
		p->ret->sites++;
		if (plan_put(w, &site, err) < 0) {
			plan_drop(&w);
			return -1;
		}
	}
	return plan_finish(&w, err);
}

static int plan_scan(struct planning *p, const struct url_index *index, struct err *err)
{
	struct url_index_scan *it;
	struct index_item item;
	int rc = url_index_scan(&it, index, (struct footprint){0}, err);
	if (rc < 0)
		return -1;
	while ((rc = url_index_next(it, &item, err)) == 0) {
		p->ret->types[item.type]++;
		plan_consider(p, &item);
	}
	url_index_scan_free(&it);
	plan_end_site(p);
	return rc < 0 ? -1 : 0;
}

int crawl_plan(struct state *st, const struct crawl_conf *conf, int64_t delay_us, int64_t now_us,
	       bool write, struct planned *ret, struct err *err)
{
	CLEANUP(sites_free) struct sites *sites = NULL;
	struct planned planned = {.next_s = INT64_MAX};
	const struct url_index *index;
	size_t in_cycle = delay_us > 0 ? (size_t)(conf->cycle_us / delay_us) : SIZE_MAX / 4;
	if (state_index(st, &index, err) < 0 || state_sites(st, &sites, err) < 0)
		return -1;
	uint64_t items = MAX(url_index_items(index), 1);
	struct planning p = {
		.conf = conf,
		.now_s = (uint32_t)(now_us / US_PER_S),
		.ret = &planned,
		.sites = sites,
		.room = (size_t)MIN((uint64_t)conf->plan_max, items),
	};
	p.per_site = MIN(MAX(in_cycle * SITE_SLACK, SITE_LEAST), p.room);
	p.best = mem_array(p.room, sizeof *p.best);
	p.site = mem_array(p.room, sizeof *p.site);
	int rc = plan_scan(&p, index, err);
	planned.urls = p.n;
	if (rc == 0 && write)
		rc = plan_write(&p, st, sites, err);
	mem_free(&p.best);
	mem_free(&p.site);
	if (rc == 0)
		*ret = planned;
	return rc;
}

/* cork */

struct corking {
	struct sites *sites;
};

static void cork_note_site(struct sites *sites, const struct journal_entry *e)
{
	struct site *site = sites_get(sites, e->fp.site);
	if (!site)
		return;
	if (e->qkey && e->qkey != site->qkey) {
		site->oscillations =
			(uint8_t)MIN(site->oscillations + (site->qkey != 0), UINT8_MAX);
		site->qkey = e->qkey;
	}
	if (e->download_ms)
		site->download_ms = site->download_ms ? (3 * site->download_ms + e->download_ms) / 4
						      : e->download_ms;
}

static void cork_apply(const struct journal_entry *e, struct index_item *item)
{
	uint32_t time_s = (uint32_t)(e->time_us / US_PER_S);
	item->status = e->status;
	item->last_seen_s = time_s;
	item->due_s = e->due_s;
	item->no_target = e->no_target;
	item->flags = (uint8_t)((item->flags | e->flags) & ~ITEM_REGATHER);
	item->download_ds = (uint8_t)MIN((e->download_ms + 99) / 100, UINT8_MAX);
	if (e->type == ITEM_TEMPORARY) {
		item->retry = (uint8_t)MIN(item->retry + 1, UINT8_MAX);
		return;
	}
	item->type = e->type;
	item->retry = 0;
	if (e->where != ITEM_NOWHERE) {
		item->where = e->where;
		item->flags &= (uint8_t)~ITEM_CONTRIB;
	}
	if (e->op == CHANGE_UPDATE || item->stable_s == 0)
		item->stable_s = time_s;
}

static int cork_item(void *ctx, const struct index_news *about, struct index_item *ret,
		     struct err *err)
{
	const struct corking *c = ctx;
	for (size_t i = 0; i < about->n; i++) {
		struct journal_entry e;
		uint64_t place;
		if (journal_read(crawl_placed(about->news[i], &place), &e, err) < 0)
			return -1;
		cork_note_site(c->sites, &e);
		if (about->old)
			cork_apply(&e, ret);
	}
	return about->old ? 0 : 1; /* reap gathers what is in the index, nothing else */
}

int crawl_cork(struct state *st, const struct crawl_conf *conf, const struct crawl_stop *stop,
	       struct err *err)
{
	CLEANUP(sites_free) struct sites *sites = NULL;
	if (state_sites(st, &sites, err) < 0)
		return -1;
	struct corking c = {.sites = sites};
	const struct crawl_news news = {"journal", conf->sort_memory, NULL, NULL};
	int rc = crawl_rewrite(st, &news, cork_item, &c, stop, err);
	return rc ? rc : state_sites_put(st, sites, err);
}

/* merge */

struct merging {
	struct state *state;
	const struct crawl_conf *conf;
	struct sites *sites;
	int64_t now_us;
	uint64_t active;         /* URLs that are wanted, in the old index and new */
	uint64_t site_fp;        /* the site that is being counted */
	uint32_t site_counts[4]; /* of it: active, inactive, gathered, fresh */
	bool site_some;
	struct merged *ret;
};

enum { ACTIVE, INACTIVE, GATHERED, FRESH };

/* The counts of the last site are known when the next one begins. */
static void merge_end_site(struct merging *m)
{
	struct site *site = m->site_some ? sites_get(m->sites, m->site_fp) : NULL;
	if (site) {
		site->active = m->site_counts[ACTIVE];
		site->inactive = m->site_counts[INACTIVE];
		site->gathered = m->site_counts[GATHERED];
		site->fresh = m->site_counts[FRESH];
	}
	m->site_some = false;
}

static void merge_begin_site(struct merging *m, uint64_t fp)
{
	if (m->site_some && m->site_fp == fp)
		return;
	merge_end_site(m);
	m->site_some = true;
	m->site_fp = fp;
	for (size_t i = 0; i < ARRAY_LEN(m->site_counts); i++)
		m->site_counts[i] = 0;
}

/* All sites are counted again; those without URLs go. */
static void merge_begin_sites(struct sites *sites)
{
	struct site *const *all = sites_sorted(sites);
	for (size_t i = 0; i < sites_count(sites); i++)
		all[i]->active = all[i]->inactive = all[i]->gathered = all[i]->fresh = 0;
}

static void merge_drop_empty_sites(struct sites *sites)
{
	struct site *const *all = sites_sorted(sites);
	for (size_t i = 0, n = sites_count(sites); i < n; i++)
		if (all[i]->active + all[i]->inactive == 0)
			sites_remove(sites, all[i]->fp);
}

static void merge_count_item(struct merging *m, const struct index_item *item)
{
	bool wanted = item->type == ITEM_NEW || item->type == ITEM_GATHERED ||
		      (item->type == ITEM_ERROR && item->flags & ITEM_INITIAL);
	m->site_counts[wanted ? ACTIVE : INACTIVE]++;
	m->site_counts[GATHERED] += item->type == ITEM_GATHERED;
	m->site_counts[FRESH] += item->type == ITEM_NEW;
	m->active += wanted;
}

static int merge_tell(struct merging *m, struct footprint fp, enum change_op op, struct str url,
		      const char *reason, struct err *err)
{
	struct change c = {
		.fp = fp,
		.time_us = m->now_us,
		.op = op,
		.by = PHASE_MERGE,
		.forgotten = op != CHANGE_ADD,
		.url = url,
		.reason = str_of(reason),
	};
	return state_change(m->state, &c, err);
}

/* Whether a URL that nobody knew is to be gathered. A site that was added by hand becomes known. */
static bool merge_is_wanted(struct merging *m, const struct contrib *c)
{
	char room[URL_MAX];
	struct url url;
	struct site *site = sites_get(m->sites, c->fp.site);
	bool by_hand = c->flags & ITEM_INITIAL, is_new;
	if (!by_hand && m->active >= (uint64_t)m->conf->urls_max)
		return false;
	if (!site && (by_hand || m->conf->follow == CRAWL_ALL) &&
	    url_parse(c->url, NULL, room, sizeof room, &url) == 0)
		site = sites_put(m->sites, url_site(&url), &is_new);
	if (!site)
		return false;
	return by_hand || m->site_counts[ACTIVE] < (site->limit ? site->limit : m->conf->site_max);
}

static int merge_add(struct merging *m, const struct contrib *c, uint64_t place,
		     struct index_item *ret, struct err *err)
{
	*ret = (struct index_item){
		.fp = c->fp,
		.where = place,
		.since_day = (uint16_t)(m->now_us / US_PER_DAY),
		.type = ITEM_NEW,
		.flags = c->flags | ITEM_CONTRIB,
		.weight = c->weight ? c->weight : 128,
		.section = c->section,
	};
	merge_count_item(m, ret);
	m->ret->added++;
	return merge_tell(m, c->fp, CHANGE_ADD, c->url,
			  c->flags & ITEM_INITIAL ? "added by hand" : "linked from another page",
			  err);
}

static bool contrib_is_by_hand(const struct contrib *c)
{
	return footprint_cmp(c->from, (struct footprint){0}) == 0;
}

/* What was given by hand is tried again at once, whatever became of it before; what such a page led
 * to is not, or two that lead to each other would be asked for ever. */
static void merge_ask_again(const struct contrib *c, struct index_item *item)
{
	if (!(c->flags & ITEM_INITIAL))
		return;
	item->flags |= ITEM_INITIAL;
	if (!contrib_is_by_hand(c))
		return;
	if (item->type == ITEM_GATHERED) {
		item->flags |= ITEM_REGATHER;
	} else if (item->type != ITEM_NEW) {
		item->type = ITEM_NEW;
		item->retry = 0;
	}
	item->due_s = 0;
}

static bool merge_is_forgotten(const struct merging *m, const struct index_item *item)
{
	int64_t age_us = m->now_us - (int64_t)item->last_seen_s * US_PER_S;
	bool dead = item->type == ITEM_ZOMBIE || item->type == ITEM_ERROR;
	return dead && !(item->flags & ITEM_SACRED) && age_us >= m->conf->forget_us;
}

static int contrib_worth(const struct contrib *c)
{
	return c->flags & ITEM_INITIAL ? 1 + contrib_is_by_hand(c) : 0;
}

/* Of several contributions of one URL the first stands for all, one by hand before those
 * that such a page led to, and these before others. */
static void contrib_unify(void *ctx, struct buf *into, struct str from)
{
	struct contrib a, b;
	struct err err;
	uint64_t place;
	(void)ctx;
	if (contrib_read(crawl_placed(buf_str(into), &place), &a, &err) < 0 ||
	    contrib_read(crawl_placed(from, &place), &b, &err) < 0)
		return;
	if (contrib_worth(&b) > contrib_worth(&a)) {
		buf_clear(into);
		buf_add_str(into, from);
	}
}

static int merge_item(void *ctx, const struct index_news *about, struct index_item *ret,
		      struct err *err)
{
	struct merging *m = ctx;
	struct contrib c = {0};
	uint64_t place = 0;
	merge_begin_site(m, about->fp.site);
	if (about->n && contrib_read(crawl_placed(about->news[0], &place), &c, err) < 0)
		return -1;
	if (about->old) {
		m->ret->known += about->n > 0;
		if (about->n)
			merge_ask_again(&c, ret);
		if (merge_is_forgotten(m, ret)) {
			struct gone g = {about->fp, m->now_us, GONE_ERROR};
			m->ret->forgotten++;
			return state_gone(m->state, &g, err) < 0 ? -1 : 1;
		}
		merge_count_item(m, ret);
		return 0;
	}
	if (!merge_is_wanted(m, &c)) {
		m->ret->unwanted++;
		return 1;
	}
	return merge_add(m, &c, place, ret, err);
}

int crawl_merge(struct state *st, const struct crawl_conf *conf, int64_t now_us,
		const struct crawl_stop *stop, struct merged *ret, struct err *err)
{
	CLEANUP(sites_free) struct sites *sites = NULL;
	struct merged merged = {0};
	if (state_sites(st, &sites, err) < 0)
		return -1;
	struct merging m = {
		.state = st, .conf = conf, .sites = sites, .now_us = now_us, .ret = &merged};
	const struct crawl_news news = {"contrib", conf->sort_memory, contrib_unify, &merged.lost};
	merge_begin_sites(sites);
	int rc = crawl_rewrite(st, &news, merge_item, &m, stop, err);
	if (rc)
		return rc;
	merge_end_site(&m);
	merge_drop_empty_sites(sites);
	if (state_sites_put(st, sites, err) < 0)
		return -1;
	*ret = merged;
	return 0;
}

/* record */

struct recording {
	struct state *state;
	struct buckets *buckets;
	struct arena arena;
	char time[24];
	struct str when;
	uint64_t made;
};

static int record_item(void *ctx, const struct index_news *about, struct index_item *ret,
		       struct err *err)
{
	struct recording *r = ctx;
	struct attrs header = {0}, body = {0};
	struct contrib c;
	uint32_t oid;
	(void)about;
	if (!(ret->flags & ITEM_CONTRIB))
		return 0;
	if (state_contrib_at(r->state, ret->where, &c, err) < 0)
		return -1;
	arena_clear(&r->arena);
	attrs_add(&header, &r->arena, 'O', crawl_digits(ret->fp, &r->arena));
	attrs_add(&header, &r->arena, 'U', c.url);
	attrs_add(&header, &r->arena, BUCKET_ADDED, r->when);
	if (bucket_put(r->buckets, NULL, &header, &body, &oid, err) < 0)
		return -1;
	ret->where = oid;
	ret->flags &= (uint8_t)~ITEM_CONTRIB;
	r->made++;
	return 0;
}

int crawl_record(struct state *st, struct buckets *buckets, const struct crawl_stop *stop,
		 uint64_t *ret_made, struct err *err)
{
	struct recording r = {.state = st, .buckets = buckets, .arena = ARENA_INIT(1 << 20)};
	snprintf(r.time, sizeof r.time, "%" PRId64, state_params(st)->created_us / US_PER_S);
	r.when = str_of(r.time);
	int rc = crawl_rewrite(st, NULL, record_item, &r, stop, err);
	arena_free(&r.arena);
	if (rc)
		return rc;
	*ret_made = r.made;
	return 0;
}

/* cleanup */

/* A bit for each bucket that the index names. */
struct living {
	uint64_t *bits;
	uint64_t n;
};

static int living_mark(struct living *l, const struct url_index *index, struct err *err)
{
	struct url_index_scan *it;
	struct index_item item;
	int rc = url_index_scan(&it, index, (struct footprint){0}, err);
	if (rc < 0)
		return -1;
	while ((rc = url_index_next(it, &item, err)) == 0)
		if (!(item.flags & ITEM_CONTRIB) && item.where < l->n)
			l->bits[item.where / 64] |= UINT64_C(1) << item.where % 64;
	url_index_scan_free(&it);
	return rc < 0 ? -1 : 0;
}

static int living_fate(void *ctx, const struct bucket *old, uint32_t new_oid,
		       struct bucket_fate *ret, struct err *err)
{
	const struct living *l = ctx;
	(void)new_oid, (void)ret, (void)err;
	return old->oid < l->n && l->bits[old->oid / 64] >> old->oid % 64 & 1 ? 0 : 1;
}

int crawl_cleanup(struct state *st, struct buckets *buckets, struct bucket_shaken *ret,
		  struct err *err)
{
	const struct url_index *index;
	struct living l = {.n = (bucket_length(buckets) >> bucket_shift(buckets)) + 1};
	if (state_index(st, &index, err) < 0)
		return -1;
	l.bits = mem_array(l.n / 64 + 1, sizeof *l.bits);
	int rc = living_mark(&l, index, err);
	if (rc == 0)
		rc = bucket_shakedown(buckets, living_fate, &l, ret, err);
	mem_free(&l.bits);
	return rc == 0 ? state_renumber(st, NULL, err) : -1;
}
