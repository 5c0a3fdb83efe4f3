/* Compaction while the collector works: removes deleted documents from the store and dead records
 * from the registry. Another thread copies (maintenance.h); the writing thread switches files
 * between two commits. A kill at any point leaves either the old or the new files. */
#pragma once
#include "broker/maintenance.h"
#include "broker/registry.h"

enum { COMPACT_PERCENT = 25, COMPACT_LEAST = 16 << 20 /* bytes of text that are deleted */ };
/* Time for which compaction must be worth it before it starts. */
enum { COMPACT_WAIT_US = 10000000 };

struct compact;

/* Both outlive it. */
struct compact *compact_new(struct docstore *docs, struct registry *registry);
/* Makes a running job end soon; for maintenance_close(). */
void compact_stop(struct compact *c);
void compact_free(struct compact **c); /* no job runs */

/* *ret: whether much is deleted. */
int compact_wanted(struct compact *c, bool *ret, struct err *err);

/* Call both only with nothing uncommitted. */

/* Starts with documents, in files of which at least `percent` is deleted, or else with the
 * registry. 1: nothing to compact, a job is running, or it rests after a failure. */
int compact_begin(struct compact *c, struct maintenance *maintenance, unsigned percent,
		  int64_t now_us, struct err *err);
/* Switches files if the job is done. 1: the job failed, as err says; nothing is damaged, and
 * compaction rests for a while. Negative: a store failed. */
int compact_step(struct compact *c, int64_t now_us, struct err *err);

/* Requests one turn for documents and one for records, however little is dead, as soon as possible.
 */
void compact_all(struct compact *c);
bool compact_asked(const struct compact *c);        /* and that is not done yet */
bool compact_runs_records(const struct compact *c); /* its job is the registry's */
bool compact_runs(const struct compact *c);         /* it has a job */
/* When it may begin again; 0: now. */
int64_t compact_rests_until_us(const struct compact *c);
