/* Host queues: which URL may be fetched next, and when.
 * One queue per queue key (server address). It is ready when its delay has passed and fewer than
 * `concurrent` of its URLs are out. Of several that are ready the one that has waited longest goes
 * first, or with `urgent` the one whose first URL has the most urgent class, of equals one that was
 * asked less than `keep_us` ago, and of these the one that has waited longest; inside a queue the
 * most urgent priority class, and in a class the order of coming. Owned by one loop, not
 * thread-safe; now_us is clock_mono_us() or a test's own.
 *
 * Memory holds URLs up to a budget, a file without a name the others; they are read back when their
 * turn comes. A crash loses the queues.
 *
 * Queues only order the work of one process. Before it connects, the process asks polite_take(),
 * and where that says "not now" it puts the URL back with the time it was told. */
#pragma once
#include "base/err.h"
#include "fetch/polite.h"
#include "url/qkey.h"

enum {
	HOSTQ_PAYLOAD_MAX = 65536,
	HOSTQ_PRIORITIES = 256, /* 0 is the most urgent */
	HOSTQ_QUEUES_MAX = 64 << 20,
};

struct hostq;

struct hostq_options {
	struct polite_rule rule; /* of queues without one of their own */
	/* As in document 003: queues that may be worked on at once, and URLs in each. What comes
	 * beyond is left over: it is kept, in order, and moves up when there is room. 0: no limit.
	 */
	uint32_t queues;
	uint64_t length;
	bool urgent;     /* among the queues, too, classes count before time */
	int64_t keep_us; /* how long the connection to a server may be kept; 0: it is not */
	uint32_t turn; /* before the first of each slot: a number that another process is not likely
			  to have chosen, where a remote may name jobs of before a restart */
	uint64_t memory; /* bytes of budget for URLs; 0: 256 MiB; at least 1 MiB */
	const char *
		folder; /* for the file of what does not fit; NULL: beyond the budget is an error */
};

int hostq_new(struct hostq **ret, const struct hostq_options *options, struct err *err);
void hostq_free(struct hostq **q);

/* A queue's own rule; lasts as long as the queue has URLs or any is out. Of a key without any it
 * changes nothing: push first. */
void hostq_set_rule(struct hostq *q, qkey key, const struct polite_rule *rule);

/* Nothing of this queue goes out while it is held; lasts as a rule does. */
void hostq_hold(struct hostq *q, qkey key, bool held);

/* Takes in a URL, or whatever else the payload is; it is copied. `user` is the caller's; numbers
 * that are near those pushed before take less room. Negative: it was not taken in (the budget is
 * used up and the disk is full, or the payload is too long); all others are as before. */
int hostq_push(struct hostq *q, qkey key, unsigned priority, struct str payload, uint64_t user,
	       struct err *err) MUST_USE;

struct hostq_job {
	qkey key;
	struct str payload; /* good until the job is done or put back */
	uint64_t user;
	unsigned priority;
	uint32_t slot, turn; /* which job it is */
};

/* Takes the next URL that may go out. 0: *ret is set and counts as out until hostq_done() or
 * hostq_put_back(). 1: none may go now; *ret_wait_us says when to ask again, INT64_MAX: not before
 * something is pushed or done. Negative: a queue could not be read back; it is tried again after a
 * minute, the others go on. */
int hostq_take(struct hostq *q, int64_t now_us, struct hostq_job *ret, int64_t *ret_wait_us,
	       struct err *err) MUST_USE;
/* Its request went out at this time, and not when it was taken: the delay counts from there. To be
 * said before it is done. False: as below. */
bool hostq_sent(struct hostq *q, const struct hostq_job *job, int64_t sent_us);
/* It is done, with this outcome: the queue waits longer after trouble, as polite_pause_us() says.
 * A job that is not out (done twice, or one of before a restart) changes nothing: false. */
bool hostq_done(struct hostq *q, const struct hostq_job *job, enum outcome outcome, int64_t now_us);
/* It is done without its server having been asked, so the delay does not begin. False: as above. */
bool hostq_unasked(struct hostq *q, const struct hostq_job *job);
/* It did not go out: it will be the first of its class again, and its queue is not ready before
 * until_us. Without having been asked for the server has not been disturbed, so the delay does not
 * begin again. */
bool hostq_put_back(struct hostq *q, const struct hostq_job *job, int64_t until_us);
/* It went out, and nobody knows what became of it: it will be the first of its class again, and the
 * delay holds, since its server may have been asked. */
bool hostq_lost(struct hostq *q, const struct hostq_job *job);
/* The job with this number, as a remote names it; false: none of these is out. */
bool hostq_job_of(const struct hostq *q, uint32_t slot, uint32_t turn, struct hostq_job *ret);

/* All URLs of one key, also those that are out, belong to another one from now on: the address has
 * become known. They come after those that are there. Negative: a part could not be read back and
 * is still where it was. */
int hostq_rekey(struct hostq *q, qkey from, qkey to, struct err *err) MUST_USE;

struct hostq_counts {
	uint64_t urls; /* waiting, without those that are out */
	uint64_t out;
	uint64_t leftovers;      /* of the waiting: those beyond `queues` and `length` */
	uint64_t spilled;        /* of the waiting: those in the file */
	uint64_t queues, active; /* keys; those that are worked on */
	uint64_t memory;         /* bytes in use, all in all */
	uint64_t disk;           /* bytes of the file */
};
void hostq_count(const struct hostq *q, struct hostq_counts *ret);
bool hostq_is_empty(const struct hostq *q);              /* nothing waits and nothing is out */
uint64_t hostq_waiting(const struct hostq *q, qkey key); /* URLs of one key */
/* Whether there is room for another host that nothing left over can fill: time to ask for more. */
bool hostq_wants_more(const struct hostq *q);
