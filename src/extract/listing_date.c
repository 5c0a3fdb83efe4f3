/* Dates of listings. Their forms are told apart by shape first and looked at for sense afterwards:
 * "Jan 32 12:00" is a date, and a wrong one, so that the line is bad and not read in another way.
 * Nothing here asks libc, whose calendar depends on the machine's zone and locale.
 *
 * A date without a year is the latest one that is at most a day after the listing was made: clocks
 * of servers are wrong by hours, and the original's rule, which looked at the month alone, is wrong
 * on new year's eve. */
#include "base/ascii.h"
#include "base/clock.h"
#include "extract/listing_inner.h"

enum { DAY_S = 86400, NAME_MOST = 12 };

size_t listing_digits(struct str s, size_t most, int *ret)
{
	size_t n = 0;
	int v = 0;
	for (; n < s.n && ascii_is_digit(s.p[n]); n++) {
		if (n == most)
			return 0;
		v = v * 10 + (s.p[n] - '0');
	}
	*ret = v;
	return n;
}

/* Months */

/* The names in full, folded as month_fold() does. A word that begins one of them is that month;
 * "jui" would begin two. */
static const struct {
	const char *name;
	int month;
} months[] = {
	{"january", 1},    {"januar", 1},     {"janvier", 1},   {"enero", 1},      {"february", 2},
	{"februar", 2},    {"fevrier", 2},    {"febrero", 2},   {"march", 3},      {"marz", 3},
	{"maerz", 3},      {"mars", 3},       {"marzo", 3},     {"mrz", 3},        {"april", 4},
	{"avril", 4},      {"abril", 4},      {"may", 5},       {"mai", 5},        {"mayo", 5},
	{"june", 6},       {"juni", 6},       {"juin", 6},      {"junio", 6},      {"july", 7},
	{"juli", 7},       {"juillet", 7},    {"julio", 7},     {"august", 8},     {"aout", 8},
	{"agosto", 8},     {"september", 9},  {"septembre", 9}, {"septiembre", 9}, {"setiembre", 9},
	{"october", 10},   {"oktober", 10},   {"octobre", 10},  {"octubre", 10},   {"november", 11},
	{"novembre", 11},  {"noviembre", 11}, {"december", 12}, {"dezember", 12},  {"decembre", 12},
	{"diciembre", 12},
};

/* Small letters without accents, out of UTF-8 or Latin-1; a dot at the end is dropped. Returns the
 * length; 0: it is not a word, or longer than any name. */
static size_t month_fold(struct str word, char ret[NAME_MOST])
{
	size_t n = 0;
	if (word.n && word.p[word.n - 1] == '.')
		word.n--;
	for (size_t i = 0; i < word.n; i++) {
		unsigned char c = (unsigned char)word.p[i];
		if (c == 0xc3 && i + 1 < word.n) /* of UTF-8: the second byte says it all */
			c = (unsigned char)word.p[++i] | 0x40;
		switch (c | 0x20) {
		case 0xe4:
			c = 'a';
			break;
		case 0xe9:
			c = 'e';
			break;
		case 0xfb:
			c = 'u';
			break;
		default:
			if (!ascii_is_letter((char)c))
				return 0;
			c |= 0x20;
		}
		if (n == NAME_MOST)
			return 0;
		ret[n++] = (char)c;
	}
	return n;
}

#define THREE(a, b, c) \
	((uint32_t)(uint8_t)(a) << 16 | (uint32_t)(uint8_t)(b) << 8 | (uint32_t)(uint8_t)(c))

/* The names that nearly all listings have. */
static int month_english(struct str word)
{
	static const uint32_t names[] = {
		THREE('j', 'a', 'n'), THREE('f', 'e', 'b'), THREE('m', 'a', 'r'),
		THREE('a', 'p', 'r'), THREE('m', 'a', 'y'), THREE('j', 'u', 'n'),
		THREE('j', 'u', 'l'), THREE('a', 'u', 'g'), THREE('s', 'e', 'p'),
		THREE('o', 'c', 't'), THREE('n', 'o', 'v'), THREE('d', 'e', 'c')};
	if (word.n != 3)
		return 0;
	uint32_t name = THREE(word.p[0], word.p[1], word.p[2]) | 0x202020;
	for (int i = 0; i < 12; i++)
		if (names[i] == name)
			return i + 1;
	return 0;
}

int listing_month(struct str word)
{
	char folded[NAME_MOST];
	int month = month_english(word);
	if (month || word.n < 3 || word.n > (size_t)2 * NAME_MOST || ascii_is_digit(word.p[0]))
		return month;
	size_t n = month_fold(word, folded);
	struct str name = {folded, n};
	if (n < 3 || str_is(name, "jui"))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(months); i++)
		if (str_starts(str_of(months[i].name), name))
			return months[i].month;
	return 0;
}

/* The calendar */

static int64_t second_of_year(int month, int day, int64_t second)
{
	return (month * INT64_C(31) + day) * DAY_S + second;
}

void listing_dates_init(struct listing_dates *d, int64_t listed_s, int32_t tz_s)
{
	const int64_t most_s = INT64_C(253402300799); /* the year 9999 */
	int64_t latest = MAX(MIN(listed_s, most_s), 0) + DAY_S + tz_s;
	int64_t days = (latest >= 0 ? latest : latest - (DAY_S - 1)) / DAY_S;
	struct calendar_date date = calendar_date(days);
	d->year = date.year;
	d->second = second_of_year(date.month, date.day, latest - days * DAY_S);
	d->tz_s = tz_s;
}

/* The year in which a time was that is told without one. A leap day may need up to eight. */
static int64_t year_of(const struct listing_dates *d, const struct listing_time *t, int64_t second)
{
	int64_t ignored, year = d->year - (second_of_year(t->month, t->day, second) > d->second);
	while (t->month == 2 && t->day == 29 && !calendar_day(year, 2, 29, &ignored))
		year--;
	return year;
}

bool listing_time_utc(const struct listing_dates *d, const struct listing_time *t, int64_t *ret)
{
	int64_t days, second = t->hour * 3600 + t->minute * 60 + t->second;
	if (t->hour > 23 || t->minute > 59 || t->second > 59 ||
	    !calendar_day(t->year < 0 ? year_of(d, t, second) : t->year, t->month, t->day, &days))
		return false;
	int64_t utc = days * DAY_S + second - (t->has_zone ? t->zone_s : d->tz_s);
	*ret = MAX(utc, 0);
	return true;
}

/* The forms */

/* Whether a field ends there: at a blank, or with the line. */
static bool is_field_end(struct str s, size_t at)
{
	return at >= s.n || s.p[at] == ' ';
}

size_t listing_clock_read(struct str s, struct listing_time *ret)
{
	size_t at = listing_digits(s, 2, &ret->hour), n;
	if (at == 0 || at >= s.n || s.p[at] != ':')
		return 0;
	n = listing_digits(str_from(s, at + 1), 2, &ret->minute);
	if (n != 2)
		return 0;
	at += 3;
	if (at >= s.n || s.p[at] != ':')
		return at;
	n = listing_digits(str_from(s, at + 1), 2, &ret->second);
	return n == 2 ? at + 3 : 0;
}

/* "1994", or a time of the day. */
static size_t year_or_clock_read(struct str s, struct listing_time *ret)
{
	int year;
	size_t n = listing_digits(s, 4, &year);
	if (n == 4 && is_field_end(s, n)) {
		ret->year = year;
		return n;
	}
	n = listing_clock_read(s, ret);
	return n && is_field_end(s, n) ? n : 0;
}

/* "29", "29." */
static size_t day_read(struct str s, struct listing_time *ret)
{
	size_t n = listing_digits(s, 2, &ret->day);
	if (n && n < s.n && s.p[n] == '.')
		n++;
	return n && is_field_end(s, n) ? n : 0;
}

static size_t month_read(struct str s, struct listing_time *ret)
{
	size_t n = listing_skip_word(str_head(s, (size_t)2 * NAME_MOST), 0);
	ret->month = is_field_end(s, n) ? listing_month(str_head(s, n)) : 0;
	return ret->month ? n : 0;
}

/* "Jan 29 03:26", "Apr  8  1994", "29 Jan 03:26", "8. Apr 1994" */
static size_t named_read(struct str s, struct listing_time *ret)
{
	bool day_first = ascii_is_digit(s.p[0]);
	size_t at = day_first ? day_read(s, ret) : month_read(s, ret);
	if (at == 0)
		return 0;
	size_t next = listing_skip_blanks(s, at);
	struct str rest = str_from(s, next);
	size_t n = day_first ? month_read(rest, ret) : day_read(rest, ret);
	if (n == 0)
		return 0;
	next = listing_skip_blanks(s, next + n);
	n = year_or_clock_read(str_from(s, next), ret);
	return n ? next + n : 0;
}

/* " -0500" after a time with seconds; a name of that form is not thought of. */
static size_t zone_read(struct str s, struct listing_time *ret)
{
	int v;
	if (s.n < 6 || s.p[0] != ' ' || (s.p[1] != '-' && s.p[1] != '+') ||
	    listing_digits(str_from(s, 2), 4, &v) != 4 || !is_field_end(s, 6) || v % 100 > 59)
		return 0;
	ret->has_zone = true;
	ret->zone_s = (v / 100 * 3600 + v % 100 * 60) * (s.p[1] == '-' ? -1 : 1);
	return 6;
}

/* The time of the day after "2005-06-07"; returns the offset after all. Without one ls pads the
 * date with a blank of its own. */
static size_t iso_clock_read(struct str s, size_t at, struct listing_time *ret)
{
	size_t from = listing_skip_blanks(s, at);
	struct str rest = str_from(s, from);
	size_t n = listing_clock_read(rest, ret);
	bool seconds = n > 5;
	if (seconds && n < rest.n && rest.p[n] == '.')
		for (n++; n < rest.n && ascii_is_digit(rest.p[n]);)
			n++;
	if (n == 0 || !is_field_end(rest, n)) {
		ret->hour = ret->minute = ret->second = 0;
		return from > at + 1 ? at + 1 : at;
	}
	return from + n + (seconds ? zone_read(str_from(rest, n), ret) : 0);
}

/* "2005-06-07 21:22:33", "09-26 2000", "09-26 13:45" */
static size_t numeric_read(struct str s, struct listing_time *ret)
{
	int first, second, third;
	size_t n = listing_digits(s, 4, &first);
	if ((n != 2 && n != 4) || n >= s.n || s.p[n] != '-' ||
	    listing_digits(str_from(s, n + 1), 2, &second) != 2)
		return 0;
	size_t at = n + 3;
	if (n == 2) {
		ret->month = first;
		ret->day = second;
		size_t next = listing_skip_blanks(s, at);
		n = next > at ? year_or_clock_read(str_from(s, next), ret) : 0;
		return n ? next + n : 0;
	}
	if (at >= s.n || s.p[at] != '-' || listing_digits(str_from(s, at + 1), 2, &third) != 2 ||
	    !is_field_end(s, at + 3))
		return 0;
	ret->year = first;
	ret->month = second;
	ret->day = third;
	return iso_clock_read(s, at + 3, ret);
}

int listing_date_read(const struct listing_dates *d, struct str line, size_t at, size_t *ret_end,
		      int64_t *ret_s)
{
	struct str s = str_from(line, at);
	struct listing_time t = {.year = -1};
	if (s.n == 0)
		return 1;
	size_t n = named_read(s, &t);
	if (n == 0 && ascii_is_digit(s.p[0])) {
		t = (struct listing_time){.year = -1};
		n = numeric_read(s, &t);
	}
	if (n == 0)
		return 1;
	*ret_end = at + n;
	return listing_time_utc(d, &t, ret_s) ? 0 : -1;
}
