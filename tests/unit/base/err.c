#include "base/err.h"

#include "../unit.h"

#include <errno.h>

static void an_error_has_code_and_words(void **state)
{
	(void)state;
	struct err err = {.sys_errno = 5};
	assert_int_equal(err_set(&err, ERR_BUSY, "lock %s: held by %d", "x", 7), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.msg, "lock x: held by 7");
}

static void a_system_error_says_which(void **state)
{
	(void)state;
	struct err err = {0};
	errno = ENOENT;
	assert_int_equal(err_sys(&err, "%s", "f"), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_string_equal(err.msg, "f: No such file or directory");
}

static void context_comes_before_and_keeps_the_rest(void **state)
{
	(void)state;
	struct err err = {0};
	errno = EACCES;
	err_sys(&err, "open");
	assert_int_equal(err_in(&err, "file %d", 3), -1);
	assert_int_equal(err_in(&err, "store"), -1);
	assert_string_equal(err.msg, "store: file 3: open: Permission denied");
	assert_int_equal(err_then(&err, "%s is left out", "it"), -1);
	assert_string_equal(err.msg, "store: file 3: open: Permission denied; it is left out");
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(err.sys_errno, EACCES);
}

static void a_message_may_speak_of_the_one_before(void **state)
{
	(void)state;
	struct err err = {0};
	err_set(&err, ERR_USAGE, "first");
	err_set(&err, ERR_DAMAGED, "second, after '%s'", err.msg);
	assert_string_equal(err.msg, "second, after 'first'");
	err_in(&err, "again '%s'", err.msg);
	assert_string_equal(err.msg, "again 'second, after 'first'': second, after 'first'");
}

static void too_long_a_message_is_cut(void **state)
{
	(void)state;
	char text[2000];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = 0;
	struct err err = {0};
	err_set(&err, ERR_USAGE, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
	err_then(&err, "end");
	assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
	err_in(&err, "context");
	assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
	assert_memory_equal(err.msg, "context: xxx", 12);
	errno = EIO;
	err_sys(&err, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
	assert_int_equal(err.sys_errno, EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_has_code_and_words),
		cmocka_unit_test(a_system_error_says_which),
		cmocka_unit_test(context_comes_before_and_keeps_the_rest),
		cmocka_unit_test(a_message_may_speak_of_the_one_before),
		cmocka_unit_test(too_long_a_message_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
