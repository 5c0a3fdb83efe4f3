/* Who was polite: counts per server address. Time is real and monotonic, in microseconds; the start
 * of a request is the moment its first bytes reached this machine's network, by the kernel's own
 * stamp, so that a busy simnet blames nobody. */
#pragma once
#include "base/buf.h"
#include "base/jsonw.h"

struct tally;

/* A request that is being answered; lies inside its connection. */
struct tally_mark {
	struct tally_mark *next, *prev;
	void *owner;
	uint32_t address;
	bool set;
};

struct tally_start {
	uint32_t address;
	int64_t at_us;
	bool robots, disallowed;
	bool pipelined; /* it came before the answer to the one before it was out */
	struct str url; /* for the samples; may lack the scheme */
};

/* delay_us: from start to start, less 1 % is a violation; 0: there is none. gone(owner) says
 * whether the client has left that request, of which we may not have heard yet. */
struct tally *tally_new(uint32_t addresses, int64_t delay_us, bool (*gone)(void *owner));
void tally_free(struct tally **t);
void tally_reset(struct tally *t); /* all counts to zero; what is in flight stays */

void tally_begin(struct tally *t, struct tally_mark *mark, const struct tally_start *start);
/* The answer of this many bytes is out, or never will be. status 0: none was sent. Twice is fine.
 */
void tally_end(struct tally *t, struct tally_mark *mark, int status, uint64_t bytes);
/* Nobody should ask this address before then. */
void tally_not_before(struct tally *t, uint32_t address, int64_t at_us);
void tally_connection(struct tally *t);
void tally_wrong_host(struct tally *t); /* a request for a host that is not at this address */
void tally_query(struct tally *t);      /* of DNS */

/* Members of an object: the totals, samples of violations and, if asked for, each address. */
void tally_report(const struct tally *t, uint32_t network, bool each, struct jsonw *j);
