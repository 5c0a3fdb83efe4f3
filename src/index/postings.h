/* Between the parts that read lists of postings; what others use is in segment.h. */
#pragma once
#include "index/bitpack.h"
#include "index/segment_inner.h"

int postings_damaged(const struct postings *p, uint32_t block, struct err *err);
int postings_more(struct postings *p, uint32_t block, uint32_t buffer[SEGMENT_BLOCK],
		  const uint32_t **ret, struct err *err);

/* n numbers, packed as a block or as a tail. NULL: they are not there. */
static inline const uint8_t *numbers_get(const uint8_t *from, const uint8_t *end, uint32_t n,
					 uint32_t ret[SEGMENT_BLOCK])
{
	return n == SEGMENT_BLOCK ? unpack_block(from, end, ret) : unpack_tail(from, end, n, ret);
}
static inline const uint8_t *numbers_skip(const uint8_t *from, const uint8_t *end, uint32_t n)
{
	return n == SEGMENT_BLOCK ? skip_block(from, end) : skip_tail(from, end, n);
}
