/* The event log, broker/LOG: what happened, a line each, by type, for those who count queries and
 * look after a broker. Types can be switched off and on; what is off costs nothing.
 *
 *	2026-11-16T09:03:55Z Query 127.0.0.1 query="apple AND pie"
 *
 * Update, Delete and Refresh are off at first. Foreign text is quoted, so that it cannot forge a
 *line. The file is put aside by itself when it is full, and few such files are kept, so that nobody
 *fills the disk by asking. Any thread. A log that cannot be written is said once in the log of the
 *program, and nothing waits for it. */
#pragma once
#include "base/log.h"

#define EVENT_TYPES(X)                  \
	X(UPDATE, "Update")             \
	X(DELETE, "Delete")             \
	X(REFRESH, "Refresh")           \
	X(QUERY, "Query")               \
	X(QUERY_RETURN, "Query-Return") \
	X(BULK, "Bulk-Transfer")        \
	X(BULK_RETURN, "Bulk-Return")   \
	X(ADMIN, "Admin")               \
	X(ADMIN_RETURN, "Admin-Return") \
	X(COLLECTION, "Collection")     \
	X(CLEANED, "Cleaned")           \
	X(CLEANER_ON, "Cleaner-On")     \
	X(COMPRESSING, "Compressing-Registry")

enum event_type {
#define X(symbol, name) EVENT_##symbol,
	EVENT_TYPES(X)
#undef X
		EVENT_NTYPES
};

struct events;

enum { EVENTS_MOST = 64 << 20, EVENTS_KEPT = 4 }; /* bytes of the file; files that were put aside */

/* path: of the file, which is made when the first line is written; copied. */
struct events *events_new(const char *path);
void events_free(struct events **e);

/* Whether lines of this type are written: for those who would have to compute what to say. e may be
 * NULL: then nothing happens, here and below. */
bool events_on(const struct events *e, enum event_type type);
#define event_write(e, type, peer, ...) events_write(e, EVENT_##type, peer, LOG_LIST(__VA_ARGS__))
void events_write(struct events *e, enum event_type type, const char *peer,
		  const struct log_kv *list);

/* By name, in any case; "All" is each of them. ERR_USAGE: there is no such type. */
int events_enable(struct events *e, struct str type, bool on, struct err *err);
int events_open(struct events *e, struct err *err);  /* after events_close() */
int events_close(struct events *e, struct err *err); /* flushes, and writes no more in any case */
int events_flush(struct events *e, struct err *err); /* to the disk */
/* Renames it to LOG.YYMMDD, or LOG.YYMMDD.2 and so on where there is one, and begins anew. The same
 * happens when it has EVENTS_MOST bytes, and then the oldest of more than EVENTS_KEPT is removed.
 */
int events_rotate(struct events *e, int64_t wall_us, struct buf *ret_name, struct err *err);
