/* The tokenizer of HTML: a table of rules, each read whole and cut at every place. */
#include "unit/unit.h"

#include "extract/html_entities_inner.h"
#include "support/html_json.h"

enum { OUT_MAX = 1 << 20 };

struct rule {
	char state; /* by its letter below */
	const char *last;
	struct str in;
	const char *want;
};

/* In the data state, and in another one. */
#define R(in, want)                                 \
	{                                           \
		'D', "", {in, sizeof(in) - 1}, want \
	}
#define IN(state, last, in, want)                       \
	{                                               \
		state, last, {in, sizeof(in) - 1}, want \
	}

static const char *const states[128] = {
	['D'] = "Data state",        ['R'] = "RCDATA state",    ['W'] = "RAWTEXT state",
	['S'] = "Script data state", ['P'] = "PLAINTEXT state", ['C'] = "CDATA section state",
};

/* In two pieces, each in memory of its own. */
static void tokenize(struct html_tokens *t, const struct rule *r, size_t cut, struct buf *out)
{
	struct html_json json;
	enum html_state state;
	assert_int_equal(html_state_of(str_of(states[(int)r->state]), &state), 0);
	buf_clear(out);
	html_json_begin(&json, out);
	html_tokens_begin(t, &html_json_sink, &json, state, str_of(r->last));
	for (int i = 0; i < 2; i++) {
		struct str piece = i ? str_from(r->in, cut) : str_head(r->in, cut);
		char *own = mem_copy(piece.p, piece.n + 1);
		html_tokens_add(t, (struct str){own, piece.n});
		memset(own, 'Z', piece.n);
		mem_free(&own);
	}
	html_tokens_end(t);
	html_json_end(&json);
}

static void check(const struct rule *rules, size_t n)
{
	struct html_tokens *t = html_tokens_new(NULL);
	struct buf out = BUF_INIT(OUT_MAX);
	for (size_t i = 0; i < n; i++) {
		for (size_t cut = 0; cut <= rules[i].in.n; cut++) {
			tokenize(t, &rules[i], cut, &out);
			if (strcmp(buf_text(&out), rules[i].want) != 0)
				fail_msg("rule %zu, cut at %zu: %s: got %s, want %s", i, cut,
					 rules[i].in.p, buf_text(&out), rules[i].want);
		}
	}
	buf_free(&out);
	html_tokens_free(&t);
}

#define C(text) "[\"Character\",\"" text "\"]"
#define S(name, attrs) "[\"StartTag\",\"" name "\",{" attrs "}]"
#define SC(name, attrs) "[\"StartTag\",\"" name "\",{" attrs "},true]"
#define E(name) "[\"EndTag\",\"" name "\"]"
#define COMMENT(text) "[[\"Comment\",\"" text "\"]]"
#define DT(rest) "[[\"DOCTYPE\"," rest "]]"
#define FFFD "\xef\xbf\xbd"

static void text_is_text(void **state)
{
	static const struct rule rules[] = {
		R("", "[]"),
		R("plain", "[" C("plain") "]"),
		R("a < b & c > d", "[" C("a < b & c > d") "]"),
		R("<", "[" C("<") "]"),
		R("</", "[" C("</") "]"),
		R("<<", "[" C("<<") "]"),
		R("<1>", "[" C("<1>") "]"),
		R("<>", "[" C("<>") "]"),
		R("< a>", "[" C("< a>") "]"),
		R("a\rb\r\nc\n\rd\r", "[" C("a\\nb\\nc\\n\\nd\\n") "]"),
		R("\r\r\n\n", "[" C("\\n\\n\\n") "]"),
		R("a\0b", "[" C("a\\u0000b") "]"),
		R("\xef\xbb\xbfx", "[" C("\xef\xbb\xbfx") "]"),
		R("\xc3\xa9\xf0\x9f\x98\x80", "[" C("\xc3\xa9\xf0\x9f\x98\x80") "]"),
		IN('P', "", "a<b>&amp;</plaintext>\0\r\n",
		   "[" C("a<b>&amp;</plaintext>" FFFD "\\n") "]"),
		IN('C', "", "a<b>&amp;\0]", "[" C("a<b>&amp;\\u0000]") "]"),
		IN('C', "", "a]]", "[" C("a]]") "]"),
		IN('C', "", "a]]]>&lt;", "[" C("a]<") "]"),
		IN('C', "", "]>]] >]]><b>", "[" C("]>]] >") "," S("b", "") "]"),
	};
	(void)state;
	check(rules, ARRAY_LEN(rules));
}

static void tags_have_names_and_attributes(void **state)
{
	static const struct rule rules[] = {
		R("<a>", "[" S("a", "") "]"),
		R("<A HREF=X>", "[" S("a", "\"href\":\"X\"") "]"),
		R("<a\0b\xc3\x89\"'<>", "[" S("a" FFFD "b\xc3\x89\\\"'<", "") "]"),
		R("<br/>", "[" SC("br", "") "]"),
		R("<br / >", "[" S("br", "") "]"),
		R("<br/ />", "[" SC("br", "") "]"),
		R("<a/b/c=d/>", "[" S("a", "\"b\":\"\",\"c\":\"d/\"") "]"),
		R("<a b='1'c=\"2\"d>", "[" S("a", "\"b\":\"1\",\"c\":\"2\",\"d\":\"\"") "]"),
		R("<a b = c d\t=\n'e'\f>", "[" S("a", "\"b\":\"c\",\"d\":\"e\"") "]"),
		R("<a b=>", "[" S("a", "\"b\":\"\"") "]"),
		R("<a b= >", "[" S("a", "\"b\":\"\"") "]"),
		R("<a =b=c>", "[" S("a", "\"=b\":\"c\"") "]"),
		R("<a ==b>", "[" S("a", "\"=\":\"b\"") "]"),
		R("<a b==c>", "[" S("a", "\"b\":\"=c\"") "]"),
		R("<a b c=1 B=2 b=3 c>", "[" S("a", "\"b\":\"\",\"c\":\"1\"") "]"),
		R("<a b'c\"d<e=f>", "[" S("a", "\"b'c\\\"d<e\":\"f\"") "]"),
		R("<a b=c'\"<=`d>", "[" S("a", "\"b\":\"c'\\\"<=`d\"") "]"),
		R("<a b\0=\"\0\" c='\0'd=\0>", "[" S("a", "\"b" FFFD "\":\"" FFFD "\",\"c\":\"" FFFD
							  "\",\"d\":\"" FFFD "\"") "]"),
		R("<a b=\"1\r\n2\r3\" c='>'>", "[" S("a", "\"b\":\"1\\n2\\n3\",\"c\":\">\"") "]"),
		R("<a\r\nb\rc=\r\nd\r\n>", "[" S("a", "\"b\":\"\",\"c\":\"d\"") "]"),
		R("<A\tLONG-Name_1:x=1>", "[" S("a", "\"long-name_1:x\":\"1\"") "]"),
		R("</a>", "[" E("a") "]"),
		R("</A b=c d>", "[" E("a") "]"),
		R("</a/>x", "[" E("a") "," C("x") "]"),
		R("</>x", "[" C("x") "]"),
		R("x</ a>", "[" C("x") ",[\"Comment\",\" a\"]]"),
		R("</1>", COMMENT("1")),
		R("<a", "[]"),
		R("x<a ", "[" C("x") "]"),
		R("x<a b", "[" C("x") "]"),
		R("x<a b=", "[" C("x") "]"),
		R("x<a b=c", "[" C("x") "]"),
		R("x<a b='c", "[" C("x") "]"),
		R("x<a b=\"c", "[" C("x") "]"),
		R("x<a b=\"c\"", "[" C("x") "]"),
		R("x<a b=\"&lt", "[" C("x") "]"),
		R("x<a /", "[" C("x") "]"),
		R("x</a", "[" C("x") "]"),
		R("<p>one<p>two", "[" S("p", "") "," C("one") "," S("p", "") "," C("two") "]"),
		R("<![CDATA[x]]>", COMMENT("[CDATA[x]]")),
	};
	(void)state;
	check(rules, ARRAY_LEN(rules));
}

static void comments_end_where_they_should(void **state)
{
	static const struct rule rules[] = {
		R("<!---->", COMMENT("")),
		R("<!-- a -->", COMMENT(" a ")),
		R("<!-->", COMMENT("")),
		R("<!--->", COMMENT("")),
		R("<!-->x-->", "[[\"Comment\",\"\"]," C("x-->") "]"),
		R("<!----!>", COMMENT("")),
		R("<!----!-->", COMMENT("--!")),
		R("<!----!x-->", COMMENT("--!x")),
		R("<!--a--!>", COMMENT("a")),
		R("<!--a--!", COMMENT("a")),
		R("<!--a-b--c---d--- -->", COMMENT("a-b--c---d--- ")),
		R("<!--a--->", COMMENT("a-")),
		R("<!------>", COMMENT("--")),
		R("<!--<!---->", COMMENT("<!--")),
		R("<!--<!-- a -->", COMMENT("<!-- a ")),
		R("<!--<!-->", COMMENT("<!")),
		R("<!--<!--->", COMMENT("<!-")),
		R("<!---\0-->", COMMENT("-" FFFD)),
		R("<!--a\0b\r\nc\r-->", COMMENT("a" FFFD "b\\nc\\n")),
		R("<!--", COMMENT("")),
		R("<!---", COMMENT("")),
		R("<!----", COMMENT("")),
		R("<!--a", COMMENT("a")),
		R("<!--a-", COMMENT("a")),
		R("<!--a--", COMMENT("a")),
		R("<!--a---", COMMENT("a-")),
		R("<!--a&amp;<b>-->", COMMENT("a&amp;<b>")),
		R("<!>", COMMENT("")),
		R("<!", COMMENT("")),
		R("<!-", COMMENT("-")),
		R("<!->", COMMENT("-")),
		R("<!-a>", COMMENT("-a")),
		R("<!a>b", "[[\"Comment\",\"a\"]," C("b") "]"),
		R("<!DOCTYP>", COMMENT("DOCTYP")),
		R("<!DoCTYPx html", COMMENT("DoCTYPx html")),
		R("<![CDATA", COMMENT("[CDATA")),
		R("<![cdata[x]]>", COMMENT("[cdata[x]]")),
		R("<?xml version='1.0'?>", COMMENT("?xml version='1.0'?")),
		R("<?\r\n\0", COMMENT("?\\n" FFFD)),
		R("<?", COMMENT("?")),
		R("</?", COMMENT("?")),
		R("</\0>", COMMENT(FFFD)),
	};
	(void)state;
	check(rules, ARRAY_LEN(rules));
}

static void doctypes_are_taken_apart(void **state)
{
	static const struct rule rules[] = {
		R("<!DOCTYPE html>", DT("\"html\",null,null,true")),
		R("<!doctype HTML>", DT("\"html\",null,null,true")),
		R("<!DOCTYPEhtml>", DT("\"html\",null,null,true")),
		R("<!DOCTYPE>", DT("null,null,null,false")),
		R("<!DOCTYPE", DT("null,null,null,false")),
		R("<!DOCTYPE ", DT("null,null,null,false")),
		R("<!DOCTYPE >", DT("null,null,null,false")),
		R("<!DOCTYPE h", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h ", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h\0\xc3\x89>", DT("\"h" FFFD "\xc3\x89\",null,null,true")),
		R("<!DOCTYPE h x>", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h PUBLIX 'a'>", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h PUB>", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h PUBLIC", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h PUBLIC>", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h PUBLIC 'a\"b'>", DT("\"h\",\"a\\\"b\",null,true")),
		R("<!DOCTYPE h public\"a\">", DT("\"h\",\"a\",null,true")),
		R("<!DOCTYPE h PUBLIC \"\">", DT("\"h\",\"\",null,true")),
		R("<!DOCTYPE h PUBLIC \"a\"\"b\">", DT("\"h\",\"a\",\"b\",true")),
		R("<!DOCTYPE h PUBLIC 'a' 'b'>", DT("\"h\",\"a\",\"b\",true")),
		R("<!DOCTYPE h PUBLIC 'a' \"b\"  >", DT("\"h\",\"a\",\"b\",true")),
		R("<!DOCTYPE h PUBLIC 'a' b>", DT("\"h\",\"a\",null,false")),
		R("<!DOCTYPE h PUBLIC 'a' 'b' c>", DT("\"h\",\"a\",\"b\",true")),
		R("<!DOCTYPE h PUBLIC 'a>b", "[[\"DOCTYPE\",\"h\",\"a\",null,false]," C("b") "]"),
		R("<!DOCTYPE h PUBLIC 'a", DT("\"h\",\"a\",null,false")),
		R("<!DOCTYPE h PUBLIC 'a'", DT("\"h\",\"a\",null,false")),
		R("<!DOCTYPE h PUBLIC '\0' '\0'>", DT("\"h\",\"" FFFD "\",\"" FFFD "\",true")),
		R("<!DOCTYPE h SYSTEM 'a'>", DT("\"h\",null,\"a\",true")),
		R("<!DOCTYPE h SYSTEM>", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h SYSTEM a>", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h sYsTeM\t\"a\r\nb\">", DT("\"h\",null,\"a\\nb\",true")),
		R("<!DOCTYPE h SYSTEM 'a", DT("\"h\",null,\"a\",false")),
		R("<!DOCTYPE h SYSTEM 'a'", DT("\"h\",null,\"a\",false")),
		R("<!DOCTYPE h SYSTEM 'a' x", DT("\"h\",null,\"a\",true")),
		R("<!DOCTYPE h SYSTEM 'a>", DT("\"h\",null,\"a\",false")),
		R("<!DOCTYPE h x", DT("\"h\",null,null,false")),
		R("<!DOCTYPE h></h>", "[[\"DOCTYPE\",\"h\",null,null,true]," E("h") "]"),
	};
	(void)state;
	check(rules, ARRAY_LEN(rules));
}

static void references_stand_for_characters(void **state)
{
	static const struct rule rules[] = {
		R("&amp;&lt;&gt;&quot;&apos;&nbsp;", "[" C("&<>\\\"'\xc2\xa0") "]"),
		R("&amp&lt&gt&quot&copy", "[" C("&<>\\\"\xc2\xa9") "]"),
		R("&ampamp;", "[" C("&amp;") "]"),
		R("&apos", "[" C("&apos") "]"),
		R("&notit;", "[" C("\xc2\xacit;") "]"),
		R("&notin;", "[" C("\xe2\x88\x89") "]"),
		R("&notin", "[" C("\xc2\xacin") "]"),
		R("&AMP;&AMP&Amp;", "[" C("&&&Amp;") "]"),
		R("&NotEqualTilde;&acE;", "[" C("\xe2\x89\x82\xcc\xb8\xe2\x88\xbe\xcc\xb3") "]"),
		R("&CounterClockwiseContourIntegral;", "[" C("\xe2\x88\xb3") "]"),
		R("&CounterClockwiseContourIntegral",
		  "[" C("&CounterClockwiseContourIntegral") "]"),
		R("&CounterClockwiseContourIntegralx;",
		  "[" C("&CounterClockwiseContourIntegralx;") "]"),
		R("&ampAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA;",
		  "[" C("&AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA;") "]"),
		R("&nosuchthing;&x&;& &1;&&amp;", "[" C("&nosuchthing;&x&;& &1;&&") "]"),
		R("&", "[" C("&") "]"),
		R("&a", "[" C("&a") "]"),
		R("&#", "[" C("&#") "]"),
		R("&#x", "[" C("&#x") "]"),
		R("&#X", "[" C("&#X") "]"),
		R("&#;&#x;&#X;&#xg&#a", "[" C("&#;&#x;&#X;&#xg&#a") "]"),
		R("&#65;&#66&#x43;&#X44;&#x45&#0070;", "[" C("ABCDEF") "]"),
		R("&#x4aZ", "[" C("JZ") "]"),
		R("&#65", "[" C("A") "]"),
		R("&#0;&#x0;&#xD800;&#xDFFF;&#x110000;", "[" C(FFFD FFFD FFFD FFFD FFFD) "]"),
		R("&#99999999999999999999;&#xffffffffffffffffff;", "[" C(FFFD FFFD) "]"),
		R("&#128;&#x99;&#129;&#x9f;",
		  "[" C("\xe2\x82\xac\xe2\x84\xa2\xc2\x81\xc5\xb8") "]"),
		R("&#13;&#10;&#9;&#1;", "[" C("\\r\\n\\t\\u0001") "]"),
		R("&#xFFFE;&#xFDD0;&#x10FFFF;",
		  "[" C("\xef\xbf\xbe\xef\xb7\x90\xf4\x8f\xbf\xbf") "]"),
		R("&#x1F600;", "[" C("\xf0\x9f\x98\x80") "]"),
		R("&lt;b>&ltb>", "[" C("<b><b>") "]"),
		R("<a b='&amp;&ampx&amp=&amp'>", "[" S("a", "\"b\":\"&&ampx&amp=&\"") "]"),
		R("<a b=\"?x=1&copy=2&copy;&copy\">",
		  "[" S("a", "\"b\":\"?x=1&copy=2\xc2\xa9\xc2\xa9\"") "]"),
		R("<a b=&lt&gt;&nosuch;&#65>", "[" S("a", "\"b\":\"<>&nosuch;A\"") "]"),
		R("<a b=&copy1 c=&copy>", "[" S("a", "\"b\":\"&copy1\",\"c\":\"\xc2\xa9\"") "]"),
		R("<a b='&notit;' c='&notin;' d='&not;' e='&not'>",
		  "[" S("a", "\"b\":\"&notit;\",\"c\":\"\xe2\x88\x89\",\"d\":\"\xc2\xac\",\"e\":"
			     "\"\xc2\xac\"") "]"),
		R("<a b='&#x41' c=\"&#x\" d=&#>",
		  "[" S("a", "\"b\":\"A\",\"c\":\"&#x\",\"d\":\"&#\"") "]"),
		R("<a b='&'c='& 'd=&>", "[" S("a", "\"b\":\"&\",\"c\":\"& \",\"d\":\"&\"") "]"),
		R("<a &amp;=1>", "[" S("a", "\"&amp;\":\"1\"") "]"),
		R("<&amp;>", "[" C("<&>") "]"),
		R("&\r\n&#\r&amp\r\n", "[" C("&\\n&#\\n&\\n") "]"),
	};
	(void)state;
	check(rules, ARRAY_LEN(rules));
}

static void only_the_right_end_tag_ends_raw_text(void **state)
{
	static const struct rule rules[] = {
		IN('R', "title", "a<b>&lt;&copy</title>c",
		   "[" C("a<b><\xc2\xa9") "," E("title") "," C("c") "]"),
		IN('R', "title", "a</TITLE >", "[" C("a") "," E("title") "]"),
		IN('R', "title", "a</title/>b", "[" C("a") "," E("title") "," C("b") "]"),
		IN('R', "title", "a</title\r\nx=y>b", "[" C("a") "," E("title") "," C("b") "]"),
		IN('R', "title", "a</titles></titl></ title><//title>",
		   "[" C("a</titles></titl></ title><//title>") "]"),
		IN('R', "title", "a</title</title>", "[" C("a</title") "," E("title") "]"),
		IN('R', "title", "</TitL\0", "[" C("</TitL" FFFD) "]"),
		IN('R', "title", "a<", "[" C("a<") "]"),
		IN('R', "title", "a</", "[" C("a</") "]"),
		IN('R', "title", "a</tiTle", "[" C("a</tiTle") "]"),
		IN('R', "title", "a</title ", "[" C("a") "]"),
		IN('R', "title", "</&amp;&amp", "[" C("</&&") "]"),
		IN('R', "", "a</>b</x>", "[" C("a</>b</x>") "]"),
		IN('R', "h1", "</h1>", "[" C("</h1>") "]"),
		IN('W', "style", "a&amp;<b>\0\r</style>&amp;",
		   "[" C("a&amp;<b>" FFFD "\\n") "," E("style") "," C("&") "]"),
		IN('W', "style", "<!--</style>-->", "[" C("<!--") "," E("style") "," C("-->") "]"),
		IN('S', "script", "a<b&&c</script>x",
		   "[" C("a<b&&c") "," E("script") "," C("x") "]"),
		IN('S', "script", "<!--a</script>b", "[" C("<!--a") "," E("script") "," C("b") "]"),
		IN('S', "script", "<!--<script>a</script>b</script>c",
		   "[" C("<!--<script>a</script>b") "," E("script") "," C("c") "]"),
		IN('S', "script", "<!--<script>a</script>b-->c</script>d",
		   "[" C("<!--<script>a</script>b-->c") "," E("script") "," C("d") "]"),
		IN('S', "script", "<!--<script>a-->b</script>c",
		   "[" C("<!--<script>a-->b") "," E("script") "," C("c") "]"),
		IN('S', "script", "<!--<SCRIPT/x</sCript </script>y",
		   "[" C("<!--<SCRIPT/x</sCript ") "," E("script") "," C("y") "]"),
		IN('S', "script", "<!--<scripts></script>y",
		   "[" C("<!--<scripts>") "," E("script") "," C("y") "]"),
		IN('S', "script", "<!--<script>-<-</-</scriptx></script>-->",
		   "[" C("<!--<script>-<-</-</scriptx></script>-->") "]"),
		IN('S', "script", "<!--><script></script>",
		   "[" C("<!--><script>") "," E("script") "]"),
		IN('S', "script", "<!---><script></script>",
		   "[" C("<!---><script>") "," E("script") "]"),
		IN('S', "script", "<!-x--><script></script>",
		   "[" C("<!-x--><script>") "," E("script") "]"),
		IN('S', "script", "<!--x-y--z\0-\0--\0<script\0",
		   "[" C("<!--x-y--z" FFFD "-" FFFD "--" FFFD "<script" FFFD) "]"),
		IN('S', "script", "<!--<script>\0-\0--\0---->",
		   "[" C("<!--<script>" FFFD "-" FFFD "--" FFFD "---->") "]"),
		IN('S', "script", "<!--<", "[" C("<!--<") "]"),
		IN('S', "script", "<!--</", "[" C("<!--</") "]"),
		IN('S', "script", "<!--</scr", "[" C("<!--</scr") "]"),
		IN('S', "script", "<!--<script>a<", "[" C("<!--<script>a<") "]"),
		IN('S', "script", "<!-", "[" C("<!-") "]"),
		IN('S', "script", "</scrip></script", "[" C("</scrip></script") "]"),
	};
	(void)state;
	check(rules, ARRAY_LEN(rules));
}

/* A sink that turns the state as a page would, and the foreign flag with <svg>. */
struct page {
	struct html_json json;
	struct html_tokens *tokens;
};

static void page_text(void *ctx, struct str s)
{
	struct page *p = ctx;
	html_json_sink.text(&p->json, s);
}

static enum html_state page_tag(void *ctx, const struct html_tag *tag)
{
	struct page *p = ctx;
	html_json_sink.tag(&p->json, tag);
	if (str_eq(tag->name, STR("svg")))
		html_tokens_foreign(p->tokens, !tag->end);
	return str_eq(tag->name, STR("script"))      ? HTML_SCRIPT
	       : str_eq(tag->name, STR("title"))     ? HTML_RCDATA
	       : str_eq(tag->name, STR("plaintext")) ? HTML_PLAINTEXT
						     : HTML_DATA;
}

static const struct html_sink page_sink = {.text = page_text, .tag = page_tag};

static void check_page(const char *in, const char *want)
{
	struct page p = {.tokens = html_tokens_new(NULL)};
	struct buf out = BUF_INIT(OUT_MAX);
	for (size_t cut = 0; cut <= strlen(in); cut++) {
		buf_clear(&out);
		html_json_begin(&p.json, &out);
		html_tokens_begin(p.tokens, &page_sink, &p, HTML_DATA, STR(""));
		html_tokens_add(p.tokens, str_head(str_of(in), cut));
		html_tokens_add(p.tokens, str_from(str_of(in), cut));
		html_tokens_end(p.tokens);
		html_json_end(&p.json);
		assert_string_equal(buf_text(&out), want);
	}
	buf_free(&out);
	html_tokens_free(&p.tokens);
}

static void the_sink_turns_the_state(void **state)
{
	(void)state;
	check_page("<script><b></script><title>&lt;</title><b>",
		   "[" S("script", "") "," C("<b>") "," E("script") "," S("title", "") "," C(
			   "<") "," E("title") "," S("b", "") "]");
	check_page("<plaintext>a</plaintext>", "[" S("plaintext", "") "," C("a</plaintext>") "]");
	check_page("</script><b>", "[" E("script") "," S("b", "") "]");
}

static void sections_of_cdata_are_for_foreign_content(void **state)
{
	(void)state;
	check_page("<svg><![CDATA[<a>&amp;]]></svg><![CDATA[x]]>",
		   "[" S("svg", "") "," C("<a>&amp;") "," E("svg") "]");
}

static void names_of_the_table_are_found(void **state)
{
	struct str text;
	(void)state;
	assert_int_equal(html_entity(STR("amp"), &text), 0);
	assert_str(text, "&");
	assert_int_equal(html_entity(STR("fjlig"), &text), 0);
	assert_str(text, "fj");
	assert_int_equal(html_entity(STR("zwnj"), &text), 0);
	assert_str(text, "\xe2\x80\x8c");
	assert_int_equal(html_entity(STR("bnequiv"), &text), 0);
	assert_str(text, "\xe2\x89\xa1\xe2\x83\xa5");
	assert_int_equal(html_entity(STR(""), &text), 1);
	assert_int_equal(html_entity(STR("Amp"), &text), 1);
	assert_int_equal(html_entity(STR("amp;"), &text), 1);
	assert_int_equal(html_entity_old(STR("ampere"), &text), 3);
	assert_int_equal(html_entity_old(STR("thornx"), &text), 5);
	assert_int_equal(html_entity_old(STR("hearts"), &text), 0);
	assert_int_equal(html_entity_old(STR("g"), &text), 0);
}

static void states_are_known_by_name(void **state)
{
	enum html_state s = HTML_DATA;
	(void)state;
	assert_int_equal(html_state_of(STR("script data state"), &s), 0);
	assert_int_equal(s, HTML_SCRIPT);
	assert_int_equal(html_state_of(STR("Script"), &s), 1);
	assert_int_equal(html_state_of(STR(""), &s), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_text),
		cmocka_unit_test(tags_have_names_and_attributes),
		cmocka_unit_test(comments_end_where_they_should),
		cmocka_unit_test(doctypes_are_taken_apart),
		cmocka_unit_test(references_stand_for_characters),
		cmocka_unit_test(only_the_right_end_tag_ends_raw_text),
		cmocka_unit_test(the_sink_turns_the_state),
		cmocka_unit_test(sections_of_cdata_are_for_foreign_content),
		cmocka_unit_test(names_of_the_table_are_found),
		cmocka_unit_test(states_are_known_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
