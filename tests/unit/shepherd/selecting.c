/* select: what the limits leave, what sleeps and goes, how often the rest is refreshed, and the
 * brake. Rules of filters: selecting_rules.c. */
#include "unit/shepherd/select_lab.h"

#include "url/qkey.h"

enum { MANY = 266 };

/* Weights in an order that is not that of the footprints; each of 0 to 250 once, then again. */
static uint8_t weight_of(uint64_t n)
{
	return (uint8_t)(n * 97 % 251);
}

static void make_many(struct lab *lab, const char *name, size_t n)
{
	struct index_item *items = calloc(n, sizeof *items);
	for (uint64_t i = 0; i < n; i++)
		items[i] = select_item(0, i, ITEM_NEW, weight_of(i));
	select_make(lab, name, items, n, 1);
	free(items);
}

static int count_rank(void *ctx, const struct gone *g, struct err *err)
{
	(void)err;
	assert_int_equal(GONE_RANK, g->reason);
	++*(unsigned *)ctx;
	return 0;
}

static void a_site_keeps_its_best_and_no_more(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	struct index_item item;
	unsigned gone = 0;
	conf.site_max = 100;
	make_many(&lab, "best", MANY);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(100, got.active);
	assert_int_equal(100, got.sleeps[LIMIT_SITE]);
	assert_int_equal(66, got.forgotten[LIMIT_SITE]);
	assert_int_equal(0, got.lost);
	int active_least = 255, asleep_most = 0, asleep_least = 255, gone_most = 0;
	for (uint64_t i = 0; i < MANY; i++) {
		int weight = weight_of(i);
		if (select_find(&lab, 0, i, &item)) {
			gone_most = MAX(gone_most, weight);
		} else if (item.type == ITEM_NEW) {
			assert_int_equal(1, item.freq);
			active_least = MIN(active_least, weight);
		} else {
			assert_int_equal(ITEM_SLEEPING, item.type);
			assert_int_equal(CODE_SLEEPS + LIMIT_SITE, item.code);
			asleep_most = MAX(asleep_most, weight);
			asleep_least = MIN(asleep_least, weight);
		}
	}
	assert_true(active_least >= asleep_most && asleep_least >= gone_most);
	assert_true(gone_most > 0);
	MUST(gone_each(states_path(lab.s, &lab.arena, "gone"), count_rank, &gone, &err));
	assert_int_equal(66, gone);
	struct sites *sites = lab_sites(&lab);
	const struct site *site = sites_get(sites, select_fp(0, 0).site);
	assert_int_equal(100, site->active);
	assert_int_equal(100, site->inactive);
	assert_int_equal(100, site->fresh);
	assert_int_equal(0, site->gathered);
	assert_int_equal(100, site->demand);
	sites_free(&sites);
	const struct state_course *course = &state_params(lab.st)->course;
	assert_int_equal(100, course->urls[ITEM_NEW]);
	assert_int_equal(100, course->urls[ITEM_SLEEPING]);
	got = select_all(&lab, &conf); /* what is done stays done */
	assert_int_equal(100, got.active);
	assert_int_equal(0, got.sleeps[LIMIT_SITE] + got.forgotten[LIMIT_SITE] + got.woken);
	lab_free(&lab);
}

static void of_equal_weights_the_lower_footprint_stays(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	enum { N = 600 }; /* more than a chunk of the order */
	struct index_item items[N];
	conf.site_max = 300;
	for (uint64_t i = 0; i < N; i++)
		items[i] = select_item(0, i, ITEM_NEW, 96);
	select_make(&lab, "equal", items, N, 1);
	assert_int_equal(300, select_all(&lab, &conf).active);
	for (uint64_t i = 0; i < N; i++) { /* they were sorted when the crawl was made */
		struct err err = {0};
		const struct url_index *index;
		struct index_item item;
		MUST(state_index(lab.st, &index, &err));
		MUST(url_index_find(index, items[i].fp, &item, &err));
		assert_int_equal(i < 300 ? ITEM_NEW : ITEM_SLEEPING, item.type);
	}
	lab_free(&lab);
}

static void what_is_sacred_stays_and_counts(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	static const uint8_t flags[] = {ITEM_INITIAL, ITEM_INITIAL | ITEM_EQUIV, ITEM_EQUIV};
	struct index_item items[40];
	conf.site_max = 10;
	conf.remember_max = 0;
	for (uint64_t i = 0; i < 40; i++) {
		items[i] = select_item(0, i, i % 2 ? ITEM_SLEEPING : ITEM_GATHERED, 0);
		items[i].flags = i < 15 ? flags[i % 3] : 0;
		items[i].weight = i < 15 ? 0 : 255;
	}
	items[0].type = ITEM_ERROR;
	select_make(&lab, "sacred", items, 40, 1);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(15, got.active);
	assert_int_equal(7, got.woken);
	assert_int_equal(25, got.forgotten[LIMIT_ACTIVE]);
	struct select_seen seen = select_see(&lab, 0, 40);
	assert_int_equal(15, seen.awake);
	assert_int_equal(15, seen.known);
	for (uint64_t i = 0; i < 15; i++)
		assert_true(select_knows(&lab, 0, i));
	lab_free(&lab);
}

static void robots_txt_is_no_page(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[] = {
		select_item(0, 0, ITEM_GATHERED, 255), select_item(0, 1, ITEM_ERROR, 255),
		select_item(0, 2, ITEM_NEW, 0), select_item(1, 3, ITEM_GATHERED, 255)};
	items[0].flags = items[1].flags = items[3].flags = ITEM_ROBOTS;
	conf.site_max = 1;
	conf.remember_max = 0;
	select_make(&lab, "robots", items, ARRAY_LEN(items), 2);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(1, got.active); /* it leaves room for the page */
	assert_int_equal(0, got.gathered);
	assert_int_equal(1, got.sites_gone); /* that has nothing else */
	assert_int_equal(1, got.stale_notes);
	struct sites *sites = lab_sites(&lab);
	const struct site *site = sites_get(sites, select_fp(0, 0).site);
	assert_int_equal(1, sites_count(sites));
	assert_int_equal(1, site->active);
	assert_int_equal(0, site->gathered);
	const uint64_t *urls = state_params(lab.st)->course.urls;
	assert_int_equal(3, urls[ITEM_QKEY]);
	assert_int_equal(0, urls[ITEM_GATHERED] + urls[ITEM_ERROR]);
	sites_free(&sites);
	lab_free(&lab);
}

static void a_redirect_that_leads_nowhere_for_long_becomes_a_zombie(void **state)
{
	(void)state;
	enum { N = 4 };
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[N], now[N];
	const struct url_index *index;
	struct err err = {0};
	conf.redirect_to_zombie_us = DAY_S * US_PER_S;
	for (unsigned i = 0; i < N; i++) {
		items[i] = select_item(0, i, ITEM_ERROR, 100);
		items[i].code = CODE_NOWHERE;
		items[i].no_target = i != 3;
		items[i].flags = i == 2 ? ITEM_INITIAL : 0;
		items[i].last_seen_s = NOW_S;
		items[i].stable_s = NOW_S - DAY_S + (i == 0);
		now[i] = items[i];
	}
	select_make(&lab, "nowhere", items, N, 1);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(2, got.active);
	MUST(state_index(lab.st, &index, &err));
	for (unsigned i = 0; i < N; i++) {
		MUST(url_index_find(index, now[i].fp, &now[i], &err));
		bool dead = i == 1 || i == 2;
		assert_int_equal(dead ? ITEM_ZOMBIE : ITEM_ERROR, now[i].type);
		assert_int_equal(dead ? CODE_REDIRECT_ZOMBIE : CODE_NOWHERE, now[i].code);
	}
	lab_free(&lab);
}

static void a_gathered_page_gives_way_only_to_one_that_is_worth_more(void **state)
{
	(void)state;
	struct crawl_conf conf = lab_conf();
	conf.site_max = 1;
	conf.select_hysteresis = 8;
	for (unsigned weight = 107; weight <= 109; weight++) {
		struct lab lab;
		char name[32];
		snprintf(name, sizeof name, "hysteresis-%u", weight);
		struct index_item items[] = {select_item(0, 0, ITEM_GATHERED, 100),
					     select_item(0, 1, ITEM_NEW, (uint8_t)weight)};
		bool lower = footprint_cmp(items[1].fp, items[0].fp) < 0;
		bool replaces = weight == 109 || (weight == 108 && lower);
		select_make(&lab, name, items, 2, 1);
		struct selected got = select_all(&lab, &conf);
		assert_int_equal(1, got.active);
		assert_int_equal(replaces, got.lost);
		assert_int_equal(replaces ? ITEM_NEW : ITEM_SLEEPING, select_get(&lab, 0, 1).type);
		assert_int_equal(replaces ? ITEM_SLEEPING : ITEM_GATHERED,
				 select_get(&lab, 0, 0).type);
		lab_free(&lab);
	}
}

static void the_first_limit_that_binds_is_named_and_hard_ones_go_first(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	conf.site_max = conf.active_max = 20;
	make_many(&lab, "order", 60);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(20, got.active);
	assert_int_equal(20, got.sleeps[LIMIT_SITE]); /* not active, though that binds as well */
	assert_int_equal(0, got.sleeps[LIMIT_ACTIVE]);
	assert_int_equal(20, got.forgotten[LIMIT_SITE]);
	conf.remember_max = 15; /* asleep by the site's limit, forgotten by another */
	got = select_all(&lab, &conf);
	assert_int_equal(5, got.forgotten[LIMIT_ACTIVE]);
	assert_int_equal(15, select_see(&lab, 0, 60).asleep[LIMIT_SITE]);
	conf.site_max = 1000;
	got = select_all(&lab, &conf);
	assert_int_equal(15, select_see(&lab, 0, 60).asleep[LIMIT_ACTIVE]);
	assert_int_equal(0, got.sleeps[LIMIT_ACTIVE]); /* they slept before */
	lab_free(&lab);
}

/* 300 URLs, 200 of them awake, and which limit it was. */
static void check_limit(const char *name, const struct crawl_conf *conf, int64_t delay_us,
			enum crawl_limit limit, size_t active, size_t asleep)
{
	struct lab lab;
	struct err err = {0};
	struct selected got;
	make_many(&lab, name, 300);
	CLEANUP(select_done) struct crawl c = lab_crawl(conf);
	c.delay_us = delay_us;
	lab_enter(&lab, false, PHASE_SELECT);
	MUST(crawl_select(lab.st, &c, false, &got, &err));
	assert_int_equal(active, got.active);
	for (unsigned i = 0; i < CRAWL_LIMITS; i++) {
		assert_int_equal(i == limit ? asleep : 0, got.sleeps[i]);
		assert_int_equal(i == limit ? 300 - active - asleep : 0, got.forgotten[i]);
	}
	assert_int_equal(asleep, select_see(&lab, 0, 300).asleep[limit]);
	lab_free(&lab);
}

static void each_limit_binds_exactly(void **state)
{
	(void)state;
	struct crawl_conf conf = lab_conf();
	conf.active_max = 120;
	conf.remember_max = 70;
	check_limit("active", &conf, 0, LIMIT_ACTIVE, 120, 70);
	conf = lab_conf();
	conf.est_raw_performance = 0.1;
	conf.refresh_us = 1600 * US_PER_S; /* 160 URLs, a quarter of them for frequent refreshes */
	check_limit("performance", &conf, 0, LIMIT_PERFORMANCE, 120, 120);
	conf = lab_conf();
	conf.refresh_us = 1600 * US_PER_S;
	check_limit("server", &conf, 10 * US_PER_S, LIMIT_SERVER, 120, 120);
	check_limit("no-delay", &conf, 0, LIMIT_SERVER, 300, 0);
	conf = lab_conf();
	conf.site_fresh_limit = 110;
	conf.hard_limit_factor = 1.5;
	check_limit("fresh", &conf, 0, LIMIT_FRESH, 110, 55);
	conf = lab_conf();
	conf.bucket_file_size = 4096 * 110 + 128 * 110; /* the one section has all the space */
	check_limit("space", &conf, 0, LIMIT_SECTION, 110, 110);
}

static void a_measured_rate_and_measured_sizes_count(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	conf.est_raw_performance = 0.01;
	conf.refresh_us = 1600 * US_PER_S;
	make_many(&lab, "measured", 300);
	CLEANUP(select_done) struct crawl c = lab_crawl(&conf);
	c.delay_us = 0;
	lab_enter(&lab, false, PHASE_MERGE);
	struct state_course course = state_params(lab.st)->course;
	course.rate_milli = 100;
	MUST(state_params_put(lab.st, &course, &err));
	lab_close(&lab);
	assert_int_equal(120, select_with(&lab, &c, false).active);
	course = state_params(lab.st)->course;
	course.bucket_bytes = conf.bucket_file_size / 100 - 50;
	course.url_bytes = 50;
	MUST(state_params_put(lab.st, &course, &err));
	lab_close(&lab);
	assert_int_equal(100, select_with(&lab, &c, false).active);
	lab_free(&lab);
}

static void sites_of_one_server_share_what_it_can_give(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[300];
	conf.refresh_us = 1600 * US_PER_S; /* 160 URLs at 10 s, of which 120 */
	for (uint64_t i = 0; i < 300; i++)
		items[i] = select_item((unsigned)(i / 100), i, ITEM_NEW, weight_of(i));
	select_make(&lab, "shared", items, 300, 3);
	select_set_site(&lab, 0, (struct site){.qkey = 77});
	select_set_site(&lab, 1, (struct site){.qkey = 77});
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(220, got.active); /* the third is on its own */
	assert_int_equal(80, got.sleeps[LIMIT_SERVER]);
	lab_free(&lab);
}

static void a_site_may_have_a_limit_of_its_own(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	make_many(&lab, "own-limit", 30);
	select_set_site(&lab, 0, (struct site){.limit = 7});
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(7, got.active);
	assert_int_equal(7, got.sleeps[LIMIT_SITE]);
	assert_int_equal(16, got.forgotten[LIMIT_SITE]);
	lab_free(&lab);
}

static void a_dead_site_has_another_limit_until_its_time_is_over(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	conf.dead_site_limit = 10;
	make_many(&lab, "dead", 30);
	select_set_site(&lab, 0, (struct site){.error_cycles = 8, .failed_s = NOW_S - DAY_S});
	assert_int_equal(30, select_all(&lab, &conf).active); /* not dead yet */
	select_set_site(&lab, 0, (struct site){.error_cycles = 9, .failed_s = NOW_S - DAY_S});
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(10, got.active);
	assert_int_equal(10, got.sleeps[LIMIT_DEAD]);
	assert_int_equal(10, got.forgotten[LIMIT_DEAD]);
	select_set_site(&lab, 0, (struct site){.error_cycles = 9, .failed_s = NOW_S - 31 * DAY_S});
	assert_int_equal(20, select_all(&lab, &conf).active);
	lab_free(&lab);
}

static void pages_that_the_index_has_weighed_are_not_fresh(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[40];
	conf.site_fresh_limit = 5;
	for (uint64_t i = 0; i < 40; i++) {
		items[i] = select_item(0, i, ITEM_NEW, weight_of(i));
		items[i].flags = i < 20 ? ITEM_WEIGHED : 0;
	}
	select_make(&lab, "weighed", items, 40, 1);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(25, got.active);
	assert_int_equal(5, got.sleeps[LIMIT_FRESH]);
	assert_int_equal(10, got.forgotten[LIMIT_FRESH]);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(ITEM_NEW, select_get(&lab, 0, i).type);
	lab_free(&lab);
}

static void what_slept_wakes_up_when_there_is_room(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	struct index_item items[20];
	for (uint64_t i = 0; i < 20; i++) {
		items[i] = select_item(0, i, ITEM_SLEEPING, 96);
		items[i].code = CODE_SLEEPS + LIMIT_SITE;
		items[i].retry = 3;
		items[i].due_s = NOW_S + 9999;
	}
	conf.site_max = 12;
	select_make(&lab, "wake", items, 20, 1);
	lab_enter(&lab, false, PHASE_MERGE);
	struct state_course course = state_params(lab.st)->course;
	course.due_s = NOW_S + 5000;
	MUST(state_params_put(lab.st, &course, &err));
	lab_close(&lab);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(12, got.woken);
	assert_int_equal(0, got.sleeps[LIMIT_SITE]);
	unsigned awake = 0;
	for (uint64_t i = 0; i < 20; i++) {
		struct index_item item = select_get(&lab, 0, i);
		if (item.type != ITEM_NEW)
			continue;
		awake++;
		assert_int_equal(0, item.retry);
		assert_int_equal(0, item.due_s);
		assert_int_equal(0, item.code);
	}
	assert_int_equal(12, awake);
	assert_int_equal(NOW_S, state_params(lab.st)->course.due_s);
	lab_free(&lab);
}

/* Refreshes */

static unsigned count_freq(struct lab *lab, uint64_t from, uint64_t to, unsigned freq)
{
	unsigned n = 0;
	for (uint64_t i = from; i < to; i++)
		n += select_get(lab, 0, i).freq == freq;
	return n;
}

/* Gathered pages that change so often that they want f refreshes. */
static void want_refreshes(struct index_item *items, uint64_t from, uint64_t to, uint32_t f,
			   uint32_t refresh_s)
{
	for (uint64_t i = from; i < to; i++) {
		items[i] = select_item(0, i, ITEM_GATHERED, 96);
		items[i].stable_s = items[i].last_seen_s - refresh_s / f;
	}
}

static void frequent_refreshes_have_quotas(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[60];
	/* of 100 requests in a cycle 25 are for frequent ones, 7.5 of them at 4 and 17.5 at 2 */
	conf.refresh_us = 1000 * US_PER_S;
	want_refreshes(items, 0, 60, 4, 1000);
	select_make(&lab, "quota-4", items, 60, 1);
	select_all(&lab, &conf);
	assert_int_equal(2, count_freq(&lab, 0, 60, 4));  /* 3 each */
	assert_int_equal(17, count_freq(&lab, 0, 60, 2)); /* 1 each */
	assert_int_equal(41, count_freq(&lab, 0, 60, 1));
	struct sites *sites = lab_sites(&lab);
	assert_int_equal(2 * 4 + 17 * 2 + 41, sites_get(sites, select_fp(0, 0).site)->demand);
	sites_free(&sites);
	lab_free(&lab);

	want_refreshes(items, 0, 60, 2, 1000);
	select_make(&lab, "quota-2", items, 60, 1);
	select_all(&lab, &conf);
	assert_int_equal(0, count_freq(&lab, 0, 60, 4));
	assert_int_equal(24,
			 count_freq(&lab, 0, 60, 2)); /* 17, and 7 at the expense of the other */
	lab_free(&lab);

	conf.est_raw_performance = 0.1; /* the crawl has the same quotas, the server none */
	conf.hard_limit_factor = 100;
	want_refreshes(items, 0, 60, 4, 1000);
	select_make(&lab, "quota-crawl", items, 60, 1);
	CLEANUP(select_done) struct crawl c = lab_crawl(&conf);
	c.delay_us = 0;
	select_with(&lab, &c, false);
	assert_int_equal(2, count_freq(&lab, 0, 60, 4));
	assert_int_equal(17, count_freq(&lab, 0, 60, 2));
	lab_free(&lab);
}

static void the_frequency_follows_stability_and_weight(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	enum { FOUR, ALMOST, TWO, SLOW, HEAVY, LIGHT, UNKNOWN, NEW, SAME, FAILED, ALL };
	struct index_item items[ALL];
	for (unsigned i = 0; i < ALL; i++) {
		items[i] = select_item(0, i, ITEM_GATHERED, 96);
		items[i].stable_s = items[i].last_seen_s - REFRESH_S / 2;
	}
	items[FOUR].stable_s = items[FOUR].last_seen_s - REFRESH_S / 4;
	items[ALMOST].stable_s = items[FOUR].stable_s - 1;
	items[SLOW].stable_s--;
	items[HEAVY].weight = 96 + 32; /* counts twice */
	items[LIGHT].weight = 0;       /* the same as 96 */
	items[UNKNOWN].stable_s = 0;
	items[NEW].type = ITEM_NEW;
	items[SAME].stable_s = items[SAME].last_seen_s + 5; /* cannot be; the shortest there is */
	items[FAILED].type = ITEM_ERROR;
	select_make(&lab, "frequency", items, ALL, 1);
	select_all(&lab, &conf);
	static const uint8_t want[ALL] = {4, 2, 2, 1, 4, 2, 1, 1, 4, 1};
	for (unsigned i = 0; i < ALL; i++)
		assert_int_equal(want[i], select_get(&lab, 0, i).freq);
	conf.stability_factor = 2;
	select_all(&lab, &conf);
	assert_int_equal(2, select_get(&lab, 0, FOUR).freq);
	assert_int_equal(1, select_get(&lab, 0, TWO).freq);
	lab_free(&lab);
}

static void pages_for_mirrors_and_errors_have_bounds(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	struct index_item items[] = {select_item(0, 0, ITEM_GATHERED, 96),
				     select_item(0, 1, ITEM_ERROR, 96),
				     select_item(0, 2, ITEM_GATHERED, 96)};
	items[0].flags = items[1].flags = ITEM_EQUIV;
	conf.min_eq_frequency = 3;
	conf.max_err_frequency = 2;
	select_make(&lab, "bounds", items, 3, 1);
	lab_enter(&lab, false, PHASE_MERGE);
	struct state_course course = state_params(lab.st)->course;
	course.due_s = NOW_S + 100 * DAY_S;
	MUST(state_params_put(lab.st, &course, &err));
	lab_close(&lab);
	select_all(&lab, &conf);
	assert_int_equal(3, select_get(&lab, 0, 0).freq);
	assert_int_equal(2, select_get(&lab, 0, 1).freq);
	assert_int_equal(1, select_get(&lab, 0, 2).freq);
	/* the first of them is due before anything was */
	assert_int_equal(NOW_S - DAY_S + REFRESH_S / 3, state_params(lab.st)->course.due_s);
	lab_free(&lab);
}

/* What leaves without a limit */

static void what_is_gone_is_forgotten_after_its_time(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	enum { YOUNG, OLD, SACRED, LEFT, LEFT_HAND, LEFT_EQUIV, LINKED, ALL };
	struct index_item items[ALL];
	for (unsigned i = 0; i < ALL; i++)
		items[i] = select_item(0, i, i < LEFT ? ITEM_ZOMBIE : ITEM_ERROR, 200);
	items[YOUNG].last_seen_s = NOW_S - REFRESH_S + 1;
	items[YOUNG].freq = 3;
	items[OLD].last_seen_s = items[SACRED].last_seen_s = NOW_S - REFRESH_S;
	items[SACRED].flags = ITEM_EQUIV;
	items[LEFT].flags = ITEM_UNREFERENCED;
	items[LEFT_HAND].flags = ITEM_UNREFERENCED | ITEM_INITIAL;
	items[LEFT_EQUIV].flags = ITEM_UNREFERENCED | ITEM_EQUIV;
	select_make(&lab, "zombies", items, ALL, 1);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(3, got.expired);
	assert_int_equal(2, got.active);
	for (unsigned i = 0; i < ALL; i++)
		assert_int_equal(i != OLD && i != LEFT && i != LEFT_EQUIV,
				 select_knows(&lab, 0, i));
	assert_int_equal(ITEM_ZOMBIE, select_get(&lab, 0, YOUNG).type);
	assert_int_equal(0, select_get(&lab, 0, YOUNG).freq);
	struct gone gone;
	struct err err = {0};
	int64_t since_us;
	MUST(gone_find(states_path(lab.s, &lab.arena, "gone"), select_fp(0, OLD), &gone, &since_us,
		       &err));
	assert_int_equal(GONE_ERROR, gone.reason);
	lab_free(&lab);
}

static void zombies_come_last_and_count_as_remembered(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[30];
	conf.active_max = 5;
	conf.remember_max = 12;
	for (uint64_t i = 0; i < 30; i++)
		items[i] = select_item(0, i, i < 20 ? ITEM_ZOMBIE : ITEM_NEW, i < 20 ? 255 : 1);
	select_make(&lab, "remembered", items, 30, 1);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(5, got.active);
	assert_int_equal(5, got.sleeps[LIMIT_ACTIVE]);
	assert_int_equal(13, got.forgotten[LIMIT_ACTIVE]); /* 7 zombies have room */
	assert_int_equal(7, state_params(lab.st)->course.urls[ITEM_ZOMBIE]);
	struct sites *sites = lab_sites(&lab);
	const struct site *site = sites_get(sites, select_fp(0, 0).site);
	assert_int_equal(5, site->active);
	assert_int_equal(12, site->inactive);
	sites_free(&sites);
	lab_free(&lab);
}

static void sites_without_urls_go_and_their_keys_are_told(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	enum { STAYS, EMPTY, ONLY_KEY, LAST_GOES, NOWHERE, UNKNOWN, ALL };
	struct index_item items[] = {
		select_item(STAYS, 0, ITEM_NEW, 96),      select_item(STAYS, 1, ITEM_QKEY, 0),
		select_item(ONLY_KEY, 2, ITEM_QKEY, 0),   select_item(LAST_GOES, 3, ITEM_ZOMBIE, 0),
		select_item(LAST_GOES, 4, ITEM_QKEY, 0),  select_item(NOWHERE, 5, ITEM_NEW, 96),
		select_item(NOWHERE, 6, ITEM_QKEY, 0),    select_item(UNKNOWN, 7, ITEM_QKEY, 0),
		select_item(UNKNOWN, 8, ITEM_GATHERED, 5)};
	for (size_t i = 0; i < ARRAY_LEN(items); i++) {
		bool key = items[i].type == ITEM_QKEY;
		items[i].fp.path = key ? 0 : items[i].fp.path;
		items[i].flags = key ? ITEM_ROBOTS : 0;
		items[i].last_seen_s = NOW_S - (key ? 1 : 40 * DAY_S);
	}
	items[6].last_seen_s = NOW_S - 31 * DAY_S;
	select_make(&lab, "pruned", items, ARRAY_LEN(items), UNKNOWN);
	select_set_site(&lab, STAYS, (struct site){.qkey = 11});
	select_set_site(&lab, NOWHERE,
			(struct site){.qkey = qkey_special(QKEY_NONEXISTENT, 1, 80)});
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(1, got.expired);
	assert_int_equal(3, got.sites_gone);
	assert_int_equal(4, got.stale_notes); /* only that of STAYS is needed */
	assert_int_equal(3, got.active);      /* also of a site that is not in the list */
	struct sites *sites = lab_sites(&lab);
	assert_int_equal(2, sites_count(sites));
	assert_non_null(sites_get(sites, select_fp(STAYS, 0).site));
	assert_int_equal(11, sites_get(sites, select_fp(STAYS, 0).site)->qkey);
	assert_int_equal(0,
			 sites_get(sites, select_fp(NOWHERE, 0).site)->qkey); /* asked for again */
	sites_free(&sites);
	assert_int_equal(5, state_params(lab.st)->course.urls[ITEM_QKEY]); /* record drops them */
	lab_free(&lab);
}

/* What is told, and what is not written */

static struct buckets *open_buckets(struct lab *lab)
{
	struct err err = {0};
	struct bucket_options options = {.mode = BUCKET_APPEND};
	struct buckets *b = NULL;
	MUST(bucket_open(&b, states_path(lab->s, &lab->arena, "objects"), &options, &err));
	return b;
}

struct told {
	unsigned n, forgotten;
	uint64_t pages[8];
};

/* All changes of the current state: deletes of play pages below 8. */
static struct told read_changes(struct lab *lab)
{
	struct err err = {0};
	struct record_reader *r = NULL;
	struct record record;
	struct told told = {0};
	if (state_read(lab->st, "changes", &r, &err) != 0)
		return told;
	while (record_next(r, &record, &err) == 0) {
		struct change change;
		uint64_t page = 0;
		char url[PLAY_URL];
		MUST(change_read(record.payload, &change, &err));
		while (page < 8 && footprint_cmp(play_footprint(page), change.fp) != 0)
			page++;
		assert_int_equal(CHANGE_DELETE, change.op);
		assert_int_equal(PHASE_SELECT, change.by);
		assert_true(page < 8 && str_eq(play_url(page, url), change.url));
		assert_true(str_find(change.reason, STR("shepherd.site_max")) < change.reason.n);
		told.forgotten += change.forgotten;
		told.pages[told.n++] = page;
	}
	record_reader_free(&r);
	return told;
}

static void a_gathered_page_that_leaves_is_told_once_with_its_url(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	struct index_item items[8];
	lab_make(&lab, "told", NULL, 0, (uint64_t[]){0}, 1);
	struct buckets *buckets = open_buckets(&lab);
	struct arena arena = ARENA_INIT(1 << 20);
	for (uint64_t page = 0; page < 8; page++) {
		struct attrs header = {0}, body = {0};
		char url[PLAY_URL];
		uint32_t oid;
		items[page] = lab_item(page, page < 6 ? ITEM_GATHERED : ITEM_NEW);
		items[page].weight = (uint8_t)(100 - page);
		attrs_add(&header, &arena, 'O', crawl_digits(items[page].fp, &arena));
		attrs_add(&header, &arena, 'U', play_url(page, url));
		MUST(bucket_put(buckets, NULL, &header, &body, &oid, &err));
		items[page].where = oid;
	}
	arena_free(&arena);
	lab_enter(&lab, false, PHASE_MERGE);
	struct url_index_writer *w = NULL;
	qsort(items, 8, sizeof *items, lab_by_footprint);
	MUST(state_index_create(lab.st, &w, &err));
	for (size_t i = 0; i < 8; i++)
		url_index_put(w, &items[i]);
	MUST(state_index_put(lab.st, &w, &err));
	MUST(state_enter(lab.st, PHASE_CLOSED, buckets, PLAY_START, &err));

	CLEANUP(select_done) struct crawl c = lab_crawl(&conf);
	c.buckets = buckets;
	conf.site_max = 2;
	struct selected got = select_with(&lab, &c, true);
	assert_int_equal(4, got.lost);
	assert_int_equal(4, got.lost_by[LIMIT_SITE]);
	assert_int_equal(2, got.sleeps[LIMIT_SITE]);
	assert_int_equal(4, got.forgotten[LIMIT_SITE]);
	MUST(state_enter(lab.st, PHASE_CLOSED, buckets, PLAY_START, &err));
	struct told told = read_changes(&lab);
	assert_int_equal(4, told.n); /* not of the two that were new */
	assert_int_equal(2, told.forgotten);
	uint64_t sum = 0;
	for (unsigned i = 0; i < 4; i++)
		sum |= 1u << told.pages[i];
	assert_int_equal(0x3c, sum);
	got = select_with(&lab, &c, true);
	assert_int_equal(0, got.lost);
	MUST(state_enter(lab.st, PHASE_CLOSED, buckets, PLAY_START, &err));
	assert_int_equal(0, read_changes(&lab).n);
	bucket_close(&buckets, &err);
	lab_free(&lab);
}

static void nothing_to_do_writes_nothing(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	conf.site_max = 100;
	make_many(&lab, "same", MANY);
	ino_t index = select_inode(&lab, "index"), sites = select_inode(&lab, "sites");
	select_all(&lab, &conf);
	assert_int_not_equal(index, select_inode(&lab, "index"));
	assert_int_not_equal(sites, select_inode(&lab, "sites"));
	index = select_inode(&lab, "index");
	sites = select_inode(&lab, "sites");
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(100, got.active);
	assert_int_equal(index, select_inode(&lab, "index"));
	assert_int_equal(sites, select_inode(&lab, "sites"));

	lab_enter(&lab, false, PHASE_MERGE); /* only a count is wrong */
	struct err err = {0};
	struct sites *list = lab_sites(&lab);
	sites_get(list, select_fp(0, 0).site)->demand++;
	MUST(state_sites_put(lab.st, list, &err));
	sites_free(&list);
	lab_close(&lab);
	sites = select_inode(&lab, "sites");
	select_all(&lab, &conf);
	assert_int_equal(index, select_inode(&lab, "index"));
	assert_int_not_equal(sites, select_inode(&lab, "sites"));
	lab_free(&lab);
}

/* A crawl of n gathered pages on two sites, of which site 0 has `some`, and may have none. */
static struct selected brake_at(const char *name, uint64_t n, uint64_t some, bool brake)
{
	struct lab lab;
	struct err err = {0};
	struct selected got;
	struct crawl_conf conf = lab_conf();
	struct index_item *items = calloc(n, sizeof *items);
	conf.site_max = conf.active_max = conf.remember_max = 1000000;
	conf.dead_site_limit = 1;
	conf.hard_limit_factor = 100000;
	for (uint64_t i = 0; i < n; i++)
		items[i] = select_item(i <= some ? 0 : 1, i, ITEM_GATHERED, 96);
	select_make(&lab, name, items, n, 2);
	free(items);
	select_set_site(&lab, 0, (struct site){.error_cycles = 255, .failed_s = NOW_S});
	ino_t index = select_inode(&lab, "index"), sites = select_inode(&lab, "sites");
	CLEANUP(select_done) struct crawl c = lab_crawl(&conf);
	lab_enter(&lab, false, PHASE_SELECT);
	MUST(crawl_select(lab.st, &c, brake, &got, &err));
	assert_int_equal(n, got.gathered);
	assert_int_equal(some, got.lost);
	assert_int_equal(some, got.sleeps[LIMIT_DEAD]);
	assert_int_equal(some, got.lost_by[LIMIT_DEAD]);
	assert_int_equal(got.braked, index == select_inode(&lab, "index"));
	assert_int_equal(got.braked, sites == select_inode(&lab, "sites"));
	MUST(state_checkpoint(lab.st, NULL, PLAY_START, &err));
	struct record_reader *r = NULL;
	struct record record;
	uint64_t told = 0;
	if (state_read(lab.st, "changes", &r, &err) == 0)
		while (record_next(r, &record, &err) == 0)
			told++;
	record_reader_free(&r);
	assert_int_equal(got.braked ? 0 : some, told);
	lab_free(&lab);
	return got;
}

static void the_brake_holds_beyond_its_share_and_a_thousand(void **state)
{
	(void)state;
	assert_false(brake_at("brake-share", 10000, 1000, true).braked); /* 10 % are not more */
	assert_true(brake_at("brake-more", 10000, 1001, true).braked);
	assert_false(brake_at("brake-off", 10000, 1001, false).braked);
	assert_false(brake_at("brake-few", 1100, 999, true).braked);
	assert_true(brake_at("brake-least", 1100, 1000, true).braked);
}

/* Says yes at the last of so many questions. */
static bool is_out_of_patience(void *ctx)
{
	unsigned *left = ctx;
	return (*left)-- <= 1;
}

static void a_select_that_is_stopped_has_written_nothing(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	struct selected got;
	unsigned stopped = 0;
	enum { N = 9000 };
	conf.site_max = 100;
	make_many(&lab, "stopped", N);
	ino_t index = select_inode(&lab, "index"), sites = select_inode(&lab, "sites");
	lab_enter(&lab, false, PHASE_SELECT);
	for (;; stopped++) {
		unsigned left = stopped + 1;
		CLEANUP(select_done) struct crawl c = lab_crawl(&conf);
		c.stopped = is_out_of_patience;
		c.ctx = &left;
		assert_int_equal(index, select_inode(&lab, "index"));
		assert_int_equal(sites, select_inode(&lab, "sites"));
		int rc = crawl_select(lab.st, &c, true, &got, &err);
		assert_true(rc >= 0);
		if (rc == 0)
			break;
	}
	assert_true(stopped > 6); /* in both passes and on the walk */
	assert_int_equal(100, got.active);
	assert_int_not_equal(index, select_inode(&lab, "index"));
	lab_free(&lab);
}

static void an_empty_crawl_is_left_as_it_is(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	lab_make(&lab, "empty", NULL, 0, NULL, 0);
	struct selected got = select_all(&lab, &conf);
	assert_int_equal(0, got.active + got.sites_gone + got.gathered);
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_site_keeps_its_best_and_no_more),
		cmocka_unit_test(of_equal_weights_the_lower_footprint_stays),
		cmocka_unit_test(what_is_sacred_stays_and_counts),
		cmocka_unit_test(robots_txt_is_no_page),
		cmocka_unit_test(a_redirect_that_leads_nowhere_for_long_becomes_a_zombie),
		cmocka_unit_test(a_gathered_page_gives_way_only_to_one_that_is_worth_more),
		cmocka_unit_test(the_first_limit_that_binds_is_named_and_hard_ones_go_first),
		cmocka_unit_test(each_limit_binds_exactly),
		cmocka_unit_test(a_measured_rate_and_measured_sizes_count),
		cmocka_unit_test(sites_of_one_server_share_what_it_can_give),
		cmocka_unit_test(a_site_may_have_a_limit_of_its_own),
		cmocka_unit_test(a_dead_site_has_another_limit_until_its_time_is_over),
		cmocka_unit_test(pages_that_the_index_has_weighed_are_not_fresh),
		cmocka_unit_test(what_slept_wakes_up_when_there_is_room),
		cmocka_unit_test(frequent_refreshes_have_quotas),
		cmocka_unit_test(the_frequency_follows_stability_and_weight),
		cmocka_unit_test(pages_for_mirrors_and_errors_have_bounds),
		cmocka_unit_test(what_is_gone_is_forgotten_after_its_time),
		cmocka_unit_test(zombies_come_last_and_count_as_remembered),
		cmocka_unit_test(sites_without_urls_go_and_their_keys_are_told),
		cmocka_unit_test(a_gathered_page_that_leaves_is_told_once_with_its_url),
		cmocka_unit_test(nothing_to_do_writes_nothing),
		cmocka_unit_test(the_brake_holds_beyond_its_share_and_a_thousand),
		cmocka_unit_test(a_select_that_is_stopped_has_written_nothing),
		cmocka_unit_test(an_empty_crawl_is_left_as_it_is),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
