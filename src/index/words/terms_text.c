/* Whether a text is what is looked for: by its letters, a pattern, errors or an expression. A word
 * of a text is compared as its term is, or as it is written, folded or not. */
#include "index/words/terms_inner.h"
#include "index/words/token_inner.h"

bool terms_want_of(const struct query_node *node, uint32_t number, bool stemmed,
		   const struct token_rules *rules, struct terms_want *ret)
{
	bool pattern = node->word[number].pattern, near = node->op == QUERY_NEAR;
	struct terms_want want = {
		.kind = pattern ? TERMS_PATTERN : TERMS_WORD,
		.word = query_word_compared(node, number),
		.open_left = node->parts && !pattern && (near || number == 0),
		.open_right = node->parts && !pattern && (near || number + 1 == node->words),
		.exact = node->exact,
		.stemmed = stemmed,
		.rules = rules,
	};
	if (!pattern && node->errors == 0 && !want.open_left && !want.open_right)
		return false;
	want.k = MIN((uint32_t)MAX(node->errors, 0), query_word_errors_most(node, number));
	if (want.k)
		want.kind = TERMS_ERRORS;
	if (want.kind == TERMS_WORD && !want.open_left && !want.open_right) {
		if (!stemmed || want.exact)
			return false;
		want.kind = TERMS_PATTERN; /* as written: not the term, which is a stem */
	}
	*ret = want;
	return true;
}

/* Patterns */

static bool is_wild(char c)
{
	return c == '*' || c == '?';
}

struct terms_glob terms_glob(struct str pattern)
{
	struct terms_glob g = {0};
	size_t stars = 0;
	for (size_t i = 0, n; i < pattern.n; i += n) {
		n = 1;
		stars += pattern.p[i] == '*';
		if (is_wild(pattern.p[i]))
			continue;
		while (i + n < pattern.n && !is_wild(pattern.p[i + n]))
			n++;
		struct str run = {pattern.p + i, n};
		g.outside_hex |= terms_outside_hex(run) > 0;
		if (i == 0)
			g.head = run;
		if (n > g.longest.n)
			g.longest = run;
	}
	bool first = pattern.n && pattern.p[0] == '*';
	bool last = pattern.n && pattern.p[pattern.n - 1] == '*';
	bool letters = g.longest.n > 0 && g.longest.n + stars == pattern.n;
	g.only_head = stars == 1 && last && letters;
	g.only_tail = stars == 1 && first && letters;
	g.only_inside = stars == 2 && first && last && letters;
	return g;
}

/* Goes back to the last star only, which may then stand for one character more. */
bool terms_glob_is(struct str pattern, struct str text)
{
	size_t p = 0, t = 0, star = SIZE_MAX, from = 0;
	while (t < text.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = ++p;
			from = t;
		} else if (p < pattern.n && pattern.p[p] == '?') {
			t += terms_char_bytes(str_from(text, t));
			p++;
		} else if (p < pattern.n && pattern.p[p] == text.p[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			from += terms_char_bytes(str_from(text, from));
			p = star;
			t = from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

/* Texts */

static struct str chars_head(struct str s, size_t most, uint32_t *ret_chars)
{
	size_t n = 0;
	uint32_t chars = 0;
	for (; n < s.n && chars < most; chars++)
		n += terms_char_bytes(str_from(s, n));
	*ret_chars = chars;
	return str_head(s, n);
}

bool terms_is_nothing(const struct terms_want *want)
{
	return want->kind == TERMS_MATCH ? !want->rx : want->word.n == 0;
}

void terms_text_done(struct terms_text *t)
{
	rx_run_free(&t->run);
}

void terms_text_init(struct terms_text *t, const struct terms_want *want)
{
	t->want = want;
	t->word = want->word;
	t->run = want->kind == TERMS_MATCH && want->rx ? rx_run_new(want->rx) : NULL;
	if (want->kind != TERMS_ERRORS || want->word.n == 0)
		return;
	uint32_t chars;
	t->word = chars_head(want->word, ERRORS_CHARS_MOST, &chars);
	errors_init(&t->errors, t->word, want->k, want->open_left, want->open_right);
	t->errors.swaps = want->swaps;
}

static bool is_part(const struct terms_want *want, struct str text)
{
	struct str word = want->word;
	if (want->open_left && want->open_right)
		return str_find(text, word) < text.n;
	return want->open_left    ? str_ends(text, word)
	       : want->open_right ? str_starts(text, word)
				  : str_eq(text, word);
}

/* By their numbers of characters alone. */
static bool errors_may_fit(const struct terms_want *want, struct str text)
{
	uint32_t word = 0, chars = 0;
	(void)chars_head(want->word, ERRORS_CHARS_MOST, &word);
	(void)chars_head(text, ERRORS_CHARS_MOST, &chars);
	bool open = want->open_left || want->open_right;
	return chars + want->k >= word && (open || chars <= word + want->k);
}

static bool has_errors(struct terms_text *t, struct str text, uint32_t *ret_errors)
{
	uint32_t chars;
	uint32_t errors = errors_of(&t->errors, chars_head(text, ERRORS_CHARS_MOST, &chars));
	if (errors > t->want->k)
		return false;
	*ret_errors = errors;
	return true;
}

bool terms_text_is(struct terms_text *t, struct str text, uint32_t *ret_errors)
{
	const struct terms_want *want = t->want;
	*ret_errors = 0;
	if (terms_is_nothing(want))
		return false;
	switch (want->kind) {
	case TERMS_WORD:
		return is_part(want, text);
	case TERMS_PATTERN:
		return terms_glob_is(want->word, text);
	case TERMS_ERRORS:
		return has_errors(t, text, ret_errors);
	case TERMS_MATCH:
		return rx_matches(t->run, text);
	}
	return false;
}

/* Words of texts */

bool terms_forms_decide(const struct terms_want *want)
{
	bool whole = want->kind == TERMS_WORD && !want->open_left && !want->open_right;
	return want->exact || (want->stemmed && !whole);
}

/* What of the word is compared; folded has room for TOKEN_TERM_MOST bytes. */
static struct str compared_of(const struct terms_want *want, const struct token *token,
			      char *folded)
{
	if (want->exact)
		return token->form;
	if (!terms_forms_decide(want))
		return token->term;
	return (struct str){folded, token_fold(want->rules, token->form, folded)};
}

bool terms_means(const struct terms_want *want, const struct token *token, uint32_t *ret_errors)
{
	char folded[TOKEN_TERM_MOST];
	struct str text = compared_of(want, token, folded);
	struct terms_text t;
	uint32_t errors;
	/* Most words differ in length alone by more than the errors: nothing need be made then. */
	if (want->kind == TERMS_ERRORS && !errors_may_fit(want, text))
		return false;
	terms_text_init(&t, want);
	bool means = terms_text_is(&t, text, &errors);
	terms_text_done(&t);
	if (means && ret_errors)
		*ret_errors = errors;
	return means;
}
