#include "../unit.h"

#include "fetch/spider/docindex_wire.h"

static void a_doc_index_is_read_line_by_line(void **state)
{
	struct docindex_answers in = {0};
	struct docindex_answer a;
	struct err err;
	(void)state;
	assert_int_equal(docindex_answer_read(&in, STR("HAVE 2"), &a, &err), 0);
	assert_int_equal(a.count, 2);
	assert_int_equal(docindex_answer_read(&in, STR("1 http://a/"), &a, &err), 0);
	assert_int_equal(a.kind, DOCINDEX_URL);
	assert_int_equal(a.count, 1);
	assert_true(docindex_answer_read(&in, STR("OK"), &a, &err) < 0);
	assert_int_equal(docindex_answer_read(&in, STR("2 http://b/"), &a, &err), 0);
	assert_true(str_is(a.doc_id, "2") && str_is(a.url, "http://b/"));
	assert_int_equal(docindex_answer_read(&in, STR("OK"), &a, &err), 0);
	assert_int_equal(a.kind, DOCINDEX_OK);
	assert_int_equal(docindex_answer_read(&in, STR("HAVE 0 30"), &a, &err), 0);
	assert_int_equal(a.seconds, 30);
	assert_int_equal(docindex_answer_read(&in, STR("ERROR who are you"), &a, &err), 0);
	assert_true(str_is(a.text, "who are you"));
}

static void what_a_doc_index_may_not_say_is_refused(void **state)
{
	static const char *const wrong[] = {"",        "ok",         "OK ",      "HAVE",
					    "HAVE 0",  "HAVE 1 5",   "HAVE x",   "HAVE 0 86401",
					    "HAVE  1", "HAVE 0 1 2", "http://a/"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct docindex_answers in = {0};
		struct docindex_answer a;
		struct err err = {0};
		if (docindex_answer_read(&in, str_of(wrong[i]), &a, &err) >= 0)
			fail_msg("'%s' was read", wrong[i]);
	}
}

static void every_outcome_has_a_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i <= DOCINDEX_DONE; i++) {
		unsigned got = UINT32_MAX;
		assert_true(docindex_outcome_parse(str_of(docindex_outcome_name(i)), &got));
		assert_int_equal(got, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_doc_index_is_read_line_by_line),
		cmocka_unit_test(what_a_doc_index_may_not_say_is_refused),
		cmocka_unit_test(every_outcome_has_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
