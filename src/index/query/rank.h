/* Scores: BM25 over weighted frequencies and lengths, in whole units,
 *
 *   score = idf * tf / (tf + K1 * (1 - B + B * length / mean length))
 *   idf   = ln(1 + (docs - df + 0.5) / (df + 0.5))
 *
 * what the static rank of a document adds, and what else the best of them are put in order by. */
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

/* Whom the parts after the first two are added to: so many of the best by those, and nearness,
 * which costs most, to so many of the best of these. */
enum { RANK_WINDOW = 128, RANK_NEAR_WINDOW = 64 };
/* Among so many first hits those that a site has too many of come last. */
enum { RANK_SITES_WINDOW = 100 };
enum { RANK_QUERY_WORDS = 16 }; /* of a query; further ones are not looked for */

/* What a score is made of: one table, which `--explain` prints from. */
enum rank_part {
	RANK_WORDS,  /* BM25 */
	RANK_STATIC, /* whatever is asked */
	RANK_NEAR,   /* from here on only for the best by the first two (exec_rerank.c) */
	RANK_TITLE,
	RANK_URL,
	RANK_ANCHORS,
	RANK_PARTS,
};
struct rank_part_def {
	const char *name;
	/* WORDS: times BM25. STATIC: points for the best rank. Others: times the idf of all words
	 * of the query together, at most; so they mean the same for one word and for ten. */
	float weight;
	const char *what;
};
extern const struct rank_part_def rank_parts[RANK_PARTS];
/* What a part adds, in units: share is 0 to 1, idf the sum over the query's words, in units. */
uint32_t rank_add(enum rank_part part, float share, float idf);

/* How near two words of the query are that follow each other in it: 1 for neighbours in the same
 * order, less with every position between them. Both ascend. */
float rank_near(const uint32_t *first, uint32_t nfirst, const uint32_t *second, uint32_t nsecond);
/* How far a title is the query: `found` of `idf` is what the words of the query in it weigh, and
 * `words` of its `length` positions could be theirs. 1: it has all of them, and nothing else. */
float rank_title(float found, float idf, uint32_t words, uint32_t length);
