/* What unit programs share: cmocka with what it wants included before, promises that are broken on
 * purpose, dice that fall the same way in every run. */
#pragma once
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs fn in a child; true if it ended by abort(), as die() and ENSURE() do. */
static inline bool dies(void (*fn)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		signal(SIGABRT, SIG_DFL); /* cmocka catches it */
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		fn();
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static inline uint64_t dice(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#define assert_str(s, z)                                                             \
	do {                                                                         \
		struct str got = (s);                                                \
		if (!str_is(got, z))                                                 \
			fail_msg("got '" STR_FMT "', want '%s'", STR_ARG(got), (z)); \
	} while (0)
