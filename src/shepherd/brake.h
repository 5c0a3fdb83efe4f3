/* The safety brake: when select would drop too many gathered pages at once, nothing is merged, and
 * the table `brake` of garner.db says what would have gone, until somebody allows it. */
#pragma once
#include "shepherd/crawl.h"

/* A file of this name in the data directory lets the next select through. */
#define BRAKE_DISABLE "shepherd/disable-brake"

struct brake {
	int64_t time_us;           /* when it held */
	uint64_t gathered, lost;   /* pages that were gathered; of these would have gone */
	uint64_t by[CRAWL_LIMITS]; /* of these by each limit */
};

/* Durable when it returns 0. */
int brake_save(const char *data, const struct selected *selected, int64_t now_us, struct err *err);
/* 1: the brake is off. */
int brake_load(const char *data, struct brake *ret, struct err *err);
/* Releases the brake, durably. 0 also if it was not on. */
int brake_clear(const char *data, struct err *err);
/* Whether somebody allows the next select. */
bool brake_is_disabled(const char *data);
/* Removes permission and brake after that select, durably. */
int brake_let_through(const char *data, struct err *err);
