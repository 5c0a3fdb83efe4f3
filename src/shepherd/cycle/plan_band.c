/* The bands of priorities, as one table: which URLs a row fits, what is measured, from which
 * threshold on, and what priority follows. plan walks down the rows for each URL, and garner shep
 * plan --explain prints them. The rows stand in the order in which they are asked, which is not
 * everywhere that of the priorities: what is new has bands between those of refreshes, but no URL
 * is of both kinds. */
#include "shepherd/plan_band.h"

#include "base/clock.h"
#include "base/hash.h"
#include "state/plan.h"

#define M UINT32_C(1000000)
#define TIGHT (1000 * M)
#define BONUS_MOST (2000 * M)
#define RAISED_MOST (UINT32_C(3999999999))
enum { DAY_S = 86400 };

/* Each URL is of one kind. */
enum { KIND_REGATHER = 1, KIND_HAND = 2, KIND_NEW = 4, KIND_OLD = 8 };
enum { MEASURE_AGE, MEASURE_WORTH, MEASURE_SLOW, MEASURE_FAST, MEASURES };
/* places in plan_clock.from */
enum { FROM_ALWAYS, FROM_OVERAGED, FROM_REFRESH, FROM_ANTICIPATED };

const char *const plan_limit_names[PLAN_LIMITS] = {"not-due", "site", "server", "budget"};

/* clang-format off */
const struct plan_band_row plan_band_rows[PLAN_BANDS] = {
	[BAND_RESOLVES] = {"resolves", "the best URL of a site whose server is not known", "4294967295",
		UINT32_MAX, 0, 0, 0, MEASURE_AGE, FROM_ALWAYS, 0},
	[BAND_REGATHER] = {"regather", "to be gathered again, whatever its age", "4000M + min(age, 294M)",
		4000 * M, 294 * M, 0, KIND_REGATHER, MEASURE_AGE, FROM_ALWAYS, 0},
	[BAND_HAND] = {"new-by-hand", "new, given by hand", "1400M + weight * 100000 + up to 5M by age",
		1400 * M, UINT32_MAX, 0, KIND_HAND, MEASURE_WORTH, FROM_ALWAYS, 0},
	[BAND_NEW] = {"new", "new", "1200M + weight * 100000 + up to 5M by age",
		1200 * M, UINT32_MAX, 0, KIND_NEW, MEASURE_WORTH, FROM_ALWAYS, 0},
	[BAND_OVERAGED] = {"over-aged", "age >= 1.5 refresh", "1900M + min(age, 90M)",
		1900 * M, 90 * M, 0, KIND_OLD, MEASURE_AGE, FROM_OVERAGED, PLAN_OVERAGED},
	[BAND_REFRESH] = {"refresh", "a = age * slow frequency + spread >= refresh", "1500M + min(a / 8, 99M)",
		1500 * M, 99 * M, 3, KIND_OLD, MEASURE_SLOW, FROM_REFRESH, 0},
	[BAND_FREQUENT] = {"frequent", "a = age * frequency >= refresh", "1000M + min(a / 8, 99M)",
		1000 * M, 99 * M, 3, KIND_OLD, MEASURE_FAST, FROM_REFRESH, 0},
	[BAND_ANTICIPATED] = {"anticipated", "age >= anticipated_refresh_age", "min(age, 999M)",
		0, 999 * M, 0, KIND_OLD, MEASURE_AGE, FROM_ANTICIPATED, PLAN_ANTICIPATED},
};
/* clang-format on */

struct plan_clock plan_clock_of(const struct crawl *c, const struct state_params *params)
{
	int64_t refresh_s = c->conf->refresh_us / US_PER_S;
	int64_t anticipated_s = c->conf->anticipated_us / US_PER_S;
	return (struct plan_clock){
		.now_s = c->now_us / US_PER_S,
		.refresh_s = refresh_s,
		.from = {[FROM_OVERAGED] = (uint64_t)(refresh_s + (refresh_s + 1) / 2),
			 [FROM_REFRESH] = (uint64_t)refresh_s,
			 [FROM_ANTICIPATED] = anticipated_s ? (uint64_t)anticipated_s : UINT64_MAX},
		.spread_s = (uint32_t)MAX(c->cycle_us / US_PER_S / 4, 1),
		.slow_s = (uint32_t)MAX(refresh_s / 8, 1),
		.seed = (uint32_t)hash_u64((uint64_t)params->created_us),
	};
}

static unsigned plan_kind_of(const struct index_item *item)
{
	if (item->flags & ITEM_REGATHER)
		return KIND_REGATHER;
	if (item->type != ITEM_NEW)
		return KIND_OLD;
	return item->flags & ITEM_INITIAL ? KIND_HAND : KIND_NEW;
}

/* What the rows measure, for a URL of this kind; others are not asked for. */
static void plan_measure(const struct plan_clock *clock, const struct index_item *item,
			 unsigned kind, uint64_t ret[MEASURES])
{
	uint32_t rnd =
		(uint32_t)(item->fp.site >> 32) ^ (uint32_t)(item->fp.path >> 32) ^ clock->seed;
	uint64_t f = MAX(item->freq, 1), refresh = (uint64_t)clock->refresh_s;
	int64_t seen = item->last_seen_s;
	if (item->type == ITEM_NEW)
		seen = MAX(seen, (int64_t)item->since_day * DAY_S);
	int64_t since = clock->now_s - seen + rnd % clock->spread_s;
	uint64_t age = since < 0 ? refresh : (uint64_t)since; /* the clock was put back */
	ret[MEASURE_AGE] = age;
	if (kind == KIND_OLD) {
		ret[MEASURE_SLOW] = age * (f > 3 ? f / 3 : 1) + rnd % clock->slow_s;
		ret[MEASURE_FAST] = age * f;
	} else {
		ret[MEASURE_WORTH] =
			item->weight * UINT64_C(100000) +
			MIN(age, 2 * refresh) * 5 * M / (2 * refresh + UINT64_C(4) * DAY_S);
	}
}

/* Whether a URL was seen so lately that no row fits, whatever its spread is: so it is with most,
 * and seen without a division. */
static bool plan_is_young(const struct plan_clock *clock, const struct index_item *item)
{
	int64_t since = clock->now_s - item->last_seen_s;
	uint64_t age = (uint64_t)since + clock->spread_s, f = MAX(item->freq, 1);
	return since >= 0 && age * f + clock->slow_s <= clock->from[FROM_REFRESH] &&
	       age <= clock->from[FROM_ANTICIPATED];
}

/* The next time at which a row of refreshes surely fits. */
static int64_t plan_next_of(const struct plan_clock *clock, const struct index_item *item)
{
	int64_t f = MAX(item->freq, 1), wait = clock->refresh_s;
	if (f > 1)
		wait = (wait + f - 1) / f;
	wait = (int64_t)MIN((uint64_t)wait, clock->from[FROM_ANTICIPATED]);
	return MAX(item->last_seen_s + wait, clock->now_s + 1);
}

void plan_judge(const struct plan_clock *clock, const struct index_item *item,
		struct plan_verdict *ret)
{
	unsigned kind = plan_kind_of(item);
	uint64_t measure[MEASURES];
	*ret = (struct plan_verdict){.band = PLAN_BANDS};
	if (kind != KIND_REGATHER && item->due_s > clock->now_s &&
	    item->due_s <= clock->now_s + clock->refresh_s) {
		ret->due_s = item->due_s;
		return;
	}
	if (kind == KIND_OLD && plan_is_young(clock, item)) {
		ret->due_s = plan_next_of(clock, item);
		return;
	}
	plan_measure(clock, item, kind, measure);
	for (size_t i = 0; i < PLAN_BANDS; i++) {
		const struct plan_band_row *row = &plan_band_rows[i];
		uint64_t m;
		if (!(row->kinds & kind) || (m = measure[row->measure]) < clock->from[row->from])
			continue;
		ret->band = (enum plan_band)i;
		ret->priority = row->base + (uint32_t)MIN(m >> row->shift, (uint64_t)row->most);
		return;
	}
	ret->due_s = plan_next_of(clock, item);
}

uint32_t plan_raise(uint32_t priority, bool tight, int64_t bonus)
{
	if (priority < 1000 * M || priority >= 2000 * M)
		return priority;
	uint64_t raised =
		(uint64_t)priority + (tight ? TIGHT : 0) + (uint64_t)MIN(bonus, BONUS_MOST);
	return (uint32_t)MIN(raised, (uint64_t)RAISED_MOST);
}
