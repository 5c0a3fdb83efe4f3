#include "../dice.h"
#include "../unit.h"
#include "base/buf.h"
#include "index/words/token_inner.h"

#include <stdlib.h>

static struct token_rules *rules;

static int open_rules(void **state)
{
	(void)state;
	struct err err;
	return token_rules_open(&rules, STR(""), &err);
}

static int close_rules(void **state)
{
	(void)state;
	token_rules_close(&rules);
	return 0;
}

/* The terms of a text with a bar between them, each with its position where that is not the next.
 */
static struct buf told(const struct token_rules *with, struct str text)
{
	struct buf out = BUF_INIT(1 << 24);
	struct tokens t;
	struct token token;
	uint32_t position = 0;
	tokens_init(&t, with, text, 0);
	while (tokens_next(&t, &token) == 0) {
		assert_true(token.form.p >= text.p && token.form.n > 0);
		assert_true(token.form.p + token.form.n <= text.p + text.n);
		assert_true(token.term.n > 0 && token.term.n <= TOKEN_TERM_MOST);
		assert_true(token.form.n <= TOKEN_FORM_MOST);
		assert_int_equal(position++, token.position);
		assert_int_equal(str_eq(token.form, token.term), token.plain);
		buf_printf(&out, "%s" STR_FMT, out.n ? "|" : "", STR_ARG(token.term));
	}
	assert_int_equal(1, tokens_next(&t, &token));
	return out;
}

static void terms(const char *text, const char *want)
{
	struct buf out = told(rules, str_of(text));
	assert_str(buf_str(&out), want);
	buf_free(&out);
}

static void words_are_runs_of_letters_and_digits(void **state)
{
	(void)state;
	terms("", "");
	terms(" \t\n.,;", "");
	terms("a", "a");
	terms("Hello, World!", "hello|world");
	terms("x86_64 2.6.32-rc1", "x86|64|2|6|32|rc1");
	terms("don't e-mail a/b@c", "don|t|e|mail|a|b|c");
	terms("@[`{/:aZ09", "az09");
}

static void letters_of_all_scripts_fold(void **state)
{
	(void)state;
	terms("Ünïcödé ÅNGSTRÖM Straße ŒUVRE", "unicode|angstrom|strasse|œuvre");
	terms("ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ|σισυφοσ");
	terms("Москва ЁЖ", "москва|еж");
	terms("שָׁלוֹם", "שלום");
	terms("ﬁne № ⅷ ① ㎏", "fine|viii|1"); /* the signs are no letters */
	terms("İstanbul", "istanbul");
	terms("e\xcc\x81tude étude", "etude|etude");
	terms("हिन्दी", "हिन्दी");
	terms("한국어 ᄒ\xe1\x85\xa1\xe1\x86\xab", "한국어|한");
}

static void quotes_and_dashes_beyond_ascii_separate(void **state)
{
	(void)state;
	terms("“word” – it’s…", "word|it|s");
	terms("a\xc2\xa0"
	      "b",
	      "a|b");
	terms("co\xc2\xadop", "coop");
	terms("\xe2\x80\x8d\xcc\x81", ""); /* what continues does not begin */
}

static void scripts_without_blanks_give_a_word_per_letter(void **state)
{
	(void)state;
	terms("東京都 Tokyo東京2020", "東|京|都|tokyo|東|京|2020");
	terms("ガギ か\xe3\x82\x99", "ガ|ギ|が");
	terms("ｶﾞﾊﾟ", "ガ|パ");
	terms("ไทย", "ไ|ท|ย");
}

static void bytes_that_are_no_utf8_separate(void **state)
{
	(void)state;
	terms("ab\xff"
	      "cd",
	      "ab|cd");
	terms("\xc3", "");
	terms("a\xc3", "a");
	terms("\xe6\x9d"
	      "x",
	      "x");
	terms("\xed\xa0\x80y", "y"); /* a surrogate */
	terms("\xc0\xaf\xf8\x88\x80\x80\x80z", "z");
	terms("\xf4\x90\x80\x80q", "q"); /* past the last character */
}

static void long_words_are_cut_and_are_one_word(void **state)
{
	(void)state;
	enum { LONG = 100000 };
	char *text = mem_alloc(LONG + 3);
	struct tokens t;
	struct token token;
	for (int round = 0; round < 3; round++) {
		const char *letter = round == 0 ? "x" : round == 1 ? "X" : "Ж";
		size_t n = strlen(letter), at;
		for (at = 0; at + n <= LONG; at += n)
			memcpy(text + at, letter, n);
		memcpy(text + at, " b", 2);
		tokens_init(&t, rules, (struct str){text, at + 2}, 7);
		assert_int_equal(0, tokens_next(&t, &token));
		assert_int_equal(TOKEN_TERM_MOST, token.term.n);
		assert_int_equal(TOKEN_FORM_MOST / n * n, token.form.n);
		assert_false(token.plain);
		assert_int_equal(7, token.position);
		assert_int_equal(0, tokens_next(&t, &token));
		assert_str(token.term, "b");
		assert_int_equal(8, token.position);
		assert_int_equal(1, tokens_next(&t, &token));
	}
	mem_free(&text);
}

static void a_form_is_told_with_its_term(void **state)
{
	(void)state;
	struct tokens t;
	struct token token;
	tokens_init(&t, rules, STR("plain Capital É"), UINT32_MAX - 1);
	assert_int_equal(0, tokens_next(&t, &token));
	assert_true(token.plain);
	assert_int_equal(UINT32_MAX - 1, token.position);
	assert_int_equal(0, tokens_next(&t, &token));
	assert_str(token.form, "Capital");
	assert_str(token.term, "capital");
	assert_int_equal(UINT32_MAX, token.position);
	assert_int_equal(0, tokens_next(&t, &token));
	assert_str(token.form, "É");
	assert_int_equal(UINT32_MAX, token.position); /* stays there */
}

static void stems_are_found_where_the_rules_name_a_language(void **state)
{
	(void)state;
	struct token_rules *english;
	struct err err;
	assert_int_equal(0, token_rules_open(&english, STR("english"), &err));
	struct buf out = told(english, STR("Running runs ran connections"));
	assert_str(buf_str(&out), "run|run|ran|connect");
	buf_free(&out);
	token_rules_close(&english);
	assert_null(english);
	assert_int_equal(-1, token_rules_open(&english, STR("klingon"), &err));
	assert_int_equal(ERR_USAGE, err.code);
	assert_non_null(strstr(err.msg, "klingon"));
}

static size_t put_char(int32_t c, char *to)
{
	unsigned char lead = c < 0x80 ? 0 : c < 0x800 ? 0xc0 : c < 0x10000 ? 0xe0 : 0xf0;
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	to[0] = (char)(lead | c >> (6 * more));
	for (int i = 1; i <= more; i++)
		to[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
	return (size_t)more + 1;
}

/* Terms that are one word by themselves; U+0E33 and its like fold to a mark and a letter. */
static void folding_twice_is_folding_once(void **state)
{
	(void)state;
	char text[8], once[TOKEN_TERM_MOST];
	struct tokens t;
	struct token token;
	size_t words = 0;
	for (int32_t c = 1; c < 0x110000; c++) {
		if (c >= 0xd800 && c < 0xe000)
			continue;
		tokens_init(&t, rules, (struct str){text, put_char(c, text)}, 0);
		if (tokens_next(&t, &token) == 1)
			continue;
		size_t n = token.term.n;
		memcpy(once, token.term.p, n);
		tokens_init(&t, rules, (struct str){once, n}, 0);
		if (tokens_next(&t, &token) == 1 || token.form.n != n)
			continue;
		words++;
		if (!token.plain)
			fail_msg("U+%04X: '%.*s', then '" STR_FMT "'", (unsigned)c, (int)n, once,
				 STR_ARG(token.term));
	}
	assert_true(words > 130000);
}

/* The simple way: a character after the other, each folded by itself. */
static struct buf told_slowly(struct str text)
{
	struct buf out = BUF_INIT(1 << 24);
	const unsigned char *p = (const unsigned char *)text.p, *end = p + text.n;
	while (p < end) {
		const unsigned char *start = p;
		enum token_class first = TOKEN_SEPARATES;
		for (size_t n; p < end; p += n) {
			int32_t c = token_char(p, end, &n);
			enum token_class class = c < 0 ? TOKEN_SEPARATES : token_class(rules, c);
			if (p == start)
				first = class;
			else if (class != TOKEN_CONTINUES &&
				 !(class == TOKEN_BEGINS && first == TOKEN_BEGINS))
				break;
			if (first != TOKEN_BEGINS && first != TOKEN_ALONE) {
				p += n;
				break;
			}
		}
		char term[TOKEN_TERM_MOST];
		size_t n = 0;
		if (first == TOKEN_BEGINS || first == TOKEN_ALONE)
			n = token_fold(rules, str_range((const char *)start, (const char *)p),
				       term);
		if (n)
			buf_printf(&out, "%s%.*s", out.n ? "|" : "", (int)n, term);
	}
	return out;
}

static void blocks_and_characters_agree(void **state)
{
	(void)state;
	static const char *pieces[] = {"a",
				       "Word",
				       " ",
				       "  ",
				       "é",
				       "Ж",
				       "東",
				       "-",
				       "“",
				       "\xff",
				       "\xcc\x81",
				       "0123456789",
				       "xxxxxxxxxxxxxxxxxxxxxxxx",
				       "ﬁ",
				       "한",
				       "'s ",
				       "\n"};
	uint64_t seed = 4711;
	for (int round = 0; round < 20000; round++) {
		struct buf text = BUF_INIT(4096);
		for (size_t i = dice(&seed) % 60; i > 0 && text.n < 4000; i--) {
			size_t pick = dice(&seed) % ARRAY_LEN(pieces);
			size_t times = pick == 2 ? dice(&seed) % 70 + 1 : 1;
			while (times--)
				buf_add_text(&text, pieces[pick]);
		}
		/* a copy of the exact size, so that the sanitizers see each byte past it */
		char *exact = mem_copy(buf_text(&text), text.n ? text.n : 1);
		struct str s = {exact, text.n};
		struct buf fast = told(rules, s), slow = told_slowly(s);
		if (!str_eq(buf_str(&fast), buf_str(&slow)))
			fail_msg("'" STR_FMT "': '" STR_FMT "', slowly '" STR_FMT "'", STR_ARG(s),
				 STR_ARG(buf_str(&fast)), STR_ARG(buf_str(&slow)));
		buf_free(&fast);
		buf_free(&slow);
		buf_free(&text);
		mem_free(&exact);
	}
}

/* The words of a text, each as its term, and what is between them. */
static void fold_by_words(struct str text, struct buf *out)
{
	struct tokens t;
	struct token token;
	const char *at = text.p;
	tokens_init(&t, rules, text, 0);
	while (tokens_next(&t, &token) == 0) {
		buf_add_str(out, str_range(at, token.form.p));
		buf_add_str(out, token.term);
		at = token.form.p + token.form.n;
	}
	buf_add_str(out, str_range(at, text.p + text.n));
}

static void texts_fold_as_their_words_do(void **state)
{
	(void)state;
	static const char *const pieces[] = {"a",
					     "B",
					     "Zz",
					     "7",
					     " ",
					     " ",
					     "-",
					     "\n",
					     "\xff",
					     "\xc3",
					     "É",
					     "e\xcc\x81",
					     "ß",
					     "ﬁ",
					     "Ⅳ",
					     "東",
					     "か\xe3\x82\x99",
					     "ｶﾞ",
					     "Ж",
					     "हिन्दी",
					     "İ",
					     "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab",
					     "ㅎㅏㄴ",
					     "한",
					     "²",
					     "…",
					     "ς"};
	uint64_t dice_seed = 2718;
	for (unsigned i = 0; i < 3000; i++) {
		struct buf text = BUF_INIT(1 << 10), want = BUF_INIT(1 << 12), got = want;
		struct token_map map = {0};
		for (uint64_t n = dice(&dice_seed) % 12 + 1; n; n--)
			buf_add_text(&text, pieces[dice(&dice_seed) % ARRAY_LEN(pieces)]);
		fold_by_words(buf_str(&text), &want);
		token_fold_text(rules, buf_str(&text), &got, &map);
		if (!str_eq(buf_str(&got), buf_str(&want)))
			fail_msg("'%s' is '%s', want '%s'", buf_text(&text), buf_text(&got),
				 buf_text(&want));
		assert_int_equal(got.n, map.n);
		assert_int_equal(text.n, map.from[map.n]);
		for (size_t k = 0; k < map.n; k++)
			assert_true(map.from[k] <= map.from[k + 1]);
		token_map_free(&map);
		buf_free(&text);
		buf_free(&want);
		buf_free(&got);
	}
}

static void long_words_of_texts_are_not_cut(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(1 << 12), got = BUF_INIT(1 << 12);
	buf_fill(&text, 'X', 300);
	buf_add_text(&text, "Éq");
	token_fold_text(rules, buf_str(&text), &got, NULL);
	assert_int_equal(302, got.n);
	assert_true(str_ends(buf_str(&got), STR("xxeq")));
	buf_free(&text);
	buf_free(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_runs_of_letters_and_digits),
		cmocka_unit_test(letters_of_all_scripts_fold),
		cmocka_unit_test(quotes_and_dashes_beyond_ascii_separate),
		cmocka_unit_test(scripts_without_blanks_give_a_word_per_letter),
		cmocka_unit_test(bytes_that_are_no_utf8_separate),
		cmocka_unit_test(long_words_are_cut_and_are_one_word),
		cmocka_unit_test(a_form_is_told_with_its_term),
		cmocka_unit_test(stems_are_found_where_the_rules_name_a_language),
		cmocka_unit_test(folding_twice_is_folding_once),
		cmocka_unit_test(blocks_and_characters_agree),
		cmocka_unit_test(texts_fold_as_their_words_do),
		cmocka_unit_test(long_words_of_texts_are_not_cut),
	};
	return cmocka_run_group_tests(tests, open_rules, close_rules);
}
