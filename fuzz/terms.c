/* Terms that a word of a query means, against plain code. The first byte says what is looked for:
 * the kind (2 bits), open sides, case, stems, swaps, and whether in the titles; the second how many
 * errors; a line with the word; the rest is text, a document a line, in which | begins the title.
 */
#include "../tests/support/terms_plain.h"
#include "base/cursor.h"
#include "index/words/invert.h"
#include "memory_file.h"

#include <stdio.h>

static struct token_rules *rules, *english;

static struct segment *build_segment(struct str text, const struct token_rules *by,
				     const char *path)
{
	struct err err;
	struct segment *s;
	struct words_settings settings;
	struct str line;
	unsigned docs = 0;
	words_settings_default(&settings);
	struct invert *inv = invert_new(&settings, by);
	if (!text.p)
		text = STR("");
	while (str_cut(&text, '\n', &line) == 0) {
		struct words_attr attr[2] = {{.name = STR("Full-Text")}, {.name = STR("Title")}};
		char key[32];
		snprintf(key, sizeof key, "k%u", docs++);
		(void)str_cut(&line, '|', &attr[0].value);
		attr[1].value = line;
		struct words_doc doc = {.key = str_of(key), .attr = attr, .n = 2};
		ENSURE(invert_add(inv, &doc, &err) == 0);
	}
	ENSURE(invert_write(inv, path, false, &err) == 0);
	invert_free(&inv);
	ENSURE(segment_open(&s, path, &err) == 0);
	return s;
}

/* A word that a query could have: folded, or as written; with the wild characters of a pattern; or
 * an expression. */
static bool make_word(struct str text, struct terms_want *want, struct buf *ret, struct rx **ret_rx)
{
	struct tokens tokens;
	struct token token;
	struct err err;
	size_t at;
	if (want->kind == TERMS_MATCH) {
		if (!str_utf8(text) || rx_compile(ret_rx, text, !want->exact, &at, &err) < 0)
			return false;
		want->rx = *ret_rx;
		return true;
	}
	if (want->kind == TERMS_PATTERN) {
		bool wild = false;
		for (size_t i = 0; i < text.n; i++)
			wild |= text.p[i] == '*' || text.p[i] == '?';
		if (wild && str_utf8(text) && text.n <= TOKEN_TERM_MOST)
			buf_add_str(ret, text);
	} else {
		tokens_init(&tokens, rules, text, 0);
		if (tokens_next(&tokens, &token) == 0)
			buf_add_str(ret, want->exact ? token.form : token.term);
	}
	want->word = buf_str(ret);
	return ret->n > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err;
	char path[64];
	struct reader in = reader_of((struct str){(const char *)data, size});
	uint8_t how = reader_u8(&in), k = reader_u8(&in);
	struct str text = reader_bytes(&in, MIN(reader_left(&in), (size_t)4096)), word;
	struct buf made = BUF_INIT(TOKEN_FORM_MOST);
	if (!rules)
		ENSURE(token_rules_open(&rules, STR(""), &err) == 0 &&
		       token_rules_open(&english, STR("english"), &err) == 0);
	if (str_cut(&text, '\n', &word) != 0 || !text.p) /* no segment is without documents */
		return 0;
	struct terms_want want = {
		.kind = (enum terms_kind)(how & 3),
		.open_left = how & 4,
		.open_right = how & 8,
		.exact = how & 16,
		.stemmed = how & 32,
		.swaps = how & 64,
		.rules = how & 32 ? english : rules,
	};
	struct rx *rx = NULL;
	if (make_word(word, &want, &made, &rx)) {
		uint32_t chars = plain_chars(want.word, PLAIN_CHARS).n;
		want.k = want.kind == TERMS_ERRORS ? MIN(k % (ERRORS_MOST + 1u), chars - 1) : 0;
		int fd = memory_file(path);
		struct segment *s = build_segment(text, want.stemmed ? english : rules, path);
		int title = segment_attr(s, STR("title"));
		unsigned attr = how & 128 && title > 0 ? (unsigned)title : SEGMENT_COMBINED;
		(void)terms_check(s, attr, &want, rules);
		segment_close(&s);
		memory_file_end(fd, path);
	}
	buf_free(&made);
	rx_free(&rx);
	return 0;
}
