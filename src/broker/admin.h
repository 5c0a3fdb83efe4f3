/* The administrator of a broker, over its port: one command of #ADMIN after the other, in one
 * thread (doc/broker-admin.md). What is asked of registry, documents and index goes through
 * broker/control.h to the thread that collects.
 *
 * Passwords are compared in constant time. After a wrong one nothing of the same address is looked
 * at for a second, then two, and so on up to 30; meanwhile the right one is refused as well, since
 * who guesses many at once would see it otherwise. Neither the password nor anything else of a
 * request with a wrong one is ever logged. */
#pragma once
#include "broker/control.h"
#include "broker/events.h"
#include "broker/request.h"
#include "broker/search.h"

#include <stdatomic.h>

enum { ADMIN_WAIT_MOST_US = 30000000, ADMIN_ADDRESSES = 1024 /* that are remembered */ };

/* All that it points to outlives it. */
struct admin_options {
	const char *data;        /* the data directory */
	const char *password;    /* a line as `garner password` makes it; "": all is refused */
	struct control *control; /* for what needs the collector */
	struct search *search;   /* for deleting by query */
	struct events *events;
	atomic_int_fast64_t *life_us; /* the longest lifetime of queries; also to delete by one */
	int64_t (*now_us)(void);      /* NULL: clock_mono_us() */
};

struct admin;

struct admin *admin_new(const struct admin_options *options); /* options are copied */
void admin_free(struct admin **a);

/* Does one command; it may take seconds. Appends the answer to out, lines of the port with their
 * ends: "101 - ..." what was done, or "111 - ERROR: ...". Returns how many microseconds the answer
 * has to wait before it goes out. peer: session_peer(), the client's address. One call at a time.
 */
int64_t admin_run(struct admin *a, const struct request *r, const char *peer, struct buf *out);
/* From any thread: a command that runs ends soon, and says so. */
void admin_stop(struct admin *a);
