/* Cursors: foreign bytes are read, and ours written, one field at a time. A reader that runs past
 * the end goes bad, stays bad and answers zeroes, so a caller checks once at the end.
 * Writing goes straight into a struct buf, whose `over` is just as sticky.
 * Numbers are copied out, never cast: file bytes have no alignment. */
#pragma once
#include "base/buf.h"

#include <endian.h>

struct reader {
	const unsigned char *p, *end, *start;
	bool bad;
};

static inline struct reader reader_of(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	return (struct reader){p, s.n ? p + s.n : p, p, false};
}
static inline size_t reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->p);
}
static inline size_t reader_at(const struct reader *r)
{
	return (size_t)(r->p - r->start);
}

/* n bytes to read, or NULL and bad. */
static inline const unsigned char *reader_take(struct reader *r, size_t n)
{
	if (UNLIKELY(r->bad || n > reader_left(r))) {
		r->bad = true;
		return NULL;
	}
	const unsigned char *p = r->p;
	if (n)
		r->p += n;
	return p;
}

/* reader_u8(), put_u8() and so on */
#define CURSOR_FIXED(name, type, from_file, to_file)               \
	static inline type reader_##name(struct reader *r)         \
	{                                                          \
		type v = 0;                                        \
		const unsigned char *p = reader_take(r, sizeof v); \
		if (p)                                             \
			memcpy(&v, p, sizeof v);                   \
		return from_file(v);                               \
	}                                                          \
	static inline void put_##name(struct buf *b, type v)       \
	{                                                          \
		v = to_file(v);                                    \
		buf_add(b, &v, sizeof v);                          \
	}
#define CURSOR_AS_IS(v) (v)
CURSOR_FIXED(u8, uint8_t, CURSOR_AS_IS, CURSOR_AS_IS)
CURSOR_FIXED(u16le, uint16_t, le16toh, htole16)
CURSOR_FIXED(u32le, uint32_t, le32toh, htole32)
CURSOR_FIXED(u64le, uint64_t, le64toh, htole64)
CURSOR_FIXED(u16be, uint16_t, be16toh, htobe16)
CURSOR_FIXED(u32be, uint32_t, be32toh, htobe32)

uint64_t reader_varint_slowly(struct reader *r);
/* 7 bits a byte, low first, at most 10 bytes. Most are one byte long. */
static inline uint64_t reader_varint(struct reader *r)
{
	if (LIKELY(!r->bad && r->p < r->end && *r->p < 0x80))
		return *r->p++;
	return reader_varint_slowly(r);
}
struct str reader_bytes(struct reader *r, size_t n);
struct str reader_text(struct reader *r, size_t most); /* varint length, at most that, then bytes */
void reader_skip(struct reader *r, size_t n);

enum { VARINT_MOST = 10 };
/* Returns where it ends; `to` has room for VARINT_MOST bytes. */
static inline char *varint_write(char *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (char)(v | 0x80);
	*to++ = (char)v;
	return to;
}
void put_varint(struct buf *b, uint64_t v);
void put_text(struct buf *b, struct str s);
