/* Several segments made into one, without what is deleted from them. */
#pragma once
#include "index/segment.h"

#include <stdatomic.h>

struct merge_source {
	struct segment *segment;
	const uint64_t *deleted; /* a bit per document, or NULL */
	uint32_t *number; /* by document: its number in the new segment, or UINT32_MAX. Of the
			   * caller, with room for all; filled also when the merge fails */
};

struct merge_spec {
	const struct words_settings *settings; /* weights, columns */
	bool by_rank;                          /* documents are numbered by rank, the best first */
	const atomic_bool *stop;               /* the merge fails soon after it became true */
	words_moved_fn *moved;                 /* NULL, or gives addresses in place of those */
	void *ctx;
};

/* Uses memory for documents and the dictionary, and, numbering by rank, for the longest list. 1: no
 * document is left, and no file was made. */
int segment_merge(const struct merge_source *source, size_t n, const struct merge_spec *spec,
		  const char *path, struct err *err);
