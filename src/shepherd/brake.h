/* The safety brake: when select would drop too many gathered pages at once, nothing is merged, and
 * this file says what would have gone, until somebody allows it: shepherd/brake, a small file
 * (doc/formats/brake.md). `folder` is that of the crawl. */
#pragma once
#include "shepherd/crawl.h"

/* A file of this name in the folder lets the next select through. */
#define BRAKE_DISABLE "disable-brake"

struct brake {
	int64_t time_us;           /* when it held */
	uint64_t gathered, lost;   /* pages that were gathered; of these would have gone */
	uint64_t by[CRAWL_LIMITS]; /* of these by each limit */
};

/* Durable when it returns 0. */
int brake_save(const char *folder, const struct selected *selected, int64_t now_us,
	       struct err *err);
/* 1: the brake does not hold. */
int brake_load(const char *folder, struct brake *ret, struct err *err);
/* It does not hold any more; durable. 0 also where it did not. */
int brake_clear(const char *folder, struct err *err);
/* Whether somebody allows the next select. */
bool brake_is_disabled(const char *folder);
/* That select was made: neither the permission nor the brake is there any more; durable. */
int brake_let_through(const char *folder, struct err *err);

extern const struct format brake_format;
