/* Texts of names in codes, for segments (doc/formats/names-segment.md). */
#pragma once
#include "base/base.h"

#include <endian.h>

enum {
	NAMES_SYMBOLS = 255,
	NAMES_SYMBOL_MOST = 8, /* bytes of a string */
	NAMES_ESCAPE = 255,    /* a byte follows as it is */
};

struct names_symbol {
	uint8_t n;
	char text[15]; /* so that it takes 16 bytes */
};
extern const struct names_symbol names_symbols[NAMES_SYMBOLS + 1]; /* the last is empty */

struct names_packed {
	uint64_t value, mask; /* as it lies in a name; the bytes that count */
	uint8_t n, code;
	uint8_t next; /* a shorter one with the same two bytes; 0: none */
};
struct names_packer {
	struct names_packed symbol[NAMES_SYMBOLS + 1];
	uint8_t n;
	uint8_t one[256], two[1 << 16]; /* codes of single bytes; first symbols by two bytes */
};
void names_packer_init(struct names_packer *k);
/* After the text, 8 bytes can be read; `to` has room for 2 * n. How many codes there are. */
size_t names_pack(const struct names_packer *k, const char *text, size_t n, uint8_t *to);

/* Bytes written; SIZE_MAX: they are no codes, or there is no room. */
size_t names_unpack_slowly(const uint8_t *p, const uint8_t *stop, char *to, size_t room);
enum { NAMES_UNPACK_STEP = 4, NAMES_UNPACK_SLACK = NAMES_UNPACK_STEP * NAMES_SYMBOL_MOST };
/* Four codes at a time, whether there are as many or not, since guessing how many costs more than
 * copying: those after the end become the code that stands for nothing. NAMES_UNPACK_STEP bytes can
 * be read after `stop`. */
static inline size_t names_unpack(const uint8_t *p, const uint8_t *stop, char *to, size_t room)
{
	char *start = to;
	uint32_t escape = 0;
	size_t n = (size_t)(stop - p);
	if (UNLIKELY(room < n * NAMES_SYMBOL_MOST + NAMES_UNPACK_SLACK))
		return names_unpack_slowly(p, stop, to, room);
	for (size_t i = 0; i < n; i += NAMES_UNPACK_STEP) {
		uint32_t v, past = n - i < 4 ? UINT32_MAX << 8 * (n - i) : 0;
		memcpy(&v, p + i, sizeof v);
		v = le32toh(v);
		/* A byte of ~v that is zero and not past the end: its highest bit is set. */
		escape |= (~v - 0x01010101u) & v & 0x80808080u & ~past;
		v |= past;
		const struct names_symbol *a = &names_symbols[v & 0xff],
					  *b = &names_symbols[v >> 8 & 0xff],
					  *c = &names_symbols[v >> 16 & 0xff],
					  *d = &names_symbols[v >> 24];
		memcpy(to, a->text, NAMES_SYMBOL_MOST);
		to += a->n;
		memcpy(to, b->text, NAMES_SYMBOL_MOST);
		to += b->n;
		memcpy(to, c->text, NAMES_SYMBOL_MOST);
		to += c->n;
		memcpy(to, d->text, NAMES_SYMBOL_MOST);
		to += d->n;
	}
	if (UNLIKELY(escape != 0))
		return names_unpack_slowly(p, stop, start, room);
	return (size_t)(to - start);
}
