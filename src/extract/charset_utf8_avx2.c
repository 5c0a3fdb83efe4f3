/* UTF-8 by 32 bytes at a time, for text that is not ASCII. Whether a byte may follow the one before
 * it shows in three tables, by the halves of the first and the upper half of the second: a bit for
 * each way to be wrong, and what all three have is. That leaves third and fourth bytes, which are
 * told by what is two and three before them. (J. Keiser and D. Lemire, Validating UTF-8 in less
 * than one instruction per byte, 2020.) */
#include "extract/charset_inner.h"

#if defined(__x86_64__)

#include <immintrin.h>

enum {
	SHORT = 1,  /* a character ends too soon */
	LONG = 2,   /* a byte of the inside behind ASCII */
	OVER_3 = 4, /* three bytes where fewer do */
	LARGE = 8,  /* beyond U+10FFFF */
	SURROGATE = 16,
	OVER_2 = 32,
	LARGE_F5 = 64, /* the same bit serves both */
	OVER_4 = 64,
	TWO = 128, /* two bytes of the inside: right behind the third before */
	CARRY = SHORT | LONG | TWO,
};

#define TABLE(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))
#define B(x) ((char)(x))

__attribute__((target("avx2"))) static inline __m256i low_half(__m256i v)
{
	return _mm256_and_si256(v, _mm256_set1_epi8(15));
}
__attribute__((target("avx2"))) static inline __m256i high_half(__m256i v)
{
	return low_half(_mm256_srli_epi16(v, 4));
}

/* Not zero in every byte that is wrong. */
__attribute__((target("avx2"))) static inline __m256i wrong_bytes(__m256i now, __m256i before)
{
	const __m256i first_high =
		TABLE(LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, B(TWO), B(TWO), B(TWO),
		      B(TWO), SHORT | OVER_2, SHORT, SHORT | OVER_3 | SURROGATE,
		      SHORT | LARGE | LARGE_F5 | OVER_4);
	const __m256i first_low =
		TABLE(B(CARRY | OVER_3 | OVER_2 | OVER_4), B(CARRY | OVER_2), B(CARRY), B(CARRY),
		      B(CARRY | LARGE), B(CARRY | LARGE | LARGE_F5), B(CARRY | LARGE | LARGE_F5),
		      B(CARRY | LARGE | LARGE_F5), B(CARRY | LARGE | LARGE_F5),
		      B(CARRY | LARGE | LARGE_F5), B(CARRY | LARGE | LARGE_F5),
		      B(CARRY | LARGE | LARGE_F5), B(CARRY | LARGE | LARGE_F5),
		      B(CARRY | LARGE | LARGE_F5 | SURROGATE), B(CARRY | LARGE | LARGE_F5),
		      B(CARRY | LARGE | LARGE_F5));
	const __m256i second_high = TABLE(
		SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT,
		B(LONG | OVER_2 | TWO | OVER_3 | LARGE_F5 | OVER_4),
		B(LONG | OVER_2 | TWO | OVER_3 | LARGE), B(LONG | OVER_2 | TWO | SURROGATE | LARGE),
		B(LONG | OVER_2 | TWO | SURROGATE | LARGE), SHORT, SHORT, SHORT, SHORT);
	__m256i joint = _mm256_permute2x128_si256(before, now, 0x21);
	__m256i one = _mm256_alignr_epi8(now, joint, 15), two = _mm256_alignr_epi8(now, joint, 14),
		three = _mm256_alignr_epi8(now, joint, 13);
	__m256i pairs =
		_mm256_and_si256(_mm256_and_si256(_mm256_shuffle_epi8(first_high, high_half(one)),
						  _mm256_shuffle_epi8(first_low, low_half(one))),
				 _mm256_shuffle_epi8(second_high, high_half(now)));
	/* the top bit where two before is at least 0xe0, or three before at least 0xf0 */
	__m256i inside =
		_mm256_or_si256(_mm256_subs_epu8(two, _mm256_set1_epi8((char)(0xe0 - 0x80))),
				_mm256_subs_epu8(three, _mm256_set1_epi8((char)(0xf0 - 0x80))));
	inside = _mm256_and_si256(inside, _mm256_set1_epi8((char)0x80));
	return _mm256_xor_si256(inside, pairs);
}

__attribute__((target("avx2"))) static size_t by_blocks(const unsigned char *p, size_t n)
{
	__m256i before = _mm256_setzero_si256();
	size_t i = 0;
	for (; i + 32 <= n; i += 32) {
		__m256i now = _mm256_loadu_si256((const __m256i *)(p + i));
		__m256i wrong = wrong_bytes(now, before);
		if (!_mm256_testz_si256(wrong, wrong))
			break;
		before = now;
	}
	return i;
}

size_t charset_valid_blocks(const unsigned char *p, size_t n)
{
	if (n < 64 || !__builtin_cpu_supports("avx2"))
		return 0;
	size_t i = by_blocks(p, n), back = 1;
	/* the last character may go on in what was not looked at */
	while (back < 4 && back < i && (p[i - back] & 0xc0) == 0x80)
		back++;
	return i >= 32 ? i - back : 0;
}

#else

size_t charset_valid_blocks(const unsigned char *p, size_t n)
{
	(void)p, (void)n;
	return 0;
}

#endif
