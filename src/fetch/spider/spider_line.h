/* The line that a URL server sends to a spider (document 003; doc/protocols/spider.md):
 *	TRANS_ID ' ' DOC_ID ' ' HOST_IP ' ' URL
 * From a foreign process: anything may come. Pure. */
#pragma once
#include "base/str.h"
#include "net/addr.h"

/* Slices of the line. */
struct spider_line {
	struct str trans;  /* as docindex_is_word() has it */
	struct str doc;    /* the same; empty where there is none that could be one */
	struct str url;    /* what is left of the line; empty: there is none */
	struct addr addr;  /* without a port; family 0: none */
	const char *wrong; /* why it cannot be fetched, in words that last; NULL: it can, if url is
			      a URL */
};

/* false: no TRANS_ID, so nobody can be answered. */
bool spider_line_read(struct str line, struct spider_line *ret) MUST_USE;
