/* Politeness: one table per machine, in a file that all processes share (run/polite): which server
 * was last asked when, how many connections to it are open, how long it wants to be left alone.
 * Every connection of every role takes a lease first. A server is an address as addr_server() says.
 *
 * Between the starts of two requests to a server lies at least the delay, whichever process makes
 * them, and no more of them are open at once than the rule allows. The delay doubles with every
 * trouble and halves with every answer after that; while it is longer than the plain one the server
 * gets one connection at a time. A process that dies, however it dies, holds nothing any more, and
 * the delay of what it held counts from when that is found; a lease that is not renewed ends by
 * itself.
 *
 * now_us is always clock_mono_us(), the time since this machine was started, or a test's own. It is
 * the same for all processes, and read just before the call: the request starts then. What was
 * written before the machine was started anew counts as begun at the start (0): plain delays are
 * over by then, longer pauses go on by the wall clock. So a server is never asked before `delay`
 * after the start of the machine.
 *
 * A table belongs to one thread and is not used across fork(). No call waits for another process
 * for longer than 50 ms. doc/formats/polite.md describes the file. */
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

/* How one server is to be treated. */
struct polite_rule {
	int64_t delay_us;    /* from request start to request start, at most POLITE_RETRY_MAX_US */
	unsigned concurrent; /* 0: 1 */
	bool exempt;         /* by contract: no Crawl-delay of robots.txt makes the delay longer */
};

/* The delay for a number of requests a second: 0.1 is 10 s. A rate of 0 or less: the longest. */
int64_t polite_delay_of_rate(double per_second);
/* The delay after so many troubles in a row. */
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
void polite_close(struct polite **p); /* what it still holds becomes free */

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
/* The request goes out at this time and not when the lease was taken: the delay counts from there.
 * A caller that has to connect first calls it just before the first byte; one that hears of it
 * later, from the machine that sent it, says the time of then. What is noted down already is never
 * made earlier. 1: the lease had ended before, or this could not be noted down: nothing may be
 * sent. */
int polite_sent(struct polite *p, struct lease *l, int64_t sent_us);
/* The server wants to be left alone for so long from now on; the lease goes on. For those who hold
 * it over several requests: what only polite_end() says is lost when they are killed before. 1: as
 * polite_sent(). */
int polite_rest(struct polite *p, struct lease *l, int64_t retry_after_us, int64_t now_us);
/* For transfers that take long: at least every POLITE_LEASE_US / 4. 1: it had ended before, and
 * the connection must be closed. */
int polite_renew(struct polite *p, struct lease *l, int64_t now_us);
/* Gives it back and says how the request ended. retry_after_us: how long the server wants to be
 * left alone from now on; 0: it did not say. With OUTCOME_CANCELLED it is our own wish, and says
 * nothing of the server. Also of a lease that is not held: nothing happens. */
void polite_end(struct polite *p, struct lease *l, enum outcome outcome, int64_t retry_after_us,
		int64_t now_us);

/* Somebody has cut the file while it was in use. Nobody is let go any more. */
bool polite_is_cut(const struct polite *p);

struct format;
extern const struct format polite_format;
