/* The right page first: what else than BM25 decides the order of the best, and that result pages
 * fit together. The same against plain code: query_model.c. */
#include "../scratch.h"
#include "../unit.h"
#include "index/query/rank.h"
#include "index/token.h"
#include "index/words.h"

static struct token_rules *rules;
static struct arena arena = ARENA_INIT((size_t)1 << 30);

static int order_make(void **state)
{
	struct err err;
	if (token_rules_open(&rules, STR(""), &err) < 0)
		return -1;
	return scratch_make_in_memory(state);
}

static int order_done(void **state)
{
	token_rules_close(&rules);
	arena_free(&arena);
	return scratch_done(state);
}

static struct words_writer *writer_of(const char *name)
{
	struct words_writer *w;
	struct err err;
	if (words_writer_open(&w, scratch(name), NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return w;
}

static void put_doc(struct words_writer *w, const char *key, const char *attribute,
		    const char *value, const char *text)
{
	struct words_attr attr[] = {{STR("full-text"), str_of(text)},
				    {str_of(attribute), str_of(value)}};
	struct words_doc doc = {.key = str_of(key), .attr = attr, .n = 2};
	struct err err;
	if (words_add(w, &doc, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct words_reader *reader_of(struct words_writer **w, const char *name)
{
	struct words_reader *r;
	struct err err;
	assert_true(words_commit(*w, NULL, &err) >= 0);
	words_writer_close(w);
	assert_int_equal(0, words_open(&r, scratch(name), &err));
	return r;
}

static struct hits ask_words(struct words_reader *r, const char *text, uint32_t offset,
			     uint32_t limit, uint32_t per_site)
{
	struct query q;
	struct hits hits;
	struct err err;
	if (query_parse(str_of(text), NULL, rules, &arena, &q, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	q.offset = offset;
	q.limit = limit;
	q.per_site = per_site;
	q.explain = true;
	if (words_query(r, &q, &arena, &hits, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	return hits;
}

/* Fails unless the hits are those, separated by blanks. */
static void comes_first(struct words_reader *r, const char *text, const char *want)
{
	struct buf keys = BUF_INIT(1 << 16);
	struct hits hits = ask_words(r, text, 0, 100, 0);
	for (size_t i = 0; i < hits.n; i++)
		buf_printf(&keys, "%s" STR_FMT, i ? " " : "", STR_ARG(hits.hit[i].key));
	if (strcmp(want, buf_text(&keys)) != 0)
		fail_msg("'%s': %s, want %s", text, buf_text(&keys), want);
	buf_free(&keys);
}

static void explains_with(struct words_reader *r, const char *text, const char *want)
{
	struct hits hits = ask_words(r, text, 0, 10, 0);
	if (!strstr(arena_text(&arena, hits.explain), want))
		fail_msg("'%s' does not say '%s':\n" STR_FMT, text, want, STR_ARG(hits.explain));
}

static void words_near_each_other_come_first(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("near");
	put_doc(w, "far", "note", "x", "apple one two three four five six seven eight pie nine");
	put_doc(w, "turned", "note", "x", "pie apple one two three four five six seven eight nine");
	put_doc(w, "neighbours", "note", "x",
		"one two three apple pie four five six seven eight nine");
	put_doc(w, "between", "note", "x",
		"one two three apple four pie five six seven eight nine");
	struct words_reader *r = reader_of(&w, "near");
	comes_first(r, "apple pie", "neighbours turned between far");
	comes_first(r, "pie OR apple", "turned neighbours between far");
	comes_first(r, "apple", "far turned neighbours between");
	explains_with(r, "apple pie", "    nearness: ");
	words_close(&r);
}

static void a_title_that_is_the_query_comes_first(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("title");
	put_doc(w, "longer", "title", "apple pie with cream", "apple pie one two three");
	put_doc(w, "is", "title", "Apple Pie", "apple pie one two three four five");
	put_doc(w, "half", "title", "apple", "apple pie one two three four five six");
	put_doc(w, "none", "title", "other things", "apple pie apple pie apple pie one");
	struct words_reader *r = reader_of(&w, "title");
	comes_first(r, "apple pie", "is longer half none");
	comes_first(r, "\"apple pie\"", "is longer half none");
	comes_first(r, "apple", "half is longer none");
	explains_with(r, "apple pie", "    title: ");
	words_close(&r);
}

/* Several terms may be meant: each of them counts as the word. Too many: none does. */
static void words_with_errors_count_in_the_order(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("errors");
	put_doc(w, "far", "title", "other things", "apple pie apple one two three four pie");
	put_doc(w, "near", "title", "other words", "one apples pie two three four five six");
	put_doc(w, "is", "title", "apple pie", "one apple two pie three four five");
	struct words_reader *r = reader_of(&w, "errors");
	explains_with(r, "appel~2 pie", "    title: ");
	explains_with(r, "appel~2 pie", "    nearness: ");
	explains_with(r, "app* pie", "    nearness: ");
	struct hits hits = ask_words(r, "appel~2 pie", 0, 10, 0);
	assert_int_equal(3, hits.n);
	assert_true(str_is(hits.hit[0].key, "is"));
	words_close(&r);
	w = writer_of("many");
	for (char c = 'a'; c <= 'z'; c++)
		put_doc(w, (char[]){c, 0}, "title", (char[]){'w', c, 0}, "text");
	r = reader_of(&w, "many");
	hits = ask_words(r, "w*", 0, 10, 0);
	assert_int_equal(26, hits.total);
	assert_null(strstr(arena_text(&arena, hits.explain), "    title: "));
	words_close(&r);
}

static void words_in_url_and_anchors_count(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("url");
	put_doc(w, "a", "note", "x y", "the apple is good");
	put_doc(w, "b", "url", "http://apple/", "it is good");
	put_doc(w, "c", "anchors", "an apple tree", "it was good");
	put_doc(w, "d", "url-text", "apple", "good it is there");
	struct words_reader *r = reader_of(&w, "url");
	explains_with(r, "apple good", "    url: ");
	explains_with(r, "apple good", "    anchors: ");
	struct hits hits = ask_words(r, "apple", 0, 10, 0);
	assert_int_equal(4, hits.n);
	assert_true(str_is(hits.hit[0].key, "c") || str_is(hits.hit[0].key, "d"));
	assert_true(str_is(hits.hit[3].key, "a"));
	words_close(&r);
}

static void fill_sites(struct words_writer *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char key[64], text[128];
		snprintf(key, sizeof key, "http://h%u/%u", i % 3 ? 0 : i, i);
		snprintf(text, sizeof text, "apple %.*s pie", (int)(i % 40),
			 "a b c d e f g h i j k l m n o p q r s t u v w x y z");
		put_doc(w, key, "title", i % 5 ? "some page" : "pie apple", text);
		if (i % 200 == 199) {
			struct err err;
			assert_int_equal(0, words_commit(w, NULL, &err));
		}
	}
}

/* Pages of any length, one after the other, are the list; and every hit comes once. */
static void pages_fit_together(void **state)
{
	(void)state;
	enum { DOCS = 700 };
	static const uint32_t lengths[] = {1, 7, 10, 64, 99, 130};
	struct words_writer *w = writer_of("pages");
	fill_sites(w, DOCS);
	struct words_reader *r = reader_of(&w, "pages");
	for (uint32_t per_site = 0; per_site < 3; per_site += 2) {
		struct hits all = ask_words(r, "apple pie", 0, DOCS + 1, per_site);
		assert_int_equal(DOCS, all.n);
		for (size_t i = 0; i < all.n; i++)
			for (size_t k = 0; k < i; k++)
				assert_false(str_eq(all.hit[i].key, all.hit[k].key));
		for (size_t l = 0; l < ARRAY_LEN(lengths); l++)
			for (uint32_t from = 0; from < 3 * RANK_WINDOW; from += lengths[l]) {
				struct hits page =
					ask_words(r, "apple pie", from, lengths[l], per_site);
				assert_int_equal(lengths[l], page.n);
				for (size_t i = 0; i < page.n; i++)
					assert_true(str_eq(page.hit[i].key, all.hit[from + i].key));
				if (l == 0 && from > 40)
					break;
			}
		arena_clear(&arena);
	}
	words_close(&r);
}

static size_t from_host(const struct hits *hits, struct str host, size_t n)
{
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		found += str_starts(hits->hit[i].key, host);
	return found;
}

static void a_site_has_its_share_of_the_first(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("sites");
	fill_sites(w, 150);
	struct words_reader *r = reader_of(&w, "sites");
	struct hits any = ask_words(r, "apple", 0, 100, 0), two = ask_words(r, "apple", 0, 100, 2);
	size_t many = from_host(&any, STR("http://h0/"), 100);
	assert_true(many > 50);
	assert_int_equal(many, from_host(&two, STR("http://h0/"), 100));
	/* two of it, the other sites, all others of it */
	assert_int_equal(2, from_host(&two, STR("http://h0/"), 100 - (many - 2)));
	words_close(&r);
}

/* By the definition: every position with every other. */
static float near_plainly(const uint32_t *first, uint32_t nfirst, const uint32_t *second,
			  uint32_t nsecond)
{
	uint32_t least = UINT32_MAX;
	for (uint32_t i = 0; i < nfirst; i++)
		for (uint32_t k = 0; k < nsecond; k++) {
			if (second[k] > first[i])
				least = MIN(least, 2 * (second[k] - first[i]) - 1);
			if (second[k] < first[i])
				least = MIN(least, 2 * (first[i] - second[k]));
		}
	return least == UINT32_MAX ? 0 : 2 / (1 + (float)least);
}

/* n ascending positions. */
static void make_positions(uint32_t *v, uint32_t n, uint32_t widest, uint32_t *state)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i < n; i++) {
		*state = *state * 1664525 + 1013904223;
		v[i] = at += 1 + (*state >> 16) % widest;
	}
}

static void nearness_is_the_same_for_few_and_many_positions(void **state)
{
	static const uint32_t counts[] = {0, 1, 2, 3, 7, 8, 9, 16, 17, 40, 130};
	uint32_t first[130], second[130], dice = 4711;
	(void)state;
	for (uint32_t round = 0; round < 20; round++)
		for (size_t a = 0; a < ARRAY_LEN(counts); a++)
			for (size_t b = 0; b < ARRAY_LEN(counts); b++) {
				uint32_t n = counts[a], m = counts[b];
				make_positions(first, n, 1 + round * 40, &dice);
				make_positions(second, m, 2 + round * 7, &dice);
				assert_true(rank_near(first, n, second, m) ==
					    near_plainly(first, n, second, m));
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearness_is_the_same_for_few_and_many_positions),
		cmocka_unit_test(words_near_each_other_come_first),
		cmocka_unit_test(a_title_that_is_the_query_comes_first),
		cmocka_unit_test(words_with_errors_count_in_the_order),
		cmocka_unit_test(words_in_url_and_anchors_count),
		cmocka_unit_test(pages_fit_together),
		cmocka_unit_test(a_site_has_its_share_of_the_first),
	};
	return cmocka_run_group_tests(tests, order_make, order_done);
}
