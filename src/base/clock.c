/* Dates by our own arithmetic: the library's needs locks, time zones and a struct tm, and the log
 * prints a time for every line. */
#include "base/clock.h"

#include "base/ascii.h"

#include <inttypes.h>
#include <time.h>

/* The Gregorian calendar repeats every 400 years; days are counted from 0001-01-01. */
enum {
	DAYS_IN_400 = 146097,
	DAYS_IN_100 = 36524,
	DAYS_IN_4 = 1461,
	DAYS_TO_1970 = 719162,
	DAYS_FROM_MARCH = 306
};

struct unit {
	const char *name;
	int64_t us;
};

/* Weeks come first, for parsing; printing begins where it suits. */
static const struct unit units[] = {
	{"w", 7 * US_PER_DAY}, {"d", US_PER_DAY}, {"h", US_PER_H}, {"min", US_PER_MIN},
	{"s", US_PER_S},       {"ms", US_PER_MS}, {"us", 1},
};
enum { DAYS = 1, SECONDS = 4 };

static int64_t clock_us(clockid_t id)
{
	struct timespec ts;
	ENSURE(clock_gettime(id, &ts) == 0);
	return ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

/* A machine without a battery begins in 1970 or before, a flipped bit may bring any year. Times are
 * kept as numbers from 0 on, as seconds in 32 bits and with 0 for none: this is where no other time
 * gets in. */
int64_t clock_wall_us(void)
{
	return clock_sane_us(clock_us(CLOCK_REALTIME));
}

int64_t clock_sane_us(int64_t wall_us)
{
	return MIN(MAX(wall_us, CLOCK_LEAST_US), CLOCK_MOST_US);
}

int64_t clock_mono_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

int64_t clock_cpu_us(void)
{
	return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_thread_us(void)
{
	return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

static int days_in_month(int64_t year, int month)
{
	static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
		return 29;
	return days[month - 1];
}

bool calendar_day(int64_t year, int64_t month, int64_t day, int64_t *ret_days)
{
	if (year < 0 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, (int)month))
		return false;
	/* Years begin in March here, so that the odd day is the last of one; and 400 of them more,
	 * so that none is negative. */
	int64_t years = year + 400 - (month <= 2), months = month + (month > 2 ? -3 : 9);
	*ret_days = years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 +
		    day - 1 - DAYS_FROM_MARCH - DAYS_IN_400 - DAYS_TO_1970;
	return true;
}

int calendar_month(struct str word)
{
	static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
					     "jul", "aug", "sep", "oct", "nov", "dec"};
	size_t i = str_index_nocase(str_head(word, 3), months, ARRAY_LEN(months));
	return i < ARRAY_LEN(months) ? (int)i + 1 : 0;
}

/* Whole units in v, rounded down; what is left, never negative, goes to *v. */
static int64_t floor_divide(int64_t *v, int64_t unit)
{
	int64_t rest = *v % unit, n = *v / unit - (rest < 0);
	*v = rest + (rest < 0 ? unit : 0);
	return n;
}

struct calendar_date calendar_date(int64_t days)
{
	days += DAYS_TO_1970;
	/* The last day of a leap year would begin a fourth year or century: hence the MINs. */
	int64_t year = 1 + 400 * floor_divide(&days, DAYS_IN_400);
	int64_t centuries = MIN(days / DAYS_IN_100, 3);
	days -= centuries * DAYS_IN_100;
	year += 100 * centuries + 4 * floor_divide(&days, DAYS_IN_4);
	int64_t years = MIN(days / 365, 3);
	days -= years * 365;
	year += years;
	int month = 1;
	for (; days >= days_in_month(year, month); month++)
		days -= days_in_month(year, month);
	return (struct calendar_date){year, month, (int)days + 1};
}

void time_print(struct buf *b, int64_t wall_us, int digits)
{
	static const int64_t scale[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
	ENSURE(digits >= 0 && digits <= 6);
	int64_t us = wall_us;
	struct calendar_date date = calendar_date(floor_divide(&us, US_PER_DAY));
	int h = (int)floor_divide(&us, US_PER_H), min = (int)floor_divide(&us, US_PER_MIN);
	int s = (int)floor_divide(&us, US_PER_S);
	buf_printf(b, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d", date.year, date.month, date.day, h,
		   min, s);
	if (digits > 0)
		buf_printf(b, ".%0*d", digits, (int)(us / scale[digits]));
	buf_add_byte(b, 'Z');
}

void time_print_name(struct buf *b, int64_t wall_us)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(64);
	time_print(&text, wall_us, 6);
	for (size_t i = 0; i < text.n; i++)
		if (buf_text(&text)[i] != '-' && buf_text(&text)[i] != ':')
			buf_add_byte(b, buf_text(&text)[i]);
}

void time_print_http(int64_t wall_us, char ret[TIME_HTTP])
{
	time_t s = (time_t)(wall_us / US_PER_S);
	struct tm tm;
	ret[0] = 0;
	if (wall_us >= 0 && wall_us < CLOCK_MOST_US && gmtime_r(&s, &tm))
		(void)!strftime(ret, TIME_HTTP, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

/* Cuts the run of decimal digits off the front. */
static struct str take_digits(struct str *s)
{
	size_t n = 0;
	while (n < s->n && ascii_is_digit(s->p[n]))
		n++;
	struct str run = str_head(*s, n);
	*s = str_from(*s, n);
	return run;
}

/* Cuts exactly n digits off, as a number from min to max. */
static bool take_number(struct str *s, size_t n, int min, int max, int *ret)
{
	uint64_t v;
	if (!str_u64(str_head(*s, n), &v) || s->n < n || v < (uint64_t)min || v > (uint64_t)max)
		return false;
	*ret = (int)v;
	*s = str_from(*s, n);
	return true;
}

static bool take_byte(struct str *s, const char *one_of)
{
	if (s->n == 0 || s->p[0] == 0 || !strchr(one_of, s->p[0]))
		return false;
	*s = str_from(*s, 1);
	return true;
}

/* The decimal fraction `digits` of a unit, rounded down; exact for any number of digits, because a
 * floor of floors is the floor. */
static int64_t fraction_us(struct str digits, int64_t unit)
{
	int64_t us = 0;
	for (size_t i = digits.n; i > 0; i--)
		us = ((digits.p[i - 1] - '0') * unit + us) / 10;
	return us;
}

/* The digits after a point, if there is a point; then there must be some. */
static bool take_fraction(struct str *s, struct str *ret_digits)
{
	if (!take_byte(s, "."))
		return true;
	*ret_digits = take_digits(s);
	return ret_digits->n > 0;
}

static bool take_date(struct str *s, int64_t *ret_us)
{
	int year, month, day;
	int64_t days;
	if (!take_number(s, 4, 0, 9999, &year) || !take_byte(s, "-") ||
	    !take_number(s, 2, 1, 12, &month) || !take_byte(s, "-") ||
	    !take_number(s, 2, 1, 31, &day) || !calendar_day(year, month, day, &days))
		return false;
	*ret_us = days * US_PER_DAY;
	return true;
}

static bool take_offset(struct str *s, int64_t *ret_us)
{
	int h, min;
	*ret_us = 0;
	if (take_byte(s, "Zz"))
		return true;
	bool minus = s->n > 0 && s->p[0] == '-';
	if (!take_byte(s, "+-") || !take_number(s, 2, 0, 23, &h) || !take_byte(s, ":") ||
	    !take_number(s, 2, 0, 59, &min))
		return false;
	*ret_us = (h * US_PER_H + min * US_PER_MIN) * (minus ? -1 : 1);
	return true;
}

static bool parse_seconds(struct str s, int64_t *ret_us)
{
	uint64_t seconds;
	int64_t us;
	if (!str_u64(s, &seconds) || __builtin_mul_overflow(seconds, US_PER_S, &us))
		return false;
	*ret_us = us;
	return true;
}

bool time_parse(struct str s, int64_t *ret_wall_us)
{
	int64_t date, offset;
	int h, min, sec = 0;
	struct str fraction = {0};
	if (parse_seconds(s, ret_wall_us))
		return true;
	if (!take_date(&s, &date) || !take_byte(&s, "Tt ") || !take_number(&s, 2, 0, 23, &h) ||
	    !take_byte(&s, ":") || !take_number(&s, 2, 0, 59, &min))
		return false;
	if (take_byte(&s, ":") &&
	    (!take_number(&s, 2, 0, 60, &sec) || !take_fraction(&s, &fraction)))
		return false;
	if (!take_offset(&s, &offset) || s.n > 0)
		return false;
	int64_t us = date + h * US_PER_H + min * US_PER_MIN + sec * US_PER_S - offset;
	us += fraction_us(fraction, US_PER_S);
	/* A leap second ends a day of UTC and is the first second of the next one to us. */
	int64_t of_day = us;
	floor_divide(&of_day, US_PER_DAY);
	if (sec == 60 && of_day >= US_PER_S)
		return false;
	*ret_wall_us = us;
	return true;
}

/* Cuts a unit's name off; only units after *at count, and *at moves on to the one that was found,
 * so "1h1h" and "1s1h" are refused. */
static bool take_unit(struct str *s, size_t *at)
{
	size_t n = 0;
	while (n < s->n && ascii_is_lower(s->p[n]))
		n++;
	for (size_t i = *at; i < ARRAY_LEN(units); i++) {
		if (str_is(str_head(*s, n), units[i].name)) {
			*s = str_from(*s, n);
			*at = i + 1;
			return true;
		}
	}
	return false;
}

bool duration_parse(struct str s, int64_t *ret_us)
{
	int64_t total = 0, part;
	size_t next = 0;
	if (str_is(s, "0")) {
		*ret_us = 0;
		return true;
	}
	do {
		uint64_t whole;
		struct str digits = take_digits(&s), fraction = {0};
		if (!str_u64(digits, &whole) || !take_fraction(&s, &fraction) ||
		    !take_unit(&s, &next))
			return false;
		int64_t unit = units[next - 1].us;
		if (__builtin_mul_overflow(whole, unit, &part) ||
		    __builtin_add_overflow(part, fraction_us(fraction, unit), &part) ||
		    __builtin_add_overflow(total, part, &total))
			return false;
	} while (s.n > 0);
	*ret_us = total;
	return true;
}

/* Sign out, magnitude back: INT64_MIN has one too. */
static uint64_t put_sign(struct buf *b, int64_t us)
{
	if (us < 0)
		buf_add_byte(b, '-');
	return us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
}

void duration_print(struct buf *b, int64_t us)
{
	uint64_t left = put_sign(b, us);
	if (left == 0)
		buf_add_text(b, "0s");
	/* "2w" but "30d": weeks only where nothing else is needed. */
	for (size_t i = left % (uint64_t)units[0].us ? DAYS : 0; i < ARRAY_LEN(units); i++) {
		uint64_t unit = (uint64_t)units[i].us;
		ENSURE(unit > 0);
		if (left >= unit)
			buf_printf(b, "%" PRIu64 "%s", left / unit, units[i].name);
		left %= unit;
	}
}

void duration_print_short(struct buf *b, int64_t us)
{
	uint64_t left = put_sign(b, us);
	size_t i = DAYS;
	while (i + 1 < ARRAY_LEN(units) && left < (uint64_t)units[i].us)
		i++;
	uint64_t unit = (uint64_t)units[i].us, rest = left % unit;
	buf_printf(b, "%" PRIu64, left / unit);
	if (i >= SECONDS && rest * 10 / unit > 0)
		buf_printf(b, ".%" PRIu64, rest * 10 / unit);
	buf_add_text(b, left ? units[i].name : "s");
	if (i >= SECONDS)
		return;
	unit = (uint64_t)units[i + 1].us;
	ENSURE(unit > 0);
	if (rest >= unit)
		buf_printf(b, " %" PRIu64 "%s", rest / unit, units[i + 1].name);
}

int64_t backoff_us(unsigned failures, int64_t min_us, int64_t max_us)
{
	int64_t delay = MIN(min_us, max_us);
	for (unsigned i = 1; i < failures && delay > 0 && delay < max_us; i++)
		delay = delay > max_us / 2 ? max_us : delay * 2;
	return delay;
}
