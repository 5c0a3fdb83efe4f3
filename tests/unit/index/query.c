/* Answers: budgets, totals, refusals, explanations, odd documents. Which documents match in which
 * order is looked at in query_model.c. */
#include "../scratch.h"
#include "../unit.h"
#include "base/ascii.h"
#include "index/token.h"
#include "index/words.h"

static struct token_rules *rules;
static struct arena arena = ARENA_INIT((size_t)1 << 32);

static int make(void **state)
{
	struct err err;
	if (token_rules_open(&rules, STR(""), &err) < 0)
		return -1;
	return scratch_make_in_memory(state);
}

static int done(void **state)
{
	token_rules_close(&rules);
	arena_free(&arena);
	return scratch_done(state);
}

static struct words_writer *writer_of(const char *name)
{
	struct words_writer *w;
	struct words_settings settings;
	struct words_options options = {.settings = &settings};
	struct err err;
	words_settings_default(&settings);
	settings.columns = 2;
	snprintf(settings.column[0].name, sizeof settings.column[0].name, "size");
	snprintf(settings.column[1].name, sizeof settings.column[1].name, "date");
	settings.column[1].type = WORDS_DATE;
	assert_int_equal(0, words_writer_open(&w, scratch(name), &options, &err));
	return w;
}

static void put(struct words_writer *w, const char *key, struct str title, struct str text)
{
	struct words_attr attr[] = {{STR("title"), title}, {STR("full-text"), text}};
	struct words_doc doc = {.key = str_of(key), .time_s = 1000, .attr = attr, .n = 2};
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

static struct query parsed(const char *text)
{
	struct query q;
	struct err err;
	if (query_parse(str_of(text), NULL, rules, &arena, &q, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	return q;
}

static struct hits answered(struct words_reader *r, const struct query *q)
{
	struct hits hits;
	struct err err;
	if (words_query(r, q, &arena, &hits, &err) < 0)
		fail_msg("%s", err.msg);
	return hits;
}

static void counts(struct words_reader *r, const char *text, uint64_t want)
{
	struct query q = parsed(text);
	q.exact_total = true;
	for (q.limit = 0; q.limit <= 3; q.limit += 3) {
		struct hits hits = answered(r, &q);
		if (!hits.total_exact || hits.total != want)
			fail_msg("'%s': %llu, want %llu", text, (unsigned long long)hits.total,
				 (unsigned long long)want);
		assert_int_equal(MIN(want, q.limit), hits.n);
	}
	arena_clear(&arena);
}

static void refuses(struct words_reader *r, const struct query *q, const char *want)
{
	struct hits hits = {.n = 77};
	struct err err;
	assert_int_equal(-1, words_query(r, q, &arena, &hits, &err));
	assert_int_equal(ERR_USAGE, err.code);
	if (!strstr(err.msg, want))
		fail_msg("'%s' has no '%s'", err.msg, want);
	assert_int_equal(77, hits.n);
}

static void an_empty_index_has_no_hits(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("empty");
	struct words_reader *r = reader_of(&w, "empty");
	counts(r, "word", 0);
	counts(r, "*", 0);
	counts(r, "not word", 0);
	counts(r, "a OR \"b c\" size < 3", 0);
	counts(r, "", 0);
	words_close(&r);
}

static void what_is_compared_must_be_a_column_and_a_value_of_it(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("columns");
	put(w, "a", STR("t"), STR("x"));
	struct words_reader *r = reader_of(&w, "columns");
	struct query q = parsed("\303\251 height > 5"); /* characters are counted, not bytes */
	refuses(r, &q, "query, character 3: 'height' is not a number or date of this index");
	q = parsed("\303\251 /\303\251(?=a)/");
	refuses(r, &q, "query, character 3: expression, character 2: look-around");
	q = parsed("size > 2024-05");
	refuses(r, &q, "'size' is a number in this index, '2024-05' is none");
	q = parsed("x");
	q.limit = QUERY_LIMIT_MOST;
	q.offset = 1;
	refuses(r, &q, "at most 100000 together");
	counts(r, "date > 2024-05", 0); /* nobody has one */
	counts(r, "time : 1970-01-01", 1);
	counts(r, "time < 1970-01-01T00:16:40Z", 0);
	counts(r, "time <= 1970-01-01T00:16:40Z", 1);
	counts(r, "time > 01000", 0);
	counts(r, "time >= 01000", 1);
	counts(r, "nobody : x", 0);
	words_close(&r);
}

static void put_dated(struct words_writer *w, const char *key, const char *date)
{
	struct words_attr attr = {STR("date"), str_of(date)};
	struct words_doc doc = {.key = str_of(key), .attr = &attr, .n = 1};
	struct err err;
	assert_int_equal(0, words_add(w, &doc, &err));
}

static void dates_far_away_are_dates(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("dates");
	put_dated(w, "old", "1901-02-03");
	put_dated(w, "before", "1969-12-31T23:59:59.5Z");
	put_dated(w, "new", "2024-05-17T12:00:00Z");
	put_dated(w, "last", "9999-12-31");
	struct words_reader *r = reader_of(&w, "dates");
	counts(r, "date < 1970", 2);
	counts(r, "date : 1969-12-31", 1);
	counts(r, "date : 1901", 1);
	counts(r, "date > 1970 date < 9999", 1);
	counts(r, "date < 9999", 3);
	counts(r, "date : 9999", 1);
	counts(r, "date <= 9999-12", 4);
	counts(r, "date > 9999-12", 0);
	words_close(&r);
}

static void odd_documents_are_found(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("odd");
	struct buf million = BUF_INIT(1 << 24), large = BUF_INIT(1 << 24);
	for (int i = 0; i < 1000000; i++)
		buf_add_text(&million, "again ");
	buf_add_text(&million, "and END");
	for (int i = 0; large.n < 10 << 20; i++)
		buf_printf(&large, "w%d ", i % 50000);
	put(w, "empty", STR(""), STR(""));
	put(w, "no words", STR("---"), STR("\xff\xfe\xc3 ..."));
	put(w, "million", STR("m"), buf_str(&million));
	put(w, "large", STR("l"), buf_str(&large));
	put(w, "scripts", STR("東京都"), STR("Ünï \xff cödé Москва हिन्दी 한국어 ไทย"));
	put(w, "bad", STR("x\xffy"),
	    STR("a\xc3\x28"
		"b"));
	struct words_reader *r = reader_of(&w, "odd");
	counts(r, "*", 6);
	counts(r, "again", 1);
	counts(r, "\"again again again and end\"", 1);
	counts(r, "\"again end\"", 0);
	counts(r, "=END", 1);
	counts(r, "=end", 0);
	counts(r, "=\"and END\"", 1);
	counts(r, "w49999 w0", 1);
	counts(r, "\"w49998 w49999 w0 w1\"", 1);
	counts(r, "\"w1 w3\"", 0);
	counts(r, "東京", 1);
	counts(r, "京東", 0);
	counts(r, "title : 京都 unï code москва", 1);
	counts(r, "=Ünï -=uni", 1);
	counts(r, "हिन्दी 한국어 ไทย", 1);
	counts(r, "\"x y\" \"a b\"", 1);
	counts(r, "title : m OR title : l OR full-text : m", 2);
	words_close(&r);
	buf_free(&million);
	buf_free(&large);
}

static void many(struct words_writer *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char key[32], text[128];
		snprintf(key, sizeof key, "k%u", i);
		snprintf(text, sizeof text, "one two%s three%u number%u", i % 2 ? " even" : "",
			 i % 3, i);
		put(w, key, STR("title"), str_of(text));
	}
}

static void time_that_is_up_gives_the_best_so_far(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("budget");
	many(w, 30000);
	struct words_reader *r = reader_of(&w, "budget");
	static const char *const slow[] = {"* -(one -(two -(one -even)))",
					   "\"one two\" \"two even\"", "one OR two OR even",
					   "(\"two three1\" OR \"even three2\") -\"one even\""};
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		struct query q = parsed(slow[i]);
		q.budget_us = 1;
		q.exact_total = true;
		struct hits hits = answered(r, &q);
		assert_true(hits.cut);
		assert_false(hits.total_exact);
		assert_true(hits.n <= 10);
		q.budget_us = INT64_C(600) * 1000000;
		hits = answered(r, &q);
		assert_false(hits.cut);
		assert_true(hits.total_exact && hits.total > 0);
		arena_clear(&arena);
	}
	words_close(&r);
}

/* Each phrase reads all positions of a document, and one document is enough to take long. */
static void time_is_up_among_the_phrases_of_a_document(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("phrases");
	struct buf text = BUF_INIT(1 << 20), ask = BUF_INIT(1 << 16);
	for (unsigned i = 0; i < 20000; i++)
		buf_printf(&text, "one two%u ", i % 7);
	put(w, "k", STR("full-text"), buf_str(&text));
	for (unsigned i = 0; i < 150; i++)
		buf_printf(&ask, "%s\"one two%u one two%u\"", i ? " OR " : "", i % 7, (i + 3) % 7);
	struct words_reader *r = reader_of(&w, "phrases");
	struct query q = parsed(buf_text(&ask));
	q.budget_us = 1;
	q.explain = true;
	struct hits hits = answered(r, &q);
	assert_true(hits.cut);
	size_t at = str_find(hits.explain, STR(" checks of positions"));
	assert_true(at < hits.explain.n);
	while (at > 0 && ascii_is_digit(hits.explain.p[at - 1]))
		at--;
	assert_true(strtoul(hits.explain.p + at, NULL, 10) < 10);
	/* nor is a document told that has what was to be taken away, but was not looked at */
	buf_clear(&ask);
	buf_add_text(&ask, "* -(");
	for (unsigned i = 0; i < 150; i++)
		buf_printf(&ask, "%s\"one two%u one two%u\"", i ? " OR " : "", i % 7, (i + 3) % 7);
	buf_add_text(&ask, " OR \"one two0 one two1\")");
	q = parsed(buf_text(&ask));
	q.budget_us = 1;
	hits = answered(r, &q);
	assert_true(hits.cut);
	assert_int_equal(0, hits.n);
	arena_clear(&arena);
	words_close(&r);
	buf_free(&text);
	buf_free(&ask);
}

/* Where every document that is looked at matches, nothing else looks at the clock. */
static void time_is_up_also_in_other_orders(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("orders");
	many(w, 30000);
	struct words_reader *r = reader_of(&w, "orders");
	static const char *const slow[] = {"even", "one OR two", "*", "one two"};
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		struct query q = parsed(slow[i]);
		q.budget_us = 1;
		q.order = QUERY_BY_TIME;
		struct hits hits = answered(r, &q);
		assert_true(hits.cut);
		assert_true(hits.n == 10);
		q.order = QUERY_ANYHOW;
		q.exact_total = true;
		/* how many have a word is known without looking at any */
		assert_int_equal(i > 0, answered(r, &q).cut);
		arena_clear(&arena);
	}
	words_close(&r);
}

static void totals_are_exact_where_that_is_asked_for_or_free(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("totals");
	many(w, 30000);
	struct words_reader *r = reader_of(&w, "totals");
	struct query q = parsed("one");
	struct hits hits = answered(r, &q);
	assert_true(hits.total_exact && hits.total == 30000);
	q = parsed("one even");
	hits = answered(r, &q);
	assert_false(hits.total_exact);
	assert_true(hits.total >= 10 && hits.total <= 15000);
	q.order = QUERY_ANYHOW;
	hits = answered(r, &q);
	assert_false(hits.total_exact);
	assert_int_equal(10, hits.total);
	q.order = QUERY_BY_TIME;
	hits = answered(r, &q);
	assert_true(hits.total_exact && hits.total == 15000);
	q = parsed("number77 OR number78");
	hits = answered(r, &q);
	assert_true(hits.total_exact && hits.total == 2);
	counts(r, "\"one two\"", 30000);
	counts(r, "\"two even\" three1", 5000);
	words_close(&r);
}

static void an_explanation_adds_up(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("explain");
	put(w, "k1", STR("Apple"), STR("apple pie"));
	put(w, "k2", STR("Pie"), STR("pear"));
	struct words_reader *r = reader_of(&w, "explain");
	struct query q = parsed("apple title : apple");
	q.explain = true;
	struct hits hits = answered(r, &q);
	assert_int_equal(1, hits.n);
	char *text = arena_text(&arena, hits.explain);
	assert_non_null(strstr(text, "query: (\"apple\" AND title : \"apple\")\n"));
	assert_non_null(strstr(text, "  apple: 1 documents, idf 0.6931\n"));
	assert_non_null(strstr(text, "segment 0 document 0 k1\n"));
	/* title counts four times: 4 + 1 of the text */
	const char *line = strstr(text, "    apple: ");
	assert_non_null(line);
	assert_non_null(strstr(line, "frequency 5"));
	const char *second = strstr(text, "    title : apple: ");
	assert_non_null(second);
	const char *title = strstr(text, "    title: "); /* which is the query */
	assert_non_null(title);
	double sum = strtod(line + strlen("    apple: "), NULL) +
		     strtod(second + strlen("    title : apple: "), NULL) +
		     strtod(title + strlen("    title: "), NULL);
	assert_true(sum - (double)hits.hit[0].score < 0.001 &&
		    (double)hits.hit[0].score - sum < 0.001);
	words_close(&r);
}

static void a_hit_leads_to_its_document(void **state)
{
	(void)state;
	struct words_writer *w = writer_of("hit");
	struct words_attr attr = {STR("full-text"), STR("word")};
	struct words_doc doc = {.key = STR("http://h/"), .time_s = -5, .attr = &attr, .n = 1};
	struct err err;
	doc.oid = 123456789;
	assert_int_equal(0, words_add(w, &doc, &err));
	struct words_reader *r = reader_of(&w, "hit");
	struct query q = parsed("word");
	struct hits hits = answered(r, &q);
	assert_int_equal(1, hits.n);
	assert_str(hits.hit[0].key, "http://h/");
	assert_true(hits.hit[0].time_s == -5);
	assert_true(hits.hit[0].oid == 123456789);
	words_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_index_has_no_hits),
		cmocka_unit_test(what_is_compared_must_be_a_column_and_a_value_of_it),
		cmocka_unit_test(dates_far_away_are_dates),
		cmocka_unit_test(odd_documents_are_found),
		cmocka_unit_test(time_that_is_up_gives_the_best_so_far),
		cmocka_unit_test(time_is_up_among_the_phrases_of_a_document),
		cmocka_unit_test(time_is_up_also_in_other_orders),
		cmocka_unit_test(totals_are_exact_where_that_is_asked_for_or_free),
		cmocka_unit_test(an_explanation_adds_up),
		cmocka_unit_test(a_hit_leads_to_its_document),
	};
	return cmocka_run_group_tests(tests, make, done);
}
