/* The queue manager's side of the link to notification servers (doc/protocols/cache-link.md). It
 * collects sets piece by piece; the owner stores them in a thread and reports when they are
 * durable; only then the uns receives HAVE. Every piece is checked before it is stored: an invalid
 * one refuses its set.
 *
 * Memory is bounded: one link holds at most LINK_AHEAD_MAX bytes and one piece that are not stored
 * yet, all links together QM_LINK_MEMORY; beyond that it stops reading.
 *
 * All functions except qm_batch_run() belong to one loop. */
#pragma once
#include "cache/db.h"
#include "cache/uns/link_wire.h"
#include "net/server.h"

struct qm_link;
struct qm_batch;

enum { QM_LINK_MEMORY = 64 << 20 };

struct qm_link_options {
	struct loop *loop;
	const struct server_limits *limits; /* must outlive it, as must tls */
	const struct tls *tls;              /* NULL: none */
	void (*gathered)(void *ctx);        /* there is something to store */
	void *ctx;
};

struct qm_link *qm_link_new(const struct qm_link_options *options);
int qm_link_listen(struct qm_link *l, int fd, struct err *err);
void qm_link_drain(struct qm_link *l, int64_t within_us, void (*done)(void *ctx), void *ctx);
/* No batch may be outstanding. */
void qm_link_free(struct qm_link **l);

/* Overload: ends each link with BUSY after its current set, and new links at once. */
void qm_link_overload(struct qm_link *l, bool is_over);

/* Takes all that is to be stored as a batch; one batch at a time. NULL: nothing. */
struct qm_batch *qm_link_gather(struct qm_link *l);
/* Stores a batch within the caller's transaction. Call it from a thread. */
int qm_batch_run(struct qm_batch *b, struct db *db, struct err *err);
/* The batch is durable: answers its senders. */
void qm_link_taken(struct qm_link *l, struct qm_batch **b);
/* The batch is lost: nobody gets an answer, and the senders repeat it. */
void qm_link_drop(struct qm_link *l, struct qm_batch **b);

struct qm_link_counts {
	uint64_t sets, again, refused, urls; /* ever: sets taken; of those, known before */
	uint64_t links, held;                /* now */
};
void qm_link_counts(const struct qm_link *l, struct qm_link_counts *ret);
