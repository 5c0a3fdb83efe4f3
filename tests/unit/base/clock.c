#include "base/clock.h"

#include "../dice.h"
#include "../unit.h"

#include <stdio.h>
#include <time.h>

static void print_is(int64_t wall_us, int digits, const char *want)
{
	struct buf b CLEANUP(buf_free) = BUF_INIT(100);
	time_print(&b, wall_us, digits);
	assert_string_equal(buf_text(&b), want);
}

static int64_t parsed(const char *text)
{
	int64_t us = -77;
	if (!time_parse(str_of(text), &us))
		fail_msg("not parsed: '%s'", text);
	return us;
}

static void clocks_go_on(void **state)
{
	(void)state;
	int64_t mono = clock_mono_us(), cpu = clock_cpu_us();
	assert_true(clock_wall_us() / US_PER_S - (int64_t)time(NULL) <= 1);
	assert_true((int64_t)time(NULL) - clock_wall_us() / US_PER_S <= 1);
	while (clock_cpu_us() == cpu)
		continue;
	assert_true(clock_mono_us() > mono);
	assert_true(clock_cpu_us() > cpu);
}

static void a_time_in_the_name_of_a_file_has_no_colon_and_all_digits(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(100);
	time_print_name(&b, 1700000000000056);
	assert_string_equal(buf_text(&b), "20231114T221320.000056Z");
}

static void times_are_printed_to_the_digit(void **state)
{
	(void)state;
	print_is(0, 0, "1970-01-01T00:00:00Z");
	print_is(1700000000123456, 0, "2023-11-14T22:13:20Z");
	print_is(1700000000123456, 1, "2023-11-14T22:13:20.1Z");
	print_is(1700000000123456, 3, "2023-11-14T22:13:20.123Z");
	print_is(1700000000123456, 6, "2023-11-14T22:13:20.123456Z");
	print_is(1700000000000001, 3, "2023-11-14T22:13:20.000Z");
	print_is(-1, 6, "1969-12-31T23:59:59.999999Z");
	print_is(-1, 0, "1969-12-31T23:59:59Z");
	print_is(951782400 * US_PER_S, 0, "2000-02-29T00:00:00Z");
	print_is(-62135596800 * US_PER_S, 0, "0001-01-01T00:00:00Z");
	print_is(-62135596800 * US_PER_S - 1, 6, "0000-12-31T23:59:59.999999Z");
	print_is(253402300799 * US_PER_S, 0, "9999-12-31T23:59:59Z");
	print_is(INT64_MAX, 6, "294247-01-10T04:00:54.775807Z");
	print_is(INT64_MIN, 6, "-290308-12-21T19:59:05.224192Z");
}

/* Against the C library, which counts another way: each day of two cycles of the calendar, and days
 * all over the rest. */
static void days_of_ten_thousand_years_are_right(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(100);
	int64_t step = 1;
	for (int64_t s = -62135596800; s <= 253402300799; s += step * 86400) {
		struct tm tm;
		char want[64];
		time_t t = s;
		gmtime_r(&t, &tm);
		step = tm.tm_year >= -301 && tm.tm_year <= 501 ? 1 : 29;
		snprintf(want, sizeof want, "%04d-%02d-%02dT00:00:00Z", tm.tm_year + 1900,
			 tm.tm_mon + 1, tm.tm_mday);
		buf_clear(&b);
		time_print(&b, s * US_PER_S, 0);
		assert_string_equal(buf_text(&b), want);
		int64_t back;
		assert_true(time_parse(buf_str(&b), &back) && back == s * US_PER_S);
	}
}

static void any_microsecond_comes_back(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(100);
	uint64_t seed = 1;
	for (int i = 0; i < 100000; i++) {
		int64_t first = -62135596800 * US_PER_S, span = 315537897600 * US_PER_S, back;
		int64_t us = first + (int64_t)(dice(&seed) % (uint64_t)span);
		buf_clear(&b);
		time_print(&b, us, 6);
		assert_int_equal(b.n, 27);
		assert_true(time_parse(buf_str(&b), &back) && back == us);
	}
}

static void times_are_read_with_offsets_and_fractions(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t us;
	} cases[] = {
		{"1985-04-12T23:20:50.52Z", 482196050520000},
		{"1996-12-19T16:39:57-08:00", 851042397000000},
		{"1937-01-01T12:00:27.87+00:20", -1041337172130000},
		{"1970-01-01T00:00Z", 0},
		{"1970-01-01t01:30+01:30", 0},
		{"1970-01-01 00:00:00z", 0},
		{"1969-12-31T23:59:00-00:01", 0},
		{"1970-01-01T00:00:00-00:00", 0},
		{"1970-01-01T00:00:00.0000019999999999999999999999Z", 1},
		{"1990-12-31T23:59:60Z", 662688000000000},
		{"1990-12-31T15:59:60.5-08:00", 662688000500000},
		{"0001-01-01T00:00:00Z", -62135596800000000},
		{"9999-12-31T23:59:59.999999Z", 253402300799999999},
		{"2000-02-29T00:00:00Z", 951782400000000},
		{"0", 0},
		{"1700000000", 1700000000000000},
		{"9223372036854", 9223372036854000000},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(parsed(cases[i].text), cases[i].us);
}

static void what_is_no_time_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"x",
		"-1",
		"1.5",
		" 0",
		"0 ",
		"9223372036855",
		"99999999999999999999",
		"2023-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z",
		"2023-04-31T00:00:00Z",
		"2023-00-01T00:00:00Z",
		"2023-13-01T00:00:00Z",
		"2023-01-00T00:00:00Z",
		"2023-01-01T24:00:00Z",
		"2023-01-01T00:60:00Z",
		"2023-01-01T00:00:61Z",
		"2023-01-01T00:00:60Z",
		"2023-01-01T12:59:60Z",
		"2023-01-01T23:59:60+00:30",
		"2023-01-01T00:00:00",
		"2023-01-01",
		"2023-01-01T",
		"2023-01-01T00Z",
		"2023-01-01T00:00:00.Z",
		"2023-01-01T00:00.5Z",
		"2023-01-01T00:00:00,5Z",
		"2023-01-01T00:00:00+24:00",
		"2023-01-01T00:00:00+00:60",
		"2023-01-01T00:00:00+0100",
		"2023-01-01T00:00:00+01",
		"2023-01-01T00:00:00ZZ",
		"2023-01-01T00:00:00Z ",
		"2023-1-01T00:00:00Z",
		"23-01-01T00:00:00Z",
		"12023-01-01T00:00:00Z",
		"2023-01-01T00:00:0Z",
		"-023-01-01T00:00:00Z",
		"2023-01-01T+1:00:00Z",
		"2023/01/01T00:00:00Z",
		"2023-01-01T00:00:",
	};
	int64_t us = 5;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (time_parse(str_of(bad[i]), &us))
			fail_msg("taken: '%s'", bad[i]);
	assert_false(time_parse(STR("2023-01-01T00:00:00\0"), &us));
	assert_false(time_parse((struct str){0}, &us));
	assert_int_equal(us, 5);
}

static void a_time_cut_short_anywhere_is_refused(void **state)
{
	(void)state;
	int64_t us;
	struct str s = STR("2023-11-14T22:13:20.123456+01:00");
	for (size_t n = 5; n < s.n; n++) /* "2023" is seconds */
		assert_false(time_parse(str_head(s, n), &us));
	assert_true(time_parse(s, &us));
}

static void durations_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t us;
	} cases[] = {
		{"0", 0},
		{"0s", 0},
		{"90s", 90 * US_PER_S},
		{"1.5h", 90 * US_PER_MIN},
		{"250ms", 250 * US_PER_MS},
		{"1h30min", 90 * US_PER_MIN},
		{"7us", 7},
		{"30d", 30 * US_PER_DAY},
		{"2w", 14 * US_PER_DAY},
		{"0.25s", 250 * US_PER_MS},
		{"1w1d1h1min1s1ms1us", 694861001001},
		{"1.5h30min", 2 * US_PER_H},
		{"0.000001s", 1},
		{"0.0000009s", 0},
		{"1.9us", 1},
		{"007s", 7 * US_PER_S},
		{"0.33333333333333333333333333w", 201599999999},
		{"9223372036854775807us", INT64_MAX},
		{"9223372036854.775807s", INT64_MAX},
		{"15250284w3d4h54s775ms807us", INT64_MAX},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t us = -1;
		if (!duration_parse(str_of(cases[i].text), &us))
			fail_msg("not parsed: '%s'", cases[i].text);
		assert_int_equal(us, cases[i].us);
	}
}

static void what_is_no_duration_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"1",
		"00",
		"0.0",
		"90",
		"-1s",
		"+1s",
		"s",
		".5s",
		"1.s",
		"1..5s",
		"1.5.5s",
		"1 s",
		" 1s",
		"1s ",
		"1m",
		"1S",
		"1H",
		"1sec",
		"1hours",
		"1h30",
		"1h1h",
		"1s1h",
		"1hmin",
		"1e3s",
		"0x1s",
		"1s-1ms",
		"9223372036854775808us",
		"9223372036855s",
		"99999999999999999999s",
		"9223372036854.775808s",
		"1d9223372036854775807us",
		"15250285w",
		"inf",
		"nans",
	};
	int64_t us = 5;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (duration_parse(str_of(bad[i]), &us))
			fail_msg("taken: '%s'", bad[i]);
	assert_false(duration_parse(STR("1s\0"), &us));
	assert_false(duration_parse((struct str){0}, &us));
	assert_int_equal(us, 5);
}

static void comes_back(int64_t us)
{
	struct buf b CLEANUP(buf_free) = BUF_INIT(100);
	int64_t back;
	duration_print(&b, us);
	assert_false(b.over);
	if (!duration_parse(buf_str(&b), &back) || back != us)
		fail_msg("'%s' did not come back", buf_text(&b));
}

static void a_printed_duration_comes_back_exactly(void **state)
{
	(void)state;
	uint64_t seed = 2;
	for (int i = 0; i < 200000; i++) {
		uint64_t r = dice(&seed);
		comes_back((int64_t)(dice(&seed) >> 1 >> r % 63));
		comes_back((int64_t)(dice(&seed) % 1000) * US_PER_MIN);
	}
	comes_back(0);
	comes_back(INT64_MAX);
}

static void durations_are_printed(void **state)
{
	(void)state;
	static const struct {
		int64_t us;
		const char *exact, *brief;
	} cases[] = {
		{0, "0s", "0s"},
		{7, "7us", "7us"},
		{1500, "1ms500us", "1.5ms"},
		{250000, "250ms", "250ms"},
		{12345678, "12s345ms678us", "12.3s"},
		{59999999, "59s999ms999us", "59.9s"},
		{60 * US_PER_S, "1min", "1min"},
		{90 * US_PER_S, "1min30s", "1min 30s"},
		{90 * US_PER_MIN, "1h30min", "1h 30min"},
		{US_PER_H + US_PER_S, "1h1s", "1h"},
		{76 * US_PER_H, "3d4h", "3d 4h"},
		{30 * US_PER_DAY, "30d", "30d"},
		{14 * US_PER_DAY, "2w", "14d"},
		{-90 * US_PER_S, "-1min30s", "-1min 30s"},
		{INT64_MIN, "-106751991d4h54s775ms808us", "-106751991d 4h"},
		{INT64_MAX, "106751991d4h54s775ms807us", "106751991d 4h"},
	};
	struct buf b CLEANUP(buf_free) = BUF_INIT(100);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_clear(&b);
		duration_print(&b, cases[i].us);
		assert_string_equal(buf_text(&b), cases[i].exact);
		buf_clear(&b);
		duration_print_short(&b, cases[i].us);
		assert_string_equal(buf_text(&b), cases[i].brief);
	}
}

static void each_failure_doubles_the_delay(void **state)
{
	(void)state;
	assert_int_equal(backoff_us(1, 100, 100000), 100);
	assert_int_equal(backoff_us(2, 100, 100000), 200);
	assert_int_equal(backoff_us(3, 100, 100000), 400);
	assert_int_equal(backoff_us(10, 100, 100000), 51200);
}

static void no_delay_is_longer_than_the_longest(void **state)
{
	(void)state;
	assert_int_equal(backoff_us(11, 100, 100000), 100000);
	assert_int_equal(backoff_us(4000000000u, 100, 100000), 100000);
	assert_int_equal(backoff_us(5, 500, 500), 500);
	assert_int_equal(backoff_us(1, 900, 500), 500);
}

static void the_longest_delay_there_is_does_not_overflow(void **state)
{
	(void)state;
	assert_int_equal(backoff_us(200, 1, INT64_MAX), INT64_MAX);
	assert_int_equal(backoff_us(2, INT64_MAX - 1, INT64_MAX), INT64_MAX);
}

static void no_delay_stays_none(void **state)
{
	(void)state;
	assert_int_equal(backoff_us(4000000000u, 0, 100), 0);
}

static void a_wall_clock_is_never_before_1970_nor_far_ahead(void **state)
{
	(void)state;
	static const struct {
		int64_t machine_us, ours_us;
	} cases[] = {
		{INT64_MIN, CLOCK_LEAST_US},
		{-1, CLOCK_LEAST_US},
		{0, CLOCK_LEAST_US},
		{CLOCK_LEAST_US + 1, CLOCK_LEAST_US + 1},
		{INT64_C(1800000000) * US_PER_S, INT64_C(1800000000) * US_PER_S},
		{CLOCK_MOST_US + 1, CLOCK_MOST_US},
		{INT64_MAX, CLOCK_MOST_US},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(clock_sane_us(cases[i].machine_us), cases[i].ours_us);
	assert_true(clock_wall_us() >= CLOCK_LEAST_US && clock_wall_us() <= CLOCK_MOST_US);
}

static void dates_are_written_as_http_wants_them(void **state)
{
	char text[TIME_HTTP];
	(void)state;
	time_print_http(INT64_C(784111777000000), text);
	assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
	time_print_http(0, text);
	assert_string_equal(text, "Thu, 01 Jan 1970 00:00:00 GMT");
	time_print_http(-1, text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wall_clock_is_never_before_1970_nor_far_ahead),
		cmocka_unit_test(clocks_go_on),
		cmocka_unit_test(a_time_in_the_name_of_a_file_has_no_colon_and_all_digits),
		cmocka_unit_test(times_are_printed_to_the_digit),
		cmocka_unit_test(days_of_ten_thousand_years_are_right),
		cmocka_unit_test(any_microsecond_comes_back),
		cmocka_unit_test(times_are_read_with_offsets_and_fractions),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(a_time_cut_short_anywhere_is_refused),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(what_is_no_duration_is_refused),
		cmocka_unit_test(a_printed_duration_comes_back_exactly),
		cmocka_unit_test(durations_are_printed),
		cmocka_unit_test(each_failure_doubles_the_delay),
		cmocka_unit_test(no_delay_is_longer_than_the_longest),
		cmocka_unit_test(the_longest_delay_there_is_does_not_overflow),
		cmocka_unit_test(no_delay_stays_none),
		cmocka_unit_test(dates_are_written_as_http_wants_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
