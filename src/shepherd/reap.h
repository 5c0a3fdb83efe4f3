/* Reap: fetches the planned URLs, as fast as politeness allows. Each URL passes its queue, name
 * lookup, robots.txt, a reaper (reap/reaper.h), bucket and journal; its links become contributions.
 * Makes a checkpoint every half second. Runs in one loop, in its thread. */
#pragma once
#include "disk/requests.h"
#include "fetch/kit.h"
#include "shepherd/crawl.h"
#include "shepherd/reap_counters.h"

/* The first of the role's counters. */
#define REAP_COUNTERS(X)                                                                          \
	X(NEW, "pages", "result=\"new\"", TOTAL, "Pages by result.")                              \
	X(CHANGED, "pages", "result=\"changed\"", TOTAL, "Pages by result.")                      \
	X(UNCHANGED, "pages", "result=\"unchanged\"", TOTAL, "Pages by result.")                  \
	X(ELSEWHERE, "pages", "result=\"redirect\"", TOTAL, "Pages by result.")                   \
	/* one for each enum outcome from OUTCOME_TEMPORARY to OUTCOME_ADDRESS */                 \
	X(FAILED, "pages", "result=\"temporary\"", TOTAL, "Pages by result.")                     \
	X(FAILED_PERMANENT, "pages", "result=\"permanent\"", TOTAL, "Pages by result.")           \
	X(FAILED_SITE_TEMPORARY, "pages", "result=\"site-temporary\"", TOTAL, "Pages by result.") \
	X(FAILED_SITE_PERMANENT, "pages", "result=\"site-permanent\"", TOTAL, "Pages by result.") \
	X(FAILED_LIMIT, "pages", "result=\"limit\"", TOTAL, "Pages by result.")                   \
	X(FAILED_ROBOTS, "pages", "result=\"robots\"", TOTAL, "Pages by result.")                 \
	X(FAILED_ADDRESS, "pages", "result=\"address\"", TOTAL, "Pages by result.")               \
	X(NOINDEX, "pages", "result=\"noindex\"", TOTAL, "Pages by result.")                      \
	X(BYTES, "gathered_bytes", NULL, TOTAL, "Bytes of documents, unpacked.")                  \
	X(UNREAD, "unread_documents", NULL, TOTAL,                                                \
	  "Documents that crashed the parser or took it too long; stored without text.")          \
	X(LINKS, "links", NULL, TOTAL, "Links that were taken as contributions.")                 \
	X(WAITING, "urls_waiting", NULL, GAUGE, "URLs of the plan that are not done yet.")        \
	X(UNDER_WAY, "urls_under_way", NULL, GAUGE, "URLs that are being fetched.")               \
	X(CHECKPOINTS, "checkpoints", NULL, TOTAL, "Checkpoints of the state.")

enum reap_counter {
#define X(symbol, ...) REAP_##symbol,
	REAP_COUNTERS(X)
#undef X
		REAP_CODES, /* and after it the others of reap_counters.h */
	REAP_NCOUNTERS = REAP_CODES + REAP_NCODES
};
_Static_assert(REAP_NOINDEX - REAP_FAILED == OUTCOME_ADDRESS - OUTCOME_TEMPORARY + 1, "outcomes");

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
