/* Packing as compress(1) does it, with codes of 9 to 16 bits in block mode. Once the table is full
 * it stays as it is: compress would empty it when the ratio falls, but need not, and what we pack
 * is a few megabytes of the same kind of lines. */
#include "extract/lzw.h"

#include "base/buf.h"
#include "base/hash.h"

enum {
	BITS_LEAST = 9,
	BITS_MOST = 16,
	CODES_MOST = 1 << BITS_MOST,
	FIRST_FREE = 257, /* 256 would empty the table */
	GROUP = 8,        /* codes; where the width changes, the rest of a group is padding */
	SLOTS = 1 << 18,
};

struct packer {
	struct buf *out;
	unsigned bits, in_group, held_n;
	uint64_t held;
	uint32_t free;
	/* (prefix code, byte) + 1 of each code that was defined, by hash; 0: free */
	uint32_t key[SLOTS];
	uint16_t code[SLOTS];
};

static void bits_put(struct packer *p, uint32_t value, unsigned n)
{
	p->held |= (uint64_t)value << p->held_n;
	p->held_n += n;
	for (; p->held_n >= 8; p->held_n -= 8, p->held >>= 8)
		buf_add_byte(p->out, (char)(p->held & 0xff));
}

static void code_put(struct packer *p, uint32_t code)
{
	bits_put(p, code, p->bits);
	p->in_group = (p->in_group + 1) % GROUP;
	if (p->bits == BITS_MOST || p->free < UINT32_C(1) << p->bits)
		return;
	for (; p->in_group; p->in_group = (p->in_group + 1) % GROUP)
		bits_put(p, 0, p->bits);
	p->bits++;
}

/* The slot of a pair, or the free one where it belongs. */
static size_t slot_of(const struct packer *p, uint32_t key)
{
	size_t i = (size_t)(hash_u64(key) % SLOTS);
	while (p->key[i] && p->key[i] != key)
		i = (i + 1) % SLOTS;
	return i;
}

void lzw_compress(struct str in, struct buf *out)
{
	struct packer *p = mem_alloc(sizeof *p);
	*p = (struct packer){.out = out, .bits = BITS_LEAST, .free = FIRST_FREE};
	buf_add(out, "\x1f\x9d\x90", 3);
	uint32_t code = in.n ? (unsigned char)in.p[0] : 0;
	for (size_t i = 1; i < in.n; i++) {
		unsigned char c = (unsigned char)in.p[i];
		uint32_t key = (code << 8 | c) + 1;
		size_t slot = slot_of(p, key);
		if (p->key[slot]) {
			code = p->code[slot];
			continue;
		}
		code_put(p, code);
		if (p->free < CODES_MOST) {
			p->key[slot] = key;
			p->code[slot] = (uint16_t)p->free++;
		}
		code = c;
	}
	if (in.n)
		bits_put(p, code, p->bits);
	if (p->held_n)
		bits_put(p, 0, 8 - p->held_n);
	mem_free(&p);
}
