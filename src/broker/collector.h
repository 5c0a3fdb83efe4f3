/* The collector follows sources and updates registry, documents and words index, of which it is the
 * only writer. It applies changes in the order of their source and commits as soon as there are no
 * more, at least every second. After a kill it continues from its last commit; applying a change
 * twice changes nothing. For one thread; other threads merge segments and copy documents and
 * records. */
#pragma once
#include "broker/events.h"
#include "broker/registry.h"
#include "role/counters.h"
#include "role/role.h"

/* A source to follow, or a collection point to poll. What it points to must outlive the collector.
 */
struct collector_feed {
	const char *name;
	const struct source_ops *ops;
	const void *store;
	/* 0: followed all the time; next() returning 1 means that it has no more now. Otherwise the
	 * time between collections, and 1 ends one. */
	int64_t every_us;
	bool full; /* each collection is complete; the cursor is not used */
};

struct collector_options {
	const char *data; /* the data directory */
	const struct collector_feed *feeds;
	size_t n;
	struct counters *counters;   /* may be NULL; COLLECTOR_ADDED is the first */
	struct events *events;       /* may be NULL */
	bool forget;                 /* the cursors: collect everything again */
	bool no_collect;             /* do not poll points */
	int64_t expire_every_us;     /* time between scans for expired objects; 0: 1 h */
	int64_t remember_deleted_us; /* time for which tombstones are kept; 0: 30 days */
};

enum { COLLECTOR_COMMIT_US = 1000000, COLLECTOR_BATCH = 5000 /* objects, then it commits */ };
/* Collection points polled at the same time. One that takes longer than SLOW no longer counts, so
 * that others get their turn, up to OPEN_MOST in all. */
enum { COLLECTOR_OPEN = 16, COLLECTOR_OPEN_MOST = 256, COLLECTOR_SLOW_US = 10000000 };

/* What it counts, the first of the role's counters. */
#define COLLECTOR_COUNTERS(X)                                                                 \
	X(ADDED, "documents_added", NULL, TOTAL, "Objects added.")                            \
	X(REPLACED, "documents_replaced", NULL, TOTAL, "Objects replaced by a newer text.")   \
	X(DELETED, "documents_deleted", NULL, TOTAL, "Objects deleted.")                      \
	X(REFRESHED, "documents_refreshed", NULL, TOTAL,                                      \
	  "Objects gathered again without a change.")                                         \
	X(EXPIRED, "objects_expired", NULL, TOTAL,                                            \
	  "Objects dropped or refused because their Time-to-Live was over.")                  \
	X(BAD, "objects_bad", NULL, TOTAL, "Objects that could not be read or were refused.") \
	X(COLLECTIONS, "collections", NULL, TOTAL, "Collections completed.")                  \
	X(FAILURES, "collection_failures", NULL, TOTAL, "Collections failed.")                \
	X(COMMITS, "commits", NULL, TOTAL, "Commits of the registry.")                        \
	X(LAST_COMMIT, "last_commit_seconds", NULL, GAUGE,                                    \
	  "Time of the last commit of the registry, in seconds since 1970.")                  \
	X(OBJECTS, "objects", NULL, GAUGE, "Objects in the registry.")                        \
	X(DOCUMENTS, "documents", NULL, GAUGE, "Documents in the index.")                     \
	X(PENDING, "documents_pending", NULL, GAUGE, "Objects not committed yet.")            \
	X(BEHIND, "index_behind_bytes", NULL, GAUGE,                                          \
	  "Bytes of the registry that are not indexed yet.")

enum collector_counter {
#define X(symbol, ...) COLLECTOR_##symbol,
	COLLECTOR_COUNTERS(X)
#undef X
		COLLECTOR_NCOUNTERS
};

struct collector;

/* ERR_BUSY: another process collects. */
int collector_open(struct collector **ret, const struct collector_options *options,
		   struct err *err);
void collector_close(struct collector **c); /* uncommitted changes will be read again */

/* Applies at most a batch of changes and commits when due; also updates the index, drops expired
 * objects, and compacts when much is deleted. 0: there may be more; 1: nothing to do until
 * collector_wait() returns. Negative: a store failed and uncommitted changes are lost: open the
 * collector again. */
int collector_step(struct collector *c, int64_t now_us, struct err *err);
/* Returns what failed in other threads since the last call: merging or compacting. Collecting goes
 * on, and the work is retried later. 1: nothing failed. */
int collector_trouble(struct collector *c, struct err *ret);
/* Waits until a feed may have more, one of these descriptors is readable, or until until_us (of
 * clock_mono_us). */
void collector_wait(struct collector *c, const int *fd, size_t fds, int64_t until_us);
/* When collector_step() is due even if no feed has changes; INT64_MAX: never. */
int64_t collector_due_us(const struct collector *c);
/* Commits the changes applied so far. */
int collector_commit(struct collector *c, struct err *err);
/* Commits, then starts compacting deleted documents, in files where they are at least `percent`, or
 * dead records; later steps continue it. 1: nothing to compact, or already compacting. */
int collector_compact_begin(struct collector *c, unsigned percent, struct err *err);
/* The same, and waits for the end. */
int collector_compact(struct collector *c, unsigned percent, struct err *err);
/* Starts checking all objects for expiry now. */
void collector_expire(struct collector *c);

/* For the administrator. Later steps continue what these start. */

/* Polls all points now; returns their number. */
size_t collector_ask_all(struct collector *c, int64_t now_us);
/* Drops expired objects, then compacts everything. */
void collector_clean(struct collector *c);
/* Starts rebuilding the index once current work has ended. 1: already started. */
int collector_rebuild(struct collector *c);
/* Documents in the index, and bytes of the registry that are not indexed yet. */
int collector_index_stats(struct collector *c, uint64_t *ret_docs, uint64_t *ret_behind,
			  struct err *err);
/* Drops the objects with these oids and commits. *ret: how many existed. Their sources may deliver
 * them again. */
int collector_drop(struct collector *c, const uint32_t *oid, size_t n, size_t *ret,
		   struct err *err);
/* Skipped objects of a collection or a file that get a log line each; the others are counted. */
enum { COLLECTOR_LEFT_OUT_SHOWN = 20 };
struct collector_added {
	uint64_t taken, bad; /* so far */
	bool ended;
};
/* Adds the objects of a file below broker/add; those read within a second are committed on return.
 * 1: the file cannot be added, or another is being added, as err says. Negative: a store failed. */
int collector_add(struct collector *c, struct str name, struct collector_added *ret,
		  struct err *err);
/* Replaces an option. */
enum collector_time { COLLECTOR_COLLECT_EVERY, COLLECTOR_EXPIRE_EVERY, COLLECTOR_REMEMBER_DELETED };
void collector_set(struct collector *c, enum collector_time which, int64_t us);
