#include "../unit.h"

#include "cache/link_wire.h"

static const char *const good[] = {
	"QM 1",
	"BUSY",
	"UNS 7f3a90c1d2e4b586",
	"UNS a.B_c-9",
	"SET 12 1 partial 2 1790000000000000",
	"SET 9223372036854775807 9223372036854775807 full 0 0",
	"PIECE 1",
	"PIECE 524288",
	"END 12",
	"HAVE 12",
	"REFUSED 12 203 over quota: 10 files",
};

static void a_line_that_is_read_is_printed_as_it_was(void **state)
{
	struct buf out CLEANUP(buf_free) = BUF_INIT(1000);
	struct link_line l;
	struct err err = {0};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		buf_clear(&out);
		assert_int_equal(link_line_read(str_of(good[i]), &l, &err), 0);
		link_line_print(&l, &out);
		assert_int_equal(out.n, strlen(good[i]) + 1);
		assert_memory_equal(out.p, good[i], out.n - 1);
		assert_int_equal(out.p[out.n - 1], '\n');
		assert_true(out.n <= LINK_LINE_MAX);
	}
}

static void a_line_says_what_its_words_say(void **state)
{
	struct link_line l;
	struct err err = {0};
	(void)state;
	assert_int_equal(link_line_read(str_of(good[4]), &l, &err), 0);
	assert_int_equal(l.kind, LINK_SET);
	assert_int_equal(l.number, 12);
	assert_int_equal(l.provider, 1);
	assert_false(l.is_full);
	assert_int_equal(l.urls, 2);
	assert_int_equal(l.at_us, 1790000000000000);
	assert_int_equal(link_line_read(str_of(good[10]), &l, &err), 0);
	assert_int_equal(l.code, 203);
	assert_true(str_is(l.text, "over quota: 10 files"));
}

static void anything_else_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"qm 1",
		"QM",
		"QM 2",
		"QM 1 ",
		"QM  1",
		" QM 1",
		"BUSY 1",
		"BUSY ",
		"UNS",
		"UNS ",
		"UNS a b",
		"UNS a/b",
		"UNS 123456789012345678901234567890123",
		"SET 0 1 full 0 0",
		"SET 1 0 full 0 0",
		"SET 01 1 full 0 0",
		"SET 1 1 Full 0 0",
		"SET 1 1 full -1 0",
		"SET 1 1 full 0",
		"SET 1 1 full 0 0 0",
		"SET 1 1 full 0 9223372036854775808",
		"PIECE 0",
		"PIECE 524289",
		"END",
		"END 0",
		"HAVE 18446744073709551616",
		"REFUSED 1 203",
		"REFUSED 1 203 ",
		"REFUSED 1 99 x",
		"REFUSED 1 1000 x",
		"REFUSED 1 203 a\tb",
		"REFUSED 1 203 \xff",
	};
	struct link_line l;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = {0};
		if (link_line_read(str_of(bad[i]), &l, &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

static void words_of_a_refusal_fit_in_a_line(void **state)
{
	char text[1000];
	struct link_line l = {.kind = LINK_REFUSED, .number = 1, .code = 900}, again;
	struct buf out CLEANUP(buf_free) = BUF_INIT(1000);
	struct err err = {0};
	(void)state;
	memset(text, 'x', sizeof text);
	text[0] = '\n';
	l.text = (struct str){text, sizeof text};
	link_line_print(&l, &out);
	assert_int_equal(link_line_read(str_head(buf_str(&out), out.n - 1), &again, &err), 0);
	assert_int_equal(again.text.n, LINK_TEXT_MAX);
	assert_int_equal(again.text.p[0], '?');
	buf_clear(&out);
	l.text = STR("");
	link_line_print(&l, &out);
	assert_int_equal(link_line_read(str_head(buf_str(&out), out.n - 1), &again, &err), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_that_is_read_is_printed_as_it_was),
		cmocka_unit_test(a_line_says_what_its_words_say),
		cmocka_unit_test(anything_else_is_refused),
		cmocka_unit_test(words_of_a_refusal_fit_in_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
