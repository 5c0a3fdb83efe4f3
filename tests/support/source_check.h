/* A checker that any source can be run against: cursors resume exactly, deletes appear once,
 * following works, foreign cursors are refused. Used from unit programs; fails through cmocka. */
#pragma once
#include "soif/source.h"

struct source_check {
	const struct source_ops *ops;
	const void *store;
	const void *other; /* another store of the kind, with other changes; NULL: none to try */
	/* Makes at least one more change in the store; called while a source follows. NULL: the
	 * store cannot grow here. */
	void (*grow)(void *ctx, unsigned step);
	void *ctx;
	unsigned steps;
};

/* Returns the number of changes that were seen from the beginning. */
size_t source_check(const struct source_check *check);
