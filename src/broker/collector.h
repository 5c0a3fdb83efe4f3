/* The collector: follows sources and keeps registry, documents and words index in step with them.
 * It is the only writer of all three. What a source told is applied in its order and committed as
 * soon as there is no more, and at least every second; a collector that was killed goes on where
 * its last commit was, and applying something twice changes nothing. For one thread; segments are
 * merged, documents and records copied by other threads. */
#pragma once
#include "broker/events.h"
#include "broker/registry.h"
#include "role/counters.h"
#include "role/role.h"

/* A source to follow, or a collection point that is asked from time to time. What it points to must
 * outlive the collector. */
struct collector_feed {
	const char *name;
	const struct source_ops *ops;
	const void *store;
	/* 0: it is followed all the time, and next() saying 1 means that it has no more now. Else
	 * it is opened so often, and 1 ends the collection. */
	int64_t every_us;
	bool full; /* each collection is of everything: the cursor is not used */
};

struct collector_options {
	const char *data; /* the data directory */
	const struct collector_feed *feeds;
	size_t n;
	struct counters *counters;   /* may be NULL; COLLECTOR_ADDED is the first */
	struct events *events;       /* may be NULL */
	bool forget;                 /* cursors: all is collected again */
	bool no_collect;             /* points are not asked */
	int64_t expire_every_us;     /* how often objects are looked at that have expired; 0: 1 h */
	int64_t remember_deleted_us; /* how long tombstones stay; 0: 30 days */
};

enum { COLLECTOR_COMMIT_US = 1000000, COLLECTOR_BATCH = 5000 /* objects, then it commits */ };
/* Collection points that are asked at a time; one that takes longer than SLOW is not counted among
 * these any more, so that others have their turn, up to OPEN_MOST. */
enum { COLLECTOR_OPEN = 16, COLLECTOR_OPEN_MOST = 256, COLLECTOR_SLOW_US = 10000000 };

/* What it counts, the first of the role's counters. */
enum collector_counter {
	COLLECTOR_ADDED,
	COLLECTOR_REPLACED,
	COLLECTOR_DELETED,
	COLLECTOR_REFRESHED,
	COLLECTOR_EXPIRED,
	COLLECTOR_BAD,
	COLLECTOR_COLLECTIONS,
	COLLECTOR_FAILURES,
	COLLECTOR_COMMITS,
	COLLECTOR_LAST_COMMIT,
	COLLECTOR_OBJECTS,
	COLLECTOR_DOCUMENTS,
	COLLECTOR_PENDING,
	COLLECTOR_BEHIND,
	COLLECTOR_NCOUNTERS
};
#define COLLECTOR_COUNTER_DEFS                                                                  \
	{"documents_added", NULL, COUNTER_TOTAL, "Objects that came new."},                     \
		{"documents_replaced", NULL, COUNTER_TOTAL,                                     \
		 "Objects whose text took the place of an older one."},                         \
		{"documents_deleted", NULL, COUNTER_TOTAL, "Objects that went away."},          \
		{"documents_refreshed", NULL, COUNTER_TOTAL,                                    \
		 "Objects that were looked at again and had not changed."},                     \
		{"objects_expired", NULL, COUNTER_TOTAL,                                        \
		 "Objects that went away, or were not taken, because their Time-to-Live was "   \
		 "over."},                                                                      \
		{"objects_bad", NULL, COUNTER_TOTAL,                                            \
		 "Objects of sources that could not be read or taken."},                        \
		{"collections", NULL, COUNTER_TOTAL, "Collections that came to their end."},    \
		{"collection_failures", NULL, COUNTER_TOTAL, "Collections that did not."},      \
		{"commits", NULL, COUNTER_TOTAL, "Commits of the registry."},                   \
		{"last_commit_seconds", NULL, COUNTER_GAUGE,                                    \
		 "When the registry was committed last, seconds since 1970."},                  \
		{"objects", NULL, COUNTER_GAUGE, "Objects in the registry."},                   \
		{"documents", NULL, COUNTER_GAUGE, "Documents in the index."},                  \
		{"documents_pending", NULL, COUNTER_GAUGE, "Objects taken but not committed."}, \
	{                                                                                       \
		"index_behind_bytes", NULL, COUNTER_GAUGE,                                      \
			"Bytes of the registry that the index has not been told yet."           \
	}

struct collector;

/* ERR_BUSY: another process collects. */
int collector_open(struct collector **ret, const struct collector_options *options,
		   struct err *err);
void collector_close(struct collector **c); /* what was not committed comes again */

/* Takes what the feeds have, at most a batch, and commits when it is time; tells the index what it
 * lacks, drops what has expired, begins to compact when much is deleted, and goes on with that. 0:
 * there may be more; 1: nothing to do before collector_wait() says so. Negative: a store failed;
 * what was not committed is given up: open the collector again. */
int collector_step(struct collector *c, int64_t now_us, struct err *err);
/* What failed in other threads since it was asked last: merging, or giving back space. It collects
 * all the same, and tries that again after a while. 1: nothing. */
int collector_trouble(struct collector *c, struct err *ret);
/* Waits until a feed may have more, one of these descriptors is readable, or until_us (of
 * clock_mono_us) has come. */
enum { COLLECTOR_FDS = 4 };
void collector_wait(struct collector *c, const int *fd, size_t fds, int64_t until_us);
/* When it has to be called again even if nothing comes; INT64_MAX: never. */
int64_t collector_due_us(const struct collector *c);
/* Commits what was taken. */
int collector_commit(struct collector *c, struct err *err);
/* Commits what was taken, and begins to give back the space of deleted documents, of files where
 * they are at least `percent`, or of dead records; further steps go on with it. 1: there is nothing
 * to give back, or that is under way. */
int collector_compact_begin(struct collector *c, unsigned percent, struct err *err);
/* The same, and waits until it has ended. */
int collector_compact(struct collector *c, unsigned percent, struct err *err);
/* Looks at all objects whether they have expired, now. */
void collector_expire(struct collector *c);

/* For the administrator. Further steps go on with what is begun. */

/* Asks all points now; how many there are. */
size_t collector_ask_all(struct collector *c, int64_t now_us);
/* Drops what has expired, then gives back all space. */
void collector_clean(struct collector *c);
/* Begins to build the index again, when what is under way has ended. 1: that was begun before. */
int collector_rebuild(struct collector *c);
/* Documents in the index, and the bytes of the registry that it lacks. */
int collector_index_stats(struct collector *c, uint64_t *ret_docs, uint64_t *ret_behind,
			  struct err *err);
/* Drops the objects with these oids and commits. *ret: how many there were. Their points may tell
 * them again. */
int collector_drop(struct collector *c, const uint32_t *oid, size_t n, size_t *ret,
		   struct err *err);
/* Takes the objects of a file below broker/add: what comes in a second is committed when it
 * returns. 1: it cannot be taken, or not while another one is, as err says. Negative: a store
 * failed. */
/* Objects of a collection or a file that are left out and get a line of the log each; of more the
 * number is said at the end. */
enum { COLLECTOR_LEFT_OUT_SHOWN = 20 };
struct collector_added {
	uint64_t taken, bad; /* so far */
	bool ended;
};
int collector_add(struct collector *c, struct str name, struct collector_added *ret,
		  struct err *err);
/* What the options said, from now on. */
void collector_set_collect_every(struct collector *c, int64_t us);
void collector_set_expire_every(struct collector *c, int64_t us);
void collector_set_remember_deleted(struct collector *c, int64_t us);
