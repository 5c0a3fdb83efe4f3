/* What uns and qm say to each other, in the bounds that both rely on. */
#include "cache/uns/link_wire.h"

#include "../said.h"
#include "../unit.h"

static int read_line(const struct message_wire *wire, const char *line, int *ret_kind,
		     struct link_message *ret, struct buf *out)
{
	struct err err = {0};
	buf_clear(out);
	said_write(line, out);
	int rc = message_read(wire, buf_str(out), ret_kind, ret, &err);
	assert_true(rc == 0 || (err.code == ERR_DAMAGED && err.msg[0]));
	return rc;
}

static void what_is_said_is_read_and_written_as_it_was(void **state)
{
	static const struct {
		const struct message_wire *wire;
		int kind;
		const char *line;
	} good[] = {
		{&link_of_qm, LINK_QM, "qm version=2\n"},
		{&link_of_qm, LINK_QM, "qm version=3\n"}, /* refused by who knows its own */
		{&link_of_qm, LINK_BUSY, "busy\n"},
		{&link_of_qm, LINK_HAVE, "have number=12\n"},
		{&link_of_qm, LINK_REFUSED, "refused number=12 code=203 text=over\n"},
		{&link_of_uns, LINK_UNS, "uns name=7f3a90c1d2e4b586\n"},
		{&link_of_uns, LINK_SET, "set number=12 provider=1 urls=2 at=1790000000000000\n"},
		{&link_of_uns, LINK_SET,
		 "set number=9223372036854775807 provider=9223372036854775807 full urls=0 at=0\n"},
		{&link_of_uns, LINK_END, "end number=12\n"},
	};
	CLEANUP(buf_free) struct buf in = BUF_INIT(1000), out = BUF_INIT(1000);
	struct link_message m;
	int kind;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(read_line(good[i].wire, good[i].line, &kind, &m, &in), 0);
		assert_int_equal(kind, good[i].kind);
		buf_clear(&out);
		message_write(good[i].wire, kind, &m, &out);
		assert_string_equal(buf_text(&out), buf_text(&in));
	}
}

static void anything_else_is_refused(void **state)
{
	static const char *const of_qm[] = {
		"qm\n",
		"qm version=x\n",
		"busy 1\n",
		"have number=0\n",
		"have\n",
		"have number=18446744073709551616\n",
		"refused number=1 code=99 text=x\n",
		"refused number=1 code=1000 text=x\n",
		"set number=1 provider=1 urls=1 at=1\n",
	};
	static const char *const of_uns[] = {
		"uns\n",
		"uns name=123456789012345678901234567890123\n",
		"have number=1\n",
		"set number=0 provider=1 urls=0 at=0\n",
		"set number=1 provider=0 urls=0 at=0\n",
		"set number=01 provider=1 urls=0 at=0\n",
		"set number=1 provider=1 full=1 urls=0 at=0\n",
		"set number=1 provider=1 urls=-1 at=0\n",
		"set number=1 provider=1 urls=0\n",
		"set number=1 provider=1 urls=0 at=9223372036854775808\n",
		"end\n",
		"end number=0\n",
	};
	CLEANUP(buf_free) struct buf in = BUF_INIT(1000);
	struct link_message m;
	int kind;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of_qm); i++)
		if (read_line(&link_of_qm, of_qm[i], &kind, &m, &in) == 0)
			fail_msg("taken: %s", of_qm[i]);
	for (size_t i = 0; i < ARRAY_LEN(of_uns); i++)
		if (read_line(&link_of_uns, of_uns[i], &kind, &m, &in) == 0)
			fail_msg("taken: %s", of_uns[i]);
}

static void a_piece_has_a_byte_at_least_and_its_most_fits(void **state)
{
	static char block[LINK_PIECE_MAX + 1];
	static const size_t sizes[] = {0, 1, LINK_PIECE_MAX, LINK_PIECE_MAX + 1};
	CLEANUP(buf_free) struct buf out = BUF_INIT(sizeof block + LINK_SMALL_MAX);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct link_message m = {.piece = {block, sizes[i]}}, got;
		struct err err;
		int kind;
		buf_clear(&out);
		message_write(&link_of_uns, LINK_PIECE, &m, &out);
		assert_int_equal(message_read(&link_of_uns, buf_str(&out), &kind, &got, &err),
				 i == 1 || i == 2 ? 0 : -1);
	}
}

static void names_have_few_characters(void **state)
{
	(void)state;
	assert_true(link_name_is_good(STR("a.B_c-9")));
	assert_true(link_name_is_good(STR("12345678901234567890123456789012")));
	assert_false(link_name_is_good(STR("123456789012345678901234567890123")));
	assert_false(link_name_is_good(STR("")));
	assert_false(link_name_is_good(STR("a/b")));
	assert_false(link_name_is_good(STR("a b")));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_is_read_and_written_as_it_was),
		cmocka_unit_test(anything_else_is_refused),
		cmocka_unit_test(a_piece_has_a_byte_at_least_and_its_most_fits),
		cmocka_unit_test(names_have_few_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
