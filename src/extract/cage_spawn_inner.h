/* How garner-parse is started and how it ended, for all who start it. */
#pragma once
#include "base/err.h"

#include <sys/types.h>

/* spawn_program() with next to nothing of our environment. */
int cage_spawn(const char *program, const char *const *argv, const int *fd, size_t n,
	       pid_t *ret_pid, struct err *err);
/* Ends it, if it has not ended; *ret_status as of waitpid(). */
void cage_spawn_end(pid_t pid, int *ret_status);
/* "it died of SIGSEGV", of a status that waitpid() gave. */
void cage_spawn_how(int status, char *ret, size_t cap);
