/* Suggestions for what is being typed. The dictionaries of all segments are walked side by side
 * from the typed beginning on, so that a word is met in all of them at once and its documents add
 * up; only the best are kept. Titles are answers to a query: all words in the title, the last one
 * as a beginning. */
#include "base/clock.h"
#include "base/heap.h"
#include "index/terms.h"
#include "index/words/token_inner.h"

#include <stdlib.h>

enum {
	WORDS_MOST = 100,   /* that can be asked for, and titles */
	SPARE = 8,          /* words more than asked for, in case some are of deleted documents */
	TERMS_A_LOOK = 256, /* between two looks at the clock */
	TITLE_BYTES = 200,  /* of a title that are told */
	HITS_A_TITLE = 3,   /* documents that are looked at for each, since titles repeat */
	STEMS_MOST = 65536, /* terms of a segment whose forms are looked at */
};

struct typed {
	struct str before; /* what stands before the last word, as it was typed */
	struct str term[QUERY_PHRASE_MOST];
	uint32_t n;      /* complete words, without the last if that one is being typed */
	struct str last; /* folded; empty: a blank follows the last word */
	char folded[TOKEN_TERM_MOST];
};

/* Folded, but not reduced to a stem. */
static struct str fold_last(const struct token_rules *rules, struct str form,
			    char to[TOKEN_TERM_MOST])
{
	bool ascii = true;
	for (size_t i = 0; i < form.n; i++)
		ascii &= token_ascii((unsigned char)form.p[i]);
	if (!ascii)
		return (struct str){to, token_fold(rules, form, to)};
	form = str_head(form, TOKEN_TERM_MOST);
	for (size_t i = 0; i < form.n; i++)
		to[i] = (char)(form.p[i] | 0x20);
	return (struct str){to, form.n};
}

static void read_typed(const struct words_suggest_spec *spec, struct arena *arena,
		       struct typed *ret)
{
	struct tokens it;
	struct token token, last = {0};
	*ret = (struct typed){.before = spec->prefix};
	tokens_init(&it, spec->rules, spec->prefix, 0);
	while (ret->n < QUERY_PHRASE_MOST && tokens_next(&it, &token) == 0) {
		ret->term[ret->n++] = arena_str(arena, token.term);
		last = token;
	}
	if (ret->n == 0 || last.form.p + last.form.n != spec->prefix.p + spec->prefix.n)
		return;
	ret->n--;
	ret->before = str_range(spec->prefix.p, last.form.p);
	ret->last = fold_last(spec->rules, last.form, ret->folded);
}

/* Words */

struct word {
	struct str term;
	uint64_t df;
};

static int word_order(const struct word *a, const struct word *b)
{
	if (a->df != b->df)
		return a->df > b->df ? -1 : 1;
	return str_cmp(a->term, b->term);
}

static int word_order_any(const void *a, const void *b)
{
	return word_order(a, b);
}

/* The worst is on top. */
static bool word_is_worse(const struct word *a, const struct word *b)
{
	return word_order(a, b) > 0;
}
HEAP(word_heap, struct word, word_is_worse, HEAP_STAY)

static bool walk_is_before(struct segment_walk *const *a, struct segment_walk *const *b)
{
	return str_cmp((*a)->term, (*b)->term) < 0;
}
HEAP(walk_heap, struct segment_walk *, walk_is_before, HEAP_STAY)

struct suggesting {
	const struct words_suggest_spec *spec;
	const struct words_part *part;
	size_t parts;
	struct arena *arena, *scratch;
	struct err *err;
	int64_t deadline_us; /* 0: none */
	bool stemmed;
	struct word_heap best;
	size_t keep;
};

static bool suggesting_is_late(void *ctx)
{
	const struct suggesting *s = ctx;
	return s->deadline_us && clock_mono_us() >= s->deadline_us;
}

/* Copies the term only if the word is kept. */
static void keep_word(struct suggesting *s, struct str term, uint64_t df)
{
	struct word word = {term, df};
	bool full = word_heap_count(&s->best) == s->keep;
	if (full && !word_is_worse(word_heap_top(&s->best), &word))
		return;
	word.term = arena_str(s->scratch, term);
	if (full) {
		*word_heap_top(&s->best) = word;
		word_heap_fix(&s->best, 0);
	} else {
		word_heap_push(&s->best, word);
	}
}

/* Takes a walk to its next term, and out of the heap where the beginning is left. */
static int step_walk(struct walk_heap *walks, struct str prefix, struct err *err)
{
	struct segment_walk *w = *walk_heap_top(walks), *done;
	int rc = segment_walk_next(w, err);
	if (rc < 0)
		return -1;
	if (rc == 0 && str_starts(w->term, prefix))
		walk_heap_fix(walks, 0);
	else
		(void)walk_heap_pop(walks, &done);
	return 0;
}

static int merge_walks(struct suggesting *s, struct walk_heap *walks, struct str prefix)
{
	char text[sizeof((struct segment_walk){0}).text];
	for (uint32_t n = 1; walk_heap_count(walks); n++) {
		struct str term = (*walk_heap_top(walks))->term;
		uint64_t df = 0;
		memcpy(text, term.p, term.n);
		term.p = text;
		while (walk_heap_count(walks) && str_eq((*walk_heap_top(walks))->term, term)) {
			df += (*walk_heap_top(walks))->info.df;
			if (step_walk(walks, prefix, s->err) < 0)
				return -1;
		}
		keep_word(s, term, df);
		if (n % TERMS_A_LOOK == 0 && suggesting_is_late(s))
			break;
	}
	return 0;
}

/* Words whose term begins so. */
static int walk_terms(struct suggesting *s, struct str prefix)
{
	struct walk_heap walks = {0};
	int rc = 0;
	for (size_t i = 0; i < s->parts && rc >= 0; i++) {
		struct segment_walk *w = arena_alloc(s->scratch, sizeof *w);
		rc = segment_walk(s->part[i].segment, SEGMENT_COMBINED, prefix, w, s->err);
		if (rc == 0)
			rc = segment_walk_next(w, s->err);
		if (rc == 0 && str_starts(w->term, prefix))
			walk_heap_push(&walks, w);
	}
	if (rc >= 0)
		rc = merge_walks(s, &walks, prefix);
	walk_heap_free(&walks);
	return rc < 0 ? -1 : 0;
}

/* Stems are not words to show: forms are. One form of a term that begins so stands for all; it has
 * the documents of its term. */

/* The first form of a term that is meant, folded. 1: its forms are among the first three, which
 * are the term. */
static int first_form(struct suggesting *s, struct segment *segment,
		      const struct terms_found *found, struct str *ret)
{
	struct segment_forms forms;
	struct str form;
	char folded[TOKEN_TERM_MOST];
	int rc = segment_forms(segment, &found->info, &forms, s->err);
	for (uint32_t i = SEGMENT_FORM_OWN; rc == 0 && (!found->forms || i < found->nforms); i++) {
		rc = segment_forms_next(&forms, &form, s->err);
		if (rc == 0 && (!found->forms || words_bit(found->forms, i))) {
			*ret = arena_str(s->scratch, fold_last(s->spec->rules, form, folded));
			return 0;
		}
	}
	return rc < 0 ? -1 : 1;
}

static int by_term(const void *va, const void *vb)
{
	const struct word *a = va, *b = vb;
	return str_cmp(a->term, b->term);
}

static int find_forms(struct suggesting *s, struct str prefix)
{
	struct str pattern = {arena_printf(s->scratch, STR_FMT "*", STR_ARG(prefix)), prefix.n + 1};
	const struct terms_want want = {
		.kind = TERMS_PATTERN, .word = pattern, .stemmed = true, .rules = s->spec->rules};
	struct word *all = NULL;
	size_t n = 0, room = 0;
	for (size_t i = 0; i < s->parts; i++) {
		struct terms_found *found;
		size_t count;
		bool cut;
		if (terms_find(s->part[i].segment, SEGMENT_COMBINED, &want, s->scratch, STEMS_MOST,
			       suggesting_is_late, s, &found, &count, &cut, s->err) < 0)
			return -1;
		for (size_t k = 0; k < count; k++) {
			struct word word = {found[k].term, found[k].info.df};
			if (first_form(s, s->part[i].segment, &found[k], &word.term) < 0)
				return -1;
			*ARENA_PUSH(s->scratch, all, n, room) = word;
		}
	}
	if (n)
		qsort(all, n, sizeof *all, by_term);
	for (size_t i = 0, from; i < n; i++) {
		uint64_t df = all[i].df;
		for (from = i; i + 1 < n && str_eq(all[i + 1].term, all[from].term); i++)
			df += all[i + 1].df;
		keep_word(s, all[from].term, df);
	}
	return 0;
}

/* Whether a document that was not deleted has the word. */
static int has_live_doc(struct suggesting *s, const struct words_part *part, struct str term,
			bool *ret)
{
	struct segment_term info;
	struct postings p = {0};
	uint32_t doc[SEGMENT_BLOCK];
	int rc = segment_term(part->segment, SEGMENT_COMBINED, term, &info, s->err);
	if (rc != 0 || !part->deleted) {
		*ret |= rc == 0;
		return rc < 0 ? -1 : 0;
	}
	rc = postings_open(part->segment, &info, &p, s->err);
	for (uint32_t block = 0; rc == 0 && !*ret && block < p.blocks; block++) {
		rc = postings_docs(&p, block, doc, s->err);
		for (uint32_t i = 0; rc == 0 && i < postings_in_block(&p, block); i++)
			*ret |= !words_deleted(part, doc[i]);
	}
	postings_close(&p);
	return rc;
}

static int word_is_live(struct suggesting *s, struct str term, bool *ret)
{
	*ret = s->stemmed; /* one of many forms: it would not be found by this text */
	for (size_t i = 0; i < s->parts && !*ret; i++)
		if (has_live_doc(s, &s->part[i], term, ret) < 0)
			return -1;
	return 0;
}

static int tell_words(struct suggesting *s, struct str before, struct words_suggestion *ret,
		      size_t *ret_n)
{
	size_t n = word_heap_count(&s->best);
	bool live;
	if (n)
		qsort(s->best.e, n, sizeof *s->best.e, word_order_any);
	for (size_t i = 0; i < n && *ret_n < s->spec->words; i++) {
		const struct word *word = &s->best.e[i];
		if (word_is_live(s, word->term, &live) < 0)
			return -1;
		if (!live)
			continue;
		struct str text = {arena_printf(s->arena, STR_FMT STR_FMT, STR_ARG(before),
						STR_ARG(word->term)),
				   before.n + word->term.n};
		ret[(*ret_n)++] = (struct words_suggestion){text, word->df};
	}
	return 0;
}

/* Titles */

static struct query_node *title_node(struct arena *arena, struct str term, bool pattern)
{
	struct query_node *node = arena_alloc(arena, sizeof *node);
	node->op = QUERY_WORD;
	node->attribute = STR("title");
	node->word = arena_alloc(arena, sizeof *node->word);
	node->word[0] =
		(struct query_word){.term = term, .folded = term, .form = term, .pattern = pattern};
	node->words = 1;
	return node;
}

static struct query_node *title_query(struct arena *arena, const struct typed *typed)
{
	struct query_node *all = arena_alloc(arena, sizeof *all);
	all->op = QUERY_AND;
	all->kid = arena_array(arena, typed->n + 1, sizeof(void *));
	for (uint32_t i = 0; i < typed->n; i++)
		all->kid[all->kids++] = title_node(arena, typed->term[i], false);
	if (typed->last.n) {
		struct str term = {arena_printf(arena, STR_FMT "*", STR_ARG(typed->last)),
				   typed->last.n + 1};
		all->kid[all->kids++] = title_node(arena, term, true);
	}
	return all->kids > 1 ? all : all->kids ? all->kid[0] : NULL;
}

/* On one line, with single blanks, and not too long. */
static struct str tidy_title(struct arena *arena, struct str title)
{
	char *out = arena_alloc(arena, title.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < title.n; i++) {
		unsigned char c = (unsigned char)title.p[i];
		if (c > ' ' && c != 0x7f)
			out[n++] = (char)c;
		else if (n && out[n - 1] != ' ')
			out[n++] = ' ';
	}
	return str_trim(str_utf8_head((struct str){out, n}, TITLE_BYTES));
}

static int tell_title(struct suggesting *s, uint64_t oid, size_t first,
		      struct words_suggestion *ret, size_t *ret_n)
{
	struct arena_mark mark = arena_mark(s->scratch);
	struct soif doc;
	int rc = s->spec->text(s->spec->text_ctx, oid, s->scratch, &doc, s->err);
	if (rc == 0) {
		struct str title = tidy_title(s->scratch, soif_get(&doc, STR("Title")));
		bool known = title.n == 0;
		for (size_t i = first; i < *ret_n; i++)
			known |= str_eq_nocase(ret[i].text, title);
		if (!known)
			ret[(*ret_n)++] = (struct words_suggestion){arena_str(s->arena, title), 0};
	}
	arena_reset(s->scratch, mark);
	return rc < 0 ? -1 : 0;
}

static int tell_titles(struct suggesting *s, struct words_reader *r, const struct typed *typed,
		       struct words_suggestion *ret, size_t *ret_n)
{
	size_t first = *ret_n, most = *ret_n + s->spec->titles;
	struct query q = {.root = title_query(s->scratch, typed),
			  .rules = s->spec->rules,
			  .limit = s->spec->titles * HITS_A_TITLE};
	struct hits hits;
	if (!q.root || !s->spec->text || !s->spec->titles || suggesting_is_late(s))
		return 0;
	if (s->deadline_us)
		q.budget_us = MAX(s->deadline_us - clock_mono_us(), 1);
	if (words_query(r, &q, s->scratch, &hits, s->err) < 0)
		return -1;
	for (size_t i = 0; i < hits.n && *ret_n < most && !suggesting_is_late(s); i++)
		if (tell_title(s, hits.hit[i].oid, first, ret, ret_n) < 0)
			return -1;
	return 0;
}

int words_suggest(struct words_reader *r, const struct words_suggest_spec *asked,
		  struct arena *arena, struct words_suggestion **ret, size_t *ret_n,
		  struct err *err)
{
	CLEANUP(arena_free) struct arena scratch = ARENA_INIT(SIZE_MAX);
	struct words_suggest_spec spec = *asked;
	struct typed typed;
	size_t n = 0;
	int rc = 0;
	spec.words = MIN(spec.words, WORDS_MOST);
	spec.titles = MIN(spec.titles, WORDS_MOST);
	struct suggesting s = {
		.spec = &spec,
		.arena = arena,
		.scratch = &scratch,
		.err = err,
		.deadline_us = spec.budget_us ? clock_mono_us() + spec.budget_us : 0,
		.stemmed = words_settings(r)->language[0],
		.keep = spec.words + SPARE,
	};
	struct words_suggestion *all =
		arena_array(arena, spec.words + spec.titles + 1, sizeof *all);
	s.part = words_parts(r, &s.parts);
	read_typed(&spec, &scratch, &typed);
	if (typed.last.n && spec.words)
		rc = s.stemmed ? find_forms(&s, typed.last) : walk_terms(&s, typed.last);
	if (rc == 0)
		rc = tell_words(&s, typed.before, all, &n);
	for (size_t i = 0; i < s.parts && rc == 0; i++)
		rc = segment_check(s.part[i].segment, err);
	if (rc == 0)
		rc = tell_titles(&s, r, &typed, all, &n);
	word_heap_free(&s.best);
	if (rc == 0) {
		*ret = all;
		*ret_n = n;
	}
	return rc;
}
