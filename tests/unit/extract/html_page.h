/* Pages in a table: the bytes, and the attributes that come of them, a line each. In those `~` is
 * the site of the page, http://h.example, and `/` a LF in the text.
 */
#pragma once
#include "unit/unit.h"

#include "extract/readers_inner.h"

enum { PAGE_MEMORY = 1 << 20 };

struct page {
	struct str in;
	const char *want;
	bool noscript, no_url, xhtml;
	const char *charset; /* NULL: UTF-8 */
};

#define P(html, lines)                          \
	{                                       \
		{html, sizeof(html) - 1}, lines \
	}
#define NOSCRIPT(html, lines)                                     \
	{                                                         \
		{html, sizeof(html) - 1}, lines, .noscript = true \
	}
#define NO_URL(html, lines)                                     \
	{                                                       \
		{html, sizeof(html) - 1}, lines, .no_url = true \
	}
#define XHTML(html, lines)                                     \
	{                                                      \
		{html, sizeof(html) - 1}, lines, .xhtml = true \
	}
#define IN(name, html, lines)                                    \
	{                                                        \
		{html, sizeof(html) - 1}, lines, .charset = name \
	}

/* The lines of a list. */
static inline void print_attrs(struct buf *b, const struct out *out)
{
	const struct str site = STR("http://h.example");
	for (size_t i = 0; i < out->n; i++) {
		struct str value = out->attr[i].value;
		size_t at = str_find(value, site);
		buf_add_byte(b, out->attr[i].name);
		buf_add_str(b, str_head(value, at));
		if (at < value.n) {
			buf_add_byte(b, '~');
			buf_add_str(b, str_from(value, at + site.n));
		}
		buf_add_byte(b, '\n');
	}
}

static inline void read_page(const struct page *p, struct charset *charset, void *memory,
			     struct out *ret_out, struct extract_result *ret)
{
	const struct extract_job job = {
		.url = p->no_url ? STR("") : STR("http://h.example/d/p.html"),
		.content_type = p->xhtml ? STR("application/xhtml+xml") : STR("text/html"),
		.body = p->in,
		.settings = {.noscript = p->noscript},
	};
	const struct charset_choice choice = {p->charset ? p->charset : "utf-8", CHARSET_BY_HEADER,
					      0};
	struct charset_pieces in;
	*ret = (struct extract_result){0};
	out_begin(ret_out, memory, PAGE_MEMORY, 0);
	charset_begin(&in, charset, p->in, &choice);
	extract_html(&job, &in, ret_out, ret);
	for (size_t i = 0; i < ret_out->text_n; i++)
		if (ret_out->text[i] == '\n')
			ret_out->text[i] = '/';
	out_end(ret_out);
}

static inline void check_pages(const struct page *pages, size_t n)
{
	struct charset *charset = charset_new();
	void *memory = mem_alloc(PAGE_MEMORY);
	struct buf got = BUF_INIT(PAGE_MEMORY);
	for (size_t i = 0; i < n; i++) {
		struct out out;
		struct extract_result ret;
		read_page(&pages[i], charset, memory, &out, &ret);
		buf_clear(&got);
		print_attrs(&got, &out);
		if (strcmp(buf_text(&got), pages[i].want) != 0)
			fail_msg("page %zu: %s: got\n%swant\n%s", i, pages[i].in.p, buf_text(&got),
				 pages[i].want);
	}
	buf_free(&got);
	mem_free(&memory);
	charset_free(&charset);
}
