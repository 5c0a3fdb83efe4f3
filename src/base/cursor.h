/* Cursors: foreign bytes are read, and ours written, one field at a time. A reader that runs past
 * the end goes bad, stays bad and answers zeroes, so a caller checks once at the end.
 * Writing goes straight into a struct buf, whose `over` is just as sticky. */
#pragma once
#include "base/buf.h"

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

uint8_t reader_u8(struct reader *r);
uint16_t reader_u16le(struct reader *r);
uint32_t reader_u32le(struct reader *r);
uint64_t reader_u64le(struct reader *r);
uint16_t reader_u16be(struct reader *r);
uint32_t reader_u32be(struct reader *r);
uint64_t reader_varint(struct reader *r); /* 7 bits a byte, low first, at most 10 bytes */
struct str reader_bytes(struct reader *r, size_t n);
struct str reader_text(struct reader *r, size_t most); /* varint length, at most that, then bytes */
void reader_skip(struct reader *r, size_t n);

void put_u8(struct buf *b, uint8_t v);
void put_u16le(struct buf *b, uint16_t v);
void put_u32le(struct buf *b, uint32_t v);
void put_u64le(struct buf *b, uint64_t v);
void put_u16be(struct buf *b, uint16_t v);
void put_u32be(struct buf *b, uint32_t v);
void put_varint(struct buf *b, uint64_t v);
void put_text(struct buf *b, struct str s);
