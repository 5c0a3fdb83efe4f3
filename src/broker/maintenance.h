/* Background work while the collector runs: two threads merge segments of the words index, one only
 * small segments, so that there are never many, the other all, however long that takes. The second
 * thread also runs jobs. */
#pragma once
#include "index/words.h"

struct maintenance;

int maintenance_open(struct maintenance **ret, struct words_writer *words, struct err *err);
/* Stops merges, waits for a running job, and drops one that has not started. */
void maintenance_close(struct maintenance **t);

/* Call it after a commit: there may be something to merge. */
void maintenance_merge(struct maintenance *t);
/* Gives the second thread a job; it must have none. */
typedef int maintenance_fn(void *ctx, struct err *err);
void maintenance_begin(struct maintenance *t, maintenance_fn *fn, void *ctx);
/* 0: the job is done, with what it returned in *ret. 1: not yet. */
int maintenance_ended(struct maintenance *t, int *ret, struct err *err);

/* Readable when work was done since maintenance_look(). That reports a failed merge once; the merge
 * is retried with a later commit, with a growing delay. */
int maintenance_fd(const struct maintenance *t);
int maintenance_look(struct maintenance *t, struct err *err);
/* Time to wait before retrying after this many failures. */
int64_t maintenance_rest_us(unsigned failures);
