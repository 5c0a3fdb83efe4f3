/* JSON is written straight into the buffer: no tree, no second copy of a page of results. */
#include "base/jsonw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 64 }; /* bits in json.some */

static uint64_t level_bit(const struct jsonw *j)
{
	return j->depth ? UINT64_C(1) << (j->depth - 1) : 0;
}

/* The comma before a key or a value, unless it is the first or follows its key. At the top
 * there are no commas: values that follow each other there are documents of their own. */
static void begin_value(struct jsonw *j)
{
	if (j->after_key)
		j->after_key = false;
	else if (j->some & level_bit(j))
		buf_add_byte(j->out, ',');
	j->some |= level_bit(j);
}

static void open_level(struct jsonw *j, char bracket)
{
	begin_value(j);
	ENSURE(j->depth < DEPTH);
	j->depth++;
	j->some &= ~level_bit(j);
	buf_add_byte(j->out, bracket);
}

static void close_level(struct jsonw *j, char bracket)
{
	ENSURE(j->depth > 0 && !j->after_key);
	j->depth--;
	buf_add_byte(j->out, bracket);
}

void jsonw_object(struct jsonw *j)
{
	open_level(j, '{');
}

void jsonw_object_end(struct jsonw *j)
{
	close_level(j, '}');
}

void jsonw_array(struct jsonw *j)
{
	open_level(j, '[');
}

void jsonw_array_end(struct jsonw *j)
{
	close_level(j, ']');
}

/* Writes what a byte or character that cannot stand for itself is replaced with. */
static void put_escape(struct buf *b, struct str c)
{
	static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
				       ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
	unsigned char byte = (unsigned char)c.p[0];
	if (c.n == 3)
		buf_printf(b, "\\u20%02x", (unsigned char)c.p[2] - 0x80u);
	else if (byte >= 0x80)
		buf_add_text(b, "\xef\xbf\xbd");
	else if (byte < sizeof letters && letters[byte])
		buf_printf(b, "\\%c", letters[byte]);
	else
		buf_printf(b, "\\u%04x", byte);
}

/* Bytes at the start of s that stand for themselves. U+2028 and U+2029 do not, because scripts take
 * them for the end of a line. */
static size_t plain_length(struct str s)
{
	size_t i = 0;
	while (i < s.n) {
		unsigned char c = (unsigned char)s.p[i];
		size_t n = c >= 0x80 ? str_utf8_char(str_from(s, i)) : 1;
		if (n == 0 || c < 0x20 || c == '"' || c == '\\')
			break;
		if (c == 0xe2 && (unsigned char)s.p[i + 1] == 0x80 &&
		    ((unsigned char)s.p[i + 2] | 1) == 0xa9)
			break;
		i += n;
	}
	return i;
}

static void put_escaped(struct buf *b, struct str s)
{
	for (;;) {
		size_t n = plain_length(s);
		buf_add(b, s.p, n);
		s = str_from(s, n);
		if (s.n == 0)
			break;
		n = MAX(str_utf8_char(s), (size_t)1);
		put_escape(b, str_head(s, n));
		s = str_from(s, n);
	}
}

static void put_quoted(struct buf *b, struct str s)
{
	buf_add_byte(b, '"');
	put_escaped(b, s);
	buf_add_byte(b, '"');
}

void jsonw_key(struct jsonw *j, const char *key)
{
	ENSURE(j->depth > 0 && !j->after_key);
	begin_value(j);
	put_quoted(j->out, str_of(key));
	buf_add_byte(j->out, ':');
	j->after_key = true;
}

void jsonw_str(struct jsonw *j, struct str s)
{
	begin_value(j);
	put_quoted(j->out, s);
}

void jsonw_str_begin(struct jsonw *j)
{
	begin_value(j);
	buf_add_byte(j->out, '"');
}

void jsonw_str_part(struct jsonw *j, struct str s)
{
	put_escaped(j->out, s);
}

void jsonw_str_end(struct jsonw *j)
{
	buf_add_byte(j->out, '"');
}

void jsonw_text(struct jsonw *j, const char *z)
{
	if (z)
		jsonw_str(j, str_of(z));
	else
		jsonw_null(j);
}

void jsonw_int(struct jsonw *j, int64_t v)
{
	begin_value(j);
	buf_printf(j->out, "%" PRId64, v);
}

void jsonw_uint(struct jsonw *j, uint64_t v)
{
	begin_value(j);
	buf_printf(j->out, "%" PRIu64, v);
}

void jsonw_real(struct jsonw *j, double v)
{
	char text[32]; /* 17 digits, sign, point and exponent are 24 */
	if (!isfinite(v)) {
		jsonw_null(j);
		return;
	}
	begin_value(j);
	/* The point is a point: the program stays in the C locale. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_add_text(j->out, text);
}

void jsonw_bool(struct jsonw *j, bool v)
{
	begin_value(j);
	buf_add_text(j->out, v ? "true" : "false");
}

void jsonw_null(struct jsonw *j)
{
	begin_value(j);
	buf_add_text(j->out, "null");
}

void jsonw_put_object(struct jsonw *j, const char *key)
{
	jsonw_key(j, key);
	jsonw_object(j);
}

void jsonw_put_array(struct jsonw *j, const char *key)
{
	jsonw_key(j, key);
	jsonw_array(j);
}

#define PUT(name, type)                                                 \
	void jsonw_put_##name(struct jsonw *j, const char *key, type v) \
	{                                                               \
		jsonw_key(j, key);                                      \
		jsonw_##name(j, v);                                     \
	}
PUT(str, struct str)
PUT(text, const char *)
PUT(int, int64_t)
PUT(uint, uint64_t)
PUT(real, double)
PUT(bool, bool)
