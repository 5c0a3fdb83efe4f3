/* Reap: gathers what the plan of a state names, as fast as politeness allows. Each URL goes queue,
 * name, robots.txt, reaper (reaper.h), bucket, journal; what it links to becomes contributions.
 * Checkpoints come every half second. One loop and its thread. */
#pragma once
#include "disk/requests.h"
#include "fetch/kit.h"
#include "shepherd/crawl.h"
#include "shepherd/reap_counters.h"

/* Counted from counters_at on in the role's counters. */
enum reap_counter {
	REAP_NEW,
	REAP_CHANGED,
	REAP_UNCHANGED,
	REAP_ELSEWHERE,
	REAP_FAILED, /* and after it one for each enum outcome from OUTCOME_TEMPORARY on */
	REAP_FAILED_END = REAP_FAILED + OUTCOME_ADDRESS - OUTCOME_TEMPORARY,
	REAP_NOINDEX,
	REAP_BYTES,
	REAP_UNREAD,
	REAP_LINKS,
	REAP_WAITING,
	REAP_UNDER_WAY,
	REAP_CHECKPOINTS,
	REAP_CODES, /* and after it the others of reap_counters.h */
	REAP_NCOUNTERS = REAP_CODES + REAP_NCODES
};
/* clang-format off */
#define REAP_COUNTER_DEFS \
	{"pages", "result=\"new\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"changed\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"unchanged\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"redirect\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"temporary\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"permanent\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"site-temporary\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"site-permanent\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"limit\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"robots\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"address\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"pages", "result=\"noindex\"", COUNTER_TOTAL, "Pages by what came of them."}, \
	{"gathered_bytes", NULL, COUNTER_TOTAL, "Bytes of documents, unpacked."}, \
	{"unread_documents", NULL, COUNTER_TOTAL, \
	 "Documents that the parser died of or took too long for; kept without text."}, \
	{"links", NULL, COUNTER_TOTAL, "Links that were taken as contributions."}, \
	{"urls_waiting", NULL, COUNTER_GAUGE, "URLs of the plan that are not done."}, \
	{"urls_under_way", NULL, COUNTER_GAUGE, "URLs that are being gathered."}, \
	{"checkpoints", NULL, COUNTER_TOTAL, "Checkpoints of the state."}, \
	REAP_CODE_DEFS
/* clang-format on */

struct cage_options;
struct reap_options {
	struct loop *loop;
	const char *data;                 /* the data directory */
	const struct cage_options *parse; /* workers and body_max come from conf and robot */
	const struct robot_section_conf *robot;
	const struct crawl_conf *conf;
	struct counters *counters; /* NULL: nobody counts */
	size_t counters_at;
	/* Called with every checkpoint, before it: hands over URLs that were asked for by hand,
	 * line by line. They become contributions, and are gathered at once. May be NULL. */
	int (*requests)(void *ctx, requests_fn *fn, void *fn_ctx, struct err *err);
	void (*kept)(void *ctx); /* after it: they are kept */
	/* Several times a second: whether there is no room for what would be fetched. May be NULL.
	 */
	bool (*full)(void *ctx);
	/* What reapers of other machines do, and what became of the URL log; for the log. May be
	 * NULL. */
	void (*said)(void *ctx, const char *who, bool is_trouble, const char *what);
	void *ctx;
	/* A run ends when its requests have; else what is under way at its end goes on, and is
	 * judged by the next. */
	bool waits;
};

/* Lives over many cycles; all in the options must outlive it. */
struct reap;
int reap_new(struct reap **ret, const struct reap_options *options, struct err *err);
void reap_free(struct reap **r);

/* What a run did. */
struct reaped {
	uint64_t done, left;      /* URLs; left: planned or asked for, and not done */
	int64_t took_us, full_us; /* full: so long it could not do more at once */
	uint64_t asked;           /* by hand, were not known, and were not gathered either */
};
/* Works off the plan of a state in PHASE_REAP, for at most c->cycle_us, and ends with a
 * checkpoint. Runs the loop. Negative: the state is left to recovery. */
int reap_run(struct reap *r, struct state *st, const struct crawl *c, struct reaped *ret,
	     struct err *err);
/* From a callback of the loop: it ends soon, with a checkpoint. Holds until the next reap_run(). */
void reap_stop(struct reap *r);
/* The URL log goes on in the file that has its name now. */
void reap_reopen_log(struct reap *r);
/* What of its files was damaged when it was made, and is lost; NULL: nothing. */
const struct err *reap_lost(const struct reap *r);
/* What was fetched could not be kept: next time one page is fetched, and no other before that one
 * is kept. */
void reap_be_careful(struct reap *r);
/* The state that it works on; NULL: none. */
const struct state *reap_state(const struct reap *r);
