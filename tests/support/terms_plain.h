/* Which terms are meant, found by code that is as simple as can be: every term of the dictionary,
 * every form of it, tables of all beginnings. terms_check() compares that with what is found. */
#pragma once
#include "form_text.h"
#include "index/terms.h"

enum { PLAIN_CHARS = 2 * TOKEN_FORM_MOST };

struct plain_text {
	struct str c[PLAIN_CHARS];
	unsigned n;
};

static inline struct plain_text plain_chars(struct str s, unsigned most)
{
	struct plain_text t = {.n = 0};
	while (s.n && t.n < most) {
		size_t n = MAX(str_utf8_char(s), (size_t)1);
		t.c[t.n++] = str_head(s, n);
		s = str_from(s, n);
	}
	return t;
}

static inline unsigned plain_errors(struct str word, struct str text, bool left, bool right,
				    bool swaps)
{
	static unsigned d[PLAIN_CHARS + 1][PLAIN_CHARS + 1];
	struct plain_text w = plain_chars(word, ERRORS_CHARS_MOST);
	struct plain_text t = plain_chars(text, ERRORS_CHARS_MOST);
	unsigned best = UINT32_MAX;
	for (unsigned i = 0; i <= w.n; i++)
		for (unsigned j = 0; j <= t.n; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = i == 0 ? left ? 0 : j : i;
				continue;
			}
			unsigned v = d[i - 1][j - 1] + !str_eq(w.c[i - 1], t.c[j - 1]);
			v = MIN(v, d[i - 1][j] + 1);
			v = MIN(v, d[i][j - 1] + 1);
			if (swaps && i > 1 && j > 1 && str_eq(w.c[i - 1], t.c[j - 2]) &&
			    str_eq(w.c[i - 2], t.c[j - 1]))
				v = MIN(v, d[i - 2][j - 2] + 1);
			d[i][j] = v;
		}
	for (unsigned j = right ? 0 : t.n; j <= t.n; j++)
		best = MIN(best, d[w.n][j]);
	return best;
}

static inline bool plain_glob(struct str pattern, struct str text)
{
	static bool is[PLAIN_CHARS + 1][PLAIN_CHARS + 1];
	struct plain_text p = plain_chars(pattern, PLAIN_CHARS), t = plain_chars(text, PLAIN_CHARS);
	for (unsigned i = 0; i <= p.n; i++)
		for (unsigned j = 0; j <= t.n; j++) {
			bool star = i > 0 && str_is(p.c[i - 1], "*");
			bool one = i > 0 && j > 0 &&
				   (str_is(p.c[i - 1], "?") || str_eq(p.c[i - 1], t.c[j - 1]));
			is[i][j] = (i == 0 && j == 0) || (star && is[i - 1][j]) ||
				   (star && j > 0 && is[i][j - 1]) ||
				   (!star && one && is[i - 1][j - 1]);
		}
	return is[p.n][t.n];
}

static inline bool plain_part(const struct terms_want *want, struct str text)
{
	for (size_t at = 0; at + want->word.n <= text.n; at++) {
		bool left = at == 0 || want->open_left;
		bool right = at + want->word.n == text.n || want->open_right;
		if (left && right && str_eq(str_head(str_from(text, at), want->word.n), want->word))
			return true;
	}
	return false;
}

static inline bool plain_is(const struct terms_want *want, struct str text, unsigned *ret_errors)
{
	*ret_errors = 0;
	if (want->kind == TERMS_WORD)
		return plain_part(want, text);
	if (want->kind == TERMS_PATTERN)
		return plain_glob(want->word, text);
	if (want->kind == TERMS_MATCH) {
		struct rx_run *run = rx_run_new(want->rx);
		bool is = rx_matches(run, text);
		rx_run_free(&run);
		return is;
	}
	*ret_errors =
		plain_errors(want->word, text, want->open_left, want->open_right, want->swaps);
	return *ret_errors <= want->k;
}

static inline void plain_fail(const struct terms_want *want, struct str term, const char *what)
{
	die("kind %d '" STR_FMT "' k %u open %d %d exact %d stemmed %d swaps %d, term '" STR_FMT
	    "': %s",
	    want->kind, STR_ARG(want->word), want->k, want->open_left, want->open_right,
	    want->exact, want->stemmed, want->swaps, STR_ARG(term), what);
}

/* Which forms of a term occur, a bit for each of the first 64. */
static inline uint64_t plain_used(struct segment *s, const struct segment_term *info)
{
	struct postings p;
	struct err err;
	uint64_t used = 0;
	ENSURE(postings_open(s, info, &p, &err) == 0);
	for (uint32_t block = 0; block < p.blocks; block++)
		for (uint32_t i = 0; i < postings_in_block(&p, block); i++) {
			const uint32_t *form;
			uint32_t n;
			ENSURE(postings_forms(&p, block, i, &form, &n, &err) == 0);
			for (uint32_t k = 0; k < n; k++)
				used |= form[k] < 64 ? UINT64_C(1) << form[k] : 0;
		}
	postings_close(&p);
	return used;
}

/* The text that counts of a form. */
static inline struct str plain_compared(const struct terms_want *want, struct str form,
					const struct token_rules *unstemmed, struct tokens *tokens)
{
	struct token token = {.term = STR("")};
	if (want->exact)
		return form;
	tokens_init(tokens, unstemmed, form, 0);
	(void)tokens_next(tokens, &token);
	return token.term;
}

/* Forms decide: each that occurs is among those found just if it is meant. */
static inline bool plain_check_forms(struct segment *s, const struct terms_want *want,
				     struct str term, const struct terms_found *found,
				     const struct token_rules *unstemmed)
{
	struct segment_term info;
	struct err err;
	struct buf form = BUF_INIT(TOKEN_FORM_MOST);
	struct tokens tokens;
	unsigned errors, least = UINT32_MAX, least_used = UINT32_MAX;
	ENSURE(segment_term(s, SEGMENT_COMBINED, term, &info, &err) == 0);
	uint64_t used = plain_used(s, &info);
	for (uint32_t i = 0; i < 64; i++) {
		buf_clear(&form);
		if (form_text(s, &info, term, i, &form, &err) != 0)
			break;
		bool is = plain_is(want, plain_compared(want, buf_str(&form), unstemmed, &tokens),
				   &errors);
		least = is ? MIN(least, errors) : least;
		if (!(used >> i & 1))
			continue;
		least_used = is ? MIN(least_used, errors) : least_used;
		if (is && !found)
			plain_fail(want, term, "is not found");
		bool told = found && (!found->forms ||
				      (i < found->nforms && found->forms[i / 64] >> i % 64 & 1));
		if (found && told != is)
			plain_fail(want, term, "wrong forms");
		struct token token = {.term = term, .form = buf_str(&form)};
		uint32_t means_errors = 0;
		if (terms_means(want, &token, &means_errors) != is ||
		    (is && means_errors != errors))
			plain_fail(want, buf_str(&form), "is told otherwise");
	}
	if (found && (found->errors > least_used || found->errors < least))
		plain_fail(want, term, "wrong errors");
	buf_free(&form);
	return found != NULL;
}

static inline bool plain_check_term(const struct terms_want *want, struct str term,
				    const struct terms_found *found)
{
	unsigned errors;
	uint32_t means_errors = 0;
	bool is = plain_is(want, term, &errors);
	if (is != (found != NULL))
		plain_fail(want, term, is ? "is not found" : "is found");
	if (is && (found->errors != errors || found->forms))
		plain_fail(want, term, "wrong errors or forms");
	struct token token = {.term = term, .form = term};
	if (terms_means(want, &token, &means_errors) != is || (is && means_errors != errors))
		plain_fail(want, term, "is told otherwise");
	return is;
}

/* Dies where terms_find() and terms_means() differ from the above. How many were found. */
static inline size_t terms_check(struct segment *s, unsigned attr, const struct terms_want *want,
				 const struct token_rules *unstemmed)
{
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct err err;
	struct segment_walk w;
	struct terms_found *found;
	size_t n, at = 0;
	bool cut;
	bool whole = want->kind == TERMS_WORD && !want->open_left && !want->open_right;
	bool by_forms = want->exact || (want->stemmed && !whole);
	ENSURE(terms_find(s, attr, want, &arena, 1 << 20, NULL, NULL, &found, &n, &cut, &err) == 0);
	ENSURE(!cut);
	ENSURE(segment_walk(s, attr, STR(""), &w, &err) == 0);
	while (segment_walk_next(&w, &err) == 0) {
		struct terms_found *here =
			at < n && str_eq(found[at].term, w.term) ? &found[at] : NULL;
		bool is = by_forms ? plain_check_forms(s, want, w.term, here, unstemmed)
				   : plain_check_term(want, w.term, here);
		if (is && (here->info.df != w.info.df || here->info.at != w.info.at))
			plain_fail(want, w.term, "wrong list");
		at += is;
	}
	if (at != n)
		plain_fail(want, found[at].term, "is not a term, or out of order");
	arena_free(&arena);
	return n;
}
