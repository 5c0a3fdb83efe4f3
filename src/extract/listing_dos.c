/* Lists of Microsoft's servers in their own form, and EPLF, which was made for programs. */
#include "base/ascii.h"
#include "extract/listing_inner.h"

/* DOS */

enum { NAME_AFTER = 22 }; /* columns from the end of the time to the name */

/* "04-27-00", "04-27-2000", "2002-09-02"; returns its length, 0: it is none. */
static size_t dos_day_read(struct str s, struct listing_time *ret)
{
	int v[3];
	size_t at = 0, n[3];
	for (size_t i = 0; i < 3; i++) {
		n[i] = listing_digits(str_from(s, at), 4, &v[i]);
		if (n[i] == 0 || (i == 1 && n[i] != 2))
			return 0;
		at += n[i];
		if (i < 2 && (at >= s.n || (s.p[at] != '-' && s.p[at] != '/')))
			return 0;
		at += i < 2;
	}
	if (n[0] == 4 && n[2] == 2)
		*ret = (struct listing_time){.year = v[0], .month = v[1], .day = v[2]};
	else if (n[0] == 2 && n[2] == 4)
		*ret = (struct listing_time){.year = v[2], .month = v[0], .day = v[1]};
	else if (n[0] == 2 && n[2] == 2)
		*ret = (struct listing_time){
			.year = v[2] + (v[2] < 70 ? 2000 : 1900), .month = v[0], .day = v[1]};
	else
		return 0;
	return at;
}

/* "12:09PM", "18:48"; *ret_sound is false where there is no such hour. */
static size_t dos_clock_read(struct str s, struct listing_time *ret, bool *ret_sound)
{
	size_t at = listing_clock_read(s, ret);
	*ret_sound = true;
	if (at == 0 || at + 2 > s.n)
		return at;
	char half = ascii_lower(s.p[at]);
	if ((half != 'a' && half != 'p') || ascii_lower(s.p[at + 1]) != 'm')
		return at;
	*ret_sound = ret->hour >= 1 && ret->hour <= 12;
	ret->hour = ret->hour % 12 + (half == 'p' ? 12 : 0);
	return at + 2;
}

/* The name begins in a column of its own; where a long size or single blanks have moved it, after
 * the blanks. */
static bool dos_name_read(struct str line, size_t end, size_t column, struct str *ret)
{
	size_t from = listing_skip_blanks(line, end);
	if (from == end || from == line.n)
		return false;
	*ret = str_from(line, end < column && column <= from ? column : from);
	return true;
}

int listing_dos_read(struct listing_seen *seen, struct str line, struct listing_entry *e,
		     enum listing_why *ret_why)
{
	struct listing_time t;
	bool sound;
	if (line.n < 16 || !ascii_is_digit(line.p[0]))
		return 1;
	size_t at = dos_day_read(line, &t), from = listing_skip_blanks(line, at), n;
	if (at == 0 || from == at || (n = dos_clock_read(str_from(line, from), &t, &sound)) == 0)
		return 1;
	at = from + n;
	from = listing_skip_blanks(line, at);
	if (from == at)
		return 1;
	size_t end = listing_skip_word(line, from);
	struct str word = str_range(line.p + from, line.p + end);
	*ret_why = WHY_DATE;
	if (!sound || !listing_time_utc(&seen->dates, &t, &e->time_s))
		return -1;
	e->kind = str_is(word, "<DIR>") ? LISTING_DIR : LISTING_FILE;
	*ret_why = WHY_SIZE;
	if (e->kind == LISTING_FILE && !listing_size_read(word, true, &e->size))
		return -1;
	*ret_why = WHY_NO_NAME;
	return dos_name_read(line, end, at + NAME_AFTER, &e->name) ? 0 : -1;
}

/* EPLF */

/* One of the facts. false: it cannot be read. Unknown ones mean nothing. */
static bool eplf_fact(struct str fact, struct listing_entry *e)
{
	uint64_t v;
	bool below;
	if (fact.n == 0)
		return true;
	struct str rest = str_from(fact, 1);
	switch (fact.p[0]) {
	case '/':
		e->kind = LISTING_DIR;
		return true;
	case 'r':
		if (rest.n == 0 && e->kind != LISTING_DIR)
			e->kind = LISTING_FILE;
		return true;
	case 's':
		if (!str_u64(rest, &v) || v > INT64_MAX)
			return false;
		e->size = (int64_t)v;
		return true;
	case 'm':
		below = rest.n && rest.p[0] == '-';
		if (!str_u64(str_from(rest, below), &v) || v > INT64_MAX)
			return false;
		e->time_s = below ? 0 : (int64_t)v;
		return true;
	default:
		return true;
	}
}

/* "+i8388621.48594,m825718503,r,s280,<TAB>name" */
int listing_eplf_read(struct listing_seen *seen, struct str line, struct listing_entry *e,
		      enum listing_why *ret_why)
{
	(void)seen;
	if (line.n == 0 || line.p[0] != '+')
		return 1;
	size_t tab = str_find_byte(line, '\t');
	struct str facts = str_from(str_head(line, tab), 1), fact;
	if (tab == line.n)
		return 1;
	e->kind = LISTING_OTHER;
	*ret_why = WHY_SIZE;
	while (str_cut(&facts, ',', &fact) == 0)
		if (!eplf_fact(fact, e))
			return -1;
	if (e->kind == LISTING_DIR)
		e->size = -1;
	e->name = str_from(line, tab + 1);
	*ret_why = WHY_NO_NAME;
	return e->name.n ? 0 : -1;
}
