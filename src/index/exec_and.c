/* Leaves that all must match, and whatever else stands beside them: the shortest list leads, a
 * block at a time. A block is passed over when the best it could give does not enter; of its
 * documents only those are looked for in the other lists that could. Positions are looked at last.
 */
#include "index/exec.h"

struct and
{
	struct exec_list **list; /* the shortest first */
	uint32_t lists;
	struct exec_check **check;
	uint32_t checks;
	struct exec_tree **rest; /* what is no leaf */
	uint32_t rests;
	uint32_t rest_most;
	/* Bounds for the block at hand: of the lists from i on, and of all else. */
	uint32_t *behind;
};

/* A leaf's lists join those of the others; the same list is opened once. */
struct wanted {
	uint32_t *term, *times, n;
};

static void want(struct wanted *w, const struct exec_leaf *leaf)
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

static void sort_lists(struct and*a)
{
	for (uint32_t i = 1; i < a->lists; i++)
		for (uint32_t j = i; j > 0 && a->list[j]->p.df < a->list[j - 1]->p.df; j--) {
			struct exec_list *l = a->list[j];
			a->list[j] = a->list[j - 1];
			a->list[j - 1] = l;
		}
}

/* false: no document of the segment matches. */
static bool open_lists(struct exec *e, struct and*a, const struct wanted *w)
{
	a->list = arena_array(e->arena, w->n, sizeof(struct exec_list *));
	a->behind = arena_array(e->arena, w->n + 1, sizeof *a->behind);
	a->lists = w->n;
	for (uint32_t i = 0; i < w->n; i++) {
		a->list[i] = exec_list_open(e, w->term[i], w->times[i]);
		if (!a->list[i])
			return false;
	}
	sort_lists(a);
	for (uint32_t i = 0; i < a->lists; i++)
		if (i == 0 || a->list[i]->p.blocks <= 8 * a->list[0]->p.blocks)
			exec_list_bounds(e, a->list[i]);
	return true;
}

static bool open_kid(struct exec *e, struct and*a, struct wanted *w, const struct exec_node *kid)
{
	if (!kid->leaf) {
		a->rest[a->rests] = exec_tree_open(e, kid);
		a->rest_most += exec_tree_most(a->rest[a->rests++]);
		return true;
	}
	want(w, kid->leaf);
	if (!kid->leaf->check)
		return true;
	return exec_check_open(e, kid->leaf, &a->check[a->checks++]) == 0;
}

/* false: no document of the segment matches. */
static bool open_all(struct exec *e, const struct exec_node *const *kid, uint32_t kids,
		     struct and*a)
{
	struct wanted w = {.term = arena_array(e->arena, e->terms, sizeof *w.term),
			   .times = arena_array(e->arena, e->terms, sizeof *w.times)};
	*a = (struct and){.check = arena_array(e->arena, kids, sizeof(struct exec_check *)),
			  .rest = arena_array(e->arena, kids, sizeof(struct exec_tree *))};
	for (uint32_t i = 0; i < kids; i++)
		if (!open_kid(e, a, &w, kid[i]))
			return false;
	return open_lists(e, a, &w) && !e->failed;
}

/* All that is not lists of leaves; then the document is found. */
static void candidate(struct exec *e, struct and*a, uint32_t doc, uint32_t score)
{
	e->count.candidates++;
	if (exec_deleted(e, doc))
		return;
	for (uint32_t i = 0; i < a->rests; i++)
		if (!exec_tree_matches(e, a->rest[i], doc))
			return;
	for (uint32_t i = 0; i < a->rests; i++)
		score += exec_tree_score(e, a->rest[i], doc);
	if (score + e->rank_most < e->need)
		return;
	for (uint32_t i = 0; i < a->checks; i++)
		if (!exec_check(e, a->check[i], doc))
			return;
	exec_found(e, doc, score);
}

/* Looks for a document of the first list in the others. Returns the first document that may match
 * after it. */
static uint32_t join(struct exec *e, struct and*a, uint32_t doc, uint32_t score)
{
	for (uint32_t i = 1; i < a->lists; i++) {
		struct exec_list *l = a->list[i];
		if (score + a->behind[i] < e->need)
			return doc + 1;
		uint32_t found = exec_list_seek(e, l, doc);
		if (found != doc)
			return found;
		score += exec_list_score(e, l);
	}
	if (score + a->behind[a->lists] >= e->need)
		candidate(e, a, doc, score);
	return doc + 1;
}

/* false: the lists have no more documents in common. */
static bool set_bounds(struct exec *e, struct and*a, uint32_t from, uint32_t to)
{
	a->behind[a->lists] = a->rest_most + e->rank_most;
	for (uint32_t i = a->lists; i-- > 1;) {
		uint32_t bound = exec_list_range_bound(e, a->list[i], from, to);
		if (bound == 0)
			return false;
		a->behind[i] = a->behind[i + 1] + bound;
	}
	return true;
}

static void run_block(struct exec *e, struct and*a, uint32_t next)
{
	struct exec_list *lead = a->list[0];
	uint32_t behind = a->lists > 1 ? a->behind[1] : a->behind[a->lists];
	if (!exec_list_scores(e, lead))
		return;
	for (uint32_t i = 0; i < lead->in_block; i++)
		if (lead->scores[i] + behind >= e->need && lead->docs[i] >= next) {
			next = join(e, a, lead->docs[i], lead->scores[i]);
			if (e->failed || next == NO_DOC)
				return;
		}
}

static void run(struct exec *e, struct and*a)
{
	struct exec_list *lead = a->list[0];
	for (uint32_t b = 0; b < lead->p.blocks && !e->failed && !exec_late(e); b++) {
		uint32_t from = b ? lead->p.last[b - 1] + 1 : 0, to = lead->p.last[b];
		lead->block = b;
		if (!set_bounds(e, a, from, to))
			return;
		uint32_t behind = a->lists > 1 ? a->behind[1] : a->behind[a->lists];
		if (exec_list_bound(e, lead, b) + behind < e->need) {
			e->count.blocks_passed++;
			continue;
		}
		run_block(e, a, from);
	}
}

bool exec_and_run(struct exec *e, const struct exec_node *root)
{
	const struct exec_node *const *kid = (const struct exec_node *const *)root->kid;
	uint32_t kids = root->kids, leaves = 0;
	struct and a;
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
	if (open_all(e, kid, kids, &a))
		run(e, &a);
	return true;
}
