/* SQLite, as our databases use it: statements, errors in words, and files
 * that are told from others by their application_id. Writers and readers are separate processes:
 * write-ahead log, every commit synced. Out of memory ends the program, as everywhere. */
#pragma once
#include "base/err.h"
#include "base/str.h"

#include <sqlite3.h>

struct sql {
	sqlite3 *h;
	char *path;
	const char *remedy; /* what to do when it is damaged, as a sentence goes on after ";" */
	sqlite3_stmt **st;
	size_t n;
};

enum sql_mode { SQL_READ, SQL_WRITE };

struct sql_kind {
	int application_id, version; /* of ours */
	const char *const *schema;   /* statements that make an empty database, up to a NULL */
	const char *remedy;
	int cache_kb;
	int busy_ms; /* how long to wait for another process */
};

/* SQL_WRITE: made where it is not there. 1: SQL_READ, and there is none yet. ERR_DAMAGED: not such
 * a database. ERR_USAGE: sound, but another version of garner made it. */
int sql_open(struct sql *ret, const char *path, const struct sql_kind *kind, enum sql_mode mode,
	     struct err *err);
int sql_prepare(struct sql *s, const char *const *text, size_t n, struct err *err);
/* One that is used once, and then finalized by the caller. */
int sql_compile(const struct sql *s, const char *text, sqlite3_stmt **ret, struct err *err);
void sql_close(struct sql *s);
/* Whether what is open is not, or no longer, the file of that name. */
bool sql_is_moved(const struct sql *s);
/* Negative, with the words of the last failure. */
int sql_fail(const struct sql *s, struct err *err);
int sql_exec(const struct sql *s, const char *text, struct err *err);

/* Values go in and come out in the order of the calls: the i-th, from 1 on, and from 0 on. What is
 * bound must last until the statement has run; what comes out, until it is reset. */
void sql_bind(sqlite3_stmt *st, int i, int64_t v);
void sql_bind_text(sqlite3_stmt *st, int i, struct str s);
void sql_bind_blob(sqlite3_stmt *st, int i, struct str s);
/* 0: a row is there, and the statement is to be reset. 1: none, or no more. */
int sql_step(const struct sql *s, sqlite3_stmt *st, struct err *err);
/* Runs a statement to its end. */
int sql_run(const struct sql *s, sqlite3_stmt *st, struct err *err);
struct str sql_str(sqlite3_stmt *st, int i); /* of a text or a blob */

static inline int64_t sql_i64(sqlite3_stmt *st, int i)
{
	return sqlite3_column_int64(st, i);
}
static inline uint64_t sql_u64(sqlite3_stmt *st, int i)
{
	return (uint64_t)sqlite3_column_int64(st, i);
}
