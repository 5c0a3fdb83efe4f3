/* Leaves that all must match, and whatever else stands next to them: the shortest list leads, a
 * block at a time. A block is passed over when the best it could give does not enter; of its
 * documents only those are looked for in the other lists that could. Positions are looked at last.
 */
#include "index/query/exec.h"

/* Documents whose positions are not looked at yet: the best of them come first, so that few need to
 * be looked at, and these in their order, which is cheaper. */
enum { POOL = 1024 };
struct pool {
	uint64_t checked, passed;
	uint32_t n;
	uint32_t doc[POOL], score[POOL];
	uint32_t (*where)[POOL];
};

struct and_run {
	struct exec_list **list; /* the shortest first */
	uint32_t lists;
	struct exec_check **check;
	uint32_t checks;
	struct exec_tree **rest; /* what is not a leaf */
	uint32_t rests;
	uint32_t rest_most;
	bool reads; /* some of these read texts */
	/* Bounds for the current block: of the lists from i on, and of all else. */
	uint32_t *bound_from;
	/* Documents of the block that may match yet: scores so far, and for each list which of its
	 * postings they are. */
	uint32_t left;
	uint32_t doc[SEGMENT_BLOCK], score[SEGMENT_BLOCK];
	uint32_t (*where)[SEGMENT_BLOCK];
	struct pool *pool; /* where positions are to be looked at */
};

/* A leaf's lists join those of the others; the same list is opened once. */
struct wanted {
	uint32_t *term, *times, n;
};

static void want_leaf(struct wanted *w, const struct exec_leaf *leaf)
{
	for (uint32_t i = 0; i < leaf->terms; i++) {
		uint32_t j = 0;
		while (j < w->n && w->term[j] != leaf->term[i])
			j++;
		if (j == w->n)
			w->term[w->n++] = leaf->term[i];
		w->times[j] += leaf->times[i];
	}
}

/* false: no document of the segment matches. */
static bool open_lists(struct exec *e, struct and_run *a, const struct exec_node *const *kid,
		       uint32_t kids)
{
	struct wanted w = {.term = arena_array(e->arena, e->terms, sizeof *w.term),
			   .times = arena_array(e->arena, e->terms, sizeof *w.times)};
	for (uint32_t i = 0; i < kids; i++)
		if (kid[i]->leaf)
			want_leaf(&w, kid[i]->leaf);
	a->list = arena_array(e->arena, w.n, sizeof(struct exec_list *));
	a->bound_from = arena_array(e->arena, w.n + 1, sizeof *a->bound_from);
	a->where = arena_array(e->arena, w.n, sizeof *a->where);
	a->lists = w.n;
	for (uint32_t i = 0; i < w.n; i++) {
		a->list[i] = exec_list_open(e, w.term[i], w.times[i]);
		if (!a->list[i])
			return false;
	}
	exec_lists_sort(a->list, a->lists);
	for (uint32_t i = 0; i < a->lists; i++)
		if (i == 0 || a->list[i]->p.blocks <= 8 * a->list[0]->p.blocks)
			exec_list_bounds(e, a->list[i]);
	return true;
}

/* What reads texts is asked last. */
static void add_rest(struct and_run *a, struct exec_tree *t)
{
	uint32_t i = a->rests++;
	for (; i > 0 && exec_tree_reads(a->rest[i - 1]) && !exec_tree_reads(t); i--)
		a->rest[i] = a->rest[i - 1];
	a->rest[i] = t;
	a->rest_most += exec_tree_most(t);
	a->reads |= exec_tree_reads(t);
}

/* What is not lists. false: no document of the segment matches. */
static bool open_rest(struct exec *e, struct and_run *a, const struct exec_node *const *kid,
		      uint32_t kids)
{
	a->check = arena_array(e->arena, kids, sizeof(struct exec_check *));
	a->rest = arena_array(e->arena, kids, sizeof(struct exec_tree *));
	for (uint32_t i = 0; i < kids; i++) {
		const struct exec_leaf *leaf = kid[i]->leaf;
		if (!leaf) {
			add_rest(a, exec_tree_open(e, kid[i]));
		} else if (leaf->check && exec_check_open(e, leaf, a->list, a->lists,
							  &a->check[a->checks++]) != 0) {
			return false;
		}
	}
	return !e->failed;
}

static void pool_check_one(struct exec *e, struct and_run *a, uint32_t i)
{
	struct pool *p = a->pool;
	if (!exec_enters(e, p->doc[i], p->score[i]))
		return;
	for (uint32_t k = 0; k < a->lists; k++)
		a->list[k]->where = p->where[k][i];
	p->checked++;
	for (uint32_t k = 0; k < a->checks; k++)
		if (!exec_check(e, a->check[k], p->doc[i]))
			return;
	p->passed++;
	exec_found(e, p->doc[i], p->score[i]);
}

/* How many are looked at together: as many as will give the hits that are wanted yet, by what came
 * of those before; when there are enough, all that may be better. */
static uint64_t pool_part(const struct exec *e, const struct pool *p)
{
	uint64_t wanted = e->keep - exec_best_count(&e->best);
	return wanted ? wanted * (p->checked + 1) / (p->passed + 1) + POOL / 16 : POOL;
}

static void pool_check(struct exec *e, struct and_run *a)
{
	struct pool *p = a->pool;
	uint32_t order[POOL];
	exec_falling(p->score, p->n, order);
	for (uint32_t at = 0, to; at < p->n && !e->failed && !exec_late(e); at = to) {
		uint64_t chosen[POOL / 64] = {0};
		to = (uint32_t)MIN(p->n, at + pool_part(e, p));
		for (uint32_t i = at; i < to; i++)
			chosen[order[i] / 64] |= UINT64_C(1) << order[i] % 64;
		for (uint32_t w = 0; w < POOL / 64; w++)
			for (uint64_t left = chosen[w]; left && !e->failed && !exec_late(e);
			     left &= left - 1)
				pool_check_one(e, a, w * 64 + (uint32_t)__builtin_ctzll(left));
	}
	p->n = 0;
}

/* All that is not lists of leaves; then the document is found, or waits in the pool. */
static void take_candidate(struct exec *e, struct and_run *a, uint32_t i)
{
	uint32_t doc = a->doc[i], score = a->score[i];
	e->count.candidates++;
	if (exec_deleted(e, doc) || (a->reads && !exec_may_enter(e, doc, score + a->rest_most)))
		return;
	for (uint32_t k = 0; k < a->rests; k++)
		if (!exec_tree_matches(e, a->rest[k], doc))
			return;
	if (a->rests && e->cut) /* see exec_tree_run() */
		return;
	for (uint32_t k = 0; k < a->rests; k++)
		score += exec_tree_score(e, a->rest[k], doc);
	if (score + e->rank_most < e->need)
		return;
	struct pool *p = a->pool;
	if (!p) {
		exec_found(e, doc, score);
		return;
	}
	p->doc[p->n] = doc;
	p->score[p->n] = score;
	for (uint32_t k = 0; k < a->lists; k++)
		p->where[k][p->n] = a->where[k][i];
	if (++p->n == POOL)
		pool_check(e, a);
}

/* Those of the first list that may enter. */
static void take_lead(struct exec *e, struct and_run *a, uint32_t bound_from)
{
	const struct exec_list *l = a->list[0];
	uint32_t n = 0, need = e->need > bound_from ? e->need - bound_from : 0;
	for (uint32_t i = 0; i < l->in_block; i++) {
		a->doc[n] = l->docs[i];
		a->score[n] = l->scores[i];
		a->where[0][n] = l->block * SEGMENT_BLOCK + i;
		n += l->scores[i] >= need;
	}
	a->left = n;
}

/* Documents `from` to `to` of those that are left are in the current block of list k, or not; what
 * stays goes to `kept` and on. Returns how many are kept then. */
static uint32_t join_block(struct exec *e, struct and_run *a, uint32_t k, uint32_t from,
			   uint32_t to, uint32_t kept)
{
	struct exec_list *l = a->list[k];
	uint32_t which[SEGMENT_BLOCK], at[SEGMENT_BLOCK];
	if (!exec_list_docs(e, l))
		return kept;
	uint32_t n = exec_list_join(l, a->doc + from, to - from, which, at);
	if (n == 0 || (!l->made && !exec_list_tfs(e, l)))
		return kept;
	const uint32_t *made = l->made ? l->made->scores + (size_t)l->block * SEGMENT_BLOCK : NULL;
	const uint8_t *lengths = e->lengths;
	uint32_t times = l->times;
	float weight = l->weight;
	uint32_t need = e->need > a->bound_from[k + 1] ? e->need - a->bound_from[k + 1] : 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t old = from + which[i];
		uint32_t one =
			made ? made[at[i]]
			     : rank_score(weight, l->tfs[at[i]], e->norms.of[lengths[a->doc[old]]]);
		uint32_t score = a->score[old] + times * one;
		a->doc[kept] = a->doc[old];
		a->score[kept] = score;
		for (uint32_t j = 0; j < k; j++)
			a->where[j][kept] = a->where[j][old];
		a->where[k][kept] = l->block * SEGMENT_BLOCK + at[i];
		kept += score >= need;
	}
	return kept;
}

/* Blocks in which no document could enter are not decoded. */
static void join_list(struct exec *e, struct and_run *a, uint32_t k)
{
	struct exec_list *l = a->list[k];
	uint32_t kept = 0;
	for (uint32_t from = 0, to; from < a->left && !e->failed; from = to) {
		if (!exec_list_to(l, a->doc[from]))
			break;
		uint32_t last = l->p.last[l->block], best = a->score[from];
		for (to = from + 1; to < a->left && a->doc[to] <= last; to++)
			best = MAX(best, a->score[to]);
		if (best + exec_list_bound(e, l, l->block) + a->bound_from[k + 1] >= e->need)
			kept = join_block(e, a, k, from, to, kept);
	}
	a->left = kept;
}

/* Bounds of what is joined; false: the lists have no more documents in common. */
static bool set_bounds(struct exec *e, struct and_run *a, uint32_t from, uint32_t to)
{
	a->bound_from[a->lists] = a->rest_most + e->rank_most;
	for (uint32_t i = a->lists; i-- > 1;) {
		if (!exec_list_to(a->list[i], from))
			return false;
		a->bound_from[i] =
			a->bound_from[i + 1] + exec_list_range_bound(e, a->list[i], from, to);
	}
	return true;
}

static void run_block(struct exec *e, struct and_run *a)
{
	if (!exec_list_scores(e, a->list[0]))
		return;
	take_lead(e, a, a->bound_from[1]);
	for (uint32_t k = 1; k < a->lists && a->left; k++)
		join_list(e, a, k);
	for (uint32_t i = 0; i < a->left && !e->failed; i++)
		if (a->score[i] + a->bound_from[a->lists] >= e->need)
			take_candidate(e, a, i);
}

/* A block of the first list. false: nothing after it can match. */
static bool run_lead(struct exec *e, struct and_run *a, uint32_t block)
{
	struct exec_list *lead = a->list[0];
	uint32_t from = block ? lead->p.last[block - 1] + 1 : 0, to = lead->p.last[block];
	lead->block = block;
	if (!set_bounds(e, a, from, to))
		return false;
	if (exec_list_bound(e, lead, block) + a->bound_from[1] >= e->need)
		run_block(e, a);
	else
		e->count.blocks_passed++;
	return true;
}

static void run_blocks(struct exec *e, struct and_run *a)
{
	uint32_t blocks = a->list[0]->p.blocks;
	for (uint32_t b = 0; b < blocks && !e->failed && !exec_late(e); b++)
		if (!run_lead(e, a, b))
			break;
	if (a->pool)
		pool_check(e, a);
}

bool exec_and_run(struct exec *e, const struct exec_node *root)
{
	const struct exec_node *const *kid = (const struct exec_node *const *)root->kid;
	uint32_t kids = root->kids, leaves = 0;
	if (root->leaf) {
		kid = &root;
		kids = 1;
	} else if (root->op != QUERY_AND) {
		return false;
	}
	for (uint32_t i = 0; i < kids; i++)
		leaves += kid[i]->leaf != NULL;
	if (leaves == 0)
		return false;
	struct and_run *a = arena_alloc(e->arena, sizeof *a);
	if (!open_lists(e, a, kid, kids) || !open_rest(e, a, kid, kids))
		return true;
	if (a->checks) {
		a->pool = arena_alloc(e->arena, sizeof *a->pool);
		a->pool->where = arena_array(e->arena, a->lists, sizeof *a->pool->where);
		e->anyhow = true;
	}
	run_blocks(e, a);
	return true;
}
