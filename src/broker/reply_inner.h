/* The answer to #USER: the objects that a query finds, as lines of result codes
 * (doc/broker-port.md). The query runs once; then objects are told one after the other, in pieces,
 * as fast as they are taken. Between two pieces it holds what was found and one snapshot of the
 * index.
 *
 * A query first runs for a moment. If that was not enough it wants to be begun again among those
 * that take long (reply_is_long()), and then has its whole lifetime, of which only the time counts
 * in which it runs. Where others had the processors for most of its moment it gets a longer one
 * first: a light query does not become a long one because the machine is busy. */
#pragma once
#include "broker/request.h"
#include "broker/search.h"

struct reply;

/* All that it points to outlives the reply. */
struct reply_options {
	struct search *search;
	const struct request *request;
	const char *url;           /* of the pages, without a slash at its end */
	const char *home;          /* of the broker, result code 126 */
	int64_t moment_us;         /* of the first run; 0: it has its lifetime at once */
	int64_t lifetime_us;       /* of all runs after that */
	int64_t slice_us;          /* of one call of reply_make(), about */
	int64_t (*cpu_us)(void);   /* NULL, or what stands in for clock_thread_us() */
	const atomic_bool *cancel; /* NULL, or set by another thread: nothing is wanted any more */
};

struct reply *reply_new(const struct reply_options *options);
/* Appends about n bytes more to out, or less when a slice of time is over. 0: there is more. 1:
 * that was all. Negative: the query cannot be answered, and err says why: nothing was told before,
 * or nothing but whole lines. */
int reply_make(struct reply *r, size_t n, struct buf *out, struct err *err);
void reply_free(struct reply **r);

bool reply_is_long(const struct reply *r);     /* the next call is for those that take long */
bool reply_is_between(const struct reply *r);  /* what was told so far ends with a line */
bool reply_was_cut(const struct reply *r);     /* its lifetime was over */
uint64_t reply_objects(const struct reply *r); /* that were told so far */
size_t reply_memory(const struct reply *r);    /* bytes that it holds between two pieces, about */

/* The moment of a query, *wall_us of the clock, was over, and it had used_us of CPU. true: it is
 * for those that take long. false: it had less than moment_us, and *wall_us is twice what it was,
 * for another try. */
bool reply_moment_was_had(int64_t *wall_us, int64_t moment_us, int64_t used_us);
/* What is asked of the index by a request, without budget and cancel. */
struct search_ask reply_question(const struct request *request);
/* Text as part of a line: what would end it is a blank. */
void reply_put_line(struct buf *out, struct str text);
