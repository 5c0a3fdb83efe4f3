/* URLs whose queue key has become another one. */
#include "fetch/hostq_inner.h"

static void slots_move(struct hostq *q, uint32_t from, uint32_t to)
{
	uint32_t returned = q->queue[from].returned;
	q->queue[from].returned = 0;
	for (uint32_t i = returned, next; i; i = next) {
		next = q->slot[i].next;
		q->slot[i].queue = to;
		hostq_slot_return(q, i);
		queue_count(q, &q->queue[from], -1, 0);
		queue_count(q, &q->queue[to], 1, 0);
	}
	for (uint32_t i = 1; i < q->nslots; i++)
		if (q->slot[i].state == JOB_OUT && q->slot[i].queue == from) {
			q->slot[i].queue = to;
			queue_count(q, &q->queue[from], 0, -1);
			queue_count(q, &q->queue[to], 0, 1);
		}
}

/* The first list of a queue, behind one that is there. */
static int list_append(struct hostq *q, uint32_t from, uint32_t to, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(HOSTQ_PAYLOAD_MAX);
	struct list *l = &q->store.list[q->queue[from].lists];
	struct list *into = queue_list(q, to, l->priority);
	while (l->urls > 0) {
		uint64_t user;
		buf_clear(&payload);
		if (store_make_room(&q->store, RECORD_MAX, err) < 0 ||
		    list_shift(&q->store, l, &payload, &user, err) < 0)
			return -1;
		list_push(&q->store, into, buf_str(&payload), user);
		queue_count(q, &q->queue[from], -1, 0);
		queue_count(q, &q->queue[to], 1, 0);
	}
	queue_list_done(q, &q->queue[from]);
	return 0;
}

static bool has_list(const struct hostq *q, uint32_t queue, unsigned priority)
{
	for (uint32_t i = q->queue[queue].lists; i; i = q->store.list[i].next)
		if (q->store.list[i].priority == priority)
			return true;
	return false;
}

/* The first list of a queue, as it is, into another that has none of its priority. */
static void list_move(struct hostq *q, uint32_t from, uint32_t to)
{
	uint32_t number = q->queue[from].lists, *at = &q->queue[to].lists;
	struct list *l = &q->store.list[number];
	q->queue[from].lists = l->next;
	q->queue[from].recent = 0;
	while (*at && q->store.list[*at].priority < l->priority)
		at = &q->store.list[*at].next;
	l->next = *at;
	*at = number;
	queue_count(q, &q->queue[from], -(int64_t)l->urls, 0);
	queue_count(q, &q->queue[to], (int64_t)l->urls, 0);
}

static int lists_merge(struct hostq *q, uint32_t from, uint32_t to, struct err *err)
{
	while (q->queue[from].lists) {
		unsigned priority = q->store.list[q->queue[from].lists].priority;
		if (!has_list(q, to, priority))
			list_move(q, from, to);
		else if (list_append(q, from, to, err) < 0)
			return -1;
	}
	return 0;
}

int hostq_rekey(struct hostq *q, qkey from_key, qkey to_key, struct err *err)
{
	uint32_t from = queue_find(q, from_key), to = queue_find(q, to_key);
	if (!from || from == to)
		return 0;
	if (!to) {
		keys_remove(&q->keys, from_key);
		keys_put(&q->keys, to_key)->queue = from;
		q->queue[from].key = to_key;
		return 0;
	}
	q->queue[to].due_us = MAX(q->queue[to].due_us, q->queue[from].due_us);
	q->queue[to].troubles = MAX(q->queue[to].troubles, q->queue[from].troubles);
	slots_move(q, from, to);
	int rc = lists_merge(q, from, to, err);
	queue_settle(q, to);
	queue_settle(q, from);
	return rc;
}
