#include "base/backoff.h"

#include "../unit.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failure_doubles_the_delay),
		cmocka_unit_test(no_delay_is_longer_than_the_longest),
		cmocka_unit_test(the_longest_delay_there_is_does_not_overflow),
		cmocka_unit_test(no_delay_stays_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
