/* The start and the end of a worker. */
#include "extract/cage_spawn_inner.h"

#include "base/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

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

int cage_spawn(const char *program, const char *const *argv, const int *fd, size_t n,
	       pid_t *ret_pid, struct err *err)
{
	const char *environment[12];
	worker_environment(environment);
	if (spawn_program(program, argv, environment, fd, n, ret_pid) < 0)
		return err_sys(err, "%s cannot be started", program);
	return 0;
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
