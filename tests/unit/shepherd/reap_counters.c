/* Counters of codes: the definitions follow the table of codes, and each code has its counter. */
#include "shepherd/reap_counters.h"

#include "base/arena.h"
#include "shepherd/code.h"
#include "unit/scratch.h"
#include "unit/unit.h"

static const struct counter_def defs[] = {
	{"before", NULL, COUNTER_TOTAL, "Not of a code."},
	REAP_CODE_DEFS,
};

static void each_code_has_a_definition(void **state)
{
	(void)state;
	char want[100];
	assert_int_equal(REAP_NCODES, code_count + 2);
	for (size_t i = 0; i < code_count; i++) {
		snprintf(want, sizeof want, "class=\"%s\",code=\"%u\"",
			 code_class_names[code_class(code_all[i])], code_all[i]);
		assert_string_equal(defs[1 + i].labels, want);
		assert_int_equal(reap_code_counter(code_all[i]), i);
	}
}

static void other_codes_count_with_their_class(void **state)
{
	(void)state;
	assert_string_equal(defs[1 + reap_code_counter(1520)].labels,
			    "class=\"temporary\",code=\"other\"");
	assert_string_equal(defs[1 + reap_code_counter(2418)].labels,
			    "class=\"permanent\",code=\"other\"");
	for (unsigned code = 0; code <= UINT16_MAX; code++)
		assert_true(reap_code_counter((uint16_t)code) < REAP_NCODES);
}

static void tries_are_counted(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	struct counters *c;
	struct counters_view view;
	struct err err;
	assert_int_equal(counters_create(&c, scratch("counters"), "shepherd", defs, ARRAY_LEN(defs),
					 1, &err),
			 0);
	counters_add(c, 1 + reap_code_counter(2404), 1);
	counters_add(c, 1 + reap_code_counter(2404), 1);
	counters_add(c, 1 + reap_code_counter(CODE_OK), 1);
	counters_add(NULL, 1 + reap_code_counter(CODE_OK), 1);
	assert_int_equal(counters_read(scratch("counters"), &arena, &view, &err), 0);
	for (size_t i = 0; i < view.n; i++)
		assert_int_equal(view.value[i].value,
				 str_is(view.value[i].labels, "class=\"permanent\",code=\"2404\"")
					 ? 2
				 : str_is(view.value[i].labels, "class=\"ok\",code=\"0\"") ? 1
											   : 0);
	counters_close(&c);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_code_has_a_definition),
		cmocka_unit_test(other_codes_count_with_their_class),
		cmocka_unit_test(tries_are_counted),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
