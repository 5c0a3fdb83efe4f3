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

static uint32_t v4_number(const uint8_t b[4])
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static qkey resolved_v4(uint32_t address, uint16_t port)
{
	return (qkey)QKEY_RESOLVED << KIND_AT | (qkey)port << PORT_AT | address;
}

static qkey resolved_v6(uint64_t hash, uint16_t port)
{
	uint64_t high = hash >> 32 & ((1u << HIGH_BITS) - 1);
	return (qkey)QKEY_RESOLVED << KIND_AT | (qkey)1 << V6_AT | high << HIGH_AT |
	       (qkey)port << PORT_AT | (uint32_t)hash;
}

/* Must stay the same for ever: keys are on disk. */
static uint64_t v6_hash(const uint8_t prefix[8])
{
	uint64_t v = 0;
	for (size_t i = 0; i < 8; i++)
		v = v << 8 | prefix[i];
	return hash_u64(v);
}

qkey qkey_of(const struct qkey_addr *a, uint16_t port)
{
	return a->v6 ? resolved_v6(v6_hash(a->b), port) : resolved_v4(v4_number(a->b), port);
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

static bool parse_port(struct str text, uint16_t *ret)
{
	uint64_t v;
	if (text.n > 5 || !str_u64(text, &v) || v == 0 || v > UINT16_MAX || text.p[0] == '0')
		return false;
	*ret = (uint16_t)v;
	return true;
}

static bool parse_hex(struct str text, size_t bytes, uint64_t *ret)
{
	unsigned char b[8];
	if (!hex_parse(text, b, bytes))
		return false;
	*ret = 0;
	for (size_t i = 0; i < bytes; i++)
		*ret = *ret << 8 | b[i];
	return true;
}

static bool parse_special(uint32_t v, uint16_t port, qkey *ret)
{
	for (size_t kind = 0; kind < ARRAY_LEN(special_print); kind++)
		if (special_print[kind] == (v & 0xffff0000)) {
			*ret = qkey_special((enum qkey_kind)kind, v, port);
			return true;
		}
	return false;
}

static bool parse_dotted(struct str text, uint16_t port, qkey *ret)
{
	struct str part;
	uint64_t v, sum = 0;
	unsigned n = 0;
	for (; str_cut(&text, '.', &part) == 0; n++) {
		if (n == 4 || part.n > 3 || !str_u64(part, &v) || v > 255)
			return false;
		sum = sum << 8 | v;
	}
	if (n == 4)
		*ret = resolved_v4((uint32_t)sum, port);
	return n == 4;
}

bool qkey_parse(struct str text, qkey *ret)
{
	uint64_t v;
	uint16_t port = 0;
	struct str address = str_head(text, str_find_byte(text, ':'));
	if (address.n < text.n && !parse_port(str_from(text, address.n + 1), &port))
		return false;
	if (str_starts(address, STR("6.")) && parse_hex(str_from(address, 2), 6, &v)) {
		if (v >> (32 + HIGH_BITS))
			return false;
		*ret = resolved_v6(v, port);
		return true;
	}
	if (!parse_hex(address, 4, &v))
		return parse_dotted(address, port, ret);
	if (v >> 24 == 0x7f)
		return parse_special((uint32_t)v, port, ret);
	*ret = resolved_v4((uint32_t)v, port);
	return true;
}
