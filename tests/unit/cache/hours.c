/* Hours and slots: lists, what they allow, and when next. */
#include "unit/unit.h"

#include "cache/hours.h"

static struct err err;

/* Monday, 5 January 2026, 0:00 UTC */
#define MONDAY (INT64_C(20458) * US_PER_DAY)

static struct hours list(const char *text, int period)
{
	struct hours h;
	if (hours_parse(str_of(text), period, &h, &err) != 0)
		fail_msg("%s", err.msg);
	return h;
}

static bool allowed(const char *text, int period, int hour)
{
	struct hours h = list(text, period);
	return hours_allow(&h, MONDAY + hour * US_PER_H + 17);
}

static void test_what_a_list_allows(void **state)
{
	(void)state;
	assert_true(allowed("", HOURS_DAY, 3));
	assert_true(allowed("0-8", HOURS_DAY, 0));
	assert_true(allowed("0-8", HOURS_DAY, 7));
	assert_false(allowed("0-8", HOURS_DAY, 8));
	assert_true(allowed("0-8", HOURS_DAY, 24 * 6 + 7));
	assert_false(allowed("!9-17", HOURS_DAY, 9));
	assert_true(allowed("!9-17", HOURS_DAY, 17));
	assert_true(allowed("22-6", HOURS_DAY, 23));
	assert_true(allowed("22-6", HOURS_DAY, 5));
	assert_false(allowed("22-6", HOURS_DAY, 6));
	assert_true(allowed("0-12, !3-4", HOURS_DAY, 2));
	assert_false(allowed("0-12, !3-4", HOURS_DAY, 3));
	assert_false(allowed("0-12, !3-4", HOURS_DAY, 13));
	assert_true(allowed("0-24", HOURS_DAY, 23));
	assert_true(allowed("144-168", HOURS_WEEK, 6 * 24));
	assert_false(allowed("144-168", HOURS_WEEK, 5 * 24 + 23));
	assert_true(allowed("160-10", HOURS_WEEK, 9));
}

static void test_what_is_not_a_list_is_refused(void **state)
{
	(void)state;
	static char many[HOURS_TEXT_MAX + 8];
	const char *const bad[] = {"8",        "8-",   "-8",    "8-25",  "24-1", "3-3",
				   "a-b",      "1-2,", ",1-2",  "1--2",  "!",    "!0-24",
				   "0-8,!0-8", " ",    "1-2-3", "!!1-2", "1 2",  "0-8;9-10"};
	struct hours h;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (hours_parse(str_of(bad[i]), HOURS_DAY, &h, &err) == 0)
			fail_msg("'%s' is taken", bad[i]);
		assert_int_equal(err.code, ERR_USAGE);
	}
	assert_int_equal(hours_parse(STR("0-169"), HOURS_WEEK, &h, &err), -1);
	for (size_t i = 0; i <= HOURS_TEXT_MAX - 3; i += 4)
		memcpy(many + i, "1-2,", 5);
	many[strlen(many) - 1] = 0;
	assert_int_equal(hours_parse(str_of(many), HOURS_DAY, &h, &err), 0);
	memcpy(many + strlen(many), ",1-2", 5);
	assert_int_equal(hours_parse(str_of(many), HOURS_DAY, &h, &err), -1);
}

static void test_a_list_of_the_week_holds_when_the_period_is_a_day(void **state)
{
	(void)state;
	struct hours h = hours_kept(STR("100-120"), HOURS_DAY);
	assert_false(hours_allow(&h, MONDAY + 99 * US_PER_H));
	assert_true(hours_allow(&h, MONDAY + 100 * US_PER_H));
	h = hours_kept(STR("0-8"), HOURS_DAY);
	assert_true(hours_allow(&h, MONDAY + 31 * US_PER_H));
	assert_false(hours_allow(&h, MONDAY + 32 * US_PER_H));
	h = hours_kept(STR("no list"), HOURS_DAY);
	assert_memory_equal(&h, &hours_any, sizeof h);
}

static void test_a_list_over_midnight_is_two(void **state)
{
	(void)state;
	const struct hours night = list("22-6", HOURS_DAY), two = list("0-6,22-24", HOURS_DAY);
	assert_memory_equal(&night, &two, sizeof night);
}

static void test_both_must_allow_it(void **state)
{
	(void)state;
	struct hours a = list("0-8", HOURS_DAY), b = list("6-12", HOURS_DAY),
		     c = list("9-12", HOURS_DAY);
	struct hours both = hours_both(&a, &b), none = hours_both(&a, &c);
	assert_true(hours_allow(&both, MONDAY + 7 * US_PER_H));
	assert_false(hours_allow(&both, MONDAY + 5 * US_PER_H));
	assert_true(hours_none(&none));
	assert_false(hours_none(&both));
	assert_int_equal(hours_next_us(&none, MONDAY), -1);
}

static void test_when_it_is_allowed_next(void **state)
{
	(void)state;
	struct hours h = list("3-4", HOURS_DAY), week = list("0-1", HOURS_WEEK);
	assert_int_equal(hours_next_us(&h, MONDAY + 5), MONDAY + 3 * US_PER_H);
	assert_int_equal(hours_next_us(&h, MONDAY + 3 * US_PER_H + 5), MONDAY + 3 * US_PER_H + 5);
	assert_int_equal(hours_next_us(&h, MONDAY + 4 * US_PER_H), MONDAY + 27 * US_PER_H);
	assert_int_equal(hours_next_us(&week, MONDAY + US_PER_H), MONDAY + 7 * US_PER_DAY);
}

static void test_slots_cut_the_period(void **state)
{
	(void)state;
	int64_t quarter = US_PER_H / 4, at = MONDAY + 50 * US_PER_H + 20 * US_PER_MIN;
	assert_int_equal(hours_slot(at, US_PER_H, HOURS_DAY), 2);
	assert_int_equal(hours_slot(at, US_PER_H, HOURS_WEEK), 50);
	assert_int_equal(hours_slot(at, quarter, HOURS_DAY), 9);
	assert_int_equal(hours_slot_next_us(2, at, US_PER_H, HOURS_DAY), at);
	assert_int_equal(hours_slot_next_us(3, at, US_PER_H, HOURS_DAY), MONDAY + 51 * US_PER_H);
	assert_int_equal(hours_slot_next_us(1, at, US_PER_H, HOURS_DAY), MONDAY + 73 * US_PER_H);
	assert_int_equal(hours_slot_next_us(49, at, US_PER_H, HOURS_WEEK),
			 MONDAY + (49 + 168) * US_PER_H);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_list_allows),
		cmocka_unit_test(test_what_is_not_a_list_is_refused),
		cmocka_unit_test(test_a_list_of_the_week_holds_when_the_period_is_a_day),
		cmocka_unit_test(test_a_list_over_midnight_is_two),
		cmocka_unit_test(test_both_must_allow_it),
		cmocka_unit_test(test_when_it_is_allowed_next),
		cmocka_unit_test(test_slots_cut_the_period),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
