/* Bytes of peers that know telnet, of one that does not, and of those who mean harm. */
#include "archie/telnet_wire.h"
#include "../unit.h"
#include "base/clock.h"

static struct telnet_wire w;

static int begin(void **state)
{
	(void)state;
	telnet_wire_init(&w);
	return 0;
}

static int end(void **state)
{
	(void)state;
	telnet_wire_done(&w);
	return 0;
}

#define TAKE(lit) telnet_wire_take(&w, STR(lit), 0)
#define IAC "\xff"
#define WILL "\xfb"
#define WONT "\xfc"
#define DO "\xfd"
#define DONT "\xfe"
#define SB "\xfa"
#define SE "\xf0"

static void what_we_offer_and_ask_for_is_said_first(void **state)
{
	(void)state;
	assert_memory_equal(w.out.p, IAC WILL "\001" IAC WILL "\003" IAC DO "\037" IAC DO "\030",
			    12);
	assert_int_equal(w.out.n, 12);
	assert_false(w.keys || w.changed || telnet_wire_settled(&w));
}

static void a_peer_that_knows_no_telnet_sends_lines(void **state)
{
	(void)state;
	buf_clear(&w.out);
	TAKE("find a\nfind b\r\n");
	assert_str(buf_str(&w.typed), "find a\nfind b\r\n");
	assert_int_equal(w.out.n, 0);
	assert_false(w.keys || w.broken);
}

static void options_tell_of_the_terminal(void **state)
{
	(void)state;
	buf_clear(&w.out);
	TAKE(IAC DO "\001" IAC DO "\003" IAC WILL "\037" IAC WILL "\030");
	assert_true(w.keys && !w.changed && !telnet_wire_settled(&w));
	assert_memory_equal(w.out.p, IAC SB "\030\001" IAC SE, w.out.n);
	assert_int_equal(w.out.n, 6);
	TAKE(IAC SB "\037\000\204\000\053" IAC SE);
	assert_true(w.changed && w.cols == 132 && w.rows == 43);
	TAKE(IAC SB "\030\000XTERM-256COLOR" IAC SE "typed");
	assert_string_equal(w.type, "xterm-256color");
	assert_str(buf_str(&w.typed), "typed");
	assert_true(telnet_wire_settled(&w));
	TAKE(IAC DONT "\001");
	assert_false(w.keys);
}

static void a_type_is_visible_and_short(void **state)
{
	(void)state;
	TAKE(IAC SB "\030\000VT\033[2J" IAC SE);
	assert_string_equal(w.type, "vt");
	TAKE(IAC SB "\030\000"
		    "0123456789012345678901234567890123456789012345678901234567890" IAC SE);
	assert_int_equal(strlen(w.type), TELNET_TYPE_MOST);
	TAKE(IAC SB "\030\001" IAC SE IAC SB "\030" IAC SE IAC SB "\037\000\001" IAC SE);
	assert_int_equal(w.rows, 0);
}

static void commands_are_keys(void **state)
{
	(void)state;
	TAKE("dropped" IAC "\xf4");
	assert_true(w.interrupted && w.typed.n == 0);
	TAKE("ab" IAC "\xf7" IAC "\xf8" IAC "\xf1");
	assert_str(buf_str(&w.typed), "ab"); /* nobody edits here */
	TAKE(IAC DO "\001c" IAC "\xf7" IAC "\xf8");
	assert_str(buf_str(&w.typed), "abc\x7f\x15");
	buf_clear(&w.out);
	TAKE(IAC "\xf6");
	assert_str(buf_str(&w.out), "\r\n[Yes]\r\n");
	TAKE(IAC IAC);
	assert_int_equal((unsigned char)w.typed.p[w.typed.n - 1], 255);
	TAKE("d" IAC "\xec"
	     "e");
	assert_true(w.ended);
	assert_int_equal(w.typed.p[w.typed.n - 1], 'd');
}

static void other_options_are_refused(void **state)
{
	(void)state;
	buf_clear(&w.out);
	TAKE(IAC DO "\000" IAC WILL "\047" IAC DO "\006" IAC WONT "\037");
	assert_memory_equal(w.out.p, IAC WONT "\000" IAC DONT "\047" IAC WONT "\006", 9);
	assert_int_equal(w.out.n, 9);
	assert_null(w.broken);
}

static void a_storm_of_options_ends_it(void **state)
{
	(void)state;
	int64_t now_us = 0;
	/* a window that somebody drags about is no storm */
	for (int i = 0; i < 5000 && !w.broken; i++)
		telnet_wire_take(&w, STR(IAC SB "\037\000\120\000\030" IAC SE),
				 now_us += 20 * US_PER_MS);
	assert_null(w.broken);
	for (int i = 0; i < 2 * TELNET_COMMANDS_MOST && !w.broken; i++) {
		telnet_wire_take(&w, STR(IAC DO "\000" IAC WILL "\047"), now_us);
		assert_true(w.out.n <= 12 + 6 * TELNET_COMMANDS_MOST);
	}
	assert_non_null(w.broken);
	size_t said = w.out.n;
	TAKE("typed" IAC DO "\000");
	assert_int_equal(w.out.n, said);
	assert_int_equal(w.typed.n, 0);
}

static void compression_that_nobody_offered_ends_it(void **state)
{
	(void)state;
	TAKE(IAC SB "\126" IAC SE "x\234\003\000\000\000\000\001 and more");
	assert_non_null(w.broken);
	assert_int_equal(w.typed.n, 0);
}

/* libtelnet gives up a subnegotiation that is too long; what follows counts as typed. */
static void what_never_ends_is_bounded(void **state)
{
	char piece[TELNET_PIECE_MOST];
	(void)state;
	memset(piece, 'a', sizeof piece);
	TAKE(IAC SB "\030");
	for (int i = 0; i < 100; i++) {
		telnet_wire_take(&w, (struct str){piece, sizeof piece}, 0);
		buf_clear(&w.typed);
	}
	assert_null(w.broken);
	assert_string_equal(w.type, "");
}

static void text_is_escaped(void **state)
{
	struct buf out = BUF_INIT(100);
	(void)state;
	telnet_text(STR("a\nb\rc\377d\b"), &out);
	assert_int_equal(out.n, 11);
	assert_memory_equal(out.p, "a\r\nb\r\0c\377\377d\b", out.n);
	buf_free(&out);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(what_we_offer_and_ask_for_is_said_first),
		TEST(a_peer_that_knows_no_telnet_sends_lines),
		TEST(options_tell_of_the_terminal),
		TEST(a_type_is_visible_and_short),
		TEST(commands_are_keys),
		TEST(other_options_are_refused),
		TEST(a_storm_of_options_ends_it),
		TEST(compression_that_nobody_offered_ends_it),
		TEST(what_never_ends_is_bounded),
		TEST(text_is_escaped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
