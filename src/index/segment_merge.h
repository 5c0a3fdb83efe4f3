/* Several segments made into one, without what is deleted from them. */
#pragma once
#include "index/segment.h"

struct merge_source {
	struct segment *segment;
	const uint64_t *deleted; /* a bit per document, or NULL */
	uint32_t *number; /* by document: its number in the new segment, or UINT32_MAX. Of the
			   * caller, with room for all; filled also when the merge fails */
};

/* The settings say weights, columns, and whether documents are numbered by rank where `whole`. Uses
 * memory for documents and the dictionary, and, numbering by rank, for the longest list. 1: no
 * document is left, and no file was made. */
int segment_merge(const struct merge_source *source, size_t n,
		  const struct words_settings *settings, bool whole, const char *path,
		  struct err *err);
