/* garner with demonstration roles: the same commands, other roles. All of them are one function
 * under three names; their settings make them slow, stubborn or short-lived, as a scene wants it.
 * It also shows how small a role is. */
#include "base/clock.h"
#include "cmd/command.h"
#include "role/notify.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum fail { FAIL_NEVER, FAIL_START, FAIL_READY, FAIL_SERVED };

struct demo_conf {
	const char *listen, *greeting, *trace;
	int64_t ready_delay_us;
	int fail;
	bool ignore_term, helper;
};

static const char *const fail_words[] = {"never", "start", "ready", "served", NULL};

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct demo_conf, listen), .help = "Where it answers"},
	{"greeting", VALUE_TEXT_AT(struct demo_conf, greeting), .fallback = "hello",
	 .help = "The first word of each answer"},
	{"trace", VALUE_PATH_AT(struct demo_conf, trace),
	 .help = "A file that gets a line for each step of its life"},
	{"ready_delay", VALUE_TIME_AT(struct demo_conf, ready_delay_us), .fallback = "0s",
	 .help = "How long it takes to get ready"},
	{"fail", VALUE_WORD_AT(struct demo_conf, fail), .fallback = "never", .words = fail_words,
	 .help = "When it exits unasked: never, at its start, when ready, after each answer"},
	{"ignore_term", VALUE_BOOL_AT(struct demo_conf, ignore_term), .fallback = "no",
	 .help = "Whether it goes on when it is asked to stop"},
	{"helper", VALUE_BOOL_AT(struct demo_conf, helper), .fallback = "no",
	 .help = "Whether it has a second process"},
};

enum { ANSWERS };
static const struct counter_def counter_defs[] = {
	[ANSWERS] = {"answers", NULL, COUNTER_TOTAL, "Connections that got their answer"},
};

struct demo {
	struct role_env *env;
	const struct demo_conf *conf;
	int signal_fd, listen_fd;
};

static void trace(const struct demo *d, const char *event, int pid)
{
	if (!d->conf->trace || !*d->conf->trace)
		return;
	char line[128];
	int n = snprintf(line, sizeof line, "%s %s %d\n", d->env->name, event, pid);
	int fd = open(d->conf->trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		die("%s cannot be written", d->conf->trace);
	close(fd);
}

/* Waits for a connection or a signal. true: it was asked to stop, and obeys. */
static bool stop_within(const struct demo *d, int timeout_ms, bool *ret_connection)
{
	struct pollfd p[] = {{.fd = d->signal_fd, .events = POLLIN},
			     {.fd = ret_connection ? d->listen_fd : -1, .events = POLLIN}};
	struct signalfd_siginfo info;
	(void)poll(p, ARRAY_LEN(p), timeout_ms);
	if (ret_connection)
		*ret_connection = p[1].revents & POLLIN;
	return p[0].revents && read(d->signal_fd, &info, sizeof info) == sizeof info &&
	       !d->conf->ignore_term;
}

/* "GREETING PID", then the line that came in, and the end. */
static void answer(const struct demo *d)
{
	char line[256];
	int fd = accept4(d->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	dprintf(fd, "%s %d\n", d->conf->greeting, (int)getpid());
	ssize_t n = read(fd, line, sizeof line);
	if (n > 0 && write(fd, line, (size_t)n) == n)
		counters_add(d->env->counters, ANSWERS, 1);
	close(fd);
	if (d->conf->fail == FAIL_SERVED)
		abort();
}

static void start_helper(const struct demo *d)
{
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	trace(d, "helper", pid);
}

static int serve(const struct demo *d, struct err *err)
{
	bool connection;
	if (d->conf->fail == FAIL_START)
		return err_set(err, ERR_REMOTE, "fails at its start, as it was told");
	if (d->conf->helper)
		start_helper(d);
	if (stop_within(d, (int)(d->conf->ready_delay_us / US_PER_MS), NULL))
		return 0;
	trace(d, "ready", getpid());
	notify_send("READY=1\nSTATUS=serving");
	if (d->conf->fail == FAIL_READY)
		return 0;
	while (!stop_within(d, -1, &connection))
		if (connection)
			answer(d);
	return 0;
}

static int demo_run(struct role_env *env, struct err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	struct demo d = {.env = env,
			 .conf = config_get(env->config, env->role->section),
			 .signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
			 .listen_fd = role_fd(env, "listen")};
	if (d.signal_fd < 0)
		return err_sys(err, "signalfd");
	trace(&d, "start", getpid());
	int rc = serve(&d, err);
	trace(&d, "end", getpid());
	close(d.signal_fd);
	return rc;
}

#define DEMO(id, old, many)                                                                        \
	static const struct config_section id##_section = {                                        \
		#id, "A demonstration.", sizeof(struct demo_conf), specs, ARRAY_LEN(specs), many}; \
	static const struct role id##_role = {.name = #id,                                         \
					      .old_name = old,                                     \
					      .summary = "demonstration: answers lines",           \
					      .description = "Answers each line with itself.",     \
					      .section = &id##_section,                            \
					      .counters = counter_defs,                            \
					      .ncounters = ARRAY_LEN(counter_defs),                \
					      .run = demo_run}

DEMO(echo, true, false);
DEMO(tick, false, true);
DEMO(flaky, false, false);

int main(int argc, char **argv)
{
	static const struct role *const demo_roles[] = {&echo_role, &tick_role, &flaky_role};
	const struct program program = {commands, ncommands, demo_roles, ARRAY_LEN(demo_roles),
					formats,  nformats};
	return cmd_main(&program, argc, argv);
}
