/* The registry: the list of all objects. An append-only file with a record for each object; of two
 * records with the same identity (Gatherer-Name, Gatherer-Host, URL) the later counts; a tombstone
 * marks a deleted object. Appended records count once a record of registry.commit covers them: this
 * is the one commit point of the broker, which documents, words index and exports follow. Layout,
 * and every state that a crash can leave: doc/formats/registry.md.
 *
 * One process writes, under a lock. Any number of processes read the last commit. A struct registry
 * belongs to one thread, except where noted; another thread opens a reader of its own. Texts are in
 * the document store, by oid. */
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

/* An object. Strings are slices of the caller's memory or the arena; times are seconds since 1970.
 */
struct registry_object {
	struct str url, gatherer_name, gatherer_host, gatherer_version;
	struct str md5; /* 32 hexadecimal digits in lower case; empty: absent, matches none */
	struct str description; /* cut after REGISTRY_DESCRIPTION */
	uint32_t oid;           /* of its text; 0: its text is that of its twin, found by its MD5 */
	uint32_t point;         /* the source it came from: registry_point() */
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
	uint64_t cut;    /* uncommitted bytes, truncated */
	uint64_t read;   /* records read that the tables do not have */
	bool remade;     /* the tables were lost and rebuilt from the whole registry;
			    registry_each_ended() then has nothing to report */
	bool miscounted; /* the header's counts, a cache, matched no commit and were rewritten */
};
/* Creates the folder and an empty registry if there is none, truncates uncommitted data, and
 * finishes an interrupted compression. ret_is may be NULL. ERR_BUSY: another process writes.
 * ERR_USAGE: another version of garner wrote it. ERR_DAMAGED: committed data is missing. */
int registry_open(struct registry **ret, const char *folder, const struct registry_options *options,
		  struct registry_opened *ret_is, struct err *err);
/* Opens the last commit for reading. 1: this folder has none. */
int registry_open_read(struct registry **ret, const char *folder, struct err *err);
/* Moves to the last commit. 1: there is no newer one. */
int registry_refresh(struct registry *r, struct err *err);
/* Discards uncommitted records. */
void registry_close(struct registry **r);

/* Lookups: they see the last commit and, for the writer, the records put since. All strings in *ret
 * are in the arena. 1: there is none. */

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
/* Starts at a place (0: the first record; places as in registry_length() and in records).
 * ERR_USAGE: a compression removed that place: start with 0. Records put during a scan may or may
 * not be returned. */
int registry_scan_open(struct registry_scan **ret, struct registry *r, uint64_t from,
		       struct err *err);
/* 1: the end. Strings are valid until the next call. */
int registry_scan_next(struct registry_scan *s, struct registry_record *ret, struct err *err);
/* Restarts the scan, limited to records that changed and whose text arrived in these seconds. Skips
 * other records by their numbers alone; a later restart does not even visit those before the first
 * that changed. */
struct registry_want {
	bool tombstones;       /* these alone, whenever their text came; otherwise objects alone */
	uint32_t changed_from; /* not earlier than in any call before */
	uint32_t stored_from, stored_to; /* the last, too */
};
void registry_scan_again(struct registry_scan *s, const struct registry_want *want);
void registry_scan_free(struct registry_scan **s);

/* Writing: nothing counts before registry_commit(). */

/* Appends a record, which replaces the one with the same identity. ERR_USAGE: a string is too long
 * or a mandatory one empty; nothing changed. After any other failure call registry_give_up(). */
int registry_put(struct registry *r, const struct registry_object *object, int64_t now_us,
		 struct err *err);
/* Appends a tombstone. 1: there is no such object. */
int registry_drop(struct registry *r, struct str gatherer_name, struct str gatherer_host,
		  struct str url, int64_t now_us, struct err *err);
uint32_t registry_new_oid(struct registry *r); /* never used before; 0: none is left */

/* Calls fn for every oid of a committed record that was replaced or dropped since the tables were
 * written, if no object uses it now: texts that a killed process may not have deleted. A nonzero
 * result of fn ends the loop and is returned. */
typedef int registry_oid_fn(void *ctx, uint32_t oid, struct err *err);
int registry_each_ended(struct registry *r, registry_oid_fn *fn, void *ctx, struct err *err);

/* Points: the sources of objects, by name. Numbers start at 1 and are never reused. */
struct registry_point {
	const char *name; /* the registry's */
	uint32_t number;
	struct source_cursor cursor; /* as of the last commit */
};
/* Returns the number of a name; a new name gets one with the next commit. 0: there are too many
 * names, or it is too long. */
uint32_t registry_point(struct registry *r, const char *name);
const struct registry_point *registry_points(const struct registry *r, size_t *ret_n);
/* Takes effect with the next commit. */
void registry_set_cursor(struct registry *r, uint32_t point, const struct source_cursor *cursor);

/* Syncs appended records, which do not count yet. May run in another thread, alongside
 * docstore_sync(), while the writing thread waits. */
int registry_sync(struct registry *r, struct err *err);
/* Commits the records put since the last commit, this mark of the documents and the cursors that
 * were set, durably. Calls registry_sync() unless that was done. Then flags replaced records, which
 * is a cache. 1: nothing to commit. Negative: the last commit stands; everything since is
 * discarded. */
int registry_commit(struct registry *r, const struct docstore_mark *docs, struct err *err);
/* Goes back to the last commit. */
int registry_give_up(struct registry *r, struct err *err);

/* How long compressions keep tombstones from now on. */
void registry_set_remember(struct registry *r, uint64_t remember_deleted_s);

/* The mark of the last commit, for docstore_open(). */
void registry_docs(const struct registry *r, struct docstore_mark *ret);
/* Returns where the last commit ends: the place of a follower that has read all of it. Only grows,
 * also across compressions. */
uint64_t registry_length(const struct registry *r);

struct registry_stats {
	uint64_t bytes, records, deleted, valid; /* of the last commit */
	uint64_t commits, oids;                  /* since ever */
	uint32_t changed_s;                      /* of the newest record */
	uint64_t tidy_failed; /* tables or commits that could not be written anew, since it was
				 opened; nothing is lost by it but time */
};
void registry_stats(const struct registry *r, struct registry_stats *ret);
/* Returns whether compression pays: half of the records are deleted, and these are not few. */
bool registry_worth_it(const struct registry *r);

/* registry_commit() rewrites the tables on disk when many records were added, and so does a
 * compression; both call `before` (may be NULL) first, because everything that depends on earlier
 * deletes must be durable by then. */
void registry_before_tables(struct registry *r, int (*before)(void *ctx, struct err *err),
			    void *ctx);

/* Compression removes dead records. Begin and end run in the writing thread between two commits;
 * copy in any thread. */
struct registry_compression;
/* any: on demand, if there is a dead record to leave out. 1: it is not worth it. */
int registry_compress_begin(struct registry *r, bool any, int64_t now_us,
			    struct registry_compression **ret, struct err *err);
int registry_compress_copy(struct registry_compression *c, struct err *err); /* 1: stopped */
void registry_compress_stop(struct registry_compression *c);                 /* from any thread */
/* Call it only after a successful copy; discards uncommitted records. Negative: the registry is
 * unchanged, or compressed, and usable. */
int registry_compress_end(struct registry_compression *c, struct err *err);
void registry_compress_free(struct registry_compression **c); /* ended or not */

/* Reads all of it: hashes of what was committed, records, flags, counts, tables. ERR_DAMAGED: err
 * names the first bad place. */
int registry_verify(struct registry *r, struct err *err);

extern const struct rows registry_object_rows; /* for people: rows_lines() */

extern const struct format registry_format, registry_commit_format, registry_tables_format;
