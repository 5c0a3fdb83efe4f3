/* Pages of HTML: what comes out has the forms that doc/formats/attributes.md promises, in any room,
 * and does not depend on where in memory blocks end. The first two bytes choose settings and room.
 */
#include "extract/readers_inner.h"
#include "url/url.h"

enum { ROOM = 1 << 18, BLOCK = 32 << 10 };

static void read_page(struct charset *charset, struct str body, unsigned how, size_t room,
		      void *memory, struct out *ret)
{
	const struct extract_job job = {
		.url = how & 1 ? STR("") : STR("http://h.example/d/p.html?q"),
		.content_type = how & 2 ? STR("application/xhtml+xml") : STR("text/html"),
		.body = body,
		.settings = {.noscript = (how & 4) != 0},
	};
	const struct charset_choice utf8 = {"utf-8", CHARSET_BY_HEADER, 0};
	struct extract_result result = {0};
	struct charset_pieces in;
	out_begin(ret, memory, room, how & 8 ? 3 : 0);
	charset_begin(&in, charset, body, &utf8);
	extract_html(&job, &in, ret, &result);
}

/* One blank or LF between words, none at the ends. */
static void check_text(struct str text)
{
	ENSURE(str_utf8(text));
	for (size_t i = 0; i < text.n; i++) {
		bool white = (unsigned char)text.p[i] <= ' ';
		ENSURE(!white || text.p[i] == ' ' || text.p[i] == '\n');
		ENSURE(!white || (i > 0 && (unsigned char)text.p[i - 1] > ' '));
	}
}

static void check_value(char name, struct str value)
{
	struct doc_meta meta;
	struct doc_link link;
	struct url url;
	char room[URL_MAX];
	ENSURE(value.n && value.n <= OUT_VALUE_MAX && str_utf8(value));
	if (name == 'X')
		return;
	check_text(value);
	if (name == 'M') {
		ENSURE(meta_parse(value, &meta) && meta.text.n);
		return;
	}
	ENSURE(link_parse(name, value, &link));
	ENSURE(url_parse(link.url, NULL, room, sizeof room, &url) == 0);
	ENSURE(str_eq(url.href, link.url));
}

static void check(struct out *out)
{
	struct str text = {out->text, out->text_n};
	ENSURE(out->text_n <= out->text_max && out->side_n <= out->side_max);
	ENSURE(out->links <= out->links_max);
	/* a cut text may end in a blank */
	if (text.n && (out->flags & OUT_TEXT_CUT) && (unsigned char)text.p[text.n - 1] <= ' ')
		text.n--;
	check_text(text);
	ENSURE(text.n == 0 || (unsigned char)text.p[text.n - 1] > ' ');
	out_end(out);
	for (size_t i = 0; i < out->n; i++)
		check_value(out->attr[i].name, out->attr[i].value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > BLOCK / 2)
		return 0;
	struct str body = {(const char *)data + 2, size - 2};
	struct charset *charset = charset_new();
	char *memory = mem_alloc(ROOM), *other = mem_alloc(ROOM), *moved = mem_alloc(BLOCK + size);
	struct out out, again;
	/* in a room of any size, then where there is enough */
	read_page(charset, body, data[0], 64 + 8 * (size_t)data[1], memory, &out);
	check(&out);
	read_page(charset, body, data[0], ROOM, memory, &out);
	check(&out);
	/* after a comment, so that a block of the tokenizer ends somewhere in the document */
	size_t pad = BLOCK - body.n * data[1] / 256;
	memset(moved, '-', pad);
	memcpy(moved, "<!--", 4);
	moved[pad - 1] = '>';
	if (body.n)
		memcpy(moved + pad, body.p, body.n);
	read_page(charset, (struct str){moved, pad + body.n}, data[0], ROOM, other, &again);
	check(&again);
	ENSURE(again.n == out.n && again.text_n == out.text_n);
	for (size_t i = 0; i < out.n; i++)
		ENSURE(str_eq(out.attr[i].value, again.attr[i].value));
	charset_free(&charset);
	mem_free(&memory);
	mem_free(&other);
	mem_free(&moved);
	return 0;
}
