/* Inside of the document store: the end of one file of blocks, where documents are added. Nothing
 * that is added here counts before a ledger says so. */
#pragma once
#include "index/docstore_ledger.h"

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
/* Goes on at the end of one; bytes behind it are overwritten. 1: the file is shorter than that, or
 * is not there, or is another: it is left alone. */
int appender_resume(struct appender *a, const char *folder, const struct ledger_file *is,
		    struct err *err);
bool appender_open(const struct appender *a);
/* No more blocks: another file is to be begun. */
bool appender_full(const struct appender *a);

/* Whether the block has to be written before this many bytes can be added. */
bool appender_must_write(const struct appender *a, size_t n);
/* Writes the block, which stays as it is for those who read it, until appender_wrote(). */
int appender_write(struct appender *a, struct err *err);
void appender_wrote(struct appender *a);
/* Adds to the block. */
struct docaddr appender_add(struct appender *a, struct str text);
/* What was written is on disk. */
int appender_sync(struct appender *a, struct err *err);
/* Both of the above, for whoever has no readers. */
int appender_put(struct appender *a, struct str text, struct docaddr *ret, struct err *err);
int appender_finish(struct appender *a, struct err *err);
void appender_drop(struct appender *a); /* closes the file; what is in the block is forgotten */
void appender_free(struct appender *a); /* all of it */
