/* The address policy: whom a robot may connect to. Loopback, private, link-local, metadata and all
 * other addresses that are not plainly of the public Internet are refused, unless the configuration
 * names their network. Every connection asks, also one whose address nobody looked up.
 * Never changes once made; any thread may ask. */
#pragma once
#include "base/value.h"
#include "net/addr.h"

struct policy;

/* networks: "127.0.0.0/8", "10.1.0.0/16", "fd12:3456::/32"; a plain address is a network of one.
 * What is not such a network is ERR_USAGE. */
int policy_new(struct policy **ret, const struct value_list *networks, struct err *err);
void policy_free(struct policy **p);

/* NULL: may be reached. Otherwise why not, in a word or two that last: "loopback", "private".
 * An address that carries an IPv4 address (mapped, NAT64, 6to4, Teredo) needs both to be allowed.
 * Cloud metadata services open only when a network names no more than them: whoever names
 * fd00::/8 because it is his own must not open a neighbour that hands out keys. */
const char *policy_refuses(const struct policy *p, const struct addr *a);

/* The setting, for the table of a section; `m` is its struct value_list. */
/* clang-format off */
#define POLICY_SPECS(s, m) \
	{"networks", VALUE_LIST_AT(s, m), \
	 .help = "networks that may be reached though they are not public, such as 127.0.0.0/8, ::1 " \
		 "or 10.1.0.0/16; all other loopback, private, link-local, metadata and otherwise " \
		 "special addresses are refused"}
/* clang-format on */
