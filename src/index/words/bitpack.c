/* Number i is in row i / 8, lane i % 8. Lanes are packed side by side: each is a string of 16 times
 * `bits` bits, cut into 32-bit words; a last half word is kept as 16 bits. So a row is a shift and
 * a mask of one or two vectors of eight words. */
#include "index/words/bitpack.h"

#include <endian.h>

enum { LANES = 8, ROWS = PACK_N / LANES };

static uint32_t mask_of(unsigned bits)
{
	return bits ? UINT32_MAX >> (32 - bits) : 0;
}

static unsigned bits_of(uint32_t v)
{
	return v ? 32 - (unsigned)__builtin_clz(v) : 0;
}

/* Packing */

struct plan {
	unsigned bits, patch_bytes, patches;
};

/* The cheapest number of bits. */
static struct plan plan_of(const uint32_t v[PACK_N])
{
	uint8_t count[PACK_BITS + 1] = {0};
	for (unsigned i = 0; i < PACK_N; i++)
		count[bits_of(v[i])]++;
	unsigned most = PACK_BITS;
	while (most > 0 && count[most] == 0)
		most--;
	struct plan best = {.bits = most, .patch_bytes = 1};
	unsigned best_cost = 16 * most, patches = 0;
	for (unsigned bits = most; bits-- > 0;) {
		patches += count[bits + 1];
		unsigned bytes = (most - bits + 7) / 8, cost = 16 * bits + patches * (1 + bytes);
		if (patches >= PACK_N)
			break;
		if (cost < best_cost) {
			best = (struct plan){bits, bytes, patches};
			best_cost = cost;
		}
	}
	return best;
}

static void put_lanes(uint8_t *p, const uint32_t word[LANES], size_t bytes)
{
	for (unsigned l = 0; l < LANES; l++) {
		uint32_t le = htole32(word[l]);
		memcpy(p + l * bytes, &le, bytes);
	}
}

static void pack_rows(const uint32_t v[PACK_N], unsigned bits, uint8_t *p)
{
	uint64_t hold[LANES] = {0};
	uint32_t mask = mask_of(bits), word[LANES];
	unsigned held = 0;
	for (unsigned r = 0; r < ROWS; r++) {
		for (unsigned l = 0; l < LANES; l++)
			hold[l] |= (uint64_t)(v[r * LANES + l] & mask) << held;
		held += bits;
		if (held < 32)
			continue;
		for (unsigned l = 0; l < LANES; l++) {
			word[l] = (uint32_t)hold[l];
			hold[l] >>= 32;
		}
		put_lanes(p, word, 4);
		p += 32;
		held -= 32;
	}
	if (held == 0)
		return;
	for (unsigned l = 0; l < LANES; l++)
		word[l] = (uint32_t)hold[l];
	put_lanes(p, word, 2);
}

static size_t pack_equal(uint32_t v, uint8_t *ret)
{
	unsigned bytes = MAX((bits_of(v) + 7) / 8, 1u);
	uint32_t le = htole32(v);
	ret[0] = (uint8_t)((bytes - 1) << 6);
	ret[1] = PACK_EQUAL;
	memcpy(ret + PACK_HEAD, &le, bytes);
	return PACK_HEAD + bytes;
}

size_t pack_block(const uint32_t v[PACK_N], uint8_t ret[PACK_MOST])
{
	uint32_t differ = 0;
	for (unsigned i = 1; i < PACK_N; i++)
		differ |= v[i] ^ v[0];
	if (differ == 0)
		return pack_equal(v[0], ret);
	struct plan plan = plan_of(v);
	ret[0] = (uint8_t)(plan.bits | (plan.patch_bytes - 1) << 6);
	ret[1] = (uint8_t)plan.patches;
	pack_rows(v, plan.bits, ret + PACK_HEAD);
	uint8_t *index = ret + PACK_HEAD + 16 * (size_t)plan.bits, *patch = index + plan.patches;
	for (unsigned i = 0; plan.patches && i < PACK_N; i++) {
		if (bits_of(v[i]) <= plan.bits)
			continue;
		uint32_t le = htole32(v[i] >> plan.bits);
		*index++ = (uint8_t)i;
		memcpy(patch, &le, plan.patch_bytes);
		patch += plan.patch_bytes;
	}
	return (size_t)(patch - ret);
}

/* Unpacking */

static inline uint32_t load_patch(const uint8_t *p, unsigned bytes)
{
	uint32_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint32_t)p[i] << 8 * i;
	return v;
}

static inline void apply_patches(const struct pack_head *h, uint32_t ret[PACK_N])
{
	const uint8_t *patch = h->patch;
	for (unsigned i = 0; i < h->patches; i++, patch += h->patch_bytes) {
		uint64_t high = (uint64_t)load_patch(patch, h->patch_bytes) << h->bits;
		ret[h->index[i] % PACK_N] |= (uint32_t)high;
	}
}

static void all_equal(const struct pack_head *h, uint32_t ret[PACK_N])
{
	uint32_t v = load_patch(h->rows, h->patch_bytes);
	for (unsigned i = 0; i < PACK_N; i++)
		ret[i] = v;
}

static void unpack_rows_portable(const uint8_t *p, unsigned bits, uint32_t ret[PACK_N])
{
	uint64_t hold[LANES] = {0};
	uint32_t mask = mask_of(bits);
	unsigned held = 0, words = bits / 2;
	for (unsigned r = 0; r < ROWS; r++) {
		if (held < bits) {
			size_t bytes = words ? 4 : 2;
			for (unsigned l = 0; l < LANES; l++) {
				uint32_t word = 0;
				memcpy(&word, p + l * bytes, bytes);
				hold[l] |= (uint64_t)le32toh(word) << held;
			}
			p += LANES * bytes;
			held += words ? 32 : 16;
			words -= words != 0;
		}
		for (unsigned l = 0; l < LANES; l++) {
			ret[r * LANES + l] = (uint32_t)hold[l] & mask;
			hold[l] >>= bits;
		}
		held -= bits;
	}
}

const uint8_t *unpack_block_portable(const uint8_t *p, const uint8_t *end, uint32_t ret[PACK_N])
{
	struct pack_head h;
	if (!pack_head(p, end, &h))
		return NULL;
	if (h.patches == PACK_EQUAL) {
		all_equal(&h, ret);
		return h.after;
	}
	unpack_rows_portable(h.rows, h.bits, ret);
	apply_patches(&h, ret);
	return h.after;
}

/* While every gap and every sum is below 2^31, no sum can have gone past 2^32 and come back. */
bool add_up_ascending(uint32_t *v, uint32_t n, uint32_t base, uint32_t limit)
{
	uint32_t all = 0, most = 0;
	for (uint32_t i = 0; i < n; i++) {
		all |= v[i];
		base += v[i] + 1;
		v[i] = base;
		most = MAX(most, base);
	}
	return all >> 31 == 0 && (n == 0 || most < limit);
}

const uint8_t *unpack_ascending_portable(const uint8_t *p, const uint8_t *end, uint32_t base,
					 uint32_t limit, uint32_t ret[PACK_N])
{
	const uint8_t *after = unpack_block_portable(p, end, ret);
	return after && add_up_ascending(ret, PACK_N, base, limit) ? after : NULL;
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline

AVX2_INLINE __m256i word_at(const uint8_t *p, unsigned bits, unsigned k)
{
	if (k < bits / 2)
		return _mm256_loadu_si256((const __m256i *)(p + 32 * (size_t)k));
	return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p + 32 * (size_t)k)));
}

/* Row r of a block with a constant number of bits, which makes it straight code. */
AVX2_INLINE __m256i row_at(const uint8_t *p, unsigned bits, unsigned r)
{
	unsigned k = r * bits / 32, shift = r * bits % 32;
	__m256i row = _mm256_srli_epi32(word_at(p, bits, k), (int)shift);
	if (shift + bits > 32)
		row = _mm256_or_si256(
			row, _mm256_slli_epi32(word_at(p, bits, k + 1), (int)(32 - shift)));
	return _mm256_and_si256(row, _mm256_set1_epi32((int)mask_of(bits)));
}

AVX2_INLINE void rows_of(const uint8_t *p, unsigned bits, uint32_t *ret)
{
	__m256i *to = (__m256i *)ret;
#define ROW(r) _mm256_storeu_si256(to + (r), row_at(p, bits, r))
	ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7);
	ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15);
#undef ROW
}

typedef void unpack_rows_fn(const uint8_t *p, uint32_t *ret);
#define WIDTHS_1(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define WIDTHS_9(X) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#define WIDTHS_17(X) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24)
#define WIDTHS_25(X) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
#define EACH_WIDTH(X) WIDTHS_1(X) WIDTHS_9(X) WIDTHS_17(X) WIDTHS_25(X)
#define DEFINE(b)                                                    \
	AVX2 static void unpack_##b(const uint8_t *p, uint32_t *ret) \
	{                                                            \
		rows_of(p, b, ret);                                  \
	}
EACH_WIDTH(DEFINE)
#undef DEFINE

AVX2 static void unpack_0(const uint8_t *p, uint32_t *ret)
{
	(void)p;
	memset(ret, 0, PACK_N * sizeof *ret);
}

#define NAME(b) unpack_##b,
static unpack_rows_fn *const by_width[PACK_BITS + 1] = {unpack_0, EACH_WIDTH(NAME)};
#undef NAME

AVX2 static const uint8_t *unpack_block_avx2(const uint8_t *p, const uint8_t *end,
					     uint32_t ret[PACK_N])
{
	struct pack_head h;
	if (!pack_head(p, end, &h))
		return NULL;
	if (UNLIKELY(h.patches == PACK_EQUAL)) {
		all_equal(&h, ret);
		return h.after;
	}
	by_width[h.bits](h.rows, ret);
	apply_patches(&h, ret);
	return h.after;
}

AVX2 static bool add_up_avx2(uint32_t ret[PACK_N], uint32_t base, uint32_t limit)
{
	const __m256i ones = _mm256_set1_epi32(1), last = _mm256_set1_epi32(7);
	__m256i carry = _mm256_set1_epi32((int)base), all = _mm256_setzero_si256(), most = all;
	for (unsigned r = 0; r < ROWS; r++) {
		__m256i x = _mm256_loadu_si256((const __m256i *)ret + r);
		all = _mm256_or_si256(all, x);
		x = _mm256_add_epi32(x, ones);
		x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
		x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
		__m256i low = _mm256_shuffle_epi32(_mm256_permute2x128_si256(x, x, 0x08), 0xff);
		__m256i sums = _mm256_add_epi32(x, low);
		x = _mm256_add_epi32(sums, carry);
		carry = _mm256_add_epi32(carry, _mm256_permutevar8x32_epi32(sums, last));
		_mm256_storeu_si256((__m256i *)ret + r, x);
		most = _mm256_max_epu32(most, x);
	}
	uint32_t lane[LANES], highest = 0;
	_mm256_storeu_si256((__m256i *)lane, most);
	for (unsigned l = 0; l < LANES; l++)
		highest = MAX(highest, lane[l]);
	return _mm256_movemask_ps(_mm256_castsi256_ps(all)) == 0 && highest < limit;
}

static inline bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

const uint8_t *unpack_block(const uint8_t *p, const uint8_t *end, uint32_t ret[PACK_N])
{
	return has_avx2() ? unpack_block_avx2(p, end, ret) : unpack_block_portable(p, end, ret);
}

const uint8_t *unpack_ascending(const uint8_t *p, const uint8_t *end, uint32_t base, uint32_t limit,
				uint32_t ret[PACK_N])
{
	if (!has_avx2())
		return unpack_ascending_portable(p, end, base, limit, ret);
	const uint8_t *after = unpack_block_avx2(p, end, ret);
	return after && add_up_avx2(ret, base, limit) ? after : NULL;
}
#else
const uint8_t *unpack_block(const uint8_t *p, const uint8_t *end, uint32_t ret[PACK_N])
{
	return unpack_block_portable(p, end, ret);
}

const uint8_t *unpack_ascending(const uint8_t *p, const uint8_t *end, uint32_t base, uint32_t limit,
				uint32_t ret[PACK_N])
{
	return unpack_ascending_portable(p, end, base, limit, ret);
}
#endif

/* Tails: a byte with the bits per number, then the numbers one after the other. */

static size_t tail_bytes(unsigned bits, uint32_t n)
{
	return 1 + ((size_t)bits * n + 7) / 8;
}

size_t pack_tail(const uint32_t *v, uint32_t n, uint8_t ret[PACK_MOST])
{
	uint32_t all = 0;
	for (uint32_t i = 0; i < n; i++)
		all |= v[i];
	unsigned bits = bits_of(all), held = 0;
	uint64_t hold = 0;
	uint8_t *p = ret;
	*p++ = (uint8_t)bits;
	for (uint32_t i = 0; i < n; i++) {
		hold |= (uint64_t)v[i] << held;
		for (held += bits; held >= 8; held -= 8, hold >>= 8)
			*p++ = (uint8_t)hold;
	}
	if (held)
		*p++ = (uint8_t)hold;
	return (size_t)(p - ret);
}

const uint8_t *skip_tail(const uint8_t *p, const uint8_t *end, uint32_t n)
{
	if (p == end || *p > PACK_BITS || (size_t)(end - p) < tail_bytes(*p, n))
		return NULL;
	return p + tail_bytes(*p, n);
}

static uint64_t load_some(const uint8_t *p, const uint8_t *end)
{
	uint64_t v = 0;
	memcpy(&v, p, MIN((size_t)(end - p), sizeof v));
	return le64toh(v);
}

const uint8_t *unpack_tail(const uint8_t *p, const uint8_t *end, uint32_t n, uint32_t *ret)
{
	const uint8_t *after = skip_tail(p, end, n);
	if (!after)
		return NULL;
	unsigned bits = *p++;
	uint32_t mask = mask_of(bits);
	uint64_t at = 0;
	for (uint32_t i = 0; i < n; i++, at += bits) {
		const uint8_t *from = p + at / 8;
		uint64_t v;
		if (LIKELY(end - from >= 8)) {
			memcpy(&v, from, sizeof v);
			v = le64toh(v);
		} else {
			v = load_some(from, end);
		}
		ret[i] = (uint32_t)(v >> at % 8) & mask;
	}
	return after;
}
