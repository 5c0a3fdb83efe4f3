/* plan: which URLs are gathered next. The index is read once, in step with the site list. The pass
 * counts priorities in a histogram, and how many URLs of each server are due. A URL counts in the
 * histogram only while its server has room: these may not be the best of the server, so the
 * priority above which the histogram has as many URLs as the budget allows (the cut) may be too
 * low, but never too high. It rises while the pass goes on, so what lies above it at the time is
 * sorted at once: of n URLs that are due, about budget * (1 + ln(n / budget)). Of these what lies
 * above the last cut is sorted by server for the rooms, then by priority for the budget, then by
 * site for the file. Memory is the histogram, a few bytes for each server, and what sorting is
 * given; a heap of the best would need the memory of all rooms, of which there may be more than the
 * budget has URLs. A second pass, which sorts only what lies above the last cut, takes longer.
 *
 * What is known of robots.txt stands among the URLs of its site. It is noted of each site of which
 * something was sorted; the notes are in the order of the file, and are read along with it. */
#include "shepherd/planning.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"
#include "shepherd/code.h"

#include <stdlib.h>

enum { STOP_EVERY = 4096, CUT_BITS = 16, CUT_BINS = 1 << (32 - CUT_BITS), FRESH_S = 86400 };

/* Of a server that is resolved. */
struct plan_count {
	uint32_t due, regather, urls;
};

/* A URL that is due. */
struct plan_pick {
	struct plan_entry entry;
	enum plan_band band;
	uint32_t server; /* its number; UINT32_MAX: not resolved */
	uint32_t delay_ms;
};

struct planning {
	struct state *st;
	const struct crawl *crawl;
	struct plan_clock clock;
	struct servers *servers;
	struct plan_count *count; /* by number of the server */
	uint64_t *histogram;
	uint32_t cut;          /* the bin from which on URLs are sorted; never falls */
	uint64_t above;        /* URLs in this bin and above it */
	uint64_t budget, fits; /* fits: URLs that the rooms leave */
	/* sites that are not resolved; their URLs that go out by themselves; those in the plan */
	uint64_t unresolved_sites, unresolved, unresolved_urls;
	struct planned *ret;
	struct sort *sort;  /* where picks go */
	struct sort *notes; /* items of robots.txt */
	uint64_t robots;    /* the path "/robots.txt" as footprints have it */
	bool stopped;
	/* The site that is being read. */
	struct site site;
	struct server own; /* room for one that is not resolved */
	const struct server *server;
	int64_t bonus;
	int64_t rests_until_s;         /* 0, or later than now */
	struct index_item robots_item; /* has_robots: there is one */
	bool has_robots, picked;       /* picked: something of it was sorted */
	struct plan_pick best;         /* of a site that is not resolved */
	uint64_t due; /* the same; how many there are, but for others to be regathered */
	/* While rooms are applied: the server that is being read, and its URLs so far. */
	uint32_t room_of;
	uint64_t in_room;
};

/* Picks are sorted as bytes. The keys of the three orders are the same bytes from another place on:
 * server, priority, site, priority, path. */
enum {
	KEY_SERVER = 0,
	KEY_PRIORITY = 4,
	KEY_SITE = 8,
	KEY_END = 28,
	PICK = KEY_END + 19,
};

static void pick_write(const struct plan_pick *p, unsigned char ret[PICK])
{
	const struct plan_entry *e = &p->entry;
	uint32_t server = htobe32(p->server), falling = htobe32(~e->priority);
	uint64_t site = htobe64(e->fp.site), path = htobe64(e->fp.path);
	const uint8_t small[] = {e->flags,   e->item_flags, e->retry,        e->weight,
				 e->section, e->hops,       (uint8_t)p->band};
	memcpy(ret + KEY_SERVER, &server, 4);
	memcpy(ret + KEY_PRIORITY, &falling, 4);
	memcpy(ret + KEY_SITE, &site, 8);
	memcpy(ret + KEY_SITE + 8, &falling, 4);
	memcpy(ret + KEY_SITE + 12, &path, 8);
	memcpy(ret + KEY_END, &e->where, 8);
	memcpy(ret + KEY_END + 8, &p->delay_ms, 4);
	memcpy(ret + KEY_END + 12, small, sizeof small);
}

static void pick_read(struct str record, struct plan_pick *ret)
{
	const char *in = record.p;
	uint32_t server, falling;
	uint8_t small[7];
	ENSURE(record.n == PICK);
	memcpy(&server, in + KEY_SERVER, 4);
	memcpy(&falling, in + KEY_PRIORITY, 4);
	memcpy(small, in + KEY_END + 12, sizeof small);
	*ret = (struct plan_pick){
		.entry = {.fp = {order_u64(in + KEY_SITE), order_u64(in + KEY_SITE + 12)},
			  .priority = ~be32toh(falling),
			  .flags = small[0],
			  .item_flags = small[1],
			  .retry = small[2],
			  .weight = small[3],
			  .section = small[4],
			  .hops = small[5]},
		.band = (enum plan_band)small[6],
		.server = be32toh(server),
	};
	memcpy(&ret->entry.where, in + KEY_END, 8);
	memcpy(&ret->delay_ms, in + KEY_END + 8, 4);
}

static int pick_sort_new(struct planning *p, size_t key_at, struct sort **ret, struct err *err)
{
	const struct order order = {.size = PICK, .key_at = key_at, .key_len = KEY_END - key_at};
	return crawl_sort_new(ret, p->crawl, p->st, order, err);
}

static int pick_add(struct sort *sort, const struct plan_pick *pick, struct err *err)
{
	unsigned char record[PICK];
	pick_write(pick, record);
	return sort_add(sort, (struct str){(const char *)record, PICK}, err);
}

static bool plan_is_stopped(struct planning *p, uint64_t done)
{
	if (done % STOP_EVERY == 0)
		p->stopped = crawl_is_stopped(p->crawl);
	return p->stopped;
}

/* The pass. */

/* One more URL in the histogram. */
static void plan_count_bin(struct planning *p, uint32_t bin)
{
	p->histogram[bin]++;
	p->above += bin >= p->cut;
	while (p->above - p->histogram[p->cut] >= p->budget)
		p->above -= p->histogram[p->cut++];
}

static void plan_count_pick(struct planning *p, const struct plan_pick *pick)
{
	uint32_t bin = pick->entry.priority >> CUT_BITS;
	p->ret->due[pick->band]++;
	if (pick->server == UINT32_MAX) {
		p->unresolved++;
		plan_count_bin(p, bin);
		return;
	}
	struct plan_count *count = &p->count[pick->server];
	if (count->due < p->server->room)
		plan_count_bin(p, bin);
	count->due++;
	count->regather += pick->band == BAND_REGATHER;
}

static bool plan_is_above(const struct planning *p, const struct plan_pick *pick)
{
	return pick->entry.priority >> CUT_BITS >= p->cut || pick->entry.item_flags & ITEM_REGATHER;
}

static int plan_take_pick(struct planning *p, const struct plan_pick *pick, struct err *err)
{
	plan_count_pick(p, pick);
	if (!plan_is_above(p, pick))
		return 0;
	p->picked = true;
	return pick_add(p->sort, pick, err);
}

/* Of a site that is not resolved one URL goes out to find its server. */
static int plan_end_due(struct planning *p, struct err *err)
{
	if (p->due == 0)
		return 0;
	p->ret->left_out[PLAN_SERVER] += p->due - 1;
	p->unresolved_sites++;
	p->due = 0;
	p->best.band = BAND_RESOLVES;
	p->best.entry.priority = plan_band_rows[BAND_RESOLVES].base;
	p->best.entry.flags |= plan_band_rows[BAND_RESOLVES].flag;
	return plan_take_pick(p, &p->best, err);
}

static int plan_end_site(struct planning *p, struct err *err)
{
	unsigned char note[INDEX_ITEM];
	if (plan_end_due(p, err) < 0)
		return -1;
	bool noted = p->picked && p->has_robots;
	p->picked = p->has_robots = false;
	if (!noted)
		return 0;
	index_item_write(&p->robots_item, note);
	return sort_add(p->notes, (struct str){(const char *)note, sizeof note}, err);
}

/* A site that the list has lost is one of which nothing is known. */
static int plan_begin_site(struct planning *p, struct sites_scan *sites, uint64_t fp,
			   struct err *err)
{
	const struct site *known = NULL;
	if (plan_end_site(p, err) < 0 || sites_scan_find(sites, fp, &known, err) < 0)
		return -1;
	struct filter_site f;
	p->site = known ? *known : (struct site){.fp = fp};
	p->server = known ? servers_of_nth(p->servers, known, sites_scan_number(sites), &p->own)
			  : servers_of(p->servers, &p->site, &p->own);
	servers_filter_on(p->servers, &p->site, p->server, &f);
	p->bonus = qkey_kind(p->site.qkey) == QKEY_RESOLVED ? f.queue_bonus : 0;
	p->rests_until_s = site_rests_until(&p->site, p->crawl);
	if (p->rests_until_s <= p->clock.now_s)
		p->rests_until_s = 0;
	return 0;
}

static void plan_leave_out(struct planning *p, enum plan_limit limit, int64_t until_s)
{
	p->ret->left_out[limit]++;
	p->ret->next_s = MIN(p->ret->next_s, until_s);
}

static uint32_t plan_delay_ms(const struct server *server)
{
	return (uint32_t)MIN((server->delay_us + US_PER_MS - 1) / US_PER_MS, UINT32_MAX);
}

/* Of a site that is not resolved. One that is to be regathered goes out even if it is not the best.
 */
static int plan_keep_best(struct planning *p, const struct plan_pick *pick, struct err *err)
{
	struct plan_pick other = *pick;
	if (p->due == 0 || pick->entry.priority > p->best.entry.priority) {
		other = p->best;
		p->best = *pick;
	}
	if (p->due && other.band == BAND_REGATHER)
		return plan_take_pick(p, &other, err);
	p->due++;
	return 0;
}

/* A URL of the site that is being read. */
static int plan_consider(struct planning *p, const struct index_item *item, struct err *err)
{
	struct plan_verdict v;
	plan_judge(&p->clock, item, &v);
	if (v.band == PLAN_BANDS) {
		plan_leave_out(p, PLAN_NOT_DUE, MAX(v.due_s, p->rests_until_s));
		return 0;
	}
	if (p->rests_until_s && v.band != BAND_REGATHER) {
		plan_leave_out(p, PLAN_SITE_RESTS, p->rests_until_s);
		return 0;
	}
	struct plan_pick pick = {
		.entry = {.fp = item->fp,
			  .where = item->where,
			  .priority = plan_raise(v.priority, p->server->tight, p->bonus),
			  .flags = plan_band_rows[v.band].flag,
			  .item_flags = item->flags,
			  .retry = item->retry,
			  .weight = item->weight,
			  .section = item->section,
			  .hops = item->hops},
		.band = v.band,
		.server = p->server->number,
		.delay_ms = plan_delay_ms(p->server),
	};
	pick.entry.flags |= item->type == ITEM_GATHERED ? PLAN_REFRESH : 0;
	if (pick.server != UINT32_MAX)
		return plan_take_pick(p, &pick, err);
	return plan_keep_best(p, &pick, err);
}

static int plan_pass(struct planning *p, struct err *err)
{
	CLEANUP(url_index_scan_free) struct url_index_scan *scan = NULL;
	CLEANUP(sites_scan_free) struct sites_scan *sites = NULL;
	const struct url_index *index;
	struct index_item item;
	uint64_t done = 0;
	int rc;
	if (state_index(p->st, &index, err) < 0 || state_sites_scan(p->st, &sites, err) < 0 ||
	    url_index_scan(&scan, index, (struct footprint){0}, err) < 0)
		return -1;
	p->server = NULL;
	while ((rc = url_index_next(scan, &item, err)) == 0) {
		if (plan_is_stopped(p, done++))
			return 1;
		p->ret->types[index_item_counts_as(&item)]++;
		bool robots = item.fp.path == p->robots && item.flags & ITEM_ROBOTS;
		if (!robots && !plan_may_gather(&item))
			continue;
		if (UNLIKELY(!p->server || p->site.fp != item.fp.site) &&
		    plan_begin_site(p, sites, item.fp.site, err) < 0)
			return -1;
		if (robots) {
			p->robots_item = item;
			p->has_robots = true;
		} else if (plan_consider(p, &item, err) < 0) {
			return -1;
		}
	}
	return rc < 0 ? -1 : plan_end_site(p, err);
}

/* After the pass: what the rooms leave out. */

static void plan_sum_up(struct planning *p)
{
	p->fits = p->unresolved;
	for (size_t i = 0; i < servers_count(p->servers); i++) {
		const struct plan_count *count = &p->count[i];
		uint64_t fits = MIN(count->due, servers_at(p->servers, i)->room);
		fits = MAX(fits, (uint64_t)count->regather);
		p->fits += fits;
		p->ret->left_out[PLAN_SERVER] += count->due - fits;
	}
}

/* And what is within the limits. */

static bool plan_fits_room(struct planning *p, const struct plan_pick *pick)
{
	if (!plan_is_above(p, pick))
		return false;
	if (pick->server == UINT32_MAX)
		return true;
	if (pick->server != p->room_of) {
		p->room_of = pick->server;
		p->in_room = 0;
	}
	return p->in_room++ < servers_at(p->servers, pick->server)->room ||
	       pick->entry.item_flags & ITEM_REGATHER;
}

/* Picks that came so far are all in the plan, or only such follow as are in it anyway. */
static bool plan_fits_budget(struct planning *p, const struct plan_pick *pick)
{
	if (p->ret->urls >= p->budget && !(pick->entry.item_flags & ITEM_REGATHER))
		return false;
	p->ret->urls++;
	p->ret->bands[pick->band]++;
	if (pick->server == UINT32_MAX)
		p->unresolved_urls++;
	else
		p->count[pick->server].urls++;
	return true;
}

/* From one order to the next, without what does not fit. 1: stopped. */
static int plan_choose(struct planning *p, struct sort **from, size_t key_at,
		       bool (*fits)(struct planning *, const struct plan_pick *), struct err *err)
{
	CLEANUP(sort_free) struct sort *to = NULL;
	struct plan_pick pick;
	struct str record;
	uint64_t done = 0;
	int rc;
	if (pick_sort_new(p, key_at, &to, err) < 0)
		return -1;
	while ((rc = sort_next(*from, &record, err)) == 0) {
		pick_read(record, &pick);
		if (plan_is_stopped(p, done++))
			return 1;
		if (fits(p, &pick) && pick_add(to, &pick, err) < 0)
			return -1;
	}
	sort_free(from);
	*from = to;
	to = NULL;
	return MIN(rc, 0);
}

/* What was sorted becomes all that is planned, site by site. */
static int plan_gather(struct planning *p, struct err *err)
{
	p->room_of = UINT32_MAX;
	int rc = plan_choose(p, &p->sort, KEY_PRIORITY, plan_fits_room, err);
	if (rc == 0)
		rc = plan_choose(p, &p->sort, KEY_SITE, plan_fits_budget, err);
	p->ret->left_out[PLAN_BUDGET] = p->fits - p->ret->urls;
	return rc;
}

/* The file. */

struct plan_output {
	struct counted_writer writer;
	bool writes;              /* else only the sites are counted */
	struct index_item robots; /* the next note */
	bool has_robots;          /* there is one */
	struct plan_site site;
	struct plan_entry *entry; /* of the site, at most PLAN_SITE_MOST */
	size_t n, room;
};

static int plan_flush(struct plan_output *o, struct err *err)
{
	o->site.entry = o->entry;
	o->site.n = o->n;
	o->n = 0;
	return o->site.n && o->writes ? plan_put(&o->writer, &o->site, err) : 0;
}

static int plan_step_notes(struct planning *p, struct plan_output *o, struct err *err)
{
	struct str record;
	int rc = p->notes ? sort_next(p->notes, &record, err) : 1;
	o->has_robots = rc == 0;
	return rc ? MIN(rc, 0) : index_item_read((const unsigned char *)record.p, &o->robots, err);
}

static bool robots_is_fresh(const struct planning *p, const struct index_item *item)
{
	int64_t now_s = p->clock.now_s, until_s = (int64_t)item->last_seen_s + FRESH_S;
	if (item->due_s)
		until_s = MIN(until_s, (int64_t)item->due_s);
	return item->last_seen_s <= now_s && now_s < until_s;
}

/* A site begins with its robots.txt. */
static int plan_turn_site(struct planning *p, struct plan_output *o, const struct plan_pick *pick,
			  struct err *err)
{
	uint64_t fp = pick->entry.fp.site;
	while (o->has_robots && o->robots.fp.site < fp)
		if (plan_step_notes(p, o, err) < 0)
			return -1;
	const struct index_item none = {.where = ITEM_NOWHERE, .flags = ITEM_ROBOTS};
	bool known = o->has_robots && o->robots.fp.site == fp;
	const struct index_item *robots = known ? &o->robots : &none;
	o->site = (struct plan_site){
		.fp = fp,
		.qkey = pick->server == UINT32_MAX ? 0 : servers_at(p->servers, pick->server)->qkey,
		.robots_where = robots->where,
		.delay_ms = pick->delay_ms,
	};
	p->ret->sites++;
	if (known && robots_is_fresh(p, robots))
		return 0;
	p->ret->robots++;
	*VEC_PUSH(o->entry, o->n, o->room) = (struct plan_entry){
		.fp = {fp, p->robots},
		.where = robots->where,
		.priority = UINT32_MAX,
		.flags = PLAN_ROBOTS | (robots->type == ITEM_GATHERED ? PLAN_REFRESH : 0),
		.item_flags = robots->flags,
		.retry = robots->retry,
	};
	return 0;
}

static int plan_put_all(struct planning *p, struct plan_output *o, struct err *err)
{
	struct plan_pick pick;
	struct str record;
	int rc = plan_step_notes(p, o, err) < 0 ? -1 : 1;
	while (rc >= 0 && p->sort && (rc = sort_next(p->sort, &record, err)) == 0) {
		pick_read(record, &pick);
		bool other = p->ret->sites == 0 || o->site.fp != pick.entry.fp.site;
		if ((other || o->n == PLAN_SITE_MOST) && plan_flush(o, err) < 0)
			return -1;
		if (other && plan_turn_site(p, o, &pick, err) < 0)
			return -1;
		*VEC_PUSH(o->entry, o->n, o->room) = pick.entry;
	}
	return rc < 0 ? -1 : plan_flush(o, err);
}

static int plan_write(struct planning *p, bool write, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct plan_output o = {.writes = write};
	if (write && plan_create(&o.writer, state_path(p->st, &arena, "plan"), err) < 0)
		return -1;
	int rc = plan_put_all(p, &o, err);
	mem_free(&o.entry);
	if (rc == 0 && write)
		return counted_finish(&o.writer, err);
	counted_drop(&o.writer);
	return rc;
}

/* What the next plan will want to know. The cycle notes what was planned and not
 * gathered. */
static int plan_note(struct planning *p, struct err *err)
{
	struct state_course course = state_params(p->st)->course;
	memcpy(course.urls, p->ret->types, sizeof course.urls);
	course.due_s = (uint64_t)p->ret->next_s;
	FAULT("plan.written");
	return state_params_put(p->st, &course, err);
}

/* All of it. */

static uint64_t plan_budget_of(const struct crawl *c, const struct state_course *course)
{
	double rate = MAX((double)course->rate_milli / 1000, c->conf->est_raw_performance);
	int64_t cycle_s = c->cycle_us / US_PER_S;
	double budget = rate * (double)cycle_s * c->conf->reap_optimism;
	return budget < (double)c->conf->plan_max ? MAX((uint64_t)budget, 1)
						  : (uint64_t)c->conf->plan_max;
}

static int plan_look(struct planning *p, struct err *err)
{
	if (servers_load(&p->servers, p->st, p->crawl, err) < 0)
		return -1;
	p->count = mem_array(servers_count(p->servers) + 1, sizeof *p->count);
	p->histogram = mem_array(CUT_BINS, sizeof *p->histogram);
	const struct order notes = {.size = INDEX_ITEM, .key_len = FOOTPRINT_KEY};
	if (pick_sort_new(p, KEY_SERVER, &p->sort, err) < 0 ||
	    crawl_sort_new(&p->notes, p->crawl, p->st, notes, err) < 0)
		return -1;
	int rc = plan_pass(p, err);
	if (rc == 0)
		plan_sum_up(p);
	return rc == 0 && p->fits ? plan_gather(p, err) : rc;
}

/* Whether the state knows that nothing is due. An index with more or fewer URLs of a type than were
 * counted then is another one. */
static bool plan_is_idle(const struct planning *p, const struct url_index *index)
{
	const struct state_course *course = &state_params(p->st)->course;
	for (int i = 0; i < ITEM_TYPES; i++)
		if (course->urls[i] != url_index_count(index, (enum item_type)i))
			return false;
	return crawl_due_s(p->crawl->conf, course, p->clock.now_s) > p->clock.now_s;
}

static void plan_release(struct planning *p)
{
	servers_free(&p->servers);
	sort_free(&p->sort);
	sort_free(&p->notes);
	mem_free(&p->count);
	mem_free(&p->histogram);
}

static struct planning plan_begin(struct state *st, const struct crawl *c, struct planned *ret)
{
	const struct state_params *params = state_params(st);
	struct planning p = {
		.st = st,
		.crawl = c,
		.clock = plan_clock_of(c, params),
		.budget = plan_budget_of(c, &params->course),
		.robots = footprint_path(STR("/robots.txt")),
		.ret = ret,
	};
	*ret = (struct planned){.next_s = INT64_MAX, .budget = p.budget};
	return p;
}

static void plan_tell(struct planning *p)
{
	const struct state_course *course = &state_params(p->st)->course;
	struct planned *ret = p->ret;
	ret->waiting = ret->left_out[PLAN_SERVER] + ret->left_out[PLAN_BUDGET];
	ret->bytes = ret->urls * (course->bucket_bytes ? course->bucket_bytes
						       : p->crawl->conf->avg_bucket_size);
	if (ret->waiting)
		ret->next_s = p->clock.now_s;
}

int crawl_plan(struct state *st, const struct crawl *c, bool write, struct planned *ret,
	       struct err *err)
{
	const struct state_course *course = &state_params(st)->course;
	const struct url_index *index;
	struct planned planned;
	if (state_index(st, &index, err) < 0)
		return -1;
	struct planning p = plan_begin(st, c, &planned);
	int rc = 0;
	bool idle = plan_is_idle(&p, index);
	if (idle) {
		memcpy(planned.types, course->urls, sizeof planned.types);
		planned.next_s = (int64_t)course->due_s;
	} else {
		rc = plan_look(&p, err);
	}
	if (rc == 0)
		rc = plan_write(&p, write, err);
	if (rc == 0 && !idle) {
		plan_tell(&p);
		rc = write ? plan_note(&p, err) : 0;
	}
	plan_release(&p);
	if (rc == 0)
		*ret = planned;
	return rc;
}

/* For those who want to know. */

static int plan_by_urls(const void *a, const void *b)
{
	const struct plan_server *x = a, *y = b;
	if (x->urls != y->urls)
		return x->urls > y->urls ? -1 : 1;
	if (x->due != y->due)
		return x->due > y->due ? -1 : 1;
	return (x->server.qkey > y->server.qkey) - (x->server.qkey < y->server.qkey);
}

static void plan_tell_servers(struct planning *p, struct plan_servers *ret)
{
	size_t n = servers_count(p->servers);
	*ret = (struct plan_servers){.server = mem_array(n + 1, sizeof *ret->server)};
	for (size_t i = 0; i < n; i++)
		if (p->count[i].due)
			ret->server[ret->n++] = (struct plan_server){
				*servers_at(p->servers, i), p->count[i].due, p->count[i].urls};
	if (p->unresolved)
		ret->server[ret->n++] = (struct plan_server){
			{.sites = (uint32_t)p->unresolved_sites, .number = UINT32_MAX},
			p->unresolved,
			p->unresolved_urls};
	qsort(ret->server, ret->n, sizeof *ret->server, plan_by_urls);
}

int plan_explain(struct state *st, const struct crawl *c, struct planned *ret,
		 struct plan_servers *ret_servers, struct err *err)
{
	struct planning p = plan_begin(st, c, ret);
	int rc = plan_look(&p, err);
	if (rc == 0)
		rc = plan_write(&p, false, err);
	if (rc == 0) {
		plan_tell(&p);
		plan_tell_servers(&p, ret_servers);
	}
	plan_release(&p);
	return rc;
}

void plan_servers_free(struct plan_servers *s)
{
	mem_free(&s->server);
	s->n = 0;
}
