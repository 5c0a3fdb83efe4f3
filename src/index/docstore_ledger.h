/* Inside of the document store: the ledger, a record file that says which files there are, how much
 * of each counts, and which documents are deleted. Each record is a list of changes that count
 * together. */
#pragma once
#include "base/hash.h"
#include "base/table.h"
#include "disk/record.h"
#include "index/docstore_block.h"

enum { LEDGER_VERSION = 1 };
extern const struct record_kind ledger_kind;

static inline bool ledger_same(uint64_t a, uint64_t b)
{
	return a == b;
}
/* By address: the bytes of text of what is deleted. */
TABLE(ledger_dead, uint64_t, uint32_t, hash_u64, ledger_same)

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
	size_t files;
	struct ledger_moved *moved; /* the same */
	size_t nmoved;
	struct ledger_dead dead;
	uint32_t next; /* number of the next file; those before were given away */
};

#define LEDGER_INIT ((struct ledger){.next = 1})

/* Applies a record. ERR_DAMAGED: it cannot follow what came before. */
int ledger_apply(struct ledger *l, struct str record, const char *path, struct err *err);
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
