/* Shakedown, which frees the space of deleted buckets; audit and fix, which find and repair damage.
 */
#pragma once
#include "bucket/bucket.h"

/* Decides what becomes of a bucket that is not deleted. *fate is preset to its type and data, and
 * may be changed (the data must stay valid until the next call). 0: keep it, as number new_oid; 1:
 * drop it; negative: abort the shakedown, which changes nothing. */
struct bucket_fate {
	uint32_t type;
	struct str data;
};
typedef int bucket_fate_fn(void *ctx, const struct bucket *old, uint32_t new_oid,
			   struct bucket_fate *fate, struct err *err);

struct bucket_shaken {
	uint64_t kept, dropped, replaced, deleted; /* buckets */
	uint64_t before, after;                    /* bytes */
};

/* Writes a new file without the deleted buckets and a report of old and new numbers, then replaces
 * the old file in one step. If killed at any time, there is either the old file without a report,
 * or the new one with its report. Needs BUCKET_APPEND; others may go on reading the old file (see
 * bucket_current()). Afterwards the handle is on the new file. fate may be NULL. After a failure
 * bucket_moves_open() tells which file is in place. ERR_BUSY: the report of the last shakedown is
 * still there. ERR_DAMAGED: fix the file first; nothing has changed. */
int bucket_shakedown(struct buckets *b, bucket_fate_fn *fate, void *ctx, struct bucket_shaken *ret,
		     struct err *err);

/* The report, in the order of old numbers: each bucket that was there and not deleted. */
struct bucket_move {
	uint32_t from, to; /* to: BUCKET_DELETED where it was dropped */
};
struct bucket_moves;
/* path: of the bucket file. 1: there is no report. */
int bucket_moves_open(struct bucket_moves **ret, const char *path, struct err *err);
int bucket_moves_next(struct bucket_moves *m, struct bucket_move *ret, struct err *err);
void bucket_moves_close(struct bucket_moves **m);
/* Removes the report, durably. Call it when every index has the new numbers. 1: there was none. */
int bucket_moves_done(const char *path, struct err *err);

/* One thing that is wrong. */
struct bucket_problem {
	uint64_t at, next; /* bytes in the file */
	uint32_t oid;      /* of the place */
	bool whole;        /* a bucket lies there, but what is in it is damaged */
	bool torn;         /* the end of the file */
	bool unchecked;    /* no damage that is known: it is whole, but has no checksum */
	bool lacking; /* it is sound, but its dictionary is lost; only the first of each is told */
	const char *reason;
};
typedef void bucket_problem_fn(void *ctx, const struct bucket_problem *problem);

struct bucket_audit {
	uint64_t buckets, deleted, unchecked, problems;    /* buckets: with the deleted ones */
	uint64_t lacking;                                  /* buckets; not among the problems */
	uint64_t data_bytes, deleted_bytes, damaged_bytes; /* of the file, with heads and padding */
	uint64_t end; /* bytes of the file that were looked at */
};

/* Looking. Others may append meanwhile: BUCKET_SCAN is enough. to: a checkpoint's length, up to
 * which everything has to be whole; 0: as long as the file is now, and a torn end is not damage
 * while somebody appends (bucket_grows()). */

/* Only the ends: what bucket_open() asks. ERR_DAMAGED: err says what is wrong. */
int bucket_quick(struct buckets *b, uint64_t to, struct err *err);
/* Reads everything, with checksums. problem may be NULL. 0 also when there are problems: see
 * ret->problems and ret->lacking. */
int bucket_audit(struct buckets *b, uint64_t to, bucket_problem_fn *problem, void *ctx,
		 struct bucket_audit *ret, struct err *err);
/* The same, and mends: what is not a bucket becomes a deleted one, a damaged one is deleted, a torn
 * end is cut off; then everything is synced. Those that lack a dictionary stay: it may be put back.
 * Needs BUCKET_WRITE (and `unchecked`). */
int bucket_fix(struct buckets *b, bucket_problem_fn *problem, void *ctx, struct bucket_audit *ret,
	       struct err *err);

extern const struct format bucket_moves_format;
