/* Who a notification server is, and the numbers of its sets: the table `uns` of garner.db. Numbers
 * are reserved many at a time, so that few sets wait for the disk; a number is never used twice,
 * and some never are. */
#pragma once
#include "cache/uns/link_wire.h"
#include "store/small.h"

struct uns_number {
	char instance[64]; /* "uns", "uns@2" */
	char name[LINK_NAME_MAX + 1];
	uint64_t next; /* first number that is not used; in the row: not reserved */
};

/* Opens garner.db. A server that is not in it gets a random name. Numbers from ret->next on must be
 * reserved before they are used. */
int uns_number_open(const char *data, const char *instance, struct small **ret_small,
		    struct uns_number *ret, struct err *err);
/* Reserves the numbers below that one; durable when it returns 0. */
int uns_number_reserve(struct small *s, const struct uns_number *n, uint64_t below,
		       struct err *err);
