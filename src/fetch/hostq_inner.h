/* Inside of host queues: queues, the heap of those that wait for their time, jobs that are out. */
#pragma once
#include "base/hash.h"
#include "base/heap.h"
#include "base/table.h"
#include "fetch/hostq_list.h"

struct queue {
	qkey key;
	int64_t due_us; /* nothing goes out before */
	int64_t delay_us;
	int64_t trouble_us; /* the last one */
	uint64_t urls;      /* that wait, also those put back */
	uint32_t out;
	uint32_t lists;    /* the first, the most urgent; 0: none */
	uint32_t recent;   /* list that was last pushed to; 0: not known */
	uint32_t returned; /* jobs put back, most urgent first, in the order of coming; 0: none */
	uint32_t next;     /* of those that wait for their turn, or are unused */
	uint16_t concurrent;
	uint8_t troubles;
	bool used : 1;
	bool active : 1;  /* one of those that are worked on */
	bool waiting : 1; /* in line to become active */
	bool in_ready : 1;
	bool in_rest : 1;
};
_Static_assert(sizeof(struct queue) <= 64, "a line of the cache");

/* When a queue is to be looked at. */
struct due {
	int64_t us;
	uint32_t queue;
};

static inline bool due_before(const struct due *a, const struct due *b)
{
	return a->us < b->us;
}
HEAP(dues, struct due, due_before, HEAP_STAY)

static inline uint64_t queue_hash(qkey key)
{
	return hash_u64(key);
}
static inline bool queue_equal(qkey a, qkey b)
{
	return a == b;
}

/* Where a key's things are. The list is only a guess, so that both can be fetched at once. */
struct place {
	uint32_t queue, list;
};
TABLE(keys, qkey, struct place, queue_hash, queue_equal)

enum job_state { JOB_UNUSED, JOB_OUT, JOB_RETURNED };

/* A job has a slot from when it is taken until it is done, also while it is put back. */
struct slot {
	struct buf payload;
	uint64_t user;
	int64_t start_us;
	int64_t due_before_us, due_after_us; /* of its queue: what it was, what the start made it */
	uint32_t queue, turn;
	uint32_t next; /* put back, or unused */
	uint8_t priority, state;
};

struct hostq {
	struct hostq_options options;
	struct store store;
	struct queue *queue; /* 0 is none */
	uint32_t nqueues, cap, free;
	uint32_t used, active;
	uint32_t line_first, line_last; /* that wait to become active */
	struct keys keys;
	struct dues ready; /* active, with something to go out: when */
	struct dues rest;  /* with nothing left: when they may be forgotten */
	struct slot *slot; /* 0 is none */
	uint32_t nslots, slot_cap, slot_free;
	uint64_t urls, out, leftovers;
};

/* The queue of a key, made where there is none. */
struct place *queue_of(struct hostq *q, qkey key);
/* 0: there is none. */
uint32_t queue_find(const struct hostq *q, qkey key);
void queue_set_rule(struct queue *u, const struct polite_rule *rule);
unsigned queue_most_out(const struct queue *u);
/* The list of a queue with this priority, made where there is none. */
struct list *queue_list(struct hostq *q, uint32_t queue, unsigned priority);
void queue_list_done(struct hostq *q, struct queue *u); /* the first has nothing left */
/* Changes how many wait and how many are out, and all sums with it. */
void queue_count(struct hostq *q, struct queue *u, int64_t urls, int64_t out);
/* Puts a queue where it belongs after anything about it has changed. */
void queue_settle(struct hostq *q, uint32_t i);
bool queue_has_room(const struct hostq *q); /* for another one to be worked on */
void queue_forget_rested(struct hostq *q, int64_t now_us);

/* Puts a job back into its queue, behind those put back with the same priority. */
void hostq_slot_return(struct hostq *q, uint32_t slot);
