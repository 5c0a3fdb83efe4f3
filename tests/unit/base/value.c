#include "base/value.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>

struct conf {
	bool on;
	int64_t number;
	double real;
	uint64_t size;
	int64_t time_us;
	const char *text;
	int word;
	const char *path, *listen;
	struct value_list list;
	int64_t at_least, percent;
};

static const char *const words[] = {"red", "green", "blue", NULL};

enum { ON, NUMBER, REAL, SIZE, TIME, TEXT, WORD, PATH, LISTEN, LIST, AT_LEAST, PERCENT };
static const struct value_spec specs[] = {
	{"on", VALUE_BOOL_AT(struct conf, on), "yes"},
	{"number", VALUE_INT_AT(struct conf, number), "-7"},
	{"real", VALUE_REAL_AT(struct conf, real), "0.25", .min = 0, .max = 1},
	{"size", VALUE_SIZE_AT(struct conf, size), "64K"},
	{"time", VALUE_TIME_AT(struct conf, time_us), "10s", .min = US_PER_MS, .max = US_PER_H},
	{"text", VALUE_TEXT_AT(struct conf, text), "two words"},
	{"word", VALUE_WORD_AT(struct conf, word), "green", .words = words},
	{"path", VALUE_PATH_AT(struct conf, path), "/a/b"},
	{"listen", VALUE_LISTEN_AT(struct conf, listen), "127.0.0.1:8080", .help = "where"},
	{"list", VALUE_LIST_AT(struct conf, list), "a, b c"},
	{"at_least", VALUE_INT_AT(struct conf, at_least), "1", .min = 1, .max = INFINITY},
	{"percent", VALUE_PERCENT_AT(struct conf, percent), "10%", .min = 0, .max = 1000},
};

struct fixture {
	struct arena arena;
	struct conf conf;
	struct err err;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof *f);
	f->arena = ARENA_INIT(1 << 20);
	value_defaults(specs, ARRAY_LEN(specs), &f->arena, &f->conf);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	arena_free(&f->arena);
	mem_free(&f);
	return 0;
}

static int parse(struct fixture *f, int spec, const char *text)
{
	return value_parse(&specs[spec], str_of(text), &f->arena, &f->conf, &f->err);
}

static void assert_prints(struct fixture *f, int spec, const char *want)
{
	struct buf out = BUF_INIT(1 << 16);
	value_print(&specs[spec], &f->conf, &out);
	assert_string_equal(buf_text(&out), want);
	buf_free(&out);
}

static void assert_refused(struct fixture *f, int spec, const char *text, const char *why)
{
	struct conf before = f->conf;
	assert_int_equal(parse(f, spec, text), -1);
	assert_int_equal(f->err.code, ERR_USAGE);
	if (!strstr(f->err.msg, why))
		fail_msg("'%s' gave '%s', not '%s'", text, f->err.msg, why);
	assert_memory_equal(&before, &f->conf, sizeof before);
}

static void defaults_come_from_the_table(void **state)
{
	struct fixture *f = *state;
	assert_true(f->conf.on);
	assert_int_equal(f->conf.number, -7);
	assert_true(f->conf.real == 0.25);
	assert_int_equal(f->conf.size, 65536);
	assert_int_equal(f->conf.time_us, 10 * US_PER_S);
	assert_string_equal(f->conf.text, "two words");
	assert_int_equal(f->conf.word, 1);
	assert_string_equal(f->conf.path, "/a/b");
	assert_string_equal(f->conf.listen, "127.0.0.1:8080");
	assert_int_equal(f->conf.list.n, 3);
	assert_string_equal(f->conf.list.item[2], "c");
}

static void without_a_default_a_value_is_zero_or_empty(void **state)
{
	struct fixture *f = *state;
	struct value_spec bare[ARRAY_LEN(specs)];
	memcpy(bare, specs, sizeof bare);
	for (size_t i = 0; i < ARRAY_LEN(bare); i++)
		bare[i].fallback = NULL;
	value_defaults(bare, ARRAY_LEN(bare), &f->arena, &f->conf);
	assert_false(f->conf.on);
	assert_int_equal(f->conf.number, 0);
	assert_true(f->conf.real == 0);
	assert_int_equal(f->conf.word, 0);
	assert_string_equal(f->conf.text, "");
	assert_string_equal(f->conf.path, "");
	assert_string_equal(f->conf.listen, "");
	assert_int_equal(f->conf.list.n, 0);
	assert_prints(f, LIST, "");
}

static void yes_and_no_have_many_names(void **state)
{
	struct fixture *f = *state;
	static const char *const yes[] = {"yes", "true", "on", "1", "YES"}, *const no[] = {
										    "no", "false",
										    "off", "0",
										    "Off"};
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		assert_int_equal(parse(f, ON, no[i]), 0);
		assert_false(f->conf.on);
		assert_int_equal(parse(f, ON, yes[i]), 0);
		assert_true(f->conf.on);
	}
	assert_refused(f, ON, "", "expected yes or no, got ''");
	assert_refused(f, ON, "y", "expected yes or no");
	assert_refused(f, ON, "2", "expected yes or no");
}

static void whole_numbers_reach_both_ends(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, NUMBER, "9223372036854775807"), 0);
	assert_true(f->conf.number == INT64_MAX);
	assert_int_equal(parse(f, NUMBER, "-9223372036854775808"), 0);
	assert_true(f->conf.number == INT64_MIN);
	assert_prints(f, NUMBER, "-9223372036854775808");
	static const char *const bad[] = {"",
					  "-",
					  "+1",
					  " 1",
					  "1 ",
					  "0x10",
					  "1.0",
					  "1e3",
					  "9223372036854775808",
					  "-9223372036854775809",
					  "--1",
					  "99999999999999999999999"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_refused(f, NUMBER, bad[i], "expected a whole number");
}

static void percentages_may_have_their_sign(void **state)
{
	struct fixture *f = *state;
	assert_prints(f, PERCENT, "10%");
	assert_int_equal(parse(f, PERCENT, "250%"), 0);
	assert_int_equal(f->conf.percent, 250);
	assert_int_equal(parse(f, PERCENT, "7"), 0);
	assert_prints(f, PERCENT, "7%");
	static const char *const bad[] = {"", "%", "5%%", "5 %", "%5", "0.5%"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_refused(f, PERCENT, bad[i], "expected a percentage such as 10%, got '");
	assert_refused(f, PERCENT, "1001%", "must be 0% to 1000%, got '1001%'");
}

static void real_numbers_have_one_form(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *text;
		double want;
	} good[] = {{"0", 0}, {".5", .5}, {"1.", 1}, {"1e-3", 0.001}, {"5E-1", .5}, {"0.1", 0.1}};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(parse(f, REAL, good[i].text), 0);
		assert_true(f->conf.real == good[i].want);
	}
	assert_prints(f, REAL, "0.1");
	static const char *const bad[] = {"",    ".",   "-",     "e1",     "1e",
					  "1e+", "inf", "nan",   "0x1p-1", " 1",
					  "1 ",  "0,5", "1e999", "1.2.3",  "infinity"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_refused(f, REAL, bad[i], "expected a number such as 0.5");
	char nines[80];
	memset(nines, '1', sizeof nines);
	nines[sizeof nines - 1] = 0;
	assert_refused(f, REAL, nines, "expected a number");
	assert_refused(f, REAL, "1.5", "must be 0 to 1, got '1.5'");
	assert_refused(f, REAL, "-0.5", "must be 0 to 1");
}

static void numbers_do_not_follow_the_locale(void **state)
{
	struct fixture *f = *state;
	static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
	for (size_t i = 0; i < ARRAY_LEN(commas); i++)
		if (setlocale(LC_ALL, commas[i]))
			break;
	assert_int_equal(parse(f, REAL, "0.125"), 0);
	assert_prints(f, REAL, "0.125");
	setlocale(LC_ALL, "C");
}

static void sizes_count_in_1024(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *text;
		uint64_t want;
		const char *printed;
	} good[] = {
		{"0", 0, "0"},
		{"512", 512, "512"},
		{"512B", 512, "512"},
		{"64K", 65536, "64K"},
		{"64k", 65536, "64K"},
		{"64KiB", 65536, "64K"},
		{"64KB", 65536, "64K"},
		{"64Ki", 65536, "64K"},
		{"1.5M", 1572864, "1536K"},
		{"0.5K", 512, "512"},
		{"1.50000000000000000000000000K", 1536, "1536"},
		{"2G", UINT64_C(2) << 30, "2G"},
		{"1T", UINT64_C(1) << 40, "1T"},
		{"15E", UINT64_C(15) << 60, "15E"},
		{"18446744073709551615", UINT64_MAX, "18446744073709551615"},
		{"15.999E", 0, NULL},
		{"15.875E", (UINT64_C(127) << 57), "16256P"},
	};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		if (!good[i].printed) {
			assert_refused(f, SIZE, good[i].text, "not a whole number of bytes");
			continue;
		}
		assert_int_equal(parse(f, SIZE, good[i].text), 0);
		assert_true(f->conf.size == good[i].want);
		assert_prints(f, SIZE, good[i].printed);
	}
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	struct fixture *f = *state;
	static const char *const form[] = {"",     "K",     "-1",  "+1",  "1X",  "1KK",
					   "1iB",  "1Kib",  "1.K", ".5K", "1 K", "1.5.5K",
					   "0x10", "1KiBB", "1b",  "1 "};
	for (size_t i = 0; i < ARRAY_LEN(form); i++)
		assert_refused(f, SIZE, form[i], "expected a size such as 64K");
	assert_refused(f, SIZE, "0.1K", "not a whole number of bytes");
	assert_refused(f, SIZE, "1.5", "not a whole number of bytes");
	assert_refused(f, SIZE, "0.0000000000000000001E", "not a whole number of bytes");
	assert_refused(f, SIZE, "16E", "16E bytes or more");
	assert_refused(f, SIZE, "18446744073709551616", "16E bytes or more");
	assert_refused(f, SIZE, "99999999999999999999999999K", "16E bytes or more");
}

static void bounds_are_named_in_the_unit(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, TIME, "1ms"), 0);
	assert_int_equal(parse(f, TIME, "1h"), 0);
	assert_int_equal(f->conf.time_us, US_PER_H);
	assert_refused(f, TIME, "2h", "must be 1ms to 1h, got '2h'");
	assert_refused(f, TIME, "1us", "must be 1ms to 1h");
	assert_refused(f, TIME, "soon",
		       "expected a time such as 250ms, 10s or 1h30min, got 'soon'");
	assert_refused(f, TIME, "10", "expected a time with its unit, such as 10s, got '10'");
	assert_refused(f, AT_LEAST, "0", "must be at least 1, got '0'");
	assert_int_equal(parse(f, AT_LEAST, "9223372036854775807"), 0);
	struct value_spec size = specs[SIZE];
	size.min = 4096;
	size.max = 1024 * 1024;
	assert_int_equal(value_parse(&size, STR("1K"), &f->arena, &f->conf, &f->err), -1);
	assert_string_equal(f->err.msg, "must be 4K to 1M, got '1K'");
}

static void words_are_chosen_from_the_table(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, WORD, "blue"), 0);
	assert_int_equal(f->conf.word, 2);
	assert_prints(f, WORD, "blue");
	assert_refused(f, WORD, "Blue", "expected one of red, green, blue, got 'Blue'");
	assert_refused(f, WORD, "", "expected one of");
	assert_refused(f, WORD, "re", "expected one of");
}

static void lists_split_at_commas_and_blanks(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, LIST, " ,x,, y\tz , "), 0);
	assert_int_equal(f->conf.list.n, 3);
	assert_prints(f, LIST, "x y z");
	assert_int_equal(parse(f, LIST, ""), 0);
	assert_int_equal(f->conf.list.n, 0);
}

static void repeated_options_add_to_a_list_and_replace_the_rest(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, LIST, "a"), 0);
	assert_int_equal(value_add(&specs[LIST], STR("b,c"), &f->arena, &f->conf, &f->err), 0);
	assert_prints(f, LIST, "a b c");
	assert_int_equal(value_add(&specs[LIST], STR(""), &f->arena, &f->conf, &f->err), 0);
	assert_prints(f, LIST, "a b c");
	assert_int_equal(value_add(&specs[NUMBER], STR("5"), &f->arena, &f->conf, &f->err), 0);
	assert_prints(f, NUMBER, "5");
}

static void a_nul_byte_is_no_text(void **state)
{
	struct fixture *f = *state;
	static const int texts[] = {TEXT, PATH, LIST, LISTEN};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct conf before = f->conf;
		assert_int_equal(value_parse(&specs[texts[i]], STR("unix:a\0b"), &f->arena,
					     &f->conf, &f->err),
				 -1);
		assert_memory_equal(&before, &f->conf, sizeof before);
	}
}

static void an_address_is_checked_and_may_be_empty(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, LISTEN, ""), 0);
	assert_string_equal(f->conf.listen, "");
	assert_int_equal(parse(f, LISTEN, "unix:/run/x"), 0);
	assert_refused(f, LISTEN, "here", "expected a numeric ADDRESS:PORT");
}

static void what_is_printed_parses_to_the_same(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct conf copy = {0};
		struct buf out = BUF_INIT(1000);
		value_print(&specs[i], &f->conf, &out);
		assert_int_equal(value_parse(&specs[i], buf_str(&out), &f->arena, &copy, &f->err),
				 0);
		assert_true(value_equal(&specs[i], &f->conf, &copy));
		buf_free(&out);
	}
}

static void unequal_values_are_told_apart(void **state)
{
	struct fixture *f = *state;
	static const char *const other[] = {"no",  "1", "1", "1",     "1s", "x",
					    "red", "/", "",  "a b d", "2",  "3%"};
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct conf copy = f->conf;
		assert_true(value_equal(&specs[i], &f->conf, &copy));
		assert_int_equal(
			value_parse(&specs[i], str_of(other[i]), &f->arena, &copy, &f->err), 0);
		assert_false(value_equal(&specs[i], &f->conf, &copy));
	}
}

static void types_are_described_with_their_bounds(void **state)
{
	(void)state;
	static const char *const want[] = {"yes or no",
					   "number",
					   "number, 0 to 1",
					   "size",
					   "time, 1ms to 1h",
					   "text",
					   "one of red, green, blue",
					   "path",
					   "address to listen on",
					   "list",
					   "number, at least 1",
					   "percentage, 0% to 1000%"};
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct buf out = BUF_INIT(1000);
		value_describe(&specs[i], &out);
		assert_string_equal(buf_text(&out), want[i]);
		buf_free(&out);
	}
}

static void specs_are_found_by_their_whole_name(void **state)
{
	(void)state;
	assert_ptr_equal(value_find(specs, ARRAY_LEN(specs), STR("size")), &specs[SIZE]);
	assert_null(value_find(specs, ARRAY_LEN(specs), STR("siz")));
	assert_null(value_find(specs, ARRAY_LEN(specs), STR("")));
	assert_null(value_find(specs, 0, STR("size")));
}

static void foreign_text_cannot_spoil_a_message(void **state)
{
	(void)state;
	char shown[VALUE_SHOWN], lots[200];
	assert_string_equal(value_show(STR("a\033[31m\nb"), shown), "a?[31m?b");
	assert_string_equal(value_show(STR("gr\xc3\xbcn"), shown), "gr\xc3\xbcn");
	assert_string_equal(value_show(STR("\xff\xc3\xbc"), shown), "???");
	assert_string_equal(value_show((struct str){0}, shown), "");
	memset(lots, 'x', sizeof lots);
	assert_int_equal(strlen(value_show((struct str){lots, 60}, shown)), 60);
	assert_int_equal(strlen(value_show((struct str){lots, 61}, shown)), 60);
	assert_string_equal(shown + 56, "x...");
	/* a character is not cut in two */
	for (size_t i = 0; i < sizeof lots; i += 2)
		memcpy(lots + i, "\xc3\xbc", 2);
	value_show((struct str){lots, sizeof lots}, shown);
	assert_true(str_utf8(str_of(shown)));
	assert_int_equal(strlen(shown), 59);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(defaults_come_from_the_table),
		T(without_a_default_a_value_is_zero_or_empty),
		T(yes_and_no_have_many_names),
		T(whole_numbers_reach_both_ends),
		T(percentages_may_have_their_sign),
		T(real_numbers_have_one_form),
		T(numbers_do_not_follow_the_locale),
		T(sizes_count_in_1024),
		T(sizes_that_cannot_be_are_refused),
		T(bounds_are_named_in_the_unit),
		T(words_are_chosen_from_the_table),
		T(lists_split_at_commas_and_blanks),
		T(repeated_options_add_to_a_list_and_replace_the_rest),
		T(a_nul_byte_is_no_text),
		T(an_address_is_checked_and_may_be_empty),
		T(what_is_printed_parses_to_the_same),
		T(unequal_values_are_told_apart),
		T(types_are_described_with_their_bounds),
		T(specs_are_found_by_their_whole_name),
		T(foreign_text_cannot_spoil_a_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
