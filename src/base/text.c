/* Tables for people, and text of others that a terminal may show. Every room that prints for people
 * needs them; how a page of help is set is a matter of the commands (cmd/text.h). */
#include "base/text.h"

#include "base/clock.h"
#include "base/value.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

size_t text_columns(struct str s)
{
	return str_utf8_count(s);
}

void text_table_add(struct text_table *t, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	ENSURE(n >= 0);
	char *text = mem_alloc((size_t)n + 1);
	vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(args);
	*VEC_PUSH(t->cell, t->ncells, t->room) = text;
}

static size_t column_width(const struct text_table *t, size_t column)
{
	enum { LOOSE_WIDTH = 30 };
	size_t width = 0;
	for (size_t i = column; i < t->ncells; i += t->ncolumns)
		width = MAX(width, text_columns(str_of(t->cell[i])));
	return t->loose >> column & 1 ? MIN(width, LOOSE_WIDTH) : width;
}

/* Nothing is padded after the last column. */
static void put_cell(const struct text_table *t, size_t column, const char *text, size_t width,
		     struct buf *out)
{
	size_t columns = text_columns(str_of(text)), pad = width > columns ? width - columns : 0;
	bool right = t->right >> column & 1;
	if (right)
		buf_fill(out, ' ', pad);
	buf_add_text(out, text);
	if (column + 1 < t->ncolumns)
		buf_fill(out, ' ', (right ? 0 : pad) + 2);
	else
		buf_add_byte(out, '\n');
}

void text_table_print(const struct text_table *t, struct buf *out)
{
	enum { MOST = 16 };
	size_t width[MOST];
	ENSURE(t->ncolumns <= MOST && t->ncells % t->ncolumns == 0);
	for (size_t i = 0; i < t->ncolumns; i++)
		width[i] = column_width(t, i);
	for (size_t i = 0; i < t->ncells; i++)
		put_cell(t, i % t->ncolumns, t->cell[i], width[i % t->ncolumns], out);
}

void text_table_free(struct text_table *t)
{
	for (size_t i = 0; i < t->ncells; i++)
		mem_free(&t->cell[i]);
	mem_free(&t->cell);
	t->ncells = 0;
}

void put_safe(struct buf *out, struct str text)
{
	while (text.n) {
		size_t n = str_utf8_char(text);
		unsigned char c = (unsigned char)text.p[0];
		bool c1 = n == 2 && c == 0xc2 && (unsigned char)text.p[1] < 0xa0;
		if (n == 0)
			buf_add_byte(out, '?');
		else if (c == '\t')
			buf_add_byte(out, ' ');
		else if (c >= ' ' && c != 0x7f && !c1)
			buf_add_str(out, str_head(text, n));
		text = str_from(text, MAX(n, (size_t)1));
	}
}

const char *text_safe(struct arena *arena, struct str text, size_t most)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(SIZE_MAX / 2);
	put_safe(&out, str_utf8_head(text, most));
	return arena_text(arena, buf_str(&out));
}

const char *text_time(struct arena *arena, int64_t wall_us)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(64);
	time_print(&out, wall_us, 0);
	return arena_text(arena, buf_str(&out));
}

void put_ascii(struct buf *out, struct str bytes)
{
	for (size_t i = 0; i < bytes.n; i++)
		buf_add_byte(out, bytes.p[i] >= ' ' && bytes.p[i] < 0x7f ? bytes.p[i] : '?');
}

void put_hex(struct buf *out, const void *bytes, size_t n)
{
	for (const unsigned char *p = bytes; n > 0; n--)
		buf_printf(out, "%02x", *p++);
}

void put_size_text(struct buf *out, uint64_t bytes)
{
	static const char units[] = "KMGTP";
	double v = (double)bytes / 1024;
	size_t unit = 0;
	for (; v >= 1000 && unit + 2 < sizeof units; unit++)
		v /= 1024;
	if (bytes < 1000)
		buf_printf(out, "%" PRIu64, bytes);
	else
		buf_printf(out, v < 10 ? "%.1f%c" : "%.0f%c", v, units[unit]);
}

void put_size_exact(struct buf *out, uint64_t bytes)
{
	struct {
		uint64_t size;
	} v = {bytes};
	const struct value_spec spec = {"size", VALUE_SIZE_AT(__typeof__(v), size)};
	value_print(&spec, &v, out);
}
