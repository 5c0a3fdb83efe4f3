/* The broker's port: Harvest's query manager (doc/broker-port.md). One request, its answer, and the
 * connection ends. It has a thread with a loop of its own, which only moves bytes; answers are made
 * in pieces by pools, with turns by client address, and as fast as their client takes them. So no
 * query, however heavy, and no client, however slow, holds up another.
 *
 * Queries begin in the quick pool. One that is not done after PORT_QUICK_US is begun again among
 * the long ones, which give way to all others. */
#pragma once
#include "broker/control.h"
#include "broker/events.h"
#include "broker/search.h"
#include "net/server.h"

enum { PORT_QUICK_US = 10000, PORT_PIECE = 256 << 10 /* bytes of an answer at a time */ };
enum { PORT_PING_US = 3000000, PORT_LIFETIME_LEAST_S = 10 };

/* An answer in pieces. make: in a pool, one call at a time; as bulk_make(). */
struct port_answer_ops {
	int (*make)(void *ctx, size_t n, struct buf *out, struct err *err);
	void (*close)(void *ctx); /* the last call */
};

struct port_options {
	const char *data;     /* the data directory */
	const char *url;      /* of the pages, without a slash at its end */
	const char *home;     /* of the broker, result code 126; "": URL/query.html */
	const char *password; /* a line as `garner password` makes it; "": no #ADMIN */
	int64_t lifetime_us;  /* the longest */
	struct server_limits limits;
	size_t threads, queue;     /* of long queries; how many may wait */
	struct control *control;   /* for #ADMIN */
	struct events *events;     /* may be NULL */
	struct counters *counters; /* may be NULL */
	size_t counters_at;
};

struct port;

/* Serves on fd, which stays the caller's, until port_stop(). Options are copied, what they point to
 * outlives it. */
int port_start(struct port **ret, const struct port_options *options, int fd, struct err *err);
/* Ends what waits at once and lets answers that are being sent come to their end, at most
 * within_us. */
void port_stop(struct port **p, int64_t within_us);
/* From any thread: the longest lifetime, from the next query on. */
void port_set_lifetime(struct port *p, int64_t us);
