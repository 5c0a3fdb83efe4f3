/* Turns: which provider to fetch from next (document 004, section 6). Holds providers, never URLs.
 * A provider has parts of sets (set, slot) that may be fetched now: the oldest set first, and
 * within a set the part of temporary errors (DB_BAD) last. A provider is in one of these places:
 *
 * - being fetched: one of its URLs is out;
 * - fetch-now: one queue for each priority, the highest first. Providers of one priority take
 *   turns, each for `stay` URLs. A provider of higher priority takes over after the current URL;
 * - the bandwidth wheel: it waits for a time, and so may single parts of it. The caller puts what
 *   must wait longer than one turn of the wheel into a time slot of the database;
 * - none, if it has no parts.
 *
 * Pure: no I/O; time is a parameter and only grows. */
#pragma once
#include "base/clock.h"

struct turns;

struct turns_options {
	size_t wheel_slots;
	int64_t wheel_step_us;
	int64_t site_wait_us;  /* after an error of the site; doubled each time, up to a day */
	int64_t retry_wait_us; /* of a part whose URLs had errors of their own; doubled likewise */
	unsigned stay;         /* URLs fetched from a provider before its equals have their turn */
};

struct turns *turns_new(const struct turns_options *options, int64_t now_us);
void turns_free(struct turns **t);

/* Sets the contract of a provider. bandwidth: bytes a second; 0: no limit. */
void turns_contract(struct turns *t, uint64_t provider, int64_t priority, uint64_t bandwidth);
/* Adds a part that may be fetched now. has_waited: it is a DB_BAD part whose wait is over. Returns
 * false if the part was here already. */
bool turns_add(struct turns *t, uint64_t provider, uint64_t set, int64_t slot, bool has_waited);
/* Removes a part that is empty or waits in the database. */
void turns_remove(struct turns *t, uint64_t provider, uint64_t set, int64_t slot);
/* Removes all parts of a provider and passes each to `each` (may be NULL). */
void turns_clear(struct turns *t, uint64_t provider,
		 void (*each)(void *ctx, uint64_t set, int64_t slot), void *ctx);
/* Forgets a provider that has left, except that one of its URLs is still out. */
void turns_forget(struct turns *t, uint64_t provider);

/* Returns the provider whose turn it is, and the part to take the next row from, after row `after`.
 * The provider keeps its place until one of the next functions is called. 1: no provider may go
 * now. */
struct turn {
	uint64_t provider, set;
	int64_t slot;
	uint64_t after;
	bool waits; /* if the part has a row, call turns_rest() before sending it */
};
int turns_next(struct turns *t, int64_t now_us, struct turn *ret);
/* The row is being fetched. */
void turns_sent(struct turns *t, const struct turn *turn, uint64_t row, int64_t now_us);
/* Skips the row until the part is added again. */
void turns_skip(struct turns *t, const struct turn *turn, uint64_t row);
/* Lets others of the same priority go first. */
void turns_yield(struct turns *t, uint64_t provider, int64_t now_us);
/* The part has no row after `after`: removes it, or begins another pass over a DB_BAD part. */
void turns_passed(struct turns *t, const struct turn *turn);
/* Makes a DB_BAD part wait before its next pass; tries: of its first row. Returns 0, or the end of
 * the wait if that is beyond the wheel: the part has been removed and must wait in a slot. */
int64_t turns_rest(struct turns *t, const struct turn *turn, unsigned tries, int64_t now_us);
/* Makes the provider wait until its hours begin. Returns as turns_wait(). */
int64_t turns_hold(struct turns *t, uint64_t provider, int64_t until_us, int64_t now_us);

/* How a URL that was out ended. */
enum turn_end {
	TURN_ANSWERED, /* by its server, whatever that said */
	TURN_SITE,     /* an error of the site */
	TURN_BACK,     /* not fetched: asked for again after one step of the wheel */
};
/* bytes: stored by the fetch. Does nothing if no URL of the provider is out. Returns as
 * turns_wait(). */
int64_t turns_ended(struct turns *t, uint64_t provider, enum turn_end end, uint64_t bytes,
		    int64_t now_us);
/* Returns the end of a provider's wait if that is beyond the wheel: then its parts, new ones too,
 * must wait in a slot (turns_clear()). 0: it need not. */
int64_t turns_wait(const struct turns *t, uint64_t provider, int64_t now_us);
/* Returns the end of a provider's wait, in the wheel or beyond, and its reason. 0: it does not
 * wait.
 */
enum turn_wait { TURN_WAITS_BANDWIDTH, TURN_WAITS_HOURS, TURN_WAITS_SITE };
int64_t turns_until(const struct turns *t, uint64_t provider, int64_t now_us,
		    enum turn_wait *ret_why);
/* Ends the waits for hours and bandwidth, since the contract has changed. */
void turns_wake(struct turns *t, uint64_t provider);

/* Returns when the next turn comes: now_us if a provider is in fetch-now; INT64_MAX if none waits.
 */
int64_t turns_due_us(const struct turns *t, int64_t now_us);

struct turns_counts {
	uint64_t out, ready, waiting; /* providers: being fetched, in fetch-now, in the wheel */
	uint64_t parts;
};
void turns_counts(const struct turns *t, struct turns_counts *ret);
