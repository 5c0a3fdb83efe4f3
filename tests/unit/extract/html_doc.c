/* Pages that are too large, too deep or too many things at once: all stays within its bounds. */
#include "unit/extract/html_page.h"

#include "extract/html_doc_inner.h"
#include "unit/dice.h"

enum { MILLION = 1000000 };

/* A page that says `head`, then `part` n times, then `tail`. */
static struct str repeat(const char *head, const char *part, size_t n, const char *tail)
{
	size_t part_n = strlen(part), size = strlen(head) + n * part_n + strlen(tail);
	char *p = mem_alloc(size + 1), *at = p;
	at = mempcpy(at, head, strlen(head));
	for (size_t i = 0; i < n; i++)
		at = mempcpy(at, part, part_n);
	memcpy(at, tail, strlen(tail));
	return (struct str){p, size};
}

struct reading {
	void *memory;
	struct out out;
	struct extract_result ret;
};

static void read_with(struct reading *r, struct str body, size_t size, size_t links_max)
{
	const struct extract_job job = {.url = STR("http://h.example/d/p.html"), .body = body};
	const struct charset_choice utf8 = {"utf-8", CHARSET_BY_HEADER, 0};
	struct charset *charset = charset_new();
	struct charset_pieces in;
	r->memory = mem_alloc(MAX(size, (size_t)64));
	r->ret = (struct extract_result){0};
	out_begin(&r->out, r->memory, size, links_max);
	charset_begin(&in, charset, body, &utf8);
	extract_html(&job, &in, &r->out, &r->ret);
	charset_free(&charset);
}

static struct str text_of(const struct reading *r)
{
	return (struct str){r->out.text, r->out.text_n};
}

static void done(struct reading *r, struct str *body)
{
	mem_free(&r->memory);
	mem_free(&body->p);
}

static void a_hundred_megabytes_fill_the_room_and_no_more(void **state)
{
	static const char part[] =
		"<p class=c>Words of a <b>page</b> with <a href=x.html>link</a>.\n";
	struct str body = repeat("<title>Big</title>", part, (100 << 20) / (sizeof part - 1), "");
	struct reading r;
	(void)state;
	read_with(&r, body, PAGE_MEMORY, 100);
	assert_int_equal(r.out.links, 100);
	assert_true(r.out.flags & OUT_TEXT_CUT);
	assert_true(r.out.flags & OUT_LINKS_CUT);
	assert_true(r.out.text_n <= r.out.text_max && r.out.side_n <= r.out.side_max);
	assert_str(r.out.attr[0].value, "3tBig");
	done(&r, &body);
}

static void a_million_links_stop_at_the_limit(void **state)
{
	struct str body = repeat("", "<a href=x>y</a> ", MILLION, "");
	struct reading r;
	(void)state;
	read_with(&r, body, 8 * PAGE_MEMORY, 1000);
	assert_int_equal(r.out.links, 1000);
	assert_int_equal(r.out.links_left_out, MILLION - 1000);
	assert_true(r.out.flags & OUT_LINKS_CUT);
	assert_false(r.out.flags & OUT_TEXT_CUT);
	assert_int_equal(r.out.text_n, 2 * MILLION - 1);
	done(&r, &body);
}

static void a_million_tags_inside_each_other_are_no_burden(void **state)
{
	static const char *const parts[] = {"<div>",  "<b>",   "<svg>",        "<table><tr><td>",
					    "<a>",    "<h1>",  "<p hidden>",   "<font color=x>",
					    "<math>", "<pre>", "<blockquote>", "<foreignObject>"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct str body = repeat("a ", parts[i], MILLION / 4, "<p>end");
		struct reading r;
		read_with(&r, body, PAGE_MEMORY, 0);
		assert_true(r.ret.tokens >= MILLION / 4);
		assert_true(str_ends(text_of(&r), STR("end")));
		done(&r, &body);
	}
}

/* Hidden in hidden: the innermost end does not show the outermost. */
static void what_is_hidden_deep_down_stays_so(void **state)
{
	struct str body = repeat("<ul>", "<li hidden>x<ul>", 10000, "");
	struct reading r;
	(void)state;
	read_with(&r, body, PAGE_MEMORY, 0);
	assert_int_equal(r.out.text_n, 0);
	done(&r, &body);
}

static void endless_attributes_are_cut_off(void **state)
{
	struct str body = repeat("<a href=x ", "a b c=d ", MILLION, "title=late>text</a>");
	struct reading r;
	(void)state;
	read_with(&r, body, PAGE_MEMORY, 0);
	assert_int_equal(r.out.links, 1);
	assert_str(text_of(&r), "text");
	done(&r, &body);

	body = repeat("<a href='", "0123456789", MILLION, "'>text</a>");
	read_with(&r, body, PAGE_MEMORY, 0);
	assert_int_equal(r.out.links, 0);
	done(&r, &body);
}

static void values_are_no_longer_than_they_may_be(void **state)
{
	static const char *const heads[] = {"<title>",
					    "<h1>",
					    "<a href=x>",
					    "<b>",
					    "<meta name=description content='",
					    "<meta name=keywords content='",
					    "<meta name=robots content='noindex,",
					    "<img alt='"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct str body = repeat(heads[i], "w\xc3\xa9 ", 20000, "'></title></h1></a></b>");
		struct reading r;
		read_with(&r, body, PAGE_MEMORY, 0);
		out_end(&r.out);
		assert_true(r.out.n > 0);
		for (size_t k = 0; k < r.out.n; k++) {
			assert_true(r.out.attr[k].value.n <= OUT_VALUE_MAX);
			assert_true(str_utf8(r.out.attr[k].value));
		}
		done(&r, &body);
	}
}

/* With every size of the room the text is as much of the whole text as fits. */
static void text_ends_where_the_room_does(void **state)
{
	static const char page[] =
		"<p>One  two\xc3\xa9\xc2\xa0three <b>\xe6\x97\xa5\xe6\x9c\xac</b> "
		"and  a much longer word: incomprehensibilities\xc3\xa9.<p>End";
	struct reading whole, part;
	(void)state;
	read_with(&whole, str_of(page), PAGE_MEMORY, 0);
	for (size_t size = 64; size < 400; size++) {
		read_with(&part, str_of(page), size, 0);
		struct str text = text_of(&part);
		assert_true(part.out.text_n <= part.out.text_max);
		assert_true(str_utf8(text));
		assert_true(str_starts(text_of(&whole), text));
		assert_true(text.n == whole.out.text_n || (part.out.flags & OUT_TEXT_CUT));
		assert_true(text.n == whole.out.text_n || text.n + 4 > part.out.text_max);
		mem_free(&part.memory);
	}
	mem_free(&whole.memory);
}

/* Tokens and text do not depend on where the blocks of the tokenizer end. */
static void a_page_is_the_same_wherever_it_lies(void **state)
{
	static const char page[] =
		"<p class='x &amp; y'>T\xc3\xa9xt  of <a href='a&amp;b'>a link</a>"
		"\r\n<!-- c --><script>if (a<b)</script>\xc2\xa0 end &copy;</p>";
	struct reading want;
	(void)state;
	read_with(&want, str_of(page), PAGE_MEMORY, 0);
	for (size_t pad = 0; pad < sizeof page; pad++) {
		struct str body = repeat("<!--", "x", (32 << 10) - 4 - pad, "-->");
		char *both = mem_alloc(body.n + sizeof page);
		struct reading got;
		memcpy(mempcpy(both, body.p, body.n), page, sizeof page - 1);
		read_with(&got, (struct str){both, body.n + sizeof page - 1}, PAGE_MEMORY, 0);
		assert_true(str_eq(text_of(&got), text_of(&want)));
		assert_int_equal(got.out.n, want.out.n);
		for (size_t i = 0; i < got.out.n; i++)
			assert_true(str_eq(got.out.attr[i].value, want.out.attr[i].value));
		mem_free(&both);
		done(&got, &body);
	}
	mem_free(&want.memory);
}

static void every_element_is_found_by_its_name(void **state)
{
	(void)state;
	for (int e = EL_OTHER + 1; e < HTML_ELEMENT_COUNT; e++)
		assert_int_equal(html_element_of(html_elements[e].name), e);
	assert_int_equal(html_element_of(STR("")), EL_OTHER);
	assert_int_equal(html_element_of(STR("div2")), EL_OTHER);
	assert_int_equal(html_element_of(STR("blockquot")), EL_OTHER);
}

static void copying_words_agrees_with_its_plain_twin(void **state)
{
	static const char bytes[] = "abcdefg   \n\t\0\x7f\xc2\xa0\xc3\xe2\xe3\xef";
	uint64_t seed = 9;
	char text[HTML_STEP];
	(void)state;
	for (int i = 0; i < 200000; i++) {
		size_t n = dice(&seed) % (HTML_STEP + 1);
		bool after_blank = dice(&seed) % 2 == 1;
		for (size_t k = 0; k < sizeof text; k++)
			text[k] = bytes[dice(&seed) % (i % 2 ? 8 : sizeof bytes - 1)];
		assert_int_equal(html_copyable(text, n, after_blank),
				 html_copyable_portable(text, n, after_blank));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hundred_megabytes_fill_the_room_and_no_more),
		cmocka_unit_test(a_million_links_stop_at_the_limit),
		cmocka_unit_test(a_million_tags_inside_each_other_are_no_burden),
		cmocka_unit_test(what_is_hidden_deep_down_stays_so),
		cmocka_unit_test(endless_attributes_are_cut_off),
		cmocka_unit_test(values_are_no_longer_than_they_may_be),
		cmocka_unit_test(text_ends_where_the_room_does),
		cmocka_unit_test(a_page_is_the_same_wherever_it_lies),
		cmocka_unit_test(every_element_is_found_by_its_name),
		cmocka_unit_test(copying_words_agrees_with_its_plain_twin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
