#include "../unit.h"
#include "base/hash.h"
#include "soif/soif_parse.h"

#include <stdlib.h>

static struct arena arena;

static int free_arena(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static struct soif sample(void)
{
	struct soif obj = {.type = STR("FILE"), .url = STR("http://a/")};
	soif_add(&obj, &arena, STR("Title"), STR("one"));
	soif_add(&obj, &arena, STR("Update-Time"), STR("1000"));
	return obj;
}

static void printed(const struct soif *obj, const char *want)
{
	struct buf out = BUF_INIT(1 << 16);
	struct err err;
	assert_int_equal(0, soif_print(obj, &out, &err));
	assert_str(buf_str(&out), want);
	buf_free(&out);
}

static void the_canonical_form_is_exact(void **state)
{
	(void)state;
	struct soif obj = sample();
	soif_add(&obj, &arena, STR("Empty"), STR(""));
	soif_add(&obj, &arena, STR("Lines"), STR("a\nb\n"));
	printed(&obj,
		"@FILE { http://a/\nTitle{3}:\tone\nUpdate-Time{4}:\t1000\nLines{4}:\ta\nb\n\n}\n");
}

static void names_have_no_case_and_the_later_one_counts(void **state)
{
	(void)state;
	struct soif obj = sample();
	assert_str(soif_get(&obj, STR("TITLE")), "one");
	assert_null(soif_get(&obj, STR("Titl")).p);
	soif_add(&obj, &arena, STR("tItLe"), STR("two"));
	assert_str(soif_get(&obj, STR("Title")), "two");
	soif_set(&obj, &arena, STR("title"), STR("three"));
	assert_str(soif_get(&obj, STR("Title")), "three");
	assert_int_equal(3, obj.n);
	assert_null(soif_get(&obj, STR("Tit")).p);
}

static void append_joins_and_merge_lets_the_second_win(void **state)
{
	(void)state;
	struct soif a = sample(), b = {.type = STR("FILE"), .url = STR("http://b/")};
	soif_append(&a, &arena, STR("Title"), STR("two"));
	assert_str(soif_get(&a, STR("Title")), "one\ntwo");
	soif_append(&a, &arena, STR("New"), STR("x"));
	assert_str(soif_get(&a, STR("New")), "x");
	soif_add(&b, &arena, STR("title"), STR("b's"));
	soif_add(&b, &arena, STR("More"), STR("m"));
	soif_merge(&a, &arena, &b);
	assert_str(soif_get(&a, STR("Title")), "b's");
	assert_str(soif_get(&a, STR("More")), "m");
	assert_str(a.url, "http://a/");
}

static void what_could_not_be_read_back_is_not_printed(void **state)
{
	(void)state;
	static const struct {
		const char *type, *url, *name;
	} cases[] = {{"", "u", "A"},      {"F F", "u", "A"},    {"F{", "u", "A"},
		     {"FILE", "", "A"},   {"FILE", "a b", "A"}, {"FILE", "@u", "A"},
		     {"FILE", "}", "A"},  {"FILE", "u", ""},    {"FILE", "u", "A{"},
		     {"FILE", "u", " A"}, {"FILE", "u", "}"},   {"FILE", "u", "A\nB"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct soif obj = {.type = str_of(cases[i].type), .url = str_of(cases[i].url)};
		struct buf out = BUF_INIT(1 << 16);
		struct err err;
		soif_add(&obj, &arena, str_of(cases[i].name), STR("x"));
		assert_true(soif_print(&obj, &out, &err) < 0);
		assert_int_equal(0, out.n);
	}
}

static void sorting_is_stable_and_sinks_what_is_embedded(void **state)
{
	(void)state;
	struct soif obj = {.type = STR("FILE"), .url = STR("u")};
	const char *names[] = {"Embed<10>-A", "b",          "Embed<2>-Z", "A",
			       "a",           "Embed<2>-m", "Embed<x>-q", "C"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		soif_add(&obj, &arena, str_of(names[i]), i == 3 ? STR("first") : STR("later"));
	soif_sort(&obj);
	const char *want[] = {"A",          "a",          "b",          "C",
			      "Embed<x>-q", "Embed<2>-m", "Embed<2>-Z", "Embed<10>-A"};
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_str(obj.attr[i].name, want[i]);
	assert_str(soif_get(&obj, STR("a")), "later");
}

static void embedded_objects_go_in_and_come_out(void **state)
{
	(void)state;
	struct soif obj = sample(), inner = {.type = STR("FILE"), .url = STR("x")}, out;
	soif_add(&inner, &arena, STR("Type"), STR("Tar"));
	soif_add(&inner, &arena, STR("MD5"), STR("y"));
	assert_int_equal(0, soif_embed_count(&obj));
	assert_int_equal(1, soif_unembed(&obj, 1, &arena, &out));
	soif_embed(&obj, &arena, &inner);
	soif_embed(&obj, &arena, &inner);
	assert_int_equal(2, soif_embed_count(&obj));
	assert_str(obj.attr[2].name, "Embed<1>-Type");
	assert_int_equal(0, soif_unembed(&obj, 2, &arena, &out));
	assert_int_equal(2, out.n);
	assert_str(soif_get(&out, STR("type")), "Tar");
	assert_str(out.url, "http://a/");
	uint64_t number;
	struct str rest;
	assert_false(soif_embedded(STR("Embed<0>-A"), &number, &rest));
	assert_false(soif_embedded(STR("Embed<1>-"), &number, &rest));
	assert_false(soif_embedded(STR("Embed<99999999999999999999>-A"), &number, &rest));
	assert_false(soif_embedded(STR("Embed<18446744073709551615>-A"), &number, &rest));
	assert_false(soif_embedded(STR("Embed<1>A"), &number, &rest));
}

static void bookkeeping_has_the_documents_defaults(void **state)
{
	(void)state;
	struct soif obj = sample();
	struct soif_book book;
	struct err err;
	assert_int_equal(0, soif_book(&obj, &book, &err));
	assert_int_equal(1000, book.update_time_s);
	assert_int_equal(0, book.last_modification_time_s);
	assert_int_equal(604800, book.refresh_rate_s);
	assert_int_equal(2419200, book.time_to_live_s);
	assert_false(book.has_md5);
	assert_null(book.gatherer_name.p);
	soif_set(&obj, &arena, STR("Time-to-Live"), STR(" 5\n"));
	soif_set(&obj, &arena, STR("MD5"), STR("000102030405060708090a0b0c0d0e0f"));
	assert_int_equal(0, soif_book(&obj, &book, &err));
	assert_int_equal(5, book.time_to_live_s);
	assert_true(book.has_md5);
	assert_int_equal(15, book.md5[15]);
}

static void wrong_bookkeeping_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *name, *value, *why;
	} cases[] = {{"Refresh-Rate", "-1", "http://a/: Refresh-Rate is '-1', not a number"},
		     {"Update-Time", "", "http://a/: Update-Time is '', not a number"},
		     {"MD5", "xyz", "http://a/: MD5 is not 32 hexadecimal digits"}};
	struct soif_book book;
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct soif obj = sample();
		soif_set(&obj, &arena, str_of(cases[i].name), str_of(cases[i].value));
		assert_true(soif_book(&obj, &book, &err) < 0);
		assert_string_equal(err.msg, cases[i].why);
	}
	struct soif obj = {.type = STR("FILE"), .url = STR("http://a/")};
	assert_true(soif_book(&obj, &book, &err) < 0);
	assert_string_equal(err.msg, "http://a/: no Update-Time");
}

static void objects_are_the_same_by_gatherer_time_and_url_or_md5(void **state)
{
	(void)state;
	struct soif a = sample(), b = sample();
	struct soif_book ba, bb;
	struct err err;
	assert_int_equal(0, soif_book(&a, &ba, &err));
	assert_int_equal(0, soif_book(&b, &bb, &err));
	assert_true(soif_same(&a, &ba, &b, &bb));
	b.url = STR("http://b/");
	assert_false(soif_same(&a, &ba, &b, &bb)); /* absent MD5s never match */
	soif_set(&a, &arena, STR("MD5"), STR("000102030405060708090a0b0c0d0e0f"));
	soif_set(&b, &arena, STR("MD5"), STR("000102030405060708090A0B0C0D0E0F"));
	assert_int_equal(0, soif_book(&a, &ba, &err));
	assert_int_equal(0, soif_book(&b, &bb, &err));
	assert_true(soif_same(&a, &ba, &b, &bb));
	soif_set(&b, &arena, STR("Update-Time"), STR("1001"));
	assert_int_equal(0, soif_book(&b, &bb, &err));
	assert_false(soif_same(&a, &ba, &b, &bb));
}

static void a_copy_depends_on_nothing(void **state)
{
	(void)state;
	char url[] = "http://x/", value[] = "v";
	struct soif obj = {.type = STR("FILE"), .url = str_of(url)};
	soif_add(&obj, &arena, STR("A"), str_of(value));
	struct soif copy = soif_copy(&arena, &obj);
	url[0] = value[0] = '?';
	assert_str(copy.url, "http://x/");
	assert_str(soif_get(&copy, STR("A")), "v");
	soif_add(&copy, &arena, STR("B"), STR("b"));
	assert_int_equal(1, obj.n);
}

/* print(parse(print(x))) == print(x) for random objects with any bytes in their values */
static void random_objects_survive_the_round_trip(void **state)
{
	(void)state;
	srandom(7);
	for (int round = 0; round < 2000; round++) {
		struct soif obj = {.type = STR("FILE"), .url = STR("http://r/")}, back;
		for (long i = random() % 20; i > 0; i--) {
			size_t n = (size_t)(random() % 60) + 1;
			char *value = arena_alloc(&arena, n);
			for (size_t k = 0; k < n; k++)
				value[k] = (char)random();
			soif_add(&obj, &arena, str_of(arena_printf(&arena, "N%ld", i)),
				 (struct str){value, n});
		}
		struct buf one = BUF_INIT(1 << 16), two = BUF_INIT(1 << 16);
		struct err err;
		assert_int_equal(0, soif_print(&obj, &one, &err));
		struct soif_parser p = soif_parser_of(buf_str(&one));
		assert_int_equal(0, soif_next(&p, &arena, &back, &err));
		assert_int_equal(0, soif_print(&back, &two, &err));
		assert_true(str_eq(buf_str(&one), buf_str(&two)));
		assert_int_equal(obj.n, back.n);
		assert_int_equal(1, soif_next(&p, &arena, &back, &err));
		buf_free(&one);
		buf_free(&two);
		arena_clear(&arena);
	}
}

int main(void)
{
	arena = ARENA_INIT(1 << 24);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_canonical_form_is_exact),
		cmocka_unit_test(names_have_no_case_and_the_later_one_counts),
		cmocka_unit_test(append_joins_and_merge_lets_the_second_win),
		cmocka_unit_test(what_could_not_be_read_back_is_not_printed),
		cmocka_unit_test(sorting_is_stable_and_sinks_what_is_embedded),
		cmocka_unit_test(embedded_objects_go_in_and_come_out),
		cmocka_unit_test(bookkeeping_has_the_documents_defaults),
		cmocka_unit_test(wrong_bookkeeping_is_refused),
		cmocka_unit_test(objects_are_the_same_by_gatherer_time_and_url_or_md5),
		cmocka_unit_test(a_copy_depends_on_nothing),
		cmocka_unit_test(random_objects_survive_the_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, free_arena);
}
