/* What the two halves of the port share: the server with its threads (port.c), and a request on its
 * way from its line to the end of its answer (port_ask.c). All of it belongs to the thread of the
 * loop, but for what is said to be otherwise. */
#pragma once
#include "base/arena.h"
#include "base/pool.h"
#include "broker/port.h"

struct port {
	struct port_options o;
	struct arena arena;
	const char *home;
	struct loop *loop;
	struct server *server;
	struct search *search;
	struct pool *pool[PORT_POOLS];
	pthread_t thread;
	struct link asks;
	int64_t stop_within_us;
	uint64_t memory; /* bytes that answers hold, as far as they say */
};

/* The greeting, which is also sent while a query runs. */
#define PORT_GREETING "200 - garner Broker, version " GARNER_VERSION "\n"

struct port_ask;

/* The state of a session. */
struct port_session {
	struct port_ask *ask; /* NULL: none yet, or its answer is in the queue of the connection */
};

/* Bulk transfers (port_bulk.c). All that it points to outlives it. */
struct port_bulk_options {
	const char *data;
	struct search *search;
	const struct request *request;
	int64_t moment_us, lifetime_us; /* of the query, as of a reply */
	const atomic_bool *cancel;
};
extern const struct port_answer_ops port_bulk_ops;
void *port_bulk_new(const struct port_bulk_options *options);
uint64_t port_bulk_objects(const void *ctx); /* that were told so far */
bool port_bulk_failed(const void *ctx);      /* it ended with a 400 of its own */
bool port_bulk_was_cut(const void *ctx);     /* the lifetime of its query was over */

/* A request, and what becomes of sessions. */
void port_line(struct session *s, struct str line);
void port_drained(struct session *s);
void port_closed(struct session *s, enum conn_end end);

/* What the client is told. Paths of this machine are in what a store says, which is for the log. */
const char *port_problem(const struct err *err);

/* Refuses those that wait for their turn: the broker stops. */
void port_refuse_waiting(struct port *p);

static inline void port_count(const struct port *p, enum port_counter which, int64_t n)
{
	counters_add(p->o.counters, p->o.counters_at + which, (uint64_t)n);
}
