/* The best k of a word, or of words of which one must match, without looking at most postings.
 *
 * The score of a document is the sum of what each list gives it, in whole units (rank.h), so that
 * it is the same in whatever order it is added up. k is e->keep. Once k documents were found, the
 * least of them sets e->need: a document below it changes nothing, and need only grows. All of this
 * file is about not computing scores that cannot reach it.
 *
 * BOUNDS. Postings lie in blocks of 128, in the order of documents. A block keeps its last document
 * and three pairs of frequency and length; every posting of the block has at most the frequency and
 * at least the length of one of the pairs. The best score of the three pairs, plus one unit for the
 * rounding of float, is therefore a bound of every posting in the block (rank_bounds()). It is
 * computed for each query and not stored, because idf and mean length change with every commit:
 * six bytes a block are read for it, once a list. The greatest bound of a list is `most`. A static
 * rank can add at most e->rank_most to any document of the segment.
 *
 * ONE WORD. Blocks are visited in falling order of their bounds, so that need rises at once and
 * nearly all others are passed over. The order comes from a bucket sort in 256 steps
 * (exec_falling()) and is only nearly right, so each block is asked by itself instead of stopping
 * at the first that does not enter. Documents come out of order here, and of two equal scores the
 * lower document wins: `anyhow` says that an equal score may still enter.
 *
 * SEVERAL WORDS. Lists are sorted by `most`, the least first, and sum[i] is what lists 0 to i can
 * give together, with the static rank. A document that is in none of the lists after i has at most
 * sum[i]. So while sum[first] < need, list `first` need not be walked: what only it and the lists
 * before it have cannot enter. Such lists follow; the others lead. (This is MaxScore, by Turtle and
 * Flood.) Common words, whose idf is small, soon follow, and they are the long lists. When all
 * lists together do not reach need, the segment is done.
 *
 * WINDOWS. A bound of a whole list is loose; that of a block is close. Documents are therefore
 * taken in windows that end with the first block to end of any leading list: in a window each of
 * these has one block. local[i] is the same sum as sum[i], of the bounds that hold within the
 * window (exec_list_range_bound()), and it decides three things:
 *
 *   - local of all lists < need: nothing in the window can enter, and no block of it is decoded;
 *   - local[i] < need: list i follows in this window, even if it leads elsewhere;
 *   - which documents that were found are worth asking the following lists for.
 *
 * If one list leads, its block is scored and its postings are looked at in place (gather_one()). If
 * several do, their blocks are scored and added up in an array with a place for each document of
 * the window, and a bit for each that was touched (gather_many()); that is why a window has at most
 * 4,096 documents then. Either way a document whose score so far, with all that the following lists
 * can add in the window, reaches need is finished (finish_doc()): the following lists are asked for
 * it by seeking, the greatest bound first, and it is dropped as soon as the rest cannot lift it.
 *
 * WHY IT IS EXACT. What is not scored has a bound below need, a bound is never less than a score,
 * and need never falls. Documents ascend here, so an equal score of a later one does not enter, and
 * need is one more than the least that is kept. The model test (tests/unit/index/query_model.c)
 * compares every way to run a query with a plain one that scores everything. */
#include "index/query/exec.h"

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
	uint32_t *local; /* the same for the current window */
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
