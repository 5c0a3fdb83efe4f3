/* Values to compare with: numbers, sizes, years, months, days and instants. */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/value.h"
#include "index/query/query_inner.h"

static bool parse_number(struct str s, int64_t *ret)
{
	bool negative = s.n && s.p[0] == '-';
	uint64_t v;
	if (!str_u64(str_from(s, negative), &v) || v > INT64_MAX)
		return false;
	*ret = negative ? -(int64_t)v : (int64_t)v;
	return true;
}

/* The first second of a day; months past the twelfth are those of the next year. After the last
 * day that has a name begins the year 10000. */
static bool first_second(uint64_t year, uint64_t month, uint64_t day, int64_t *ret_s)
{
	int64_t days;
	year += month > 12;
	month -= month > 12 ? 12 : 0;
	if (year > 9999) {
		*ret_s = 253402300800;
		return true;
	}
	if (!calendar_day(year, month, day, &days))
		return false;
	*ret_s = days * (US_PER_DAY / US_PER_S);
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

struct query_value query_value_asked(struct str text)
{
	static const struct value_spec size = {.name = "size", .type = VALUE_SIZE};
	struct query_value v = query_value(text);
	struct arena unused = {0};
	struct err err;
	bool negative = text.n && text.p[0] == '-';
	struct str digits = str_from(text, negative);
	uint64_t bytes;
	/* Most are words: it takes longer to say why a word is not a size than to parse it. */
	if (v.is_number || v.is_period || digits.n == 0 || !ascii_is_digit(digits.p[0]) ||
	    value_parse(&size, digits, &unused, &bytes, &err) < 0 || bytes > INT64_MAX)
		return v;
	v.is_number = true;
	v.number = negative ? -(int64_t)bytes : (int64_t)bytes;
	return v;
}
