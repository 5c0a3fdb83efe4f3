/* Odd answers, replayed: files of one JSON object a line, each with an `id` and the steps `send`.
 * The case ID is what is asked for as /c/ID. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct odd;
struct odd_case;

int odd_load(struct odd **ret, const char *path, struct err *err);
void odd_free(struct odd **o);
size_t odd_count(const struct odd *o);
/* NULL: there is no such case. */
const struct odd_case *odd_find(const struct odd *o, struct str path);

/* A place in a case. Zero is the beginning. */
struct odd_at {
	size_t step, done; /* done: of a step that is handed out in pieces */
};
enum odd_do { ODD_SEND, ODD_WAIT, ODD_CLOSE, ODD_RESET, ODD_HANG, ODD_END };

/* The next thing to do. ODD_SEND: bytes were appended to `out`. ODD_WAIT: *ret_wait is how many
 * times the client's idle limit. ODD_END: the connection stays. real_s: the time now, for dates. */
enum odd_do odd_next(const struct odd_case *c, struct odd_at *at, int64_t real_s, struct buf *out,
		     double *ret_wait);
