/* Internals of name resolution: names and packets (dns_wire.c), the cache of names (dns.c). */
#pragma once
#include "net/dns.h"

/* Checks host names before a query and parses the answers of name servers. Nothing here allocates
 * or waits. */

enum {
	DNS_NAME = 253,    /* bytes of a name, without a last dot */
	DNS_CHAIN = 8,     /* aliases (CNAME) in a row */
	DNS_RECORDS = 256, /* in one section of an answer */
};

/* The one form of a name: lower case, without the dot at its end. 0, or -1 for what is not a host
 * name: empty, too long, a label that is empty or longer than 63 bytes, other bytes than letters,
 * digits,
 * '-' and '_', a last label that is a number (so "127.1" and "0x7f.1" are not names). *ret_n is its
 * length; ret also ends in NUL. */
int dns_name(struct str host, char ret[DNS_NAME + 1], size_t *ret_n);

enum { DNS_A = 1, DNS_AAAA = 28 };

struct dns_answer {
	enum dns_outcome outcome; /* FOUND, NO_NAME, NO_ADDRESS, FAILED or BROKEN */
	const char *why;          /* in words that last, when FAILED or BROKEN */
	int64_t ttl_s;            /* -1: the answer does not say */
	size_t n;
	struct addr addr[DNS_ADDRS];
	/* FOUND: the end of the chain of aliases in its one form; 0 bytes: there is no alias, or
	 * what it leads to is not a host name. */
	size_t canonical_n;
	char canonical[DNS_NAME + 1];
};

/* Reads a server's answer to a question for `type` records of a name in its one form. The shortest
 * time to live on the way is the answer's; of a negative answer the one of RFC 2308. */
void dns_read(struct str packet, struct str name, uint16_t type, struct dns_answer *ret);

/* The cache of names: answers, negative ones and failures included, until they expire. Bounded in
 * entries and bytes; entries that were not used lately go first. Not thread-safe. */

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
/* false: not known, or no longer. Addresses and canonical name stay where they are until the
 * next put. */
bool dns_cache_get(struct dns_cache *c, const struct dns_key *key, int64_t now_us,
		   struct dns_result *ret);
/* Replaces the entry of the name. The result must not lie in the cache. */
void dns_cache_put(struct dns_cache *c, const struct dns_key *key, const struct dns_result *result);
