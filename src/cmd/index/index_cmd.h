/* Inside of `garner index`: a folder with a words index and its documents, and the commands on it.
 */
#pragma once
#include "cmd/command.h"
#include "index/docstore.h"
#include "index/words.h"

/* "words" and "docs" in a folder, as the broker keeps them. In a buffer of PATH_MAX. */
void index_path(const char *folder, const char *name, char *ret);
/* Both to read; *ret_docs is NULL where no documents are kept. Negative also where there is no
 * index. */
int index_open(const char *folder, struct words_reader **ret, struct docstore **ret_docs,
	       struct err *err);

/* Of commands that only read an index. */
#define INDEX_EXITS                                                  \
	{ERR_DAMAGED, "the index is damaged or of another version"}, \
	{                                                            \
		ERR_SYSTEM, "the index cannot be read"               \
	}

/* Facets for people; nothing where none were asked for. */
void index_put_facets(struct buf *out, const struct hits *hits);

extern const struct command index_build_command, index_query_command, index_stats_command,
	index_check_command, index_dump_command, index_suggest_command, index_names_command,
	index_names_query_command;
