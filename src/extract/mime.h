/* Mails: headers, and the text that its writer wrote. MIME is read by gmime, in a garner-parse of
 * its own with the door shut, as all foreign documents are; what comes back is bounded and checked.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
	MIME_MAIL_MOST = 1 << 20,  /* bytes of a mail that are looked at; the rest is left out */
	MIME_TEXT_MOST = 64 << 10, /* of its text, the same */
	MIME_HEADERS_MOST = 200,
	MIME_VALUE_MOST = 2000,
};

struct mime_header {
	struct str name, value; /* the value unfolded, without control characters */
};

/* Headers in their order. The value of From, Reply-To, Return-Path and Sender is the first address
 * alone, "" where there is none, as in `<>`; that of Subject is decoded. The line `From ADDRESS
 * DATE` of a mailbox is a header `From ` (with the blank). */
struct mime_mail {
	struct mime_header *header;
	size_t n;
	bool cut;        /* it has more headers than these */
	struct str text; /* of the first part that is text/plain, in UTF-8; "": none */
};
/* The first header of this name, in any case; p is NULL: there is none. */
struct str mime_value(const struct mime_mail *m, const char *name);

/* Has the mail read; waits for it, 30 s at most. program: of garner-parse. ERR_REMOTE: it died of
 * the mail, or took too long. ERR_SYSTEM: it could not begin, perhaps without gmime. */
int mime_read(const char *program, struct str mail, struct arena *arena, struct mime_mail *ret,
	      struct err *err);

/* The worker's side: garner-parse --mail MEMORY. */
int mime_work(const char *memory, struct err *err);

/* The worker says that headers were left out by one of this name, which no mail can have. */
#define MIME_CUT ":"

/* The two halves, for tests: what the worker makes of a mail, and what its owner takes of that. The
 * answer lies in the bytes. */
int mime_load(struct err *err); /* gmime; before the first parse */
void mime_parse(struct str mail, struct buf *out);
int mime_take(struct str bytes, struct arena *arena, struct mime_mail *ret, struct err *err);
