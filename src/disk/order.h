/* What sort and merge must know of records: how long they are and how they compare. A record of
 * fixed size lies in a file as it is; any other has its length before it, a little-endian u32. */
#pragma once
#include "base/str.h"

#include <endian.h>

enum { ORDER_LENGTH = 4 }; /* bytes of the length before a record */

struct order {
	size_t size;            /* of each record; 0: each has its own */
	size_t key_at, key_len; /* the bytes that decide; key_len 0: all from key_at on. Of a record
				 * that ends before, what is there; what ends first comes first. */
	int (*compare)(void *ctx, struct str a, struct str b); /* NULL, or instead of key bytes */
	void *ctx;
};

typedef unsigned __int128 order_head; /* the first 16 bytes of a key as a number */

static inline struct str order_key(const struct order *o, struct str rec)
{
	struct str key = str_from(rec, o->key_at);
	return o->key_len ? str_head(key, o->key_len) : key;
}

/* 8 bytes so that numbers compare as bytes do. */
static inline uint64_t order_u64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return be64toh(v);
}

/* Never decides wrongly; equal heads decide nothing, unless order_exact(). */
static inline order_head order_head_of(const struct order *o, struct str rec)
{
	if (o->compare)
		return 0;
	if (LIKELY(o->size && o->key_len >= 16)) {
		const char *p = rec.p + o->key_at;
		return (order_head)order_u64(p) << 64 | order_u64(p + 8);
	}
	struct str key = order_key(o, rec);
	char bytes[16] = {0};
	if (key.n)
		memcpy(bytes, key.p, MIN(key.n, sizeof bytes));
	return (order_head)order_u64(bytes) << 64 | order_u64(bytes + 8);
}

/* Whether the head is all of the key. */
static inline bool order_exact(const struct order *o)
{
	return o->size && !o->compare && o->key_len && o->key_len <= 16;
}

static inline int order_compare(const struct order *o, struct str a, struct str b)
{
	if (o->compare)
		return o->compare(o->ctx, a, b);
	return str_cmp(order_key(o, a), order_key(o, b));
}

/* The same with key_len filled in; a key outside the record is a broken promise. */
static inline struct order order_checked(const struct order *given)
{
	struct order o = *given;
	if (o.size && !o.compare) {
		ENSURE(o.key_at < o.size && o.key_len <= o.size - o.key_at);
		o.key_len = o.key_len ? o.key_len : o.size - o.key_at;
	}
	return o;
}
