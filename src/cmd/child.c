#include "cmd/child.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "cmd/launch.h"
#include "cmd/supervisor.h"

#include <unistd.h>

static const char *name(const struct child *c)
{
	return c->role->name;
}

static void count(const struct child *c, size_t which, int64_t v)
{
	counters_set(c->up->counters, c->index * UP_PER_ROLE + which, v);
}

static void enter(struct child *c, enum child_state state)
{
	c->state = state;
	count(c, UP_ROLE_STATE, state);
	count(c, UP_ROLE_PID, c->proc.pid);
	count(c, UP_ROLE_SINCE, clock_wall_us() / US_PER_S);
}

static void set_timer(struct child *c, int64_t us)
{
	struct timeval tv = {.tv_sec = us / US_PER_S, .tv_usec = us % US_PER_S};
	ENSURE(evtimer_add(c->timer, &tv) == 0);
}

/* Nothing of it runs any more. What comes next begins afresh. */
static void come_to_rest(struct child *c)
{
	c->stale = c->tried = false;
	c->failures = 0;
	evtimer_del(c->timer);
	enter(c, CHILD_STOPPED);
}

static void failed(struct child *c, const char *reason, int64_t ran_us)
{
	const struct up_conf *conf = c->up->plan.conf;
	if (c->ready_us && clock_mono_us() - c->ready_us >= conf->steady_us)
		c->failures = 0;
	c->failures++;
	c->tried = true;
	if (!c->wanted || c->stale) {
		log_warn(UP, "role failed", KV_TEXT("role", name(c)), KV_TEXT("reason", reason),
			 KV_DURATION("ran", ran_us));
		come_to_rest(c);
		return;
	}
	int64_t delay_us = backoff_us(c->failures, conf->restart_min_us, conf->restart_max_us);
	log_warn(UP, "role failed, will be started again", KV_TEXT("role", name(c)),
		 KV_TEXT("reason", reason), KV_DURATION("ran", ran_us),
		 KV_UINT("failures", c->failures), KV_DURATION("delay", delay_us));
	set_timer(c, delay_us);
	enter(c, CHILD_WAITING);
}

static int run_process(struct child *c, struct err *err)
{
	struct arena arena = ARENA_INIT((size_t)16 << 20);
	const struct up_plan *plan = &c->up->plan;
	const char *names[PROC_MOST_FDS];
	int fds[PROC_MOST_FDS];
	size_t n = 0;
	for (size_t i = 0; i < plan->nsockets; i++) {
		if (plan->socket[i].role != c->role)
			continue;
		ENSURE(n < ARRAY_LEN(fds));
		names[n] = plan->socket[i].key;
		fds[n++] = plan->socket[i].fd;
	}
	struct launch launch;
	launch_make(&(struct launch_input){.self = c->up->call->self,
					   .role = name(c),
					   .conf = c->up->conf,
					   .env = environ,
					   .notify = c->up->notify_name,
					   .socket = names,
					   .nsockets = n},
		    &arena, &launch);
	int rc = proc_start(&c->proc,
			    &(struct proc_launch){.argv = launch.argv,
						  .env = launch.env,
						  .pid_text = launch.pid_text,
						  .null_fd = c->up->null_fd,
						  .fds = fds,
						  .nfds = n},
			    err);
	arena_free(&arena);
	return rc;
}

static void on_end(evutil_socket_t fd, short what, void *ctx);

void child_start(struct child *c)
{
	struct err err;
	c->started_us = clock_mono_us();
	c->ready_us = 0;
	if (run_process(c, &err) < 0) {
		failed(c, err.msg, 0);
		return;
	}
	FAULT("up.child.forked");
	event_assign(c->ended, c->up->base, c->proc.pidfd, EV_READ, on_end, c);
	ENSURE(event_add(c->ended, NULL) == 0);
	set_timer(c, c->up->plan.conf->ready_timeout_us);
	enter(c, CHILD_STARTING);
	log_info(UP, "role started", KV_TEXT("role", name(c)), KV_INT("pid", c->proc.pid));
	FAULT("up.child.started");
}

void child_ready(struct child *c)
{
	if (c->state != CHILD_STARTING)
		return;
	c->ready_us = clock_mono_us();
	c->tried = true;
	evtimer_del(c->timer);
	enter(c, CHILD_READY);
	log_info(UP, "role ready", KV_TEXT("role", name(c)), KV_INT("pid", c->proc.pid),
		 KV_DURATION("after", c->ready_us - c->started_us));
	FAULT("up.child.ready");
}

void child_stop(struct child *c)
{
	if (!c->wanted)
		up_plan_close_sockets(&c->up->plan, c->role);
	if (c->state == CHILD_WAITING) {
		come_to_rest(c);
	} else if (c->proc.pid && c->state != CHILD_STOPPING) {
		set_timer(c, c->up->plan.conf->stop_timeout_us);
		enter(c, CHILD_STOPPING);
		proc_signal(&c->proc, SIGTERM);
		FAULT("up.child.stopping");
	}
}

void child_kill(struct child *c)
{
	if (!c->proc.pid)
		return;
	c->up->killed = true;
	evtimer_del(c->timer);
	enter(c, CHILD_STOPPING);
	proc_kill_group(&c->proc);
}

static void stopped(struct child *c, const char *reason, int64_t ran_us)
{
	log_info(UP, "role stopped", KV_TEXT("role", name(c)), KV_TEXT("reason", reason),
		 KV_DURATION("ran", ran_us));
	come_to_rest(c);
}

/* What it said before it ended is heard first: it may have been ready. */
static void on_end(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what;
	struct child *c = ctx;
	struct err err;
	siginfo_t info = {0};
	char reason[32];
	supervisor_hear(c->up);
	event_del(c->ended);
	evtimer_del(c->timer);
	if (proc_reap(&c->proc, &info, &err) < 0)
		die("%s", err.msg);
	FAULT("up.child.reaped");
	proc_reason(&info, reason, sizeof reason);
	int64_t ran_us = clock_mono_us() - c->started_us;
	if (c->state == CHILD_STOPPING)
		stopped(c, reason, ran_us);
	else
		failed(c, reason, ran_us);
	supervisor_advance(c->up);
}

/* Still starting: the end of its process follows and counts as the failure. */
static void too_late(struct child *c)
{
	log_warn(UP, "role did not get ready in time, killed", KV_TEXT("role", name(c)),
		 KV_INT("pid", c->proc.pid),
		 KV_DURATION("ready_timeout", c->up->plan.conf->ready_timeout_us));
	c->tried = true;
	proc_kill_group(&c->proc);
}

static void start_again(struct child *c)
{
	if (!c->wanted || c->stale) {
		come_to_rest(c);
		return;
	}
	counters_add(c->up->counters, c->index * UP_PER_ROLE + UP_ROLE_RESTARTS, 1);
	child_start(c);
}

static void too_slow(struct child *c)
{
	log_warn(UP, "role did not stop in time, killed", KV_TEXT("role", name(c)),
		 KV_INT("pid", c->proc.pid),
		 KV_DURATION("stop_timeout", c->up->plan.conf->stop_timeout_us));
	child_kill(c);
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what;
	static void (*const due[])(struct child *) = {
		[CHILD_STARTING] = too_late,
		[CHILD_WAITING] = start_again,
		[CHILD_STOPPING] = too_slow,
	};
	struct child *c = ctx;
	ENSURE(c->state < ARRAY_LEN(due) && due[c->state]);
	due[c->state](c);
	supervisor_advance(c->up);
}

bool child_owns(const struct child *c, pid_t pid)
{
	return c->proc.pid && (pid == c->proc.pid || (pid > 0 && getpgid(pid) == c->proc.pid));
}

int child_init(struct child *c, struct supervisor *up, size_t index, struct err *err)
{
	*c = (struct child){.up = up,
			    .role = up->call->program->roles[index],
			    .index = index,
			    .proc = {.pidfd = -1},
			    .wanted = up_plan_lists(&up->plan, index)};
	c->timer = evtimer_new(up->base, on_timer, c);
	c->ended = event_new(up->base, -1, EV_READ, on_end, c);
	if (!c->timer || !c->ended)
		return err_set(err, ERR_SYSTEM, "no event for the role %s", name(c));
	return 0;
}

void child_done(struct child *c)
{
	siginfo_t info;
	struct err err;
	if (c->ended)
		event_free(c->ended);
	if (c->timer)
		event_free(c->timer);
	if (c->proc.pid)
		(void)proc_reap(&c->proc, &info, &err);
}
