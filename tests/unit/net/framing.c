#include "net/framing.h"

#include "../scratch.h"
#include "base/message.h"

static void expect(struct framing *f, int rc, const char *text)
{
	struct str got;
	int was = framing_next(f, &got);
	assert_int_equal(was, rc);
	if (rc == 0 && !str_is(got, text))
		fail_msg("got '" STR_FMT "', not '%s'", STR_ARG(got), text);
}

static void put(struct framing *f, const char *text)
{
	framing_put(f, str_of(text));
}

static void lines_end_in_lf_or_crlf(void **state)
{
	(void)state;
	struct framing f;
	framing_init(&f, 10, 100);
	put(&f, "one\ntwo\r\n\n\r\nth\rree\r\r\nrest");
	expect(&f, 0, "one");
	expect(&f, 0, "two");
	expect(&f, 0, "");
	expect(&f, 0, "");
	expect(&f, 0, "th\rree\r");
	expect(&f, 1, NULL);
	framing_keep(&f);
	put(&f, "\n");
	expect(&f, 0, "rest");
	expect(&f, 1, NULL);
	framing_keep(&f);
	framing_free(&f);
}

static void between_lines_nothing_is_held(void **state)
{
	(void)state;
	struct framing f;
	framing_init(&f, 10, 100);
	put(&f, "a\nb\n");
	expect(&f, 0, "a");
	expect(&f, 0, "b");
	framing_keep(&f);
	assert_int_equal(f.held.cap, 0);
	put(&f, "c");
	expect(&f, 1, NULL);
	framing_keep(&f);
	assert_true(f.held.cap > 0);
	put(&f, "\n");
	expect(&f, 0, "c");
	framing_keep(&f);
	assert_int_equal(f.held.cap, 0);
}

static void the_limit_counts_the_bytes_of_the_line_alone(void **state)
{
	(void)state;
	struct framing f;
	framing_init(&f, 3, 100);
	put(&f, "abc\nabc\r\nabcd\n");
	expect(&f, 0, "abc");
	expect(&f, 0, "abc");
	expect(&f, -1, NULL);
	expect(&f, -1, NULL);
	framing_keep(&f);
	expect(&f, -1, NULL);
	framing_free(&f);
}

static void a_line_is_too_long_before_its_end_is_seen(void **state)
{
	(void)state;
	struct framing f;
	framing_init(&f, 3, 100);
	put(&f, "abc\r");
	expect(&f, 1, NULL);
	framing_keep(&f);
	put(&f, "x");
	expect(&f, -1, NULL);
	framing_free(&f);
}

static void pieces_come_as_they_arrive_after_lines_too(void **state)
{
	(void)state;
	struct framing f;
	framing_init(&f, 10, 100);
	put(&f, "line\na\nb");
	expect(&f, 0, "line");
	framing_pieces(&f);
	expect(&f, 0, "a\nb");
	expect(&f, 1, NULL);
	framing_keep(&f);
	put(&f, "12\n");
	expect(&f, 0, "12\n");
	expect(&f, 1, NULL);
	framing_keep(&f);
	assert_int_equal(f.held.cap, 0);
}

static void frames_that_were_left_are_taken_later(void **state)
{
	(void)state;
	struct framing f;
	char piece[2 * 50 + 1] = {0};
	framing_init(&f, 10, 200);
	for (size_t i = 0; i < 50; i++) {
		piece[2 * i] = (char)('0' + i);
		piece[2 * i + 1] = '\n';
	}
	put(&f, piece);
	for (size_t i = 0; i < 50; i++) {
		char line[2] = {(char)('0' + i), 0};
		expect(&f, 0, line);
		framing_keep(&f);
		memset(piece, '#', sizeof piece); /* it was the caller's */
	}
	expect(&f, 1, NULL);
	assert_int_equal(f.held.cap, 0);
}

static const struct message_field said_fields[] = {
	{.name = {"data", 4}, .type = MESSAGE_BYTES, .most = 20},
};
static const struct message said[] = {MESSAGE("say", 0, 40, said_fields), MESSAGE_BARE("end", 1)};
static const struct message_wire said_wire = {said, ARRAY_LEN(said), sizeof(struct str)};

/* Whatever lies in them, and wherever the stream is cut. */
static void messages_are_frames_as_a_whole(void **state)
{
	static const char all[] = "say 16\ndata 8\nend 0\n\n\n\nend 0\nsay 0\n";
	(void)state;
	for (size_t cut = 1; cut < sizeof all - 1; cut++) {
		struct framing f;
		framing_messages(&f, &said_wire, sizeof all);
		for (size_t at = 0; at < sizeof all - 1; at += cut) {
			framing_put(&f, str_head((struct str){all + at, sizeof all - 1 - at}, cut));
			if (at < 23 && at + cut >= 23)
				expect(&f, 0, "say 16\ndata 8\nend 0\n\n\n\n");
			if (at < 29 && at + cut >= 29)
				expect(&f, 0, "end 0\n");
			if (at + cut >= sizeof all - 1)
				expect(&f, 0, "say 0\n");
			expect(&f, 1, NULL);
			framing_keep(&f);
		}
		assert_int_equal(f.held.cap, 0);
		framing_free(&f);
	}
}

/* Before more of it is taken in. */
static void what_cannot_be_a_message_is_a_frame_at_once(void **state)
{
	static const char *const bad[] = {"say 41\n", "hello\n", "end 1\nx",
					  "a first line that has no end within 48 bytes of it"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct framing f;
		framing_messages(&f, &said_wire, 100);
		put(&f, bad[i]);
		expect(&f, 0, bad[i]);
		framing_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_in_lf_or_crlf),
		cmocka_unit_test(between_lines_nothing_is_held),
		cmocka_unit_test(the_limit_counts_the_bytes_of_the_line_alone),
		cmocka_unit_test(a_line_is_too_long_before_its_end_is_seen),
		cmocka_unit_test(pieces_come_as_they_arrive_after_lines_too),
		cmocka_unit_test(frames_that_were_left_are_taken_later),
		cmocka_unit_test(messages_are_frames_as_a_whole),
		cmocka_unit_test(what_cannot_be_a_message_is_a_frame_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
