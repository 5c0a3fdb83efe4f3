/* Columns: a number of each document, or one of a table of texts, and what lets a range pass over
 * many documents at once. While a segment is written they are rows in memory; at its end each
 * column becomes an array of the narrowest width. Values get numbers as they come and are numbered
 * anew in order of their bytes at the end, so that a segment does not depend on the order of its
 * documents, and one is found by bisection. */
#include "base/hash.h"
#include "base/vec.h"
#include "index/words/segment_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

static const size_t most_bytes = (size_t)1 << 40;

enum {
	VALUES_HEAD = 8, /* bytes of a column at the beginning of the part */
	SPAN = 16,       /* bytes of a span */
};

static uint64_t span_count(uint32_t docs)
{
	return ((uint64_t)docs + SEGMENT_SPAN - 1) / SEGMENT_SPAN;
}

uint64_t columns_span_bytes(uint32_t docs, uint32_t columns)
{
	return span_count(docs) * columns * SPAN;
}

/* Values */

uint32_t value_table_add(struct value_table *t, struct str text)
{
	bool is_new;
	if (t->n == 0) {
		ENSURE(getrandom(&t->seed, sizeof t->seed, 0) == sizeof t->seed);
		t->arena = ARENA_INIT(SIZE_MAX);
	}
	uint32_t *known = value_numbers_get(&t->numbers, (struct value_key){text, t->seed});
	if (known)
		return *known;
	text = arena_str(&t->arena, text);
	*VEC_PUSH(t->text, t->n, t->room) = text;
	*value_numbers_put_new(&t->numbers, (struct value_key){text, t->seed}, &is_new) = t->n;
	return t->n;
}

uint64_t value_table_bytes(const struct value_table *t)
{
	return t->arena.used + t->n * (sizeof *t->text + 2 * sizeof(struct value_numbers_slot));
}

void value_table_free(struct value_table *t)
{
	value_numbers_free(&t->numbers);
	mem_free(&t->text);
	arena_free(&t->arena);
	*t = (struct value_table){0};
}

/* Of several words the first counts, of several numbers the last. A date is a number of seconds, a
 * day or an instant. */
void columns_take(enum words_type type, struct value_table *t, struct str value, int64_t *number)
{
	enum { DAY = 10 }; /* characters; less would be a period longer than a day */
	char room[WORDS_VALUE_MOST];
	if (type == WORDS_WORD) {
		value = words_value(value, room);
		if (value.n && *number == SEGMENT_ABSENT)
			*number = value_table_add(t, value);
		return;
	}
	value = str_trim(value);
	struct query_value v = query_value(value);
	if (v.is_number || (type == WORDS_DATE && v.is_period && value.n >= DAY))
		*number = v.is_number ? v.number : v.from_s;
}

/* Writing */

void columns_init(struct columns_writer *w, uint32_t columns)
{
	*w = (struct columns_writer){.columns = columns, .numbers = BUF_INIT(most_bytes)};
}

void columns_free(struct columns_writer *w)
{
	for (uint32_t i = 0; i < w->columns; i++)
		value_table_free(&w->values[i]);
	buf_free(&w->numbers);
	w->columns = 0;
}

void columns_put(struct columns_writer *w, const int64_t *number)
{
	for (uint32_t i = 0; i < w->columns; i++)
		put_u64le(&w->numbers, (uint64_t)number[i]);
	w->docs++;
}

static unsigned char *number_place(const struct columns_writer *w, uint32_t doc, uint32_t column)
{
	return (unsigned char *)w->numbers.p + ((size_t)doc * w->columns + column) * 8;
}

static int64_t number_at(const struct columns_writer *w, uint32_t doc, uint32_t column)
{
	return (int64_t)load_u64(number_place(w, doc, column), 0);
}

static int by_text(const void *a, const void *b, void *table)
{
	const uint32_t *x = a, *y = b;
	const struct value_table *t = table;
	return str_cmp(t->text[*x - 1], t->text[*y - 1]);
}

/* The numbers of a column become those of its values in order, which are put too. */
static bool put_values(struct columns_writer *w, uint32_t column, struct buf *head,
		       struct buf *tables)
{
	struct value_table *t = &w->values[column];
	uint32_t *order = mem_array((size_t)t->n + 1, sizeof *order);
	uint32_t *place = mem_array((size_t)t->n + 1, sizeof *place);
	for (uint32_t i = 0; i < t->n; i++)
		order[i] = i + 1;
	if (t->n)
		qsort_r(order, t->n, sizeof *order, by_text, t);
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		place[order[i]] = i + 1;
		put_u32le(tables, (uint32_t)bytes);
		bytes += t->text[order[i] - 1].n;
	}
	if (t->n)
		put_u32le(tables, (uint32_t)bytes);
	for (uint32_t i = 0; i < t->n; i++)
		buf_add_str(tables, t->text[order[i] - 1]);
	buf_fill(tables, 0, -tables->n & 7);
	put_u32le(head, t->n);
	put_u32le(head, (uint32_t)bytes);
	for (uint32_t doc = 0; t->n && doc < w->docs; doc++) {
		int64_t v = number_at(w, doc, column);
		if (v == SEGMENT_ABSENT)
			continue;
		uint64_t number = htole64(place[v]);
		memcpy(number_place(w, doc, column), &number, sizeof number);
	}
	mem_free(&order);
	mem_free(&place);
	return bytes <= UINT32_MAX;
}

static unsigned width_of(uint64_t most)
{
	return most == 0 ? 0 : most >> 8 == 0 ? 1 : most >> 16 == 0 ? 2 : most >> 32 == 0 ? 4 : 8;
}

/* The spans of a column; their own is returned. */
static struct segment_span put_spans(const struct columns_writer *w, uint32_t column,
				     struct buf *out)
{
	struct segment_span all = {INT64_MAX, INT64_MIN};
	for (uint32_t from = 0; from < w->docs; from += SEGMENT_SPAN) {
		struct segment_span span = {INT64_MAX, INT64_MIN};
		uint32_t to = from + MIN((uint32_t)SEGMENT_SPAN, w->docs - from);
		for (uint32_t doc = from; doc < to; doc++) {
			int64_t v = number_at(w, doc, column);
			if (v == SEGMENT_ABSENT)
				continue;
			span.least = MIN(span.least, v);
			span.most = MAX(span.most, v);
		}
		put_u64le(out, (uint64_t)span.least);
		put_u64le(out, (uint64_t)span.most);
		all.least = MIN(all.least, span.least);
		all.most = MAX(all.most, span.most);
	}
	return all;
}

/* Numbers are kept as what they have above a base that is below the least; 0 is absent. */
static void put_numbers(const struct columns_writer *w, uint32_t column, struct segment_span all,
			struct buf *out)
{
	bool any = all.least <= all.most;
	uint64_t base = any ? (uint64_t)all.least - 1 : 0;
	unsigned width = any ? width_of((uint64_t)all.most - base) : 0;
	put_u64le(out, base);
	put_u64le(out, width);
	for (uint32_t doc = 0; doc < w->docs; doc++) {
		int64_t v = number_at(w, doc, column);
		uint64_t above = v == SEGMENT_ABSENT ? 0 : htole64((uint64_t)v - base);
		buf_add(out, &above, width);
	}
	buf_fill(out, 0, -out->n & 7);
}

bool columns_end(struct columns_writer *w, struct columns_parts *ret)
{
	struct buf tables = BUF_INIT(most_bytes);
	bool good = true;
	*ret = (struct columns_parts){BUF_INIT(most_bytes), BUF_INIT(most_bytes),
				      BUF_INIT(most_bytes)};
	for (uint32_t i = 0; i < w->columns; i++) {
		good &= put_values(w, i, &ret->values, &tables);
		struct segment_span all = put_spans(w, i, &ret->spans);
		put_numbers(w, i, all, &ret->numbers);
	}
	buf_add_str(&ret->values, buf_str(&tables));
	buf_free(&tables);
	return good;
}

void columns_parts_free(struct columns_parts *p)
{
	buf_free(&p->numbers);
	buf_free(&p->values);
	buf_free(&p->spans);
}

/* Reading */

int segment_column(struct segment *s, unsigned column, struct segment_column *ret, struct err *err)
{
	const uint8_t *p;
	if (column >= s->foot.columns) {
		static const uint8_t nothing[8];
		*ret = (struct segment_column){.p = nothing};
		return 0;
	}
	if (parts_whole(&s->f, PART_COLUMNS, &p, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){(const char *)p, s->f.part[PART_COLUMNS].n});
	for (unsigned i = 0;; i++) {
		uint64_t base = reader_u64le(&r), width = reader_u64le(&r);
		const uint8_t *numbers = r.p;
		if (width > 8 || (width & (width - 1)) != 0)
			return parts_damaged(&s->f, err, "column %u has %" PRIu64 " bytes", i,
					     width);
		reader_skip(&r, (size_t)((width * s->foot.docs + 7) & ~UINT64_C(7)));
		if (r.bad)
			return parts_damaged(&s->f, err, "column %u is cut", i);
		if (i < column)
			continue;
		*ret = (struct segment_column){
			numbers, (int64_t)base,
			width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1, (uint8_t)width};
		return 0;
	}
}

int segment_spans(struct segment *s, unsigned column, const struct segment_span **ret,
		  struct err *err)
{
	const uint8_t *p;
	*ret = NULL;
	if (column >= s->foot.columns)
		return 0;
	if (parts_whole(&s->f, PART_SPANS, &p, err) < 0)
		return -1;
	/* Two numbers in the order of the file, at a multiple of 8. */
	*ret = (const struct segment_span *)(const void *)p + column * span_count(s->foot.docs);
	return 0;
}
_Static_assert(sizeof(struct segment_span) == SPAN, "spans are read in place");

/* The values of a column: where each begins, in all their texts. */
struct values {
	const uint8_t *where;
	struct str texts;
	uint32_t n;
};

static int values_of(struct segment *s, unsigned column, struct values *ret, struct err *err)
{
	const uint8_t *p;
	*ret = (struct values){0};
	if (column >= s->foot.columns)
		return 0;
	if (parts_whole(&s->f, PART_VALUES, &p, err) < 0)
		return -1;
	struct str part = {(const char *)p, s->f.part[PART_VALUES].n};
	struct reader head = reader_of(part), r = reader_of(part);
	reader_skip(&r, (size_t)s->foot.columns * VALUES_HEAD);
	for (unsigned i = 0;; i++) {
		uint32_t n = reader_u32le(&head), bytes = reader_u32le(&head);
		const uint8_t *where = r.p;
		reader_skip(&r, n ? 4 * ((size_t)n + 1) : 0);
		struct str texts = reader_bytes(&r, bytes);
		reader_skip(&r, (size_t)(p - r.p) & 7);
		if (head.bad || r.bad || (n == 0 && bytes))
			return parts_damaged(&s->f, err, "the values of column %u are cut", i);
		if (i < column)
			continue;
		*ret = (struct values){where, texts, n};
		return 0;
	}
}

static int value_text(struct segment *s, const struct values *v, uint32_t i, struct str *ret,
		      struct err *err)
{
	uint32_t from = load_u32(v->where, i), to = load_u32(v->where, (size_t)i + 1);
	if (from > to || to > v->texts.n || to - from > WORDS_VALUE_MOST)
		return parts_damaged(&s->f, err, "a value of %" PRIu32 " bytes at %" PRIu32,
				     to - from, from);
	*ret = (struct str){v->texts.p + from, to - from};
	return 0;
}

int segment_values(struct segment *s, unsigned column, uint32_t *ret, struct err *err)
{
	struct values v;
	if (values_of(s, column, &v, err) < 0)
		return -1;
	*ret = v.n;
	return 0;
}

int segment_value(struct segment *s, unsigned column, uint32_t number, struct str *ret,
		  struct err *err)
{
	struct values v;
	if (values_of(s, column, &v, err) < 0)
		return -1;
	if (number == 0 || number > v.n)
		return parts_damaged(&s->f, err, "column %u has no value %" PRIu32, column, number);
	return value_text(s, &v, number - 1, ret, err);
}

int segment_value_number(struct segment *s, unsigned column, struct str value, uint32_t *ret,
			 struct err *err)
{
	struct values v;
	struct str text;
	if (values_of(s, column, &v, err) < 0)
		return -1;
	for (uint32_t lo = 0, n = v.n; n > 0;) {
		uint32_t half = n / 2;
		if (value_text(s, &v, lo + half, &text, err) < 0)
			return -1;
		int order = str_cmp(text, value);
		if (order == 0) {
			*ret = lo + half + 1;
			return 0;
		}
		lo += order < 0 ? half + 1 : 0;
		n = order < 0 ? n - half - 1 : half;
	}
	return 1;
}

static int verify_spans(struct segment *s, unsigned column, struct err *err)
{
	struct segment_column c = {0};
	const struct segment_span *span;
	uint32_t values;
	if (segment_column(s, column, &c, err) < 0 || segment_spans(s, column, &span, err) < 0 ||
	    segment_values(s, column, &values, err) < 0)
		return -1;
	for (uint32_t doc = 0; span && c.p && doc < s->foot.docs; doc++) {
		int64_t v = segment_number(&c, doc);
		const struct segment_span *in = &span[doc / SEGMENT_SPAN];
		if (v != SEGMENT_ABSENT &&
		    (v < in->least || v > in->most || (values && (v < 1 || v > (int64_t)values)) ||
		     (column == SEGMENT_RANK && v > (int64_t)s->foot.rank_most)))
			return parts_damaged(&s->f, err,
					     "column %u of document %" PRIu32 " is out of its span",
					     column, doc);
	}
	return 0;
}

static int verify_values(struct segment *s, unsigned column, struct err *err)
{
	struct values v;
	struct str text, before = STR("");
	if (values_of(s, column, &v, err) < 0)
		return -1;
	for (uint32_t i = 0; i < v.n; i++, before = text) {
		if (value_text(s, &v, i, &text, err) < 0)
			return -1;
		if (str_cmp(text, before) <= 0)
			return parts_damaged(&s->f, err, "the values of column %u are not in order",
					     column);
	}
	return 0;
}

int segment_verify_columns(struct segment *s, struct err *err)
{
	for (unsigned i = 0; i < s->foot.columns; i++)
		if (verify_spans(s, i, err) < 0 || verify_values(s, i, err) < 0)
			return -1;
	return 0;
}
