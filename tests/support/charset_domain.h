/* All that the decoders and encoders of a charset can be given, for unit/extract/charset_tables.c
 * and for charset_text.c, with which prove/charset.py asks a browser the same. */
#pragma once
#include "base/buf.h"
#include "extract/charset_inner.h"
#include "url/url.h"

enum {
	DOMAIN_MAX = 64 << 20,
	DOMAIN_RANDOM = 128 << 10, /* random bytes */
	DOMAIN_LINK = 64,          /* points in a link */
};

static inline void domain_pairs(struct buf *out, struct str before, struct str after)
{
	for (unsigned pair = 0; pair < 0x10000; pair++) {
		buf_add_str(out, before);
		buf_add_byte(out, (char)(pair >> 8));
		buf_add_byte(out, (char)pair);
		buf_add_str(out, after);
	}
}

/* gb18030 in four bytes. */
static inline void domain_fours(struct buf *out)
{
	for (unsigned i = 0; i < 126 * 10 * 126 * 10; i++) {
		buf_add_byte(out, (char)(0x81 + i / 12600));
		buf_add_byte(out, (char)('0' + i / 1260 % 10));
		buf_add_byte(out, (char)(0x81 + i / 10 % 126));
		buf_add_byte(out, (char)('0' + i % 10));
	}
}

/* Every second byte is one of those that mean something special somewhere. */
static inline void domain_random(struct buf *out)
{
	static const unsigned char special[] = {
		0x1b, '$',  '(',  'B',  'J',  'I',  '@',  0x81, 0x8e, 0x8f, 0xa0, 0xa1,
		0xfe, 0xff, 0x80, '0',  '9',  '\n', '"',  '<',  0x7f, 0x0e, 0xd8, 0xdc,
		0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xfc, 0xbf, 0xc2, 0x84, 0x31, 0xa4, 0x00};
	uint64_t x = 1;
	for (size_t i = 0; i < DOMAIN_RANDOM; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		unsigned char byte = (unsigned char)(x >> 56);
		bool odd = x >> 40 & 1;
		buf_add_byte(out, (char)(odd ? special[byte % sizeof special] : byte));
	}
}

/* Every byte or every two, each before ASCII; more where a charset has more. */
static inline void domain_bytes(const struct charset_def *def, struct buf *out)
{
	switch (def->kind) {
	case CHARSET_SINGLE:
		for (unsigned i = 0; i < 0x100; i++)
			buf_add_byte(out, (char)i);
		break;
	case CHARSET_ISO_2022_JP:
		domain_pairs(out, STR("\x1b(B"), STR("\n"));
		domain_pairs(out, STR("\x1b(J"), STR("\x1b(B\n"));
		domain_pairs(out, STR("\x1b(I"), STR("\x1b(B\n"));
		domain_pairs(out, STR("\x1b$B"), STR("\x1b(B\n"));
		break;
	case CHARSET_UTF16LE:
	case CHARSET_UTF16BE:
		domain_pairs(out, STR(""), STR(""));
		break;
	default:
		domain_pairs(out, STR(""), STR("\n"));
	}
	if (def->kind == CHARSET_EUC_JP)
		domain_pairs(out, STR("\x8f"), STR("\n"));
	if (str_is(str_of(def->name), "gb18030"))
		domain_fours(out);
}

/* Points that this charset might have: of one byte a character few can be. */
static inline bool domain_has_point(const struct charset_def *def, uint32_t point)
{
	if (point >= 0xd800 && point < 0xe000)
		return false;
	if (def->kind == CHARSET_SINGLE)
		return point < 0x2600 || (point >= 0xf780 && point < 0x10010);
	return point < 0x10010 || point >= 0x1fff0;
}

/* Links, a line each, with every point in their queries and some ASCII among them. */
static inline void domain_links(const struct charset_def *def, struct buf *out)
{
	size_t n = 0;
	char text[4];
	for (uint32_t point = 0x80; point < CHARSET_POINTS; point++) {
		if (!domain_has_point(def, point))
			continue;
		if (n % DOMAIN_LINK == 0)
			buf_add_str(out, n ? STR("\n?") : STR("?"));
		buf_add_str(out, (struct str){text, charset_encode(point, text)});
		if (n % 4 == 3)
			buf_add_byte(out, "a~\\'"[n / 4 % 4]);
		n++;
	}
	buf_add_byte(out, '\n');
}

/* Bytes in UTF-8; returns how many meant nothing. */
static inline uint64_t domain_decode(struct charset *c, const struct charset_def *def,
				     struct str bytes, struct buf *out)
{
	struct charset_pieces it;
	struct str piece;
	charset_begin(&it, c, bytes, &(struct charset_choice){.name = def->name});
	while (charset_next(&it, &piece) == 0)
		buf_add_str(out, piece);
	return it.bad;
}

/* The queries of links as they are sent, a line each. */
static inline void domain_encode(struct charset *c, const struct charset_def *def, struct str links,
				 struct buf *out)
{
	static char url_room[URL_MAX], base_room[URL_MAX];
	CLEANUP(buf_free) struct buf room = BUF_INIT(URL_TEXT_MAX);
	struct charset_pieces it;
	struct url base, u;
	struct str link;
	charset_begin(&it, c, STR(""), &(struct charset_choice){.name = def->name});
	ENSURE(url_parse(STR("http://h/"), NULL, base_room, sizeof base_room, &base) == 0);
	while (str_cut(&links, '\n', &link) == 0) {
		if (link.n == 0)
			continue;
		link = charset_link(&it, link, &room);
		ENSURE(link.p && url_parse(link, &base, url_room, sizeof url_room, &u) == 0);
		buf_add_str(out, u.query);
		buf_add_byte(out, '\n');
	}
}
