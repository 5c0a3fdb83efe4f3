/* The Broker's grammar: what it adds to our own, what it refuses, and that our own has none of it.
 * All that is read is printed, and read by either grammar as the same tree. */
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "index/token.h"
#include "index/words.h"
#include "query_same.h"

static struct token_rules *rules;
static struct arena arena = ARENA_INIT((size_t)1 << 30);

static int open_rules(void **state)
{
	struct err err;
	if (token_rules_open(&rules, STR(""), &err) < 0)
		return -1;
	return scratch_make_in_memory(state);
}

static int close_rules(void **state)
{
	token_rules_close(&rules);
	arena_free(&arena);
	return scratch_done(state);
}

static struct query parsed_query(const char *text, const struct query_options *options)
{
	struct query q;
	struct err err;
	if (query_parse(str_of(text), options, rules, &arena, &q, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	return q;
}

static struct query classic_query(const char *text)
{
	return parsed_query(text, &(struct query_options){.classic = true});
}

static void reads_with(const char *text, const struct query_options *options, const char *want)
{
	struct query q = parsed_query(text, options);
	struct query_options grammar = *options;
	struct buf out = BUF_INIT(1 << 20);
	query_print(q.root, &out);
	assert_str(buf_str(&out), want);
	for (int i = 0; i <= options->classic; i++) {
		grammar.classic = i > 0;
		struct query again = parsed_query(buf_text(&out), &grammar);
		if (!query_same(q.root, again.root))
			fail_msg("'%s': '%s' is another tree", text, want);
		assert_true(str_eq(q.notes, again.notes));
	}
	buf_free(&out);
	arena_clear(&arena);
}

static void classic_reads(const char *text, const char *want)
{
	static const struct query_options options[] = {
		{.classic = true},
		{.classic = true, .parts = true, .errors = 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		reads_with(text, &options[i], want);
}

static void own_reads(const char *text, const char *want)
{
	reads_with(text, &(struct query_options){0}, want);
}

static void refuses_with(struct str text, bool classic, const char *want)
{
	struct query q = {.limit = 77};
	struct err err;
	if (query_parse(text, &(struct query_options){.classic = classic}, rules, &arena, &q,
			&err) == 0)
		fail_msg("'%.200s' is taken", text.p);
	assert_int_equal(ERR_USAGE, err.code);
	if (!strstr(err.msg, want))
		fail_msg("'%.200s': '%s' has no '%s'", text.p, err.msg, want);
	assert_int_equal(77, q.limit);
	arena_clear(&arena);
}

static void classic_refuses(const char *text, const char *want)
{
	refuses_with(str_of(text), true, want);
}

static void except_takes_away(void **state)
{
	(void)state;
	classic_reads("apple except pie", "(\"apple\" AND NOT \"pie\")");
	classic_reads("apple EXCEPT pie Except tart",
		      "(\"apple\" AND NOT \"pie\" AND NOT \"tart\")");
	classic_reads("apple except (pie or tart)", "(\"apple\" AND NOT (\"pie\" OR \"tart\"))");
	classic_reads("apple except not pie", "(\"apple\" AND \"pie\")");
	classic_reads("apple except (not pie)", "(\"apple\" AND \"pie\")");
	classic_reads("(apple except pie) except tart",
		      "(\"apple\" AND NOT \"pie\" AND NOT \"tart\")");
	classic_reads("apple except --", "\"apple\"");
	classic_reads("apple except title : pie", "(\"apple\" AND NOT title : \"pie\")");
	classic_reads("\"except\" title : except", "(\"except\" AND title : \"except\")");
}

static void and_and_except_bind_before_or(void **state)
{
	(void)state;
	classic_reads("a AND b OR c", "((\"a\" AND \"b\") OR \"c\")");
	classic_reads("a or b and c", "(\"a\" OR (\"b\" AND \"c\"))");
	classic_reads("a except b or c", "((\"a\" AND NOT \"b\") OR \"c\")");
	classic_reads("a or b except c", "(\"a\" OR (\"b\" AND NOT \"c\"))");
	classic_reads("a except b and c", "(\"a\" AND NOT \"b\" AND \"c\")");
	classic_reads("not a or b", "(NOT \"a\" OR \"b\")");
	classic_reads("Not a aNd nOT b", "(NOT \"a\" AND NOT \"b\")");
	classic_reads("((a or b) and (c or (d except e)))",
		      "((\"a\" OR \"b\") AND (\"c\" OR (\"d\" AND NOT \"e\")))");
	classic_reads("\"dog\" and \"cat\"", "(\"dog\" AND \"cat\")");
	/* side by side, which Harvest's grammar has not */
	classic_reads("apple pie", "(\"apple\" AND \"pie\")");
	classic_reads("apple pie or tart", "((\"apple\" AND \"pie\") OR \"tart\")");
	classic_reads("a except b c", "(\"a\" AND NOT \"b\" AND \"c\")");
}

static void exact_is_whole_words_as_written(void **state)
{
	(void)state;
	classic_reads("title exact Apple", "title <=> \"Apple\"");
	classic_reads("Title EXACT \"Apple Pie\" and x", "(title <=> \"Apple Pie\" AND \"x\")");
	classic_reads("\"Title\" exact Apple", "title <=> \"Apple\"");
	classic_reads("title exact\"Apple\"", "title <=> \"Apple\"");
	classic_reads("title exact \"and\"", "title <=> \"and\"");
	classic_reads("(title exact Apple)", "title <=> \"Apple\"");
	classic_reads("not title exact a except url exact b",
		      "(NOT title <=> \"a\" AND NOT url <=> \"b\")");
	classic_reads("title : (a or url exact b)", "(title : \"a\" OR url <=> \"b\")");
	classic_reads("title : url exact b", "url <=> \"b\"");
	classic_reads("size exact -5", "size <=> \"-5\"");
	classic_reads("title exact App*", "title <=> \"App*\"");
	classic_reads("title exact --", "\"\"");
	/* nothing of ours in what is taken as it is written */
	classic_reads("title exact appel~1", "title <=> \"appel~1\"");
	classic_reads("title exact =a", "title <=> \"=a\"");
	classic_reads("title exact 1..2", "title <=> \"1..2\"");
	classic_reads("title exact /usr/", "title <=> \"/usr/\"");
	struct query q =
		parsed_query("title exact Appel and Appel",
			     &(struct query_options){
				     .classic = true, .errors = 2, .parts = true, .forgive = true});
	const struct query_node *n = q.root->kid[0];
	assert_true(n->exact && n->whole && !n->plain && !n->parts && !n->forgive);
	assert_int_equal(0, n->errors);
	assert_str(n->attribute, "title");
	assert_str(n->word[0].form, "Appel");
	n = q.root->kid[1];
	assert_true(!n->exact && !n->whole && n->plain && n->parts && n->forgive);
	assert_int_equal(2, n->errors);
	assert_int_equal(QUERY_PHRASE, classic_query("title exact x-y").root->op);
	q = parsed_query("title exact Appel",
			 &(struct query_options){.classic = true, .best = true});
	assert_int_equal(0, q.root->errors);
}

static void regexp_is_an_expression(void **state)
{
	(void)state;
	classic_reads("title regexp colou?r", "title : /colou?r/");
	classic_reads("Title REGEXP \"colou?r[ -]map\" x", "(title : /colou?r[ -]map/ AND \"x\")");
	classic_reads("\"title\" regexp a.b", "title : /a.b/");
	classic_reads("title regexp \"and\"", "title : /and/");
	/* brackets of its own, and those it stands in */
	classic_reads("title regexp a(b|c)d", "title : /a(b|c)d/");
	classic_reads("(title regexp (a|b(c|d))e)", "title : /(a|b(c|d))e/");
	classic_reads("(title regexp a) b", "(title : /a/ AND \"b\")");
	classic_reads("(title regexp a\\)\\() b", "(title : /a\\)\\(/ AND \"b\")");
	/* slashes around it are not part of it; others are */
	classic_reads("title regexp /a b/ c", "(title : /a b/ AND \"c\")");
	classic_reads("title regexp =/A/", "title : =/A/");
	classic_reads("title regexp \"/a/\"", "title : /\\/a\\//");
	classic_reads("title regexp /usr/share", "title : /\\/usr\\/share/");
	classic_reads("title regexp a\\/b", "title : /a\\/b/");
	classic_reads("title regexp a\\\\", "title : /a\\\\/");
	classic_reads("title regexp x or url : /y/", "(title : /x/ OR url : /y/)");
	const struct query_node *n = classic_query("Title regexp a/b\\d").root;
	assert_int_equal(QUERY_MATCH, n->op);
	assert_str(n->attribute, "title");
	assert_str(n->match, "a/b\\d");
	assert_false(n->exact);
	struct query_options exact = {.classic = true, .exact = true};
	assert_true(parsed_query("title regexp a", &exact).root->exact);
	classic_refuses("title regexp \"\"", "character 14: an expression without a character");
	classic_refuses("title regexp a\\",
			"character 14: an expression that ends with a backslash");
	classic_refuses("title regexp \"a\\\\\\\"", "character 14: an expression that ends with");
	classic_refuses("title regexp a(b c)", "character 15: this bracket is not closed before");
	classic_refuses("title regexp \"a", "character 14: this quotation mark has no second one");
	classic_refuses("a regexp b c regexp b d regexp b e regexp b f regexp b g regexp b "
			"h regexp b i regexp b j regexp b",
			"character 89: more than 8 expressions");
	struct buf b = BUF_INIT(1 << 16);
	buf_add_text(&b, "title regexp ");
	buf_fill(&b, 'x', QUERY_MATCH_MOST + 1);
	classic_refuses(buf_text(&b), "character 1: an expression of more than 4096 bytes");
	buf_free(&b);
}

static void numbers_and_dates_are_compared(void **state)
{
	(void)state;
	classic_reads("size less-than 10k", "size < \"10k\"");
	classic_reads("Size LESS-THAN \"5\" and date greater-than 2024-05",
		      "(size < \"5\" AND date > \"2024-05\")");
	classic_reads("size greater-than -5 except size less-than 7",
		      "(size > \"-5\" AND NOT size < \"7\")");
	const struct query_node *n = classic_query("size greater-than 10k").root;
	assert_int_equal(QUERY_COMPARE, n->op);
	assert_int_equal(QUERY_MORE, n->relation);
	assert_true(n->value.number == 10240);
	classic_refuses("size less-than x",
			"character 16: 'x' is neither a whole number nor a date");
	classic_refuses("a size greater-than \"2024-13\"", "character 21: '2024-13' is neither");
	classic_refuses("size less-than \"\"", "character 16: '' is neither");
}

static void allb_is_every_document(void **state)
{
	(void)state;
	classic_reads("#allb", "*");
	classic_reads(" #ALLB ", "*");
	classic_reads("#AllB except apple", "(* AND NOT \"apple\")");
	classic_reads("(#allb)", "*");
	classic_reads("apple or #allb", "(\"apple\" OR *)");
	classic_reads("\"#allb\"", "\"allb\"");
	classic_reads("#1 c# # ##x", "(\"1\" AND \"c\" AND \"x\")");
	classic_refuses("#desc apple", "character 1: '#desc' is not part of a query");
	classic_refuses("\303\251 and #allbx", "character 7: '#allbx' is not part of a query");
	classic_refuses("title : #index", "character 9: '#index' is not part of a query");
	classic_refuses("title exact #allb", "character 7: 'exact' has nothing after it");
}

static void quoted_names_have_values(void **state)
{
	(void)state;
	classic_reads("\"title=apple\"", "title : \"apple\"");
	classic_reads("\"Title=Apple Pie\" and \"author=Smith\"",
		      "(title : \"Apple Pie\" AND author : \"Smith\")");
	classic_reads("\"title=appel pie\"~1", "title : \"appel pie\"~1");
	classic_reads("=\"title=Apple\"", "title : =\"Apple\"");
	classic_reads("\"title=app*\"", "title : \"app*\"");
	classic_reads("not \"full-text=a=b\"", "NOT full-text : \"a=b\"");
	classic_reads("\"title=--\" or a", "\"a\"");
	/* phrases */
	classic_reads("\"title =apple\"", "\"title apple\"");
	classic_reads("\"1a=b\"", "\"1a b\"");
	classic_reads("\"a b=c\"", "\"a b c\"");
	classic_reads("\"http://a/?b=c\"", "\"http a b c\"");
	classic_reads("\"title=\"", "\"title\"");
	classic_reads("\"=title\"", "\"title\"");
	classic_reads("\"or=a\" \"exact=a\"", "(\"or a\" AND \"exact a\")");
	classic_reads("title : \"url=a\"", "title : \"url=a\"");
	classic_reads("title : (b \"url=a\")", "(title : \"b\" AND title : \"url=a\")");
	classic_reads("title=apple", "\"title apple\"");
	assert_true(classic_query("\"size=4k\"").root->value.number == 4096);
	classic_refuses("\"title=appel\"~9", "character 14: '~9' is not a number of errors");
}

static void our_own_extras_stay(void **state)
{
	(void)state;
	classic_reads("title : apple", "title : \"apple\"");
	classic_reads("Title:\"apple pie\"", "title : \"apple pie\"");
	classic_reads("appel~1 =Apple app* -x",
		      "(\"appel\"~1 AND =\"Apple\" AND \"app*\" AND NOT \"x\")");
	classic_reads("/colou?r/ and size : 1..2 size >= 5",
		      "(/colou?r/ AND size : 1..2 AND size >= \"5\")");
	classic_reads("abc NEAR/8 def", "\"abc\" NEAR/8 \"def\"");
	classic_reads("title <=> Apple", "title <=> \"Apple\"");
	classic_reads("exactly regexps less than",
		      "(\"exactly\" AND \"regexps\" AND \"less\" AND \"than\")");
	classic_reads("", "\"\"");
	/* what separates here was AND, OR and any characters in Glimpse's own patterns */
	classic_reads("Tucson;Arizona a,b a#b", "(\"Tucson Arizona\" AND \"a b\" AND \"a b\")");
}

static void errors_name_the_place(void **state)
{
	(void)state;
	classic_refuses("except b", "character 1: 'except' has nothing before it");
	classic_refuses("a (except b)", "character 4: 'except' has nothing before it");
	classic_refuses("a except", "character 3: 'except' has nothing after it");
	classic_refuses("(a except) b", "character 4: 'except' has nothing after it");
	classic_refuses("a except or b", "character 3: 'except' has nothing after it");
	classic_refuses("a and except b", "character 3: 'and' has nothing after it");
	classic_refuses("a except not", "character 10: 'not' has nothing after it");
	classic_refuses("exact",
			"character 1: 'exact' has nothing before it; \"exact\" means the word");
	classic_refuses("REGEXP b", "character 1: 'REGEXP' has nothing before it");
	classic_refuses("a and less-than 5", "character 3: 'and' has nothing after it");
	classic_refuses("title exact", "character 7: 'exact' has nothing after it");
	classic_refuses("(title regexp )", "character 8: 'regexp' has nothing after it");
	classic_refuses("size less-than and b", "character 6: 'less-than' has nothing after it");
	classic_refuses("title exact not b", "character 7: 'exact' has nothing after it");
	classic_refuses("title exact regexp", "character 7: 'exact' has nothing after it");
	classic_refuses("title exact NEAR/8", "character 7: 'exact' has nothing after it");
	classic_refuses("title exact (a b)",
			"character 13: 'exact' has a word or quotation marks after it, not");
	classic_refuses("size greater-than (5)", "character 19: 'greater-than' has a word");
	classic_refuses("title exact \"a", "character 13: this quotation mark has no second one");
	/* not a name */
	classic_refuses("\"a b\" exact c",
			"character 7: 'exact' needs the name of an attribute before it");
	classic_refuses("\303\251t\303\251 exact c", "character 5: 'exact' needs the name");
	classic_refuses("(a) regexp c", "character 5: 'regexp' needs the name");
	classic_refuses("5 less-than 6", "character 3: 'less-than' needs the name");
	classic_refuses("size less-than 5 less-than 6", "character 18: 'less-than' needs the name");
	classic_refuses("#allb exact c", "character 7: 'exact' needs the name");
	classic_refuses("title : exact exact a", "character 15: 'exact' needs the name");
	classic_refuses("\"or\" exact a", "character 6: 'exact' needs the name");
	classic_refuses("\"title=a\" exact b", "character 11: 'exact' needs the name");
	/* NEAR has one attribute, before both words */
	classic_refuses("\"title=a\" NEAR/8 b", "character 11: 'NEAR/8' needs a single word");
	classic_refuses("a NEAR/8 \"title=b\"", "character 10: 'NEAR/8' needs a single word");
	classic_refuses("a NEAR/8 #allb", "character 10: 'NEAR/8' needs a single word");
	classic_refuses("a NEAR/8 title exact b", "character 10: 'NEAR/8' needs a single word");
	classic_refuses("title exact a NEAR/8 b", "character 15: 'NEAR/8' needs a single word");
	classic_refuses("a NEAR/8 except b", "character 3: 'NEAR/8' has nothing after it");
	/* as in our own */
	classic_refuses("a (b", "character 3: this bracket is not closed");
	classic_refuses("\303\251) b", "character 2: this bracket was not opened");
	classic_refuses("title :", "character 7: nothing follows this colon");
	classic_refuses("<word>", "character 1: '<' needs the name");
}

/* On pages these are words. */
static void without_the_option_nothing_is_a_keyword(void **state)
{
	(void)state;
	own_reads("apple except pie", "(\"apple\" AND \"except\" AND \"pie\")");
	own_reads("except", "\"except\"");
	own_reads("title exact Apple", "(\"title\" AND \"exact\" AND \"Apple\")");
	own_reads("exact", "\"exact\"");
	own_reads("\"title\" regexp a", "(\"title\" AND \"regexp\" AND \"a\")");
	own_reads("size less-than 5", "(\"size\" AND \"less than\" AND \"5\")");
	own_reads("greater-than 5", "(\"greater than\" AND \"5\")");
	own_reads("#allb #desc", "(\"allb\" AND \"desc\")");
	own_reads("\"title=apple\"", "\"title apple\"");
	own_reads("exact : a except<5", "(exact : \"a\" AND except < \"5\")");
	own_reads("a NEAR/8 exact", "\"a\" NEAR/8 \"exact\"");
}

/* How `exact` is printed; a comparison that was refused before there was one. */
static void our_own_grammar_reads_what_is_printed(void **state)
{
	(void)state;
	own_reads("Title<=>Apple", "title <=> \"Apple\"");
	own_reads("-title <=> \"Apple P*\" x", "(NOT title <=> \"Apple P*\" AND \"x\")");
	own_reads("title <=> \"\"", "\"\"");
	refuses_with(STR("title <=>"), false, "character 7: '<=>' needs a word or a phrase after");
	refuses_with(STR("(title <=> )"), false, "character 8: '<=>' needs a word");
	refuses_with(STR("title <=> (a)"), false, "character 7: '<=>' needs a word");
	refuses_with(STR("title <= > a"), false, "character 10: '>' is neither");
	refuses_with(STR("a NEAR/8 title <=> b"), false, "needs a single word");
	refuses_with(STR("<=> a"), false, "character 1: '<' needs the name");
}

static void size_and_depth_are_bounded(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(1 << 21);
	buf_fill(&b, 'x', 1 << 20);
	classic_refuses(buf_text(&b), "a query of 1048576 bytes; at most 65536 are read");
	buf_clear(&b);
	buf_fill(&b, '(', 10000);
	classic_refuses(buf_text(&b), "character 66: more than 64 brackets in brackets");
	buf_clear(&b);
	buf_add_text(&b, "title regexp ");
	buf_fill(&b, '(', 10000);
	classic_refuses(buf_text(&b), "character 14: this bracket is not closed");
	buf_clear(&b);
	for (int i = 0; i <= QUERY_NODES_MOST; i++)
		buf_add_text(&b, "a except ");
	classic_refuses(buf_text(&b), "more than 1024 words");
	buf_clear(&b);
	for (int i = 0; i <= QUERY_NODES_MOST; i++)
		buf_add_text(&b, "a exact b ");
	classic_refuses(buf_text(&b), "more than 1024 words");
	buf_clear(&b);
	for (int i = 0; i < 9000; i++)
		buf_add_text(&b, "#allb ");
	classic_refuses(buf_text(&b), "more than 1024 words");
	buf_clear(&b);
	buf_add_text(&b, "\"title=");
	for (int i = 0; i <= QUERY_PHRASE_MOST; i++)
		buf_add_text(&b, "a ");
	buf_add_text(&b, "\"");
	classic_refuses(buf_text(&b), "character 136: a phrase of more than 64 words");
	buf_free(&b);
}

/* An attribute without a colon is printed with one, and must not be too deep then. */
static void attributes_count_as_brackets(void **state)
{
	(void)state;
	static const char *const deepest[] = {"\"t=c\"", "t regexp c", "t exact c"};
	for (size_t i = 0; i < ARRAY_LEN(deepest); i++)
		for (int depth = QUERY_DEPTH_MOST - 2; depth <= QUERY_DEPTH_MOST; depth++) {
			struct buf b = BUF_INIT(1 << 16), out = BUF_INIT(1 << 16);
			for (int d = 0; d < depth; d++)
				buf_add_text(&b, "a or not (");
			buf_printf(&b, "a or %s", deepest[i]);
			buf_fill(&b, ')', (size_t)depth);
			if (depth == QUERY_DEPTH_MOST) {
				classic_refuses(buf_text(&b), "more than 64 brackets in brackets");
			} else {
				struct query q = classic_query(buf_text(&b));
				query_print(q.root, &out);
				struct query again =
					parsed_query(buf_text(&out), &(struct query_options){0});
				assert_true(query_same(q.root, again.root));
			}
			buf_free(&b);
			buf_free(&out);
			arena_clear(&arena);
		}
}

/* Texts of what both grammars are made of, in any order: refused with a character, or read and
 * printed so that our own grammar reads the same. */
static void whatever_is_read_is_printed_so_that_our_own_reads_it(void **state)
{
	(void)state;
	static const char *const piece[] = {
		"apple",
		"Pie",
		"x-y",
		"\303\211t\303\251",
		"10k",
		"2024-05",
		"-5",
		"1..2",
		"*",
		"~1",
		"\"",
		"(",
		")",
		"/",
		"\\",
		"=",
		"<=>",
		" : ",
		"title",
		"title : ",
		" AND ",
		" OR ",
		" NOT ",
		" -",
		" ",
		" ",
		" ",
		" NEAR/3 ",
		"\377",
		"\n",
		"size ",
		" except ",
		" exact ",
		" regexp ",
		" regexp ",
		"#allb",
		" #",
		" title exact ",
		" title regexp ",
		"\"title=",
		"\"title=a b\"",
		" size less-than ",
		" size greater-than ",
		"\"title\"",
	};
	static const struct query_options options[] = {
		{.classic = true},
		{.classic = true, .errors = 2, .parts = true},
		{.classic = true, .best = true, .exact = true},
		{.classic = true, .forgive = true},
	};
	uint64_t seed = 20;
	size_t taken = 0, kinds[QUERY_MATCH + 1] = {0};
	for (int round = 0; round < 20000; round++) {
		struct buf text = BUF_INIT(1 << 12), once = BUF_INIT(1 << 16);
		struct query_options o = options[dice(&seed) % ARRAY_LEN(options)];
		struct query q, again;
		struct err err;
		for (size_t n = 1 + dice(&seed) % 10; n; n--)
			buf_add_text(&text, piece[dice(&seed) % ARRAY_LEN(piece)]);
		if (query_parse(buf_str(&text), &o, rules, &arena, &q, &err) == 0) {
			taken++;
			kinds[q.root->op]++;
			query_print(q.root, &once);
			o.classic = false;
			if (query_parse(buf_str(&once), &o, rules, &arena, &again, &err) < 0)
				fail_msg("'%s': '%s': %s", buf_text(&text), buf_text(&once),
					 err.msg);
			if (!query_same(q.root, again.root))
				fail_msg("'%s': '%s' is another", buf_text(&text), buf_text(&once));
		} else {
			assert_non_null(strstr(err.msg, "query, character "));
		}
		buf_free(&text);
		buf_free(&once);
		arena_clear(&arena);
	}
	assert_true(taken > 4000);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		assert_true(kinds[i] > 0);
}

/* Every order of four of them: refused, or read, but never out of step. */
static void keywords_stand_side_by_side(void **state)
{
	(void)state;
	static const char *const word[] = {
		"and",   "or",     "not", "except", "exact", "regexp", "less-than", "greater-than",
		"#allb", "NEAR/3", "a",   "5",      "(",     ")",      ":"};
	enum { N = ARRAY_LEN(word) };
	for (size_t i = 0; i < N * N * N * N; i++) {
		struct buf text = BUF_INIT(64);
		struct query q;
		struct err err;
		buf_printf(&text, "%s %s %s %s", word[i % N], word[i / N % N], word[i / N / N % N],
			   word[i / N / N / N]);
		if (query_parse(buf_str(&text), &(struct query_options){.classic = true}, rules,
				&arena, &q, &err) < 0)
			assert_non_null(strstr(err.msg, "query, character "));
		buf_free(&text);
		arena_clear(&arena);
	}
	classic_refuses("and or not except exact regexp less-than greater-than #allb",
			"character 1: 'and' has nothing before it");
	classic_refuses("not except exact regexp", "character 1: 'not' has nothing after it");
}

/* The keys of the documents found are letters, here in the order in which they were added. */
static void query_finds(struct words_reader *r, const char *text,
			const struct query_options *options, const char *want)
{
	struct query q = parsed_query(text, options);
	struct hits hits;
	struct err err;
	struct buf keys = BUF_INIT(64);
	q.order = QUERY_ANYHOW;
	if (words_query(r, &q, &arena, &hits, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	for (size_t i = 0; i < hits.n; i++)
		buf_add_str(&keys, hits.hit[i].key);
	if (!str_eq(buf_str(&keys), str_of(want)))
		fail_msg("'%s' finds '%s', not '%s'", text, buf_text(&keys), want);
	buf_free(&keys);
	arena_clear(&arena);
}

/* As the port asks: capitals count and parts of words match, unless the flags say otherwise. */
static void exact_holds_against_the_options(void **state)
{
	(void)state;
	static const char *const title[] = {"Apple", "apple",        "Applesauce",
					    "Appel", "An Apple Pie", "pie"};
	struct words_writer *w;
	struct words_reader *r;
	struct words_options settings = {0};
	struct err err;
	assert_int_equal(0, words_writer_open(&w, scratch("exact"), &settings, &err));
	for (size_t i = 0; i < ARRAY_LEN(title); i++) {
		struct words_attr attr = {STR("title"), str_of(title[i])};
		struct words_doc doc = {.key = {&"abcdef"[i], 1}, .attr = &attr, .n = 1};
		assert_int_equal(0, words_add(w, &doc, &err));
	}
	assert_true(words_commit(w, NULL, &err) >= 0);
	words_writer_close(&w);
	assert_int_equal(0, words_open(&r, scratch("exact"), &err));
	const struct query_options port = {.classic = true, .exact = true, .parts = true};
	const struct query_options loose = {.classic = true, .parts = true, .errors = 2};
	query_finds(r, "title : Apple", &port, "ace");
	query_finds(r, "title exact Apple", &port, "ae");
	query_finds(r, "\"title=Apple\" except title exact Apple", &port, "c");
	query_finds(r, "title : Apple", &loose, "abcde");
	query_finds(r, "title exact Apple", &loose, "ae");
	query_finds(r, "title exact \"Apple Pie\" or title exact pie", &loose, "ef");
	query_finds(r, "not title exact apple", &loose, "acdef");
	query_finds(r, "#allb except Apple", &port, "bdf");
	query_finds(r, "title regexp App(le|el)", &port, "acde");
	words_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(except_takes_away),
		cmocka_unit_test(and_and_except_bind_before_or),
		cmocka_unit_test(exact_is_whole_words_as_written),
		cmocka_unit_test(regexp_is_an_expression),
		cmocka_unit_test(numbers_and_dates_are_compared),
		cmocka_unit_test(allb_is_every_document),
		cmocka_unit_test(quoted_names_have_values),
		cmocka_unit_test(our_own_extras_stay),
		cmocka_unit_test(errors_name_the_place),
		cmocka_unit_test(without_the_option_nothing_is_a_keyword),
		cmocka_unit_test(our_own_grammar_reads_what_is_printed),
		cmocka_unit_test(size_and_depth_are_bounded),
		cmocka_unit_test(attributes_count_as_brackets),
		cmocka_unit_test(whatever_is_read_is_printed_so_that_our_own_reads_it),
		cmocka_unit_test(keywords_stand_side_by_side),
		cmocka_unit_test(exact_holds_against_the_options),
	};
	return cmocka_run_group_tests(tests, open_rules, close_rules);
}
