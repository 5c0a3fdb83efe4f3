/* Words of a query: those of a text as the index has them, and patterns.
 *
 * "*" and "?" are parts of a pattern only where they touch a word. A run of both between letters of
 * one word is all pattern ("a*le", "a?ple", "a*?le"). At the beginning or the end of a word the
 * "*" next to it count and a "?" does not, because questions end so. Letters that are words by
 * themselves (Han, kana) do not join over a pattern: "*" goes with the letter before it, or with
 * the one after it where there is none. In a URL "?" separates. */
#include "index/query/query_inner.h"
#include "index/words/token_inner.h"

enum { PATTERN_MOST = 120 }; /* bytes of letters and "?"; below where folding cuts words */

struct scanner {
	const struct token_rules *rules;
	struct str text;
	size_t at;
	bool url; /* after "://", up to the next blank */
};

_Static_assert(QUERY_PHRASE_MOST == 64 && PATTERN_MOST == 120, "as the messages say");

/* A word, with what of a pattern belongs to it. */
struct spot {
	size_t from, to;
	bool pattern;
};

static char byte_at(const struct scanner *s, size_t at)
{
	return at < s->text.n ? s->text.p[at] : 0;
}

static bool is_wild(const struct scanner *s, size_t at)
{
	char c = byte_at(s, at);
	return c == '*' || (c == '?' && !s->url);
}

static size_t wild_end(const struct scanner *s, size_t at)
{
	while (is_wild(s, at))
		at++;
	return at;
}

/* What the character does to words; past the end it separates. */
static enum token_class class_at(const struct scanner *s, size_t at, size_t *ret_n)
{
	const unsigned char *p = (const unsigned char *)s->text.p;
	*ret_n = 1;
	if (at >= s->text.n)
		return TOKEN_SEPARATES;
	int32_t c = token_char(p + at, p + s->text.n, ret_n);
	return c < 0 ? TOKEN_SEPARATES : token_class(s->rules, c);
}

/* From its first letter on, which is at spot->to. */
static void finish_word(struct scanner *s, struct spot *spot)
{
	size_t n;
	enum token_class first = class_at(s, spot->to, &n), class;
	for (spot->to += n;; spot->to += n) {
		if (is_wild(s, spot->to)) {
			size_t end = wild_end(s, spot->to);
			bool goes_on = first == TOKEN_BEGINS && class_at(s, end, &n) == first;
			if (!goes_on)
				for (end = spot->to; byte_at(s, end) == '*';)
					end++;
			spot->pattern |= end > spot->to;
			n = end - spot->to;
			if (goes_on)
				continue;
			spot->to = end;
			return;
		}
		class = class_at(s, spot->to, &n);
		if (class != TOKEN_CONTINUES && (class != TOKEN_BEGINS || first != TOKEN_BEGINS))
			return;
	}
}

static bool begins_word(enum token_class class)
{
	return class == TOKEN_BEGINS || class == TOKEN_ALONE;
}

/* 1: there are no more. */
static int next_word(struct scanner *s, struct spot *ret)
{
	size_t n;
	for (; s->at < s->text.n; s->at += n) {
		size_t letter = wild_end(s, s->at), from = letter;
		bool begins = begins_word(class_at(s, letter, &n));
		while (from > s->at && s->text.p[from - 1] == '*')
			from--;
		if (begins) {
			*ret = (struct spot){from, letter, from < letter};
			finish_word(s, ret);
			s->at = ret->to;
			return 0;
		}
		s->at = letter;
		char c = byte_at(s, letter);
		if (c == ' ' || (c >= '\t' && c <= '\r'))
			s->url = false;
		s->url |= str_starts(str_from(s->text, letter), STR("://"));
	}
	return 1;
}

/* Puts "*" after another only once: it says the same, and the room is bounded. */
static void put_wild(char c, char *to, size_t *n)
{
	if (c != '*' || *n == 0 || to[*n - 1] != '*')
		to[(*n)++] = c;
}

/* 1: its letters fold to nothing. -1: it is too long. */
static int read_pattern(struct str text, const struct token_rules *rules, struct arena *arena,
			struct query_word *ret)
{
	char form[2 * TOKEN_FORM_MOST + 2], term[2 * PATTERN_MOST + 2], piece[TOKEN_TERM_MOST];
	size_t form_n = 0, term_n = 0, form_all = 0, term_all = 0, n;
	bool letters = false;
	for (size_t at = 0; at < text.n; at += n) {
		struct str rest = str_from(text, at);
		char c = text.p[at];
		n = 1;
		if (c == '*' || c == '?') {
			form_all += c == '?';
			term_all += c == '?';
			if (form_all > TOKEN_FORM_MOST || term_all > PATTERN_MOST)
				return -1;
			put_wild(c, form, &form_n);
			put_wild(c, term, &term_n);
			continue;
		}
		n = MIN(str_find_byte(rest, '*'), str_find_byte(rest, '?'));
		form_all += n;
		if (form_all > TOKEN_FORM_MOST)
			return -1;
		size_t folded = token_fold(rules, str_head(rest, n), piece);
		term_all += folded;
		if (term_all > PATTERN_MOST)
			return -1;
		letters |= folded > 0;
		memcpy(form + form_n, rest.p, n);
		memcpy(term + term_n, piece, folded);
		form_n += n;
		term_n += folded;
	}
	if (!letters)
		return 1;
	ret->term = ret->folded = arena_str(arena, (struct str){term, term_n});
	ret->form = arena_str(arena, (struct str){form, form_n});
	ret->pattern = true;
	return 0;
}

/* A word as the index has it. 1: its letters fold to nothing. */
static int read_word(struct str text, const struct token_rules *rules, struct arena *arena,
		     struct query_word *ret)
{
	char folded[TOKEN_TERM_MOST];
	struct tokens t;
	struct token token;
	tokens_init(&t, rules, text, 0);
	if (tokens_next(&t, &token) == 1)
		return 1;
	ret->term = ret->folded = arena_str(arena, token.term);
	ret->form = token.form;
	struct str plain = {folded, token_fold(rules, token.form, folded)};
	if (!str_eq(plain, token.term))
		ret->folded = arena_str(arena, plain);
	return 0;
}

int query_words_read(struct str text, const struct token_rules *rules, struct arena *arena,
		     struct query_words *ret)
{
	struct scanner s = {.rules = rules, .text = text};
	struct spot spot;
	ret->n = 0;
	ret->patterns = false;
	while (next_word(&s, &spot) == 0) {
		struct str part = str_head(str_from(text, spot.from), spot.to - spot.from);
		struct query_word word = {0};
		int rc = spot.pattern ? read_pattern(part, rules, arena, &word)
				      : read_word(part, rules, arena, &word);
		ret->at = spot.from;
		ret->why = rc < 0 ? "a pattern of more than 120 bytes"
				  : "a phrase of more than 64 words";
		if (rc < 0 || (rc == 0 && ret->n == QUERY_PHRASE_MOST))
			return -1;
		if (rc == 0)
			ret->word[ret->n++] = word;
		ret->patterns |= word.pattern;
	}
	return 0;
}

bool query_words_end(struct str text, const struct token_rules *rules)
{
	struct scanner s = {.rules = rules, .text = text};
	struct spot spot = {0};
	while (next_word(&s, &spot) == 0)
		;
	return text.n && spot.to == text.n;
}

struct str query_word_compared(const struct query_node *node, uint32_t number)
{
	const struct query_word *w = &node->word[number];
	return node->exact ? w->form : w->pattern || !w->folded.n ? w->term : w->folded;
}

/* The automaton has room for so many letters as a term can have. */
uint32_t query_word_errors_most(const struct query_node *node, uint32_t number)
{
	size_t letters = str_utf8_count(query_word_compared(node, number));
	bool none = node->word[number].pattern || letters == 0 || letters > TOKEN_TERM_MOST;
	return none ? 0 : MIN((uint32_t)letters - 1, (uint32_t)QUERY_ERRORS_MOST);
}

uint32_t query_errors_most(const struct query_node *node)
{
	uint32_t sum = 0, most = 0;
	for (uint32_t i = 0; i < node->words; i++) {
		uint32_t n = query_word_errors_most(node, i);
		sum += n;
		most = MAX(most, n);
	}
	return MIN(node->op == QUERY_NEAR ? most : sum, (uint32_t)QUERY_ERRORS_MOST);
}
