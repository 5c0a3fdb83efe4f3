/* What the modules of the crawl share: what is asked for by hand. */
#include "shepherd/crawl.h"

#include "unit/shepherd/crawl_lab.h"

static void what_is_asked_for_by_hand_becomes_a_contribution(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct contrib c;
	lab_make(&lab, "asked", NULL, 0, NULL, 0);
	lab_enter(&lab, false, PHASE_REAP);
	MUST(crawl_ask(lab.st, STR("http://A.example"), &err));
	MUST(crawl_ask(lab.st, STR("not a URL"), &err)); /* garner add has refused it */
	MUST(state_checkpoint(lab.st, NULL, PLAY_START, &err));
	MUST(state_read(lab.st, "contrib", &in, &err));
	MUST(record_next(in, &record, &err));
	MUST(contrib_read(record.payload, &c, &err));
	assert_str(c.url, "http://a.example/");
	assert_int_equal(ITEM_INITIAL, c.flags);
	assert_int_equal(1, record_next(in, &record, &err));
	record_reader_free(&in);
	lab_free(&lab);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for_by_hand_becomes_a_contribution),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
