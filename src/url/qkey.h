/* Queue keys: which physical server a URL is fetched from, as 64 bits. Delays hold per queue key.
 *
 *	bits 62..63  kind: 0 unresolved, 1 resolved, 2 not on the network, 3 nonexistent
 *	bit  61      address family of a resolved key: 0 IPv4, 1 IPv6
 *	bits 48..60  IPv6: upper 13 bits of the address hash; else 0
 *	bits 32..47  port; 0: does not matter
 *	bits  0..31  resolved, IPv4: the address; IPv6: lower 32 bits of the address hash;
 *	             other kinds: a number below 65536 that spreads them over several queues
 *
 * IPv6 servers count by /64: the address hash is 45 bits of hash_u64() of the address's upper half.
 * Two networks may share a key by chance (one pair in 35 million million): they then share a delay.
 *
 * As text an IPv4 key is the address in 8 hexadecimal digits, as in document 001, but as
 * "127.0.0.1" where it begins with 127; what is not resolved is 7f00xxxx (unresolved), 7f01xxxx
 * (not on the network) or 7f02xxxx (nonexistent); an IPv6 key is "6." and 12 digits. A port follows
 * after a colon in decimal. */
#pragma once
#include "base/str.h"

enum qkey_kind { QKEY_UNRESOLVED, QKEY_RESOLVED, QKEY_OFF_NETWORK, QKEY_NONEXISTENT };

typedef uint64_t qkey;

/* An address: IPv4 in the first 4 bytes, in network order. */
struct qkey_addr {
	bool v6;
	uint8_t b[16];
};

enum { QKEY_TEXT = 32 };

qkey qkey_of(const struct qkey_addr *a, uint16_t port);
/* Of a server that has no address; `spread` is reduced to 16 bits. */
qkey qkey_special(enum qkey_kind kind, uint64_t spread, uint16_t port);

/* For queues alone, never kept: the URLs of one site that is not resolved. */
qkey qkey_of_site(uint64_t site);

/* Which of a host's addresses stands for it: the same one whatever the order in which they came and
 * on every machine. n is at least 1. Addresses that are forbidden are left out by the caller. */
const struct qkey_addr *qkey_choose(const struct qkey_addr *a, size_t n, struct str host);

static inline enum qkey_kind qkey_kind(qkey k)
{
	return (enum qkey_kind)(k >> 62);
}
static inline bool qkey_is_v6(qkey k)
{
	return k >> 61 & 1;
}
static inline uint16_t qkey_port(qkey k)
{
	return (uint16_t)(k >> 32);
}

const char *qkey_print(qkey k, char ret[QKEY_TEXT]);
/* The text of a resolved key, read back; that of any other kind, and what qkey_print() would write
 * in another way, is false. */
bool qkey_parse(struct str text, qkey *ret) MUST_USE;
