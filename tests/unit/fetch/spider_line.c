#include "../unit.h"

#include "fetch/spider/spider_line.h"

/* One byte more than a TRANS_ID or a DOC_ID may have. */
#define LONG_WORD "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"

static void a_line_has_four_fields(void **state)
{
	struct spider_line l;
	char shown[ADDR_SHOWN];
	(void)state;
	assert_true(spider_line_read(STR("17.3 d-1 2001:db8::1 http://a.example/?b"), &l));
	assert_null(l.wrong);
	assert_true(str_is(l.trans, "17.3") && str_is(l.doc, "d-1"));
	assert_true(str_is(l.url, "http://a.example/?b"));
	assert_string_equal(addr_print(&l.addr, shown), "2001:db8::1");
}

static void a_line_with_a_trans_id_is_answered_whatever_follows(void **state)
{
	static const char *const lines[] = {
		"1",
		"1 ",
		"1 d",
		"1 d 127.0.0.1",
		"1 d 127.0.0.1 ",
		"1 d host.example http://a.example/",
		"1 d 127.0.0.1:80 http://a.example/",
		"1 d [::1] http://a.example/",
		"1 d 127.0.0.1 http://a.example/ x",
		"1  d 127.0.0.1 http://a.example/",
		"1 d\x01 127.0.0.1 http://a.example/",
		"1 d 127.0.0.1 http://a.example/\x7f",
		"1 " LONG_WORD " 127.0.0.1 http://a.example/",
	};
	struct spider_line l;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		assert_true(spider_line_read(str_of(lines[i]), &l));
		assert_true(str_is(l.trans, "1"));
		assert_non_null(l.wrong);
	}
}

static void a_line_without_one_is_garbage(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		" 1 d 127.0.0.1 http://a.example/",
		"\xff d 127.0.0.1 http://a.example/",
		"1\t d 127.0.0.1 http://a.example/",
		LONG_WORD " d 127.0.0.1 http://a.example/",
	};
	struct spider_line l;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_false(spider_line_read(str_of(lines[i]), &l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_four_fields),
		cmocka_unit_test(a_line_with_a_trans_id_is_answered_whatever_follows),
		cmocka_unit_test(a_line_without_one_is_garbage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
