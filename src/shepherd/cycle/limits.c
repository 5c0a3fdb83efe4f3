/* Limits: counters of what was taken at each level, and the numbers they are compared with. A level
 * that has no limit has one that cannot be reached, so that all levels are looked at in the same
 * way, in the order in which enum crawl_limit has them.
 *
 * A site's numbers are kept in few bytes, because there are many sites: the filter is asked once
 * for each, and what follows from settings alone is computed again for each URL. */
#include "shepherd/cycle/limits.h"

#include "base/clock.h"
#include "base/vec.h"
#include "shepherd/servers.h"

#include <math.h>

/* Numbers of URLs have 32 bits, as in select: a limit of UINT32_MAX is not reached. */
struct level {
	uint32_t active, total; /* total: also what sleeps, and zombies */
	uint32_t soft, hard;
};
static const struct level level_free = {0, 0, UINT32_MAX, UINT32_MAX};

struct site_room {
	const struct schema *schema;
	uint32_t server : 31;
	uint32_t dead : 1;
	struct level all, fresh; /* fresh: those without W */
};

enum { QUOTAS_NEAR = 2 };
struct server_room {
	double capacity; /* URLs in a refresh cycle; INFINITY: no limit */
	struct level level;
	uint32_t used[QUOTAS_NEAR]; /* of the first quotas; few schemas have more */
};

struct limits {
	const struct crawl *crawl;
	struct servers *servers; /* until limits_begin() */
	struct site_room *site;
	struct server_room *server; /* those that are resolved, then sites on their own */
	size_t sites, sites_room, nservers, servers_room;
	uint32_t *used;  /* of the other quotas: `quotas` for each server */
	unsigned quotas; /* beyond QUOTAS_NEAR */
	uint64_t all_used[SCHEMA_MOST];
	double capacity; /* of the crawl: URLs in a refresh cycle */
	struct level section[FILTER_SECTIONS], performance, space;
	struct level active; /* its total: what is not active */
	size_t sections;
};

/* Numbers */

static uint32_t limit_of(double v)
{
	return v >= UINT32_MAX ? UINT32_MAX : v > 0 ? (uint32_t)v : 0;
}

static uint32_t limit_hard(const struct crawl *c, uint32_t soft)
{
	return soft == UINT32_MAX ? soft : limit_of(soft * c->conf->hard_limit_factor);
}

static struct level level_of(const struct crawl *c, uint32_t active, uint32_t total, uint32_t soft)
{
	return (struct level){active, total, soft, limit_hard(c, soft)};
}

static double server_capacity(const struct crawl *c, const struct server *server)
{
	double time = (double)c->conf->refresh_us * c->conf->duty_factor * server->max_conn;
	return server->min_delay_us ? time / (double)server->min_delay_us : INFINITY;
}

/* What the settings, the rate and the sizes say of the whole crawl. */
static void limits_of_crawl(struct limits *l, const struct state_course *course)
{
	const struct crawl_conf *conf = l->crawl->conf;
	size_t n;
	const struct filter_section *section = filter_sections(l->crawl->filter, &n);
	double once = 1 - conf->frequent_factor; /* share of what is not frequent */
	double rate = MAX((double)course->rate_milli / 1000, conf->est_raw_performance);
	double bucket =
		(double)(course->bucket_bytes ? course->bucket_bytes : conf->avg_bucket_size);
	double url = (double)(course->url_bytes ? course->url_bytes : conf->avg_url_size);
	l->capacity = rate * ((double)conf->refresh_us / US_PER_S) * conf->duty_factor;
	uint32_t space = limit_of((double)conf->bucket_file_size /
				  (bucket + (conf->hard_limit_factor - 1) * url));
	l->performance = level_of(l->crawl, 0, 0, limit_of(l->capacity * once));
	l->space = level_of(l->crawl, 0, 0, space);
	l->active = (struct level){0, 0, limit_of((double)conf->active_max),
				   limit_of((double)conf->remember_max)};
	l->sections = MIN(n, (size_t)FILTER_SECTIONS);
	bool hold = crawl_sections_hold(l->crawl->filter, course);
	for (size_t i = 0; i < l->sections; i++)
		l->section[i] = hold ? level_of(l->crawl, 0, 0, limit_of(section[i].share * space))
				     : level_free;
}

/* One more server. */
static uint32_t limits_add_server(struct limits *l, const struct server *server)
{
	const struct crawl *c = l->crawl;
	double capacity = server_capacity(c, server);
	uint32_t soft = limit_of(capacity * (1 - c->conf->frequent_factor));
	*VEC_PUSH(l->server, l->nservers, l->servers_room) =
		(struct server_room){capacity, level_of(c, 0, 0, soft), {0}};
	ENSURE(l->nservers <= INT32_MAX);
	return (uint32_t)l->nservers - 1;
}

int limits_new(struct limits **ret, struct state *st, const struct crawl *c, struct err *err)
{
	struct limits *l = mem_alloc(sizeof *l);
	l->crawl = c;
	if (servers_load(&l->servers, st, c, err) < 0) {
		limits_free(&l);
		return -1;
	}
	limits_of_crawl(l, &state_params(st)->course);
	for (size_t i = 0; i < servers_count(l->servers); i++)
		(void)limits_add_server(l, servers_at(l->servers, i));
	*ret = l;
	return 0;
}

void limits_free(struct limits **pl)
{
	struct limits *l = *pl;
	if (!l)
		return;
	servers_free(&l->servers);
	mem_free(&l->site);
	mem_free(&l->server);
	mem_free(&l->used);
	mem_free(pl);
}

void limits_add(struct limits *l, const struct site *site, uint64_t nth, struct limits_site *ret)
{
	const struct crawl *c = l->crawl;
	struct filter_site f = {0};
	struct server own = {.number = UINT32_MAX,
			     .min_delay_us = c->delay_us,
			     .max_conn = MAX(c->concurrent, 1)};
	const struct server *server = site ? servers_of_nth(l->servers, site, nth, &own) : &own;
	uint32_t number = server->number;
	if (number == UINT32_MAX)
		number = limits_add_server(l, server);
	struct site_room room = {.server = number & INT32_MAX};
	if (site)
		servers_filter_on(l->servers, site, server, &f);
	uint32_t usual = site && site->limit ? site->limit : limit_of((double)c->conf->site_max);
	uint32_t fresh = f.line[FILTER_FRESH_LIMIT] ? (uint32_t)f.fresh_limit
						    : limit_of((double)c->conf->site_fresh_limit);
	room.all = level_of(c, 0, 0, f.line[FILTER_SOFT_LIMIT] ? (uint32_t)f.soft_limit : usual);
	room.all.hard = f.line[FILTER_HARD_LIMIT] ? (uint32_t)f.hard_limit : room.all.hard;
	room.fresh = fresh ? level_of(c, 0, 0, fresh) : level_free;
	room.dead = c->conf->dead_site_limit && site && site_is_dead(site, c);
	room.schema = f.schema ? f.schema : &c->schema;
	l->quotas = MAX(l->quotas, room.schema->n - MIN(room.schema->n, QUOTAS_NEAR));
	*VEC_PUSH(l->site, l->sites, l->sites_room) = room;
	*ret = (struct limits_site){
		f.select_bonus, f.line[FILTER_REFRESH_BOOST] ? f.refresh_boost : 1, room.schema};
}

void limits_begin(struct limits *l)
{
	servers_free(&l->servers);
	l->used = mem_array(l->nservers * l->quotas + 1, sizeof *l->used);
}

const struct schema *limits_schema(const struct limits *l, uint32_t site)
{
	return l->site[site].schema;
}

uint64_t limits_active(const struct limits *l)
{
	return l->active.active;
}

/* Frequencies */

unsigned schema_optimum(const struct schema *schema, double boost, const struct index_item *item,
			const struct crawl_conf *conf)
{
	if (item->type != ITEM_GATHERED)
		return schema->n;
	int64_t stable_s = MAX((int64_t)item->last_seen_s - item->stable_s, 1);
	int64_t refresh_s = conf->refresh_us / US_PER_S;
	double rank = 32 + MAX(item->weight - 96, 0);
	double ideal =
		(double)refresh_s * boost * rank / (32 * (double)stable_s * conf->stability_factor);
	unsigned k = 0;
	while (k < schema->n && schema->freq[k] > ideal)
		k++;
	return k;
}

/* Takes a cost from the k-th quota of a server and of the crawl, where both have room for it. */
static bool quota_take(struct limits *l, const struct site_room *site, unsigned k, unsigned cost)
{
	double share = site->schema->share[k] * l->crawl->conf->frequent_factor;
	struct server_room *server = &l->server[site->server];
	uint32_t *used = k < QUOTAS_NEAR
				 ? &server->used[k]
				 : &l->used[site->server * (size_t)l->quotas + k - QUOTAS_NEAR];
	if ((double)l->all_used[k] + cost > share * l->capacity ||
	    (double)*used + cost > share * server->capacity)
		return false;
	l->all_used[k] += cost;
	*used += MIN(cost, UINT32_MAX - *used);
	return true;
}

/* The frequency that there is room for: the best one, at the expense of its own quota or of those
 * that are more frequent, else one that is less so. */
static unsigned quota_choose(struct limits *l, const struct site_room *site, unsigned optimum)
{
	const struct schema *schema = site->schema;
	unsigned cost = schema_freq(schema, optimum) - 1;
	if (optimum >= schema->n)
		return schema->n;
	for (unsigned k = optimum + 1; k-- > 0;)
		if (quota_take(l, site, k, cost))
			return optimum;
	for (unsigned k = optimum + 1; k < schema->n; k++)
		if (quota_take(l, site, k, schema_freq(schema, k) - 1))
			return k;
	return schema->n;
}

/* Levels */

void limits_near(const struct limits *l, uint32_t site)
{
	const struct site_room *room = &l->site[site];
	__builtin_prefetch(room, 1);
	__builtin_prefetch(&room->fresh.hard, 1); /* it may lie across two lines */
}

void limits_next(const struct limits *l, uint32_t site)
{
	uint32_t server = l->site[site].server;
	__builtin_prefetch(&l->server[server], 1);
	__builtin_prefetch(&l->server[server].used, 1);
}

static void level_count(struct level *level, bool active)
{
	level->active += active;
	level->total++;
}

static void limits_count(struct limits *l, struct site_room *site, const struct limits_url *url,
			 bool active)
{
	level_count(&site->all, active);
	if (!url->weighed)
		level_count(&site->fresh, active);
	level_count(&l->server[site->server].level, active);
	level_count(&l->section[url->section], active);
	level_count(&l->performance, active);
	level_count(&l->space, active);
	l->active.active += active;
	l->active.total += !active;
}

/* What the levels say of one more URL: forgotten by the first that is full, else asleep by the
 * first that has no more active ones, else active. What is not active must be remembered, too; what
 * is active need not, however much is. */
static uint8_t levels_judge(const struct limits *l, const struct site_room *site,
			    const struct limits_url *url)
{
	struct level dead = level_free;
	const struct level *const level[CRAWL_LIMITS] = {
		[LIMIT_SITE] = &site->all,
		[LIMIT_DEAD] = &dead,
		[LIMIT_FRESH] = url->weighed ? &level_free : &site->fresh,
		[LIMIT_SERVER] = &l->server[site->server].level,
		[LIMIT_SECTION] = &l->section[url->section],
		[LIMIT_PERFORMANCE] = &l->performance,
		[LIMIT_SPACE] = &l->space,
		[LIMIT_ACTIVE] = &l->active,
	};
	uint8_t verdict = url->zombie ? VERDICT_REMEMBERS : VERDICT_ACTIVE;
	if (site->dead)
		dead = level_of(l->crawl, site->all.active, site->all.total,
				limit_of((double)l->crawl->conf->dead_site_limit));
	for (unsigned i = 0; i < CRAWL_LIMITS; i++) {
		if (i != LIMIT_ACTIVE && level[i]->total >= level[i]->hard)
			return (uint8_t)(VERDICT_FORGETS + i);
		if (level[i]->active >= level[i]->soft && verdict == VERDICT_ACTIVE)
			verdict = (uint8_t)(VERDICT_SLEEPS + i);
	}
	bool forgets = verdict != VERDICT_ACTIVE && l->active.total >= l->active.hard;
	return forgets ? VERDICT_FORGETS + LIMIT_ACTIVE : verdict;
}

uint8_t limits_judge(struct limits *l, uint32_t number, const struct limits_url *given)
{
	struct limits_url url = *given;
	struct site_room *site = &l->site[number];
	uint8_t verdict = url.zombie ? VERDICT_REMEMBERS : VERDICT_ACTIVE;
	url.section = (uint8_t)MIN(url.section, l->sections - 1);
	if (!url.sacred)
		verdict = levels_judge(l, site, &url);
	if (verdict >= VERDICT_FORGETS && verdict < VERDICT_REMEMBERS)
		return verdict;
	limits_count(l, site, &url, verdict == VERDICT_ACTIVE);
	return verdict == VERDICT_ACTIVE
		       ? (uint8_t)(VERDICT_ACTIVE + quota_choose(l, site, url.optimum))
		       : verdict;
}
