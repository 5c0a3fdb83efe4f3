/* Floods: an endless calendar, a site with very many pages, and very many sites on one server. A
 * crawl that takes them in for several cycles stays within its limits after each of them, whatever
 * they offer, and asks their server no more often than its room allows. The large forms have a
 * million URLs and 100,000 sites, in memory that is bounded, too. */
#include "base/hash.h"
#include "disk/tree.h"
#include "shepherd/code.h"
#include "state/plan.h"
#include "unit/shepherd/crawl_lab.h"

#include <stdio.h>

enum { CYCLE_S = 100, SEED = 1 };

struct flood {
	struct play p;
	const char *folder;
	qkey server;      /* which all of it comes from */
	uint64_t planned; /* of it, in the last plan */
};

static void flood_begin(struct flood *f, const char *name, struct str rules)
{
	const struct filter_defaults defaults = {.follow_all = true};
	const struct qkey_addr server = {.b = {192, 0, 2, 1}};
	struct err err = {0};
	f->folder = scratch(name);
	MUST(states_init(f->folder, 0, PLAY_START, &err));
	MUST(play_open(&f->p, f->folder, PLAY_START, NULL, &err));
	filter_free(&f->p.filter);
	MUST(filter_parse(rules, "filter", &defaults, &f->p.filter, &err));
	f->p.conf.cycle_us = CYCLE_S * US_PER_S;
	f->p.conf.sort_memory = unit_thorough() ? 16 << 20 : 1 << 16; /* sorts spill */
	f->p.conf.safety_brake_limit = 100;
	f->server = qkey_of(&server, 0);
}

static void flood_end(struct flood *f)
{
	struct err err = {0};
	play_close(&f->p);
	MUST(tree_remove(f->folder, &err)); /* the large ones are large */
}

/* A page was found: the number-th of all, with some weight. */
static void flood_page(struct flood *f, uint8_t flags, uint64_t number, const char *text)
{
	struct err err = {0};
	char room[URL_MAX];
	struct url url;
	assert_int_equal(0, url_parse(str_of(text), NULL, room, sizeof room, &url));
	const struct contrib c = {.fp = footprint_of(&url),
				  .flags = flags,
				  .weight = (uint8_t)(20 + hash_u64(number) % 200),
				  .from = flags & ITEM_INITIAL ? (struct footprint){0}
							       : play_footprint(0),
				  .url = str_of(text)};
	MUST(state_contrib(f->p.st, &c, NULL, &err));
}

static void flood_gather(struct flood *f, const struct plan_site *site, size_t i)
{
	struct err err = {0};
	const struct journal_entry e = {.fp = site->entry[i].fp,
					.time_us = f->p.now_us,
					.op = CHANGE_UPDATE,
					.type = ITEM_GATHERED,
					.code = CODE_OK,
					.where = ITEM_NOWHERE,
					.url = STR("-")};
	const struct journal_entry key = journal_of_key(e.fp.site, f->server, e.time_us);
	MUST(state_journal(f->p.st, &e, &err));
	MUST(state_journal(f->p.st, &key, &err));
}

/* A cycle begins, and all that is planned is gathered. */
static void flood_reap(struct flood *f)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(256 << 20);
	struct play *p = &f->p;
	struct err err = {0};
	struct planned planned;
	struct counted_reader in;
	struct plan_site site;
	p->now_us += US_PER_DAY;
	f->planned = 0;
	MUST(play_next(p, false, &err));
	MUST(state_enter(p->st, PHASE_PLAN, NULL, p->now_us, &err));
	const struct crawl c = play_crawl(p);
	MUST(crawl_plan(p->st, &c, true, &planned, &err));
	MUST(state_enter(p->st, PHASE_REAP, NULL, p->now_us, &err));
	MUST(plan_open(&in, state_path(p->st, &arena, "plan"), &err));
	while (plan_next(&in, &arena, &site, &err) == 0) {
		size_t first = site.n && site.entry[0].flags & PLAN_ROBOTS;
		f->planned += site.qkey == f->server ? site.n - first : 0;
		for (size_t i = first; i < site.n; i++)
			flood_gather(f, &site, i);
		arena_clear(&arena);
	}
	counted_close(&in);
}

/* What was found goes through the modules; then nothing but the last two states is kept. */
static void flood_merge(struct flood *f)
{
	const struct states_keep keep = {.closed = 1, .gone_us = US_PER_S};
	struct err err = {0};
	unsigned deleted;
	MUST(play_checkpoint(&f->p, &err));
	MUST(play_cork(&f->p, &err));
	MUST(play_merge(&f->p, &err));
	state_free(&f->p.st);
	MUST(states_audit(f->p.s, &keep, f->p.now_us + US_PER_DAY, &deleted, &err));
}

/* What the index has now, but for key items and what was given by hand. */
struct flooded {
	uint64_t active, sleeping;               /* all */
	uint64_t server_active, server_sleeping; /* of sites that are known to be on the server */
};

static struct flooded flood_count(struct flood *f)
{
	struct err err = {0};
	struct state *st = NULL;
	const struct url_index *index;
	struct url_index_scan *scan = NULL;
	struct index_item item;
	struct sites_scan *sites = NULL;
	const struct site *site;
	struct flooded sum = {0};
	MUST(state_open(&st, f->p.s, "current", &err));
	MUST(state_index(st, &index, &err));
	MUST(url_index_scan(&scan, index, (struct footprint){0}, &err));
	MUST(state_sites_scan(st, &sites, &err));
	while (url_index_next(scan, &item, &err) == 0) {
		if (item.type == ITEM_QKEY || item.flags & ITEM_SACRED)
			continue;
		MUST(sites_scan_find(sites, item.fp.site, &site, &err));
		bool sleeps = item.type == ITEM_SLEEPING, there = site->qkey == f->server;
		assert_true(sleeps || item.type == ITEM_NEW || item.type == ITEM_GATHERED);
		sum.active += !sleeps;
		sum.sleeping += sleeps;
		sum.server_active += there && !sleeps;
		sum.server_sleeping += there && sleeps;
	}
	sites_scan_free(&sites);
	url_index_scan_free(&scan);
	state_free(&st);
	return sum;
}

/* The most memory that this process ever had. The sanitizers have more of their own. */
static void memory_is_below(uint64_t megabytes)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	uint64_t most = 0;
	char line[256];
	FILE *in = fopen("/proc/self/status", "r");
	assert_non_null(in);
	while (fgets(line, sizeof line, in))
		(void)!sscanf(line, "VmHWM: %" SCNu64 " kB", &most);
	fclose(in);
	assert_true(most > 0);
	if (most > megabytes << 10)
		fail_msg("%" PRIu64 " MB of memory were used", most >> 10);
#else
	(void)megabytes;
#endif
}

/* One site that has ever more pages: active and known ones stay within its limits. */
static void flood_of_pages(const char *name, uint64_t cycles, uint64_t at_once, uint32_t limit)
{
	struct flood f;
	char url[128];
	uint64_t number = SEED;
	flood_begin(&f, name, STR(""));
	f.p.conf.site_max = limit;
	for (uint64_t cycle = 0; cycle < cycles; cycle++) {
		flood_reap(&f);
		/* one connection, ten seconds from one request to the next */
		assert_true(f.planned <= CYCLE_S / 10);
		assert_true(cycle < 2 || f.planned > 0);
		if (cycle == 0)
			flood_page(&f, ITEM_INITIAL, 0, "http://calendar.example/");
		for (uint64_t i = 0; i < at_once; i++, number++) {
			snprintf(url, sizeof url, "http://calendar.example/day?n=%" PRIu64, number);
			flood_page(&f, 0, number, url);
		}
		flood_merge(&f);
		struct flooded now = flood_count(&f);
		/* the page by hand counts, and the limits are all used */
		assert_int_equal(limit - SEED, now.active);
		assert_int_equal(2 * limit - SEED, now.active + now.sleeping);
	}
	flood_end(&f);
}

static void an_endless_calendar_stays_within_the_limit_of_its_site(void **state)
{
	(void)state;
	flood_of_pages("calendar", unit_thorough() ? 20 : 4, unit_thorough() ? 50000 : 1000, 100);
}

static void a_site_with_very_many_pages_stays_within_its_limit(void **state)
{
	(void)state;
	bool all = unit_thorough();
	flood_of_pages("pages", 2, all ? 1000000 : 3000, all ? 50000 : 500);
	memory_is_below(256);
}

/* Pages of ever more sites, each of which is within its own limit. */
static void many_sites_stay_within_the_limit_of_all(void **state)
{
	(void)state;
	struct flood f;
	char url[128];
	uint64_t at_once = unit_thorough() ? 100000 : 1500, number = SEED;
	flood_begin(&f, "all", STR(""));
	f.p.conf.active_max = (int64_t)at_once / 2;
	f.p.conf.remember_max = (int64_t)at_once / 4;
	f.p.conf.plan_max = 100;
	for (unsigned cycle = 0; cycle < 4; cycle++) {
		flood_reap(&f);
		for (uint64_t i = 0; i < at_once; i++, number++) {
			snprintf(url, sizeof url, "http://s%" PRIu64 ".example/", number);
			flood_page(&f, 0, number, url);
		}
		flood_merge(&f);
		struct flooded now = flood_count(&f);
		assert_int_equal(f.p.conf.active_max, now.active);
		assert_int_equal(f.p.conf.remember_max, now.sleeping);
	}
	memory_is_below(256);
	flood_end(&f);
}

/* All sites that are known are on the one server. */
static void flood_resolve(struct flood *f)
{
	struct err err = {0};
	struct sites *sites = NULL;
	MUST(play_next(&f->p, false, &err));
	MUST(state_sites(f->p.st, &sites, &err));
	struct site *const *all = sites_sorted(sites);
	for (size_t i = 0; i < sites_count(sites); i++)
		all[i]->qkey = f->server;
	MUST(state_sites_put(f->p.st, sites, &err));
	MUST(state_enter(f->p.st, PHASE_CLOSED, NULL, f->p.now_us, &err));
	sites_free(&sites);
	state_free(&f->p.st);
}

/* By the rule of the sample file a server with more than 1,000 sites may be asked every second;
 * what it can give in the time `refresh` is the limit of its URLs. Sites that lost all of theirs
 * come again, and are not known to be on it before they were asked. */
static void very_many_sites_on_one_server_share_its_room(void **state)
{
	(void)state;
	struct flood f;
	char url[128];
	uint64_t sites = unit_thorough() ? 100000 : 2000, number = SEED;
	uint64_t limit = sites * 3 / 4; /* frequent_factor is a quarter */
	flood_begin(&f, "server", STR("key_sites > 1000: min_delay=1s\n"));
	f.p.conf.refresh_us = (int64_t)sites * US_PER_S;
	f.p.conf.plan_max = 2000;
	for (unsigned cycle = 0; cycle < 4; cycle++) {
		flood_reap(&f);
		if (cycle > 1)
			assert_true(f.planned > CYCLE_S / 10); /* more than of another server */
		assert_true(f.planned <= CYCLE_S);
		for (uint64_t i = 0; i < 2 * sites; i++, number++) {
			snprintf(url, sizeof url, "http://s%" PRIu64 ".example/%" PRIu64, i / 2,
				 number);
			flood_page(&f, 0, number, url);
		}
		flood_merge(&f);
		struct flooded now = flood_count(&f);
		if (cycle > 0) {
			assert_int_equal(limit, now.server_active);
			assert_int_equal(2 * limit, now.server_active + now.server_sleeping);
		}
		flood_resolve(&f);
	}
	memory_is_below(256);
	flood_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_endless_calendar_stays_within_the_limit_of_its_site),
		cmocka_unit_test(a_site_with_very_many_pages_stays_within_its_limit),
		cmocka_unit_test(many_sites_stay_within_the_limit_of_all),
		cmocka_unit_test(very_many_sites_on_one_server_share_its_room),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
