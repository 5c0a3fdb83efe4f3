/* Characters of several bytes, decoded as the Encoding Standard says
 * (https://encoding.spec.whatwg.org/). Of bytes that mean nothing, ASCII at the end counts for
 * itself: otherwise a stray byte could swallow the quote that ends an attribute. */
#include "extract/charset_inner.h"

static bool is_within(unsigned char c, unsigned first, unsigned last)
{
	return c >= first && c <= last;
}

static struct charset_char char_bad(size_t n)
{
	return (struct charset_char){.point = CHARSET_BAD, .n = n};
}

static struct charset_char char_good(uint32_t point, size_t n)
{
	return (struct charset_char){.point = point, .n = n};
}

/* What n bytes stand for, of which the last is given; a point of 0: nothing. */
static struct charset_char char_looked_up(uint32_t point, unsigned char last, size_t n)
{
	return point ? char_good(point, n) : char_bad(last < 0x80 ? n - 1 : n);
}

/* Trail bytes from 0x40 on leave 0x7f out. */
static uint32_t trail_of(unsigned char c, unsigned offset)
{
	return c < 0x7f ? c - 0x40u : c - offset;
}

static struct charset_char char_big5(const struct charset *c, const unsigned char *p, size_t n)
{
	static const struct {
		uint16_t pointer, point, second;
	} marked[] = {
		{1133, 0xca, 0x304}, {1135, 0xca, 0x30c}, {1164, 0xea, 0x304}, {1166, 0xea, 0x30c}};
	if (!is_within(p[0], 0x81, 0xfe) || n < 2)
		return char_bad(1);
	if (!is_within(p[1], 0x40, 0x7e) && !is_within(p[1], 0xa1, 0xfe))
		return char_looked_up(0, p[1], 2);
	uint32_t pointer = (p[0] - 0x81u) * 157 + trail_of(p[1], 0x62);
	for (size_t i = 0; i < ARRAY_LEN(marked); i++)
		if (marked[i].pointer == pointer)
			return (struct charset_char){marked[i].point, marked[i].second, 2};
	return char_looked_up(c->points[INDEX_BIG5][pointer], p[1], 2);
}

static struct charset_char char_euc_kr(const struct charset *c, const unsigned char *p, size_t n)
{
	if (!is_within(p[0], 0x81, 0xfe) || n < 2)
		return char_bad(1);
	uint32_t point = 0;
	if (is_within(p[1], 0x41, 0xfe))
		point = c->points[INDEX_EUC_KR][(p[0] - 0x81u) * 190 + (p[1] - 0x41u)];
	return char_looked_up(point, p[1], 2);
}

static struct charset_char char_euc_jp(const struct charset *c, const unsigned char *p, size_t n)
{
	enum charset_index_id index = INDEX_JIS0208;
	size_t at = 0;
	if ((!is_within(p[0], 0xa1, 0xfe) && p[0] != 0x8e && p[0] != 0x8f) || n < 2)
		return char_bad(1);
	if (p[0] == 0x8e && is_within(p[1], 0xa1, 0xdf))
		return char_good(0xff61 - 0xa1 + p[1], 2);
	if (p[0] == 0x8f && is_within(p[1], 0xa1, 0xfe)) {
		index = INDEX_JIS0212;
		at = 1;
		if (n < 3)
			return char_bad(2);
	}
	uint32_t point = 0;
	if (is_within(p[at], 0xa1, 0xfe) && is_within(p[at + 1], 0xa1, 0xfe))
		point = c->points[index][(p[at] - 0xa1u) * 94 + (p[at + 1] - 0xa1u)];
	return char_looked_up(point, p[at + 1], at + 2);
}

static struct charset_char char_shift_jis(const struct charset *c, const unsigned char *p, size_t n)
{
	enum { OWN = 8836, OWN_LAST = 10715 }; /* pointers of characters for private use */
	if (p[0] == 0x80)
		return char_good(0x80, 1);
	if (is_within(p[0], 0xa1, 0xdf))
		return char_good(0xff61 - 0xa1 + p[0], 1);
	if (p[0] == 0xa0 || p[0] > 0xfc || n < 2)
		return char_bad(1);
	if (!is_within(p[1], 0x40, 0x7e) && !is_within(p[1], 0x80, 0xfc))
		return char_looked_up(0, p[1], 2);
	uint32_t pointer = (p[0] - (p[0] < 0xa0 ? 0x81u : 0xc1u)) * 188 + trail_of(p[1], 0x41);
	if (pointer >= OWN && pointer <= OWN_LAST)
		return char_good(0xe000 - OWN + pointer, 2);
	return char_looked_up(c->points[INDEX_JIS0208][pointer], p[1], 2);
}

/* What four bytes of gb18030 stand for; 0: nothing. */
static uint32_t range_point(uint32_t pointer)
{
	enum { PLANE_END = 39419, PLANES = 189000, PLANES_END = 1237575, ODD = 7457 };
	if ((pointer > PLANE_END && pointer < PLANES) || pointer > PLANES_END)
		return 0;
	if (pointer == ODD)
		return 0xe7c7;
	const struct charset_range *r = charset_range(pointer, false);
	return r->point + (pointer - r->pointer);
}

/* p[1] is a digit. Where a later byte does not fit, only the first one counts as bad. */
static struct charset_char char_four(const unsigned char *p, size_t n)
{
	if (n < 3)
		return char_bad(n);
	if (!is_within(p[2], 0x81, 0xfe))
		return char_bad(1);
	if (n < 4)
		return char_bad(n);
	if (!is_within(p[3], '0', '9'))
		return char_bad(1);
	uint32_t point =
		range_point((((p[0] - 0x81u) * 10 + (p[1] - 0x30u)) * 126 + (p[2] - 0x81u)) * 10 +
			    (p[3] - 0x30u));
	return point ? char_good(point, 4) : char_bad(4);
}

static struct charset_char char_gb18030(const struct charset *c, const unsigned char *p, size_t n)
{
	if (p[0] == 0x80)
		return char_good(0x20ac, 1);
	if (p[0] == 0xff || n < 2)
		return char_bad(1);
	if (is_within(p[1], '0', '9'))
		return char_four(p, n);
	uint32_t point = 0;
	if (is_within(p[1], 0x40, 0x7e) || is_within(p[1], 0x80, 0xfe))
		point = c->points[INDEX_GB18030][(p[0] - 0x81u) * 190 + trail_of(p[1], 0x41)];
	return char_looked_up(point, p[1], 2);
}

struct charset_char charset_char(const struct charset *c, enum charset_kind kind,
				 const unsigned char *p, size_t n)
{
	switch (kind) {
	case CHARSET_BIG5:
		return char_big5(c, p, n);
	case CHARSET_EUC_JP:
		return char_euc_jp(c, p, n);
	case CHARSET_EUC_KR:
		return char_euc_kr(c, p, n);
	case CHARSET_SHIFT_JIS:
		return char_shift_jis(c, p, n);
	default:
		return char_gb18030(c, p, n);
	}
}
