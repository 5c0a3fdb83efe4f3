/* An index as lines of text, made in two ways: by reading all of it through segment.h, and from the
 * documents themselves, word by word. Both sorted, so that they can be compared. */
#pragma once
#include "../../support/form_text.h"
#include "../scratch.h"
#include "base/arena.h"
#include "index/segment.h"
#include "index/token.h"

#include <inttypes.h>

struct lines {
	char **line;
	size_t n, room;
};

static inline void lines_add(struct lines *l, struct buf *text)
{
	if (l->n == l->room) {
		l->room = MAX(l->room * 2, (size_t)1024);
		l->line = mem_resize(l->line, l->room * sizeof *l->line);
	}
	l->line[l->n++] = mem_text(buf_text(text));
	buf_clear(text);
}

static inline void lines_free(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		mem_free(&l->line[i]);
	mem_free(&l->line);
	*l = (struct lines){0};
}

static inline int lines_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void lines_sort(struct lines *l)
{
	if (l->n)
		qsort(l->line, l->n, sizeof *l->line, lines_order);
}

static inline void lines_assert_equal(struct lines *got, struct lines *want)
{
	lines_sort(got);
	lines_sort(want);
	for (size_t i = 0; i < MIN(got->n, want->n); i++)
		if (strcmp(got->line[i], want->line[i]) != 0)
			fail_msg("line %zu is\n%.300s\nnot\n%.300s", i, got->line[i],
				 want->line[i]);
	assert_int_equal(got->n, want->n);
	lines_free(got);
	lines_free(want);
}

/* From the index */

struct from_index {
	const struct words_part *part;
	struct lines *out;
	struct arena arena;
	const uint8_t *lengths;
	struct buf text;
};

static inline struct str key_of(struct from_index *x, uint32_t doc)
{
	struct err err;
	struct str key;
	assert_int_equal(segment_key(x->part->segment, doc, &x->arena, &key, &err), 0);
	return key;
}

static inline bool bound_covers(const uint8_t *bound, uint32_t tf, uint8_t len)
{
	for (unsigned i = 0; i < SEGMENT_BOUNDS; i++)
		if (tf <= bound[2 * i] && len >= bound[2 * i + 1])
			return true;
	return false;
}

static inline void add_posting(struct from_index *x, const struct segment_walk *w,
			       struct postings *p, uint32_t block, uint32_t i, uint32_t doc,
			       uint32_t tf)
{
	struct err err;
	const uint32_t *position, *form;
	uint32_t n, m;
	buf_printf(&x->text, STR_FMT "|" STR_FMT "|" STR_FMT "|%" PRIu32, STR_ARG(w->term),
		   STR_ARG(w->attr ? segment_attr_name(x->part->segment, w->attr) : STR("*")),
		   STR_ARG(key_of(x, doc)), tf);
	if (w->attr == SEGMENT_COMBINED) {
		assert_int_equal(postings_positions(p, block, i, &position, &n, &err), 0);
		assert_int_equal(postings_forms(p, block, i, &form, &m, &err), 0);
		assert_int_equal(n, m);
		for (uint32_t k = 0; k < n; k++) {
			buf_printf(&x->text, " %" PRIu32 "=", position[k]);
			assert_int_equal(form_text(x->part->segment, &w->info, w->term, form[k],
						   &x->text, &err),
					 0);
		}
	}
	lines_add(x->out, &x->text);
}

static inline void add_list(struct from_index *x, const struct segment_walk *w)
{
	struct err err;
	struct postings p;
	uint32_t docs[SEGMENT_BLOCK], tfs[SEGMENT_BLOCK], seen = 0;
	int64_t before = -1;
	assert_int_equal(postings_open(x->part->segment, &w->info, &p, &err), 0);
	assert_int_equal(p.df, w->info.df);
	for (uint32_t block = 0; block < p.blocks; block++) {
		assert_int_equal(postings_docs(&p, block, docs, &err), 0);
		assert_int_equal(postings_tfs(&p, block, tfs, &err), 0);
		for (uint32_t i = 0; i < SEGMENT_BLOCK; i++) {
			if (i >= postings_in_block(&p, block)) {
				assert_true(docs[i] == UINT32_MAX && tfs[i] == 0);
				continue;
			}
			assert_true(docs[i] > before && docs[i] <= p.last[block]);
			assert_true(bound_covers(p.bound[block], tfs[i], x->lengths[docs[i]]));
			before = docs[i];
			seen++;
			if (!words_deleted(x->part, docs[i]))
				add_posting(x, w, &p, block, i, docs[i], tfs[i]);
		}
		if (p.blocks > 1)
			assert_int_equal(before, p.last[block]);
	}
	assert_int_equal(seen, p.df);
	postings_close(&p);
}

static inline void add_terms(struct from_index *x, unsigned attr)
{
	struct err err;
	struct segment_walk w;
	struct segment_term info;
	struct buf before = BUF_INIT(1024);
	int rc;
	assert_int_equal(segment_walk(x->part->segment, attr, STR(""), &w, &err), 0);
	while ((rc = segment_walk_next(&w, &err)) == 0) {
		assert_true(str_cmp(buf_str(&before), w.term) < 0);
		buf_clear(&before);
		buf_add_str(&before, w.term);
		assert_int_equal(segment_term(x->part->segment, attr, w.term, &info, &err), 0);
		assert_memory_equal(&info, &w.info, sizeof info);
		add_list(x, &w);
	}
	assert_int_equal(rc, 1);
	buf_free(&before);
}

/* The value of its column of words. */
static inline void add_kind(struct from_index *x, const struct segment_column *kind, uint32_t doc)
{
	struct err err;
	struct str text = STR("");
	uint32_t number;
	int64_t v = segment_number(kind, doc);
	if (v != SEGMENT_ABSENT) {
		assert_int_equal(segment_value(x->part->segment, SEGMENT_COLUMN + 2, (uint32_t)v,
					       &text, &err),
				 0);
		assert_int_equal(segment_value_number(x->part->segment, SEGMENT_COLUMN + 2, text,
						      &number, &err),
				 0);
		assert_int_equal(number, v);
	}
	buf_printf(&x->text, " [" STR_FMT "]", STR_ARG(text));
}

static inline void add_docs(struct from_index *x)
{
	struct err err;
	struct segment *s = x->part->segment;
	struct segment_column column[SEGMENT_COLUMN + 2], kind;
	for (unsigned i = 0; i < ARRAY_LEN(column); i++)
		assert_int_equal(segment_column(s, i, &column[i], &err), 0);
	assert_int_equal(segment_column(s, SEGMENT_COLUMN + 2, &kind, &err), 0);
	for (uint32_t doc = 0; doc < x->part->docs; doc++) {
		struct segment_ranges it;
		struct segment_range range;
		uint32_t found;
		if (words_deleted(x->part, doc))
			continue;
		buf_printf(&x->text, "\x01" STR_FMT " %d", STR_ARG(key_of(x, doc)),
			   x->lengths[doc]);
		assert_int_equal(segment_find(s, key_of(x, doc), &found, &err), 0);
		assert_int_equal(found, doc);
		for (unsigned i = 0; i < ARRAY_LEN(column); i++)
			buf_printf(&x->text, " %" PRId64, segment_number(&column[i], doc));
		add_kind(x, &kind, doc);
		assert_int_equal(segment_ranges(s, doc, &it, &err), 0);
		while (segment_ranges_next(&it, &range, &err) == 0)
			buf_printf(&x->text, " " STR_FMT ":%" PRIu32 "+%" PRIu32,
				   STR_ARG(segment_attr_name(s, range.attr)), range.first, range.n);
		lines_add(x->out, &x->text);
	}
}

static inline void lines_of_index(struct words_reader *r, struct lines *ret)
{
	struct err err;
	size_t n;
	const struct words_part *part = words_parts(r, &n);
	for (size_t i = 0; i < n; i++) {
		struct from_index x = {.part = &part[i], .out = ret};
		x.arena = ARENA_INIT(SIZE_MAX);
		x.text = BUF_INIT(SIZE_MAX / 2);
		assert_int_equal(segment_lengths(part[i].segment, &x.lengths, &err), 0);
		for (unsigned attr = 0; attr < segment_info(part[i].segment)->attrs; attr++)
			add_terms(&x, attr);
		add_docs(&x);
		assert_int_equal(segment_check(part[i].segment, &err), 0);
		arena_free(&x.arena);
		buf_free(&x.text);
	}
}

/* From the documents */

struct word {
	struct str term, form, name; /* name: of its attribute, "*" in the combined list */
	uint32_t position, weight;
};

struct words_list {
	struct word *word;
	size_t n, room;
};

static inline void words_list_add(struct words_list *l, struct word word)
{
	if (l->n == l->room) {
		l->room = MAX(l->room * 2, (size_t)256);
		l->word = mem_resize(l->word, l->room * sizeof *l->word);
	}
	l->word[l->n++] = word;
}

static inline int word_order(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	int order = str_cmp(x->name, y->name);
	if (order == 0)
		order = str_cmp(x->term, y->term);
	return order ? order : (x->position > y->position) - (x->position < y->position);
}

static inline uint32_t setting_weight(const struct words_settings *s, struct str name)
{
	for (uint32_t i = 0; i < s->weights; i++)
		if (str_is(name, s->weight[i].name))
			return s->weight[i].weight;
	return 1;
}

static inline void words_to_lines(const struct words_list *l, struct str key, struct lines *out)
{
	struct buf text = BUF_INIT(SIZE_MAX / 2), where = BUF_INIT(SIZE_MAX / 2);
	for (size_t i = 0, k; i < l->n; i = k) {
		const struct word *w = &l->word[i];
		uint64_t tf = 0;
		for (k = i; k < l->n && str_eq(l->word[k].name, w->name) &&
			    str_eq(l->word[k].term, w->term);
		     k++) {
			tf += l->word[k].weight;
			buf_printf(&where, " %" PRIu32 "=" STR_FMT, l->word[k].position,
				   STR_ARG(l->word[k].form));
		}
		buf_printf(&text, STR_FMT "|" STR_FMT "|" STR_FMT "|%" PRIu64, STR_ARG(w->term),
			   STR_ARG(w->name), STR_ARG(key), MIN(tf, (uint64_t)SEGMENT_TF_MOST));
		if (str_is(w->name, "*"))
			buf_add_str(&text, buf_str(&where));
		buf_clear(&where);
		lines_add(out, &text);
	}
	buf_free(&text);
	buf_free(&where);
}

/* Attribute names in lower case only; columns "size" (a number), "day" (a date, in seconds) and
 * "kind" (a word) may be settings, in this order. */
static inline void lines_of_doc(const struct words_doc *doc, const struct words_settings *settings,
				const struct token_rules *rules, struct lines *out)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct words_list list = {0};
	struct buf text = BUF_INIT(SIZE_MAX / 2), ranges = BUF_INIT(SIZE_MAX / 2);
	uint64_t length = 0;
	uint32_t at = 0;
	int64_t number[2] = {SEGMENT_ABSENT, SEGMENT_ABSENT};
	char room[WORDS_VALUE_MOST];
	struct str kind = STR("");
	for (int main = 1; main >= 0; main--)
		for (size_t i = 0; i < doc->n; i++) {
			struct tokens *tokens = arena_alloc(&arena, sizeof *tokens);
			struct token token;
			struct str name = doc->attr[i].name;
			uint32_t weight = setting_weight(settings, name), n = 0;
			uint64_t value;
			if (str_is(name, settings->main) != main)
				continue;
			for (uint32_t c = 0; c < MIN(settings->columns, 2u); c++)
				if (str_is(name, settings->column[c].name) &&
				    str_u64(doc->attr[i].value, &value))
					number[c] = (int64_t)value;
			if (kind.n == 0 && settings->columns > 2 && str_is(name, "kind"))
				kind = words_value(doc->attr[i].value, room);
			tokens_init(tokens, rules, doc->attr[i].value, at);
			while (weight && tokens_next(tokens, &token) == 0) {
				struct word w = {arena_str(&arena, token.term), token.form,
						 STR("*"), token.position, weight};
				words_list_add(&list, w);
				w.name = name;
				w.weight = 1;
				if (!main)
					words_list_add(&list, w);
				n++;
			}
			if (n == 0)
				continue;
			buf_printf(&ranges, " " STR_FMT ":%" PRIu32 "+%" PRIu32, STR_ARG(name), at,
				   n);
			length += (uint64_t)n * weight;
			at += n + 1;
		}
	if (list.n)
		qsort(list.word, list.n, sizeof *list.word, word_order);
	words_to_lines(&list, doc->key, out);
	buf_printf(&text,
		   "\x01" STR_FMT " %d %" PRId64 " %d %" PRIu64 " %" PRId64 " %" PRId64 " [" STR_FMT
		   "]%s",
		   STR_ARG(doc->key), words_length_code(length), doc->time_s, doc->rank, doc->oid,
		   number[0], number[1], STR_ARG(kind), buf_text(&ranges));
	lines_add(out, &text);
	buf_free(&text);
	buf_free(&ranges);
	mem_free(&list.word);
	arena_free(&arena);
}
