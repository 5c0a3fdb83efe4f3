/* The lines that a spider sends to its URL server (document 003; doc/protocols/spider.md):
 *	TRANS_ID ' ' 'DONE'	TRANS_ID ' ' 'WORKING'
 * and, where both sides have status words, TRANS_ID ' ' 'DONE' ' ' OUTCOME. From a foreign process:
 * anything may come. */
#pragma once
#include "base/str.h"

enum { SPIDER_LINE_MAX = 8192 };

/* Why a line says nothing. */
enum spider_wrong {
	SPIDER_FINE,
	SPIDER_NO_TRANS, /* the first word is none that a URL server sends */
	SPIDER_NO_WORD,  /* the rest is not one of those above */
};

struct spider_status {
	uint32_t slot, turn; /* the TRANS_ID */
	bool done;           /* else it is being worked on */
	unsigned outcome;    /* as docindex_wire.h has them; DOCINDEX_DONE: not said */
};

/* words: whether an outcome may follow. */
enum spider_wrong spider_status_read(struct str line, bool words,
				     struct spider_status *ret) MUST_USE;
