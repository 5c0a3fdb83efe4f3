#include "base/jsonw.h"

#include "../dice.h"
#include "../dies.h"

#include <math.h>
#include <stdlib.h>

static void nesting_and_commas_are_kept(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(1000);
	struct jsonw j = JSONW_INIT(&b);
	jsonw_object(&j);
	jsonw_put_int(&j, "min", INT64_MIN);
	jsonw_put_uint(&j, "max", UINT64_MAX);
	jsonw_key(&j, "list");
	jsonw_array(&j);
	jsonw_array(&j);
	jsonw_array_end(&j);
	jsonw_object(&j);
	jsonw_object_end(&j);
	jsonw_bool(&j, false);
	jsonw_null(&j);
	jsonw_text(&j, NULL);
	jsonw_text(&j, "x");
	jsonw_array_end(&j);
	jsonw_put_bool(&j, "yes", true);
	jsonw_put_str(&j, "s", STR("a"));
	jsonw_put_text(&j, "none", NULL);
	jsonw_object_end(&j);
	assert_string_equal(buf_text(&b),
			    "{\"min\":-9223372036854775808,\"max\":18446744073709551615,"
			    "\"list\":[[],{},false,null,null,\"x\"],"
			    "\"yes\":true,\"s\":\"a\",\"none\":null}");
}

static void documents_may_follow_each_other(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(1000);
	struct jsonw j = JSONW_INIT(&b);
	for (int i = 0; i < 2; i++) {
		jsonw_object(&j);
		jsonw_put_int(&j, "i", i);
		jsonw_object_end(&j);
		buf_add_byte(&b, '\n');
	}
	assert_string_equal(buf_text(&b), "{\"i\":0}\n{\"i\":1}\n");
}

static void string_is(struct str s, const char *want)
{
	struct buf b CLEANUP(buf_free) = BUF_INIT(1000);
	struct jsonw j = JSONW_INIT(&b);
	jsonw_str(&j, s);
	assert_string_equal(buf_text(&b), want);
}

#define BAD "\xef\xbf\xbd"

static void text_is_always_escaped(void **state)
{
	(void)state;
	string_is((struct str){0}, "\"\"");
	string_is(STR("</script>\x7f"), "\"</script>\x7f\"");
	string_is(STR("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
	string_is(STR("\0\1\b\t\n\v\f\r\x1f"), "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\"");
	string_is(STR("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
		  "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
	string_is(STR("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"),
		  "\"\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaa\"");
}

static void bytes_that_are_no_utf8_become_the_replacement_each(void **state)
{
	(void)state;
	string_is(STR("a\x80z"), "\"a" BAD "z\"");
	string_is(STR("\xff\xfe"), "\"" BAD BAD "\"");
	string_is(STR("\xc3"), "\"" BAD "\"");
	string_is(STR("\xc3\""), "\"" BAD "\\\"\"");
	string_is(STR("\xe2\x80"), "\"" BAD BAD "\"");
	string_is(STR("\xed\xa0\x80x"), "\"" BAD BAD BAD "x\"");
	string_is(STR("\xf0\x9f\x98"), "\"" BAD BAD BAD "\"");
	string_is(STR("\xc0\xaf"), "\"" BAD BAD "\"");
}

static void any_bytes_give_valid_utf8(void **state)
{
	(void)state;
	uint64_t seed = 3;
	for (int i = 0; i < 20000; i++) {
		char bytes[12];
		for (size_t k = 0; k < sizeof bytes; k++)
			bytes[k] = (char)(dice(&seed) >> 20 | (dice(&seed) >> 33 & 0x80));
		struct buf b CLEANUP(buf_free) = BUF_INIT(1000);
		struct jsonw j = JSONW_INIT(&b);
		jsonw_str(&j, (struct str){bytes, sizeof bytes});
		assert_true(str_utf8(buf_str(&b)));
		for (size_t k = 0; k < b.n; k++)
			assert_true((unsigned char)b.p[k] >= 0x20);
	}
}

static void keys_are_escaped_too(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(1000);
	struct jsonw j = JSONW_INIT(&b);
	jsonw_object(&j);
	jsonw_put_bool(&j, "a\"\n", true);
	jsonw_object_end(&j);
	assert_string_equal(buf_text(&b), "{\"a\\\"\\n\":true}");
}

static void real_is(double v, const char *want)
{
	struct buf b CLEANUP(buf_free) = BUF_INIT(1000);
	struct jsonw j = JSONW_INIT(&b);
	jsonw_real(&j, v);
	assert_string_equal(buf_text(&b), want);
}

static void reals_are_short_and_come_back(void **state)
{
	(void)state;
	real_is(0.1, "0.1");
	real_is(0.1 + 0.2, "0.30000000000000004");
	real_is(1.0, "1");
	real_is(-0.0, "-0");
	real_is(1e300, "1e+300");
	real_is(5e-324, "4.94065645841247e-324");
	real_is(-1.7976931348623157e308, "-1.7976931348623157e+308");
	real_is(INFINITY, "null");
	real_is(-INFINITY, "null");
	real_is(NAN, "null");
	uint64_t seed = 4;
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = dice(&seed);
		double v;
		memcpy(&v, &bits, sizeof v);
		struct buf b CLEANUP(buf_free) = BUF_INIT(100);
		struct jsonw j = JSONW_INIT(&b);
		jsonw_real(&j, v);
		if (isfinite(v))
			assert_true(strtod(buf_text(&b), NULL) == v);
	}
}

static void nest(unsigned depth)
{
	struct buf b CLEANUP(buf_free) = BUF_INIT(1000);
	struct jsonw j = JSONW_INIT(&b);
	for (unsigned i = 0; i < depth; i++) {
		jsonw_array(&j);
		jsonw_null(&j);
	}
	for (unsigned i = 0; i < depth; i++) {
		jsonw_array_end(&j);
		if (i + 1 < depth)
			jsonw_null(&j);
	}
	assert_true(str_starts(buf_str(&b), STR("[null,[null,[null")));
	assert_true(str_ends(buf_str(&b), STR("null],null],null]")));
	assert_int_equal(b.n, depth * 2 + (2 * depth - 1) * 4 + (2 * depth - 2));
}

static void nest_too_deep(void)
{
	nest(65);
}

static void end_what_never_began(void)
{
	struct buf b = BUF_INIT(100);
	jsonw_array_end(&JSONW_INIT(&b));
}

static void end_behind_a_key(void)
{
	struct buf b = BUF_INIT(100);
	struct jsonw j = JSONW_INIT(&b);
	jsonw_object(&j);
	jsonw_key(&j, "a");
	jsonw_object_end(&j);
}

static void two_keys(void)
{
	struct buf b = BUF_INIT(100);
	struct jsonw j = JSONW_INIT(&b);
	jsonw_object(&j);
	jsonw_key(&j, "a");
	jsonw_key(&j, "b");
}

static void sixty_four_levels_are_kept_and_the_next_is_a_broken_promise(void **state)
{
	(void)state;
	nest(64);
	assert_true(dies(nest_too_deep));
	assert_true(dies(end_what_never_began));
	assert_true(dies(end_behind_a_key));
	assert_true(dies(two_keys));
}

static void a_string_in_parts_is_the_same_string(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(1000);
	struct jsonw j = JSONW_INIT(&b);
	jsonw_array(&j);
	jsonw_str(&j, STR("x"));
	jsonw_str_begin(&j);
	jsonw_str_part(&j, STR("a\"b"));
	jsonw_str_part(&j, STR(""));
	jsonw_str_part(&j, STR("\n\xff"));
	jsonw_str_end(&j);
	jsonw_int(&j, 1);
	jsonw_array_end(&j);
	assert_string_equal(buf_text(&b), "[\"x\",\"a\\\"b\\n\xef\xbf\xbd\",1]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nesting_and_commas_are_kept),
		cmocka_unit_test(documents_may_follow_each_other),
		cmocka_unit_test(text_is_always_escaped),
		cmocka_unit_test(bytes_that_are_no_utf8_become_the_replacement_each),
		cmocka_unit_test(any_bytes_give_valid_utf8),
		cmocka_unit_test(keys_are_escaped_too),
		cmocka_unit_test(a_string_in_parts_is_the_same_string),
		cmocka_unit_test(reals_are_short_and_come_back),
		cmocka_unit_test(sixty_four_levels_are_kept_and_the_next_is_a_broken_promise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
