/* Guards: memory that may fail to be there (mapped files). A SIGBUS inside a guarded range becomes
 * zeroes, which may be written to and are this process's own, and a mark; any other goes to whoever
 * handled it before. The list of guards is a global, because a signal handler has nothing else to
 * look at. */
#pragma once
#include "base/base.h"

struct guard;

struct guard *guard_new(const void *p, size_t n);
bool guard_failed(const struct guard *g); /* bytes in it could not be read */
void guard_free(struct guard **g);        /* before the memory is unmapped */
