/* Passes complete sets from a notification server to the queue manager: over the link, or, while
 * that is down or has not caught up, through unsdb. A set is settled when one of the two has it on
 * disk. Sets leave in order of arrival. A damaged unsdb is set aside when it is opened, and a new
 * one started. */
#pragma once
#include "cache/uns/uns_spool.h"
#include "cache/unsdb.h"

struct uns;
struct uns_out;

/* Works for the role: its pool `disk` must end before uns_out_free(). */
int uns_out_new(struct uns_out **ret, struct uns *u, struct err *err);
/* Starts no more work. Then end the pool, run the loop once for its results, and call
 * uns_out_end(), which refuses the remaining sets and returns reserved numbers that were not used.
 * Both take NULL. */
void uns_out_stop(struct uns_out *o);
void uns_out_end(struct uns_out *o);
void uns_out_free(struct uns_out **o);

/* A number for a set, from any thread; blocks on the disk now and then. Negative: there is none,
 * which has been logged. */
int uns_out_number(struct uns_out *o, uint64_t *ret);
/* code 0: the set is on disk; otherwise it is refused. */
typedef void uns_settled_fn(void *ctx, unsigned code, const char *text);
/* Takes ownership of a complete spool. Of `set` number, provider, is_full, urls and at_us count. */
void uns_out_add(struct uns_out *o, const struct unsdb_set *set, struct uns_spool *spool,
		 uns_settled_fn *fn, void *ctx);
/* Whether unsdb is full. */
bool uns_out_is_full(const struct uns_out *o);
/* For finding what the queue manager does not have yet. */
struct unsdb *uns_out_unsdb(struct uns_out *o);
const char *uns_out_name(const struct uns_out *o);

struct uns_out_counts {
	uint64_t passed, stored, drained, refused, failed; /* sets, ever */
	uint64_t unsdb_bytes, unsdb_sets;                  /* now */
	uint64_t waiting;                                  /* sets that are not settled */
	uint64_t is_here;                                  /* 1: the queue manager takes sets */
};
void uns_out_counts(const struct uns_out *o, struct uns_out_counts *ret);
