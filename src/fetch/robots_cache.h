/* robots.txt of sites, as far as it is known: asked for once however many URLs wait for it, kept
 * for at most a day, across restarts and for all processes in run/robots.db
 * (doc/formats/database.md).
 *
 * What holds (RFC 9309, 2.3.1): a file that came; nothing, where there is none (4xx, too many
 * redirects); everything is forbidden for now where the site could not say (5xx, 429, no
 * connection), unless an older file is known, which then holds on. A site that could not say for 30
 * days has none.
 *
 * One loop and its thread; wall clock times, so that they mean something after a restart. */
#pragma once
#include "base/clock.h"
#include "base/list.h"
#include "fetch/outcome.h"

#define ROBOTS_KEEP_US US_PER_DAY          /* a file is not asked for again before */
#define ROBOTS_RETRY_US (30 * US_PER_MIN)  /* how soon a site that gave no answer is asked again */
#define ROBOTS_FORGET_US (30 * US_PER_DAY) /* when unreachable becomes: there is none */

struct robots_cache;

struct robots_cache_options {
	const char *path; /* NULL: in memory only */
	struct str agent; /* whose rules are compiled; copied */
	uint64_t bytes;   /* memory for all; 0: 64 MiB */
	int64_t now_us;   /* wall clock */
};

int robots_cache_new(struct robots_cache **ret, const struct robots_cache_options *options,
		     struct err *err);
/* Writes what is not written. Nobody may wait any more. */
int robots_cache_free(struct robots_cache **c, struct err *err);

struct robots_answer {
	bool is_reachable;   /* false: nothing may be fetched now */
	struct str compiled; /* robots.h; good until the next call */
	int64_t until_us;
	int64_t not_now_us; /* politeness: nobody could be asked, and it is worth asking after this
			       time; 0: it was asked */
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
void robots_cache_cancel(struct robots_wait *wait); /* also of one that is not under way */
/* The same for those who do not wait. 0: *ret is the answer. 1: it is not known, or not any more;
 * that is all. */
int robots_cache_known(struct robots_cache *c, struct str site, int64_t now_us,
		       struct robots_answer *ret);

/* What became of the fetch; those who wait are told. Also for a site that nobody has asked for; a
 * file that was fetched some time ago is told with the time of then. */
struct robots_file {
	enum outcome outcome;
	bool too_many_redirects;
	struct str body;        /* when ok */
	int64_t retry_after_us; /* 0: not said */
	int64_t not_now_us; /* when cancelled: politeness did not let it go; 0: something else */
};
void robots_cache_told(struct robots_cache *c, struct str site, const struct robots_file *file,
		       int64_t now_us);

/* What another process knows of a site holds here until then, at most for a day; those who wait are
 * told. It stays in memory: who said it will say it again. ERR_DAMAGED: it is not what
 * robots_compile() makes, or not of a site; nothing has changed. */
int robots_cache_put(struct robots_cache *c, struct str site, bool is_reachable,
		     struct str compiled, int64_t until_us, int64_t now_us,
		     struct err *err) MUST_USE;

/* Whether something is to be written; writes it, where other processes see it and no kill loses it.
 */
bool robots_cache_dirty(const struct robots_cache *c);
int robots_cache_sync(struct robots_cache *c, struct err *err);
