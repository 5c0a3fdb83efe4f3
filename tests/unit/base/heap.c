#include "base/heap.h"

#include "../dice.h"
#include "../dies.h"

struct timer {
	uint64_t due;
	size_t at;
};

static bool sooner(struct timer *const *a, struct timer *const *b)
{
	return (*a)->due < (*b)->due;
}
static void timer_moved(struct timer **t, size_t at)
{
	(*t)->at = at;
}
static bool less_number(const uint64_t *a, const uint64_t *b)
{
	return *a < *b;
}

HEAP(timers, struct timer *, sooner, timer_moved)
HEAP(numbers, uint64_t, less_number, HEAP_STAY)

static void numbers_come_out_in_order(void **state)
{
	(void)state;
	uint64_t seed = 8, last = 0, v = 99, sum = 0;
	struct numbers h = {0};
	assert_null(numbers_top(&h));
	assert_int_equal(numbers_pop(&h, &v), 1);
	assert_int_equal(v, 99);
	for (int i = 0; i < 5000; i++) {
		v = dice(&seed) % 1000; /* many are equal */
		sum += v;
		numbers_push(&h, v);
	}
	assert_int_equal(numbers_count(&h), 5000);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(*numbers_top(&h), h.e[0]);
		assert_int_equal(numbers_pop(&h, &v), 0);
		assert_true(v >= last);
		last = v;
		sum -= v;
	}
	assert_int_equal(sum, 0);
	assert_int_equal(numbers_pop(&h, &v), 1);
	numbers_free(&h);
	numbers_free(&h);
}

static void check(const struct timers *h)
{
	for (size_t i = 0; i < h->n; i++) {
		assert_int_equal(h->e[i]->at, i);
		assert_true(i == 0 || h->e[(i - 1) / 2]->due <= h->e[i]->due);
	}
}

static void elements_know_their_place_through_changes_and_removals(void **state)
{
	(void)state;
	enum { TIMERS = 200 };
	static struct timer timer[TIMERS];
	static bool in[TIMERS];
	struct timers h = {0};
	uint64_t seed = 9;
	size_t count = 0;
	for (int i = 0; i < 20000; i++) {
		size_t k = dice(&seed) % TIMERS;
		struct timer *t = &timer[k];
		if (!in[k]) {
			t->due = dice(&seed) % 500;
			timers_push(&h, t);
		} else if (dice(&seed) % 2) {
			t->due = dice(&seed) % 500;
			timers_fix(&h, t->at);
			continue;
		} else {
			timers_remove(&h, t->at);
		}
		count += in[k] ? -1ul : 1ul;
		in[k] = !in[k];
		assert_int_equal(timers_count(&h), count);
		check(&h);
	}
	struct timer *t;
	uint64_t last = 0;
	while (timers_pop(&h, &t) == 0) {
		assert_true(in[t - timer] && t->due >= last);
		last = t->due;
		count--;
		check(&h);
	}
	assert_int_equal(count, 0);
	timers_free(&h);
}

static void remove_from_nothing(void)
{
	struct numbers h = {0};
	numbers_remove(&h, 0);
}

static void fix_past_the_end(void)
{
	struct numbers h = {0};
	numbers_push(&h, 1);
	numbers_fix(&h, 1);
}

static void places_that_are_none_are_broken_promises(void **state)
{
	(void)state;
	assert_true(dies(remove_from_nothing));
	assert_true(dies(fix_past_the_end));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_out_in_order),
		cmocka_unit_test(elements_know_their_place_through_changes_and_removals),
		cmocka_unit_test(places_that_are_none_are_broken_promises),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
