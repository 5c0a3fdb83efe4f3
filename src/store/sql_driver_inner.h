/* A driver, which keeps databases: the functions that store/sql.h calls, with the promises made
 * there. */
#pragma once
#include "store/sql.h"

/* The beginning of each driver's statement. */
struct sql_st {
	const struct sql_driver *driver;
};

struct sql_driver {
	/* s has its path and remedy; after a failure close() is called as well. */
	int (*open)(struct sql *s, const struct sql_kind *kind, enum sql_mode mode,
		    struct err *err);
	void (*close)(struct sql *s);
	/* stays: the statement will be used many times. */
	int (*compile)(const struct sql *s, const char *text, bool stays, struct sql_st **ret,
		       struct err *err);
	void (*finish)(struct sql_st *st);
	int (*begin)(const struct sql *s, enum sql_work work, struct err *err);
	int (*commit)(const struct sql *s, struct err *err);
	void (*rollback)(const struct sql *s);
	void (*bind)(struct sql_st *st, int i, struct sql_value v);
	int (*step)(const struct sql *s, struct sql_st *st, struct err *err);
	void (*reset)(struct sql_st *st);
	struct sql_value (*value)(const struct sql_st *st, int i);
	int (*columns)(const struct sql_st *st);
	const char *(*column_name)(const struct sql_st *st, int i);
	uint64_t (*changes)(const struct sql *s);
	int (*version)(const struct sql *s, int64_t *ret, struct err *err);
	bool (*is_moved)(const struct sql *s);
	int (*check)(const struct sql *s, sql_finding_fn *fn, void *ctx, struct err *err);
};

extern const struct sql_driver sql_sqlite;
