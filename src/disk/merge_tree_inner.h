/* Inside sort and merge: trees of losers. The leaves are the streams, each inner node remembers who
 * lost there, so that a new record is compared only on the way from its leaf to the top. Keys of at
 * most 16 bytes in records of fixed size are compared as numbers, without a branch, and records are
 * made ready many at a time; others one by one. */
#pragma once
#include "disk/merge_inner.h"

enum { MERGE_READY = 256 };

/* Pointer and size are kept apart: a struct that is written in halves and read as a whole stalls
 * the processor, and this is the innermost loop. */
struct merge_leaf {
	struct stream_reader *in;
	const char *p; /* the current record */
	size_t n;
};

/* A player is the number of a leaf; at the end of its stream it is `leaves` more, so that it loses
 * against all that live. */
struct merge {
	struct order order;
	bool exact; /* keys are compared as numbers, and many records made ready */
	bool started;
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
	bool first[MERGE_READY]; /* its key differs from that of the record before */
	bool some;               /* something was made ready: */
	order_head last_key;
	struct str last; /* unless exact */
	int rc;          /* the end, or the first failure: it stays */
	struct err err;
};

int merge_fill(struct merge *m, struct err *err);

/* Makes sure that there is a record at m->at. 1: the end. */
static inline int merge_ensure(struct merge *m, struct err *err)
{
	return LIKELY(m->at < m->ready) ? 0 : merge_fill(m, err);
}
