/* Other programs: how they are started. */
#pragma once
#include "base/base.h"

#include <sys/types.h>

enum { SPAWN_FDS = 5 };

/* Starts a program with these arguments and this environment, which end in NULL, and with no signal
 * blocked or ignored. It leads a process group, so it does not get what a terminal sends to us. fd:
 * what becomes its descriptors 0 to n - 1, at most SPAWN_FDS; -1 is /dev/null, and its standard
 * error is ours. All others are closed there. -1 and errno: it cannot be started. */
int spawn_program(const char *program, const char *const *argv, const char *const *environment,
		  const int *fd, size_t n, pid_t *ret_pid);
