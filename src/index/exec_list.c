/* Posting lists while a query runs: the block at hand, decoded as far as was needed. */
#include "index/exec.h"

/* Blocks of which bounds are looked at one by one; for more of them the bound of the list does. */
enum { RANGE_BLOCKS = 8 };
/* Documents that are looked for one by one in a block. */
enum { FEW = 12 };

static void multiply(uint32_t *v, uint32_t n, uint32_t times)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] *= times;
}

static uint32_t bound_of(const struct exec *e, const struct exec_list *l, uint32_t block)
{
	uint32_t bound;
	return l->times * rank_bounds(l->weight, l->p.bound[block], 1, &e->norms, &bound);
}

static void keep_opened(struct exec *e, struct exec_list *l)
{
	if (e->lists == e->lists_room) {
		uint32_t room = e->lists_room ? e->lists_room * 2 : 16;
		struct exec_list **more = arena_array(e->arena, room, sizeof(struct exec_list *));
		if (e->lists)
			memcpy(more, e->opened, e->lists * sizeof *more);
		e->opened = more;
		e->lists_room = room;
	}
	e->opened[e->lists++] = l;
}

struct exec_list *exec_list_open(struct exec *e, uint32_t term, uint32_t times)
{
	const struct exec_term *t = &e->term[term];
	const struct segment_term *info = &t->info[e->number];
	if (e->failed || info->df == 0)
		return NULL;
	struct exec_list *l = arena_alloc(e->arena, sizeof *l);
	if (postings_open(e->segment, info, &l->p, e->err) < 0) {
		exec_fail(e);
		return NULL;
	}
	keep_opened(e, l);
	l->term = t;
	l->weight = t->weight;
	l->times = times;
	l->docs_block = l->tfs_block = NO_DOC;
	l->most = times * rank_bound(l->weight, SEGMENT_TF_MOST, e->norms.of[0]);
	return l;
}

void exec_lists_close(struct exec *e)
{
	for (uint32_t i = 0; i < e->lists; i++)
		postings_close(&e->opened[i]->p);
	e->lists = 0;
}

bool exec_list_to(struct exec_list *l, uint32_t doc)
{
	const uint32_t *last = l->p.last;
	uint32_t lo = l->block, n = l->p.blocks;
	if (lo < n && last[lo] >= doc)
		return true;
	uint32_t step = 1;
	while (lo + step < n && last[lo + step] < doc) {
		lo += step;
		step *= 2;
	}
	/* last[lo] < doc; the block is behind lo and at most at lo + step */
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
	if (postings_tfs(&l->p, l->block, l->tfs, e->err) < 0) {
		exec_fail(e);
		return false;
	}
	l->tfs_block = l->block;
	return true;
}

bool exec_list_scores(struct exec *e, struct exec_list *l)
{
	if (!exec_list_docs(e, l) || !exec_list_tfs(e, l))
		return false;
	rank_scores(l->weight, l->docs, l->tfs, e->lengths, l->in_block, &e->norms, l->scores);
	if (l->times > 1)
		multiply(l->scores, SEGMENT_BLOCK, l->times);
	return true;
}

/* Documents of a block ascend, and what is behind the last is NO_DOC: the first not before doc. */
static uint32_t find(const uint32_t docs[SEGMENT_BLOCK], uint32_t doc)
{
	const uint32_t *base = docs;
	for (uint32_t half = SEGMENT_BLOCK / 2; half; half /= 2)
		base += base[half - 1] < doc ? half : 0;
	return (uint32_t)(base - docs) + (*base < doc);
}

uint32_t exec_list_seek(struct exec *e, struct exec_list *l, uint32_t doc)
{
	while (!e->failed && exec_list_to(l, doc)) {
		if (!exec_list_docs(e, l))
			return NO_DOC;
		l->at = find(l->docs, doc);
		if (l->at < l->in_block) {
			l->where = l->block * SEGMENT_BLOCK + l->at;
			return l->docs[l->at];
		}
		l->block++; /* the bound of a short list lay behind its last document */
	}
	return NO_DOC;
}

uint32_t exec_list_score(struct exec *e, struct exec_list *l, uint32_t at)
{
	if (!exec_list_tfs(e, l))
		return 0;
	return l->times * rank_score(l->weight, l->tfs[at], e->norms.of[e->lengths[l->docs[at]]]);
}

/* A few are looked for one by one; many are merged, without branches that nobody can predict. */
uint32_t exec_list_join(const struct exec_list *l, const uint32_t *doc, uint32_t n,
			uint32_t ret_i[static SEGMENT_BLOCK], uint32_t ret_at[static SEGMENT_BLOCK])
{
	uint32_t found = 0, i = 0, at = 0, m = l->in_block;
	if (n < FEW) {
		for (; i < n; i++) {
			at = find(l->docs, doc[i]);
			ret_i[found] = i;
			ret_at[found] = at;
			found += at < m && l->docs[at] == doc[i];
		}
		return found;
	}
	while (i < n && at < m) {
		uint32_t a = doc[i], b = l->docs[at];
		ret_i[found] = i;
		ret_at[found] = at;
		found += a == b;
		i += a <= b;
		at += b <= a;
	}
	return found;
}

uint32_t exec_list_bound(struct exec *e, struct exec_list *l, uint32_t block)
{
	return l->bounds ? l->bounds[block] : bound_of(e, l, block);
}

void exec_list_bounds(struct exec *e, struct exec_list *l)
{
	if (l->bounds)
		return;
	l->bounds = arena_array(e->arena, l->p.blocks, sizeof *l->bounds);
	l->most = l->times *
		  rank_bounds(l->weight, &l->p.bound[0][0], l->p.blocks, &e->norms, l->bounds);
	if (l->times > 1)
		multiply(l->bounds, l->p.blocks, l->times);
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
