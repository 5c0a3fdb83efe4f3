/* The document in UTF-8, piece by piece, and what of some bytes is UTF-8. Most of the web is: it is
 * checked 64 bytes of ASCII or 32 of anything at a time, and passed on where it lies. All else goes
 * through a decoder, which writes into the room of one piece and takes as many bytes of the
 * document as fit. */
#include "extract/charset_inner.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* UTF-8. */

/* How many bytes at the start are ASCII. */
static size_t charset_ascii(const unsigned char *p, size_t n)
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

/* The second byte has bounds of its own after some first bytes. */
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

/* Length (at least 1, n is too) of the character at p if it is whole, else of what U+FFFD stands
 * for: the longest beginning of a character, or one byte. */
static size_t charset_sequence(const unsigned char *p, size_t n, bool *ret_whole)
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

/* UTF-8 by 32 bytes at a time, for text that is not ASCII. Whether a byte may follow the one before
 * it shows in three tables, by the halves of the first and the upper half of the second: a bit for
 * each way to be wrong, and what all three have is. That leaves third and fourth bytes, which are
 * recognized by what is two and three before them. (J. Keiser and D. Lemire, Validating UTF-8 in
 * less than one instruction per byte, 2020.) */
#if defined(__x86_64__)

enum {
	SHORT = 1,  /* a character ends too soon */
	LONG = 2,   /* a continuation byte after ASCII */
	OVER_3 = 4, /* three bytes where fewer do */
	LARGE = 8,  /* beyond U+10FFFF */
	SURROGATE = 16,
	OVER_2 = 32,
	LARGE_F5 = 64, /* the same bit serves both */
	OVER_4 = 64,
	TWO = 128, /* two continuation bytes: right after a lead byte of three or four */
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

#undef TABLE
#undef B

__attribute__((target("avx2"))) static size_t valid_by_blocks(const unsigned char *p, size_t n)
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

/* A length at which what begins with a character is valid up to there, which is the start of one;
 * there may be more. 0 where the machine has no fast way to tell. */
static size_t charset_valid_blocks(const unsigned char *p, size_t n)
{
	if (n < 64 || !__builtin_cpu_supports("avx2"))
		return 0;
	size_t i = valid_by_blocks(p, n), back = 1;
	/* the last character may go on in what was not looked at */
	while (back < 4 && back < i && (p[i - back] & 0xc0) == 0x80)
		back++;
	return i >= 32 ? i - back : 0;
}

#else

static size_t charset_valid_blocks(const unsigned char *p, size_t n)
{
	(void)p, (void)n;
	return 0;
}

#endif

/* The character at p and those after it that are not ASCII, up to `most` bytes. */
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

size_t charset_encode(uint32_t point, char ret[4])
{
	static const uint8_t lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, point >>= 6)
		ret[i] = (char)(0x80 | (point & 0x3f));
	ret[0] = (char)(lead[n] | point);
	return n;
}

/* Decoders. */

static const char replacement[3] = {(char)0xef, (char)0xbf, (char)0xbd};

/* What a decoder works on. */
struct room {
	char *p, *end;
};

static void put_bad(struct charset_pieces *it, struct room *r)
{
	memcpy(r->p, replacement, sizeof replacement);
	r->p += sizeof replacement;
	it->bad++;
}

/* Bytes that are ASCII in both, as many as fit. */
static size_t put_ascii(struct room *r, const char *p, size_t n)
{
	n = charset_ascii((const unsigned char *)p, MIN(n, (size_t)(r->end - r->p)));
	memcpy(r->p, p, n);
	r->p += n;
	return n;
}

static void put_point(struct room *r, uint32_t point)
{
	r->p += charset_encode(point, r->p);
}

static void decode_single(struct charset_pieces *it, struct room *r)
{
	const struct charset_table *table = it->c->tables[it->def->index];
	const char *p = it->rest.p, *end = p + it->rest.n;
	while (p < end && r->end - r->p >= 3) {
		p += put_ascii(r, p, (size_t)(end - p));
		while (p < end && r->end - r->p >= 3 && (unsigned char)*p >= 0x80) {
			unsigned i = (unsigned char)*p++ - 0x80u;
			unsigned char n = table->high[i].n;
			memcpy(r->p, table->high[i].b, 3);
			r->p += n;
			it->bad += n == 3 && memcmp(table->high[i].b, replacement, 3) == 0;
		}
	}
	it->rest = str_from(it->rest, (size_t)(p - it->rest.p));
}

static void decode_multi(struct charset_pieces *it, struct room *r)
{
	const char *p = it->rest.p, *end = p + it->rest.n;
	while (p < end && r->end - r->p >= 8) {
		if ((unsigned char)*p < 0x80) {
			p += put_ascii(r, p, (size_t)(end - p));
			continue;
		}
		struct charset_char c = charset_char(it->c, it->def->kind, (const unsigned char *)p,
						     (size_t)(end - p));
		p += c.n;
		if (c.point == CHARSET_BAD)
			put_bad(it, r);
		else
			put_point(r, c.point);
		if (c.second)
			put_point(r, c.second);
	}
	it->rest = str_from(it->rest, (size_t)(p - it->rest.p));
}

/* iso-2022-jp shifts between these. */
enum { JP_ASCII, JP_ROMAN, JP_KATAKANA, JP_KANJI };

/* What the bytes after an escape shift to; negative: it is not one. */
static int jp_shift(struct str rest)
{
	static const struct {
		struct str bytes;
		int shift;
	} shifts[] = {{{"\x1b(B", 3}, JP_ASCII},
		      {{"\x1b(J", 3}, JP_ROMAN},
		      {{"\x1b(I", 3}, JP_KATAKANA},
		      {{"\x1b$@", 3}, JP_KANJI},
		      {{"\x1b$B", 3}, JP_KANJI}};
	for (size_t i = 0; i < ARRAY_LEN(shifts); i++)
		if (str_starts(rest, shifts[i].bytes))
			return shifts[i].shift;
	return -1;
}

/* The character at p, and how many bytes it takes; CHARSET_BAD: they mean nothing. */
static uint32_t jp_char(const struct charset_pieces *it, const unsigned char *p, size_t *ret_n)
{
	unsigned char b = p[0], trail = it->rest.n > 1 ? p[1] : 0x1b;
	bool kanji = b >= 0x21 && b <= 0x7e;
	*ret_n = 1;
	switch (it->shift) {
	case JP_KATAKANA:
		return b >= 0x21 && b <= 0x5f ? 0xff61 - 0x21u + b : CHARSET_BAD;
	case JP_KANJI:
		if (!kanji || trail == 0x1b)
			return CHARSET_BAD;
		*ret_n = 2;
		if (trail < 0x21 || trail > 0x7e)
			return CHARSET_BAD;
		uint32_t point = it->c->points[INDEX_JIS0208][(b - 0x21u) * 94 + (trail - 0x21u)];
		return point ? point : CHARSET_BAD;
	case JP_ROMAN:
		if (b == '\\' || b == '~')
			return b == '~' ? 0x203e : 0xa5;
	}
	return b < 0x80 && b != 0x0e && b != 0x0f ? b : CHARSET_BAD;
}

static void decode_jp(struct charset_pieces *it, struct room *r)
{
	while (it->rest.n && r->end - r->p >= 4) {
		const unsigned char *p = (const unsigned char *)it->rest.p;
		size_t n = 3;
		int shift = p[0] == 0x1b ? jp_shift(it->rest) : -1;
		bool bad = shift >= 0 && it->shifted; /* a shift after a shift */
		if (shift >= 0) {
			it->shift = shift;
			it->shifted = true;
		} else {
			uint32_t point = CHARSET_BAD;
			n = 1;
			if (p[0] != 0x1b)
				point = jp_char(it, p, &n);
			bad = point == CHARSET_BAD;
			it->shifted = false;
			if (!bad)
				put_point(r, point);
		}
		if (bad)
			put_bad(it, r);
		it->rest = str_from(it->rest, n);
	}
}

static uint32_t unit_at(struct str s, size_t at, bool big)
{
	const unsigned char *p = (const unsigned char *)s.p + at;
	return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

/* The character at the start, which takes *ret_n bytes; CHARSET_BAD: it is half of one. */
static uint32_t utf16_char(struct str s, bool big, size_t *ret_n)
{
	*ret_n = MIN(s.n, (size_t)2);
	uint32_t c = s.n < 2 ? 0xdc00 : unit_at(s, 0, big);
	if (c >= 0xd800 && c < 0xdc00 && s.n >= 4) {
		uint32_t low = unit_at(s, 2, big);
		if (low >= 0xdc00 && low < 0xe000) {
			*ret_n = 4;
			return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		}
	} else if (c >= 0xd800 && c < 0xdc00) {
		*ret_n = s.n; /* the end cuts it off */
	}
	return c >= 0xd800 && c < 0xe000 ? CHARSET_BAD : c;
}

static void decode_utf16(struct charset_pieces *it, struct room *r)
{
	bool big = it->def->kind == CHARSET_UTF16BE;
	while (it->rest.n && r->end - r->p >= 4) {
		size_t n;
		uint32_t point = utf16_char(it->rest, big, &n);
		if (point == CHARSET_BAD)
			put_bad(it, r);
		else
			put_point(r, point);
		it->rest = str_from(it->rest, n);
	}
}

struct str charset_readable(struct str body, struct str content_type, char *room, size_t cap)
{
	struct charset_choice choice;
	struct room r = {room, room + cap};
	if (charset_known(body, content_type, &choice) != 0 ||
	    !str_starts(str_of(choice.name), STR("utf-16")))
		return body;
	bool big = str_is(str_of(choice.name), "utf-16be");
	body = str_from(body, choice.bom);
	while (body.n && r.end - r.p >= 4) {
		size_t n;
		uint32_t point = utf16_char(body, big, &n);
		put_point(&r, point == CHARSET_BAD ? 0xfffd : point);
		body = str_from(body, n);
	}
	return str_range(room, r.p);
}

static void decode_nothing(struct charset_pieces *it, struct room *r)
{
	put_bad(it, r);
	it->rest = str_from(it->rest, it->rest.n);
}

/* What is valid stays where it is. Where something is not, this piece is copied with U+FFFD in its
 * place. */
static struct str utf8_piece(struct charset_pieces *it, struct room *r)
{
	struct str piece = str_head(it->rest, CHARSET_PIECE);
	size_t valid = charset_valid(piece);
	bool torn = piece.n < it->rest.n && piece.n - valid < 4;
	if (valid == piece.n || (torn && valid)) {
		it->rest = str_from(it->rest, valid);
		return str_head(piece, valid);
	}
	char *from = r->p;
	while (it->rest.n && r->end - r->p >= 3) {
		struct str run = str_head(it->rest, (size_t)(r->end - r->p) - 3);
		size_t good = charset_valid(run);
		memcpy(r->p, run.p, good);
		r->p += good;
		it->rest = str_from(it->rest, good);
		if (good == run.n)
			break;
		bool whole;
		size_t bad =
			charset_sequence((const unsigned char *)it->rest.p, it->rest.n, &whole);
		if (whole) /* only the room was at its end */
			break;
		put_bad(it, r);
		it->rest = str_from(it->rest, bad);
	}
	return str_range(from, r->p);
}

/* UTF-8 has none: it stays where it is. */
static void (*const decoders[CHARSET_KINDS])(struct charset_pieces *, struct room *) = {
	[CHARSET_SINGLE] = decode_single,   [CHARSET_UTF16LE] = decode_utf16,
	[CHARSET_UTF16BE] = decode_utf16,   [CHARSET_BIG5] = decode_multi,
	[CHARSET_EUC_JP] = decode_multi,    [CHARSET_EUC_KR] = decode_multi,
	[CHARSET_GB18030] = decode_multi,   [CHARSET_ISO_2022_JP] = decode_jp,
	[CHARSET_SHIFT_JIS] = decode_multi, [CHARSET_REPLACEMENT] = decode_nothing,
};

void charset_begin(struct charset_pieces *it, struct charset *c, struct str body,
		   const struct charset_choice *choice)
{
	const struct charset_def *def = charset_def(str_of(choice->name));
	*it = (struct charset_pieces){.c = c, .body = body.p, .rest = str_from(body, choice->bom)};
	it->def = def ? def : &charset_defs[0];
	if (it->def->kind == CHARSET_SINGLE)
		(void)charset_table(c, it->def->index);
	else if (it->def->index != INDEX_NONE)
		(void)charset_points(c, it->def->index);
	if (it->def->kind == CHARSET_EUC_JP)
		(void)charset_points(c, INDEX_JIS0212);
}

int charset_next(struct charset_pieces *it, struct str *ret)
{
	struct room r = {it->c->piece, it->c->piece + sizeof it->c->piece};
	while (it->rest.n) {
		it->at = (size_t)(it->rest.p - it->body);
		if (it->def->kind == CHARSET_UTF8) {
			*ret = utf8_piece(it, &r);
			return 0;
		}
		decoders[it->def->kind](it, &r);
		*ret = str_range(it->c->piece, r.p);
		if (ret->n) /* bytes that only shift give nothing */
			return 0;
	}
	return 1;
}
