/* What the modules of the crawl share: what statuses say, which hosts are fast, what is asked for
 * by hand. */
#include "shepherd/crawl.h"

#include "fetch/outcome.h"
#include "unit/shepherd/crawl_lab.h"

static void a_status_says_in_words_what_happened(void **state)
{
	(void)state;
	char text[64];
	static const struct {
		uint16_t status;
		const char *says;
	} cases[] = {
		{0, "not tried yet"},
		{200, "HTTP status 200"},
		{999, "HTTP status 999"},
		{CRAWL_STATUS + OUTCOME_ROBOTS, "robots.txt forbids it"},
		{CRAWL_STATUS + OUTCOME_SITE_PERMANENT, "the server does not exist"},
		{CRAWL_STATUS + OUTCOME_OK, "failed"},
		{CRAWL_NOINDEX, "it asks not to be indexed"},
		{UINT16_MAX, "failed"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(cases[i].says, crawl_status_text(cases[i].status, text));
}

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
		cmocka_unit_test(a_status_says_in_words_what_happened),
		cmocka_unit_test(what_is_asked_for_by_hand_becomes_a_contribution),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
