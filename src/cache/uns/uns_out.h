/* Passes complete sets from a notification server to the queue manager: over the link, or, while
 * that is down or has not caught up, through unsdb. A set is settled when one of the two has it on
 * disk. Sets leave in order of arrival. A damaged unsdb is set aside when it is opened, and a new
 * one started. */
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
	/* A line for the log. */
	void (*said)(void *ctx, bool is_trouble, const char *what, const char *why);
	void (*failed)(void *ctx, const struct err *err); /* fatal */
	/* An accepted set is lost: records that its provider must be told; provider 0: all
	 * providers, since the owner is unknown. Durable when it returns 0. Called from any thread.
	 */
	int (*lost)(void *ctx, uint64_t provider, struct err *err);
	/* Called before lost(), in the loop. */
	void (*refused)(void *ctx, uint64_t number);
	void *ctx;
};

int uns_out_new(struct uns_out **ret, const struct uns_out_options *options, struct err *err);
/* Starts no more work. Then end the pool, run the loop once for its results, and call
 * uns_out_end(), which refuses the remaining sets and returns reserved numbers that were not used.
 * Both take NULL. */
void uns_out_stop(struct uns_out *o);
void uns_out_end(struct uns_out *o);
void uns_out_free(struct uns_out **o);

/* code 0: the set is on disk under that number; otherwise it is refused. */
typedef void uns_settled_fn(void *ctx, uint64_t number, unsigned code, const char *text);
/* Takes ownership of a complete spool. Of `set` provider, is_full, urls and at_us count. Never
 * calls fn before it returns. */
void uns_out_add(struct uns_out *o, const struct unsdb_set *set, struct uns_spool *spool,
		 uns_settled_fn *fn, void *ctx);
/* Whether unsdb is full. */
bool uns_out_is_full(const struct uns_out *o);
/* Finds a set that the queue manager does not have yet, as unsdb_find(). */
int uns_out_find(struct uns_out *o, uint64_t provider, uint64_t number, struct unsdb_set *ret);
uint64_t uns_out_urls(const struct uns_out *o, uint64_t provider); /* as unsdb_urls() */
const char *uns_out_unsdb(const struct uns_out *o);                /* the file */
const char *uns_out_name(const struct uns_out *o);

struct uns_out_counts {
	uint64_t passed, stored, drained, refused, failed; /* sets, ever */
	uint64_t unsdb_bytes, unsdb_sets;                  /* now */
	uint64_t waiting;                                  /* sets that are not settled */
	uint64_t is_here;                                  /* 1: the queue manager takes sets */
};
void uns_out_counts(const struct uns_out *o, struct uns_out_counts *ret);
