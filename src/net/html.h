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
void html_open(struct html *h, const char *element); /* also of void ones, which have no end */
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

/* An element with nothing but text in it. */
void html_put(struct html *h, const char *element, struct str text);
void html_put_text(struct html *h, const char *element, const char *text);
