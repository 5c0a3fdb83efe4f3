#include "index/terms.h"
#include "index/words/invert.h"
#include "index/words/segment_inner.h"
#include "index/words/terms_inner.h"

#include "../../support/terms_plain.h"
#include "../scratch.h"
#include "../unit.h"

static unsigned seed = 7;

static unsigned roll_below(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

static struct token_rules *rules, *english;

static int open_rules(void **state)
{
	struct err err;
	return token_rules_open(&rules, STR(""), &err) == 0 &&
			       token_rules_open(&english, STR("english"), &err) == 0
		       ? scratch_make_in_memory(state)
		       : -1;
}

static int close_rules(void **state)
{
	token_rules_close(&rules);
	token_rules_close(&english);
	return scratch_done(state);
}

/* Words that are like each other, some with capitals and accents, of several scripts. */
static void random_word(struct buf *b)
{
	static const char *const syllables[] = {
		"ap",       "pl",       "e",           "app",      "le",       "ing",
		"ed",       "an",       "na",          "ba",       "tion",     "s",
		"a",        "b",        "1",           "22",       "x",        "ment",
		"AP",       "Pl",       "\xc3\x89",    "\xc3\xa9", "\xc3\x9f", "o\xcc\x88",
		"\xd0\xb6", "\xd0\x96", "\xef\xac\x81"};
	unsigned few = roll_below(3) ? 12 : ARRAY_LEN(syllables);
	unsigned n = roll_below(300) == 0 ? 60 : 1 + roll_below(4);
	if (roll_below(40) == 0) {
		buf_add_text(b, roll_below(2) ? "\xe4\xb8\xad" : "\xe5\x9b\xbd");
		return;
	}
	size_t from = b->n;
	for (unsigned i = 0; i < n; i++)
		buf_add_text(b, syllables[roll_below(few)]);
	unsigned capitals = roll_below(4);
	for (size_t i = from; i < b->n && capitals < 2; i++) {
		b->p[i] = ascii_upper(b->p[i]);
		if (capitals == 0)
			break;
	}
}

static struct str random_text(struct arena *arena, unsigned words)
{
	struct buf b = BUF_INIT(1 << 20);
	for (unsigned i = 0; i < words; i++) {
		random_word(&b);
		buf_add_byte(&b, ' ');
	}
	struct str text = arena_str(arena, buf_str(&b));
	buf_free(&b);
	return text;
}

static struct segment *written_segment(struct invert **inv)
{
	static unsigned number;
	struct err err;
	struct segment *s;
	char path[320];
	snprintf(path, sizeof path, "%s/%u.words", scratch_dir, number++);
	assert_int_equal(invert_write(*inv, path, false, &err), 0);
	invert_free(inv);
	assert_int_equal(segment_open(&s, path, &err), 0);
	return s;
}

static struct segment *random_segment(unsigned docs, const struct token_rules *by,
				      struct arena *arena)
{
	struct err err;
	struct words_settings settings;
	char key[32];
	words_settings_default(&settings);
	struct invert *inv = invert_new(&settings, by);
	for (unsigned i = 0; i < docs; i++) {
		struct words_attr attr[] = {
			{STR("Full-Text"), random_text(arena, 10 + roll_below(60))},
			{STR("Title"), random_text(arena, roll_below(4))},
			{STR("Keywords"), random_text(arena, roll_below(60))},
		};
		snprintf(key, sizeof key, "http://host/%u", i);
		struct words_doc doc = {.key = str_of(key), .attr = attr, .n = ARRAY_LEN(attr)};
		assert_int_equal(invert_add(inv, &doc, &err), 0);
	}
	return written_segment(&inv);
}

static unsigned chars_in(struct str s)
{
	return plain_chars(s, PLAIN_CHARS).n;
}

/* A word as it could be asked for, folded unless case counts. */
static struct str asked_word(struct arena *arena, bool exact)
{
	struct buf b = BUF_INIT(1 << 12);
	struct tokens tokens;
	struct token token;
	do {
		buf_clear(&b);
		random_word(&b);
		tokens_init(&tokens, rules, buf_str(&b), 0);
	} while (tokens_next(&tokens, &token) != 0);
	struct str word = arena_str(arena, exact ? token.form : token.term);
	buf_free(&b);
	return word;
}

/* A word of which some characters are wild. */
static struct str asked_pattern(struct arena *arena, struct str word)
{
	struct buf b = BUF_INIT(1 << 12);
	struct plain_text t = plain_chars(word, PLAIN_CHARS);
	unsigned how = roll_below(5);
	if (how == 0 || how == 2)
		buf_add_byte(&b, '*');
	for (unsigned i = 0; i < t.n; i++) {
		unsigned wild = how > 2 ? roll_below(6) : 9;
		if (wild == 0)
			buf_add_byte(&b, '?');
		else if (wild == 1)
			buf_add_byte(&b, '*');
		else
			buf_add_str(&b, t.c[i]);
	}
	if (how == 1 || how == 2)
		buf_add_byte(&b, '*');
	struct str pattern = arena_str(arena, buf_str(&b));
	buf_free(&b);
	return pattern;
}

static struct terms_want random_want(struct arena *arena, bool stemmed)
{
	struct terms_want want = {.stemmed = stemmed, .rules = stemmed ? english : rules};
	want.kind = (enum terms_kind)roll_below(3);
	want.exact = roll_below(3) == 0;
	want.word = asked_word(arena, want.exact);
	want.open_left = want.kind != TERMS_PATTERN && roll_below(2);
	want.open_right = want.kind != TERMS_PATTERN && roll_below(2);
	if (want.kind == TERMS_PATTERN)
		want.word = asked_pattern(arena, want.word);
	if (want.kind == TERMS_ERRORS) {
		unsigned most = MIN(chars_in(want.word), (unsigned)ERRORS_MOST + 1);
		want.k = roll_below(2) ? MIN(roll_below(3), most - 1) : roll_below(most);
		want.swaps = roll_below(3) == 0;
	}
	return want;
}

static void compare_many(unsigned segments, unsigned rounds, const struct token_rules *by)
{
	for (unsigned i = 0; i < segments; i++) {
		struct arena arena = ARENA_INIT(SIZE_MAX);
		struct segment *s = random_segment(1 + roll_below(i % 2 ? 60 : 12), by, &arena);
		size_t found = 0, asked = 0;
		for (unsigned round = 0; round < rounds; round++) {
			struct arena_mark mark = arena_mark(&arena);
			struct terms_want want = random_want(&arena, by == english);
			unsigned attr = roll_below(segment_info(s)->attrs);
			found += terms_check(s, roll_below(2) ? attr : SEGMENT_COMBINED, &want,
					     rules) > 0;
			asked++;
			arena_reset(&arena, mark);
		}
		assert_true(found * 8 > asked); /* or little would have been compared */
		segment_close(&s);
		arena_free(&arena);
	}
}

static void terms_are_those_of_plain_code(void **state)
{
	(void)state;
	compare_many(unit_thorough() ? 10 : 2, unit_thorough() ? 2000 : 50, rules);
}

static void words_as_written_are_compared_where_terms_are_stems(void **state)
{
	(void)state;
	compare_many(2, unit_thorough() ? 2000 : 25, english);
}

/* Expressions that lie within a word: with literals, with several, with none, too short ones. */
static void expressions_find_the_words_they_match(void **state)
{
	(void)state;
	static const char *const patterns[] = {
		"apple",      "app?l+e",   "(tion|ment)s?", "a.*b.*c?",
		"[a-c]{2,4}", "22",        "P+l",           "\xc3\xa9",
		"na(na)+",    "[xyz]|ing", "e\\d",          "(ap|ba|na)(pl|tion)",
	};
	for (unsigned i = 0; i < 2 * ARRAY_LEN(patterns); i++) {
		struct arena arena = ARENA_INIT(SIZE_MAX);
		struct err err;
		size_t at;
		bool exact = i % 2, stemmed = roll_below(3) == 0;
		struct segment *s = random_segment(unit_thorough() ? 40 : 14,
						   stemmed ? english : rules, &arena);
		struct rx *rx;
		assert_int_equal(rx_compile(&rx, str_of(patterns[i / 2]), !exact, &at, &err), 0);
		struct terms_want want = {.kind = TERMS_MATCH, .exact = exact, .rx = rx};
		want.stemmed = stemmed;
		want.rules = stemmed ? english : rules;
		for (unsigned attr = 0; attr < segment_info(s)->attrs; attr++)
			(void)terms_check(s, attr, &want, rules);
		assert_true(terms_check(s, SEGMENT_COMBINED, &want, rules) > 0 || i / 2 == 6);
		rx_free(&rx);
		segment_close(&s);
		arena_free(&arena);
	}
}

struct patience {
	unsigned asked, late_at;
};

static bool out_of_patience(void *ctx)
{
	struct patience *p = ctx;
	return ++p->asked >= p->late_at;
}

/* Every kind stops when it is late or has enough, and says so. */
static void walks_end_when_it_is_late(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct err err;
	struct buf text = BUF_INIT(1 << 22);
	for (unsigned i = 0; i < (unit_thorough() ? 100000 : 70000); i++)
		buf_printf(&text, "%c%c%u ", 'a' + (int)(i % 26), 'a' + (int)(i / 26 % 26), i);
	struct words_attr attr = {STR("Full-Text"), buf_str(&text)};
	struct words_doc doc = {.key = STR("k"), .attr = &attr, .n = 1};
	struct words_settings settings;
	words_settings_default(&settings);
	struct invert *inv = invert_new(&settings, rules);
	char path[320];
	struct segment *s;
	snprintf(path, sizeof path, "%s/late.words", scratch_dir);
	assert_int_equal(invert_add(inv, &doc, &err), 0);
	assert_int_equal(invert_write(inv, path, false, &err), 0);
	assert_int_equal(segment_open(&s, path, &err), 0);
	const struct terms_want wants[] = {
		{.kind = TERMS_WORD, .word = STR("1"), .open_left = true, .open_right = true},
		{.kind = TERMS_WORD, .word = STR("1"), .open_left = true},
		{.kind = TERMS_PATTERN, .word = STR("*")},
		{.kind = TERMS_PATTERN, .word = STR("*1*2*")},
		{.kind = TERMS_ERRORS, .word = STR("ab1378"), .k = 2},
		{.kind = TERMS_ERRORS, .word = STR("ab12345"), .k = 6},
		{.kind = TERMS_ERRORS, .word = STR("12345"), .k = 2, .open_left = true},
		{.kind = TERMS_ERRORS, .word = STR("Ab1378"), .k = 3, .exact = true},
		{.kind = TERMS_PATTERN, .word = STR("?*1"), .exact = true},
	};
	for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
		struct terms_found *found;
		size_t all, n;
		bool cut;
		struct patience patience = {.late_at = UINT32_MAX};
		assert_int_equal(terms_find(s, 0, &wants[i], &arena, 1 << 20, out_of_patience,
					    &patience, &found, &all, &cut, &err),
				 0);
		assert_false(cut);
		assert_true(all > 10 && patience.asked > 0);
		patience = (struct patience){.late_at = 1};
		assert_int_equal(terms_find(s, 0, &wants[i], &arena, 1 << 20, out_of_patience,
					    &patience, &found, &n, &cut, &err),
				 0);
		assert_true(cut && n < all && patience.asked <= 3);
		assert_int_equal(
			terms_find(s, 0, &wants[i], &arena, 10, NULL, NULL, &found, &n, &cut, &err),
			0);
		assert_true(cut && n > 0 && n <= 10);
	}
	segment_close(&s);
	invert_free(&inv);
	buf_free(&text);
	arena_free(&arena);
}

static struct segment *segment_of_text(struct str text)
{
	struct err err;
	struct words_settings settings;
	words_settings_default(&settings);
	struct invert *inv = invert_new(&settings, rules);
	struct words_attr attr = {STR("Full-Text"), text};
	struct words_doc doc = {.key = STR("http://host/"), .attr = &attr, .n = 1};
	assert_int_equal(invert_add(inv, &doc, &err), 0);
	return written_segment(&inv);
}

static size_t check_one_error(struct segment *s, struct str word)
{
	struct terms_want want = {.kind = TERMS_ERRORS, .word = word, .rules = rules, .k = 1};
	return terms_check(s, SEGMENT_COMBINED, &want, rules);
}

static void add_letter(struct buf *b, unsigned letters)
{
	static const char *const letter[] = {
		"a", "1", "g", "\xd0\xb6", "\xe1\x83\x90", "\xd1\x8f", "\xf0\x90\x90\xa8", "z"};
	buf_add_text(b, letter[roll_below(letters)]);
}

/* Words of few letters, so that most of those within an error are there; many are of hex digits. */
static struct segment *dense_segment(unsigned words, unsigned letters)
{
	struct buf b = BUF_INIT(1 << 20);
	for (unsigned i = 0; i < words; i++) {
		unsigned n = 1 + roll_below(6), wide = roll_below(2) ? roll_below(n) : n;
		for (unsigned k = 0; k < n; k++)
			add_letter(&b, k == wide ? letters : MIN(letters, 3u));
		buf_add_byte(&b, ' ');
	}
	struct segment *s = segment_of_text(buf_str(&b));
	buf_free(&b);
	return s;
}

static void one_error_is_found_where_terms_are_dense(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4; round++) {
		struct segment *s = dense_segment(round % 2 ? 3000 : 150, round < 2 ? 8 : 3);
		struct buf b = BUF_INIT(1 << 10);
		size_t found = 0;
		for (unsigned i = 0; i < (unit_thorough() ? 1000 : 40); i++) {
			unsigned n = 2 + roll_below(6);
			buf_clear(&b);
			for (unsigned k = 0; k < n; k++)
				add_letter(&b, roll_below(20) ? 3 : 8);
			found += check_one_error(s, buf_str(&b));
		}
		static const char *const ends[] = {"aaa",   "aaaa", "aaaaaa", "gggg", "gggggg",
						   "zzzz",  "0000", "a1a1",   "aa1",  "11a",
						   "aaa11", "za1g", "a1gz",   "00",   "aa"};
		for (size_t i = 0; i < ARRAY_LEN(ends); i++)
			found += check_one_error(s, str_of(ends[i]));
		assert_true(found > 100);
		buf_free(&b);
		segment_close(&s);
	}
}

static void a_word_is_found_among_many_that_differ_in_one_letter(void **state)
{
	static const char others[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	struct buf b = BUF_INIT(1 << 10);
	(void)state;
	for (unsigned place = 0; place < 4; place++) {
		char word[] = "kkkk";
		buf_clear(&b);
		for (const char *c = others; *c; c++) {
			word[place] = *c;
			buf_printf(&b, "%s ", word);
		}
		struct segment *s = segment_of_text(buf_str(&b));
		for (const char *c = others; *c; c++) {
			word[place] = *c;
			assert_int_equal(check_one_error(s, str_of(word)), sizeof others - 1);
		}
		segment_close(&s);
	}
	buf_free(&b);
}

/* As long as terms can be, and an index of one word, where most lengths have no terms. */
static void one_error_is_found_at_the_limits(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(1 << 20), word = BUF_INIT(1 << 10);
	size_t found = 0;
	for (unsigned n = TOKEN_TERM_MOST - 3; n <= TOKEN_TERM_MOST; n++)
		for (unsigned i = n % 3; i <= n; i += 4) {
			buf_fill(&b, 'a', i);
			buf_add_text(&b, i % 5 == 1 ? "\xd0\xb6" : i % 5 == 2 ? "ab" : "b");
			buf_fill(&b, 'a', n - MIN(i + 1, n));
			buf_add_byte(&b, ' ');
		}
	struct segment *s = segment_of_text(buf_str(&b)), *one = segment_of_text(STR("abcd"));
	for (unsigned n = TOKEN_TERM_MOST - 4; n <= TOKEN_TERM_MOST; n++) {
		buf_clear(&word);
		buf_fill(&word, 'a', n);
		assert_true(check_one_error(s, buf_str(&word)) > 10);
		word.p[n - 1] = 'b';
		found += check_one_error(s, buf_str(&word));
		word.p[n / 2] = 'b';
		found += check_one_error(s, buf_str(&word));
	}
	assert_true(found > 0);
	static const char *const near[] = {"abcd", "abc", "bcd", "abcde", "xabcd", "abxcd", "xbcd"};
	for (size_t i = 0; i < ARRAY_LEN(near); i++)
		assert_int_equal(check_one_error(one, str_of(near[i])), 1);
	static const char *const far[] = {"ab", "abdc", "abcdef", "wxyz", "жbc"};
	for (size_t i = 0; i < ARRAY_LEN(far); i++)
		assert_int_equal(check_one_error(one, str_of(far[i])), 0);
	segment_close(&s);
	segment_close(&one);
	buf_free(&b);
	buf_free(&word);
}

/* At each letter of the word many terms go on otherwise; some of them fit. */
static void one_error_is_given_up_when_it_is_late(void **state)
{
	enum { LETTERS = 120 };
	static const char others[] = "bcdefghijklmnopqrstuvwxyz0123456789";
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct buf b = BUF_INIT(4 << 20), word = BUF_INIT(LETTERS);
	struct terms_found *found;
	size_t all, n;
	bool cut;
	struct err err;
	(void)state;
	for (unsigned i = 0; i < LETTERS; i++)
		for (const char *c = others; *c; c++) {
			for (unsigned more = 0; more < 2; more++) {
				buf_fill(&b, 'a', i);
				buf_add_byte(&b, *c);
				buf_fill(&b, *c == 'z' ? 'a' : 'b', LETTERS - 1 - i + more);
				buf_add_byte(&b, ' ');
			}
		}
	struct segment *s = segment_of_text(buf_str(&b));
	buf_fill(&word, 'a', LETTERS);
	struct terms_want want = {.kind = TERMS_ERRORS, .word = buf_str(&word), .k = 1};
	struct patience patience = {.late_at = UINT32_MAX};
	assert_int_equal(terms_find(s, SEGMENT_COMBINED, &want, &arena, SIZE_MAX, out_of_patience,
				    &patience, &found, &all, &cut, &err),
			 0);
	assert_true(!cut && all >= 2 * LETTERS && patience.asked > 0);
	patience = (struct patience){.late_at = 1};
	assert_int_equal(terms_find(s, SEGMENT_COMBINED, &want, &arena, SIZE_MAX, out_of_patience,
				    &patience, &found, &n, &cut, &err),
			 0);
	assert_true(cut && n < all && patience.asked <= 3);
	segment_close(&s);
	buf_free(&b);
	buf_free(&word);
	arena_free(&arena);
}

/* Words of hex digits, with and without a number in them, and words that are nearly that: what the
 * blob keeps apart and a search may leave out. Few letters, so that words are near each other. */

static void add_hex_letter(struct buf *b, unsigned from, unsigned to)
{
	static const char *const letter[] = {"0", "1", "9", "a", "e", "f", "g", "z", "\xd0\xb6"};
	buf_add_text(b, letter[from + roll_below(to - from)]);
}

static void hex_word(struct buf *b)
{
	static const struct {
		unsigned from, to;
	} letters[] = {{0, 6}, {0, 6}, {0, 6}, {0, 3}, {3, 6}, {0, 8}, {3, 8}, {0, 9}};
	unsigned kind = roll_below(ARRAY_LEN(letters)), other = roll_below(40);
	unsigned n = other > 2    ? 1 + roll_below(9)
		     : other == 2 ? 32
		     : other == 1 ? 120
				  : 10 + roll_below(110);
	unsigned odd = roll_below(3) ? n : roll_below(n);
	size_t from = b->n;
	for (unsigned i = 0; i < n; i++)
		if (i == odd)
			add_hex_letter(b, 6, 9);
		else
			add_hex_letter(b, letters[kind].from, letters[kind].to);
	for (size_t i = from; i < b->n && kind == 1; i++)
		b->p[i] = ascii_upper(b->p[i]);
}

struct hex_words {
	struct str word[200];
	struct segment *segment;
};

static void make_hex_words(struct hex_words *h, struct arena *arena)
{
	struct buf all = BUF_INIT(1 << 20), word = BUF_INIT(1 << 10);
	for (size_t i = 0; i < ARRAY_LEN(h->word); i++) {
		buf_clear(&word);
		hex_word(&word);
		h->word[i] = arena_str(arena, buf_str(&word));
		buf_add_str(&all, h->word[i]);
		buf_add_byte(&all, ' ');
	}
	h->segment = segment_of_text(buf_str(&all));
	buf_free(&all);
	buf_free(&word);
}

/* One of the words, of which some letters were changed, left out or added. */
static struct str near_hex_word(const struct hex_words *h, struct arena *arena, unsigned changes,
				bool exact)
{
	struct buf b = BUF_INIT(1 << 12);
	struct tokens tokens;
	struct token token;
	do {
		struct plain_text t =
			plain_chars(h->word[roll_below(ARRAY_LEN(h->word))], PLAIN_CHARS);
		buf_clear(&b);
		for (unsigned i = 0, left = changes; i < t.n; i++) {
			bool change = left > 0 && roll_below(t.n - i) < left;
			unsigned how = change ? roll_below(3) : 3;
			left -= change;
			if (how < 2)
				add_hex_letter(&b, roll_below(2) ? 6 : 0, 9);
			if (how % 2)
				buf_add_str(&b, t.c[i]);
		}
		tokens_init(&tokens, rules, buf_str(&b), 0);
	} while (tokens_next(&tokens, &token) != 0);
	struct str word = arena_str(arena, exact ? token.form : token.term);
	buf_free(&b);
	return word;
}

static struct str piece_of(struct str word)
{
	struct plain_text t = plain_chars(word, PLAIN_CHARS);
	unsigned from = roll_below(t.n), n = 1 + roll_below(MIN(t.n - from, 5u));
	if (roll_below(3) == 0)
		from = t.n - n;
	return (struct str){t.c[from].p,
			    (size_t)(t.c[from + n - 1].p - t.c[from].p) + t.c[from + n - 1].n};
}

/* With two literals, one of two, several groups, short ones, and none. */
static struct rx *hex_expression(struct str a, struct str b, bool exact)
{
	struct buf text = BUF_INIT(1 << 10);
	struct err err;
	struct rx *rx;
	size_t at;
	switch (roll_below(6)) {
	case 0:
		buf_printf(&text, STR_FMT ".*" STR_FMT, STR_ARG(a), STR_ARG(b));
		break;
	case 1:
		buf_printf(&text, STR_FMT "|" STR_FMT, STR_ARG(a), STR_ARG(b));
		break;
	case 2:
		buf_printf(&text, "(" STR_FMT "|" STR_FMT ").?[0-9g]", STR_ARG(a), STR_ARG(b));
		break;
	case 3:
		buf_printf(&text, "[9f]" STR_FMT, STR_ARG(a));
		break;
	case 4:
		buf_printf(&text, "(" STR_FMT ")?[0-9]{2}", STR_ARG(a));
		break;
	default:
		buf_add_text(&text, roll_below(2) ? "[0-9][a-f]+[19]" : "[gz1].?[0e]{2}");
		break;
	}
	assert_int_equal(rx_compile(&rx, buf_str(&text), !exact, &at, &err), 0);
	buf_free(&text);
	return rx;
}

enum { HEX_PART, HEX_END, HEX_PATTERN, HEX_ERRORS, HEX_ERRORS_INSIDE, HEX_MATCH, HEX_KINDS };

static size_t ask_hex(const struct hex_words *h, unsigned kind, struct arena *arena)
{
	struct terms_want want = {.rules = rules, .exact = roll_below(4) == 0};
	unsigned k = kind == HEX_ERRORS || kind == HEX_ERRORS_INSIDE ? 1 + roll_below(4) : 0;
	struct str word = near_hex_word(h, arena, k ? roll_below(k + 2) : 0, want.exact);
	struct rx *rx = NULL;
	want.word = word;
	if (k) {
		want.kind = TERMS_ERRORS;
		want.k = MIN(k, chars_in(word) - 1);
		want.swaps = roll_below(4) == 0;
		want.open_left = kind == HEX_ERRORS_INSIDE;
		want.open_right = want.open_left && roll_below(2);
	} else if (kind == HEX_PATTERN) {
		want.kind = TERMS_PATTERN;
		word = asked_pattern(arena, roll_below(2) ? word : piece_of(word));
		const char *star = str_starts(word, STR("*")) ? "" : "*";
		want.word = str_of(arena_printf(arena, "%s" STR_FMT, star, STR_ARG(word)));
	} else if (kind == HEX_MATCH) {
		want.kind = TERMS_MATCH;
		struct str other = near_hex_word(h, arena, 0, want.exact);
		rx = hex_expression(piece_of(word), piece_of(roll_below(2) ? word : other),
				    want.exact);
	} else {
		want.kind = TERMS_WORD;
		want.word = piece_of(word);
		want.open_left = true;
		want.open_right = kind == HEX_PART;
	}
	want.rx = rx;
	size_t found = terms_check(h->segment, SEGMENT_COMBINED, &want, rules);
	rx_free(&rx);
	return found;
}

static void words_of_hex_digits_are_found_like_all_others(void **state)
{
	unsigned rounds = unit_thorough() ? 1000 : 20;
	(void)state;
	for (unsigned i = 0; i < (unit_thorough() ? 10 : 2); i++) {
		struct arena arena = ARENA_INIT(SIZE_MAX);
		struct hex_words h;
		unsigned found[HEX_KINDS] = {0};
		make_hex_words(&h, &arena);
		for (unsigned round = 0; round < rounds * HEX_KINDS; round++) {
			struct arena_mark mark = arena_mark(&arena);
			found[round % HEX_KINDS] += ask_hex(&h, round % HEX_KINDS, &arena) > 0;
			arena_reset(&arena, mark);
		}
		for (unsigned kind = 0; kind < HEX_KINDS; kind++)
			assert_true(found[kind] * 3 > rounds); /* or little was compared */
		segment_close(&h.segment);
		arena_free(&arena);
	}
}

/* Words that are as long as terms can be: few of them are many bytes. */
static struct segment *long_segment(unsigned words)
{
	struct err err;
	struct words_settings settings;
	struct buf b = BUF_INIT(4 << 20);
	words_settings_default(&settings);
	struct invert *inv = invert_new(&settings, rules);
	for (unsigned i = 0; i < words; i++) {
		buf_printf(&b, "%05u", i);
		buf_fill(&b, i % 2 ? 'x' : 'f', 95 + i % 20);
		buf_add_text(&b, i % 3 ? "e " : "\xd0\xb6 ");
	}
	struct words_attr attr = {STR("Full-Text"), buf_str(&b)};
	struct words_doc doc = {.key = STR("http://host/"), .attr = &attr, .n = 1};
	assert_int_equal(invert_add(inv, &doc, &err), 0);
	buf_free(&b);
	return written_segment(&inv);
}

/* As the format says it. */
static enum segment_run plain_run(struct str term)
{
	bool digit = false, hex = true;
	for (size_t i = 0; i < term.n; i++) {
		if ((unsigned char)term.p[i] >= 0x80)
			return SEGMENT_OTHERS;
		digit |= strchr("0123456789", term.p[i]) != NULL;
		hex &= strchr("0123456789abcdef", term.p[i]) != NULL;
	}
	return digit && hex ? SEGMENT_HEX : SEGMENT_ASCII;
}

/* Every term of the dictionary is the next of its length and run; that is all there is. Runs before
 * the first that is wanted need not be there. Which runs have terms, as bits. */
static unsigned check_blob(struct segment *s)
{
	unsigned runs = 0;
	struct segment_blob blob;
	struct segment_walk w;
	struct err err;
	size_t seen[TOKEN_TERM_MOST + 1][SEGMENT_RUNS] = {0};
	int rc = segment_walk(s, SEGMENT_COMBINED, STR(""), &w, &err);
	while (rc == 0 && (rc = segment_walk_next(&w, &err)) == 0) {
		uint32_t n = (uint32_t)w.term.n;
		enum segment_run run = plain_run(w.term), first = roll_below(run + 1u);
		assert_int_equal(segment_blob(s, n, first, &blob, &err), 0);
		size_t at = blob.from[run] + seen[n][run]++;
		runs |= 1u << run;
		assert_true(at < blob.from[run + 1]);
		assert_memory_equal(blob.p + at * n, w.term.p, n);
	}
	assert_int_equal(rc, 1);
	for (uint32_t n = 1; n <= TOKEN_TERM_MOST; n++) {
		assert_int_equal(segment_blob(s, n, SEGMENT_HEX, &blob, &err), 0);
		assert_int_equal(blob.from[0], 0);
		for (unsigned run = 0; run < SEGMENT_RUNS; run++)
			assert_int_equal(blob.from[run + 1] - blob.from[run], seen[n][run]);
	}
	return runs;
}

static void a_blob_in_the_file_and_one_that_is_made_have_all_terms(void **state)
{
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct segment *made[] = {random_segment(1, rules, &arena),
				  random_segment(40, rules, &arena), long_segment(2000)};
	struct segment *in_file = long_segment(11000);
	unsigned all = (1u << SEGMENT_RUNS) - 1;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(made); i++) {
		assert_int_equal(made[i]->f.part[PART_BLOB].n, 0);
		assert_int_equal(check_blob(made[i]) | (i == 0 ? all : 0), all);
		segment_close(&made[i]);
	}
	assert_true(in_file->f.part[PART_BLOB].n >= SEGMENT_BLOB_LEAST);
	assert_int_equal(check_blob(in_file), all);
	segment_close(&in_file);
	arena_free(&arena);
}

#ifdef __x86_64__
/* All places that a scan finds, as bits; what it leaves at the end has none. */
static void places_of_scan(terms_scan_fn *scan, const struct terms_probes *p, const char *text,
			   size_t end, uint8_t *ret)
{
	uint32_t places;
	memset(ret, 0, end);
	for (size_t at = 0; (at = scan(p, text, at, end, &places)), places; at += 32)
		for (unsigned i = 0; i < 32; i++)
			ret[at + i] = places >> i & 1;
}

static void both_ways_to_scan_find_the_same_places(void **state)
{
	enum { MOST = 300, REACH = 8 };
	char text[MOST + REACH];
	uint8_t want[MOST], plain[MOST], wide[MOST];
	size_t all = 0;
	(void)state;
	for (unsigned turn = 0; turn < 2000; turn++) {
		size_t end = 1 + roll_below(MOST);
		struct terms_probes p;
		for (size_t i = 0; i < sizeof text; i++)
			text[i] = (char)('a' + roll_below(3));
		for (unsigned i = 0; i < TERMS_PROBES; i++) {
			p.at[i] = roll_below(REACH);
			p.byte[i] = (char)('a' + roll_below(3));
		}
		for (size_t at = 0; at < end; at++) {
			want[at] = at < end / 32 * 32;
			for (unsigned i = 0; i < TERMS_PROBES; i++)
				want[at] &= text[at + p.at[i]] == p.byte[i];
			all += want[at];
		}
		places_of_scan(terms_scan_sse2, &p, text, end, plain);
		assert_memory_equal(plain, want, end);
		if (!__builtin_cpu_supports("avx2"))
			continue;
		places_of_scan(terms_scan_avx2, &p, text, end, wide);
		assert_memory_equal(wide, want, end);
	}
	assert_true(all > 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blob_in_the_file_and_one_that_is_made_have_all_terms),
		cmocka_unit_test(terms_are_those_of_plain_code),
		cmocka_unit_test(words_as_written_are_compared_where_terms_are_stems),
		cmocka_unit_test(expressions_find_the_words_they_match),
		cmocka_unit_test(words_of_hex_digits_are_found_like_all_others),
#ifdef __x86_64__
		cmocka_unit_test(both_ways_to_scan_find_the_same_places),
#endif
		cmocka_unit_test(walks_end_when_it_is_late),
		cmocka_unit_test(one_error_is_found_where_terms_are_dense),
		cmocka_unit_test(a_word_is_found_among_many_that_differ_in_one_letter),
		cmocka_unit_test(one_error_is_found_at_the_limits),
		cmocka_unit_test(one_error_is_given_up_when_it_is_late),
	};
	return cmocka_run_group_tests(tests, open_rules, close_rules);
}
