/* Blocks of 128 numbers, each in as many bits as most of them need; the few that need more are
 * patched. A block tells its own length. Shorter rows of numbers are packed plainly.
 *
 * Decoding by AVX2 where the processor has it, else portably; both read and write the same bytes
 * (doc/formats/words.md). Every decoder stays inside its bytes whatever they are: NULL says that
 * they are no block. */
#pragma once
#include "base/base.h"

enum {
	PACK_N = 128,
	PACK_MOST = 2 + 4 * PACK_N, /* bytes of a block at most, and of a tail */
};

size_t pack_block(const uint32_t v[PACK_N], uint8_t ret[PACK_MOST]);
/* Each gives the byte behind the block. */
const uint8_t *unpack_block(const uint8_t *p, const uint8_t *end, uint32_t ret[PACK_N]);
const uint8_t *skip_block(const uint8_t *p, const uint8_t *end);
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
