/* How many files have names with a part, counted with hardly a look at the names.
 *
 * A name that has all trigrams of a part need not have the part: two of them may be in different
 * places. But where no two neighbouring bytes are twice in the name, each trigram has one place,
 * and the next trigram of the part, which shares two bytes with it, can only be one further on. So
 * a name has the part for sure if it has all its trigrams, and none of the pairs that two of these
 * share is in it twice. Names that have a pair twice are in a list as well; only those are looked
 * at. Lists are taken as runs of names, and how many files a name has is told by a column.
 *
 * So all lists of the part have to be read, not only the rarest. To look at the names instead was
 * tried where these are few: it is not quicker, however few they are. */
#include "index/names/names_exec.h"

#include <stdlib.h>

enum {
	PART_MOST = 18, /* bytes */
	LISTS = PART_MOST - NAMES_TRIGRAM + 1,
	RUNS = 64, /* that are counted at once */
};

struct counting {
	struct names_segment *s;
	struct str part;
	struct names_list *list, *twice; /* the rarest first; of pairs */
	uint32_t lists, twices;
	struct names_walk walk;
	bool begun;
	struct names_run sure[RUNS], open[RUNS]; /* that wait to be counted, to be looked at */
	uint32_t sures, opens;
	struct names_clock *clock;
	uint64_t total;
};

static bool has_list(const uint8_t (*have)[NAMES_TRIGRAM], uint32_t n, const uint8_t *trigram)
{
	for (uint32_t i = 0; i < n; i++)
		if (memcmp(have[i], trigram, NAMES_TRIGRAM) == 0)
			return true;
	return false;
}

/* The lists of all trigrams of the part, or of the pairs that they share. 1: one is in no name. */
static int open_part_lists(struct counting *c, bool pairs, struct names_list *list, uint32_t *ret,
			   struct err *err)
{
	uint8_t have[LISTS][NAMES_TRIGRAM];
	uint32_t n = 0, tried = 0;
	for (size_t i = 0; i + NAMES_TRIGRAM + pairs <= c->part.n; i++) {
		uint8_t trigram[NAMES_TRIGRAM] = {0};
		memcpy(trigram + pairs, c->part.p + i + pairs, NAMES_TRIGRAM - pairs);
		if (has_list(have, tried, trigram))
			continue;
		memcpy(have[tried++], trigram, NAMES_TRIGRAM);
		int rc = names_list_open(c->s, trigram, &list[n], err);
		if (rc < 0 || (rc == 1 && !pairs))
			return rc;
		n += rc == 0;
	}
	*ret = n;
	return 0;
}

static int compare_lists(const void *a, const void *b)
{
	const struct names_list *x = a, *y = b;
	return x->n < y->n ? -1 : x->n > y->n;
}

/* Names are short, and a search that prepares itself first takes longer than the name. Only parts
 * of four bytes or more have to be looked for. */
static bool has_part(struct str text, struct str part)
{
	uint32_t first, four;
	memcpy(&first, part.p, sizeof first);
	for (size_t i = 0; i + part.n <= text.n; i++) {
		memcpy(&four, text.p + i, sizeof four);
		if (four == first && memcmp(text.p + i, part.p, part.n) == 0)
			return true;
	}
	return false;
}

static int look_at_run(struct counting *c, uint32_t from, uint32_t to, struct err *err)
{
	int rc = c->begun ? names_walk_seek(&c->walk, from, err)
			  : names_walk_begin(&c->walk, c->s, from, err);
	c->begun = true;
	for (uint32_t name = from; rc == 0 && name <= to && !names_late(c->clock, 1); name++) {
		rc = names_walk_next(&c->walk, err);
		if (rc == 0 && has_part(c->walk.folded, c->part))
			c->total += c->walk.entries;
	}
	return rc < 0 ? -1 : 0;
}

static int look_at_waiting(struct counting *c, struct err *err)
{
	names_segment_want(c->s, c->open, c->opens);
	for (uint32_t i = 0; i < c->opens; i++)
		if (look_at_run(c, c->open[i].from, c->open[i].to, err) < 0)
			return -1;
	c->opens = 0;
	return 0;
}

static int count_open(struct counting *c, uint32_t from, uint32_t to, struct err *err)
{
	c->open[c->opens++] = (struct names_run){from, to};
	return c->opens == RUNS ? look_at_waiting(c, err) : 0;
}

static int count_waiting(struct counting *c, struct err *err)
{
	uint64_t entries;
	if (names_segment_count(c->s, c->sure, c->sures, &entries, err) < 0)
		return -1;
	c->total += entries;
	c->sures = 0;
	return 0;
}

static int count_sure(struct counting *c, uint32_t from, uint32_t to, struct err *err)
{
	c->sure[c->sures++] = (struct names_run){from, to};
	return c->sures == RUNS ? count_waiting(c, err) : 0;
}

/* Names that have all trigrams. */
static int count_run(struct counting *c, uint32_t from, uint32_t to, struct err *err)
{
	for (;;) {
		uint32_t first = UINT32_MAX, last = 0; /* of the next that have a pair twice */
		for (uint32_t i = 0; i < c->twices; i++) {
			struct names_list *l = &c->twice[i];
			int rc = names_list_reach(l, from, err);
			if (rc < 0)
				return -1;
			if (rc == 0 && l->from[l->run] < first) {
				first = l->from[l->run];
				last = l->to[l->run];
			}
		}
		if (first > to)
			return count_sure(c, from, to, err);
		if (first > from && count_sure(c, from, first - 1, err) < 0)
			return -1;
		first = MAX(first, from);
		last = MIN(last, to);
		if (count_open(c, first, last, err) < 0)
			return -1;
		if (last == to)
			return 0;
		from = last + 1;
	}
}

/* The next names, from..to, that are in all lists. 1: no more. */
static int next_run(struct counting *c, uint32_t *from, uint32_t *to, struct err *err)
{
	for (uint32_t i = 0; i < c->lists;) {
		struct names_list *l = &c->list[i];
		int rc = names_list_reach(l, *from, err);
		if (rc != 0)
			return rc;
		if (l->from[l->run] <= *from) {
			i++;
			continue;
		}
		*from = l->from[l->run];
		i = i == 0;
		if (names_late(c->clock, 1))
			return 1;
	}
	*to = UINT32_MAX;
	for (uint32_t i = 0; i < c->lists; i++)
		*to = MIN(*to, c->list[i].to[c->list[i].run]);
	return 0;
}

static int count_all(struct counting *c, uint32_t from, struct err *err)
{
	uint32_t to;
	int rc;
	while ((rc = next_run(c, &from, &to, err)) == 0 && !names_late(c->clock, 1)) {
		if (count_run(c, from, to, err) < 0)
			return -1;
		from = to + 1;
	}
	return rc < 0 || count_waiting(c, err) < 0 ? -1 : look_at_waiting(c, err);
}

/* Zeroes are also those of an end, and of a pair that is there twice. */
bool names_count_can(struct str part)
{
	return part.n >= NAMES_TRIGRAM && part.n <= PART_MOST && !memchr(part.p, 0, part.n);
}

int names_count(struct names_segment *s, struct str part, uint32_t from, struct arena *scratch,
		struct names_clock *clock, uint64_t *ret, struct err *err)
{
	struct counting c = {.s = s, .part = part, .clock = clock};
	*ret = 0;
	c.list = arena_array(scratch, LISTS, sizeof *c.list);
	int rc = open_part_lists(&c, false, c.list, &c.lists, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	qsort(c.list, c.lists, sizeof *c.list, compare_lists);
	c.twice = arena_array(scratch, LISTS, sizeof *c.twice);
	rc = open_part_lists(&c, true, c.twice, &c.twices, err);
	if (rc == 0)
		rc = count_all(&c, from, err);
	if (c.begun)
		names_walk_end(&c.walk);
	*ret = c.total;
	return rc;
}
