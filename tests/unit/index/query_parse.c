#include "../dice.h"
#include "../unit.h"
#include "index/token.h"
#include "query_same.h"

static struct token_rules *rules;
static struct arena arena = ARENA_INIT((size_t)1 << 30);

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
	arena_free(&arena);
	return 0;
}

static struct query parsed_query(const char *text, const struct query_options *options)
{
	struct query q;
	struct err err;
	if (query_parse(str_of(text), options, rules, &arena, &q, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	return q;
}

/* And what is printed is read as the same tree. */
static void reads_with(const char *text, const struct query_options *options, const char *want)
{
	struct query q = parsed_query(text, options);
	struct buf out = BUF_INIT(1 << 20);
	query_print(q.root, &out);
	assert_str(buf_str(&out), want);
	struct query again = parsed_query(buf_text(&out), options);
	if (!query_same(q.root, again.root))
		fail_msg("'%s': '%s' is another tree", text, want);
	assert_true(str_eq(q.notes, again.notes));
	buf_free(&out);
	arena_clear(&arena);
}

static void query_reads(const char *text, const char *want)
{
	reads_with(text, NULL, want);
}

static void refuses(const char *text, const char *want)
{
	struct query q = {.limit = 77};
	struct err err;
	if (query_parse(str_of(text), NULL, rules, &arena, &q, &err) == 0)
		fail_msg("'%s' is taken", text);
	assert_int_equal(ERR_USAGE, err.code);
	if (!strstr(err.msg, want))
		fail_msg("'%s': '%s' has no '%s'", text, err.msg, want);
	assert_int_equal(77, q.limit);
	arena_clear(&arena);
}

static void words_side_by_side_are_all_wanted(void **state)
{
	(void)state;
	query_reads("apple", "\"apple\"");
	query_reads("  apple   Pie ", "(\"apple\" AND \"Pie\")");
	query_reads("a b c", "(\"a\" AND \"b\" AND \"c\")");
	query_reads("a AND b and c And d", "(\"a\" AND \"b\" AND \"c\" AND \"d\")");
}

static void and_binds_tighter_than_or_and_not_tighter_than_both(void **state)
{
	(void)state;
	query_reads("a b OR c", "((\"a\" AND \"b\") OR \"c\")");
	query_reads("a OR b AND c", "(\"a\" OR (\"b\" AND \"c\"))");
	query_reads("(a or b) c", "((\"a\" OR \"b\") AND \"c\")");
	query_reads("NOT a b", "(NOT \"a\" AND \"b\")");
	query_reads("a not b", "(\"a\" AND NOT \"b\")");
	query_reads("a -b -\"c d\" -(e f)",
		    "(\"a\" AND NOT \"b\" AND NOT \"c d\" AND NOT (\"e\" AND \"f\"))");
	query_reads("not not a", "\"a\"");
	query_reads("not (not a)", "\"a\"");
	query_reads("a or (b or (c or d))", "(\"a\" OR \"b\" OR \"c\" OR \"d\")");
}

static void a_text_of_several_words_is_a_phrase(void **state)
{
	(void)state;
	query_reads("\"Free  software\"", "\"Free software\"");
	query_reads("don't x86_64", "(\"don t\" AND \"x86 64\")");
	query_reads("http://a.org/b", "\"http a org b\"");
	query_reads("std::string", "\"std string\"");
	query_reads("12:30", "\"12 30\"");
	query_reads("東京", "\"東 京\"");
	query_reads("\"and\" \"or\"", "(\"and\" AND \"or\")");
}

static void what_has_no_words_is_not_there(void **state)
{
	(void)state;
	query_reads("", "\"\"");
	query_reads("   ", "\"\"");
	query_reads("\"\"", "\"\"");
	query_reads("a & b - c", "(\"a\" AND \"b\" AND \"c\")");
	query_reads("()", "\"\"");
	query_reads("a ()", "\"a\"");
	query_reads("title : \"--\" or a", "\"a\"");
	query_reads("not ---", "\"\"");
	query_reads("*", "*");
	query_reads("* -a", "(* AND NOT \"a\")");
}

static void attributes_hold_for_what_follows_them(void **state)
{
	(void)state;
	query_reads("title:a", "title : \"a\"");
	query_reads("Title : a b", "(title : \"a\" AND \"b\")");
	query_reads("title : (a OR \"b c\") d", "((title : \"a\" OR title : \"b c\") AND \"d\")");
	query_reads("title : (a url : b)", "(title : \"a\" AND url : \"b\")");
	query_reads("full-text : and", "full-text : \"and\"");
	query_reads("title : not", "title : \"not\"");
	query_reads("title : not a b", "(NOT title : \"a\" AND \"b\")");
	query_reads("title : -a", "NOT title : \"a\"");
	query_reads("title:-(a or b) c", "(NOT (title : \"a\" OR title : \"b\") AND \"c\")");
	query_reads("title : not and b", "(title : \"not\" AND \"b\")");
	query_reads("not title : not a", "title : \"a\"");
	query_reads("size : -5", "size : \"-5\""); /* a number below 0 where size is one */
	query_reads("a OR:b",
		    "(\"a\" AND \"OR b\")"); /* no attribute has the name of an operator */
	query_reads("a or : b", "(\"a\" OR \"b\")");
}

static void case_is_regarded_after_an_equals_sign(void **state)
{
	(void)state;
	query_reads("=Apple =\"Apple Pie\" title : =X",
		    "(=\"Apple\" AND =\"Apple Pie\" AND title : =\"X\")");
	struct query q;
	struct err err;
	struct query_options options = {.exact = true};
	assert_int_equal(0, query_parse(STR("Apple"), &options, rules, &arena, &q, &err));
	assert_true(q.root->exact);
	assert_str(q.root->word[0].term, "apple");
	assert_str(q.root->word[0].form, "Apple");
	assert_int_equal(10, q.limit);
}

static struct query_node compared(const char *text)
{
	struct query q = parsed_query(text, NULL);
	assert_int_equal(QUERY_COMPARE, q.root->op);
	return *q.root;
}

static void numbers_and_dates_are_compared(void **state)
{
	(void)state;
	query_reads("size<10 size >= -5 date > \"2024-05\"",
		    "(size < \"10\" AND size >= \"-5\" AND date > \"2024-05\")");
	struct query_node n = compared("Size <= 9223372036854775807");
	assert_str(n.attribute, "size");
	assert_int_equal(QUERY_AT_MOST, n.relation);
	assert_true(n.value.is_number && !n.value.is_period);
	assert_true(n.value.number == INT64_MAX);
	n = compared("t > 1970");
	assert_true(n.value.is_number && n.value.is_period);
	assert_true(n.value.from_s == 0 && n.value.to_s == 365 * 86400);
	n = compared("t > 2024-12");
	assert_true(!n.value.is_number && n.value.is_period);
	assert_true(n.value.from_s == 1733011200 && n.value.to_s == 1735689600);
	n = compared("t < 2024-02-29");
	assert_true(n.value.to_s - n.value.from_s == 86400);
	n = compared("t < 2024-02-29T12:00:00Z");
	assert_true(n.value.from_s == 1709208000 && n.value.to_s == 1709208001);
	n = compared("t < 1969-12-31");
	assert_true(n.value.from_s == -86400);
}

static void sizes_have_units(void **state)
{
	(void)state;
	assert_true(compared("size > 10k").value.number == 10240);
	assert_true(compared("size > 2M").value.number == 2 << 20);
	assert_true(compared("size > 1.5G").value.number == INT64_C(3) << 29);
	assert_true(compared("size > 1KiB").value.number == 1024);
	assert_true(compared("size > -3k").value.number == -3072);
	assert_true(parsed_query("size : 4k", NULL).root->value.number == 4096);
	query_reads("size > 10k", "size > \"10k\"");
	refuses("size > 10x", "character 8: '10x' is neither");
	refuses("size > 10E", "neither"); /* more than fits */
	refuses("size > 0.3", "neither");
}

static void ranges_include_both_ends(void **state)
{
	(void)state;
	struct query_node n = compared("Size : 10k..2M");
	assert_str(n.attribute, "size");
	assert_int_equal(QUERY_BETWEEN, n.relation);
	assert_true(n.value.number == 10240 && n.upto.number == 2 << 20);
	n = compared("modified : 2024-03..2024-05");
	assert_int_equal(QUERY_BETWEEN, n.relation);
	assert_true(n.value.from_s == 1709251200 && n.upto.to_s == 1717200000);
	assert_int_equal(QUERY_AT_LEAST, compared("size : 10k..").relation);
	assert_int_equal(QUERY_AT_MOST, compared("size : ..2M").relation);
	assert_true(compared("size : ..-2").value.number == -2);
	query_reads("size:10k..2M a", "(size : 10k..2M AND \"a\")");
	query_reads("size:-5..-1", "size : -5..-1");
	query_reads("size : 10k..", "size >= \"10k\"");
	query_reads("size : (..5 OR 7.. OR 10..20)",
		    "(size <= \"5\" OR size >= \"7\" OR size : 10..20)");
	query_reads("t : 2024-05-17T12:00:00Z..2025", "t : 2024-05-17T12:00:00Z..2025");
	query_reads("not size : 1..2", "NOT size : 1..2");
	/* words */
	query_reads("1..2 a..b", "(\"1 2\" AND \"a b\")");
	query_reads("title : a..b", "title : \"a..b\"");
	query_reads("size : 1..x", "size : \"1..x\"");
	query_reads("size : \"1..2\"", "size : \"1..2\"");
	query_reads("size : ..", "\"\"");
	query_reads("size : =1..2", "size : =\"1..2\"");
}

static void errors_are_written_after_words(void **state)
{
	(void)state;
	query_reads("appel~1", "\"appel\"~1");
	query_reads("appel~", "\"appel\"~");
	query_reads("a~", "\"a\"~");
	query_reads("\"Appel pie\"~2 x", "(\"Appel pie\"~2 AND \"x\")");
	query_reads("\"appel pie\"~", "\"appel pie\"~");
	query_reads("(=Appel~04)", "=\"Appel\"~4");
	query_reads("title:(appel~1 -pie~2)", "(title : \"appel\"~1 AND NOT title : \"pie\"~2)");
	query_reads("x86_64~3", "\"x86 64\"~3");
	query_reads("\303\251t\303\251~2", "\"\303\251t\303\251\"~2");
	query_reads("e\314\201t~1", "\"e\314\201t\"~1");
	/* elsewhere it separates */
	query_reads("a~b", "\"a b\"");
	query_reads("appel~1x", "\"appel 1x\"");
	query_reads("appel~~1", "\"appel 1\"");
	query_reads("appel-~1", "\"appel 1\"");
	query_reads("appel ~1", "(\"appel\" AND \"1\")");
	query_reads("\"appel\" ~ x", "(\"appel\" AND \"x\")");
	query_reads("\"appel\"~1\"b\"", "(\"appel\" AND \"1\" AND \"b\")");
	query_reads("\"appel~1\"", "\"appel 1\"");
	query_reads("~ \"--\"~1", "\"\"");
	struct query q = parsed_query("appel~1", NULL);
	assert_true(q.root->errors == 1 && !q.root->plain);
	assert_str(q.root->word[0].term, "appel");
	assert_str(q.root->word[0].form, "appel");
	assert_int_equal(QUERY_ERRORS_BEST, parsed_query("appel~", NULL).root->errors);
	assert_int_equal(0, parsed_query("appel", NULL).root->errors);
}

static void errors_are_fewer_than_letters(void **state)
{
	(void)state;
	refuses("appel~0", "character 6: '~0' is not a number of errors from 1 to 8");
	refuses("abcdefghijk~9", "character 12: '~9' is not a number of errors from 1 to 8");
	refuses("abc~99999999999999999999999", "from 1 to 8");
	refuses("x appel~5",
		"character 8: '~5': a word has fewer errors than letters, so here at most 4");
	refuses("\303\251t\303\251~3",
		"character 4: '~3': a word has fewer errors than letters, so here at most 2");
	refuses("e\314\201t~2",
		"character 4: '~2': a word has fewer errors than letters, so here at most 1");
	refuses("a~1", "so here at most 0");
	refuses("\"ab cd\"~3",
		"character 8: '~3': a word has fewer errors than letters, so here at most 2");
	refuses("\346\235\261\344\272\254~1",
		"character 3: '~1': a word has fewer errors than letters, so here at most 0");
	refuses("app*~1", "character 5: '~' after a pattern");
	refuses("\"app* pie\"~", "character 11: '~' after a pattern");
	query_reads("abcdefghi~8 \"abc def\"~4", "(\"abcdefghi\"~8 AND \"abc def\"~4)");
}

static void patterns_are_parts_of_words(void **state)
{
	(void)state;
	query_reads("app*", "\"app*\"");
	query_reads("*tion OR *ppl*", "(\"*tion\" OR \"*ppl*\")");
	query_reads("a*le a?ple a?*?b", "(\"a*le\" AND \"a?ple\" AND \"a?*?b\")");
	query_reads("\"Apple p*\"", "\"Apple p*\"");
	query_reads("title:app* title : \"apple p*\"",
		    "(title : \"app*\" AND title : \"apple p*\")");
	query_reads("x86_6*", "\"x86 6*\"");
	query_reads("=App*", "=\"App*\"");
	query_reads("-app*", "NOT \"app*\"");
	query_reads("a****b**", "\"a*b*\"");
	/* what touches no word separates */
	query_reads("what is garner?", "(\"what\" AND \"is\" AND \"garner\")");
	query_reads("?a a? -? a?*", "(\"a\" AND \"a\" AND \"a\")");
	query_reads("a*? ?*a", "(\"a*\" AND \"*a\")");
	query_reads("*", "*");
	query_reads("** *-* \"*\"", "\"\"");
	query_reads("\"apple * pie\"", "\"apple pie\"");
	query_reads("http://a.org/b?c=d/e* b?c", "(\"http a org b c d e*\" AND \"b?c\")");
	struct query q = parsed_query("\303\211T\303\211*x \"Abc d?F\"", NULL);
	const struct query_node *n = q.root->kid[0];
	assert_true(n->word[0].pattern && !n->plain);
	assert_str(n->word[0].term, "ete*x");
	assert_str(n->word[0].form, "\303\211T\303\211*x");
	n = q.root->kid[1];
	assert_true(!n->word[0].pattern && n->word[1].pattern);
	assert_str(n->word[0].term, "abc");
	assert_str(n->word[1].term, "d?f");
}

static void letters_that_are_words_keep_their_stars(void **state)
{
	(void)state;
	query_reads("\346\235\261*", "\"\346\235\261*\"");
	query_reads("*\346\235\261\344\272\254*", "\"*\346\235\261 \344\272\254*\"");
	query_reads("\346\235\261*\344\272\254", "\"\346\235\261* \344\272\254\"");
	query_reads("a*\346\235\261?b", "\"a* \346\235\261 b\"");
	query_reads("\346\235\261?*\344\272\254", "\"\346\235\261 *\344\272\254\"");
}

static void patterns_are_bounded(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(1 << 20);
	buf_fill(&b, 'a', 120);
	buf_add_text(&b, "*");
	assert_true(parsed_query(buf_text(&b), NULL).root->word[0].pattern);
	buf_clear(&b);
	buf_add_text(&b, "x ");
	buf_fill(&b, 'a', 121);
	buf_add_text(&b, "*");
	refuses(buf_text(&b), "character 3: a pattern of more than 120 bytes");
	buf_clear(&b);
	buf_add_byte(&b, 'a');
	buf_fill(&b, '?', 120);
	buf_add_byte(&b, 'a');
	refuses(buf_text(&b), "a pattern of more than 120 bytes");
	buf_clear(&b);
	buf_add_byte(&b, 'a');
	buf_fill(&b, '*', QUERY_TEXT_MOST - 2);
	buf_add_byte(&b, 'b');
	query_reads(buf_text(&b), "\"a*b\"");
	buf_clear(&b);
	for (int i = 0; i < 60; i++)
		buf_add_text(&b, "*\303\237"); /* two bytes either way */
	assert_int_equal(180, parsed_query(buf_text(&b), NULL).root->word[0].term.n);
	buf_free(&b);
}

static void words_are_near_each_other(void **state)
{
	(void)state;
	query_reads("apple NEAR/8 pie", "\"apple\" NEAR/8 \"pie\"");
	query_reads("apple near/08 p*", "\"apple\" NEAR/8 \"p*\"");
	query_reads("\"apple\" NEAR/1 \"pie\" x", "(\"apple\" NEAR/1 \"pie\" AND \"x\")");
	query_reads("title : (a NEAR/8 b)", "title : \"a\" NEAR/8 \"b\"");
	query_reads("title : a NEAR/8 b c", "(title : \"a\" NEAR/8 \"b\" AND \"c\")");
	query_reads("=A NEAR/8 =B", "=\"A\" NEAR/8 =\"B\"");
	query_reads("not a NEAR/8 b", "NOT \"a\" NEAR/8 \"b\"");
	query_reads("-a NEAR/8 b or c", "(NOT \"a\" NEAR/8 \"b\" OR \"c\")");
	query_reads("x a NEAR/3 b NEAR/4 c",
		    "(\"x\" AND \"a\" NEAR/3 \"b\" AND \"b\" NEAR/4 \"c\")");
	query_reads("- a NEAR/10000 b", "\"a\" NEAR/10000 \"b\"");
	/* words */
	query_reads("near near/x near/8/9", "(\"near\" AND \"near x\" AND \"near 8 9\")");
	query_reads("\"a NEAR/8 b\"", "\"a NEAR 8 b\"");
	query_reads("title : NEAR/8", "title : \"NEAR/8\"");
	struct query q = parsed_query("Apple NEAR/8 pie", NULL);
	assert_int_equal(QUERY_NEAR, q.root->op);
	assert_int_equal(8, q.root->distance);
	assert_int_equal(2, q.root->words);
	assert_str(q.root->word[0].term, "apple");
	assert_str(q.root->word[1].term, "pie");
	refuses("a NEAR/0 b", "character 3: 'NEAR/0' is not NEAR/1 to NEAR/10000");
	refuses("a NEAR/10001 b", "is not NEAR/1 to");
	refuses("a NEAR/99999999999999999999 b", "is not NEAR/1 to");
	refuses("NEAR/8 b", "character 1: 'NEAR/8' has nothing before it");
	refuses("a or NEAR/8 b", "'or' has nothing after it");
	refuses("a NEAR/8", "character 3: 'NEAR/8' has nothing after it");
	refuses("a NEAR/8 or b", "'NEAR/8' has nothing after it");
	refuses("\"a b\" NEAR/8 c", "character 7: 'NEAR/8' needs a single word");
	refuses("a NEAR/8 b-c", "character 10: 'NEAR/8' needs a single word");
	refuses("a NEAR/8 (b c)", "needs a single word");
	refuses("(a b) NEAR/8 c", "needs a single word");
	refuses("& NEAR/8 c", "needs a single word");
	refuses("a NEAR/8 &", "needs a single word");
	refuses("abc~1 NEAR/8 c", "needs a single word");
	refuses("a NEAR/8 abc~1", "needs a single word");
	refuses("a NEAR/8 /b/", "needs a single word");
	refuses("/a/ NEAR/8 b", "needs a single word");
	refuses("a NEAR/8 title : b", "needs a single word");
	refuses("a NEAR/8 size < 5", "needs a single word");
	refuses("a NEAR/8 -b", "needs a single word");
	refuses("a NEAR/8 not b", "needs a single word");
	refuses("size : 1..2 NEAR/8 b", "needs a single word");
	refuses("=a NEAR/8 b", "character 11: '=' stands before both");
}

static void expressions_stand_between_slashes(void **state)
{
	(void)state;
	query_reads("/colou?r[ -]map/", "/colou?r[ -]map/");
	query_reads("=/Case/ -/x/", "(=/Case/ AND NOT /x/)");
	query_reads("title : /x (y)|\"z\"/ a", "(title : /x (y)|\"z\"/ AND \"a\")");
	query_reads("title:/x/", "title : /x/");
	query_reads("(/x/)", "/x/");
	query_reads("/x/(y)", "(/x/ AND \"y\")");
	query_reads("/a\\/b/", "/a\\/b/");
	query_reads("/a\\\\/ b", "(/a\\\\/ AND \"b\")");
	/* words */
	query_reads("/a/b", "\"a b\"");
	query_reads("/usr/share/doc/", "\"usr share doc\"");
	query_reads("/x", "\"x\"");
	query_reads("/x\\/", "\"x\"");
	query_reads("// a", "\"a\"");
	query_reads("/x/\"y\"", "(\"x\" AND \"y\")");
	query_reads("a/b/ c", "(\"a b\" AND \"c\")");
	query_reads("http://x/ y", "(\"http x\" AND \"y\")");
	query_reads("=/a/b", "=\"a b\"");
	query_reads("\"/x/\"", "\"x\"");
	struct query q = parsed_query("=/a\\/b\\d/", NULL);
	assert_int_equal(QUERY_MATCH, q.root->op);
	assert_true(q.root->exact);
	assert_str(q.root->match, "a/b\\d");
	struct buf b = BUF_INIT(1 << 20);
	buf_add_byte(&b, '/');
	buf_fill(&b, 'x', QUERY_MATCH_MOST);
	buf_add_byte(&b, '/');
	query_reads(buf_text(&b), buf_text(&b));
	buf_clear(&b);
	buf_add_text(&b, "a /");
	buf_fill(&b, 'x', QUERY_MATCH_MOST + 1);
	buf_add_byte(&b, '/');
	refuses(buf_text(&b), "character 3: an expression of more than 4096 bytes");
	refuses("/a/ /b/ /c/ /d/ /e/ /f/ /g/ /h/ =/i/", "character 33: more than 8 expressions");
	buf_free(&b);
}

static void options_are_for_what_says_nothing_itself(void **state)
{
	(void)state;
	const struct query_options two = {.errors = 2, .parts = true, .forgive = true};
	struct query q =
		parsed_query("apple \"apple pie\" apple~1 app* /x/ \"app* pie\" c NEAR/3 d", &two);
	assert_int_equal(7, q.root->kids);
	for (uint32_t i = 0; i < q.root->kids; i++) {
		const struct query_node *n = q.root->kid[i];
		bool plain = i < 2 || i == 6;
		assert_int_equal(plain, n->plain);
		assert_int_equal(plain, n->parts);
		assert_int_equal(plain, n->forgive);
		assert_int_equal(i < 2 ? 2 : i == 2, n->errors);
	}
	q = parsed_query("apple a~1b ap* apple~1",
			 &(struct query_options){.best = true, .errors = 3, .forgive = true});
	assert_false(q.root->kid[0]->forgive); /* it would find something with no errors */
	assert_int_equal(QUERY_ERRORS_BEST, q.root->kid[0]->errors);
	assert_int_equal(QUERY_ERRORS_BEST, q.root->kid[1]->errors);
	assert_int_equal(0, q.root->kid[2]->errors);
	assert_int_equal(1, q.root->kid[3]->errors);
	assert_int_equal(0, q.notes.n);
	q = parsed_query("size : 10 x", &two);
	assert_true(q.root->kid[0]->value.is_number && q.root->kid[0]->value.number == 10);
	q = parsed_query("/a/", &(struct query_options){.exact = true});
	assert_true(q.root->exact);
	reads_with("apple title : pie~1 \"x y\" a NEAR/2 bc", &two,
		   "(\"apple\" AND title : \"pie\"~1 AND \"x y\" AND \"a\" NEAR/2 \"bc\")");
	struct err err;
	assert_int_equal(-1, query_parse(STR("a"), &(struct query_options){.errors = 9}, rules,
					 &arena, &q, &err));
	assert_int_equal(ERR_USAGE, err.code);
}

static void short_words_take_fewer_errors_and_the_notes_say_so(void **state)
{
	(void)state;
	const struct query_options three = {.errors = 3};
	struct query q = parsed_query("apple abc a \"ab cd\" title : \"x-y\"", &three);
	static const int want[] = {3, 2, 0, 2, 0};
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(want[i], q.root->kid[i]->errors);
	assert_str(q.notes, "\"abc\": too short for 3 errors, 2 taken\n"
			    "\"a\": too short for errors\n"
			    "\"ab cd\": too short for 3 errors, 2 taken\n"
			    "\"x-y\": too short for errors\n");
	q = parsed_query("apple NEAR/3 ab", &three);
	assert_int_equal(3, q.root->errors);
	assert_str(q.notes, "\"ab\": too short for 3 errors, 1 taken\n");
	struct buf b = BUF_INIT(1 << 16);
	for (int i = 0; i < 1000; i++)
		buf_add_text(&b, "a ");
	q = parsed_query(buf_text(&b), &three);
	assert_true(str_ends(q.notes, STR("and 990 more\n")));
	buf_free(&b);
}

static void errors_are_counted_in_words_that_are_not_stemmed(void **state)
{
	(void)state;
	struct token_rules *english;
	struct query q;
	struct err err;
	if (token_rules_open(&english, STR("english"), &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(0, query_parse(STR("Connections~8 Connections connections*"), NULL,
					english, &arena, &q, &err));
	const struct query_word *w = q.root->kid[0]->word;
	assert_str(w->term, "connect");
	assert_str(w->folded, "connections");
	assert_str(w->form, "Connections");
	w = q.root->kid[2]->word;
	assert_str(w->term, "connections*");
	assert_str(w->folded, "connections*");
	token_rules_close(&english);
	arena_clear(&arena);
}

/* Texts of what the language is made of, in any order. */
static void whatever_is_read_is_printed_so_that_it_reads_the_same(void **state)
{
	(void)state;
	static const char *const piece[] = {
		"apple",
		"Pie",
		"a",
		"x-y",
		"\346\235\261\344\272\254",
		"\303\211t\303\251",
		"10k",
		"2024-05",
		"-5",
		"1..2",
		"..7",
		"*",
		"*",
		"?",
		"~",
		"~1",
		"~3",
		"\"",
		"\"",
		"(",
		")",
		"/",
		"/",
		"\\",
		"=",
		" : ",
		"title : ",
		"size:",
		"size < ",
		" NEAR/3 ",
		" AND ",
		" OR ",
		" NOT ",
		" -",
		" ",
		" ",
		" ",
		"\"a b\"",
		"http://",
		"\377",
		"/b+/ ",
		"\n",
	};
	static const struct query_options options[] = {
		{0},
		{.errors = 2, .parts = true},
		{.best = true, .exact = true},
		{.forgive = true},
	};
	uint64_t seed = 19;
	size_t taken = 0, kinds[QUERY_MATCH + 1] = {0};
	for (int round = 0; round < 20000; round++) {
		struct buf text = BUF_INIT(1 << 12), once = BUF_INIT(1 << 16);
		const struct query_options *o = &options[dice(&seed) % ARRAY_LEN(options)];
		struct query q, again;
		struct err err;
		for (size_t n = 1 + dice(&seed) % 12; n; n--)
			buf_add_text(&text, piece[dice(&seed) % ARRAY_LEN(piece)]);
		if (query_parse(buf_str(&text), o, rules, &arena, &q, &err) == 0) {
			taken++;
			kinds[q.root->op]++;
			query_print(q.root, &once);
			if (query_parse(buf_str(&once), o, rules, &arena, &again, &err) < 0)
				fail_msg("'%s': '%s': %s", buf_text(&text), buf_text(&once),
					 err.msg);
			if (!query_same(q.root, again.root))
				fail_msg("'%s': '%s' is another", buf_text(&text), buf_text(&once));
		}
		buf_free(&text);
		buf_free(&once);
		arena_clear(&arena);
	}
	assert_true(taken > 5000);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		assert_true(kinds[i] > 0);
}

static void errors_name_the_place(void **state)
{
	(void)state;
	refuses("a (b", "character 3: this bracket is not closed");
	refuses("é) b", "character 2: this bracket was not opened");
	refuses("a \"b", "character 3: this quotation mark has no second one");
	refuses("and b", "character 1: 'and' has nothing before it");
	refuses("a AND", "character 3: 'AND' has nothing after it");
	refuses("a or or b", "character 3: 'or' has nothing after it");
	refuses("(a or) b", "character 4: 'or' has nothing after it");
	refuses("a and not", "'not' has nothing after it");
	refuses("title :", "character 7: nothing follows this colon");
	refuses("a size < x", "character 10: 'x' is neither a whole number nor a date");
	refuses("size < 2024-13", "neither");
	refuses("size < 99999999999999999999", "neither");
	refuses("< 5", "character 1: '<' needs the name");
}

static void size_and_depth_are_bounded(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(1 << 20);
	buf_fill(&b, '(', QUERY_DEPTH_MOST);
	buf_add_byte(&b, 'a');
	buf_fill(&b, ')', QUERY_DEPTH_MOST);
	query_reads(buf_text(&b), "\"a\"");
	buf_clear(&b);
	buf_fill(&b, '(', QUERY_DEPTH_MOST + 1);
	buf_add_byte(&b, 'a');
	refuses(buf_text(&b), "brackets in brackets");
	buf_clear(&b);
	for (int i = 0; i < QUERY_DEPTH_MOST; i++)
		buf_add_text(&b, i % 2 ? "a or b (" : "not (b a or ");
	buf_add_text(&b, "c");
	buf_fill(&b, ')', QUERY_DEPTH_MOST);
	struct query q = parsed_query(buf_text(&b), NULL), again;
	struct buf out = BUF_INIT(1 << 20);
	query_print(q.root, &out);
	again = parsed_query(buf_text(&out), NULL);
	assert_true(query_same(q.root, again.root));
	buf_free(&out);
	buf_clear(&b);
	for (int i = 0; i < QUERY_DEPTH_MOST + 1; i++)
		buf_add_text(&b, "a:");
	buf_add_text(&b, "b");
	refuses(buf_text(&b), "brackets in brackets");
	buf_clear(&b);
	for (int i = 0; i <= QUERY_NODES_MOST; i++)
		buf_add_text(&b, "a ");
	refuses(buf_text(&b), "more than 1024 words");
	buf_clear(&b);
	for (int i = 0; i <= QUERY_PHRASE_MOST; i++)
		buf_add_text(&b, i ? "-a" : "a");
	refuses(buf_text(&b), "a phrase of more than 64 words");
	buf_clear(&b);
	buf_fill(&b, 'x', QUERY_TEXT_MOST + 1);
	refuses(buf_text(&b), "at most 65536");
	buf_clear(&b);
	for (int i = 0; i < 20000; i++)
		buf_add_text(&b, "-");
	query_reads(buf_text(&b), "\"\"");
	buf_clear(&b);
	for (int i = 0; i < 15000; i++)
		buf_add_text(&b, "not ");
	buf_add_text(&b, "a");
	query_reads(buf_text(&b), "\"a\"");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_side_by_side_are_all_wanted),
		cmocka_unit_test(and_binds_tighter_than_or_and_not_tighter_than_both),
		cmocka_unit_test(a_text_of_several_words_is_a_phrase),
		cmocka_unit_test(what_has_no_words_is_not_there),
		cmocka_unit_test(attributes_hold_for_what_follows_them),
		cmocka_unit_test(case_is_regarded_after_an_equals_sign),
		cmocka_unit_test(numbers_and_dates_are_compared),
		cmocka_unit_test(sizes_have_units),
		cmocka_unit_test(ranges_include_both_ends),
		cmocka_unit_test(errors_are_written_after_words),
		cmocka_unit_test(errors_are_fewer_than_letters),
		cmocka_unit_test(patterns_are_parts_of_words),
		cmocka_unit_test(letters_that_are_words_keep_their_stars),
		cmocka_unit_test(patterns_are_bounded),
		cmocka_unit_test(words_are_near_each_other),
		cmocka_unit_test(expressions_stand_between_slashes),
		cmocka_unit_test(options_are_for_what_says_nothing_itself),
		cmocka_unit_test(short_words_take_fewer_errors_and_the_notes_say_so),
		cmocka_unit_test(errors_are_counted_in_words_that_are_not_stemmed),
		cmocka_unit_test(whatever_is_read_is_printed_so_that_it_reads_the_same),
		cmocka_unit_test(errors_name_the_place),
		cmocka_unit_test(size_and_depth_are_bounded),
	};
	return cmocka_run_group_tests(tests, open_rules, close_rules);
}
