/* The dictionary of a segment: terms in order, in blocks whose first terms are indexed. Reading is
 * in segment.h; this is between the parts of the room. */
#pragma once
#include "base/cursor.h"
#include "index/segment_layout.h"
#include "index/token.h"

/* Writing: entries in order of attribute and term. */
struct dict_writer {
	struct buf blocks, prefixes, wheres;
	struct buf firsts; /* u32 for each attribute and one behind: its first block */
	char term[TOKEN_TERM_MOST];
	size_t term_n;
	uint32_t in_block, nblocks, attrs;
	uint64_t terms;
	size_t count_at; /* where the number of terms of the block at hand is */
};

void dict_init(struct dict_writer *d);
void dict_free(struct dict_writer *d);
/* at: where its data begins; a term with bytes 0 has none. */
void dict_put(struct dict_writer *d, uint32_t attr, struct str term, uint64_t at,
	      const struct segment_term *info);
/* attrs: how many there are; those without a term have no block. */
void dict_end(struct dict_writer *d, uint32_t attrs);
