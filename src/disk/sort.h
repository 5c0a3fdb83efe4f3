/* External sort: any number of records in a bounded memory, stable. Records are added one by one;
 * what does not fit into memory goes as sorted runs to a temporary file without a name
 * (nothing is left behind, whatever happens), and the runs are merged, in several passes when there
 * are many. Records of fixed size with a key of bytes take the fast way. */
#pragma once
#include "disk/order.h"
#include "disk/stream.h"

enum {
	SORT_MEMORY_MIN =
		64 << 10,        /* less is taken as this; and at least 128 records of fixed size */
	SORT_SIZE_MAX = 1 << 20, /* of records of fixed size */
};

enum sort_phase {
	SORT_ADDING,  /* done: records added */
	SORT_MERGING, /* a pass in between; done: records in it, total: records added */
	SORT_GIVING,  /* done: records given out; total: records added */
};
struct sort_progress {
	enum sort_phase phase;
	uint64_t done, total;
	size_t runs; /* on disk */
};

struct sort_spec {
	struct order order;
	uint64_t memory;    /* bytes, for everything */
	const char *folder; /* for temporary files; stays the caller's. As much space as the records
			     * need, twice that when there are several passes */
	/* NULL, or makes one record out of two with equal keys: changes `into` (all of the earlier
	 * one) by the later one. Keeps the key, and the size where it is fixed; may not grow past
	 * what sort_add() takes. */
	void (*unify)(void *ctx, struct buf *into, struct str from);
	/* NULL, or called now and then from the thread that adds or takes. */
	void (*progress)(void *ctx, const struct sort_progress *p);
	void *ctx;
};
/* compare and unify may be called from a thread of the sorter, but never two at a time. */

struct sort;

int sort_new(struct sort **ret, const struct sort_spec *spec, struct err *err);
void sort_free(struct sort **s); /* at any time */

/* Where records have their own size, the longest that is taken is 1/32 of the memory. */
int sort_add(struct sort *s, struct str rec, struct err *err);

/* The next record in order; it stays good until the next call. The first call ends the adding.
 * 1: the end. */
int sort_next(struct sort *s, struct str *ret, struct err *err);
/* All that are left, in the form in which they lie in files. */
int sort_write(struct sort *s, struct stream_writer *out, struct err *err);
