/* Inside of host queues: queues and jobs (hostq.c), URLs in memory and on disk (hostq_store.c). */
#pragma once
#include "base/file.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/table.h"
#include "fetch/hostq.h"

/* URLs in order, in chunks of memory and in extents of a file.
 *
 * A list is a string of bytes: records one after the other, each a varint with the difference of
 * `user` to the record before (zigzag), a varint length, and the payload. The beginning is in
 * memory (front), then come extents on disk, then the end in memory again (back); without extents
 * there is only the front. Records run across chunks, but each of these parts begins and ends
 * between two records. */

enum {
	CHUNK_SIZE = 256,
	CHUNK_DATA = CHUNK_SIZE - 4, /* after the number of the next chunk */
	HUGE_PAGE = 2 << 20,
	SLAB_CHUNKS = HUGE_PAGE / CHUNK_SIZE, /* memory comes from the system 2 MiB at a time */
	EXTENT_MAX = 64 << 10,                /* bytes in an extent, unless one record is longer */
	RECORD_HEAD_MAX = 10 + 3,
	RECORD_MAX = RECORD_HEAD_MAX + HOSTQ_PAYLOAD_MAX,
};

/* Memory in chunks, by number; 0 is none. */
struct chunks {
	char **slab;
	uint32_t nslabs, made; /* numbers given out so far */
	uint32_t free;         /* first of those given back */
	uint64_t in_use;
};

/* A string of bytes in chunks. */
struct chain {
	uint32_t first, last; /* 0: empty */
	uint16_t from, to;    /* in the first, in the last */
};

struct extent {
	uint64_t at;
	uint64_t user; /* of the record before its first */
	uint32_t n;    /* bytes */
	uint16_t urls; /* a record has 2 bytes or more */
};

/* The further parts of a list that is not all in memory. */
struct spilled {
	struct extent *extent;
	uint32_t first, n, cap; /* extent[first] .. extent[first + n - 1] are left */
	struct chain back;
	uint64_t back_user, back_urls; /* of the record before its first; records in it */
};

struct url_list {
	struct spilled *spilled; /* NULL: all is in the front */
	uint64_t urls;           /* all in all */
	uint64_t read_user;      /* of the record before the first in the front */
	uint64_t write_user;     /* of the last record */
	struct chain front;
	uint32_t next; /* of the same queue, less urgent; 0: none */
	uint8_t priority;
};

/* All lists, by number (0 is none), and where they keep what they hold. */
struct store {
	struct url_list *list;
	uint32_t nlists, cap, free; /* made so far; room; first of those given back */
	uint32_t lists;             /* in use */
	uint32_t hand;              /* where the search for something to spill goes on */
	struct chunks chunks;
	uint64_t budget;
	uint64_t limit;      /* beyond it there is something to spill; the budget, mostly */
	char *folder;        /* NULL: nothing can be spilled */
	struct file file;    /* of what did not fit */
	uint64_t live, end;  /* bytes of it in extents; where it ends */
	uint64_t compact_at; /* its size at which it is written anew */
	uint64_t extent_memory;
	uint64_t spilled; /* URLs in extents */
	struct buf piece; /* for what is written or read */
};

void store_init(struct store *s, uint64_t budget, const char *folder);
void store_free(struct store *s);
uint64_t store_memory(const struct store *s); /* bytes that the budget is for */

uint32_t store_list_new(struct store *s, unsigned priority);
void store_list_free(struct store *s, uint32_t number); /* with what it holds */

/* Makes room for so many bytes in memory. Negative: it is over the budget, and the disk refused. */
int store_make_room(struct store *s, size_t n, struct err *err);

void url_list_push(struct store *s, struct url_list *l, struct str payload, uint64_t user);
/* Takes the first record out, into an empty buffer. The list is not empty. Negative: it could not
 * be read back, and nothing has changed. */
int url_list_shift(struct store *s, struct url_list *l, struct buf *ret_payload, uint64_t *ret_user,
		   struct err *err);

/* Room for one more element after the n of an array whose element 0 is none; freed as others. What
 * is new in it is not set. */
void *numbers_grow(void *p, uint32_t *n, uint32_t *cap, size_t size) MUST_USE;

/* Queues, the heap of those that wait for their time, jobs that are out. */

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
	uint32_t next;     /* of those in line, or unused; of one in `turns`: where in it */
	uint16_t concurrent;
	uint8_t troubles;
	bool used : 1;
	bool active : 1;  /* one of those that are worked on */
	bool waiting : 1; /* in line to become active */
	bool in_ready : 1;
	bool in_turns : 1;
	bool in_rest : 1;
	bool held : 1; /* nothing goes out */
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

/* A queue whose time has come, with the class of its first URL. */
struct turn {
	struct hostq *q; /* to tell the queue its place */
	int64_t us;
	uint32_t queue;
	uint8_t class;
	bool cold; /* nothing is likely to be open to its server */
};

static inline bool turn_before(const struct turn *a, const struct turn *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	return a->cold != b->cold ? b->cold : a->us < b->us;
}
void turn_moved(const struct turn *t, size_t at);
HEAP(turns, struct turn, turn_before, turn_moved)

/* Where a key's things are. The list is only a guess, so that both can be fetched at once. */
struct place {
	uint32_t queue, list;
};
TABLE(keys, qkey, struct place, hash_u64, table_same_u64)

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
	struct dues ready;  /* active, with something to go out: when */
	struct turns turns; /* those of them whose time has come; only with `urgent` */
	struct dues rest;   /* with nothing left: when they may be forgotten */
	struct slot *slot;  /* 0 is none */
	uint32_t nslots, slot_cap, slot_free;
	uint64_t urls, out, leftovers;
};
