/* Receipts: the state of each URL of a set, read from the database, or from unsdb until the queue
 * manager has the set; for uns and rs. The set's notices say which URLs it named, the rows what
 * became of them. */
#pragma once
#include "cache/db.h"

struct receipts;

/* Opens the set that `uns` (NULL: any, the latest of that number) took from the provider under that
 * number; 0: the latest. 1: unknown, not yet or no longer. The caller owns db; not thread-safe. */
int receipts_open(struct receipts **ret, struct db *db, uint64_t provider, const char *uns,
		  uint64_t number, struct err *err);
/* Opens a set that a notification server keeps in its unsdb: all its URLs are queued. */
int receipts_open_kept(struct receipts **ret, const char *unsdb, uint64_t provider, uint64_t number,
		       struct err *err);
/* Opens the latest of all in the folder DATA/cache. db NULL: there is none yet. */
int receipts_open_any(struct receipts **ret, struct db *db, const char *folder, uint64_t provider,
		      uint64_t number, struct err *err);
void receipts_free(struct receipts **r);
const struct db_set *receipts_set(const struct receipts *r);
const char *receipts_state(const struct receipts *r); /* "kept", "queued", "absorbed" */
/* Skips n rows. */
int receipts_skip(struct receipts *r, uint64_t n, struct err *err);
/* Returns the next accepted URL in order of arrival; slices are in the arena. 1: no more. */
int receipts_next(struct receipts *r, struct arena *arena, struct db_receipt *ret, struct err *err);

/* One URL, whichever set named it. */
struct receipts_url {
	uint64_t provider; /* 0: of all */
	struct str c;      /* as url_parse() gives it */
	struct str mime;   /* "": of any type */
};
typedef void receipts_url_fn(void *ctx, uint64_t provider, const struct db_receipt *r);
/* Tells one receipt for each provider and type: DB_QUEUED, with row 0, where a set names the URL,
 * also to remove it, that is not absorbed yet, in the folder DATA/cache or in db; else as
 * find_url() of db does. Of such sets all notices are read, piece by piece; after 1,000 pairs of
 * provider and type no further ones are noted. What a receipt points to is good within the call. db
 * NULL: there is none yet. */
int receipts_of_url(struct db *db, const char *folder, const struct receipts_url *url,
		    receipts_url_fn *each, void *ctx, struct err *err);
