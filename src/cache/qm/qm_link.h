/* The queue manager's side of the link to notification servers (doc/protocols/cache-link.md). Sets
 * gather here piece by piece; their owner has them taken in a thread, and says when that is
 * durable; only then the uns hears HAVE. What a peer sends is looked at before it is taken: a piece
 * that is not one refuses its set.
 *
 * Bounded: a link whose sets are not taken yet may hold LINK_AHEAD_MAX bytes and one piece, all
 * links together QM_LINK_MEMORY; beyond that nothing is read.
 *
 * One loop and its thread, but for qm_batch_run(). */
#pragma once
#include "cache/db.h"
#include "cache/uns/link_wire.h"
#include "net/server.h"

struct qm_link;
struct qm_batch;

enum { QM_LINK_MEMORY = 64 << 20 };

struct qm_link_ops {
	/* Something has gathered. */
	void (*gathered)(void *ctx);
	/* For the log; NULL: not wanted. */
	void (*said)(void *ctx, bool is_trouble, const char *what, const char *who);
};

struct qm_link_options {
	struct loop *loop;
	const struct server_limits *limits; /* used where they are, as are tls and ops */
	const struct tls *tls;              /* NULL: none */
	const struct qm_link_ops *ops;
	void *ctx;
};

struct qm_link *qm_link_new(const struct qm_link_options *options);
int qm_link_listen(struct qm_link *l, int fd, struct err *err);
void qm_link_drain(struct qm_link *l, int64_t within_us, void (*done)(void *ctx), void *ctx);
/* There must be no batch that was gathered and not ended. */
void qm_link_free(struct qm_link **l);

/* While there is too much: links end with BUSY after the set that they are at, and new ones hear
 * BUSY at once. */
void qm_link_overload(struct qm_link *l, bool is_over);

/* What has gathered, to be taken; one at a time. NULL: nothing. */
struct qm_batch *qm_link_gather(struct qm_link *l);
/* In a thread: takes it into the database, inside of a transaction that the caller commits. */
int qm_batch_run(struct qm_batch *b, struct db *db, struct err *err);
/* It is durable: those who sent it hear so. */
void qm_link_taken(struct qm_link *l, struct qm_batch **b);
/* It is not: nobody hears anything, and will send it again. */
void qm_link_drop(struct qm_link *l, struct qm_batch **b);

struct qm_link_counts {
	uint64_t sets, again, refused, urls; /* ever: sets taken; of those, known before */
	uint64_t links, held;                /* now */
};
void qm_link_counts(const struct qm_link *l, struct qm_link_counts *ret);
