/* Any query, a document after the other. */
#include "index/exec.h"

struct exec_tree {
	enum query_op op; /* NOTHING: no document of this segment */
	int64_t at;       /* the document found by the last seek; -1: there was none */
	int64_t asked;    /* WORD: the document looked at last without a seek, */
	bool matched;     /* and what came of it */
	struct exec_tree **kid;
	uint32_t kids;

	struct exec_list **list; /* WORD: the shortest first */
	uint32_t lists;
	struct exec_check *check; /* or NULL */

	struct segment_column column;
	int64_t least, most;
};

static void by_length(struct exec_list **list, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t j = i; j > 0 && list[j]->p.df < list[j - 1]->p.df; j--) {
			struct exec_list *l = list[j];
			list[j] = list[j - 1];
			list[j - 1] = l;
		}
}

static void open_leaf(struct exec *e, const struct exec_leaf *leaf, struct exec_tree *t)
{
	t->list = arena_array(e->arena, leaf->terms, sizeof(struct exec_list *));
	t->lists = leaf->terms;
	for (uint32_t i = 0; i < leaf->terms; i++) {
		t->list[i] = exec_list_open(e, leaf->term[i], leaf->times[i]);
		if (!t->list[i]) {
			t->op = QUERY_NOTHING;
			return;
		}
	}
	by_length(t->list, t->lists);
	if (leaf->check && exec_check_open(e, leaf, t->list, t->lists, &t->check) != 0)
		t->op = QUERY_NOTHING;
}

/* Documents that may match, at most: what is rare is asked first. */
static uint64_t size_of(const struct exec *e, const struct exec_tree *t)
{
	uint64_t n = 0;
	switch (t->op) {
	case QUERY_NOTHING:
		return 0;
	case QUERY_WORD:
		return t->list[0]->p.df;
	case QUERY_AND:
		return size_of(e, t->kid[0]);
	case QUERY_OR:
		for (uint32_t i = 0; i < t->kids; i++)
			n += size_of(e, t->kid[i]);
		return MIN(n, e->docs);
	default:
		return e->docs + (uint64_t)(t->op == QUERY_COMPARE) +
		       2 * (uint64_t)(t->op == QUERY_NOT);
	}
}

static void open_kids(struct exec *e, const struct exec_node *node, struct exec_tree *t)
{
	t->kids = node->kids;
	t->kid = arena_array(e->arena, MAX(node->kids, 1), sizeof(struct exec_tree *));
	for (uint32_t i = 0; i < node->kids; i++)
		t->kid[i] = exec_tree_open(e, node->kid[i]);
	if (node->op != QUERY_AND)
		return;
	for (uint32_t i = 1; i < t->kids; i++)
		for (uint32_t j = i; j > 0 && size_of(e, t->kid[j]) < size_of(e, t->kid[j - 1]);
		     j--) {
			struct exec_tree *k = t->kid[j];
			t->kid[j] = t->kid[j - 1];
			t->kid[j - 1] = k;
		}
}

struct exec_tree *exec_tree_open(struct exec *e, const struct exec_node *node)
{
	struct exec_tree *t = arena_alloc(e->arena, sizeof *t);
	t->op = node->op;
	t->at = t->asked = -1;
	if (node->leaf) {
		open_leaf(e, node->leaf, t);
	} else if (node->op == QUERY_COMPARE) {
		t->least = node->least;
		t->most = node->most;
		if (segment_column(e->segment, node->column, &t->column, e->err) < 0)
			exec_fail(e);
	} else {
		open_kids(e, node, t);
	}
	return t;
}

static uint32_t seek_leaf(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	while ((doc = exec_list_seek(e, t->list[0], doc)) != NO_DOC) {
		uint32_t next = doc;
		for (uint32_t i = 1; i < t->lists && next == doc; i++)
			next = exec_list_seek(e, t->list[i], doc);
		if (next == doc && (!t->check || exec_check(e, t->check, doc)))
			return doc;
		if (next == NO_DOC || exec_late(e))
			return NO_DOC;
		doc = next > doc ? next : doc + 1;
	}
	return NO_DOC;
}

static uint32_t seek_and(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	while ((doc = exec_tree_seek(e, t->kid[0], doc)) != NO_DOC) {
		uint32_t i = 1;
		while (i < t->kids && exec_tree_matches(e, t->kid[i], doc))
			i++;
		if (i == t->kids)
			return doc;
		if (exec_late(e))
			return NO_DOC;
		doc++;
	}
	return NO_DOC;
}

static uint32_t seek_or(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	uint32_t least = NO_DOC;
	for (uint32_t i = 0; i < t->kids; i++)
		least = MIN(least, exec_tree_seek(e, t->kid[i], doc));
	return least;
}

static bool in_range(const struct exec_tree *t, uint32_t doc)
{
	int64_t v = segment_number(&t->column, doc);
	return v >= t->least && v <= t->most;
}

static uint32_t seek_plain(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	for (; doc < e->docs && !e->failed; doc++) {
		bool found = t->op == QUERY_ALL || (t->op == QUERY_COMPARE && in_range(t, doc)) ||
			     (t->op == QUERY_NOT && !exec_tree_matches(e, t->kid[0], doc));
		if (found)
			return doc;
		if (exec_late(e))
			break;
	}
	return NO_DOC;
}

/* Nothing lies between a target and what was found for it, so targets up to there are answered. */
uint32_t exec_tree_seek(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	static uint32_t (*const seeks[])(struct exec *, struct exec_tree *, uint32_t) = {
		[QUERY_ALL] = seek_plain,     [QUERY_WORD] = seek_leaf, [QUERY_AND] = seek_and,
		[QUERY_COMPARE] = seek_plain, [QUERY_OR] = seek_or,     [QUERY_NOT] = seek_plain,
	};
	if (t->op == QUERY_NOTHING || e->failed)
		return NO_DOC;
	if (t->at < (int64_t)doc)
		t->at = seeks[t->op](e, t, doc);
	return (uint32_t)t->at;
}

static bool leaf_matches(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	if (t->asked == (int64_t)doc)
		return t->matched;
	t->asked = doc;
	t->matched = false;
	for (uint32_t i = 0; i < t->lists; i++)
		if (exec_list_seek(e, t->list[i], doc) != doc)
			return false;
	return t->matched = !t->check || exec_check(e, t->check, doc);
}

bool exec_tree_matches(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	if (t->op == QUERY_NOTHING || e->failed)
		return false;
	if (t->at >= (int64_t)doc)
		return t->at == (int64_t)doc;
	uint32_t i = 0;
	switch (t->op) {
	case QUERY_WORD:
		return leaf_matches(e, t, doc);
	case QUERY_COMPARE:
		return in_range(t, doc);
	case QUERY_NOT:
		return !exec_tree_matches(e, t->kid[0], doc);
	case QUERY_AND:
		while (i < t->kids && exec_tree_matches(e, t->kid[i], doc))
			i++;
		return i == t->kids;
	case QUERY_OR:
		while (i < t->kids && !exec_tree_matches(e, t->kid[i], doc))
			i++;
		return i < t->kids;
	default:
		return t->op == QUERY_ALL;
	}
}

uint32_t exec_tree_score(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	uint32_t score = 0;
	if (t->op == QUERY_WORD) {
		for (uint32_t i = 0; i < t->lists; i++)
			score += exec_list_score(e, t->list[i], t->list[i]->at);
	} else if (t->op == QUERY_AND || t->op == QUERY_OR) {
		for (uint32_t i = 0; i < t->kids; i++)
			if (t->op == QUERY_AND || exec_tree_matches(e, t->kid[i], doc))
				score += exec_tree_score(e, t->kid[i], doc);
	}
	return score;
}

uint32_t exec_tree_most(const struct exec_tree *t)
{
	uint32_t most = 0;
	if (t->op == QUERY_WORD)
		for (uint32_t i = 0; i < t->lists; i++)
			most += t->list[i]->most;
	else if (t->op == QUERY_AND || t->op == QUERY_OR)
		for (uint32_t i = 0; i < t->kids; i++)
			most += exec_tree_most(t->kid[i]);
	return most;
}

/* Without any order the first ones will do. */
static bool has_enough(const struct exec *e)
{
	return e->query->order == QUERY_ANYHOW && !e->query->exact_total && e->seen >= e->keep;
}

void exec_tree_run(struct exec *e, const struct exec_node *root)
{
	struct exec_tree *t = exec_tree_open(e, root);
	bool ranked = e->query->order == QUERY_BY_RANK;
	for (uint32_t doc = 0; (doc = exec_tree_seek(e, t, doc)) != NO_DOC; doc++) {
		if (exec_deleted(e, doc))
			continue;
		if (has_enough(e)) {
			e->stopped = true;
			break;
		}
		exec_found(e, doc, ranked ? exec_tree_score(e, t, doc) : 0);
		if (exec_late(e))
			break;
	}
}
