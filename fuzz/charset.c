/* Charsets: the first byte chooses one, or that it is to be guessed; the rest is the document, and
 * its text is a link of a page in that charset. */
#include "base/buf.h"
#include "extract/charset_inner.h"
#include "url/url.h"

struct piece {
	size_t at;
	size_t n;
};
enum { PIECES_MAX = 4096 };

/* The whole document; where the pieces began, and how long they were. */
static size_t decode(struct charset *c, struct str body, const char *name, struct buf *out,
		     struct piece *pieces)
{
	struct charset_choice choice = {.name = name};
	struct charset_pieces it;
	struct str piece;
	size_t n = 0;
	charset_begin(&it, c, body, &choice);
	while (charset_next(&it, &piece) == 0) {
		ENSURE(piece.n > 0 && piece.n <= CHARSET_PIECE && str_utf8(piece));
		ENSURE(it.at < body.n && (n == 0 || it.at > pieces[n - 1].at) && n < PIECES_MAX);
		pieces[n++] = (struct piece){it.at, piece.n};
		buf_add_str(out, piece);
	}
	return n;
}

/* Each piece again, from its own bytes alone. */
static void check_positions(struct charset *c, struct str body, const struct charset_def *def,
			    const struct buf *whole, const struct piece *pieces, size_t n)
{
	static struct piece again_pieces[PIECES_MAX];
	struct buf again = BUF_INIT(64 << 20);
	size_t from = 0;
	for (size_t i = 0; i < n; i++) {
		size_t end = i + 1 < n ? pieces[i + 1].at : body.n;
		struct str part = str_head(str_from(body, pieces[i].at), end - pieces[i].at);
		buf_clear(&again);
		decode(c, part, def->name, &again, again_pieces);
		ENSURE(again.n == pieces[i].n && memcmp(again.p, whole->p + from, again.n) == 0);
		from += pieces[i].n;
	}
	buf_free(&again);
}

/* A query that was encoded, and is decoded, is encoded as it was; iso-2022-jp escapes parts of
 * characters. What is before and after it does not change. */
static void check_link(struct charset *c, const struct charset_def *def, struct str text)
{
	static struct piece pieces[PIECES_MAX];
	struct buf again = BUF_INIT(1 << 20),
		   room[2] = {BUF_INIT(URL_TEXT_MAX), BUF_INIT(URL_TEXT_MAX)};
	struct charset_pieces it;
	charset_begin(&it, c, STR(""), &(struct charset_choice){.name = def->name});
	size_t from = str_find_byte(str_head(text, str_find_byte(text, '#')), '?');
	struct str once = charset_link(&it, text, &room[0]);
	struct str query = str_from(once, from);
	query = str_head(query, str_find_byte(query, '#'));
	if (once.p) {
		ENSURE(str_eq(str_head(once, from), str_head(text, from)));
		ENSURE(str_eq(str_from(once, from + query.n),
			      str_from(text, str_find_byte(text, '#'))));
	}
	if (once.p && once.p != text.p && def->kind != CHARSET_ISO_2022_JP) {
		decode(c, query, def->name, &again, pieces);
		struct str twice = charset_link(&it, buf_str(&again), &room[1]);
		ENSURE(str_eq(twice, query));
	}
	buf_free(&again);
	buf_free(&room[0]);
	buf_free(&room[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct charset *c;
	static struct piece pieces[PIECES_MAX];
	struct buf out = BUF_INIT(64 << 20);
	if (!c)
		c = charset_new();
	if (size == 0)
		return 0;
	struct str body = {(const char *)data + 1, size - 1};
	ENSURE((charset_valid(body) == body.n) == str_utf8(body));
	ENSURE(str_utf8(str_head(body, charset_valid(body))));
	const char *declared = charset_prescan_html(body);
	ENSURE(!declared || charset_by_label(str_of(declared)));
	(void)charset_prescan_xml(body);
	(void)charset_in_content_type(body);
	if (data[0] >= CHARSET_DEFS) {
		struct charset_choice choice = charset_choose(c, body, STR(""), declared, STR(""));
		ENSURE(str_is(str_of(charset_by_label(str_of(choice.name))), choice.name));
		decode(c, body, choice.name, &out, pieces);
	} else {
		const struct charset_def *def = &charset_defs[data[0]];
		size_t n = decode(c, body, def->name, &out, pieces);
		if (def->kind != CHARSET_ISO_2022_JP)
			check_positions(c, body, def, &out, pieces, n);
		if (def->kind == CHARSET_UTF8 && str_utf8(body))
			ENSURE(str_eq(buf_str(&out), body));
		check_link(c, def, str_head(body, URL_TEXT_MAX));
		check_link(c, def, str_head(buf_str(&out), URL_TEXT_MAX));
	}
	buf_free(&out);
	return 0;
}
