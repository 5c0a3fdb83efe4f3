/* The loop: descriptors, timers, deferred calls, signals, and calls posted by other threads,
 * over libevent. A loop belongs to one thread; loop_post() alone may be called from
 * others.
 *
 * What is watched is a small struct inside its owner: set fn and ctx, zero the rest, hand it in. It
 * must stay where it is until it has been ended or, for a timer or a deferred call, has run. A
 * callback may end or free anything, itself included.
 *
 * Time is CLOCK_MONOTONIC, or a number that only loop_step() moves, for tests. */
#pragma once
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"

#include <sys/types.h>

struct loop;
struct event;

struct loop_options {
	bool manual;      /* time stands still but for loop_step() */
	int64_t start_us; /* where it begins then */
};

/* options may be NULL. */
int loop_new(struct loop **ret, const struct loop_options *options, struct err *err);
/* Descriptors and timers must have been ended before. Deferred calls that are left are
 * made; posted ones that are left are dropped: loop_poll() first, when their ctx needs them. */
void loop_free(struct loop **l);

int64_t loop_now_us(const struct loop *l);

/* Runs until loop_stop(), which one of the callbacks calls. */
int loop_run(struct loop *l, struct err *err);
void loop_stop(struct loop *l);
/* What can be done now, without waiting. */
void loop_poll(struct loop *l);
/* Manual time: what can be done now, then from timer to timer until until_us, which is the time
 * when it returns. Descriptors are looked at before each timer. */
void loop_step(struct loop *l, int64_t until_us);

/* Descriptors. */

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

struct loop_io {
	void (*fn)(void *ctx, unsigned what); /* LOOP_READ or LOOP_WRITE; the end and failures of
						 a descriptor make it readable and writable */
	void *ctx;
	struct loop *loop; /* from here on the loop's */
	struct event *read, *write;
	int fd;
	unsigned want;
};

/* Watches fd (a socket, pipe or such, not a file) for these; called again it changes them. 0: for
 * nothing, until the next call. */
void loop_io_want(struct loop *l, struct loop_io *io, int fd, unsigned want);
/* Before the descriptor is closed. May be called twice, and on what was never watched. */
void loop_io_end(struct loop_io *io);

/* Timers. */

struct loop_timer {
	void (*fn)(void *ctx);
	void *ctx;
	struct loop *loop; /* from here on the loop's */
	int64_t due_us, every_us;
	uint64_t turn;
	size_t at;
	bool set;
};

/* Once, after in_us (negative is 0); a timer that is set is set anew. Those due at the same instant
 * run in the order in which they were set. */
void loop_timer_in(struct loop *l, struct loop_timer *t, int64_t in_us);
/* Every every_us (at least 1), first after that. What a busy loop missed is not made up for. */
void loop_timer_every(struct loop *l, struct loop_timer *t, int64_t every_us);
void loop_timer_stop(struct loop_timer *t); /* also of one that is not set */

/* Deferred calls: made when the callback that asked has returned, before any other callback. What a
 * deferred call defers waits for the next round, so that descriptors have their turn. */

struct loop_later {
	void (*fn)(void *ctx);
	void *ctx;
	struct link link; /* from here on the loop's */
};

void loop_later(struct loop *l, struct loop_later *call); /* once, however often it is asked for */
void loop_later_cancel(struct loop_later *call);          /* also of one that was not asked for */

/* Signals: the one loop that asks owns a signal. It is blocked in this thread and must be in all
 * others, as it is in roles; it stays blocked when the loop ends. */
int loop_signal(struct loop *l, int number, void (*fn)(void *ctx, int number), void *ctx,
		struct err *err);

/* From any thread: fn(ctx) in the loop's thread, in the order of the posts. The loop must outlive
 * every thread that posts. */
void loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx);
/* In the loop's thread: what was posted with this ctx, and not called yet, is not called. */
void loop_post_cancel(struct loop *l, const void *ctx);
