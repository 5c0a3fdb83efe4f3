/* One role under the supervisor: its process and its state. */
#pragma once
#include "cmd/proc.h"
#include "role/counters.h"
#include "role/role.h"

#include <event2/event.h>

/* The numbers are what the counter role_state shows. */
enum child_state {
	CHILD_STOPPED = 0,
	CHILD_STARTING = 1, /* has not said that it is ready */
	CHILD_READY = 2,
	CHILD_WAITING = 3, /* failed; starts again when its timer ends */
	CHILD_STOPPING = 4,
};

struct supervisor;
struct child {
	struct supervisor *up;
	const struct role *role;
	size_t index; /* in the program's table */
	struct proc proc;
	enum child_state state;
	bool wanted;       /* shall run */
	bool stale;        /* runs with settings that are no longer in force */
	bool tried;        /* was ready or failed once since it is wanted: the next may start */
	unsigned failures; /* in a row */
	int64_t started_us, ready_us; /* monotonic; ready_us 0: not yet */
	struct event *ended, *timer;
};

int child_init(struct child *c, struct supervisor *up, size_t index, struct err *err);
void child_done(struct child *c); /* kills what still runs */

void child_start(struct child *c); /* that is stopped or waits; failing is one of its states */
void child_stop(struct child *c);  /* asks it to end */
void child_kill(struct child *c);  /* does not ask */
void child_ready(struct child *c); /* it has said so */
bool child_owns(const struct child *c, pid_t pid); /* its process, or one of its group */

/* The supervisor's counters: these for each role, then its own. */
enum {
	UP_ROLE_STATE,
	UP_ROLE_PID,
	UP_ROLE_RESTARTS,
	UP_ROLE_SINCE,
	UP_PER_ROLE,
};
enum { UP_RELOADS, UP_FAILED_RELOADS, UP_OWN };
