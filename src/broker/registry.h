/* The registry: which objects there are, said once. A record for each object in one file that is
 * only appended to; of two records of one identity (Gatherer-Name, Gatherer-Host, URL) the later
 * counts; a tombstone says that there is none any more. What was appended counts when a record of
 * registry.commit says so: the one commit point of the broker, which documents, words index and
 * exports follow. Layout, and every state that a crash can leave: doc/formats/registry.md.
 *
 * One process writes (a lock says which). Any number of processes read the last commit. What is
 * opened belongs to one thread, but where it is said; another one opens it once more, to read.
 * Texts are in the document store, by oid. */
#pragma once
#include "base/rows.h"
#include "disk/format.h"
#include "index/docstore.h"
#include "soif/source.h"

enum {
	REGISTRY_DESCRIPTION = 1 << 10, /* bytes of a description that are kept */
	REGISTRY_STRING = 8191,         /* bytes of another string: longer ones are refused */
	REGISTRY_SCAN = 1 << 20,        /* bytes that a scan reads at a time */
	REGISTRY_POINTS = 4096,         /* names of points */
	REGISTRY_POINT_NAME = 255,      /* bytes of one */
};

/* An object. Strings are slices: of the caller's, or in the arena. Times are seconds since 1970. */
struct registry_object {
	struct str url, gatherer_name, gatherer_host, gatherer_version;
	struct str md5; /* 32 hexadecimal digits in lower case; empty: absent, and like no other */
	struct str description; /* cut after REGISTRY_DESCRIPTION */
	uint32_t oid;           /* of its text; 0: its text is that of its twin, found by its MD5 */
	uint32_t point;         /* who told it: registry_point() */
	uint32_t update_time_s, last_modification_time_s;
	uint32_t refresh_rate_s, time_to_live_s;
	uint32_t changed_s; /* when this record was written; set by registry_put() */
	uint32_t stored_s;  /* when its text came */
};

struct registry;

/* Opening. */

struct registry_options {
	uint64_t remember_deleted_s; /* how long compression keeps tombstones */
	uint64_t compress_least;     /* records below which it is not worth it; 0: 4,096 */
	uint64_t tables_least;       /* records since the tables that need no new ones; 0: 65,536 */
};
struct registry_opened {
	uint64_t cut;    /* bytes that were not committed */
	uint64_t read;   /* records that were read since the tables were written */
	bool remade;     /* the tables were lost and made again from the whole registry;
			    registry_each_ended() knows nothing then */
	bool miscounted; /* the header's counts, a cache, were of no commit, and are written anew */
};
/* Makes the folder and an empty registry if there is none, cuts what was not committed, and ends a
 * compression that was begun. ret_is may be NULL. ERR_BUSY: another process writes. ERR_USAGE:
 * another version of garner wrote it. ERR_DAMAGED: what was committed is not there. */
int registry_open(struct registry **ret, const char *folder, const struct registry_options *options,
		  struct registry_opened *ret_is, struct err *err);
/* To read only: the last commit. 1: there is none in this folder. */
int registry_open_read(struct registry **ret, const char *folder, struct err *err);
/* 0: something was committed since, and it is read from now on. 1: nothing was. */
int registry_refresh(struct registry *r, struct err *err);
/* What was not committed is given up. */
void registry_close(struct registry **r);

/* Looking up: what is committed and, for the writer, what was put since. All strings in *ret lie in
 * the arena. 1: there is none. */

int registry_find(struct registry *r, struct str gatherer_name, struct str gatherer_host,
		  struct str url, struct arena *arena, struct registry_object *ret,
		  struct err *err);
/* Whether an object has this text, by the tables alone. 1: none has. */
int registry_has_oid(struct registry *r, uint32_t oid, struct err *err);
int registry_by_oid(struct registry *r, uint32_t oid, struct arena *arena,
		    struct registry_object *ret, struct err *err);
/* All objects of a URL, of any gatherer; the first `most` of one gatherer with this MD5 that have a
 * text, or that have none, in the order in which they were written. Reads only the records that it
 * returns. *ret is in the arena; *ret_n may be 0. */
int registry_of_url(struct registry *r, struct str url, struct arena *arena,
		    struct registry_object **ret, size_t *ret_n, struct err *err);
int registry_of_md5(struct registry *r, struct str gatherer_name, struct str gatherer_host,
		    struct str md5, bool with_text, size_t most, struct arena *arena,
		    struct registry_object **ret, size_t *ret_n, struct err *err);

/* Scanning, in the order of the file, up to the last commit. */

struct registry_scan;

struct registry_record {
	struct registry_object object;
	bool tombstone;    /* it has what the object had, but for description and changed_s */
	bool living;       /* it is the one that counts of its identity, and no tombstone */
	uint64_t at, next; /* places: of this record and the one after it */
};
/* From a place on (0: the first; places as registry_length() and records give them). ERR_USAGE:
 * that place is not there any more, since the registry was compressed: begin with 0. What is put
 * while a scan runs may or may not be told. */
int registry_scan_open(struct registry_scan **ret, struct registry *r, uint64_t from,
		       struct err *err);
/* 1: there are no more. Strings are good until the next call. */
int registry_scan_next(struct registry_scan *s, struct registry_record *ret, struct err *err);
/* From its beginning again, and only records that were changed and whose text came in these
 * seconds: others are passed over by their numbers, without a look at the rest, and those before
 * the first that changed since then are not even met the next time. */
struct registry_want {
	bool tombstones;       /* these alone, whenever their text came; otherwise objects alone */
	uint32_t changed_from; /* not earlier than in any call before */
	uint32_t stored_from, stored_to; /* the last, too */
};
void registry_scan_again(struct registry_scan *s, const struct registry_want *want);
void registry_scan_free(struct registry_scan **s);

/* Writing: nothing counts before registry_commit(). */

/* Appends a record; it takes the place of the one with its identity. ERR_USAGE: a string is too
 * long or a mandatory one empty, nothing changed. Any other failure of these: registry_give_up().
 */
int registry_put(struct registry *r, const struct registry_object *object, int64_t now_us,
		 struct err *err);
/* Appends a tombstone. 1: there is no such object. */
int registry_drop(struct registry *r, struct str gatherer_name, struct str gatherer_host,
		  struct str url, int64_t now_us, struct err *err);
uint32_t registry_new_oid(struct registry *r); /* never given before; 0: all are used up */

/* Tells of every oid that a record had which was replaced or dropped since the tables were written,
 * by a commit, and that no object has now: after a start, texts that a killed process may not have
 * deleted. What is not 0 stops it and is returned. */
typedef int registry_oid_fn(void *ctx, uint32_t oid, struct err *err);
int registry_each_ended(struct registry *r, registry_oid_fn *fn, void *ctx, struct err *err);

/* Points: who tells objects, by name; numbers are from 1 on and stay with the name for ever. */
struct registry_point {
	const char *name; /* the registry's */
	uint32_t number;
	struct source_cursor cursor; /* as of the last commit */
};
/* The number of a name; a new name gets one, with the next commit. 0: there are too many, or it is
 * too long. */
uint32_t registry_point(struct registry *r, const char *name);
const struct registry_point *registry_points(const struct registry *r, size_t *ret_n);
/* Goes with the next commit. */
void registry_set_cursor(struct registry *r, uint32_t point, const struct source_cursor *cursor);

/* What was appended is on disk; does not count yet. May run in another thread, next to
 * docstore_sync(), while the one that writes waits. */
int registry_sync(struct registry *r, struct err *err);
/* Makes what was put count, with this mark of the documents and the cursors that were set; durable.
 * Calls registry_sync() where that was not done. Then flags what was replaced, which is a cache.
 * 1: there was nothing to commit. Negative: the last commit stands, and everything since is given
 * up. */
int registry_commit(struct registry *r, const struct docstore_mark *docs, struct err *err);
/* Back to the last commit. */
int registry_give_up(struct registry *r, struct err *err);

/* How long compressions keep tombstones from now on. */
void registry_set_remember(struct registry *r, uint64_t remember_deleted_s);

/* The mark of the last commit, for docstore_open(). */
void registry_docs(const struct registry *r, struct docstore_mark *ret);
/* Where the last commit ends: what a follower has that read up to it. Only ever grows, also over
 * compressions. */
uint64_t registry_length(const struct registry *r);

struct registry_stats {
	uint64_t bytes, records, deleted, valid; /* of the last commit */
	uint64_t commits, oids;                  /* since ever */
	uint32_t changed_s;                      /* of the newest record */
	uint64_t tidy_failed; /* tables or commits that could not be written anew, since it was
				 opened; nothing is lost by it but time */
};
void registry_stats(const struct registry *r, struct registry_stats *ret);
/* Whether compression is: half of the records are deleted, and these are not few. */
bool registry_worth_it(const struct registry *r);

/* Tables: those on disk are written anew when much came since, by registry_commit(), and by a
 * compression; before that `before` (may be NULL) is called, since everything that depends on the
 * deletes until then has to be durable. */
void registry_before_tables(struct registry *r, int (*before)(void *ctx, struct err *err),
			    void *ctx);

/* Compression, when half of the records are dead: begin and end belong to the thread that writes,
 * between two commits; copy to any. */
struct registry_compression;
/* any: on demand, if there is a dead record to leave out. 1: it is not worth it. */
int registry_compress_begin(struct registry *r, bool any, int64_t now_us,
			    struct registry_compression **ret, struct err *err);
int registry_compress_copy(struct registry_compression *c, struct err *err); /* 1: stopped */
void registry_compress_stop(struct registry_compression *c);                 /* from any thread */
/* Only after copy went well; what was put and not committed is given up. Negative: the registry is
 * as it was, or compressed, and works. */
int registry_compress_end(struct registry_compression *c, struct err *err);
void registry_compress_free(struct registry_compression **c); /* ended or not */

/* Reads all of it: hashes of what was committed, records, flags, counts, tables. ERR_DAMAGED: err
 * names the first bad place. */
int registry_verify(struct registry *r, struct err *err);

extern const struct rows registry_object_rows; /* for people: rows_lines() */

extern const struct format registry_format, registry_commit_format, registry_tables_format;
