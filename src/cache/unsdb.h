/* unsdb: sets that a notification server keeps while the queue manager is away, one file of records
 * (doc/formats/unsdb.md). They come out in the order in which they went in; when the last one has,
 * the file is empty again. All functions may be called from any thread; those that are not marked
 * wait for the disk. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct format;
extern const struct format unsdb_format;

/* Whether a file of DATA/cache is one: unsdb, unsdb@2. What was moved away has a dot in its name.
 */
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

/* The file is made if it is not there; what a crash left of a set that was not whole goes.
 * ERR_BUSY: another process has it. */
int unsdb_open(struct unsdb **ret, const char *path, struct err *err);
void unsdb_close(struct unsdb **u);

/* The pieces of a set, one after the other, appended to `out`; 1: there are no more. */
typedef int unsdb_pieces_fn(void *ctx, struct buf *out, struct err *err);
/* Durable when it returns 0. Else nothing of it is left. */
int unsdb_put(struct unsdb *u, const struct unsdb_set *set, unsdb_pieces_fn *fn, void *ctx,
	      struct err *err);

/* [does not wait] The first set that waits after that place, 0: of all. 1: none. */
int unsdb_next(struct unsdb *u, uint64_t after, struct unsdb_set *ret);
/* [does not wait] The set of a provider that waits under that number; 0: its latest. 1: none. */
int unsdb_find(struct unsdb *u, uint64_t provider, uint64_t number, struct unsdb_set *ret);
/* [does not wait] The URLs of all sets of a provider that wait. */
uint64_t unsdb_urls(struct unsdb *u, uint64_t provider);
/* The next piece of a set; *place is the set's place at first. 1: there are no more. */
int unsdb_piece(struct unsdb *u, uint64_t *place, struct buf *out, struct err *err);
/* The set that has waited longest is elsewhere now. Durable later: it may come out once more. */
int unsdb_taken(struct unsdb *u, struct err *err);

/* [do not wait] Bytes of the file, and sets that wait. */
uint64_t unsdb_size(struct unsdb *u);
uint64_t unsdb_waiting(struct unsdb *u);

/* Sets that wait, read in any process, also while the file is written. */
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
