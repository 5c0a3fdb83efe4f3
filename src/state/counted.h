/* Counted lists: record files (disk/record.h) that are written once, from beginning to end. Each
 * record begins with a tag, one byte for its kind. The last one, COUNTED_END, holds the number of
 * entries, so that a truncated list is detected even if every record before the cut is sound. */
#pragma once
#include "base/cursor.h"
#include "disk/record.h"

enum { COUNTED_END = 'e' };

struct counted_writer {
	struct record_writer *w;
	struct record_group group;
	struct buf packed; /* the next record, with its tag; at most the kind's `most` bytes */
	uint64_t n;        /* entries so far: the caller counts them */
	uint64_t last;     /* the caller's: key of the last entry */
};

/* Replaces an existing file. */
int counted_create(struct counted_writer *ret, const char *path, const struct record_kind *kind,
		   struct err *err);
/* Writes `packed`, unless it is empty, and clears it. */
int counted_put(struct counted_writer *w, struct err *err);
/* Durable when it returns 0; frees the writer also on failure. */
int counted_finish(struct counted_writer *w, struct err *err);
void counted_drop(struct counted_writer *w); /* safe to call twice */

struct counted_reader {
	char *path;
	struct record_reader *in;
	struct record record; /* the current one */
	struct reader r;      /* what is left of it */
	uint64_t n;           /* entries so far: the caller counts them */
	bool done;
};

/* 1: there is no such file, or it is empty. */
int counted_open(struct counted_reader *ret, const char *path, const struct record_kind *kind,
		 struct err *err);
/* Reads the next record: its tag into *ret_tag, its other bytes into c->r. 1: the end. ERR_DAMAGED:
 * also if there are fewer or more entries than were written. After a failure there are no more. */
int counted_next(struct counted_reader *c, uint8_t *ret_tag, struct err *err);
/* Reports that the current record is invalid, and ends the list. */
int counted_damaged(struct counted_reader *c, struct err *err, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
void counted_close(struct counted_reader *c); /* safe to call twice */

/* Prints the last record for `garner dump`: "end, 7 sites". */
int counted_print_end(struct reader *r, const char *what, struct buf *out, struct err *err);
