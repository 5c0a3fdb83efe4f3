#include "index/words/bitpack.h"

#include "../scratch.h"

#include <stdlib.h>

static uint32_t random_bits(unsigned *seed, unsigned bits)
{
	uint32_t v = (uint32_t)rand_r(seed) << 16 ^ (uint32_t)rand_r(seed);
	return bits ? v >> (32 - bits) : 0;
}

static void assert_numbers(const uint32_t *got, const uint32_t *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
}

/* Packs, reads back both ways from memory that ends with the block, and gives the length. */
static size_t round_trip(const uint32_t v[PACK_N])
{
	uint8_t packed[PACK_MOST];
	uint32_t fast[PACK_N], plain[PACK_N];
	size_t n = pack_block(v, packed);
	assert_true(n <= PACK_MOST);
	uint8_t *tight = mem_copy(packed, n);
	assert_ptr_equal(unpack_block(tight, tight + n, fast), tight + n);
	assert_ptr_equal(unpack_block_portable(tight, tight + n, plain), tight + n);
	assert_ptr_equal(skip_block(tight, tight + n), tight + n);
	assert_numbers(fast, v, PACK_N);
	assert_numbers(plain, v, PACK_N);
	for (size_t cut = 0; cut < n; cut++) {
		assert_null(unpack_block(tight, tight + cut, fast));
		assert_null(unpack_block_portable(tight, tight + cut, fast));
		assert_null(skip_block(tight, tight + cut));
	}
	mem_free(&tight);
	return n;
}

static void blocks_of_all_widths_come_back(void **state)
{
	(void)state;
	unsigned seed = 1;
	uint32_t v[PACK_N];
	for (unsigned bits = 0; bits <= 32; bits++)
		for (unsigned round = 0; round < 20; round++) {
			for (unsigned i = 0; i < PACK_N; i++)
				v[i] = random_bits(&seed, bits);
			(void)round_trip(v);
		}
}

static void a_few_large_numbers_are_patched_and_cost_little(void **state)
{
	(void)state;
	unsigned seed = 2;
	uint32_t v[PACK_N];
	for (unsigned large = 8; large <= 32; large++)
		for (unsigned few = 1; few <= 3; few++) {
			for (unsigned i = 0; i < PACK_N; i++)
				v[i] = random_bits(&seed, 3);
			for (unsigned i = 0; i < few; i++)
				v[(i * 47 + large) % PACK_N] = UINT32_MAX >> (32 - large);
			assert_in_range(round_trip(v), 2 + 2 * 16, 2 + 3 * 16 + few * 5);
		}
}

static void equal_numbers_cost_a_few_bytes(void **state)
{
	(void)state;
	const uint32_t values[] = {0, 1, 255, 256, 70000, UINT32_MAX};
	uint32_t v[PACK_N];
	for (size_t k = 0; k < ARRAY_LEN(values); k++) {
		for (unsigned i = 0; i < PACK_N; i++)
			v[i] = values[k];
		assert_in_range(round_trip(v), 3, 6);
	}
}

static void tails_of_all_lengths_and_widths_come_back(void **state)
{
	(void)state;
	unsigned seed = 3;
	uint32_t v[PACK_N], got[PACK_N];
	uint8_t packed[PACK_MOST];
	for (unsigned bits = 0; bits <= 32; bits++)
		for (uint32_t n = 0; n < PACK_N; n++) {
			for (uint32_t i = 0; i < n; i++)
				v[i] = random_bits(&seed, bits);
			size_t bytes = pack_tail(v, n, packed);
			uint8_t *tight = mem_copy(packed, bytes);
			assert_ptr_equal(unpack_tail(tight, tight + bytes, n, got), tight + bytes);
			assert_ptr_equal(skip_tail(tight, tight + bytes, n), tight + bytes);
			assert_numbers(got, v, n);
			assert_null(unpack_tail(tight, tight + bytes - 1, n, got));
			mem_free(&tight);
		}
}

static void ascending_numbers_come_back_both_ways(void **state)
{
	(void)state;
	unsigned seed = 4;
	for (unsigned bits = 0; bits <= 22; bits++) {
		uint32_t gap[PACK_N], want[PACK_N], fast[PACK_N], plain[PACK_N];
		uint32_t base = random_bits(&seed, 20) - 1, at = base;
		uint8_t packed[PACK_MOST];
		for (unsigned i = 0; i < PACK_N; i++) {
			gap[i] = random_bits(&seed, bits);
			want[i] = at += gap[i] + 1;
		}
		const uint8_t *end = packed + pack_block(gap, packed);
		assert_ptr_equal(unpack_ascending(packed, end, base, at + 1, fast), end);
		assert_ptr_equal(unpack_ascending_portable(packed, end, base, at + 1, plain), end);
		assert_numbers(fast, want, PACK_N);
		assert_numbers(plain, want, PACK_N);
		assert_null(unpack_ascending(packed, end, base, at, fast));
		assert_null(unpack_ascending_portable(packed, end, base, at, fast));
	}
}

static void sums_that_pass_the_limit_and_come_back_are_refused(void **state)
{
	(void)state;
	const uint32_t steps[] = {UINT32_MAX, UINT32_MAX - 1, 1u << 31, (1u << 31) - 1};
	for (size_t k = 0; k < ARRAY_LEN(steps); k++)
		for (unsigned at = 0; at < PACK_N; at += 31) {
			uint32_t gap[PACK_N] = {0}, got[PACK_N];
			uint8_t packed[PACK_MOST];
			gap[at] = steps[k];
			gap[(at + 1) % PACK_N] = steps[k];
			const uint8_t *end = packed + pack_block(gap, packed);
			const uint32_t limit = 1u << 30;
			assert_null(unpack_ascending(packed, end, UINT32_MAX, limit, got));
			assert_null(unpack_ascending_portable(packed, end, UINT32_MAX, limit, got));
		}
}

static void any_bytes_are_read_the_same_both_ways(void **state)
{
	(void)state;
	unsigned seed = 5;
	for (unsigned round = 0; round < 20000; round++) {
		uint8_t bytes[80];
		uint32_t fast[PACK_N], plain[PACK_N];
		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (uint8_t)random_bits(&seed, 8);
		bytes[0] &= 0xc7;
		bytes[1] %= 9;
		const uint8_t *end = bytes + sizeof bytes;
		const uint8_t *a = unpack_block(bytes, end, fast);
		assert_ptr_equal(a, unpack_block_portable(bytes, end, plain));
		assert_ptr_equal(a, skip_block(bytes, end));
		if (a)
			assert_numbers(fast, plain, PACK_N);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_all_widths_come_back),
		cmocka_unit_test(a_few_large_numbers_are_patched_and_cost_little),
		cmocka_unit_test(equal_numbers_cost_a_few_bytes),
		cmocka_unit_test(tails_of_all_lengths_and_widths_come_back),
		cmocka_unit_test(ascending_numbers_come_back_both_ways),
		cmocka_unit_test(sums_that_pass_the_limit_and_come_back_are_refused),
		cmocka_unit_test(any_bytes_are_read_the_same_both_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
