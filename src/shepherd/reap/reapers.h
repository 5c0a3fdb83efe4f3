/* The reapers of a crawl: the local one, and a remote one for each reapd in shepherd.reapers. Says
 * which of them gets the next job, and keeps the table `reapers` of garner.db (shepherd.h): what
 * `garner shep reapers` shows, and by its rows that jobs were out on other machines when the crawl
 * was killed. */
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
	struct reaper *local;  /* stays the caller's */
	/* Of the remote ones; room() is also called when a time of waiting is over. */
	const struct reaper_host *host;
	/* For the log. */
	void (*said)(void *ctx, struct reaper *r, bool is_trouble, const char *what);
	void *ctx;
};
/* ERR_USAGE: an address in conf->reapers is invalid. */
int reapers_new(struct reapers **ret, const struct reapers_options *options, struct err *err);
/* An orderly end: the servers of what is still out rest, in the table of politeness. */
void reapers_free(struct reapers **rs);

/* A reap begins: as reaper_ops.begin, for all of them. */
int reapers_begin(struct reapers *rs, const char *dict_path, struct err *err);
/* How many more jobs the reapers would take now. */
uint64_t reapers_room(struct reapers *rs);
/* Whose turn it is: the one with room that has got the least so far for what it can do. It counts
 * as having got a job. 1: there is none. */
int reapers_choose(struct reapers *rs, struct reaper **ret);
