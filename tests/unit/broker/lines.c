/* Lines that matched, and in them what did. */
#include "broker/lines.h"

#include "../unit.h"
#include "index/words.h"

static struct arena arena = ARENA_INIT(256 << 20);
static struct token_rules *rules;
static struct err err;

static int lines_begin(void **state)
{
	(void)state;
	return token_rules_open(&rules, STR(""), &err);
}

static int lines_end(void **state)
{
	(void)state;
	token_rules_close(&rules);
	arena_free(&arena);
	return 0;
}

static struct query_node *word_node(enum query_op op, const char *first, const char *second)
{
	struct query_node *node = arena_alloc(&arena, sizeof *node);
	const char *const text[] = {first, second};
	node->op = op;
	node->word = arena_array(&arena, 2, sizeof *node->word);
	for (; node->words < 2 && text[node->words]; node->words++) {
		struct query_word *word = &node->word[node->words];
		word->term = word->folded = word->form = str_of(text[node->words]);
		word->pattern = strpbrk(text[node->words], "*?");
	}
	return node;
}

static struct query_node *parsed_query(const char *text)
{
	struct query q;
	if (query_parse(str_of(text), NULL, rules, &arena, &q, &err) < 0)
		fail_msg("%s", err.msg);
	return q.root;
}

/* Lines as "attribute: text with [marks]", "~" where they were cut. */
static const char *lines_of(const struct query_node *root, const struct soif *doc)
{
	const struct marker_spec spec = {.root = root, .rules = rules};
	CLEANUP(marker_free) struct marker *m = NULL;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	struct matched_line *line;
	size_t n;
	assert_int_equal(marker_new(&m, &spec, &err), 0);
	lines_find(m, doc, &arena, &line, &n);
	assert_true(n <= LINES_MOST);
	for (size_t i = 0; i < n; i++) {
		const struct marked *l = &line[i].line;
		size_t at = 0;
		assert_true(l->n > 0 && l->text.n <= LINES_BYTES);
		buf_printf(&out, "%s" STR_FMT ": %s", i ? "\n" : "", STR_ARG(line[i].attribute),
			   l->cut_before ? "~" : "");
		for (size_t k = 0; k < l->n; k++) {
			assert_true(l->mark[k].n > 0 && l->mark[k].at >= at &&
				    l->mark[k].at + l->mark[k].n <= l->text.n);
			buf_add(&out, l->text.p + at, l->mark[k].at - at);
			buf_printf(&out, "[%.*s]", (int)l->mark[k].n, l->text.p + l->mark[k].at);
			at = l->mark[k].at + l->mark[k].n;
		}
		buf_add(&out, l->text.p + at, l->text.n - at);
		buf_add_text(&out, l->cut_after ? "~" : "");
	}
	return arena_text(&arena, buf_str(&out));
}

static struct soif text_doc(const char *text)
{
	struct soif doc = {.type = STR("FILE"), .url = STR("http://a.example/")};
	soif_add(&doc, &arena, STR("Full-Text"), str_of(text));
	return doc;
}

static const char *lines_in(const struct query_node *root, const char *text)
{
	struct soif doc = text_doc(text);
	return lines_of(root, &doc);
}

static void lines_come_with_their_attribute(void **state)
{
	struct soif doc = text_doc("one\nan Apple, a pear\r\ntwo\napples\npear");
	(void)state;
	soif_add(&doc, &arena, STR("Title"), STR("Of the apple"));
	assert_string_equal(lines_of(parsed_query("apple pear"), &doc),
			    "Full-Text: an [Apple], a [pear]\nFull-Text: [pear]\n"
			    "Title: Of the [apple]");
	assert_string_equal(lines_of(parsed_query("title : apple"), &doc), "Title: Of the [apple]");
	assert_string_equal(lines_of(parsed_query("apple NOT pear"), &doc),
			    "Full-Text: an [Apple], a pear\nTitle: Of the [apple]");
	assert_string_equal(lines_of(parsed_query("example"), &doc), "URL: http://a.[example]/");
	assert_string_equal(lines_of(parsed_query("nothing"), &doc), "");
	assert_string_equal(lines_of(parsed_query("*"), &doc), "");
}

static void a_phrase_may_go_on_in_the_next_line(void **state)
{
	(void)state;
	assert_string_equal(
		lines_in(parsed_query("\"red apple\""), "apple red\na red\napple\nred x"),
		"Full-Text: a [red]\nFull-Text: [apple]");
	assert_string_equal(lines_in(parsed_query("\"red apple\""), "red apple\napple red"),
			    "Full-Text: [red] [apple]");
}

static void patterns_errors_and_parts_are_marked(void **state)
{
	struct query_node *pattern = word_node(QUERY_WORD, "app*", NULL);
	struct query_node *errors = word_node(QUERY_WORD, "apple", NULL);
	struct query_node *parts = word_node(QUERY_WORD, "ppl", NULL);
	(void)state;
	errors->errors = 1;
	parts->parts = true;
	assert_string_equal(lines_in(pattern, "An apple, an APPLICATION.\nmap"),
			    "Full-Text: An [apple], an [APPLICATION].");
	assert_string_equal(lines_in(errors, "aple\nappel\napples Apple"),
			    "Full-Text: [aple]\nFull-Text: [apples] [Apple]");
	assert_string_equal(lines_in(parts, "an aPPLe"), "Full-Text: an a[PPL]e");
	assert_string_equal(lines_in(parts, "\xc3\xa1pple"), "Full-Text: [\xc3\xa1pple]");
}

static void errors_of_a_phrase_are_counted_together(void **state)
{
	struct query_node *node = word_node(QUERY_PHRASE, "apple", "pie");
	(void)state;
	node->errors = 1;
	assert_string_equal(lines_in(node, "aple pie\naple pi\napple p\nappl pie"),
			    "Full-Text: [aple] [pie]\nFull-Text: [appl] [pie]");
	node->errors = 0;
	node->parts = true;
	assert_string_equal(lines_in(node, "pineapple pies apple\napplex pie"),
			    "Full-Text: pine[apple] [pie]s apple");
}

static void near_words_are_marked_where_they_are_near(void **state)
{
	struct query_node *node = word_node(QUERY_NEAR, "red", "pear");
	struct query_node *same = word_node(QUERY_NEAR, "red", "red");
	(void)state;
	node->distance = same->distance = 2;
	assert_string_equal(lines_in(node, "red a b pear c red\nd e f red\nred pear"),
			    "Full-Text: red a b [pear] c [red]\nFull-Text: d e f [red]\n"
			    "Full-Text: [red] [pear]");
	assert_string_equal(lines_in(node, "pear x y red"), "");
	assert_string_equal(lines_in(same, "red x y z red x red"),
			    "Full-Text: red x y z [red] x [red]");
	assert_string_equal(lines_in(same, "red"), "");
}

static void expressions_are_marked_in_their_lines(void **state)
{
	(void)state;
	assert_string_equal(lines_in(parsed_query("/colou?r[ -]map/"),
				     "A Colour-Map\ncolor map, COLOR MAP\r\ncolor\nmap"),
			    "Full-Text: A [Colour-Map]\nFull-Text: [color map], [COLOR MAP]");
	assert_string_equal(lines_in(parsed_query("=/Map/"), "map Map"), "Full-Text: map [Map]");
	assert_string_equal(lines_in(parsed_query("/^e.e$/"), "\xc3\x89t\xc3\xa9\nete x"),
			    "Full-Text: [\xc3\x89t\xc3\xa9]");
	assert_string_equal(lines_in(parsed_query("/as/"), "Stra\xc3\x9f"
							   "e"),
			    "Full-Text: Str[a\xc3\x9f]e");
	assert_string_equal(lines_in(parsed_query("/y*/"), "ayyb\nabc"), "Full-Text: a[yy]b");
	assert_string_equal(lines_in(parsed_query("title : /map/"), "map"), "");
	assert_string_equal(lines_in(parsed_query("apple /p[ix]e/ pear"), "apple pie\npear pxe"),
			    "Full-Text: [apple] [pie]\nFull-Text: [pear] [pxe]");
}

/* A word of a phrase is known last, and may cover matches that were found before. */
static void marks_do_not_overlap(void **state)
{
	(void)state;
	assert_string_equal(
		lines_in(parsed_query("def OR \"abc def ghi\" OR /[bc]/"), "an abc def ghi"),
		"Full-Text: an [abc] [def] [ghi]");
}

static void there_are_ten_lines_at_most(void **state)
{
	struct soif doc = text_doc("x\nx\nx\nx\nx\nx\nx\nx");
	(void)state;
	soif_add(&doc, &arena, STR("Title"), STR("x\nx y\nx z"));
	const char *got = lines_of(parsed_query("x"), &doc);
	assert_non_null(strstr(got, "Title: [x]\nTitle: [x] y"));
	assert_null(strstr(got, "z"));
}

static void a_long_line_is_cut_around_its_first_mark(void **state)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 20);
	(void)state;
	for (int i = 0; i < 3000; i++)
		buf_add_str(&text, STR("\xe6\x9c\xac"));
	buf_add_str(&text, STR(" apple "));
	for (int i = 0; i < 3000; i++)
		buf_add_str(&text, STR("\xe6\x9c\xac"));
	buf_add_str(&text, STR(" apple\npear"));
	const char *got = lines_in(parsed_query("apple"), buf_text(&text));
	assert_int_equal(strncmp(got, "Full-Text: ~\xe6\x9c\xac", 15), 0);
	assert_non_null(strstr(got, "\xac [apple] \xe6"));
	size_t n = strlen(got);
	assert_true(n > 1000 && n < 1060);
	assert_string_equal(got + n - 4, "\xe6\x9c\xac~");
	assert_true(str_utf8(str_of(got)));
	buf_clear(&text);
	for (int i = 0; i < 5000; i++)
		buf_add_str(&text, STR("apple "));
	got = lines_in(parsed_query("apple"), buf_text(&text));
	assert_int_equal(strncmp(got, "Full-Text: [apple] [apple]", 26), 0);
}

/* The same marks as a plain search finds, in random texts of few words. */
static void marks_are_those_that_a_plain_search_finds(void **state)
{
	static const char *const words[] = {"a", "b", "c", "ab", "\n"};
	unsigned seed = 7;
	(void)state;
	for (int round = 0; round < 2000; round++) {
		const char *text[24];
		size_t n = 1 + (unsigned)rand_r(&seed) % 24;
		CLEANUP(buf_free) struct buf all = BUF_INIT(1 << 10), want = BUF_INIT(1 << 10);
		bool marked[24] = {0}, any = false;
		for (size_t i = 0; i < n; i++)
			text[i] = words[(unsigned)rand_r(&seed) % (ARRAY_LEN(words) - 1)];
		for (size_t i = 0; i < n; i++)
			buf_printf(&all, "%s ", text[i]);
		struct query_node *phrase = parsed_query("\"a b a\" OR \"c c\"");
		for (size_t i = 0; i + 2 < n; i++)
			if (strcmp(text[i], "a") == 0 && strcmp(text[i + 1], "b") == 0 &&
			    strcmp(text[i + 2], "a") == 0)
				marked[i] = marked[i + 1] = marked[i + 2] = true;
		for (size_t i = 0; i + 1 < n; i++)
			if (strcmp(text[i], "c") == 0 && strcmp(text[i + 1], "c") == 0)
				marked[i] = marked[i + 1] = true;
		buf_add_text(&want, "Full-Text: ");
		for (size_t i = 0; i < n; i++) {
			any |= marked[i];
			buf_printf(&want, marked[i] ? "[%s] " : "%s ", text[i]);
		}
		assert_string_equal(lines_in(phrase, buf_text(&all)), any ? buf_text(&want) : "");
		arena_clear(&arena);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lines_begin, lines_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_come_with_their_attribute),
		TEST(a_phrase_may_go_on_in_the_next_line),
		TEST(patterns_errors_and_parts_are_marked),
		TEST(errors_of_a_phrase_are_counted_together),
		TEST(near_words_are_marked_where_they_are_near),
		TEST(expressions_are_marked_in_their_lines),
		TEST(marks_do_not_overlap),
		TEST(there_are_ten_lines_at_most),
		TEST(a_long_line_is_cut_around_its_first_mark),
		TEST(marks_are_those_that_a_plain_search_finds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
