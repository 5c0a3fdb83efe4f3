/* Processes of roles: their arguments and environment, fork and exec, and their end. */
#include "cmd/system/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_STARTED = 127 };

/* The functions from here to run_child() run between fork and exec: async-signal-safe calls only.
 */
static void put_pid(char *text, pid_t pid)
{
	char digits[PROC_PID_TEXT];
	size_t n = 0;
	do {
		digits[n++] = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid > 0);
	while (n > 0)
		*text++ = digits[--n];
	*text = 0;
}

static bool place_fds(const struct proc_launch *how)
{
	/* descriptors that we inherited open, and that nobody marked */
	if (close_range(PROC_FIRST_FD, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ||
	    dup2(how->null_fd, STDIN_FILENO) < 0)
		return false;
	for (size_t i = 0; i < how->nfds; i++)
		if (dup2(how->fds[i], PROC_FIRST_FD + (int)i) < 0)
			return false;
	return true;
}

static _Noreturn void run_child(const struct proc_launch *how, pid_t parent)
{
	sigset_t none;
	sigemptyset(&none);
	setpgid(0, 0);
	/* the parent may have died before the first call: then its signal never comes */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && place_fds(how)) {
		if (how->pid_text)
			put_pid(how->pid_text, getpid());
		signal(SIGPIPE, SIG_DFL);
		sigprocmask(SIG_SETMASK, &none, NULL);
		/* this program as it was started, also when its file was replaced since */
		execve("/proc/self/exe", how->argv, how->env);
	}
	_exit(EXIT_NOT_STARTED);
}

static int proc_watch(struct proc *ret, pid_t pid, struct err *err)
{
	int pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		err_sys(err, "cannot watch pid %d", (int)pid);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	*ret = (struct proc){.pid = pid, .pidfd = pidfd};
	return 0;
}

static void fds_are_safe(const int *fds, size_t n)
{
	ENSURE(n <= PROC_MOST_FDS);
	for (size_t i = 0; i < n; i++)
		ENSURE(fds[i] >= PROC_SAFE_FD);
}

int proc_start(struct proc *ret, const struct proc_launch *how, struct err *err)
{
	fds_are_safe(how->fds, how->nfds);
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		return err_sys(err, "cannot start %s", how->argv[1]);
	if (pid == 0)
		run_child(how, parent);
	setpgid(pid, pid); /* done on both sides, so that either may go on first */
	return proc_watch(ret, pid, err);
}

int proc_fork(struct proc *ret, const int *fds, size_t nfds, struct err *err)
{
	fds_are_safe(fds, nfds);
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		return err_sys(err, "cannot start a process");
	if (pid > 0)
		return proc_watch(ret, pid, err);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(EXIT_NOT_STARTED);
	for (size_t i = 0; i < nfds; i++)
		if (dup2(fds[i], PROC_FIRST_FD + (int)i) < 0)
			_exit(EXIT_NOT_STARTED);
	if (close_range(PROC_FIRST_FD + (unsigned)nfds, ~0u, 0) < 0)
		_exit(EXIT_NOT_STARTED);
	return 1;
}

void proc_signal(const struct proc *p, int sig)
{
	(void)pidfd_send_signal(p->pidfd, sig, NULL, 0);
}

void proc_kill_group(const struct proc *p)
{
	(void)kill(-p->pid, SIGKILL);
}

int proc_reap(struct proc *p, siginfo_t *ret, struct err *err)
{
	proc_kill_group(p);
	if (waitid(P_PIDFD, (id_t)p->pidfd, ret, WEXITED) < 0)
		return err_sys(err, "cannot reap pid %d", (int)p->pid);
	close(p->pidfd);
	*p = (struct proc){.pidfd = -1};
	return 0;
}

int proc_safe_fd(int *fd, struct err *err)
{
	int moved = fcntl(*fd, F_DUPFD_CLOEXEC, PROC_SAFE_FD);
	if (moved < 0)
		return err_sys(err, "no descriptor from %d on (see ulimit -n)", PROC_SAFE_FD);
	close(*fd);
	*fd = moved;
	return 0;
}

void proc_reason(const siginfo_t *info, char *ret, size_t cap)
{
	const char *name = sigabbrev_np(info->si_status);
	if (info->si_code == CLD_EXITED)
		snprintf(ret, cap, "exit code %d", info->si_status);
	else if (name)
		snprintf(ret, cap, "signal %s", name);
	else
		snprintf(ret, cap, "signal %d", info->si_status);
}

/* Ours alone: not for the children. */
static const struct str kept_back[] = {
	STR("NOTIFY_SOCKET="),  STR("LISTEN_PID="),    STR("LISTEN_FDS="),
	STR("LISTEN_FDNAMES="), STR("WATCHDOG_USEC="), STR("WATCHDOG_PID="),
};

static bool env_passes(struct str entry)
{
	if (str_starts(entry, STR("GARNER_")))
		return str_starts(entry, STR("GARNER_FAULTS="));
	for (size_t i = 0; i < ARRAY_LEN(kept_back); i++)
		if (str_starts(entry, kept_back[i]))
			return false;
	return true;
}

static char *joined_names(const struct launch_input *in, struct arena *arena)
{
	char *names = arena_text(arena, STR("LISTEN_FDNAMES="));
	for (size_t i = 0; i < in->nsockets; i++)
		names = arena_printf(arena, "%s%s%s", names, i ? ":" : "", in->socket[i]);
	return names;
}

static void add_sockets(const struct launch_input *in, struct arena *arena, struct launch *ret,
			size_t n)
{
	static const struct str pid = STR("LISTEN_PID=");
	char *entry = arena_alloc(arena, pid.n + PROC_PID_TEXT);
	memcpy(entry, pid.p, pid.n);
	ret->pid_text = entry + pid.n;
	ret->env[n++] = entry;
	ret->env[n++] = arena_printf(arena, "LISTEN_FDS=%zu", in->nsockets);
	ret->env[n] = joined_names(in, arena);
}

void launch_make(const struct launch_input *in, struct arena *arena, struct launch *ret)
{
	enum { OURS = 4 }; /* NOTIFY_SOCKET and three for the sockets */
	size_t inherited = 0, n = 0;
	while (in->env[inherited])
		inherited++;
	*ret = (struct launch){.argv = arena_array(arena, 5, sizeof *ret->argv),
			       .env = arena_array(arena, inherited + OURS + 1, sizeof *ret->env)};
	const char *const argv[] = {in->self, in->role, "-c", in->conf};
	for (size_t i = 0; i < ARRAY_LEN(argv); i++)
		ret->argv[i] = arena_text(arena, str_of(argv[i]));
	for (size_t i = 0; i < inherited; i++)
		if (env_passes(str_of(in->env[i])))
			ret->env[n++] = in->env[i];
	ret->env[n++] = arena_printf(arena, "NOTIFY_SOCKET=%s", in->notify);
	if (in->nsockets)
		add_sockets(in, arena, ret, n);
}

int proc_start_command(struct proc *ret, char *const *argv, int input_fd, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT((size_t)16 << 20);
	const struct launch_input in = {
		.self = "", .role = "", .conf = "", .env = environ, .notify = ""};
	struct launch launch;
	launch_make(&in, &arena, &launch);
	return proc_start(
		ret, &(struct proc_launch){.argv = argv, .env = launch.env, .null_fd = input_fd},
		err);
}
