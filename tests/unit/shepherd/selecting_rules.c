/* select with the rules of a filter: sections with shares and a bonus, and what rules say of sites:
 * limits, select_bonus, refresh_schema, refresh_boost. */
#include "unit/shepherd/select_lab.h"

/* As lab_crawl(), with rules; give it back with select_done(). */
static struct crawl crawl_with(const struct crawl_conf *conf, const char *rules)
{
	struct crawl c = lab_crawl(conf);
	struct filter_defaults defaults = {0};
	struct filter *filter = NULL;
	struct err err = {0};
	select_done(&c);
	MUST(filter_parse(str_of(rules), "rules", &defaults, &filter, &err));
	c.filter = filter;
	return c;
}

static struct selected select_by(struct lab *lab, const struct crawl_conf *conf, const char *rules)
{
	CLEANUP(select_done) struct crawl c = crawl_with(conf, rules);
	struct selected selected = select_with(lab, &c, false);
	lab_close(lab);
	return selected;
}

/* 60 new URLs: 30 on each of two sites, or all on one, of three sections in turn. */
static void make_sixty(struct lab *lab, const char *name, unsigned sites)
{
	struct index_item items[60];
	for (uint64_t i = 0; i < 60; i++) {
		items[i] = select_item((unsigned)(i * sites / 60), i, ITEM_NEW, (uint8_t)(100 + i));
		items[i].section = (uint8_t)(i % 3);
	}
	select_make(lab, name, items, 60, sites);
}

static unsigned count_section(struct lab *lab, unsigned section, enum item_type type)
{
	unsigned n = 0;
	struct index_item item;
	for (uint64_t i = section; i < 60; i += 3)
		n += select_find(lab, 0, i, &item) == 0 && item.type == type;
	return n;
}

static void a_section_has_its_share_of_the_space(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	conf.bucket_file_size = (4096 + 128) * 40;
	make_sixty(&lab, "shares", 1);
	struct selected got =
		select_by(&lab, &conf, "section pages 1\nsection pdf 0.2\nsection images 0\n");
	assert_int_equal(28, got.active);
	assert_int_equal(8, got.sleeps[LIMIT_SECTION]);
	assert_int_equal(4 + 20, got.forgotten[LIMIT_SECTION]);
	assert_int_equal(20, count_section(&lab, 0, ITEM_NEW));
	assert_int_equal(8, count_section(&lab, 1, ITEM_NEW));
	assert_int_equal(8, count_section(&lab, 1, ITEM_SLEEPING));
	assert_int_equal(0,
			 count_section(&lab, 2, ITEM_NEW) + count_section(&lab, 2, ITEM_SLEEPING));
	lab_free(&lab);

	/* sections that are not declared any more are the last one */
	make_sixty(&lab, "shares-fewer", 1);
	got = select_by(&lab, &conf, "section pages 1\nsection other 0.5\n");
	assert_int_equal(40, got.active);
	assert_int_equal(20, got.sleeps[LIMIT_SECTION]);
	lab_free(&lab);
}

/* Numbers that another list gave say nothing: not even a section without any share drops URLs. */
static void sections_of_another_list_do_not_count(void **state)
{
	(void)state;
	static const char *const lists[] = {"pages pdf images", "images pages pdf"};
	struct crawl_conf conf = lab_conf();
	for (size_t i = 0; i < 2; i++) {
		struct lab lab;
		struct err err = {0};
		make_sixty(&lab, i ? "same-list" : "other-list", 1);
		struct state_course course = state_params(lab.st)->course;
		snprintf(course.sections, sizeof course.sections, "%s", lists[i]);
		MUST(state_params_put(lab.st, &course, &err));
		struct selected got = select_by(
			&lab, &conf, "section images 0\nsection pages 1\nsection pdf 1 +50\n");
		assert_int_equal(i ? 20 : 0, got.forgotten[LIMIT_SECTION]);
		assert_int_equal(i ? 40 : 60, got.active);
		lab_free(&lab);
	}
}

static void a_section_may_be_worth_more(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	conf.site_max = 20;
	make_sixty(&lab, "bonus-section", 1);
	select_by(&lab, &conf, "section a 1\nsection b 1 +60\nsection c 1 -200\n");
	assert_int_equal(0, count_section(&lab, 0, ITEM_NEW));
	assert_int_equal(20, count_section(&lab, 1, ITEM_NEW));
	assert_int_equal(20, count_section(&lab, 0, ITEM_SLEEPING));
	assert_int_equal(0, count_section(&lab, 2, ITEM_SLEEPING));
	lab_free(&lab);
}

static void a_rule_sets_the_limits_of_a_site(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	make_sixty(&lab, "rule-limits", 2);
	select_set_site(&lab, 0, (struct site){.limit = 3}); /* a rule goes before it */
	struct selected got = select_by(&lab, &conf,
					"host site0.example: soft_limit=10 hard_limit=12\nhost "
					"site1.example: fresh_limit=7\n");
	assert_int_equal(17, got.active);
	assert_int_equal(2, got.sleeps[LIMIT_SITE]);
	assert_int_equal(18, got.forgotten[LIMIT_SITE]);
	assert_int_equal(7, got.sleeps[LIMIT_FRESH]);
	assert_int_equal(16, got.forgotten[LIMIT_FRESH]);
	lab_free(&lab);
}

static void a_site_with_a_bonus_goes_before_all_others(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[4];
	for (uint64_t i = 0; i < 4; i++)
		items[i] = select_item((unsigned)i % 2, i, ITEM_NEW, i % 2 ? 255 : 1);
	conf.active_max = 2;
	select_make(&lab, "bonus", items, 4, 2);
	select_by(&lab, &conf, "host site0.example: select_bonus=yes\n");
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(i % 2 ? ITEM_SLEEPING : ITEM_NEW,
				 select_get(&lab, (unsigned)i % 2, i).type);
	lab_free(&lab);

	/* but what is sacred goes before them */
	for (uint64_t i = 0; i < 4; i++)
		items[i] = select_item((unsigned)i % 2, i, ITEM_NEW, i % 2 ? 255 : 1);
	items[1].flags = ITEM_INITIAL;
	select_make(&lab, "bonus-sacred", items, 4, 2);
	select_by(&lab, &conf, "host site0.example: select_bonus=yes\n");
	assert_int_equal(ITEM_NEW, select_get(&lab, 1, 1).type);
	assert_int_equal(ITEM_SLEEPING, select_get(&lab, 1, 3).type);
	lab_free(&lab);
}

static void a_rule_sets_how_often_pages_are_refreshed(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[9];
	for (uint64_t i = 0; i < 9; i++) {
		items[i] = select_item((unsigned)(i % 3), i, ITEM_GATHERED, 96);
		items[i].stable_s = items[i].last_seen_s - REFRESH_S / 2;
	}
	select_make(&lab, "schema", items, 9, 3);
	select_by(&lab, &conf,
		  "host site0.example: refresh_boost=4\n"
		  "host site1.example: refresh_schema=9:0.1,5:0.4,3:0.5 refresh_boost=3\n");
	for (uint64_t i = 0; i < 9; i += 3) {
		assert_int_equal(4, select_get(&lab, 0, i).freq);
		assert_int_equal(5, select_get(&lab, 1, i + 1).freq);
		assert_int_equal(2, select_get(&lab, 2, i + 2).freq);
	}
	lab_free(&lab);
}

static void a_server_has_the_longest_delay_of_its_sites(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	conf.refresh_us = 4000 * US_PER_S;
	make_sixty(&lab, "rule-delay", 2);
	for (unsigned i = 0; i < 2; i++)
		select_set_site(&lab, i, (struct site){.qkey = 5});
	struct selected got = select_by(
		&lab, &conf,
		"any: min_delay=1s max_conn=2\nhost site1.example: min_delay=100s max_conn=1\n");
	assert_int_equal(30, got.active); /* 40 requests, a quarter of them for frequent ones */
	assert_int_equal(30, got.sleeps[LIMIT_SERVER]);
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_section_has_its_share_of_the_space),
		cmocka_unit_test(sections_of_another_list_do_not_count),
		cmocka_unit_test(a_section_may_be_worth_more),
		cmocka_unit_test(a_rule_sets_the_limits_of_a_site),
		cmocka_unit_test(a_site_with_a_bonus_goes_before_all_others),
		cmocka_unit_test(a_rule_sets_how_often_pages_are_refreshed),
		cmocka_unit_test(a_server_has_the_longest_delay_of_its_sites),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
