/* What was perhaps meant: neighbours of words that hardly any document has. The tree of the query
 * is copied, the neighbours are put in its place, and what then finds something is told as text.
 *
 * For each word the nearest neighbour is tried first, of equally near ones the one that most
 * documents have; words that are rare themselves come last, because they are often the same typing
 * mistake made by another. Not all combinations are tried: when the first choices together find
 * nothing, one word at a time takes its next one. */
#include "index/suggest.h"

#include "base/ascii.h"
#include "base/clock.h"

#include <stdlib.h>

enum {
	RARE_MOST = 8,         /* words of a query that are looked after */
	CHOICES_MOST = 6,      /* neighbours of a word that are tried */
	TRIES_MOST = 16,       /* queries that are run for it */
	TIMES_MORE = 10,       /* documents that a neighbour has for each of the word's own */
	NEIGHBOURS_MOST = 4096 /* of a word, in a segment */
};

bool suggest_neighbours(struct str term, struct terms_want *ret)
{
	size_t letters = str_utf8_count(term);
	if (letters < 2 || letters > ERRORS_CHARS_MOST)
		return false;
	*ret = (struct terms_want){
		.kind = TERMS_ERRORS,
		.word = term,
		.k = letters >= SUGGEST_LONG ? 2 : 1,
		.swaps = true,
	};
	return true;
}

/* The number of the list of an attribute. 1: no document of the segment has it. */
static int list_number(struct segment *s, struct str attribute, unsigned *ret)
{
	int attr = attribute.n ? segment_attr(s, attribute) : SEGMENT_COMBINED;
	if (attr < 0)
		return 1;
	*ret = (unsigned)attr;
	return 0;
}

static int count_docs(const struct words_part *part, size_t parts, struct str attribute,
		      struct str term, uint64_t *ret_df, uint64_t *ret_docs, struct err *err)
{
	struct segment_term info;
	unsigned list;
	*ret_df = *ret_docs = 0;
	for (size_t i = 0; i < parts; i++) {
		*ret_docs += part[i].docs;
		if (list_number(part[i].segment, attribute, &list) != 0)
			continue;
		int rc = segment_term(part[i].segment, list, term, &info, err);
		if (rc < 0)
			return -1;
		*ret_df += rc == 0 ? info.df : 0;
	}
	return 0;
}

int suggest_forgives(const struct words_part *part, size_t parts, struct str attribute,
		     struct str term, struct terms_want *ret, struct err *err)
{
	uint64_t df, docs;
	if (count_docs(part, parts, attribute, term, &df, &docs, err) < 0)
		return -1;
	return suggest_is_rare(df, docs) && suggest_neighbours(term, ret) ? 0 : 1;
}

/* Neighbours of a word */

struct neighbour {
	struct str term;
	uint64_t df;
	uint32_t errors;
	bool rare;
};

/* A word that is to be replaced, in the copy of the tree. */
struct doubtful {
	struct query_word *word;
	struct neighbour choice[CHOICES_MOST];
	uint32_t choices;
};

struct meant {
	struct words_reader *reader;
	const struct words_part *part;
	size_t parts;
	const struct token_rules *rules;
	const struct query *query;
	struct arena *arena;
	struct err *err;
	int64_t deadline_us; /* 0: none */
	struct doubtful word[RARE_MOST];
	uint32_t words;
};

static bool meant_is_late(void *ctx)
{
	const struct meant *m = ctx;
	const atomic_bool *cancel = m->query->cancel;
	return (m->deadline_us && clock_mono_us() >= m->deadline_us) ||
	       (cancel && atomic_load_explicit(cancel, memory_order_relaxed));
}

static int order_by_term(const void *va, const void *vb)
{
	const struct neighbour *a = va, *b = vb;
	return str_cmp(a->term, b->term);
}

static int order_by_worth(const void *va, const void *vb)
{
	const struct neighbour *a = va, *b = vb;
	if (a->rare != b->rare)
		return a->rare - b->rare;
	if (a->errors != b->errors)
		return a->errors < b->errors ? -1 : 1;
	if (a->df != b->df)
		return a->df > b->df ? -1 : 1;
	return str_cmp(a->term, b->term);
}

/* Of all segments, each once, with all its documents. */
static int gather_neighbours(struct meant *m, struct str attribute, const struct terms_want *want,
			     struct neighbour **ret, size_t *ret_n)
{
	size_t n = 0, room = 0, kept = 0;
	struct neighbour *all = NULL;
	for (size_t i = 0; i < m->parts; i++) {
		struct segment *s = m->part[i].segment;
		struct terms_found *found;
		size_t count;
		unsigned list;
		bool cut;
		if (list_number(s, attribute, &list) != 0)
			continue;
		if (terms_find(s, list, want, m->arena, NEIGHBOURS_MOST, meant_is_late, m, &found,
			       &count, &cut, m->err) < 0)
			return -1;
		for (size_t k = 0; k < count; k++)
			*ARENA_PUSH(m->arena, all, n, room) = (struct neighbour){
				found[k].term, found[k].info.df, found[k].errors, false};
	}
	if (n)
		qsort(all, n, sizeof *all, order_by_term);
	for (size_t i = 0; i < n; i++)
		if (kept && str_eq(all[kept - 1].term, all[i].term))
			all[kept - 1].df += all[i].df;
		else
			all[kept++] = all[i];
	*ret = all;
	*ret_n = kept;
	return 0;
}

/* Fills in what may stand for a word that `df` of all documents have. */
static int find_choices(struct meant *m, struct str attribute, const struct terms_want *want,
			uint64_t df, uint64_t docs, struct doubtful *ret)
{
	struct neighbour *all;
	size_t n, kept = 0;
	if (gather_neighbours(m, attribute, want, &all, &n) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (all[i].errors == 0 || all[i].df < MAX(df * TIMES_MORE, 1))
			continue;
		all[i].rare = suggest_is_rare(all[i].df, docs);
		all[kept++] = all[i];
	}
	if (kept)
		qsort(all, kept, sizeof *all, order_by_worth);
	ret->choices = (uint32_t)MIN(kept, CHOICES_MOST);
	if (ret->choices)
		memcpy(ret->choice, all, ret->choices * sizeof *all);
	return 0;
}

/* Whether a word that may be a part of others, or have errors, finds one. 1: it does not. */
static int finds_others(struct meant *m, const struct query_node *node, uint32_t number)
{
	bool stemmed = words_settings(m->reader)->language[0] != 0;
	struct terms_want want;
	if (!terms_want_of(node, number, stemmed, m->rules, &want))
		return 1;
	for (size_t i = 0; i < m->parts; i++) {
		struct terms_found *found;
		size_t n = 0;
		unsigned list;
		bool cut;
		if (list_number(m->part[i].segment, node->attribute, &list) != 0)
			continue;
		if (terms_find(m->part[i].segment, list, &want, m->arena, 1, meant_is_late, m,
			       &found, &n, &cut, m->err) < 0)
			return -1;
		if (n)
			return 0;
	}
	return 1;
}

/* A word of `node`; `word` is its copy, which may be replaced. */
static int doubt_word(struct meant *m, const struct query_node *node, uint32_t number,
		      struct query_word *word)
{
	struct str attribute = node->attribute;
	struct doubtful *d = &m->word[m->words];
	struct terms_want want;
	uint64_t df, docs;
	if (word->pattern || m->words == RARE_MOST || meant_is_late(m))
		return 0;
	if (count_docs(m->part, m->parts, attribute, word->term, &df, &docs, m->err) < 0)
		return -1;
	if (!suggest_is_rare(df, docs) || !suggest_neighbours(word->term, &want))
		return 0;
	int rc = finds_others(m, node, number);
	if (rc != 1)
		return rc;
	*d = (struct doubtful){.word = word};
	if (find_choices(m, attribute, &want, df, docs, d) < 0)
		return -1;
	m->words += d->choices > 0;
	return 0;
}

/* The tree again, with words that can be replaced; what is doubtful in it is looked for on the way.
 * Words below a NOT are not: nobody expects them to be found. */

static bool node_is_plain(const struct meant *m, const struct query_node *node)
{
	return (node->op == QUERY_WORD || node->op == QUERY_PHRASE || node->op == QUERY_NEAR) &&
	       !node->exact && !node->filter &&
	       (node->errors == 0 || (node->errors > 0 && node->plain)) &&
	       (!node->attribute.n || words_column(words_settings(m->reader), node->attribute) < 0);
}

static int copy_node(struct meant *m, const struct query_node *node, bool below_not,
		     struct query_node **ret)
{
	struct query_node *copy = arena_alloc(m->arena, sizeof *copy);
	*copy = *node;
	copy->forgive = false;
	if (node->words) {
		copy->word = arena_array(m->arena, node->words, sizeof *copy->word);
		memcpy(copy->word, node->word, node->words * sizeof *copy->word);
	}
	uint32_t known = m->words;
	if (!below_not && node_is_plain(m, node))
		for (uint32_t i = 0; i < node->words; i++)
			if (doubt_word(m, node, i, &copy->word[i]) < 0)
				return -1;
	if (m->words > known)
		copy->value = (struct query_value){0}; /* its text was that of the words */
	if (node->kids)
		copy->kid = arena_array(m->arena, node->kids, sizeof(void *));
	for (uint32_t i = 0; i < node->kids; i++)
		if (copy_node(m, node->kid[i], below_not || node->op == QUERY_NOT, &copy->kid[i]) <
		    0)
			return -1;
	*ret = copy;
	return 0;
}

/* A stem is not a word to show. The form of its first occurrence is one, if it is found by the
 * stem; of forms 0 to 2 the letters are those of the term. */
static int written_form(struct meant *m, const struct words_part *part,
			const struct segment_term *info, struct str *ret)
{
	struct postings p;
	struct segment_forms forms;
	struct tokens it;
	struct token token;
	struct str form;
	const uint32_t *number;
	uint32_t n;
	int rc = postings_open(part->segment, info, &p, m->err);
	if (rc == 0)
		rc = postings_forms(&p, 0, 0, &number, &n, m->err);
	uint32_t left = rc == 0 && n && number[0] >= SEGMENT_FORM_OWN
				? number[0] - SEGMENT_FORM_OWN + 1
				: 0;
	postings_close(&p);
	if (rc < 0 || left == 0)
		return rc < 0 ? -1 : 1;
	rc = segment_forms(part->segment, info, &forms, m->err);
	for (; left && rc == 0; left--)
		rc = segment_forms_next(&forms, &form, m->err);
	if (rc != 0)
		return rc;
	tokens_init(&it, m->rules, form, 0);
	if (tokens_next(&it, &token) != 0 || !str_eq(token.term, *ret) || token.form.n != form.n)
		return 1;
	*ret = arena_str(m->arena, form);
	return 0;
}

/* The term as a word that people write. */
static int word_to_show(struct meant *m, struct str *term)
{
	struct segment_term info;
	int rc = 1;
	if (!words_settings(m->reader)->language[0])
		return 0;
	for (size_t i = 0; i < m->parts && rc == 1; i++) {
		rc = segment_term(m->part[i].segment, SEGMENT_COMBINED, *term, &info, m->err);
		if (rc == 0)
			rc = written_form(m, &m->part[i], &info, term);
	}
	return rc < 0 ? -1 : 0;
}

/* Trying */

static int try_choices(struct meant *m, const struct query_node *root, const uint32_t *chosen)
{
	struct query q = {.root = (struct query_node *)root,
			  .rules = m->rules,
			  .order = QUERY_ANYHOW,
			  .limit = 1,
			  .cancel = m->query->cancel,
			  .text = m->query->text,
			  .text_ctx = m->query->text_ctx};
	struct hits hits;
	for (uint32_t i = 0; i < m->words; i++) {
		struct str term = m->word[i].choice[chosen[i]].term;
		*m->word[i].word = (struct query_word){.term = term, .folded = term, .form = term};
	}
	if (m->deadline_us && (q.budget_us = m->deadline_us - clock_mono_us()) <= 0)
		return 1;
	if (words_query(m->reader, &q, m->arena, &hits, m->err) < 0)
		return -1;
	return hits.n ? 0 : 1;
}

/* 0: the copy finds something as it is now. */
static int find_meant(struct meant *m, const struct query_node *root)
{
	uint32_t chosen[RARE_MOST] = {0}, tries = 1;
	int rc = try_choices(m, root, chosen);
	for (uint32_t next = 1; next < CHOICES_MOST && rc == 1; next++)
		for (uint32_t i = 0; i < m->words && rc == 1; i++) {
			if (next >= m->word[i].choices)
				continue;
			if (tries++ == TRIES_MOST || meant_is_late(m))
				return 1;
			chosen[i] = next;
			rc = try_choices(m, root, chosen);
			chosen[i] = 0;
		}
	return rc;
}

/* Text for people, which is also a query: brackets and quotation marks only where they are needed.
 * What a program added (filters) is left out; it adds it again. */

static bool is_bare(const struct query_node *node)
{
	static const char *const keywords[] = {"and", "or", "not"};
	struct str form = node->word[0].form;
	if (node->op != QUERY_WORD || node->exact || !node->plain)
		return false;
	if (STR_AMONG_NOCASE(form, keywords))
		return false;
	for (size_t i = 0; i < form.n; i++)
		if ((unsigned char)form.p[i] < 0x80 && !ascii_is_letter(form.p[i]) &&
		    !ascii_is_digit(form.p[i]))
			return false;
	return true;
}

static void print_meant(const struct query_node *node, bool inner, struct buf *out);

static void print_kids(const struct query_node *node, bool inner, struct buf *out)
{
	uint32_t shown = 0, n = 0;
	for (uint32_t i = 0; i < node->kids; i++)
		shown += !node->kid[i]->filter;
	inner &= shown > 1;
	buf_add_text(out, inner ? "(" : "");
	for (uint32_t i = 0; i < node->kids; i++) {
		const struct query_node *kid = node->kid[i];
		if (kid->filter)
			continue;
		if (n++)
			buf_add_text(out, node->op == QUERY_AND ? " " : " OR ");
		print_meant(kid, shown > 1 && kid->op != node->op, out);
	}
	buf_add_text(out, inner ? ")" : "");
}

static void print_meant(const struct query_node *node, bool inner, struct buf *out)
{
	if (node->op == QUERY_AND || node->op == QUERY_OR) {
		print_kids(node, inner, out);
	} else if (node->op == QUERY_NOT) {
		buf_add_text(out, "NOT ");
		print_meant(node->kid[0], true, out);
	} else if (node->words && is_bare(node)) {
		if (node->attribute.n)
			buf_printf(out, STR_FMT " : ", STR_ARG(node->attribute));
		buf_add_str(out, node->word[0].form);
	} else {
		query_print(node, out);
	}
}

int words_did_you_mean(struct words_reader *r, const struct query *query,
		       const struct token_rules *rules, struct arena *arena, struct str *ret,
		       struct err *err)
{
	CLEANUP(arena_free) struct arena scratch = ARENA_INIT(SIZE_MAX);
	struct meant m = {.reader = r,
			  .rules = rules,
			  .query = query,
			  .arena = &scratch,
			  .err = err,
			  .deadline_us = query->budget_us ? clock_mono_us() + query->budget_us : 0};
	struct query_node *root;
	m.part = words_parts(r, &m.parts);
	if (copy_node(&m, query->root, false, &root) < 0)
		return -1;
	if (m.words == 0)
		return 1;
	int rc = find_meant(&m, root);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < m.words; i++)
		if (word_to_show(&m, &m.word[i].word->form) < 0)
			return -1;
	CLEANUP(buf_free) struct buf text = BUF_INIT(4 * (size_t)QUERY_TEXT_MOST);
	print_meant(root, false, &text);
	*ret = arena_str(arena, buf_str(&text));
	return 0;
}
