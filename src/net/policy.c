#include "net/policy.h"

#include <netinet/in.h>
#include <stdio.h>

enum { NETWORKS_MAX = 1000 };

/* An embedded IPv4 address. */
enum inner { INNER_NONE, INNER_LAST, INNER_6TO4, INNER_TEREDO };

/* The special-purpose registries of IANA (IPv4 and IPv6), and what clouds made of them. The first
 * that fits is the answer; one without a reason is public. */
struct special {
	const char *why;
	uint8_t prefix[16], bits;
	enum inner inner;
	bool narrow; /* opened only by a network that is no wider than this one */
};

static const struct special special_v4[] = {
	{"metadata", {169, 254, 169, 254}, 32, .narrow = true},
	{"metadata", {169, 254, 170, 2}, 32, .narrow = true},   /* containers */
	{"metadata", {169, 254, 170, 23}, 32, .narrow = true},  /* pods */
	{"metadata", {100, 100, 100, 200}, 32, .narrow = true}, /* in shared address space */
	{"metadata", {168, 63, 129, 16}, 32, .narrow = true},   /* in public space, host-local */
	{"metadata", {192, 0, 0, 192}, 32, .narrow = true},
	{"unspecified", {0}, 32},
	{"this network", {0}, 8},
	{"private", {10}, 8},
	{"shared address space", {100, 64}, 10},
	{"loopback", {127}, 8},
	{"link-local", {169, 254}, 16},
	{"private", {172, 16}, 12},
	{"protocol assignments", {192, 0, 0}, 24},
	{"documentation", {192, 0, 2}, 24},
	{"6to4 relay", {192, 88, 99}, 24},
	{"private", {192, 168}, 16},
	{"benchmarking", {198, 18}, 15},
	{"documentation", {198, 51, 100}, 24},
	{"documentation", {203, 0, 113}, 24},
	{"documentation", {233, 252}, 24},
	{"multicast", {224}, 4},
	{"broadcast", {255, 255, 255, 255}, 32},
	{"reserved", {240}, 4},
	{NULL, {0}, 0},
};

static const struct special special_v6[] = {
	{"metadata", {0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128, .narrow = true},
	{"metadata", {0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54}, 128, .narrow = true},
	{"unspecified", {0}, 128},
	{"loopback", {[15] = 1}, 128},
	{"IPv4-mapped", {[10] = 0xff, 0xff}, 96, INNER_LAST},
	{"IPv4-compatible", {0}, 96, INNER_LAST},
	{"IPv4-translated", {[8] = 0xff, 0xff}, 96, INNER_LAST},
	{"NAT64", {0x00, 0x64, 0xff, 0x9b}, 96, INNER_LAST},
	{"NAT64", {0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, INNER_LAST},
	{"discard-only", {0x01}, 64},
	{"dummy prefix", {0x01, [7] = 0x01}, 64},
	{"Teredo", {0x20, 0x01}, 32, INNER_TEREDO},
	{"benchmarking", {0x20, 0x01, 0x00, 0x02}, 48},
	{"protocol assignments", {0x20, 0x01}, 23},
	{"documentation", {0x20, 0x01, 0x0d, 0xb8}, 32},
	{"6to4", {0x20, 0x02}, 16, INNER_6TO4},
	{"documentation", {0x3f, 0xff}, 20},
	{NULL, {0x20}, 3}, /* all that is public */
	{"segment routing", {0x5f}, 16},
	{"unique local", {0xfc}, 7},
	{"link-local", {0xfe, 0x80}, 10},
	{"site-local", {0xfe, 0xc0}, 10},
	{"multicast", {0xff}, 8},
	{"reserved", {0}, 0},
};

struct network {
	struct addr addr;
	unsigned bits;
};

struct policy {
	size_t n;
	struct network network[];
};

static int network_wrong(const char *text, struct err *err)
{
	char shown[VALUE_SHOWN];
	return err_set(err, ERR_USAGE,
		       "expected a network such as 10.1.0.0/16 or fd12:3456::/32, or an address, "
		       "got '%s'",
		       value_show(str_of(text), shown));
}

/* The bits behind the first `bits` as zeros. */
static struct addr network_cut(struct addr a, unsigned bits)
{
	for (unsigned i = bits; i < 8 * addr_bytes(&a); i++)
		a.b[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	return a;
}

static int parse_network(const char *text, struct network *ret, struct err *err)
{
	struct str s = str_of(text);
	size_t slash = str_find_byte(s, '/');
	struct network n;
	if (!addr_parse(str_head(s, slash), &n.addr) || n.addr.scope)
		return network_wrong(text, err);
	uint64_t most = 8 * addr_bytes(&n.addr), bits = most;
	if (slash < s.n && (!str_u64(str_from(s, slash + 1), &bits) || bits > most))
		return err_set(err, ERR_USAGE, "network %.60s: expected 0 to %u behind the '/'",
			       text, (unsigned)most);
	n.bits = (unsigned)bits;
	struct addr first = network_cut(n.addr, n.bits);
	char shown[ADDR_SHOWN];
	if (!addr_eq(&first, &n.addr))
		return err_set(err, ERR_USAGE,
			       "network %.60s: the address has bits behind the first %u; "
			       "say %s/%u for the network, or the address alone",
			       text, n.bits, addr_print(&first, shown), n.bits);
	*ret = n;
	return 0;
}

int policy_new(struct policy **ret, const struct value_list *networks, struct err *err)
{
	if (networks->n > NETWORKS_MAX)
		return err_set(err, ERR_USAGE, "%zu networks; at most %d may be named", networks->n,
			       NETWORKS_MAX);
	struct policy *p = mem_alloc(sizeof *p + networks->n * sizeof p->network[0]);
	for (; p->n < networks->n; p->n++)
		if (parse_network(networks->item[p->n], &p->network[p->n], err) < 0) {
			policy_free(&p);
			return -1;
		}
	*ret = p;
	return 0;
}

void policy_free(struct policy **p)
{
	mem_free(p);
}

static const struct special *special_find(const struct addr *a)
{
	const struct special *s = a->family == AF_INET ? special_v4 : special_v6;
	while (!addr_in(a, s->prefix, s->bits))
		s++;
	return s;
}

static bool network_named(const struct policy *p, const struct addr *a, const struct special *s)
{
	for (const struct network *n = p->network; n < p->network + p->n; n++)
		if (n->addr.family == a->family && addr_in(a, n->addr.b, n->bits) &&
		    (!s->narrow || n->bits >= s->bits))
			return true;
	return false;
}

static const char *refuses_v4(const struct policy *p, const uint8_t *b, uint8_t flip)
{
	struct addr a = {.family = AF_INET};
	for (size_t i = 0; i < 4; i++)
		a.b[i] = b[i] ^ flip;
	return policy_refuses(p, &a);
}

static const char *refuses_inner(const struct policy *p, const struct addr *a, enum inner inner)
{
	const char *why;
	switch (inner) {
	case INNER_LAST:
		return refuses_v4(p, a->b + 12, 0);
	case INNER_6TO4:
		return refuses_v4(p, a->b + 2, 0);
	case INNER_TEREDO: /* the server plain, the client inverted */
		why = refuses_v4(p, a->b + 4, 0);
		return why ? why : refuses_v4(p, a->b + 12, 0xff);
	case INNER_NONE:
		break;
	}
	return NULL;
}

const char *policy_refuses(const struct policy *p, const struct addr *a)
{
	if (a->family != AF_INET && a->family != AF_INET6)
		return "no address";
	const struct special *s = special_find(a);
	if (s->why && !network_named(p, a, s))
		return s->why;
	return refuses_inner(p, a, s->inner);
}
