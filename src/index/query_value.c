/* Values to compare with: numbers, years, months, days and instants. */
#include "index/query_inner.h"

#include "base/clock.h"

#include <stdio.h>

static bool parse_number(struct str s, int64_t *ret)
{
	bool negative = s.n && s.p[0] == '-';
	uint64_t v;
	if (!str_u64(str_from(s, negative), &v) || v > INT64_MAX)
		return false;
	*ret = negative ? -(int64_t)v : (int64_t)v;
	return true;
}

/* The first second of a day; months past the twelfth are those of the next year. Behind the last
 * day that has a name begins the year 10000. */
static bool first_second(uint64_t year, uint64_t month, uint64_t day, int64_t *ret_s)
{
	char text[64];
	int64_t us;
	year += month > 12;
	month -= month > 12 ? 12 : 0;
	if (year > 9999) {
		*ret_s = 253402300800;
		return true;
	}
	snprintf(text, sizeof text, "%04u-%02u-%02uT00:00:00Z", (unsigned)year, (unsigned)month,
		 (unsigned)day);
	if (!time_parse(str_of(text), &us))
		return false;
	*ret_s = us / US_PER_S - (us % US_PER_S < 0);
	return true;
}

/* "2024", "2024-05", "2024-05-17". */
static bool parse_calendar(struct str s, int64_t *ret_from_s, int64_t *ret_to_s)
{
	static const size_t digits[3] = {4, 2, 2};
	uint64_t part[3] = {0, 1, 1};
	struct str field;
	size_t n = 0;
	while (str_cut(&s, '-', &field) == 0) {
		if (n == 3 || field.n != digits[n] || !str_u64(field, &part[n]))
			return false;
		n++;
	}
	int64_t from, to;
	if (part[1] > 12 || !first_second(part[0], part[1], part[2], &from))
		return false;
	if (n == 3)
		to = from + US_PER_DAY / US_PER_S;
	else if (!first_second(part[0] + (n == 1), part[1] + (n == 2), 1, &to))
		return false;
	*ret_from_s = from;
	*ret_to_s = to;
	return true;
}

struct query_value query_value(struct str text)
{
	struct query_value v = {.text = text};
	int64_t us;
	v.is_number = parse_number(text, &v.number);
	v.is_period = parse_calendar(text, &v.from_s, &v.to_s);
	if (!v.is_number && !v.is_period && time_parse(text, &us)) {
		v.is_period = true;
		v.from_s = us / US_PER_S - (us % US_PER_S < 0);
		v.to_s = v.from_s + 1;
	}
	return v;
}
