/* Posting lists while a query runs: the current block, decoded as far as was needed. */
#include "index/query/exec.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Blocks of which bounds are looked at one by one; for more of them the bound of the list does. */
enum { RANGE_BLOCKS = 8 };
/* Documents that are looked for one by one in a block. */
enum { FEW = 12 };

static void multiply_all(uint32_t *v, uint32_t n, uint32_t times)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] *= times;
}

static uint32_t bound_of(const struct exec *e, const struct exec_list *l, uint32_t block)
{
	uint32_t bound;
	return l->times * rank_bounds(l->weight, l->p.bound[block], 1, &e->norms, &bound);
}

/* Bounds are known with the scores, which were all computed. */
static void open_made(struct exec *e, struct exec_list *l, struct exec_union *u)
{
	l->made = u;
	l->p = (struct postings){.df = u->df, .blocks = u->blocks, .last = u->last};
	if (!e->scoring)
		return;
	exec_union_score(e, l->term, u);
	l->most = l->times * u->most;
	l->bounds = u->bounds;
	if (l->times == 1)
		return;
	l->bounds = arena_array(e->arena, u->blocks, sizeof *l->bounds);
	memcpy(l->bounds, u->bounds, u->blocks * sizeof *l->bounds);
	multiply_all(l->bounds, u->blocks, l->times);
}

static bool docs_made(struct exec *e, struct exec_list *l)
{
	memcpy(l->docs, l->made->docs + (size_t)l->block * SEGMENT_BLOCK, sizeof l->docs);
	e->count.blocks++;
	l->docs_block = l->block;
	l->in_block = postings_in_block(&l->p, l->block);
	l->at = 0;
	return true;
}

static bool tfs_made(struct exec_list *l)
{
	const uint8_t *tf = l->made->tf;
	for (uint32_t i = 0; i < SEGMENT_BLOCK; i++)
		l->tfs[i] = tf ? tf[(size_t)l->block * SEGMENT_BLOCK + i] : 1;
	l->tfs_block = l->block;
	return true;
}

static void scores_made(struct exec_list *l)
{
	memcpy(l->scores, l->made->scores + (size_t)l->block * SEGMENT_BLOCK, sizeof l->scores);
	l->scores_block = l->block;
	if (l->times != 1)
		multiply_all(l->scores, SEGMENT_BLOCK, l->times);
}

struct exec_list *exec_list_open(struct exec *e, uint32_t term, uint32_t times)
{
	const struct exec_term *t = &e->term[term];
	const struct segment_term *info = &t->info[e->number];
	struct exec_union *made = t->made ? &t->made[e->number] : NULL;
	if (e->failed || (info->df == 0 && !(made && made->docs)))
		return NULL;
	struct exec_list *l = arena_alloc(e->arena, sizeof *l);
	if (made && made->docs) {
		l->term = t;
		l->weight = t->weight;
		l->times = times;
		l->docs_block = l->tfs_block = l->scores_block = NO_DOC;
		open_made(e, l, made);
		return l;
	}
	if (postings_open(e->segment, info, &l->p, e->err) < 0) {
		exec_fail(e);
		return NULL;
	}
	*ARENA_PUSH(e->arena, e->opened, e->lists, e->lists_room) = l;
	l->term = t;
	l->weight = t->weight;
	l->times = times;
	l->docs_block = l->tfs_block = l->scores_block = NO_DOC;
	l->most = times * rank_bound(l->weight, SEGMENT_TF_MOST, e->norms.of[0]);
	return l;
}

void exec_lists_close(struct exec *e)
{
	for (uint32_t i = 0; i < e->lists; i++)
		postings_close(&e->opened[i]->p);
	e->lists = 0;
}

void exec_lists_sort(struct exec_list **list, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t j = i; j > 0 && list[j]->p.df < list[j - 1]->p.df; j--) {
			struct exec_list *l = list[j];
			list[j] = list[j - 1];
			list[j - 1] = l;
		}
}

bool exec_list_to(struct exec_list *l, uint32_t doc)
{
	const uint32_t *last = l->p.last;
	uint32_t lo = l->block, n = l->p.blocks;
	if (lo && last[lo - 1] >= doc)
		lo = 0; /* a way back is rare, and made from the beginning */
	if (lo < n && last[lo] >= doc) {
		l->block = lo;
		return true;
	}
	uint32_t step = 1;
	while (lo + step < n && last[lo + step] < doc) {
		lo += step;
		step *= 2;
	}
	/* last[lo] < doc; the block is after lo and at most at lo + step */
	uint32_t hi = MIN(lo + step, n);
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (last[mid] < doc)
			lo = mid;
		else
			hi = mid;
	}
	l->block = hi;
	return hi < n;
}

bool exec_list_docs(struct exec *e, struct exec_list *l)
{
	if (LIKELY(l->docs_block == l->block))
		return true;
	if (l->made)
		return docs_made(e, l);
	if (postings_docs(&l->p, l->block, l->docs, e->err) < 0) {
		exec_fail(e);
		return false;
	}
	e->count.blocks++;
	l->docs_block = l->block;
	l->in_block = postings_in_block(&l->p, l->block);
	l->at = 0;
	return true;
}

bool exec_list_tfs(struct exec *e, struct exec_list *l)
{
	if (LIKELY(l->tfs_block == l->block))
		return true;
	if (l->made)
		return tfs_made(l);
	if (postings_tfs(&l->p, l->block, l->tfs, e->err) < 0) {
		exec_fail(e);
		return false;
	}
	l->tfs_block = l->block;
	return true;
}

bool exec_list_scores(struct exec *e, struct exec_list *l)
{
	if (l->scores_block == l->block && l->docs_block == l->block)
		return true;
	if (!exec_list_docs(e, l))
		return false;
	if (l->made) {
		scores_made(l);
		return true;
	}
	if (!exec_list_tfs(e, l))
		return false;
	l->scores_block = l->block;
	rank_scores(l->weight, l->docs, l->tfs, e->lengths, l->in_block, &e->norms, l->scores);
	if (l->times != 1)
		multiply_all(l->scores, SEGMENT_BLOCK, l->times);
	return true;
}

/* Documents of a block ascend, and what is after the last is NO_DOC: the first not before doc. */
static uint32_t find_in_block(const uint32_t docs[SEGMENT_BLOCK], uint32_t doc)
{
	const uint32_t *base = docs;
	for (uint32_t half = SEGMENT_BLOCK / 2; half; half /= 2)
		base += base[half - 1] < doc ? half : 0;
	return (uint32_t)(base - docs) + (*base < doc);
}

uint32_t exec_list_seek(struct exec *e, struct exec_list *l, uint32_t doc)
{
	if (e->failed || !exec_list_to(l, doc) || !exec_list_docs(e, l))
		return NO_DOC;
	l->at = find_in_block(l->docs, doc);
	if (l->at >= l->in_block)
		return NO_DOC; /* the bound of a short list lies after its last document */
	l->where = l->block * SEGMENT_BLOCK + l->at;
	return l->docs[l->at];
}

static uint32_t join_few(const struct exec_list *l, const uint32_t *doc, uint32_t from, uint32_t n,
			 uint32_t *ret_i, uint32_t *ret_at)
{
	uint32_t found = 0;
	for (uint32_t i = from; i < n; i++) {
		uint32_t at = find_in_block(l->docs, doc[i]);
		ret_i[found] = i;
		ret_at[found] = at;
		found += at < l->in_block && l->docs[at] == doc[i];
	}
	return found;
}

#if defined(__SSE2__)
/* Four by four, each of one side with each of the other; the side whose last is less goes on. */
uint32_t exec_list_join(const struct exec_list *l, const uint32_t *doc, uint32_t n,
			uint32_t ret_i[static SEGMENT_BLOCK], uint32_t ret_at[static SEGMENT_BLOCK])
{
	uint32_t found = 0, i = 0, at = 0;
	if (n < FEW)
		return join_few(l, doc, 0, n, ret_i, ret_at);
	while (i + 4 <= n && at + 4 <= SEGMENT_BLOCK) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)(doc + i));
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(l->docs + at));
		__m128i same0 = _mm_cmpeq_epi32(a, b);
		__m128i same1 = _mm_cmpeq_epi32(a, _mm_shuffle_epi32(b, 0x39));
		__m128i same2 = _mm_cmpeq_epi32(a, _mm_shuffle_epi32(b, 0x4e));
		__m128i same3 = _mm_cmpeq_epi32(a, _mm_shuffle_epi32(b, 0x93));
		__m128i odd = _mm_or_si128(same1, same3), high = _mm_or_si128(same2, same3);
		__m128i any = _mm_or_si128(_mm_or_si128(same0, same2), odd);
		unsigned which = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(any));
		if (which) {
			unsigned bit0 = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(odd));
			unsigned bit1 = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(high));
			for (unsigned k = 0; k < 4; k++) {
				unsigned turn = (bit0 >> k & 1) + 2 * (bit1 >> k & 1);
				ret_i[found] = i + k;
				ret_at[found] = at + ((k + turn) & 3);
				found += which >> k & 1;
			}
		}
		uint32_t last_a = doc[i + 3], last_b = l->docs[at + 3];
		i += last_a <= last_b ? 4 : 0;
		at += last_b <= last_a ? 4 : 0;
	}
	if (at + 4 > SEGMENT_BLOCK)
		return found;
	return found + join_few(l, doc, i, n, ret_i + found, ret_at + found);
}
#else
uint32_t exec_list_join(const struct exec_list *l, const uint32_t *doc, uint32_t n,
			uint32_t ret_i[static SEGMENT_BLOCK], uint32_t ret_at[static SEGMENT_BLOCK])
{
	return join_few(l, doc, 0, n, ret_i, ret_at);
}
#endif

uint32_t exec_list_bound(struct exec *e, struct exec_list *l, uint32_t block)
{
	return l->bounds ? l->bounds[block] : bound_of(e, l, block);
}

void exec_list_bounds(struct exec *e, struct exec_list *l)
{
	if (l->bounds || l->p.blocks > e->bounds_left)
		return;
	e->bounds_left -= l->p.blocks;
	l->bounds = arena_array(e->arena, l->p.blocks, sizeof *l->bounds);
	l->most = l->times *
		  rank_bounds(l->weight, &l->p.bound[0][0], l->p.blocks, &e->norms, l->bounds);
	if (l->times != 1)
		multiply_all(l->bounds, l->p.blocks, l->times);
}

const uint32_t *exec_list_order(struct exec *e, const struct exec_list *l)
{
	uint32_t *order = arena_array(e->arena, l->p.blocks, sizeof *order);
	exec_falling(l->bounds, l->p.blocks, order);
	return order;
}

/* In steps of at least a 256th of the greatest; within a step the order stays. */
void exec_falling(const uint32_t *value, uint32_t n, uint32_t *ret)
{
	uint32_t start[257] = {0}, most = 255;
	for (uint32_t i = 0; i < n; i++)
		most = MAX(most, value[i]);
	int shift = 24 - __builtin_clz(most);
	for (uint32_t i = 0; i < n; i++)
		start[((most - value[i]) >> shift) + 1]++;
	for (uint32_t i = 1; i <= 256; i++)
		start[i] += start[i - 1];
	for (uint32_t i = 0; i < n; i++)
		ret[start[(most - value[i]) >> shift]++] = i;
}

uint32_t exec_list_range_bound(struct exec *e, struct exec_list *l, uint32_t from, uint32_t to)
{
	if (!exec_list_to(l, from))
		return 0;
	uint32_t most = exec_list_bound(e, l, l->block);
	for (uint32_t b = l->block; l->p.last[b] < to && b + 1 < l->p.blocks; b++) {
		if (b - l->block >= RANGE_BLOCKS)
			return l->most;
		most = MAX(most, exec_list_bound(e, l, b + 1));
	}
	return most;
}
