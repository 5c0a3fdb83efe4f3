#include "net/curl.h"
#include "../dice.h"
#include "../unit.h"

#include <pthread.h>
#include <stdlib.h>

enum { PIECES = 300, STEPS = 60000, LARGEST = 200000 };

/* A piece and what must be in it. */
struct piece {
	unsigned char *p;
	size_t n;
	unsigned char mark;
};

static void fill(struct piece *piece)
{
	memset(piece->p, piece->mark, piece->n);
}

static void check(const struct piece *piece, size_t n)
{
	assert_int_equal((uintptr_t)piece->p % _Alignof(max_align_t), 0);
	for (size_t i = 0; i < n; i++)
		if (piece->p[i] != piece->mark)
			fail_msg("byte %zu of %zu is another one's", i, piece->n);
}

static size_t some_size(uint64_t *seed)
{
	uint64_t d = dice(seed);
	return d % 8 == 0 ? dice(seed) % LARGEST : dice(seed) % (1u << d % 13);
}

static void step(struct piece *piece, uint64_t *seed)
{
	if (piece->p)
		check(piece, piece->n);
	if (piece->p && dice(seed) % 3 == 0) {
		size_t n = some_size(seed), same = MIN(n, piece->n);
		piece->p = curl_memory_resize(piece->p, n);
		check(piece, same);
		piece->n = n;
	} else {
		curl_memory_free(piece->p);
		piece->n = some_size(seed);
		piece->p = dice(seed) % 2 ? curl_memory_alloc(piece->n)
					  : curl_memory_zeroed(piece->n, 1);
		piece->mark = (unsigned char)dice(seed);
	}
	assert_non_null(piece->p);
	fill(piece);
}

static void *go_on(void *ctx)
{
	uint64_t seed = *(const uint64_t *)ctx;
	struct piece piece[PIECES] = {0};
	for (int i = 0; i < STEPS; i++)
		step(&piece[dice(&seed) % PIECES], &seed);
	for (int i = 0; i < PIECES; i++)
		curl_memory_free(piece[i].p);
	curl_memory_drop();
	return NULL;
}

static void no_piece_is_given_to_two(void **state)
{
	(void)state;
	go_on(&(uint64_t){7});
}

static void threads_have_lists_of_their_own(void **state)
{
	pthread_t thread[3];
	uint64_t seed[3] = {1, 2, 3};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, go_on, &seed[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(thread); i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

static void what_was_used_before_is_zeroed(void **state)
{
	(void)state;
	for (size_t n = 1; n < 100000; n = n * 3 + 1) {
		struct piece piece = {curl_memory_alloc(n), n, 0xff};
		fill(&piece);
		curl_memory_free(piece.p);
		piece = (struct piece){curl_memory_zeroed(n, 1), n, 0};
		check(&piece, n);
		curl_memory_free(piece.p);
	}
}

static void what_cannot_be_had_is_null(void **state)
{
	(void)state;
	assert_null(curl_memory_alloc(SIZE_MAX));
	assert_null(curl_memory_alloc(SIZE_MAX - 8));
	assert_null(curl_memory_zeroed(SIZE_MAX / 2, 3));
	char *text = curl_memory_text("");
	assert_string_equal(text, "");
	assert_null(curl_memory_resize(text, SIZE_MAX));
	assert_string_equal(text, ""); /* and the piece is as it was */
	text = curl_memory_resize(text, 100000);
	assert_string_equal(text, "");
	curl_memory_free(text);
	curl_memory_free(NULL);
	text = curl_memory_resize(NULL, 0);
	assert_non_null(text);
	curl_memory_free(text);
	curl_memory_drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_piece_is_given_to_two),
		cmocka_unit_test(threads_have_lists_of_their_own),
		cmocka_unit_test(what_was_used_before_is_zeroed),
		cmocka_unit_test(what_cannot_be_had_is_null),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
