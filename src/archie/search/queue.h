/* The queue of searches: whose turn it is. No input or output, and time is a parameter.
 *
 * Ordered by niceness, then by cost, then by arrival. Waiting counts: for each QUEUE_AGE_US that a
 * request has waited its niceness is halved; once that is 0, its cost. So the nicest request is
 * before new ones of the usual niceness after 15 such times, and before all others after as many
 * again, however many come.
 *
 * There are two lanes: what is cheap, and all else. A searcher that takes cheap ones only never has
 * to do with the others. */
#pragma once
#include "archie/archie.h"

enum {
	QUEUE_COST_CHEAP = 199, /* at most: exact names with few hits, and what is not a search */
	QUEUE_COST_MOST = 10000 + 900,
	QUEUE_BUCKETS = 13,
	QUEUE_TIMES = 10, /* service times that are remembered in each bucket */
};
#define QUEUE_AGE_US (10 * US_PER_S)

/* What a request costs, by its form alone. */
unsigned queue_cost(const struct archie_ask *ask);

struct queue;

/* Inside of what waits. Set the first five, zero the rest. */
struct queue_item {
	unsigned niceness, cost;
	int64_t arrived_us;
	uint64_t from; /* who asks: equal for the same; 0: nobody is named */
	uint64_t user; /* and whose process it is that does; 0: of one who asks for others */
	/* from here on the queue's */
	uint64_t turn;
	unsigned now_niceness, now_cost;
	bool waits;
};

/* most: that may wait; share: of those with the same `from`; user_share: with the same `user`. */
struct queue *queue_new(size_t most, size_t share, size_t user_share);
void queue_free(struct queue **q); /* items are their owners' */

enum queue_no { QUEUE_OK, QUEUE_FULL, QUEUE_SHARE, QUEUE_USER };
enum queue_no queue_put(struct queue *q, struct queue_item *item, int64_t now_us);
/* One that was taken, or removed, and did not have its turn: as long ago as it came, and whatever
 * the bounds. */
void queue_put_back(struct queue *q, struct queue_item *item, int64_t now_us);
/* The next; NULL: none waits that this searcher may have. */
struct queue_item *queue_take(struct queue *q, bool cheap_only);
/* Also one that does not wait. */
void queue_remove(struct queue *q, struct queue_item *item);
/* Everyone's place according to how long they have waited: now and then, every second or so. */
void queue_age(struct queue *q, int64_t now_us);

size_t queue_waiting(const struct queue *q);
/* Every item in its order, from 1 on. eta_us: when it will have been served, if `searchers` are at
 * work: by the average times of what is before it, and its own. */
void queue_each(const struct queue *q, unsigned searchers,
		void (*fn)(void *ctx, struct queue_item *item, uint64_t position, int64_t eta_us),
		void *ctx);
/* The same of one item. 1: it does not wait. */
int queue_place(const struct queue *q, const struct queue_item *item, unsigned searchers,
		uint64_t *ret_position, int64_t *ret_eta_us);
/* How long one that comes now, with the usual niceness and this cost, would wait for its turn. */
int64_t queue_wait_us(const struct queue *q, unsigned cost, unsigned searchers);

/* How long one took. */
void queue_served(struct queue *q, unsigned cost, int64_t took_us);
int64_t queue_usual_us(const struct queue *q, unsigned cost);
