/* One sorted array of pointers. Moving 10,000 of them, or searching them for a cheap one, takes as
 * long as a system call; a position is an index, and aging is one sort of an array that is nearly
 * sorted. A heap would save nothing and could not tell the position of a request. */
#include "archie/search/queue.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"

#include <stdlib.h>

#define USUAL_US (20 * US_PER_MS) /* of a bucket that has served nobody yet */

TABLE(shares, uint64_t, size_t, hash_u64, table_same_u64)

struct times {
	int64_t took_us[QUEUE_TIMES];
	unsigned n, next;
	int64_t sum_us;
};

struct queue {
	struct queue_item **item; /* in order */
	size_t n, room;
	size_t most, share, user_share;
	struct shares shares, users;
	struct times times[QUEUE_BUCKETS];
	uint64_t turn;
};

/* Costs: of the reference server, as far as it knew them (facts, 2.7). */

static unsigned base_cost(enum names_type type)
{
	switch (type) {
	case NAMES_EXACT:
		return 0;
	case NAMES_EXACT_REGEX:
		return 700;
	case NAMES_REGEX:
		return 800;
	default:
		return 100;
	}
}

unsigned queue_cost(const struct archie_ask *ask)
{
	enum { NOT_MATCH = 3, ROWS_LEAST = 100, ROWS_MOST = 10000 };
	const struct names_query *q = &ask->query;
	if (ask->what != ARCHIE_FIND)
		return NOT_MATCH;
	uint64_t hits = q->maxhits ? MIN(q->maxhits, ROWS_MOST) : ROWS_MOST;
	uint64_t rows = MIN(hits + MIN(q->offset, (uint64_t)ROWS_MOST), (uint64_t)ROWS_MOST);
	return base_cost(q->type) + (unsigned)MAX(rows, (uint64_t)ROWS_LEAST);
}

static size_t cost_bucket(unsigned cost)
{
	static const unsigned most[QUEUE_BUCKETS - 1] = {10,  100, 199,  299,  499,  799,
							 899, 999, 1499, 2499, 4999, 9999};
	size_t i = 0;
	while (i < ARRAY_LEN(most) && cost > most[i])
		i++;
	return i;
}

void queue_served(struct queue *q, unsigned cost, int64_t took_us)
{
	struct times *t = &q->times[cost_bucket(cost)];
	took_us = MAX(took_us, 0);
	t->sum_us += took_us - t->took_us[t->next];
	t->took_us[t->next] = took_us;
	t->next = (t->next + 1) % QUEUE_TIMES;
	t->n = MIN(t->n + 1, (unsigned)QUEUE_TIMES);
}

int64_t queue_usual_us(const struct queue *q, unsigned cost)
{
	const struct times *t = &q->times[cost_bucket(cost)];
	return t->n ? t->sum_us / t->n : USUAL_US;
}

/* Order */

static int item_cmp(const struct queue_item *a, const struct queue_item *b)
{
	if (a->now_niceness != b->now_niceness)
		return a->now_niceness < b->now_niceness ? -1 : 1;
	if (a->now_cost != b->now_cost)
		return a->now_cost < b->now_cost ? -1 : 1;
	if (a->arrived_us != b->arrived_us)
		return a->arrived_us < b->arrived_us ? -1 : 1;
	return a->turn < b->turn ? -1 : a->turn > b->turn;
}

static void item_age(struct queue_item *item, int64_t now_us)
{
	int64_t ages = MAX(now_us - item->arrived_us, 0) / QUEUE_AGE_US;
	item->now_niceness = item->niceness;
	item->now_cost = item->cost;
	for (; ages > 0 && item->now_niceness; ages--)
		item->now_niceness /= 2;
	for (; ages > 0 && item->now_cost; ages--)
		item->now_cost /= 2;
}

/* How many come before it. */
static size_t items_before(const struct queue *q, const struct queue_item *item)
{
	return BISECT(i, 0, q->n, item_cmp(q->item[i], item) < 0);
}

static int pointer_cmp(const void *a, const void *b)
{
	return item_cmp(*(struct queue_item *const *)a, *(struct queue_item *const *)b);
}

void queue_age(struct queue *q, int64_t now_us)
{
	bool sorted = true;
	for (size_t i = 0; i < q->n; i++) {
		item_age(q->item[i], now_us);
		sorted = sorted && (i == 0 || item_cmp(q->item[i - 1], q->item[i]) < 0);
	}
	if (!sorted)
		qsort(q->item, q->n, sizeof *q->item, pointer_cmp);
}

/* In and out */

struct queue *queue_new(size_t most, size_t share, size_t user_share)
{
	struct queue *q = mem_alloc(sizeof *q);
	q->most = most;
	q->share = share;
	q->user_share = user_share;
	return q;
}

void queue_free(struct queue **q)
{
	if (!*q)
		return;
	mem_free(&(*q)->item);
	shares_free(&(*q)->shares);
	shares_free(&(*q)->users);
	mem_free(q);
}

size_t queue_waiting(const struct queue *q)
{
	return q->n;
}

/* 0 stands for nobody, whose number does not matter. */

static size_t share_taken(struct shares *s, uint64_t who)
{
	const size_t *n = who ? shares_get(s, who) : NULL;
	return n ? *n : 0;
}

static void share_take(struct shares *s, uint64_t who)
{
	if (who)
		++*shares_put(s, who);
}

static void share_leave(struct shares *s, uint64_t who)
{
	size_t *n = who ? shares_get(s, who) : NULL;
	if (n && --*n == 0)
		shares_remove(s, who);
}

void queue_put_back(struct queue *q, struct queue_item *item, int64_t now_us)
{
	ENSURE(!item->waits);
	item->waits = true;
	if (!item->turn)
		item->turn = ++q->turn;
	item_age(item, now_us);
	size_t at = items_before(q, item);
	VEC_ROOM(q->item, q->room, q->n + 1);
	memmove(&q->item[at + 1], &q->item[at], (q->n - at) * sizeof *q->item);
	q->item[at] = item;
	q->n++;
	share_take(&q->shares, item->from);
	share_take(&q->users, item->user);
}

enum queue_no queue_put(struct queue *q, struct queue_item *item, int64_t now_us)
{
	if (queue_waiting(q) >= q->most)
		return QUEUE_FULL;
	if (item->from && share_taken(&q->shares, item->from) >= q->share)
		return QUEUE_SHARE;
	if (item->user && share_taken(&q->users, item->user) >= q->user_share)
		return QUEUE_USER;
	queue_put_back(q, item, now_us);
	return QUEUE_OK;
}

static struct queue_item *remove_at(struct queue *q, size_t at)
{
	struct queue_item *item = q->item[at];
	q->n--;
	memmove(&q->item[at], &q->item[at + 1], (q->n - at) * sizeof *q->item);
	item->waits = false;
	share_leave(&q->shares, item->from);
	share_leave(&q->users, item->user);
	return item;
}

void queue_remove(struct queue *q, struct queue_item *item)
{
	if (!item->waits)
		return;
	size_t at = items_before(q, item);
	ENSURE(at < q->n && q->item[at] == item);
	(void)remove_at(q, at);
}

struct queue_item *queue_take(struct queue *q, bool cheap_only)
{
	size_t at = 0;
	while (cheap_only && at < q->n && q->item[at]->cost > QUEUE_COST_CHEAP)
		at++;
	return at < q->n ? remove_at(q, at) : NULL;
}

/* Places */

void queue_each(const struct queue *q, unsigned searchers,
		void (*fn)(void *ctx, struct queue_item *item, uint64_t position, int64_t eta_us),
		void *ctx)
{
	int64_t before_us = 0;
	for (size_t i = 0; i < q->n; i++) {
		int64_t own_us = queue_usual_us(q, q->item[i]->cost);
		fn(ctx, q->item[i], i + 1, before_us / MAX(searchers, 1u) + own_us);
		before_us += own_us;
	}
}

static int64_t before_us(const struct queue *q, size_t n, unsigned searchers)
{
	int64_t us = 0;
	for (size_t i = 0; i < n; i++)
		us += queue_usual_us(q, q->item[i]->cost);
	return us / MAX(searchers, 1u);
}

int queue_place(const struct queue *q, const struct queue_item *item, unsigned searchers,
		uint64_t *ret_position, int64_t *ret_eta_us)
{
	if (!item->waits)
		return 1;
	size_t at = items_before(q, item);
	*ret_eta_us = before_us(q, at, searchers) + queue_usual_us(q, item->cost);
	*ret_position = at + 1;
	return 0;
}

int64_t queue_wait_us(const struct queue *q, unsigned cost, unsigned searchers)
{
	const struct queue_item item = {
		.now_cost = cost, .arrived_us = INT64_MAX, .turn = UINT64_MAX};
	return before_us(q, items_before(q, &item), searchers);
}
