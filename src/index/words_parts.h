/* Segments and deletes in memory, shared between snapshots of a reader, and by the writer with its
 * merges: counted, so that whoever is last gives them back. */
#pragma once
#include "index/manifest.h"
#include "index/segment.h"

#include <stdatomic.h>

struct shared_segment {
	atomic_uint refs;
	uint64_t id;
	struct segment *segment;
};

/* 1: its file is not there. */
int shared_open(struct shared_segment **ret, const char *folder, const struct manifest_segment *m,
		struct err *err);
struct shared_segment *shared_hold(struct shared_segment *s);
void shared_drop(struct shared_segment **s);

struct shared_bits {
	atomic_uint refs;
	uint64_t generation; /* of the file; 0: none */
	uint64_t *bits;      /* NULL: no document is deleted */
};

int bits_open(struct shared_bits **ret, const char *folder, const struct manifest_segment *m,
	      struct err *err); /* 1 */
struct shared_bits *bits_hold(struct shared_bits *b);
void bits_drop(struct shared_bits **b);
