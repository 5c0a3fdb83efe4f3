/* Hashes: xxHash for tables in memory, CRC-32C and XXH64 for what is on disk, and the digests of
 * OpenSSL for what the world agrees on.
 *
 * CRC-32C is here twice: with the processor's instruction, and with tables for processors that do
 * not have it. A file written by one is read by the other, so tests compare them. */
#define OPENSSL_SUPPRESS_DEPRECATED /* for MD5_Init() and its kin, see md5() */
#define XXH_INLINE_ALL /* no shared library, and short keys are hashed without a call */
#include "base/hash.h"

#include "base/ascii.h"

#include <endian.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <xxhash.h>

uint64_t hash64(struct str s)
{
	return XXH3_64bits(s.n ? s.p : "", s.n);
}

uint64_t hash64_seeded(struct str s, uint64_t seed)
{
	return XXH3_64bits_withSeed(s.n ? s.p : "", s.n, seed);
}

uint64_t xxh64(struct str s)
{
	ENSURE(s.n == 0 || s.p);
	return XXH64(s.n ? s.p : "", s.n, 0);
}

/* Ours has the size of the library's, so that those who hash need not see its header. */
_Static_assert(sizeof(XXH64_state_t) == sizeof(struct xxh64), "a state of XXH64 fits");

static XXH64_state_t *xxh64_state(struct xxh64 *h)
{
	return (XXH64_state_t *)(void *)h->state;
}

void xxh64_begin(struct xxh64 *h)
{
	ENSURE(XXH64_reset(xxh64_state(h), 0) == XXH_OK);
}

void xxh64_add(struct xxh64 *h, const void *p, size_t n)
{
	if (n)
		ENSURE(XXH64_update(xxh64_state(h), p, n) == XXH_OK);
}

uint64_t xxh64_end(const struct xxh64 *h)
{
	struct xxh64 copy = *h;
	return XXH64_digest(xxh64_state(&copy));
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

bool hex_parse(struct str s, unsigned char *ret, size_t n)
{
	if (s.n % 2 || s.n / 2 != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (ascii_hex_byte(s.p + 2 * i) < 0)
			return false;
	for (size_t i = 0; i < n; i++)
		ret[i] = (unsigned char)ascii_hex_byte(s.p + 2 * i);
	return true;
}

static uint64_t crc_load(const unsigned char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

/* The tables are constants that the compiler works out. X_k_i is the remainder of the bit 0x80 >> i
 * with k bytes of zeroes after it: each is one step from the one before. The remainder of a byte
 * is the sum of those of its bits. */
#define POLYNOMIAL 0x82f63b78u /* bits reversed, as all that follows */
#define STEP(x) ((uint32_t)(x) >> 1 ^ ((x)&1 ? POLYNOMIAL : 0u))
#define STEPS(k, before)                                                                       \
	X_##k##_0 = STEP(before), X_##k##_1 = STEP(X_##k##_0), X_##k##_2 = STEP(X_##k##_1),    \
	X_##k##_3 = STEP(X_##k##_2), X_##k##_4 = STEP(X_##k##_3), X_##k##_5 = STEP(X_##k##_4), \
	X_##k##_6 = STEP(X_##k##_5), X_##k##_7 = STEP(X_##k##_6)
enum {
	STEPS(0, 1u),
	STEPS(1, X_0_7),
	STEPS(2, X_1_7),
	STEPS(3, X_2_7),
	STEPS(4, X_3_7),
	STEPS(5, X_4_7),
	STEPS(6, X_5_7),
	STEPS(7, X_6_7),
};
#define BIT(k, i, byte) ((byte)&0x80 >> i ? (uint32_t)X_##k##_##i : 0u)
#define E1(k, b)                                                                                  \
	BIT(k, 0, b) ^ BIT(k, 1, b) ^ BIT(k, 2, b) ^ BIT(k, 3, b) ^ BIT(k, 4, b) ^ BIT(k, 5, b) ^ \
		BIT(k, 6, b) ^ BIT(k, 7, b)
#define E4(k, b) E1(k, (b)), E1(k, (b) + 1), E1(k, (b) + 2), E1(k, (b) + 3)
#define E16(k, b) E4(k, b), E4(k, b + 4), E4(k, b + 8), E4(k, b + 12)
#define E64(k, b) E16(k, b), E16(k, b + 16), E16(k, b + 32), E16(k, b + 48)
#define E256(k) E64(k, 0), E64(k, 64), E64(k, 128), E64(k, 192)
static const uint32_t crc_table[8][256] = {
	{E256(0)}, {E256(1)}, {E256(2)}, {E256(3)}, {E256(4)}, {E256(5)}, {E256(6)}, {E256(7)},
};

uint32_t crc32c_portable(uint32_t crc, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	crc = ~crc;
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t v = crc_load(p) ^ crc;
		crc = crc_table[7][v & 0xff] ^ crc_table[6][v >> 8 & 0xff] ^
		      crc_table[5][v >> 16 & 0xff] ^ crc_table[4][v >> 24 & 0xff] ^
		      crc_table[3][v >> 32 & 0xff] ^ crc_table[2][v >> 40 & 0xff] ^
		      crc_table[1][v >> 48 & 0xff] ^ crc_table[0][v >> 56];
	}
	for (; n > 0; n--, p++)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 0xff];
	return ~crc;
}

#ifdef __x86_64__
#include <immintrin.h>

/* The instruction takes 8 bytes a cycle but answers after three, so three lanes of a block run side
 * by side. 1008 bytes fit into all pages and buffers that we sum and cost few remains. */
enum { LANE = 336, BLOCK = 3 * LANE };

/* x^(8 n - 33) modulo the polynomial: what carries a remainder over n bytes when the product, which
 * is 33 bits short of a 64-bit operand, goes through the instruction again. */
#define OVER_ONE_LANE 0xa60ce07b
#define OVER_TWO_LANES 0xcec3662e

#define HARDWARE __attribute__((target("sse4.2,pclmul")))

HARDWARE static uint64_t crc_carry(uint64_t crc, long long over)
{
	__m128i product =
		_mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc), _mm_cvtsi64_si128(over), 0);
	return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

HARDWARE static uint32_t crc32c_hardware(uint32_t start, const unsigned char *p, size_t n)
{
	uint64_t crc = ~start;
	for (; n >= BLOCK; n -= BLOCK, p += BLOCK) {
		uint64_t second = 0, third = 0;
		for (size_t i = 0; i < LANE; i += 8) {
			crc = _mm_crc32_u64(crc, crc_load(p + i));
			second = _mm_crc32_u64(second, crc_load(p + LANE + i));
			third = _mm_crc32_u64(third, crc_load(p + (size_t)2 * LANE + i));
		}
		crc = crc_carry(crc, OVER_TWO_LANES) ^ crc_carry(second, OVER_ONE_LANE) ^ third;
	}
	for (; n >= 8; n -= 8, p += 8)
		crc = _mm_crc32_u64(crc, crc_load(p));
	for (; n > 0; n--, p++)
		crc = _mm_crc32_u8((uint32_t)crc, *p);
	return ~(uint32_t)crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
		return crc32c_hardware(crc, p, n);
#endif
	return crc32c_portable(crc, p, n);
}

struct digest {
	EVP_MD_CTX *ctx; /* always begun */
};

struct digest *digest_new(const char *name)
{
	struct digest *d = mem_alloc(sizeof *d);
	EVP_MD *md = EVP_MD_fetch(NULL, name, NULL);
	d->ctx = EVP_MD_CTX_new();
	if (!md || !d->ctx || !EVP_DigestInit_ex2(d->ctx, md, NULL))
		die("the digest %s cannot be had from OpenSSL", name);
	EVP_MD_free(md); /* the context holds on to it */
	return d;
}

void digest_add(struct digest *d, const void *p, size_t n)
{
	if (n)
		ENSURE(EVP_DigestUpdate(d->ctx, p, n));
}

size_t digest_end(struct digest *d, unsigned char *ret, size_t cap)
{
	unsigned n;
	int size = EVP_MD_CTX_get_size(d->ctx);
	ENSURE(size > 0 && (size_t)size <= cap);
	ENSURE(EVP_DigestFinal_ex(d->ctx, ret, &n));
	ENSURE(EVP_DigestInit_ex2(d->ctx, NULL, NULL)); /* the same digest again */
	return n;
}

void digest_free(struct digest **d)
{
	if (*d)
		EVP_MD_CTX_free((*d)->ctx);
	mem_free(d);
}

/* Two of these make a footprint. The older functions of OpenSSL need no context from the heap and
 * take three quarters of the time for a line of text. */
void md5(struct str s, unsigned char ret[16])
{
	MD5_CTX c;
	ENSURE(MD5_Init(&c) && MD5_Update(&c, s.n ? s.p : "", s.n) && MD5_Final(ret, &c));
}
