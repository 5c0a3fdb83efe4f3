/* What a gatherer says on a connection, from its first byte to the closing line, without the
 * connection: bytes go in, changes come out. Lines first: the greeting "000 - HELLO ...", then
 * "400 - ..." in answer to our request; then the sections @DELETE, @REFRESH and @UPDATE, plain or
 * as a gzip stream, whatever was asked for; then a line with 499 or 099. Nothing is kept but an
 * object that is not complete. */
#pragma once
#include "soif/source.h"

struct gatherer_answer;

enum {
	ANSWER_LINE = 4096,      /* bytes of a line at most */
	ANSWER_LINES = 100,      /* before the sections */
	ANSWER_PIECE = 64 << 10, /* of what is decoded at a time */
	ANSWER_WORK = 1 << 20,   /* bytes decoded in one call */
	ANSWER_BAD = 1000,       /* rejected objects beyond as many as there are good ones */
};

/* object_max: bytes of an object, at least ANSWER_PIECE. compressed: compression was asked for, so
 * that a line may come that answers that. */
struct gatherer_answer *gatherer_answer_new(size_t object_max, bool compressed);
void gatherer_answer_free(struct gatherer_answer **a);

/* At most ANSWER_MAX_PUT bytes, which stay where they are until ANSWER_MORE. Only after that, or
 * first. */
enum { ANSWER_MAX_PUT = 128 << 10 };
void gatherer_answer_put(struct gatherer_answer *a, struct str bytes);
/* No more will come. */
void gatherer_answer_end(struct gatherer_answer *a);

enum answer_step {
	ANSWER_CHANGE,   /* *ret, good until the next call */
	ANSWER_COMPLETE, /* the closing line was read; and so again */
	ANSWER_MORE,     /* more bytes are needed */
	ANSWER_ASK,      /* the gatherer has greeted: the request may be sent; said once */
	ANSWER_BUSY,     /* much was decoded and nothing found yet: call again, after others */
};
/* An enum answer_step. Negative with ERR_PARTLY: an object was skipped, ret->obj.url is its URL
 * where that is known. Negative otherwise: this is not an answer, or not a whole one; it may not be
 * called again. */
int gatherer_answer_next(struct gatherer_answer *a, struct arena *arena, struct source_change *ret,
			 struct err *err);
size_t gatherer_answer_held(const struct gatherer_answer *a); /* bytes of memory */
