/* Turns: which provider is fetched from next (document 004, section 6). Holds providers, never
 * URLs; a provider has parts of sets (set, slot), which may be fetched now, in order: the oldest
 * set first, what had a temporary error (DB_BAD) after all others of its set. A provider is in one
 * of these:
 *
 * - being fetched: one URL of it is out;
 * - fetch-now: a queue for each priority. The higher priority goes first, within one they take
 *   turns: a provider keeps its place for `stay` URLs. So after each URL one that waits with a
 *   higher priority takes over;
 * - the bandwidth wheel: it waits for a time, as do single parts of it. What has to wait for longer
 *   than the wheel turns goes into a time slot of the database: that is the caller's to do;
 * - nothing, where it has no parts.
 *
 * Pure: no I/O, and time is a parameter, which only grows. */
#pragma once
#include "base/clock.h"

struct turns;

struct turns_options {
	size_t wheel_slots;
	int64_t wheel_step_us;
	int64_t site_wait_us;  /* after an error of the site; twice as long after the next, up to a
				  day */
	int64_t retry_wait_us; /* of a part whose URLs had errors of their own; the same way */
	unsigned stay;         /* URLs for which a provider keeps its place among its equals */
};

struct turns *turns_new(const struct turns_options *options, int64_t now_us);
void turns_free(struct turns **t);

/* Of a provider, from now on. bandwidth: bytes a second; 0: any. */
void turns_contract(struct turns *t, uint64_t provider, int64_t priority, uint64_t bandwidth);
/* A part may be fetched now. has_waited: one of DB_BAD that has waited for its next pass. false: it
 * was here already. */
bool turns_add(struct turns *t, uint64_t provider, uint64_t set, int64_t slot, bool has_waited);
/* A part is empty, or waits in the database. */
void turns_remove(struct turns *t, uint64_t provider, uint64_t set, int64_t slot);
/* The parts of a provider go, each told to `each` (may be NULL). */
void turns_clear(struct turns *t, uint64_t provider,
		 void (*each)(void *ctx, uint64_t set, int64_t slot), void *ctx);
/* The provider is gone: nothing is known of it any more, but that a URL of it is out. */
void turns_forget(struct turns *t, uint64_t provider);

/* Whose turn it is, and the part whose next row it is, after row `after`. The provider stays where
 * it is until one of the next functions was called. 1: nobody's, now. */
struct turn {
	uint64_t provider, set;
	int64_t slot;
	uint64_t after;
	bool waits; /* where it has a row: for turns_rest(), before this one is sent */
};
int turns_next(struct turns *t, int64_t now_us, struct turn *ret);
/* That row of it is out: it is being fetched. */
void turns_sent(struct turns *t, const struct turn *turn, uint64_t row, int64_t now_us);
/* That row of it cannot go now, and is passed over until the part is added anew. */
void turns_skip(struct turns *t, const struct turn *turn, uint64_t row);
/* Others of its priority go first. */
void turns_yield(struct turns *t, uint64_t provider, int64_t now_us);
/* The part has no row after `after`: it goes; or, of DB_BAD, begins a further pass. */
void turns_passed(struct turns *t, const struct turn *turn);
/* A part of DB_BAD waits before its next pass; tries: of its first row. Returns until when, where
 * that is beyond the wheel: the part has been removed, and is to wait in a slot. Else 0. */
int64_t turns_rest(struct turns *t, const struct turn *turn, unsigned tries, int64_t now_us);
/* The provider has to wait for its hours, which begin then. Returns as turns_wait(). */
int64_t turns_hold(struct turns *t, uint64_t provider, int64_t until_us, int64_t now_us);

/* How a URL that was out ended. */
enum turn_end {
	TURN_ANSWERED, /* by its server, whatever that said */
	TURN_SITE,     /* an error of the site */
	TURN_BACK,     /* nothing came of it: it is asked for again after a step of the wheel */
};
/* bytes: what was stored of it. A provider that is not being fetched is left as it is. Returns as
 * turns_wait(). */
int64_t turns_ended(struct turns *t, uint64_t provider, enum turn_end end, uint64_t bytes,
		    int64_t now_us);
/* Until when a provider has to wait, where that is beyond the wheel: then its parts are to wait in
 * a slot (turns_clear()), new ones as well. 0: it has not to. */
int64_t turns_wait(const struct turns *t, uint64_t provider, int64_t now_us);
/* Until when a provider waits in the wheel or beyond, and for what; 0: it does not. */
enum turn_wait { TURN_WAITS_BANDWIDTH, TURN_WAITS_HOURS, TURN_WAITS_SITE };
int64_t turns_until(const struct turns *t, uint64_t provider, int64_t now_us,
		    enum turn_wait *ret_why);
/* What it waits for holds no more: the contract is another one. */
void turns_wake(struct turns *t, uint64_t provider);

/* When somebody's turn comes who waits in the wheel: now_us where one is in fetch-now; INT64_MAX:
 * nobody waits. */
int64_t turns_due_us(const struct turns *t, int64_t now_us);

struct turns_counts {
	uint64_t out, ready, waiting; /* providers: being fetched, in fetch-now, in the wheel */
	uint64_t parts;
};
void turns_counts(const struct turns *t, struct turns_counts *ret);
