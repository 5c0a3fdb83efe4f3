/* Words of a text: found 64 bytes at a time in ASCII, a character at a time elsewhere. Unicode is
 * known by libutf8proc and stems by libstemmer, which are loaded when rules are opened, so that the
 * other commands do not carry them. */
#include "base/ascii.h"
#include "base/library.h"
#include "index/words/token_inner.h"

#include <stdatomic.h>
#include <stdio.h>
#include <utf8proc.h>

/* Characters: what they do to words and how they fold. */

enum {
	NEAR_FROM = 0x80, /* characters of two bytes: folded once, kept in a table */
	NEAR_TO = 0x800,
	CHAR_FOLDS_MOST = 32, /* characters that one folds to; Unicode knows 18 */
	STEMMERS_KEPT = 16    /* that are idle */
};

struct near {
	uint8_t class, n;
	char folded[6];
};

/* A stemmer works for one thread at a time. Threads take one that is idle, or make another, and no
 * thread waits for one. */
struct stemmers {
	char language[32];
	/* as in libstemmer.h */
	void *(*make)(const char *language, const char *encoding);
	const unsigned char *(*stem)(void *stemmer, const unsigned char *word, int n);
	int (*length)(void *stemmer);
	void (*drop)(void *stemmer);
	_Atomic(void *) idle[STEMMERS_KEPT];
};

struct token_rules {
	struct token_unicode unicode;
	struct stemmers *stemmers; /* NULL: words are not stemmed */
	struct near near[NEAR_TO - NEAR_FROM];
};

int token_unicode_load(struct token_unicode *ret, struct err *err)
{
	const struct library_function functions[] = {
		{"utf8proc_get_property", &ret->property},
		{"utf8proc_decompose_char", &ret->decompose},
		{"utf8proc_normalize_utf32", &ret->normalize},
	};
	return library_load("libutf8proc.so.2", "words need the package libutf8proc2", functions,
			    ARRAY_LEN(functions), err);
}

static void *stemmer_take(struct stemmers *s)
{
	void *stemmer = NULL;
	for (size_t i = 0; i < STEMMERS_KEPT && !stemmer; i++)
		if (atomic_load_explicit(&s->idle[i], memory_order_relaxed))
			stemmer = atomic_exchange_explicit(&s->idle[i], NULL, memory_order_acquire);
	return stemmer ? stemmer : s->make(s->language, "UTF_8");
}

static void stemmer_give(struct stemmers *s, void *stemmer)
{
	for (size_t i = 0; i < STEMMERS_KEPT; i++) {
		void *none = NULL;
		if (atomic_compare_exchange_strong_explicit(&s->idle[i], &none, stemmer,
							    memory_order_release,
							    memory_order_relaxed))
			return;
	}
	s->drop(stemmer);
}

static void stemmers_free(struct stemmers **sp)
{
	for (size_t i = 0; *sp && i < STEMMERS_KEPT; i++)
		if ((*sp)->idle[i])
			(*sp)->drop((*sp)->idle[i]);
	mem_free(sp);
}

static int load_stemmer(struct token_rules *r, struct str language, struct err *err)
{
	struct stemmers *s = r->stemmers = mem_alloc(sizeof *s);
	const struct library_function functions[] = {
		{"sb_stemmer_new", &s->make},
		{"sb_stemmer_stem", &s->stem},
		{"sb_stemmer_length", &s->length},
		{"sb_stemmer_delete", &s->drop},
	};
	if (library_load("libstemmer.so.0d", "stems need the package libstemmer0d", functions,
			 ARRAY_LEN(functions), err) < 0)
		return -1;
	snprintf(s->language, sizeof s->language, STR_FMT, STR_ARG(language));
	void *first = strlen(s->language) == language.n ? stemmer_take(s) : NULL;
	if (!first)
		return err_set(err, ERR_USAGE,
			       "no stemmer for the language '" STR_FMT
			       "'; names are in English, small: english, german, french",
			       STR_ARG(str_head(language, 64)));
	stemmer_give(s, first);
	return 0;
}

/* Letters that stand without blanks between words. */
static bool stands_alone(int32_t c)
{
	static const struct {
		int32_t from, to;
	} scripts[] = {
		{0x0e00, 0x0eff},   /* Thai, Lao */
		{0x1000, 0x109f},   /* Myanmar */
		{0x1780, 0x17ff},   /* Khmer */
		{0x3005, 0x3007},   /* Han: repetition, closing, zero */
		{0x3041, 0x30ff},   /* Hiragana, Katakana */
		{0x3105, 0x312f},   /* Bopomofo */
		{0x31a0, 0x31ff},   /* Bopomofo, Katakana */
		{0x3400, 0x4dbf},   /* Han */
		{0x4e00, 0x9fff},   /* Han */
		{0xa9e0, 0xa9ff},   /* Myanmar */
		{0xaa60, 0xaa7f},   /* Myanmar */
		{0xf900, 0xfaff},   /* Han */
		{0xff66, 0xff9f},   /* Katakana, half as wide */
		{0x1b000, 0x1b16f}, /* Kana */
		{0x20000, 0x3fffd}, /* Han */
	};
	for (size_t i = 0; i < ARRAY_LEN(scripts) && c >= scripts[i].from; i++)
		if (c <= scripts[i].to)
			return true;
	return false;
}

enum token_class token_unicode_class(const struct token_unicode *u, int32_t c)
{
	if (c == 0xff9e || c == 0xff9f)
		return TOKEN_CONTINUES; /* letters by name, but they voice the kana before them */
	switch (u->property(c)->category) {
	case UTF8PROC_CATEGORY_LO:
	case UTF8PROC_CATEGORY_LM:
	case UTF8PROC_CATEGORY_NL:
		return stands_alone(c) ? TOKEN_ALONE : TOKEN_BEGINS;
	case UTF8PROC_CATEGORY_LU:
	case UTF8PROC_CATEGORY_LL:
	case UTF8PROC_CATEGORY_LT:
	case UTF8PROC_CATEGORY_ND:
	case UTF8PROC_CATEGORY_NO:
		return TOKEN_BEGINS;
	case UTF8PROC_CATEGORY_MN:
	case UTF8PROC_CATEGORY_MC:
	case UTF8PROC_CATEGORY_ME:
		return TOKEN_CONTINUES;
	default:
		/* soft hyphen, joiner and its opposite, word joiner */
		return c == 0xad || c == 0x200c || c == 0x200d || c == 0x2060 ? TOKEN_CONTINUES
									      : TOKEN_SEPARATES;
	}
}

/* Whether a character of a folded word stays: what words are made of, without accents and rings. */
static bool mark_stays(const struct token_unicode *u, int32_t c)
{
	const utf8proc_property_t *p = u->property(c);
	int class = p->combining_class;
	return p->category >= UTF8PROC_CATEGORY_LU && p->category <= UTF8PROC_CATEGORY_NO &&
	       p->category != UTF8PROC_CATEGORY_ME && !p->ignorable &&
	       (class == 0 || class == 8 || class == 9);
}

/* Adds what a character folds to; returns how many there are now, at most TOKEN_CHARS_MOST. */
static size_t fold_char(const struct token_unicode *u, int32_t c, int32_t *to, size_t n)
{
	int32_t chars[CHAR_FOLDS_MOST];
	int boundary = 0;
	ptrdiff_t got = u->decompose(c, chars, CHAR_FOLDS_MOST,
				     UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD |
					     UTF8PROC_IGNORE,
				     &boundary);
	for (ptrdiff_t i = 0; i < got && i < CHAR_FOLDS_MOST && n < TOKEN_CHARS_MOST; i++)
		if (mark_stays(u, chars[i]))
			to[n++] = chars[i];
	return n;
}

static size_t compose_chars(const struct token_unicode *u, int32_t *chars, size_t n)
{
	ptrdiff_t composed = u->normalize(chars, (ptrdiff_t)n, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
	return (size_t)MAX(composed, 0);
}

size_t token_unicode_fold(const struct token_unicode *u, const int32_t *chars, size_t n,
			  int32_t ret[TOKEN_CHARS_MOST])
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count = fold_char(u, chars[i], ret, count);
	return compose_chars(u, ret, count);
}

size_t token_char_put(int32_t c, char to[4])
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static size_t chars_put(const int32_t *chars, size_t count, char *to, size_t most)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		char one[4];
		size_t len = token_char_put(chars[i], one);
		if (n + len > most)
			break;
		memcpy(to + n, one, len);
		n += len;
	}
	return n;
}

/* None of these characters joins another when composed, so what each folds to can be kept. */
static void fill_near(struct token_rules *r)
{
	for (int32_t c = NEAR_FROM; c < NEAR_TO; c++) {
		struct near *near = &r->near[c - NEAR_FROM];
		int32_t chars[TOKEN_CHARS_MOST];
		near->class = (uint8_t)token_unicode_class(&r->unicode, c);
		near->n = (uint8_t)chars_put(chars, fold_char(&r->unicode, c, chars, 0),
					     near->folded, sizeof near->folded);
	}
}

int token_rules_open(struct token_rules **ret, struct str language, struct err *err)
{
	struct token_rules *r = mem_alloc(sizeof *r);
	if (token_unicode_load(&r->unicode, err) < 0 ||
	    (language.n && load_stemmer(r, language, err) < 0)) {
		token_rules_close(&r);
		return -1;
	}
	fill_near(r);
	*ret = r;
	return 0;
}

void token_rules_close(struct token_rules **rules)
{
	if (*rules)
		stemmers_free(&(*rules)->stemmers);
	mem_free(rules);
}

int32_t token_char(const unsigned char *p, const unsigned char *end, size_t *ret_n)
{
	static const int32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *p < 0x80   ? 1
		   : *p < 0xc0 ? 0
		   : *p < 0xe0 ? 2
		   : *p < 0xf0 ? 3
		   : *p < 0xf8 ? 4
			       : 0;
	*ret_n = 1;
	if (n == 0 || (size_t)(end - p) < n)
		return -1;
	int32_t c = n == 1 ? *p : *p & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return -1;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return -1;
	*ret_n = n;
	return c;
}

enum token_class token_class(const struct token_rules *rules, int32_t c)
{
	if (c < NEAR_FROM)
		return token_ascii(c) ? TOKEN_BEGINS : TOKEN_SEPARATES;
	if (c < NEAR_TO)
		return (enum token_class)rules->near[c - NEAR_FROM].class;
	return token_unicode_class(&rules->unicode, c);
}

/* A word of ASCII and near characters. 1: there are others in it. */
static int fold_near(const struct token_rules *r, struct str form, char *ret, size_t *ret_n)
{
	const unsigned char *p = (const unsigned char *)form.p, *end = p + form.n;
	size_t n = 0, len;
	for (; p < end; p += len) {
		char small;
		const char *folded = &small;
		size_t folded_n = 1;
		int32_t c = token_char(p, end, &len);
		if (c >= NEAR_TO)
			return 1;
		if (c < NEAR_FROM) {
			small = (char)(*p | 0x20);
		} else {
			folded = r->near[c - NEAR_FROM].folded;
			folded_n = r->near[c - NEAR_FROM].n;
		}
		if (n + folded_n > TOKEN_TERM_MOST)
			break;
		memcpy(ret + n, folded, folded_n);
		n += folded_n;
	}
	*ret_n = n;
	return 0;
}

/* Single letters of Han and kana that fold to themselves, which is nearly all there are. */
static bool folds_to_itself(int32_t c, size_t n, struct str form)
{
	return n == form.n && ((c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3041 && c <= 0x3096) ||
			       (c >= 0x30a1 && c <= 0x30fa));
}

size_t token_fold(const struct token_rules *rules, struct str form, char ret[TOKEN_TERM_MOST])
{
	int32_t chars[TOKEN_CHARS_MOST];
	const unsigned char *p = (const unsigned char *)form.p, *end = p + form.n;
	size_t n = 0, count = 0, len;
	int32_t first = token_char(p, end, &len);
	if (folds_to_itself(first, len, form)) {
		memcpy(ret, form.p, form.n);
		return form.n;
	}
	if (fold_near(rules, form, ret, &n) == 0)
		return n;
	for (; p < end && count < TOKEN_CHARS_MOST; p += len)
		count = fold_char(&rules->unicode, token_char(p, end, &len), chars, count);
	return chars_put(chars, compose_chars(&rules->unicode, chars, count), ret, TOKEN_TERM_MOST);
}

/* Words */

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

/* The term as its stem, which is not empty. */
static struct str stem_of(struct tokens *t, struct str term)
{
	struct stemmers *s = t->rules->stemmers;
	void *stemmer = stemmer_take(s);
	ENSURE(stemmer);
	const unsigned char *p = s->stem(stemmer, (const unsigned char *)term.p, (int)term.n);
	struct str stem = {(const char *)p, p ? (size_t)MAX(s->length(stemmer), 0) : 0};
	stem = str_head(stem, TOKEN_TERM_MOST);
	if (stem.n && !str_eq(stem, term)) {
		memcpy(t->term, stem.p, stem.n);
		term = (struct str){t->term, stem.n};
	}
	stemmer_give(s, stemmer);
	return term;
}

static void give_word(struct tokens *t, struct token *ret, struct str form, struct str term,
		      bool plain)
{
	if (t->rules->stemmers) {
		term = stem_of(t, term);
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
 * or letters that fold to nothing). The next word is looked for after it either way. */
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
		capitals |= ascii_is_upper((char)start[i]);
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
