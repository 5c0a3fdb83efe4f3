/* Inside of the providers' database: one connection to SQLite, used by one thread at a time, and
 * statements that are used once. Their text is ours; values are bound. */
#pragma once
#include "base/buf.h"
#include "cache/pidb.h"
#include "store/sql.h"

#include <pthread.h>

struct pidb {
	struct sql sql;
	pthread_mutex_t lock;
	uint64_t own;     /* changes that this connection has committed */
	uint64_t version; /* as it was told last */
	bool has_changed; /* a row, in this transaction */
};

/* Opens the database that is there. 1: SQL_READ, and there is none. */
int pidb_connect(struct pidb **ret, const char *folder, enum sql_mode mode, struct err *err);

/* A statement without rows; *ret_changed, where not NULL, rows that it changed. */
int pidb_do(struct pidb *p, const char *sql, const struct sql_value *v, size_t n, int *ret_changed,
	    struct err *err);
#define PIDB_DO(p, changed, err, sql, ...) pidb_do(p, sql, SQL_VALUES(__VA_ARGS__), changed, err)
/* The number in the first column of the first row; 0 where there is none. */
int pidb_number(struct pidb *p, const char *sql, const struct sql_value *v, size_t n, int64_t *ret,
		struct err *err);
#define PIDB_COUNT(p, ret, err, sql, ...) pidb_number(p, sql, SQL_VALUES(__VA_ARGS__), ret, err)

/* 1: there is no such provider. */
int pidb_is_there(struct pidb *p, uint64_t id, struct err *err);

/* A transaction that writes: others wait from here on. Negative: it was not begun. */
int pidb_begin(struct pidb *p, struct err *err);
/* rc: what its work returned; it is committed where that is 0, else taken back. Returns rc, or -1
 * where the commit failed. */
int pidb_end(struct pidb *p, int rc, struct err *err);
/* A transaction of one statement. */
int pidb_write(struct pidb *p, const char *sql, const struct sql_value *v, size_t n,
	       int *ret_changed, struct err *err);
#define PIDB_WRITE(p, changed, err, sql, ...) \
	pidb_write(p, sql, SQL_VALUES(__VA_ARGS__), changed, err)
