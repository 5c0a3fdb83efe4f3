/* Packs as compress(1) does, in the plainest way: for tests of the unpacking. */
#pragma once
#include "base/buf.h"

enum { PACK_SLOTS = 1 << 17, PACK_CLEAR = 256 };

struct pack {
	struct buf *out;
	bool block;
	unsigned bits_most, bits, group; /* codes of the group that were written */
	uint64_t held;
	unsigned held_n;
	uint32_t free;
	uint64_t clears; /* that were written, plus 1 */
	uint64_t *key;   /* prefix and byte, with clears above them: of others, it is free */
	uint16_t *code;
};

static void pack_bits(struct pack *p, uint32_t v, unsigned n)
{
	p->held |= (uint64_t)v << p->held_n;
	for (p->held_n += n; p->held_n >= 8; p->held_n -= 8) {
		buf_add_byte(p->out, (char)p->held);
		p->held >>= 8;
	}
}

/* The rest of a group of eight codes; its bits mean nothing. */
static void pack_pad(struct pack *p)
{
	for (; p->group; p->group = (p->group + 1) % 8)
		pack_bits(p, 0x5555 & ((1u << p->bits) - 1), p->bits);
}

static void pack_code(struct pack *p, uint32_t code)
{
	pack_bits(p, code, p->bits);
	p->group = (p->group + 1) % 8;
}

static uint64_t pack_key(const struct pack *p, uint32_t code, char byte)
{
	return p->clears << 32 | code << 8 | (unsigned char)byte;
}

static size_t pack_slot(const struct pack *p, uint64_t key)
{
	size_t at = (uint32_t)key * 2654435761u % PACK_SLOTS;
	while (p->key[at] >> 32 == p->clears && p->key[at] != key)
		at = (at + 1) % PACK_SLOTS;
	return at;
}

static void pack_clear(struct pack *p)
{
	pack_code(p, PACK_CLEAR);
	pack_pad(p);
	p->clears++;
	p->bits = 9;
	p->free = PACK_CLEAR + 1;
}

/* clear_each: codes after which the table is emptied; 0: never, and SIZE_MAX: when it is full. */
static inline void lzw_pack(struct str in, unsigned bits_most, bool block, size_t clear_each,
			    struct buf *out)
{
	struct pack p = {
		.out = out, .block = block, .bits_most = bits_most, .bits = 9, .clears = 1};
	size_t codes = 0;
	p.free = block ? PACK_CLEAR + 1 : 256;
	p.key = mem_array(PACK_SLOTS, sizeof *p.key);
	p.code = mem_array(PACK_SLOTS, sizeof *p.code);
	buf_add(out, "\x1f\x9d", 2);
	buf_add_byte(out, (char)(bits_most | (block ? 0x80 : 0)));
	for (size_t i = 0; i < in.n;) {
		uint32_t code = (unsigned char)in.p[i++];
		size_t slot = 0;
		while (i < in.n) {
			slot = pack_slot(&p, pack_key(&p, code, in.p[i]));
			if (p.key[slot] >> 32 != p.clears)
				break;
			code = p.code[slot];
			i++;
		}
		pack_code(&p, code);
		/* the reader defines a code one later; so the width grows one code later */
		if (i < in.n && p.free < 1u << bits_most) {
			p.key[slot] = pack_key(&p, code, in.p[i]);
			p.code[slot] = (uint16_t)p.free++;
		}
		if (p.free - 1 > (1u << p.bits) - 1 && p.bits < bits_most) {
			pack_pad(&p);
			p.bits++;
		}
		bool full = p.free == 1u << bits_most;
		if (block && clear_each && i < in.n &&
		    (clear_each < SIZE_MAX ? ++codes >= clear_each : full)) {
			pack_clear(&p);
			codes = 0;
		}
	}
	if (p.held_n)
		pack_bits(&p, 0, 8 - p.held_n);
	mem_free(&p.key);
	mem_free(&p.code);
}
