/* The document store: documents as SOIF in compressed blocks, and the only copy of their text
 * outside buckets and cache files. A document is known by its number, the oid: who puts it gives
 * it, each only once and each higher than all before. What counts, somebody else remembers: a mark
 * that docstore_sync() gives is committed elsewhere (the registry, the manifest of a words index),
 * and what lies beyond the last committed one is cut off when the store is next opened to be
 * written.
 *
 * A folder belongs to the store. One process writes (a lock says which), any number of processes
 * read by mmap, also while it is written. Blocks are only ever appended, and carry a checksum that
 * is verified before they are decompressed. A mapped table says where each document lies;
 * compaction moves documents and changes the table, and nobody else has to know. A lost table is
 * made again from the blocks. Layout: doc/formats/docstore.md. */
#pragma once
#include "disk/format.h"
#include "soif/soif.h"

/* What to do when documents, or what says which there are, are damaged; for struct format. */
#define DOCSTORE_REMEDY                                                                  \
	"stop the broker and remove registry*, docs and words from its folder, but not " \
	"Collection.conf: the crawl is told again at the start, and gatherers are asked for all"

enum {
	DOCSTORE_BLOCK = 36 << 10,    /* bytes of text after which a block is closed */
	DOCSTORE_DOC_MOST = 64 << 20, /* bytes of one document as SOIF text */
};
#define DOCSTORE_OID_MOST UINT32_MAX /* oids are 1 to this */

/* What counts: files before this one, and so many bytes of it. {0}: nothing. */
struct docstore_mark {
	uint32_t file;
	uint64_t length;
};

struct docstore;

/* Opening. */

struct docstore_opened {
	uint64_t cut; /* bytes that were put and not committed; worth a line in the log */
	bool remade;  /* the table was lost and made again: deleted documents may be back, so the
			 caller deletes what it does not know (docstore_each) */
};
/* Makes the folder if it is not there. What lies beyond the mark is removed; NULL is as {0}. ret_is
 * may be NULL. ERR_BUSY: another process writes. ERR_DAMAGED: less is there than the mark says. */
int docstore_open(struct docstore **ret, const char *folder, const struct docstore_mark *mark,
		  struct docstore_opened *ret_is, struct err *err);
/* To read only. 1: there is no store in this folder. */
int docstore_open_read(struct docstore **ret, const char *folder, struct err *err);
/* Without syncing: what was put since the last committed mark is given up. */
void docstore_close(struct docstore **ds);

/* Reading: any number of threads at once, also while one writes. */

/* 0: *ret is the document, all in the arena. 1: it is not there: deleted, given up or never put.
 * ERR_DAMAGED: its block does not pass its checksum, or cannot be read any more. Readers see what
 * was synced, and perhaps more. */
int docstore_get(struct docstore *ds, uint64_t oid, struct arena *arena, struct soif *ret,
		 struct err *err);

/* The same of a document whose text has at most so many bytes. DOCSTORE_LARGER: it has more, and
 * few more than these were read. */
enum { DOCSTORE_LARGER = 2 };
int docstore_get_most(struct docstore *ds, uint64_t oid, size_t most, struct arena *arena,
		      struct soif *ret, struct err *err);

/* The same as a query_text_fn of query.h: ctx is the store. */
int docstore_text(void *ctx, uint64_t oid, struct arena *arena, struct soif *ret, struct err *err);

/* Part of a document as SOIF text, for one that is too large to be held. */
struct docstore_part {
	uint64_t from;    /* which bytes of the text */
	size_t most;      /* fewer only where it ends */
	uint64_t checked; /* 0 at first: its checksum is verified once, not with every part */
};
/* 0: *ret is the part, in the arena. 1 and ERR_DAMAGED as above. Costs at most 128 KiB more than
 * the part in memory. */
int docstore_read_part(struct docstore *ds, uint64_t oid, struct docstore_part *part,
		       struct arena *arena, struct str *ret, struct err *err);

/* Many documents one after the other, as SOIF text and without copies: the block of the last one is
 * kept unpacked, so that neighbours cost nothing. Of a store that was opened to be read, which
 * outlives it; for one thread. A document that was found is readable to its end, even if it is
 * deleted or moved meanwhile. */
enum { DOCSTORE_CURSOR_PART = 128 << 10 };
struct docstore_cursor;
struct docstore_cursor *docstore_cursor_new(struct docstore *ds);
void docstore_cursor_free(struct docstore_cursor **c);
/* To a document. *ret_n: bytes of its text. 1 and ERR_DAMAGED as docstore_get(). */
int docstore_cursor_find(struct docstore_cursor *c, uint64_t oid, size_t *ret_n, struct err *err);
/* Its text from a byte on: DOCSTORE_CURSOR_PART bytes or more, fewer only where it ends. Good until
 * the next call. */
int docstore_cursor_text(struct docstore_cursor *c, size_t from, struct str *ret, struct err *err);

/* Writing: one thread at a time. */

/* Appends. The document can be read here at once, by others after docstore_sync(). ERR_USAGE: it
 * cannot be written as SOIF, or is larger than DOCSTORE_DOC_MOST, or the oid is not higher than all
 * before; nothing changed. Any other failure: all that was put since the last sync is given up, and
 * nothing more is taken until docstore_sync() has said so as well. */
int docstore_put(struct docstore *ds, uint64_t oid, const struct soif *obj, struct err *err);
/* The document is not there any more; for what no committed state has. Its space comes back by
 * compaction. Durable with docstore_checkpoint(), so that after a crash it may be there again, and
 * the caller deletes it again. 1: it is not there. */
int docstore_delete(struct docstore *ds, uint64_t oid, struct err *err);
/* All that was put is durable; *ret is to be committed by the caller. Negative: it is not, the
 * documents put since the last sync are given up, and the store takes new ones. */
int docstore_sync(struct docstore *ds, struct docstore_mark *ret, struct err *err);
/* The table is durable as it is, with all deletes: the next start need not look at the blocks
 * before. docstore_sync() does it by itself where much has come since. */
int docstore_checkpoint(struct docstore *ds, struct err *err);
/* Tells of every document that is there, in the order of oids, from this one on. What is not 0
 * stops it and is returned; fn may delete. */
typedef int docstore_doc_fn(void *ctx, uint64_t oid, struct err *err);
int docstore_each(struct docstore *ds, uint64_t from, docstore_doc_fn *fn, void *ctx,
		  struct err *err);

/* Compaction: the living documents of files in which at least `percent` of the text is deleted are
 * copied to new files, the table says so, and the old ones are removed. Killed at any point, each
 * document is in an old or a new file, and the next start ends what was begun. Files with documents
 * beyond the last sync are left alone; the mark of that sync is committed before it is called. 1:
 * there was nothing to do. */
int docstore_compact(struct docstore *ds, unsigned percent, struct err *err);
/* The same in three steps, for a caller that has to go on writing: begin and end belong to the
 * thread that writes, copy to any. What is deleted in between is so afterwards. */
struct docstore_compaction;
int docstore_compact_begin(struct docstore *ds, unsigned percent, struct docstore_compaction **ret,
			   struct err *err); /* 1 as above */
/* 1: docstore_compact_stop() was called, from any thread. */
int docstore_compact_copy(struct docstore_compaction *c, struct err *err);
void docstore_compact_stop(struct docstore_compaction *c);
/* The new files take the place of the old ones. Only after copy went well. */
int docstore_compact_end(struct docstore_compaction *c, struct err *err);
/* Ended or not, by the thread that writes; not while it copies. One that did not end leaves no
 * files. */
void docstore_compact_free(struct docstore_compaction **c);

struct docstore_stats {
	uint64_t files, file_bytes; /* on disk, headers included */
	uint64_t docs, text_bytes;  /* all that are in the files; what they are as SOIF text */
	uint64_t deleted_docs, deleted_bytes; /* of these */
};
/* As of the last checkpoint for a reader, with all that was put for the writer. */
int docstore_stats(struct docstore *ds, struct docstore_stats *ret, struct err *err);

/* Reads every block of the store up to the mark, and looks whether the table leads to each document
 * that it names. ERR_DAMAGED: err names the first that is bad. */
int docstore_verify(struct docstore *ds, const struct docstore_mark *mark, struct err *err);

/* Whether the files in a folder are as long as the mark says, without reading them. */
int docstore_check_mark(const char *folder, const struct docstore_mark *mark, struct err *err);

extern const struct format docstore_format;       /* a file of blocks */
extern const struct format docstore_table_format; /* where each document lies */
