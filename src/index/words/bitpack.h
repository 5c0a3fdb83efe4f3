/* Blocks of 128 numbers, each in as many bits as most of them need; the few that need more are
 * patched. A block tells its own length. Shorter rows of numbers are packed plainly.
 *
 * Decoding by AVX2 where the processor has it, else portably; both read and write the same bytes
 * (doc/formats/words.md). Every decoder stays inside its bytes whatever they are: NULL says that
 * they are not a block. */
#pragma once
#include "base/base.h"

enum {
	PACK_N = 128,
	PACK_MOST = 2 + 4 * PACK_N, /* bytes of a block at most, and of a tail */
};

/* A block: a byte with the bits per number (6 bits) and the bytes of a patch - 1 (2 bits); a byte
 * with the number of patches, or PACK_EQUAL; the numbers; the indexes of the patched ones; what
 * their numbers have above these bits. All equal: one number, in the bytes of a patch. */
enum { PACK_HEAD = 2, PACK_EQUAL = 255, PACK_BITS = 32 };
struct pack_head {
	unsigned bits, patch_bytes, patches;
	const uint8_t *rows, *index, *patch, *after;
};
static inline bool pack_head(const uint8_t *p, const uint8_t *end, struct pack_head *ret)
{
	if (UNLIKELY(end - p < PACK_HEAD))
		return false;
	struct pack_head h = {.bits = p[0] & 63, .patch_bytes = (p[0] >> 6) + 1u, .patches = p[1]};
	h.rows = p + PACK_HEAD;
	if (UNLIKELY(h.patches == PACK_EQUAL)) {
		if (h.bits != 0 || (size_t)(end - h.rows) < h.patch_bytes)
			return false;
		h.after = h.rows + h.patch_bytes;
	} else {
		size_t n = 16 * (size_t)h.bits + h.patches * (1 + (size_t)h.patch_bytes);
		if (h.bits > PACK_BITS || h.patches >= PACK_N || (size_t)(end - h.rows) < n)
			return false;
		h.index = h.rows + 16 * (size_t)h.bits;
		h.patch = h.index + h.patches;
		h.after = h.rows + n;
	}
	*ret = h;
	return true;
}
static inline const uint8_t *skip_block(const uint8_t *p, const uint8_t *end)
{
	struct pack_head h;
	return pack_head(p, end, &h) ? h.after : NULL;
}

size_t pack_block(const uint32_t v[PACK_N], uint8_t ret[PACK_MOST]);
/* Each returns the byte after the block. */
const uint8_t *unpack_block(const uint8_t *p, const uint8_t *end, uint32_t ret[PACK_N]);
/* Gaps between ascending numbers: ret[i] is base + 1 + the first i + 1 gaps + i. base is -1 at
 * first. Also NULL when a number would not be below `limit`, which is at most 2^31. */
const uint8_t *unpack_ascending(const uint8_t *p, const uint8_t *end, uint32_t base, uint32_t limit,
				uint32_t ret[PACK_N]);

/* n numbers, fewer than 128. */
size_t pack_tail(const uint32_t *v, uint32_t n, uint8_t ret[PACK_MOST]);
const uint8_t *unpack_tail(const uint8_t *p, const uint8_t *end, uint32_t n, uint32_t *ret);
const uint8_t *skip_tail(const uint8_t *p, const uint8_t *end, uint32_t n);
/* The same sums in place. false: a number would not be below limit. */
bool add_up_ascending(uint32_t *v, uint32_t n, uint32_t base, uint32_t limit);

/* The portable twin, for tests. */
const uint8_t *unpack_block_portable(const uint8_t *p, const uint8_t *end, uint32_t ret[PACK_N]);
const uint8_t *unpack_ascending_portable(const uint8_t *p, const uint8_t *end, uint32_t base,
					 uint32_t limit, uint32_t ret[PACK_N]);
