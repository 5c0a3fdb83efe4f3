/* Numbers are copied out, never cast: file bytes have no alignment. */
#include "base/cursor.h"

#include <endian.h>

/* n bytes to read, or NULL and bad. */
static const unsigned char *reader_take(struct reader *r, size_t n)
{
	if (r->bad || n > reader_left(r)) {
		r->bad = true;
		return NULL;
	}
	const unsigned char *p = r->p;
	if (n)
		r->p += n;
	return p;
}

#define FIXED(name, type, from_file, to_file)                      \
	type reader_##name(struct reader *r)                       \
	{                                                          \
		type v = 0;                                        \
		const unsigned char *p = reader_take(r, sizeof v); \
		if (p)                                             \
			memcpy(&v, p, sizeof v);                   \
		return from_file(v);                               \
	}                                                          \
	void put_##name(struct buf *b, type v)                     \
	{                                                          \
		v = to_file(v);                                    \
		buf_add(b, &v, sizeof v);                          \
	}

#define AS_IS(v) (v)
FIXED(u8, uint8_t, AS_IS, AS_IS)
FIXED(u16le, uint16_t, le16toh, htole16)
FIXED(u32le, uint32_t, le32toh, htole32)
FIXED(u64le, uint64_t, le64toh, htole64)
FIXED(u16be, uint16_t, be16toh, htobe16)
FIXED(u32be, uint32_t, be32toh, htobe32)

uint64_t reader_varint(struct reader *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 70 && !r->bad && r->p < r->end; shift += 7) {
		uint8_t byte = *r->p++;
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
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
	unsigned char bytes[10];
	size_t n = 0;
	if (LIKELY(v < 0x80)) {
		put_u8(b, (uint8_t)v);
		return;
	}
	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (unsigned char)(v | 0x80);
	bytes[n++] = (unsigned char)v;
	buf_add(b, bytes, n);
}

void put_text(struct buf *b, struct str s)
{
	put_varint(b, s.n);
	buf_add_str(b, s);
}
