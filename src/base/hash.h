/* Hashes. hash64 is for tables in memory and may change with the library; crc32c and xxh64 are for
 * what is on disk; digests are for what the documents and the world agree on. */
#pragma once
#include "base/str.h"

uint64_t hash64(struct str s);
uint64_t hash64_seeded(struct str s, uint64_t seed);
uint64_t hash_u64(uint64_t v); /* mixes all bits */

/* XXH64, the same in every version and on every machine, for what is on disk and is compared as a
 * whole; also in pieces. */
uint64_t xxh64(struct str s);
struct xxh64 {
	uint64_t state[11];
};
void xxh64_begin(struct xxh64 *h);
void xxh64_add(struct xxh64 *h, const void *p, size_t n);
uint64_t xxh64_end(const struct xxh64 *h); /* of all so far; more may be added */

/* CRC-32C (Castagnoli), in hardware where there is any. Chain: crc32c(crc32c(0, a), b). */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);
uint32_t crc32c_portable(uint32_t crc, const void *p, size_t n);

void md5(struct str s, unsigned char ret[16]);

/* Digests of what arrives in pieces. */
struct digest;
struct digest *digest_new(const char *name); /* "md5", "sha256"; never NULL */
void digest_add(struct digest *d, const void *p, size_t n);
/* Bytes written, at most cap; the digest is then empty again. */
size_t digest_end(struct digest *d, unsigned char *ret, size_t cap);
void digest_free(struct digest **d);

void hex_print(const unsigned char *p, size_t n, char *ret); /* 2n digits and a NUL */
bool hex_parse(struct str s, unsigned char *ret, size_t n);  /* exactly 2n digits */
