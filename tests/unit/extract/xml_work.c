/* How much of a document expat looks at, counted: what is left of an incomplete token is looked at
 * again with each piece that follows. A call of expat's goes through here. */
#include <dlfcn.h>

#define XML_DTD
#include <expat.h>

#include "run.h"

static uint64_t given, looked_at;

enum XML_Status XML_Parse(XML_Parser parser, const char *s, int len, int last)
{
	static enum XML_Status (*real)(XML_Parser, const char *, int, int);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "XML_Parse");
	XML_Index at = XML_GetCurrentByteIndex(parser);
	looked_at += (at < 0 ? 0 : given - (uint64_t)at) + (uint64_t)len;
	given += (uint64_t)len;
	return real(parser, s, len, last);
}

static void run_counted(struct run *r, const char *type, struct str body)
{
	given = looked_at = 0;
	run(r, "http://a/", type, body, "X");
	assert_true(given > 0);
}

/* A token of n bytes in the middle of a document. */
static void make_document(struct buf *to, const char *before, const char *fill, const char *after,
			  size_t n)
{
	buf_clear(to);
	buf_add_text(to, before);
	while (to->n < n)
		buf_add_text(to, fill);
	buf_add_text(to, after);
}

static const struct {
	const char *before, *fill, *after;
} tokens[] = {
	{"<a>x<!--", "comment ", "-->y</a>"},
	{"<a>x<!--", "\n", "-->y</a>"},
	{"<a>x<b c='", "value ", "'/>y</a>"},
	{"<a>x<b c='", "&lt;", "'/>y</a>"},
	{"<a>x<?c ", "instruction ", "?>y</a>"},
	{"<a>x<", "name", "/>y</a>"},
	{"<a>x</", "name", ">y</a>"},
	{"<a>x<b ", " \n", "/>y</a>"},
	{"<!DOCTYPE a [<!ENTITY e '", "entity ", "'>]><a>xy</a>"},
	{"<!DOCTYPE a [<!--", "comment ", "-->]><a>xy</a>"},
	{"<!DOCTYPE a SYSTEM '", "address", "'><a>xy</a>"},
	{"<!--", "comment ", "--><a>xy</a>"},
	{"<a>xy</a><!--", "comment ", "-->"},
	{"<a>x<![CDATA[", "text ", "]]>y</a>"},
	{"<a>x", "text", "y</a>"},
	{"<a>x<!--", "comment ", ""},
	{"<rss><channel><item><link>1</link></item><!--", "comment ", "--></channel></rss>"},
	{"<urlset><url><loc>1</loc></url><!--", "comment ", "--></urlset>"},
};

static void a_long_token_is_looked_at_a_few_times(void **state)
{
	static const char *const types[] = {"text/xml", "text/xml; charset=iso-8859-1",
					    "text/xml; charset=utf-16be"};
	CLEANUP(buf_free) struct buf body = BUF_INIT(16 << 20), wide = BUF_INIT(16 << 20);
	size_t n = 512 << 10;
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		make_document(&body, tokens[i].before, tokens[i].fill, tokens[i].after, n);
		buf_clear(&wide);
		buf_add_text(&wide, "\376\377");
		for (size_t k = 0; k < body.n; k++)
			buf_add(&wide, (char[]){0, body.p[k]}, 2);
		for (size_t k = 0; k < (unit_thorough() ? ARRAY_LEN(types) : 1); k++) {
			run_counted(*state, types[k], buf_str(k < 2 ? &body : &wide));
			if (looked_at > 3 * body.n)
				fail_msg("%s...: %zu bytes are %llu", tokens[i].before, body.n,
					 (unsigned long long)looked_at);
		}
	}
}

static void what_follows_a_long_token_is_read(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(16 << 20);
	make_document(&body, "<a>x<!--", "comment ", "--> y</a>", 2 << 20);
	run_counted(*state, "text/xml", buf_str(&body));
	assert_string_equal(buf_text(&((struct run *)*state)->lines), "Xx y|");
	make_document(&body, "<rss><channel><item a='", "value ",
		      "'><link>1</link></item></channel></rss>", 2 << 20);
	assert_string_equal(run(*state, "http://a/", "text/xml", buf_str(&body), "R"),
			    "Rhttp://a/1 i|");
}

/* Beyond some megabytes it is not worth the memory. */
static void a_token_has_an_end(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(16 << 20);
	struct run *r = *state;
	make_document(&body, "<a>x<!--", "comment ", "-->y</a>", 10 << 20);
	run_counted(r, "text/xml", buf_str(&body));
	assert_string_equal(buf_text(&r->lines), "Xx|");
	assert_str(r->result.remark, "XML: a tag, comment or declaration is too long in line 1, "
				     "the rest is left out");
	assert_true(given < 9 << 20);
}

/* expat compares each declared attribute with those before it, and goes through all of them at
 * each element. */
static void declared_attributes_are_bounded(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(16 << 20);
	struct run *r = *state;
	buf_add_text(&body, "<!DOCTYPE a [<!ATTLIST a");
	for (int i = 0; i < 9000; i++)
		buf_printf(&body, " a%d CDATA ''", i);
	buf_add_text(&body, ">]><a>x</a>");
	assert_string_equal(run(r, "http://a/", "text/xml", buf_str(&body), "X"), "");
	assert_str(r->result.remark,
		   "XML: too many attributes are declared in line 1, the rest is left out");

	buf_clear(&body);
	buf_add_text(&body, "<!DOCTYPE a [<!ATTLIST b");
	for (int i = 0; i < 5000; i++)
		buf_printf(&body, " a%d NMTOKEN #IMPLIED", i);
	buf_add_text(&body, ">]><a>x");
	for (int i = 0; i < 100000; i++)
		buf_add_text(&body, "<b/>");
	buf_add_text(&body, "y</a>");
	assert_string_equal(run(r, "http://a/", "text/xml", buf_str(&body), "X"), "Xx|");
	assert_str(r->result.remark, "XML: too many elements for as many declared attributes in "
				     "line 1, the rest is left out");
}

/* A default value is read at each element that has it, however short the element is. */
static void long_default_values_are_read_a_few_times(void **state)
{
	static const char *const names[] = {"xmlns", "xmlns:p", "xml:base", "href"};
	CLEANUP(buf_free) struct buf body = BUF_INIT(16 << 20);
	struct run *r = *state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		buf_clear(&body);
		buf_printf(&body, "<!DOCTYPE a [<!ATTLIST b %s CDATA '", names[i]);
		buf_fill(&body, 'x', 1 << 20);
		buf_add_text(&body, "'>]><a>x");
		for (int k = 0; k < 600; k++)
			buf_add_text(&body, "<b/>");
		buf_add_text(&body, "y</a>");
		assert_string_equal(run(r, "http://a/", "text/xml", buf_str(&body), "X"), "Xx|");
		assert_str(r->result.remark, "XML: too many elements for as many declared "
					     "attributes in line 1, the rest is left out");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_token_is_looked_at_a_few_times),
		cmocka_unit_test(what_follows_a_long_token_is_read),
		cmocka_unit_test(a_token_has_an_end),
		cmocka_unit_test(declared_attributes_are_bounded),
		cmocka_unit_test(long_default_values_are_read_a_few_times),
	};
	return cmocka_run_group_tests(tests, run_setup, run_teardown);
}
