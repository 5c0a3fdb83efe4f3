/* Looking at pages: what stands in the HTML that a function wrote. */
#pragma once
#include "../unit.h"
#include "base/buf.h"
#include "net/html.h"

static struct buf page = BUF_INIT(1 << 20);
static struct html html;

static inline struct html *page_new(void)
{
	buf_clear(&page);
	html = HTML_INIT(&page);
	return &html;
}

/* How often a piece stands in it. */
static inline size_t page_count(const char *piece)
{
	struct str rest = buf_str(&page), wanted = str_of(piece);
	size_t n = 0;
	for (size_t at; (at = str_find(rest, wanted)) < rest.n; n++)
		rest = str_from(rest, at + wanted.n);
	return n;
}

#define assert_page_has(piece)                                                                 \
	do {                                                                                   \
		if (page_count(piece) == 0)                                                    \
			fail_msg("not in the page: %s\nthe page: %s", piece, buf_text(&page)); \
	} while (0)
#define assert_page_lacks(piece)                                                           \
	do {                                                                               \
		if (page_count(piece) != 0)                                                \
			fail_msg("in the page: %s\nthe page: %s", piece, buf_text(&page)); \
	} while (0)
