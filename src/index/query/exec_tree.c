/* Queries as trees: made from what was asked (lists and their statistics over all segments, columns
 * and their ranges), and run, where no faster way fits, one document after the other. */
#include "index/query/exec.h"

/* Planning */

/* A word or phrase; in a column it is a value to be equal to. */
static int words_of(struct exec *e, const struct query_node *node, struct exec_node *ret)
{
	int rc = exec_value_of(e, node, ret);
	if (rc <= 0)
		return rc;
	ret->op = QUERY_WORD;
	return exec_leaf(e, node, &ret->leaf);
}

static int node_of(struct exec *e, const struct query_node *node, struct exec_node **ret);

/* Parts of parts of the same kind are parts: a tree made by hand need not care. */
static uint32_t count_kids(const struct query_node *node)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < node->kids; i++)
		n += node->kid[i]->op == node->op ? count_kids(node->kid[i]) : 2;
	return n;
}

/* An expression may have become two parts, of which the second is asked after all others. */
static int add_kid(struct exec *e, const struct query_node *kid, struct exec_node *to)
{
	struct exec_node *n;
	if (node_of(e, kid, &n) < 0)
		return -1;
	bool parts = kid->op == QUERY_MATCH && n->op == QUERY_AND && to->op == QUERY_AND;
	to->kid[to->kids++] = parts ? n->kid[0] : n;
	if (parts)
		to->kid[to->kids++] = n->kid[1];
	return 0;
}

static int add_kids(struct exec *e, const struct query_node *node, struct exec_node *to)
{
	for (uint32_t i = 0; i < node->kids; i++) {
		bool same = node->kid[i]->op == node->op;
		if (same ? add_kids(e, node->kid[i], to) < 0 : add_kid(e, node->kid[i], to) < 0)
			return -1;
	}
	return 0;
}

/* The depth is bounded by what query_parse() takes. */
static int node_of(struct exec *e, const struct query_node *node, struct exec_node **ret)
{
	struct exec_node *n = arena_alloc(e->arena, sizeof *n);
	*ret = n;
	n->op = node->op;
	if (node->op == QUERY_WORD || node->op == QUERY_PHRASE)
		return words_of(e, node, n);
	if (node->op == QUERY_NEAR) {
		n->op = QUERY_WORD;
		return exec_leaf(e, node, &n->leaf);
	}
	if (node->op == QUERY_MATCH)
		return exec_match_plan(e, node, n);
	if (node->op == QUERY_COMPARE)
		return exec_compare_of(e, node, n);
	if (node->op == QUERY_NOT) {
		n->kid = arena_array(e->arena, 1, sizeof(struct exec_node *));
		n->kids = 1;
		return node_of(e, node->kid[0], &n->kid[0]);
	}
	n->kid = arena_array(e->arena, MAX(count_kids(node), 1), sizeof(struct exec_node *));
	return add_kids(e, node, n);
}

int exec_plan(struct exec *e, const struct query_node *root)
{
	uint64_t docs = 0, length = 0;
	for (size_t i = 0; i < e->parts; i++) {
		const struct segment_info *info = segment_info(e->part[i].segment);
		docs += info->docs;
		length += info->weighted_length;
	}
	rank_norms(&e->norms, docs, length);
	e->scores = arena_array(e->arena, MAX(e->parts, 1), sizeof *e->scores);
	if (node_of(e, root, &e->root) < 0)
		return -1;
	for (uint32_t i = 0; i < e->terms; i++) {
		if (exec_look_up(e, &e->term[i]) < 0)
			return -1;
		e->term[i].weight = rank_weight(docs, e->term[i].df);
	}
	return 0;
}

/* Running */

struct exec_tree {
	enum query_op op; /* NOTHING: no document of this segment */
	int64_t at;       /* the document found by the last seek; -1: there was none */
	int64_t asked;    /* WORD, MATCH: the document looked at last without a seek, */
	bool matched;     /* and what came of it */
	struct exec_tree **kid;
	uint32_t kids;

	struct exec_list **list; /* WORD: the shortest first */
	uint32_t lists;
	struct exec_check *check; /* or NULL */

	struct exec_column column; /* COMPARE */
	struct exec_match *match;  /* MATCH */
};

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
	exec_lists_sort(t->list, t->lists);
	if (leaf->check && exec_check_open(e, leaf, t->list, t->lists, &t->check) != 0)
		t->op = QUERY_NOTHING;
}

bool exec_tree_reads(const struct exec_tree *t)
{
	bool reads = t->op == QUERY_MATCH;
	for (uint32_t i = 0; i < t->kids && !reads; i++)
		reads = exec_tree_reads(t->kid[i]);
	return reads;
}

/* Documents that may match, at most: what is rare is asked first, and texts last. */
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
	case QUERY_COMPARE:
		return t->column.most_docs;
	default:
		return e->docs + 1 + (uint64_t)(t->op == QUERY_NOT) +
		       2 * (uint64_t)exec_tree_reads(t);
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
	t->match = node->match;
	if (node->leaf) {
		open_leaf(e, node->leaf, t);
	} else if (node->op == QUERY_COMPARE) {
		if (!exec_column_open(e, node, &t->column))
			t->op = QUERY_NOTHING;
	} else {
		open_kids(e, node, t);
	}
	return t;
}

static uint32_t exec_tree_seek(struct exec *e, struct exec_tree *t, uint32_t doc);

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

static uint32_t seek_column(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	return exec_column_seek(e, &t->column, doc);
}

static bool text_matches(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	if (t->asked != (int64_t)doc)
		t->matched = exec_match(e, t->match, doc);
	t->asked = doc;
	return t->matched;
}

static uint32_t seek_plain(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	for (; doc < e->docs && !e->failed; doc++) {
		bool found = t->op == QUERY_ALL ||
			     (t->op == QUERY_MATCH && text_matches(e, t, doc)) ||
			     (t->op == QUERY_NOT && !exec_tree_matches(e, t->kid[0], doc));
		if (found)
			return doc;
		if (exec_late(e))
			break;
	}
	return NO_DOC;
}

/* Nothing lies between a target and what was found for it, so targets up to there are answered. */
static uint32_t exec_tree_seek(struct exec *e, struct exec_tree *t, uint32_t doc)
{
	static uint32_t (*const seeks[])(struct exec *, struct exec_tree *, uint32_t) = {
		[QUERY_ALL] = seek_plain,   [QUERY_WORD] = seek_leaf,      [QUERY_AND] = seek_and,
		[QUERY_MATCH] = seek_plain, [QUERY_COMPARE] = seek_column, [QUERY_OR] = seek_or,
		[QUERY_NOT] = seek_plain,
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
		return exec_column_has(&t->column, doc);
	case QUERY_MATCH:
		return text_matches(e, t, doc);
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

/* Without any order the first ones will do, and none where all are counted already. */
static bool has_enough(const struct exec *e)
{
	if (e->seen < e->keep)
		return false;
	if (e->query->order == QUERY_ANYHOW && !e->query->exact_total)
		return true;
	return e->counted && (e->query->order == QUERY_ANYHOW || e->keep == 0);
}

void exec_tree_run(struct exec *e, const struct exec_node *root)
{
	struct exec_tree *t = exec_tree_open(e, root);
	bool ranked = e->query->order == QUERY_BY_RANK;
	for (uint32_t doc = 0; (doc = exec_tree_seek(e, t, doc)) != NO_DOC; doc++) {
		if (exec_deleted(e, doc))
			continue;
		if (e->cut) /* what was not looked at may be what NOT takes away */
			break;
		if (has_enough(e)) {
			e->stopped = true;
			break;
		}
		exec_found(e, doc, ranked ? exec_tree_score(e, t, doc) : 0);
		if (exec_late(e))
			break;
	}
}
