/* The master's tests of sites. A requested site goes through four steps; the fifth, listing it, is
 * left to the caller:
 *
 *   1. look up its address, and the name at the end of its chain of aliases;
 *   2. look whether its address is listed already;
 *   3. fetch its listing (archie/getter.h);
 *   4. read the listing in the cage: the builder must be able to use it.
 *
 * A listed site goes through the last two. Listings are thrown away. One loop and its thread. */
#pragma once
#include "archie/getter.h"
#include "role/config.h"

enum master_end {
	MASTER_GOOD,
	MASTER_KNOWN,
	MASTER_FAILED,
};

struct master_verdict {
	enum master_end end;
	struct str url;
	struct archie_site site;   /* GOOD: as it is to be listed */
	struct str known;          /* KNOWN: the URL under which its address is listed */
	enum getter_method method; /* GOOD: how its listing was fetched */
	uint64_t entries;          /* GOOD: of that */
	const char *cause, *why;   /* FAILED: a word (archie/getter.h) and a sentence */
	bool ours;                 /* FAILED: because of our disk, not of the site */
};

struct master_tests_options {
	struct loop *loop;
	const char *data;            /* the data directory */
	const char *folder;          /* for listings; made if missing. One user at a time */
	const char *list;            /* the folder with the list of sites: archie/sites.h */
	const struct config *config; /* [archie], [robot] and [parse] */
	uint64_t disk_free;
	/* Called from the loop, never from inside a function of this header. */
	void (*told)(void *ctx, const struct master_verdict *v);
	void *ctx;
};

struct master_tests;
/* All in the options must outlive it. ERR_BUSY: the folder is in use. */
int master_tests_new(struct master_tests **ret, const struct master_tests_options *options,
		     struct err *err);
void master_tests_free(struct master_tests **t); /* drops tests under way without a call */

/* Starts a test; told() is called once. */
void master_tests_ask(struct master_tests *t, struct str url);
void master_tests_again(struct master_tests *t, const struct archie_site *site);
bool master_tests_has(const struct master_tests *t, struct str url);
size_t master_tests_n(const struct master_tests *t); /* under way */
