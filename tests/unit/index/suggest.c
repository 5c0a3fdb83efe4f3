/* Suggestions and what was perhaps meant, in an index of several segments with deletes. */
#include "index/suggest.h"
#include "../scratch.h"
#include "../unit.h"
#include "soif/soif.h"

static struct token_rules *rules;
static struct arena arena = ARENA_INIT((size_t)1 << 32);
static struct err err;

static int suggest_make(void **state)
{
	if (token_rules_open(&rules, STR(""), &err) < 0)
		return -1;
	return scratch_make_in_memory(state);
}

static int suggest_done(void **state)
{
	token_rules_close(&rules);
	arena_free(&arena);
	return scratch_done(state);
}

/* Documents by oid; a title of each. */
static const char *titles[1000];
static uint64_t added;

static struct words_writer *writer_of(const char *name, const char *language)
{
	struct words_writer *w;
	struct words_settings settings;
	words_settings_default(&settings);
	snprintf(settings.language, sizeof settings.language, "%s", language);
	struct words_options options = {.settings = &settings, .merges_elsewhere = true};
	assert_int_equal(0, words_writer_open(&w, scratch(name), &options, &err));
	added = 0;
	return w;
}

static void put_doc(struct words_writer *w, const char *title, const char *text)
{
	struct words_attr attr[] = {{STR("title"), str_of(title)},
				    {STR("full-text"), str_of(text)}};
	titles[++added] = title;
	struct words_doc doc = {
		.key = str_of(arena_printf(&arena, "k%u", (unsigned)added)),
		.oid = added,
		.attr = attr,
		.n = 2,
	};
	if (words_add(w, &doc, &err) < 0)
		fail_msg("%s", err.msg);
}

static void put_often(struct words_writer *w, const char *text, unsigned n)
{
	while (n--)
		put_doc(w, "", text);
}

static void commit_words(struct words_writer *w)
{
	assert_int_equal(0, words_commit(w, NULL, &err));
}

static struct words_reader *reader_of(struct words_writer **w, const char *name)
{
	struct words_reader *r;
	assert_true(words_commit(*w, NULL, &err) >= 0);
	words_writer_close(w);
	assert_int_equal(0, words_open(&r, scratch(name), &err));
	return r;
}

static int text_of(void *ctx, uint64_t oid, struct arena *in, struct soif *ret, struct err *why)
{
	(void)ctx;
	(void)why;
	*ret = (struct soif){.type = STR("FILE"), .url = STR("u")};
	if (oid == 0 || oid > added)
		return 1;
	soif_add(ret, in, STR("Title"), str_of(titles[oid]));
	return 0;
}

/* "word/documents" with blanks between; a title in brackets. */
static const char *suggested_for(struct words_reader *r, const char *prefix, uint32_t words,
				 uint32_t title_count)
{
	struct words_suggest_spec spec = {
		.prefix = str_of(prefix),
		.rules = rules,
		.words = words,
		.titles = title_count,
		.text = text_of,
	};
	struct words_suggestion *s;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	size_t n;
	if (words_suggest(r, &spec, &arena, &s, &n, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < n; i++) {
		buf_add_text(&out, i ? " " : "");
		if (s[i].docs)
			buf_printf(&out, STR_FMT "/%u", STR_ARG(s[i].text), (unsigned)s[i].docs);
		else
			buf_printf(&out, "[" STR_FMT "]", STR_ARG(s[i].text));
	}
	return arena_text(&arena, buf_str(&out));
}

/* What was perhaps meant; "-": nothing is known. */
static const char *meant_with(struct words_reader *r, const char *text,
			      const struct query_options *options)
{
	struct query q;
	struct str ret;
	if (query_parse(str_of(text), options, rules, &arena, &q, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	int rc = words_did_you_mean(r, &q, rules, &arena, &ret, &err);
	if (rc < 0)
		fail_msg("%s", err.msg);
	return rc == 1 ? "-" : arena_text(&arena, ret);
}

static const char *meant_by(struct words_reader *r, const char *text)
{
	return meant_with(r, text, NULL);
}

static void words_come_by_their_documents_over_all_segments(void **state)
{
	struct words_writer *w = writer_of("w", "");
	(void)state;
	put_often(w, "apple", 3);
	put_often(w, "apply appeal", 2);
	commit_words(w);
	put_often(w, "apply", 2);
	put_often(w, "banana apron", 1);
	struct words_reader *r = reader_of(&w, "w");
	assert_string_equal(suggested_for(r, "app", 10, 0), "apply/4 apple/3 appeal/2");
	assert_string_equal(suggested_for(r, "ap", 2, 0), "apply/4 apple/3");
	assert_string_equal(suggested_for(r, "APPL", 10, 0), "apply/4 apple/3");
	assert_string_equal(suggested_for(r, "apple", 10, 0), "apple/3");
	assert_string_equal(suggested_for(r, "apples", 10, 0), "");
	assert_string_equal(suggested_for(r, "", 10, 0), "");
	assert_string_equal(suggested_for(r, "apple ", 10, 0), "");
	assert_string_equal(suggested_for(r, "app", 0, 0), "");
	words_close(&r);
}

static void the_last_of_several_words_is_completed(void **state)
{
	struct words_writer *w = writer_of("last", "");
	(void)state;
	put_often(w, "apple pie", 2);
	put_often(w, "\xc3\xa9t\xc3\xa9", 1);
	struct words_reader *r = reader_of(&w, "last");
	assert_string_equal(suggested_for(r, "Apple  pi", 10, 0), "Apple  pie/2");
	assert_string_equal(suggested_for(r, "unheard-of a", 10, 0), "unheard-of apple/2");
	assert_string_equal(suggested_for(r, "\xc3\x89T", 10, 0), "ete/1");
	words_close(&r);
}

static void words_of_deleted_documents_are_not_suggested(void **state)
{
	struct words_writer *w = writer_of("deleted", "");
	(void)state;
	put_doc(w, "", "gone apple");
	put_doc(w, "", "gone garnet");
	put_doc(w, "", "garner");
	commit_words(w);
	assert_int_equal(0, words_delete(w, STR("k1"), &err));
	assert_int_equal(0, words_delete(w, STR("k2"), &err));
	struct words_reader *r = reader_of(&w, "deleted");
	assert_string_equal(suggested_for(r, "g", 10, 0), "garner/1");
	assert_string_equal(suggested_for(r, "a", 10, 0), "");
	assert_string_equal(meant_by(r, "garnex"), "garner");
	assert_string_equal(meant_by(r, "aple"), "-");
	words_close(&r);
}

static void titles_are_completed_and_none_twice(void **state)
{
	struct words_writer *w = writer_of("titles", "");
	(void)state;
	put_doc(w, "Apple pie", "x");
	put_doc(w, "Apple  PIE\n", "x");
	put_doc(w, "The apple pipe of a long title", "x");
	put_doc(w, "Pie of apples", "x");
	put_doc(w, "", "apple pie");
	struct words_reader *r = reader_of(&w, "titles");
	assert_string_equal(suggested_for(r, "apple pi", 0, 10),
			    "[Apple pie] [The apple pipe of a long title]");
	assert_string_equal(suggested_for(r, "apple pi", 0, 1), "[Apple pie]");
	assert_string_equal(suggested_for(r, "pie apples ", 5, 10), "[Pie of apples]");
	assert_string_equal(suggested_for(r, "pear", 5, 10), "");
	words_close(&r);
}

static void a_stemmed_index_suggests_words_not_stems(void **state)
{
	struct words_writer *w = writer_of("stems", "english");
	struct token_rules *plain = rules;
	(void)state;
	put_often(w, "Connections", 3);
	put_often(w, "house", 2);
	struct words_reader *r = reader_of(&w, "stems");
	assert_int_equal(0, token_rules_open(&rules, STR("english"), &err));
	assert_string_equal(suggested_for(r, "connecti", 10, 0), "connections/3");
	assert_string_equal(suggested_for(r, "conn", 10, 0), "connections/3"); /* the stem, too */
	assert_string_equal(suggested_for(r, "hou", 10, 0), "house/2");
	assert_string_equal(meant_by(r, "connextions"), "Connections");
	token_rules_close(&rules);
	rules = plain;
	words_close(&r);
}

static void what_hardly_any_document_has_is_put_right(void **state)
{
	struct words_writer *w = writer_of("meant", "");
	(void)state;
	put_often(w, "linux kernel", 3);
	put_often(w, "colonel kernels", 2);
	commit_words(w);
	put_often(w, "linux kernel encyclopedia", 2);
	put_often(w, "AND", 1);
	struct words_reader *r = reader_of(&w, "meant");
	assert_string_equal(meant_by(r, "linux kernel"), "-");
	assert_string_equal(meant_by(r, "linux kernal"), "linux kernel");
	assert_string_equal(meant_by(r, "linux kerenl"), "linux kernel"); /* a swap is one error */
	assert_string_equal(meant_by(r, "Linux knl"), "-");
	assert_string_equal(meant_by(r, "linxu kernle"), "linux kernel");
	assert_string_equal(meant_by(r, "encyclopaedja"), "encyclopedia");
	assert_string_equal(meant_by(r, "encyclopaedjx"), "-"); /* three */
	assert_string_equal(meant_by(r, "linux OR (kernal colonel)"), "linux OR (kernel colonel)");
	assert_string_equal(meant_by(r, "\"linux kernal\""), "\"linux kernel\"");
	assert_string_equal(meant_by(r, "linux NOT xyzzy"), "-");
	assert_string_equal(meant_by(r, "linux NOT kernal"), "-");
	assert_string_equal(meant_by(r, "kernal NOT colonel"), "kernel NOT colonel");
	assert_string_equal(meant_by(r, "full-text : kernal"), "full-text : kernel");
	assert_string_equal(meant_by(r, "full-text : \"Linux kernal\""),
			    "full-text : \"Linux kernel\"");
	assert_string_equal(meant_by(r, "linux NEAR/3 kernal"), "\"linux\" NEAR/3 \"kernel\"");
	assert_string_equal(meant_by(r, "linux* kernal~1"), "-");
	assert_string_equal(meant_by(r, "li?ux kernal"), "\"li?ux\" kernel");
	assert_string_equal(meant_by(r, "title : kernal"), "-"); /* no title has it */
	assert_string_equal(meant_by(r, "=kernal"), "-");
	assert_string_equal(meant_by(r, "anb"), "\"and\"");
	assert_string_equal(meant_by(r, "x"), "-");
	/* A word that finds something as the options have it is not doubted. */
	const struct query_options parts = {.parts = true}, one = {.errors = 1},
				   two = {.errors = 2};
	assert_string_equal(meant_by(r, "ernel"), "kernel");
	assert_string_equal(meant_with(r, "ernel", &parts), "-");
	assert_string_equal(meant_with(r, "kernxl", &parts), "kernel");
	assert_string_equal(meant_with(r, "\"inux ernel\"", &parts), "\"inux kernel\"");
	assert_string_equal(meant_with(r, "kernal", &one), "-");
	assert_string_equal(meant_with(r, "kerenl", &one), "kernel");
	assert_string_equal(meant_with(r, "kerenl", &two), "-");
	words_close(&r);
}

static void only_what_has_hits_is_offered(void **state)
{
	struct words_writer *w = writer_of("hits", "");
	(void)state;
	put_often(w, "red house", 5);
	put_often(w, "green mouse", 3);
	struct words_reader *r = reader_of(&w, "hits");
	assert_string_equal(meant_by(r, "xouse"), "house");
	assert_string_equal(meant_by(r, "green xouse"), "green mouse");
	assert_string_equal(meant_by(r, "gren xouse"), "green mouse");
	assert_string_equal(meant_by(r, "red green xouse"), "-");
	words_close(&r);
}

static void a_neighbour_has_many_more_documents(void **state)
{
	struct terms_want want;
	(void)state;
	assert_true(suggest_is_rare(0, 1));
	assert_false(suggest_is_rare(1, SUGGEST_RARE - 1));
	assert_true(suggest_is_rare(1, SUGGEST_RARE));
	assert_false(suggest_is_rare(2, SUGGEST_RARE));
	assert_false(suggest_neighbours(STR("\xc3\xa9"), &want));
	assert_true(suggest_neighbours(STR("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"), &want));
	assert_int_equal(want.k, 1);
	assert_true(want.swaps);
	assert_true(suggest_neighbours(STR("abcdefg"), &want));
	assert_int_equal(want.k, 1);
	assert_true(suggest_neighbours(STR("abcdefgh"), &want));
	assert_int_equal(want.k, 2);
}

static void a_word_is_forgiven_where_none_has_it(void **state)
{
	struct words_writer *w = writer_of("forgiven", "");
	struct terms_want want;
	(void)state;
	put_doc(w, "house", "mouse");
	struct words_reader *r = reader_of(&w, "forgiven");
	size_t n;
	const struct words_part *part = words_parts(r, &n);
	assert_int_equal(suggest_forgives(part, n, STR(""), STR("mouse"), &want, &err), 1);
	assert_int_equal(suggest_forgives(part, n, STR(""), STR("louse"), &want, &err), 0);
	assert_true(str_is(want.word, "louse"));
	assert_int_equal(suggest_forgives(part, n, STR("title"), STR("mouse"), &want, &err), 0);
	assert_int_equal(suggest_forgives(part, n, STR("title"), STR("house"), &want, &err), 1);
	assert_int_equal(suggest_forgives(part, n, STR("keywords"), STR("house"), &want, &err), 0);
	words_close(&r);
}

/* Keys and scores, the best first. */
static const char *forgiven_for(struct words_reader *r, const char *text, bool forgive)
{
	struct query q;
	struct hits hits;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	const struct query_options options = {.forgive = forgive};
	assert_int_equal(query_parse(str_of(text), &options, rules, &arena, &q, &err), 0);
	if (words_query(r, &q, &arena, &hits, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < hits.n; i++)
		buf_printf(&out, "%s" STR_FMT, i ? " " : "", STR_ARG(hits.hit[i].key));
	return arena_text(&arena, buf_str(&out));
}

static void forgiven_words_find_their_neighbours(void **state)
{
	struct words_writer *w = writer_of("forgiving", "");
	(void)state;
	put_doc(w, "", "encyclopedia");      /* k1: two errors */
	put_doc(w, "", "encyclopaedja big"); /* k2: one */
	put_doc(w, "", "a red house");       /* k3 */
	put_doc(w, "", "red x house");       /* k4 */
	commit_words(w);
	put_doc(w, "", "rde"); /* k5: a swap */
	struct words_reader *r = reader_of(&w, "forgiving");
	assert_string_equal(forgiven_for(r, "encyclopaedjx", false), "");
	assert_string_equal(forgiven_for(r, "encyclopaedjx", true), "k2");
	assert_string_equal(forgiven_for(r, "encyclopaedia", true), "k1 k2");
	assert_string_equal(forgiven_for(r, "red hause", true), "k3 k4");
	assert_string_equal(forgiven_for(r, "\"red hause\"", true), "k3");
	assert_string_equal(forgiven_for(r, "\"rad hause\"", true), "k3");
	assert_string_equal(forgiven_for(r, "=hause", true), "");
	assert_string_equal(forgiven_for(r, "house", true), "k3 k4");
	assert_string_equal(forgiven_for(r, "title : house", true), "");
	assert_string_equal(forgiven_for(r, "edr", true), "");
	assert_string_equal(forgiven_for(r, "erd", true), "k3 k4");
	words_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_come_by_their_documents_over_all_segments),
		cmocka_unit_test(the_last_of_several_words_is_completed),
		cmocka_unit_test(words_of_deleted_documents_are_not_suggested),
		cmocka_unit_test(titles_are_completed_and_none_twice),
		cmocka_unit_test(a_stemmed_index_suggests_words_not_stems),
		cmocka_unit_test(what_hardly_any_document_has_is_put_right),
		cmocka_unit_test(only_what_has_hits_is_offered),
		cmocka_unit_test(a_neighbour_has_many_more_documents),
		cmocka_unit_test(a_word_is_forgiven_where_none_has_it),
		cmocka_unit_test(forgiven_words_find_their_neighbours),
	};
	return cmocka_run_group_tests(tests, suggest_make, suggest_done);
}
