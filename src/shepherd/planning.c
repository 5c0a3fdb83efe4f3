/* plan: which URLs are due, in which order. */
#include "shepherd/crawl.h"

#include "base/clock.h"
#include "state/plan.h"

#include <stdlib.h>

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

int crawl_plan(struct state *st, const struct crawl *c, bool write, struct planned *ret,
	       struct err *err)
{
	const struct crawl_conf *conf = c->conf;
	CLEANUP(sites_free) struct sites *sites = NULL;
	struct planned planned = {.next_s = INT64_MAX};
	const struct url_index *index;
	size_t in_cycle = c->delay_us > 0 ? (size_t)(c->cycle_us / c->delay_us) : SIZE_MAX / 4;
	if (state_index(st, &index, err) < 0 || state_sites(st, &sites, err) < 0)
		return -1;
	uint64_t items = MAX(url_index_items(index), 1);
	struct planning p = {
		.conf = conf,
		.now_s = (uint32_t)(c->now_us / US_PER_S),
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
