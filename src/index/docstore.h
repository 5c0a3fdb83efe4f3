/* The document store: documents as SOIF in compressed blocks, and the only copy of their text
 * outside buckets and cache files. A document is read by the address that putting it gave; which
 * addresses there are, somebody else remembers (the words index, the registry).
 *
 * A folder belongs to the store. One process writes (a lock says which), any number of processes
 * read by mmap, also while it is written, and see what was synced. Blocks are only ever appended,
 * and carry a checksum that is verified before they are decompressed. What a killed writer had put
 * since its last sync is cut off when the next one opens. Layout: doc/formats/docstore.md. */
#pragma once
#include "disk/format.h"
#include "soif/soif.h"

/* What to do when a file of documents or of a words index is damaged, for struct format. */
#define INDEX_REMEDY "stop the broker and remove its folder words: all is collected again"

enum {
	DOCSTORE_BLOCK = 36 << 10,    /* bytes of text after which a block is closed */
	DOCSTORE_DOC_MOST = 64 << 20, /* bytes of one document as SOIF text */
};

/* Where a document lies; opaque, fits in 64 bits wherever somebody keeps it. 0: nowhere. An address
 * that was synced is never used for another document, also not after compaction. */
struct docaddr {
	uint64_t v;
};

struct docstore;

/* Opening. */

/* Makes the folder if it is not there. *ret_cut, where not NULL: bytes that a killed writer had not
 * synced and that were cut off; worth a line in the log. ERR_BUSY: another process writes. */
int docstore_open(struct docstore **ret, const char *folder, uint64_t *ret_cut, struct err *err);
/* To read only. 1: there is no store in this folder. */
int docstore_open_read(struct docstore **ret, const char *folder, struct err *err);
/* Without syncing: what was put since the last sync is given up. */
void docstore_close(struct docstore **ds);

/* Reading: any number of threads at once, also while one writes. */

/* 0: *ret is the document, all in the arena. 1: it is not there: deleted, given up or never put.
 * ERR_DAMAGED: its block does not pass its checksum, or cannot be read any more. An address from
 * before a compaction works until docstore_forget_moved(). A reader looks by itself whether the
 * writer has synced more. */
int docstore_get(struct docstore *ds, struct docaddr addr, struct arena *arena, struct soif *ret,
		 struct err *err);

/* Part of a document as SOIF text, for one that is too large to be held. */
struct docstore_part {
	uint64_t from;    /* which bytes of the text */
	size_t most;      /* fewer only where it ends */
	uint64_t checked; /* 0 at first: its checksum is verified once, not with every part */
};
/* 0: *ret is the part, in the arena. 1 and ERR_DAMAGED as above. Costs at most 128 KiB more than
 * the part in memory, if the document was put by this version. */
int docstore_read_part(struct docstore *ds, struct docaddr addr, struct docstore_part *part,
		       struct arena *arena, struct str *ret, struct err *err);

/* Writing: one thread at a time. */

/* Appends. The document can be read here at once, by others after docstore_sync(). ERR_USAGE: it
 * cannot be written as SOIF, or is larger than DOCSTORE_DOC_MOST; nothing changed. Any other
 * failure: all that was put since the last sync is given up, and nothing more is taken until
 * docstore_sync() has said so as well. */
int docstore_put(struct docstore *ds, const struct soif *obj, struct docaddr *ret, struct err *err);
/* Marks a document as deleted; durable with the next sync. Its space comes back by compaction. 1:
 * it is not there. */
int docstore_delete(struct docstore *ds, struct docaddr addr, struct err *err);
/* All that was put and deleted is durable and visible to readers. Negative: it is not, the
 * documents put since the last sync are given up (their addresses are void), the deletes count as
 * not made, and the store takes new ones. */
int docstore_sync(struct docstore *ds, struct err *err);
/* Tells of every document that is not deleted, in the order of their addresses, and reads every
 * block for it. What was put before is synced by it. What is not 0 stops it and is returned; fn
 * changes nothing in the store. */
typedef int docstore_doc_fn(void *ctx, struct docaddr addr, struct err *err);
int docstore_each(struct docstore *ds, docstore_doc_fn *fn, void *ctx, struct err *err);

/* Compaction: the living documents of files in which at least `percent` of the text is deleted are
 * copied to new files, which take the place of the old ones in one durable step: killed at any
 * point, the old or the new files stand. What was put before is synced by it. 1: there was nothing
 * to do. ERR_USAGE: what the last one moved has not been forgotten yet. */
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
/* Where a document lies now: another address only if compaction moved it. */
int docstore_now(struct docstore *ds, struct docaddr addr, struct docaddr *ret, struct err *err);
/* Tells of every document that moved, in the order of old addresses; also after a restart, so that
 * those who remember addresses can be told again. What is not 0 stops it and is returned. In any
 * thread, as long as nobody forgets. */
typedef int docstore_moved_fn(void *ctx, struct docaddr from, struct docaddr to, struct err *err);
int docstore_each_moved(struct docstore *ds, docstore_moved_fn *fn, void *ctx, struct err *err);
/* Nobody has old addresses any more; durable. 1: there were none. */
int docstore_forget_moved(struct docstore *ds, struct err *err);

struct docstore_stats {
	uint64_t files, file_bytes; /* on disk, headers included */
	uint64_t docs, text_bytes;  /* all that are in the files; what they are as SOIF text */
	uint64_t deleted_docs, deleted_bytes; /* of these */
	uint64_t moved_docs;                  /* that have an old address as well */
};
/* As of the last sync for a reader, with all that was put for the writer. */
int docstore_stats(struct docstore *ds, struct docstore_stats *ret, struct err *err);

/* Reads every block of the store. ERR_DAMAGED: err names the first bad one. */
int docstore_verify(struct docstore *ds, struct err *err);

extern const struct format docstore_format;        /* a file of blocks */
extern const struct format docstore_ledger_format; /* which files there are, and how long */
extern const struct format docstore_moved_format;  /* old and new addresses */
