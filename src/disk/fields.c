/* Tables of fields. Each type of field is a row of functions below; a new type is a new row. */
#include "disk/fields.h"

#include "base/clock.h"

#include <inttypes.h>

enum { SIZE_MOST = 2048 }; /* of a member */

struct field_ops {
	void (*take)(const struct field *f, struct reader *r, void *to);
	void (*put)(const struct field *f, const void *from, struct buf *out);
	void (*print)(const struct field *f, const void *value, struct buf *out);
};

/* Numbers */

static void uint_take(const struct field *f, struct reader *r, void *to)
{
	switch (f->size) {
	case 1:
		*(uint8_t *)to = reader_u8(r);
		return;
	case 2:
		*(uint16_t *)to = reader_u16le(r);
		return;
	case 4:
		*(uint32_t *)to = reader_u32le(r);
		return;
	default:
		ENSURE(f->size == 8);
		*(uint64_t *)to = reader_u64le(r);
	}
}

static uint64_t uint_value(const struct field *f, const void *from)
{
	switch (f->size) {
	case 1:
		return *(const uint8_t *)from;
	case 2:
		return *(const uint16_t *)from;
	case 4:
		return *(const uint32_t *)from;
	default:
		ENSURE(f->size == 8);
		return *(const uint64_t *)from;
	}
}

static void uint_put(const struct field *f, const void *from, struct buf *out)
{
	uint64_t v = uint_value(f, from);
	for (size_t i = 0; i < f->size; i++)
		put_u8(out, (uint8_t)(v >> 8 * i));
}

static void uint_print(const struct field *f, const void *value, struct buf *out)
{
	if (f->hex)
		buf_printf(out, "%0*" PRIx64, (int)(2 * f->size), uint_value(f, value));
	else
		buf_printf(out, "%" PRIu64, uint_value(f, value));
}

static void time_take(const struct field *f, struct reader *r, void *to)
{
	ENSURE(f->size == sizeof(int64_t));
	uint64_t v = reader_u64le(r);
	if (v > INT64_MAX)
		r->bad = true;
	*(int64_t *)to = (int64_t)(v & INT64_MAX);
}

static void time_show(const struct field *f, const void *value, struct buf *out)
{
	(void)f;
	time_print(out, *(const int64_t *)value, 6);
}

/* Texts and bytes */

/* Foreign text on one line. */
static void text_print(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		buf_add_byte(out, s.p[i] >= ' ' && s.p[i] < 0x7f ? s.p[i] : '?');
}

static void name_take(const struct field *f, struct reader *r, void *to)
{
	struct str s = reader_text(r, f->size - 1);
	memset(to, 0, f->size);
	if (r->bad || memchr(s.p, 0, s.n))
		r->bad = true;
	else
		memcpy(to, s.p, s.n);
}

static void name_put(const struct field *f, const void *from, struct buf *out)
{
	put_text(out, (struct str){from, strnlen(from, f->size - 1)});
}

static void name_print(const struct field *f, const void *value, struct buf *out)
{
	(void)f;
	text_print(out, str_of(value));
}

static void bytes_take(const struct field *f, struct reader *r, void *to)
{
	struct str s = reader_bytes(r, f->size);
	if (!r->bad)
		memcpy(to, s.p, f->size);
}

static void bytes_put(const struct field *f, const void *from, struct buf *out)
{
	buf_add(out, from, f->size);
}

static void bytes_print(const struct field *f, const void *value, struct buf *out)
{
	for (size_t i = 0; i < f->size; i++)
		buf_printf(out, "%02x", ((const uint8_t *)value)[i]);
}

static void rest_take(const struct field *f, struct reader *r, void *to)
{
	ENSURE(f->size == sizeof(struct str));
	*(struct str *)to = reader_bytes(r, reader_left(r));
}

static void rest_put(const struct field *f, const void *from, struct buf *out)
{
	(void)f;
	buf_add_str(out, *(const struct str *)from);
}

static void rest_print(const struct field *f, const void *value, struct buf *out)
{
	(void)f;
	text_print(out, *(const struct str *)value);
}

static const struct field_ops types[FIELD_TYPES] = {
	[FIELD_UINT] = {uint_take, uint_put, uint_print},
	[FIELD_TIME] = {time_take, uint_put, time_show},
	[FIELD_NAME] = {name_take, name_put, name_print},
	[FIELD_BYTES] = {bytes_take, bytes_put, bytes_print},
	[FIELD_REST] = {rest_take, rest_put, rest_print},
};

/* Tables */

void fields_write(const struct field_table *t, const void *from, struct buf *out)
{
	for (const struct field *f = t->field; f < t->field + t->n; f++)
		types[f->type].put(f, (const char *)from + f->offset, out);
}

static int fields_end(const struct field_table *t, const struct reader *r, struct err *err)
{
	if (!r->bad && (t->many || reader_left(r) == 0))
		return 0;
	return err_set(err, ERR_DAMAGED, "not %s: wrong at byte %zu", t->what, reader_at(r));
}

int fields_next(const struct field_table *t, struct reader *r, void *ret, struct err *err)
{
	if (t->many && reader_left(r) == 0)
		return 1;
	for (const struct field *f = t->field; f < t->field + t->n && !r->bad; f++)
		types[f->type].take(f, r, (char *)ret + f->offset);
	return fields_end(t, r, err);
}

int fields_read(const struct field_table *t, struct str payload, void *ret, struct err *err)
{
	struct reader r = reader_of(payload);
	ENSURE(!t->many);
	return fields_next(t, &r, ret, err);
}

/* Prints the next one without a struct to put it into. */
static void fields_print_next(const struct field_table *t, struct reader *r, const char *between,
			      struct buf *out)
{
	union {
		uint64_t number;
		struct str rest;
		char bytes[SIZE_MOST];
	} value;
	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->field[i];
		ENSURE(f->size <= sizeof value);
		types[f->type].take(f, r, &value);
		if (r->bad)
			return;
		buf_printf(out, "%s%s%s", i ? between : "", f->name, *f->name ? " " : "");
		types[f->type].print(f, &value, out);
	}
}

int fields_print(const struct field_table *t, struct str payload, const char *between,
		 const char *between_many, struct buf *out, struct err *err)
{
	struct reader r = reader_of(payload);
	do {
		if (t->many && reader_left(&r) == 0)
			return 0;
		if (reader_at(&r))
			buf_add_text(out, between_many);
		fields_print_next(t, &r, between, out);
		if (fields_end(t, &r, err) < 0)
			return -1;
	} while (t->many);
	return 0;
}
