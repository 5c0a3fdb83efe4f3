/* Links of pages that are not UTF-8: a browser sends the characters of a query in the charset of
 * the page, and so do we, or the server would be asked for something else. The encoders are those
 * of the Encoding Standard; url_parse() escapes their bytes as they are. */
#include "extract/charset_inner.h"

struct encoding {
	struct charset *c;
	const struct charset_def *def;
	struct buf *out;
	enum { IN_ASCII, IN_ROMAN, IN_KANJI } shift; /* of iso-2022-jp */
};

/* A number sign that is part of a character must not end the query. */
static void put_pair(struct encoding *e, uint32_t lead, uint32_t trail)
{
	const char bytes[2] = {(char)lead, (char)trail};
	for (size_t i = 0; i < 2; i++) {
		if (bytes[i] == '#')
			buf_add_str(e->out, STR("%23"));
		else
			buf_add_byte(e->out, bytes[i]);
	}
}

static void put_missing(struct encoding *e, uint32_t point)
{
	buf_printf(e->out, "%%26%%23%u%%3B", point);
}

/* A pointer as lead byte and trail byte; trail bytes from 0x40 on leave some out after 0x7e. */
static void put_pointer(struct encoding *e, int pointer, unsigned width, unsigned lead,
			unsigned offset)
{
	unsigned row = (unsigned)pointer / width, cell = (unsigned)pointer % width;
	put_pair(e, row + lead, cell + (cell < 0x3f ? 0x40 : offset));
}

static bool is_half_katakana(uint32_t point)
{
	return point >= 0xff61 && point <= 0xff9f;
}

/* 0: done; 1: the encoding does not have it. */
typedef int encode_fn(struct encoding *e, uint32_t point);

static int encode_single(struct encoding *e, uint32_t point)
{
	int pointer = charset_pointer(e->c, e->def, point);
	if (pointer < 0)
		return 1;
	buf_add_byte(e->out, (char)(0x80 + pointer));
	return 0;
}

static int encode_big5(struct encoding *e, uint32_t point)
{
	int pointer = charset_pointer(e->c, e->def, point);
	if (pointer < 0)
		return 1;
	put_pointer(e, pointer, 157, 0x81, 0x62);
	return 0;
}

static int encode_euc_kr(struct encoding *e, uint32_t point)
{
	int pointer = charset_pointer(e->c, e->def, point);
	if (pointer < 0)
		return 1;
	put_pair(e, (unsigned)pointer / 190 + 0x81, (unsigned)pointer % 190 + 0x41);
	return 0;
}

/* The pointer in JIS X 0208, where there is no minus sign of its own. */
static int pointer_jp(struct encoding *e, uint32_t point)
{
	return charset_pointer(e->c, e->def, point == 0x2212 ? 0xff0d : point);
}

/* Yen and overline are where ASCII has backslash and tilde. */
static int encode_roman(struct encoding *e, uint32_t point)
{
	if (point != 0xa5 && point != 0x203e)
		return 1;
	buf_add_byte(e->out, point == 0xa5 ? '\\' : '~');
	return 0;
}

static int encode_euc_jp(struct encoding *e, uint32_t point)
{
	if (encode_roman(e, point) == 0)
		return 0;
	if (is_half_katakana(point)) {
		put_pair(e, 0x8e, point - 0xff61 + 0xa1);
		return 0;
	}
	int pointer = pointer_jp(e, point);
	if (pointer < 0)
		return 1;
	put_pair(e, (unsigned)pointer / 94 + 0xa1, (unsigned)pointer % 94 + 0xa1);
	return 0;
}

static int encode_shift_jis(struct encoding *e, uint32_t point)
{
	if (encode_roman(e, point) == 0)
		return 0;
	if (is_half_katakana(point) || point == 0x80) {
		buf_add_byte(e->out, (char)(point == 0x80 ? point : point - 0xff61 + 0xa1));
		return 0;
	}
	int pointer = pointer_jp(e, point);
	if (pointer < 0)
		return 1;
	put_pointer(e, pointer, 188, pointer / 188 < 0x1f ? 0x81 : 0xc1, 0x41);
	return 0;
}

static void shift_to(struct encoding *e, int shift)
{
	static const char *const escapes[] = {
		[IN_ASCII] = "\x1b(B", [IN_ROMAN] = "\x1b(J", [IN_KANJI] = "\x1b$B"};
	if ((int)e->shift != shift)
		buf_add_text(e->out, escapes[shift]);
	e->shift = shift;
}

static int encode_iso_2022_jp(struct encoding *e, uint32_t point)
{
	if (point == 0xa5 || point == 0x203e) {
		shift_to(e, IN_ROMAN);
		return encode_roman(e, point);
	}
	if (is_half_katakana(point))
		point = charset_katakana[point - 0xff61];
	int pointer = pointer_jp(e, point);
	if (pointer < 0) {
		if (e->shift == IN_KANJI)
			shift_to(e, IN_ASCII);
		return 1;
	}
	shift_to(e, IN_KANJI);
	put_pair(e, (unsigned)pointer / 94 + 0x21, (unsigned)pointer % 94 + 0x21);
	return 0;
}

static void put_four(struct encoding *e, uint32_t point)
{
	const struct charset_range *r = charset_range(point, true);
	uint32_t pointer = point == 0xe7c7 ? 7457 : r->pointer + (point - r->point);
	put_pair(e, pointer / 12600 + 0x81, pointer / 1260 % 10 + '0');
	put_pair(e, pointer / 10 % 126 + 0x81, pointer % 10 + '0');
}

/* gbk has the euro in one byte, as decoders do, and nothing in four. */
static int encode_gb18030(struct encoding *e, uint32_t point)
{
	bool gbk = str_is(str_of(e->def->name), "gbk");
	if (point == 0xe5e5)
		return 1;
	if (gbk && point == 0x20ac) {
		buf_add_byte(e->out, (char)0x80);
		return 0;
	}
	int pointer = charset_pointer(e->c, e->def, point);
	if (pointer >= 0)
		put_pointer(e, pointer, 190, 0x81, 0x41);
	else if (gbk)
		return 1;
	else
		put_four(e, point);
	return 0;
}

/* Of characters that are not ASCII. NULL: links are written in UTF-8. */
static encode_fn *const encoders[CHARSET_KINDS] = {
	[CHARSET_SINGLE] = encode_single,       [CHARSET_BIG5] = encode_big5,
	[CHARSET_EUC_JP] = encode_euc_jp,       [CHARSET_EUC_KR] = encode_euc_kr,
	[CHARSET_GB18030] = encode_gb18030,     [CHARSET_ISO_2022_JP] = encode_iso_2022_jp,
	[CHARSET_SHIFT_JIS] = encode_shift_jis,
};

/* ASCII stands for itself, except that nobody may shift but the encoder. */
static void put_ascii_char(struct encoding *e, char c)
{
	bool jp = e->def->kind == CHARSET_ISO_2022_JP;
	if (c == '\t' || c == '\n' || c == '\r') /* no part of a URL */
		return;
	if (e->shift == IN_KANJI || (e->shift == IN_ROMAN && (c == '\\' || c == '~')))
		shift_to(e, IN_ASCII);
	if (jp && (c == 0x0e || c == 0x0f || c == 0x1b))
		put_missing(e, 0xfffd);
	else
		buf_add_byte(e->out, c);
}

/* The character at the start of some UTF-8; U+FFFD: there is none. */
static uint32_t utf8_point(struct str s, size_t *ret_n)
{
	static const uint8_t mask[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	size_t n = str_utf8_char(s);
	*ret_n = n ? n : 1;
	if (n == 0)
		return 0xfffd;
	uint32_t point = (unsigned char)s.p[0] & mask[n];
	for (size_t i = 1; i < n; i++)
		point = point << 6 | ((unsigned char)s.p[i] & 0x3f);
	return point;
}

static void put_query(struct encoding *e, struct str query)
{
	for (size_t at = 0, n; at < query.n && !e->out->over; at += n) {
		uint32_t point = utf8_point(str_from(query, at), &n);
		if (point < 0x80)
			put_ascii_char(e, (char)point);
		else if (encoders[e->def->kind](e, point) != 0)
			put_missing(e, point);
	}
	shift_to(e, IN_ASCII);
}

/* ASCII without control characters is the same in all. */
static bool is_plain(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || (unsigned char)s.p[i] >= 0x80)
			return false;
	return true;
}

struct str charset_link(const struct charset_pieces *it, struct str text, struct buf *room)
{
	if (!encoders[it->def->kind])
		return text;
	size_t end = str_find_byte(text, '#');
	size_t from = str_find_byte(str_head(text, end), '?');
	struct str query = str_head(str_from(text, from), end - from);
	if (is_plain(query))
		return text;
	struct encoding e = {.c = it->c, .def = it->def, .out = room};
	buf_clear(room);
	buf_add_str(room, str_head(text, from));
	put_query(&e, query);
	buf_add_str(room, str_from(text, end));
	return room->over ? (struct str){0} : buf_str(room);
}
