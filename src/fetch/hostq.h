/* Host queues: which URL may be fetched next, and when. There is one queue per queue key (server
 * address). It is ready when its delay has passed and fewer than `concurrent` of its URLs are out.
 * Of the ready queues the one that has waited longest goes first. With `urgent`, the queue whose
 * first URL has the most urgent class goes first; among equals, one that was asked less than
 * `keep_us` ago; among those, the one that has waited longest. Inside a queue the most urgent
 * class goes first, and in a class the URL that came first. Owned by one loop, not thread-safe;
 * now_us is clock_mono_us() or a clock of a test.
 *
 * URLs are kept in memory up to a budget, the others in an unnamed file from which they are read
 * when their turn comes. A crash loses the queues.
 *
 * Queues only order the work of one process. Before it connects, the process asks polite_take().
 * If the answer is "not now", it puts the URL back with the time to wait. */
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
	/* As in document 003: the queues that are active at once, and the URLs in each. Further
	 * URLs are leftovers: they are kept in order and move up when there is room. 0: no limit.
	 */
	uint32_t queues;
	uint64_t length;
	bool urgent;     /* classes also order the queues */
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

/* Holds a queue: none of its URLs goes out. Lasts as long as a rule. */
void hostq_hold(struct hostq *q, qkey key, bool held);

/* Takes in a URL, or whatever else the payload is; it is copied. `user` is the caller's; numbers
 * that are near those pushed before take less room. Negative: it was not taken in (the budget is
 * used up and the disk is full, or the payload is too long); all others are as before. */
int hostq_push(struct hostq *q, qkey key, unsigned priority, struct str payload, uint64_t user,
	       struct err *err) MUST_USE;

struct hostq_job {
	qkey key;
	struct str payload; /* valid until the job is done or put back */
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
/* Its request went out at sent_us, not when it was taken: the delay counts from then. Call it
 * before hostq_done(). false: as there. */
bool hostq_sent(struct hostq *q, const struct hostq_job *job, int64_t sent_us);
/* The job is done. After a failure the queue waits longer (polite_pause_us()). false: the job is
 * not out (done twice, or from before a restart); nothing has changed. */
bool hostq_done(struct hostq *q, const struct hostq_job *job, enum outcome outcome, int64_t now_us);
/* The job is done and its server was not asked, so no delay begins. false: as above. */
bool hostq_unasked(struct hostq *q, const struct hostq_job *job);
/* The job did not go out: it becomes the first of its class again, and its queue is not ready
 * before until_us. The server was not asked, so no delay begins. */
bool hostq_put_back(struct hostq *q, const struct hostq_job *job, int64_t until_us);
/* The job went out and its result is unknown: it becomes the first of its class again, after the
 * delay, since its server may have been asked. */
bool hostq_lost(struct hostq *q, const struct hostq_job *job);
/* Finds the job that a remote names by these numbers. false: no such job is out. */
bool hostq_job_of(const struct hostq *q, uint32_t slot, uint32_t turn, struct hostq_job *ret);

/* Moves all URLs of one key to another, those that are out included: the address has become known.
 * They follow the URLs that are there. Negative: some could not be read back and stay where they
 * were. */
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
/* Whether another queue could be active and no leftovers can fill it: time to ask for more URLs. */
bool hostq_wants_more(const struct hostq *q);
