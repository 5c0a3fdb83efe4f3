/* The reapers of a crawl: the local one, a remote one for each reapd in shepherd.reapers, and one
 * for all URL servers where shepherd.doc_index is set, or was when they got what they have. Says
 * which of them gets the next job, and keeps run/reapers (shepherd.h): what `garner shep reapers`
 * shows, and by its being there that jobs were out on other machines when the crawl was killed. */
#pragma once
#include "disk/format.h"
#include "net/loop.h"
#include "shepherd/crawl.h"
#include "shepherd/reaper.h"
#include "shepherd/shepherd.h"

struct reapers;

/* All in it must outlive the reapers; the struct itself need not. */
struct reapers_options {
	struct loop *loop;
	const struct crawl_conf *conf;
	const char *data;          /* the data directory */
	struct polite *polite;     /* the crawl's */
	struct reaper *local;      /* stays the caller's */
	int doc_index;             /* the socket for URL servers and spiders; 0: none */
	uint64_t body_max;         /* of a document */
	struct counters *counters; /* of the lending reaper: see reaper_lent.h */
	size_t counters_at;
	/* Of the remote ones; room() is also called when a time of waiting is over. */
	const struct reaper_host *host;
	/* For the log. */
	void (*said)(void *ctx, struct reaper *r, bool is_trouble, const char *what);
	void *ctx;
};
/* ERR_USAGE: one of conf->reapers has no form. */
int reapers_new(struct reapers **ret, const struct reapers_options *options, struct err *err);
/* An orderly end: the servers of what is still out rest, in the table of politeness. */
void reapers_free(struct reapers **rs);

/* A reap begins: as reaper_ops.begin, for all of them. */
int reapers_begin(struct reapers *rs, const char *dict_path, struct err *err);
/* How many more jobs they would take now, those that may take part. */
uint64_t reapers_room(struct reapers *rs);
/* Whose turn it is for a job of this server: the one that holds it, or else the one with room that
 * has got the least so far for what it can do. It counts as having got a job. 1: there is none. */
int reapers_choose(struct reapers *rs, qkey key, struct reaper **ret);
/* Whether one of them holds this server: see reaper_ops. */
bool reapers_hold(const struct reapers *rs, qkey key);
/* What they have answered so far is durable; what they have and were not told may be lost. */
void reapers_kept(struct reapers *rs);
void reapers_dropped(struct reapers *rs);

extern const struct format reapers_format;
