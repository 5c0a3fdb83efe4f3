/* Inside of the document store: what its parts share. */
#pragma once
#include "disk/lock.h"
#include "disk/page.h"
#include "index/docstore_append.h"

#include <pthread.h>

/* A file of blocks, mapped to read. */
struct mapped {
	char *path;
	struct block_file id;
	char *map;
	size_t size; /* of the map, which may go past the end of the file */
	struct guard *guard;
};

static inline uint64_t docstore_hash_number(uint32_t number)
{
	return hash_u64(number);
}
static inline bool docstore_same_number(uint32_t a, uint32_t b)
{
	return a == b;
}
TABLE(mapped_files, uint32_t, struct mapped *, docstore_hash_number, docstore_same_number)
TABLE(moved_files, uint32_t, struct page_file *, docstore_hash_number, docstore_same_number)

struct block_cache;

struct docstore {
	char *folder, *ledger_path;
	bool writes;

	/* What counts now. Held to read by whoever reads documents, held to write for changes; the
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
	struct buf text;      /* the document at hand */
	struct buf new_files; /* changes for the ledger: files that are full and synced */
	struct buf new_dead;  /* and deleted documents */
	uint64_t since;       /* documents put since the last sync */
	bool failed;          /* and these are given up */
	bool names_new;       /* the folder has to be synced before the ledger is relied on */
	struct err why;
};

/* docstore_map.c: with the lock held to write. */

/* The file's bytes up to `length`. 1: there is no such file. */
int mapped_get(struct docstore *ds, uint32_t number, uint64_t length, struct mapped **ret,
	       struct err *err);
/* What is mapped of it, if that is enough; also with the lock held to read. */
struct mapped *mapped_has(const struct docstore *ds, uint32_t number, uint64_t length);
/* Bytes could not be read since it was mapped. */
int mapped_check(const struct mapped *m, struct err *err);
/* Gives back what the ledger has no more. */
void mapped_tidy(struct docstore *ds);
void mapped_free_all(struct docstore *ds);

/* docstore_cache.c: unpacked blocks; for any thread. */
struct block_cache *block_cache_new(void);
void block_cache_free(struct block_cache **c);
/* The text of a document, as a copy in the arena. 1: its block is not here. */
int block_cache_get(struct block_cache *c, struct docaddr addr, struct arena *arena,
		    struct str *ret);
/* The same, by way of the block, which is kept for the next. 1: there is no document of this
 * number in it. */
int block_cache_read(struct block_cache *c, const struct mapped *m, uint64_t length,
		     struct docaddr addr, struct arena *arena, struct str *ret, struct err *err);

/* docstore_moved.c: tables of old and new addresses, "NUMBER.moved". */
enum { MOVED_HEAD = 24, MOVED_ENTRY = 16 };
#define MOVED_MAGIC "GARNERDM"
int moved_create(struct page_writer *ret, const char *folder, uint32_t number, uint64_t docs,
		 struct err *err);
void moved_put(struct page_writer *w, struct docaddr from, struct docaddr to);
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
