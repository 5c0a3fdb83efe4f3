/* Time: int64_t microseconds, the unit in the name. Only the top asks the clock; everything that a
 * test may want to run on another clock takes the time as a parameter. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#define US_PER_MS INT64_C(1000)
#define US_PER_S INT64_C(1000000)
#define US_PER_MIN (60 * US_PER_S)
#define US_PER_H (60 * US_PER_MIN)
#define US_PER_DAY (24 * US_PER_H)

/* The wall clock is between these, whatever the machine says: the first day of 1970, and 2100. */
#define CLOCK_LEAST_US US_PER_DAY
#define CLOCK_MOST_US (INT64_C(4102444800) * US_PER_S)
int64_t clock_sane_us(int64_t wall_us);

int64_t clock_wall_us(void);   /* since 1970, may jump */
int64_t clock_mono_us(void);   /* since some start, never goes back */
int64_t clock_cpu_us(void);    /* CPU time of this process, all threads */
int64_t clock_thread_us(void); /* CPU time of the thread that asks */

/* "2026-11-15T09:03:55.123456Z"; the fraction in `digits` places (0 to 6), cut off, not rounded. */
void time_print(struct buf *b, int64_t wall_us, int digits);
/* The same in the name of a file, fine enough to tell two of them: "20261115T090355.123456Z". */
void time_print_name(struct buf *b, int64_t wall_us);
/* As HTTP has it: "Sun, 06 Nov 1994 08:49:37 GMT"; before 1970 and after 2099: "". */
enum { TIME_HTTP = 32 };
void time_print_http(int64_t wall_us, char ret[TIME_HTTP]);
/* RFC 3339 with Z or an offset, fraction and seconds optional; also plain seconds since 1970. What
 * is finer than a microsecond is dropped. */
bool time_parse(struct str s, int64_t *ret_wall_us) MUST_USE;
/* The days since 1970 of a day of the Gregorian calendar; months and days count from 1. false:
 * there is no such day, or it is before the year 0. libc's calendar depends on the time zone. */
bool calendar_day(int64_t year, int64_t month, int64_t day, int64_t *ret_days) MUST_USE;
/* The other way; also before 1970 and before the year 0. */
struct calendar_date {
	int64_t year;
	int month, day; /* from 1 */
};
struct calendar_date calendar_date(int64_t days);
/* The month, from 1, that a word begins with, as English abbreviates it, in any case; 0: none. */
int calendar_month(struct str word);

/* "90s", "1.5h", "250ms": a number and us, ms, s, min, h, d, w. Units may be joined, big ones
 * first: "1h30min". No sign; "0" needs no unit; what is finer than a microsecond is dropped. */
bool duration_parse(struct str s, int64_t *ret_us) MUST_USE;
void duration_print(struct buf *b, int64_t us); /* exact: "1h30min", "30d", "2w", "0s" */
/* For people: two significant parts, "3d 4h", "12.3s". */
void duration_print_short(struct buf *b, int64_t us);

/* How long to wait before the next try after `failures` failures in a row (at least 1): min_us,
 * doubled with each, never past max_us. */
int64_t backoff_us(unsigned failures, int64_t min_us, int64_t max_us);
