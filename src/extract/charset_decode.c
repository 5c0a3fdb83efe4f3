/* The document in UTF-8, piece by piece. Each decoder writes into the room of one piece and takes
 * as many bytes of the document as fit. */
#include "extract/charset_inner.h"

#include <errno.h>

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

static void put_point(struct room *r, uint32_t c)
{
	if (c < 0x80) {
		*r->p++ = (char)c;
	} else if (c < 0x800) {
		*r->p++ = (char)(0xc0 | c >> 6);
		*r->p++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*r->p++ = (char)(0xe0 | c >> 12);
		*r->p++ = (char)(0x80 | (c >> 6 & 0x3f));
		*r->p++ = (char)(0x80 | (c & 0x3f));
	} else {
		*r->p++ = (char)(0xf0 | c >> 18);
		*r->p++ = (char)(0x80 | (c >> 12 & 0x3f));
		*r->p++ = (char)(0x80 | (c >> 6 & 0x3f));
		*r->p++ = (char)(0x80 | (c & 0x3f));
	}
}

/* Bytes that are ASCII in both, as many as fit. */
static size_t put_ascii(struct room *r, const char *p, size_t n)
{
	n = charset_ascii((const unsigned char *)p, MIN(n, (size_t)(r->end - r->p)));
	memcpy(r->p, p, n);
	r->p += n;
	return n;
}

static void decode_table(struct charset_pieces *it, struct room *r)
{
	const struct charset_loaded *l = it->decoder;
	const char *p = it->rest.p, *end = p + it->rest.n;
	while (p < end && r->end - r->p >= 3) {
		p += put_ascii(r, p, (size_t)(end - p));
		while (p < end && r->end - r->p >= 3 && (unsigned char)*p >= 0x80) {
			unsigned i = (unsigned char)*p++ - 0x80u;
			unsigned char n = l->table->high[i].n;
			memcpy(r->p, l->table->high[i].b, 3);
			r->p += n;
			it->bad += n == 3 && memcmp(l->table->high[i].b, replacement, 3) == 0;
		}
	}
	it->rest = str_from(it->rest, (size_t)(p - it->rest.p));
}

static void decode_iconv(struct charset_pieces *it, struct room *r)
{
	const struct charset_loaded *l = it->decoder;
	while (it->rest.n && r->end - r->p >= 16) {
		char *in = (char *)it->rest.p, *out = r->p;
		size_t in_n = it->rest.n, out_n = (size_t)(r->end - r->p) - 8;
		size_t rc = iconv(l->cd, &in, &in_n, &out, &out_n);
		int why = errno;
		it->rest = str_from(it->rest, (size_t)(in - it->rest.p));
		r->p = out;
		if (rc != (size_t)-1) {
			size_t held_n = (size_t)(r->end - r->p);
			(void)iconv(l->cd, NULL, NULL, &r->p, &held_n); /* what it held back */
			continue;
		}
		if (why == E2BIG)
			return;
		/* a byte that nothing begins with, or a character that the end cuts off */
		put_bad(it, r);
		it->rest = str_from(it->rest, why == EINVAL ? it->rest.n : 1);
		if (why == EINVAL)
			(void)iconv(l->cd, NULL, NULL, NULL, NULL);
	}
}

static uint32_t unit_at(const struct charset_pieces *it, size_t at, bool big)
{
	const unsigned char *p = (const unsigned char *)it->rest.p + at;
	return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static void decode_utf16(struct charset_pieces *it, struct room *r, bool big)
{
	while (it->rest.n && r->end - r->p >= 4) {
		size_t used = MIN(it->rest.n, 2u);
		uint32_t c = used == 2 ? unit_at(it, 0, big) : 0xdc00;
		if (c >= 0xd800 && c < 0xdc00 && it->rest.n >= 4) {
			uint32_t low = unit_at(it, 2, big);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				used = 4;
			}
		}
		if (c >= 0xd800 && c < 0xe000)
			put_bad(it, r);
		else
			put_point(r, c);
		it->rest = str_from(it->rest, used);
	}
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

void charset_begin(struct charset_pieces *it, struct charset *c, struct str body,
		   const struct charset_choice *choice)
{
	struct err err;
	const struct charset_def *def = charset_def(str_of(choice->name));
	*it = (struct charset_pieces){.c = c, .body = body.p, .rest = str_from(body, choice->bom)};
	if (!def || def->kind == CHARSET_UTF8 || charset_load(c, def, &err) < 0)
		return; /* what iconv cannot read has its ASCII at least */
	it->kind = (int)def->kind;
	it->decoder = &c->loaded[def - charset_defs];
	if (def->kind == CHARSET_ICONV)
		(void)iconv(c->loaded[def - charset_defs].cd, NULL, NULL, NULL, NULL);
}

int charset_next(struct charset_pieces *it, struct str *ret)
{
	struct room r = {it->c->piece, it->c->piece + sizeof it->c->piece};
	while (it->rest.n) {
		it->at = (size_t)(it->rest.p - it->body);
		if (!it->decoder) {
			*ret = utf8_piece(it, &r);
			return 0;
		}
		switch ((enum charset_kind)it->kind) {
		case CHARSET_TABLE:
			decode_table(it, &r);
			break;
		case CHARSET_UTF16LE:
		case CHARSET_UTF16BE:
			decode_utf16(it, &r, it->kind == CHARSET_UTF16BE);
			break;
		default:
			decode_iconv(it, &r);
		}
		*ret = str_range(it->c->piece, r.p);
		if (ret->n) /* bytes that only shift give nothing */
			return 0;
	}
	return 1;
}
