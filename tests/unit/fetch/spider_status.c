#include "../unit.h"

#include "fetch/spider/docindex_wire.h"
#include "fetch/spider/spider_status.h"

static void the_lines_of_document_003_are_read(void **state)
{
	struct spider_status s;
	(void)state;
	assert_true(spider_status_read(STR("12.34 DONE"), false, &s));
	assert_true(s.done && s.slot == 12 && s.turn == 34 && s.outcome == DOCINDEX_DONE);
	assert_true(spider_status_read(STR("4294967295.0 WORKING"), true, &s));
	assert_true(!s.done && s.slot == UINT32_MAX && s.turn == 0);
	assert_true(spider_status_read(STR("1.1 DONE"), true, &s));
	assert_int_equal(s.outcome, DOCINDEX_DONE);
	assert_true(spider_status_read(STR("1.1 DONE robots"), true, &s));
	assert_int_equal(s.outcome, OUTCOME_ROBOTS);
}

static void all_others_say_nothing(void **state)
{
	static const char *const wrong[] = {"",
					    " ",
					    "DONE",
					    "1 DONE",
					    "1. DONE",
					    ".1 DONE",
					    "1.2.3 DONE",
					    "01.2 DONE",
					    "1.02 DONE",
					    "-1.2 DONE",
					    "4294967296.1 DONE",
					    "1.99999999999 DONE",
					    " 1.2 DONE",
					    "0x1.2 DONE",
					    "1.2",
					    "1.2 ",
					    "1.2 done",
					    "1.2 DONE ",
					    "1.2  DONE",
					    "1.2 DONE ok ok",
					    "1.2 DONE fine",
					    "1.2 WORKING ok"};
	struct spider_status s;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(spider_status_read(str_of(wrong[i]), true, &s));
	assert_false(spider_status_read(STR("1.2 DONE ok"), false, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lines_of_document_003_are_read),
		cmocka_unit_test(all_others_say_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
