/* Hours as a set of bits for the week, so that lists of any form cost the same, and "both must
 * allow it" is one AND. A day's list is repeated for the seven days: then only parsing and printing
 * know which period there is. */
#include "cache/hours.h"

#define WORD_BITS 64
#define LAST_WORD ((UINT64_C(1) << (HOURS_WEEK - 2 * WORD_BITS)) - 1)

const struct hours hours_any = {{UINT64_MAX, UINT64_MAX, LAST_WORD}};

static bool hour_is_set(const struct hours *h, int64_t hour)
{
	return h->bit[hour / WORD_BITS] >> (hour % WORD_BITS) & 1;
}

static void hour_set(struct hours *h, int64_t hour)
{
	h->bit[hour / WORD_BITS] |= UINT64_C(1) << (hour % WORD_BITS);
}

/* Hours since the Monday before 1970; that year began on a Thursday. */
static int64_t hours_count(int64_t wall_us)
{
	return wall_us / US_PER_H + INT64_C(3) * HOURS_DAY;
}

static int64_t hour_of_week(int64_t wall_us)
{
	return hours_count(wall_us) % HOURS_WEEK;
}

static void range_add(struct hours *h, int64_t from, int64_t to, int period)
{
	int64_t n = to > from ? to - from : to - from + period;
	for (int64_t i = 0; i < n; i++)
		for (int64_t day = 0; day < HOURS_WEEK; day += period)
			hour_set(h, (from + i) % period + day);
}

static int item_parse(struct str item, int period, struct hours *allowed, struct hours *forbidden,
		      bool *some_allowed)
{
	struct str from_text, rest = str_trim(item);
	uint64_t from, to;
	bool forbids = rest.n && rest.p[0] == '!';
	if (forbids)
		rest = str_trim(str_from(rest, 1));
	if (str_cut(&rest, '-', &from_text) != 0 || !rest.p ||
	    !str_u64(str_trim(from_text), &from) || !str_u64(str_trim(rest), &to) ||
	    from >= (uint64_t)period || to > (uint64_t)period || from == to)
		return -1;
	range_add(forbids ? forbidden : allowed, (int64_t)from, (int64_t)to, period);
	*some_allowed = *some_allowed || !forbids;
	return 0;
}

int hours_parse(struct str text, int period, struct hours *ret, struct err *err)
{
	struct hours allowed = {{0}}, forbidden = {{0}};
	struct str rest = text, item;
	bool some_allowed = false;
	if (text.n == 0) {
		*ret = hours_any;
		return 0;
	}
	if (text.n > HOURS_TEXT_MAX)
		return err_set(err, ERR_USAGE, "hours: more than %d bytes", HOURS_TEXT_MAX);
	while (str_cut(&rest, ',', &item) == 0)
		if (item_parse(item, period, &allowed, &forbidden, &some_allowed) < 0)
			return err_set(err, ERR_USAGE,
				       "hours: expected a list such as 0-8,!12-13 of hours up to "
				       "%d, got '" STR_FMT "'",
				       period, STR_ARG(item));
	if (!some_allowed)
		allowed = hours_any;
	for (size_t i = 0; i < ARRAY_LEN(allowed.bit); i++)
		allowed.bit[i] &= ~forbidden.bit[i];
	if (hours_none(&allowed))
		return err_set(err, ERR_USAGE, "hours: '" STR_FMT "' allows no hour at all",
			       STR_ARG(text));
	*ret = allowed;
	return 0;
}

struct hours hours_kept(struct str text, int period)
{
	struct hours kept;
	struct err ignored;
	if (hours_parse(text, period, &kept, &ignored) < 0 &&
	    hours_parse(text, HOURS_WEEK, &kept, &ignored) < 0)
		kept = hours_any;
	return kept;
}

struct hours hours_both(const struct hours *a, const struct hours *b)
{
	struct hours both;
	for (size_t i = 0; i < ARRAY_LEN(both.bit); i++)
		both.bit[i] = a->bit[i] & b->bit[i];
	return both;
}

bool hours_none(const struct hours *h)
{
	return (h->bit[0] | h->bit[1] | h->bit[2]) == 0;
}

bool hours_allow(const struct hours *h, int64_t wall_us)
{
	return hour_is_set(h, hour_of_week(clock_sane_us(wall_us)));
}

int64_t hours_next_us(const struct hours *h, int64_t wall_us)
{
	int64_t at = hour_of_week(clock_sane_us(wall_us));
	if (hour_is_set(h, at))
		return wall_us;
	int64_t begin = wall_us - wall_us % US_PER_H;
	for (int64_t i = 1; i < HOURS_WEEK; i++)
		if (hour_is_set(h, (at + i) % HOURS_WEEK))
			return begin + i * US_PER_H;
	return -1;
}

/* Where in its period a time lies. */
static int64_t period_at_us(int64_t wall_us, int period)
{
	return (hours_count(wall_us) % period) * US_PER_H + wall_us % US_PER_H;
}

int64_t hours_slot(int64_t wall_us, int64_t slot_us, int period)
{
	return period_at_us(clock_sane_us(wall_us), period) / slot_us;
}

int64_t hours_slot_next_us(int64_t slot, int64_t wall_us, int64_t slot_us, int period)
{
	int64_t now = clock_sane_us(wall_us), at = period_at_us(now, period);
	if (at / slot_us == slot)
		return now;
	int64_t begin = slot * slot_us - at;
	return now + begin + (begin < 0 ? period * US_PER_H : 0);
}
