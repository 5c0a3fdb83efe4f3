/* Addresses as values: parsed, printed, compared, and checked against the policy.
 *
 * The policy is a table of the special-purpose registries. A document on the web may name any
 * address, so all addresses that are not plainly public are refused unless the configuration
 * allows them. An address that carries another one (mapped, NAT64, 6to4, Teredo) is checked for
 * both. */
#include "net/addr.h"

#include "base/hash.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>

_Static_assert(AF_INET == 2, "addr_bytes() says so");

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* What inet_pton() wants: text that ends in NUL. false: too long or with a NUL in it. */
static bool copy_terminated(struct str text, char *ret, size_t cap)
{
	if (text.n == 0 || text.n >= cap || memchr(text.p, 0, text.n))
		return false;
	memcpy(ret, text.p, text.n);
	ret[text.n] = 0;
	return true;
}

static bool parse_scope(struct str text, uint32_t *ret)
{
	char name[IF_NAMESIZE];
	uint64_t number;
	if (str_u64(text, &number)) {
		*ret = (uint32_t)number;
		return number > 0 && number <= UINT32_MAX;
	}
	if (!copy_terminated(text, name, sizeof name))
		return false;
	*ret = if_nametoindex(name);
	return *ret != 0;
}

static bool parse_v6(struct str text, struct addr *ret)
{
	char z[INET6_ADDRSTRLEN];
	struct addr a = {.family = AF_INET6};
	size_t percent = str_find_byte(text, '%');
	if (!copy_terminated(str_head(text, percent), z, sizeof z) ||
	    inet_pton(AF_INET6, z, a.b) != 1)
		return false;
	if (percent < text.n && !parse_scope(str_from(text, percent + 1), &a.scope))
		return false;
	*ret = a;
	return true;
}

static bool parse_v4(struct str text, struct addr *ret)
{
	char z[INET_ADDRSTRLEN];
	struct addr a = {.family = AF_INET};
	if (!copy_terminated(text, z, sizeof z) || inet_pton(AF_INET, z, a.b) != 1)
		return false;
	*ret = a;
	return true;
}

bool addr_parse(struct str text, struct addr *ret)
{
	return str_find_byte(text, ':') < text.n ? parse_v6(text, ret) : parse_v4(text, ret);
}

/* ":53" after an address; nothing leaves the port as it is. */
static bool parse_port(struct str text, uint16_t *port)
{
	uint64_t number;
	if (text.n == 0)
		return true;
	if (text.p[0] != ':' || !str_u64(str_from(text, 1), &number) || number == 0 ||
	    number > UINT16_MAX)
		return false;
	*port = (uint16_t)number;
	return true;
}

bool addr_parse_port(struct str text, uint16_t port, struct addr *ret)
{
	struct addr a;
	size_t end = text.n;
	if (str_starts(text, STR("["))) {
		end = str_find_byte(text, ']');
		if (end == text.n || !parse_v6(str_range(text.p + 1, text.p + end), &a))
			return false;
		end++;
	} else {
		size_t colon = str_find_byte(text, ':');
		if (str_find_byte(str_from(text, colon + 1), ':') ==
		    text.n - MIN(colon + 1, text.n))
			end = colon; /* one at most: what is before it is IPv4 */
		if (!addr_parse(str_head(text, end), &a))
			return false;
	}
	if (!parse_port(str_from(text, end), &port))
		return false;
	a.port = port;
	*ret = a;
	return true;
}

const char *addr_print(const struct addr *a, char ret[ADDR_SHOWN])
{
	char scope[IF_NAMESIZE];
	if (!inet_ntop(a->family, a->b, ret, ADDR_SHOWN))
		snprintf(ret, ADDR_SHOWN, "none");
	size_t n = strlen(ret);
	if (a->scope && if_indextoname(a->scope, scope))
		snprintf(ret + n, ADDR_SHOWN - n, "%%%s", scope);
	else if (a->scope)
		snprintf(ret + n, ADDR_SHOWN - n, "%%%u", a->scope);
	return ret;
}

const char *addr_print_port(const struct addr *a, char ret[ADDR_SHOWN])
{
	char host[ADDR_SHOWN];
	bool v6 = a->family == AF_INET6;
	addr_print(a, host);
	if (!a->port)
		return memcpy(ret, host, sizeof host);
	snprintf(ret, ADDR_SHOWN, "%s%.70s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "", a->port);
	return ret;
}

bool addr_from_sockaddr(const struct sockaddr *sa, size_t len, struct addr *ret)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	if (len >= sizeof v4 && sa->sa_family == AF_INET) {
		memcpy(&v4, sa, sizeof v4);
		*ret = (struct addr){.family = AF_INET, .port = ntohs(v4.sin_port)};
		memcpy(ret->b, &v4.sin_addr, 4);
		return true;
	}
	if (len >= sizeof v6 && sa->sa_family == AF_INET6) {
		memcpy(&v6, sa, sizeof v6);
		*ret = (struct addr){
			.family = AF_INET6, .port = ntohs(v6.sin6_port), .scope = v6.sin6_scope_id};
		memcpy(ret->b, &v6.sin6_addr, 16);
		return true;
	}
	return false;
}

int addr_cmp(const struct addr *a, const struct addr *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	int order = memcmp(a->b, b->b, sizeof a->b);
	if (order == 0)
		order = (a->scope > b->scope) - (a->scope < b->scope);
	if (order == 0)
		order = (a->port > b->port) - (a->port < b->port);
	return order;
}

bool addr_eq(struct addr a, struct addr b)
{
	return addr_cmp(&a, &b) == 0;
}

uint64_t addr_hash(struct addr a)
{
	_Static_assert(sizeof a == 24, "no padding: the bytes are the value");
	return hash64((struct str){(const char *)&a, sizeof a});
}

bool addr_in(const struct addr *a, const uint8_t *prefix, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	ENSURE(bits <= 8 * addr_bytes(a));
	return memcmp(a->b, prefix, whole) == 0 &&
	       (rest == 0 || (a->b[whole] ^ prefix[whole]) >> (8 - rest) == 0);
}

struct addr addr_server(const struct addr *a)
{
	struct addr s = {.family = a->family};
	if (a->family == AF_INET6 && addr_in(a, mapped, 96)) {
		s.family = AF_INET;
		memcpy(s.b, a->b + 12, 4);
	} else {
		memcpy(s.b, a->b, a->family == AF_INET ? 4 : 8);
	}
	return s;
}

bool addr_loopback(const struct addr *a)
{
	static const uint8_t v4[] = {127}, v6[16] = {[15] = 1};
	if (a->family == AF_INET6 && addr_in(a, mapped, 96))
		return a->b[12] == v4[0];
	return a->family == AF_INET ? addr_in(a, v4, 8)
				    : a->family == AF_INET6 && addr_in(a, v6, 128);
}

/* The policy. */

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

/* The bits after the first `bits` as zeros. */
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
		return err_set(err, ERR_USAGE, "network %.60s: expected 0 to %u after the '/'",
			       text, (unsigned)most);
	n.bits = (unsigned)bits;
	struct addr first = network_cut(n.addr, n.bits);
	char shown[ADDR_SHOWN];
	if (!addr_eq(first, n.addr))
		return err_set(err, ERR_USAGE,
			       "network %.60s: the address has bits after the first %u; "
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
