/* plan: which of the URLs that are due the next cycle gathers. Priorities have a program of their
 * own (plan_band.c), servers too. */
#include "shepherd/planning.h"

#include "base/hash.h"
#include "disk/tree.h"
#include "unit/shepherd/crawl_lab.h"

enum { ROOM = 2048, SITES = 12 };

struct seen {
	struct plan_entry entry[ROOM]; /* as the plan has them */
	struct plan_site site[ROOM];   /* of each */
	size_t n, sites;
	struct plan_site robots[SITES]; /* those with an entry of robots.txt */
	size_t nrobots;
};

static void read_plan(struct lab *lab, struct seen *ret)
{
	struct err err = {0};
	struct counted_reader r;
	struct plan_site site;
	int rc;
	ret->n = ret->sites = ret->nrobots = 0;
	MUST(plan_open(&r, state_path(lab->st, &lab->arena, "plan"), &err));
	while ((rc = plan_next(&r, &lab->arena, &site, &err)) == 0) {
		assert_true(site.n > 0 && ret->n + site.n <= ROOM);
		for (size_t i = 0; i < site.n; i++) {
			assert_int_equal(site.fp, site.entry[i].fp.site);
			if (i == 0 && site.entry[i].flags & PLAN_ROBOTS) {
				assert_int_equal(UINT32_MAX, site.entry[i].priority);
				assert_true(site.n > 1 && ret->nrobots < SITES);
				ret->robots[ret->nrobots++] = site;
				continue;
			}
			assert_false(site.entry[i].flags & PLAN_ROBOTS);
			ret->site[ret->n] = site;
			ret->entry[ret->n++] = site.entry[i];
		}
		ret->sites++;
	}
	assert_int_equal(1, rc);
	counted_close(&r);
	for (size_t i = 1; i < ret->n; i++) {
		const struct plan_entry *a = &ret->entry[i - 1], *b = &ret->entry[i];
		if (a->fp.site == b->fp.site)
			assert_true(a->priority > b->priority ||
				    (a->priority == b->priority && a->fp.path < b->fp.path));
		else
			assert_true(a->fp.site < b->fp.site);
	}
}

static bool has_plan(struct lab *lab)
{
	return access(state_path(lab->st, &lab->arena, "plan"), F_OK) == 0;
}

/* What all URLs that may be gathered add up to, however they are left out. */
static void check_sums(const struct planned *p)
{
	uint64_t in_bands = 0, due = 0;
	for (size_t i = 0; i < PLAN_BANDS; i++) {
		assert_true(p->bands[i] <= p->due[i] || i == BAND_RESOLVES);
		in_bands += p->bands[i];
		due += p->due[i];
	}
	assert_int_equal(p->urls, in_bands);
	assert_true(p->urls <= due);
	assert_int_equal(p->waiting, p->left_out[PLAN_SERVER] + p->left_out[PLAN_BUDGET]);
}

/* Plans in a new clone, after looking, which says the same and writes nothing. */
static struct planned plan_with(struct lab *lab, const struct crawl *c, struct seen *ret)
{
	struct err err = {0};
	struct planned planned = {0}, looked = {0}, explained = {0};
	struct plan_servers servers;
	lab_enter(lab, false, PHASE_PLAN);
	struct state_course before = state_params(lab->st)->course;
	MUST(crawl_plan(lab->st, c, false, &looked, &err));
	MUST(plan_explain(lab->st, c, &explained, &servers, &err));
	assert_false(has_plan(lab));
	assert_memory_equal(&before, &state_params(lab->st)->course, sizeof before);
	MUST(crawl_plan(lab->st, c, true, &planned, &err));
	assert_memory_equal(&looked, &planned, sizeof planned);
	read_plan(lab, ret);
	assert_int_equal(planned.urls, ret->n);
	assert_int_equal(planned.sites, ret->sites);
	assert_int_equal(planned.robots, ret->nrobots);
	check_sums(&planned);
	if (!before.due_s) {
		uint64_t urls = 0;
		assert_memory_equal(&explained, &planned, sizeof planned);
		for (size_t i = 0; i < servers.n; i++)
			urls += servers.server[i].urls;
		assert_int_equal(planned.urls, urls);
		assert_memory_equal(planned.types, state_params(lab->st)->course.urls,
				    sizeof planned.types);
		assert_int_equal(planned.next_s, state_params(lab->st)->course.due_s);
	}
	plan_servers_free(&servers);
	return planned;
}

static struct planned plan(struct lab *lab, const struct crawl_conf *conf, struct seen *ret)
{
	struct crawl c = lab_crawl(conf);
	return plan_with(lab, &c, ret);
}

static const struct plan_entry *entry_of(const struct seen *seen, uint64_t page)
{
	struct footprint fp = play_footprint(page);
	for (size_t i = 0; i < seen->n; i++)
		if (footprint_cmp(seen->entry[i].fp, fp) == 0)
			return &seen->entry[i];
	return NULL;
}

/* Items with the sites 0 to SITES - 1; site i is as set[i] says. */
static void make(struct lab *lab, const char *name, struct index_item *items, size_t n,
		 const struct site *set, size_t nset)
{
	struct err err = {0};
	uint64_t pages[SITES];
	for (uint64_t i = 0; i < SITES; i++)
		pages[i] = i * PLAY_PER_SITE;
	lab_make(lab, name, items, n, pages, SITES);
	lab_enter(lab, false, PHASE_MERGE);
	struct sites *sites = lab_sites(lab);
	for (size_t i = 0; i < nset; i++) {
		struct site *site = sites_get(sites, play_footprint(pages[i]).site);
		site->qkey = set[i].qkey;
		site->demand = set[i].demand;
		site->delay_ms = set[i].delay_ms;
		site->error_cycles = set[i].error_cycles;
		site->failed_s = set[i].failed_s;
	}
	MUST(state_sites_put(lab->st, sites, &err));
	sites_free(&sites);
	lab_close(lab);
}

static struct index_item new_item(uint64_t page, uint8_t weight)
{
	struct index_item item = lab_item(page, ITEM_NEW);
	item.weight = weight;
	item.last_seen_s = NOW_S;
	return item;
}

static void what_is_due_is_planned_and_the_rest_waits(void **state)
{
	(void)state;
	struct lab lab;
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	enum { NEW, OLD, FRESH, ZOMBIE, HAND, LOST, LATER, TWICE, AGAIN, SLEEPING, ALL };
	struct index_item items[ALL];
	conf.cycle_us = 100 * US_PER_S;
	for (size_t i = 0; i < ALL; i++)
		items[i] = lab_item(i, ITEM_GATHERED);
	items[NEW].type = items[LATER].type = ITEM_NEW;
	items[LATER].retry = 1;
	items[LATER].due_s = NOW_S + 77;
	items[OLD].last_seen_s = NOW_S - REFRESH_S;
	items[FRESH].last_seen_s = NOW_S - REFRESH_S / 2;
	items[ZOMBIE].type = ITEM_ZOMBIE;
	items[HAND].type = items[LOST].type = ITEM_ERROR;
	items[HAND].flags = ITEM_INITIAL;
	items[HAND].last_seen_s = items[LOST].last_seen_s = NOW_S - 2 * REFRESH_S;
	items[TWICE].last_seen_s = NOW_S - REFRESH_S / 2;
	items[TWICE].freq = 2;
	items[TWICE].weight = 200;
	items[AGAIN].last_seen_s = NOW_S;
	items[AGAIN].flags = ITEM_REGATHER;
	items[SLEEPING].type = ITEM_SLEEPING;
	make(&lab, "due", items, ALL, (struct site[]){{.qkey = 7}}, 1);
	struct planned planned = plan(&lab, &conf, &seen);
	assert_int_equal(5, planned.urls);
	assert_int_equal(1, planned.sites);
	assert_int_equal(0, planned.waiting);
	assert_int_equal(2, planned.left_out[PLAN_NOT_DUE]);
	assert_int_equal(NOW_S + 77, planned.next_s);
	assert_int_equal(2, planned.types[ITEM_NEW]);
	assert_int_equal(4, planned.types[ITEM_GATHERED]);
	assert_int_equal(1, planned.types[ITEM_ZOMBIE]);
	assert_int_equal(5 * 4096, planned.bytes);
	assert_int_equal(1, planned.bands[BAND_REGATHER]);
	assert_int_equal(1, planned.bands[BAND_OVERAGED]);
	assert_null(entry_of(&seen, LOST));
	assert_int_equal(0, entry_of(&seen, NEW)->flags);
	assert_int_equal(PLAN_REFRESH, entry_of(&seen, OLD)->flags);
	assert_int_equal(PLAN_REFRESH, entry_of(&seen, TWICE)->flags);
	assert_int_equal(200, entry_of(&seen, TWICE)->weight);
	assert_int_equal(PLAN_REFRESH, entry_of(&seen, AGAIN)->flags);
	assert_int_equal(PLAN_OVERAGED, entry_of(&seen, HAND)->flags);
	assert_int_equal(ITEM_INITIAL, entry_of(&seen, HAND)->item_flags);
	assert_int_equal(7, seen.site[0].qkey);
	assert_int_equal(10000, seen.site[0].delay_ms);
	lab_free(&lab);
}

static void an_empty_crawl_has_an_empty_plan(void **state)
{
	(void)state;
	struct lab lab;
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	lab_make(&lab, "empty", NULL, 0, NULL, 0);
	struct planned planned = plan(&lab, &conf, &seen);
	assert_int_equal(0, planned.urls);
	assert_int_equal(INT64_MAX, planned.next_s);
	lab_close(&lab);
	assert_int_equal(INT64_MAX, plan(&lab, &conf, &seen).next_s); /* and it is known */
	lab_free(&lab);
}

/* Two sites of one server have room for ten together, a third one alone. */
static void a_server_gives_its_best_and_no_more(void **state)
{
	(void)state;
	struct lab lab;
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	struct index_item items[150];
	conf.cycle_us = 100 * US_PER_S;
	for (size_t i = 0; i < 150; i++)
		items[i] = new_item(i, (uint8_t)(i % 50 + 100 * (i >= 50 && i < 53)));
	make(&lab, "room", items, 150, (struct site[]){{.qkey = 7}, {.qkey = 7}, {.qkey = 8}}, 3);
	struct planned planned = plan(&lab, &conf, &seen);
	assert_int_equal(20, planned.urls);
	assert_int_equal(130, planned.left_out[PLAN_SERVER]);
	assert_int_equal(130, planned.waiting);
	assert_int_equal(NOW_S, planned.next_s);
	for (uint64_t page = 50; page < 53; page++)
		assert_non_null(entry_of(&seen, page));
	for (uint64_t page = 47; page < 50; page++) { /* 46 is one of two that are equally good */
		assert_non_null(entry_of(&seen, page));
		assert_non_null(entry_of(&seen, page + 50));
	}
	bool first = footprint_cmp(play_footprint(46), play_footprint(96)) < 0;
	assert_non_null(entry_of(&seen, first ? 46 : 96));
	assert_null(entry_of(&seen, first ? 96 : 46));
	for (uint64_t page = 140; page < 150; page++)
		assert_non_null(entry_of(&seen, page));
	lab_free(&lab);
}

static void what_is_to_be_regathered_is_in_the_plan_whatever_the_limits(void **state)
{
	(void)state;
	struct lab lab;
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	struct index_item items[60];
	conf.plan_max = 1;
	for (size_t i = 0; i < 60; i++) {
		items[i] = new_item(i, 255);
		items[i].flags = i < 9 ? ITEM_REGATHER : 0;
	}
	make(&lab, "regather", items, 60, (struct site[]){{.qkey = 7}, {0}}, 2);
	struct planned planned = plan(&lab, &conf, &seen); /* room for one */
	assert_int_equal(10, planned.urls);                /* and the site that is not resolved */
	assert_int_equal(9, planned.bands[BAND_REGATHER]);
	assert_int_equal(41 + 9, planned.left_out[PLAN_SERVER]);
	assert_int_equal(0, planned.left_out[PLAN_BUDGET]);
	lab_free(&lab);
}

static void of_a_site_that_was_never_asked_the_best_goes_and_what_was_asked_for(void **state)
{
	(void)state;
	struct lab lab;
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	struct index_item items[100];
	for (size_t i = 0; i < 100; i++)
		items[i] = new_item(i, i == 77 || i == 78 ? 9 : 8);
	items[33].flags = items[34].flags = ITEM_REGATHER;
	items[34].last_seen_s = NOW_S - DAY_S;
	make(&lab, "unresolved", items, 100, NULL, 0);
	struct planned planned = plan(&lab, &conf, &seen);
	bool first = footprint_cmp(play_footprint(77), play_footprint(78)) < 0;
	const struct plan_entry *a = entry_of(&seen, 34), *b = entry_of(&seen, first ? 77 : 78);
	const struct plan_entry *asked = entry_of(&seen, 33);
	assert_int_equal(3, planned.urls);
	assert_int_equal(2, planned.bands[BAND_RESOLVES]);
	assert_int_equal(1, planned.bands[BAND_REGATHER]);
	assert_int_equal(97, planned.left_out[PLAN_SERVER]);
	assert_true(a && b && asked);
	assert_true(asked->priority < UINT32_MAX);
	assert_int_equal(UINT32_MAX, a->priority);
	assert_int_equal(UINT32_MAX, b->priority);
	assert_int_equal(0, b->flags);
	assert_int_equal(0, seen.site[0].qkey);
	lab_free(&lab);
}

static struct index_item robots_item(uint64_t page, enum item_type type, uint32_t seen_s)
{
	return (struct index_item){
		.fp = {play_footprint(page).site, footprint_path(STR("/robots.txt"))},
		.where = type == ITEM_GATHERED ? page + 1000 : ITEM_NOWHERE,
		.type = type,
		.flags = ITEM_ROBOTS,
		.retry = 3,
		.last_seen_s = seen_s};
}

/* The plan of a site, by its number. */
static const struct plan_site *robots_of(const struct seen *seen, uint64_t site)
{
	for (size_t i = 0; i < seen->nrobots; i++)
		if (seen->robots[i].fp == play_footprint(site * PLAY_PER_SITE).site)
			return &seen->robots[i];
	return NULL;
}

static void robots_txt_goes_before_its_site_unless_it_is_fresh(void **state)
{
	(void)state;
	enum { N = 8 };
	struct lab lab;
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	struct index_item items[3 * N];
	size_t n = 0;
	for (uint64_t i = 0; i < N; i++) /* of site 7 nothing is due */
		items[n++] = i < 7 ? new_item(i * PLAY_PER_SITE, 1)
				   : (struct index_item){.fp = play_footprint(i * PLAY_PER_SITE),
							 .type = ITEM_GATHERED,
							 .last_seen_s = NOW_S};
	items[n++] = robots_item(PLAY_PER_SITE, ITEM_GATHERED, NOW_S - DAY_S + 1);
	items[n++] = robots_item(2 * PLAY_PER_SITE, ITEM_GATHERED, NOW_S - DAY_S);
	items[n++] = robots_item(3 * PLAY_PER_SITE, ITEM_NEW, 0);
	items[n++] = robots_item(4 * PLAY_PER_SITE, ITEM_ERROR, NOW_S - 100);
	items[n - 1].due_s = NOW_S;
	items[n++] = robots_item(5 * PLAY_PER_SITE, ITEM_ERROR, NOW_S - 100);
	items[n - 1].due_s = NOW_S + 1;
	items[n++] = robots_item(6 * PLAY_PER_SITE, ITEM_GATHERED, NOW_S + 100);
	items[n++] = robots_item(7 * PLAY_PER_SITE, ITEM_GATHERED, NOW_S - 2 * DAY_S);
	const struct site far = {.qkey = 77};
	conf.plan_max = 7;
	make(&lab, "robots", items, n, &far, 1);
	struct planned planned = plan(&lab, &conf, &seen);
	assert_int_equal(7, planned.urls);
	assert_int_equal(7, planned.sites);
	assert_int_equal(5, planned.robots);
	static const bool asked[N] = {true, false, true, true, true, false, true, false};
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(asked[i], robots_of(&seen, i) != NULL);
	const struct plan_entry *old = &robots_of(&seen, 2)->entry[0];
	assert_int_equal(2 * PLAY_PER_SITE + 1000, old->where);
	assert_int_equal(old->where, robots_of(&seen, 2)->robots_where);
	assert_int_equal(PLAN_ROBOTS | PLAN_REFRESH, old->flags);
	assert_int_equal(3, old->retry);
	assert_int_equal(ITEM_NOWHERE, robots_of(&seen, 0)->entry[0].where);
	assert_int_equal(PLAN_ROBOTS, robots_of(&seen, 0)->entry[0].flags);
	for (size_t i = 0; i < seen.n; i++) /* a fresh one is told all the same */
		if (seen.entry[i].fp.site == play_footprint(PLAY_PER_SITE).site)
			assert_int_equal(PLAY_PER_SITE + 1000, seen.site[i].robots_where);
	lab_free(&lab);
}

static void of_sites_that_rest_only_what_is_to_be_regathered_is_planned(void **state)
{
	(void)state;
	struct lab lab;
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	struct index_item items[4] = {new_item(0, 1), new_item(50, 1), new_item(51, 1),
				      new_item(100, 1)};
	items[2].flags = ITEM_REGATHER;
	make(&lab, "rests", items, 4,
	     (struct site[]){{.qkey = 7, .error_cycles = 1, .failed_s = NOW_S - 59},
			     {.qkey = 8, .error_cycles = 9, .failed_s = NOW_S - 70},
			     {.qkey = 9, .error_cycles = 1, .failed_s = NOW_S - 60}},
	     3);
	struct planned planned = plan(&lab, &conf, &seen);
	assert_int_equal(2, planned.urls);
	assert_int_equal(2, planned.left_out[PLAN_SITE_RESTS]);
	assert_int_equal(NOW_S + 1, planned.next_s);
	assert_non_null(entry_of(&seen, 51));
	assert_non_null(entry_of(&seen, 100));
	lab_free(&lab);
}

static void a_server_that_is_tight_goes_before_others(void **state)
{
	(void)state;
	struct lab lab;
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	struct index_item items[2] = {new_item(0, 1), new_item(50, 200)};
	conf.plan_max = 1;
	make(&lab, "tight", items, 2,
	     (struct site[]){{.qkey = 7, .demand = REFRESH_S / 10}, {.qkey = 8}}, 2);
	struct planned planned = plan(&lab, &conf, &seen);
	assert_int_equal(1, planned.urls);
	assert_int_equal(1, planned.left_out[PLAN_BUDGET]);
	assert_in_range(entry_of(&seen, 0)->priority, 2200000000, 2299999999);
	lab_free(&lab);
}

static void the_budget_is_what_can_be_gathered(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	struct index_item items[600];
	for (size_t i = 0; i < 600; i++)
		items[i] = new_item(i, (uint8_t)(i % 251));
	struct site same[SITES];
	for (size_t i = 0; i < SITES; i++)
		same[i] = (struct site){.qkey = 7 + i};
	make(&lab, "budget", items, 600, same, SITES);
	conf.est_raw_performance = 1.25;
	conf.reap_optimism = 2;
	struct crawl c = lab_crawl(&conf);
	c.delay_us = 0; /* no limits but the budget: 1.25 URLs a second for 10 s, twice */
	assert_int_equal(25, plan_with(&lab, &c, &seen).urls);
	struct state_course course = {.rate_milli = 3000};
	MUST(state_params_put(lab.st, &course, &err));
	lab_close(&lab);
	struct planned planned = plan_with(&lab, &c, &seen); /* what was measured, if it is more */
	assert_int_equal(60, planned.urls);
	assert_int_equal(540, planned.left_out[PLAN_BUDGET]);
	course.rate_milli = 3;
	MUST(state_params_put(lab.st, &course, &err));
	lab_close(&lab);
	conf.est_raw_performance = 0.001;
	assert_int_equal(1, plan_with(&lab, &c, &seen).urls); /* never nothing */
	assert_int_equal(250, seen.entry[0].weight);
	lab_free(&lab);
}

static void what_is_planned_need_not_fit_into_memory(void **state)
{
	(void)state;
	enum { MANY = 2000 };
	struct lab lab;
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	static struct index_item items[MANY];
	for (size_t i = 0; i < MANY; i++) {
		items[i] = new_item(i % 600, (uint8_t)(i % 251));
		items[i].fp.path += i / 600;
	}
	struct site same[SITES];
	for (size_t i = 0; i < SITES; i++)
		same[i] = (struct site){.qkey = 7 + i};
	make(&lab, "memory", items, MANY, same, SITES);
	conf.est_raw_performance = MANY;
	conf.plan_max = MANY;
	conf.sort_memory = 1;
	struct crawl c = lab_crawl(&conf);
	c.delay_us = 0;
	assert_int_equal(MANY, plan_with(&lab, &c, &seen).urls);
	lab_free(&lab);
}

static void a_state_that_knows_when_something_is_due_is_not_read(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	static struct seen seen;
	struct crawl_conf conf = lab_conf();
	struct index_item items[1] = {new_item(0, 1)};
	struct state_course course = {.due_s = NOW_S + 5, .urls = {[ITEM_NEW] = 1}};
	make(&lab, "idle", items, 1, NULL, 0);
	lab_enter(&lab, false, PHASE_MERGE);
	MUST(state_params_put(lab.st, &course, &err));
	lab_close(&lab);
	struct planned planned = plan(&lab, &conf, &seen);
	assert_int_equal(0, planned.urls);
	assert_int_equal(1, planned.types[ITEM_NEW]); /* as it was told */
	assert_int_equal(NOW_S + 5, planned.next_s);
	assert_int_equal(NOW_S + 5, state_params(lab.st)->course.due_s);
	/* due now; noted by a wrong clock; noted of another index */
	static const uint64_t now_due[] = {NOW_S, (uint64_t)NOW_S + REFRESH_S + 1, NOW_S + 5};
	for (size_t i = 0; i < ARRAY_LEN(now_due); i++) {
		course.due_s = now_due[i];
		course.urls[ITEM_NEW] = i != 2;
		course.urls[ITEM_ZOMBIE] = i == 2;
		MUST(state_params_put(lab.st, &course, &err));
		lab_close(&lab);
		assert_int_equal(1, plan(&lab, &conf, &seen).urls);
	}
	lab_free(&lab);
}

static bool is_stopped(void *asked)
{
	unsigned *left = asked;
	return (*left)-- <= 1;
}

static void a_plan_that_is_stopped_is_none(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct planned planned;
	struct crawl_conf conf = lab_conf();
	struct index_item items[5] = {new_item(0, 1), new_item(1, 1), new_item(2, 1),
				      new_item(3, 1), new_item(4, 1)};
	make(&lab, "stopped", items, 5, (struct site[]){{.qkey = 7}}, 1);
	lab_enter(&lab, false, PHASE_PLAN);
	for (unsigned n = 1; n <= 3; n++) { /* in the pass, and while it chooses */
		unsigned left = n;
		struct crawl c = lab_crawl(&conf);
		c.stopped = is_stopped;
		c.ctx = &left;
		assert_int_equal(1, crawl_plan(lab.st, &c, true, &planned, &err));
		assert_false(has_plan(&lab));
		assert_int_equal(0, state_params(lab.st)->course.due_s);
	}
	lab_free(&lab);
}

/* 1: the URL is not known. */
static int explain(struct lab *lab, const struct crawl *c, uint64_t page, struct plan_answer *ret)
{
	struct err err = {0};
	struct sites *sites = lab_sites(lab);
	struct footprint fp = play_footprint(page);
	int rc = plan_explain_url(lab->st, c, fp, sites_get(sites, fp.site), ret, &err);
	sites_free(&sites);
	return rc;
}

static void a_url_is_explained(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	static struct seen seen;
	struct plan_answer a;
	struct crawl_conf conf = lab_conf();
	struct index_item items[4] = {new_item(0, 1), new_item(50, 200), lab_item(51, ITEM_ZOMBIE),
				      new_item(1, 0)};
	make(&lab, "explained", items, 4,
	     (struct site[]){{.qkey = 7, .error_cycles = 1, .failed_s = NOW_S - 100},
			     {.qkey = 8, .error_cycles = 9, .failed_s = NOW_S - 100}},
	     2);
	struct crawl c = lab_crawl(&conf);
	lab_enter(&lab, false, PHASE_PLAN);
	MUST(explain(&lab, &c, 0, &a));
	assert_false(a.has_plan);
	lab_close(&lab);
	assert_int_equal(1, plan(&lab, &conf, &seen).urls);
	MUST(explain(&lab, &c, 0, &a));
	assert_int_equal(BAND_NEW, a.verdict.band);
	assert_int_equal(entry_of(&seen, 0)->priority, a.verdict.priority);
	assert_int_equal(7, a.server.qkey);
	assert_int_equal(10 * US_PER_S, a.server.delay_us);
	assert_true(a.has_plan && a.planned && a.candidate && !a.dead);
	assert_int_equal(0, a.rests_until_s);
	assert_int_equal(1, a.place);
	assert_int_equal(1, a.of);
	MUST(explain(&lab, &c, 1, &a));
	assert_true(a.has_plan && !a.planned && a.candidate);
	MUST(explain(&lab, &c, 50, &a));
	assert_true(a.dead && !a.planned);
	assert_int_equal(NOW_S - 100 + REFRESH_S, a.rests_until_s);
	MUST(explain(&lab, &c, 51, &a));
	assert_false(a.candidate);
	assert_int_equal(1, explain(&lab, &c, 52, &a));
	lab_free(&lab);
}

/* Random crawls, planned in the plainest way: everything sorted, and counted. */

struct due {
	struct footprint fp;
	uint32_t priority;
	uint64_t server; /* a number of its own where it is not resolved */
	bool regather, unresolved, in;
};

static int by_priority(const void *a, const void *b)
{
	const struct due *x = a, *y = b;
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return footprint_cmp(x->fp, y->fp);
}

/* The best of each server, then the best of all. Returns how many are in. */
static size_t choose_plainly(struct due *due, size_t n, uint64_t room, uint64_t budget)
{
	qsort(due, n, sizeof *due, by_priority);
	for (size_t i = 0; i < n; i++) {
		uint64_t before = 0;
		for (size_t k = 0; k < i; k++)
			before += due[k].server == due[i].server;
		due[i].in = before < (due[i].unresolved ? 1 : room) || due[i].regather;
		if (due[i].unresolved && before == 0)
			due[i].priority = UINT32_MAX;
	}
	qsort(due, n, sizeof *due, by_priority);
	uint64_t taken = 0;
	size_t in = 0;
	for (size_t i = 0; i < n; i++) {
		if (due[i].in && (taken++ >= budget) && !due[i].regather)
			due[i].in = false;
		in += due[i].in;
	}
	return in;
}

static void plan_a_random_crawl(uint64_t seed)
{
	enum { MOST = 400 };
	static struct seen seen;
	static struct index_item items[MOST];
	static struct due due[MOST];
	struct lab lab;
	struct site set[SITES] = {{0}};
	struct crawl_conf conf = lab_conf();
	uint64_t r = hash_u64(seed);
	size_t n = 1 + r % MOST, ndue = 0;
	uint64_t room = 1 + r / 512 % 60;
	struct err err = {0};
	conf.cycle_us = (int64_t)room * 10 * US_PER_S;
	conf.plan_max = 1 + (int64_t)(r >> 32) % 300;
	for (size_t i = 0; i < SITES; i++)
		set[i] = (struct site){.qkey = hash_u64(seed * 99 + i) % 5,
				       .demand = i % 4 ? 0 : REFRESH_S};
	for (size_t i = 0; i < n; i++) {
		uint64_t x = hash_u64(r + i);
		items[i] = new_item(i, (uint8_t)(x % 3));
		items[i].type = x >> 8 & 1 ? ITEM_NEW : ITEM_GATHERED;
		items[i].last_seen_s = NOW_S - (uint32_t)(x >> 16) % (2 * REFRESH_S);
		items[i].freq = (uint8_t)(x >> 9 & 7);
		items[i].flags = x >> 12 & 63 ? 0 : ITEM_REGATHER;
	}
	make(&lab, "random", items, n, set, SITES);
	struct planned planned = plan(&lab, &conf, &seen);
	/* a server with a site of great demand is tight */
	bool tight[5] = {false};
	for (size_t i = 0; i < SITES; i++)
		tight[set[i].qkey] |= set[i].qkey && set[i].demand;
	struct crawl c = lab_crawl(&conf);
	struct plan_clock clock = plan_clock_of(&c, state_params(lab.st));
	for (uint64_t page = 0; page < n; page++) {
		struct index_item item = lab_find(&lab, page);
		uint64_t key = set[page / PLAY_PER_SITE].qkey;
		struct plan_verdict v;
		plan_judge(&clock, &item, &v);
		if (v.band == PLAN_BANDS)
			continue;
		due[ndue++] = (struct due){.fp = item.fp,
					   .priority = plan_raise(v.priority, tight[key], 0),
					   .server = key ? key : 100 + page / PLAY_PER_SITE,
					   .regather = v.band == BAND_REGATHER,
					   .unresolved = key == 0};
	}
	size_t in = choose_plainly(due, ndue, room, (uint64_t)conf.plan_max);
	assert_int_equal(in, planned.urls);
	assert_int_equal(ndue - in, planned.waiting);
	for (size_t i = 0; i < seen.n; i++) {
		size_t at = 0;
		while (at < ndue && footprint_cmp(due[at].fp, seen.entry[i].fp) != 0)
			at++;
		assert_true(at < ndue && due[at].in);
		assert_int_equal(due[at].priority, seen.entry[i].priority);
	}
	lab_free(&lab);
	MUST(tree_remove(scratch("random"), &err));
}

static void random_crawls_are_planned_as_the_plainest_way_does(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= (unit_thorough() ? 1000 : 60); seed++)
		plan_a_random_crawl(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_due_is_planned_and_the_rest_waits),
		cmocka_unit_test(an_empty_crawl_has_an_empty_plan),
		cmocka_unit_test(a_server_gives_its_best_and_no_more),
		cmocka_unit_test(what_is_to_be_regathered_is_in_the_plan_whatever_the_limits),
		cmocka_unit_test(
			of_a_site_that_was_never_asked_the_best_goes_and_what_was_asked_for),
		cmocka_unit_test(robots_txt_goes_before_its_site_unless_it_is_fresh),
		cmocka_unit_test(of_sites_that_rest_only_what_is_to_be_regathered_is_planned),
		cmocka_unit_test(a_server_that_is_tight_goes_before_others),
		cmocka_unit_test(the_budget_is_what_can_be_gathered),
		cmocka_unit_test(what_is_planned_need_not_fit_into_memory),
		cmocka_unit_test(a_state_that_knows_when_something_is_due_is_not_read),
		cmocka_unit_test(a_plan_that_is_stopped_is_none),
		cmocka_unit_test(a_url_is_explained),
		cmocka_unit_test(random_crawls_are_planned_as_the_plainest_way_does),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
