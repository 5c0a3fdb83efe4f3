#include "base/arena.h"

#include "../dies.h"

#include <stdalign.h>

static bool all_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static void objects_are_zero_aligned_and_apart(void **state)
{
	(void)state;
	struct arena a CLEANUP(arena_free) = ARENA_INIT(1 << 20);
	unsigned char *object[200];
	for (size_t i = 0; i < ARRAY_LEN(object); i++) {
		object[i] = arena_alloc(&a, i * 3);
		assert_int_equal((uintptr_t)object[i] % alignof(max_align_t), 0);
		assert_true(all_zero(object[i], i * 3));
		memset(object[i], (int)i, i * 3);
	}
	for (size_t i = 1; i < ARRAY_LEN(object); i++) {
		assert_int_equal(object[i][0], i);
		assert_int_equal(object[i][i * 3 - 1], i);
	}
	assert_int_equal(a.used, 199 * 200 / 2 * 3);
}

static void memory_used_before_comes_back_as_zeroes(void **state)
{
	(void)state;
	struct arena a CLEANUP(arena_free) = ARENA_INIT(100000);
	for (int round = 0; round < 3; round++) {
		unsigned char *p = arena_alloc(&a, 1000);
		assert_true(all_zero(p, 1000));
		memset(p, 0xff, 1000);
		struct arena_mark mark = arena_mark(&a);
		unsigned char *q = arena_alloc(&a, 500);
		memset(q, 0xff, 500);
		arena_reset(&a, mark);
		assert_true(all_zero(arena_alloc(&a, 500), 500));
		assert_int_equal(p[999], 0xff);
		arena_clear(&a);
		assert_int_equal(a.used, 0);
	}
}

static void a_mark_undoes_what_came_after_it_even_over_many_chunks(void **state)
{
	(void)state;
	struct arena a CLEANUP(arena_free) = ARENA_INIT(10 << 20);
	struct arena_mark empty = arena_mark(&a);
	char *kept = arena_text(&a, STR("kept"));
	struct arena_mark mark = arena_mark(&a);
	for (int i = 0; i < 100; i++)
		memset(arena_alloc(&a, 5000), 1, 5000);
	memset(arena_alloc(&a, 100000), 1, 100000);
	arena_reset(&a, mark);
	assert_int_equal(a.used, 5);
	assert_string_equal(kept, "kept");
	arena_reset(&a, empty);
	assert_int_equal(a.used, 0);
	assert_null(a.last);
}

static void the_limit_can_be_reached_but_not_passed_again_and_again(void **state)
{
	(void)state;
	struct arena a CLEANUP(arena_free) = ARENA_INIT(100000);
	for (int i = 0; i < 10; i++) {
		memset(arena_alloc(&a, 60000), 1, 60000);
		memset(arena_alloc(&a, 40000), 1, 40000);
		arena_clear(&a);
	}
	assert_int_equal(a.used, 0);
}

static void texts_are_copies(void **state)
{
	(void)state;
	struct arena a CLEANUP(arena_free) = ARENA_INIT(10000);
	char text[] = "ab\0cd";
	struct str copy = arena_str(&a, (struct str){text, 5});
	text[0] = 'x';
	assert_int_equal(copy.n, 5);
	assert_memory_equal(copy.p, "ab\0cd", 6);
	assert_string_equal(arena_text(&a, (struct str){0}), "");
	assert_string_equal(arena_printf(&a, "%d-%s", 5, "x"), "5-x");
	for (int n = 250; n < 260; n++) {
		char *made = arena_printf(&a, "%*d", n, 7);
		assert_int_equal(strlen(made), n);
		assert_int_equal(made[n - 1], '7');
	}
	assert_string_equal(arena_printf(&a, "%s", ""), "");
}

static void arrays_grow_in_an_arena(void **state)
{
	(void)state;
	struct arena a CLEANUP(arena_free) = ARENA_INIT(1 << 20);
	size_t *number = NULL, n = 0, room = 0;
	for (size_t i = 0; i < 1000; i++)
		*ARENA_PUSH(&a, number, n, room) = i;
	assert_int_equal(n, 1000);
	assert_true(room >= n && room <= 2 * n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(number[i], i);
}

static void one_past_the_limit(void)
{
	struct arena a = ARENA_INIT(100);
	assert_non_null(arena_alloc(&a, 60));
	assert_non_null(arena_alloc(&a, 41));
}

static void an_array_that_overflows(void)
{
	struct arena a = ARENA_INIT(SIZE_MAX);
	assert_non_null(arena_array(&a, SIZE_MAX / 2 + 2, 2));
}

static void a_size_that_overflows_when_rounded(void)
{
	struct arena a = ARENA_INIT(SIZE_MAX);
	assert_non_null(arena_alloc(&a, SIZE_MAX - 3));
}

static void sizes_past_all_bounds_end_the_program(void **state)
{
	(void)state;
	assert_true(dies(one_past_the_limit));
	assert_true(dies(an_array_that_overflows));
	assert_true(dies(a_size_that_overflows_when_rounded));
}

static void what_an_arena_gives_to_its_pool_comes_back_as_zeroes(void **state)
{
	(void)state;
	enum { MANY = 600 }; /* more than a pool keeps */
	struct arena_pool pool = {0};
	struct arena a[MANY];
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < MANY; i++) {
			a[i] = arena_from(&pool, 1000);
			char *p = arena_alloc(&a[i], 1000);
			for (size_t k = 0; k < 1000; k++)
				assert_int_equal(p[k], 0);
			memset(p, 'x', 1000);
		}
		assert_int_equal(pool.n, 0);
		for (size_t i = 0; i < MANY; i++)
			arena_give(&a[i], &pool);
		assert_true(pool.n < MANY);
	}
	arena_pool_free(&pool);
	assert_null(pool.first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_zero_aligned_and_apart),
		cmocka_unit_test(memory_used_before_comes_back_as_zeroes),
		cmocka_unit_test(a_mark_undoes_what_came_after_it_even_over_many_chunks),
		cmocka_unit_test(the_limit_can_be_reached_but_not_passed_again_and_again),
		cmocka_unit_test(texts_are_copies),
		cmocka_unit_test(arrays_grow_in_an_arena),
		cmocka_unit_test(sizes_past_all_bounds_end_the_program),
		cmocka_unit_test(what_an_arena_gives_to_its_pool_comes_back_as_zeroes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
