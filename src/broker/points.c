/* Results of the points. They are replaced as a whole, since a change of the configuration may take
 * any of them away. */
#include "broker/points.h"

#include "base/clock.h"

#define S struct point_status
static const struct column stored[] = {
	COL("place", S, place),
	COL("name", S, name),
	COL("state", S, state, .most = POINT_STATES - 1),
	COL("last", S, last_us, .unit = UNIT_TIME),
	COL("next", S, next_us, .unit = UNIT_TIME),
	COL("objects", S, objects),
	COL("bad", S, bad),
	COL("why", S, text),
};

const struct small_table points_table = {
	.name = "points",
	.row = {ROWS(S, stored)},
	.key = 1,
	.most = 65536,
	.loose = true,
	.writer = "broker",
	.loss = "how it went with each source and collection point, for people",
};
#undef S

const char *point_state_text(enum point_state state)
{
	static const char *const text[POINT_STATES] = {"never asked", "collecting", "good",
						       "failed"};
	return state < POINT_STATES ? text[state] : "unknown";
}

int points_load(const char *data, struct point_status **ret, size_t *ret_n, struct err *err)
{
	void *all;
	int rc = small_list_in(data, &points_table, &all, ret_n, err);
	int64_t now_us = clock_wall_us();
	*ret = all;
	for (struct point_status *p = *ret; rc == 0 && p < *ret + *ret_n; p++) {
		p->ago_us = p->last_us ? MAX(now_us - p->last_us, 0) : -1;
		p->in_us = p->next_us ? MAX(p->next_us - now_us, 0) : -1;
	}
	return rc;
}

bool points_are_told(const struct point_status *point, size_t n)
{
	return n > 1 ||
	       (n == 1 && (point[0].next_us || point[0].bad || point[0].state != POINT_GOOD));
}

COL_NAMER(print_state, uint8_t, point_state_text)

#define S struct point_status
static const struct column point_columns[] = {
	COL("name", S, name, .label = "Source"),
	COL_OF("state", S, state, print_state, .label = "State"),
	COL("last", S, last_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL(NULL, S, ago_us, .label = "Last", .unit = UNIT_AGO, .how = ROW_SOME | ROW_NEG),
	COL("objects", S, objects, .label = "Objects"),
	COL("bad", S, bad, .label = "Bad"),
	COL("next", S, next_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL(NULL, S, in_us, .label = "Next", .unit = UNIT_IN, .how = ROW_SOME | ROW_NEG),
	COL("why", S, text, .how = ROW_SOME | ROW_BLANK, .label = "Why"),
};
const struct rows point_rows = {ROWS(S, point_columns)};
#undef S
