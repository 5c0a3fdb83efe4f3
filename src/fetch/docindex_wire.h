/* The doc index protocol: what a doc index and those who ask it (URL servers, spiders) say to each
 * other, line by line; doc/protocols/docindex.md has the whole of it. Only the lines are here: who
 * sends and receives them is the business of the client (docindex.h) and of the server.
 *
 * Both sides read with a small state, since some lines announce others: a WANT its rejected hosts,
 * a HAVE its URLs, a RESULT its bytes. Slices point into the line that was read. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "fetch/outcome.h"

enum {
	DOCINDEX_LINE_MAX = 8192,                   /* bytes, without the LF */
	DOCINDEX_WORD_MAX = 64,                     /* NAME, DOC_ID */
	DOCINDEX_URL_MAX = DOCINDEX_LINE_MAX - 256, /* so that a spider's line has room for it */
	DOCINDEX_HOST_MAX = 255,                    /* of a reject list */
	DOCINDEX_COUNT_MAX = 100000,                /* of WANT: URLs, and rejected hosts */
	DOCINDEX_SECONDS_MAX = 86400,               /* of HAVE 0 */
	DOCINDEX_HEAD_MAX = 64 << 10,               /* bytes of a RESULT */
	DOCINDEX_BODY_MAX = 1 << 30,
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
/* The same, up to DOCINDEX_HOST_MAX. */
bool docindex_is_host(struct str s);

/* What a client says. */

enum docindex_verb {
	DOCINDEX_HELLO,  /* name */
	DOCINDEX_WANT,   /* count, rejects: so many DOCINDEX_REJECT come next */
	DOCINDEX_REJECT, /* name, a host; rejects: how many of these are yet to come */
	DOCINDEX_REPORT, /* DONE: name, the DOC_ID; outcome */
	DOCINDEX_RESULT, /* name, the DOC_ID; head, body: bytes that come next, then lines again */
};

struct docindex_request {
	enum docindex_verb verb;
	struct str name;
	uint64_t count, rejects;
	unsigned outcome;
	uint64_t head, body;
};

/* Of one connection; {0} at first. */
struct docindex_requests {
	bool greeted;
	uint64_t rejects; /* of a WANT that is not complete */
};

/* The next line, without its end. Negative: it cannot be (ERR_USAGE), or does not belong
 * there: a DOCINDEX_ERROR says so, and the connection ends. After a RESULT the caller takes the
 * bytes off the stream before it reads a line. */
int docindex_request_read(struct docindex_requests *in, struct str line,
			  struct docindex_request *ret, struct err *err) MUST_USE;
/* As a line, with its LF. */
void docindex_request_write(const struct docindex_request *r, struct buf *out);

/* What a doc index answers. */

enum docindex_answer_kind {
	DOCINDEX_OK,    /* to the first HELLO, DONE or RESULT that has none yet */
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

int docindex_answer_read(struct docindex_answers *in, struct str line, struct docindex_answer *ret,
			 struct err *err) MUST_USE;
/* As a line, with its LF. Of a text, control characters are blanked and what is too long is cut. */
void docindex_answer_write(const struct docindex_answer *a, struct buf *out);
