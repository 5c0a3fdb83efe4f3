/* Merge: sorted streams become one. Records with equal keys come in the order of their streams, and
 * within a stream in its own. One record of each stream is looked at; nothing is copied. */
#pragma once
#include "disk/order.h"
#include "disk/stream.h"

struct merge_record {
	struct str rec;
	uint32_t input; /* number of its stream */
	bool first;     /* its key differs from that of the record before */
};

struct merge;

/* The readers stay the caller's and are read by nobody else. No record, with its length, may be
 * longer than a piece of its stream. */
int merge_new(struct merge **ret, const struct order *order, struct stream_reader *const *in,
	      size_t n, struct err *err);
void merge_free(struct merge **m);

/* The next record; it stays good until the second call after this one. 1: the end. ERR_DAMAGED: a
 * stream is not in order, or ends inside a record. */
int merge_next(struct merge *m, struct merge_record *ret, struct err *err);
