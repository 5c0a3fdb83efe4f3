/* The broker's port: Harvest's query manager (doc/broker-port.md). One request, its answer, and the
 * connection ends. It has a thread with a loop of its own, which only moves bytes; answers are made
 * in pieces by pools, with turns by client address, and as fast as their client takes them. So no
 * query, however heavy, and no client, however slow, holds up another.
 *
 * Queries begin in the quick pool. One that is not done after PORT_QUICK_US of CPU is begun again
 * among the long ones, which give way to all others. Transfers have threads of their own, since
 * they look through the whole registry before there is something to tell; so has the administrator.
 */
#pragma once
#include "broker/events.h"
#include "broker/request.h"
#include "broker/search.h"
#include "net/server.h"
#include "role/counters.h"

#include <stdatomic.h>

enum { PORT_QUICK_US = 10000, PORT_PIECE = 256 << 10 /* bytes of an answer at a time */ };
enum { PORT_PING_US = 3000000, PORT_LIFETIME_LEAST_S = 10 };
enum { PORT_QUICK_THREADS = 4, PORT_BULK_THREADS = 2 };
enum { PORT_TRANSFERS = 64 }; /* at a time, half of them for one address */

/* Where a piece of an answer is made. */
enum port_pool {
	PORT_POOL_QUICK,
	PORT_POOL_LONG,
	PORT_POOL_BULK,
	PORT_POOL_ADMIN,
	PORT_POOLS,
};

/* An answer in pieces. All but make are called between two calls of it. */
struct port_answer_ops {
	/* In a pool, one call at a time. Appends about n bytes to out. 0: there is more. 1: that
	 * was all. Negative: the client is told why, and nothing was appended but whole lines. */
	int (*make)(void *ctx, size_t n, struct buf *out, struct err *err);
	void (*close)(void *ctx);                /* the last call */
	enum port_pool (*pool)(const void *ctx); /* of the next piece */
	bool (*is_between)(const void *ctx);     /* another line may come now; NULL: never after
						    the first byte */
	size_t (*memory)(const void *ctx);       /* bytes that it holds; NULL: few */
};

/* As admin_run(): does one command, appends lines to out, and returns how many microseconds these
 * have to wait. In a thread of its own, one call at a time. */
typedef int64_t port_admin_fn(void *ctx, const struct request *request, const char *peer,
			      struct buf *out);

struct port_options {
	const char *data;             /* the data directory */
	const char *url;              /* of the pages, without a slash at its end */
	const char *home;             /* of the broker, result code 126; "": URL/query.html */
	atomic_int_fast64_t *life_us; /* the longest lifetime of a query, from the next one on */
	struct server_limits limits;
	size_t threads, queue;     /* of long queries; how many may wait */
	port_admin_fn *admin;      /* NULL: #ADMIN is refused */
	void *admin_ctx;           /* of it */
	struct events *events;     /* may be NULL */
	struct counters *counters; /* may be NULL */
	size_t counters_at;
};

/* What it counts, from counters_at on in the role's counters. */
#define PORT_COUNTERS(X)                                                                           \
	X(USER, "queries", "kind=\"user\"", TOTAL, "Requests of the port.")                        \
	X(BULK, "queries", "kind=\"bulk\"", TOTAL, "Requests of the port.")                        \
	X(ADMIN, "queries", "kind=\"admin\"", TOTAL, "Requests of the port.")                      \
	X(ANSWERED, "queries_answered", NULL, TOTAL, "Requests whose answer was sent.")            \
	X(BAD, "queries_refused", "why=\"request\"", TOTAL, "Requests refused.")                   \
	X(FULL, "queries_refused", "why=\"full\"", TOTAL, "Requests refused.")                     \
	X(FAILED, "queries_failed", NULL, TOTAL,                                                   \
	  "Requests that failed before the end of their answer.")                                  \
	X(CUT, "queries_cut", NULL, TOTAL, "Queries ended because their lifetime was over.")       \
	X(CANCELLED, "queries_cancelled", NULL, TOTAL,                                             \
	  "Requests whose client disconnected before the end.")                                    \
	X(LONG, "queries_long", NULL, TOTAL,                                                       \
	  "Queries too long for the quick pool, restarted in the pool for long ones.")             \
	X(WAITING, "queries_waiting", NULL, GAUGE, "Requests waiting.")                            \
	X(RUNNING, "queries_running", NULL, GAUGE, "Requests running.")                            \
	X(OPEN, "queries_open", NULL, GAUGE,                                                       \
	  "Requests waiting, running, or with an answer being sent.")                              \
	X(BYTES, "query_bytes", NULL, TOTAL, "Bytes of answers sent.")                             \
	X(TOOK, "query_microseconds", NULL, TOTAL,                                                 \
	  "Time from request to end of answer, summed over answered #USER queries.")               \
	/* answers that took less, and not less than the one before */                             \
	X(TOOK_10MS, "queries_took", "under=\"10ms\"", TOTAL,                                      \
	  "Answers to #USER by the time taken.")                                                   \
	X(TOOK_100MS, "queries_took", "under=\"100ms\"", TOTAL,                                    \
	  "Answers to #USER by the time taken.")                                                   \
	X(TOOK_1S, "queries_took", "under=\"1s\"", TOTAL, "Answers to #USER by the time taken.")   \
	X(TOOK_10S, "queries_took", "under=\"10s\"", TOTAL, "Answers to #USER by the time taken.") \
	X(TOOK_MORE, "queries_took", "under=\"ever\"", TOTAL, "Answers to #USER by the time taken.")

enum port_counter {
#define X(symbol, ...) PORT_##symbol,
	PORT_COUNTERS(X)
#undef X
		PORT_NCOUNTERS
};

struct port;

/* Serves on fd, which stays the caller's, until port_stop(). Options are copied, what they point to
 * outlives it. */
int port_start(struct port **ret, const struct port_options *options, int fd, struct err *err);
/* Ends what waits at once and lets answers that are being sent come to their end, at most
 * within_us. */
void port_stop(struct port **p, int64_t within_us);
