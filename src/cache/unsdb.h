/* unsdb: sets that a notification server keeps while the queue manager is away, one file of records
 * (doc/formats/unsdb.md), first in, first out. The file is truncated when the last set has left it.
 * Thread-safe; functions that are not marked may block on the disk. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct format;
extern const struct format unsdb_format;

/* Whether this is the name of one in DATA/cache: unsdb, unsdb@2. Damaged ones that were set aside
 * have a dot in their name. */
bool unsdb_is_name(const char *name);

struct unsdb;

struct unsdb_set {
	uint64_t number, provider;
	bool is_full;
	uint64_t urls;
	int64_t at_us; /* wall clock, when its end tag came */
	/* In the file; they grow, until it is empty. Set by unsdb_put(). */
	uint64_t place, bytes;
};

/* Creates the file if it does not exist; truncates an incomplete set left by a crash. ERR_BUSY:
 * another process has it open. */
int unsdb_open(struct unsdb **ret, const char *path, struct err *err);
void unsdb_close(struct unsdb **u);

/* Appends the next piece of the set to `out`. 1: no more. */
typedef int unsdb_pieces_fn(void *ctx, struct buf *out, struct err *err);
/* Stores a set: durable when it returns 0, otherwise nothing of it remains. */
int unsdb_put(struct unsdb *u, const struct unsdb_set *set, unsdb_pieces_fn *fn, void *ctx,
	      struct err *err);

/* [does not block] Finds the first waiting set after that place; 0: the first of all. 1: none. */
int unsdb_next(struct unsdb *u, uint64_t after, struct unsdb_set *ret);
/* [does not block] Finds the waiting set of a provider by its number; 0: its latest. 1: none. */
int unsdb_find(struct unsdb *u, uint64_t provider, uint64_t number, struct unsdb_set *ret);
/* [does not block] Counts the URLs of all waiting sets of a provider. */
uint64_t unsdb_urls(struct unsdb *u, uint64_t provider);
/* Appends the next piece of a set; start with *place = the set's place. 1: no more. */
int unsdb_piece(struct unsdb *u, uint64_t *place, struct buf *out, struct err *err);
/* Removes the oldest set. Not durable at once: after a crash it may come out again. */
int unsdb_taken(struct unsdb *u, struct err *err);

/* [do not block] Size of the file in bytes; number of waiting sets. */
uint64_t unsdb_size(struct unsdb *u);
uint64_t unsdb_waiting(struct unsdb *u);

/* Reads waiting sets from any process, also while the file is written. */
struct unsdb_reader;
/* The set of a provider under that number, 0: its latest; or `all` sets of a provider, 0: of all
 * providers, in their order, each after unsdb_reader_next(). 1: none, or no such file. */
int unsdb_reader_open(struct unsdb_reader **ret, const char *path, uint64_t provider,
		      uint64_t number, bool all, struct err *err);
/* The next set. 1: there are no more, or they went to the queue manager meanwhile. */
int unsdb_reader_next(struct unsdb_reader *r, struct err *err);
void unsdb_reader_free(struct unsdb_reader **r);
const struct unsdb_set *unsdb_reader_set(const struct unsdb_reader *r);
/* Its next piece, appended. 1: there are no more, or it went to the queue manager meanwhile. */
int unsdb_reader_piece(struct unsdb_reader *r, struct buf *out, struct err *err);
