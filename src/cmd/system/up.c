/* garner up: takes the locks and waits for processes that a killed predecessor left; the
 * supervisor does the rest. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/system/role_main.h"
#include "cmd/system/supervisor.h"
#include "disk/lock.h"
#include "disk/tree.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/pidfd.h>
#include <unistd.h>

/* After a supervisor was killed its roles die at once, but not in the same instant. What they still
 * hold is worth a short wait: a child between fork and exec the supervisor's lock, a role its lock
 * and the listening sockets. */
enum { GRACE_MS = 2000, PAUSE_MS = 10 };

/* Whether a process has ended, or does so within that time. */
static bool ends_within(int64_t pid, int64_t ms)
{
	int fd = pid > 0 ? pidfd_open((pid_t)pid, 0) : -1;
	if (fd < 0)
		return pid > 0 && errno == ESRCH;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n = poll(&p, 1, (int)MAX(ms, 0));
	close(fd);
	return n == 1;
}

static int take_lock(struct lock *ret, const char *path, struct err *err)
{
	for (int waited_ms = 0;; waited_ms += PAUSE_MS) {
		int64_t pid = 0;
		struct err ignored;
		int rc = lock_take(ret, path, err);
		if (rc == 0 || err->code != ERR_BUSY || waited_ms >= GRACE_MS ||
		    lock_holder(path, &pid, &ignored) < 0 || (pid && !ends_within(pid, 0)))
			return rc;
		(void)poll(NULL, 0, PAUSE_MS);
	}
}

/* For a role that somebody runs by hand it waits no longer than that. */
static int wait_for_roles(const struct up_plan *plan, const char *data, struct err *err)
{
	char path[PATH_MAX];
	int64_t end_us = clock_mono_us() + GRACE_MS * US_PER_MS, pid;
	for (size_t i = 0; i < plan->nunits; i++) {
		int rc = run_path(data, "locks", plan->unit[i].name, path, sizeof path, err);
		if (rc == 0)
			rc = lock_holder(path, &pid, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			(void)ends_within(pid, (end_us - clock_mono_us()) / US_PER_MS);
	}
	return 0;
}

/* Only the roles to be run; the others hold nothing that is needed. */
static int wait_for_listed(const struct program *program, const char *data,
			   const struct config *config, struct err *err)
{
	struct up_plan listed;
	up_plan_list(&listed, program, config);
	int rc = wait_for_roles(&listed, data, err);
	up_plan_free(&listed);
	return rc;
}

static int make_plan(struct up_plan *ret, const struct program *program, struct config **config,
		     struct err *err)
{
	for (int waited_ms = 0;; waited_ms += PAUSE_MS) {
		int rc = up_plan_make(ret, program, config, NULL, err);
		if (rc == 0 || err->code != ERR_BUSY || waited_ms >= GRACE_MS)
			return rc;
		(void)poll(NULL, 0, PAUSE_MS);
	}
}

static int run_supervisor(const struct cmd_call *call, const char *data, struct config **config,
			  struct err *err)
{
	struct supervisor s;
	struct up_plan plan;
	if (wait_for_listed(call->program, data, *config, err) < 0 ||
	    make_plan(&plan, call->program, config, err) < 0)
		return -1;
	FAULT("up.sockets.open");
	int rc = supervisor_init(&s, call, data, &plan, err);
	if (rc == 0)
		rc = supervisor_run(&s, err);
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
	tree_remove_left(data);
	int rc = run_supervisor(call, data, config, err);
	lock_free(&lock);
	return rc;
}

static int up_run(const struct cmd_call *call, struct err *err)
{
	CLEANUP(config_free) struct config *config = NULL;
	char data[PATH_MAX];
	if (cmd_config(call, &config, err) < 0)
		return -1;
	log_start("up", STDERR_FILENO);
	int rc = cmd_data_dir(config, data, sizeof data, err);
	if (rc == 0)
		rc = run_locked(call, data, &config, err);
	log_flush();
	return rc;
}

const struct command up_command = {
	.name = "up",
	.summary = "run the roles that the configuration names",
	.description = "Starts the roles in the order in which up.roles names them, each as a "
		       "process of its own, and each when the one before it is ready. A role that "
		       "ends is started again, after a delay that doubles with each failure up to "
		       "up.restart_max; the others are left alone. Listening sockets belong to "
		       "the supervisor, so that nobody is refused while a role restarts.\n\n"
		       "SIGTERM and SIGINT let the roles finish their work, in reverse order; "
		       "another one, half a second later or more, kills them. SIGHUP reads the "
		       "configuration again: roles whose settings changed are restarted, the "
		       "others are left alone; if there is an error in it, nothing changes. When "
		       "the supervisor dies its roles die with it; when the terminal that it runs "
		       "on is closed, it stops.\n\nUnder systemd it speaks sd_notify "
		       "(Type=notify).",
	CMD_EXAMPLES({"garner up", "run all roles in the foreground until Ctrl-C"},
		     {"garner up -c garner.conf -s 'up.roles=web broker'",
		      "run two roles of a configuration"},
		     {"kill -HUP $(pgrep -xo garner)", "take a changed configuration"}),
	CMD_EXITS({3, "a role did not stop in time and was killed"},
		  {5, "another garner up runs on this data directory, or an address is in use"},
		  {7, "the system refused: a folder that cannot be written, a port below 1024"}),
	.run = up_run,
};
