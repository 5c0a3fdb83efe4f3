/* Writes HTML into a buffer. Text and values of attributes are always escaped, elements are closed
 * in their order, and there is no way to write anything else: no raw text, no script but files of
 * our own, no style, no handlers, no addresses that run. Bytes that are not UTF-8 become U+FFFD.
 * Names of elements and attributes are our own literals. */
#pragma once
#include "base/buf.h"

enum { HTML_DEPTH = 32 };

struct html {
	struct buf *out;
	const char *open[HTML_DEPTH];
	unsigned depth;
	bool in_tag; /* the last tag still takes attributes */
};

#define HTML_INIT(buffer) ((struct html){.out = (buffer)})

/* A page in English and its head, in which the charset is said. */
void html_begin(struct html *h);
/* Opens an element, also a void one, which has no end. Names and values of attributes may follow;
 * one whose value is NULL is left out:
 *	html_open(h, "input", "type", "checkbox", "checked", on ? "checked" : NULL); */
#define html_open(h, ...) html_open_with(h, __VA_ARGS__, NULL)
void html_open_with(struct html *h, const char *element, ...) __attribute__((sentinel));
/* For the tag that was opened last. An address (href, src, action) with a scheme other than http,
 * https, ftp and mailto becomes "about:invalid". */
void html_attr(struct html *h, const char *name, struct str value);
void html_attr_text(struct html *h, const char *name, const char *value);
void html_str(struct html *h, struct str text);
void html_text(struct html *h, const char *text);
void html_printf(struct html *h, const char *fmt, ...) PRINTF_LIKE(2, 3);
void html_close(struct html *h,
		const char *element); /* the one that is open; says it, for readers */

/* A script of our own server, which runs when the page is there. path: our own literal. */
void html_script(struct html *h, const char *path);

/* An element that holds only text; attributes may follow, as for html_open(). */
#define html_put(h, element, ...) html_put_with(h, element, __VA_ARGS__, NULL)
#define html_put_text(h, element, ...) html_put_text_with(h, element, __VA_ARGS__, NULL)
void html_put_with(struct html *h, const char *element, struct str text, ...)
	__attribute__((sentinel));
void html_put_text_with(struct html *h, const char *element, const char *text, ...)
	__attribute__((sentinel));
/* A link; rel NULL: none. */
void html_link(struct html *h, struct str href, const char *rel, struct str text);
