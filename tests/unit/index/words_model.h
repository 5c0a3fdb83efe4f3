/* A search that is as simple as can be, to compare the words index with: documents as lists of
 * words, every query asked of every document. Scores are computed from the frequencies found here
 * and the statistics that the index tells, by the formula of rank.h. */
#pragma once
#include "base/arena.h"
#include "base/hash.h"
#include "index/query/rank.h"
#include "index/segment.h"
#include "index/token.h"

enum { MODEL_ATTRS = 8 };

struct model_word {
	uint32_t term, form; /* numbers of texts in the model's table */
};
struct model_value {
	uint32_t attr, n; /* number of a name in the model's list */
	struct model_word *word;
};
struct model_doc {
	struct str key;
	int64_t time_s, number;
	uint16_t rank;
	bool has_number;
	struct model_value value[MODEL_ATTRS];
	uint32_t values;
	uint64_t length;
	/* where the index has it */
	uint32_t segment, doc;
};

struct model {
	struct arena arena;
	struct token_rules *rules;
	struct words_settings settings;
	struct str *text; /* by number from 1; with an open hash table */
	uint32_t *slot, texts, slots;
	struct str attr[MODEL_ATTRS];
	uint32_t attrs;
	struct model_doc *doc;
	size_t docs, room;
	/* statistics of the index */
	uint64_t index_docs;
	struct rank_norms norms;
};

static inline uint32_t model_text(struct model *m, struct str s)
{
	if (!m->slots) {
		m->slots = 1 << 16;
		m->slot = mem_array(m->slots, sizeof *m->slot);
		m->text = mem_array(m->slots, sizeof *m->text);
	}
	uint64_t at = hash64(s) % m->slots;
	for (; m->slot[at]; at = (at + 1) % m->slots)
		if (str_eq(m->text[m->slot[at]], s))
			return m->slot[at];
	ENSURE(m->texts < m->slots / 2);
	m->slot[at] = ++m->texts;
	m->text[m->texts] = arena_str(&m->arena, s);
	return m->texts;
}

static inline int model_attr(const struct model *m, struct str name)
{
	for (uint32_t i = 0; i < m->attrs; i++)
		if (str_eq(m->attr[i], name))
			return (int)i;
	return -1;
}

static inline uint32_t model_weight(const struct model *m, struct str name)
{
	for (uint32_t i = 0; i < m->settings.weights; i++)
		if (str_is(name, m->settings.weight[i].name))
			return m->settings.weight[i].weight;
	return 1;
}

static inline struct model_doc *model_find(struct model *m, struct str key)
{
	for (size_t i = 0; i < m->docs; i++)
		if (str_eq(m->doc[i].key, key))
			return &m->doc[i];
	return NULL;
}

static inline void model_delete(struct model *m, struct str key)
{
	struct model_doc *d = model_find(m, key);
	if (d)
		*d = m->doc[--m->docs];
}

static inline void model_value(struct model *m, struct model_doc *d, struct str name,
			       struct str text)
{
	int attr = model_attr(m, name);
	struct tokens t;
	struct token token;
	uint32_t n = 0;
	ENSURE(d->values < MODEL_ATTRS);
	if (attr < 0) {
		ENSURE(m->attrs < MODEL_ATTRS);
		attr = (int)m->attrs;
		m->attr[m->attrs++] = arena_str(&m->arena, name);
	}
	tokens_init(&t, m->rules, text, 0);
	while (tokens_next(&t, &token) == 0)
		n++;
	struct model_value *v = &d->value[d->values++];
	*v = (struct model_value){(uint32_t)attr, n,
				  arena_array(&m->arena, MAX(n, 1), sizeof *v->word)};
	tokens_init(&t, m->rules, text, 0);
	for (uint32_t i = 0; tokens_next(&t, &token) == 0; i++) {
		struct str term = token.term, form = token.form;
		v->word[i] = (struct model_word){model_text(m, term), model_text(m, form)};
	}
	d->length += (uint64_t)n * model_weight(m, name);
}

/* Replaces the one with the same key. Attributes of weight 0 have no words. */
static inline void model_add(struct model *m, const struct words_doc *doc)
{
	model_delete(m, doc->key);
	if (m->docs == m->room) {
		m->room = m->room ? m->room * 2 : 256;
		m->doc = mem_resize(m->doc, m->room * sizeof *m->doc);
	}
	struct model_doc *d = &m->doc[m->docs++];
	*d = (struct model_doc){
		.key = arena_str(&m->arena, doc->key), .time_s = doc->time_s, .rank = doc->rank};
	for (size_t i = 0; i < doc->n; i++) {
		uint64_t v;
		if (str_is(doc->attr[i].name, "size") && str_u64(doc->attr[i].value, &v)) {
			d->has_number = true;
			d->number = (int64_t)v;
		}
		if (model_weight(m, doc->attr[i].name))
			model_value(m, d, doc->attr[i].name, doc->attr[i].value);
	}
}

static inline bool model_word_is(const struct model_word *w, uint32_t term, uint32_t form,
				 bool exact)
{
	return w->term == term && (!exact || w->form == form);
}

/* A word or phrase in any value of the attribute, or of any. */
static inline bool model_stands(struct model *m, const struct model_doc *d,
				const struct query_node *node)
{
	uint32_t term[QUERY_PHRASE_MOST], form[QUERY_PHRASE_MOST];
	int attr = node->attribute.n ? model_attr(m, node->attribute) : -1;
	if (node->attribute.n && attr < 0)
		return false;
	for (uint32_t i = 0; i < node->words; i++) {
		term[i] = model_text(m, node->word[i].term);
		form[i] = model_text(m, node->word[i].form);
	}
	for (uint32_t v = 0; v < d->values; v++) {
		const struct model_value *value = &d->value[v];
		if (attr >= 0 && value->attr != (uint32_t)attr)
			continue;
		for (uint32_t at = 0; at + node->words <= value->n; at++) {
			uint32_t i = 0;
			while (i < node->words &&
			       model_word_is(&value->word[at + i], term[i], form[i], node->exact))
				i++;
			if (i == node->words)
				return true;
		}
	}
	return false;
}

static inline bool model_compares(const struct model_doc *d, const struct query_node *node)
{
	bool time = str_is(node->attribute, "time"), rank = str_is(node->attribute, "rank");
	int64_t v = time ? d->time_s : rank ? d->rank : d->number;
	int64_t from = node->value.number, to = from;
	if (!time && !rank && !d->has_number)
		return false;
	if (time && node->value.is_period) {
		from = node->value.from_s;
		to = node->value.to_s - 1;
	}
	if (node->relation == QUERY_BETWEEN)
		to = time && node->upto.is_period ? node->upto.to_s - 1 : node->upto.number;
	switch (node->relation) {
	case QUERY_LESS:
		return v < from;
	case QUERY_AT_MOST:
		return v <= to;
	case QUERY_MORE:
		return v > to;
	case QUERY_AT_LEAST:
		return v >= from;
	default:
		return v >= from && v <= to;
	}
}

/* A word in a column is a value to be equal to. */
static inline bool model_is_value(const struct query_node *node)
{
	return (str_is(node->attribute, "size") && node->value.is_number) ||
	       (str_is(node->attribute, "rank") && node->value.is_number) ||
	       (str_is(node->attribute, "time") &&
		(node->value.is_number || node->value.is_period));
}

static inline bool model_equals(const struct model_doc *d, const struct query_node *node)
{
	struct query_node equal = *node;
	equal.relation = QUERY_EQUAL;
	return model_compares(d, &equal);
}

static inline bool model_matches(struct model *m, const struct model_doc *d,
				 const struct query_node *node)
{
	uint32_t i = 0;
	switch (node->op) {
	case QUERY_ALL:
		return true;
	case QUERY_WORD:
	case QUERY_PHRASE:
		return model_is_value(node) ? model_equals(d, node) : model_stands(m, d, node);
	case QUERY_COMPARE:
		return model_compares(d, node);
	case QUERY_NOT:
		return !model_matches(m, d, node->kid[0]);
	case QUERY_AND:
		while (i < node->kids && model_matches(m, d, node->kid[i]))
			i++;
		return i == node->kids;
	case QUERY_OR:
		while (i < node->kids && !model_matches(m, d, node->kid[i]))
			i++;
		return i < node->kids;
	default:
		return false;
	}
}

/* Occurrences in an attribute; or (empty) in all of them, weighted. */
static inline uint32_t model_tf(struct model *m, const struct model_doc *d, struct str attribute,
				uint32_t term)
{
	uint64_t tf = 0;
	int attr = attribute.n ? model_attr(m, attribute) : -1;
	for (uint32_t v = 0; v < d->values; v++)
		for (uint32_t i = 0; i < d->value[v].n; i++)
			if (d->value[v].word[i].term == term &&
			    (!attribute.n || (int)d->value[v].attr == attr))
				tf += attribute.n ? 1 : model_weight(m, m->attr[d->value[v].attr]);
	return (uint32_t)MIN(tf, SEGMENT_TF_MOST);
}

static inline uint64_t model_df(const struct words_part *part, size_t parts, struct str attribute,
				struct str term)
{
	uint64_t df = 0;
	for (size_t i = 0; i < parts; i++) {
		struct segment_term info;
		struct err err;
		int attr =
			attribute.n ? segment_attr(part[i].segment, attribute) : SEGMENT_COMBINED;
		if (attr >= 0 &&
		    segment_term(part[i].segment, (unsigned)attr, term, &info, &err) == 0)
			df += info.df;
	}
	return df;
}

/* Words of a phrase count one by one, a word that stands twice in it twice. */
static inline uint64_t model_words_score(struct model *m, const struct words_part *part,
					 size_t parts, const struct model_doc *d,
					 const struct query_node *node)
{
	uint64_t score = 0;
	bool main = str_is(node->attribute, m->settings.main);
	struct str attribute = main ? STR("") : node->attribute;
	for (uint32_t i = 0; i < node->words; i++) {
		struct str term = node->word[i].term;
		float weight = rank_weight(m->index_docs, model_df(part, parts, attribute, term));
		float norm = m->norms.of[words_length_code(d->length)];
		score += rank_score(weight, model_tf(m, d, attribute, model_text(m, term)), norm);
	}
	return score;
}

static inline uint64_t model_score(struct model *m, const struct words_part *part, size_t parts,
				   const struct model_doc *d, const struct query_node *node)
{
	uint64_t score = 0;
	if (node->op == QUERY_WORD || node->op == QUERY_PHRASE)
		return model_is_value(node) || node->filter
			       ? 0
			       : model_words_score(m, part, parts, d, node);
	if (node->op == QUERY_AND || node->op == QUERY_OR)
		for (uint32_t i = 0; i < node->kids; i++)
			if (model_matches(m, d, node->kid[i]))
				score += model_score(m, part, parts, d, node->kid[i]);
	return score;
}

static inline void model_free(struct model *m)
{
	token_rules_close(&m->rules);
	mem_free(&m->slot);
	mem_free(&m->text);
	mem_free(&m->doc);
	arena_free(&m->arena);
}
