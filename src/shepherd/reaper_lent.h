/* The reaper that lends: URL servers ask it for URLs, spiders bring it what they fetched
 * (doc/protocols/docindex.md; doc/reap.md, "Lent to a URL server"). To its owner it is one reaper,
 * however many are connected. */
#pragma once
#include "disk/format.h"
#include "net/server.h"
#include "shepherd/reaper.h"

/* Lines of clients that have no effect: counted from counters_at on in the role's counters. */
enum lent_counter { LENT_UNKNOWN_DONE, LENT_UNKNOWN_RESULT, LENT_NCOUNTERS };
/* clang-format off */
#define LENT_COUNTER_DEFS \
	{"lent_unknown", "line=\"done\"", COUNTER_TOTAL, \
	 "Lines of URL servers and spiders about URLs that are not lent."}, \
	{"lent_unknown", "line=\"result\"", COUNTER_TOTAL, \
	 "Lines of URL servers and spiders about URLs that are not lent."}
/* clang-format on */

struct counters;

/* All in it must outlive the reaper; the struct itself need not. */
struct reaper_lent_options {
	struct loop *loop;
	const char *data;      /* the data directory, with run/lent */
	int fd;                /* where it listens; stays the caller's. 0: nothing is lent any more,
				* and what was is kept from others until its time is over */
	const char *address;   /* its name */
	const struct tls *tls; /* NULL: none */
	struct polite *polite;
	bool holds_lease;     /* of servers whose URLs are lent, in that table */
	int64_t lend_us;      /* after this time without the URL server its loans are over */
	int64_t penalty_us;   /* a server that the spider's policy forbids is tried again after this
			       */
	uint64_t body_max;    /* of a document; a larger one is too large */
	struct reaper *local; /* reads and packs */
	const struct reaper_host *host;
	struct counters *counters; /* NULL: nobody counts */
	size_t counters_at;
	/* For the log. */
	void (*said)(void *ctx, struct reaper *r, bool is_trouble, const char *what);
	void *ctx;
};
/* What was lent when an earlier process ended counts as lent still. */
int reaper_lent_new(struct reaper **ret, const struct reaper_lent_options *options,
		    struct err *err);
/* Whether something is lent, by run/lent. 1: nothing is. */
int reaper_lent_left(const char *data, struct err *err);

extern const struct format lent_format; /* run/lent */
