/* Servers: what follows from their sites (doc/cycle.md, "Servers"). */
#include "shepherd/servers.h"

#include "unit/shepherd/crawl_lab.h"

enum { SITES = 8 };
static const uint64_t pages[SITES] = {0, 50, 100, 150, 200, 250, 300, 350};

/* The first n sites with what `set` says of them, in an open state. */
static void make_sites(struct lab *lab, const char *name, const struct site *set, size_t n)
{
	struct err err = {0};
	lab_make(lab, name, NULL, 0, pages, SITES);
	lab_enter(lab, false, PHASE_MERGE);
	struct sites *sites = lab_sites(lab);
	for (size_t i = 0; i < n; i++) {
		struct site *site = sites_get(sites, play_footprint(pages[i]).site);
		site->qkey = set[i].qkey;
		site->demand = set[i].demand;
		site->active = set[i].active;
		site->download_ms = set[i].download_ms;
		site->delay_ms = set[i].delay_ms;
	}
	MUST(state_sites_put(lab->st, sites, &err));
	sites_free(&sites);
}

static struct server server_of(struct lab *lab, const struct crawl *c, size_t site, size_t *ret_n)
{
	struct err err = {0};
	struct servers *all = NULL, *one = NULL;
	struct sites *sites = lab_sites(lab);
	struct server room, room_of_one;
	const struct site *asked = sites_get(sites, play_footprint(pages[site]).site);
	MUST(servers_load(&all, lab->st, c, &err));
	MUST(servers_load_of(&one, lab->st, c, asked, &err));
	struct server a = *servers_of(all, asked, &room), b = *servers_of(one, asked, &room_of_one);
	assert_int_equal(asked->qkey != 0, servers_count(one));
	assert_int_equal(a.delay_us, b.delay_us); /* alone it is the same */
	assert_int_equal(a.room, b.room);
	assert_int_equal(a.sites, b.sites);
	assert_int_equal(a.tight, b.tight);
	assert_int_equal(asked->qkey != 0, a.number != UINT32_MAX);
	if (asked->qkey)
		assert_int_equal(asked->qkey, servers_at(all, a.number)->qkey);
	*ret_n = servers_count(all);
	servers_free(&one);
	servers_free(&all);
	sites_free(&sites);
	return a;
}

struct want {
	const char *what;
	struct site set[4];
	unsigned n;
	double slowdown;     /* 0: 1 */
	int64_t overtake_us; /* and */
	unsigned conn;       /* 0: 1 */
	bool no_delay;       /* of the first site */
	struct server server;
	size_t servers;
};

#define ROOM_10S 100 /* the cycle below is 1,000 s */
static const struct want wants[] = {
	{"asked never",
	 {{.demand = 5, .delay_ms = 20000}},
	 1,
	 .server = {.sites = 1,
		    .max_conn = 1,
		    .demand = 5,
		    .min_delay_us = 20 * US_PER_S,
		    .delay_us = 20 * US_PER_S,
		    .room = 50}},
	{"one site",
	 {{.qkey = 7}},
	 1,
	 .servers = 1,
	 .server = {.sites = 1,
		    .max_conn = 1,
		    .demand = 1,
		    .min_delay_us = 10 * US_PER_S,
		    .delay_us = 10 * US_PER_S,
		    .room = ROOM_10S}},
	{"two sites and another server",
	 {{.qkey = 7, .demand = 3, .active = 9, .download_ms = 100},
	  {.qkey = 8},
	  {.qkey = 7, .demand = 4, .download_ms = 1101, .delay_ms = 15000}},
	 3,
	 .servers = 2,
	 .server = {.sites = 2,
		    .max_conn = 1,
		    .demand = 7,
		    .min_delay_us = 15 * US_PER_S,
		    .delay_us = 15 * US_PER_S,
		    .download_ms = 200,
		    .room = 66}},
	{"a site of which no transfer is known does not count in the mean",
	 {{.qkey = 7, .active = 9}, {.qkey = 7, .download_ms = 1101}},
	 2,
	 .servers = 1,
	 .server = {.sites = 2,
		    .max_conn = 1,
		    .demand = 1,
		    .min_delay_us = 10 * US_PER_S,
		    .delay_us = 10 * US_PER_S,
		    .download_ms = 1101,
		    .room = ROOM_10S}},
	{"a delay that is shorter than the usual is used where it is needed",
	 {{.qkey = 7, .demand = REFRESH_S / 5, .delay_ms = 2000, .download_ms = 1000}},
	 1,
	 .servers = 1,
	 .server = {.sites = 1,
		    .max_conn = 1,
		    .demand = REFRESH_S / 5,
		    .min_delay_us = 2 * US_PER_S,
		    .delay_us = 4 * US_PER_S,
		    .download_ms = 1000,
		    .room = 250}},
	{"slower than that",
	 {{.qkey = 7, .demand = REFRESH_S / 5, .delay_ms = 2000, .download_ms = 1000}},
	 1,
	 .slowdown = 1.5,
	 .servers = 1,
	 .server = {.sites = 1,
		    .max_conn = 1,
		    .demand = REFRESH_S / 5,
		    .min_delay_us = 2 * US_PER_S,
		    .delay_us = 6500 * US_PER_MS,
		    .download_ms = 1000,
		    .room = 153}},
	{"tight: it wants all it can have",
	 {{.qkey = 7, .demand = REFRESH_S / 3, .delay_ms = 2000, .download_ms = 1000}},
	 1,
	 .servers = 1,
	 .server = {.sites = 1,
		    .max_conn = 1,
		    .demand = REFRESH_S / 3,
		    .min_delay_us = 2 * US_PER_S,
		    .delay_us = 2 * US_PER_S,
		    .download_ms = 1000,
		    .room = 500,
		    .tight = true}},
	{"tight by what is overtaken, whatever the slowdown",
	 {{.qkey = 7, .demand = REFRESH_S / 5, .delay_ms = 2000, .download_ms = 1000}},
	 1,
	 .overtake_us = 2 * US_PER_S,
	 .slowdown = 3,
	 .servers = 1,
	 .server = {.sites = 1,
		    .max_conn = 1,
		    .demand = REFRESH_S / 5,
		    .min_delay_us = 2 * US_PER_S,
		    .delay_us = 10 * US_PER_S,
		    .download_ms = 1000,
		    .room = ROOM_10S,
		    .tight = true}},
	{"two at once",
	 {{.qkey = 7, .demand = REFRESH_S / 4, .delay_ms = 2000}},
	 1,
	 .conn = 2,
	 .servers = 1,
	 .server = {.sites = 1,
		    .max_conn = 2,
		    .demand = REFRESH_S / 4,
		    .min_delay_us = 2 * US_PER_S,
		    .delay_us = 8 * US_PER_S,
		    .room = 250}},
	{"a delay longer than the cycle",
	 {{.qkey = 7, .delay_ms = 5000000}},
	 1,
	 .servers = 1,
	 .server = {.sites = 1,
		    .max_conn = 1,
		    .demand = 1,
		    .min_delay_us = 5000 * US_PER_S,
		    .delay_us = 5000 * US_PER_S,
		    .room = 1}},
	{"one's own",
	 {{.qkey = 7, .demand = 999999999}},
	 1,
	 .no_delay = true,
	 .servers = 1,
	 .server = {.sites = 1,
		    .max_conn = 8,
		    .demand = 999999999,
		    .room = UINT64_MAX,
		    .exempt = true}},
	{"one's own, of which nothing is known",
	 {{.demand = 1}},
	 1,
	 .no_delay = true,
	 .server = {.sites = 1, .max_conn = 8, .demand = 1, .room = UINT64_MAX, .exempt = true}},
	{"one's own next to another's",
	 {{.qkey = 7}, {.qkey = 7}},
	 2,
	 .no_delay = true,
	 .servers = 1,
	 .server = {.sites = 2,
		    .max_conn = 1,
		    .demand = 1,
		    .min_delay_us = 10 * US_PER_S,
		    .delay_us = 10 * US_PER_S,
		    .room = ROOM_10S}},
};

#define SAME(field)                                                                      \
	do {                                                                             \
		if (got.field != s->field)                                               \
			fail_msg("%s: " #field " is %" PRIu64 ", not %" PRIu64, w->what, \
				 (uint64_t)got.field, (uint64_t)s->field);               \
	} while (0)

static void a_server_is_what_its_sites_are(void **state)
{
	(void)state;
	static const char *const own[] = {"site0.example"};
	for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
		const struct want *w = &wants[i];
		const struct server *s = &w->server;
		struct lab lab;
		struct crawl_conf conf = lab_conf();
		char name[32];
		size_t n;
		snprintf(name, sizeof name, "servers%zu", i);
		conf.cycle_us = 1000 * US_PER_S;
		conf.reap_slowdown = w->slowdown > 0 ? w->slowdown : 1;
		conf.server_overtake_us = w->overtake_us;
		if (w->no_delay)
			conf.no_delay = (struct value_list){own, 1};
		struct crawl c = lab_crawl(&conf);
		c.concurrent = w->conn ? w->conn : 1;
		make_sites(&lab, name, w->set, w->n);
		struct server got = server_of(&lab, &c, 0, &n);
		if (n != w->servers)
			fail_msg("%s: %zu servers", w->what, n);
		SAME(sites);
		SAME(max_conn);
		SAME(demand);
		SAME(min_delay_us);
		SAME(delay_us);
		SAME(download_ms);
		SAME(room);
		SAME(tight);
		SAME(exempt);
		lab_free(&lab);
	}
}

static void sites_rest_after_errors_and_die_of_many(void **state)
{
	(void)state;
	static const struct {
		uint8_t errors;
		int64_t ago_s; /* since it failed */
		bool dead;
		int64_t rests_s; /* from then on; -1: not */
	} cases[] = {
		{0, 5, false, -1},           {1, 5, false, 60},
		{4, 5, false, 480},          {8, 5, false, 7680},
		{9, 0, true, REFRESH_S},     {9, REFRESH_S - 1, true, REFRESH_S},
		{9, REFRESH_S, false, -1},                       /* it was, and is tried again */
		{255, REFRESH_S, false, -1}, {9, -1, false, -1}, /* the clock was put back */
		{1, -1, false, -1},
	};
	struct crawl_conf conf = lab_conf();
	struct crawl c = {.conf = &conf, .now_us = PLAY_START};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct site site = {.error_cycles = cases[i].errors,
				    .failed_s = (uint32_t)(NOW_S - cases[i].ago_s)};
		assert_int_equal(cases[i].dead, site_is_dead(&site, &c));
		assert_int_equal(cases[i].rests_s < 0 ? 0 : site.failed_s + cases[i].rests_s,
				 site_rests_until(&site, &c));
	}
	conf.retry_us = conf.refresh_us = 31536000 * US_PER_S; /* the longest there are */
	struct site site = {.error_cycles = 8, .failed_s = NOW_S};
	assert_int_equal(NOW_S + INT64_C(31536000), site_rests_until(&site, &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_is_what_its_sites_are),
		cmocka_unit_test(sites_rest_after_errors_and_die_of_many),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
