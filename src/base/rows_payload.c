/* Rows in files: the members of a row as bytes, and back, and both in a dump. A type that is not
 * for files has no case here, and a table with one is a broken promise. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/rows.h"

#include <inttypes.h>

enum { SIZE_MOST = 2048 }; /* of a member */

static void number_take(const struct column *c, struct reader *r, void *to)
{
	struct str s = reader_bytes(r, c->size);
	uint64_t v = 0;
	for (size_t i = s.n; i-- > 0;)
		v = v << 8 | (unsigned char)s.p[i];
	r->bad |= (c->type == COL_BOOL && v > 1) || (c->unit == UNIT_TIME && v > INT64_MAX);
	rows_number_set(c, v, to);
}

static void chars_take(struct reader *r, void *to, size_t size)
{
	struct str s = reader_text(r, size - 1);
	memset(to, 0, size);
	if (r->bad || memchr(s.p, 0, s.n))
		r->bad = true;
	else
		memcpy(to, s.p, s.n);
}

static void member_take(const struct column *c, struct reader *r, void *to)
{
	struct str s;
	switch (c->type) {
	case COL_BOOL:
	case COL_UINT:
	case COL_INT:
		number_take(c, r, to);
		return;
	case COL_CHARS:
		chars_take(r, to, c->size);
		return;
	case COL_STR:
		*(struct str *)to = reader_bytes(r, reader_left(r));
		return;
	default:
		ENSURE(c->type == COL_BYTES);
		s = reader_bytes(r, c->size);
		if (!r->bad)
			memcpy(to, s.p, c->size);
	}
}

static void member_put(const struct column *c, const void *from, struct buf *out)
{
	switch (c->type) {
	case COL_BOOL:
	case COL_UINT:
	case COL_INT:
		for (size_t i = 0; i < c->size; i++)
			put_u8(out, (uint8_t)(rows_number(c, from) >> 8 * i));
		return;
	case COL_CHARS:
		put_text(out, (struct str){from, strnlen(from, c->size - 1)});
		return;
	case COL_STR:
		buf_add_str(out, *(const struct str *)from);
		return;
	default:
		ENSURE(c->type == COL_BYTES);
		buf_add(out, from, c->size);
	}
}

static void member_dump(const struct column *c, const void *value, struct buf *out)
{
	if (c->type == COL_CHARS)
		put_ascii(out, str_of(value));
	else if (c->type == COL_STR)
		put_ascii(out, *(const struct str *)value);
	else if (c->type == COL_BYTES)
		put_hex(out, value, c->size);
	else if (c->unit == UNIT_TIME)
		time_print(out, *(const int64_t *)value, 6);
	else
		buf_printf(out, c->unit == UNIT_HEX ? "%0*" PRIx64 : "%*" PRIu64,
			   c->unit == UNIT_HEX ? (int)(2 * c->size) : 0, rows_number(c, value));
}

void rows_write(const struct rows *t, const void *from, struct buf *out)
{
	for (const struct column *c = t->column; c < t->column + t->n; c++)
		member_put(c, (const char *)from + c->offset, out);
}

static int payload_end(const struct rows *t, const struct reader *r, struct err *err)
{
	if (!r->bad && (t->many || reader_left(r) == 0))
		return 0;
	return err_set(err, ERR_DAMAGED, "not %s: wrong at byte %zu", t->what, reader_at(r));
}

int rows_next(const struct rows *t, struct reader *r, void *ret, struct err *err)
{
	if (t->many && reader_left(r) == 0)
		return 1;
	for (const struct column *c = t->column; c < t->column + t->n && !r->bad; c++)
		member_take(c, r, (char *)ret + c->offset);
	return payload_end(t, r, err);
}

int rows_read(const struct rows *t, struct str payload, void *ret, struct err *err)
{
	struct reader r = reader_of(payload);
	ENSURE(!t->many);
	return rows_next(t, &r, ret, err);
}

/* Prints the next one without a struct to put it into. */
static void dump_next(const struct rows *t, struct reader *r, const char *between, struct buf *out)
{
	union {
		uint64_t number;
		struct str rest;
		char bytes[SIZE_MOST];
	} value;
	for (size_t i = 0; i < t->n; i++) {
		const struct column *c = &t->column[i];
		ENSURE(c->size <= sizeof value);
		member_take(c, r, &value);
		if (r->bad)
			return;
		buf_printf(out, "%s%s%s", i ? between : "", c->key, *c->key ? " " : "");
		member_dump(c, &value, out);
	}
}

int rows_dump(const struct rows *t, struct str payload, const char *between,
	      const char *between_many, struct buf *out, struct err *err)
{
	struct reader r = reader_of(payload);
	do {
		if (t->many && reader_left(&r) == 0)
			return 0;
		if (reader_at(&r))
			buf_add_text(out, between_many);
		dump_next(t, &r, between, out);
		if (payload_end(t, &r, err) < 0)
			return -1;
	} while (t->many);
	return 0;
}
