#include "net/html.h"

#include "../dies.h"
#include "../unit.h"

static struct buf out = BUF_INIT(1 << 20);
static struct html h;

static int begin(void **state)
{
	(void)state;
	buf_clear(&out);
	h = HTML_INIT(&out);
	return 0;
}

static int end(void **state)
{
	(void)state;
	buf_free(&out);
	return 0;
}

static void text_is_escaped(void **state)
{
	(void)state;
	html_put_text(&h, "b", "<script>alert(\"1\" & '2')</script>");
	assert_string_equal(buf_text(&out),
			    "<b>&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)"
			    "&lt;/script&gt;</b>");
}

static void values_of_attributes_are_escaped(void **state)
{
	(void)state;
	html_open(&h, "a");
	html_attr_text(&h, "title", "\"><script>");
	html_attr(&h, "class", (struct str){"a\0b", 3});
	html_close(&h, "a");
	assert_string_equal(buf_text(&out),
			    "<a title=\"&quot;&gt;&lt;script&gt;\" class=\"a\xef\xbf\xbd"
			    "b\"></a>");
}

static void what_is_no_utf8_is_replaced(void **state)
{
	(void)state;
	html_text(&h, "a\xff\xc3(\xe2\x82");
	html_text(&h, "\xc3\xa9\xf0\x9f\x98\x80");
	html_text(&h, "\xed\xa0\x80\r\x7f\t\n");
	assert_string_equal(buf_text(&out),
			    "a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd"
			    "\xc3\xa9\xf0\x9f\x98\x80"
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\t\n");
}

static void addresses_that_run_are_not_written(void **state)
{
	static const struct {
		const char *address;
		bool kept;
	} samples[] = {
		{"javascript:alert(1)", false},
		{"JavaScript:alert(1)", false},
		{" javascript:alert(1)", false},
		{"java\tscript:alert(1)", false},
		{"data:text/html,x", false},
		{"vbscript:x", false},
		{":x", false},
		{"http://example.org/a:b", true},
		{"HTTPS://example.org/", true},
		{"ftp://example.org/", true},
		{"mailto:a@example.org", true},
		{"/a/b?x=javascript:y", true},
		{"a/b:c", true},
		{"#a:b", true},
		{"?a:b", true},
		{"", true},
		{"//example.org/", true},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		buf_clear(&out);
		html_open(&h, "img");
		html_attr_text(&h, "src", samples[i].address);
		bool kept = !strstr(buf_text(&out), "src=\"about:invalid\"");
		if (kept != samples[i].kept)
			fail_msg("'%s' came out as %s", samples[i].address, buf_text(&out));
		h = HTML_INIT(&out);
	}
}

static void elements_nest_and_void_ones_do_not(void **state)
{
	(void)state;
	html_open(&h, "div");
	html_open(&h, "br");
	html_open(&h, "i");
	html_printf(&h, "%d%%", 5);
	html_close(&h, "i");
	html_open(&h, "meta");
	html_attr_text(&h, "charset", "utf-8");
	html_close(&h, "div");
	assert_string_equal(buf_text(&out), "<div><br><i>5%</i><meta charset=\"utf-8\"></div>\n");
}

static void a_page_begins_with_what_every_page_has(void **state)
{
	(void)state;
	html_begin(&h);
	html_put_text(&h, "title", "t");
	html_close(&h, "head");
	html_close(&h, "html");
	assert_string_equal(buf_text(&out),
			    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
			    "<title>t</title>\n</head>\n</html>\n");
}

static void long_text_is_printed_whole(void **state)
{
	(void)state;
	char text[2000];
	memset(text, '<', sizeof text);
	text[sizeof text - 1] = 0;
	html_printf(&h, "%s", text);
	assert_int_equal(out.n, 4 * (sizeof text - 1));
}

static void open_script(void)
{
	html_open(&h, "script");
}
static void open_name(void)
{
	html_open(&h, "a b");
}
static void set_handler(void)
{
	html_open(&h, "a");
	html_attr_text(&h, "onclick", "x");
}
static void set_style(void)
{
	html_open(&h, "a");
	html_attr_text(&h, "style", "x");
}
static void set_late(void)
{
	html_open(&h, "a");
	html_text(&h, "x");
	html_attr_text(&h, "class", "x");
}
static void close_other(void)
{
	html_open(&h, "a");
	html_close(&h, "b");
}
static void nest_deep(void)
{
	for (int i = 0; i <= HTML_DEPTH; i++)
		html_open(&h, "div");
}

static void what_could_run_or_break_a_page_is_a_broken_promise(void **state)
{
	(void)state;
	assert_true(dies(open_script));
	assert_true(dies(open_name));
	assert_true(dies(set_handler));
	assert_true(dies(set_style));
	assert_true(dies(set_late));
	assert_true(dies(close_other));
	assert_true(dies(nest_deep));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(text_is_escaped),
		TEST(values_of_attributes_are_escaped),
		TEST(what_is_no_utf8_is_replaced),
		TEST(addresses_that_run_are_not_written),
		TEST(elements_nest_and_void_ones_do_not),
		TEST(a_page_begins_with_what_every_page_has),
		TEST(long_text_is_printed_whole),
		TEST(what_could_run_or_break_a_page_is_a_broken_promise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
