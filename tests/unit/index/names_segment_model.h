/* A plain table of names, and a segment held against it: every name, form, entry and list. */
#pragma once
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/arena.h"
#include "base/vec.h"
#include "index/names/names_segment.h"

struct model_row {
	struct str folded, name;
	uint32_t entry;
};
struct model {
	struct model_row *row;
	size_t n, room;
	struct arena arena;
};

static inline void model_add(struct model *m, struct str name)
{
	struct buf folded = BUF_INIT(1 << 20);
	names_fold(name, &folded);
	struct model_row row = {arena_str(&m->arena, buf_str(&folded)), arena_str(&m->arena, name),
				(uint32_t)m->n};
	*VEC_PUSH(m->row, m->n, m->room) = row;
	buf_free(&folded);
}

static inline void model_free(struct model *m)
{
	mem_free(&m->row);
	arena_free(&m->arena);
	m->n = m->room = 0;
}

/* Names of every kind, among them many that are alike. */
static inline void model_fill(struct model *m, size_t n, uint64_t seed)
{
	static const char *const part[] = {"readme",   "README",
					   "ReadMe",   "lib",
					   ".so",      ".tar.gz",
					   "-1.2",     "_8h_source.html",
					   "Makefile", "\xc3\x89t\xc3\xa9",
					   "\xc3\xa9", "\xe2\x84\xaa",
					   "k",        "K",
					   "\xc8\xba", "\xe2\xb1\xa5",
					   "\xff\xfe", "\n",
					   "\r\\",     "\xe6\x97\xa5\xe6\x9c\xac",
					   "\xc4\xb0", "\xce\xa3\xcf\x82\xcf\x83",
					   "  ",       "0123456789abcdef",
					   "x",        "AAAAAAAAAAAAAAAAAAAAAAAA"};
	char text[2048];
	for (size_t i = 0; i < n; i++) {
		uint64_t r = dice(&seed);
		size_t k = 0;
		if (r % 97 == 0) {
			for (k = r >> 8 & 3; k < 40; k++) /* any bytes, zeroes too */
				text[k] = (char)(dice(&seed) >> 20 & (r & 512 ? 0x81 : 0xff));
			k = (size_t)(r >> 20) % 40;
		}
		for (uint64_t left = 1 + (r >> 10) % 4; left > 0; left--) {
			const char *p = part[dice(&seed) % ARRAY_LEN(part)];
			memcpy(text + k, p, strlen(p));
			k += strlen(p);
		}
		if (r % 11 == 0)
			k += (size_t)snprintf(text + k, 8, "%u", (unsigned)(i % 1000));
		for (size_t c = 0; r % 5 == 0 && c < k; c++) /* capitals anywhere */
			if (text[c] >= 'a' && text[c] <= 'z' && dice(&seed) % 2)
				text[c] = (char)(text[c] - 32);
		model_add(m, (struct str){text, k});
	}
}

static inline void model_build(const struct model *m, const char *path, uint64_t memory)
{
	struct err err = {0};
	struct names_build *b = names_build_new(memory, scratch_dir);
	for (size_t i = 0; i < m->n; i++)
		if (names_build_add(b, m->row[i].name, &err) < 0)
			fail_msg("%s", err.msg);
	assert_int_equal(names_build_entries(b), m->n);
	if (names_build_write(b, path, &err) < 0)
		fail_msg("%s", err.msg);
	names_build_free(&b);
}

static inline int model_compare(const void *a, const void *b)
{
	const struct model_row *x = a, *y = b;
	int order = str_cmp(x->folded, y->folded);
	order = order ? order : str_cmp(x->name, y->name);
	return order ? order : x->entry < y->entry ? -1 : x->entry > y->entry;
}

static inline size_t model_same_name(const struct model *m, size_t from)
{
	size_t to = from;
	while (to < m->n && str_eq(m->row[to].name, m->row[from].name))
		to++;
	return to;
}

static inline size_t model_same_folded(const struct model *m, size_t from)
{
	size_t to = from;
	while (to < m->n && str_eq(m->row[to].folded, m->row[from].folded))
		to++;
	return to;
}

/* The form of rows from..to, which the walk is at; entries are asked for in pieces. */
static inline void model_form_is(const struct model *m, size_t from, size_t to,
				 struct names_walk *w, uint32_t number)
{
	struct err err = {0};
	struct names_form form;
	uint32_t got[64], n = (uint32_t)(to - from), most = 1 + n % ARRAY_LEN(got);
	assert_int_equal(names_form_get(w, number, &form, &err), 0);
	if (!str_eq(form.text, m->row[from].name))
		fail_msg("form '" STR_FMT "', not '" STR_FMT "'", STR_ARG(form.text),
			 STR_ARG(m->row[from].name));
	assert_int_equal(form.entries, n);
	for (uint32_t k = 0; k < n; k += most) {
		int rc = names_form_entries(w, &form, k, most, got, &err);
		assert_int_equal(rc, MIN(most, n - k));
		for (int i = 0; i < rc; i++)
			assert_int_equal(got[i], m->row[from + k + (uint32_t)i].entry);
	}
	assert_int_equal(names_form_entries(w, &form, n, 1, got, &err), 0);
}

static inline void model_name_is(const struct model *m, size_t from, size_t to,
				 struct names_walk *w)
{
	struct err err = {0};
	struct names_form none;
	uint32_t forms = 0;
	if (!str_eq(w->folded, m->row[from].folded))
		fail_msg("name %u: '" STR_FMT "', not '" STR_FMT "'", w->name, STR_ARG(w->folded),
			 STR_ARG(m->row[from].folded));
	assert_int_equal(w->entries, to - from);
	for (size_t i = from; i < to; i = model_same_name(m, i))
		model_form_is(m, i, model_same_name(m, i), w, forms++);
	assert_int_equal(w->forms, forms);
	if (forms > 1) /* and back */
		model_form_is(m, from, model_same_name(m, from), w, 0);
	assert_int_equal(names_form_get(w, forms, &none, &err), 1);
}

/* Sorts the rows. Number of names. */
static inline uint32_t model_names_are(struct model *m, struct names_segment *s)
{
	struct err err = {0};
	struct names_walk w, jump;
	uint32_t names = 0, at;
	if (m->n)
		qsort(m->row, m->n, sizeof *m->row, model_compare);
	assert_int_equal(names_walk_begin(&w, s, 0, &err), 0);
	assert_int_equal(names_walk_begin(&jump, s, 0, &err), 0);
	for (size_t i = 0, to; i < m->n; i = to, names++) {
		to = model_same_folded(m, i);
		assert_int_equal(names_walk_next(&w, &err), 0);
		assert_int_equal(w.name, names);
		model_name_is(m, i, to, &w);
		assert_int_equal(names_segment_find(s, m->row[i].folded, &at, &err), 0);
		assert_int_equal(at, names);
		struct names_run run = {names, names};
		uint64_t entries;
		assert_int_equal(names_segment_count(s, &run, 1, &entries, &err), 0);
		assert_int_equal(entries, to - i);
		/* What comes right after it is not there. */
		struct buf more = BUF_INIT(1 << 20);
		buf_add_str(&more, m->row[i].folded);
		buf_add_byte(&more, 0);
		bool there = to < m->n && str_eq(m->row[to].folded, buf_str(&more));
		assert_int_equal(names_segment_find(s, buf_str(&more), &at, &err), !there);
		assert_int_equal(at, names + 1);
		buf_free(&more);
		if (names % 7 == 3 || names % 64 == 0 || i + 40 > m->n) {
			assert_int_equal(names_walk_seek(&jump, names, &err), 0);
			assert_int_equal(names_walk_next(&jump, &err), 0);
			assert_int_equal(jump.name, names);
			model_name_is(m, i, to, &jump);
			assert_int_equal(names_walk_seek(&jump, names, &err), 0); /* again */
			assert_int_equal(names_walk_next(&jump, &err), 0);
			model_name_is(m, i, to, &jump);
		}
	}
	assert_int_equal(names_walk_next(&w, &err), 1);
	assert_int_equal(names_walk_seek(&jump, names + 5, &err), 0);
	assert_int_equal(names_walk_next(&jump, &err), 1);
	names_walk_end(&w);
	names_walk_end(&jump);
	return names;
}

/* A pair of a trigram and a name. */
static inline int model_compare_pairs(const void *a, const void *b)
{
	uint64_t x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

/* Whether the bit of a number is not set yet; it is then. */
static inline bool model_is_new(uint8_t *bits, uint64_t number)
{
	bool is = !(bits[number / 8] >> number % 8 & 1);
	bits[number / 8] |= (uint8_t)(1 << number % 8);
	return is;
}

/* Each pair once, in order. */
static inline size_t model_pairs(const struct model *m, uint64_t **ret)
{
	static uint8_t trigrams[(1 << 24) / 8], twos[(1 << 16) / 8]; /* that a name has */
	uint64_t *pair = NULL;
	size_t n = 0, room = 0;
	uint32_t name = 0;
	for (size_t i = 0; i < m->n; i = model_same_folded(m, i), name++) {
		struct str s = m->row[i].folded;
		size_t before = n;
		for (size_t k = 0; k < s.n; k++) {
			uint64_t t = (uint64_t)(uint8_t)s.p[k] << 16;
			t |= k + 1 < s.n ? (uint64_t)(uint8_t)s.p[k + 1] << 8 : 0;
			t |= k + 2 < s.n ? (uint64_t)(uint8_t)s.p[k + 2] : 0;
			if (model_is_new(trigrams, t))
				*VEC_PUSH(pair, n, room) = t << 32 | name;
			/* two bytes that come again */
			if (k + 1 < s.n && !model_is_new(twos, t >> 8) &&
			    model_is_new(trigrams, t >> 8))
				*VEC_PUSH(pair, n, room) = t >> 8 << 32 | name;
		}
		for (; before < n; before++)
			trigrams[pair[before] >> 35] = 0;
		memset(twos, 0, sizeof twos);
	}
	if (n)
		qsort(pair, n, sizeof *pair, model_compare_pairs);
	*ret = pair;
	return n;
}

/* Its runs are the names from `from` on, asked for by jumps. */
static inline void model_runs_are(struct names_list *l, const uint64_t *pair, size_t n,
				  uint32_t from, uint64_t *seed)
{
	struct err err = {0};
	size_t at = 0;
	int rc;
	while ((rc = names_list_reach(l, from, &err)) == 0) {
		uint32_t name = MAX(l->from[l->run], from), to = l->to[l->run];
		while (at < n && (uint32_t)pair[at] < from)
			at++;
		for (; name <= to; name++, at++)
			assert_true(at < n && (uint32_t)pair[at] == name);
		assert_true(at == n || (uint32_t)pair[at] > to + 1);
		from = to + 1 + (uint32_t)(dice(seed) % 8 == 0 ? dice(seed) % 300 : 0);
	}
	assert_int_equal(rc, 1);
	assert_true(n == 0 || (uint32_t)pair[n - 1] < from);
}

/* The list has these n names; from: those before may be missing. */
static inline void model_list_is(struct names_list *l, const uint64_t *pair, size_t n,
				 uint32_t from)
{
	struct err err = {0};
	uint32_t got[128];
	size_t at = 0;
	int k;
	assert_int_equal(l->n, n);
	while ((k = names_list_block(l, from, got, &err)) > 0)
		for (int i = 0; i < k; i++) {
			while (at < n && (uint32_t)pair[at] < got[i]) {
				assert_true((uint32_t)pair[at] < from);
				at++;
			}
			assert_true(at < n && (uint32_t)pair[at] == got[i]);
			at++;
		}
	assert_int_equal(k, 0);
	for (; at < n; at++)
		assert_true((uint32_t)pair[at] < from);
	assert_int_equal(names_list_block(l, from, got, &err), 0);
}

static inline void model_lists_are(const struct model *m, struct names_segment *s)
{
	struct err err = {0};
	uint64_t *pair, seed = 5;
	size_t n = model_pairs(m, &pair), trigrams = 0, i = 0, to;
	for (unsigned first = 0; first < 256; first++) {
		char byte = (char)first, two[2] = {byte, 0};
		uint32_t at = 0, inner;
		uint8_t t[NAMES_TRIGRAM], u[NAMES_TRIGRAM];
		struct names_list l, again;
		int rc;
		while ((rc = names_list_prefix(s, (struct str){&byte, 1}, &at, t, &l, &err)) == 0) {
			uint64_t want = (uint64_t)t[0] << 16 | (uint64_t)t[1] << 8 | t[2];
			assert_true(i < n && pair[i] >> 32 == want);
			for (to = i; to < n && pair[to] >> 32 == want;)
				to++;
			model_list_is(&l, pair + i, to - i, 0);
			assert_int_equal(names_list_open(s, t, &again, &err), 0);
			model_list_is(&again, pair + i, to - i,
				      (uint32_t)pair[i + dice(&seed) % (to - i)]);
			assert_int_equal(names_list_open(s, t, &again, &err), 0);
			model_runs_are(&again, pair + i, to - i, (uint32_t)(dice(&seed) % 3),
				       &seed);
			if (i == 0 || pair[i - 1] >> 40 != pair[i] >> 40) { /* the same by two */
				inner = 0;
				two[1] = (char)t[1];
				struct str prefix = {two, 2};
				assert_int_equal(
					names_list_prefix(s, prefix, &inner, u, &again, &err), 0);
				assert_memory_equal(t, u, sizeof t);
				while (names_list_prefix(s, prefix, &inner, u, &again, &err) == 0)
					assert_memory_equal(u, two, 2);
			}
			i = to;
			trigrams++;
		}
		assert_int_equal(rc, 1);
	}
	assert_int_equal(i, n);
	assert_int_equal(names_segment_info(s)->trigrams, trigrams);
	mem_free(&pair);
}

static inline void model_is(struct model *m, const char *path)
{
	struct err err = {0};
	struct names_segment *s = NULL;
	if (names_segment_open(&s, path, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(names_segment_info(s)->entries, m->n);
	assert_int_equal(names_segment_info(s)->names, model_names_are(m, s));
	model_lists_are(m, s);
	if (names_segment_verify(s, &err) < 0 || names_segment_check(s, &err) < 0)
		fail_msg("%s", err.msg);
	names_segment_close(&s);
}
