/* A segment that is open, between the parts of the room that read it. */
#pragma once
#include "disk/page.h"
#include "index/segment_layout.h"

#include <stdatomic.h>

struct segment {
	struct page_file *file;
	char *path;
	struct segment_foot foot;
	struct segment_info info;
	struct str *name; /* of attributes, in the map */
	uint32_t *first;  /* block of each attribute, and one behind */
	uint32_t dict_blocks;
	_Atomic(const uint8_t *) ready[SEGMENT_PARTS]; /* parts that were read as a whole */
};

int segment_damaged(const struct segment *s, struct err *err, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* A whole part, whose pages are verified once. */
int segment_part_slowly(struct segment *s, enum segment_part part, const uint8_t **ret,
			struct err *err);
static inline int segment_part(struct segment *s, enum segment_part part, const uint8_t **ret,
			       struct err *err)
{
	const uint8_t *p = atomic_load_explicit(&s->ready[part], memory_order_acquire);
	if (UNLIKELY(!p))
		return segment_part_slowly(s, part, ret, err);
	*ret = p;
	return 0;
}

/* Bytes of a part. */
int segment_bytes(struct segment *s, enum segment_part part, uint64_t from, uint64_t n,
		  const uint8_t **ret, struct err *err);

static inline uint32_t load_u32(const uint8_t *p, size_t i)
{
	uint32_t v;
	memcpy(&v, p + 4 * i, sizeof v);
	return le32toh(v);
}
static inline uint64_t load_u64(const uint8_t *p, size_t i)
{
	uint64_t v;
	memcpy(&v, p + 8 * i, sizeof v);
	return le64toh(v);
}
