/* Columns in queries: which numbers a comparison means, or which values of a column of words, and
 * the documents that have them. The least and the greatest number of each 1,024 documents are
 * looked at first, so that a range passes over those without a match. A column decides which
 * documents match and adds nothing to their score. */
#include "index/query/exec.h"

/* Planning */

/* 1: no column has this name. */
static int column_of(const struct exec *e, struct str name, unsigned *ret,
		     enum words_type *ret_type)
{
	int column = words_column(e->settings, name);
	if (column >= 0) {
		*ret = SEGMENT_COLUMN + (unsigned)column;
		*ret_type = e->settings->column[column].type;
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
	case QUERY_BETWEEN:
		n->least = MAX(from, n->least);
		n->most = to;
		break;
	}
}

static bool is_pattern(const struct query_node *node)
{
	bool pattern = str_find_byte(node->value.text, '*') < node->value.text.n;
	for (uint32_t i = 0; i < node->words; i++)
		pattern |= node->word[i].pattern;
	return pattern && !node->exact;
}

/* Of a column of words the whole value is compared. */
static void word_of(struct exec *e, const struct query_node *node, struct exec_node *ret)
{
	char room[WORDS_VALUE_MOST];
	ret->op = QUERY_COMPARE;
	ret->words = true;
	ret->pattern = is_pattern(node);
	ret->value = arena_str(e->arena, words_value(node->value.text, room));
}

static int not_a_value(struct exec *e, const struct query_node *node, enum words_type type,
		       const struct query_value *v)
{
	return EXEC_REFUSE(e, node, "'" STR_FMT "' is a %s in this index, '" STR_FMT "' is none",
			   STR_ARG(str_head(node->attribute, 64)), words_type_name(type),
			   STR_ARG(str_head(v->text, 64)));
}

int exec_compare_of(struct exec *e, const struct query_node *node, struct exec_node *ret)
{
	enum words_type type;
	int64_t from, to, ignored;
	bool between = node->relation == QUERY_BETWEEN;
	if (column_of(e, node->attribute, &ret->column, &type) == 1)
		return EXEC_REFUSE(e, node, "'" STR_FMT "' is not a number or date of this index",
				   STR_ARG(str_head(node->attribute, 64)));
	if (type == WORDS_WORD && node->relation == QUERY_EQUAL) {
		word_of(e, node, ret);
		return 0;
	}
	if (type == WORDS_WORD)
		return EXEC_REFUSE(e, node,
				   "'" STR_FMT "' is a word in this index, not a number or date; "
				   "write it with a colon and a value",
				   STR_ARG(str_head(node->attribute, 64)));
	if (!value_of(type, &node->value, &from, &to))
		return not_a_value(e, node, type, &node->value);
	if (between && !value_of(type, &node->upto, &ignored, &to))
		return not_a_value(e, node, type, &node->upto);
	ret->op = QUERY_COMPARE;
	range_of(ret, node->relation, from, to);
	return 0;
}

int exec_value_of(struct exec *e, const struct query_node *node, struct exec_node *ret)
{
	enum words_type type;
	int64_t from, to;
	if (node->attribute.n == 0 || column_of(e, node->attribute, &ret->column, &type) == 1)
		return 1;
	if (type == WORDS_WORD) {
		word_of(e, node, ret);
		return 0;
	}
	if (!value_of(type, &node->value, &from, &to))
		return 1;
	ret->op = QUERY_COMPARE;
	range_of(ret, QUERY_EQUAL, from, to);
	return 0;
}

/* Running */

/* "*" is any number of characters, "?" one. After a difference the last "*" takes one more. */
static bool is_like(struct str text, struct str pattern)
{
	size_t at = 0, i = 0, star = SIZE_MAX, from = 0;
	while (at < text.n) {
		if (i < pattern.n && pattern.p[i] == '*') {
			star = i++;
			from = at;
		} else if (i < pattern.n && pattern.p[i] == '?') {
			at += MAX(str_utf8_char(str_from(text, at)), (size_t)1);
			i++;
		} else if (i < pattern.n && pattern.p[i] == text.p[at]) {
			at++;
			i++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			at = from += MAX(str_utf8_char(str_from(text, from)), (size_t)1);
		} else {
			return false;
		}
	}
	while (i < pattern.n && pattern.p[i] == '*')
		i++;
	return i == pattern.n;
}

/* The numbers of all values that are like the pattern. 1: there are none. */
static int find_like(struct exec *e, const struct exec_node *node, struct exec_column *c)
{
	uint32_t values;
	struct str text;
	c->least = INT64_MAX;
	c->most = INT64_MIN;
	if (segment_values(e->segment, node->column, &values, e->err) < 0)
		return -1;
	uint64_t *set = arena_array(e->arena, (size_t)values / 64 + 1, sizeof *set);
	for (uint32_t i = 1; i <= values && !exec_late(e); i++) {
		if (segment_value(e->segment, node->column, i, &text, e->err) < 0)
			return -1;
		if (!is_like(text, node->value))
			continue;
		set[i / 64] |= UINT64_C(1) << i % 64;
		c->least = MIN(c->least, (int64_t)i);
		c->most = i;
	}
	c->set = set;
	c->set_n = values;
	return c->least > c->most;
}

static int open_words(struct exec *e, const struct exec_node *node, struct exec_column *c)
{
	uint32_t number = 0;
	if (node->pattern)
		return find_like(e, node, c);
	int rc = segment_value_number(e->segment, node->column, node->value, &number, e->err);
	c->least = c->most = number;
	return rc;
}

static bool may_have(const struct exec_column *c, uint32_t doc)
{
	const struct segment_span *s = &c->span[doc / SEGMENT_SPAN];
	return s->least <= c->most && s->most >= c->least;
}

bool exec_column_open(struct exec *e, const struct exec_node *node, struct exec_column *ret)
{
	struct exec_column c = {.least = node->least, .most = node->most};
	int rc = node->words ? open_words(e, node, &c) : 0;
	if (rc == 0 && (segment_column(e->segment, node->column, &c.numbers, e->err) < 0 ||
			segment_spans(e->segment, node->column, &c.span, e->err) < 0))
		rc = -1;
	if (rc < 0)
		(void)exec_fail(e);
	if (rc != 0 || !c.span)
		return false;
	for (uint32_t doc = 0; doc < e->docs; doc += SEGMENT_SPAN)
		if (may_have(&c, doc))
			c.most_docs += MIN((uint32_t)SEGMENT_SPAN, e->docs - doc);
	*ret = c;
	return c.most_docs != 0;
}

uint32_t exec_column_seek(struct exec *e, const struct exec_column *c, uint32_t doc)
{
	while (doc < e->docs && !e->failed && !exec_late(e)) {
		uint32_t end = (doc / SEGMENT_SPAN + 1) * SEGMENT_SPAN;
		end = MIN(end, e->docs);
		if (!may_have(c, doc))
			doc = end;
		for (; doc < end; doc++)
			if (exec_column_has(c, doc))
				return doc;
	}
	return NO_DOC;
}
