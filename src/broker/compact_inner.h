/* Gives space back while the collector works: deleted documents leave the store, dead records the
 * registry. Copying is a job of another thread (maintenance.h); what changes the files is done by
 * the thread that writes, between two commits. Killed at any point, old or new files stand. */
#pragma once
#include "broker/maintenance.h"
#include "broker/registry.h"

enum { COMPACT_PERCENT = 25, COMPACT_LEAST = 16 << 20 /* bytes of text that are deleted */ };
/* How long compaction has to be worth it before it begins. */
enum { COMPACT_WAIT_US = 10000000 };

struct compact;

/* Both outlive it. */
struct compact *compact_new(struct docstore *docs, struct registry *registry);
/* A job that runs ends soon; for maintenance_close(). */
void compact_stop(struct compact *c);
void compact_free(struct compact **c); /* no job runs */

/* Whether much is deleted. */
int compact_wanted(struct compact *c, bool *ret, struct err *err);

/* Both are called with nothing uncommitted in either. */

/* Begins with documents, of files of which at least `percent` is deleted, or else with the
 * registry. 1: there is nothing to give back, or one is under way, or rests after a failure. */
int compact_begin(struct compact *c, struct maintenance *maintenance, unsigned percent,
		  int64_t now_us, struct err *err);
/* Goes on, where its job is done. 1: it failed, as err says; all is whole, and it rests for a
 * while. Negative: a store failed. */
int compact_step(struct compact *c, int64_t now_us, struct err *err);

/* Documents and records each have one turn, whatever little is dead; it begins as soon as it can.
 */
void compact_all(struct compact *c);
bool compact_asked(const struct compact *c);        /* that is not done yet */
bool compact_runs_records(const struct compact *c); /* its job is the registry's */
bool compact_runs(const struct compact *c);         /* it has a job */
/* When it may begin again; 0: now. */
int64_t compact_rests_until_us(const struct compact *c);
