/* Gives back the space of deleted documents: compacts the document store and tells the words index
 * where its documents lie now. Killed at any point, both can be read: old addresses lead to a
 * document until they are forgotten. Whoever calls has nothing uncommitted in either. */
#pragma once
#include "index/words.h"

/* Whether there is something to do: much is deleted, or old addresses are to be forgotten. */
int compact_wanted(struct docstore *docs, bool *ret, struct err *err);
/* Copies what lives in files of which at least `percent` is deleted, and readdresses the index. 1:
 * there are no such files. Old addresses stay good for readers of older snapshots until
 * compact_forget(). */
int compact_run(struct docstore *docs, struct words_writer *words, unsigned percent,
		struct err *err);
/* The index knows only new addresses, so the old ones go. readdressed: compact_run() of this
 * process has told it; else it is told again, since the process that did or should may have been
 * killed. 1: there were none. */
int compact_forget(struct docstore *docs, struct words_writer *words, bool readdressed,
		   struct err *err);

enum { COMPACT_PERCENT = 25, COMPACT_LEAST = 16 << 20 /* bytes of text that are deleted */ };
