/* What is longer than a number of a fixed size. */
#include "base/cursor.h"

uint64_t reader_varint_slowly(struct reader *r)
{
	const unsigned char *p = r->p, *end = r->bad ? p : r->end;
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
		uint8_t byte = *p++;
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			r->p = p;
			return v;
		}
	}
	r->p = p;
	r->bad = true;
	return 0;
}

struct str reader_bytes(struct reader *r, size_t n)
{
	const unsigned char *p = reader_take(r, n);
	return p ? (struct str){(const char *)p, n} : (struct str){"", 0};
}

struct str reader_text(struct reader *r, size_t most)
{
	uint64_t n = reader_varint(r);
	if (n > most) {
		r->bad = true;
		n = 0;
	}
	return reader_bytes(r, (size_t)n);
}

void reader_skip(struct reader *r, size_t n)
{
	(void)reader_take(r, n);
}

void put_varint(struct buf *b, uint64_t v)
{
	char bytes[VARINT_MOST];
	if (LIKELY(v < 0x80))
		put_u8(b, (uint8_t)v);
	else
		buf_add(b, bytes, (size_t)(varint_write(bytes, v) - bytes));
}

void put_text(struct buf *b, struct str s)
{
	put_varint(b, s.n);
	buf_add_str(b, s);
}
