/* Small state inside: the shape of a table as its database tells it, which needs no declaration,
 * and rows as values. */
#pragma once
#include "disk/format.h"
#include "store/small.h"
#include "store/sql.h"

#include <limits.h>

enum {
	SMALL_STATEMENT = 8192 /* bytes */,
	SMALL_SHAPE = 1700,
	SMALL_VALUES = SMALL_COLUMNS + 1 /* and the sum */
};

enum small_type { SMALL_UINT, SMALL_TIME, SMALL_TEXT, SMALL_BYTES, SMALL_STR, SMALL_TYPES };

struct small_shape {
	char name[SMALL_NAME];
	size_t n, key;
	struct small_shape_column {
		char name[SMALL_NAME];
		enum small_type type;
		uint64_t most; /* the greatest number, or bytes; SMALL_BYTES: exactly */
	} column[SMALL_COLUMNS];
};

/* A row of small_tables. */
struct small_known {
	char name[SMALL_NAME];
	char shape[SMALL_SHAPE]; /* "name=text:255 state=uint:3" */
	uint8_t key;
	uint64_t most;
	char writer[SMALL_NAME];
	char loss[240];
	bool lost; /* rows of it may have been */
};
/* The name of a row that says so of every table that is not there. */
#define SMALL_ANY "*"

void small_shape_of(const struct small_table *t, struct small_shape *ret);
void small_shape_print(const struct small_shape *shape, char ret[SMALL_SHAPE]);
/* ERR_DAMAGED: no table of ours is described so. */
int small_shape_parse(const struct small_known *known, struct small_shape *ret, struct err *err);
bool small_name_ok(struct str name);

/* The values of a row with its sum, and back. Texts and bytes are not copied into the values. */
void small_values_of(const struct small_table *t, const void *row, const struct small_shape *shape,
		     struct sql_value ret[SMALL_VALUES]);
/* Whether all values are what a column may hold, and the sum is that of the others. *ret_why says
 * what is wrong. */
bool small_values_ok(const struct small_shape *shape, const struct sql_value *v,
		     const char **ret_why);
/* Of values that are right; what a COL_STR points to is theirs. */
void small_values_take(const struct small_table *t, const struct sql_value *v, void *row);
uint64_t small_values_sum(const char *table, const struct sql_value *v, size_t n);
void small_values_print(const struct small_shape *shape, const struct sql_value *v,
			struct buf *out);

/* Statements of a table. */
enum small_statement {
	SMALL_MAKE,    /* the table */
	SMALL_GET,     /* the row of a key, bound from 1 on */
	SMALL_ADD,     /* a row, with its sum */
	SMALL_ADD_NEW, /* the same, unless its key is there */
	SMALL_SET,     /* a row, bound as for SMALL_ADD, in place of the one with its key */
	SMALL_DROP,    /* the row of a key */
	SMALL_DROP_ALL,
	SMALL_COUNT,
	SMALL_EACH,      /* all rows by key */
	SMALL_EACH_DOWN, /* the other way */
	SMALL_FROM,      /* rows from a key on */
	SMALL_STATEMENTS,
};
void small_statement(const struct small_shape *shape, enum small_statement which, struct buf *out);
/* The same, ready to be run on a database. */
int small_compile(const struct sql *sql, const struct small_shape *shape,
		  enum small_statement which, struct sql_st **ret, struct err *err);
int small_table_make(const struct sql *sql, const struct small_shape *shape, struct err *err);

extern const struct sql_kind small_kind;

/* Looks at everything in a database: pages, schema, all rows. 1: it is damaged, err says how. */
int small_verify(const struct sql *sql, struct err *err);
/* Prints its tables and rows, or those of one table. 1: there is no such table. */
int small_print(const struct sql *sql, const char *only, struct printer *p, struct err *err);
/* Readies what nobody has open: makes one where there is none, finishes what a killed process
 * began, sets aside a damaged one. */
int small_mend(const char *path, struct err *err);
/* ERR_USAGE: the file is not a damaged database but a record file, which an earlier version of
 * garner kept under this name and must stay as it is. For what SQLite does not take alone: this
 * ends the locks of a database. */
int small_version_before(const char *path, struct err *err);
/* An empty file for a database, where there is none. */
int small_file_make(const char *path, struct err *err);
/* The name under which the rows that could be read wait to take the place of a damaged database. */
int small_waiting(const char *path, char ret[PATH_MAX], struct err *err);
