/* The tokenizer of HTML: its limits, what comes in large amounts, and its fast ways against plain
 * ones. */
#include "unit/unit.h"

#include "extract/html_token_inner.h"
#include "support/html_json.h"

enum { OUT_MAX = 1 << 20 };

/* What was cut, by the limits of the test. */
struct seen {
	struct buf text;
	bool cut;
	size_t nattrs;
};

static enum html_state limit_tag(void *ctx, const struct html_tag *tag)
{
	struct seen *s = ctx;
	s->cut = tag->cut;
	s->nattrs = tag->nattrs;
	buf_add_str(&s->text, tag->name);
	for (size_t i = 0; i < tag->nattrs; i++) {
		buf_printf(&s->text, " " STR_FMT "=" STR_FMT, STR_ARG(tag->attrs[i].name),
			   STR_ARG(tag->attrs[i].value));
	}
	buf_add_byte(&s->text, '\n');
	return HTML_DATA;
}

static void limit_comment(void *ctx, struct str data)
{
	struct seen *s = ctx;
	buf_printf(&s->text, "<" STR_FMT ">\n", STR_ARG(data));
}

static void check_limits(const char *in, const char *want, bool cut)
{
	static const struct html_limits limits = {.name = 4, .value = 6, .attrs = 3, .comment = 5};
	static const struct html_sink sink = {.tag = limit_tag, .comment = limit_comment};
	struct html_tokens *t = html_tokens_new(&limits);
	struct seen s = {.text = BUF_INIT(OUT_MAX)};
	for (size_t at = 0; at <= strlen(in); at++) {
		buf_clear(&s.text);
		html_tokens_begin(t, &sink, &s, HTML_DATA, STR(""));
		html_tokens_add(t, str_head(str_of(in), at));
		html_tokens_add(t, str_from(str_of(in), at));
		html_tokens_end(t);
		assert_string_equal(buf_text(&s.text), want);
		assert_true(s.cut == cut);
	}
	buf_free(&s.text);
	html_tokens_free(&t);
}

static void limits_cut_and_tell(void **state)
{
	(void)state;
	check_limits("<abcd efgh=123456>", "abcd efgh=123456\n", false);
	check_limits("<abcde>", "abcd\n", true);
	check_limits("<ABCDE>", "abcd\n", true);
	check_limits("<a efghi=1>", "a efgh=1\n", true);
	check_limits("<a b=1234567>", "a b=123456\n", true);
	check_limits("<a b='12&amp;&amp;&amp;&amp;7'>", "a b=12&&&&\n", true);
	check_limits("<a b=12345\xc3\xa9>", "a b=12345\n", true);
	check_limits("<a b=1234\xc3\xa9>", "a b=1234\xc3\xa9\n", false);
	check_limits("<a b=1 c=2 d=3 e=4 f=5>", "a b=1 c=2 d=3\n", true);
	check_limits("<!--123456--><a>", "<12345>\na\n", false);
	check_limits("<!--12345--><a>", "<12345>\na\n", false);
}

static void count_text(void *ctx, struct str s)
{
	size_t *n = ctx;
	*n += s.n;
}

/* A value, a comment, a name of 10 MB, ten million attributes: no more memory than the limits. */
static void endless_things_pass_through(void **state)
{
	static const char *const begin[] = {"<a b='", "<!--",       "<x",
					    "<a ",    "<a b=",      "&#",
					    "&",      "<!DOCTYPE ", "<!DOCTYPE h PUBLIC '",
					    "</",     "<!"};
	static const struct html_sink sink = {.text = count_text};
	struct html_tokens *t = html_tokens_new(NULL);
	char block[4096];
	size_t n = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(begin); i++) {
		memset(block, 'x', sizeof block);
		if (i == 3)
			memset(block, '=', sizeof block);
		html_tokens_begin(t, &sink, &n, HTML_DATA, STR(""));
		html_tokens_add(t, str_of(begin[i]));
		for (int k = 0; k < 2560; k++)
			html_tokens_add(t, (struct str){block, sizeof block});
		html_tokens_end(t);
	}
	html_tokens_free(&t);
	assert_true(n > 0);
}

/* Blocks of the tokenizer are none of the token's business. */
static void large_pieces_are_like_small_ones(void **state)
{
	enum { N = 200000 };
	struct buf in = BUF_INIT(1 << 24), whole = BUF_INIT(1 << 26), cut = BUF_INIT(1 << 26);
	struct html_tokens *t = html_tokens_new(NULL);
	struct html_json json;
	(void)state;
	while (in.n < N)
		buf_printf(&in, "<p class='c%zu &amp; d'>\xc3\xa9\xc3\xa8 text %zu\r\n<!-- %zu -->",
			   in.n, in.n * 7, in.n);
	for (int i = 0; i < 2; i++) {
		size_t piece = i ? 997 : in.n;
		html_json_begin(&json, i ? &cut : &whole);
		html_tokens_begin(t, &html_json_sink, &json, HTML_DATA, STR(""));
		for (size_t at = 0; at < in.n; at += piece)
			html_tokens_add(t, str_head(str_from(buf_str(&in), at), piece));
		html_tokens_end(t);
		html_json_end(&json);
	}
	assert_true(whole.n > N);
	assert_true(str_eq(buf_str(&whole), buf_str(&cut)));
	html_tokens_free(&t);
	buf_free(&in);
	buf_free(&whole);
	buf_free(&cut);
}

static void scanning_agrees_with_its_plain_twin(void **state)
{
	char text[100];
	(void)state;
	for (size_t n = 0; n < sizeof text; n++) {
		for (size_t at = 0; at <= n; at++) {
			memset(text, 'x', sizeof text);
			if (at < n)
				text[at] = "<&\0"[at % 3];
			const char *got = html_scan(text, text + n, '<', '&', 0);
			assert_ptr_equal(got, html_scan_portable(text, text + n, '<', '&', 0));
			assert_ptr_equal(got, text + at);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_cut_and_tell),
		cmocka_unit_test(endless_things_pass_through),
		cmocka_unit_test(large_pieces_are_like_small_ones),
		cmocka_unit_test(scanning_agrees_with_its_plain_twin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
