/* Batches, inside the sorter: records are collected in memory; a sealed batch gives them in order
 * while the next one is collected. Adding and giving may go on in two threads; sealing may not. */
#pragma once
#include "disk/sort.h"

struct batch_ops {
	void *(*new)(const struct order *order, size_t memory);
	void (*free)(void *batch);
	/* Takes a record; 1: it is full, and nothing was taken. */
	int (*add)(void *batch, struct str rec);
	/* What was added will be given. All that was sealed before has been given. */
	void (*seal)(void *batch);
	int (*next)(void *batch, struct str *ret, struct err *err);
};

extern const struct batch_ops sort_radix;    /* fixed size, key of bytes */
extern const struct batch_ops sort_pointers; /* everything else */

static inline void sort_put(const struct order *o, struct stream_writer *out, struct str rec)
{
	if (LIKELY(o->size == 32)) {
		stream_put(out, rec.p, 32);
		return;
	}
	if (!o->size) {
		uint32_t n = htole32((uint32_t)rec.n);
		stream_put(out, &n, sizeof n);
	}
	stream_put(out, rec.p, rec.n);
}
