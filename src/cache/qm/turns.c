/* Turns: a ring of waiting things and a queue for each priority. A provider that has been answered
 * goes to the front of its queue until it has used up its stay, then to the back; so taking the
 * first of the highest queue is all that it takes for "a waiting one of higher priority takes
 * over", and for turns among equals. Why a provider waits is kept as times (of its bandwidth, its
 * site, its hours), not in the ring: whatever the ring lets go is asked for its time again, so an
 * entry may be too early there, but never gets lost. */
#include "cache/qm/turns.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/table.h"
#include "base/vec.h"
#include "cache/db.h"

#define WAIT_MOST_US US_PER_DAY

struct queue {
	int64_t priority;
	struct link providers;
};

struct provider {
	uint64_t id;
	int64_t priority;
	uint64_t bandwidth;
	struct link parts; /* in the order of their turns */
	struct link link;  /* of a queue, or of the wheel; none: out, or without parts */
	bool in_wheel;
	unsigned used; /* of its stay */
	/* Why it waits: until when. */
	int64_t paid_us; /* what it has got so far is paid for then, at its bandwidth */
	int64_t site_us, hold_us;
	unsigned errors; /* of the site, in a row */
	/* The URL that is out. */
	bool is_out;
	uint64_t set, row;
	int64_t slot, sent_us;
};

struct part {
	struct link link, wheel;
	struct provider *provider;
	uint64_t set, after;
	int64_t slot;
	bool has_waited;
	int64_t until_us; /* while it is in the wheel */
};

TABLE(provider_ids, uint64_t, struct provider *, hash_u64, table_same_u64)

struct turns {
	struct turns_options o;
	struct provider_ids providers;
	struct queue **queue; /* the highest priority first */
	size_t queues, queues_room;
	struct link *wheel, *parts_wheel; /* providers and parts, by tick */
	int64_t tick;                     /* the last that has been let go */
	uint64_t nparts, nwheel, nparts_wheel, nready, nout;
};

struct turns *turns_new(const struct turns_options *options, int64_t now_us)
{
	struct turns *t = mem_alloc(sizeof *t);
	ENSURE(options->wheel_slots > 1 && options->wheel_step_us > 0);
	*t = (struct turns){.o = *options, .tick = now_us / options->wheel_step_us};
	t->wheel = mem_alloc(2 * options->wheel_slots * sizeof *t->wheel);
	t->parts_wheel = t->wheel + options->wheel_slots;
	for (size_t i = 0; i < 2 * options->wheel_slots; i++)
		list_init(&t->wheel[i]);
	return t;
}

void turns_free(struct turns **tp)
{
	struct turns *t = *tp;
	if (!t)
		return;
	TABLE_EACH (provider_ids, slot, &t->providers) {
		LIST_EACH (struct part, part, &slot->value->parts, link)
			mem_free(&part);
		mem_free(&slot->value);
	}
	provider_ids_free(&t->providers);
	for (size_t i = 0; i < t->queues; i++)
		mem_free(&t->queue[i]);
	mem_free(&t->queue);
	mem_free(&t->wheel);
	mem_free(tp);
}

/* Times. */

static int64_t wheel_span(const struct turns *t)
{
	return (int64_t)(t->o.wheel_slots - 1) * t->o.wheel_step_us;
}

/* After so many failures in a row. */
static int64_t failure_wait(int64_t first_us, unsigned failures)
{
	return backoff_us(failures, first_us, MAX(WAIT_MOST_US, first_us));
}

/* The list of the tick at which something that waits until then is let go. */
static struct link *wheel_at(struct turns *t, struct link *wheel, int64_t until_us)
{
	int64_t step = t->o.wheel_step_us, slots = (int64_t)t->o.wheel_slots;
	int64_t tick = until_us / step + (until_us % step > 0);
	tick = MIN(MAX(tick, t->tick + 1), t->tick + slots - 1);
	return &wheel[tick % slots];
}

static int64_t provider_until(const struct provider *p)
{
	return MAX(MAX(p->site_us, p->hold_us), p->bandwidth ? p->paid_us : 0);
}

/* Where providers are. */

static struct queue *queue_of(struct turns *t, int64_t priority)
{
	size_t at = 0;
	while (at < t->queues && t->queue[at]->priority > priority)
		at++;
	if (at < t->queues && t->queue[at]->priority == priority)
		return t->queue[at];
	struct queue *q = mem_alloc(sizeof *q);
	q->priority = priority;
	list_init(&q->providers);
	(void)VEC_PUSH(t->queue, t->queues, t->queues_room);
	memmove(t->queue + at + 1, t->queue + at, (t->queues - 1 - at) * sizeof(t->queue[0]));
	t->queue[at] = q;
	return q;
}

static void provider_take_out(struct turns *t, struct provider *p)
{
	if (!list_has(&p->link))
		return;
	t->nwheel -= p->in_wheel;
	t->nready -= !p->in_wheel;
	list_remove(&p->link);
}

static bool provider_has_turn(const struct provider *p)
{
	LIST_EACH (const struct part, part, &p->parts, link)
		if (!list_has(&part->wheel))
			return true;
	return false;
}

/* To where it belongs now; stays: at the front of its queue. */
static void provider_place(struct turns *t, struct provider *p, bool stays, int64_t now_us)
{
	provider_take_out(t, p);
	if (p->is_out || !provider_has_turn(p))
		return;
	p->in_wheel = provider_until(p) > now_us;
	if (p->in_wheel) {
		list_append(wheel_at(t, t->wheel, provider_until(p)), &p->link);
		t->nwheel++;
		return;
	}
	struct link *queue = &queue_of(t, p->priority)->providers;
	t->nready++;
	if (stays) {
		list_prepend(queue, &p->link);
	} else {
		p->used = 0;
		list_append(queue, &p->link);
	}
}

static struct provider *provider_find(const struct turns *t, uint64_t id)
{
	struct provider **p = provider_ids_get(&t->providers, id);
	return p ? *p : NULL;
}

static struct provider *provider_get(struct turns *t, uint64_t id)
{
	struct provider **p = provider_ids_put(&t->providers, id);
	if (!*p) {
		*p = mem_alloc(sizeof **p);
		**p = (struct provider){.id = id};
		list_init(&(*p)->parts);
	}
	return *p;
}

static int64_t wheel_now(const struct turns *t)
{
	return t->tick * t->o.wheel_step_us;
}

void turns_contract(struct turns *t, uint64_t provider, int64_t priority, uint64_t bandwidth)
{
	struct provider *p = provider_get(t, provider);
	p->bandwidth = bandwidth;
	if (p->priority == priority)
		return;
	p->priority = priority;
	if (list_has(&p->link) && !p->in_wheel)
		provider_place(t, p, false, wheel_now(t));
}

/* Parts. */

static bool part_before(const struct part *a, uint64_t set, int64_t slot)
{
	bool bad_a = a->slot == DB_BAD, bad = slot == DB_BAD;
	if (a->set != set)
		return a->set < set;
	return bad_a != bad ? bad : a->slot < slot;
}

static struct part *part_find(const struct provider *p, uint64_t set, int64_t slot)
{
	LIST_EACH (struct part, part, &p->parts, link)
		if (part->set == set && part->slot == slot)
			return part;
	return NULL;
}

static void part_free(struct turns *t, struct part *part)
{
	t->nparts_wheel -= list_has(&part->wheel);
	t->nparts--;
	list_remove(&part->wheel);
	list_remove(&part->link);
	mem_free(&part);
}

bool turns_add(struct turns *t, uint64_t provider, uint64_t set, int64_t slot, bool has_waited)
{
	struct provider *p = provider_get(t, provider);
	/* most come with the newest set */
	struct link *at = p->parts.prev;
	while (at != &p->parts && !part_before(LIST_OF(struct part, at, link), set, slot)) {
		const struct part *other = LIST_OF(struct part, at, link);
		if (other->set == set && other->slot == slot)
			return false;
		at = at->prev;
	}
	struct part *part = mem_alloc(sizeof *part);
	*part = (struct part){.provider = p, .set = set, .slot = slot, .has_waited = has_waited};
	list_insert_after(at, &part->link);
	t->nparts++;
	if (!list_has(&p->link))
		provider_place(t, p, false, wheel_now(t));
	return true;
}

static void provider_look(struct turns *t, struct provider *p)
{
	if (!provider_has_turn(p))
		provider_take_out(t, p);
}

void turns_remove(struct turns *t, uint64_t provider, uint64_t set, int64_t slot)
{
	struct provider *p = provider_find(t, provider);
	struct part *part = p ? part_find(p, set, slot) : NULL;
	if (!part)
		return;
	part_free(t, part);
	provider_look(t, p);
}

void turns_clear(struct turns *t, uint64_t provider,
		 void (*each)(void *ctx, uint64_t set, int64_t slot), void *ctx)
{
	struct provider *p = provider_find(t, provider);
	if (!p)
		return;
	LIST_EACH (struct part, part, &p->parts, link) {
		if (each)
			each(ctx, part->set, part->slot);
		part_free(t, part);
	}
	provider_look(t, p);
}

void turns_forget(struct turns *t, uint64_t provider)
{
	struct provider *p = provider_find(t, provider);
	if (!p)
		return;
	turns_clear(t, provider, NULL, NULL);
	if (p->is_out) {
		p->errors = 0;
		p->site_us = p->hold_us = p->paid_us = 0;
		return;
	}
	provider_ids_remove(&t->providers, provider);
	mem_free(&p);
}

/* Time passes. */

static void wheel_let_go(struct turns *t, int64_t tick, int64_t now_us)
{
	size_t at = (size_t)(tick % (int64_t)t->o.wheel_slots);
	struct link gone;
	list_init(&gone);
	LIST_EACH (struct part, part, &t->parts_wheel[at], wheel) {
		list_remove(&part->wheel);
		list_append(&gone, &part->wheel);
	}
	LIST_EACH (struct part, part, &gone, wheel) {
		list_remove(&part->wheel);
		if (part->until_us > now_us) {
			list_append(wheel_at(t, t->parts_wheel, part->until_us), &part->wheel);
			continue;
		}
		t->nparts_wheel--;
		part->has_waited = true;
		if (!list_has(&part->provider->link))
			provider_place(t, part->provider, false, now_us);
	}
	LIST_EACH (struct provider, p, &t->wheel[at], link) {
		provider_take_out(t, p);
		list_append(&gone, &p->link);
		t->nready++;
		p->in_wheel = false;
	}
	LIST_EACH (struct provider, p, &gone, link)
		provider_place(t, p, false, now_us);
}

static void wheel_turn(struct turns *t, int64_t now_us)
{
	int64_t to = now_us / t->o.wheel_step_us, slots = (int64_t)t->o.wheel_slots;
	int64_t from = MAX(t->tick + 1, to - slots + 1);
	if (to <= t->tick)
		return;
	t->tick = to;
	for (int64_t tick = from; tick <= to && t->nwheel + t->nparts_wheel > 0; tick++)
		wheel_let_go(t, tick, now_us);
}

int turns_next(struct turns *t, int64_t now_us, struct turn *ret)
{
	struct provider *p = NULL;
	wheel_turn(t, now_us);
	for (size_t i = 0; i < t->queues && !p; i++)
		p = LIST_FIRST(struct provider, &t->queue[i]->providers, link);
	if (!p)
		return 1;
	LIST_EACH (struct part, part, &p->parts, link) {
		if (list_has(&part->wheel))
			continue;
		*ret = (struct turn){
			.provider = p->id,
			.set = part->set,
			.slot = part->slot,
			.after = part->after,
			.waits = part->slot == DB_BAD && !part->has_waited,
		};
		return 0;
	}
	die("a provider has its turn, and nothing to be fetched");
}

/* What became of a turn. */

static struct part *turn_part(const struct turns *t, const struct turn *turn,
			      struct provider **ret_provider)
{
	struct provider *p = provider_find(t, turn->provider);
	struct part *part = p ? part_find(p, turn->set, turn->slot) : NULL;
	ENSURE(part && !p->is_out);
	*ret_provider = p;
	return part;
}

void turns_sent(struct turns *t, const struct turn *turn, uint64_t row, int64_t now_us)
{
	struct provider *p;
	struct part *part = turn_part(t, turn, &p);
	if (part->slot == DB_BAD)
		part->after = row;
	provider_take_out(t, p);
	p->is_out = true;
	p->set = turn->set;
	p->slot = turn->slot;
	p->row = row;
	p->sent_us = now_us;
	p->used++;
	t->nout++;
}

void turns_skip(struct turns *t, const struct turn *turn, uint64_t row)
{
	struct provider *p;
	turn_part(t, turn, &p)->after = row;
}

void turns_yield(struct turns *t, uint64_t provider, int64_t now_us)
{
	provider_place(t, provider_get(t, provider), false, now_us);
}

void turns_passed(struct turns *t, const struct turn *turn)
{
	struct provider *p;
	struct part *part = turn_part(t, turn, &p);
	if (part->after == 0) {
		part_free(t, part);
		provider_look(t, p);
	} else {
		part->after = 0;
		part->has_waited = false;
	}
}

int64_t turns_rest(struct turns *t, const struct turn *turn, unsigned tries, int64_t now_us)
{
	struct provider *p;
	struct part *part = turn_part(t, turn, &p);
	int64_t wait = failure_wait(t->o.retry_wait_us, MAX(tries, 1U));
	if (wait > wheel_span(t)) {
		part_free(t, part);
		provider_look(t, p);
		return now_us + wait;
	}
	part->until_us = now_us + wait;
	list_append(wheel_at(t, t->parts_wheel, part->until_us), &part->wheel);
	t->nparts_wheel++;
	provider_look(t, p);
	return 0;
}

int64_t turns_wait(const struct turns *t, uint64_t provider, int64_t now_us)
{
	const struct provider *p = provider_find(t, provider);
	int64_t until = p ? provider_until(p) : 0;
	return until - now_us > wheel_span(t) ? until : 0;
}

int64_t turns_until(const struct turns *t, uint64_t provider, int64_t now_us,
		    enum turn_wait *ret_why)
{
	const struct provider *p = provider_find(t, provider);
	int64_t until = p ? provider_until(p) : 0;
	if (!p || until <= now_us)
		return 0;
	*ret_why = until == p->site_us   ? TURN_WAITS_SITE
		   : until == p->hold_us ? TURN_WAITS_HOURS
					 : TURN_WAITS_BANDWIDTH;
	return until;
}

int64_t turns_hold(struct turns *t, uint64_t provider, int64_t until_us, int64_t now_us)
{
	struct provider *p = provider_get(t, provider);
	p->hold_us = until_us;
	provider_place(t, p, true, now_us);
	return turns_wait(t, provider, now_us);
}

/* Bytes are paid for from when they were asked for, or since at most a step of the wheel before
 * that: so the steps cost nothing, and nobody saves up. */
static void provider_pay(struct turns *t, struct provider *p, uint64_t bytes)
{
	int64_t from = MAX(p->paid_us, p->sent_us - t->o.wheel_step_us);
	double us = p->bandwidth ? (double)bytes / (double)p->bandwidth * 1e6 : 0;
	p->paid_us = from + (int64_t)MIN(us, 365.0 * (double)US_PER_DAY);
}

int64_t turns_ended(struct turns *t, uint64_t provider, enum turn_end end, uint64_t bytes,
		    int64_t now_us)
{
	struct provider *p = provider_find(t, provider);
	if (!p || !p->is_out)
		return 0;
	struct part *part = part_find(p, p->set, p->slot);
	p->is_out = false;
	t->nout--;
	if (end == TURN_ANSWERED) {
		p->errors = 0;
		provider_pay(t, p, bytes);
	} else {
		int64_t wait = end == TURN_BACK ? t->o.wheel_step_us
						: failure_wait(t->o.site_wait_us, ++p->errors);
		p->site_us = now_us + wait;
		if (part && part->slot == DB_BAD)
			part->after = p->row - 1;
	}
	provider_place(t, p, p->used < t->o.stay, now_us);
	return turns_wait(t, provider, now_us);
}

void turns_wake(struct turns *t, uint64_t provider)
{
	struct provider *p = provider_find(t, provider);
	if (!p)
		return;
	p->hold_us = p->paid_us = 0;
	if (list_has(&p->link) && p->in_wheel)
		provider_place(t, p, false, wheel_now(t));
}

int64_t turns_due_us(const struct turns *t, int64_t now_us)
{
	int64_t slots = (int64_t)t->o.wheel_slots;
	if (t->nready)
		return now_us;
	if (t->nwheel + t->nparts_wheel == 0)
		return INT64_MAX;
	for (int64_t tick = t->tick + 1; tick < t->tick + slots; tick++)
		if (!list_is_empty(&t->wheel[tick % slots]) ||
		    !list_is_empty(&t->parts_wheel[tick % slots]))
			return MAX(tick * t->o.wheel_step_us, now_us);
	return now_us;
}

void turns_counts(const struct turns *t, struct turns_counts *ret)
{
	*ret = (struct turns_counts){
		.out = t->nout, .ready = t->nready, .waiting = t->nwheel, .parts = t->nparts};
}
