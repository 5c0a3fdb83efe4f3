#include "base/hash.h"

#define XXH_INLINE_ALL /* no shared library, and short keys are hashed without a call */
#include <xxhash.h>

uint64_t hash64(struct str s)
{
	return XXH3_64bits(s.n ? s.p : "", s.n);
}

uint64_t hash64_seeded(struct str s, uint64_t seed)
{
	return XXH3_64bits_withSeed(s.n ? s.p : "", s.n, seed);
}

/* Each step can be undone, so different values stay different. */
uint64_t hash_u64(uint64_t v)
{
	v ^= v >> 32;
	v *= UINT64_C(0x9e3779b97f4a7c15);
	v ^= v >> 29;
	v *= UINT64_C(0xd1b54a32d192ed03);
	return v ^ v >> 32;
}

void hex_print(const unsigned char *p, size_t n, char *ret)
{
	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = "0123456789abcdef"[p[i] >> 4];
		ret[2 * i + 1] = "0123456789abcdef"[p[i] & 15];
	}
	ret[2 * n] = 0;
}

/* The value of a digit, 16 for what is none. */
static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 32;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

bool hex_parse(struct str s, unsigned char *ret, size_t n)
{
	if (s.n % 2 || s.n / 2 != n)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (digit(s.p[i]) > 15)
			return false;
	for (size_t i = 0; i < n; i++)
		ret[i] = (unsigned char)(digit(s.p[2 * i]) << 4 | digit(s.p[2 * i + 1]));
	return true;
}
