/* VMS, as MultiNet and UCX print it:
 *
 *   Directory DISK$PCSA:[PUBLIC.DOC]
 *   ARIZONET.DIS;10             2   8-NOV-1989 17:05 NETINFO (RWED,RWED,RWED,RE)
 *   A_LONG_NAME.TXT;2
 *                            5/6    31-JAN-1996 12:34:56  [GROUP,OWNER]   (RWED,RWED,RE,)
 *
 * A file has a version, which is not part of its name here. Sizes are blocks of 512 bytes, of which
 * the first number counts those in use. A name that is too long for its column has its fields on
 * the next line; the parser (listing.c) joins the two with a blank between. */
#include "base/ascii.h"
#include "extract/listing_inner.h"

enum { BLOCK = 512 };

/* "NAME.EXT;10" at the start of a line: the offset of the semicolon, and after the digits. */
static bool vms_name_find(struct str line, size_t *ret_semicolon, size_t *ret_end)
{
	size_t at = 0;
	while (at < line.n && line.p[at] > ' ' && line.p[at] != ';')
		at++;
	size_t end = at + 1;
	while (end < line.n && ascii_is_digit(line.p[end]))
		end++;
	*ret_semicolon = at;
	*ret_end = end;
	return at > 0 && at < line.n && line.p[at] == ';' && end > at + 1 &&
	       (end == line.n || line.p[end] == ' ');
}

bool listing_vms_is_name(struct str line)
{
	size_t semicolon, end;
	return vms_name_find(line, &semicolon, &end) && listing_skip_blanks(line, end) == line.n;
}

static void vms_name_set(struct str name, struct listing_entry *e)
{
	static const struct str folder = {".DIR", 4};
	e->kind = LISTING_FILE;
	e->name = name;
	if (name.n > folder.n && str_eq_nocase(str_from(name, name.n - folder.n), folder)) {
		e->kind = LISTING_DIR;
		e->name.n -= folder.n;
	}
}

/* "213/216" */
static bool vms_blocks_read(struct str word, int64_t *ret)
{
	uint64_t used, given;
	size_t slash = str_find_byte(word, '/');
	if (!str_u64(str_head(word, slash), &used) || used > INT64_MAX / BLOCK ||
	    (slash < word.n && !str_u64(str_from(word, slash + 1), &given)))
		return false;
	*ret = (int64_t)used * BLOCK;
	return true;
}

/* "29-JAN-1996" */
static bool vms_day_read(struct str word, struct listing_time *ret)
{
	int year;
	size_t n = listing_digits(word, 2, &ret->day);
	if (n == 0 || word.n != n + 9 || word.p[n] != '-' || word.p[n + 4] != '-')
		return false;
	ret->month = listing_month(str_head(str_from(word, n + 1), 3));
	if (ret->month == 0 || listing_digits(str_from(word, n + 5), 4, &year) != 4)
		return false;
	ret->year = year;
	return true;
}

/* "[GROUP,OWNER]", "[OWNER]", "OWNER"; nothing where the protection follows at once. */
static void vms_owner_read(struct str rest, struct listing_entry *e)
{
	if (rest.n == 0 || rest.p[0] == '(')
		return;
	if (rest.p[0] != '[') {
		e->owner = str_head(rest, listing_skip_word(rest, 0));
		return;
	}
	size_t end = str_find_byte(rest, ']');
	struct str inside = str_from(str_head(rest, end), 1);
	size_t comma = str_find_byte(inside, ',');
	if (end == rest.n || inside.n == 0)
		return;
	e->owner = inside;
	if (comma < inside.n) {
		e->group = str_head(inside, comma);
		e->owner = str_from(inside, comma + 1);
	}
}

/* Hundredths of a second may follow. */
static size_t vms_clock_read(struct str s, struct listing_time *ret)
{
	size_t n = listing_clock_read(s, ret);
	if (n && n < s.n && s.p[n] == '.')
		for (n++; n < s.n && ascii_is_digit(s.p[n]);)
			n++;
	return n && (n == s.n || s.p[n] == ' ') ? n : 0;
}

int listing_vms_read(struct listing_seen *seen, struct str line, struct listing_entry *e,
		     enum listing_why *ret_why)
{
	struct listing_time t = {0};
	size_t semicolon, at;
	if (!vms_name_find(line, &semicolon, &at) || line.p[line.n - 1] == ':')
		return 1;
	vms_name_set(str_head(line, semicolon), e);
	at = listing_skip_blanks(line, at);
	if (at == line.n)
		return 1;
	if (line.p[at] == '%') /* a message of the system: no right to see more */
		return 0;
	size_t end = listing_skip_word(line, at);
	*ret_why = WHY_SIZE;
	if (!vms_blocks_read(str_range(line.p + at, line.p + end), &e->size))
		return -1;
	at = listing_skip_blanks(line, end);
	end = listing_skip_word(line, at);
	*ret_why = WHY_DATE;
	if (!vms_day_read(str_range(line.p + at, line.p + end), &t))
		return -1;
	at = listing_skip_blanks(line, end);
	at = listing_skip_blanks(line, at + vms_clock_read(str_from(line, at), &t));
	if (!listing_time_utc(&seen->dates, &t, &e->time_s))
		return -1;
	vms_owner_read(str_from(line, at), e);
	return 0;
}

/* The first folder of all is called 000000, and need not be named. */
int listing_vms_heading(struct str line, struct buf *ret)
{
	static const struct str word = {"Directory ", 10};
	bool told = str_starts(line, word);
	struct str s = told ? str_from(line, word.n) : line, part;
	size_t open = str_find_byte(s, '[');
	if (s.n < 2 || s.p[s.n - 1] != ']' || open == s.n || (open ? s.p[open - 1] != ':' : !told))
		return 1;
	for (size_t i = 0; i < open; i++)
		if (s.p[i] <= ' ')
			return 1;
	struct str inside = str_range(s.p + open + 1, s.p + s.n - 1);
	buf_clear(ret);
	for (bool first = true; str_cut(&inside, '.', &part) == 0; first = false) {
		if (first && str_is(part, "000000"))
			continue;
		if (ret->n)
			buf_add_byte(ret, '/');
		buf_add_str(ret, part);
	}
	return 0;
}
