/* The model of select: one walk in the order of select weights, with counters for every site,
 * server and section that are looked for from end to end. */
#include "unit/shepherd/cycle_model_parts.h"

#include "base/clock.h"
#include "shepherd/code.h"

#include <stdlib.h>

struct count {
	uint64_t active, inactive;
};

struct chosen {
	struct index_item *item;
	size_t site;
	int64_t weight;
};

struct selecting {
	struct world *w;
	struct chosen chosen[MODEL_ITEMS];
	size_t n;
	/* by site, in the order of the world's; that of a server is that of its first site */
	struct filter_site filter[MODEL_SITES];
	struct model_server server[MODEL_SITES];
	size_t first[MODEL_SITES];
	struct count by_site[MODEL_SITES], fresh[MODEL_SITES], by_server[MODEL_SITES];
	struct count by_section[FILTER_SECTIONS], all;
	/* frequent refreshes that are given away, by the place of the frequency in the schema */
	double server_used[MODEL_SITES][SCHEMA_MOST], used[SCHEMA_MOST];
};

static bool item_is_sacred(const struct index_item *item)
{
	return item->flags & ITEM_SACRED;
}

/* What goes before anything is weighed. */
static bool select_is_over(const struct world *w, const struct index_item *item)
{
	int64_t age_us = w->crawl.now_us - item->last_seen_s * US_PER_S;
	if (item->type == ITEM_ZOMBIE)
		return age_us >= w->crawl.conf->forget_us && !item_is_sacred(item);
	return item->type == ITEM_ERROR && item->flags & ITEM_UNREFERENCED &&
	       !(item->flags & (ITEM_INITIAL | ITEM_ROBOTS));
}

/* Redirects that have led nowhere for long. */
static void select_give_up(struct world *w)
{
	for (size_t i = 0; i < w->items; i++) {
		struct index_item *item = &w->item[i];
		if (item->type == ITEM_ERROR && item->no_target &&
		    w->crawl.now_us >=
			    item->stable_s * US_PER_S + w->crawl.conf->redirect_to_zombie_us) {
			item->type = ITEM_ZOMBIE;
			item->code = 2308;
		}
	}
}

static void select_drop_old(struct world *w)
{
	for (size_t i = 0; i < w->items;)
		if (select_is_over(w, &w->item[i])) {
			model_forget(w, &w->item[i], GONE_ERROR);
			w->item[i] = w->item[--w->items];
		} else {
			i++;
		}
}

static size_t select_site_of(const struct world *w, const struct index_item *item)
{
	for (size_t i = 0; i < w->sites; i++)
		if (w->site[i].fp == item->fp.site)
			return i;
	die("an item without a site");
}

static int64_t select_weight(const struct selecting *s, const struct index_item *item, size_t site)
{
	size_t n;
	const struct filter_section *section = filter_sections(s->w->crawl.filter, &n);
	int64_t weight = item->weight + section[item->section].bonus;
	if (item->type == ITEM_GATHERED)
		weight += s->w->crawl.conf->select_hysteresis;
	weight = MIN(MAX(weight, 0), 1023);
	if (item_is_sacred(item))
		weight += 1000000;
	if (s->filter[site].select_bonus)
		weight += 100000;
	return item->type == ITEM_ZOMBIE ? -1 : weight;
}

static int chosen_compare(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return footprint_cmp(x->item->fp, y->item->fp);
}

static void select_prepare(struct selecting *s)
{
	struct world *w = s->w;
	for (size_t i = 0; i < w->sites; i++) {
		struct site *site = &w->site[i];
		model_filter(w, site, &s->filter[i]);
		s->server[i] = model_server(w, site);
		for (s->first[i] = 0; !model_same_server(&w->site[s->first[i]], site);)
			s->first[i]++;
	}
	for (size_t i = 0; i < w->items; i++) {
		struct index_item *item = &w->item[i];
		if (item->flags & ITEM_ROBOTS)
			continue;
		size_t site = select_site_of(w, item);
		s->chosen[s->n++] = (struct chosen){item, site, select_weight(s, item, site)};
	}
	qsort(s->chosen, s->n, sizeof s->chosen[0], chosen_compare);
}

/* Limits */

struct limit {
	bool is_set;
	uint64_t soft, hard;
	const struct count *count;
};

static struct limit limit_of(double soft, double factor, const struct count *count)
{
	uint64_t whole = (uint64_t)MIN(soft, 1e15);
	return (struct limit){true, whole, (uint64_t)((double)whole * factor), count};
}

static double select_space(const struct world *w)
{
	const struct crawl_conf *conf = w->crawl.conf;
	double bucket =
		(double)(w->course.bucket_bytes ? w->course.bucket_bytes : conf->avg_bucket_size);
	double url = (double)(w->course.url_bytes ? w->course.url_bytes : conf->avg_url_size);
	return (double)conf->bucket_file_size / (bucket + (conf->hard_limit_factor - 1) * url);
}

/* Refreshes of a server, and of all, in a refresh cycle; INFINITY: no limit. */
static double server_capacity(const struct selecting *s, size_t site)
{
	const struct crawl_conf *conf = s->w->crawl.conf;
	const struct model_server *server = &s->server[site];
	if (server->min_delay_us == 0)
		return 1e300;
	return (double)conf->refresh_us * conf->duty_factor * server->max_conn /
	       (double)server->min_delay_us;
}

static double crawl_capacity(const struct world *w)
{
	return model_rate(w) * (double)w->crawl.conf->refresh_us / 1e6 * w->crawl.conf->duty_factor;
}

static void select_site_limits(const struct selecting *s, const struct chosen *c, struct limit *ret)
{
	const struct crawl_conf *conf = s->w->crawl.conf;
	const struct filter_site *f = &s->filter[c->site];
	const struct site *site = &s->w->site[c->site];
	int64_t fresh = f->line[FILTER_FRESH_LIMIT] ? f->fresh_limit : conf->site_fresh_limit;
	int64_t soft = f->line[FILTER_SOFT_LIMIT] ? f->soft_limit
		       : site->limit              ? site->limit
						  : conf->site_max;
	ret[LIMIT_SITE] = limit_of((double)soft, conf->hard_limit_factor, &s->by_site[c->site]);
	if (f->line[FILTER_HARD_LIMIT])
		ret[LIMIT_SITE].hard = f->hard_limit;
	if (model_is_dead(s->w, site) && conf->dead_site_limit)
		ret[LIMIT_DEAD] = limit_of((double)conf->dead_site_limit, conf->hard_limit_factor,
					   &s->by_site[c->site]);
	if (fresh && !(c->item->flags & ITEM_WEIGHED))
		ret[LIMIT_FRESH] =
			limit_of((double)fresh, conf->hard_limit_factor, &s->fresh[c->site]);
}

static void select_limits(const struct selecting *s, const struct chosen *c,
			  struct limit ret[CRAWL_LIMITS])
{
	const struct world *w = s->w;
	const struct crawl_conf *conf = w->crawl.conf;
	double factor = conf->hard_limit_factor, once = 1 - conf->frequent_factor;
	size_t n;
	const struct filter_section *section = filter_sections(w->crawl.filter, &n);
	for (size_t i = 0; i < CRAWL_LIMITS; i++)
		ret[i] = (struct limit){0};
	select_site_limits(s, c, ret);
	if (s->server[c->site].min_delay_us)
		ret[LIMIT_SERVER] = limit_of(server_capacity(s, c->site) * once, factor,
					     &s->by_server[s->first[c->site]]);
	ret[LIMIT_SECTION] = limit_of(section[c->item->section].share * select_space(w), factor,
				      &s->by_section[c->item->section]);
	ret[LIMIT_PERFORMANCE] = limit_of(crawl_capacity(w) * once, factor, &s->all);
	ret[LIMIT_SPACE] = limit_of(select_space(w), factor, &s->all);
	ret[LIMIT_ACTIVE] = (struct limit){true, (uint64_t)conf->active_max, UINT64_MAX, &s->all};
}

enum verdict { VERDICT_ACTIVE, VERDICT_SLEEPS, VERDICT_GOES };

/* A zombie sleeps, or goes beyond a hard limit. remember_max is met by what would not be active. */
static enum verdict select_verdict(const struct selecting *s, const struct chosen *c,
				   unsigned *ret_limit)
{
	struct limit limit[CRAWL_LIMITS];
	bool zombie = c->item->type == ITEM_ZOMBIE, sleeps = zombie;
	if (item_is_sacred(c->item))
		return zombie ? VERDICT_SLEEPS : VERDICT_ACTIVE;
	select_limits(s, c, limit);
	for (unsigned i = 0; i < CRAWL_LIMITS; i++)
		if (limit[i].is_set &&
		    limit[i].count->active + limit[i].count->inactive >= limit[i].hard)
			return VERDICT_GOES;
	for (unsigned i = 0; i < CRAWL_LIMITS && !sleeps; i++)
		if (limit[i].is_set && limit[i].count->active >= limit[i].soft) {
			*ret_limit = i;
			sleeps = true;
		}
	if (!sleeps)
		return VERDICT_ACTIVE;
	return s->all.inactive >= (uint64_t)s->w->crawl.conf->remember_max ? VERDICT_GOES
									   : VERDICT_SLEEPS;
}

static void select_count(struct selecting *s, const struct chosen *c, bool active)
{
	struct count *counts[] = {&s->by_site[c->site], &s->by_server[s->first[c->site]],
				  &s->by_section[c->item->section], &s->all,
				  c->item->flags & ITEM_WEIGHED ? NULL : &s->fresh[c->site]};
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (counts[i]) {
			counts[i]->active += active;
			counts[i]->inactive += !active;
		}
}

/* Refresh */

static bool quota_take(struct selecting *s, size_t site, const struct schema *schema, unsigned k,
		       double cost)
{
	double share = schema->share[k] * s->w->crawl.conf->frequent_factor;
	double *server = &s->server_used[s->first[site]][k], *all = &s->used[k];
	if (*server + cost > share * server_capacity(s, site) ||
	    *all + cost > share * crawl_capacity(s->w))
		return false;
	*server += cost;
	*all += cost;
	return true;
}

static unsigned schema_freq(struct selecting *s, const struct chosen *c)
{
	const struct crawl_conf *conf = s->w->crawl.conf;
	const struct index_item *item = c->item;
	const struct filter_site *f = &s->filter[c->site];
	const struct schema *schema = f->schema ? f->schema : &s->w->crawl.schema;
	double boost = f->line[FILTER_REFRESH_BOOST] ? f->refresh_boost : 1;
	int64_t stable = MAX((int64_t)item->last_seen_s - item->stable_s, 1);
	double ideal = (double)conf->refresh_us / 1e6 * boost * (32 + MAX(0, item->weight - 96)) /
		       (32 * (double)stable * conf->stability_factor);
	unsigned best = 0;
	if (item->type != ITEM_GATHERED)
		return 1;
	while (best < schema->n && schema->freq[best] > ideal)
		best++;
	if (best == schema->n)
		return 1;
	for (unsigned k = best + 1; k-- > 0;)
		if (quota_take(s, c->site, schema, k, schema->freq[best] - 1))
			return schema->freq[best];
	for (unsigned k = best + 1; k < schema->n; k++)
		if (quota_take(s, c->site, schema, k, schema->freq[k] - 1))
			return schema->freq[k];
	return 1;
}

static void select_refresh(struct selecting *s, const struct chosen *c)
{
	const struct crawl_conf *conf = s->w->crawl.conf;
	int64_t f = schema_freq(s, c);
	if (c->item->flags & ITEM_EQUIV)
		f = MAX(f, conf->min_eq_frequency);
	if (c->item->type == ITEM_ERROR)
		f = MIN(f, conf->max_err_frequency);
	if (c->item->type == ITEM_GATHERED && c->item->freq != f)
		model_due(s->w, c->item->last_seen_s + conf->refresh_us / US_PER_S / f);
	c->item->freq = (uint8_t)f;
}

/* The walk */

static bool select_apply(struct selecting *s, const struct chosen *c)
{
	struct index_item *item = c->item;
	unsigned limit = 0;
	enum verdict verdict = select_verdict(s, c, &limit);
	if (verdict == VERDICT_GOES) {
		model_forget(s->w, item, GONE_RANK);
		return false;
	}
	select_count(s, c, verdict == VERDICT_ACTIVE);
	if (verdict == VERDICT_ACTIVE) {
		if (item->type == ITEM_SLEEPING) {
			item->type = ITEM_NEW;
			item->code = 0;
			item->retry = 0;
			item->due_s = 0;
			model_due(s->w, model_now(s->w));
		}
		select_refresh(s, c);
		return true;
	}
	item->freq = 0;
	if (item->type == ITEM_ZOMBIE)
		return true;
	if (item->type == ITEM_GATHERED)
		model_tell(s->w, item->fp, CHANGE_DELETE, false);
	item->type = ITEM_SLEEPING;
	item->code = (uint16_t)(CODE_SLEEPS + limit);
	return true;
}

/* A server that did not exist may exist now. */
static void select_renew_key(struct world *w, struct site *site)
{
	const struct index_item *key = model_item(w, (struct footprint){site->fp, 0});
	int64_t seen_us = key ? key->last_seen_s * US_PER_S : 0;
	if (qkey_kind(site->qkey) == QKEY_NONEXISTENT &&
	    w->crawl.now_us >= seen_us + w->crawl.conf->site_err_expire_us)
		site->qkey = 0;
}

static void select_count_sites(struct selecting *s)
{
	struct world *w = s->w;
	size_t n = 0;
	for (size_t i = 0; i < w->sites; i++) {
		struct site *site = &w->site[i];
		site->active = (uint32_t)s->by_site[i].active;
		site->inactive = (uint32_t)s->by_site[i].inactive;
		site->gathered = site->fresh = site->demand = 0;
		for (size_t k = 0; k < w->items; k++)
			if (w->item[k].fp.site == site->fp && !(w->item[k].flags & ITEM_ROBOTS)) {
				site->gathered += w->item[k].type == ITEM_GATHERED;
				site->fresh += w->item[k].type == ITEM_NEW;
				site->demand += w->item[k].freq;
			}
		select_renew_key(w, site);
		if (site->active + site->inactive)
			w->site[n++] = *site;
	}
	w->sites = n;
}

void model_select(struct world *w)
{
	static struct selecting s;
	struct footprint goes[MODEL_ITEMS];
	size_t n = 0;
	s = (struct selecting){.w = w};
	model_begin(w);
	select_give_up(w);
	select_drop_old(w);
	select_prepare(&s);
	for (size_t i = 0; i < s.n; i++)
		if (!select_apply(&s, &s.chosen[i]))
			goes[n++] = s.chosen[i].item->fp;
	for (size_t i = 0; i < n; i++)
		model_remove(w, goes[i]);
	for (size_t i = 0; i < w->items; i++)
		if (w->item[i].flags & ITEM_CONTRIB)
			model_due(w, model_now(w));
	model_count(w);
	select_count_sites(&s);
}
