/* The cache of robots.txt files. A file is fetched once, however many URLs wait for it, and kept
 * for at most a day. All processes share run/robots.db (doc/formats/database.md), which survives
 * restarts.
 *
 * Rules (RFC 9309, 2.3.1): a file that was fetched is obeyed. If there is none (4xx, too many
 * redirects), everything is allowed. If the site could not answer (5xx, 429, no connection),
 * everything is forbidden, unless an older file is known, which stays valid. After 30 days without
 * an answer the site counts as having no file.
 *
 * Belongs to one loop and its thread. Times are wall clock times, so that they are valid after a
 * restart. */
#pragma once
#include "base/clock.h"
#include "base/list.h"
#include "fetch/outcome.h"

#define ROBOTS_KEEP_US US_PER_DAY          /* how long a file is kept */
#define ROBOTS_RETRY_US (30 * US_PER_MIN)  /* pause after a site did not answer */
#define ROBOTS_FORGET_US (30 * US_PER_DAY) /* then an unreachable site has no file */

struct robots_cache;

struct robots_cache_options {
	const char *path; /* NULL: in memory only */
	struct str agent; /* whose rules are compiled; copied */
	uint64_t bytes;   /* memory for all; 0: 64 MiB */
	int64_t now_us;   /* wall clock */
};

int robots_cache_new(struct robots_cache **ret, const struct robots_cache_options *options,
		     struct err *err);
/* Writes pending changes and frees the cache. No robots_wait may be outstanding. */
int robots_cache_free(struct robots_cache **c, struct err *err);

struct robots_answer {
	bool is_reachable;   /* false: nothing may be fetched now */
	struct str compiled; /* robots.h; valid until the next call */
	int64_t until_us;
	int64_t not_now_us; /* politeness forbade the request; try again after this time. 0: the
			       site was asked */
};

/* A question under way, inside its owner: set done and ctx, zero the rest. */
struct robots_wait {
	void (*done)(void *ctx, const struct robots_answer *answer);
	void *ctx;
	struct link link; /* from here on the cache's */
};

/* site: as url_site_print() writes it. 0: *ret is the answer. 1: it is not known; wait->done will
 * be called. *ret_first then says whether the file has to be fetched, for robots_cache_told(). */
int robots_cache_ask(struct robots_cache *c, struct str site, int64_t now_us,
		     struct robots_wait *wait, struct robots_answer *ret, bool *ret_first);
void robots_cache_cancel(struct robots_wait *wait); /* safe if it is not pending */
/* The same without waiting. 1: not known, or no longer valid. */
int robots_cache_known(struct robots_cache *c, struct str site, int64_t now_us,
		       struct robots_answer *ret);

/* Reports the result of the fetch and calls everyone who waits. Also accepted for a site that
 * nobody asked for. now_us: when the file was fetched. */
struct robots_file {
	enum outcome outcome;
	bool too_many_redirects;
	struct str body;        /* when ok */
	int64_t retry_after_us; /* 0: not said */
	int64_t not_now_us;     /* if politeness cancelled it: the time to wait; else 0 */
};
void robots_cache_told(struct robots_cache *c, struct str site, const struct robots_file *file,
		       int64_t now_us);

/* Takes over what another process knows of a site, valid until until_us, at most for a day, and
 * calls everyone who waits. Kept in memory only, since that process will repeat it. ERR_DAMAGED:
 * the rules are not in the form of robots_compile(), or the name is not a site; nothing has
 * changed. */
int robots_cache_put(struct robots_cache *c, struct str site, bool is_reachable,
		     struct str compiled, int64_t until_us, int64_t now_us,
		     struct err *err) MUST_USE;

/* Whether changes are pending; writes them to the database. */
bool robots_cache_dirty(const struct robots_cache *c);
int robots_cache_sync(struct robots_cache *c, struct err *err);
