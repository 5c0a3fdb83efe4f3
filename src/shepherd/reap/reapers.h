/* The reapers of a crawl: the local one, and a remote one for each reapd in shepherd.reapers.
 * Chooses which of them gets the next job, and keeps the table `reapers` of garner.db (shepherd.h),
 * which `garner shep reapers` shows. After a kill its rows tell that jobs were out on other
 * machines. */
#pragma once
#include "net/loop.h"
#include "shepherd/crawl.h"
#include "shepherd/reap/reaper.h"
#include "shepherd/shepherd.h"

struct reapers;

/* All in it must outlive the reapers; the struct itself need not. */
struct reapers_options {
	struct loop *loop;
	const struct crawl_conf *conf;
	const char *data;      /* the data directory */
	struct polite *polite; /* the crawl's */
	struct reaper *local;  /* owned by the caller */
	/* Of the remote ones. room() is also called when a waiting time ends. */
	const struct reaper_host *host;
};
/* ERR_USAGE: an address in conf->reapers is invalid. */
int reapers_new(struct reapers **ret, const struct reapers_options *options, struct err *err);
/* Also gives the servers of jobs that are still out a rest, in the table of politeness. */
void reapers_free(struct reapers **rs);

/* Calls reaper_ops.begin of all reapers. */
int reapers_begin(struct reapers *rs, const char *dict_path, struct err *err);
/* How many more jobs the reapers would take now. */
uint64_t reapers_room(struct reapers *rs);
/* Chooses the reaper with room that has had the fewest jobs for its speed, and counts a job for it.
 * 1: none has room. */
int reapers_choose(struct reapers *rs, struct reaper **ret);
