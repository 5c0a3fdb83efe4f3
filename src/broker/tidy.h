/* What keeps the collector's stores tidy beside it: two threads merge segments of the words index,
 * one the small ones, so that they never become many, the other all, however long that takes. The
 * other also does jobs. */
#pragma once
#include "index/words.h"

struct tidy;

int tidy_open(struct tidy **ret, struct words_writer *words, struct err *err);
/* Merges are stopped, a job that runs is waited for; one that has not begun is dropped. */
void tidy_close(struct tidy **t);

/* Something was committed: there may be something to merge. */
void tidy_merge(struct tidy *t);
/* Gives the other thread a job, when it has none. */
typedef int tidy_fn(void *ctx, struct err *err);
void tidy_begin(struct tidy *t, tidy_fn *fn, void *ctx);
/* 0: the job is done, with what it returned in *ret. 1: not yet. */
int tidy_ended(struct tidy *t, int *ret, struct err *err);
void tidy_wait(struct tidy *t); /* until it is */

/* Readable when something was done since tidy_look(), which says whether merging fails. */
int tidy_fd(const struct tidy *t);
int tidy_look(struct tidy *t, struct err *err);
