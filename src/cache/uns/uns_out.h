/* Whole sets on their way from a notification server to the queue manager: over the link, or, while
 * that is away or has not caught up, into unsdb and out again. A set is settled when one of the two
 * has it on disk. Sets leave in the order in which they came. An unsdb that is found damaged when
 * it is opened is moved away, and begun anew. */
#pragma once
#include "base/pool.h"
#include "cache/uns/uns_link.h"
#include "cache/uns/uns_spool.h"
#include "cache/unsdb.h"

struct uns_out;

struct uns_out_options {
	struct loop *loop;
	struct pool *pool; /* that ends before uns_out_free() */
	const char *data, *instance;
	const char *unsdb; /* the file */
	uint64_t unsdb_max;
	/* pool, address, dns, tls. */
	struct uns_link_options link;
	/* Something that people should hear. */
	void (*said)(void *ctx, bool is_trouble, const char *what, const char *why);
	void (*failed)(void *ctx, const struct err *err); /* it cannot go on */
	/* A set that was accepted is lost: its provider is to hear of it. 0: all providers, as
	 * nobody knows whose it was. Durable when it returns 0; from any thread. */
	int (*lost)(void *ctx, uint64_t provider, struct err *err);
	/* The same set, before: in the loop. */
	void (*refused)(void *ctx, uint64_t number);
	void *ctx;
};

int uns_out_new(struct uns_out **ret, const struct uns_out_options *options, struct err *err);
/* Nothing is begun any more. Then the pool is to be ended, and what it has posted to be heard; then
 * uns_out_free() refuses the sets that are left. */
void uns_out_stop(struct uns_out *o);
void uns_out_free(struct uns_out **o);

/* code 0: the set is on disk, under that number. Else it is refused. */
typedef void uns_settled_fn(void *ctx, uint64_t number, unsigned code, const char *text);
/* Takes a spool that is complete. set: provider, is_full, urls, at_us. Not from inside this call.
 */
void uns_out_add(struct uns_out *o, const struct unsdb_set *set, struct uns_spool *spool,
		 uns_settled_fn *fn, void *ctx);
/* Whether unsdb takes no more. */
bool uns_out_is_full(const struct uns_out *o);
/* A set that no queue manager has yet, as unsdb_find(). */
int uns_out_find(struct uns_out *o, uint64_t provider, uint64_t number, struct unsdb_set *ret);
uint64_t uns_out_urls(const struct uns_out *o, uint64_t provider); /* as unsdb_urls() */
const char *uns_out_unsdb(const struct uns_out *o);                /* the file */
const char *uns_out_name(const struct uns_out *o);
/* Takes back the numbers that were not used, where there is still time for it: waits for the disk,
 * after the pool has ended. */
void uns_out_close_numbers(struct uns_out *o);

struct uns_out_counts {
	uint64_t passed, stored, drained, refused, failed; /* sets, ever */
	uint64_t unsdb_bytes, unsdb_sets;                  /* now */
	uint64_t waiting;                                  /* sets that are not settled */
	uint64_t is_here;                                  /* 1: the queue manager takes sets */
};
void uns_out_counts(const struct uns_out *o, struct uns_out_counts *ret);
