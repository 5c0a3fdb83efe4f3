/* Processes of roles: fork and exec of this very program; each leads a process group of its own.
 * Fork alone is for sessions, which are small and many, and stay in their parent's group. All die
 * with their parent, even when that was killed. Not thread-safe: the
 * supervisor has one thread. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

#include <signal.h>
#include <sys/types.h>

enum {
	PROC_FIRST_FD = 3,
	PROC_MOST_FDS = 64,                          /* that can be handed down to one process */
	PROC_SAFE_FD = PROC_FIRST_FD + PROC_MOST_FDS /* descriptors to hand down lie from here on */
};

struct proc {
	pid_t pid; /* 0: there is none */
	int pidfd; /* readable when it has ended */
};

struct proc_launch {
	char *const *argv;
	char *const *env;
	char *pid_text; /* the digits of LISTEN_PID inside env, room for PROC_PID_TEXT; NULL: none
			 */
	int null_fd;    /* becomes standard input */
	const int *fds; /* become PROC_FIRST_FD and following */
	size_t nfds;
};

#define PROC_PID_TEXT 12

int proc_start(struct proc *ret, const struct proc_launch *how, struct err *err);
/* fork alone. 0: in the parent. 1: in the child, which ends by _exit(); `fds` have become
 * PROC_FIRST_FD and following, and all other descriptors from there on are closed. Of a process
 * that has one thread. */
int proc_fork(struct proc *ret, const int *fds, size_t nfds, struct err *err);
void proc_signal(const struct proc *p, int sig); /* to the main process alone */
void proc_kill_group(const struct proc *p);
/* Of one that has ended: first kills what is left of its group, as long as the unreaped main
 * process keeps the group's number from being given to strangers. */
int proc_reap(struct proc *p, siginfo_t *ret, struct err *err);

/* Moves a descriptor out of the way of those that proc_start() gives its child. */
int proc_safe_fd(int *fd, struct err *err);
/* "exit code 3", "signal SEGV". */
void proc_reason(const siginfo_t *info, char *ret, size_t cap);

/* Arguments and environment of a role's process. */
struct launch {
	char **argv; /* both end in NULL */
	char **env;
	char *pid_text; /* inside env: where the child writes its pid; NULL when it has no sockets
			 */
};

struct launch_input {
	const char *self, *role, *conf; /* argv[0]; the role's name; the file with its settings */
	char *const *env;               /* ours; ends in NULL */
	const char *notify;             /* the form of $NOTIFY_SOCKET */
	const char *const *socket;      /* names of the sockets that it gets */
	size_t nsockets;
};

/* Everything lives in the arena. Settings in the environment (GARNER_...) are left out, because
 * they are in the file already and would win over it after a reload; GARNER_FAULTS is not a setting
 * and stays. So are the variables of systemd that were meant for us. */
void launch_make(const struct launch_input *in, struct arena *arena, struct launch *ret);
/* This program with these arguments, such an environment and its standard input; argv[0] is for ps.
 */
int proc_start_command(struct proc *ret, char *const *argv, int input_fd, struct err *err);
