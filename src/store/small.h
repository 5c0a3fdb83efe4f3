/* Small state: a few rows that a role must remember, in garner.db in the data directory, a table
 * for each purpose. A table that is large, or can be made again, is a file of its own with the same
 * functions. A table is declared once, as constant data, and its rows are structs:
 *
 *   #define S struct point
 *   static const struct column columns[] = {
 *           COL("name", S, name),
 *           COL("state", S, state, .most = POINT_STATES - 1),
 *   };
 *   static const struct small_table points = {
 *           "points", {ROWS(S, columns)}, .key = 1, .most = 10000,
 *           .writer = "broker", .loss = "the result of each last collection"};
 *
 * Several processes can use one database at once: readers never wait, writers wait some
 * milliseconds for each other. A handle belongs to one thread at a time, and must not be used after
 * fork().
 *
 * Every row has a checksum, so that damage is detected. The first process to open a database checks
 * all of it. A damaged one is renamed to NAME.damaged, the rows that can be read are taken over,
 * and a warning for each table is logged. A process that meets damage later gets ERR_DAMAGED, and
 * should end. */
#pragma once
#include "base/rows.h"

#define SMALL_FILE "garner.db"

enum { SMALL_COLUMNS = 24, SMALL_NAME = 40, SMALL_STR_MOST = 256 << 10 };

struct small_table {
	const char *name;
	/* A row. Keys of columns are small letters, digits and _. Columns may be numbers, times (an
	 * int64_t of microseconds since 1970), char[], uint8_t[], and a struct str of any bytes
	 * whose `most` is given. */
	struct rows row;
	size_t key;    /* the first columns that tell rows apart; 0: there is one row at most */
	uint64_t most; /* rows */
	bool loose;    /* a commit may be lost in a power cut, but not by a crash of the process */
	const char *writer; /* the role */
	const char *loss;   /* what is lost with the rows, as a noun phrase */
};

struct small;
enum small_mode { SMALL_READ, SMALL_WRITE };

/* Opens a database for these tables. SMALL_WRITE creates what is missing, with its folder. 1:
 * SMALL_READ, and there is no database. ERR_DAMAGED: others have it open, so it cannot be set
 * aside. */
int small_open(struct small **ret, const char *path, const struct small_table *const *tables,
	       size_t n, enum small_mode mode, struct err *err);
/* The same for garner.db in a data directory. */
int small_open_data(struct small **ret, const char *data, const struct small_table *const *tables,
		    size_t n, enum small_mode mode, struct err *err);
/* Not within a group; NULL inside is fine. */
void small_close(struct small **s);

/* Whether rows of this table may have been lost. Stays true across restarts, until the owner has
 * dealt with it and calls small_forgive(); false for a table that is new or was removed. */
bool small_lost(const struct small *s, const struct small_table *t);
int small_forgive(struct small *s, const struct small_table *t, struct err *err);

/* In a row that is passed in, the key is set. Outside a group each change is a commit of its own.
 */

/* Reads the row of a key. 1: there is none, and *row is unchanged. Its COL_STRs are valid until the
 * next call of small_get(). */
int small_get(struct small *s, const struct small_table *t, void *row, struct err *err);
/* Adds or replaces a row. 1: the table is full. */
int small_put(struct small *s, const struct small_table *t, const void *row, struct err *err);
/* 1: there is none. */
int small_delete(struct small *s, const struct small_table *t, const void *row, struct err *err);
/* Replaces all rows, in one commit. 1: these are too many. */
int small_replace(struct small *s, const struct small_table *t, const void *rows, size_t n,
		  struct err *err);
int small_count(struct small *s, const struct small_table *t, uint64_t *ret, struct err *err);

/* Groups several changes into one commit. Other writers wait, so that what was read within the
 * group stays true until its end. small_end() commits if rc is 0; otherwise, or if the commit
 * fails, nothing has changed. Returns rc, or negative. */
int small_begin(struct small *s, bool loose, struct err *err);
int small_end(struct small *s, int rc, struct err *err);

/* All rows in the order of the key, or those from a row (its key) on, which must outlive the
 * iteration unchanged. Change nothing in the table meanwhile. What COL_STRs point to is valid until
 * the next step. */
struct small_iter {
	struct small *s;
	const struct small_table *t;
	struct sql_st *st;
	bool failed;
	struct err err;
};
void small_iter_init(struct small_iter *it, struct small *s, const struct small_table *t,
		     const void *from);
int small_iter_next(struct small_iter *it, void *row, struct err *err); /* 1: the end */
void small_iter_done(struct small_iter *it);

/* For a row now and then: opens garner.db in the data directory, does it, and closes it. Rows must
 * have no COL_STR. 1 also where there is no garner.db. */
int small_get_in(const char *data, const struct small_table *t, void *row, struct err *err);
int small_put_in(const char *data, const struct small_table *t, const void *row, struct err *err);
int small_delete_in(const char *data, const struct small_table *t, const void *row,
		    struct err *err);
/* All rows in the order of the key, *ret to be freed; NULL where there are none. */
int small_list_in(const char *data, const struct small_table *t, void **ret, size_t *ret_n,
		  struct err *err);

extern const struct small_table small_tables; /* of every such database: which tables it has */
