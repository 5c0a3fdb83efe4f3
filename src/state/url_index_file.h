/* How an index lies on disk, for url_index*.c only: a header, blocks, fences, an end. */
#pragma once
#include "base/cursor.h"
#include "base/hash.h"
#include "state/url_index.h"

enum {
	INDEX_VERSION = 1,
	INDEX_HEADER = 4096,
	INDEX_BLOCK = 64 << 10,
	INDEX_FOOT = 16, /* bytes at the end of a block: number, count, checksum */
	INDEX_PER_BLOCK = (INDEX_BLOCK - INDEX_FOOT) / INDEX_ITEM,
	INDEX_END = 104,  /* bytes at the end of the file */
	INDEX_COUNTS = 8, /* types that the end has room for */
};
_Static_assert(INDEX_PER_BLOCK *INDEX_ITEM + INDEX_FOOT == INDEX_BLOCK, "a block has no gap");
_Static_assert((int)ITEM_TYPES <= (int)INDEX_COUNTS, "a count for each type");

#define INDEX_MAGIC "GARNERIX"
#define INDEX_END_MAGIC "GRNIXEND"
