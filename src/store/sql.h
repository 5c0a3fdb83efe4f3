/* Statements to a database. A driver runs them (SQLite);
 * the SQL is such that several databases understand it. Application id and version identify a file
 * as ours. Every commit is synced unless it was begun as SQL_LOOSE. A connection belongs to one
 * thread at a time and to one process: it must not be used after fork(). Running out of memory ends
 * the program, as everywhere. */
#pragma once
#include "base/rows.h"

struct sql_driver;
struct sql_st; /* a statement: opaque, valid until sql_finish() or sql_close() */

struct sql {
	const struct sql_driver *driver;
	void *h; /* the driver's */
	char *path;
	const char *remedy;          /* what to do if it is damaged; follows "; " in messages */
	int application_id, version; /* as the database says */
	struct sql_st **st;          /* of sql_prepare() */
	size_t n;
};

/* SQL_RESCUE: reads as much of a damaged database as it can. No other process may have it open. */
enum sql_mode { SQL_READ, SQL_WRITE, SQL_RESCUE };

struct sql_kind {
	int application_id, version; /* of ours; 0, for SQL_READ: any */
	const char *const *schema;   /* statements that make an empty database, up to a NULL */
	const char *remedy;
	int cache_kb;
	int busy_ms;    /* how long to wait for another process */
	int log_pages;  /* a commit that leaves more in the log moves it; 0: the driver's own */
	int value_most; /* bytes of one value; 0: the driver's own limit */
	bool is_tidy;   /* the last process to close it removes the log, even if it only read */
	bool is_secret; /* deleted rows are overwritten */
};

/* Opens a database; SQL_WRITE creates it if it does not exist. 1: SQL_READ, and there is none yet.
 * ERR_DAMAGED: not such a database. ERR_USAGE: sound, but another version of garner made it. */
int sql_open(struct sql *ret, const char *path, const struct sql_kind *kind, enum sql_mode mode,
	     struct err *err);
/* Whether some garner may have made a database of this version; else the number is damaged. */
static inline bool sql_version_is_likely(int64_t version, int known)
{
	enum { AHEAD_MOST = 100 };
	return version > 0 && version <= known + AHEAD_MOST;
}
/* Looks for lost commits in the log of a database, which sql_open() would drop without a word: call
 * it before, best while nobody else has the database open. ERR_DAMAGED. */
int sql_log_verify(const char *path, struct err *err);
/* Also finishes the statements of sql_prepare(); finish all others first. Safe on a zeroed struct.
 */
void sql_close(struct sql *s);
/* Prepares statements that live as long as the connection, as s->st[]. */
int sql_prepare(struct sql *s, const char *const *text, size_t n, struct err *err);
/* Prepares a statement that the caller ends with sql_finish(). */
int sql_compile(const struct sql *s, const char *text, struct sql_st **ret, struct err *err);
void sql_finish(struct sql_st **st);
/* Runs one statement without values and rows. */
int sql_exec(const struct sql *s, const char *text, struct err *err);

/* Transactions. A snapshot reads one state, whatever others write. A writer makes the others wait
 * from its beginning, so that none has to give up in the middle. After a failed commit nothing has
 * changed; call sql_rollback(), which is harmless if no transaction is open. */
enum sql_work { SQL_SNAPSHOT, SQL_DURABLE, SQL_LOOSE /* a power cut may take it back */ };
int sql_begin(const struct sql *s, enum sql_work work, struct err *err);
int sql_commit(const struct sql *s, struct err *err);
void sql_rollback(const struct sql *s);

enum sql_type { SQL_NULL, SQL_INT, SQL_TEXT, SQL_BLOB };
struct sql_value {
	enum sql_type type;
	int64_t n;    /* of SQL_INT, else 0 */
	struct str s; /* of SQL_TEXT and SQL_BLOB, else empty */
};
/* Parameters count from 1, columns from 0. Bound values must stay valid until the statement has
 * run; values of columns are valid until the next step or reset. */
void sql_bind_value(struct sql_st *st, int i, struct sql_value v);
struct sql_value sql_value(const struct sql_st *st, int i);
int sql_columns(const struct sql_st *st);
const char *sql_column_name(const struct sql_st *st, int i);

/* Values for the parameters of a statement, in their order. */
#define SQL_N(v) ((struct sql_value){.type = SQL_INT, .n = (int64_t)(v)})
#define SQL_T(v) ((struct sql_value){.type = SQL_TEXT, .s = (v)})
#define SQL_B(v) ((struct sql_value){.type = SQL_BLOB, .s = (v)})
#define SQL_VALUES(...)                          \
	(const struct sql_value[]){__VA_ARGS__}, \
		sizeof((const struct sql_value[]){__VA_ARGS__}) / sizeof(struct sql_value)
void sql_bind_all(struct sql_st *st, const struct sql_value *v, size_t n);

/* The i-th parameter or column is the i-th member of a row: numbers, char[] and texts (COL_STR),
 * which are bytes where their unit is UNIT_HEX. What is longer than .most or the member is cut. A
 * COL_STR is valid as long as the statement's values are. */
void sql_bind_row(struct sql_st *st, const struct rows *t, const void *row);
void sql_take_row(const struct sql_st *st, const struct rows *t, void *row);

static inline void sql_bind_text(struct sql_st *st, int i, struct str s)
{
	sql_bind_value(st, i, SQL_T(s));
}
static inline int64_t sql_i64(const struct sql_st *st, int i)
{
	return sql_value(st, i).n;
}
static inline uint64_t sql_u64(const struct sql_st *st, int i)
{
	return (uint64_t)sql_value(st, i).n;
}
static inline struct str sql_str(const struct sql_st *st, int i)
{
	return sql_value(st, i).s;
}

/* Statements that are used once. sql_ask() prepares one with its values; sql_do() runs it;
 * sql_number() reads the first column of its first row. 1: there is no row. */
int sql_ask(const struct sql *s, const char *text, const struct sql_value *v, size_t n,
	    struct sql_st **ret, struct err *err);
int sql_do(const struct sql *s, const char *text, const struct sql_value *v, size_t n,
	   struct err *err);
int sql_number(const struct sql *s, const char *text, const struct sql_value *v, size_t n,
	       int64_t *ret, struct err *err);

/* 0: there is a row, and the statement must be reset before it is used again. 1: no (more) rows.
 * Unless it returns 0 the statement is reset. */
int sql_step(const struct sql *s, struct sql_st *st, struct err *err);
void sql_reset(struct sql_st *st);
/* Runs a statement to its end. */
int sql_run(const struct sql *s, struct sql_st *st, struct err *err);
/* Rows that the last statement inserted, changed or deleted. */
uint64_t sql_changes(const struct sql *s);

/* A number that changes when another connection has committed. */
int sql_version(const struct sql *s, int64_t *ret, struct err *err);
/* Whether the open file is no longer the one with its name. */
bool sql_is_moved(const struct sql *s);
/* Checks everything that the driver can check by itself. 1: it is damaged; fn (unless NULL) got
 * each finding. */
typedef void sql_finding_fn(void *ctx, struct str finding);
int sql_check(const struct sql *s, sql_finding_fn *fn, void *ctx, struct err *err);
/* The same: err has the first finding. */
int sql_verify(const struct sql *s, struct err *err);
