/* Reap: fetches the planned URLs, as fast as politeness allows. Each URL passes its queue, name
 * lookup, robots.txt, a reaper (reap/reaper.h), bucket and journal; its links become contributions.
 * Makes a checkpoint every half second. Runs in one loop, in its thread. */
#pragma once
#include "disk/requests.h"
#include "fetch/kit.h"
#include "shepherd/crawl.h"
#include "shepherd/reap_counters.h"

/* The first of the role's counters. */
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
	{"pages", "result=\"new\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"changed\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"unchanged\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"redirect\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"temporary\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"permanent\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"site-temporary\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"site-permanent\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"limit\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"robots\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"address\"", COUNTER_TOTAL, "Pages by result."}, \
	{"pages", "result=\"noindex\"", COUNTER_TOTAL, "Pages by result."}, \
	{"gathered_bytes", NULL, COUNTER_TOTAL, "Bytes of documents, unpacked."}, \
	{"unread_documents", NULL, COUNTER_TOTAL, \
	 "Documents that crashed the parser or took it too long; stored without text."}, \
	{"links", NULL, COUNTER_TOTAL, "Links that were taken as contributions."}, \
	{"urls_waiting", NULL, COUNTER_GAUGE, "URLs of the plan that are not done yet."}, \
	{"urls_under_way", NULL, COUNTER_GAUGE, "URLs that are being fetched."}, \
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
	/* Called before every checkpoint: passes on URLs that were asked for by hand, line by line.
	 * They become contributions and are fetched at once. May be NULL. */
	int (*requests)(void *ctx, requests_fn *fn, void *fn_ctx, struct err *err);
	void (*kept)(void *ctx); /* after it: they are durable */
	/* Called several times a second: whether the disk is full. May be NULL.
	 */
	bool (*full)(void *ctx);
	void *ctx;
	/* Whether a run waits for its outstanding requests; else these go on, and the next run
	 * judges them. */
	bool waits;
};

/* Lives for many cycles. Everything in the options must outlive it. */
struct reap;
int reap_new(struct reap **ret, const struct reap_options *options, struct err *err);
void reap_free(struct reap **r);

/* Result of a run. */
struct reaped {
	uint64_t done, left;      /* URLs; left: planned or asked for, and not done */
	int64_t took_us, full_us; /* full: time without room for another request */
	uint64_t asked; /* URLs asked for by hand that were unknown and were not fetched */
};
/* Fetches the plan of a state in PHASE_REAP, for at most c->cycle_us, and ends with a checkpoint.
 * Runs the loop. Negative: recovery has to repair the state. */
int reap_run(struct reap *r, struct state *st, const struct crawl *c, struct reaped *ret,
	     struct err *err);
/* Ends the run soon, with a checkpoint. Call it from a callback of the loop. Lasts until the end of
 * the next reap_run(). */
void reap_stop(struct reap *r);
/* Reopens the URL log by its name. */
void reap_reopen_log(struct reap *r);
/* Call it when fetched pages could not be stored: the next run fetches one page, and no other until
 * that one is durable. */
void reap_be_careful(struct reap *r);
/* The state of the current run; NULL: none. */
const struct state *reap_state(const struct reap *r);
