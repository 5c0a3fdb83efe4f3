/* The collector: follows sources and keeps document store and words index in step with them. It is
 * the only writer of both. What a source told is applied in its order and committed as soon as
 * there is no more, and at least every second; a collector that was killed goes on where its last
 * commit was, and applying something twice changes nothing. For one thread; segments are merged and
 * documents copied by other threads. */
#pragma once
#include "role/counters.h"
#include "role/role.h"
#include "soif/source.h"

/* A source to follow. What it points to must outlive the collector. */
struct collector_feed {
	const char *name;
	const struct source_ops *ops;
	const void *store;
	/* NULL, or told of each object that is left out; url may be empty. */
	void (*bad)(const char *feed, struct str url, const struct err *err);
};

enum { COLLECTOR_COMMIT_US = 1000000, COLLECTOR_BATCH = 5000 /* documents, then it commits */ };

/* What it counts, from counters_at on in the role's counters. */
enum collector_counter {
	COLLECTOR_ADDED,
	COLLECTOR_REPLACED,
	COLLECTOR_DELETED,
	COLLECTOR_REFRESHED,
	COLLECTOR_BAD,
	COLLECTOR_COMMITS,
	COLLECTOR_LAST_COMMIT,
	COLLECTOR_DOCUMENTS,
	COLLECTOR_PENDING,
	COLLECTOR_NCOUNTERS
};
#define COLLECTOR_COUNTER_DEFS                                                                 \
	{"documents_added", NULL, COUNTER_TOTAL, "Documents that came new into the index."},   \
		{"documents_replaced", NULL, COUNTER_TOTAL,                                    \
		 "Documents whose text took the place of an older one."},                      \
		{"documents_deleted", NULL, COUNTER_TOTAL, "Documents that went away."},       \
		{"documents_refreshed", NULL, COUNTER_TOTAL,                                   \
		 "Documents that were looked at again and had not changed."},                  \
		{"objects_bad", NULL, COUNTER_TOTAL,                                           \
		 "Objects of sources that could not be read or taken."},                       \
		{"commits", NULL, COUNTER_TOTAL, "Commits of the index."},                     \
		{"last_commit_seconds", NULL, COUNTER_GAUGE,                                   \
		 "When the index was committed last, seconds since 1970."},                    \
		{"documents", NULL, COUNTER_GAUGE, "Documents in the index."},                 \
	{                                                                                      \
		"documents_pending", NULL, COUNTER_GAUGE, "Documents taken but not committed." \
	}

struct collector;

/* data: the data directory. ERR_BUSY: another process collects. counters may be NULL. */
int collector_open(struct collector **ret, const char *data, const struct collector_feed *feeds,
		   size_t n, struct counters *counters, size_t counters_at, struct err *err);
void collector_close(struct collector **c); /* what was not committed comes again */

/* Takes what the feeds have, at most a batch, and commits when it is time; begins to compact when
 * much is deleted, and goes on with that. 0: there may be more;
 * 1: nothing to do before collector_wait() says so. Negative: a store failed; what was not
 * committed is given up and taken again by the next call. */
int collector_step(struct collector *c, int64_t now_us, struct err *err);
/* What failed in other threads since it was asked last: merging, or giving back space. It collects
 * all the same, and tries that again after a while. 1: nothing. */
int collector_trouble(struct collector *c, struct err *ret);
/* Waits until a feed may have more, `extra_fd` (-1: none) is readable, or until_us (of
 * clock_mono_us) has come. */
void collector_wait(struct collector *c, int extra_fd, int64_t until_us);
/* When it has to be called again even if nothing comes; INT64_MAX: never. */
int64_t collector_due_us(const struct collector *c);
/* Commits what was taken. */
int collector_commit(struct collector *c, struct err *err);
/* Commits what was taken, and begins to give back the space of deleted documents, of files where
 * they are at least `percent`; further steps go on with it. Addresses that readers know from before
 * stay good for a while, and not longer than until it is called again. 1: there is nothing to give
 * back, or that is under way. */
int collector_compact_begin(struct collector *c, unsigned percent, struct err *err);
/* The same, and waits until the index is told; that takes as long as rewriting it. */
int collector_compact(struct collector *c, unsigned percent, struct err *err);

/* The role `broker`: collects until SIGTERM or SIGINT. A store that fails is opened again, after
 * longer and longer waits. Which feeds there are is for the program to say, since a broker knows
 * nothing of crawls and caches. */
int broker_run(struct role_env *env, const struct collector_feed *feeds, size_t n, struct err *err);
