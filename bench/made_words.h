/* Words with the frequencies that words have (Zipf), drawn anew in the same order with each run. */
#pragma once
#include "base/buf.h"

#include <math.h>

struct made_words {
	double *reach; /* the sum of the frequencies of all words up to this one */
	uint32_t n;
	uint64_t state; /* of the dice */
};

static inline struct made_words made_words_of(uint32_t n)
{
	struct made_words w = {mem_array(n, sizeof *w.reach), n, UINT64_C(0x9e3779b97f4a7c15)};
	double sum = 0;
	for (uint32_t i = 0; i < n; i++)
		w.reach[i] = sum += 1 / pow(i + 2.7, 1.05);
	return w;
}

static inline uint64_t made_draw(struct made_words *w)
{
	w->state ^= w->state << 13;
	w->state ^= w->state >> 7;
	w->state ^= w->state << 17;
	return w->state;
}

/* From 0 to below 1. */
static inline double made_fraction(struct made_words *w)
{
	return (double)(made_draw(w) >> 11) / (double)(UINT64_C(1) << 53);
}

static inline uint32_t made_word(struct made_words *w)
{
	double want = made_fraction(w) * w->reach[w->n - 1];
	uint32_t low = 0, high = w->n - 1;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (w->reach[mid] < want)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Its text. Frequent words are short. */
static inline void made_word_put(struct buf *out, uint32_t word)
{
	static const char first[] = "bdfghklmnprstvz", second[] = "aeiou";
	for (uint32_t n = word + 1; n; n /= 75) {
		buf_add_byte(out, first[n % 15]);
		buf_add_byte(out, second[n / 15 % 5]);
	}
}
