#include "index/words.h"

#include "base/file.h"
#include "lines.h"

static unsigned seed = 1;

static unsigned below(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

/* Documents that a test has added and that should be there. */
struct shelf {
	struct words_doc doc[3000];
	size_t n;
	struct arena arena;
	struct words_settings settings;
	struct token_rules *rules;
	char folder[300];
};

static int set_up(void **state)
{
	struct err err;
	struct shelf *s = mem_alloc(sizeof *s);
	static unsigned number;
	s->arena = ARENA_INIT(SIZE_MAX);
	words_settings_default(&s->settings);
	snprintf(s->settings.column[0].name, sizeof s->settings.column[0].name, "size");
	snprintf(s->settings.column[1].name, sizeof s->settings.column[1].name, "day");
	s->settings.column[1].type = WORDS_DATE;
	s->settings.columns = 2;
	snprintf(s->folder, sizeof s->folder, "%s/%u", scratch_dir, number++);
	*state = s;
	return token_rules_open(&s->rules, STR(""), &err);
}

static int tear_down(void **state)
{
	struct shelf *s = *state;
	token_rules_close(&s->rules);
	arena_free(&s->arena);
	mem_free(state);
	return 0;
}

static struct words_writer *open_writer(struct shelf *s)
{
	struct err err;
	struct words_writer *w;
	struct words_options options = {.settings = &s->settings, .memory = WORDS_MEMORY_MIN};
	assert_int_equal(words_writer_open(&w, s->folder, &options, &err), 0);
	return w;
}

static void forget(struct shelf *s, struct str key)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->doc[i].key, key)) {
			s->doc[i] = s->doc[--s->n];
			return;
		}
}

static void add(struct shelf *s, struct words_writer *w, struct words_doc doc)
{
	struct err err;
	assert_int_equal(words_add(w, &doc, &err), 0);
	forget(s, doc.key);
	assert_true(s->n < ARRAY_LEN(s->doc));
	s->doc[s->n++] = doc;
}

static void commit(struct words_writer *w)
{
	struct err err;
	assert_int_equal(words_commit(w, &err), 0);
}

static void assert_index_is(struct shelf *s, struct words_reader *r)
{
	struct lines got = {0}, want = {0};
	struct words_stats stats;
	words_stats(r, &stats);
	assert_int_equal(stats.docs, s->n);
	lines_of_index(r, &got);
	for (size_t i = 0; i < s->n; i++)
		lines_of_doc(&s->doc[i], &s->settings, s->rules, &want);
	lines_assert_equal(&got, &want);
}

static void assert_folder_is(struct shelf *s)
{
	struct err err;
	struct words_reader *r;
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	assert_index_is(s, r);
	assert_int_equal(words_verify(r, &err), 0);
	words_close(&r);
}

/* Words: few that are frequent, many that are rare, in all kinds of letters. */
static void random_word(struct buf *b)
{
	static const char *const odd[] = {"Élan",  "naïve", "ÜBER",   "straße", "日本語",
					  "Ελλάς", "κόσμε", "москва", "\xff\xfe", "a\xcc\x81" "b",
					  "iPhone", "JavaScript", "x86", "2026", "हिन्दी"};
	unsigned kind = below(20);
	unsigned rank = below(4) ? below(20) : below(2000);
	if (kind == 0)
		buf_add_text(b, odd[below(ARRAY_LEN(odd))]);
	else if (kind == 1)
		buf_printf(b, "W%u", rank);
	else if (kind == 2)
		buf_printf(b, "WORD%u", rank);
	else if (kind == 3)
		buf_printf(b, "Word%u", rank);
	else if (kind == 4)
		buf_printf(b, "woRd%u", rank);
	else
		buf_printf(b, "word%u", rank);
}

static struct str random_text(struct shelf *s, unsigned words)
{
	static const char *const between[] = {" ", " ", " ", ", ", "-", "\n", "'", "  ", "\xc2\xa0"};
	struct buf b = BUF_INIT(SIZE_MAX / 2);
	for (unsigned i = 0; i < words; i++) {
		random_word(&b);
		buf_add_text(&b, between[below(ARRAY_LEN(between))]);
	}
	struct str text = arena_str(&s->arena, buf_str(&b));
	buf_free(&b);
	return text;
}

static struct words_doc random_doc(struct shelf *s, unsigned key)
{
	static const char *const names[] = {"full-text", "title",   "keywords", "full-text",
					    "size",      "comment", "day"};
	unsigned n = below(6);
	struct words_attr *attr = arena_array(&s->arena, n + 1, sizeof *attr);
	for (unsigned i = 0; i < n; i++) {
		attr[i].name = str_of(names[below(ARRAY_LEN(names))]);
		unsigned words = attr[i].name.p[0] == 'f' ? below(300) : below(8);
		attr[i].value = random_text(s, words);
		if (str_is(attr[i].name, "size") || str_is(attr[i].name, "day"))
			attr[i].value = str_of(
				arena_printf(&s->arena, "%u", below(2) ? below(200) : below(99999)));
	}
	return (struct words_doc){.key = str_of(arena_printf(&s->arena, "http://host%u/%u", key % 7,
							     key)),
				  .time_s = (int64_t)below(1000000) - 1000,
				  .rank = (uint16_t)below(65536),
				  .addr = {below(1 << 30) + 1},
				  .attr = attr,
				  .n = n};
}

static struct words_doc text_doc(const char *key, struct str text, struct words_attr *attr)
{
	*attr = (struct words_attr){STR("full-text"), text};
	return (struct words_doc){.key = str_of(key), .attr = attr, .n = 1, .addr = {1}};
}

static void an_empty_index_opens_and_has_nothing(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_reader *r;
	assert_int_equal(words_open(&r, s->folder, &err), 1);
	struct words_writer *w = open_writer(s);
	assert_int_equal(words_commit(w, &err), 1);
	assert_folder_is(s);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void random_documents_come_back_word_for_word(void **state)
{
	struct shelf *s = *state;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 1000; i++)
		add(s, w, random_doc(s, i));
	commit(w);
	assert_folder_is(s);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void odd_documents_come_back(void **state)
{
	struct shelf *s = *state;
	struct words_writer *w = open_writer(s);
	struct words_attr attr[8];
	struct buf b = BUF_INIT(SIZE_MAX / 2);
	add(s, w, (struct words_doc){.key = STR("nothing"), .addr = {1}});
	add(s, w, text_doc("empty", STR(""), &attr[0]));
	add(s, w, text_doc("separators", STR(" ,.-\n\t"), &attr[1]));
	add(s, w, text_doc("no UTF-8", STR("a\xff b\xc3" " \xe2\x82 c\xed\xa0\x80 d"), &attr[2]));
	for (unsigned i = 0; i < 1000000; i++)
		buf_add_text(&b, i % 1000 ? "one " : "One ");
	add(s, w, text_doc("one term a million times", arena_str(&s->arena, buf_str(&b)),
			   &attr[3]));
	buf_clear(&b);
	for (unsigned i = 0; b.n < 10 << 20; i++)
		buf_printf(&b, "w%u %s ", i % 50000, i % 3 ? "the" : "The");
	add(s, w, text_doc("10 MB", arena_str(&s->arena, buf_str(&b)), &attr[4]));
	buf_clear(&b);
	buf_fill(&b, 'x', 5000);
	add(s, w, text_doc("a word of 5000 letters", arena_str(&s->arena, buf_str(&b)), &attr[5]));
	buf_clear(&b);
	for (unsigned i = 0; i < 1 << 12; i++) {
		for (unsigned k = 0; k < 12; k++)
			buf_add_byte(&b, i >> k & 1 ? 'A' : 'a');
		buf_add_byte(&b, ' ');
	}
	add(s, w, text_doc("4096 forms of a term", arena_str(&s->arena, buf_str(&b)), &attr[6]));
	commit(w);
	words_writer_close(&w);
	assert_folder_is(s);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_index_opens_and_has_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(random_documents_come_back_word_for_word, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(odd_documents_come_back, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
