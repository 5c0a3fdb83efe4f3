#include "net/xml.h"

#include "../unit.h"

#include <inttypes.h>
#include <stdio.h>

/* All that comes out, as text: (name@uri attr=value ...) text /name, and ! line:column words. */
struct trace {
	struct buf out;
	struct xml_stream *x;
	bool resync, stop, refuse; /* refuse: <no> */
	unsigned messages;
};

static void trace_start(void *ctx, const struct xml_tag *tag)
{
	struct trace *t = ctx;
	buf_printf(&t->out, "(%u:" STR_FMT, tag->depth, STR_ARG(tag->name));
	if (tag->uri.n)
		buf_printf(&t->out, "@" STR_FMT, STR_ARG(tag->uri));
	for (size_t i = 0; i < tag->n; i++)
		buf_printf(&t->out, " " STR_FMT "=" STR_FMT, STR_ARG(tag->attr[i].name),
			   STR_ARG(tag->attr[i].value));
	buf_add_byte(&t->out, ')');
	if (t->stop)
		xml_stream_stop(t->x);
	if (t->refuse && str_is(tag->name, "no"))
		xml_stream_refuse(t->x, "not this");
}

static void trace_text(void *ctx, struct str text)
{
	struct trace *t = ctx;
	buf_add_str(&t->out, text);
}

static void trace_end(void *ctx, const struct xml_tag *tag)
{
	struct trace *t = ctx;
	buf_printf(&t->out, "/%u:" STR_FMT ";", tag->depth, STR_ARG(tag->name));
	t->messages += tag->depth == 0;
}

static void trace_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	struct trace *t = ctx;
	buf_printf(&t->out, "!%" PRIu64 ":%" PRIu64 " %s;", line, column, err->msg);
	if (t->resync)
		xml_stream_resync(t->x);
}

static const struct xml_ops trace_ops = {trace_start, trace_text, trace_end, trace_error};
static const struct xml_limits limits = {
	.depth = 4, .attrs = 3, .token_max = 4096, .message_max = 16384, .bindings = 4};

static void trace_open(struct trace *t)
{
	*t = (struct trace){.out = BUF_INIT(1 << 20)};
	t->x = xml_stream_new(&limits, &trace_ops, t);
}

static void trace_close(struct trace *t)
{
	xml_stream_free(&t->x);
	buf_free(&t->out);
}

/* In pieces of n bytes, after a first one of `first`. */
static int trace_put(struct trace *t, struct str text, size_t first, size_t n)
{
	int rc = 0;
	for (size_t at = 0; at < text.n && rc == 0; at += at ? n : first)
		rc = xml_stream_put(t->x, str_head(str_from(text, at), at ? n : first));
	return rc;
}

static void says(const char *text, const char *want)
{
	struct trace t;
	trace_open(&t);
	int rc = xml_stream_put(t.x, str_of(text));
	assert_str(buf_str(&t.out), want);
	assert_int_equal(rc, strchr(want, '!') ? -1 : 0);
	trace_close(&t);
}

static void says_and_goes_on(const char *text, const char *want)
{
	struct trace t;
	for (size_t n = 1; n <= strlen(text); n += n < 8 ? 1 : 1000) {
		trace_open(&t);
		t.resync = true;
		assert_int_equal(trace_put(&t, str_of(text), n, n), 0);
		assert_str(buf_str(&t.out), want);
		trace_close(&t);
	}
}

static void each_top_level_element_is_a_message(void **state)
{
	(void)state;
	says("<a/><b c='1'>x<d/>y</b>\n\n <?xml version='1.0'?><e></e>",
	     "(0:a)/0:a;(0:b c=1)x(1:d)/1:d;y/0:b;(0:e)/0:e;");
	says("<!-- before --><?go on?><a/><!-- after -->", "(0:a)/0:a;");
	says("<a>&lt;&#65;&#x42;&amp;<![CDATA[<&]]></a>", "(0:a)<AB&<&/0:a;");
}

static void where_the_stream_is_cut_makes_no_difference(void **state)
{
	(void)state;
	struct str text =
		STR("<?xml version='1.0'?>\r\n<l:a xmlns:l='urn:x' b='&lt;\xc3\xa4'>t\xc3"
		    "\xa4&#10;<!-- > --><c d=\"/>\"/>]]&gt;</l:a ><l:b\n/>\r\n<e>\r\n</f>");
	struct trace whole, cut;
	trace_open(&whole);
	assert_int_equal(xml_stream_put(whole.x, text), -1);
	assert_true(str_find(buf_str(&whole.out), STR("!5:3 ")) < whole.out.n);
	for (size_t first = 1; first < text.n; first++) {
		size_t then[] = {1, 2, text.n};
		for (size_t i = 0; i < ARRAY_LEN(then); i++) {
			trace_open(&cut);
			assert_int_equal(trace_put(&cut, text, first, then[i]), -1);
			assert_str(buf_str(&cut.out), buf_text(&whole.out));
			trace_close(&cut);
		}
	}
	trace_close(&whole);
}

/* Whole it may be plain and need no expat; a byte at a time it is expat's. */
static void a_plain_message_means_what_it_means_to_expat(void **state)
{
	static const char *const texts[] = {
		"<a/>",
		"<a />",
		"<a  b=\"1\"   c-d.e_2=\"x'y\"  />",
		"<a b=\"\"/><c d=\"2\"/>",
		"<a b=\"&quot;&amp;&lt;&gt;&apos;x\" c=\"&amp;amp;\"/>",
		"<a b=\"/\"/>",
		"<a b=\"1\" c=\"2\" d=\"3\"/>",
		"<a b=\"1\" c=\"2\" d=\"3\" e=\"4\"/>",
		"<a b=\"1\" b=\"2\"/>",
		"<a b=\"1\"c=\"2\"/>",
		"<a b=\"x>y\"/>",
		"<a b=\"x/>y\"/>",
		"<a b=\"<\"/>",
		"<a b='1'/>",
		"<a b = \"1\"/>",
		"<a b=1/>",
		"<a b/>",
		"<a/b=\"1\"/>",
		"<1/>",
		"<a 1=\"1\"/>",
		"< a/>",
		"</a>",
		"</>",
		"<a/ >",
		"<a b=\"1\"/ >",
		"<a>/>",
		"<a b=\"1\">x</a>",
		"<a b=\"&#65;\"/>",
		"<a b=\"&x;\"/>",
		"<a b=\"&\"/>",
		"<a b=\"&quot\"/>",
		"<a b=\"\t\"/>",
		"<a b=\"\x01\"/>",
		"<a b=\"\xc3\xa4\"/>",
		"<\xc3\xa4/>",
		"<a b=\"\x7f\"/>",
		"<a\tb=\"1\"/>",
		"<a b=\"1\"\n/>",
		"<a xmlns=\"u\"/><b/>",
		"<a xmlns:p=\"u\"/><p:b c=\"1\"/>",
		"<p:a/>",
		"<a p:b=\"1\"/>",
		"<a xmlnsx=\"1\"/>",
		"<!a/>",
		"<?a/>",
		"<!---->/>",
		"<a b=\"1/>",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct trace whole, cut;
		char text[256];
		snprintf(text, sizeof text, "<l k=\"1\"/>\r\n %s\n<z y=\"1\"/>\n", texts[i]);
		trace_open(&whole);
		trace_open(&cut);
		whole.resync = cut.resync = true;
		assert_int_equal(xml_stream_put(whole.x, str_of(text)), 0);
		assert_int_equal(trace_put(&cut, str_of(text), 1, 1), 0);
		assert_str(buf_str(&whole.out), buf_text(&cut.out));
		trace_close(&whole);
		trace_close(&cut);
	}
}

static void a_plain_message_may_be_refused(void **state)
{
	(void)state;
	struct trace t;
	for (size_t n = 1; n < 100; n += 50) {
		trace_open(&t);
		t.refuse = t.resync = true;
		assert_int_equal(trace_put(&t, STR("<a/>\n  <no b=\"1\"/> <c/>\n<d/>"), n, n), 0);
		assert_str(buf_str(&t.out), "(0:a)/0:a;(0:no b=1)!2:3 not this;(0:d)/0:d;");
		trace_close(&t);
	}
}

/* Long enough to be gathered, with > in its value and in comments. */
static void a_message_is_there_with_its_last_byte(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(SIZE_MAX);
	buf_add_text(&text, "<!--");
	buf_fill(&text, '>', 2000);
	buf_add_text(&text, "--><a b='\"");
	buf_fill(&text, '>', 2000);
	buf_add_text(&text, "'>&amp;<c/></a>");
	for (size_t n = 1; n < 3000; n += n < 10 ? 1 : 997) {
		struct trace t;
		trace_open(&t);
		assert_int_equal(trace_put(&t, str_head(buf_str(&text), text.n - 1), n, n), 0);
		assert_int_equal(t.messages, 0);
		assert_int_equal(xml_stream_put(t.x, STR(">")), 0);
		assert_int_equal(t.messages, 1);
		trace_close(&t);
	}
	buf_free(&text);
}

static void children_are_handed_over_as_they_arrive(void **state)
{
	(void)state;
	struct trace t;
	trace_open(&t);
	assert_int_equal(xml_stream_put(t.x, STR("<a><b>text")), 0);
	assert_str(buf_str(&t.out), "(0:a)(1:b)text");
	assert_int_equal(xml_stream_put(t.x, STR("</b>")), 0);
	assert_str(buf_str(&t.out), "(0:a)(1:b)text/1:b;");
	trace_close(&t);
}

static void a_prefix_stays_bound_for_the_stream(void **state)
{
	(void)state;
	says("<p:a xmlns:p='u'/><p:a/>", "(0:a@u)/0:a;(0:a@u)/0:a;");
	says("<a><p:b xmlns:p='u'/></a><p:c/>", "(0:a)(1:b@u)/1:b;/0:a;(0:c@u)/0:c;");
	says("<p:a xmlns:p='u'/><p:a xmlns:p='v'/><p:a/>", "(0:a@u)/0:a;(0:a@v)/0:a;(0:a@v)/0:a;");
	/* inside its element only, where there was one before */
	says("<p:a xmlns:p='u'><p:b xmlns:p='v'/><p:c/></p:a><p:d/>",
	     "(0:a@u)(1:b@v)/1:b;(1:c@u)/1:c;/0:a;(0:d@u)/0:d;");
	says("<a xmlns='u'><b/><c xmlns=''/></a><a/>",
	     "(0:a@u)(1:b@u)/1:b;(1:c)/1:c;/0:a;(0:a)/0:a;");
	says("<a p:b='1'/>", "(0:a p:b=1)/0:a;");
	says("<a/><p:a/>", "(0:a)/0:a;!1:5 the prefix of an element was never bound;");
	says("<p:a xmlns:p='u'><b xmlns:p=''><p:c/></b></p:a>",
	     "(0:a@u)(1:b)!1:32 the prefix of an element was never bound;");
	says("<:a/>", "!1:1 the prefix of an element was never bound;");
	says("<a xmlns:p='1' xmlns:q='2' xmlns:r='3'/><a xmlns:s='4'/><a xmlns:t='5'/>",
	     "(0:a)/0:a;(0:a)/0:a;!1:57 too many prefixes are bound;");
}

/* What an element bound inside of a message that did not end is not left behind. */
static void an_error_leaves_the_prefixes_as_they_were(void **state)
{
	(void)state;
	says_and_goes_on("<p:a xmlns:p='u'/>\n<a><p:b xmlns:p='v'></a>\n<p:c/>",
			 "(0:a@u)/0:a;(0:a)(1:b@v)!2:23 mismatched tag;(0:c@u)/0:c;");
}

static void a_doctype_is_refused_and_so_is_every_entity(void **state)
{
	(void)state;
	says("<!DOCTYPE a><a/>", "!1:12 a DOCTYPE is not taken;");
	says("<!DOCTYPE a [<!ENTITY b 'cccc'><!ENTITY d '&b;&b;&b;'>]><a>&d;</a>",
	     "!1:13 a DOCTYPE is not taken;");
	says("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "!1:40 a DOCTYPE is not taken;");
	says("<a>&nbsp;</a>", "(0:a)!1:4 undefined entity;");
	says("<a b='&c;'/>", "!1:1 undefined entity;");
	says("<?xml version='1.0' encoding='UTF-16'?><a/>", "(0:a)/0:a;");
}

static void what_is_beyond_the_limits_is_refused(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(SIZE_MAX);
	says("<a><b><c><d/></c></b></a>", "(0:a)(1:b)(2:c)(3:d)/3:d;/2:c;/1:b;/0:a;");
	says("<a><b><c><d><e/>", "(0:a)(1:b)(2:c)(3:d)!1:13 elements are nested too deeply;");
	says("<a b='' c='' d=''/>", "(0:a b= c= d=)/0:a;");
	says("<a b='' c='' d='' e=''/>", "!1:1 an element has too many attributes;");
	says("<a b='1' b='2'/>", "!1:10 duplicate attribute;");
	/* a token, in one piece and in small ones */
	const char *begin[] = {"<a b='", "<!--", "<?p ", "&", "<", "<a b='\"", "<a><![CDATA["};
	for (size_t i = 0; i < ARRAY_LEN(begin); i++) {
		for (size_t n = 1; n < 20000; n = n * 7 + 3) {
			struct trace t;
			trace_open(&t);
			buf_clear(&text);
			buf_add_text(&text, begin[i]);
			buf_fill(&text, 'x', 30000);
			assert_int_equal(trace_put(&t, buf_str(&text), n, n), -1);
			assert_true(str_find(buf_str(&t.out), STR("!")) < t.out.n);
			trace_close(&t);
		}
	}
	/* a whole message, of which no token is long */
	for (size_t n = 1; n < 40000; n = n * 7 + 3) {
		struct trace t;
		trace_open(&t);
		buf_clear(&text);
		buf_add_text(&text, "<a>");
		while (text.n < limits.message_max + 100)
			buf_add_text(&text, "<b/>");
		assert_int_equal(trace_put(&t, buf_str(&text), n, n), -1);
		assert_true(str_ends(buf_str(&t.out), STR("!1:16385 a message is too long;")));
		trace_close(&t);
	}
	buf_free(&text);
}

static void a_message_may_be_as_long_as_the_limit(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(SIZE_MAX);
	struct trace t;
	trace_open(&t);
	buf_add_text(&text, "<a>");
	buf_fill(&text, 'x', limits.message_max - 7);
	buf_add_text(&text, "</a>");
	for (int i = 0; i < 3; i++)
		assert_int_equal(xml_stream_put(t.x, buf_str(&text)), 0);
	assert_int_equal(t.messages, 3);
	buf_clear(&text);
	buf_add_text(&text, "<a>");
	buf_fill(&text, 'x', limits.message_max - 6);
	buf_add_text(&text, "</a>");
	assert_int_equal(xml_stream_put(t.x, buf_str(&text)), -1);
	trace_close(&t);
	buf_free(&text);
}

static void errors_are_found_by_line_and_column_of_the_stream(void **state)
{
	(void)state;
	says("<a/>\n<b>\n  <c></b>", "(0:a)/0:a;(0:b)\n  (1:c)!3:8 mismatched tag;");
	says("<a/>\r\n\r\n\r<\xc3\xa4/>x\n",
	     "(0:a)/0:a;(0:\xc3\xa4)/0:\xc3\xa4;!4:5 syntax error;");
	says("hello\n", "!1:1 syntax error;");
	says("</a>", "!1:2 not well-formed (invalid token);");
	says("<a>\xff</a>", "(0:a)!1:4 not well-formed (invalid token);");
	says("<a>\x01</a>", "(0:a)!1:4 not well-formed (invalid token);");
}

/* As messages begin in UTF-16, which expat would take. */
static void what_is_not_utf8_is_refused(void **state)
{
	(void)state;
	says_and_goes_on("\xff\xfe<\n<a/>", "!1:1 not UTF-8;(0:a)/0:a;");
	says_and_goes_on("\xfe\xff\n<a/>", "!1:1 not UTF-8;(0:a)/0:a;");
	struct str utf16[] = {{"<\0a\0/\0>\0\n<a/>", 13}, {"\0<\0a\0/\0>\n<a/>", 13}};
	for (size_t i = 0; i < ARRAY_LEN(utf16); i++) {
		for (size_t n = 1; n < utf16[i].n; n++) {
			struct trace t;
			trace_open(&t);
			t.resync = true;
			assert_int_equal(trace_put(&t, utf16[i], n, n), 0);
			assert_str(buf_str(&t.out),
				   i ? "!1:1 not UTF-8;(0:a)/0:a;" : "!1:2 not UTF-8;(0:a)/0:a;");
			trace_close(&t);
		}
	}
	says("\xef\xbb\xbf<a/>", "(0:a)/0:a;");
}

static void after_an_error_the_next_line_is_a_message(void **state)
{
	(void)state;
	says_and_goes_on("<a/> hello <b/>\r\n<c/>\nwho <d/>\n\n<e/>",
			 "(0:a)/0:a;!1:6 syntax error;(0:c)/0:c;"
			 "!3:1 syntax error;(0:e)/0:e;");
	/* a tag over two lines that is wrong as a whole: the line with its end is skipped */
	says_and_goes_on("<a\nb='1' b='2'/><c/>\n<d/>", "!2:7 duplicate attribute;(0:d)/0:d;");
	says_and_goes_on("<a b='\n<c/>\n<d/>", "!2:1 not well-formed (invalid token);(0:d)/0:d;");
}

static void one_who_stops_hears_nothing_more(void **state)
{
	(void)state;
	struct trace t;
	trace_open(&t);
	t.stop = true;
	assert_int_equal(xml_stream_put(t.x, STR("<a/><b/>x")), -1);
	assert_str(buf_str(&t.out), "(0:a)");
	assert_int_equal(xml_stream_put(t.x, STR("<c/>")), -1);
	assert_str(buf_str(&t.out), "(0:a)");
	trace_close(&t);
}

static void attributes_are_found_by_name(void **state)
{
	(void)state;
	struct xml_attr attr[] = {{STR("id"), STR("7")}, {STR("file"), STR("")}};
	struct xml_tag tag = {.attr = attr, .n = 2};
	bool there;
	assert_str(xml_attr(&tag, "id", NULL), "7");
	assert_str(xml_attr(&tag, "file", &there), "");
	assert_true(there);
	assert_str(xml_attr(&tag, "url", &there), "");
	assert_false(there);
}

/* Every byte alone and after others comes back as it was, or as U+FFFD. */
static void what_is_escaped_comes_back(void **state)
{
	(void)state;
	static const struct {
		const char *text, *back;
	} cases[] = {
		{"a<b>&\"'\t\r\n c", NULL},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", NULL},
		{"\x01\x1f\x7f", "\xef\xbf\xbd\xef\xbf\xbd\x7f"},
		{"a\xff\xc3", "a\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xef\xbf\xbe\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
					     "\xef\xbf\xbd\xef\xbf\xbd"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct trace t;
		struct buf text = BUF_INIT(SIZE_MAX), want = BUF_INIT(SIZE_MAX);
		const char *back = cases[i].back ? cases[i].back : cases[i].text;
		trace_open(&t);
		buf_add_text(&text, "<a");
		xml_add_attr(&text, "b", str_of(cases[i].text));
		xml_add_number(&text, "c", 42);
		buf_add_byte(&text, '>');
		xml_escape(&text, str_of(cases[i].text));
		buf_add_text(&text, "</a>");
		assert_int_equal(xml_stream_put(t.x, buf_str(&text)), 0);
		buf_printf(&want, "(0:a b=%s c=42)%s/0:a;", back, back);
		assert_str(buf_str(&t.out), buf_text(&want));
		buf_free(&text);
		buf_free(&want);
		trace_close(&t);
	}
	struct buf text = BUF_INIT(100);
	xml_escape(&text, (struct str){"a\0b", 3});
	assert_str(buf_str(&text), "a\xef\xbf\xbd"
				   "b");
	buf_free(&text);
}

static void one_may_stop_at_the_end_of_a_message(void **state)
{
	struct str text = STR(" <a p='1'/><p:b xmlns:p='u'>x</p:b>\n<c/><d");
	static const size_t ends[] = {11, 35, 40, 42};
	struct trace t;
	(void)state;
	trace_open(&t);
	for (size_t i = 0, at = 0; i < ARRAY_LEN(ends); i++) {
		size_t n = 0;
		assert_int_equal(xml_stream_put_message(t.x, str_from(text, at), &n), 0);
		at += n;
		assert_int_equal(at, ends[i]);
		assert_int_equal(t.messages, MIN(i + 1, 3));
	}
	trace_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_top_level_element_is_a_message),
		cmocka_unit_test(where_the_stream_is_cut_makes_no_difference),
		cmocka_unit_test(a_plain_message_means_what_it_means_to_expat),
		cmocka_unit_test(a_plain_message_may_be_refused),
		cmocka_unit_test(a_message_is_there_with_its_last_byte),
		cmocka_unit_test(children_are_handed_over_as_they_arrive),
		cmocka_unit_test(a_prefix_stays_bound_for_the_stream),
		cmocka_unit_test(an_error_leaves_the_prefixes_as_they_were),
		cmocka_unit_test(a_doctype_is_refused_and_so_is_every_entity),
		cmocka_unit_test(what_is_beyond_the_limits_is_refused),
		cmocka_unit_test(a_message_may_be_as_long_as_the_limit),
		cmocka_unit_test(errors_are_found_by_line_and_column_of_the_stream),
		cmocka_unit_test(what_is_not_utf8_is_refused),
		cmocka_unit_test(after_an_error_the_next_line_is_a_message),
		cmocka_unit_test(one_who_stops_hears_nothing_more),
		cmocka_unit_test(one_may_stop_at_the_end_of_a_message),
		cmocka_unit_test(attributes_are_found_by_name),
		cmocka_unit_test(what_is_escaped_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
