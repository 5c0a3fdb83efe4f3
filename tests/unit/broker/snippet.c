#include "broker/snippet.h"

#include "../unit.h"

static struct arena arena = ARENA_INIT(16 << 20);
static struct token_rules *rules;
static struct err err;

static int begin(void **state)
{
	(void)state;
	return token_rules_open(&rules, STR(""), &err);
}

static int end(void **state)
{
	(void)state;
	token_rules_close(&rules);
	arena_free(&arena);
	return 0;
}

static struct marker *marker_of(const char *text, const struct query_options *options)
{
	struct query q;
	struct marker *m;
	assert_int_equal(query_parse(str_of(text), options, rules, &arena, &q, &err), 0);
	struct marker_spec spec = {.root = q.root, .rules = rules};
	assert_int_equal(marker_new(&m, &spec, &err), 0);
	return m;
}

/* The text with [marks]. */
static const char *shown(const struct marked *m)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	size_t at = 0;
	buf_add_str(&out, m->cut_before ? STR("~") : STR(""));
	for (size_t i = 0; i < m->n; i++) {
		assert_true(m->mark[i].at >= at && m->mark[i].at + m->mark[i].n <= m->text.n);
		buf_add(&out, m->text.p + at, m->mark[i].at - at);
		buf_printf(&out, "[%.*s]", (int)m->mark[i].n, m->text.p + m->mark[i].at);
		at = m->mark[i].at + m->mark[i].n;
	}
	buf_add(&out, m->text.p + at, m->text.n - at);
	buf_add_str(&out, m->cut_after ? STR("~") : STR(""));
	return arena_text(&arena, buf_str(&out));
}

static const char *make(const char *query, struct str text)
{
	CLEANUP(marker_free) struct marker *marker = marker_of(query, NULL);
	struct marked m;
	snippet_make(marker, STR("full-text"), text, &arena, &m);
	return shown(&m);
}

static void words_are_marked_as_they_stand(void **state)
{
	(void)state;
	assert_string_equal(make("apple pear", STR("An APPLE, a Pear,\n\n a plum.")),
			    "An [APPLE], a [Pear], a plum.");
	assert_string_equal(make("\xc3\xa9t\xc3\xa9", STR("Un ete, un \xc3\x89T\xc3\x89.")),
			    "Un [ete], un [\xc3\x89T\xc3\x89].");
	assert_string_equal(make("x", STR("")), "");
}

static void what_a_query_excludes_is_not_marked(void **state)
{
	(void)state;
	assert_string_equal(make("apple NOT pear", STR("apple pear")), "[apple] pear");
	assert_string_equal(make("\"red apple\" OR pear", STR("red apple pear")),
			    "[red] [apple] [pear]");
}

static void a_phrase_is_marked_where_it_stands(void **state)
{
	(void)state;
	assert_string_equal(make("\"red apple\"", STR("apple red, red  apple, red pear, apple")),
			    "apple red, [red] [apple], red pear, apple");
	assert_string_equal(make("\"a a b\"", STR("a a a b a b")), "a [a] [a] [b] a b");
	assert_string_equal(make("=Apple", STR("apple Apple APPLE")), "apple [Apple] APPLE");
}

static void what_a_word_means_is_marked(void **state)
{
	(void)state;
	assert_string_equal(make("app*", STR("Apples, an app, a map")),
			    "[Apples], an [app], a map");
	assert_string_equal(make("*ppl*", STR("apple, apply, ample")), "[apple], [apply], ample");
	assert_string_equal(make("appel~1", STR("Apple, apel, APPELS")), "Apple, [apel], [APPELS]");
	assert_string_equal(make("\"red a*\"", STR("red pear, red apples a")),
			    "red pear, [red] [apples] a");
	assert_string_equal(make("\"red pear\"~1", STR("rad pear, red pears, rad pea")),
			    "[rad] [pear], [red] [pears], rad pea");
	assert_string_equal(make("red NEAR/2 pear", STR("red a b pear a red")),
			    "red a b [pear] a [red]");
	assert_string_equal(make("=APP*", STR("APPLE Apple")), "[APPLE] Apple");
}

static void words_of_an_attribute_are_marked_in_it(void **state)
{
	CLEANUP(marker_free) struct marker *marker = marker_of("title : apple pear", NULL);
	struct marked m;
	(void)state;
	snippet_mark(marker, STR("Title"), STR("apple pear"), 100, &arena, &m);
	assert_string_equal(shown(&m), "[apple] [pear]");
	snippet_make(marker, STR("full-text"), STR("apple pear"), &arena, &m);
	assert_string_equal(shown(&m), "apple [pear]");
}

static void the_part_with_most_different_words_is_shown(void **state)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 20);
	(void)state;
	buf_add_str(&text, STR("apple apple apple at the beginning. "));
	for (int i = 0; i < 500; i++)
		buf_add_str(&text, STR("filler "));
	buf_add_str(&text, STR("End. Here apple and pear meet. "));
	for (int i = 0; i < 500; i++)
		buf_add_str(&text, STR("filler "));
	const char *got = make("apple pear", buf_str(&text));
	assert_memory_equal(got, "~Here [apple] and [pear] meet. filler", 37);
	assert_true(strlen(got) < SNIPPET_BYTES + 20);
	assert_int_equal(got[strlen(got) - 1], '~');
}

static void without_a_word_the_beginning_is_shown(void **state)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 20);
	(void)state;
	for (int i = 0; i < 500; i++)
		buf_add_str(&text, STR("some text "));
	const char *got = make("other", buf_str(&text));
	assert_memory_equal(got, "some text some", 14);
	assert_true(strlen(got) <= SNIPPET_BYTES + 2);
}

static void characters_stay_whole(void **state)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 20);
	(void)state;
	for (int i = 0; i < 2000; i++)
		buf_add_str(&text, STR("\xe6\x9c\xac"));
	buf_add_str(&text, STR("apple"));
	for (int i = 0; i < 2000; i++)
		buf_add_str(&text, STR("\xe6\x9c\xac"));
	const char *got = make("apple", buf_str(&text));
	assert_non_null(strstr(got, "\xac[apple]\xe6\x9c\xac"));
	size_t n = strlen(got);
	assert_int_equal((n - strlen("~[apple]~")) % 3, 0);
}

static void a_title_is_cut_between_characters(void **state)
{
	CLEANUP(marker_free) struct marker *marker = marker_of("b", NULL);
	struct marked m;
	(void)state;
	snippet_mark(marker, STR("title"), STR("a b \xc3\xa9\xc3\xa9"), 5, &arena, &m);
	assert_string_equal(shown(&m), "a [b]~");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(words_are_marked_as_they_stand),
		TEST(what_a_query_excludes_is_not_marked),
		TEST(a_phrase_is_marked_where_it_stands),
		TEST(what_a_word_means_is_marked),
		TEST(words_of_an_attribute_are_marked_in_it),
		TEST(the_part_with_most_different_words_is_shown),
		TEST(without_a_word_the_beginning_is_shown),
		TEST(characters_stay_whole),
		TEST(a_title_is_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
