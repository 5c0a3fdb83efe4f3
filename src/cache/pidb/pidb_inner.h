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

/* A value for a statement. */
struct pidb_value {
	const char *text; /* NULL: the number */
	int64_t number;
};
#define PIDB_TEXT(z)        \
	(struct pidb_value) \
	{                   \
		.text = (z) \
	}
#define PIDB_NUMBER(n)                 \
	(struct pidb_value)            \
	{                              \
		.number = (int64_t)(n) \
	}

/* A statement that is being run; after pidb_ask() all that fails is seen by pidb_row(). */
struct pidb_ask {
	struct pidb *p;
	struct sql_st *st;
	struct err *err;
};
int pidb_ask(struct pidb_ask *ret, struct pidb *p, const char *sql, const struct pidb_value *v,
	     size_t n, struct err *err);
#define PIDB_ASK(q, p, err, sql, ...)                                                          \
	pidb_ask(q, p, sql, (const struct pidb_value[]){__VA_ARGS__},                          \
		 sizeof((const struct pidb_value[]){__VA_ARGS__}) / sizeof(struct pidb_value), \
		 err)
int pidb_row(struct pidb_ask *q); /* 0: the next row; 1: no more */
void pidb_ask_end(struct pidb_ask *q);
int64_t pidb_column(const struct pidb_ask *q, int column);
/* Text that is longer than there is room is damage, which pidb_row() would not find: it is cut. */
void pidb_column_text(const struct pidb_ask *q, int column, char *ret, size_t cap);

/* Statements without rows; *ret_changed, where not NULL, rows that it changed. */
int pidb_do(struct pidb *p, const char *sql, const struct pidb_value *v, size_t n, int *ret_changed,
	    struct err *err);
#define PIDB_DO(p, changed, err, sql, ...)                                                    \
	pidb_do(p, sql, (const struct pidb_value[]){__VA_ARGS__},                             \
		sizeof((const struct pidb_value[]){__VA_ARGS__}) / sizeof(struct pidb_value), \
		changed, err)
/* The number in the first column of the first row; 0 where there is none. */
int pidb_number(struct pidb *p, const char *sql, const struct pidb_value *v, size_t n, int64_t *ret,
		struct err *err);
#define PIDB_COUNT(p, ret, err, sql, ...)                                                         \
	pidb_number(p, sql, (const struct pidb_value[]){__VA_ARGS__},                             \
		    sizeof((const struct pidb_value[]){__VA_ARGS__}) / sizeof(struct pidb_value), \
		    ret, err)

/* A transaction that writes: others wait from here on. Negative: it was not begun. */
int pidb_begin(struct pidb *p, struct err *err);
/* rc: what its work returned; it is committed where that is 0, else taken back. Returns rc, or -1
 * where the commit failed. */
int pidb_end(struct pidb *p, int rc, struct err *err);
void pidb_lock(struct pidb *p);
void pidb_unlock(struct pidb *p);
