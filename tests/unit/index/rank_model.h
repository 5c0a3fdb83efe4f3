/* The order of the best as simple as can be, to compare exec_rerank.c with: every part of the table
 * in rank.c for every document, from its words. */
#pragma once
#include "words_model.h"

struct model_answer {
	const struct model_doc *doc;
	uint64_t score;
	int64_t time_s;
};

static inline int model_by_order(const void *pa, const void *pb)
{
	const struct model_answer *a = pa, *b = pb;
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->time_s != b->time_s)
		return a->time_s > b->time_s ? -1 : 1;
	if (a->doc->segment != b->doc->segment)
		return a->doc->segment < b->doc->segment ? -1 : 1;
	return a->doc->doc < b->doc->doc ? -1 : a->doc->doc > b->doc->doc;
}

struct model_query {
	uint32_t term[RANK_QUERY_WORDS];
	float weight[RANK_QUERY_WORDS], idf;
	const struct query_node *leaf[RANK_QUERY_WORDS];
	uint32_t words;
};

static inline void model_query_word(struct model *m, const struct words_part *part, size_t parts,
				    const struct query_node *leaf, struct str term,
				    struct model_query *q)
{
	uint32_t number = model_text(m, term);
	uint64_t df = model_df(part, parts, STR(""), term);
	for (uint32_t i = 0; i < q->words; i++)
		if (q->term[i] == number)
			return;
	if (df == 0 || q->words == RANK_QUERY_WORDS)
		return;
	q->term[q->words] = number;
	q->leaf[q->words] = leaf;
	q->weight[q->words] = rank_weight(m->index_docs, df);
	q->idf += q->weight[q->words++];
}

static inline void model_query_words(struct model *m, const struct words_part *part, size_t parts,
				     const struct query_node *node, struct model_query *q)
{
	bool plain = node->attribute.n == 0 || str_is(node->attribute, m->settings.main);
	if ((node->op == QUERY_WORD || node->op == QUERY_PHRASE) && plain && !node->filter)
		for (uint32_t i = 0; i < node->words; i++)
			model_query_word(m, part, parts, node, node->word[i].term, q);
	if (node->op == QUERY_AND || node->op == QUERY_OR)
		for (uint32_t i = 0; i < node->kids; i++)
			model_query_words(m, part, parts, node->kid[i], q);
}

/* What the words of the query weigh that stand in an attribute; how many of them, and of how many
 * words in it. */
static inline float model_inside(struct model *m, const struct model_doc *d,
				 const struct model_query *q, const char *name, uint32_t *ret_words,
				 uint32_t *ret_length)
{
	float found = 0;
	int attr = model_attr(m, str_of(name));
	*ret_words = *ret_length = 0;
	for (uint32_t v = 0; v < d->values; v++)
		*ret_length += (int)d->value[v].attr == attr ? d->value[v].n : 0;
	for (uint32_t w = 0; w < q->words; w++)
		if (attr >= 0 && model_tf(m, d, str_of(name), q->term[w])) {
			found += q->weight[w];
			++*ret_words;
		}
	return found;
}

static inline uint64_t model_attributes(struct model *m, const struct model_doc *d,
					const struct model_query *q)
{
	uint32_t words, length;
	float found = model_inside(m, d, q, "title", &words, &length);
	uint64_t score = 0;
	if (words)
		score = rank_add(RANK_TITLE, rank_title(found, q->idf, words, length), q->idf);
	found = model_inside(m, d, q, "url", &words, &length);
	return score + rank_add(RANK_URL, found / q->idf, q->idf);
}

/* The main attribute first, a position between two values. */
static inline uint32_t model_positions(const struct model *m, const struct model_doc *d,
				       uint32_t term, uint32_t *ret)
{
	uint32_t n = 0, at = 0;
	for (int main = 1; main >= 0; main--)
		for (uint32_t v = 0; v < d->values; v++) {
			const struct model_value *value = &d->value[v];
			if (str_is(m->attr[value->attr], m->settings.main) != main || !value->n)
				continue;
			for (uint32_t i = 0; i < value->n; i++)
				if (value->word[i].term == term)
					ret[n++] = at + i;
			at += value->n + 1;
		}
	return n;
}

/* Every pair of positions. */
static inline float model_near(const uint32_t *a, uint32_t na, const uint32_t *b, uint32_t nb)
{
	float best = 0;
	for (uint32_t i = 0; i < na; i++)
		for (uint32_t k = 0; k < nb; k++) {
			uint32_t apart = a[i] < b[k] ? b[k] - a[i] : a[i] - b[k];
			float near = 2 / (1 + (float)(2 * apart - (a[i] < b[k])));
			best = MAX(best, near);
		}
	return best;
}

static inline uint64_t model_nearness(struct model *m, const struct model_doc *d,
				      const struct model_query *q)
{
	float near = 0, sum = 0;
	uint32_t length = 1, na, nb;
	for (uint32_t v = 0; v < d->values; v++)
		length += d->value[v].n;
	uint32_t *a = mem_array(length, sizeof *a), *b = mem_array(length, sizeof *b);
	for (uint32_t w = 0; w + 1 < q->words; w++) {
		float weight = MIN(q->weight[w], q->weight[w + 1]);
		if (q->leaf[w] == q->leaf[w + 1])
			continue;
		sum += weight;
		na = model_positions(m, d, q->term[w], a);
		nb = model_positions(m, d, q->term[w + 1], b);
		if (na && nb)
			near += weight * model_near(a, na, b, nb);
	}
	mem_free(&a);
	mem_free(&b);
	return sum > 0 ? rank_add(RANK_NEAR, near / sum, q->idf) : 0;
}

/* "http://h1/..." has the site "h1". */
static inline struct str model_site(struct str key)
{
	size_t at = str_find(key, STR("://"));
	struct str rest = str_from(key, at + 3);
	return at == key.n ? STR("") : str_head(rest, str_find_byte(rest, '/'));
}

static inline void model_sites(uint32_t per_site, struct model_answer *answer, size_t n)
{
	struct model_answer *out = mem_array(n + 1, sizeof *out);
	size_t filled = 0;
	for (int late = 0; late < 2; late++)
		for (size_t i = 0; i < n; i++) {
			struct str site = model_site(answer[i].doc->key);
			uint32_t before = 0;
			for (size_t k = 0; k < i; k++)
				before += site.n && str_eq(model_site(answer[k].doc->key), site);
			if ((before >= per_site) == late)
				out[filled++] = answer[i];
		}
	memcpy(answer, out, n * sizeof *out);
	mem_free(&out);
}

/* The answers come by BM25 and static rank. */
static inline void model_rerank(struct model *m, const struct words_part *part, size_t parts,
				const struct query *query, struct model_answer *answer, size_t n)
{
	struct model_query q = {0};
	size_t window = MIN(n, (size_t)RANK_WINDOW), near = MIN(n, (size_t)RANK_NEAR_WINDOW);
	model_query_words(m, part, parts, query->root, &q);
	if (q.words) {
		for (size_t i = 0; i < window; i++)
			answer[i].score += model_attributes(m, answer[i].doc, &q);
		qsort(answer, window, sizeof *answer, model_by_order);
		for (size_t i = 0; i < near; i++)
			answer[i].score += model_nearness(m, answer[i].doc, &q);
		qsort(answer, window, sizeof *answer, model_by_order);
	}
	if (query->per_site)
		model_sites(query->per_site, answer, MIN(n, (size_t)RANK_SITES_WINDOW));
}
