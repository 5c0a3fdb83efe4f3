/* Scores and lengths. Blocks of 128 postings are scored four at a time, by the same operations as
 * one alone, so that a score is the same to the last bit in whatever way it was computed. */
#include "index/query/rank.h"

#include "index/words.h"

#include <math.h>

/* Codes of lengths from 16 on are (8 + low three bits) << (the bits above, from 1 on). */
enum { EXACT = 16, STEPS = 8 };

void rank_norms(struct rank_norms *ret, uint64_t docs, uint64_t weighted_length)
{
	double mean = docs && weighted_length ? (double)weighted_length / (double)docs : 1;
	double least = RANK_K1 * (1 - RANK_B), step = RANK_K1 * RANK_B / mean;
	unsigned code = 0;
	for (; code < EXACT; code++)
		ret->of[code] = (float)(least + step * (double)code);
	/* As words_length_of() has them, eight of the same power of two at a time: this is done
	 * for every query. */
	double power = 1;
	for (; code < 256; code += STEPS) {
		power *= 2;
		for (unsigned i = 0; i < STEPS; i++)
			ret->of[code + i] = (float)(least + step * ((double)(STEPS + i) * power));
	}
}

float rank_weight(uint64_t docs, uint64_t df)
{
	double idf = log(1 + ((double)(docs - MIN(df, docs)) + 0.5) / ((double)df + 0.5));
	return (float)(MIN(idf, 24.0) * RANK_ONE);
}

/* Lengths */

uint8_t words_length_code(uint64_t length)
{
	if (length < EXACT)
		return (uint8_t)length;
	unsigned shift = 63 - (unsigned)__builtin_clzll(length) - 3; /* leaves 8 to 15 */
	unsigned code = EXACT + (shift - 1) * STEPS + (unsigned)(length >> shift) - STEPS;
	return (uint8_t)MIN(code, 255u);
}

uint64_t words_length_of(uint8_t code)
{
	if (code < EXACT)
		return code;
	unsigned above = code - EXACT;
	return (uint64_t)(STEPS + above % STEPS) << (above / STEPS + 1);
}

/* Scores */

typedef float floats __attribute__((vector_size(16)));
typedef int32_t numbers __attribute__((vector_size(16)));

/* The same operations as in rank_score(), four at a time: the same result. */
void rank_scores(float weight, const uint32_t doc[static 128], const uint32_t tf[static 128],
		 const uint8_t *lengths, uint32_t n, const struct rank_norms *norms,
		 uint32_t ret[static 128])
{
	float norm[128];
	for (uint32_t i = 0; i < n; i++)
		norm[i] = norms->of[lengths[doc[i]]];
	for (uint32_t i = n; i < 128; i++)
		norm[i] = 1;
	for (uint32_t i = 0; i < 128; i += 4) {
		numbers count;
		floats tfs, length;
		memcpy(&count, tf + i, sizeof count);
		memcpy(&length, norm + i, sizeof length);
		tfs = __builtin_convertvector(count, floats);
		count = __builtin_convertvector(weight * tfs / (tfs + length), numbers);
		memcpy(ret + i, &count, sizeof count);
	}
}

uint32_t rank_bounds(float weight, const uint8_t *pairs, uint32_t n, const struct rank_norms *norms,
		     uint32_t *ret)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < n; i++, pairs += 6) {
		uint32_t a = rank_bound(weight, pairs[0], norms->of[pairs[1]]);
		uint32_t b = rank_bound(weight, pairs[2], norms->of[pairs[3]]);
		uint32_t c = rank_bound(weight, pairs[4], norms->of[pairs[5]]);
		ret[i] = MAX(a, MAX(b, c));
		most = MAX(most, ret[i]);
	}
	return most;
}

/* The order of the best. Weights were chosen by known items (bench/words.sh), on other seeds than
 * those that figures are taken from. */

const struct rank_part_def rank_parts[RANK_PARTS] = {
	[RANK_WORDS] = {"words", 1, "frequency and rarity of the query's words (BM25)"},
	[RANK_STATIC] = {"static rank", 2, "how good the document is, whatever is asked"},
	[RANK_NEAR] = {"nearness", 0.7F, "how near the query's words are to each other"},
	[RANK_TITLE] = {"title", 1.2F, "a title that is the query"},
	[RANK_URL] = {"url", 0.1F, "words of the query in the URL"},
	[RANK_ANCHORS] = {"anchors", 0.3F, "words of the query in links to the document"},
};

uint32_t rank_add(enum rank_part part, float share, float idf)
{
	return (uint32_t)(int32_t)(rank_parts[part].weight * share * idf);
}

/* Distances count twice, less one where the order is kept. Two at one place do not count. */
static inline uint32_t near_step(uint32_t before, uint32_t after, bool in_order)
{
	uint32_t distance = after - before;
	return distance && distance < UINT32_MAX / 2 ? 2 * distance - in_order : UINT32_MAX;
}

/* Each of a few is looked for among many. first: the few are those of the first word. */
static uint32_t near_few(const uint32_t *few, uint32_t nfew, const uint32_t *many, uint32_t nmany,
			 bool first)
{
	uint32_t least = UINT32_MAX, at = 0;
	for (uint32_t i = 0; i < nfew && least > 1; i++) {
		for (uint32_t n = nmany - at, half; n > 0;) { /* to the first after it */
			half = n / 2;
			bool after = many[at + half] > few[i];
			at += after ? 0 : half + 1;
			n = after ? half : n - half - 1;
		}
		uint32_t before = at;
		while (before > 0 && many[before - 1] == few[i])
			before--;
		if (at < nmany)
			least = MIN(least, near_step(few[i], many[at], first));
		if (before > 0)
			least = MIN(least, near_step(many[before - 1], few[i], !first));
	}
	return least;
}

/* The least distance of a position to one after it, and to one before it. */
static uint32_t near_all(const uint32_t *first, uint32_t nfirst, const uint32_t *second,
			 uint32_t nsecond)
{
	uint32_t least = UINT32_MAX;
	for (uint32_t i = 0, k = 0; i < nfirst && k < nsecond && least > 1;) {
		bool after = second[k] > first[i];
		uint32_t step = after ? near_step(first[i], second[k], true)
				      : near_step(second[k], first[i], false);
		least = MIN(least, step);
		/* Of two at one place both have neighbours. */
		if (UNLIKELY(second[k] == first[i]) && i + 1 < nfirst)
			least = MIN(least, near_step(second[k], first[i + 1], false));
		i += after;
		k += !after;
	}
	return least;
}

float rank_near(const uint32_t *first, uint32_t nfirst, const uint32_t *second, uint32_t nsecond)
{
	enum { MANY = 8 };
	uint32_t least;
	if (nfirst / MANY >= nsecond)
		least = near_few(second, nsecond, first, nfirst, false);
	else if (nsecond / MANY >= nfirst)
		least = near_few(first, nfirst, second, nsecond, true);
	else
		least = near_all(first, nfirst, second, nsecond);
	return least == UINT32_MAX ? 0 : 2 / (1 + (float)(int32_t)MIN(least, (uint32_t)INT32_MAX));
}

float rank_title(float found, float idf, uint32_t words, uint32_t length)
{
	if (length == 0 || !(idf > 0))
		return 0;
	return found / idf * (float)(int32_t)MIN(words, length) / (float)(int32_t)length;
}
