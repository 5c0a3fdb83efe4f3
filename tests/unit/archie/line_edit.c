/* Keys, and what a terminal shows of them: a row that knows CR, BS and characters. */
#include "archie/shell/line_edit.h"
#include "../dice.h"
#include "../unit.h"

#include <stdio.h>

enum { MOST = 40 };

struct row {
	char cell[512];
	size_t at, n;
};

static struct line_edit *e;
static struct row row;
static struct buf out;

static void show_on_row(struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\r') {
			row.at = 0;
		} else if (text.p[i] == '\b') {
			assert_true(row.at > 0);
			row.at--;
		} else if (text.p[i] == '\n') {
			row = (struct row){.n = 0};
		} else if (text.p[i] != '\a') {
			assert_true(row.at < sizeof row.cell - 1);
			row.cell[row.at++] = text.p[i];
			row.n = MAX(row.n, row.at);
		}
	}
}

static void show_out(void)
{
	show_on_row(buf_str(&out));
	buf_clear(&out);
}

static enum line_event type_text(const char *keys, size_t n)
{
	enum line_event event = LINE_MORE;
	for (size_t i = 0; i < n && event == LINE_MORE; i++)
		event = line_edit_byte(e, keys[i], &out);
	show_out();
	return event;
}
#define TYPE(keys) type_text(keys, sizeof(keys) - 1)

static void begin_line(void)
{
	row = (struct row){.n = 0};
	line_edit_begin(e, STR("> "), &out);
	show_out();
}

static int begin(void **state)
{
	(void)state;
	e = line_edit_new(MOST);
	out = BUF_INIT(1 << 16);
	line_edit_mode(e, true);
	begin_line();
	return 0;
}

static int end(void **state)
{
	(void)state;
	line_edit_free(&e);
	buf_free(&out);
	return 0;
}

/* The whole row, with the cursor as |. */
static void assert_row(const char *want)
{
	char got[sizeof row.cell + 2];
	size_t n = row.n;
	while (n > row.at && row.cell[n - 1] == ' ')
		n--;
	snprintf(got, sizeof got, "%.*s|%.*s", (int)row.at, row.cell, (int)(n - row.at),
		 row.cell + row.at);
	assert_string_equal(got, want);
}

static void keys_move_and_erase(void **state)
{
	(void)state;
	TYPE("fimd\x7f\bnd x");
	assert_row("> find x|");
	TYPE("\x01");
	assert_row("> |find x");
	TYPE("re\x06\x02");
	assert_row("> re|find x");
	TYPE("\x1b[C\x1bOC\x1b[D");
	assert_row("> ref|ind x");
	TYPE("\x04\x1b[3~");
	assert_row("> ref|d x");
	TYPE("\x0b");
	assert_row("> ref|");
	TYPE(" abc def \x17");
	assert_row("> ref abc |");
	TYPE("\x1b[H\x1b[1~\x1b[F\x1b[4~\x15");
	assert_row("> |");
	TYPE("a\tb\x1b[1;5C\x1b[200~\x1bxc\x0c");
	assert_row("> a bc|");
	assert_int_equal(TYPE("\n"), LINE_DONE);
	assert_str(line_edit_text(e), "a bc");
	line_edit_erase(e, '#');
	begin_line();
	TYPE("ab#");
	assert_row("> a|");
	assert_str(line_edit_text(e), "a");
}

static void lines_of_before_come_back(void **state)
{
	(void)state;
	line_edit_remember(e, STR("one"));
	line_edit_remember(e, STR("two"));
	line_edit_remember(e, STR("two"));
	TYPE("new\x1b[A");
	assert_row("> two|");
	TYPE("\x10");
	assert_row("> one|");
	TYPE("\x1b[A");
	assert_row("> one|");
	TYPE("\x0e!\x1b[B");
	assert_row("> new|");
	for (int i = 0; i < 2 * LINE_EDIT_HISTORY; i++) {
		char text[20];
		snprintf(text, sizeof text, "line %d", i);
		line_edit_remember(e, str_of(text));
	}
	for (int i = 0; i < 3 * LINE_EDIT_HISTORY; i++)
		TYPE("\x1b[A");
	assert_row("> line 50|");
}

static void what_is_too_long_is_dropped_and_told(void **state)
{
	(void)state;
	for (int edits = 0; edits < 2; edits++) {
		line_edit_mode(e, edits);
		begin_line();
		for (int i = 0; i < 3 * MOST; i++)
			line_edit_byte(e, 'x', &out);
		assert_int_equal(line_edit_text(e).n, MOST);
		assert_int_equal(str_find_byte(buf_str(&out), '\a') < out.n, edits);
		show_out();
	}
}

static void a_long_line_is_shown_in_part(void **state)
{
	(void)state;
	line_edit_columns(e, 16);
	TYPE("abcdefghijklmnopqrst");
	assert_row("> ijklmnopqrst|");
	TYPE("\x01");
	assert_row("> |abcdefghijkl");
	TYPE("\x05");
	assert_true(row.at < 16);
	assert_str(line_edit_text(e), "abcdefghijklmnopqrst");
	line_edit_columns(e, 0); /* such a terminal is not believed */
	TYPE("\x0c");
}

static void characters_of_several_bytes_are_one(void **state)
{
	(void)state;
	TYPE("na\xc3\xafve\x1b[D\x1b[D\x1b[D");
	TYPE("\x04");
	assert_str(line_edit_text(e), "nave");
	TYPE("\x15\x0b\xe2\x82\xac\x7f");
	assert_str(line_edit_text(e), "");
	TYPE("\x80\xbf\x7f\x7f\x7f");
	assert_str(line_edit_text(e), "");
}

static void interrupts_and_ends_are_keys_of_editing_alone(void **state)
{
	(void)state;
	assert_int_equal(TYPE("ab\x03"), LINE_INTERRUPT);
	begin_line();
	assert_int_equal(TYPE("\x04"), LINE_END);
	begin_line();
	assert_int_equal(TYPE("a\x04"), LINE_MORE);
	line_edit_mode(e, false);
	begin_line();
	assert_int_equal(TYPE("\x03\x04\x08"), LINE_MORE);
	assert_str(line_edit_text(e), "\x03\x04\x08");
	line_edit_mode(e, true);
	TYPE("a\x0c");
	assert_row("> ???a|");
}

/* A model: whatever is typed, the row shows the line, cut to the window around the cursor. */
static void the_row_shows_the_line_whatever_is_typed(void **state)
{
	static const char *const keys[] = {"a",    "b",    " ",      "c",      "\x7f",
					   "\x01", "\x05", "\x1b[C", "\x1b[D", "\x04x",
					   "\x17", "\x0b", "\x1b[A", "\x1b[B", "\x15"};
	uint64_t seed = 7;
	(void)state;
	line_edit_remember(e, STR("a line of before"));
	for (int i = 0; i < 20000; i++) {
		size_t k = dice(&seed) % ARRAY_LEN(keys);
		type_text(keys[k], strlen(keys[k]));
		char want[MOST + 3], got[sizeof row.cell + 1];
		snprintf(want, sizeof want, "> " STR_FMT, STR_ARG(line_edit_text(e)));
		snprintf(got, sizeof got, "%.*s", (int)row.n, row.cell);
		size_t n = strlen(want);
		assert_memory_equal(got, want, n);
		assert_int_equal(strspn(got + n, " "), strlen(got + n));
		assert_true(row.at >= 2 && row.at <= n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keys_move_and_erase, begin, end),
		cmocka_unit_test_setup_teardown(lines_of_before_come_back, begin, end),
		cmocka_unit_test_setup_teardown(what_is_too_long_is_dropped_and_told, begin, end),
		cmocka_unit_test_setup_teardown(a_long_line_is_shown_in_part, begin, end),
		cmocka_unit_test_setup_teardown(characters_of_several_bytes_are_one, begin, end),
		cmocka_unit_test_setup_teardown(interrupts_and_ends_are_keys_of_editing_alone,
						begin, end),
		cmocka_unit_test_setup_teardown(the_row_shows_the_line_whatever_is_typed, begin,
						end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
