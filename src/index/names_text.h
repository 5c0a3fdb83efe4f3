/* Texts of names in codes, for segments (doc/formats/names-segment.md). */
#pragma once
#include "base/base.h"

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
 * copying: NAMES_UNPACK_STEP bytes can be read after `stop`. */
static inline size_t names_unpack(const uint8_t *p, const uint8_t *stop, char *to, size_t room)
{
	char *start = to;
	bool escape = false;
	if (UNLIKELY(room < (size_t)(stop - p) * NAMES_SYMBOL_MOST + NAMES_UNPACK_SLACK))
		return names_unpack_slowly(p, stop, to, room);
	for (const uint8_t *q = p; q < stop; q += NAMES_UNPACK_STEP)
		for (unsigned i = 0; i < NAMES_UNPACK_STEP; i++) {
			const struct names_symbol *s = &names_symbols[q[i]];
			size_t on = q + i < stop;
			memcpy(to, s->text, NAMES_SYMBOL_MOST);
			to += s->n & (0 - on);
			escape |= on & (q[i] == NAMES_ESCAPE);
		}
	if (UNLIKELY(escape))
		return names_unpack_slowly(p, stop, start, room);
	return (size_t)(to - start);
}
