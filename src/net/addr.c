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

/* ":53" behind an address; nothing leaves the port as it is. */
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

unsigned addr_to_sockaddr(const struct addr *a, struct sockaddr_storage *ret)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(a->port)};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(a->port), .sin6_scope_id = a->scope};
	ENSURE(a->family == AF_INET || a->family == AF_INET6);
	*ret = (struct sockaddr_storage){0};
	if (a->family == AF_INET) {
		memcpy(&v4.sin_addr, a->b, 4);
		memcpy(ret, &v4, sizeof v4);
		return sizeof v4;
	}
	memcpy(&v6.sin6_addr, a->b, 16);
	memcpy(ret, &v6, sizeof v6);
	return sizeof v6;
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

bool addr_eq(const struct addr *a, const struct addr *b)
{
	return addr_cmp(a, b) == 0;
}

uint64_t addr_hash(const struct addr *a)
{
	_Static_assert(sizeof *a == 24, "no padding: the bytes are the value");
	return hash64((struct str){(const char *)a, sizeof *a});
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
