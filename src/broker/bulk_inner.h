/* A bulk transfer: what a broker tells another one, all at once. Of the records that changed since
 * a time: tombstones as DELETE, those whose text is older than it as REFRESH, the others as UPDATE,
 * with the registry's numbers.
 *
 *	000 - ...
 *	@DELETE { ... }
 *	@REFRESH { ... }
 *	@UPDATE { ... }
 *	099 - end of bulk transfer, next T
 *
 * It is of one moment, however long it takes and whatever the broker writes and compresses
 * meanwhile, and is made in pieces, in bounded memory, by one thread at a time. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct bulk;

struct bulk_options {
	const char *data; /* the data directory */
	uint32_t since_s;
	/* NULL, or oids in ascending order: only these objects are told, and all tombstones. They
	 * are copied. */
	const uint32_t *oid;
	size_t oids;
	int64_t now_us; /* of the wall clock */
};

/* A broker that has collected nothing tells nothing, and that is no failure. */
int bulk_open(struct bulk **ret, const struct bulk_options *options, struct err *err);
/* Appends about n bytes more to out. 0: there is more; 1: that was all. Negative: the client gets
 * what was appended, then "400 - " and why, which the caller adds, and nothing after it. ERR_PARTLY
 * comes last: some texts cannot be read, and all else was told. */
int bulk_make(struct bulk *b, size_t n, struct buf *out, struct err *err);
uint64_t bulk_objects(const struct bulk *b); /* that were told so far */
void bulk_free(struct bulk **b);
