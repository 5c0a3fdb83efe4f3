/* Who asks: Basic, and pages of other sites. */
#include "net/http_inner.h"

#include "../unit.h"

static void a_number_and_a_password_are_read(void **state)
{
	static const struct {
		struct str value;
		uint64_t number;
		const char *password;
	} table[] = {
		{STR("Basic MTc6c2VjcmV0"), 17, "secret"},
		{STR("basic MTc6c2VjcmV0"), 17, "secret"},
		{STR("BASIC  MTc6c2VjcmV0 "), 17, "secret"},
		{STR("Basic MTc6"), 17, ""},
		{STR("Basic MTc6YTpi"), 17, "a:b"},
		{STR("Basic MTc6YWI="), 17, "ab"},
		{STR("Basic MTc6YQ=="), 17, "a"},
		{STR("Basic MTc6w6Q="), 17, "\xc3\xa4"},
		{STR("Basic MDox"), 0, "1"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct arena arena = ARENA_INIT(1 << 20);
		uint64_t number = 1;
		struct str password;
		if (!http_basic_parse(table[i].value, &arena, &number, &password))
			fail_msg("refused: " STR_FMT, STR_ARG(table[i].value));
		assert_int_equal(number, table[i].number);
		assert_str(password, table[i].password);
		arena_free(&arena);
	}
}

static void all_else_is_nobody(void **state)
{
	static const struct str table[] = {
		{NULL, 0},
		STR(""),
		STR("Basic"),
		STR("Basic "),
		STR("Basic MTcz"),                             /* 173 */
		STR("Basic YWI6Yw=="),                         /* ab:c */
		STR("Basic LTE6Yw=="),                         /* -1:c */
		STR("Basic OmM="),                             /* :c */
		STR("Basic MTg0NDY3NDQwNzM3MDk1NTE2MTY6Yw=="), /* 2^64:c */
		STR("Basic MTc6*2VjcmV0"),
		STR("Basic MTc6c2VjcmV0Y"),
		STR("Bearer MTc6c2VjcmV0"),
		STR("Basicx MTc6c2VjcmV0"),
		STR("MTc6c2VjcmV0"),
	};
	char large[4000] = "Basic MTc6";
	(void)state;
	memset(large + 10, 'A', sizeof large - 10);
	struct arena arena = ARENA_INIT(1 << 20);
	uint64_t number;
	struct str password;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (http_basic_parse(table[i], &arena, &number, &password))
			fail_msg("taken: " STR_FMT, STR_ARG(table[i]));
	assert_false(
		http_basic_parse((struct str){large, sizeof large}, &arena, &number, &password));
	assert_true(http_basic_parse((struct str){large, 1006}, &arena, &number, &password));
	arena_free(&arena);
}

static void pages_of_other_sites_are_known(void **state)
{
	static const struct str none = {0}, host = STR("rs.example:8083");
	static const struct str foreign[] = {
		STR("null"),
		STR(""),
		STR("http://evil.example"),
		STR("http://rs.example"),
		STR("http://rs.example:80"),
		STR("http://rs.example:8083.evil.example"),
		STR("http://sub.rs.example:8083"),
	};
	(void)state;
	assert_false(http_is_foreign(none, none, host));
	assert_false(http_is_foreign(STR("same-origin"), none, host));
	assert_false(http_is_foreign(STR("none"), none, host));
	assert_true(http_is_foreign(STR("cross-site"), none, host));
	assert_true(http_is_foreign(STR("same-site"), none, host));
	assert_true(http_is_foreign(STR(""), none, host));
	assert_true(http_is_foreign(STR("cross-site"), STR("http://rs.example:8083"), host));
	assert_false(http_is_foreign(none, STR("http://rs.example:8083"), host));
	assert_false(http_is_foreign(none, STR("https://RS.example:8083"), host));
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
		assert_true(http_is_foreign(none, foreign[i], host));
	assert_true(http_is_foreign(none, STR("http://rs.example"), none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_and_a_password_are_read),
		cmocka_unit_test(all_else_is_nobody),
		cmocka_unit_test(pages_of_other_sites_are_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
