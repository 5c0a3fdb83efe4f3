#include "base/json.h"

#include "base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 64 }; /* bits in json.some */

static uint64_t level(const struct json *j)
{
	return j->depth ? UINT64_C(1) << (j->depth - 1) : 0;
}

/* The comma before a key or a value, unless it is the first or stands behind its key. At the top
 * there are no commas: values that follow each other there are documents of their own. */
static void begin(struct json *j)
{
	if (j->after_key)
		j->after_key = false;
	else if (j->some & level(j))
		buf_add_byte(j->out, ',');
	j->some |= level(j);
}

static void open_level(struct json *j, char bracket)
{
	begin(j);
	ENSURE(j->depth < DEPTH);
	j->depth++;
	j->some &= ~level(j);
	buf_add_byte(j->out, bracket);
}

static void close_level(struct json *j, char bracket)
{
	ENSURE(j->depth > 0 && !j->after_key);
	j->depth--;
	buf_add_byte(j->out, bracket);
}

void json_object(struct json *j)
{
	open_level(j, '{');
}

void json_object_end(struct json *j)
{
	close_level(j, '}');
}

void json_array(struct json *j)
{
	open_level(j, '[');
}

void json_array_end(struct json *j)
{
	close_level(j, ']');
}

/* Length of the character at the start of s (not empty), 0 if its first byte begins none. */
static size_t character(struct str s)
{
	unsigned char lead = (unsigned char)s.p[0];
	size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	return s.n >= n && str_utf8(str_head(s, n)) ? n : 0;
}

/* Writes what a byte or character that cannot stand for itself is replaced with. */
static void escape(struct buf *b, struct str c)
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
static size_t plain(struct str s)
{
	size_t i = 0;
	while (i < s.n) {
		unsigned char c = (unsigned char)s.p[i];
		size_t n = c >= 0x80 ? character(str_from(s, i)) : 1;
		if (n == 0 || c < 0x20 || c == '"' || c == '\\')
			break;
		if (c == 0xe2 && (unsigned char)s.p[i + 1] == 0x80 &&
		    ((unsigned char)s.p[i + 2] | 1) == 0xa9)
			break;
		i += n;
	}
	return i;
}

static void quoted(struct buf *b, struct str s)
{
	buf_add_byte(b, '"');
	for (;;) {
		size_t n = plain(s);
		buf_add(b, s.p, n);
		s = str_from(s, n);
		if (s.n == 0)
			break;
		n = MAX(character(s), (size_t)1);
		escape(b, str_head(s, n));
		s = str_from(s, n);
	}
	buf_add_byte(b, '"');
}

void json_key(struct json *j, const char *key)
{
	ENSURE(j->depth > 0 && !j->after_key);
	begin(j);
	quoted(j->out, str_of(key));
	buf_add_byte(j->out, ':');
	j->after_key = true;
}

void json_str(struct json *j, struct str s)
{
	begin(j);
	quoted(j->out, s);
}

void json_text(struct json *j, const char *z)
{
	if (z)
		json_str(j, str_of(z));
	else
		json_null(j);
}

void json_int(struct json *j, int64_t v)
{
	begin(j);
	buf_printf(j->out, "%" PRId64, v);
}

void json_uint(struct json *j, uint64_t v)
{
	begin(j);
	buf_printf(j->out, "%" PRIu64, v);
}

void json_real(struct json *j, double v)
{
	char text[32]; /* 17 digits, sign, point and exponent are 24 */
	if (!isfinite(v)) {
		json_null(j);
		return;
	}
	begin(j);
	/* The point is a point: the program stays in the C locale. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_add_text(j->out, text);
}

void json_bool(struct json *j, bool v)
{
	begin(j);
	buf_add_text(j->out, v ? "true" : "false");
}

void json_null(struct json *j)
{
	begin(j);
	buf_add_text(j->out, "null");
}

void json_time(struct json *j, int64_t wall_us)
{
	begin(j);
	buf_add_byte(j->out, '"');
	time_print(j->out, wall_us, 6);
	buf_add_byte(j->out, '"');
}

void json_put_str(struct json *j, const char *key, struct str s)
{
	json_key(j, key);
	json_str(j, s);
}

void json_put_text(struct json *j, const char *key, const char *z)
{
	json_key(j, key);
	json_text(j, z);
}

void json_put_int(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_int(j, v);
}

void json_put_uint(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_uint(j, v);
}

void json_put_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}
