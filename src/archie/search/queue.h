/* The queue of searches decides whose turn it is. No input or output; time is a parameter.
 *
 * Order: niceness, then cost, then arrival. Waiting counts: every QUEUE_AGE_US halves the niceness
 * of a request, and once that is 0, its cost. So even the nicest request overtakes new ones of the
 * usual niceness after 15 such times, and all others after as many again.
 *
 * One searcher takes only cheap requests. */
#pragma once
#include "archie/archie.h"

enum {
	QUEUE_COST_CHEAP =
		199, /* at most: exact names with few hits, and requests that search nothing */
	QUEUE_COST_MOST = 10000 + 900,
	QUEUE_BUCKETS = 13,
	QUEUE_TIMES = 10, /* service times kept in each bucket */
};
#define QUEUE_AGE_US (10 * US_PER_S)

/* Estimates the cost of a request from its form. */
unsigned queue_cost(const struct archie_ask *ask);

struct queue;

/* Part of the struct that waits. Set the first five members, zero the rest. */
struct queue_item {
	unsigned niceness, cost;
	int64_t arrived_us;
	uint64_t from; /* identifies the asker; 0: none is named */
	uint64_t user; /* identifies the local user; 0: asks for others */
	/* owned by the queue */
	uint64_t turn;
	unsigned now_niceness, now_cost;
	bool waits;
};

/* most: requests that may wait; share: of one `from`; user_share: of one `user`. */
struct queue *queue_new(size_t most, size_t share, size_t user_share);
void queue_free(struct queue **q); /* does not free items */

enum queue_no { QUEUE_OK, QUEUE_FULL, QUEUE_SHARE, QUEUE_USER };
enum queue_no queue_put(struct queue *q, struct queue_item *item, int64_t now_us);
/* Returns an item that was taken or removed without having its turn. Keeps its age and ignores the
 * bounds. */
void queue_put_back(struct queue *q, struct queue_item *item, int64_t now_us);
/* Takes the next item. NULL: none waits for this searcher. */
struct queue_item *queue_take(struct queue *q, bool cheap_only);
/* Does nothing if it does not wait. */
void queue_remove(struct queue *q, struct queue_item *item);
/* Updates all places by how long items have waited: call it every second or so. */
void queue_age(struct queue *q, int64_t now_us);

size_t queue_waiting(const struct queue *q);
/* Calls fn for every item in order; positions begin at 1. eta_us: when it should be done with that
 * many searchers, from the average times of the items before it and its own. */
void queue_each(const struct queue *q, unsigned searchers,
		void (*fn)(void *ctx, struct queue_item *item, uint64_t position, int64_t eta_us),
		void *ctx);
/* The same for one item. 1: it does not wait. */
int queue_place(const struct queue *q, const struct queue_item *item, unsigned searchers,
		uint64_t *ret_position, int64_t *ret_eta_us);
/* The expected wait of a new request with this cost and the usual niceness. */
int64_t queue_wait_us(const struct queue *q, unsigned cost, unsigned searchers);

/* Records how long a request took. */
void queue_served(struct queue *q, unsigned cost, int64_t took_us);
int64_t queue_usual_us(const struct queue *q, unsigned cost);
