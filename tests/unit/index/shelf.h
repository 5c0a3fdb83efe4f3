/* Documents that a test adds to an index, and what should then be in it. */
#pragma once
#include "base/file.h"
#include "index/words.h"
#include "lines.h"

static unsigned shelf_seed = 1;

static inline unsigned below(unsigned n)
{
	return (unsigned)rand_r(&shelf_seed) % n;
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

static inline int set_up(void **state)
{
	struct err err;
	struct shelf *s = mem_alloc(sizeof *s);
	static unsigned number;
	s->arena = ARENA_INIT(SIZE_MAX);
	words_settings_default(&s->settings);
	snprintf(s->settings.column[0].name, sizeof s->settings.column[0].name, "size");
	snprintf(s->settings.column[1].name, sizeof s->settings.column[1].name, "day");
	s->settings.column[1].type = WORDS_DATE;
	snprintf(s->settings.column[2].name, sizeof s->settings.column[2].name, "kind");
	s->settings.column[2].type = WORDS_WORD;
	s->settings.columns = 3;
	snprintf(s->folder, sizeof s->folder, "%s/%u", scratch_dir, number++);
	*state = s;
	return token_rules_open(&s->rules, STR(""), &err);
}

static inline int tear_down(void **state)
{
	struct shelf *s = *state;
	token_rules_close(&s->rules);
	arena_free(&s->arena);
	mem_free(state);
	return 0;
}

static inline struct words_writer *open_writer(struct shelf *s)
{
	struct err err;
	struct words_writer *w;
	struct words_options options = {.settings = &s->settings, .memory = WORDS_MEMORY_MIN};
	assert_int_equal(words_writer_open(&w, s->folder, &options, &err), 0);
	return w;
}

static inline void forget(struct shelf *s, struct str key)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->doc[i].key, key)) {
			s->doc[i] = s->doc[--s->n];
			return;
		}
}

static inline void put(struct shelf *s, struct words_doc doc)
{
	forget(s, doc.key);
	assert_true(s->n < ARRAY_LEN(s->doc));
	s->doc[s->n++] = doc;
}

static inline void add(struct shelf *s, struct words_writer *w, struct words_doc doc)
{
	struct err err;
	assert_int_equal(words_add(w, &doc, &err), 0);
	put(s, doc);
}

static inline void commit(struct words_writer *w)
{
	struct err err;
	assert_int_equal(words_commit(w, NULL, &err), 0);
}

static inline void assert_index_is(struct shelf *s, struct words_reader *r)
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

static inline void assert_folder_is(struct shelf *s)
{
	struct err err;
	struct words_reader *r;
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	assert_index_is(s, r);
	assert_int_equal(words_verify(r, &err), 0);
	words_close(&r);
}

/* Words: few that are frequent, many that are rare, in all kinds of letters. */
static inline void random_word(struct buf *b)
{
	static const char *const odd[] = {"Élan",     "naïve",      "ÜBER",   "straße",
					  "日本語",   "Ελλάς",      "κόσμε",  "москва",
					  "\xff\xfe", "ab\xcc\x81", "iPhone", "JavaScript",
					  "x86",      "2026",       "हिन्दी"};
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

static inline struct str random_text(struct shelf *s, unsigned words)
{
	static const char *const between[] = {" ",  " ", " ",  ", ",      "-",
					      "\n", "'", "  ", "\xc2\xa0"};
	struct buf b = BUF_INIT(SIZE_MAX / 2);
	for (unsigned i = 0; i < words; i++) {
		random_word(&b);
		buf_add_text(&b, between[below(ARRAY_LEN(between))]);
	}
	struct str text = arena_str(&s->arena, buf_str(&b));
	buf_free(&b);
	return text;
}

static inline struct words_doc random_doc(struct shelf *s, unsigned key)
{
	static const char *const names[] = {"full-text", "title",   "keywords", "full-text",
					    "size",      "comment", "day",      "kind"};
	unsigned n = below(6);
	struct words_attr *attr = arena_array(&s->arena, n + 1, sizeof *attr);
	for (unsigned i = 0; i < n; i++) {
		attr[i].name = str_of(names[below(ARRAY_LEN(names))]);
		unsigned words = attr[i].name.p[0] == 'f' ? below(300) : below(8);
		attr[i].value = random_text(s, words);
		if (str_is(attr[i].name, "size") || str_is(attr[i].name, "day"))
			attr[i].value = str_of(arena_printf(&s->arena, "%u",
							    below(2) ? below(200) : below(99999)));
	}
	return (struct words_doc){
		.key = str_of(arena_printf(&s->arena, "http://host%u/%u", key % 7, key)),
		.time_s = (int64_t)below(1000000) - 1000,
		.rank = (uint16_t)below(65536),
		.oid = below(1 << 30) + 1,
		.attr = attr,
		.n = n};
}

static inline struct words_doc text_doc(const char *key, struct str text, struct words_attr *attr)
{
	*attr = (struct words_attr){STR("full-text"), text};
	return (struct words_doc){.key = str_of(key), .attr = attr, .n = 1, .oid = 1};
}

/* Files in a folder whose names end so. */
static inline size_t files_in(const char *folder, const char *ending)
{
	struct err err;
	struct dir d;
	const char *name;
	size_t n = 0;
	assert_int_equal(dir_init(&d, folder, &err), 0);
	while (dir_next(&d, &name) == 0)
		n += str_ends(str_of(name), str_of(ending));
	dir_done(&d);
	return n;
}

#define SHELF_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
