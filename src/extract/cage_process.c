/* The processes of the cage: memory, socket, start and end. */
#include "extract/cage_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	START_US = 30 * 1000 * 1000, /* time to get ready, also on a busy machine */
	HIGH_FD = 16,                /* above the descriptors that the worker expects */
};

int cage_memory(struct cage *c, struct cage_worker *w, struct err *err)
{
	size_t one = cage_slot_size(c->options.body_max);
	w->memory =
		(struct file){.fd = memfd_create("garner-parse", MFD_CLOEXEC | MFD_ALLOW_SEALING),
			      .path = mem_text("memory for garner-parse")};
	if (w->memory.fd < 0)
		return err_sys(err, "%s", w->memory.path);
	if (file_truncate(&w->memory, cage_memory_size(c->options.body_max), err) < 0)
		return -1;
	/* a worker that made it shorter would kill us when we look */
	if (fcntl(w->memory.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return err_sys(err, "sealing of the %s", w->memory.path);
	w->map = mmap(NULL, cage_memory_size(c->options.body_max), PROT_READ | PROT_WRITE,
		      MAP_SHARED, w->memory.fd, 0);
	if (w->map == MAP_FAILED) {
		w->map = NULL;
		return err_sys(err, "%zu bytes of %s", cage_memory_size(c->options.body_max),
			       w->memory.path);
	}
	w->progress = (const struct cage_progress *)(w->map + CAGE_SLOTS * one);
	for (unsigned i = 0; i < CAGE_SLOTS; i++) {
		w->slot[i].lent =
			(struct cage_slot){w->map + i * one + CAGE_CALL_ROOM, c->options.body_max};
		w->slot[i].worker = w;
		w->slot[i].index = i;
	}
	return 0;
}

/* Of the environment only what a test of garner itself needs: settings may hold passwords. */
static void make_environment(const char *ret[12], char *faults, size_t cap)
{
	static const char *const passed[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS",
					     "TSAN_OPTIONS", "SCENE"};
	size_t n = 0;
	ret[n++] = "LC_ALL=C";
	ret[n++] = "PATH=/usr/bin:/bin";
#ifdef GARNER_FAULTS
	const char *armed = getenv("PARSE_FAULTS");
	snprintf(faults, cap, "GARNER_FAULTS=%s", armed ? armed : "");
	ret[n++] = faults;
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		const char *value = getenv(passed[i]);
		if (value) /* getenv() points behind the name and its '=' */
			ret[n++] = value - strlen(passed[i]) - 1;
	}
#else
	(void)faults, (void)cap, (void)passed;
#endif
	ret[n] = NULL;
}

static int spawn(const struct cage *c, struct cage_worker *w, int theirs, struct err *err)
{
	char body[24], memory[24], faults[256];
	const char *environment[12];
	const char *const argv[] = {"garner-parse", "--worker", body, memory, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	snprintf(body, sizeof body, "%zu", c->options.body_max);
	snprintf(memory, sizeof memory, "%zu", c->options.memory);
	make_environment(environment, faults, sizeof faults);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, theirs, CAGE_SOCKET_FD);
	posix_spawn_file_actions_adddup2(&files, w->memory.fd, CAGE_MEMORY_FD);
	posix_spawn_file_actions_addclosefrom_np(&files, CAGE_MEMORY_FD + 1);
	posix_spawnattr_init(&attributes);
	/* a group of its own: what a terminal sends to us is not for it */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	errno = posix_spawn(&w->pid, c->program, &files, &attributes, (char *const *)argv,
			    (char *const *)environment);
	int rc = errno ? err_sys(err, "%s cannot be started", c->program) : 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* Both descriptors out of the way of those that the worker expects. */
static int raise_fd(int *fd)
{
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high < 0)
		return -1;
	close(*fd);
	*fd = high;
	return 0;
}

int cage_start(struct cage *c, struct cage_worker *w, int64_t now_us, struct err *err)
{
	int pair[2];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_sys(err, "a socket for garner-parse");
	w->fd = pair[0];
	if (raise_fd(&pair[1]) < 0 || (w->memory.fd < HIGH_FD && raise_fd(&w->memory.fd) < 0) ||
	    fcntl(w->fd, F_SETFL, O_NONBLOCK) != 0 ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, w->fd, &event) != 0) {
		err_sys(err, "a socket for garner-parse");
		close(pair[1]);
		goto failed;
	}
	int rc = spawn(c, w, pair[1], err);
	close(pair[1]);
	if (rc < 0)
		goto failed;
	if (clock_getcpuclockid(w->pid, &w->clock) != 0)
		w->clock = CLOCK_MONOTONIC;
	w->state = WORKER_STARTS;
	w->since_us = now_us;
	w->due_us = now_us + START_US;
	c->stats.started++;
	return 0;
failed:
	close(w->fd);
	w->fd = -1;
	return -1;
}

void cage_stop(struct cage_worker *w, char *ret_how, size_t cap)
{
	int status = 0;
	if (w->fd < 0) {
		snprintf(ret_how, cap, "it was not running");
		return;
	}
	close(w->fd);
	w->fd = -1;
	kill(w->pid, SIGKILL); /* of one that has ended nothing changes */
	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	w->state = WORKER_NONE;
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (number == SIGSYS)
		snprintf(ret_how, cap, "it did what it must not, and was ended (SIGSYS)");
	else if (number)
		snprintf(ret_how, cap, "it died of SIG%s", sigabbrev_np(number));
	else
		snprintf(ret_how, cap, "it ended with status %d", WEXITSTATUS(status));
}

int64_t cage_cpu_us(const struct cage_worker *w)
{
	struct timespec t;
	if (clock_gettime(w->clock, &t) != 0)
		return w->cpu_us;
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
