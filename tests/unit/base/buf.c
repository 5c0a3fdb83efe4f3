#include "base/buf.h"

#include "../dies.h"

#include <wchar.h>

static void a_buffer_takes_exactly_its_limit(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(4);
	buf_add_text(&b, "ab");
	buf_add_byte(&b, 'c');
	buf_add(&b, "d", 1);
	assert_false(b.over);
	assert_string_equal(buf_text(&b), "abcd");
	buf_add_byte(&b, 'e');
	assert_true(b.over);
	assert_str(buf_str(&b), "abcd");
}

static void what_does_not_fit_adds_nothing_and_nothing_after_it_does(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(4);
	buf_add_text(&b, "ab");
	buf_add_text(&b, "cde");
	buf_add_byte(&b, 'c');
	buf_printf(&b, "%d", 1);
	buf_fill(&b, 'x', 1);
	assert_null(buf_room(&b, 0));
	assert_true(b.over);
	assert_string_equal(buf_text(&b), "ab");
	buf_clear(&b);
	assert_false(b.over);
	assert_string_equal(buf_text(&b), "");
	buf_add_text(&b, "wxyz");
	assert_string_equal(buf_text(&b), "wxyz");
}

static void an_empty_buffer_is_empty_text(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(0);
	buf_add(&b, NULL, 0);
	buf_add_str(&b, (struct str){0});
	buf_fill(&b, 'x', 0);
	buf_printf(&b, "%s", "");
	assert_false(b.over);
	assert_string_equal(buf_text(&b), "");
	assert_non_null(buf_str(&b).p);
	assert_non_null(buf_room(&b, 0));
	buf_grew(&b, 0);
	assert_false(b.over);
	buf_add_byte(&b, 'x');
	assert_true(b.over);
}

static void no_limit_is_too_big_to_be_kept(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(SIZE_MAX);
	buf_add_text(&b, "some text");
	buf_fill(&b, '.', 1000);
	assert_int_equal(b.n, 1009);
	assert_true(b.cap > b.n && b.cap < 100000);
	assert_false(b.over);
	assert_null(buf_room(&b, SIZE_MAX - 1));
	assert_true(b.over);
}

static void printing_around_the_inner_buffer_is_exact(void **state)
{
	(void)state;
	for (int n = 250; n <= 260; n++) {
		struct buf b CLEANUP(buf_free) = BUF_INIT(300);
		buf_printf(&b, "%*s|", n, "x");
		assert_int_equal(b.n, n + 1);
		assert_int_equal(strlen(buf_text(&b)), n + 1);
		assert_int_equal(b.p[n - 1], 'x');
		assert_int_equal(b.p[n], '|');
		buf_printf(&b, "%*s", n, "x");
		assert_true(b.over);
		assert_int_equal(b.n, n + 1);
	}
}

static void text_that_cannot_be_printed_is_over(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(300);
	buf_printf(&b, "a%lcb", (wint_t)0xd800); /* no character */
	assert_true(b.over);
	assert_int_equal(b.n, 0);
}

static void room_is_written_in_place(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(100);
	for (size_t n = 0; n <= 10; n++) {
		char *room = buf_room(&b, n);
		memset(room, (int)('a' + n), n);
		buf_grew(&b, n);
	}
	assert_int_equal(b.n, 55);
	assert_true(str_starts(buf_str(&b), STR("bccdddeeee")));
	assert_int_equal(b.p[55], 0);
}

static void grow_too_far(void)
{
	struct buf b = BUF_INIT(1000);
	(void)buf_room(&b, 10);
	buf_grew(&b, b.cap);
}

static void growing_past_the_room_is_a_broken_promise(void **state)
{
	(void)state;
	assert_true(dies(grow_too_far));
}

static void freeing_keeps_the_limit(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(3);
	buf_add_text(&b, "abc");
	buf_free(&b);
	buf_free(&b);
	assert_null(b.p);
	buf_add_text(&b, "abcd");
	assert_true(b.over);
	buf_free(&b);
	assert_false(b.over);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_takes_exactly_its_limit),
		cmocka_unit_test(what_does_not_fit_adds_nothing_and_nothing_after_it_does),
		cmocka_unit_test(an_empty_buffer_is_empty_text),
		cmocka_unit_test(no_limit_is_too_big_to_be_kept),
		cmocka_unit_test(printing_around_the_inner_buffer_is_exact),
		cmocka_unit_test(text_that_cannot_be_printed_is_over),
		cmocka_unit_test(room_is_written_in_place),
		cmocka_unit_test(growing_past_the_room_is_a_broken_promise),
		cmocka_unit_test(freeing_keeps_the_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
