#include "base/str.h"

#include "../unit.h"

static const struct str none; /* no pointer at all */

static void slices_of_nothing_are_equal_and_harmless(void **state)
{
	(void)state;
	struct str rest = none, field;
	uint64_t v;
	assert_true(str_eq(none, STR("")));
	assert_true(str_is(none, ""));
	assert_true(str_eq_nocase(none, none));
	assert_int_equal(str_cmp(none, STR("")), 0);
	assert_true(str_cmp(none, STR("a")) < 0);
	assert_true(str_starts(none, none) && str_ends(none, none));
	assert_false(str_starts(none, STR("a")) || str_ends(none, STR("a")));
	assert_int_equal(str_trim(none).n, 0);
	assert_int_equal(str_from(none, 5).n, 0);
	assert_int_equal(str_head(none, 5).n, 0);
	assert_int_equal(str_find_byte(none, 'a'), 0);
	assert_int_equal(str_find(none, STR("a")), 0);
	assert_int_equal(str_find(none, none), 0);
	assert_int_equal(str_cut(&rest, ',', &field), 1);
	assert_false(str_u64(none, &v));
	assert_true(str_utf8(none));
	assert_int_equal(str_of(NULL).n, 0);
}

static void order_is_by_unsigned_bytes_and_prefixes_come_first(void **state)
{
	(void)state;
	assert_true(str_cmp(STR("ab"), STR("abc")) < 0);
	assert_true(str_cmp(STR("abc"), STR("ab")) > 0);
	assert_true(str_cmp(STR("a\xff"), STR("ab")) > 0);
	assert_true(str_cmp(STR("a\0b"), STR("a\0a")) > 0);
	assert_int_equal(str_cmp(STR("abc"), STR("abc")), 0);
}

static void only_ascii_letters_lose_their_case(void **state)
{
	(void)state;
	assert_true(str_eq_nocase(STR("aZ[`{@"), STR("Az[`{@")));
	assert_false(str_eq_nocase(STR("@"), STR("`")));
	assert_false(str_eq_nocase(STR("["), STR("{")));
	assert_false(str_eq_nocase(STR("\xc4"), STR("\xe4")));
	assert_false(str_eq_nocase(STR("a"), STR("ab")));
}

static void parts_stay_inside(void **state)
{
	(void)state;
	assert_str(str_from(STR("abc"), 1), "bc");
	assert_str(str_from(STR("abc"), 99), "");
	assert_str(str_head(STR("abc"), 2), "ab");
	assert_str(str_head(STR("abc"), 99), "abc");
	assert_str(str_trim(STR(" \t\r\n a b \n")), "a b");
	assert_str(str_trim(STR(" \n ")), "");
	assert_str(str_trim_field(STR(" \t a \r\n\t")), "a \r\n");
	assert_str(str_trim_field(STR("\t ")), "");
	assert_false(str_has_control(STR("\ta \xc3\xa4\xff")) || str_has_control(STR("")));
	assert_true(str_has_control(STR("a\0b")) && str_has_control(STR("a\r")));
	assert_true(str_has_control(STR("\x7f")));
	assert_true(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("abc"), STR("b")));
}

static void finding_looks_at_the_slice_only(void **state)
{
	(void)state;
	struct str s = str_head(STR("abcabd"), 5);
	assert_int_equal(str_find_byte(s, 'c'), 2);
	assert_int_equal(str_find_byte(s, 'd'), 5);
	assert_int_equal(str_find(s, STR("ab")), 0);
	assert_int_equal(str_find(s, STR("abd")), 5);
	assert_int_equal(str_find(s, STR("abcabd")), 5);
	assert_int_equal(str_find(STR("a\0b"), STR("\0b")), 1);
	assert_int_equal(str_find(s, STR("")), 0);
}

static void cutting_counts_empty_fields(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int n;
		const char *last;
	} cases[] = {{"", 1, ""}, {"a", 1, "a"}, {"a,", 2, ""}, {",", 2, ""}, {"a,,b", 3, "b"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str rest = str_of(cases[i].text), field = {0};
		int n = 0;
		while (str_cut(&rest, ',', &field) == 0)
			n++;
		assert_int_equal(n, cases[i].n);
		assert_str(field, cases[i].last);
		assert_null(rest.p);
	}
}

static void numbers_are_whole_or_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  "-1",
					  "+1",
					  " 1",
					  "1 ",
					  "1x",
					  "0x10",
					  "1.0",
					  "18446744073709551616",
					  "99999999999999999999",
					  "100000000000000000000000"};
	uint64_t v = 7;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(str_u64(str_of(bad[i]), &v));
	assert_int_equal(v, 7);
	assert_true(str_u64(STR("18446744073709551615"), &v) && v == UINT64_MAX);
	assert_true(str_u64(STR("0007"), &v) && v == 7);
	assert_true(str_u64(STR("0"), &v) && v == 0);
}

static void utf8_is_taken_strictly(void **state)
{
	(void)state;
	static const char *const good[] = {"a",
					   "\x7f",
					   "\xc2\x80",
					   "\xdf\xbf",
					   "\xe0\xa0\x80",
					   "\xed\x9f\xbf",
					   "\xee\x80\x80",
					   "\xef\xbf\xbf",
					   "\xf0\x90\x80\x80",
					   "\xf4\x8f\xbf\xbf"};
	static const char *const bad[] = {"\x80",
					  "\xbf",
					  "\xc0\x80",
					  "\xc1\xbf",
					  "\xc2",
					  "\xc2g",
					  "\xe0\x9f\xbf",
					  "\xe0\xa0",
					  "\xed\xa0\x80",
					  "\xed\xbf\xbf",
					  "\xf0\x8f\xbf\xbf",
					  "\xf0\x90\x80",
					  "\xf4\x90\x80\x80",
					  "\xf5\x80\x80\x80",
					  "\xff",
					  "\xfe"};
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(str_utf8(str_of(good[i])));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(str_utf8(str_of(bad[i])));
	assert_true(str_utf8(STR("a\0b")));
	assert_false(str_utf8(str_head(STR("a\xc2\x80"), 2)));
	assert_int_equal(str_utf8_char(STR("")), 0);
	assert_int_equal(str_utf8_char(STR("\0x")), 1);
	assert_int_equal(str_utf8_char(STR("\xc2\x80\xff")), 2);
	assert_int_equal(str_utf8_char(STR("\xe2\x82\xac")), 3);
	assert_int_equal(str_utf8_char(STR("\xf0\x9f\x98\x80 ")), 4);
	assert_int_equal(str_utf8_char(STR("\x80")), 0);
}

static void text_is_cut_between_characters(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *head;
	} cases[] = {
		{"abc", 2, "ab"},
		{"abc", 9, "abc"},
		{"\xc3\xa4", 1, ""},
		{"a\xc3\xa4", 2, "a"},
		{"a\xc3\xa4", 3, "a\xc3\xa4"},
		{"\xe2\x82\xac\xe2\x82\xac", 5, "\xe2\x82\xac"},
		{"\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 7, "\xf0\x9f\x98\x80"},
		{"\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
		{"", 0, ""},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_str(str_utf8_head(str_of(cases[i].text), cases[i].n), cases[i].head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_of_nothing_are_equal_and_harmless),
		cmocka_unit_test(order_is_by_unsigned_bytes_and_prefixes_come_first),
		cmocka_unit_test(only_ascii_letters_lose_their_case),
		cmocka_unit_test(parts_stay_inside),
		cmocka_unit_test(finding_looks_at_the_slice_only),
		cmocka_unit_test(cutting_counts_empty_fields),
		cmocka_unit_test(numbers_are_whole_or_refused),
		cmocka_unit_test(utf8_is_taken_strictly),
		cmocka_unit_test(text_is_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
