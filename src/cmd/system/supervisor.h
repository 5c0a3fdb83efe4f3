/* The supervisor: runs the roles that the configuration names, each a process of its own. One
 * thread, one loop, no timer while nothing is due.
 * It does one step after another towards what is wanted: stops what must stop, in reverse order and
 * one at a time; then starts what is missing, in order, the next when the former is ready or has
 * failed once. Failed roles are started again by their own timers, whatever else goes on. */
#pragma once
#include "cmd/system/proc.h"
#include "cmd/system/up_plan.h"
#include "net/loop.h"
#include "role/counters.h"

#include <limits.h>

/* One role under the supervisor: its process and its state. */
/* The numbers are what the counter role_state shows. */
enum child_state {
	CHILD_STOPPED = 0,
	CHILD_STARTING = 1, /* has not said that it is ready */
	CHILD_READY = 2,
	CHILD_WAITING = 3, /* failed; starts again when its timer ends */
	CHILD_STOPPING = 4,
};

struct child {
	struct supervisor *up;
	const struct role *role;
	char name[COUNTERS_INSTANCE_MAX]; /* the role's, or "bot@2" */
	size_t index;                     /* of its counters */
	struct proc proc;
	enum child_state state;
	bool wanted;       /* shall run */
	bool stale;        /* runs with settings that are no longer in force */
	bool tried;        /* was ready or failed once since it is wanted: the next may start */
	unsigned failures; /* in a row */
	uint64_t restarts;
	int64_t since_s;              /* wall clock; when it entered the state */
	int64_t started_us, ready_us; /* monotonic; ready_us 0: not yet */
	struct loop_io ended;
	struct loop_timer timer;
};

struct supervisor {
	const struct cmd_call *call;
	const char *data;    /* the data directory */
	char conf[PATH_MAX]; /* the configuration in force, as the roles read it */
	struct up_plan plan; /* what is wanted */
	struct counters *counters;
	struct loop *loop;
	struct loop_io notices;
	int notice_fd, null_fd;
	char notify_name[32]; /* $NOTIFY_SOCKET of the roles */
	struct child **child; /* one per unit of all plans that there were */
	size_t nchildren, child_room;
	uint64_t reloads[2];    /* taken, refused */
	bool stopping, settled; /* settled: all that was wanted has been tried */
	int64_t stopping_us;    /* monotonic; when it was asked to stop */
	bool terminal;          /* it was started on one */
	bool announced;         /* the line for people is out */
	bool killed;            /* somebody did not stop in time */
};

/* The plan is taken over. */
int supervisor_init(struct supervisor *s, const struct cmd_call *call, const char *data,
		    struct up_plan *plan, struct err *err);
/* Runs until TERM or INT has stopped everything. Returns ERR_PARTLY if a role had to be killed. */
int supervisor_run(struct supervisor *s, struct err *err);
void supervisor_done(struct supervisor *s);
