/* Who a notification server is, and the numbers of its sets, in a small file (doc/formats/uns.md).
 * Numbers are reserved many at a time, so that few sets wait for the disk; a number is never used
 * twice, and some never are. */
#pragma once
#include "cache/link_wire.h"
#include "disk/format.h"

extern const struct format uns_number_format;

struct uns_number {
	char name[LINK_NAME_MAX + 1];
	uint64_t next; /* may be used from then on, and is not on disk yet */
};

/* The file is made where it is not there, with a name at random. *ret->next may be used up to what
 * uns_number_reserve() has said. */
int uns_number_open(const char *path, struct uns_number *ret, struct err *err);
/* Numbers below that one are used or will be: durable when it returns 0. */
int uns_number_reserve(const char *path, const struct uns_number *n, uint64_t below,
		       struct err *err);
