/* The start of a worker. posix_spawn() because the owner may be large and may have threads. */
#include "extract/cage_spawn_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HIGH_FD = 16 }; /* above the descriptors that a worker expects */

/* Nothing of our own environment, which may hold passwords; in test builds what tests need. */
static void worker_environment(const char *ret[12])
{
	size_t n = 0;
	ret[n++] = "LC_ALL=C";
	ret[n++] = "PATH=/usr/bin:/bin";
#ifdef GARNER_FAULTS
	static const char *const passed[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS",
					     "TSAN_OPTIONS", "SCENE",         "PARSE_TRICK"};
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		const char *value = getenv(passed[i]);
		if (value) /* getenv() points past the name and its '=' */
			ret[n++] = value - strlen(passed[i]) - 1;
	}
#endif
	ret[n] = NULL;
}

/* Copies out of the way of the descriptors that the worker expects. */
static int fds_raise(const int *fd, size_t n, int ret[CAGE_SPAWN_FDS])
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

int cage_spawn(const char *program, const char *const *argv, const int *fd, size_t n,
	       pid_t *ret_pid, struct err *err)
{
	const char *environment[12];
	int high[CAGE_SPAWN_FDS];
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	ENSURE(n <= CAGE_SPAWN_FDS);
	if (fds_raise(fd, n, high) < 0)
		return err_sys(err, "descriptors for garner-parse");
	worker_environment(environment);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	fds_give(&files, high, n);
	posix_spawnattr_init(&attributes);
	/* a group of its own: what a terminal sends to us is not for it */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	errno = posix_spawn(ret_pid, program, &files, &attributes, (char *const *)argv,
			    (char *const *)environment);
	int rc = errno ? err_sys(err, "%s cannot be started", program) : 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	for (size_t i = 0; i < n; i++)
		if (high[i] >= 0)
			close(high[i]);
	return rc;
}

void cage_spawn_end(pid_t pid, int *ret_status)
{
	*ret_status = 0;
	kill(pid, SIGKILL); /* does nothing to one that has ended */
	(void)UNINTERRUPTED(waitpid(pid, ret_status, 0));
}

void cage_spawn_how(int status, char *ret, size_t cap)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (number == SIGSYS)
		snprintf(ret, cap, "it made a forbidden system call, and was ended (SIGSYS)");
	else if (number)
		snprintf(ret, cap, "it died of SIG%s", sigabbrev_np(number));
	else
		snprintf(ret, cap, "it ended with status %d", WEXITSTATUS(status));
}
