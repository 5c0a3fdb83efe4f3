#include "base/fault.h"
#include "base/lock.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/run.h"
#include "cmd/supervisor.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/pidfd.h>
#include <unistd.h>

static bool is_dead(int64_t pid)
{
	int fd = pid > 0 ? pidfd_open((pid_t)pid, 0) : -1;
	if (fd < 0)
		return pid > 0 && errno == ESRCH;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n = poll(&p, 1, 0);
	close(fd);
	return n == 1;
}

/* A supervisor that was killed between fork and exec leaves its lock for a moment to a child that
 * is about to die. That alone is worth waiting for. */
static int take_lock(struct lock *ret, const char *path, struct err *err)
{
	enum { TRIES = 200, WAIT_MS = 10 };
	for (int i = 0;; i++) {
		int64_t pid = 0;
		struct err ignored;
		int rc = lock_take(ret, path, "garner up", err);
		if (rc == 0 || err->code != ERR_BUSY || i == TRIES ||
		    lock_holder(path, &pid, &ignored) < 0 || (pid && !is_dead(pid)))
			return rc;
		(void)poll(NULL, 0, WAIT_MS);
	}
}

static int supervise(const struct cmd_call *call, const char *data, struct config **config,
		     struct err *err)
{
	struct supervisor s;
	struct up_plan plan;
	if (up_plan_make(&plan, call->program, config, NULL, err) < 0)
		return -1;
	FAULT("up.sockets.open");
	int rc = supervisor_init(&s, call, data, &plan, err);
	if (rc == 0)
		rc = supervisor_run(&s);
	supervisor_done(&s);
	return rc;
}

static int run_locked(const struct cmd_call *call, const char *data, struct config **config,
		      struct err *err)
{
	char path[PATH_MAX];
	struct lock lock;
	if (run_dirs_make(data, err) < 0 ||
	    run_path(data, "locks", "up", path, sizeof path, err) < 0 ||
	    take_lock(&lock, path, err) < 0)
		return -1;
	FAULT("up.locked");
	int rc = supervise(call, data, config, err);
	lock_free(&lock);
	return rc;
}

static int up_run(const struct cmd_call *call)
{
	struct config *config;
	struct err err;
	char data[PATH_MAX];
	int rc = cmd_config(call, &config);
	if (rc)
		return rc;
	log_start("up", STDERR_FILENO);
	rc = cmd_data_dir(config, data, sizeof data, &err);
	if (rc == 0)
		rc = run_locked(call, data, &config, &err);
	if (rc < 0)
		rc = cmd_fail(call, &err);
	log_flush();
	config_free(&config);
	return rc;
}

static const struct cmd_example examples[] = {
	{"garner up", "run all roles in the foreground until Ctrl-C"},
	{"garner up -c garner.conf -s 'up.roles=web broker'", "run two roles of a configuration"},
	{"kill -HUP $(pgrep -xo garner)", "take a changed configuration"},
};

static const struct cmd_exit exits[] = {
	{3, "a role did not stop in time and was killed"},
	{5, "another garner up runs on this data directory"},
	{7, "the system refused: an address in use, a folder that cannot be written"},
};

const struct command up_command = {
	.name = "up",
	.summary = "run the roles that the configuration names",
	.description =
		"Starts the roles in the order in which up.roles names them, each as a process of "
		"its "
		"own, the next when the former is ready. A role that ends is started again, after "
		"a "
		"delay that doubles with each failure up to up.restart_max; the others are left "
		"alone. Listening sockets belong to the supervisor, so that nobody is refused "
		"while "
		"a role restarts.\n\n"
		"SIGTERM and SIGINT let the roles finish their work, in reverse order; the same "
		"signal again kills them. SIGHUP reads the configuration again: roles whose "
		"settings "
		"changed are restarted, the others are left alone; with an error in it nothing "
		"changes. When the supervisor dies its roles die with it.\n\n"
		"Under systemd it speaks sd_notify (Type=notify).",
	.examples = examples,
	.nexamples = ARRAY_LEN(examples),
	.exits = exits,
	.nexits = ARRAY_LEN(exits),
	.run = up_run,
};
