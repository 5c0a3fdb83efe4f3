/* Documents turned into lists of their words, in memory: what a segment is written from. Terms are
 * in a hash table, each with a string of codes for its occurrences in chunks that grow. Belongs to
 * one thread at a time. */
#pragma once
#include "index/token.h"
#include "index/words/segment_write.h"

struct invert;

/* Both stay the caller's, and stay. */
struct invert *invert_new(const struct words_settings *settings, const struct token_rules *rules);
void invert_free(struct invert **inv);

/* ERR_USAGE: the document cannot be taken, nothing changed. A document with the same key is
 * dropped. */
int invert_add(struct invert *inv, const struct words_doc *doc, struct err *err);
bool invert_drop(struct invert *inv, struct str key); /* false: there is none with this key */

uint32_t invert_docs(const struct invert *inv);  /* that are not dropped */
uint64_t invert_bytes(const struct invert *inv); /* of memory in use */

/* Writes all as a segment; it must have documents. Then, or after a failure, it is empty. */
int invert_write(struct invert *inv, const char *path, bool sync, struct err *err);
void invert_clear(struct invert *inv);

/* The names of attributes as they are kept: in lower case, at most WORDS_NAME_MOST bytes. false:
 * too long. ret may be the name itself. */
bool invert_name(struct str name, char ret[WORDS_NAME_MOST + 1]);
