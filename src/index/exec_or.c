/* One word, or words of which one must match. */
#include "index/exec.h"

/* One word */

static uint32_t one_block_first(const struct exec_list *l, uint32_t block)
{
	return block ? l->p.last[block - 1] + 1 : 0;
}

static void one_run_block(struct exec *e, struct exec_list *l, uint32_t block)
{
	l->block = block;
	if (!exec_list_scores(e, l))
		return;
	for (uint32_t i = 0; i < l->in_block; i++)
		if (l->scores[i] + e->rank_most >= e->need && !exec_deleted(e, l->docs[i])) {
			e->count.candidates++;
			exec_found(e, l->docs[i], l->scores[i]);
		}
}

bool exec_one_run(struct exec *e, const struct exec_node *root)
{
	if (!root->leaf || root->leaf->check || root->leaf->terms != 1)
		return false;
	struct exec_list *l = exec_list_open(e, root->leaf->term[0], root->leaf->times[0]);
	if (!l)
		return true;
	exec_list_bounds(e, l);
	if (!l->bounds)
		return false;
	e->anyhow = true;
	const uint32_t *order = exec_list_order(e, l);
	for (uint32_t i = 0; i < l->p.blocks && !e->failed && !exec_late(e); i++) {
		if (exec_enters(e, one_block_first(l, order[i]), l->bounds[order[i]]))
			one_run_block(e, l, order[i]);
		else
			e->count.blocks_passed++;
	}
	return true;
}

/* Several words */

enum { WINDOW = 4096 }; /* documents in a window, at most */

struct or_run {
	struct exec_list **list; /* the least bound first */
	uint32_t lists;
	uint32_t *sum;   /* of the bounds of list[0] to list[i], and of the static rank */
	uint32_t *local; /* the same for the window at hand */
	uint32_t first;  /* those before it do not lead */
	uint32_t score[WINDOW];
	uint64_t seen[WINDOW / 64];
};

static bool or_open_lists(struct exec *e, const struct exec_node *root, struct or_run *o)
{
	uint32_t n = 0;
	o->list = arena_array(e->arena, root->kids, sizeof(struct exec_list *));
	o->sum = arena_array(e->arena, root->kids, sizeof *o->sum);
	o->local = arena_array(e->arena, root->kids, sizeof *o->local);
	for (uint32_t i = 0; i < root->kids; i++) {
		const struct exec_leaf *leaf = root->kid[i]->leaf;
		struct exec_list *l = exec_list_open(e, leaf->term[0], leaf->times[0]);
		if (!l)
			continue;
		exec_list_bounds(e, l);
		uint32_t j = n++;
		for (; j > 0 && o->list[j - 1]->most > l->most; j--)
			o->list[j] = o->list[j - 1];
		o->list[j] = l;
	}
	for (uint32_t i = 0; i < n; i++)
		o->sum[i] = o->list[i]->most + (i ? o->sum[i - 1] : e->rank_most);
	o->lists = n;
	return n > 0 && !e->failed;
}

/* The lists before `leads` may have the document too. */
static void finish_doc(struct exec *e, struct or_run *o, uint32_t leads, uint32_t doc,
		       uint32_t score)
{
	for (uint32_t i = leads; i-- > 0;) {
		if (score + o->local[i] < e->need)
			return;
		if (exec_list_seek(e, o->list[i], doc) == doc)
			score += exec_list_score(e, o->list[i], o->list[i]->at);
	}
	e->count.candidates++;
	if (score + e->rank_most >= e->need && !exec_deleted(e, doc))
		exec_found(e, doc, score);
}

static void gather_one(struct exec *e, struct or_run *o, uint32_t leads, uint32_t from, uint32_t to)
{
	struct exec_list *l = o->list[leads];
	uint32_t others = leads ? o->local[leads - 1] : e->rank_most;
	if (exec_list_seek(e, l, from) > to || !exec_list_scores(e, l))
		return;
	for (uint32_t i = l->at; i < l->in_block && l->docs[i] <= to; i++)
		if (l->scores[i] + others >= e->need)
			finish_doc(e, o, leads, l->docs[i], l->scores[i]);
}

static void gather_many(struct exec *e, struct or_run *o, uint32_t leads, uint32_t from,
			uint32_t to)
{
	for (uint32_t k = leads; k < o->lists; k++) {
		struct exec_list *l = o->list[k];
		if (exec_list_seek(e, l, from) > to || !exec_list_scores(e, l))
			continue;
		for (uint32_t i = l->at; i < l->in_block && l->docs[i] <= to; i++) {
			uint32_t at = l->docs[i] - from;
			o->score[at] += l->scores[i];
			o->seen[at / 64] |= UINT64_C(1) << at % 64;
		}
	}
	uint32_t others = leads ? o->local[leads - 1] : e->rank_most;
	for (uint32_t w = 0; w <= (to - from) / 64; w++) {
		for (uint64_t seen = o->seen[w]; seen; seen &= seen - 1) {
			uint32_t at = w * 64 + (uint32_t)__builtin_ctzll(seen);
			if (o->score[at] + others >= e->need)
				finish_doc(e, o, leads, from + at, o->score[at]);
			o->score[at] = 0;
		}
		o->seen[w] = 0;
	}
}

/* The end of the window that begins at `from`: the first end of a block of the lists that lead.
 * NO_DOC: they have no more. */
static uint32_t window_end(struct or_run *o, uint32_t from)
{
	uint32_t to = NO_DOC;
	for (uint32_t i = o->first; i < o->lists; i++)
		if (exec_list_to(o->list[i], from))
			to = MIN(to, o->list[i]->p.last[o->list[i]->block]);
	return o->first + 1 < o->lists && to != NO_DOC ? MIN(to, from + WINDOW - 1) : to;
}

/* Bounds within the window; returns the sum of all. */
static uint32_t window_bounds(struct exec *e, struct or_run *o, uint32_t from, uint32_t to)
{
	uint32_t sum = e->rank_most;
	for (uint32_t i = 0; i < o->lists; i++)
		o->local[i] = sum += exec_list_range_bound(e, o->list[i], from, to);
	return sum;
}

static void run_windows(struct exec *e, struct or_run *o)
{
	for (uint32_t from = 0, to; !e->failed && !exec_late(e); from = to + 1) {
		while (o->first + 1 < o->lists && o->sum[o->first] < e->need)
			o->first++;
		to = window_end(o, from);
		if (to == NO_DOC || o->sum[o->lists - 1] < e->need)
			return;
		if (window_bounds(e, o, from, to) < e->need) {
			e->count.blocks_passed++;
			continue;
		}
		uint32_t leads = o->first;
		while (leads + 1 < o->lists && o->local[leads] < e->need)
			leads++;
		(leads + 1 < o->lists ? gather_many : gather_one)(e, o, leads, from, to);
	}
}

static bool plain_words(const struct exec_node *root)
{
	for (uint32_t i = 0; i < root->kids; i++)
		if (!root->kid[i]->leaf || root->kid[i]->leaf->check)
			return false;
	return root->op == QUERY_OR;
}

bool exec_or_run(struct exec *e, const struct exec_node *root)
{
	if (!plain_words(root))
		return false;
	struct or_run *o = arena_alloc(e->arena, sizeof *o);
	if (or_open_lists(e, root, o))
		run_windows(e, o);
	return true;
}
