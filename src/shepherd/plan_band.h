/* How soon a URL is to be gathered: the table of doc/cycle.md, "plan". */
#pragma once
#include "shepherd/crawl.h"

/* What all URLs of one plan have in common; seconds. */
struct plan_clock {
	int64_t now_s, refresh_s;
	uint64_t from[4];          /* the thresholds of the rows */
	uint32_t spread_s, slow_s; /* by how much URLs of the same age are spread, at least 1 */
	uint32_t seed;
};
struct plan_clock plan_clock_of(const struct crawl *c, const struct state_params *params);

/* A row. It fits a URL of one of its kinds whose measure has reached the threshold; the priority
 * is base + min(measure >> shift, most). */
struct plan_band_row {
	const char *name;
	const char *when, *formula; /* for people */
	uint32_t base, most;
	uint8_t shift, kinds, measure, from, flag;
};
extern const struct plan_band_row plan_band_rows[PLAN_BANDS];

struct plan_verdict {
	enum plan_band band; /* PLAN_BANDS: it is not due */
	uint32_t priority;
	int64_t due_s; /* of what is not due: when it will be */
};
/* Of a URL for which plan_may_gather(). */
void plan_judge(const struct plan_clock *clock, const struct index_item *item,
		struct plan_verdict *ret);

/* Whether plan looks at it as a page. */
static inline bool plan_may_gather(const struct index_item *item)
{
	return !(item->flags & ITEM_ROBOTS) &&
	       (item->type == ITEM_NEW || item->type == ITEM_GATHERED ||
		(item->type == ITEM_ERROR && (item->flags & ITEM_SACRED || item->no_target)));
}

/* What a server and a site add to a priority. */
uint32_t plan_raise(uint32_t priority, bool tight, int64_t bonus);
