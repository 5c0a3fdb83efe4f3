#include "../unit.h"

#include "fetch/docindex_wire.h"
#include "fetch/spider/spider_status.h"

static void the_lines_of_document_003_are_read(void **state)
{
	struct spider_status s;
	(void)state;
	assert_int_equal(spider_status_read(STR("12.34 DONE"), false, &s), SPIDER_FINE);
	assert_true(s.done && s.slot == 12 && s.turn == 34 && s.outcome == DOCINDEX_DONE);
	assert_int_equal(spider_status_read(STR("4294967295.0 WORKING"), true, &s), SPIDER_FINE);
	assert_true(!s.done && s.slot == UINT32_MAX && s.turn == 0);
	assert_int_equal(spider_status_read(STR("1.1 DONE"), true, &s), SPIDER_FINE);
	assert_int_equal(s.outcome, DOCINDEX_DONE);
	assert_int_equal(spider_status_read(STR("1.1 DONE robots"), true, &s), SPIDER_FINE);
	assert_int_equal(s.outcome, OUTCOME_ROBOTS);
}

static void all_others_say_nothing(void **state)
{
	static const char *const no_trans[] = {"",
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
					       "0x1.2 DONE"};
	static const char *const no_word[] = {"1.2",           "1.2 ",          "1.2 done",
					      "1.2 DONE ",     "1.2  DONE",     "1.2 DONE ok ok",
					      "1.2 DONE fine", "1.2 WORKING ok"};
	struct spider_status s;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(no_trans); i++)
		assert_int_equal(spider_status_read(str_of(no_trans[i]), true, &s),
				 SPIDER_NO_TRANS);
	for (size_t i = 0; i < ARRAY_LEN(no_word); i++)
		assert_int_equal(spider_status_read(str_of(no_word[i]), true, &s), SPIDER_NO_WORD);
	assert_int_equal(spider_status_read(STR("1.2 DONE ok"), false, &s), SPIDER_NO_WORD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lines_of_document_003_are_read),
		cmocka_unit_test(all_others_say_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
