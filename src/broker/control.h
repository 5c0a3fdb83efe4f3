/* Orders of the administrator for the collecting thread, from any thread of the process. The
 * collecting thread executes one between two steps, and the caller waits for it. Long orders
 * (collecting, rebuilding the index) are only started, and the answer says so. */
#pragma once
#include "base/buf.h"
#include "broker/collector.h"

enum control_kind {
	CONTROL_COLLECT, /* asks all points now */
	CONTROL_CLEAN,   /* drops what has expired, then gives back the space of dead records */
	CONTROL_FULL,    /* builds the index again, while the old one answers */
	CONTROL_INDEX,   /* commits, and tells the index what it lacks */
	CONTROL_ADD,     /* takes the objects of a file of SOIF: `text` is its path */
	CONTROL_DROP,    /* drops the objects with these oids */
	CONTROL_SET,     /* sets a time: `set`, `us` */
	CONTROL_RESTART, /* reads the configuration again */
	CONTROL_SHUTDOWN,
};

struct control_order {
	enum control_kind kind;
	struct str text; /* ADD: its name below broker/add */
	enum collector_time set;
	int64_t us;
	const uint32_t *oid;
	size_t oids;
	size_t *ret_dropped; /* DROP: how many of these there were; may be NULL */
};

struct control;

int control_new(struct control **ret, struct err *err);
void control_free(struct control **c);

/* What the program does at RESTART and SHUTDOWN, in the collecting thread; set it before other
 * threads use the control. Text appended to out is the answer. Without hooks these orders are
 * refused. */
struct control_hooks {
	/* Reads the configuration again. ERR_USAGE: it cannot be taken, and the old one stays. */
	int (*restart)(void *ctx, struct buf *out, struct err *err);
	const char *shutdown; /* what follows from it: one sentence */
	void *ctx;
};
void control_hook(struct control *c, const struct control_hooks *hooks);

/* Gives an order and waits until it is done or started, at most wait_us. out: the answer, one line
 * without its end. ERR_USAGE: invalid order. ERR_BUSY: the collecting thread is busy or ends; the
 * order will not be executed later. Others: a store failed. */
int control_do(struct control *c, const struct control_order *order, int64_t wait_us,
	       struct buf *out, struct err *err);

/* For the collecting thread. Readable while an order waits. */
int control_fd(const struct control *c);
enum control_then { CONTROL_GO_ON, CONTROL_THEN_RESTART, CONTROL_THEN_END };
/* Executes pending orders. collector: NULL while there is none; orders that need one are refused
 * then. Negative: a store failed, as for collector_step(). */
int control_run(struct control *c, struct collector *collector, enum control_then *ret,
		struct err *err);
/* The collecting thread ends: refuses pending and later orders. control_again(), after a restart,
 * accepts orders again. */
void control_end(struct control *c);
void control_again(struct control *c);
