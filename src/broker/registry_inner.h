/* What the files of the registry share. Below registry.h there are: records as bytes
 * (registry_file), what counts (registry_commit), tables on disk (registry_tables), what came since
 * the tables (registry_recent), looking up and scanning (registry_find). */
#pragma once
#include "base/arena.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/table.h"
#include "broker/registry.h"
#include "disk/lock.h"
#include "disk/page.h"
#include "disk/record.h"

enum {
	REGISTRY_HEADER = 20,
	REGISTRY_VERSION = 1,
	REGISTRY_MD5 = 32,     /* digits */
	REGISTRY_FLAG = 8,     /* where the flag of a record is */
	REGISTRY_NUMBERS = 64, /* bytes of a record after its size that are in no string */
	REGISTRY_RECORD =
		REGISTRY_NUMBERS + 4 * REGISTRY_STRING + REGISTRY_MD5 + REGISTRY_DESCRIPTION,
	REGISTRY_FEW = 65536, /* records that need no tables */
	REGISTRY_SHARE = 64,  /* of the objects in the tables: so many records since are many */
};

/* Names in the folder. */
enum registry_name {
	REGISTRY_FILE,
	REGISTRY_FILE_NEW,
	REGISTRY_COMMIT,
	REGISTRY_COMMIT_NEW,
	REGISTRY_COMMIT_JOINED, /* registry.commit, being written anew */
	REGISTRY_TABLES,
	REGISTRY_TABLES_NEW,
	REGISTRY_NAMES
};

/* Records as bytes. */

struct registry_raw {
	struct str bytes; /* with its size */
	uint64_t at;
	uint32_t flag;
	bool tombstone;
	struct registry_object object; /* strings lie in bytes */
};

struct registry_counts {
	uint32_t records, deleted, valid;
};
void registry_header_print(const struct registry_counts *counts, char ret[REGISTRY_HEADER]);
/* ERR_USAGE: another version. */
int registry_header_read(const struct file *file, struct registry_counts *ret, struct err *err);
/* Whether an object can be written; ERR_USAGE names what is wrong. */
int registry_object_check(const struct registry_object *object, struct err *err);
/* Appends the record; a tombstone has its flag and no description. */
void registry_record_print(struct buf *out, const struct registry_object *object, bool tombstone);
/* ERR_DAMAGED: the bytes are not a record; err names path and place. */
int registry_record_parse(const char *path, uint64_t at, struct str bytes, struct registry_raw *ret,
			  struct err *err);
/* The bytes of a record, its flag as 0. */
void registry_hash_add(struct xxh64 *hash, struct str record);

/* Records of a file one after the other, read in large pieces. */
struct registry_walk {
	const struct file *file;
	uint64_t at, end; /* of what is still to come */
	char *p;
	size_t n, used; /* bytes that are there, and that were given out */
};
void registry_walk_begin(struct registry_walk *w, const struct file *file, uint64_t from,
			 uint64_t end);
/* 1: the end. What is returned is good until the next call. */
int registry_walk_next(struct registry_walk *w, struct registry_raw *ret, struct err *err);
void registry_walk_end(struct registry_walk *w);
/* Back, or on, to the beginning of a record. */
void registry_walk_to(struct registry_walk *w, uint64_t at);
/* What the next record says of itself by numbers alone; it is not passed. 1: the end. */
struct registry_glance {
	uint64_t at;
	bool tombstone;
	uint32_t changed_s, stored_s;
};
int registry_walk_glance(struct registry_walk *w, struct registry_glance *ret, struct err *err);
/* Passes the record that was glanced at. */
void registry_walk_pass(struct registry_walk *w);

/* Keys of the tables. */
uint64_t registry_url_key(struct str url);
/* Objects with a text have another key than their twins: neither are looked through for the other.
 */
uint64_t registry_md5_key(struct str gatherer_name, struct str gatherer_host, struct str md5,
			  bool with_text);

/* What counts. */

struct registry_commit {
	uint64_t base, kept, length, from, hash;
	uint64_t records, deleted, valid;
	uint64_t oids, changed, commits;
	struct docstore_mark docs;
};

struct registry_piece {
	uint64_t from, to, hash;
};

struct registry_pieces {
	struct registry_piece *piece;
	size_t n, room;
};

struct registry_point_state {
	struct source_cursor next; /* where changed: of the next commit */
	bool changed, known;       /* known: a commit has its name */
};

struct registry_points {
	struct registry_point *point;
	struct registry_point_state *more;
	size_t n, room, more_room;
};
void registry_points_free(struct registry_points *p);

extern const struct record_kind registry_commit_kind;
void registry_commit_print(struct buf *out, const struct registry_commit *commit,
			   const struct registry_points *points, bool all);
/* Takes a record as the next one after what was taken so far. */
int registry_commit_take(struct str payload, struct registry_commit *last,
			 struct registry_pieces *pieces, struct registry_points *points,
			 struct err *err);
/* For people. */
int registry_commit_show(struct str payload, struct buf *out, struct err *err);
/* Writes a file that says all, durably: a record for each piece. */
int registry_commit_write(const char *path, const struct registry_commit *commit,
			  const struct registry_pieces *pieces,
			  const struct registry_points *points, struct err *err);

/* Offsets of records. */
struct registry_offsets {
	uint64_t *at;
	size_t n, room;
};
void registry_offsets_sort(struct registry_offsets *o);

/* Tables on disk. */

enum registry_list { REGISTRY_BY_URL, REGISTRY_BY_MD5, REGISTRY_BY_OID, REGISTRY_LISTS };

struct registry_tables {
	struct page_file *file; /* NULL: there are none */
	uint64_t base, length;
	uint64_t n[REGISTRY_LISTS];
};
int registry_tables_open(struct registry_tables *ret, const char *path, struct err *err); /* 1 */
void registry_tables_close(struct registry_tables *t);
/* 1: there is no such entry. */
int registry_tables_has(const struct registry_tables *t, enum registry_list list, uint64_t key,
			uint64_t at, struct err *err);
/* Whether all is in order. */
int registry_tables_verify(const struct registry_tables *t, const char *path, struct err *err);
/* Made from all records of a file up to length. */
int registry_tables_make(const char *path, const char *folder, const struct file *file,
			 uint64_t base, uint64_t length, struct err *err);

/* What came since the tables. */

/* Entries with one key, counted from 1, in their order. */
struct registry_chain {
	uint32_t first, last;
};

TABLE(registry_keys, uint64_t, struct registry_chain, hash_u64, table_same_u64)
TABLE(registry_dead, uint64_t, uint8_t, hash_u64, table_same_u64)

struct registry_entry {
	uint64_t at, kills;       /* kills: the record that it takes the place of, or 0 */
	uint64_t key[2];          /* by URL, by MD5 */
	uint32_t oid, killed_oid; /* 0: none */
	/* its neighbours with the same key, counted from 1; of a dead one: when it died */
	uint32_t before[REGISTRY_LISTS], after[REGISTRY_LISTS];
	bool tombstone, md5, killed_md5;
};

/* Whether a list has an entry, and by which key. */
bool registry_entry_listed(const struct registry_entry *e, enum registry_list list);
uint64_t registry_entry_key(const struct registry_entry *e, enum registry_list list);

/* Adds the offsets of the first entries with a key that are not dead, at most `most`. */
int registry_tables_find(const struct registry_tables *t, enum registry_list list, uint64_t key,
			 const struct registry_dead *dead, size_t most,
			 struct registry_offsets *ret, struct err *err);

struct registry_recent {
	struct registry_entry *entry;
	size_t n, room;
	struct registry_keys chain[REGISTRY_LISTS]; /* of living entries */
	struct registry_dead dead;                  /* records that do not count any more */
};
/* killed: the record that it takes the place of, or NULL. */
void registry_recent_add(struct registry_recent *recent, const struct registry_raw *raw,
			 const struct registry_raw *killed);
void registry_recent_undo(struct registry_recent *recent, size_t to);
/* Adds the offsets of the first living entries with a key, at most `most`. */
void registry_recent_find(const struct registry_recent *recent, enum registry_list list,
			  uint64_t key, size_t most, struct registry_offsets *ret);
void registry_recent_free(struct registry_recent *recent);
/* The tables with what came since, durably. */
int registry_tables_merge(const char *path, const struct registry_tables *old,
			  const struct registry_recent *recent, uint64_t base, uint64_t length,
			  struct err *err);

struct registry {
	char *path[REGISTRY_NAMES];
	char *folder;
	struct registry_options options;
	bool writes;
	bool opened; /* to be written, and all is in order */
	struct lock lock;
	struct file file;
	struct record_writer *commits; /* of a writer */
	struct record_reader *reader;  /* of a reader, at its end */
	uint64_t reader_inode;
	const char *map; /* of a reader: the first `mapped` bytes of the file, or NULL */
	size_t mapped;
	struct map_guard *guard;

	struct registry_commit last, now; /* the last commit; with what was put since */
	struct registry_pieces pieces;
	struct registry_points points;
	struct registry_tables tables;
	struct registry_recent recent;
	size_t committed;              /* entries of recent that are */
	struct registry_offsets found; /* of one lookup */
	struct arena read;             /* of one lookup */

	struct buf out;   /* records that are not in the file yet */
	uint64_t written; /* bytes of the file before them */
	struct xxh64 hash;
	bool synced;
	bool doubtful; /* a commit failed, and its record may still be in the file */
	struct registry_offsets flags; /* to be set, of the last commit; until they are on disk */
	bool flags_written;

	int (*before_tables)(void *ctx, struct err *err);
	void *before_ctx;
	uint64_t tidy_failed;            /* tables or joined commits that could not be written */
	uint64_t tables_wait, join_wait; /* not before so many entries, so many bytes */
	bool compressing;
	uint64_t spared; /* deleted records that the last compression left: tombstones */
	bool rename_due; /* registry.commit is still called registry.commit.new */
};

/* What a registry is made of, from its files (registry_load.c). 1: there was no commit yet. */
void registry_init(struct registry *r, const char *folder); /* of no files yet */
int registry_load(struct registry *r, const char *commits, uint64_t most_commits,
		  struct registry_opened *ret_is, struct err *err);
/* Tells of all committed records from an offset on, and checks the hashes of their commits. */
typedef int registry_raw_fn(void *ctx, const struct registry_raw *raw, struct err *err);
int registry_each_committed(struct registry *r, uint64_t from, registry_raw_fn *fn, void *ctx,
			    struct err *err);
/* Reads the records from an offset on and adds them to recent. */
int registry_replay(struct registry *r, uint64_t from, struct err *err);
int registry_open_limited(struct registry **ret, const char *folder, uint64_t most_commits,
			  struct err *err);
void registry_release(struct registry *r); /* all but itself and its lock */

/* A shorter registry.commit, where it is worth it (registry_join.c). */
int registry_join(struct registry *r, struct err *err);
/* The second rename of a compression (registry_compress.c). */
int registry_commit_rename(struct registry *r, struct err *err);

/* Looking up (registry_find.c). */

/* The record at an offset, in the arena. */
int registry_read_at(struct registry *r, uint64_t at, struct arena *arena, struct registry_raw *ret,
		     struct err *err);
/* The living record of an identity. 1: there is none. */
int registry_find_raw(struct registry *r, struct str gatherer_name, struct str gatherer_host,
		      struct str url, struct arena *arena, struct registry_raw *ret,
		      struct err *err);
/* 0: the record there counts; 1: it does not. */
int registry_lives(struct registry *r, const struct registry_raw *raw, struct err *err);

/* Flags, and the counts of the last commit (registry.c). */
int registry_flags_write(struct registry *r, struct err *err);
/* Whether the header has the counts of the last commit, or of the one before it, which a killed
 * writer may leave. */
int registry_counts_check(const struct registry *r, bool closed, bool *ret_right, struct err *err);
