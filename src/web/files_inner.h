/* Searches for files, sent to the queuer (archie/archie.h). A question is asked once and kept
 * under an id while it waits, so that a page can show its place in the queue and fetch the answer
 * later. A question that nobody comes back for is cancelled. Thread-safe. */
#pragma once
#include "archie/archie.h"
#include "net/http.h"

struct files;

enum {
	FILES_ID = 32, /* letters of an id */
	FILES_KEPT_MOST = 1000,
	FILES_HELD_MOST = 64 << 20, /* bytes of answers that were not fetched yet */
};
#define FILES_HOLD_US (2 * US_PER_S)  /* that a request waits before it is told its place, */
#define FILES_CALM_US (5 * US_PER_S)  /* and while there is no place to be told */
#define FILES_KEEP_US (10 * US_PER_S) /* that a question is kept while nobody waits for it */

int files_open(struct files **ret, const char *data, struct err *err);
/* For `stopping` of struct http_options. */
void files_stop(struct files *f);
/* After the server was stopped. */
void files_close(struct files **f);

enum files_state { FILES_WAITS, FILES_ANSWERED, FILES_REFUSED };
struct files_told {
	enum files_state state;
	char id[FILES_ID + 1]; /* of one that waits */
	uint64_t position;     /* in the queue, from 1; 0: not told, or being searched */
	int64_t seconds;       /* that it may still take */
	struct archie_answer answer;
	enum archie_refusal why;
	char *text;
	struct arena arena; /* what answer and text lie in; the caller's to free */
};

struct files_ask {
	struct archie_ask ask;
	uint64_t same; /* a number made of the question: an id of another question does not count */
	const char *id; /* "", or an id that is no longer known: a new question */
	bool patient;   /* waits until there is an answer; otherwise it is told its place */
};
/* For a handler of a slow route. HTTP_LATER: to be returned; it asks again when it is called again.
 * Negative, ERR_BUSY: too many questions are kept, or the server stops. */
int files_ask(struct files *f, struct http_request *req, const struct files_ask *ask,
	      struct files_told *ret, struct err *err);
