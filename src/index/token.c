/* Words: found 64 bytes at a time in ASCII, a character at a time elsewhere. */
#include "index/token_inner.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { BLOCK = 64 };

struct masks {
	uint64_t words, capitals, others;
};

#if defined(__SSE2__)
/* Bytes lo <= b <= hi: moved so that the range begins at the least signed number. */
static inline unsigned bytes_between(__m128i b, unsigned char lo, unsigned char hi)
{
	__m128i moved = _mm_add_epi8(b, _mm_set1_epi8((char)(0x80 - lo)));
	__m128i past = _mm_cmpgt_epi8(moved, _mm_set1_epi8((char)(0x80 + hi - lo)));
	return ~(unsigned)_mm_movemask_epi8(past) & 0xffff;
}

static inline struct masks look_at_block(const unsigned char p[BLOCK])
{
	struct masks m = {0};
	for (int i = 0; i < BLOCK; i += 16) {
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		unsigned capitals = bytes_between(b, 'A', 'Z');
		unsigned words = bytes_between(b, 'a', 'z') | bytes_between(b, '0', '9') | capitals;
		m.words |= (uint64_t)words << i;
		m.capitals |= (uint64_t)capitals << i;
		m.others |= (uint64_t)(unsigned)_mm_movemask_epi8(b) << i;
	}
	return m;
}
#else
static inline struct masks look_at_block(const unsigned char p[BLOCK])
{
	struct masks m = {0};
	for (int i = 0; i < BLOCK; i++) {
		uint64_t bit = UINT64_C(1) << i;
		bool capital = p[i] >= 'A' && p[i] <= 'Z';
		bool small = (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= '0' && p[i] <= '9');
		m.words |= small || capital ? bit : 0;
		m.capitals |= capital ? bit : 0;
		m.others |= p[i] & 0x80 ? bit : 0;
	}
	return m;
}
#endif

/* Past the end of the text there is nothing but separators. */
static void load_block(struct tokens *t, const unsigned char *from)
{
	struct masks m;
	if ((size_t)(t->end - from) >= BLOCK) {
		m = look_at_block(from);
	} else {
		unsigned char last[BLOCK] = {0};
		if (from < t->end)
			memcpy(last, from, (size_t)(t->end - from));
		m = look_at_block(last);
	}
	t->block = t->p = from;
	t->words = m.words;
	t->capitals = m.capitals;
	t->others = m.others;
}

void tokens_init(struct tokens *t, const struct token_rules *rules, struct str text,
		 uint32_t position)
{
	const unsigned char *p = text.n ? (const unsigned char *)text.p : (const unsigned char *)"";
	t->rules = rules;
	t->end = p + text.n;
	t->position = position;
	load_block(t, p);
}

static void give_word(struct tokens *t, struct token *ret, struct str form, struct str term,
		      bool plain)
{
	if (token_stems(t->rules)) {
		struct str stem = str_head(token_stem(t->rules, term), TOKEN_TERM_MOST);
		if (stem.n && !str_eq(stem, term)) {
			memcpy(t->term, stem.p, stem.n);
			term = (struct str){t->term, stem.n};
		}
		plain = str_eq(form, term);
	}
	ret->form = form;
	ret->term = term;
	ret->plain = plain;
	ret->position = t->position;
	t->position += t->position < UINT32_MAX;
}

/* Letters and digits of ASCII are small already or become so by this bit. */
static void give_ascii(struct tokens *t, struct token *ret, struct str form, bool capitals)
{
	struct str term = str_head(form, TOKEN_TERM_MOST);
	if (capitals) {
		for (size_t i = 0; i < term.n; i++)
			t->term[i] = (char)(form.p[i] | 0x20);
		term.p = t->term;
	}
	give_word(t, ret, form, term, !capitals && term.n == form.n);
}

/* The end of the word that begins at p with a character of class `first`; what goes beyond the
 * limit of a form belongs to the word and is left out of it. */
static const unsigned char *word_end(const struct tokens *t, const unsigned char *p,
				     enum token_class first, const unsigned char **ret_form_end)
{
	const unsigned char *start = p, *form_end = p;
	for (size_t n = 0; p < t->end; p += n) {
		enum token_class class = TOKEN_BEGINS;
		n = 1;
		if (!token_ascii(*p)) {
			int32_t c = token_char(p, t->end, &n);
			class = c < 0 ? TOKEN_SEPARATES : token_class(t->rules, c);
		}
		bool goes_on = p == start || class == TOKEN_CONTINUES ||
			       (class == TOKEN_BEGINS && first == TOKEN_BEGINS);
		if (!goes_on)
			break;
		if (p + n - start <= TOKEN_FORM_MOST)
			form_end = p + n;
	}
	*ret_form_end = form_end;
	return p;
}

/* A word with characters beyond ASCII, or longer than a block. 1: there is none here (a separator,
 * or letters that fold to nothing). The next word is looked for behind it either way. */
static int other_word(struct tokens *t, const unsigned char *start, struct token *ret)
{
	enum token_class class = TOKEN_BEGINS;
	size_t n = 1;
	if (!token_ascii(*start)) {
		int32_t c = token_char(start, t->end, &n);
		class = c < 0 ? TOKEN_SEPARATES : token_class(t->rules, c);
	}
	if (class != TOKEN_BEGINS && class != TOKEN_ALONE) {
		t->p = start + n;
		return 1;
	}
	const unsigned char *form_end;
	t->p = word_end(t, start, class, &form_end);
	struct str form = str_range((const char *)start, (const char *)form_end);
	bool ascii = true, capitals = false;
	for (size_t i = 0; i < form.n; i++) {
		ascii &= !(start[i] & 0x80);
		capitals |= start[i] >= 'A' && start[i] <= 'Z';
	}
	if (ascii) {
		give_ascii(t, ret, form, capitals);
		return 0;
	}
	struct str term = {t->term, token_fold(t->rules, form, t->term)};
	if (term.n == 0)
		return 1;
	give_word(t, ret, form, term, str_eq(form, term));
	return 0;
}

int tokens_next(struct tokens *t, struct token *ret)
{
	for (;;) {
		size_t at = (size_t)(t->p - t->block);
		uint64_t here = at < BLOCK ? (t->words | t->others) >> at : 0;
		if (here == 0) {
			const unsigned char *next = at < BLOCK ? t->block + BLOCK : t->p;
			if (next >= t->end)
				return 1;
			load_block(t, next);
			continue;
		}
		at += (size_t)__builtin_ctzll(here);
		const unsigned char *start = t->block + at;
		uint64_t run = ~(t->words >> at); /* never 0 but for a whole block of one word */
		size_t n = run ? (size_t)__builtin_ctzll(run) : BLOCK;
		if (at + n >= BLOCK && at > 0) {
			load_block(t, start);
			continue;
		}
		if (UNLIKELY(n == BLOCK || (t->others >> (at + n) & 1))) {
			if (other_word(t, start, ret) == 0)
				return 0;
			continue;
		}
		t->p = start + n;
		bool capitals = t->capitals >> at & ((UINT64_C(1) << n) - 1);
		give_ascii(t, ret, (struct str){(const char *)start, n}, capitals);
		return 0;
	}
}
