/* LZW as compress(1) writes it. A code stands for a byte, or for the string of an earlier code and
 * one byte more; every code after the first one defines a new one, until the table is full. Codes
 * grow from 9 bits to the number that the header says, and in block mode code 256 empties the
 * table.
 *
 * compress wrote codes in groups of eight. Where the width changes or the table is emptied, the
 * rest of the group is padding, whatever stands there; that is part of the format now.
 *
 * For every code its length is kept, so a string is written backwards into the place where it goes.
 * One that does not fit is written to a spare buffer and handed out in parts. A code refers to
 * smaller codes only, so that no input can make a loop. */
#include "extract/lzw.h"

enum {
	BITS_LEAST = 9,
	BITS_MOST = 16,
	CODES_MOST = 1 << BITS_MOST,
	LITERALS = 256,
	CLEAR = 256, /* in block mode */
	HEADER = 3,
	GROUP = 8, /* codes */
	NO_CODE = -1,
};

struct lzw {
	unsigned char header[HEADER];
	size_t header_n;
	bool block;
	unsigned bits_most, bits;
	uint64_t held; /* bits that were read and not used, the next one lowest */
	unsigned held_n;
	unsigned in_group; /* codes of this width that were read of the current group */
	unsigned skip;     /* bits of padding still to come */
	int32_t last;      /* the code before; NO_CODE: none since the start, or since a CLEAR */
	uint32_t free;     /* the next code that will be defined */
	uint64_t codes;    /* read so far, for messages */
	size_t spare_at, spare_n; /* what of the spare buffer is still to be handed out */
	uint16_t prefix[CODES_MOST];
	unsigned char suffix[CODES_MOST];
	unsigned char first[CODES_MOST];
	uint32_t length[CODES_MOST];
	char spare[CODES_MOST];
};

struct lzw *lzw_new(void)
{
	struct lzw *z = mem_alloc(sizeof *z);
	for (uint32_t i = 0; i < LITERALS; i++) {
		z->suffix[i] = z->first[i] = (unsigned char)i;
		z->length[i] = 1;
	}
	z->last = NO_CODE;
	z->bits = BITS_LEAST;
	return z;
}

void lzw_free(struct lzw **z)
{
	mem_free(z);
}

static int header_take(struct lzw *z, struct str *in, struct err *err)
{
	while (z->header_n < HEADER && in->n) {
		z->header[z->header_n++] = (unsigned char)in->p[0];
		*in = str_from(*in, 1);
	}
	if (z->header_n < HEADER)
		return 1;
	unsigned flags = z->header[2];
	z->bits_most = flags & 0x1f;
	z->block = flags & 0x80;
	z->free = z->block ? CLEAR + 1 : LITERALS;
	if (z->header[0] != 0x1f || z->header[1] != 0x9d)
		return err_set(err, ERR_USAGE, "not a file of compress");
	if (z->bits_most < BITS_LEAST || z->bits_most > BITS_MOST || (flags & 0x60))
		return err_set(err, ERR_USAGE,
			       "a file of compress with codes of %u bits and flags 0x%02x, which "
			       "nobody can read",
			       z->bits_most, flags);
	return 0;
}

/* The rest of the group is padding. */
static void group_end(struct lzw *z)
{
	if (z->in_group)
		z->skip = (GROUP - z->in_group) * z->bits;
	z->in_group = 0;
}

static void held_fill(struct lzw *z, struct str *in)
{
	size_t i = 0;
	for (; z->held_n <= 56 && i < in->n; i++) {
		z->held |= (uint64_t)(unsigned char)in->p[i] << z->held_n;
		z->held_n += 8;
	}
	*in = str_from(*in, i);
}

static void held_drop(struct lzw *z, unsigned bits)
{
	z->held >>= bits;
	z->held_n -= bits;
}

/* 1: more input is needed. */
static int code_read(struct lzw *z, struct str *in, uint32_t *ret)
{
	/* one more bit, once the next code to be defined needs it */
	if (z->free > (1u << z->bits) - 1 && z->bits < z->bits_most) {
		group_end(z);
		z->bits++;
	}
	for (;;) {
		if (z->held_n < BITS_MOST)
			held_fill(z, in);
		unsigned padding = MIN(z->skip, z->held_n);
		if (padding == 0)
			break;
		padding = MIN(padding, 32u);
		held_drop(z, padding);
		z->skip -= padding;
	}
	if (z->skip || z->held_n < z->bits)
		return 1;
	*ret = (uint32_t)(z->held & ((1u << z->bits) - 1));
	held_drop(z, z->bits);
	z->in_group = (z->in_group + 1) % GROUP;
	z->codes++;
	return 0;
}

static int code_bad(const struct lzw *z, uint32_t code, struct err *err)
{
	return err_set(err, ERR_USAGE,
		       "damaged: code %u of compress, number %llu, was never defined", code,
		       (unsigned long long)z->codes);
}

static void code_define(struct lzw *z, unsigned char suffix)
{
	if (z->free >= 1u << z->bits_most)
		return;
	uint32_t last = (uint32_t)z->last;
	z->prefix[z->free] = (uint16_t)last;
	z->suffix[z->free] = suffix;
	z->first[z->free] = z->first[last];
	z->length[z->free] = z->length[last] + 1;
	z->free++;
}

/* Writes the string of a code so that it ends before `end`. */
static void code_write(const struct lzw *z, uint32_t code, char *end)
{
	while (code >= LITERALS) {
		*--end = (char)z->suffix[code];
		code = z->prefix[code];
	}
	*--end = (char)code;
}

/* What a code says, or nothing for CLEAR; it is defined already when it says itself. */
static int code_take(struct lzw *z, uint32_t code, struct err *err)
{
	if (z->last == NO_CODE) {
		if (code >= LITERALS)
			return code_bad(z, code, err);
	} else {
		if (code > z->free || (code == z->free && code >= 1u << z->bits_most) ||
		    (z->block && code == CLEAR))
			return code_bad(z, code, err);
		/* the string of the code before, and the first byte of this one, which may be
		 * the one that is being defined */
		code_define(z, z->first[code == z->free ? (uint32_t)z->last : code]);
	}
	z->last = (int32_t)code;
	return 0;
}

static void table_clear(struct lzw *z)
{
	group_end(z);
	z->bits = BITS_LEAST;
	z->free = CLEAR + 1;
	z->last = NO_CODE;
}

static size_t spare_give(struct lzw *z, char *out, size_t room)
{
	size_t n = MIN(room, z->spare_n - z->spare_at);
	if (n)
		memcpy(out, z->spare + z->spare_at, n);
	z->spare_at += n;
	return n;
}

int lzw_run(struct lzw *z, struct str *in, char *out, size_t room, size_t *ret_n, struct err *err)
{
	size_t n = 0;
	uint32_t code;
	if (z->header_n < HEADER) {
		int rc = header_take(z, in, err);
		*ret_n = 0;
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	n = spare_give(z, out, room);
	while (n < room && code_read(z, in, &code) == 0) {
		if (z->block && code == CLEAR) {
			table_clear(z);
			continue;
		}
		if (code_take(z, code, err) < 0)
			return -1;
		size_t length = z->length[code];
		if (length <= room - n) {
			code_write(z, code, out + n + length);
			n += length;
			continue;
		}
		code_write(z, code, z->spare + length);
		z->spare_at = 0;
		z->spare_n = length;
		n += spare_give(z, out + n, room - n);
	}
	*ret_n = n;
	return 0;
}

int lzw_end(const struct lzw *z, struct err *err)
{
	/* compress pads the last code to a byte; what else is left is the start of a code */
	if (z->header_n < HEADER || (z->skip == 0 && z->held_n >= 8))
		return err_set(err, ERR_USAGE, "cut off: a file of compress cannot end here");
	return 0;
}
