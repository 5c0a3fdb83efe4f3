/* How it went with each source and collection point, for people: a table of garner.db that the
 * collector replaces when something has changed. */
#pragma once
#include "store/small.h"

enum { POINT_NAME = 255, POINT_TEXT = 200 };

enum point_state { POINT_NEVER, POINT_RUNS, POINT_GOOD, POINT_FAILED, POINT_STATES };

struct point_status {
	uint32_t place; /* in the configuration, from 0 on */
	char name[POINT_NAME + 1];
	uint8_t state;    /* enum point_state; of the last collection, or the one that runs */
	int64_t last_us;  /* when it began; 0: never */
	int64_t next_us;  /* when it is asked next; 0: it is followed all the time */
	uint64_t objects; /* that it told then */
	uint64_t bad;     /* of these were not taken */
	char text[POINT_TEXT + 1]; /* why it failed */
	/* When it was loaded: since last_us, until next_us. -1: that is 0. */
	int64_t ago_us, in_us;
};
const char *point_state_text(enum point_state state);

/* *ret is to be freed. 1: there are none. */
int points_load(const char *data, struct point_status **ret, size_t *ret_n, struct err *err);

/* Whether they are worth a table: one source that is followed, and well, says nothing that counters
 * do not. */
bool points_are_told(const struct point_status *point, size_t n);
extern const struct rows point_rows; /* as a list */

extern const struct small_table points_table;
