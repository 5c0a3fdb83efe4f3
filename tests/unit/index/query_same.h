/* Whether two trees of queries are the same but for where they stand in their texts. */
#pragma once
#include "index/query.h"

static inline bool query_same_value(const struct query_value *a, const struct query_value *b)
{
	return str_eq(a->text, b->text) && a->is_number == b->is_number &&
	       a->is_period == b->is_period && a->number == b->number && a->from_s == b->from_s &&
	       a->to_s == b->to_s;
}

static inline bool query_same_word(const struct query_word *a, const struct query_word *b)
{
	return str_eq(a->term, b->term) && str_eq(a->folded, b->folded) &&
	       str_eq(a->form, b->form) && a->pattern == b->pattern;
}

static inline bool query_same(const struct query_node *a, const struct query_node *b)
{
	bool same = a->op == b->op && str_eq(a->attribute, b->attribute) && a->exact == b->exact &&
		    a->filter == b->filter && a->errors == b->errors && a->parts == b->parts &&
		    a->forgive == b->forgive && a->whole == b->whole && a->plain == b->plain &&
		    a->distance == b->distance && str_eq(a->match, b->match) &&
		    a->words == b->words && a->kids == b->kids && a->relation == b->relation;
	/* without an attribute no column can make a value of it */
	if (a->attribute.n)
		same = same && query_same_value(&a->value, &b->value) &&
		       query_same_value(&a->upto, &b->upto);
	for (uint32_t i = 0; same && i < a->words; i++)
		same = query_same_word(&a->word[i], &b->word[i]);
	for (uint32_t i = 0; same && i < a->kids; i++)
		same = query_same(a->kid[i], b->kid[i]);
	return same;
}
