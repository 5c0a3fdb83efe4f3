/* The document store: documents as SOIF in compressed blocks, and the only copy of their text
 * outside buckets and cache files. Each document has a number, the oid, which the caller of
 * docstore_put() chooses: higher than all before, and never used again. The store does not know
 * what is committed: the caller commits the mark that docstore_sync() returns together with its
 * own data (the registry, the manifest of a words index). The next opening for writing truncates
 * everything beyond the last committed mark.
 *
 * The store owns its folder. One process writes, under a lock; any number of processes read by
 * mmap at the same time. Blocks are only appended, and each has a checksum that is verified before
 * it is decompressed. A mapped table holds the place of each document; compaction moves documents
 * and updates only the table. A lost table is rebuilt from the blocks.
 * Layout: doc/formats/docstore.md. */
#pragma once
#include "disk/format.h"
#include "soif/soif.h"

/* How to repair damaged documents or a damaged registry; for struct format. */
#define DOCSTORE_REMEDY                                                                  \
	"stop the broker and remove registry*, docs and words from its folder, but not " \
	"Collection.conf: the crawl is told again at the start, and gatherers are asked for all"

enum {
	DOCSTORE_BLOCK = 36 << 10,    /* bytes of text after which a block is closed */
	DOCSTORE_DOC_MOST = 64 << 20, /* bytes of one document as SOIF text */
};
#define DOCSTORE_OID_MOST UINT32_MAX /* oids are 1 to this */

/* The end of the committed data: a file and a length in it. {0}: nothing is committed. */
struct docstore_mark {
	uint32_t file;
	uint64_t length;
};

struct docstore;

/* Opening. */

struct docstore_opened {
	uint64_t cut; /* uncommitted bytes that were truncated; worth a line in the log */
	bool remade;  /* the table was lost and rebuilt: deleted documents may be back, so the
			 caller deletes those it does not know (docstore_each) */
};
/* Creates the folder if needed and truncates everything beyond the mark; NULL is {0}. ret_is may be
 * NULL. ERR_BUSY: another process writes. ERR_DAMAGED: the files are shorter than the mark. */
int docstore_open(struct docstore **ret, const char *folder, const struct docstore_mark *mark,
		  struct docstore_opened *ret_is, struct err *err);
/* Opens for reading only. 1: there is no store in this folder. */
int docstore_open_read(struct docstore **ret, const char *folder, struct err *err);
/* Does not sync: documents put since the last committed mark are lost. */
void docstore_close(struct docstore **ds);

/* Reading: any number of threads at once, also while one writes. */

/* 0: *ret is the document, all in the arena. 1: no such document: deleted, lost or never put.
 * ERR_DAMAGED: its block has a wrong checksum or cannot be read. Readers see everything that was
 * synced, and perhaps more. */
int docstore_get(struct docstore *ds, uint64_t oid, struct arena *arena, struct soif *ret,
		 struct err *err);

/* The same, but only if the text has at most `most` bytes. DOCSTORE_LARGER: it has more; little
 * more than `most` was read. */
enum { DOCSTORE_LARGER = 2 };
int docstore_get_most(struct docstore *ds, uint64_t oid, size_t most, struct arena *arena,
		      struct soif *ret, struct err *err);

/* The same as a query_text_fn of query.h: ctx is the store. */
int docstore_text(void *ctx, uint64_t oid, struct arena *arena, struct soif *ret, struct err *err);

/* Part of a document as SOIF text, for documents too large to hold in memory. */
struct docstore_part {
	uint64_t from;    /* which bytes of the text */
	size_t most;      /* fewer only where it ends */
	uint64_t checked; /* 0 at first: its checksum is verified once, not with every part */
};
/* 0: *ret is the part, in the arena. 1 and ERR_DAMAGED as above. Costs at most 128 KiB more than
 * the part in memory. */
int docstore_read_part(struct docstore *ds, uint64_t oid, struct docstore_part *part,
		       struct arena *arena, struct str *ret, struct err *err);

/* Reads many documents in a row, as SOIF text and without copies: the last block stays unpacked, so
 * that its other documents cost nothing. The store must be open for reading and must outlive the
 * cursor. For one thread. A document that was found stays readable to its end, even if it is
 * deleted or moved meanwhile. */
enum { DOCSTORE_CURSOR_PART = 128 << 10 };
struct docstore_cursor;
struct docstore_cursor *docstore_cursor_new(struct docstore *ds);
void docstore_cursor_free(struct docstore_cursor **c);
/* Moves to a document. *ret_n: bytes of its text. 1 and ERR_DAMAGED as docstore_get(). */
int docstore_cursor_find(struct docstore_cursor *c, uint64_t oid, size_t *ret_n, struct err *err);
/* Returns its text from a byte on: DOCSTORE_CURSOR_PART bytes or more, fewer only at its end. Valid
 * until the next call. */
int docstore_cursor_text(struct docstore_cursor *c, size_t from, struct str *ret, struct err *err);

/* Writing: one thread at a time. */

/* Appends a document. This process can read it at once, others after docstore_sync(). ERR_USAGE: it
 * cannot be written as SOIF, is larger than DOCSTORE_DOC_MOST, or the oid is not higher than all
 * before; nothing changed. Any other failure: all documents put since the last sync are lost, and
 * docstore_put() fails until docstore_sync() has reported the failure too. */
int docstore_put(struct docstore *ds, uint64_t oid, const struct soif *obj, struct err *err);
/* Deletes a document that no committed state uses. Compaction frees its space. The deletion is
 * durable after docstore_checkpoint(); after a crash before that the document may be back, and the
 * caller deletes it again. 1: no such document. */
int docstore_delete(struct docstore *ds, uint64_t oid, struct err *err);
/* Makes all documents durable; the caller commits *ret. Negative: the documents put since the last
 * sync are lost, and the store accepts new ones. */
int docstore_sync(struct docstore *ds, struct docstore_mark *ret, struct err *err);
/* Makes the table durable, with all deletions: the next start need not read the blocks up to here.
 * docstore_sync() does this by itself when much has been added. */
int docstore_checkpoint(struct docstore *ds, struct err *err);
/* Calls fn for every document in the order of oids, from this one on. A result other than 0 stops
 * it and is returned. fn may delete documents. */
typedef int docstore_doc_fn(void *ctx, uint64_t oid, struct err *err);
int docstore_each(struct docstore *ds, uint64_t from, docstore_doc_fn *fn, void *ctx,
		  struct err *err);

/* Compacts files in which at least `percent` of the text is deleted: copies the other documents to
 * new files, updates the table and removes the old files. After a kill at any point each document
 * is in an old or a new file, and the next start finishes the work. Files with documents beyond the
 * last sync stay; the caller must have committed the mark of that sync. 1: there was nothing to do.
 */
int docstore_compact(struct docstore *ds, unsigned percent, struct err *err);
/* The same in three steps, for a caller that must go on writing: the writing thread calls begin and
 * end, any thread copy. Documents deleted in between stay deleted. */
struct docstore_compaction;
int docstore_compact_begin(struct docstore *ds, unsigned percent, struct docstore_compaction **ret,
			   struct err *err); /* 1 as above */
/* 1: docstore_compact_stop() was called, from any thread. */
int docstore_compact_copy(struct docstore_compaction *c, struct err *err);
void docstore_compact_stop(struct docstore_compaction *c);
/* Replaces the old files by the new ones. Call it only after copy has succeeded. */
int docstore_compact_end(struct docstore_compaction *c, struct err *err);
/* For the writing thread, before or after end, but not during copy. Without end no new files stay.
 */
void docstore_compact_free(struct docstore_compaction **c);

struct docstore_stats {
	uint64_t files, file_bytes; /* on disk, headers included */
	uint64_t docs, text_bytes;  /* all that are in the files; what they are as SOIF text */
	uint64_t deleted_docs, deleted_bytes; /* of these */
};
/* A reader sees the last checkpoint, the writer everything that was put. */
int docstore_stats(struct docstore *ds, struct docstore_stats *ret, struct err *err);

/* Reads every block up to the mark and checks that the table leads to every document it lists.
 * ERR_DAMAGED: err names the first bad one. */
int docstore_verify(struct docstore *ds, const struct docstore_mark *mark, struct err *err);

/* Checks that the files in a folder are as long as the mark says, without reading them. */
int docstore_check_mark(const char *folder, const struct docstore_mark *mark, struct err *err);

extern const struct format docstore_format;       /* a file of blocks */
extern const struct format docstore_table_format; /* where each document lies */
