/* Queue keys. The bits are the same on every machine and for ever: keys are on disk. */
#include "url/qkey.h"

#include "base/hash.h"

#include <stdio.h>

enum { PORT_AT = 32, HIGH_AT = 48, V6_AT = 61, KIND_AT = 62, HIGH_BITS = 13 };

/* How kinds print: the upper 16 bits of the 8 digits. */
static const uint32_t special_print[] = {
	[QKEY_UNRESOLVED] = 0x7f000000,
	[QKEY_OFF_NETWORK] = 0x7f010000,
	[QKEY_NONEXISTENT] = 0x7f020000,
};

static qkey resolved_v4(const uint8_t b[4], uint16_t port)
{
	uint32_t address = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	return (qkey)QKEY_RESOLVED << KIND_AT | (qkey)port << PORT_AT | address;
}

static qkey resolved_v6(const uint8_t prefix[8], uint16_t port)
{
	uint64_t v = 0;
	for (size_t i = 0; i < 8; i++)
		v = v << 8 | prefix[i];
	uint64_t hash = hash_u64(v), high = hash >> 32 & ((1u << HIGH_BITS) - 1);
	return (qkey)QKEY_RESOLVED << KIND_AT | (qkey)1 << V6_AT | high << HIGH_AT |
	       (qkey)port << PORT_AT | (uint32_t)hash;
}

qkey qkey_of(const struct qkey_addr *a, uint16_t port)
{
	return a->v6 ? resolved_v6(a->b, port) : resolved_v4(a->b, port);
}

qkey qkey_of_site(uint64_t site)
{
	return hash_u64(site) >> 2 |
	       1; /* kind 0: unresolved; 0 itself means that there is no key */
}

qkey qkey_special(enum qkey_kind kind, uint64_t spread, uint16_t port)
{
	ENSURE(kind != QKEY_RESOLVED);
	return (qkey)kind << KIND_AT | (qkey)port << PORT_AT | (spread & 0xffff);
}

static int addr_cmp(const struct qkey_addr *a, const struct qkey_addr *b)
{
	if (a->v6 != b->v6)
		return a->v6 ? 1 : -1;
	return memcmp(a->b, b->b, a->v6 ? 16 : 4);
}

/* The one that would stand at place hash % n if they were sorted. Names have few addresses. */
const struct qkey_addr *qkey_choose(const struct qkey_addr *a, size_t n, struct str host)
{
	size_t place = crc32c(0, host.p, host.n) % n;
	for (size_t i = 0; i < n; i++) {
		size_t smaller = 0, same = 0;
		for (size_t j = 0; j < n; j++) {
			int c = addr_cmp(&a[j], &a[i]);
			smaller += c < 0;
			same += c == 0;
		}
		if (smaller <= place && place < smaller + same)
			return &a[i];
	}
	die("%zu addresses without a %zu. one", n, place);
}

const char *qkey_print(qkey k, char ret[QKEY_TEXT])
{
	uint32_t low = (uint32_t)k;
	int n;
	if (qkey_kind(k) != QKEY_RESOLVED)
		n = snprintf(ret, QKEY_TEXT, "%08x", special_print[qkey_kind(k)] | (low & 0xffff));
	else if (qkey_is_v6(k))
		n = snprintf(ret, QKEY_TEXT, "6.%04x%08x",
			     (unsigned)(k >> HIGH_AT) & ((1u << HIGH_BITS) - 1), low);
	else if (low >> 24 == 127)
		n = snprintf(ret, QKEY_TEXT, "127.%u.%u.%u", low >> 16 & 255, low >> 8 & 255,
			     low & 255);
	else
		n = snprintf(ret, QKEY_TEXT, "%08x", low);
	if (qkey_port(k))
		snprintf(ret + n, QKEY_TEXT - (size_t)n, ":%u", qkey_port(k));
	return ret;
}

/* The lower 61 bits, without the port. */
static bool parse_server(struct str text, qkey *ret)
{
	unsigned char b[6] = {0};
	uint64_t v = 0;
	if (str_starts(text, STR("6."))) {
		if (!hex_parse(str_from(text, 2), b, 6))
			return false;
		v = (uint64_t)1 << V6_AT | (uint64_t)(b[0] << 8 | b[1]) << HIGH_AT |
		    (uint64_t)b[2] << 24 | b[3] << 16 | b[4] << 8 | b[5];
	} else if (hex_parse(text, b, 4)) {
		v = (uint64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
	} else {
		struct str part;
		uint64_t number;
		while (text.p && str_cut(&text, '.', &part) == 0) {
			if (!str_u64(part, &number) || number > 255)
				return false;
			v = (v << 8 | number) & UINT32_MAX;
		}
	}
	*ret = v;
	return true;
}

/* What was read is printed and compared, so that a key has one text. */
bool qkey_parse(struct str text, qkey *ret)
{
	struct str rest = text, server;
	char again[QKEY_TEXT];
	qkey low;
	uint64_t number = 0;
	if (str_cut(&rest, ':', &server) != 0 || !parse_server(server, &low))
		return false;
	if (rest.p && !str_u64(rest, &number))
		return false;
	qkey k = (qkey)QKEY_RESOLVED << KIND_AT | low | (number & UINT16_MAX) << PORT_AT;
	if (!str_eq(str_of(qkey_print(k, again)), text))
		return false;
	*ret = k;
	return true;
}
