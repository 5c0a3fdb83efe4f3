/* Servers: a table by queue key. The filter may ask how many sites a server has, so they are
 * counted in a first pass over the list, and the rules are asked in a second.
 *
 * A search in the table waits for memory several times, which shows where all sites are looked up
 * in each of several passes. So the first pass keeps the number of each site's server, in the order
 * of the list; those who go along the list find it there, and what comes next is asked for ahead.
 */
#include "shepherd/servers.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"

TABLE(server_table, qkey, uint32_t, hash_u64, table_same_u64)

struct servers {
	struct server_table table;
	struct server *server;
	size_t n, room;
	uint32_t *of_site; /* of each in the list: the number of its server, or UINT32_MAX */
	size_t sites, sites_room;
	const struct crawl *crawl;
	/* of the pass that is being made: weights of the mean */
	uint64_t *weight;
};

/* What a site list may say of a transfer at most, so that sums stay small. */
enum { DOWNLOAD_MOST_MS = 3600000 };
enum { AHEAD = 8, BATCH = 16 }; /* sites */

/* One more site of a server: its number. */
static uint32_t server_count(struct servers *s, qkey key)
{
	bool is_new;
	uint32_t *number = server_table_put_new(&s->table, key, &is_new);
	if (is_new) {
		*number = (uint32_t)s->n;
		*VEC_PUSH(s->server, s->n, s->room) =
			(struct server){.qkey = key, .number = *number};
	}
	s->server[*number].sites++;
	return *number;
}

/* What one site adds to its server. */
static void server_add(const struct servers *s, struct server *server, const struct site *site,
		       uint64_t *weight)
{
	const struct crawl *c = s->crawl;
	struct filter_where where = {site->qkey, server->sites, true};
	struct filter_site f;
	filter_site(c->filter, site_name(site), &where, &f);
	int64_t min_us = site->delay_ms             ? site->delay_ms * US_PER_MS
			 : f.line[FILTER_MIN_DELAY] ? f.min_delay_us
						    : c->delay_us;
	uint32_t most = f.line[FILTER_MAX_CONN] ? (uint32_t)f.max_conn : c->concurrent;
	uint64_t active = MAX(site->active, 1);
	bool first = server->max_conn == 0;
	bool exempt = f.line[FILTER_MIN_DELAY] == FILTER_BY_NO_DELAY;
	server->exempt = exempt && (first || server->exempt);
	server->min_delay_us = first ? min_us : MAX(server->min_delay_us, min_us);
	server->max_conn = first ? MAX(most, 1) : MIN(server->max_conn, MAX(most, 1));
	server->demand += site->demand;
	if (site->download_ms) {
		server->download_ms += active * MIN(site->download_ms, DOWNLOAD_MOST_MS);
		*weight += active;
	}
}

/* When all its sites are known. */
static void server_end(const struct crawl *c, struct server *server, uint64_t weight)
{
	double refresh = (double)c->conf->refresh_us * c->conf->duty_factor * server->max_conn;
	server->demand = MAX(server->demand, 1);
	server->download_ms = weight ? server->download_ms / weight : 0;
	double t = refresh / (double)server->demand;
	double download = (double)server->download_ms * US_PER_MS;
	double wanted = t * c->conf->reap_slowdown - download;
	int64_t most = MAX(c->delay_us, server->min_delay_us);
	server->room = UINT64_MAX;
	if (server->min_delay_us == 0)
		return;
	server->delay_us =
		wanted >= (double)most ? most : MAX((int64_t)wanted, server->min_delay_us);
	server->room =
		MAX((uint64_t)c->cycle_us * server->max_conn / (uint64_t)server->delay_us, 1);
	server->tight =
		t - download <= (double)(server->min_delay_us + c->conf->server_overtake_us);
}

/* The number of the server of the nth site; UINT32_MAX: it is not resolved. */
static uint32_t server_number(const struct servers *s, uint64_t nth)
{
	ENSURE(nth < s->sites);
	uint32_t next = s->of_site[MIN(nth + AHEAD, s->sites - 1)];
	if (next != UINT32_MAX) {
		__builtin_prefetch(&s->server[next], 1);
		__builtin_prefetch(&s->server[next].number, 1);
	}
	return s->of_site[nth];
}

static void server_sum_up(struct servers *s, const struct site *site, uint64_t nth)
{
	uint32_t number = server_number(s, nth);
	server_add(s, &s->server[number], site, &s->weight[number]);
}

static void servers_count_batch(struct servers *s, const qkey *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*VEC_PUSH(s->of_site, s->sites, s->sites_room) =
			key[i] ? server_count(s, key[i]) : UINT32_MAX;
}

static int servers_count_sites(struct servers *s, struct state *st, struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *scan = NULL;
	struct site site;
	qkey key[BATCH];
	size_t n = 0;
	int rc = state_sites_scan(st, &scan, err);
	while (rc == 0 && (rc = sites_scan_next(scan, &site, err)) == 0) {
		key[n] = site.qkey;
		server_table_near(&s->table, key[n++]);
		if (n == BATCH) {
			servers_count_batch(s, key, n);
			n = 0;
		}
	}
	servers_count_batch(s, key, n);
	return MIN(rc, 0);
}

static int servers_add_sites(struct servers *s, struct state *st, struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *scan = NULL;
	struct site site;
	int rc = state_sites_scan(st, &scan, err);
	while (rc == 0 && (rc = sites_scan_next(scan, &site, err)) == 0)
		if (site.qkey)
			server_sum_up(s, &site, sites_scan_number(scan));
	return MIN(rc, 0);
}

static int servers_finish(struct servers *s, int rc, struct servers **ret)
{
	for (size_t i = 0; rc == 0 && i < s->n; i++)
		server_end(s->crawl, &s->server[i], s->weight[i]);
	mem_free(&s->weight);
	if (rc == 0)
		*ret = s;
	else
		servers_free(&s);
	return rc;
}

int servers_load(struct servers **ret, struct state *st, const struct crawl *c, struct err *err)
{
	struct servers *s = mem_alloc(sizeof *s);
	s->crawl = c;
	int rc = servers_count_sites(s, st, err);
	if (rc == 0) {
		s->weight = mem_array(s->n + 1, sizeof *s->weight);
		rc = servers_add_sites(s, st, err);
	}
	return servers_finish(s, rc, ret);
}

/* Sites of one server are few, and kept until all are counted: so one pass is enough. */
static int servers_add_only(struct servers *s, struct state *st, qkey key, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	CLEANUP(sites_scan_free) struct sites_scan *scan = NULL;
	struct site site, *kept = NULL;
	size_t n = 0, room = 0;
	int rc = state_sites_scan(st, &scan, err);
	while (rc == 0 && (rc = sites_scan_next(scan, &site, err)) == 0)
		if (site.qkey == key) {
			(void)server_count(s, key);
			site.host = arena_str(&arena, site.host);
			*VEC_PUSH(kept, n, room) = site;
		}
	s->weight = mem_array(1, sizeof *s->weight);
	for (size_t i = 0; i < n; i++)
		server_add(s, s->server, &kept[i], s->weight);
	mem_free(&kept);
	return MIN(rc, 0);
}

int servers_load_of(struct servers **ret, struct state *st, const struct crawl *c,
		    const struct site *only, struct err *err)
{
	struct servers *s = mem_alloc(sizeof *s);
	s->crawl = c;
	return servers_finish(s, only->qkey ? servers_add_only(s, st, only->qkey, err) : 0, ret);
}

void servers_free(struct servers **ps)
{
	struct servers *s = *ps;
	if (!s)
		return;
	server_table_free(&s->table);
	mem_free(&s->server);
	mem_free(&s->of_site);
	mem_free(&s->weight);
	mem_free(ps);
}

size_t servers_count(const struct servers *s)
{
	return s->n;
}

const struct server *servers_at(const struct servers *s, size_t number)
{
	return &s->server[number];
}

static const struct server *server_on_its_own(const struct servers *s, const struct site *site,
					      struct server *room)
{
	uint64_t weight = 0;
	*room = (struct server){.sites = 1, .number = UINT32_MAX};
	server_add(s, room, site, &weight);
	server_end(s->crawl, room, weight);
	return room;
}

const struct server *servers_of(const struct servers *s, const struct site *site,
				struct server *room)
{
	const uint32_t *number = site->qkey ? server_table_get(&s->table, site->qkey) : NULL;
	return number ? &s->server[*number] : server_on_its_own(s, site, room);
}

const struct server *servers_of_nth(const struct servers *s, const struct site *site, uint64_t nth,
				    struct server *room)
{
	uint32_t number = server_number(s, nth);
	return number != UINT32_MAX ? &s->server[number] : server_on_its_own(s, site, room);
}

void servers_filter_on(const struct servers *s, const struct site *site,
		       const struct server *server, struct filter_site *ret)
{
	struct filter_where where = {site->qkey, server->sites, true};
	filter_site(s->crawl->filter, site_name(site), &where, ret);
}

void servers_filter(const struct servers *s, const struct site *site, struct filter_site *ret)
{
	const uint32_t *number = site->qkey ? server_table_get(&s->table, site->qkey) : NULL;
	const struct server own = {.sites = 1};
	servers_filter_on(s, site, number ? &s->server[*number] : &own, ret);
}

/* The clock was put back since: what is known of its failures puts nothing off. */
static bool site_failed_later(const struct site *site, const struct crawl *c)
{
	return site->failed_s * US_PER_S > c->now_us;
}

bool site_is_dead(const struct site *site, const struct crawl *c)
{
	return site->error_cycles > c->conf->site_err_retry && !site_failed_later(site, c) &&
	       c->now_us < site->failed_s * US_PER_S + c->conf->site_err_expire_us;
}

int64_t site_rests_until(const struct site *site, const struct crawl *c)
{
	if (site->error_cycles == 0 || site_failed_later(site, c))
		return 0;
	if (site->error_cycles > c->conf->site_err_retry) /* dead, or tried again after that */
		return site_is_dead(site, c)
			       ? site->failed_s + c->conf->site_err_expire_us / US_PER_S
			       : 0;
	int doublings = site->error_cycles - 1;
	int64_t rest_us = c->conf->refresh_us;
	if (doublings < 45 && c->conf->retry_us <= rest_us >> doublings)
		rest_us = c->conf->retry_us << doublings;
	return site->failed_s + rest_us / US_PER_S;
}
