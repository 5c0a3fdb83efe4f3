/* Thin buckets: what is stored for a URL that was never fetched, or whose text is no longer needed.
 */
#pragma once
#include "shepherd/crawl.h"

/* Appends one: footprint, URL, and when that became known, seconds since 1970. */
int thin_put(struct buckets *b, struct footprint fp, struct str url, int64_t since_s,
	     struct arena *arena, uint32_t *ret_oid, struct err *err);
/* "http://example.org/" in the arena: the one URL of a site that is known without a bucket. */
struct str thin_root(const struct site *site, struct arena *arena);
