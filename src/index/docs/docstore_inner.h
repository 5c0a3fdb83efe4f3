/* Inside of the document store: what its parts share, as doc/formats/docstore.md describes it. An
 * address is file, place of the block in the file, number in the block; 0 is none. */
#pragma once
#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "disk/lock.h"
#include "index/docstore.h"

#include <pthread.h>
#include <zstd.h>

/* Files of blocks and the blocks in them: docstore_block.c. */

enum {
	BLOCK_VERSION = 2,
	BLOCK_FILE_HEAD = 64, /* bytes before the first block of a file */
	BLOCK_HEAD = 20,      /* bytes of a block before its lists */
	BLOCK_DOCS = 4096,    /* in one block */
	BLOCK_TEXT_MOST = DOCSTORE_DOC_MOST + DOCSTORE_BLOCK,
	BLOCK_FILE_FULL = 512 << 20, /* bytes after which a new file is begun */
	BLOCK_FILES = 1 << 22,       /* file numbers are 1 to one less */
	BLOCK_LEVEL = 2,             /* of zstd: a fifth less time than 3 for 1 to 3 % more bytes */
	BLOCK_FRAME = 128 << 10, /* bytes of text in one frame: what has to be unpacked for one */
};

#define BLOCK_MAGIC "GARNERDO"

static inline uint64_t block_addr(uint32_t file, uint64_t at, unsigned slot)
{
	return (uint64_t)file << 42 | at << 12 | slot;
}
static inline uint32_t block_addr_file(uint64_t addr)
{
	return (uint32_t)(addr >> 42);
}
static inline uint64_t block_addr_at(uint64_t addr)
{
	return addr >> 12 & ((UINT64_C(1) << 30) - 1);
}
static inline unsigned block_addr_slot(uint64_t addr)
{
	return (unsigned)(addr & 0xfff);
}

/* What a file of blocks says of itself; all its checksums begin with number and salt. */
struct block_file {
	uint32_t number;
	uint64_t salt;
	bool compacted; /* made by compaction; otherwise appended to */
	/* Of one made by compaction: what was committed when it began, and the highest oid then.
	 * The file of that mark may be gone. */
	struct docstore_mark covers;
	uint64_t covers_top;
};

void block_file_head_make(const struct block_file *file, struct buf *out);
/* ERR_DAMAGED. */
int block_file_head_read(struct str bytes, const char *path, struct block_file *ret,
			 struct err *err);

/* Making: the documents of one block as they come. */
struct block_maker {
	struct buf text;          /* one after the other */
	uint32_t end[BLOCK_DOCS]; /* where each ends in it */
	uint32_t oid[BLOCK_DOCS]; /* ascending */
	unsigned docs;
	ZSTD_CCtx *compressor; /* made at first need */
	struct buf out;        /* what block_make() made */
};

#define BLOCK_MAKER_INIT                                         \
	((struct block_maker){.text = BUF_INIT(BLOCK_TEXT_MOST), \
			      .out = BUF_INIT((size_t)BLOCK_TEXT_MOST * 2)})

/* There must be room: block_full() is false. */
void block_add(struct block_maker *m, uint64_t oid, struct str text);
bool block_full(const struct block_maker *m);
/* The bytes of the block for this place, good until the next call. */
struct str block_make(struct block_maker *m, const struct block_file *file, uint64_t at);
/* Sets the checksums of the bytes of one. */
void block_seal(const struct block_file *file, uint64_t at, char *p, size_t n);
void block_clear(struct block_maker *m);
void block_maker_free(struct block_maker *m);

/* Reading: what a block says of itself. */
struct block {
	uint64_t at, next; /* where it begins, and the one after it */
	uint32_t checksum, head_checksum, text_n;
	unsigned docs;
	struct str lists; /* varints, two for each document */
	struct str packed;
};

/* The block at this place of the file's bytes (all that count). 1: `at` is their end.
 * ERR_DAMAGED: there is none, or its checksum is wrong. */
int block_read(const struct block_file *file, struct str bytes, uint64_t at, const char *path,
	       struct block *ret, struct err *err);
/* The same with a look at its head alone: which documents it has is sound, their text may not be.
 */
int block_read_head(const struct block_file *file, struct str bytes, uint64_t at, const char *path,
		    struct block *ret, struct err *err);
/* The same without a look at any checksum, of a block that was read before. */
int block_look(struct str bytes, uint64_t at, const char *path, struct block *ret, struct err *err);

struct block_doc {
	uint64_t oid;
	size_t from, n; /* its text, in the block's */
	unsigned slot;
};
/* Its documents: next until 1. Negative: the lists are not what they should be. */
struct block_docs {
	struct reader r;
	uint64_t oid, from;
	uint32_t text_n;
	unsigned at, docs;
};
struct block_docs block_docs_of(const struct block *b);
int block_docs_next(struct block_docs *d, struct block_doc *ret);
int block_lists_damaged(const char *path, uint64_t at, struct err *err); /* ERR_DAMAGED */
/* false: there is none of this number. */
bool block_slot(const struct block *b, unsigned slot, struct block_doc *ret);
/* The whole text, into b->text_n bytes of room. ERR_DAMAGED. */
int block_unpack(const struct block *b, ZSTD_DCtx *decompressor, char *to, const char *path,
		 struct err *err);
/* The n bytes of the text from a place on, which must be there. Unpacks no more frames than it
 * must. */
int block_unpack_part(const struct block *b, ZSTD_DCtx *decompressor, size_t from, size_t n,
		      char *to, const char *path, struct err *err);

/* What is known of a file of blocks. */
struct store_file {
	uint32_t number;
	bool compacted;
	uint64_t length; /* bytes of it that count */
	uint64_t docs, text_bytes, dead_docs, dead_bytes;
};

/* The path of a file of the store, in a buffer of PATH_MAX: ".docs", ".docs.new". */
void store_path(const char *folder, uint32_t number, const char *kind, char *ret);

/* The table: docstore_table.c. */

enum {
	TABLE_VERSION = 1,
	TABLE_STATE = 4 << 10,       /* where the two copies of its state begin */
	TABLE_STATE_ROOM = 28 << 10, /* bytes of one */
	TABLE_HEAD = 64 << 10,       /* bytes before the slots */
	TABLE_SLOT = 16,
	TABLE_STEP = 64 << 10, /* its size is a multiple of that */
};
#define TABLE_MAGIC "GARNERDT"

struct doc_table {
	struct file f; /* closed: there is none */
	char *map;
	size_t map_size; /* may go past its end */
	uint64_t bytes;  /* of the file, as far as we know */
	uint64_t inode;
	struct map_guard *guard;
	uint64_t generation; /* of its state */
	bool writes;
	bool suspect; /* a sync failed: the system may not write again what it could not */
};

struct table_slot {
	uint64_t addr;  /* 0: not there */
	uint32_t bytes; /* of text */
};

/* How far it is durable, and the files as they were then, without those that did not fit. */
struct table_state {
	struct docstore_mark mark;
	uint64_t top;  /* the highest oid up to there */
	uint32_t next; /* number of the next file; those before were given away */
	struct store_file *file;
	size_t files, file_room;
};

#define DOC_TABLE_INIT ((struct doc_table){.f = FILE_INIT})

/* 1: there is none. ERR_DAMAGED: it does not begin as one. */
int table_open(struct doc_table *t, const char *path, bool writes, struct err *err);
/* A new one at this path, without any documents. */
int table_create(struct doc_table *t, const char *path, struct err *err);
void table_close(struct doc_table *t);
/* Looks how large it is now. */
int table_look(struct doc_table *t, struct err *err);
/* ERR_DAMAGED: neither copy of its state is sound, or it has fewer slots than that says. */
int table_load(struct doc_table *t, struct table_state *ret, struct err *err);
/* Of the bytes of one copy; false: it is not sound. */
bool table_state_parse(struct str bytes, uint64_t *ret_generation, struct table_state *ret);
void table_state_free(struct table_state *s);
/* Makes all slots durable, and then this as its state. */
int table_save(struct doc_table *t, const struct table_state *s, struct err *err);
/* Room for this oid; nobody else may be using the table. */
bool table_has_room(const struct doc_table *t, uint64_t oid);
int table_grow(struct doc_table *t, uint64_t oid, struct err *err);
/* 1: not there. Negative: the slot is damaged. */
int table_get(const struct doc_table *t, uint64_t oid, struct table_slot *ret);
struct table_slot table_raw(const struct doc_table *t,
			    uint64_t oid); /* its check is not looked at */
void table_set(struct doc_table *t, uint64_t oid, struct table_slot slot);
void table_clear_from(struct doc_table *t, uint64_t oid); /* this one and all after it */
uint64_t table_slots(const struct doc_table *t);          /* oids below that have one */
/* Counts compactions: who has files mapped looks again when it changes. */
uint64_t table_moves(const struct doc_table *t);
void table_moved(struct doc_table *t);
int table_check(const struct doc_table *t, struct err *err); /* bytes could not be read */
int table_slot_damaged(const struct doc_table *t, uint64_t oid, struct err *err);
void table_punch(struct doc_table *t, uint64_t top); /* gives back pages without documents */

/* The end of one file of blocks, where documents are added. */

struct appender {
	struct file f; /* closed: none was begun */
	struct block_file id;
	struct store_file is;     /* with the documents of the block that is being made */
	struct block_maker block; /* what goes to is.length */
	uint64_t made;            /* bytes of the block that appender_write() wrote */
	bool dirty;               /* something was added since the last sync */
};

#define APPENDER_INIT ((struct appender){.f = FILE_INIT, .block = BLOCK_MAKER_INIT})

/* Begins a file, which nobody has; id says which, without its salt. */
int appender_begin(struct appender *a, const char *folder, const struct block_file *id,
		   struct err *err);
/* Goes on at the end of one. 1: the file is another. */
int appender_resume(struct appender *a, const char *folder, const struct store_file *is,
		    struct err *err);
bool appender_open(const struct appender *a);
/* No more blocks: another file is to be begun. */
bool appender_full(const struct appender *a);

/* Adds a document, writing the block before it where that is full; for a caller without readers. */
int appender_put(struct appender *a, uint64_t oid, struct str text, struct err *err);
int appender_finish(struct appender *a, struct err *err); /* all is written, and on disk */
void appender_drop(struct appender *a); /* closes the file; what is in the block is forgotten */
void appender_free(struct appender *a); /* all of it */

/* The store. */

/* A file of blocks, mapped to read. */
struct mapped {
	char *path;
	struct block_file id;
	char *map;
	size_t size;     /* of the map, which may go past the end of the file */
	uint64_t length; /* of the file, as far as we know */
	struct map_guard *guard;
};

TABLE(mapped_files, uint32_t, struct mapped *, hash_u64, table_same_u64)

struct block_cache;

struct docstore {
	char *folder, *table_path;
	bool writes;

	/* Held to read by those who read documents, held to write for changes; the thread that
	 * writes documents reads all of it without, except for `next`. Slots of the table change
	 * with the lock held to read, too. */
	pthread_rwlock_t lock;
	struct doc_table table;
	struct mapped_files files; /* those that were wanted so far */
	uint64_t moves;            /* of the table, when these were looked at last */
	struct block_cache *cache;
	uint32_t next; /* number of the next file */

	/* The writer's. */
	struct lock taken;
	struct store_file *file; /* in the order of their numbers */
	size_t nfiles, file_room;
	bool counted; /* what is deleted in each is known */
	struct appender end;
	struct buf text;             /* the current document */
	uint64_t top;                /* the highest oid that was put */
	struct docstore_mark synced; /* the last mark that was given, or opened with */
	uint64_t synced_top;
	struct store_file synced_is; /* the file of that mark as it was then */
	uint64_t unsaved;            /* bytes of blocks since the last checkpoint */
	uint64_t since;              /* documents put since the last sync */
	bool failed;                 /* and these are given up */
	struct err why;
};

/* docstore_read.c: files of blocks. */

/* Reads the head of an open file and maps `size` bytes of it, which it has up to `length`. */
int mapped_open(struct mapped *m, const struct file *f, uint64_t size, struct err *err);
/* Unmaps what a caller has opened for itself. */
void mapped_close(struct mapped *m);
/* A file of the store as it is now. 1: there is no such file. */
int mapped_make(const char *folder, uint32_t number, struct mapped **ret, struct err *err);
void mapped_free(struct mapped *m);
/* Whether all of the block at this place is mapped, as far as we know. */
bool mapped_reaches(const struct mapped *m, uint64_t at);
/* ERR_DAMAGED: another document is where this one should be; the file is not there. */
int mapped_wrong(const struct mapped *m, uint64_t addr, uint64_t oid, struct err *err);
int mapped_missing(const struct docstore *ds, uint64_t addr, struct err *err);
/* Bytes could not be read since it was mapped. */
int mapped_check(const struct mapped *m, struct err *err);
/* With the lock held to write: lets go of files that are not there any more. */
void mapped_tidy(struct docstore *ds);
void mapped_free_all(struct docstore *ds);

/* Which documents the blocks of a file have, from a place to another. What is not 0 stops it. */
typedef int blocks_doc_fn(void *ctx, uint64_t addr, const struct block_doc *doc);
int blocks_walk(const char *folder, uint32_t number, uint64_t from, uint64_t to, blocks_doc_fn *fn,
		void *ctx, struct err *err);

/* A reader's table is the one that is there now. */
int store_look(struct docstore *ds, struct err *err);

/* docstore_read.c: unpacked blocks; for any thread. */
struct block_cache *block_cache_new(void);
void block_cache_free(struct block_cache **c);

/* docstore_open.c */

/* Files of blocks in a folder, by their number. */
struct found_file {
	struct block_file id; /* number alone where it is not sound */
	uint64_t size;
	bool sound; /* it begins as one */
};
struct found_files {
	struct found_file *file;
	size_t n, room;
};
int found_list(struct found_files *ret, const char *folder, struct err *err);
void found_free(struct found_files *f);
/* Up to where a file counts by a mark; 0: not at all. */
uint64_t found_counts(const struct found_file *f, const struct docstore_mark *mark);
/* ERR_DAMAGED: less is there than the mark says. */
int found_check_mark(const struct found_files *found, const struct docstore_mark *mark,
		     const char *folder, struct err *err);
/* A file that the table knows as compacted, and so as one that counts whatever the mark is, but
 * that does not begin as a file of documents. */
bool found_headless(const struct found_file *is, const struct store_file *known);
int found_headless_refuse(const char *folder, uint32_t number, struct err *err);
/* The table is durable as it is. */
int store_save(struct docstore *ds, struct err *err);
/* Points every document of a compacted file that is there to its place in this file. */
int store_take_over(struct docstore *ds, const struct store_file *f, struct err *err);
/* How much is deleted in each file. */
int store_count(struct docstore *ds, struct err *err);

/* docstore.c */

struct docstore *docstore_new(const char *folder);
int docstore_writes(const struct docstore *ds, struct err *err); /* or ERR_USAGE */
/* A number for a new file, which nobody else gets; in any thread. */
uint32_t docstore_number(struct docstore *ds);
struct store_file *store_file_find(const struct docstore *ds, uint32_t number); /* NULL */
/* With the lock held to write. */
struct store_file *store_file_add(struct docstore *ds, uint32_t number);
void store_file_forget(struct docstore *ds, uint32_t number);
