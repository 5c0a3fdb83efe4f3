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

/* What one caller appended and wants to be told about: {0} at first, and again after
 * record_sync(). Not to be shared between threads. */
struct record_group {
	uint64_t first, last;
};

/* Makes the file if it is not there. *ret_cut, where not NULL: bytes of an incomplete end that were
 * cut off; worth a line in the log. ERR_BUSY: another process writes it. */
int record_open(struct record_writer **ret, const char *path, const struct record_kind *kind,
		mode_t mode, uint64_t *ret_cut, struct err *err);
/* Appends, and puts the record into the group. It is in the file at once or later, and kept only
 * when record_sync() has said so. ret may be NULL. Negative: this record is not taken, and those of
 * the group before it are, or may be, lost (then nothing more is taken into the group either):
 * append them all again, in a new group. */
int record_append(struct record_writer *w, struct str payload, struct record_group *group,
		  struct record_place *ret, struct err *err);
/* Waits until all records of the group are durable. Negative: they are not, nor is anything else
 * that was appended since the last sync that went well; all of that is gone from the file, and
 * everybody whose records were among it is told so. (Some first records of a large group may have
 * become durable by an earlier sync, and stay.) The file takes new records at once. */
int record_sync(struct record_writer *w, struct record_group *group, struct err *err);
/* Hands what was appended to the system, without making it durable: other processes can read it,
 * and it outlives this one. Negative: as with record_sync(). */
int record_flush(struct record_writer *w, struct err *err);

uint64_t record_end(struct record_writer *w); /* a checkpoint: all that was appended lies before */
uint64_t record_durable(struct record_writer *w); /* all before it is on disk */

/* Cuts everything from a checkpoint on, durably; groups with records there are told that they are
 * lost. The checkpoint is RECORD_HEADER, an earlier record_end(), or a place's `at` or `next`.
 * A reader that is past it hears of it only as long as the file is shorter than its place; the
 * caller has to tell those who follow. */
int record_truncate(struct record_writer *w, uint64_t checkpoint, struct err *err);

/* Syncs what is there and gives everything back, also when that fails. */
int record_close(struct record_writer **w, struct err *err);
void record_drop(struct record_writer **w); /* without syncing: what was not synced may be lost */

/* Reading */

struct record_reader;

struct record {
	struct str payload; /* valid until the next call */
	struct record_place place;
};

/* From the first record on. 1: no such file, or nothing in it yet. kind NULL: any kind. */
int record_reader_open(struct record_reader **ret, const char *path, const struct record_kind *kind,
		       struct err *err);
/* 1: no complete record here now; ask again when the file has grown. */
int record_next(struct record_reader *r, struct record *ret, struct err *err);
/* The next record is the one at that place; 0: the first one. */
void record_seek(struct record_reader *r, uint64_t at);
/* Where the next record is looked for. */
uint64_t record_tell(const struct record_reader *r);
/* Reads only what lies before this place, which the writer has said is durable. Records that are
 * not durable yet may still disappear. 0: all that is complete, as at first. */
void record_limit(struct record_reader *r, uint64_t durable);
void record_reader_free(struct record_reader **r);

/* How a file ends, for those who verify it: `complete` is record_tell() after the last record (0:
 * not even a header could be read). */
enum record_ending {
	RECORD_WRITTEN, /* somebody writes it: it may end anywhere */
	RECORD_CLOSED,  /* as a writer leaves it that has closed it */
	RECORD_LEFT, /* after a complete record: a killed writer leaves that, and a cut just there
		      */
	RECORD_TORN, /* inside a record, or before the first */
};
int record_ending(const char *path, const struct record_kind *kind, uint64_t complete,
		  enum record_ending *ret, struct err *err);
