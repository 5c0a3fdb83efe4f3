/* plan: which URLs are due, and which of them the next cycle gathers. */
#include "state/plan.h"

#include "unit/shepherd/crawl_lab.h"

enum { ROOM = 512 };

struct seen {
	struct plan_entry entry[ROOM]; /* as the plan has them */
	size_t n, sites;
};

static void read_plan(struct lab *lab, struct seen *ret)
{
	struct err err = {0};
	struct plan_reader *r = NULL;
	struct plan_site site;
	int rc;
	*ret = (struct seen){0};
	MUST(plan_open(&r, state_path(lab->st, &lab->arena, "plan"), &err));
	while ((rc = plan_next(r, &lab->arena, &site, &err)) == 0) {
		assert_true(site.n > 0 && ret->n + site.n <= ROOM);
		for (size_t i = 0; i < site.n; i++) {
			assert_int_equal(site.fp, site.entry[i].fp.site);
			ret->entry[ret->n++] = site.entry[i];
		}
		ret->sites++;
	}
	assert_int_equal(1, rc);
	plan_close(&r);
}

static bool has_plan(struct lab *lab)
{
	return access(state_path(lab->st, &lab->arena, "plan"), F_OK) == 0;
}

static struct planned plan(struct lab *lab, const struct crawl_conf *conf, int64_t delay_us,
			   struct seen *ret)
{
	struct err err = {0};
	struct planned planned = {0}, looked = {0};
	lab_enter(lab, false, PHASE_PLAN);
	struct crawl c = lab_crawl(conf);
	c.delay_us = delay_us;
	MUST(crawl_plan(lab->st, &c, false, &looked, &err));
	assert_false(has_plan(lab));
	MUST(crawl_plan(lab->st, &c, true, &planned, &err));
	assert_int_equal(looked.urls, planned.urls); /* who only looks sees the same */
	assert_int_equal(looked.next_s, planned.next_s);
	read_plan(lab, ret);
	assert_int_equal(planned.urls, ret->n);
	return planned;
}

static const struct plan_entry *entry_of(const struct seen *seen, uint64_t page)
{
	struct footprint fp = play_footprint(page);
	for (size_t i = 0; i < seen->n; i++)
		if (footprint_cmp(seen->entry[i].fp, fp) == 0)
			return &seen->entry[i];
	return NULL;
}

static void what_is_due_is_planned_and_the_rest_waits(void **state)
{
	(void)state;
	struct lab lab;
	struct seen seen;
	struct crawl_conf conf = lab_conf();
	enum { NEW, OLD, FRESH, ZOMBIE, HAND, LOST, LATER, TWICE, AGAIN, SLEEPING, ALL };
	struct index_item items[ALL];
	for (size_t i = 0; i < ALL; i++)
		items[i] = lab_item(i, ITEM_GATHERED);
	items[NEW].type = items[LATER].type = ITEM_NEW;
	items[LATER].retry = 1;
	items[LATER].due_s = NOW_S + 77;
	items[OLD].last_seen_s = NOW_S - REFRESH_S;
	items[FRESH].last_seen_s = NOW_S - REFRESH_S + 1000;
	items[ZOMBIE].type = ITEM_ZOMBIE;
	items[HAND].type = items[LOST].type = ITEM_ERROR;
	items[HAND].flags = ITEM_INITIAL;
	items[HAND].last_seen_s = items[LOST].last_seen_s = NOW_S - REFRESH_S;
	items[TWICE].last_seen_s = NOW_S - REFRESH_S / 2;
	items[TWICE].freq = 2;
	items[AGAIN].last_seen_s = NOW_S;
	items[AGAIN].flags = ITEM_REGATHER;
	items[SLEEPING].type = ITEM_SLEEPING;
	lab_make(&lab, "due", items, ALL, (uint64_t[]){0}, 1);
	struct planned planned = plan(&lab, &conf, US_PER_S, &seen);
	assert_int_equal(5, planned.urls);
	assert_int_equal(1, planned.sites);
	assert_int_equal(0, planned.waiting);
	assert_int_equal(NOW_S + 77, planned.next_s);
	assert_int_equal(2, planned.types[ITEM_NEW]);
	assert_int_equal(4, planned.types[ITEM_GATHERED]);
	assert_int_equal(1, planned.types[ITEM_ZOMBIE]);
	assert_null(entry_of(&seen, LOST));
	assert_int_equal(0, entry_of(&seen, NEW)->flags);
	assert_int_equal(PLAN_REFRESH, entry_of(&seen, OLD)->flags);
	assert_int_equal(PLAN_REFRESH, entry_of(&seen, TWICE)->flags);
	assert_int_equal(PLAN_REFRESH, entry_of(&seen, AGAIN)->flags);
	assert_int_equal(ITEM_INITIAL, entry_of(&seen, HAND)->item_flags);
	lab_free(&lab);
}

static void an_empty_crawl_has_an_empty_plan(void **state)
{
	(void)state;
	struct lab lab;
	struct seen seen;
	struct crawl_conf conf = lab_conf();
	lab_make(&lab, "empty", NULL, 0, NULL, 0);
	struct planned planned = plan(&lab, &conf, 0, &seen);
	assert_int_equal(0, planned.urls);
	assert_int_equal(INT64_MAX, planned.next_s);
	lab_free(&lab);
}

static void a_site_gets_no_more_than_it_can_give(void **state)
{
	(void)state;
	struct lab lab;
	struct seen seen;
	struct crawl_conf conf = lab_conf();
	static const char *const own[] = {"site1.example"};
	struct index_item items[100];
	conf.cycle_us = 20 * US_PER_S;
	for (size_t i = 0; i < 100; i++)
		items[i] = lab_item(i, ITEM_NEW);
	lab_make(&lab, "share", items, 100, (uint64_t[]){0, 50}, 2);
	struct planned planned = plan(&lab, &conf, US_PER_S, &seen);
	assert_int_equal(80, planned.urls); /* twice what a cycle has time for, of each */
	assert_int_equal(20, planned.waiting);
	assert_int_equal(2, planned.sites);
	lab_close(&lab);
	planned = plan(&lab, &conf, 3600 * US_PER_S, &seen);
	assert_int_equal(32, planned.urls); /* but a few at least */
	lab_close(&lab);
	conf.no_delay = (struct value_list){own, 1};
	planned = plan(&lab, &conf, US_PER_S, &seen);
	assert_int_equal(90, planned.urls); /* one's own site gives all */
	lab_close(&lab);
	conf.no_delay.n = 0;
	planned = plan(&lab, &conf, 0, &seen);
	assert_int_equal(100, planned.urls);
	lab_free(&lab);
}

static void the_best_go_first_where_not_all_can(void **state)
{
	(void)state;
	struct lab lab;
	struct seen seen;
	struct crawl_conf conf = lab_conf();
	enum { FAILED, OLD, LINKED, HEAVY, HAND, KINDS };
	struct index_item items[KINDS * 10];
	uint64_t sites[KINDS];
	for (size_t i = 0; i < KINDS * 10; i++) {
		uint64_t kind = i / 10;
		items[i] = lab_item(kind * PLAY_PER_SITE + i % 10,
				    kind == OLD ? ITEM_GATHERED : ITEM_NEW);
		items[i].retry = kind == FAILED;
		items[i].due_s = kind == FAILED ? NOW_S - 9999 : 0;
		items[i].flags = kind == HAND ? ITEM_INITIAL : 0;
		items[i].weight = kind == HEAVY ? 255 : 128;
		sites[kind] = kind * PLAY_PER_SITE;
	}
	lab_make(&lab, "best", items, KINDS * 10, sites, KINDS);
	for (unsigned kinds = 1; kinds <= KINDS; kinds++) {
		conf.plan_max = kinds * 10;
		struct planned planned = plan(&lab, &conf, 0, &seen);
		assert_int_equal(kinds * 10, planned.urls);
		assert_int_equal(KINDS * 10 - kinds * 10, planned.waiting);
		assert_int_equal(kinds, planned.sites);
		for (unsigned kind = KINDS - kinds; kind < KINDS; kind++)
			for (uint64_t i = 0; i < 10; i++)
				assert_non_null(entry_of(&seen, kind * PLAY_PER_SITE + i));
		lab_close(&lab);
	}
	conf.plan_max = 1;
	assert_int_equal(1, plan(&lab, &conf, 0, &seen).urls);
	lab_free(&lab);
}

static void within_a_site_the_oldest_go_first(void **state)
{
	(void)state;
	struct lab lab;
	struct seen seen;
	struct crawl_conf conf = lab_conf();
	struct index_item items[40];
	for (uint32_t i = 0; i < 40; i++) {
		items[i] = lab_item(i, ITEM_GATHERED);
		items[i].last_seen_s = NOW_S - REFRESH_S - 3600 * i;
	}
	lab_make(&lab, "age", items, 40, (uint64_t[]){0}, 1);
	plan(&lab, &conf, 3600 * US_PER_S, &seen);
	assert_int_equal(16, seen.n);
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(0, footprint_cmp(seen.entry[i].fp, play_footprint(39 - i)));
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_due_is_planned_and_the_rest_waits),
		cmocka_unit_test(an_empty_crawl_has_an_empty_plan),
		cmocka_unit_test(a_site_gets_no_more_than_it_can_give),
		cmocka_unit_test(the_best_go_first_where_not_all_can),
		cmocka_unit_test(within_a_site_the_oldest_go_first),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
