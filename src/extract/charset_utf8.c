/* What of some bytes is UTF-8. Most of the web is ASCII and is passed 64 bytes at a time. */
#include "extract/charset_inner.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

size_t charset_ascii(const unsigned char *p, size_t n)
{
	size_t i = 0;
#ifdef __SSE2__
	for (; i + 64 <= n; i += 64) {
		__m128i a = _mm_loadu_si128((const __m128i *)(p + i));
		__m128i b = _mm_loadu_si128((const __m128i *)(p + i + 16));
		__m128i c = _mm_loadu_si128((const __m128i *)(p + i + 32));
		__m128i d = _mm_loadu_si128((const __m128i *)(p + i + 48));
		if (_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))))
			break;
	}
#endif
	for (; i + 8 <= n; i += 8) {
		uint64_t v;
		memcpy(&v, p + i, 8);
		if (v & UINT64_C(0x8080808080808080))
			break;
	}
	while (i < n && p[i] < 0x80)
		i++;
	return i;
}

/* The bounds of the second byte behind each kind of first byte. */
static inline bool second_fits(unsigned char first, unsigned char second)
{
	unsigned char low = 0x80, high = 0xbf;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	return second >= low && second <= high;
}

size_t charset_sequence(const unsigned char *p, size_t n, bool *ret_whole)
{
	size_t need = p[0] < 0x80   ? 1
		      : p[0] < 0xc2 ? 0
		      : p[0] < 0xe0 ? 2
		      : p[0] < 0xf0 ? 3
		      : p[0] < 0xf5 ? 4
				    : 0;
	size_t have = 1;
	*ret_whole = need == 1;
	if (need <= 1)
		return 1;
	if (n < 2 || !second_fits(p[0], p[1]))
		return 1;
	for (have = 2; have < need && have < n && (p[have] & 0xc0) == 0x80;)
		have++;
	*ret_whole = have == need;
	return have;
}

/* The character at p and those behind it that are not ASCII, up to `most` bytes. */
static size_t valid_run(const unsigned char *p, size_t n, size_t most)
{
	size_t i = 0;
	while (i < n && i < most && p[i] >= 0x80) {
		bool whole;
		size_t length = charset_sequence(p + i, n - i, &whole);
		if (!whole)
			return i;
		i += length;
	}
	return i;
}

size_t charset_valid(struct str s)
{
	enum { RUN = 64 }; /* where blocks begin to pay */
	const unsigned char *p = (const unsigned char *)s.p;
	size_t i = 0;
	while (i < s.n) {
		i += charset_ascii(p + i, s.n - i);
		if (i == s.n)
			break;
		size_t fast = charset_valid_blocks(p + i, s.n - i);
		i += fast;
		size_t n = valid_run(p + i, s.n - i, fast ? SIZE_MAX : RUN);
		if (n == 0 && i < s.n && p[i] >= 0x80)
			return i;
		i += n;
	}
	return i;
}
