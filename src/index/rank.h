/* Scores: BM25 over weighted frequencies and lengths, in whole units.
 *
 *   score = idf * tf / (tf + K1 * (1 - B + B * length / mean length))
 *   idf   = ln(1 + (docs - df + 0.5) / (df + 0.5))
 *
 * and what the static rank of a document adds. */
#pragma once
#include "base/base.h"

enum {
	RANK_ONE = 1 << 16,   /* units of a score of 1 */
	RANK_STATIC_UNITS = 2 /* for each step of a static rank */
};
#define RANK_K1 1.2
#define RANK_B 0.75

/* K1 * (...) of each length code. */
struct rank_norms {
	float of[256];
};
void rank_norms(struct rank_norms *ret, uint64_t docs, uint64_t weighted_length);
/* idf in units; at most 24 * RANK_ONE, so that a thousand of them add up in 32 bits. */
float rank_weight(uint64_t docs, uint64_t df);

static inline uint32_t rank_score(float weight, uint32_t tf, float norm)
{
	return (uint32_t)(int32_t)(weight * (float)(int32_t)tf / ((float)(int32_t)tf + norm));
}
/* Never less than rank_score() of any tf up to this one and any norm from this one on, although
 * float rounds. */
static inline uint32_t rank_bound(float weight, uint32_t tf, float norm)
{
	return rank_score(weight, tf, norm) + 1;
}
/* ret[i] = rank_score(weight, tf[i], norm of the length of doc[i]) for 128 of them; the lengths of
 * documents from `docs` on are not looked at. */
void rank_scores(float weight, const uint32_t doc[static 128], const uint32_t tf[static 128],
		 const uint8_t *lengths, uint32_t n, const struct rank_norms *norms,
		 uint32_t ret[static 128]);
/* Bounds of n blocks that have three pairs of tf and length each, as segment.h has them; returns
 * the greatest. */
uint32_t rank_bounds(float weight, const uint8_t *pairs, uint32_t n, const struct rank_norms *norms,
		     uint32_t *ret);
