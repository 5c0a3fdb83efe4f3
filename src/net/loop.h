/* The loop: descriptors, timers, deferred calls, signals, and calls posted by other threads,
 * over libevent. A loop belongs to one thread; loop_post() alone may be called from
 * others.
 *
 * Descriptors, timers and deferred calls are small structs inside their owner: set fn and ctx, zero
 * the rest, pass it in. It must not move until it was ended or, for a timer or a deferred call, has
 * run. A callback may end or free anything, itself included.
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
/* End all descriptors and timers first. Pending deferred calls are made. Pending posts are
 * dropped: call loop_poll() first if their ctx needs them. */
void loop_free(struct loop **l);

int64_t loop_now_us(const struct loop *l);

/* Runs until loop_stop(), which one of the callbacks calls. */
int loop_run(struct loop *l, struct err *err);
void loop_stop(struct loop *l);
/* Runs everything that is due, without waiting. */
void loop_poll(struct loop *l);
/* Manual time: runs everything that is due, then one timer after another up to until_us, which is
 * the time when it returns. Descriptors are polled before each timer. */
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

/* Watches fd (a socket or pipe, not a file). Call it again to change `want`; 0 pauses. */
void loop_io_want(struct loop *l, struct loop_io *io, int fd, unsigned want);
/* Call it before closing the descriptor. Safe to call twice, or if fd was never watched. */
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

/* Runs once, after in_us (negative: 0). Setting a timer again moves it. Timers due at the same
 * instant run in the order in which they were set. */
void loop_timer_in(struct loop *l, struct loop_timer *t, int64_t in_us);
/* Runs every every_us (at least 1), first after that time. A busy loop skips what it missed. */
void loop_timer_every(struct loop *l, struct loop_timer *t, int64_t every_us);
void loop_timer_stop(struct loop_timer *t); /* safe if it is not set */

/* Deferred calls run when the current callback has returned, before any other callback. Calls that
 * a deferred call defers wait for the next round, so that descriptors get their turn. */

struct loop_later {
	void (*fn)(void *ctx);
	void *ctx;
	struct link link; /* from here on the loop's */
};

void loop_later(struct loop *l, struct loop_later *call); /* once, however often requested */
void loop_later_cancel(struct loop_later *call);          /* safe if it is not pending */

/* Signals: one loop owns a signal. It is blocked in this thread and must be blocked in all others,
 * as it is in roles; it stays blocked when the loop ends. */
int loop_signal(struct loop *l, int number, void (*fn)(void *ctx, int number), void *ctx,
		struct err *err);

/* From any thread: runs fn(ctx) in the loop's thread, in the order of the posts. The loop must
 * outlive every thread that posts. */
void loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx);
/* In the loop's thread: drops pending posts with this ctx. */
void loop_post_cancel(struct loop *l, const void *ctx);
