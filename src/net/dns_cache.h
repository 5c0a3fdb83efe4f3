/* What is known of names, for as long as it holds: answers, also negative ones and failures.
 * Bounded in entries and bytes; what was not asked for lately goes first. Not thread-safe. */
#pragma once
#include "net/dns_wire.h"

struct dns_result {
	enum dns_outcome outcome;
	const char *why; /* REFUSED: the policy's reason; FAILED: what failed; otherwise NULL. Lasts
			    for ever */
	const struct addr *addr; /* n of them; those of one family stand together */
	size_t n;
	int64_t until_us; /* holds till then, on the clock of whoever asked */
};

/* A name in its one form and its hash, so that it is hashed once. */
struct dns_key {
	struct str name;
	uint64_t hash;
};
static inline uint64_t dns_key_hash(struct dns_key key)
{
	return key.hash;
}
static inline bool dns_key_equal(struct dns_key a, struct dns_key b)
{
	return a.hash == b.hash && str_eq(a.name, b.name);
}

struct dns_cache;
/* seed: random, since names come from outside. */
struct dns_cache *dns_cache_new(size_t entries, size_t bytes, uint64_t seed);
void dns_cache_free(struct dns_cache **c);

struct dns_key dns_cache_key(const struct dns_cache *c, struct str name);
/* false: not known, or no longer. The addresses stay where they are until the next put. */
bool dns_cache_get(struct dns_cache *c, const struct dns_key *key, int64_t now_us,
		   struct dns_result *ret);
/* Replaces what was known of the name. The result must not lie in the cache. */
void dns_cache_put(struct dns_cache *c, const struct dns_key *key, const struct dns_result *result);

size_t dns_cache_count(const struct dns_cache *c);
size_t dns_cache_bytes(const struct dns_cache *c);
