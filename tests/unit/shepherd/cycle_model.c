/* The model of plan, cork, equiv and record, and what all of it shares; merge and select are in
 * files of their own. Where doc/cycle.md leaves something open, the comment says what was taken. */
#include "unit/shepherd/cycle_model_parts.h"

#include "base/clock.h"
#include "base/hash.h"
#include "shepherd/code.h"

#include <stdlib.h>

#define MILLION INT64_C(1000000)

/* Shared */

struct site *model_site(struct world *w, uint64_t fp)
{
	for (size_t i = 0; i < w->sites; i++)
		if (w->site[i].fp == fp)
			return &w->site[i];
	return NULL;
}

struct index_item *model_item(struct world *w, struct footprint fp)
{
	for (size_t i = 0; i < w->items; i++)
		if (footprint_cmp(w->item[i].fp, fp) == 0)
			return &w->item[i];
	return NULL;
}

struct index_item *model_add(struct world *w, struct footprint fp)
{
	ENSURE(w->items < MODEL_ITEMS);
	w->item[w->items] = (struct index_item){.fp = fp, .where = ITEM_NOWHERE};
	return &w->item[w->items++];
}

void model_remove(struct world *w, struct footprint fp)
{
	struct index_item *item = model_item(w, fp);
	ENSURE(item);
	*item = w->item[--w->items];
}

static int items_compare(const void *a, const void *b)
{
	const struct index_item *x = a, *y = b;
	return footprint_cmp(x->fp, y->fp);
}

static int sites_compare(const void *a, const void *b)
{
	const struct site *x = a, *y = b;
	return (x->fp > y->fp) - (x->fp < y->fp);
}

void model_sort(struct world *w)
{
	qsort(w->item, w->items, sizeof w->item[0], items_compare);
	qsort(w->site, w->sites, sizeof w->site[0], sites_compare);
}

void model_tell(struct world *w, struct footprint fp, enum change_op op, bool forgotten)
{
	ENSURE(w->changes < MODEL_TOLD);
	w->change[w->changes++] = (struct model_change){fp, op, forgotten};
}

void model_forget(struct world *w, const struct index_item *item, enum gone_reason reason)
{
	ENSURE(w->gones < MODEL_TOLD);
	w->gone[w->gones++] = (struct model_gone){item->fp, reason};
	model_tell(w, item->fp, item->type == ITEM_GATHERED ? CHANGE_DELETE : CHANGE_NONE, true);
}

void model_begin(struct world *w)
{
	w->changes = w->gones = w->planned = w->found = 0;
	w->waiting = w->robots = 0;
	w->next_s = INT64_MAX;
}

int64_t model_now(const struct world *w)
{
	return w->crawl.now_us / US_PER_S;
}

void model_count(struct world *w)
{
	for (size_t i = 0; i < ITEM_TYPES; i++)
		w->course.urls[i] = 0;
	for (size_t i = 0; i < w->items; i++)
		w->course.urls[w->item[i].flags & ITEM_ROBOTS ? ITEM_QKEY : w->item[i].type]++;
}

void model_due(struct world *w, int64_t due_s)
{
	w->course.due_s = MIN(w->course.due_s, (uint64_t)due_s);
}

struct url_site model_url_site(const struct site *site)
{
	return (struct url_site){
		.protocol = site->protocol, .port = site->port, .host = site->host};
}

/* Servers */

bool model_same_server(const struct site *a, const struct site *b)
{
	return a->fp == b->fp || (a->qkey && a->qkey == b->qkey);
}

void model_filter(const struct world *w, const struct site *site, struct filter_site *ret)
{
	struct filter_where where = {.qkey = site->qkey, .known = true};
	for (size_t i = 0; i < w->sites; i++)
		where.key_sites += model_same_server(&w->site[i], site);
	filter_site(w->crawl.filter, model_url_site(site), &where, ret);
}

double model_rate(const struct world *w)
{
	return MAX((double)w->course.rate_milli / 1000, w->crawl.conf->est_raw_performance);
}

struct model_server model_server(const struct world *w, const struct site *of)
{
	const struct crawl_conf *conf = w->crawl.conf;
	struct model_server s = {.max_conn = UINT32_MAX, .room = UINT64_MAX};
	uint64_t demand = 0, weight = 0, time_ms = 0;
	for (size_t i = 0; i < w->sites; i++) {
		const struct site *site = &w->site[i];
		struct filter_site f;
		if (!model_same_server(site, of))
			continue;
		model_filter(w, site, &f);
		int64_t delay_us = site->delay_ms             ? site->delay_ms * US_PER_MS
				   : f.line[FILTER_MIN_DELAY] ? f.min_delay_us
							      : w->crawl.delay_us;
		unsigned conn =
			f.line[FILTER_MAX_CONN] ? (unsigned)f.max_conn : w->crawl.concurrent;
		s.min_delay_us = MAX(s.min_delay_us, delay_us);
		s.max_conn = MIN(s.max_conn, MAX(conn, 1));
		demand += site->demand;
		weight += site->download_ms ? MAX(site->active, 1) : 0;
		time_ms += (uint64_t)MAX(site->active, 1) * site->download_ms;
	}
	if (s.min_delay_us == 0)
		return s;
	double dtime = weight ? (double)(time_ms / weight * 1000) : 0;
	double t =
		(double)conf->refresh_us * conf->duty_factor * s.max_conn / (double)MAX(demand, 1);
	int64_t most = MAX(w->crawl.delay_us, s.min_delay_us);
	double wanted = MIN(t * conf->reap_slowdown - dtime, (double)most);
	s.delay_us = MAX((int64_t)wanted, s.min_delay_us);
	s.room = MAX((uint64_t)w->crawl.cycle_us * s.max_conn / (uint64_t)s.delay_us, 1);
	s.tight = t - dtime <= (double)(s.min_delay_us + conf->server_overtake_us);
	return s;
}

/* The clock was put back since. */
static bool site_failed_later(const struct world *w, const struct site *site)
{
	return site->failed_s * US_PER_S > w->crawl.now_us;
}

bool model_is_dead(const struct world *w, const struct site *site)
{
	const struct crawl_conf *conf = w->crawl.conf;
	return site->error_cycles > conf->site_err_retry && !site_failed_later(w, site) &&
	       w->crawl.now_us < site->failed_s * US_PER_S + conf->site_err_expire_us;
}

/* Until when, in seconds; 0: it does not rest. One that was dead long enough is tried at once. */
static int64_t site_rest(const struct world *w, const struct site *site)
{
	const struct crawl_conf *conf = w->crawl.conf;
	if (model_is_dead(w, site))
		return site->failed_s + conf->site_err_expire_us / US_PER_S;
	if (site->error_cycles == 0 || site->error_cycles > conf->site_err_retry ||
	    site_failed_later(w, site))
		return 0;
	int64_t rest_us = conf->retry_us;
	for (unsigned i = 1; i < site->error_cycles && rest_us < conf->refresh_us; i++)
		rest_us *= 2;
	return site->failed_s + MIN(rest_us, conf->refresh_us) / US_PER_S;
}

/* plan */

struct due {
	const struct index_item *item;
	const struct site *site;
	int64_t priority; /* negative: not due */
	int64_t next_s;   /* when it is */
	uint8_t flags;
	bool first; /* of a site without a server */
	bool out;
};

static int64_t plan_age(const struct world *w, const struct index_item *item, uint32_t rnd)
{
	int64_t now_s = w->crawl.now_us / US_PER_S, cycle_s = w->crawl.cycle_us / US_PER_S;
	int64_t from = item->last_seen_s;
	if (item->type == ITEM_NEW)
		from = MAX(from, (int64_t)item->since_day * 86400);
	int64_t age = now_s - from + rnd % (cycle_s / 4 ? cycle_s / 4 : 1);
	return age < 0 ? w->crawl.conf->refresh_us / US_PER_S : age;
}

/* The table of bands. */
static void plan_priority(const struct world *w, struct due *d)
{
	const struct index_item *item = d->item;
	int64_t now_s = w->crawl.now_us / US_PER_S, rc = w->crawl.conf->refresh_us / US_PER_S;
	int64_t ahead = w->crawl.conf->anticipated_us / US_PER_S;
	uint32_t rnd = (uint32_t)(item->fp.site >> 32) ^ (uint32_t)(item->fp.path >> 32) ^
		       (uint32_t)hash_u64((uint64_t)w->created_us);
	int64_t age = plan_age(w, item, rnd), f = MAX(item->freq, 1), f2 = f > 3 ? f / 3 : 1;
	int64_t often = f2 * age + rnd % (rc / 8 ? rc / 8 : 1);
	int64_t fresh =
		item->weight * 100000 + MIN(age, 2 * rc) * 5000000 / (2 * rc + INT64_C(4) * 86400);
	d->priority = -1;
	d->flags = item->type == ITEM_GATHERED ? PLAN_REFRESH : 0;
	if (item->flags & ITEM_REGATHER) {
		d->priority = 4000 * MILLION + MIN(age, 294 * MILLION);
	} else if (item->due_s > now_s && item->due_s <= now_s + rc) {
		d->next_s = item->due_s;
	} else if (item->type == ITEM_NEW) {
		d->priority = (item->flags & ITEM_INITIAL ? 1400 : 1200) * MILLION + fresh;
	} else if (2 * age >= 3 * rc) {
		d->priority = 1900 * MILLION + MIN(age, 90 * MILLION);
		d->flags |= PLAN_OVERAGED;
	} else if (often >= rc) {
		d->priority = 1500 * MILLION + MIN(often / 8, 99 * MILLION);
	} else if (f * age >= rc) {
		d->priority = 1000 * MILLION + MIN(f * age / 8, 99 * MILLION);
	} else if (ahead && age >= ahead) {
		d->priority = MIN(age, 999 * MILLION);
		d->flags |= PLAN_ANTICIPATED;
	} else {
		int64_t wait = (rc + f - 1) / f;
		d->next_s = item->last_seen_s + (ahead ? MIN(ahead, wait) : wait);
	}
}

/* What the server and the filter add. */
static void plan_lift(const struct world *w, struct due *d)
{
	struct filter_site f;
	if (d->priority < 1000 * MILLION || d->priority >= 2000 * MILLION)
		return;
	model_filter(w, d->site, &f);
	if (model_server(w, d->site).tight)
		d->priority += 1000 * MILLION;
	if (qkey_kind(d->site->qkey) == QKEY_RESOLVED && f.line[FILTER_QUEUE_BONUS])
		d->priority += MIN(f.queue_bonus, 2000 * MILLION);
	d->priority = MIN(d->priority, INT64_C(3999999999));
}

static int due_compare(const void *a, const void *b)
{
	const struct due *x = a, *y = b;
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return footprint_cmp(x->item->fp, y->item->fp);
}

static bool plan_may_be(const struct index_item *item)
{
	if (item->flags & ITEM_ROBOTS)
		return false;
	return item->type == ITEM_NEW || item->type == ITEM_GATHERED ||
	       (item->type == ITEM_ERROR && (item->flags & ITEM_SACRED || item->no_target));
}

/* Whether the course says that nothing is due. */
static bool plan_is_idle(struct world *w)
{
	const struct crawl_conf *conf = w->crawl.conf;
	struct state_course noted = w->course;
	uint64_t now_s = (uint64_t)model_now(w);
	uint64_t longest_s = (uint64_t)(MAX(conf->refresh_us, conf->site_err_expire_us) / US_PER_S);
	model_count(w);
	bool same = memcmp(noted.urls, w->course.urls, sizeof noted.urls) == 0;
	w->course = noted;
	return same && (noted.due_s == INT64_MAX ||
			(noted.due_s > now_s && noted.due_s <= now_s + longest_s));
}

int64_t model_surely_due(struct world *w)
{
	int64_t next_s = INT64_MAX, now_s = model_now(w);
	int64_t rc = w->crawl.conf->refresh_us / US_PER_S;
	for (size_t i = 0; i < w->items; i++) {
		const struct index_item *item = &w->item[i];
		int64_t f = MAX(item->freq, 1), at_s = item->last_seen_s + (rc + f - 1) / f;
		if (!plan_may_be(item))
			continue;
		if (item->due_s > now_s && item->due_s <= now_s + rc)
			at_s = item->due_s;
		else if (item->type == ITEM_NEW)
			at_s = now_s;
		at_s = MAX(at_s, site_rest(w, model_site(w, item->fp.site)));
		next_s = MIN(next_s, item->flags & ITEM_REGATHER ? now_s : at_s);
	}
	return MAX(next_s, now_s);
}

/* All that may be planned. A URL of a site that rests is due when the site is. */
static size_t plan_due(struct world *w, struct due *ret)
{
	int64_t now_s = w->crawl.now_us / US_PER_S;
	size_t n = 0;
	for (size_t i = 0; i < w->items; i++) {
		const struct index_item *item = &w->item[i];
		struct due d = {.item = item, .site = model_site(w, item->fp.site)};
		if (!plan_may_be(item))
			continue;
		ENSURE(d.site);
		int64_t rest_s = site_rest(w, d.site);
		plan_priority(w, &d);
		plan_lift(w, &d);
		if (rest_s > now_s && !(item->flags & ITEM_REGATHER)) {
			d.priority = -1;
			d.next_s = MAX(d.next_s, rest_s);
		}
		if (d.priority >= 0)
			ret[n++] = d;
		else
			w->next_s = MIN(w->next_s, d.next_s);
	}
	qsort(ret, n, sizeof *ret, due_compare);
	return n;
}

static bool plan_is_forced(const struct due *d)
{
	return d->item->flags & ITEM_REGATHER;
}

/* In falling priority: one of each site without a server, which finds it out, then the room of each
 * server. */
static void plan_servers(const struct world *w, struct due *due, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t before = 0;
		for (size_t k = 0; k < i; k++)
			before += model_same_server(due[k].site, due[i].site);
		bool resolved = due[i].site->qkey != 0;
		if (before >= (resolved ? model_server(w, due[i].site).room : 1))
			due[i].out = !plan_is_forced(&due[i]);
		due[i].first = !resolved && before == 0;
	}
	for (size_t i = 0; i < n; i++)
		if (due[i].first)
			due[i].priority = UINT32_MAX;
}

static void plan_budget(const struct world *w, struct due *due, size_t n)
{
	const struct crawl_conf *conf = w->crawl.conf;
	double cycle_s = (double)w->crawl.cycle_us / 1e6;
	double can = model_rate(w) * cycle_s * conf->reap_optimism;
	uint64_t budget = MAX((uint64_t)MIN((double)conf->plan_max, can), 1), rank = 0;
	for (size_t i = 0; i < n; i++)
		if (!due[i].out && rank++ >= budget)
			due[i].out = !plan_is_forced(&due[i]);
}

/* The entry for robots.txt of each site that has others. */
static void plan_robots(struct world *w)
{
	int64_t now_s = model_now(w);
	for (size_t i = 0; i < w->sites; i++) {
		struct footprint fp = {w->site[i].fp, footprint_path(STR("/robots.txt"))};
		const struct index_item *item = model_item(w, fp);
		const struct model_entry *other = NULL;
		for (size_t k = 0; k < w->planned; k++) {
			if (w->plan[k].entry.fp.site != fp.site)
				continue;
			other = &w->plan[k];
			w->plan[k].robots_where =
				item && item->flags & ITEM_ROBOTS ? item->where : ITEM_NOWHERE;
		}
		if (!other)
			continue;
		if (item && !(item->flags & ITEM_ROBOTS))
			item = NULL;
		if (item && item->last_seen_s <= now_s && now_s < item->last_seen_s + 86400 &&
		    (item->due_s == 0 || now_s < item->due_s))
			continue;
		struct model_entry e = *other;
		e.entry = (struct plan_entry){
			.fp = fp,
			.where = item ? item->where : ITEM_NOWHERE,
			.priority = UINT32_MAX,
			.flags = PLAN_ROBOTS |
				 (item && item->type == ITEM_GATHERED ? PLAN_REFRESH : 0),
			.item_flags = item ? item->flags : ITEM_ROBOTS,
			.retry = item ? item->retry : 0};
		w->plan[w->planned++] = e;
		w->robots++;
	}
}

void model_plan(struct world *w)
{
	static struct due due[MODEL_ITEMS];
	model_begin(w);
	if (plan_is_idle(w)) {
		w->next_s = (int64_t)w->course.due_s;
		return;
	}
	size_t n = plan_due(w, due);
	plan_servers(w, due, n);
	qsort(due, n, sizeof *due, due_compare);
	plan_budget(w, due, n);
	for (size_t i = 0; i < n; i++) {
		const struct index_item *item = due[i].item;
		if (due[i].out) {
			w->waiting++;
			w->next_s = MIN(w->next_s, model_now(w));
			continue;
		}
		w->plan[w->planned++] = (struct model_entry){
			.entry = {.fp = item->fp,
				  .where = item->where,
				  .priority = (uint32_t)due[i].priority,
				  .flags = due[i].flags,
				  .item_flags = item->flags,
				  .retry = item->retry,
				  .weight = item->weight,
				  .section = item->section,
				  .hops = item->hops},
			.qkey = due[i].site->qkey,
			.delay_ms =
				(uint32_t)((model_server(w, due[i].site).delay_us + 999) / 1000)};
	}
	plan_robots(w);
	model_count(w);
	w->course.due_s = (uint64_t)w->next_s;
}

/* cork */

static void cork_apply(const struct journal_entry *e, int64_t changed_us, struct index_item *item)
{
	uint32_t time_s = (uint32_t)(e->time_us / US_PER_S);
	item->code = e->code;
	item->last_seen_s = time_s;
	item->due_s = e->due_s;
	item->flags = (uint8_t)((item->flags | e->flags) & ~ITEM_REGATHER);
	item->download_ds = (uint8_t)MIN((e->download_ms + 99) / 100, 255);
	if (e->type == ITEM_TEMPORARY) {
		item->retry = (uint8_t)MIN(item->retry + 1, 255);
		return;
	}
	bool first_nowhere = e->type == ITEM_ERROR && e->no_target &&
			     !(item->type == ITEM_ERROR && item->no_target);
	bool still_nowhere = e->type == ITEM_ERROR && e->no_target && !first_nowhere;
	item->type = e->type;
	item->no_target = e->no_target;
	item->retry = 0;
	if (e->has_section)
		item->section = e->section;
	if (e->where != ITEM_NOWHERE) {
		item->where = e->where;
		item->flags &= (uint8_t)~ITEM_CONTRIB;
	}
	if (changed_us || first_nowhere || (item->stable_s == 0 && !still_nowhere))
		item->stable_s = changed_us ? (uint32_t)(changed_us / US_PER_S) : time_s;
}

/* By footprint and time; of equals, in the order of the journal. */
static int entries_compare(const void *a, const void *b)
{
	const struct journal_entry *x = *(const struct journal_entry *const *)a,
				   *y = *(const struct journal_entry *const *)b;
	int order = footprint_cmp(x->fp, y->fp);
	if (order == 0)
		order = (x->time_us > y->time_us) - (x->time_us < y->time_us);
	return order ? order : (x > y) - (x < y);
}

/* The site of such a page enters the list, and its front page is found. */
static void cork_enter_site(struct world *w, const struct journal_entry *e, const struct url *url)
{
	struct model_contrib root = {
		.c = {.fp = {e->fp.site, footprint_path(STR("/"))},
		      .flags = ITEM_EQUIV,
		      .from = e->fp,
		      .url = str_head(e->url, (size_t)(url->path.p - url->href.p) + 1)},
		.round = w->round};
	struct url_site site = url_site(url);
	/* the host has to live on: it is at the same place of the entry's text */
	site.host.p = e->url.p + (url->host.p - url->href.p);
	ENSURE(w->sites < MODEL_SITES && w->contribs < MODEL_NEWS);
	w->site[w->sites++] =
		(struct site){.fp = e->fp.site,
			      .norm = footprint_site(equiv_site(w->crawl.equiv, site)),
			      .protocol = site.protocol,
			      .port = site.port,
			      .host = site.host};
	if (w->crawl.conf->auto_go_root)
		w->contrib[w->contribs++] = root;
}

static void cork_next(struct world *w, const struct index_item *item)
{
	struct due d = {.item = item};
	if (!plan_may_be(item))
		return;
	plan_priority(w, &d);
	model_due(w, d.priority < 0 ? d.next_s : model_now(w));
}

/* What is said of robots.txt of a site that is known. */
static void cork_robots(struct world *w, const struct journal_entry *e, int64_t changed_us,
			bool failed)
{
	struct index_item *item = model_item(w, e->fp);
	if (!model_site(w, e->fp.site))
		return;
	if (!item) {
		item = model_add(w, e->fp);
		item->type = ITEM_NEW;
		item->since_day = (uint16_t)(e->time_us / US_PER_DAY);
	}
	cork_apply(e, changed_us, item);
	item->flags = ITEM_ROBOTS;
	if (failed)
		item->retry = 1;
	if (e->type == ITEM_ERROR && code_class(e->code) == CODE_CLASS_PERMANENT)
		item->where = ITEM_NOWHERE;
}

/* The newest entry of a URL, with what the ones before it say and it does not. */
static void cork_url(struct world *w, const struct journal_entry *const *of, size_t n)
{
	struct journal_entry e = *of[n - 1];
	struct index_item *item = model_item(w, e.fp);
	bool failed = false;
	int64_t changed_us = 0;
	for (size_t i = n; i-- > 0;) {
		e.flags |= of[i]->flags;
		if (e.where == ITEM_NOWHERE)
			e.where = of[i]->where;
		if (!e.has_section && of[i]->has_section) {
			e.has_section = true;
			e.section = of[i]->section;
		}
		if (e.type == ITEM_TEMPORARY && of[i]->type != ITEM_TEMPORARY) {
			e.type = of[i]->type;
			e.no_target = of[i]->no_target;
			failed = true;
		}
		if (changed_us == 0 && of[i]->op == CHANGE_UPDATE)
			changed_us = of[i]->time_us;
	}
	if (e.flags & ITEM_ROBOTS) {
		cork_robots(w, &e, changed_us, failed);
		return;
	}
	bool by_hand = e.flags & ITEM_INITIAL && e.where != ITEM_NOWHERE;
	if (!item && !by_hand)
		return;
	if (!item) {
		struct filter_where where = {.known = true};
		struct filter_url says;
		char room[URL_MAX];
		struct url url;
		ENSURE(url_parse(e.url, NULL, room, sizeof room, &url) == 0);
		filter_url(w->crawl.filter, &url, STR(""), &where, &says);
		if (!model_site(w, e.fp.site))
			cork_enter_site(w, &e, &url);
		item = model_add(w, e.fp);
		item->type = ITEM_NEW;
		item->where = e.where;
		item->weight = (uint8_t)w->crawl.conf->default_insert_weight;
		item->since_day = (uint16_t)(e.time_us / US_PER_DAY);
		item->section = e.has_section ? e.section : says.section;
	}
	cork_apply(&e, changed_us, item);
	if (failed)
		item->retry = 1;
	cork_next(w, item);
}

/* Those of robots.txt, or all others but key entries. */
static void cork_items(struct world *w, bool robots)
{
	const struct journal_entry *sorted[MODEL_NEWS];
	size_t all = 0;
	for (size_t i = 0; i < w->entries; i++) {
		const struct journal_entry *e = &w->journal[i];
		bool of_robots = e->fp.path == footprint_path(STR("/robots.txt"));
		if (e->type != ITEM_QKEY && of_robots == robots &&
		    of_robots == ((e->flags & ITEM_ROBOTS) != 0))
			sorted[all++] = e;
	}
	qsort(sorted, all, sizeof *sorted, entries_compare);
	for (size_t i = 0, n; i < all; i += n) {
		for (n = 1; i + n < all; n++)
			if (footprint_cmp(sorted[i]->fp, sorted[i + n]->fp) != 0)
				break;
		cork_url(w, &sorted[i], n);
	}
}

static bool cork_has_failed(const struct journal_entry *e)
{
	switch (e->code) {
	case CODE_NO_HOST:
	case CODE_BROKEN_DNS:
	case CODE_ADDRESS:
	case CODE_NO_SITE:
		return true;
	default:
		return e->code / 1000 == 1;
	}
}

static void cork_key_item(struct world *w, uint64_t site, int64_t time_us)
{
	struct footprint fp = {site, 0};
	struct index_item *item = model_item(w, fp);
	if (!item)
		item = model_add(w, fp);
	item->type = ITEM_QKEY;
	item->flags = ITEM_ROBOTS;
	item->where = ITEM_NOWHERE;
	item->last_seen_s = (uint32_t)(time_us / US_PER_S);
}

/* The last try is the one with the latest time. */
static void cork_site(struct world *w, struct site *site)
{
	const struct journal_entry *sorted[MODEL_NEWS];
	size_t all = 0, n = 0, failed = 0;
	int64_t last_us = 0, key_us = -1;
	qkey before = site->qkey;
	for (size_t i = 0; i < w->entries; i++) {
		const struct journal_entry *e = &w->journal[i];
		bool page = e->fp.path != footprint_path(STR("/robots.txt"));
		if (e->fp.site == site->fp && (page || e->flags & ITEM_ROBOTS))
			sorted[all++] = e;
	}
	qsort(sorted, all, sizeof *sorted, entries_compare);
	for (size_t i = 0; i < all; i++) {
		uint32_t m = sorted[i]->download_ms;
		if (sorted[i]->type == ITEM_QKEY) {
			site->qkey = sorted[i]->qkey;
			key_us = sorted[i]->time_us;
			continue;
		}
		n++;
		if (m)
			site->download_ms = site->download_ms ? (3 * site->download_ms + m) / 4 : m;
		failed += cork_has_failed(sorted[i]);
		last_us = MAX(last_us, sorted[i]->time_us);
	}
	if (before && site->qkey != before)
		site->oscillations = (uint8_t)MIN(site->oscillations + 1, 255);
	if (n && failed == n) {
		site->error_cycles = (uint8_t)MIN(site->error_cycles + 1, 255);
		site->failed_s = (uint32_t)(last_us / US_PER_S);
	} else if (n) {
		if (site->error_cycles)
			model_due(w, model_now(w));
		site->error_cycles = 0;
		site->failed_s = 0;
	}
	if (key_us >= 0)
		cork_key_item(w, site->fp, key_us);
}

void model_cork(struct world *w)
{
	model_begin(w);
	cork_items(w, false);
	cork_items(w, true); /* when it is clear which sites are known */
	for (size_t i = 0; i < w->sites; i++)
		cork_site(w, &w->site[i]);
	if (w->entries)
		model_count(w);
	w->course.rounds++;
	w->entries = 0;
}

/* equiv */

void model_equiv(struct world *w)
{
	model_begin(w);
	for (size_t i = 0; i < w->sites; i++)
		w->site[i].norm =
			footprint_site(equiv_site(w->crawl.equiv, model_url_site(&w->site[i])));
}

/* record */

static bool record_drops(struct world *w, const struct index_item *item)
{
	const struct site *site = model_site(w, item->fp.site);
	if (!(item->flags & ITEM_ROBOTS))
		return false;
	return !site || (item->type == ITEM_QKEY && site->qkey == 0);
}

void model_record(struct world *w)
{
	model_begin(w);
	for (size_t i = 0; i < w->items;) {
		struct index_item *item = &w->item[i];
		if (record_drops(w, item)) {
			*item = w->item[--w->items];
			continue;
		}
		if (item->flags & ITEM_CONTRIB) {
			item->flags &= (uint8_t)~ITEM_CONTRIB;
			item->where = MODEL_MADE;
		}
		i++;
	}
}
