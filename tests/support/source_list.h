/* The smallest source there can be, a list in memory, for the tests of what follows sources.
 * store: struct source_list *, which outlives its sources. Not thread-safe. */
#pragma once
#include "soif/source.h"

struct source_list;
extern const struct source_ops source_list_ops;
struct source_list *source_list_new(void);
void source_list_add(struct source_list *list, const struct source_change *change); /* copied */
void source_list_free(struct source_list **list);
