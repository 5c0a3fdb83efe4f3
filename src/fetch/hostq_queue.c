/* The queues of host queues: which are worked on, which wait, when each may go. */
#include "fetch/hostq_inner.h"

void queue_set_rule(struct queue *u, const struct polite_rule *rule)
{
	u->delay_us = MIN(MAX(rule->delay_us, 0), POLITE_RETRY_MAX_US);
	u->concurrent = (uint16_t)MIN(MAX(rule->concurrent, 1u), (unsigned)UINT16_MAX);
}

static uint32_t queue_new(struct hostq *q, qkey key)
{
	uint32_t i = q->free;
	if (i) {
		q->free = q->queue[i].next;
	} else {
		if (q->nqueues == 0)
			q->nqueues = 1;
		if (q->nqueues >= q->cap) {
			ENSURE(q->cap < HOSTQ_QUEUES_MAX);
			uint32_t cap = q->cap ? q->cap + q->cap / 2 : 64;
			q->queue = huge_resize(q->queue, q->cap * sizeof *q->queue,
					       cap * sizeof *q->queue);
			q->cap = cap;
		}
		i = q->nqueues++;
	}
	q->queue[i] = (struct queue){.key = key, .used = true, .trouble_us = INT64_MIN};
	queue_set_rule(&q->queue[i], &q->options.rule);
	q->used++;
	return i;
}

struct place *queue_of(struct hostq *q, qkey key)
{
	bool is_new;
	struct place *place = keys_put_new(&q->keys, key, &is_new);
	if (is_new)
		place->queue = queue_new(q, key);
	return place;
}

uint32_t queue_find(const struct hostq *q, qkey key)
{
	struct place *place = keys_get(&q->keys, key);
	return place ? place->queue : 0;
}

static void queue_forget(struct hostq *q, uint32_t i)
{
	keys_remove(&q->keys, q->queue[i].key);
	q->queue[i] = (struct queue){.next = q->free};
	q->free = i;
	q->used--;
}

unsigned queue_most_out(const struct queue *u)
{
	return u->troubles ? 1 : u->concurrent;
}

static uint64_t leftover_of(const struct hostq *q, const struct queue *u)
{
	uint64_t all = u->urls + u->out, length = q->options.length;
	if (!u->active)
		return u->urls;
	return length && all > length ? MIN(all - length, u->urls) : 0;
}

void queue_count(struct hostq *q, struct queue *u, int64_t urls, int64_t out)
{
	q->leftovers -= leftover_of(q, u);
	u->urls += (uint64_t)urls;
	u->out += (uint32_t)out;
	q->leftovers += leftover_of(q, u);
	q->urls += (uint64_t)urls;
	q->out += (uint64_t)out;
}

static void queue_set_active(struct hostq *q, struct queue *u, bool active)
{
	q->leftovers -= leftover_of(q, u);
	q->active += (uint32_t)active - (uint32_t)u->active;
	u->active = active;
	q->leftovers += leftover_of(q, u);
}

static void queue_ready(struct hostq *q, uint32_t i)
{
	struct queue *u = &q->queue[i];
	if (!u->active || u->in_ready || u->urls == 0 || u->out >= queue_most_out(u))
		return;
	u->in_ready = true;
	dues_push(&q->ready, (struct due){u->due_us, i});
}

/* An empty queue is remembered until it could go out again, or its delay would be forgotten. */
static void queue_rest(struct hostq *q, uint32_t i)
{
	struct queue *u = &q->queue[i];
	if (u->in_rest || u->in_ready || u->waiting)
		return;
	u->in_rest = true;
	dues_push(&q->rest, (struct due){u->due_us, i});
}

bool queue_has_room(const struct hostq *q)
{
	return q->options.queues == 0 || q->active < q->options.queues;
}

/* Those in line become active while there is room. One that lost its URLs meanwhile is passed by.
 */
static void line_move(struct hostq *q)
{
	while (q->line_first && queue_has_room(q)) {
		uint32_t i = q->line_first;
		struct queue *u = &q->queue[i];
		q->line_first = u->next;
		if (!q->line_first)
			q->line_last = 0;
		u->waiting = false;
		if (u->urls == 0 && u->out == 0) {
			queue_rest(q, i);
			continue;
		}
		queue_set_active(q, u, true);
		queue_ready(q, i);
	}
}

static void line_join(struct hostq *q, uint32_t i)
{
	q->queue[i].waiting = true;
	q->queue[i].next = 0;
	if (q->line_last)
		q->queue[q->line_last].next = i;
	else
		q->line_first = i;
	q->line_last = i;
}

void queue_settle(struct hostq *q, uint32_t i)
{
	struct queue *u = &q->queue[i];
	bool busy = u->urls > 0 || u->out > 0;
	if (busy && !u->active && !u->waiting) {
		if (queue_has_room(q) && !q->line_first)
			queue_set_active(q, u, true);
		else
			line_join(q, i);
	} else if (!busy && u->active) {
		queue_set_active(q, u, false);
		line_move(q);
	}
	if (busy)
		queue_ready(q, i);
	else
		queue_rest(q, i);
}

void queue_forget_rested(struct hostq *q, int64_t now_us)
{
	struct due *top;
	while ((top = dues_top(&q->rest)) && top->us <= now_us) {
		struct due due;
		(void)dues_pop(&q->rest, &due);
		struct queue *u = &q->queue[due.queue];
		u->in_rest = false;
		if (u->urls > 0 || u->out > 0 || u->in_ready || u->waiting)
			continue;
		if (u->due_us > now_us)
			queue_settle(q, due.queue);
		else
			queue_forget(q, due.queue);
	}
}

/* The number before which one of this priority stands, or it itself. */
static uint32_t *list_place(struct hostq *q, struct queue *u, unsigned priority)
{
	uint32_t *at = &u->lists;
	while (*at && q->store.list[*at].priority < priority)
		at = &q->store.list[*at].next;
	return at;
}

/* Most URLs of a queue have one and the same priority: no need to pass by the lists of others. */
struct list *queue_list(struct hostq *q, uint32_t queue, unsigned priority)
{
	struct queue *u = &q->queue[queue];
	if (u->recent && q->store.list[u->recent].priority == priority)
		return &q->store.list[u->recent];
	u->recent = *list_place(q, u, priority);
	if (!u->recent || q->store.list[u->recent].priority != priority) {
		u->recent = store_list_new(&q->store, priority);
		uint32_t *at = list_place(q, u, priority);
		q->store.list[u->recent].next = *at;
		*at = u->recent;
	}
	return &q->store.list[u->recent];
}

void queue_list_done(struct hostq *q, struct queue *u)
{
	uint32_t number = u->lists;
	u->lists = q->store.list[number].next;
	u->recent = u->recent == number ? 0 : u->recent;
	store_list_free(&q->store, number);
}
