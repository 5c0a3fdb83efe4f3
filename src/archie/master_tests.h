/* The tests of sites that the master makes. Of a site that somebody asks for, the first four of its
 * five steps; the fifth, to list it, is the caller's:
 *
 *   1. its address and the name at the end of the chain of aliases are looked up;
 *   2. a site whose address is listed already is known;
 *   3. its listing is got as a stranger (archie/getter.h), and
 *   4. read in the cage: it must be one that the builder could use.
 *
 * Of a listed site the last two. Listings are thrown away. One loop and its thread. */
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
	enum getter_method method; /* GOOD: how its listing was got */
	uint64_t entries;          /* GOOD: of that */
	const char *cause, *why;   /* FAILED: a word, as of archie/getter.h, and a sentence */
	bool ours;                 /* FAILED: it is our disk, and says nothing of the site */
};

struct master_tests_options {
	struct loop *loop;
	const char *data;   /* the data directory */
	const char *folder; /* for listings; made if it is not there. One who tests at a time */
	const char *list;   /* the folder with the list of sites: archie/sites.h */
	const struct config *config; /* of which [archie], [robot] and [parse] count */
	uint64_t disk_free;
	/* From the loop, never from inside a function of this header. */
	void (*told)(void *ctx, const struct master_verdict *v);
	void *ctx;
};

struct master_tests;
/* All in the options must outlive it. ERR_BUSY: another one tests in this folder. */
int master_tests_new(struct master_tests **ret, const struct master_tests_options *options,
		     struct err *err);
void master_tests_free(struct master_tests **t); /* nothing is told of what is under way */

/* Begins; told() is called once. */
void master_tests_ask(struct master_tests *t, struct str url);
void master_tests_again(struct master_tests *t, const struct archie_site *site);
bool master_tests_has(const struct master_tests *t, struct str url);
size_t master_tests_n(const struct master_tests *t); /* under way */
