/* What the files of the owner's side share. */
#pragma once
#include "base/file.h"
#include "extract/cage_wire.h"

#include <sys/types.h>
#include <time.h>

struct cage_worker;

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_QUEUED };

struct slot {
	struct cage_slot lent; /* first: what callers hold */
	struct cage_worker *worker;
	unsigned index;
	enum slot_state state;
	cage_done_fn *done;
	void *ctx;
	size_t body_n;
};

enum worker_state {
	WORKER_NONE, /* not running; due_us: when to try again */
	WORKER_STARTS,
	WORKER_READY,
};

struct cage_worker {
	enum worker_state state;
	pid_t pid;
	int fd; /* the socket; -1: none */
	struct file memory;
	char *map;
	struct slot slot[CAGE_SLOTS];
	struct slot *queue[CAGE_SLOTS]; /* what it has to read, in order */
	size_t queued, sent;            /* the first so many have been sent */
	const struct cage_progress *progress;
	unsigned failures; /* starts in a row that came to nothing */
	uint32_t locks;
	int64_t since_us, due_us; /* of what it is at, or of the start */
	int64_t cpu_us;           /* its clock when it began with that */
	clockid_t clock;
	char remark[sizeof(((struct cage_hello *)0)->remark)];
};

struct cage {
	struct cage_options options;
	char *program;
	int epoll, timer;
	int64_t timer_us; /* when it goes off; INT64_MAX: it does not */
	size_t nworkers;
	struct cage_worker *worker;
	struct cage_stats stats;
	struct err last; /* why no worker could be started */
	/* The result that is being told. */
	char *copy;
	size_t copy_room, attrs_room;
	struct attr *attrs;
};

/* Allocates the shared memory of a worker and maps it. */
int cage_memory(struct cage *c, struct cage_worker *w, struct err *err);
/* Starts the process; it says hello later. */
int cage_start(struct cage *c, struct cage_worker *w, int64_t now_us, struct err *err);
/* Ends it, if it has not ended by itself; says in words how it ended. */
void cage_stop(struct cage_worker *w, char *ret_how, size_t cap);
int64_t cage_cpu_us(const struct cage_worker *w);

/* Looks an answer over and takes what it says out of the shared memory; *ret->attrs are then safe
 * from the worker. Negative: it makes no sense. */
int cage_take_answer(struct cage *c, const struct cage_worker *w, const struct cage_answer *a,
		     struct cage_result *ret, struct err *err);
/* The attributes of a document without text. */
void cage_no_text(struct cage *c, const struct slot *s, enum cage_end end, const char *reason,
		  struct cage_result *ret);
