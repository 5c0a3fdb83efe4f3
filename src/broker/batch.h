/* The collector's batch: what it did since the last commit of the words index, so that a
 * killed collector leaves nothing behind in the document store. For each document that was put or
 * went away: its URL, the new address and the old one. It is durable before the index is committed
 * and emptied after; what stands in it at a start is settled: of two addresses the one that the
 * index does not name is deleted. Layout: doc/formats/batch.md. */
#pragma once
#include "base/buf.h"
#include "disk/format.h"
#include "disk/record.h"
#include "index/docstore.h"

struct batch_entry {
	struct str url;
	struct docaddr now, before; /* 0: none */
};
void batch_write(const struct batch_entry *e, struct buf *out);
int batch_read(struct str payload, struct batch_entry *ret, struct err *err);

/* What a killed collector left: of each document's addresses those go that the index does not name,
 * and the batch is emptied. */
struct words_reader;
int batch_settle(const char *path, struct record_writer *batch, struct docstore *docs,
		 struct words_reader *index, struct err *err);
/* Deletes a document. One that nobody can read any more, because its block is damaged, cannot be
 * deleted either; that is not a reason to stop. */
int batch_drop(struct docstore *docs, struct docaddr addr, struct err *err);

extern const struct record_kind batch_kind;
extern const struct format batch_format;
