/* Answers of name servers: the first byte chooses the type that was asked for, the rest is the
 * packet. Whatever is in it, what comes out is within its bounds, of the family that was asked for,
 * and the same for the same bytes. The packet as a host name is taken in its one form or not at
 * all. */
#include "net/dns_inner.h"

#include <netinet/in.h>

static void check_answer(struct str packet, uint16_t type)
{
	struct dns_answer a, b;
	dns_read(packet, STR("www.a.test"), type, &a);
	dns_read(packet, STR("www.a.test"), type, &b);
	ENSURE(a.outcome == b.outcome && a.n == b.n && a.ttl_s == b.ttl_s && a.why == b.why);
	bool unknown = a.outcome == DNS_FAILED || a.outcome == DNS_BROKEN;
	ENSURE(unknown || a.outcome == DNS_FOUND || a.outcome == DNS_NO_NAME ||
	       a.outcome == DNS_NO_ADDRESS);
	ENSURE((a.n > 0) == (a.outcome == DNS_FOUND) && a.n <= DNS_ADDRS);
	ENSURE((a.why != NULL) == unknown);
	ENSURE(a.ttl_s >= -1 && a.ttl_s <= INT32_MAX);
	ENSURE(a.outcome != DNS_FOUND || a.ttl_s >= 0);
	ENSURE(a.canonical_n == b.canonical_n && (a.canonical_n == 0 || a.outcome == DNS_FOUND));
	if (a.canonical_n > 0) {
		char again[DNS_NAME + 1];
		size_t n;
		ENSURE(dns_name((struct str){a.canonical, a.canonical_n}, again, &n) == 0);
		ENSURE(n == a.canonical_n && memcmp(a.canonical, again, n) == 0);
	}
	for (size_t i = 0; i < a.n; i++)
		ENSURE(a.addr[i].family == (type == DNS_A ? AF_INET : AF_INET6) &&
		       addr_eq(a.addr[i], b.addr[i]));
}

static void check_name(struct str host)
{
	char name[DNS_NAME + 1], again[DNS_NAME + 1];
	size_t n, n2;
	struct addr a;
	if (dns_name(host, name, &n) < 0)
		return;
	ENSURE(n > 0 && n <= DNS_NAME && name[n] == 0 && strlen(name) == n);
	ENSURE(n == host.n || n + 1 == host.n);
	ENSURE(dns_name((struct str){name, n}, again, &n2) == 0 && n == n2);
	ENSURE(memcmp(name, again, n) == 0);
	ENSURE(!addr_parse(host, &a)); /* no address is a name */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct str packet = {(const char *)data + 1, size - 1};
	check_answer(packet, data[0] % 2 ? DNS_A : DNS_AAAA);
	check_name(packet);
	return 0;
}
