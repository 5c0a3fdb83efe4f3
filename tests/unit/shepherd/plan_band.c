/* The bands of plan: each row of doc/cycle.md, on both sides of its threshold. */
#include "shepherd/plan_band.h"

#include "state/plan.h"
#include "unit/shepherd/crawl_lab.h"

#define RC ((int64_t)REFRESH_S)
#define NOT_DUE PLAN_BANDS

/* A URL that was seen so long ago, and what becomes of it. */
struct row {
	const char *what;
	struct index_item item; /* last_seen_s is set by age_s */
	int64_t age_s;
	uint32_t rnd;
	int64_t refresh_s, anticipated_s; /* 0: 30 days; never */
	unsigned band;
	int64_t priority; /* of NOT_DUE: seconds from now until it is due */
};

#define GATHERED .item.type = ITEM_GATHERED
#define NEW .item.type = ITEM_NEW
static const struct row rows[] = {
	{"regather", GATHERED, .item.flags = ITEM_REGATHER, .age_s = 100, .band = BAND_REGATHER,
	 .priority = 4000000100},
	{"regather, however old", GATHERED, .item.flags = ITEM_REGATHER, .age_s = NOW_S,
	 .band = BAND_REGATHER, .priority = 4294000000},
	{"regather, whatever its due says", GATHERED, .item.flags = ITEM_REGATHER,
	 .item.due_s = NOW_S + 77, .age_s = 5, .band = BAND_REGATHER, .priority = 4000000005},
	{"an error that is given by hand and to be regathered", .item.type = ITEM_ERROR,
	 .item.flags = ITEM_REGATHER | ITEM_INITIAL, .age_s = 5, .band = BAND_REGATHER,
	 .priority = 4000000005},
	{"new, after a failure", NEW, .item.due_s = NOW_S + 77, .age_s = 3, .band = NOT_DUE,
	 .priority = 77},
	{"new, with a due that is over", NEW, .item.due_s = NOW_S, .age_s = 0, .band = BAND_NEW,
	 .priority = 1200000000},
	{"due in a refresh cycle", GATHERED, .item.due_s = NOW_S + REFRESH_S, .age_s = 2 * RC,
	 .band = NOT_DUE, .priority = REFRESH_S},
	{"due later than can be", GATHERED, .item.due_s = NOW_S + REFRESH_S + 1, .age_s = RC,
	 .band = BAND_REFRESH, .priority = 1500324000},
	{"new by hand, a refresh cycle old", NEW, .item.flags = ITEM_INITIAL, .item.weight = 96,
	 .age_s = RC, .band = BAND_HAND, .priority = 1411943750},
	{"new, older than counts", NEW, .item.weight = 255, .age_s = 10 * RC, .band = BAND_NEW,
	 .priority = 1230187500},
	{"new, since today", NEW, .item.weight = 1, .item.since_day = NOW_S / DAY_S, .age_s = RC,
	 .band = BAND_NEW,
	 .priority = 1200100000 + NOW_S % DAY_S * INT64_C(5000000) / (2 * RC + 4 * DAY_S)},
	{"new, seen in the future", NEW, .age_s = -1, .band = BAND_NEW, .priority = 1202343750},
	{"1.5 refresh cycles old", GATHERED, .age_s = RC * 3 / 2, .band = BAND_OVERAGED,
	 .priority = 1903888000},
	{"nearly so", GATHERED, .age_s = RC * 3 / 2 - 1, .band = BAND_REFRESH,
	 .priority = 1500485999},
	{"never seen", GATHERED, .age_s = NOW_S, .band = BAND_OVERAGED, .priority = 1990000000},
	{"half of an odd refresh cycle", GATHERED, .age_s = 10, .refresh_s = 7,
	 .band = BAND_REFRESH, .priority = 1500000001},
	{"and a second more", GATHERED, .age_s = 11, .refresh_s = 7, .band = BAND_OVERAGED,
	 .priority = 1900000011},
	{"a refresh cycle old", GATHERED, .age_s = RC, .band = BAND_REFRESH,
	 .priority = 1500324000},
	{"nearly so", GATHERED, .age_s = RC - 1, .band = NOT_DUE, .priority = 1},
	{"the same, by chance", GATHERED, .age_s = RC - 1, .rnd = 5, .band = BAND_REFRESH,
	 .priority = 1500324000},
	{"chance is less than an eighth", GATHERED, .age_s = RC - 1, .rnd = REFRESH_S / 8,
	 .band = NOT_DUE, .priority = 1},
	{"as much as counts", GATHERED, .item.freq = 255, .age_s = 47303999,
	 .refresh_s = 365 * DAY_S, .band = BAND_REFRESH, .priority = 1599000000},
	{"twelve times, a third of that counts as four", GATHERED, .item.freq = 12, .age_s = RC / 4,
	 .band = BAND_REFRESH, .priority = 1500324000},
	{"twice", GATHERED, .item.freq = 2, .age_s = RC / 2, .band = BAND_FREQUENT,
	 .priority = 1000324000},
	{"three times, as much as counts of that", GATHERED, .item.freq = 3, .age_s = RC / 3,
	 .band = BAND_FREQUENT, .priority = 1000324000},
	{"seven seconds in three parts: not yet", GATHERED, .item.freq = 3, .age_s = 2,
	 .refresh_s = 7, .band = NOT_DUE, .priority = 1},
	{"ten days, anticipated", GATHERED, .age_s = 10 * DAY_S, .anticipated_s = 10 * DAY_S,
	 .band = BAND_ANTICIPATED, .priority = 864000},
	{"nearly so", GATHERED, .age_s = 10 * DAY_S - 3, .anticipated_s = 10 * DAY_S,
	 .band = NOT_DUE, .priority = 3},
	{"seen in the future", GATHERED, .age_s = -1000, .band = BAND_REFRESH,
	 .priority = 1500324000},
	{"an error that is given by hand", .item.type = ITEM_ERROR, .item.flags = ITEM_INITIAL,
	 .age_s = RC, .band = BAND_REFRESH, .priority = 1500324000},
};

static void each_row_gives_its_priority(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		struct crawl_conf conf = lab_conf();
		struct index_item item = r->item;
		struct plan_verdict v;
		conf.refresh_us = (r->refresh_s ? r->refresh_s : RC) * US_PER_S;
		conf.anticipated_us = r->anticipated_s * US_PER_S;
		struct crawl c = {.conf = &conf, .cycle_us = US_PER_S, .now_us = PLAY_START};
		struct plan_clock clock = plan_clock_of(&c, &(struct state_params){0});
		clock.seed = 0;
		item.fp = (struct footprint){UINT64_C(0xabcd0123) << 32 | 1,
					     (UINT64_C(0xabcd0123) ^ r->rnd) << 32 | 2};
		item.last_seen_s = (uint32_t)(NOW_S - r->age_s);
		assert_true(plan_may_gather(&item));
		plan_judge(&clock, &item, &v);
		int64_t got = v.band == NOT_DUE ? v.due_s - NOW_S : (int64_t)v.priority;
		if (v.band != r->band || got != r->priority)
			fail_msg("%s: band %u, %" PRId64 "; not band %u, %" PRId64, r->what, v.band,
				 got, r->band, r->priority);
	}
}

static void ages_are_spread_over_a_quarter_of_the_cycle(void **state)
{
	(void)state;
	struct crawl_conf conf = lab_conf();
	struct crawl c = {.conf = &conf, .cycle_us = 400 * US_PER_S, .now_us = PLAY_START};
	struct plan_clock clock = plan_clock_of(&c, &(struct state_params){.created_us = 5});
	struct plan_clock other = plan_clock_of(&c, &(struct state_params){.created_us = 6});
	assert_int_not_equal(clock.seed, other.seed);
	struct index_item item = {
		.type = ITEM_GATHERED, .flags = ITEM_REGATHER, .last_seen_s = NOW_S};
	bool seen[100] = {false};
	for (uint64_t i = 0; i < 2000; i++) {
		struct plan_verdict v;
		item.fp.path = i << 32;
		plan_judge(&clock, &item, &v);
		assert_in_range(v.priority, 4000000000, 4000000099);
		seen[v.priority - 4000000000] = true;
	}
	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		assert_true(seen[i]);
}

static void servers_and_sites_raise_what_is_in_the_middle(void **state)
{
	(void)state;
	static const struct {
		uint32_t priority;
		bool tight;
		uint32_t bonus;
		uint32_t raised;
	} cases[] = {
		{999999999, true, 7, 999999999},
		{1000000000, true, 0, 2000000000},
		{1000000000, false, 7, 1000000007},
		{1999999999, true, 7, 3000000006},
		{1999999999, true, 2000000000, 3999999999},
		{1200000000, false, 4000000000, 3200000000},
		{4000000000, true, 7, 4000000000},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(cases[i].raised,
				 plan_raise(cases[i].priority, cases[i].tight, cases[i].bonus));
}

static void most_types_are_never_gathered(void **state)
{
	(void)state;
	for (int type = 0; type < ITEM_TYPES; type++)
		for (unsigned flags = 0; flags < 256; flags++) {
			bool nowhere = flags & 128, page = !(flags & ITEM_ROBOTS);
			bool again = nowhere || flags & (ITEM_INITIAL | ITEM_EQUIV);
			struct index_item item = {
				.type = type, .flags = flags & 127, .no_target = nowhere};
			assert_int_equal(page && (type == ITEM_NEW || type == ITEM_GATHERED ||
						  (type == ITEM_ERROR && again)),
					 plan_may_gather(&item));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_gives_its_priority),
		cmocka_unit_test(ages_are_spread_over_a_quarter_of_the_cycle),
		cmocka_unit_test(servers_and_sites_raise_what_is_in_the_middle),
		cmocka_unit_test(most_types_are_never_gathered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
