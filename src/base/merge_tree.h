/* Inside sort and merge: trees of losers. The leaves are the streams, each inner node remembers who
 * lost there, so that a new record is compared only on the way from its leaf to the top. Keys of at
 * most 16 bytes in records of fixed size are compared as numbers, without a branch, and records are
 * made ready many at a time; others one by one. */
#pragma once
#include "base/merge.h"

enum { MERGE_READY = 256 };

/* Pointer and size are kept apart: a struct that is written in halves and read as a whole stalls
 * the processor, and this is the innermost loop. */
struct merge_leaf {
	struct stream_reader *in;
	const char *p; /* the record at hand */
	size_t n;
};

/* A player is the number of a leaf; at the end of its stream it is `leaves` more, so that it loses
 * against all that live. */
struct merge {
	struct order order;
	bool exact, started;
	size_t n;      /* streams */
	size_t leaves; /* a power of two */
	struct merge_leaf *leaf;
	order_head *key; /* of each player; all ones for the dead */
	size_t *loser;   /* of each inner node, from 1 on */
	size_t winner;
	size_t most;            /* to be made ready at once */
	size_t at, ready, size; /* what is ready: records of this size */
	const char *rec[MERGE_READY];
	uint32_t input[MERGE_READY];
	bool some;       /* something was made ready */
	struct str last; /* given out; p is NULL before the first */
	int rc;          /* the end, or the first failure: it stays */
	struct err err;
};

int merge_fill(struct merge *m, struct err *err);

/* The next record; as long as it is good, see merge_next(). 1: the end. */
static inline int merge_pop(struct merge *m, struct str *ret, uint32_t *ret_input, struct err *err)
{
	if (UNLIKELY(m->at == m->ready)) {
		int rc = merge_fill(m, err);
		if (rc != 0)
			return rc;
	}
	ret->p = m->rec[m->at];
	ret->n = m->size;
	*ret_input = m->input[m->at++];
	return 0;
}
