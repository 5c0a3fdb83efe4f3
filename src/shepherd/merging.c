/* merge: URLs that were found join those that are known. */
#include "shepherd/crawl.h"

#include "base/clock.h"

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
	if (!by_hand && m->active >= (uint64_t)m->conf->active_max)
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

int crawl_merge(struct state *st, const struct crawl *crawl, struct merged *ret, struct err *err)
{
	CLEANUP(sites_free) struct sites *sites = NULL;
	struct merged merged = {0};
	if (state_sites(st, &sites, err) < 0)
		return -1;
	struct merging m = {.state = st,
			    .conf = crawl->conf,
			    .sites = sites,
			    .now_us = crawl->now_us,
			    .ret = &merged};
	const struct crawl_news news = {
		.file = "contrib", .unify = contrib_unify, .lost = &merged.lost};
	merge_begin_sites(sites);
	int rc = crawl_rewrite(st, crawl, &news, merge_item, &m, err);
	if (rc)
		return rc;
	merge_end_site(&m);
	merge_drop_empty_sites(sites);
	if (state_sites_put(st, sites, err) < 0)
		return -1;
	*ret = merged;
	return 0;
}
