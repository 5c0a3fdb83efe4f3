/* What keeps the stores in shape while the collector works: two threads merge segments of the words
 * index, one the small ones, so that they never become many, the other all, however long that
 * takes. The other also does jobs. */
#pragma once
#include "index/words.h"

struct maintenance;

int maintenance_open(struct maintenance **ret, struct words_writer *words, struct err *err);
/* Merges are stopped, a job that runs is waited for; one that has not begun is dropped. */
void maintenance_close(struct maintenance **t);

/* Something was committed: there may be something to merge. */
void maintenance_merge(struct maintenance *t);
/* Gives the other thread a job, when it has none. */
typedef int maintenance_fn(void *ctx, struct err *err);
void maintenance_begin(struct maintenance *t, maintenance_fn *fn, void *ctx);
/* 0: the job is done, with what it returned in *ret. 1: not yet. */
int maintenance_ended(struct maintenance *t, int *ret, struct err *err);

/* Readable when something was done since maintenance_look(). That one says once of a merge that
 * failed; it is tried again with a later commit, the later the more often it has failed. */
int maintenance_fd(const struct maintenance *t);
int maintenance_look(struct maintenance *t, struct err *err);
/* How long to wait before what failed is tried again. */
int64_t maintenance_rest_us(unsigned failures);
