/* Record files: whole records appended to one file, each there completely or not at all.
 *
 * One process writes (the file is locked), any number of its threads append; many records share one
 * sync (group commit). Any process may read, also while the file grows. A kind of record file is a
 * file format of its own, with its own magic and version, framed as doc/formats/record.md says.
 *
 * What a crash leaves is mended when the file is opened for writing: it then holds exactly the
 * complete records, and all of them are durable. What was once durable and is now bad is damage: it
 * is never cut away, and readers report it (ERR_DAMAGED). */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "disk/format.h"

#include <sys/types.h>

enum { RECORD_HEADER = 32, RECORD_MOST = 256 << 20 };

struct record_kind {
	char magic[FORMAT_MAGIC + 1];
	uint32_t version; /* of what is in the records */
	uint32_t most;    /* bytes in one record, at most RECORD_MOST */
};

/* Writing */

struct record_writer;

/* Where a record lies: its first byte in the file and the one after it. */
struct record_place {
	uint64_t at, next;
};

/* The records that one caller waits for: {0} at first, and again after record_sync(). Not to be
 * shared between threads. */
struct record_group {
	uint64_t first, last;
};

/* Creates the file if it does not exist. *ret_cut (may be NULL): bytes of an incomplete end that
 * were truncated; log it. ERR_BUSY: another process writes the file. */
int record_open(struct record_writer **ret, const char *path, const struct record_kind *kind,
		mode_t mode, uint64_t *ret_cut, struct err *err);
/* Appends a record and adds it to the group. It reaches the file at once or later, and is kept only
 * once record_sync() has returned 0. ret may be NULL. Negative: the record was not added, and
 * earlier records of the group may be lost (the group then accepts no more): append all of them
 * again in a new group. */
int record_append(struct record_writer *w, struct str payload, struct record_group *group,
		  struct record_place *ret, struct err *err);
/* Waits until all records of the group are durable. Negative: everything appended since the last
 * successful sync has been removed from the file, and every group with records there gets the same
 * answer. (The first records of a large group may be durable from an earlier sync; they stay.) The
 * file accepts new records at once. */
int record_sync(struct record_writer *w, struct record_group *group, struct err *err);
/* Writes what was appended without a sync: other processes can read it, and it survives this one.
 * Negative: as for record_sync(). */
int record_flush(struct record_writer *w, struct err *err);

uint64_t record_end(struct record_writer *w);     /* a checkpoint: the end of what was appended */
uint64_t record_durable(struct record_writer *w); /* all before it is on disk */

/* Truncates the file at a checkpoint, durably; groups with records after it learn that these are
 * lost. The checkpoint is RECORD_HEADER, an earlier record_end(), or a place's `at` or `next`.
 * A reader beyond it notices only while the file is shorter than its place; the caller must tell
 * its readers. */
int record_truncate(struct record_writer *w, uint64_t checkpoint, struct err *err);

/* Syncs and frees the writer, even if the sync fails. */
int record_close(struct record_writer **w, struct err *err);
void record_drop(struct record_writer **w); /* frees without a sync: records may be lost */

/* Reading */

struct record_reader;

struct record {
	struct str payload; /* valid until the next call */
	struct record_place place;
};

/* Begins at the first record. 1: no such file, or an empty one. kind NULL: any kind. */
int record_reader_open(struct record_reader **ret, const char *path, const struct record_kind *kind,
		       struct err *err);
/* 1: no complete record yet; try again when the file has grown. */
int record_next(struct record_reader *r, struct record *ret, struct err *err);
/* Continues with the record at that place; 0: the first one. */
void record_seek(struct record_reader *r, uint64_t at);
/* Returns the place of the next record. */
uint64_t record_tell(const struct record_reader *r);
/* Reads only up to this place, which the writer reported as durable. Records that are not durable
 * yet may still disappear. 0: no limit, as at first. */
void record_limit(struct record_reader *r, uint64_t durable);
void record_reader_free(struct record_reader **r);

/* How a file ends, for those who verify it: `complete` is record_tell() after the last record (0:
 * not even a header could be read). */
enum record_ending {
	RECORD_WRITTEN, /* a process is writing it: it may end anywhere */
	RECORD_CLOSED,  /* its writer closed it */
	RECORD_LEFT,    /* after a complete record: the writer was killed, or the file truncated */
	RECORD_TORN,    /* inside a record, or before the first */
};
int record_ending(const char *path, const struct record_kind *kind, uint64_t complete,
		  enum record_ending *ret, struct err *err);
