/* Skipping what means nothing here: the first of three bytes, sixteen at a time where the machine
 * can. Nothing outside of [p, end) is touched. */
#pragma once
#include "base/str.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Where the first a, b or c is; end: nowhere. Give one twice to look for fewer. */
static inline const char *scan_portable(const char *p, const char *end, char a, char b, char c)
{
	while (p < end && *p != a && *p != b && *p != c)
		p++;
	return p;
}

static inline const char *scan(const char *p, const char *end, char a, char b, char c)
{
#ifdef __SSE2__
	const __m128i va = _mm_set1_epi8(a), vb = _mm_set1_epi8(b), vc = _mm_set1_epi8(c);
	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hit =
			_mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, va), _mm_cmpeq_epi8(v, vb)),
				     _mm_cmpeq_epi8(v, vc));
		int bits = _mm_movemask_epi8(hit);
		if (bits)
			return p + __builtin_ctz((unsigned)bits);
	}
#endif
	return scan_portable(p, end, a, b, c);
}
