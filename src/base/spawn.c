/* The start of another program. posix_spawn() because the owner may be large and may have threads.
 */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

enum { HIGH_FD = 16 }; /* above the descriptors that a program expects */

/* Copies out of the way of the descriptors that the program expects. */
static int fds_raise(const int *fd, size_t n, int ret[SPAWN_FDS])
{
	for (size_t i = 0; i < n; i++) {
		ret[i] = fd[i] < 0 ? -1 : fcntl(fd[i], F_DUPFD_CLOEXEC, HIGH_FD);
		if (fd[i] >= 0 && ret[i] < 0) {
			while (i > 0)
				if (ret[--i] >= 0)
					close(ret[i]);
			return -1;
		}
	}
	return 0;
}

static void fds_give(posix_spawn_file_actions_t *files, const int *high, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (high[i] >= 0)
			posix_spawn_file_actions_adddup2(files, high[i], (int)i);
		else if (i != STDERR_FILENO)
			posix_spawn_file_actions_addopen(files, (int)i, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_addclosefrom_np(files, MAX((int)n, STDERR_FILENO + 1));
}

int spawn_program(const char *program, const char *const *argv, const char *const *environment,
		  const int *fd, size_t n, pid_t *ret_pid)
{
	int high[SPAWN_FDS];
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	ENSURE(n <= SPAWN_FDS);
	if (fds_raise(fd, n, high) < 0)
		return -1;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	fds_give(&files, high, n);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	int failed = posix_spawn(ret_pid, program, &files, &attributes, (char *const *)argv,
				 (char *const *)environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	for (size_t i = 0; i < n; i++)
		if (high[i] >= 0)
			close(high[i]);
	errno = failed;
	return failed ? -1 : 0;
}
