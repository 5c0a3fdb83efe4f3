/* Hours: when something may be fetched. A list such as "0-8,22-24" or "!9-17": hours of the day in
 * UTC, or of the week from Monday on where the period is a week; the second of each pair is not
 * part of it, and one that is not after the first goes on over the period's end ("22-6"). Where
 * anything is allowed, the rest is not; "!" forbids, and wins. Pure functions of their arguments.
 */
#pragma once
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

enum {
	HOURS_DAY = 24,
	HOURS_WEEK = 7 * HOURS_DAY,
	HOURS_TEXT_MAX = 255, /* bytes of a list */
};

/* A bit for each hour of the week, from Monday 0:00 UTC on; of a day's list seven times the same.
 */
struct hours {
	uint64_t bit[3];
};
extern const struct hours hours_any;

/* period: HOURS_DAY or HOURS_WEEK. "" is hours_any. ERR_USAGE: not such a list, or one that allows
 * no hour at all. */
int hours_parse(struct str text, int period, struct hours *ret, struct err *err);
/* Of a list that was taken earlier. One of the week holds as it was said where the period is a day
 * by now; what is no list at all is hours_any. */
struct hours hours_kept(struct str text, int period);
struct hours hours_both(const struct hours *a, const struct hours *b);
bool hours_none(const struct hours *h);
bool hours_allow(const struct hours *h, int64_t wall_us);
/* When they allow it next: wall_us itself, or the beginning of an hour. -1: never. */
int64_t hours_next_us(const struct hours *h, int64_t wall_us);

/* Slots: the period cut into pieces of slot_us, which divides an hour, counted from 0. */
int64_t hours_slot(int64_t wall_us, int64_t slot_us, int period);
/* When that slot begins next; wall_us itself while it lasts. */
int64_t hours_slot_next_us(int64_t slot, int64_t wall_us, int64_t slot_us, int period);
