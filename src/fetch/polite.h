/* Politeness: one table per machine, in a file that all processes share (run/polite). It says when
 * each server was last asked, how many connections to it are open and how long to leave it alone.
 * Every connection of every role takes a lease first. A server is an address as returned by
 * addr_server().
 *
 * Requests to one server start at least `delay` apart, whichever process makes them, and no more
 * are open at once than the rule allows. The delay doubles with every failure and halves with
 * every answer after that. While it is longer than the plain delay, the server gets one connection
 * at a time. The leases of a process that died are released, however it died; their delays count
 * from the moment when this is noticed. A lease that is not renewed expires.
 *
 * now_us is always clock_mono_us(), the time since the machine started, or a clock of a test. It
 * is the same for all processes and read just before the call: the request starts then. Entries
 * from before a restart of the machine count as begun at 0: plain delays start there, longer
 * pauses go on by the wall clock. So no server is asked within `delay` of the start of the
 * machine.
 *
 * A table belongs to one thread and must not be used across fork(). No call waits for another
 * process for longer than 50 ms. doc/formats/polite.md describes the file. */
#pragma once
#include "base/clock.h"
#include "fetch/outcome.h"
#include "net/addr.h"

/* Connections to one server; a rule that says more means this. */
enum { POLITE_CONCURRENT_MAX = 8 };

/* Where doubling ends; a longer delay stays as it is. */
#define POLITE_PAUSE_MAX_US (1 * US_PER_H)
/* The longest Retry-After that is believed. */
#define POLITE_RETRY_MAX_US (1 * US_PER_DAY)
/* How long a lease lasts after it was taken or renewed. */
#define POLITE_LEASE_US (5 * US_PER_MIN)

/* The rule for one server. */
struct polite_rule {
	int64_t delay_us;    /* from request start to request start, at most POLITE_RETRY_MAX_US */
	unsigned concurrent; /* 0: 1 */
	bool exempt;         /* by contract: no Crawl-delay of robots.txt makes the delay longer */
};

/* The delay for a number of requests a second: 0.1 is 10 s. A rate of 0 or less: the longest. */
int64_t polite_delay_of_rate(double per_second);
/* The delay after this many failures in a row. */
int64_t polite_pause_us(int64_t delay_us, unsigned troubles);

struct polite;

struct polite_options {
	uint32_t servers; /* that a new file has room for; 0: 65,536 (8 MiB) */
	/* Of this machine where 0 or NULL; for tests. */
	const char *boot;        /* which start of the machine this is */
	int64_t now_us, wall_us; /* the same instant on both clocks */
};

/* Makes the file if there is none; its folder must be there. options may be NULL. */
int polite_open(struct polite **ret, const char *path, const struct polite_options *options,
		struct err *err);
void polite_close(struct polite **p); /* releases the leases that it still holds */

/* The right to one request at a time over one connection. */
struct lease {
	struct addr server;
	uint64_t word; /* 0: none is held */
	uint32_t entry, place;
	int64_t start_us;
};

/* Asks for a request that starts now. 0: *ret is held until polite_end(). 1: not now; *ret_wait_us
 * (more than 0) says when to ask again. That is also the answer when the table is full or busy. */
int polite_take(struct polite *p, const struct addr *a, const struct polite_rule *rule,
		int64_t now_us, struct lease *ret, int64_t *ret_wait_us);
/* The request goes out at sent_us, not when the lease was taken: the delay counts from then. A
 * caller that connects first calls this just before the first byte; one whose request another
 * machine sent passes the time reported by that machine. A later time that is already recorded
 * stays. 1: the lease had expired, or this could not be recorded: nothing may be sent. */
int polite_sent(struct polite *p, struct lease *l, int64_t sent_us);
/* The server asked for a pause of this long; the lease goes on. For callers that hold a lease for
 * several requests: a pause that only polite_end() reports would be lost if they were killed. 1:
 * as for polite_sent(). */
int polite_rest(struct polite *p, struct lease *l, int64_t retry_after_us, int64_t now_us);
/* Call it during long transfers, at least every POLITE_LEASE_US / 4. 1: the lease had expired; the
 * connection must be closed. */
int polite_renew(struct polite *p, struct lease *l, int64_t now_us);
/* Releases the lease and reports how the request ended. retry_after_us: the pause that the server
 * asked for; 0: none. With OUTCOME_CANCELLED the pause is our own wish and says nothing about the
 * server. Safe for a lease that is not held. */
void polite_end(struct polite *p, struct lease *l, enum outcome outcome, int64_t retry_after_us,
		int64_t now_us);

/* Whether the file was truncated while in use. From then on no lease is given. */
bool polite_is_cut(const struct polite *p);

struct format;
extern const struct format polite_format;
