/* The supervisor: runs the roles that the configuration names, each a process of its own. One
 * thread, one loop, no timer while nothing is due.
 * It does one step after another towards what is wanted: stops what must stop, in reverse order and
 * one at a time; then starts what is missing, in order, the next when the former is ready or has
 * failed once. Failed roles are started again by their own timers, beside all this. */
#pragma once
#include "cmd/child.h"
#include "cmd/up_plan.h"

#include <limits.h>

struct supervisor {
	const struct cmd_call *call;
	const char *data;    /* the data directory */
	char conf[PATH_MAX]; /* the configuration in force, as the roles read it */
	struct up_plan plan; /* what is wanted */
	struct counters *counters;
	struct event_base *base;
	struct event *signals, *notices;
	int signal_fd, notice_fd, null_fd;
	char notify_name[32];   /* $NOTIFY_SOCKET of the roles */
	struct child *child;    /* one per role of the program, in its order */
	bool stopping, settled; /* settled: all that was wanted has been tried */
	int64_t stopping_us;    /* monotonic; when it was asked to stop */
	bool terminal;          /* it was started on one */
	bool announced;         /* the line for people is out */
	bool killed;            /* somebody did not stop in time */
};

/* The plan is taken over. */
int supervisor_init(struct supervisor *s, const struct cmd_call *call, const char *data,
		    struct up_plan *plan, struct err *err);
/* Until TERM or INT has stopped everything. 0, or ERR_PARTLY when somebody had to be killed. */
int supervisor_run(struct supervisor *s);
void supervisor_done(struct supervisor *s);

/* Takes the next steps; after everything that has happened. */
void supervisor_advance(struct supervisor *s);
/* Reads what roles have said. */
void supervisor_hear(struct supervisor *s);
/* Writes the configuration of a plan for the roles to read. */
int supervisor_write_conf(const struct supervisor *s, const struct up_plan *plan, struct err *err);
/* Makes a new plan and takes it, or says why not and leaves all as it is. */
void supervisor_reload(struct supervisor *s);
