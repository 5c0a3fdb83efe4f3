/* Words that mean many: patterns, errors, parts of words, words near each other. Thousands of
 * random trees, answered by the index as by plain code over the words of each document: which
 * documents, in which order, with which score. */
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "index/words/token_inner.h"
#include "words_model.h"

#include <stdio.h>

enum { NONE = 1000, TEXT_MOST = 300 };

static uint64_t seed;

static size_t throw_dice(size_t n)
{
	return (size_t)(dice(&seed) % n);
}

/* Words */

static const char *const letters[] = {"a", "b", "c", "a", "b", "A", "B", "é", "e\xcc\x81", "ж"};

/* Words whose stems are others. */
static const char *const endings[] = {"cabs", "cab", "abbing", "abbed", "abb", "Cabs", "babies"};

static void some_word(struct buf *b)
{
	size_t n = throw_dice(8) ? 1 + throw_dice(5) : 1 + throw_dice(9),
	       few = throw_dice(3) ? 3 : ARRAY_LEN(letters);
	if (throw_dice(40) == 0) {
		buf_add_text(b, "東");
		return;
	}
	if (throw_dice(6) == 0) {
		buf_add_text(b, endings[throw_dice(ARRAY_LEN(endings))]);
		return;
	}
	while (n--)
		buf_add_text(b, letters[throw_dice(few)]);
}

static void some_words(struct buf *b, size_t n)
{
	for (; n; n--) {
		some_word(b);
		buf_add_text(b, throw_dice(20) ? " " : " \xff ");
	}
}

static uint32_t chars_of(struct str s, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)s.p, *end = p + s.n;
	uint32_t n = 0;
	for (size_t len; p < end; p += len)
		ret[n++] = (uint32_t)token_char(p, end, &len);
	return n;
}

/* The model */

static uint32_t table[TEXT_MOST][TEXT_MOST];

/* The least errors of the word anywhere where it may stand in the text. */
static uint32_t count_edits(struct str word, struct str text, bool left, bool right)
{
	uint32_t a[TEXT_MOST], b[TEXT_MOST], n = chars_of(word, a), m = chars_of(text, b);
	uint32_t best = UINT32_MAX;
	for (uint32_t i = 0; i <= n; i++)
		for (uint32_t j = 0; j <= m; j++) {
			uint32_t v = UINT32_MAX;
			if (i == 0)
				v = left ? 0 : j;
			else if (j == 0)
				v = i;
			else {
				v = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
				v = MIN(v, table[i - 1][j] + 1);
				v = MIN(v, table[i][j - 1] + 1);
			}
			table[i][j] = v;
		}
	for (uint32_t j = right ? 0 : m; j <= m; j++)
		best = MIN(best, table[n][j]);
	return best;
}

static bool glob_matches(const uint32_t *g, uint32_t n, const uint32_t *t, uint32_t m)
{
	if (n == 0)
		return m == 0;
	if (g[0] == '*')
		return glob_matches(g + 1, n - 1, t, m) || (m && glob_matches(g, n, t + 1, m - 1));
	return m && (g[0] == '?' || g[0] == t[0]) && glob_matches(g + 1, n - 1, t + 1, m - 1);
}

struct world {
	struct model model;
	struct words_writer *writer;
	struct words_reader *reader;
	bool stemmed;
	const struct words_part *part;
	size_t parts;
};

static struct str folded_form(const struct world *w, struct str form, char text[TOKEN_TERM_MOST])
{
	return (struct str){text, token_fold(w->model.rules, form, text)};
}

static bool is_plain(const struct query_node *node, uint32_t i)
{
	bool first = i == 0, last = i + 1 == node->words, near = node->op == QUERY_NEAR;
	return !node->word[i].pattern && node->errors == 0 &&
	       !(node->parts && (first || last || near));
}

/* The errors with which a word of a text is the i-th of the node; NONE: it is not. */
static uint32_t errors_of_word(const struct world *w, const struct query_node *node, uint32_t i,
			       struct str term, struct str form)
{
	const struct query_word *q = &node->word[i];
	bool near = node->op == QUERY_NEAR;
	bool left = node->parts && (near || i == 0);
	bool right = node->parts && (near || i + 1 == node->words);
	char text[TOKEN_TERM_MOST];
	struct str want = q->term, have = term;
	if (is_plain(node, i))
		return str_eq(q->term, term) && (!node->exact || str_eq(q->form, form)) ? 0 : NONE;
	if (node->exact) {
		want = q->form;
		have = form;
	} else if (w->stemmed) {
		want = q->pattern ? q->term : q->folded;
		have = folded_form(w, form, text);
	}
	uint32_t chars[TEXT_MOST], other[TEXT_MOST], n = chars_of(want, chars);
	if (q->pattern)
		return glob_matches(chars, n, other, chars_of(have, other)) ? 0 : NONE;
	uint32_t k = MIN((uint32_t)node->errors, n - 1),
		 errors = count_edits(want, have, left, right);
	return errors <= k ? errors : NONE;
}

static uint32_t errors_at(const struct world *w, const struct query_node *node, uint32_t i,
			  const struct model_word *word)
{
	return errors_of_word(w, node, i, w->model.text[word->term], w->model.text[word->form]);
}

static bool phrase_at(const struct world *w, const struct query_node *node,
		      const struct model_value *v, uint32_t at)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < node->words; i++)
		sum += errors_at(w, node, i, &v->word[at + i]);
	return sum <= (uint32_t)node->errors;
}

static bool near_in(const struct world *w, const struct query_node *node,
		    const struct model_value *v)
{
	for (uint32_t a = 0; a < v->n; a++)
		for (uint32_t b = 0; b < v->n; b++)
			if (a != b && MAX(a, b) - MIN(a, b) <= node->distance &&
			    errors_at(w, node, 0, &v->word[a]) != NONE &&
			    errors_at(w, node, 1, &v->word[b]) != NONE)
				return true;
	return false;
}

static bool leaf_stands(const struct world *w, const struct model_doc *d,
			const struct query_node *node)
{
	int attr = node->attribute.n ? model_attr(&w->model, node->attribute) : -1;
	for (uint32_t i = 0; i < d->values; i++) {
		const struct model_value *v = &d->value[i];
		if (node->attribute.n && (int)v->attr != attr)
			continue;
		if (node->op == QUERY_NEAR) {
			if (near_in(w, node, v))
				return true;
			continue;
		}
		for (uint32_t at = 0; at + node->words <= v->n; at++)
			if (phrase_at(w, node, v, at))
				return true;
	}
	return false;
}

static bool doc_matches(const struct world *w, const struct model_doc *d,
			const struct query_node *node)
{
	bool any = false, all = true;
	for (uint32_t i = 0; i < node->kids; i++) {
		bool kid = doc_matches(w, d, node->kid[i]);
		any |= kid;
		all &= kid;
	}
	switch (node->op) {
	case QUERY_AND:
		return all;
	case QUERY_OR:
		return any;
	case QUERY_NOT:
		return !any;
	default:
		return leaf_stands(w, d, node);
	}
}

/* Documents of the index that have a word of those that are meant, deleted ones too. */
static uint64_t union_df(const struct world *w, const struct query_node *node, uint32_t i,
			 struct str attribute)
{
	uint64_t df = 0;
	struct err err;
	for (size_t p = 0; p < w->parts; p++) {
		struct segment *s = w->part[p].segment;
		uint8_t *has = mem_array(w->part[p].docs, 1);
		struct segment_walk walk;
		int attr = attribute.n ? segment_attr(s, attribute) : SEGMENT_COMBINED;
		if (attr >= 0)
			assert_int_equal(0, segment_walk(s, (unsigned)attr, STR(""), &walk, &err));
		while (attr >= 0 && segment_walk_next(&walk, &err) == 0) {
			struct postings list;
			uint32_t doc[SEGMENT_BLOCK];
			if (errors_of_word(w, node, i, walk.term, walk.term) == NONE)
				continue;
			assert_int_equal(0, postings_open(s, &walk.info, &list, &err));
			for (uint32_t b = 0; b < list.blocks; b++) {
				assert_int_equal(0, postings_docs(&list, b, doc, &err));
				for (uint32_t k = 0; k < postings_in_block(&list, b); k++)
					has[doc[k]] = 1;
			}
			postings_close(&list);
		}
		for (uint32_t k = 0; k < w->part[p].docs; k++)
			df += has[k];
		mem_free(&has);
	}
	return df;
}

static uint64_t word_score(struct world *w, const struct model_doc *d,
			   const struct query_node *node, uint32_t i, float weight)
{
	struct model *m = &w->model;
	bool main = str_is(node->attribute, m->settings.main);
	struct str attribute = main ? STR("") : node->attribute;
	uint64_t tf = 0;
	uint32_t least = NONE;
	for (uint32_t v = 0; v < d->values; v++)
		for (uint32_t k = 0; k < d->value[v].n; k++) {
			struct str name = m->attr[d->value[v].attr];
			struct str term = m->text[d->value[v].word[k].term];
			uint32_t errors = errors_of_word(w, node, i, term, term);
			if (errors == NONE || (attribute.n && !str_eq(attribute, name)))
				continue;
			tf += attribute.n ? 1 : model_weight(m, name);
			least = MIN(least, errors);
		}
	float norm = m->norms.of[words_length_code(d->length)];
	return rank_score(weight, (uint32_t)MIN(tf, (uint64_t)SEGMENT_TF_MOST), norm) / (1 + least);
}

/* The weights of all words of all leaves, in order. */
struct weights {
	float of[256];
	uint32_t n;
};

static void find_weights(const struct world *w, const struct query_node *node, struct weights *to)
{
	bool main = str_is(node->attribute, w->model.settings.main);
	for (uint32_t i = 0; i < node->words; i++)
		to->of[to->n++] =
			rank_weight(w->model.index_docs,
				    union_df(w, node, i, main ? STR("") : node->attribute));
	for (uint32_t i = 0; i < node->kids; i++)
		find_weights(w, node->kid[i], to);
}

static uint32_t count_words(const struct query_node *node)
{
	uint32_t n = node->words;
	for (uint32_t i = 0; i < node->kids; i++)
		n += count_words(node->kid[i]);
	return n;
}

static uint64_t doc_score(struct world *w, const struct model_doc *d, const struct query_node *node,
			  const float *weight)
{
	uint64_t sum = 0;
	if (node->op == QUERY_NOT)
		return 0;
	for (uint32_t i = 0; i < node->words && !node->filter; i++)
		sum += word_score(w, d, node, i, weight[i]);
	for (uint32_t i = 0; i < node->kids; i++) {
		if (doc_matches(w, d, node->kid[i]))
			sum += doc_score(w, d, node->kid[i], weight);
		weight += count_words(node->kid[i]);
	}
	return sum;
}

/* Trees */

static const char *const attributes[] = {"full-text", "title", "note"};

static struct str pattern_of(struct arena *arena, struct str word)
{
	char text[TEXT_MOST];
	size_t n = 0, kind = throw_dice(4);
	if (kind == 0 || kind == 2)
		text[n++] = '*';
	for (size_t i = 0; i < word.n;) {
		size_t len = MAX(str_utf8_char(str_from(word, i)), (size_t)1);
		if (throw_dice(5) == 0) {
			text[n++] = throw_dice(2) ? '?' : '*';
		} else {
			memcpy(text + n, word.p + i, len);
			n += len;
		}
		i += len;
	}
	if (kind == 1 || kind == 2)
		text[n++] = '*';
	return arena_str(arena, (struct str){text, n});
}

static void make_word(struct world *w, struct arena *arena, struct query_word *ret)
{
	struct tokens t;
	struct token token;
	struct buf text = BUF_INIT(1 << 10);
	char text_folded[TOKEN_TERM_MOST];
	do {
		buf_clear(&text);
		some_word(&text);
		tokens_init(&t, w->model.rules, buf_str(&text), 0);
	} while (tokens_next(&t, &token) != 0);
	ret->term = arena_str(arena, token.term);
	ret->form = arena_str(arena, token.form);
	ret->folded = arena_str(arena, folded_form(w, ret->form, text_folded));
	buf_free(&text);
}

static struct query_node *make_leaf(struct world *w, struct arena *arena)
{
	struct query_node *node = arena_alloc(arena, sizeof *node);
	size_t kind = throw_dice(5);
	node->op = kind == 0 ? QUERY_NEAR : kind < 3 ? QUERY_PHRASE : QUERY_WORD;
	node->words = node->op == QUERY_NEAR ? 2 : kind < 3 ? (uint32_t)(2 + throw_dice(2)) : 1;
	node->distance = (uint32_t)(1 + throw_dice(4));
	node->attribute = throw_dice(3) ? STR("") : str_of(attributes[throw_dice(3)]);
	node->exact = throw_dice(5) == 0;
	node->filter = throw_dice(8) == 0;
	node->errors = (int8_t)(throw_dice(2) ? 0 : throw_dice(4));
	node->parts = throw_dice(3) == 0;
	node->word = arena_array(arena, node->words, sizeof *node->word);
	for (uint32_t i = 0; i < node->words; i++) {
		struct query_word *q = &node->word[i];
		char text[TOKEN_TERM_MOST];
		make_word(w, arena, q);
		if (node->errors || node->parts || throw_dice(2))
			continue;
		q->pattern = true;
		q->term = pattern_of(arena, folded_form(w, q->form, text));
		q->form = node->exact ? pattern_of(arena, q->form) : q->term;
	}
	return node;
}

static struct query_node *make_tree(struct world *w, struct arena *arena, int depth)
{
	if (depth == 0 || throw_dice(3) == 0)
		return make_leaf(w, arena);
	struct query_node *node = arena_alloc(arena, sizeof *node);
	node->op = throw_dice(2) ? QUERY_AND : QUERY_OR;
	node->kids = (uint32_t)(2 + throw_dice(2));
	node->kid = arena_array(arena, node->kids, sizeof(struct query_node *));
	for (uint32_t i = 0; i < node->kids; i++) {
		struct query_node *kid = make_tree(w, arena, depth - 1);
		if (i && throw_dice(6) == 0) {
			struct query_node *away = arena_alloc(arena, sizeof *away);
			away->op = QUERY_NOT;
			away->kids = 1;
			away->kid = arena_array(arena, 1, sizeof kid);
			away->kid[0] = kid;
			kid = away;
		}
		node->kid[i] = kid;
	}
	return node;
}

/* Documents */

static void add_doc(struct world *w, unsigned number)
{
	struct buf text[3] = {BUF_INIT(1 << 20), BUF_INIT(1 << 20), BUF_INIT(1 << 20)};
	struct words_attr attr[4];
	struct err err;
	char key[32];
	size_t n = 0;
	snprintf(key, sizeof key, "http://h/%u", number);
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		some_words(&text[i], throw_dice(i ? 5 : throw_dice(10) ? 12 : 200));
	attr[n++] = (struct words_attr){str_of(attributes[0]), buf_str(&text[0])};
	if (throw_dice(2))
		attr[n++] = (struct words_attr){str_of(attributes[1]), buf_str(&text[1])};
	if (throw_dice(2))
		attr[n++] = (struct words_attr){str_of(attributes[2 - throw_dice(2)]),
						buf_str(&text[2])};
	struct words_doc doc = {
		.key = str_of(key), .time_s = (int64_t)throw_dice(1000), .attr = attr, .n = n};
	assert_int_equal(0, words_add(w->writer, &doc, &err));
	model_add(&w->model, &doc);
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		buf_free(&text[i]);
}

static void drop_doc(struct world *w, unsigned number)
{
	char key[32];
	struct err err;
	snprintf(key, sizeof key, "http://h/%u", number);
	assert_true(words_delete(w->writer, str_of(key), &err) >= 0);
	model_delete(&w->model, str_of(key));
}

static void look_again(struct world *w)
{
	struct model *m = &w->model;
	struct err err;
	uint64_t length = 0;
	w->part = words_parts(w->reader, &w->parts);
	m->index_docs = 0;
	for (size_t p = 0; p < w->parts; p++) {
		m->index_docs += segment_info(w->part[p].segment)->docs;
		length += segment_info(w->part[p].segment)->weighted_length;
	}
	rank_norms(&m->norms, m->index_docs, length);
	for (size_t i = 0; i < m->docs; i++)
		for (size_t p = 0; p < w->parts; p++) {
			uint32_t doc;
			if (segment_find(w->part[p].segment, m->doc[i].key, &doc, &err) == 0 &&
			    !words_deleted(&w->part[p], doc)) {
				m->doc[i].segment = (uint32_t)p;
				m->doc[i].doc = doc;
			}
		}
}

static void open_world(struct world *w, const char *name, const char *language, unsigned docs,
		       unsigned commits)
{
	struct words_options options = {.memory = WORDS_MEMORY_MIN, .merges_elsewhere = true};
	struct err err;
	w->model.arena = ARENA_INIT((size_t)4 << 30);
	w->stemmed = language[0] != '\0';
	words_settings_default(&w->model.settings);
	snprintf(w->model.settings.language, sizeof w->model.settings.language, "%s", language);
	options.settings = &w->model.settings;
	assert_int_equal(0, token_rules_open(&w->model.rules, str_of(language), &err));
	assert_int_equal(0, words_writer_open(&w->writer, scratch(name), &options, &err));
	for (unsigned c = 0; c < commits; c++) {
		for (unsigned i = 0; i < docs / commits; i++)
			add_doc(w, c * (docs / commits) + i);
		for (unsigned i = 0; c && i < docs / commits / 4; i++)
			drop_doc(w, (unsigned)throw_dice(docs));
		assert_int_equal(0, words_commit(w->writer, NULL, &err));
	}
	assert_int_equal(0, words_open(&w->reader, scratch(name), &err));
	look_again(w);
}

static void close_world(struct world *w)
{
	words_close(&w->reader);
	words_writer_close(&w->writer);
	model_free(&w->model);
}

/* Answers */

struct answer {
	const struct model_doc *doc;
	uint64_t score;
};

static int by_order(const void *pa, const void *pb)
{
	const struct answer *a = pa, *b = pb;
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->doc->segment != b->doc->segment)
		return a->doc->segment < b->doc->segment ? -1 : 1;
	return a->doc->doc < b->doc->doc ? -1 : a->doc->doc > b->doc->doc;
}

static size_t model_answer(struct world *w, const struct query *q, struct answer *ret)
{
	struct weights weights = {.n = 0};
	size_t n = 0;
	if (q->order == QUERY_BY_RANK)
		find_weights(w, q->root, &weights);
	for (size_t i = 0; i < w->model.docs; i++) {
		const struct model_doc *d = &w->model.doc[i];
		if (!doc_matches(w, d, q->root))
			continue;
		ret[n] = (struct answer){.doc = d};
		if (q->order == QUERY_BY_RANK)
			ret[n].score = doc_score(w, d, q->root, weights.of);
		if (q->order == QUERY_BY_TIME)
			ret[n].score = (uint64_t)d->time_s;
		n++;
	}
	qsort(ret, n, sizeof *ret, by_order);
	return n;
}

static const char *as_text(const struct query_node *node, struct buf *b)
{
	if (node->kids) {
		buf_add_text(b, node->op == QUERY_NOT   ? "NOT("
				: node->op == QUERY_AND ? "AND("
							: "OR(");
		for (uint32_t i = 0; i < node->kids; i++) {
			as_text(node->kid[i], b);
			buf_add_byte(b, ' ');
		}
		buf_add_byte(b, ')');
	}
	if (node->attribute.n)
		buf_printf(b, STR_FMT ":", STR_ARG(node->attribute));
	for (uint32_t i = 0; i < node->words; i++)
		buf_printf(b, "%s" STR_FMT "/" STR_FMT,
			   i             ? "_"
			   : node->exact ? "="
					 : "",
			   STR_ARG(node->word[i].term), STR_ARG(node->word[i].form));
	if (node->words)
		buf_printf(b, "%s%s~%d%s", node->op == QUERY_NEAR ? " near " : "",
			   node->filter ? " filter" : "", node->errors,
			   node->parts ? " parts" : "");
	return buf_text(b);
}

/* Errors of words that are compared by their forms are those of the term's nearest form, which the
 * model does not know: such trees are not asked by rank. */
static bool by_forms(const struct world *w, const struct query_node *node)
{
	bool forms = node->words && (node->exact || w->stemmed);
	for (uint32_t i = 0; i < node->kids; i++)
		forms |= by_forms(w, node->kid[i]);
	return forms;
}

/* What a document was found by; the order of the best is for rank_model.h. */
static void agree_rank(const struct query *q, const char *asked, const struct answer *answers,
		       size_t n, const struct hits *hits)
{
	size_t most = MIN(n, MAX((size_t)q->offset + q->limit, (size_t)RANK_WINDOW));
	for (size_t i = 0; i < hits->n; i++) {
		const struct hit *hit = &hits->hit[i];
		size_t k = 0;
		while (k < most && !str_eq(answers[k].doc->key, hit->key))
			k++;
		if (k == most || hit->found != (float)answers[k].score / RANK_ONE)
			fail_msg("%s: hit %zu is " STR_FMT " by %f, want %f", asked, i,
				 STR_ARG(hit->key), (double)hit->found,
				 k == most ? -1 : (double)answers[k].score / RANK_ONE);
		assert_true(hit->score >= hit->found);
		assert_true(i == 0 || hit->score <= hits->hit[i - 1].score);
	}
}

static void answers_agree(const struct query *q, const struct answer *answers, size_t n,
			  const struct hits *hits)
{
	struct buf text = BUF_INIT(1 << 16);
	size_t want = n > q->offset ? MIN(n - q->offset, q->limit) : 0;
	const char *asked = as_text(q->root, &text);
	if (hits->n != want)
		fail_msg("%s order %d: %zu hits, want %zu of %zu", asked, (int)q->order, hits->n,
			 want, n);
	if (hits->total_exact ? hits->total != n : hits->total > n || hits->total < want)
		fail_msg("%s: total %llu, want %zu", asked, (unsigned long long)hits->total, n);
	assert_true(hits->total_exact || !q->exact_total);
	assert_false(hits->cut);
	for (size_t i = 0; i < hits->n && q->order == QUERY_BY_TIME; i++)
		if (!str_eq(hits->hit[i].key, answers[q->offset + i].doc->key))
			fail_msg("%s by time: hit %zu is " STR_FMT ", want " STR_FMT, asked, i,
				 STR_ARG(hits->hit[i].key),
				 STR_ARG(answers[q->offset + i].doc->key));
	if (q->order == QUERY_BY_RANK)
		agree_rank(q, asked, answers, n, hits);
	buf_free(&text);
}

static void set_order(const struct world *w, struct query *q)
{
	static const uint32_t limits[] = {0, 1, 5, 10, 1000, 1000};
	q->limit = limits[throw_dice(ARRAY_LEN(limits))];
	q->offset = throw_dice(4) ? 0 : (uint32_t)throw_dice(5);
	q->exact_total = throw_dice(2) || q->limit == 0;
	q->order = throw_dice(3) ? QUERY_BY_RANK : throw_dice(2) ? QUERY_BY_TIME : QUERY_ANYHOW;
	if (q->order == QUERY_BY_RANK && by_forms(w, q->root))
		q->order = QUERY_ANYHOW;
	q->explain = throw_dice(20) == 0;
}

static bool ask_tree(struct world *w, struct query_node *root, struct answer *answers)
{
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct query q = {.root = root, .rules = throw_dice(2) ? w->model.rules : NULL};
	struct hits hits;
	struct err err;
	set_order(w, &q);
	size_t n = model_answer(w, &q, answers);
	if (words_query(w->reader, &q, &arena, &hits, &err) < 0)
		fail_msg("%s", err.msg);
	answers_agree(&q, answers, n, &hits);
	arena_free(&arena);
	return n > 0;
}

static void ask_many(struct world *w, unsigned queries, int depth)
{
	struct answer *answers = mem_array(w->model.docs + 1, sizeof *answers);
	size_t found = 0;
	queries /= unit_thorough() ? 1 : 36;
	for (unsigned i = 0; i < queries; i++) {
		struct arena arena = ARENA_INIT((size_t)1 << 30);
		found += ask_tree(w, make_tree(w, &arena, (int)throw_dice((size_t)depth + 1)),
				  answers);
		arena_free(&arena);
	}
	assert_true(found > queries / 4);
	mem_free(&answers);
}

static void any_tree_is_answered_as_by_plain_code(void **state)
{
	(void)state;
	seed = 20261116;
	for (unsigned round = 0; round < 3; round++) {
		struct world w = {0};
		char name[16];
		snprintf(name, sizeof name, "any%u", round);
		open_world(&w, name, "", 60 + 100 * round, 1 + round);
		ask_many(&w, 1200, 2);
		close_world(&w);
	}
}

static void stems_are_not_what_patterns_mean(void **state)
{
	(void)state;
	seed = 4711;
	struct world w = {0};
	open_world(&w, "stems", "english", 120, 2);
	ask_many(&w, 800, 2);
	close_world(&w);
}

/* Long lists, so that the arrays are used in place of sorting, and blocks are passed over. */
static void many_documents(void **state)
{
	(void)state;
	seed = 99;
	struct world w = {0};
	open_world(&w, "many", "", unit_thorough() ? 3000 : 1200, 2);
	ask_many(&w, 240, 1);
	close_world(&w);
}

/* So many words with so many terms each that not all documents are looked at together. */
static void a_phrase_of_many_patterns(void **state)
{
	(void)state;
	static const char *const globs[] = {"*", "?*", "*a*", "a*"};
	seed = 77;
	struct world w = {0};
	open_world(&w, "wide", "", unit_thorough() ? 2400 : 1400, 1);
	struct answer *answers = mem_array(w.model.docs + 1, sizeof *answers);
	size_t found = 0;
	for (unsigned i = 0; i < (unit_thorough() ? 3u : 1u); i++) {
		struct query_word word[64];
		struct query_node node = {.op = QUERY_PHRASE, .word = word, .words = 64};
		for (size_t k = 0; k < ARRAY_LEN(word); k++) {
			struct str glob =
				str_of(globs[throw_dice(20) ? throw_dice(2) : 2 + throw_dice(2)]);
			word[k] = (struct query_word){.term = glob, .form = glob, .pattern = true};
		}
		found += ask_tree(&w, &node, answers);
	}
	assert_true(found > 0);
	mem_free(&answers);
	close_world(&w);
}

/* The least errors with which the model finds a document. */
static int model_best(struct world *w, struct query_node *node)
{
	uint32_t chars[TEXT_MOST], sum = 0, most = 0;
	for (uint32_t i = 0; i < node->words; i++) {
		uint32_t n = node->word[i].pattern ? 0 : chars_of(node->word[i].term, chars) - 1;
		sum += n;
		most = MAX(most, n);
	}
	sum = MIN(node->op == QUERY_NEAR ? most : sum, 8u);
	for (uint32_t k = 0; k <= sum; k++) {
		node->errors = (int8_t)k;
		for (size_t i = 0; i < w->model.docs; i++)
			if (doc_matches(w, &w->model.doc[i], node))
				return (int)k;
	}
	return (int)sum;
}

static void best_takes_the_least_errors_that_find_one(void **state)
{
	(void)state;
	seed = 1066;
	struct world w = {0};
	unsigned some = 0;
	open_world(&w, "best", "", 40, 2);
	for (unsigned i = 0; i < (unit_thorough() ? 2000u : 80u); i++) {
		struct arena arena = ARENA_INIT((size_t)1 << 30);
		struct query_node *node = make_leaf(&w, &arena), other = {.op = QUERY_NOT}, root;
		struct query_node *kid = node, *kids[2] = {node, &other};
		struct hits hits;
		struct err err;
		node->exact = false;
		int want = model_best(&w, node);
		node->errors = QUERY_ERRORS_BEST;
		struct query_node *nothing = arena_alloc(&arena, sizeof *nothing);
		other.kid = &nothing;
		other.kids = 1;
		root = (struct query_node){.op = QUERY_AND, .kid = kids, .kids = 2};
		struct query q = {.root = throw_dice(2) ? kid : &root, .limit = 1000};
		if (words_query(w.reader, &q, &arena, &hits, &err) < 0)
			fail_msg("%s", err.msg);
		const struct query_node *ran = q.root == node ? hits.ran : hits.ran->kid[0];
		if (ran->errors != want)
			fail_msg("%d errors, want %d", ran->errors, want);
		some += want > 0;
		node->errors = (int8_t)want;
		size_t n = 0;
		for (size_t k = 0; k < w.model.docs; k++)
			n += doc_matches(&w, &w.model.doc[k], node);
		assert_int_equal(n, hits.n);
		arena_free(&arena);
	}
	assert_true(some > 20);
	close_world(&w);
}

static bool text_holds(struct str text, const char *part)
{
	return str_find(text, str_of(part)) < text.n;
}

static void explanations_tell_words_and_errors(void **state)
{
	(void)state;
	struct world w = {0};
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct words_attr attr = {STR("full-text"), STR("abcd abce xbcd")};
	struct words_doc doc = {.key = STR("k"), .attr = &attr, .n = 1};
	struct query_word word = {.term = STR("abcf"), .folded = STR("abcf"), .form = STR("abcf")};
	struct query_node node = {.op = QUERY_WORD, .word = &word, .words = 1, .errors = 1};
	struct query q = {.root = &node, .limit = 10, .explain = true};
	struct hits hits;
	struct err err;
	open_world(&w, "explain", "", 0, 0);
	assert_int_equal(0, words_add(w.writer, &doc, &err));
	assert_int_equal(0, words_commit(w.writer, NULL, &err));
	assert_int_equal(0, words_refresh(&w.reader, &err));
	assert_int_equal(0, words_query(w.reader, &q, &arena, &hits, &err));
	assert_true(text_holds(hits.explain, "means 2 words: abcd abce\n"));
	assert_true(text_holds(hits.explain, "frequency 2"));
	assert_true(text_holds(hits.explain, "1 errors: 1/2 of it"));
	q.order = QUERY_BY_TIME;
	assert_int_equal(0, words_query(w.reader, &q, &arena, &hits, &err));
	assert_true(text_holds(hits.explain, "1 errors: 1/2 of it"));
	arena_free(&arena);
	close_world(&w);
}

static void a_cancelled_query_is_cut(void **state)
{
	(void)state;
	struct world w = {0};
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	atomic_bool cancel = true;
	struct query_word word = {.term = STR("*a*"), .form = STR("*a*"), .pattern = true};
	struct query_node node = {.op = QUERY_WORD, .word = &word, .words = 1};
	struct query q = {.root = &node, .limit = 10, .cancel = &cancel};
	struct hits hits;
	struct err err;
	seed = 5;
	open_world(&w, "cancel", "", 2000, 1);
	assert_int_equal(0, words_query(w.reader, &q, &arena, &hits, &err));
	assert_true(hits.cut && hits.n == 0);
	cancel = false;
	assert_int_equal(0, words_query(w.reader, &q, &arena, &hits, &err));
	assert_true(!hits.cut && hits.total > 1000 && hits.n == 10);
	arena_free(&arena);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_tree_is_answered_as_by_plain_code),
		cmocka_unit_test(stems_are_not_what_patterns_mean),
		cmocka_unit_test(many_documents),
		cmocka_unit_test(a_phrase_of_many_patterns),
		cmocka_unit_test(best_takes_the_least_errors_that_find_one),
		cmocka_unit_test(explanations_tell_words_and_errors),
		cmocka_unit_test(a_cancelled_query_is_cut),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
