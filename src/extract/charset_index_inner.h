/* The indexes of the Encoding Standard (https://encoding.spec.whatwg.org/): which character a
 * pointer stands for, a number that each encoding makes of its bytes in its own way. Made by
 * script/charset_index.mjs and packed; charset_points.c unpacks them. */
#pragma once
#include "base/base.h"

enum charset_index_id {
	INDEX_NONE,
	INDEX_BIG5,
	INDEX_GB18030,
	INDEX_JIS0208,
	INDEX_JIS0212,
	INDEX_EUC_KR,
	/* one byte a character: 128 of them */
	INDEX_IBM866,
	INDEX_ISO_8859_2,
	INDEX_ISO_8859_3,
	INDEX_ISO_8859_4,
	INDEX_ISO_8859_5,
	INDEX_ISO_8859_6,
	INDEX_ISO_8859_7,
	INDEX_ISO_8859_8,
	INDEX_ISO_8859_10,
	INDEX_ISO_8859_13,
	INDEX_ISO_8859_14,
	INDEX_ISO_8859_15,
	INDEX_ISO_8859_16,
	INDEX_KOI8_R,
	INDEX_KOI8_U,
	INDEX_MACINTOSH,
	INDEX_WINDOWS_874,
	INDEX_WINDOWS_1250,
	INDEX_WINDOWS_1251,
	INDEX_WINDOWS_1252,
	INDEX_WINDOWS_1253,
	INDEX_WINDOWS_1254,
	INDEX_WINDOWS_1255,
	INDEX_WINDOWS_1256,
	INDEX_WINDOWS_1257,
	INDEX_WINDOWS_1258,
	INDEX_X_MAC_CYRILLIC,
	INDEX_X_USER_DEFINED,
	CHARSET_INDEXES,
};

/* Packed: differences of the points that follow each other, in letters from blank to tilde without
 * " \ and ?, of which there are 92. The first letter of a code says what it is:
 *     12 letters   1 to 12 points, each one more than the one before
 *     32           one point, 2 to 33 more
 *     31, and one  one point, up to 1426 less or 1425 more
 *      1, and one  1 to 92 pointers that stand for nothing
 *     16, and two  one point: of plane 0 (8 of the 16), of plane 2
 * A point before the first counts as 0; what is missing at the end stands for nothing. */
struct charset_index {
	const char *packed;
	uint32_t n; /* pointers */
};
extern const struct charset_index charset_indexes[CHARSET_INDEXES];
extern const char packed_big5[], packed_gb18030[];

/* gb18030 in four bytes: from this pointer on, points from this one on. */
struct charset_range {
	uint32_t pointer, point;
};
enum { CHARSET_RANGES = 207, CHARSET_KATAKANA = 63 };
extern const struct charset_range charset_ranges[CHARSET_RANGES];
/* What iso-2022-jp writes for U+FF61 to U+FF9F. */
extern const uint16_t charset_katakana[CHARSET_KATAKANA];
