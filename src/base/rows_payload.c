/* Rows in files: the members of a row as bytes, and back, and both in a dump. A type that is not
 * for files has no functions here, and a table with one is a broken promise. */
#include "base/rows.h"

#include "base/clock.h"
#include "base/cursor.h"

#include <inttypes.h>

enum { SIZE_MOST = 2048 }; /* of a member */

struct payload_ops {
	void (*take)(const struct column *c, struct reader *r, void *to);
	void (*put)(const struct column *c, const void *from, struct buf *out);
	void (*print)(const struct column *c, const void *value, struct buf *out);
};

/* Numbers */

static void number_take(const struct column *c, struct reader *r, void *to)
{
	struct str s = reader_bytes(r, c->size);
	uint64_t v = 0;
	for (size_t i = s.n; i-- > 0;)
		v = v << 8 | (unsigned char)s.p[i];
	r->bad |= (c->type == COL_BOOL && v > 1) || (c->unit == UNIT_TIME && v > INT64_MAX);
	rows_number_set(c, v, to);
}

static void number_put(const struct column *c, const void *from, struct buf *out)
{
	uint64_t v = rows_number(c, from);
	for (size_t i = 0; i < c->size; i++)
		put_u8(out, (uint8_t)(v >> 8 * i));
}

static void number_print(const struct column *c, const void *value, struct buf *out)
{
	if (c->unit == UNIT_TIME)
		time_print(out, *(const int64_t *)value, 6);
	else if (c->unit == UNIT_HEX)
		buf_printf(out, "%0*" PRIx64, (int)(2 * c->size), rows_number(c, value));
	else
		buf_printf(out, "%" PRIu64, rows_number(c, value));
}

/* Texts and bytes */

static void chars_take(const struct column *c, struct reader *r, void *to)
{
	struct str s = reader_text(r, c->size - 1);
	memset(to, 0, c->size);
	if (r->bad || memchr(s.p, 0, s.n))
		r->bad = true;
	else
		memcpy(to, s.p, s.n);
}

static void chars_put(const struct column *c, const void *from, struct buf *out)
{
	put_text(out, (struct str){from, strnlen(from, c->size - 1)});
}

static void chars_print(const struct column *c, const void *value, struct buf *out)
{
	(void)c;
	put_ascii(out, str_of(value));
}

static void bytes_take(const struct column *c, struct reader *r, void *to)
{
	struct str s = reader_bytes(r, c->size);
	if (!r->bad)
		memcpy(to, s.p, c->size);
}

static void bytes_put(const struct column *c, const void *from, struct buf *out)
{
	buf_add(out, from, c->size);
}

static void bytes_print(const struct column *c, const void *value, struct buf *out)
{
	put_hex(out, value, c->size);
}

static void rest_take(const struct column *c, struct reader *r, void *to)
{
	(void)c;
	*(struct str *)to = reader_bytes(r, reader_left(r));
}

static void rest_put(const struct column *c, const void *from, struct buf *out)
{
	(void)c;
	buf_add_str(out, *(const struct str *)from);
}

static void rest_print(const struct column *c, const void *value, struct buf *out)
{
	(void)c;
	put_ascii(out, *(const struct str *)value);
}

static const struct payload_ops types[COL_TYPES] = {
	[COL_BOOL] = {number_take, number_put, number_print},
	[COL_UINT] = {number_take, number_put, number_print},
	[COL_INT] = {number_take, number_put, number_print},
	[COL_CHARS] = {chars_take, chars_put, chars_print},
	[COL_BYTES] = {bytes_take, bytes_put, bytes_print},
	[COL_STR] = {rest_take, rest_put, rest_print},
};

static const struct payload_ops *ops_of(const struct column *c)
{
	ENSURE(types[c->type].take);
	return &types[c->type];
}

/* Tables */

void rows_write(const struct rows *t, const void *from, struct buf *out)
{
	for (const struct column *c = t->column; c < t->column + t->n; c++)
		ops_of(c)->put(c, (const char *)from + c->offset, out);
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
		ops_of(c)->take(c, r, (char *)ret + c->offset);
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
		ops_of(c)->take(c, r, &value);
		if (r->bad)
			return;
		buf_printf(out, "%s%s%s", i ? between : "", c->key, *c->key ? " " : "");
		ops_of(c)->print(c, &value, out);
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
