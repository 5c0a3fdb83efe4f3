/* Objects of the crawl's source: from a change to SOIF, by way of index and bucket. For
 * source_crawl.c. */
#pragma once
#include "state/source_crawl.h"
#include "url/footprint.h"

struct objects;
struct states;

/* What is known of a change. */
struct object_wanted {
	struct footprint fp;
	uint64_t hint; /* the bucket that it had, or ITEM_NOWHERE; may be wrong by now */
	int64_t time_us;
	struct str url;        /* "": only the bucket knows */
	unsigned char md5[16]; /* or zeroes */
};

/* Both outlive it. */
struct objects *objects_new(const struct source_crawl *store, struct states *s);
void objects_free(struct objects **o);
/* Gives the bucket file back until something is wanted of it. */
void objects_rest(struct objects *o);
/* 0: *ret, in the arena. 1: the URL is not known any more, and what is wanted has no name for it.
 * ERR_SYSTEM: cannot be had now. ERR_DAMAGED: its bucket is damaged. */
int objects_make(struct objects *o, enum source_op op, const struct object_wanted *what,
		 struct arena *arena, struct soif *ret, struct err *err);
