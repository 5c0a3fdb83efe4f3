/* Host queues: which URL goes next.
 *
 * A queue is in one of four places: active and ready (in a heap, by the time when it may go),
 * active and at its limit (in no list: the end of a job brings it back), in line until there is
 * room for another, or resting without URLs until its delay may be forgotten. queue_settle() moves
 * it to the right place after every change. The heaps may be out of date: an entry is corrected
 * when it comes up, which is cheaper than moving it with every change.
 *
 * With `urgent`, a queue whose time has come moves from the heap by time to a heap by class and
 * time (turns). That one is always up to date, since a URL that is pushed or put back may make a
 * queue more urgent than its entry says, and then it would not come up. So each queue knows its
 * place there. */
#include "fetch/hostq.h"

#include "base/hash.h"
#include "fetch/queue/hostq_inner.h"

/* Queues: which are worked on, which wait, when each may go. */

static void queue_set_rule(struct queue *u, const struct polite_rule *rule)
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
		ENSURE(q->nqueues < HOSTQ_QUEUES_MAX);
		q->queue = numbers_grow(q->queue, &q->nqueues, &q->cap, sizeof *q->queue);
		i = q->nqueues++;
	}
	q->queue[i] = (struct queue){.key = key, .used = true, .trouble_us = INT64_MIN};
	queue_set_rule(&q->queue[i], &q->options.rule);
	q->used++;
	return i;
}

/* The queue of a key, made where there is none. */
static struct place *queue_of(struct hostq *q, qkey key)
{
	bool is_new;
	struct place *place = keys_put_new(&q->keys, key, &is_new);
	if (is_new)
		place->queue = queue_new(q, key);
	return place;
}

/* 0: there is none. */
static uint32_t queue_find(const struct hostq *q, qkey key)
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

static unsigned queue_most_out(const struct queue *u)
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

/* Changes how many wait and how many are out, and all sums with it. */
static void queue_count(struct hostq *q, struct queue *u, int64_t urls, int64_t out)
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

/* Whether one of its URLs may go out when its time has come. */
static bool queue_may_go(const struct queue *u)
{
	return u->active && !u->held && u->urls > 0 && u->out < queue_most_out(u);
}

static void queue_ready(struct hostq *q, uint32_t i)
{
	struct queue *u = &q->queue[i];
	if (u->in_ready || u->in_turns || !queue_may_go(u))
		return;
	u->in_ready = true;
	dues_push(&q->ready, (struct due){u->due_us, i});
}

void turn_moved(const struct turn *t, size_t at)
{
	t->q->queue[t->queue].next = (uint32_t)at;
}

/* Of the URL that goes next; the queue has one. */
static uint8_t queue_class(const struct hostq *q, const struct queue *u)
{
	uint8_t listed = u->lists ? q->store.list[u->lists].priority : UINT8_MAX;
	return u->returned ? MIN(q->slot[u->returned].priority, listed) : listed;
}

/* Whether it was last asked too long ago for its connection to be kept, or never. */
static bool queue_is_cold(const struct hostq *q, const struct queue *u, int64_t now_us)
{
	return u->due_us == 0 || now_us - u->due_us + u->delay_us >= q->options.keep_us;
}

static void turn_join(struct hostq *q, uint32_t i, int64_t now_us)
{
	struct queue *u = &q->queue[i];
	u->in_turns = true;
	turns_push(&q->turns,
		   (struct turn){q, u->due_us, i, queue_class(q, u), queue_is_cold(q, u, now_us)});
}

static void turn_leave(struct hostq *q, uint32_t i)
{
	q->queue[i].in_turns = false;
	turns_remove(&q->turns, q->queue[i].next);
}

static void turn_settle(struct hostq *q, uint32_t i)
{
	struct queue *u = &q->queue[i];
	if (!queue_may_go(u)) {
		turn_leave(q, i);
		return;
	}
	struct turn *t = &q->turns.e[u->next];
	t->us = u->due_us;
	t->class = queue_class(q, u);
	turns_fix(&q->turns, u->next);
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

/* for another one to be worked on */
static bool queue_has_room(const struct hostq *q)
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

/* Puts a queue where it belongs after anything about it has changed. */
static void queue_settle(struct hostq *q, uint32_t i)
{
	struct queue *u = &q->queue[i];
	bool busy = u->urls > 0 || u->out > 0;
	if (u->in_turns)
		turn_settle(q, i);
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

static void queue_forget_rested(struct hostq *q, int64_t now_us)
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
static uint32_t *url_list_place(struct hostq *q, struct queue *u, unsigned priority)
{
	uint32_t *at = &u->lists;
	while (*at && q->store.list[*at].priority < priority)
		at = &q->store.list[*at].next;
	return at;
}

/* Most URLs of a queue have one and the same priority: no need to pass by the lists of others. */
static struct url_list *queue_list(struct hostq *q, uint32_t queue, unsigned priority)
{
	struct queue *u = &q->queue[queue];
	if (u->recent && q->store.list[u->recent].priority == priority)
		return &q->store.list[u->recent];
	u->recent = *url_list_place(q, u, priority);
	if (!u->recent || q->store.list[u->recent].priority != priority) {
		u->recent = store_list_new(&q->store, priority);
		uint32_t *at = url_list_place(q, u, priority);
		q->store.list[u->recent].next = *at;
		*at = u->recent;
	}
	return &q->store.list[u->recent];
}

/* the first has nothing left */
static void queue_list_done(struct hostq *q, struct queue *u)
{
	uint32_t number = u->lists;
	u->lists = q->store.list[number].next;
	u->recent = u->recent == number ? 0 : u->recent;
	store_list_free(&q->store, number);
}

/* Jobs. */

enum { MEMORY_MIN = 1 << 20, MEMORY = 256 << 20, TROUBLES_MAX = 32 };

#define UNREADABLE_US US_PER_MIN /* until a queue that cannot be read back is tried again */

int hostq_new(struct hostq **ret, const struct hostq_options *options, struct err *err)
{
	if (options->rule.delay_us < 0 || options->rule.delay_us > POLITE_RETRY_MAX_US)
		return err_set(err, ERR_USAGE,
			       "host queues: a delay of %lld us; the longest is a day",
			       (long long)options->rule.delay_us);
	struct hostq *q = mem_alloc(sizeof *q);
	uint64_t memory = options->memory ? options->memory : MEMORY;
	q->options = *options;
	q->options.folder = NULL;
	store_init(&q->store, MAX(memory, (uint64_t)MEMORY_MIN), options->folder);
	*ret = q;
	return 0;
}

void hostq_free(struct hostq **qp)
{
	struct hostq *q = *qp;
	if (!q)
		return;
	for (uint32_t i = 1; i < q->nslots; i++)
		buf_free(&q->slot[i].payload);
	mem_free(&q->slot);
	mem_free(&q->queue);
	keys_free(&q->keys);
	dues_free(&q->ready);
	turns_free(&q->turns);
	dues_free(&q->rest);
	store_free(&q->store);
	mem_free(qp);
}

int hostq_push(struct hostq *q, qkey key, unsigned priority, struct str payload, uint64_t user,
	       struct err *err)
{
	ENSURE(priority < HOSTQ_PRIORITIES);
	if (payload.n > HOSTQ_PAYLOAD_MAX)
		return err_set(err, ERR_USAGE,
			       "host queues: a URL of %zu bytes, at most %d can be; it was not "
			       "taken",
			       payload.n, HOSTQ_PAYLOAD_MAX);
	if (store_make_room(&q->store, payload.n + RECORD_HEAD_MAX, err) < 0)
		return -1;
	struct place *place = queue_of(q, key);
	uint32_t i = place->queue;
	__builtin_prefetch(&q->store.list[place->list], 1);
	url_list_push(&q->store, queue_list(q, i, priority), payload, user);
	place->list = q->queue[i].recent;
	queue_count(q, &q->queue[i], 1, 0);
	queue_settle(q, i);
	return 0;
}

static uint32_t slot_new(struct hostq *q)
{
	uint32_t i = q->slot_free;
	if (i) {
		q->slot_free = q->slot[i].next;
		return i;
	}
	q->slot = numbers_grow(q->slot, &q->nslots, &q->slot_cap, sizeof *q->slot);
	i = q->nslots++;
	q->slot[i] = (struct slot){.payload = BUF_INIT(HOSTQ_PAYLOAD_MAX), .turn = q->options.turn};
	return i;
}

static void slot_free(struct hostq *q, uint32_t i)
{
	struct slot *s = &q->slot[i];
	if (s->payload.cap > 4096)
		buf_free(&s->payload);
	s->state = JOB_UNUSED;
	s->next = q->slot_free;
	q->slot_free = i;
}

/* Puts a job back into its queue, after those put back with the same priority. */
static void hostq_slot_return(struct hostq *q, uint32_t i)
{
	uint32_t *at = &q->queue[q->slot[i].queue].returned;
	while (*at && q->slot[*at].priority <= q->slot[i].priority)
		at = &q->slot[*at].next;
	q->slot[i].next = *at;
	q->slot[i].state = JOB_RETURNED;
	*at = i;
}

/* The most urgent URL of a queue that has one: what was put back goes before its equals. */
static int slot_fill(struct hostq *q, uint32_t queue, uint32_t *ret, struct err *err)
{
	struct queue *u = &q->queue[queue];
	struct url_list *l = u->lists ? &q->store.list[u->lists] : NULL;
	if (u->returned && (!l || q->slot[u->returned].priority <= l->priority)) {
		*ret = u->returned;
		u->returned = q->slot[*ret].next;
		return 0;
	}
	ENSURE(l);
	uint32_t i = slot_new(q);
	struct slot *s = &q->slot[i];
	buf_clear(&s->payload);
	s->queue = queue;
	s->priority = l->priority;
	if (url_list_shift(&q->store, l, &s->payload, &s->user, err) < 0) {
		slot_free(q, i);
		return -1;
	}
	if (l->urls == 0)
		queue_list_done(q, u);
	*ret = i;
	return 0;
}

static void job_fill(const struct hostq *q, uint32_t i, struct hostq_job *ret)
{
	const struct slot *s = &q->slot[i];
	*ret = (struct hostq_job){.key = q->queue[s->queue].key,
				  .payload = buf_str(&s->payload),
				  .user = s->user,
				  .priority = s->priority,
				  .slot = i,
				  .turn = s->turn};
}

static void queue_start(struct hostq *q, struct queue *u, struct slot *s, int64_t now_us)
{
	s->state = JOB_OUT;
	s->turn++;
	s->start_us = now_us;
	s->due_before_us = u->due_us;
	u->due_us = s->due_after_us = now_us + polite_pause_us(u->delay_us, u->troubles);
	queue_count(q, u, -1, 1);
}

static void top_off(struct hostq *q)
{
	uint32_t queue = dues_top(&q->ready)->queue;
	dues_remove(&q->ready, 0);
	q->queue[queue].in_ready = false;
	queue_settle(q, queue);
}

static void top_later(struct hostq *q, int64_t us)
{
	dues_top(&q->ready)->us = us;
	dues_fix(&q->ready, 0);
}

/* The queue whose time has come, on top of the heap. 1: none. What the heap says of a queue may be
 * out of date; it is mended here, when it comes up. */
static int find_ready(struct hostq *q, int64_t now_us, uint32_t *ret, int64_t *ret_wait_us)
{
	struct due *top;
	while ((top = dues_top(&q->ready))) {
		struct queue *u = &q->queue[top->queue];
		if (!queue_may_go(u)) {
			top_off(q);
		} else if (u->due_us > top->us) {
			top_later(q, u->due_us);
		} else if (top->us > now_us) {
			*ret_wait_us = top->us - now_us;
			return 1;
		} else {
			*ret = top->queue;
			return 0;
		}
	}
	*ret_wait_us = INT64_MAX;
	return 1;
}

/* Of those whose time has come the most urgent. 1: there are none. */
static int find_urgent(struct hostq *q, int64_t now_us, uint32_t *ret, int64_t *ret_wait_us)
{
	for (;;) {
		const struct turn *top;
		uint32_t i;
		if (find_ready(q, now_us, &i, ret_wait_us) == 0) {
			dues_remove(&q->ready, 0);
			q->queue[i].in_ready = false;
			turn_join(q, i, now_us);
		} else if (!(top = turns_top(&q->turns))) {
			return 1;
		} else if (top->us > now_us) { /* it was put off meanwhile */
			i = top->queue;
			turn_leave(q, i);
			queue_ready(q, i);
		} else {
			*ret = top->queue;
			return 0;
		}
	}
}

/* After one of its URLs was taken, or could not be: it is where it was found. */
static void found_later(struct hostq *q, uint32_t queue)
{
	const struct queue *u = &q->queue[queue];
	if (u->in_turns) {
		turn_leave(q, queue);
		queue_settle(q, queue);
	} else if (queue_may_go(u)) {
		top_later(q, u->due_us);
	} else {
		top_off(q);
	}
}

int hostq_take(struct hostq *q, int64_t now_us, struct hostq_job *ret, int64_t *ret_wait_us,
	       struct err *err)
{
	uint32_t queue, slot;
	queue_forget_rested(q, now_us);
	int rc = q->options.urgent ? find_urgent(q, now_us, &queue, ret_wait_us)
				   : find_ready(q, now_us, &queue, ret_wait_us);
	if (rc != 0)
		return 1;
	struct queue *u = &q->queue[queue];
	if (slot_fill(q, queue, &slot, err) < 0) {
		char key[QKEY_TEXT];
		u->due_us = now_us + UNREADABLE_US;
		found_later(q, queue);
		return err_in(err, "host queue %s, %llu URLs, put off for a minute",
			      qkey_print(u->key, key), (unsigned long long)u->urls);
	}
	queue_start(q, u, &q->slot[slot], now_us);
	found_later(q, queue);
	job_fill(q, slot, ret);
	return 0;
}

bool hostq_job_of(const struct hostq *q, uint32_t slot, uint32_t turn, struct hostq_job *ret)
{
	if (slot == 0 || slot >= q->nslots || q->slot[slot].turn != turn ||
	    q->slot[slot].state != JOB_OUT)
		return false;
	job_fill(q, slot, ret);
	return true;
}

/* What began before the last trouble tells nothing new. */
static void queue_learn(struct queue *u, const struct slot *s, enum outcome outcome, int64_t now_us)
{
	bool news = s->start_us > u->trouble_us;
	if (outcome_is_trouble(outcome)) {
		if (news && u->troubles < TROUBLES_MAX) {
			u->troubles++;
			u->trouble_us = now_us;
		}
		u->due_us = MAX(u->due_us, now_us + polite_pause_us(u->delay_us, u->troubles));
	} else if (outcome_is_answer(outcome) && news && u->troubles > 0) {
		u->troubles--;
	}
}

/* NULL: it is not out. */
static struct slot *slot_out(struct hostq *q, const struct hostq_job *job)
{
	struct hostq_job out;
	return hostq_job_of(q, job->slot, job->turn, &out) ? &q->slot[job->slot] : NULL;
}

bool hostq_sent(struct hostq *q, const struct hostq_job *job, int64_t sent_us)
{
	const struct slot *s = slot_out(q, job);
	if (!s)
		return false;
	struct queue *u = &q->queue[s->queue];
	u->due_us = MAX(u->due_us, sent_us + polite_pause_us(u->delay_us, u->troubles));
	queue_settle(q, s->queue);
	return true;
}

/* The job is no longer out; `waiting` more URLs wait. */
static void slot_settle(struct hostq *q, uint32_t queue, int64_t waiting)
{
	queue_count(q, &q->queue[queue], waiting, -1);
	queue_settle(q, queue);
}

bool hostq_done(struct hostq *q, const struct hostq_job *job, enum outcome outcome, int64_t now_us)
{
	const struct slot *s = slot_out(q, job);
	if (!s)
		return false;
	queue_learn(&q->queue[s->queue], s, outcome, now_us);
	slot_free(q, job->slot);
	slot_settle(q, s->queue, 0);
	return true;
}

/* The take has put its entry off, and an entry that is too late is not mended when it comes up.
 * Where in the heap it is nobody knows: a queue has no room for that. It is looked for among those
 * that wait for their time: 2 us for 10,000 of them. */
static void ready_sooner(struct hostq *q, uint32_t queue)
{
	const struct queue *u = &q->queue[queue];
	size_t i = 0;
	if (!u->in_ready)
		return;
	while (q->ready.e[i].queue != queue)
		i++;
	q->ready.e[i].us = MIN(q->ready.e[i].us, u->due_us);
	dues_fix(&q->ready, i);
}

/* As if it had not been taken. */
static void take_back_delay(struct hostq *q, const struct slot *s)
{
	struct queue *u = &q->queue[s->queue];
	if (u->due_us != s->due_after_us)
		return;
	u->due_us = s->due_before_us;
	ready_sooner(q, s->queue);
}

bool hostq_unasked(struct hostq *q, const struct hostq_job *job)
{
	const struct slot *s = slot_out(q, job);
	if (!s)
		return false;
	take_back_delay(q, s);
	slot_free(q, job->slot);
	slot_settle(q, s->queue, 0);
	return true;
}

bool hostq_lost(struct hostq *q, const struct hostq_job *job)
{
	const struct slot *s = slot_out(q, job);
	if (!s)
		return false;
	hostq_slot_return(q, job->slot);
	slot_settle(q, s->queue, 1);
	return true;
}

bool hostq_put_back(struct hostq *q, const struct hostq_job *job, int64_t until_us)
{
	const struct slot *s = slot_out(q, job);
	if (!s)
		return false;
	struct queue *u = &q->queue[s->queue];
	take_back_delay(q, s);
	u->due_us = MAX(u->due_us, until_us);
	return hostq_lost(q, job);
}

void hostq_hold(struct hostq *q, qkey key, bool held)
{
	uint32_t i = queue_find(q, key);
	if (!i)
		return;
	q->queue[i].held = held;
	queue_settle(q, i);
}

void hostq_set_rule(struct hostq *q, qkey key, const struct polite_rule *rule)
{
	uint32_t i = queue_find(q, key);
	if (!i)
		return;
	queue_set_rule(&q->queue[i], rule);
	queue_settle(q, i);
}

static uint64_t slots_memory(const struct hostq *q)
{
	uint64_t n = q->slot_cap * sizeof *q->slot;
	for (uint32_t i = 1; i < q->nslots; i++)
		n += q->slot[i].payload.cap;
	return n;
}

void hostq_count(const struct hostq *q, struct hostq_counts *ret)
{
	const struct store *s = &q->store;
	*ret = (struct hostq_counts){
		.urls = q->urls,
		.out = q->out,
		.leftovers = q->leftovers,
		.spilled = s->spilled,
		.queues = q->used,
		.active = q->active,
		.memory = store_memory(s) + s->cap * sizeof *s->list + q->cap * sizeof *q->queue +
			  q->keys.cap * (sizeof *q->keys.slots + 1) +
			  (q->ready.cap + q->rest.cap) * sizeof(struct due) +
			  q->turns.cap * sizeof(struct turn) + slots_memory(q),
		.disk = s->end,
	};
}

bool hostq_is_empty(const struct hostq *q)
{
	return q->urls == 0 && q->out == 0;
}

uint64_t hostq_waiting(const struct hostq *q, qkey key)
{
	uint32_t i = queue_find(q, key);
	return i ? q->queue[i].urls : 0;
}

bool hostq_wants_more(const struct hostq *q)
{
	return queue_has_room(q) && !q->line_first;
}

/* URLs whose queue key has become another one. */

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

/* The first list of a queue, appended to one that is there. */
static int url_list_drain(struct hostq *q, uint32_t from, uint32_t to, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(HOSTQ_PAYLOAD_MAX);
	struct url_list *l = &q->store.list[q->queue[from].lists];
	struct url_list *into = queue_list(q, to, l->priority);
	while (l->urls > 0) {
		uint64_t user;
		buf_clear(&payload);
		if (store_make_room(&q->store, RECORD_MAX, err) < 0 ||
		    url_list_shift(&q->store, l, &payload, &user, err) < 0)
			return -1;
		url_list_push(&q->store, into, buf_str(&payload), user);
		queue_count(q, &q->queue[from], -1, 0);
		queue_count(q, &q->queue[to], 1, 0);
	}
	queue_list_done(q, &q->queue[from]);
	return 0;
}

/* The first list of a queue, as it is, into another that has none of its priority: to its place. */
static void url_list_move(struct hostq *q, uint32_t from, uint32_t to, uint32_t *at)
{
	uint32_t number = q->queue[from].lists;
	struct url_list *l = &q->store.list[number];
	q->queue[from].lists = l->next;
	q->queue[from].recent = 0;
	l->next = *at;
	*at = number;
	queue_count(q, &q->queue[from], -(int64_t)l->urls, 0);
	queue_count(q, &q->queue[to], (int64_t)l->urls, 0);
}

static int lists_merge(struct hostq *q, uint32_t from, uint32_t to, struct err *err)
{
	while (q->queue[from].lists) {
		unsigned priority = q->store.list[q->queue[from].lists].priority;
		uint32_t *at = url_list_place(q, &q->queue[to], priority);
		if (!*at || q->store.list[*at].priority != priority)
			url_list_move(q, from, to, at);
		else if (url_list_drain(q, from, to, err) < 0)
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
