/* Listings of archives: what `ls -lR` and its like print, as entries. A reader is pushed bytes and
 * calls back with entries; it holds one line and one directory, whatever comes. Foreign bytes, so
 * it runs in garner-parse --listing (listing_run.h); in the caller's process only for tests.
 *
 * Which family a line is of (Unix in its many forms, DOS, NetWare, NetPresenz, EPLF, VMS, numeric
 * modes) is seen from the line itself. Bad lines are counted and reported by number; noise is
 * neither entry nor bad. doc/listings.md has the rules. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

enum {
	LISTING_LINE_MOST = 64 << 10,
	LISTING_DEPTH_MOST = 255,
	LISTING_BAD_KEPT = 100, /* numbers of bad lines that are told */
};

enum listing_kind { LISTING_FILE, LISTING_DIR, LISTING_LINK, LISTING_OTHER };
extern const char *const listing_kind_name[]; /* "file" "dir" "link" "other" */

struct listing_entry {
	struct str name, dir; /* dir below the root, "" the root, no slash at either end */
	enum listing_kind kind;
	char mode[10];           /* mode[0] is 0: not told */
	int64_t links;           /* -1: not told */
	struct str owner, group; /* p NULL: not told */
	int64_t size, time_s;    /* -1: not told; time_s in UTC, at least 0 */
};

struct listing_job {
	int64_t listed_s;  /* when the listing was made; years are reckoned from it */
	int32_t tz_s;      /* the site's zone, seconds east of UTC */
	struct str prefix; /* the directory at which the listing starts, stripped from headings */
	uint32_t errors_max_percent; /* more bad lines than this: it is refused; 100: never */
};

struct listing_stats {
	uint64_t lines, entries, bad;
	uint64_t headings;                   /* of directories below the root */
	uint64_t bad_line[LISTING_BAD_KEPT]; /* the first of them, from 1 */
	const char *bad_why[LISTING_BAD_KEPT];
};

struct listing;
/* What it says is good during the call. Negative ends the reading with that. */
typedef int listing_entry_fn(void *ctx, const struct listing_entry *e, struct err *err);
struct listing *listing_new(const struct listing_job *job, listing_entry_fn *fn, void *ctx);
void listing_free(struct listing **l);
int listing_put(struct listing *l, struct str bytes, struct err *err);
/* The end of the bytes. ERR_USAGE: it is refused (too many bad lines, or no entries); ret is filled
 * in any case. */
int listing_end(struct listing *l, struct listing_stats *ret, struct err *err);
