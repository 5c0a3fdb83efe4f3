#include "base/table.h"

#include "../dice.h"
#include "../unit.h"
#include "base/hash.h"

static bool same_number(uint64_t a, uint64_t b)
{
	return a == b;
}
static uint64_t one_for_all(uint64_t v)
{
	(void)v;
	return 42;
}

TABLE(numbers, uint64_t, uint64_t, hash_u64, same_number)
TABLE(crowd, uint64_t, uint64_t, one_for_all, same_number)
TABLE(words, struct str, int, hash64, str_eq)

static void an_empty_table_answers(void **state)
{
	(void)state;
	struct numbers t = {0};
	assert_int_equal(numbers_count(&t), 0);
	assert_null(numbers_get(&t, 1));
	assert_false(numbers_remove(&t, 1));
	TABLE_EACH (numbers, slot, &t)
		fail();
	numbers_clear(&t);
	assert_null(numbers_get(&t, 1));
	numbers_free(&t);
	numbers_free(&t);
}

static void a_value_is_zero_at_first_and_stays(void **state)
{
	(void)state;
	struct words t = {0};
	bool is_new = false;
	*words_put_new(&t, STR("a"), &is_new) = 7;
	assert_true(is_new);
	assert_int_equal(*words_put_new(&t, STR("a"), &is_new), 7);
	assert_false(is_new);
	assert_int_equal(*words_put(&t, (struct str){0}), 0);
	assert_non_null(words_get(&t, STR("")));
	assert_null(words_get(&t, STR("b")));
	assert_true(words_remove(&t, STR("a")));
	assert_false(words_remove(&t, STR("a")));
	assert_int_equal(*words_put(&t, STR("a")), 0);
	assert_int_equal(words_count(&t), 2);
	words_clear(&t);
	assert_int_equal(words_count(&t), 0);
	assert_null(words_get(&t, STR("a")));
	assert_int_equal(*words_put(&t, STR("a")), 0);
	words_free(&t);
}

/* Against an array that cannot be wrong. */
static void a_table_is_what_an_array_says_it_is(void **state)
{
	(void)state;
	enum { KEYS = 3000 };
	static uint64_t model[KEYS]; /* 0: not there */
	struct numbers t = {0};
	uint64_t seed = 6;
	size_t count = 0;
	for (int i = 0; i < 300000; i++) {
		/* the part of the keys in play grows and shrinks */
		uint64_t key = dice(&seed) % (uint64_t)(i / 100 % KEYS + 1);
		if (dice(&seed) % 3) {
			bool is_new;
			uint64_t *v = numbers_put_new(&t, key, &is_new);
			assert_true(is_new == !model[key]);
			assert_int_equal(*v, model[key]);
			count += !model[key];
			*v = model[key] = dice(&seed);
		} else {
			assert_true(numbers_remove(&t, key) == !!model[key]);
			count -= !!model[key];
			model[key] = 0;
		}
		assert_int_equal(numbers_count(&t), count);
	}
	for (uint64_t key = 0; key < KEYS; key++) {
		uint64_t *v = numbers_get(&t, key);
		assert_true(model[key] ? v && *v == model[key] : !v);
	}
	size_t seen = 0;
	TABLE_EACH (numbers, slot, &t) {
		assert_int_equal(slot->value, model[slot->key]);
		seen++;
	}
	assert_int_equal(seen, count);
	numbers_free(&t);
}

static void keys_that_all_collide_are_told_apart(void **state)
{
	(void)state;
	struct crowd t = {0};
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 500; i++)
			*crowd_put(&t, i) = i + round;
		for (uint64_t i = 0; i < 500; i += 2)
			assert_true(crowd_remove(&t, i));
		for (uint64_t i = 0; i < 500; i++)
			assert_true(i % 2 ? *crowd_get(&t, i) == i + round : !crowd_get(&t, i));
	}
	assert_int_equal(crowd_count(&t), 250);
	crowd_free(&t);
}

static void coming_and_going_does_not_grow_a_table(void **state)
{
	(void)state;
	struct numbers t = {0};
	for (uint64_t i = 0; i < 1000; i++)
		*numbers_put(&t, i) = i;
	size_t cap = t.cap;
	for (uint64_t i = 0; i < 1000000; i++) {
		assert_true(numbers_remove(&t, i));
		*numbers_put(&t, i + 1000) = i;
	}
	assert_int_equal(numbers_count(&t), 1000);
	assert_true(t.cap <= cap * 2);
	size_t empty = 0;
	for (size_t i = 0; i < t.cap; i++)
		empty += t.bytes[i] == TABLE_EMPTY;
	assert_true(empty >= t.cap / 8);
	numbers_free(&t);
}

static void the_current_slot_may_be_removed(void **state)
{
	(void)state;
	struct numbers t = {0};
	for (uint64_t i = 0; i < 1000; i++)
		*numbers_put(&t, i) = i;
	size_t seen = 0;
	TABLE_EACH (numbers, slot, &t) {
		seen++;
		if (slot->key % 3)
			assert_true(numbers_remove(&t, slot->key));
	}
	assert_int_equal(seen, 1000);
	assert_int_equal(numbers_count(&t), 334);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(!numbers_get(&t, i) == !!(i % 3));
	numbers_free(&t);
}

static void groups_are_matched_the_same_way_by_both_twins(void **state)
{
	(void)state;
	uint64_t seed = 7;
	for (int i = 0; i < 100000; i++) {
		static const uint8_t some[] = {0, 1, 0x7f, TABLE_EMPTY, TABLE_GONE, 0x81, 0xff, 2};
		uint8_t group[TABLE_GROUP], byte = some[dice(&seed) % 8];
		unsigned want = 0;
		for (unsigned k = 0; k < TABLE_GROUP; k++) {
			group[k] = some[(dice(&seed) >> 20) % 8];
			want |= (unsigned)(group[k] == byte) << k;
		}
		assert_int_equal(table_match(group, byte), want);
		assert_int_equal(table_match_portable(group, byte), want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_answers),
		cmocka_unit_test(a_value_is_zero_at_first_and_stays),
		cmocka_unit_test(a_table_is_what_an_array_says_it_is),
		cmocka_unit_test(keys_that_all_collide_are_told_apart),
		cmocka_unit_test(coming_and_going_does_not_grow_a_table),
		cmocka_unit_test(the_current_slot_may_be_removed),
		cmocka_unit_test(groups_are_matched_the_same_way_by_both_twins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
