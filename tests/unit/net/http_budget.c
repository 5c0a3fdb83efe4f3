#include "net/http_inner.h"

#include "../unit.h"

static void the_budget_is_shared_and_never_passed(void **state)
{
	static const struct {
		uint64_t client;
		int64_t n; /* below 0: given back */
		bool granted;
	} steps[] = {
		{1, 30, true},  {1, 21, false}, /* half of it is its share */
		{1, 20, true},  {2, 50, true},
		{3, 1, false}, /* all is taken */
		{2, -50, true}, {3, 50, true},
		{3, -50, true}, {2, 60, false}, /* more than there is left */
		{2, 50, true},  {2, -50, true},
		{1, -50, true}, {4, 500, true}, /* more than all: alone */
		{5, 1, false},  {4, -500, true},
		{0, 90, true}, /* the program itself has no share */
		{0, 11, false}, {5, 10, true},
		{5, -10, true}, {0, -90, true},
	};
	struct http_budget *b = http_budget_new(100);
	size_t refused = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (steps[i].n < 0) {
			http_budget_give(b, steps[i].client, (uint64_t)-steps[i].n);
			continue;
		}
		bool granted = http_budget_take(b, steps[i].client, (uint64_t)steps[i].n);
		if (granted != steps[i].granted)
			fail_msg("step %zu: %d", i, granted);
		refused += !granted;
	}
	assert_int_equal(http_budget_refused(b), refused);
	assert_int_equal(http_budget_refused(b), 0);
	http_budget_free(&b);
	assert_null(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_budget_is_shared_and_never_passed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
