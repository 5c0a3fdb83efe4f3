/* Wishes: nothing in them is an error, and what nobody knows is the reader's to pass over. */
#include "base/wish.h"

#include "base/ascii.h"

enum { ZONE_MAX = 5 }; /* letters of a time zone, or "+0200" */

static bool is_separator(char c)
{
	return c == ',' || (unsigned char)c <= ' ';
}

static struct str skip_separators(struct str s, bool commas)
{
	while (s.n && is_separator(s.p[0]) && (commas || s.p[0] != ','))
		s = str_from(s, 1);
	return s;
}

static size_t word_end(struct str s, bool colons)
{
	size_t n = 0;
	while (n < s.n && !is_separator(s.p[n]) && (!colons || s.p[n] != ':'))
		n++;
	return n;
}

static bool is_expiry(struct str name)
{
	return str_eq_nocase(name, STR("unavailable_after"));
}

static bool takes_value(struct str name)
{
	return is_expiry(name) || str_eq_nocase(str_head(name, 4), STR("max-"));
}

/* "25 Jun 2010 15:00:00 GMT": what may follow the comma of a date, and no name of a robot. */
static bool is_rest_of_date(struct str s)
{
	struct str before = str_head(s, str_find_byte(s, ':'));
	return s.n && ascii_is_digit(s.p[0]) && word_end(before, false) < before.n;
}

/* Up to the comma that ends it. */
static size_t date_item_end(struct str s)
{
	size_t n = str_find_byte(s, ',');
	struct str after = skip_separators(str_from(s, n), true);
	struct str more = str_head(after, str_find_byte(after, ','));
	bool has_time = str_find_byte(str_head(s, n), ':') < n;
	return n < s.n && !has_time && is_rest_of_date(more) ? (size_t)(more.p + more.n - s.p) : n;
}

static bool is_zone(struct str word)
{
	return word.n <= ZONE_MAX && !str_eq_nocase(word, STR("none"));
}

/* Without the words after its time, or the zone of that; where it has none, after its last number.
 */
static size_t date_end(struct str s)
{
	struct str date = str_head(s, date_item_end(s)), rest = date;
	size_t numbers_end = 0;
	while (rest.n) {
		size_t n = word_end(rest, false);
		if (ascii_is_digit(rest.p[0]))
			numbers_end = date.n - rest.n + n;
		bool is_time = str_find_byte(str_head(rest, n), ':') < n;
		rest = skip_separators(str_from(rest, n), true);
		if (!is_time)
			continue;
		n = word_end(rest, false);
		if (is_zone(str_head(rest, n)))
			rest = str_from(rest, n);
		return date.n - rest.n;
	}
	return numbers_end ? numbers_end : date.n;
}

int wish_next(struct str *rest, struct wish *ret)
{
	struct str s = skip_separators(*rest, true);
	*rest = s;
	if (s.n == 0)
		return 1;
	size_t n = word_end(s, true);
	struct wish w = {.name = str_head(s, n), .value = STR("")};
	struct str after = skip_separators(str_from(s, n), false);
	if (after.n && after.p[0] == ':') {
		s = skip_separators(str_from(after, 1), false);
		w.is_agent = !takes_value(w.name);
		n = w.is_agent ? 0 : is_expiry(w.name) ? date_end(s) : word_end(s, false);
		w.value = str_trim(str_head(s, n));
	}
	*rest = str_from(s, n);
	*ret = w;
	return 0;
}
