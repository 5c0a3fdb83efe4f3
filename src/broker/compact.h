/* Gives back the space of deleted documents while the collector works: the document store is
 * compacted, the words index told where its documents lie now, and old addresses forgotten a while
 * later. Copying and rewriting are jobs of another thread (maintenance.h); what changes the stores
 * is done by the thread that writes them, between two commits. Killed at any point, both can be
 * read: old addresses lead to a document until they are forgotten, and the next start tells the
 * index again.
 */
#pragma once
#include "broker/maintenance.h"

enum { COMPACT_PERCENT = 25, COMPACT_LEAST = 16 << 20 /* bytes of text that are deleted */ };
/* How long compaction has to be worth it before it begins, and how long old addresses stay good
 * afterwards for those who answer from an older snapshot. */
enum { COMPACT_WAIT_US = 10000000 };

/* Whether much is deleted. */
int compact_wanted(struct docstore *docs, bool *ret, struct err *err);

struct compact;

/* All three outlive it. Goes on with what a killed process began. */
int compact_new(struct compact **ret, struct docstore *docs, struct words_writer *words,
		struct maintenance *maintenance, struct err *err);
/* A job that runs ends soon; for maintenance_close(). */
void compact_stop(struct compact *c);
void compact_free(struct compact **c); /* no job runs */

/* Both are called with nothing uncommitted in either store, by a caller that has no addresses from
 * before the newest snapshot of the index. */

/* Begins with files of which at least `percent` is deleted; old addresses that are left from
 * before are forgotten at once. 1: there are no such files, or compact_may_begin() says no. */
int compact_begin(struct compact *c, unsigned percent, struct err *err);
/* Goes on, where its job is done or its time has come. 1: its job failed, as err says; the stores
 * are whole, and it rests for a while. Negative: a store failed. */
int compact_step(struct compact *c, int64_t now_us, struct err *err);

bool compact_runs(const struct compact *c); /* it has a job */
/* None is under way, and none rests that failed. */
bool compact_may_begin(const struct compact *c);
/* When to call compact_step(), if no job runs; INT64_MAX: there is no need. */
int64_t compact_due_us(const struct compact *c);
