/* From what was asked to what is run: lists and their statistics over all segments, columns and
 * their ranges. */
#include "index/exec.h"

static uint32_t term_number(struct exec *e, struct str attribute, struct str term)
{
	for (uint32_t i = 0; i < e->terms; i++)
		if (str_eq(e->term[i].term, term) && str_eq(e->term[i].attribute, attribute))
			return i;
	if (e->terms == e->terms_room) {
		uint32_t room = e->terms_room ? e->terms_room * 2 : 8;
		struct exec_term *more = arena_array(e->arena, room, sizeof *more);
		if (e->terms)
			memcpy(more, e->term, e->terms * sizeof *more);
		e->term = more;
		e->terms_room = room;
	}
	e->term[e->terms] = (struct exec_term){.attribute = attribute, .term = term};
	return e->terms++;
}

/* Lists that must match, each once; a word that stands there twice counts twice. */
static void leaf_add(struct exec_leaf *leaf, uint32_t term)
{
	for (uint32_t i = 0; i < leaf->terms; i++)
		if (leaf->term[i] == term) {
			leaf->times[i]++;
			return;
		}
	leaf->term[leaf->terms] = term;
	leaf->times[leaf->terms++] = 1;
}

static struct exec_leaf *leaf_of(struct exec *e, const struct query_node *node)
{
	struct exec_leaf *leaf = arena_alloc(e->arena, sizeof *leaf);
	leaf->node = node;
	leaf->main = node->attribute.n && str_is(node->attribute, e->settings->main);
	leaf->check = node->words > 1 || node->exact || leaf->main;
	leaf->term = arena_array(e->arena, node->words, sizeof *leaf->term);
	leaf->times = arena_array(e->arena, node->words, sizeof *leaf->times);
	leaf->combined = arena_array(e->arena, node->words, sizeof *leaf->combined);
	for (uint32_t i = 0; i < node->words; i++) {
		struct str attribute = leaf->main ? STR("") : node->attribute;
		leaf_add(leaf, term_number(e, attribute, node->word[i].term));
		if (leaf->check)
			leaf->combined[i] = term_number(e, STR(""), node->word[i].term);
	}
	for (uint32_t i = 0; node->filter && i < leaf->terms; i++)
		leaf->times[i] = 0;
	return leaf;
}

/* 1: no column has this name. */
static int column_of(const struct exec *e, struct str name, unsigned *ret,
		     enum words_type *ret_type)
{
	for (uint32_t i = 0; i < e->settings->columns; i++)
		if (str_is(name, e->settings->column[i].name)) {
			*ret = SEGMENT_COLUMN + i;
			*ret_type = e->settings->column[i].type;
			return 0;
		}
	bool time = str_is(name, "time"), rank = str_is(name, "rank");
	*ret = time ? SEGMENT_TIME : SEGMENT_RANK;
	*ret_type = time ? WORDS_DATE : WORDS_NUMBER;
	return time || rank ? 0 : 1;
}

/* What a value is in a column: from <= number <= to. */
static bool value_of(enum words_type type, const struct query_value *v, int64_t *ret_from,
		     int64_t *ret_to)
{
	if (type == WORDS_DATE && v->is_period) {
		*ret_from = v->from_s;
		*ret_to = v->to_s - 1;
		return true;
	}
	*ret_from = *ret_to = v->number;
	return v->is_number;
}

static void range_of(struct exec_node *n, enum query_relation relation, int64_t from, int64_t to)
{
	/* SEGMENT_ABSENT is the least number and in no range; what is less than the least or more
	 * than the most is an empty one */
	n->least = INT64_MIN + 1;
	n->most = INT64_MAX;
	switch (relation) {
	case QUERY_LESS:
		n->most = from > INT64_MIN ? from - 1 : INT64_MIN;
		break;
	case QUERY_AT_MOST:
		n->most = to;
		break;
	case QUERY_MORE:
		n->least = to < INT64_MAX ? to + 1 : INT64_MAX;
		n->most = to < INT64_MAX ? INT64_MAX : INT64_MIN;
		break;
	case QUERY_AT_LEAST:
		n->least = MAX(from, n->least);
		break;
	case QUERY_EQUAL:
		n->least = MAX(from, n->least);
		n->most = to;
		break;
	}
}

static int compare_of(struct exec *e, const struct query_node *node, struct exec_node *ret)
{
	enum words_type type;
	int64_t from, to;
	if (column_of(e, node->attribute, &ret->column, &type) == 1)
		return err_set(e->err, ERR_USAGE,
			       "query, byte %u: '" STR_FMT "' is no number or date of this index",
			       node->at + 1, STR_ARG(str_head(node->attribute, 64)));
	if (!value_of(type, &node->value, &from, &to))
		return err_set(e->err, ERR_USAGE,
			       "query, byte %u: '" STR_FMT "' is %s in this index, '" STR_FMT
			       "' is none",
			       node->at + 1, STR_ARG(str_head(node->attribute, 64)),
			       type == WORDS_DATE ? "a date" : "a number",
			       STR_ARG(str_head(node->value.text, 64)));
	ret->op = QUERY_COMPARE;
	range_of(ret, node->relation, from, to);
	return 0;
}

/* A word or phrase; in a column it is a value to be equal to. */
static int words_of(struct exec *e, const struct query_node *node, struct exec_node *ret)
{
	enum words_type type;
	int64_t from, to;
	if (node->attribute.n && column_of(e, node->attribute, &ret->column, &type) == 0 &&
	    value_of(type, &node->value, &from, &to)) {
		ret->op = QUERY_COMPARE;
		range_of(ret, QUERY_EQUAL, from, to);
		return 0;
	}
	ret->op = QUERY_WORD;
	ret->leaf = leaf_of(e, node);
	return 0;
}

static int node_of(struct exec *e, const struct query_node *node, struct exec_node **ret);

/* Parts of parts of the same kind are parts: whoever makes a tree by hand need not care. */
static uint32_t count_kids(const struct query_node *node)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < node->kids; i++)
		n += node->kid[i]->op == node->op ? count_kids(node->kid[i]) : 1;
	return n;
}

static int add_kids(struct exec *e, const struct query_node *node, struct exec_node *to)
{
	for (uint32_t i = 0; i < node->kids; i++) {
		bool same = node->kid[i]->op == node->op;
		if (same ? add_kids(e, node->kid[i], to) < 0
			 : node_of(e, node->kid[i], &to->kid[to->kids++]) < 0)
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
	if (node->op == QUERY_COMPARE)
		return compare_of(e, node, n);
	if (node->op == QUERY_NOT) {
		n->kid = arena_array(e->arena, 1, sizeof(struct exec_node *));
		n->kids = 1;
		return node_of(e, node->kid[0], &n->kid[0]);
	}
	n->kid = arena_array(e->arena, MAX(count_kids(node), 1), sizeof(struct exec_node *));
	return add_kids(e, node, n);
}

static int look_up(struct exec *e, struct exec_term *t)
{
	t->info = arena_array(e->arena, MAX(e->parts, 1), sizeof *t->info);
	for (size_t i = 0; i < e->parts; i++) {
		struct segment *s = e->part[i].segment;
		int attr = SEGMENT_COMBINED;
		if (t->attribute.n && (attr = segment_attr(s, t->attribute)) < 0)
			continue;
		int rc = segment_term(s, (unsigned)attr, t->term, &t->info[i], e->err);
		if (rc < 0)
			return -1;
		if (rc == 1)
			t->info[i].df = 0;
		t->df += t->info[i].df;
	}
	return 0;
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
	if (node_of(e, root, &e->root) < 0)
		return -1;
	for (uint32_t i = 0; i < e->terms; i++) {
		if (look_up(e, &e->term[i]) < 0)
			return -1;
		e->term[i].weight = rank_weight(docs, e->term[i].df);
	}
	return 0;
}
