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

static struct snippet_terms terms_of(const char *text)
{
	struct query q;
	struct snippet_terms terms;
	assert_int_equal(query_parse(str_of(text), NULL, rules, &arena, &q, &err), 0);
	snippet_terms(q.root, &terms);
	return terms;
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
	struct snippet_terms terms = terms_of(query);
	struct marked m;
	snippet_make(&terms, rules, text, &arena, &m);
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
	struct snippet_terms terms = terms_of("b");
	struct marked m;
	(void)state;
	snippet_mark(&terms, rules, STR("a b \xc3\xa9\xc3\xa9"), 5, &arena, &m);
	assert_string_equal(shown(&m), "a [b]~");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(words_are_marked_as_they_stand),
		TEST(what_a_query_excludes_is_not_marked),
		TEST(the_part_with_most_different_words_is_shown),
		TEST(without_a_word_the_beginning_is_shown),
		TEST(characters_stay_whole),
		TEST(a_title_is_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
