/* Passwords as lines of a configuration: what is made is checked, and what was not made is refused
 * before it costs anything. */
#include "role/password.h"
#include "../unit.h"

#include <stdio.h>

static struct err err;

static void a_password_is_told_from_others(void **state)
{
	char line[PASSWORD_LINE];
	(void)state;
	assert_int_equal(password_make(STR("secret"), line, &err), 0);
	assert_int_equal(password_line_check(line, &err), 0);
	assert_int_equal(password_check(line, STR("secret"), &err), 0);
	assert_int_equal(password_check(line, STR("Secret"), &err), 1);
	assert_int_equal(password_check(line, STR("secre"), &err), 1);
	assert_int_equal(password_check(line, STR(""), &err), 1);
	assert_null(strstr(line, "secret"));
}

static void one_password_has_a_new_line_each_time(void **state)
{
	char a[PASSWORD_LINE], b[PASSWORD_LINE];
	(void)state;
	assert_int_equal(password_make(STR("secret"), a, &err), 0);
	assert_int_equal(password_make(STR("secret"), b, &err), 0);
	assert_string_not_equal(a, b);
}

static void what_a_request_cannot_carry_is_refused(void **state)
{
	static const char *const bad[] = {"",     "two words", "\"quoted\"", "a\tb",
					  "a\nb", "a\rb",      "\x7f"};
	char line[PASSWORD_LINE] = "as it was", most[PASSWORD_MOST + 1];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(password_make(str_of(bad[i]), line, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	assert_int_equal(password_make((struct str){"a\0b", 3}, line, &err), -1);
	memset(most, 'x', sizeof most);
	assert_int_equal(password_make((struct str){most, sizeof most}, line, &err), -1);
	assert_string_equal(line, "as it was");
	assert_int_equal(password_make((struct str){most, PASSWORD_MOST}, line, &err), 0);
	assert_int_equal(password_check(line, (struct str){most, PASSWORD_MOST}, &err), 0);
	assert_int_equal(password_check(line, (struct str){most, PASSWORD_MOST + 1}, &err), 1);
}

/* Made by another program with the same library, of the password "secret". */
#define SALT "c29tZXNhbHQ"
#define HASHED "4mqQiyq0VpIzuZmp+8eSF3YJ7Av58TkEJ4LIdOVsAc4"

static void lines_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"secret",
		"$argon2id$v=19$m=64,t=1,p=1$" SALT "$",
		"$argon2id$v=19$m=64,t=1,p=1$$" HASHED,
		"$argon2i$v=19$m=64,t=1,p=1$" SALT "$" HASHED,
		"$argon2id$v=16$m=64,t=1,p=1$" SALT "$" HASHED,
		"$argon2id$m=64,t=1,p=1$" SALT "$" HASHED,
		"$argon2id$v=19$m=4294967295,t=1,p=1$" SALT "$" HASHED,
		"$argon2id$v=19$m=99999999999999999999,t=1,p=1$" SALT "$" HASHED,
		"$argon2id$v=19$m=65537,t=1,p=1$" SALT "$" HASHED,
		"$argon2id$v=19$m=064,t=1,p=1$" SALT "$" HASHED,
		"$argon2id$v=19$m=64,t=0,p=1$" SALT "$" HASHED,
		"$argon2id$v=19$m=64,t=9,p=1$" SALT "$" HASHED,
		"$argon2id$v=19$m=64,t=1,p=5$" SALT "$" HASHED,
		"$argon2id$v=19$m=8,t=1,p=2$" SALT "$" HASHED,
		"$argon2id$v=19$m=64,t=1,p=1$" SALT "$" HASHED " ",
		"$argon2id$v=19$m=64,t=1,p=1$" SALT "$" HASHED "$",
		"$argon2id$v=19$m=64,t=1,p=1$" SALT "=$" HASHED,
		"$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHR$" HASHED, /* bits that belong to no byte */
		"$argon2id$v=19$m=64,t=1,p=1$c29t$" HASHED,        /* too short a salt */
		"$argon2id$v=19$m=64,t=1,p=1$" SALT "$c29tZXNhbHQ", /* and hash */
		"x$argon2id$v=19$m=64,t=1,p=1$" SALT "$" HASHED,
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (password_line_check(bad[i], &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(password_check(bad[i], STR("secret"), &err), -1);
	}
	assert_int_equal(password_line_check("$argon2id$v=19$m=64,t=1,p=1$" SALT "$" HASHED, &err),
			 0);
}

static void every_line_that_is_taken_is_one_for_the_library(void **state)
{
	static const char good[] = "$argon2id$v=19$m=64,t=1,p=1$" SALT "$" HASHED;
	char line[sizeof good];
	(void)state;
	for (size_t i = 0; i < sizeof good - 1; i++) {
		for (int c = 1; c < 256; c++) {
			memcpy(line, good, sizeof good);
			line[i] = (char)c;
			if (password_line_check(line, &err) == 0 && c % 16 == good[i] % 16)
				assert_true(password_check(line, STR("secret"), &err) >= 0);
		}
		memcpy(line, good, sizeof good);
		line[i] = 0;
		if (password_line_check(line, &err) == 0)
			assert_true(password_check(line, STR("secret"), &err) >= 0);
	}
}

static void a_line_of_another_program_is_taken(void **state)
{
	static const char line[] = "$argon2id$v=19$m=64,t=1,p=1$" SALT "$" HASHED;
	(void)state;
	assert_int_equal(password_check(line, STR("secret"), &err), 0);
	assert_int_equal(password_check(line, STR("other"), &err), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_password_is_told_from_others),
		cmocka_unit_test(one_password_has_a_new_line_each_time),
		cmocka_unit_test(what_a_request_cannot_carry_is_refused),
		cmocka_unit_test(lines_that_are_none_are_refused),
		cmocka_unit_test(every_line_that_is_taken_is_one_for_the_library),
		cmocka_unit_test(a_line_of_another_program_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
