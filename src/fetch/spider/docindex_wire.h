/* What a doc index answers to a URL server, line by line, and the words that both use;
 * doc/protocols/docindex.md has the whole protocol. docindex_remote.c sends and receives. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "fetch/outcome.h"

enum {
	DOCINDEX_LINE_MAX = 8192,                   /* bytes, without the LF */
	DOCINDEX_WORD_MAX = 64,                     /* NAME, DOC_ID */
	DOCINDEX_URL_MAX = DOCINDEX_LINE_MAX - 256, /* so that a spider's line has room for it */
	DOCINDEX_COUNT_MAX = 100000,                /* of WANT: URLs, and rejected hosts */
	DOCINDEX_SECONDS_MAX = 86400,               /* of HAVE 0 */
	/* One more than outcome.h has: a spider is done, and did not say how it went. */
	DOCINDEX_DONE = OUTCOME_COUNT,
};

/* "ok", "site-temporary", "done". */
const char *docindex_outcome_name(unsigned outcome);
bool docindex_outcome_parse(struct str name, unsigned *ret) MUST_USE;

/* NAME, DOC_ID: printable ASCII without blanks, 1 to DOCINDEX_WORD_MAX bytes. */
bool docindex_is_word(struct str s);
/* No blank, no control character, 1 to DOCINDEX_URL_MAX bytes. Nothing else is looked at. */
bool docindex_is_url(struct str s);

enum docindex_answer_kind {
	DOCINDEX_OK,    /* to the first HELLO or DONE that has none yet */
	DOCINDEX_HAVE,  /* to the first WANT that has none; count: so many DOCINDEX_URL come next.
			   With 0: seconds */
	DOCINDEX_URL,   /* doc_id, url; count: how many are yet to come */
	DOCINDEX_ERROR, /* text; the connection ends */
};

struct docindex_answer {
	enum docindex_answer_kind kind;
	uint64_t count, seconds;
	struct str doc_id, url, text;
};

/* Of one connection; {0} at first. */
struct docindex_answers {
	uint64_t urls; /* of a HAVE that is not complete */
};

/* Reads the next line, without its end; slices of *ret point into it. Negative: it cannot be, or
 * does not belong there (ERR_USAGE). */
int docindex_answer_read(struct docindex_answers *in, struct str line, struct docindex_answer *ret,
			 struct err *err) MUST_USE;
