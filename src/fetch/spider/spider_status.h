/* The lines that a spider sends to its URL server (document 003; doc/protocols/spider.md):
 *	TRANS_ID ' ' 'DONE'	TRANS_ID ' ' 'WORKING'
 * and, where both sides have status words, TRANS_ID ' ' 'DONE' ' ' OUTCOME. From a foreign process:
 * anything may come. */
#pragma once
#include "base/str.h"

enum { SPIDER_LINE_MAX = 8192 };

struct spider_status {
	uint32_t slot, turn; /* the TRANS_ID */
	bool done;           /* else it is being worked on */
	unsigned outcome;    /* as docindex_wire.h has them; DOCINDEX_DONE: not said */
};

/* words: whether an outcome may follow. false: the line says none of that. */
bool spider_status_read(struct str line, bool words, struct spider_status *ret) MUST_USE;
