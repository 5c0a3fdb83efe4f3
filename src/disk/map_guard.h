/* Guards of mapped files, whose bytes may fail to be there: the disk fails, or somebody cuts the
 * file. A SIGBUS inside a guarded range becomes zeroes, which may be written to and are this
 * process's own, and a mark; any other goes to the handler that was there before. The list of
 * guards is a global, because a signal handler has nothing else to look at. */
#pragma once
#include "base/base.h"

struct map_guard;

struct map_guard *map_guard_new(const void *p, size_t n);
bool map_guard_failed(const struct map_guard *g); /* bytes in it could not be read */
void map_guard_free(struct map_guard **g);        /* before the memory is unmapped */
