/* Addresses of the network, IPv4 and IPv6, with or without a port: one small value that compares,
 * hashes and prints; and the policy that says which of them a robot may connect to. */
#pragma once
#include "base/value.h"

struct sockaddr;

struct addr {
	uint8_t b[16];   /* network order; IPv4 in the first four, the rest zero */
	uint32_t scope;  /* the interface of an IPv6 link-local address; 0: none */
	uint16_t port;   /* 0: none */
	uint16_t family; /* AF_INET, AF_INET6; 0: no address */
};

/* Large enough for "[address%interface]:port". */
enum { ADDR_SHOWN = 80 };

/* "192.0.2.1", "2001:db8::1", "fe80::1%eth0": four decimal numbers without leading zeros, or the
 * forms of RFC 4291. Nothing else: no names, no "127.1", no blanks. */
bool addr_parse(struct str text, struct addr *ret) MUST_USE;
/* The same, or "192.0.2.1:53", "[2001:db8::1]:53", "[2001:db8::1]"; `port` where none is said. */
bool addr_parse_port(struct str text, uint16_t port, struct addr *ret) MUST_USE;
/* Without the port; IPv6 by RFC 5952. Returns ret. */
const char *addr_print(const struct addr *a, char ret[ADDR_SHOWN]);
/* With it, in brackets where it needs them; without a port as addr_print(). */
const char *addr_print_port(const struct addr *a, char ret[ADDR_SHOWN]);

/* false: neither IPv4 nor IPv6, or too short for what it says it is. */
bool addr_from_sockaddr(const struct sockaddr *sa, size_t len, struct addr *ret) MUST_USE;

int addr_cmp(const struct addr *a, const struct addr *b); /* IPv4 first, the port last */
bool addr_eq(struct addr a, struct addr b); /* this and the next also for base/table.h */
uint64_t addr_hash(struct addr a);

static inline size_t addr_bytes(const struct addr *a)
{
	return a->family == 2 /* AF_INET on Linux */ ? 4 : 16;
}
/* Whether the first `bits` bits are those of the prefix; the family is not looked at. */
bool addr_in(const struct addr *a, const uint8_t *prefix, unsigned bits);

/* This machine, also as IPv4 that is mapped into IPv6. */
bool addr_loopback(const struct addr *a);

/* The server behind an address, as politeness counts it: an IPv4 address whole (also one that is
 * mapped into IPv6), of IPv6 the /64; no port, no scope. */
struct addr addr_server(const struct addr *a);

/* The address policy: the addresses that a robot may connect to. All that are not plainly of the
 * public Internet (loopback, private, link-local, metadata and others) are refused, unless the
 * configuration names their network. Every connection is checked, also one whose address was not
 * looked up. Immutable and thread-safe. */
struct policy;

/* networks: "127.0.0.0/8", "10.1.0.0/16", "fd12:3456::/32"; a plain address is a network of one.
 * ERR_USAGE: not such a network. */
int policy_new(struct policy **ret, const struct value_list *networks, struct err *err);
void policy_free(struct policy **p);

/* NULL: may be reached. Otherwise why not, in a word or two that last: "loopback", "private".
 * An address that carries an IPv4 address (mapped, NAT64, 6to4, Teredo) needs both to be allowed.
 * A cloud metadata service is allowed only by a network that contains nothing else: allowing
 * fd00::/8 for one's own machines must not open a service there that hands out keys. */
const char *policy_refuses(const struct policy *p, const struct addr *a);

/* The setting, for the table of a section; `m` is its struct value_list. */
/* clang-format off */
#define POLICY_SPECS(s, m) \
	{"networks", VALUE_LIST_AT(s, m), \
	 .help = "Networks that may be reached although they are not public, such as 127.0.0.0/8, ::1 " \
		 "or 10.1.0.0/16; all other loopback, private, link-local, metadata and otherwise " \
		 "special addresses are refused"}
/* clang-format on */
