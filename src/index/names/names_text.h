/* Texts of names in codes, for segments (doc/formats/names-segment.md): a byte stands for one of
 * 255 strings, which are found in a sample of the segment's own names. */
#pragma once
#include "base/buf.h"

#include <endian.h>

enum {
	NAMES_SYMBOLS = 255,
	NAMES_SYMBOL_MOST = 8,                                      /* bytes of a string */
	NAMES_ESCAPE = 255,                                         /* a byte follows as it is */
	NAMES_TABLE_MOST = NAMES_SYMBOLS * (1 + NAMES_SYMBOL_MOST), /* bytes in a file */
	NAMES_SAMPLE_MOST = 8192,                                   /* names */
};

struct names_symbol {
	uint8_t n;     /* 0: none */
	char text[15]; /* so that it takes 16 bytes */
};
struct names_table {
	struct names_symbol symbol[NAMES_SYMBOLS + 1]; /* the last is empty */
};

/* In a file: of each string a byte with its length, and its bytes. */
void names_table_put(const struct names_table *t, struct buf *out);
bool names_table_get(struct names_table *ret, struct str bytes); /* false: it is not one */

/* A sample: those names whose hash is below a bound, which is halved whenever they are more than
 * NAMES_SAMPLE_MOST. So it depends on the set of names alone, in whatever order and however often
 * they come. */
struct names_sampled {
	uint64_t hash;
	size_t at, n;
};
struct names_sample {
	struct names_sampled *name;
	size_t names, room;
	struct buf text;
	uint64_t below;
};
void names_sample_init(struct names_sample *s);
void names_sample_free(struct names_sample *s);
/* Whether it may belong to the sample; *ret_hash is for add. */
bool names_sample_wants(const struct names_sample *s, struct str folded, uint64_t *ret_hash);
void names_sample_add(struct names_sample *s, struct str folded, uint64_t hash);
/* The table that suits the sample. */
void names_sample_table(struct names_sample *s, struct names_table *ret);

struct names_packed {
	uint64_t value, mask; /* as it lies in a name; the bytes that count */
	uint8_t n, code;
	uint8_t next; /* a shorter one with the same two bytes; 0: none */
};
struct names_packer {
	struct names_packed symbol[NAMES_SYMBOLS + 1];
	uint8_t one[256], two[1 << 16]; /* codes of single bytes; first symbols by two bytes */
};
void names_packer_init(struct names_packer *k, const struct names_table *t);
/* After the text, 8 bytes can be read; `to` has room for 2 * n. How many codes there are. */
size_t names_pack(const struct names_packer *k, const char *text, size_t n, uint8_t *to);

/* Bytes written; SIZE_MAX: they are no codes, or there is no room. */
size_t names_unpack_slowly(const struct names_table *t, const uint8_t *p, const uint8_t *stop,
			   char *to, size_t room);
enum { NAMES_UNPACK_STEP = 4, NAMES_UNPACK_SLACK = NAMES_UNPACK_STEP * NAMES_SYMBOL_MOST };
/* Four codes at a time, whether there are as many or not, since guessing how many costs more than
 * copying: those after the end become the code that stands for nothing. NAMES_UNPACK_STEP bytes can
 * be read after `stop`. */
static inline size_t names_unpack(const struct names_table *t, const uint8_t *p,
				  const uint8_t *stop, char *to, size_t room)
{
	char *start = to;
	uint32_t escape = 0;
	size_t n = (size_t)(stop - p);
	if (UNLIKELY(room < n * NAMES_SYMBOL_MOST + NAMES_UNPACK_SLACK))
		return names_unpack_slowly(t, p, stop, to, room);
	for (size_t i = 0; i < n; i += NAMES_UNPACK_STEP) {
		uint32_t v, past = n - i < 4 ? UINT32_MAX << 8 * (n - i) : 0;
		memcpy(&v, p + i, sizeof v);
		v = le32toh(v);
		/* A byte of ~v that is zero and not past the end: its highest bit is set. */
		escape |= (~v - 0x01010101u) & v & 0x80808080u & ~past;
		v |= past;
		const struct names_symbol *a = &t->symbol[v & 0xff], *b = &t->symbol[v >> 8 & 0xff],
					  *c = &t->symbol[v >> 16 & 0xff], *d = &t->symbol[v >> 24];
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
		return names_unpack_slowly(t, p, stop, start, room);
	return (size_t)(to - start);
}
