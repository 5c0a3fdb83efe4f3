#include "../dice.h"
#include "../unit.h"
#include "index/query.h"
#include "index/token.h"

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

static void reads(const char *text, const char *want)
{
	struct query q;
	struct err err;
	struct buf out = BUF_INIT(1 << 20);
	if (query_parse(str_of(text), NULL, rules, &arena, &q, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	query_print(q.root, &out);
	assert_str(buf_str(&out), want);
	struct buf again = BUF_INIT(1 << 20);
	assert_int_equal(0, query_parse(buf_str(&out), NULL, rules, &arena, &q, &err));
	query_print(q.root, &again);
	assert_str(buf_str(&again), want);
	buf_free(&out);
	buf_free(&again);
	arena_clear(&arena);
}

static void refuses(const char *text, const char *want)
{
	struct query q = {.limit = 77};
	struct err err;
	assert_int_equal(-1, query_parse(str_of(text), NULL, rules, &arena, &q, &err));
	assert_int_equal(ERR_USAGE, err.code);
	if (!strstr(err.msg, want))
		fail_msg("'%s': '%s' has no '%s'", text, err.msg, want);
	assert_int_equal(77, q.limit);
}

static void words_side_by_side_are_all_wanted(void **state)
{
	(void)state;
	reads("apple", "\"apple\"");
	reads("  apple   Pie ", "(\"apple\" AND \"Pie\")");
	reads("a b c", "(\"a\" AND \"b\" AND \"c\")");
	reads("a AND b and c And d", "(\"a\" AND \"b\" AND \"c\" AND \"d\")");
}

static void and_binds_tighter_than_or_and_not_tighter_than_both(void **state)
{
	(void)state;
	reads("a b OR c", "((\"a\" AND \"b\") OR \"c\")");
	reads("a OR b AND c", "(\"a\" OR (\"b\" AND \"c\"))");
	reads("(a or b) c", "((\"a\" OR \"b\") AND \"c\")");
	reads("NOT a b", "(NOT \"a\" AND \"b\")");
	reads("a not b", "(\"a\" AND NOT \"b\")");
	reads("a -b -\"c d\" -(e f)",
	      "(\"a\" AND NOT \"b\" AND NOT \"c d\" AND NOT (\"e\" AND \"f\"))");
	reads("not not a", "\"a\"");
	reads("not (not a)", "\"a\"");
	reads("a or (b or (c or d))", "(\"a\" OR \"b\" OR \"c\" OR \"d\")");
}

static void a_text_of_several_words_is_a_phrase(void **state)
{
	(void)state;
	reads("\"Free  software\"", "\"Free software\"");
	reads("don't x86_64", "(\"don t\" AND \"x86 64\")");
	reads("http://a.org/b", "\"http a org b\"");
	reads("std::string", "\"std string\"");
	reads("12:30", "\"12 30\"");
	reads("東京", "\"東 京\"");
	reads("\"and\" \"or\"", "(\"and\" AND \"or\")");
}

static void what_has_no_words_is_not_there(void **state)
{
	(void)state;
	reads("", "\"\"");
	reads("   ", "\"\"");
	reads("\"\"", "\"\"");
	reads("a & b - c", "(\"a\" AND \"b\" AND \"c\")");
	reads("()", "\"\"");
	reads("a ()", "\"a\"");
	reads("title : \"--\" or a", "\"a\"");
	reads("not ---", "\"\"");
	reads("*", "*");
	reads("* -a", "(* AND NOT \"a\")");
}

static void attributes_hold_for_what_follows_them(void **state)
{
	(void)state;
	reads("title:a", "title : \"a\"");
	reads("Title : a b", "(title : \"a\" AND \"b\")");
	reads("title : (a OR \"b c\") d", "((title : \"a\" OR title : \"b c\") AND \"d\")");
	reads("title : (a url : b)", "(title : \"a\" AND url : \"b\")");
	reads("full-text : and", "full-text : \"and\"");
	reads("title : not", "title : \"not\"");
	reads("title : not a b", "(NOT title : \"a\" AND \"b\")");
	reads("title : -a", "NOT title : \"a\"");
	reads("title:-(a or b) c", "(NOT (title : \"a\" OR title : \"b\") AND \"c\")");
	reads("title : not and b", "(title : \"not\" AND \"b\")");
	reads("not title : not a", "title : \"a\"");
	reads("size : -5", "size : \"5\"");      /* a number below 0 where size is one */
	reads("a OR:b", "(\"a\" AND \"OR b\")"); /* no attribute has the name of an operator */
	reads("a or : b", "(\"a\" OR \"b\")");
}

static void case_is_regarded_after_an_equals_sign(void **state)
{
	(void)state;
	reads("=Apple =\"Apple Pie\" title : =X",
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
	struct query q;
	struct err err;
	assert_int_equal(0, query_parse(str_of(text), NULL, rules, &arena, &q, &err));
	assert_int_equal(QUERY_COMPARE, q.root->op);
	return *q.root;
}

static void numbers_and_dates_are_compared(void **state)
{
	(void)state;
	reads("size<10 size >= -5 date > \"2024-05\"",
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
	reads(buf_text(&b), "\"a\"");
	buf_clear(&b);
	buf_fill(&b, '(', QUERY_DEPTH_MOST + 1);
	buf_add_byte(&b, 'a');
	refuses(buf_text(&b), "brackets in brackets");
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
	reads(buf_text(&b), "\"\"");
	buf_clear(&b);
	for (int i = 0; i < 15000; i++)
		buf_add_text(&b, "not ");
	buf_add_text(&b, "a");
	reads(buf_text(&b), "\"a\"");
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
		cmocka_unit_test(errors_name_the_place),
		cmocka_unit_test(size_and_depth_are_bounded),
	};
	return cmocka_run_group_tests(tests, open_rules, close_rules);
}
