/* Inside of the document store: what its parts share, as doc/formats/docstore.md describes it. An
 * address is file, place of the block in the file, number in the block. */
#pragma once
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "disk/lock.h"
#include "disk/page.h"
#include "disk/record.h"
#include "index/docstore.h"

#include <pthread.h>
#include <zstd.h>

/* Files of blocks and the blocks in them. */

enum {
	BLOCK_VERSION = 1,
	BLOCK_FILE_HEAD = 32, /* bytes before the first block of a file */
	BLOCK_HEAD = 16,      /* bytes of a block before its lengths */
	BLOCK_DOCS = 4096,    /* in one block */
	BLOCK_TEXT_MOST = DOCSTORE_DOC_MOST + DOCSTORE_BLOCK,
	BLOCK_FILE_FULL = 512 << 20, /* bytes after which a new file is begun */
	BLOCK_FILES = 1 << 22,       /* file numbers are 1 to one less */
	BLOCK_LEVEL = 3,             /* of zstd: half the time of 5 for 4 percent more bytes */
	BLOCK_FRAME = 128 << 10, /* bytes of text in one frame: what has to be unpacked for one */
};

#define BLOCK_MAGIC "GARNERDO"

static inline struct docaddr block_addr(uint32_t file, uint64_t at, unsigned slot)
{
	return (struct docaddr){(uint64_t)file << 42 | at << 12 | slot};
}
static inline uint32_t block_addr_file(struct docaddr a)
{
	return (uint32_t)(a.v >> 42);
}
static inline uint64_t block_addr_at(struct docaddr a)
{
	return a.v >> 12 & ((UINT64_C(1) << 30) - 1);
}
static inline unsigned block_addr_slot(struct docaddr a)
{
	return (unsigned)(a.v & 0xfff);
}

/* What identifies a file of blocks; all its checksums begin with it. */
struct block_file {
	uint32_t number;
	uint64_t salt;
};

void block_file_head_make(const struct block_file *file, struct buf *out);
/* ERR_DAMAGED. */
int block_file_head_read(struct str bytes, const char *path, struct block_file *ret,
			 struct err *err);

/* Making: the documents of one block as they come. */
struct block_maker {
	struct buf text;          /* one after the other */
	uint32_t end[BLOCK_DOCS]; /* where each ends in it */
	unsigned docs;
	ZSTD_CCtx *compressor; /* made at first need */
	struct buf out;        /* what block_make() made */
};

#define BLOCK_MAKER_INIT                                         \
	((struct block_maker){.text = BUF_INIT(BLOCK_TEXT_MOST), \
			      .out = BUF_INIT((size_t)BLOCK_TEXT_MOST * 2)})

/* There must be room: block_full() is false. */
void block_add(struct block_maker *m, struct str text);
bool block_full(const struct block_maker *m);
/* The bytes of the block for this place, good until the next call. */
struct str block_make(struct block_maker *m, const struct block_file *file, uint64_t at);
/* Sets the checksum of the bytes of one. */
void block_seal(const struct block_file *file, uint64_t at, char *p, size_t n);
void block_clear(struct block_maker *m);
void block_maker_free(struct block_maker *m);

/* Reading: what a block says of itself. */
struct block {
	uint64_t at, next; /* where it begins, and the one after it */
	uint32_t checksum, text_n;
	unsigned docs;
	struct str lengths; /* varints, as many as documents */
	struct str packed;
};

/* The block at this place of the file's bytes (all that count). 1: `at` is their end.
 * ERR_DAMAGED: there is none, or its checksum is wrong. */
int block_read(const struct block_file *file, struct str bytes, uint64_t at, const char *path,
	       struct block *ret, struct err *err);
/* The same without a look at the checksum, of a block that was read before. */
int block_look(struct str bytes, uint64_t at, const char *path, struct block *ret, struct err *err);
/* Where a document lies in the text. false: there is none of this number. */
bool block_slot(const struct block *b, unsigned slot, size_t *ret_from, size_t *ret_n);
/* The whole text, into b->text_n bytes of room. ERR_DAMAGED. */
int block_unpack(const struct block *b, ZSTD_DCtx *decompressor, char *to, const char *path,
		 struct err *err);

/* The n bytes of the text from a place on, which must be there. Unpacks no more frames than it
 * must. */
int block_unpack_part(const struct block *b, ZSTD_DCtx *decompressor, size_t from, size_t n,
		      char *to, const char *path, struct err *err);

/* The ledger: a record file that says which files there are, how much of each counts, and which
 * documents are deleted. Each record is a list of changes that count together. */

enum { LEDGER_VERSION = 1 };
extern const struct record_kind ledger_kind;

/* By address: the bytes of text of what is deleted. */
TABLE(ledger_dead, uint64_t, uint32_t, hash_u64, table_same_u64)

struct ledger_file {
	uint32_t number;
	uint64_t length; /* bytes of the file that count */
	uint64_t docs, text_bytes, dead_docs, dead_bytes;
};

/* A file that was compacted away, and whose documents can still be found by their old address. */
struct ledger_moved {
	uint32_t number;
	uint64_t docs;
};

/* What the ledger says, all records together. */
struct ledger {
	struct ledger_file *file; /* in the order of their numbers */
	size_t files, file_room;
	struct ledger_moved *moved; /* the same */
	size_t nmoved, moved_room;
	struct ledger_dead dead;
	uint32_t next; /* number of the next file; those before were given away */
};

#define LEDGER_INIT ((struct ledger){.next = 1})

/* Applies a record. ERR_DAMAGED: it cannot follow what came before. */
int ledger_apply(struct ledger *l, struct str record, const char *path, struct err *err);
/* All of a ledger, or an empty one where there is none. */
int ledger_load(struct ledger *ret, const char *path, struct err *err);
struct ledger_file *ledger_find(const struct ledger *l, uint32_t number); /* NULL: not there */
struct ledger_moved *ledger_find_moved(const struct ledger *l, uint32_t number);
void ledger_free(struct ledger *l);

/* Changes, for the end of a record. */
void ledger_put_file(struct buf *out, const struct ledger_file *file); /* as it is now */
void ledger_put_dead(struct buf *out, struct docaddr addr, uint32_t text_bytes);
void ledger_put_gone(struct buf *out, uint32_t number);
void ledger_put_moved(struct buf *out, const struct ledger_moved *moved);
void ledger_put_forget(struct buf *out, uint32_t number);

/* The bytes that the records of a whole ledger would take, about. */
uint64_t ledger_weight(const struct ledger *l);
/* Hands the records over that say all of this from the beginning. Negative ends it. */
typedef int ledger_record_fn(void *ctx, struct str record, struct err *err);
int ledger_print(const struct ledger *l, ledger_record_fn *take, void *ctx, struct err *err);
/* A record in words, for people. */
void ledger_show(struct str record, struct buf *out);

/* The end of one file of blocks, where documents are added. Nothing that is added here counts
 * before a ledger says so. */

struct appender {
	struct file f; /* closed: none was begun */
	struct block_file id;
	struct ledger_file is;    /* with the documents of the block that is being made */
	struct block_maker block; /* what goes to is.length */
	uint64_t made;            /* bytes of the block that appender_write() wrote */
	bool dirty;               /* something was added since the last sync */
};

#define APPENDER_INIT ((struct appender){.f = FILE_INIT, .block = BLOCK_MAKER_INIT})

/* The path of a file of the store, in a buffer of PATH_MAX: ".docs", ".moved". */
void store_path(const char *folder, uint32_t number, const char *kind, char *ret);

/* Begins a file of this number, which nobody has. Its name is durable. */
int appender_begin(struct appender *a, const char *folder, uint32_t number, struct err *err);
bool appender_open(const struct appender *a);
/* No more blocks: another file is to be begun. */
bool appender_full(const struct appender *a);

/* Adds a document, writing the block before it where that is full; for a caller without readers. */
int appender_put(struct appender *a, struct str text, struct docaddr *ret, struct err *err);
int appender_finish(struct appender *a, struct err *err); /* all is written, and on disk */
void appender_drop(struct appender *a); /* closes the file; what is in the block is forgotten */
void appender_free(struct appender *a); /* all of it */

/* The store. */

/* A file of blocks, mapped to read. */
struct mapped {
	char *path;
	struct block_file id;
	char *map;
	size_t size; /* of the map, which may go past the end of the file */
	struct map_guard *guard;
};

TABLE(mapped_files, uint32_t, struct mapped *, hash_u64, table_same_u64)
TABLE(moved_files, uint32_t, struct page_file *, hash_u64, table_same_u64)

struct block_cache;

struct docstore {
	char *folder, *ledger_path;
	bool writes;

	/* What counts now. Held to read by those who read documents, held to write for changes; the
	 * thread that writes documents reads all of it without, except for ledger.next. */
	pthread_rwlock_t lock;
	struct ledger ledger;
	struct mapped_files files; /* those that were wanted so far */
	struct moved_files moved;
	struct block_cache *cache;

	/* A reader's: how far it has read the ledger. */
	struct record_reader *records;
	uint64_t ledger_inode, ledger_size;

	/* The writer's. */
	struct lock taken;
	struct record_writer *book;
	struct appender end;
	struct buf text;      /* the current document */
	struct buf new_files; /* changes for the ledger: files that are full and synced */
	struct buf new_dead;  /* and deleted documents */
	uint64_t since;       /* documents put since the last sync */
	bool failed;          /* and these are given up */
	bool names_new;       /* the folder has to be synced before the ledger is relied on */
	struct err why;
};

/* docstore_read.c: files of blocks, with the lock held to write. */

/* Reads the head of an open file and maps `size` bytes of it. */
int mapped_open(struct mapped *m, const struct file *f, uint64_t size, struct err *err);
/* The file's bytes up to `length`. 1: there is no such file. */
int mapped_get(struct docstore *ds, uint32_t number, uint64_t length, struct mapped **ret,
	       struct err *err);
/* Bytes could not be read since it was mapped. */
int mapped_check(const struct mapped *m, struct err *err);
/* Gives back what the ledger no longer has. */
void mapped_tidy(struct docstore *ds);
void mapped_free_all(struct docstore *ds);

/* docstore_read.c: unpacked blocks; for any thread. */
struct block_cache *block_cache_new(void);
void block_cache_free(struct block_cache **c);
/* docstore_compact.c: tables of old and new addresses, "NUMBER.moved". */
enum { MOVED_HEAD = 24, MOVED_ENTRY = 16 };
#define MOVED_MAGIC "GARNERDM"
/* Opens and looks whether it is the one it should be. 1: there is none. */
int moved_open(struct page_file **ret, const char *path, uint32_t *ret_number, uint64_t *ret_docs,
	       struct err *err);
int moved_entry(struct page_file *f, uint64_t i, struct docaddr *ret_from, struct docaddr *ret_to,
		struct err *err);
/* Where it lies now. 1: it is not in it. With the lock held to write. */
int moved_find(struct docstore *ds, const struct ledger_moved *moved, struct docaddr from,
	       struct docaddr *ret, struct err *err);
int moved_get(struct docstore *ds, const struct ledger_moved *moved, struct page_file **ret,
	      struct err *err);

/* docstore_read.c */

/* The SOIF text of a document, in the arena; 1 as in docstore_get(). */
int docstore_text(struct docstore *ds, struct docaddr addr, struct arena *arena, struct str *ret,
		  struct err *err);
/* Reads every block of a file up to `length`. */
int blocks_verify(const struct mapped *m, uint64_t length, uint64_t *ret_docs,
		  uint64_t *ret_text_bytes, struct err *err);

/* docstore.c */

struct docstore *docstore_new(const char *folder);
int docstore_writes(const struct docstore *ds, struct err *err); /* or ERR_USAGE */
/* A number for a new file, which nobody else gets; in any thread. */
uint32_t docstore_number(struct docstore *ds);
/* Makes a record of the ledger durable, and counts by it from then on. */
int book_write(struct docstore *ds, struct str record, struct err *err);
/* Removes what is in the folder and not in the ledger; *ret_bytes: how much that was. */
int docstore_sweep(struct docstore *ds, uint64_t *ret_bytes, struct err *err);
