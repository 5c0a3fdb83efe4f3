#include "../unit.h"

#include "fetch/docindex_wire.h"

static struct docindex_request read_request(struct docindex_requests *in, const char *line)
{
	struct docindex_request r;
	struct err err;
	assert_int_equal(docindex_request_read(in, str_of(line), &r, &err), 0);
	return r;
}

static void a_client_is_read_line_by_line(void **state)
{
	struct docindex_requests in = {0};
	struct docindex_request r = read_request(&in, "HELLO us1");
	(void)state;
	assert_int_equal(r.verb, DOCINDEX_HELLO);
	assert_true(str_is(r.name, "us1"));
	r = read_request(&in, "WANT 500 2");
	assert_int_equal(r.verb, DOCINDEX_WANT);
	assert_int_equal(r.count, 500);
	assert_int_equal(r.rejects, 2);
	r = read_request(&in, "a.example");
	assert_int_equal(r.verb, DOCINDEX_REJECT);
	assert_int_equal(r.rejects, 1);
	/* Inside a reject list everything is a host. */
	r = read_request(&in, "HELLO");
	assert_int_equal(r.verb, DOCINDEX_REJECT);
	assert_int_equal(r.rejects, 0);
	assert_true(str_is(r.name, "HELLO"));
	r = read_request(&in, "DONE 12 done");
	assert_int_equal(r.verb, DOCINDEX_REPORT);
	assert_int_equal(r.outcome, DOCINDEX_DONE);
	r = read_request(&in, "RESULT 0123456789abcdef 17 4096");
	assert_int_equal(r.verb, DOCINDEX_RESULT);
	assert_int_equal(r.head, 17);
	assert_int_equal(r.body, 4096);
}

static void what_a_client_may_not_say_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",           " ",           "WANT",         "WANT 1",       "WANT 1 0 ",
		" WANT 1 0",  "WANT  1 0",   "WANT 1 -1",    "WANT 1 0x1",   "WANT 100001 0",
		"want 1 0",   "HELLO again", "DONE 1",       "DONE 1 fine",  "DONE 1 ok ok",
		"RESULT 1 1", "QUIT",        "DONE \x7f ok", "DONE \xc3 ok", "WANT 1 100001",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct docindex_requests in = {.greeted = true};
		struct docindex_request r;
		struct err err = {0};
		if (docindex_request_read(&in, str_of(wrong[i]), &r, &err) >= 0)
			fail_msg("'%s' was read", wrong[i]);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

static void hello_comes_first_and_once(void **state)
{
	struct docindex_requests in = {0};
	struct docindex_request r;
	struct err err = {0};
	(void)state;
	assert_true(docindex_request_read(&in, STR("WANT 1 0"), &r, &err) < 0);
	assert_int_equal(docindex_request_read(&in, STR("HELLO a"), &r, &err), 0);
	assert_true(docindex_request_read(&in, STR("HELLO a"), &r, &err) < 0);
}

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

static void a_message_of_an_error_stays_in_its_line(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(DOCINDEX_LINE_MAX);
	(void)state;
	docindex_answer_write(
		&(struct docindex_answer){.kind = DOCINDEX_ERROR, .text = STR("a\nOK\r\tb")}, &out);
	assert_string_equal(buf_text(&out), "ERROR a OK  b\n");
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
		cmocka_unit_test(a_client_is_read_line_by_line),
		cmocka_unit_test(what_a_client_may_not_say_is_refused),
		cmocka_unit_test(hello_comes_first_and_once),
		cmocka_unit_test(a_doc_index_is_read_line_by_line),
		cmocka_unit_test(what_a_doc_index_may_not_say_is_refused),
		cmocka_unit_test(a_message_of_an_error_stays_in_its_line),
		cmocka_unit_test(every_outcome_has_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
