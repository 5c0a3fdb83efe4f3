/* Dates as documents write them: each form is cut off the text piece by piece, and what is left
 * over decides whether it was that form. */
#include "extract/date_inner.h"

#include "base/ascii.h"
#include "base/clock.h"

struct fields {
	int64_t year, month, day, hour, minute, second;
	int64_t offset_s; /* east of Greenwich */
};

/* Exactly n digits at the start, which are then cut off. */
static bool cut_digits(struct str *s, size_t n, int64_t *ret)
{
	int64_t v = 0;
	if (s->n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!ascii_is_digit(s->p[i]))
			return false;
		v = v * 10 + (s->p[i] - '0');
	}
	*s = str_from(*s, n);
	*ret = v;
	return true;
}

static bool cut_byte(struct str *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	*s = str_from(*s, 1);
	return true;
}

static size_t digits_of(struct str s)
{
	size_t n = 0;
	while (n < s.n && ascii_is_digit(s.p[n]))
		n++;
	return n;
}

static bool seconds_of(const struct fields *f, int64_t *ret_s)
{
	int64_t days;
	if (f->year < 1970 || f->year > 9999 || f->hour > 24 || f->minute > 59 || f->second > 60 ||
	    !calendar_day(f->year, f->month, f->day, &days))
		return false;
	int64_t s = days * 86400 + f->hour * 3600 + f->minute * 60 + f->second - f->offset_s;
	if (s < 0)
		return false;
	*ret_s = s;
	return true;
}

/* "+0200", "+02:00", "-05". */
static bool cut_offset(struct str *s, int64_t *ret_s)
{
	int64_t hours, minutes = 0;
	if (s->n == 0 || (s->p[0] != '+' && s->p[0] != '-'))
		return false;
	int64_t sign = s->p[0] == '-' ? -1 : 1;
	struct str t = str_from(*s, 1);
	if (!cut_digits(&t, 2, &hours))
		return false;
	(void)cut_byte(&t, ':');
	if (t.n && ascii_is_digit(t.p[0]) && !cut_digits(&t, 2, &minutes))
		return false;
	if (hours > 23 || minutes > 59)
		return false;
	*s = t;
	*ret_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* Zones by name, in hours. What is not known is UTC, as RFC 5322 wants it. */
static bool cut_zone(struct str *s, int64_t *ret_s)
{
	static const struct {
		const char *name;
		int hours;
	} zones[] = {{"EST", -5}, {"EDT", -4}, {"CST", -6}, {"CDT", -5}, {"MST", -7},
		     {"MDT", -6}, {"PST", -8}, {"PDT", -7}, {"CET", 1},  {"CEST", 2},
		     {"BST", 1},  {"MSK", 3},  {"JST", 9}};
	size_t n = 0;
	while (n < s->n && ascii_is_letter(s->p[n]))
		n++;
	if (n == 0)
		return false;
	*ret_s = 0;
	for (size_t i = 0; i < ARRAY_LEN(zones); i++)
		if (str_eq_nocase(str_head(*s, n), str_of(zones[i].name)))
			*ret_s = (int64_t)zones[i].hours * 3600;
	*s = str_from(*s, n);
	return true;
}

static void skip_blanks(struct str *s)
{
	while (s->n && (s->p[0] == ' ' || s->p[0] == '\t'))
		*s = str_from(*s, 1);
}

/* "10:11", "10:11:12", "10:11:12.345". */
static bool cut_clock(struct str *s, struct fields *f)
{
	size_t n = digits_of(*s);
	if (n < 1 || n > 2 || !cut_digits(s, n, &f->hour) || !cut_byte(s, ':') ||
	    !cut_digits(s, 2, &f->minute))
		return false;
	if (cut_byte(s, ':') && !cut_digits(s, 2, &f->second))
		return false;
	if (s->n && (s->p[0] == '.' || s->p[0] == ','))
		*s = str_from(*s, 1 + digits_of(str_from(*s, 1)));
	return true;
}

static bool zone_or_end(struct str *s, struct fields *f)
{
	skip_blanks(s);
	if (s->n && !cut_offset(s, &f->offset_s) && !cut_zone(s, &f->offset_s))
		return false;
	skip_blanks(s);
	return s->n == 0 || s->p[0] == '('; /* a comment of RFC 822 */
}

static bool parse_w3c(struct str s, struct fields *f)
{
	*f = (struct fields){.month = 1, .day = 1};
	if (!cut_digits(&s, 4, &f->year))
		return false;
	if (s.n == 0)
		return true;
	if (!cut_byte(&s, '-') || !cut_digits(&s, 2, &f->month))
		return false;
	if (s.n == 0)
		return true;
	if (!cut_byte(&s, '-') || !cut_digits(&s, 2, &f->day))
		return false;
	if (s.n == 0)
		return true;
	if (s.p[0] != 'T' && s.p[0] != 't' && s.p[0] != ' ')
		return false;
	s = str_from(s, 1);
	return cut_clock(&s, f) && zone_or_end(&s, f);
}

static bool cut_month(struct str *s, int64_t *ret)
{
	int month = calendar_month(*s);
	if (!month)
		return false;
	*ret = month;
	while (s->n && ascii_is_letter(s->p[0]))
		*s = str_from(*s, 1);
	return true;
}

static bool cut_year(struct str *s, int64_t *ret)
{
	size_t n = digits_of(*s);
	if ((n != 2 && n != 4) || !cut_digits(s, n, ret))
		return false;
	if (n == 2)
		*ret += *ret < 70 ? 2000 : 1900;
	return true;
}

static void cut_between(struct str *s)
{
	while (s->n && (s->p[0] == ' ' || s->p[0] == '\t' || s->p[0] == '-' || s->p[0] == ','))
		*s = str_from(*s, 1);
}

/* "[Mon, ]06 May 2024[ 10:11[:12][ zone]]", dashes as RFC 850 has them; asctime's "Mon May  6
 * 10:11:12 2024". */
static bool parse_words(struct str s, struct fields *f)
{
	struct str month = s;
	*f = (struct fields){0};
	if (s.n && !ascii_is_digit(s.p[0]) && !cut_month(&month, &f->month)) {
		while (s.n && s.p[0] != ' ' && s.p[0] != ',')
			s = str_from(s, 1);
		cut_between(&s);
	}
	if (s.n && !ascii_is_digit(s.p[0])) {
		if (!cut_month(&s, &f->month))
			return false;
		cut_between(&s);
		size_t n = digits_of(s);
		if (n < 1 || n > 2 || !cut_digits(&s, n, &f->day))
			return false;
		cut_between(&s);
		if (digits_of(s) == 4) /* "May 6, 2024" */
			return cut_year(&s, &f->year) && s.n == 0;
		if (!cut_clock(&s, f))
			return false;
		skip_blanks(&s);
		return cut_year(&s, &f->year) && s.n == 0;
	}
	size_t n = digits_of(s);
	if (n < 1 || n > 2 || !cut_digits(&s, n, &f->day))
		return false;
	cut_between(&s);
	if (!cut_month(&s, &f->month))
		return false;
	cut_between(&s);
	if (!cut_year(&s, &f->year))
		return false;
	skip_blanks(&s);
	if (s.n && ascii_is_digit(s.p[0]) && !cut_clock(&s, f))
		return false;
	return zone_or_end(&s, f);
}

bool date_parse(struct str s, int64_t *ret_s)
{
	struct fields f;
	uint64_t plain;
	s = str_trim(s);
	if (s.n >= 9 && s.n <= 11 && str_u64(s, &plain)) {
		*ret_s = (int64_t)plain;
		return true;
	}
	return (parse_w3c(s, &f) || parse_words(s, &f)) && seconds_of(&f, ret_s);
}
