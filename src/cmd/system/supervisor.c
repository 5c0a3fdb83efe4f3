/* The supervisor, in three parts. A child is a role with its process, state and timer; reloading
 * makes the next plan; the loop takes one step towards the plan after each event. */
#include "cmd/system/supervisor.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"
#include "cmd/system/role_main.h"
#include "net/net_section.h"
#include "role/listen.h"
#include "role/notify.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* The supervisor's counters: these for each role, then its own. */
enum {
	UP_ROLE_STATE,
	UP_ROLE_PID,
	UP_ROLE_RESTARTS,
	UP_ROLE_SINCE,
	UP_PER_ROLE,
};
enum { UP_RELOADS, UP_FAILED_RELOADS, UP_OWN };

/* After everything that has happened: takes the next steps. */
static void supervisor_advance(struct supervisor *s);
/* Reads what roles have said. */
static void supervisor_hear(struct supervisor *s);

/* Children */

static struct child *child_named(const struct supervisor *s, const char *name)
{
	for (size_t i = 0; i < s->nchildren; i++)
		if (strcmp(s->child[i]->name, name) == 0)
			return s->child[i];
	return NULL;
}

static void child_count(const struct child *c, size_t which, int64_t v)
{
	counters_set(c->up->counters, c->index * UP_PER_ROLE + which, v);
}

static void child_tell(const struct child *c)
{
	child_count(c, UP_ROLE_STATE, c->state);
	child_count(c, UP_ROLE_PID, c->proc.pid);
	child_count(c, UP_ROLE_RESTARTS, (int64_t)c->restarts);
	child_count(c, UP_ROLE_SINCE, c->since_s);
}

static void child_enter(struct child *c, enum child_state state)
{
	c->state = state;
	c->since_s = clock_wall_us() / US_PER_S;
	child_tell(c);
}

static void child_set_timer(struct child *c, int64_t us)
{
	loop_timer_in(c->up->loop, &c->timer, us);
}

/* No process of it runs. The next start begins from scratch. */
static void child_rest(struct child *c)
{
	c->stale = c->tried = false;
	c->failures = 0;
	loop_timer_stop(&c->timer);
	child_enter(c, CHILD_STOPPED);
}

static void child_failed(struct child *c, const char *reason, int64_t ran_us)
{
	const struct up_conf *conf = c->up->plan.conf;
	if (c->ready_us && clock_mono_us() - c->ready_us >= conf->steady_us)
		c->failures = 0;
	c->failures++;
	c->tried = true;
	if (!c->wanted || c->stale) {
		log_warn(UP, "role failed", KV_TEXT("role", c->name), KV_TEXT("reason", reason),
			 KV_DURATION("ran", ran_us));
		child_rest(c);
		return;
	}
	int64_t delay_us = backoff_us(c->failures, conf->restart_min_us, conf->restart_max_us);
	log_warn(UP, "role failed, will be started again", KV_TEXT("role", c->name),
		 KV_TEXT("reason", reason), KV_DURATION("ran", ran_us),
		 KV_UINT("failures", c->failures), KV_DURATION("delay", delay_us));
	child_set_timer(c, delay_us);
	child_enter(c, CHILD_WAITING);
}

static int child_run_process(struct child *c, struct err *err)
{
	struct arena arena = ARENA_INIT((size_t)16 << 20);
	const struct up_plan *plan = &c->up->plan;
	const char *names[PROC_MOST_FDS];
	int fds[PROC_MOST_FDS];
	size_t n = 0;
	for (size_t i = 0; i < plan->nsockets; i++) {
		if (strcmp(plan->socket[i].unit->name, c->name) != 0)
			continue;
		ENSURE(n < ARRAY_LEN(fds));
		names[n] = plan->socket[i].listen.key;
		fds[n++] = plan->socket[i].fd;
	}
	struct launch launch;
	launch_make(&(struct launch_input){.self = c->up->call->self,
					   .role = c->name,
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

static void child_start(struct child *c)
{
	struct err err;
	c->started_us = clock_mono_us();
	c->ready_us = 0;
	if (child_run_process(c, &err) < 0) {
		child_failed(c, err.msg, 0);
		return;
	}
	FAULT("up.child.forked");
	loop_io_want(c->up->loop, &c->ended, c->proc.pidfd, LOOP_READ);
	child_set_timer(c, c->up->plan.conf->ready_timeout_us);
	child_enter(c, CHILD_STARTING);
	log_info(UP, "role started", KV_TEXT("role", c->name), KV_INT("pid", c->proc.pid));
	FAULT("up.child.started");
}

static void child_ready(struct child *c)
{
	if (c->state != CHILD_STARTING)
		return;
	c->ready_us = clock_mono_us();
	c->tried = true;
	loop_timer_stop(&c->timer);
	child_enter(c, CHILD_READY);
	log_info(UP, "role ready", KV_TEXT("role", c->name), KV_INT("pid", c->proc.pid),
		 KV_DURATION("after", c->ready_us - c->started_us));
	FAULT("up.child.ready");
}

static void child_stop(struct child *c)
{
	if (!c->wanted)
		up_plan_close_sockets(&c->up->plan, c->name);
	if (c->state == CHILD_WAITING) {
		child_rest(c);
	} else if (c->proc.pid && c->state != CHILD_STOPPING) {
		child_set_timer(c, c->up->plan.conf->stop_timeout_us);
		child_enter(c, CHILD_STOPPING);
		proc_signal(&c->proc, SIGTERM);
		FAULT("up.child.stopping");
	}
}

static void child_kill(struct child *c)
{
	if (!c->proc.pid)
		return;
	c->up->killed = true;
	loop_timer_stop(&c->timer);
	child_enter(c, CHILD_STOPPING);
	proc_kill_group(&c->proc);
}

static void child_stopped(struct child *c, const char *reason, int64_t ran_us)
{
	log_info(UP, "role stopped", KV_TEXT("role", c->name), KV_TEXT("reason", reason),
		 KV_DURATION("ran", ran_us));
	child_rest(c);
}

/* Reads its last notices first: it may have been ready. */
static void on_child_end(void *ctx, unsigned what)
{
	(void)what;
	struct child *c = ctx;
	struct err err;
	siginfo_t info = {0};
	char reason[32];
	supervisor_hear(c->up);
	loop_io_end(&c->ended);
	loop_timer_stop(&c->timer);
	if (proc_reap(&c->proc, &info, &err) < 0)
		die("%s", err.msg);
	FAULT("up.child.reaped");
	proc_reason(&info, reason, sizeof reason);
	int64_t ran_us = clock_mono_us() - c->started_us;
	if (c->state == CHILD_STOPPING)
		child_stopped(c, reason, ran_us);
	else
		child_failed(c, reason, ran_us);
	supervisor_advance(c->up);
}

/* Still starting: the end of its process follows and counts as the failure. */
static void child_too_late(struct child *c)
{
	log_warn(UP, "role did not get ready in time, killed", KV_TEXT("role", c->name),
		 KV_INT("pid", c->proc.pid),
		 KV_DURATION("ready_timeout", c->up->plan.conf->ready_timeout_us));
	c->tried = true;
	proc_kill_group(&c->proc);
}

static void child_start_again(struct child *c)
{
	if (!c->wanted || c->stale) {
		child_rest(c);
		return;
	}
	child_count(c, UP_ROLE_RESTARTS, (int64_t)++c->restarts);
	child_start(c);
}

static void child_too_slow(struct child *c)
{
	log_warn(UP, "role did not stop in time, killed", KV_TEXT("role", c->name),
		 KV_INT("pid", c->proc.pid),
		 KV_DURATION("stop_timeout", c->up->plan.conf->stop_timeout_us));
	child_kill(c);
}

static void on_child_timer(void *ctx)
{
	static void (*const due[])(struct child *) = {
		[CHILD_STARTING] = child_too_late,
		[CHILD_WAITING] = child_start_again,
		[CHILD_STOPPING] = child_too_slow,
	};
	struct child *c = ctx;
	ENSURE(c->state < ARRAY_LEN(due) && due[c->state]);
	due[c->state](c);
	supervisor_advance(c->up);
}

static bool child_owns(const struct child *c, pid_t pid)
{
	return c->proc.pid && (pid == c->proc.pid || (pid > 0 && getpgid(pid) == c->proc.pid));
}

static struct child *child_new(struct supervisor *up, const struct up_unit *unit)
{
	struct child *c = mem_alloc(sizeof *c);
	*c = (struct child){.up = up,
			    .role = unit->role,
			    .index = up->nchildren,
			    .proc = {.pidfd = -1},
			    .wanted = up_plan_lists(&up->plan, unit->name),
			    .ended = {.fn = on_child_end, .ctx = c},
			    .timer = {.fn = on_child_timer, .ctx = c}};
	memcpy(c->name, unit->name, sizeof c->name);
	return c;
}

static void child_done(struct child *c)
{
	siginfo_t info;
	struct err err;
	loop_io_end(&c->ended);
	loop_timer_stop(&c->timer);
	if (c->proc.pid)
		(void)proc_reap(&c->proc, &info, &err);
	mem_free(&c);
}

/* Makes children for the units of the plan that have none. */
static void children_add(struct supervisor *s, const struct up_plan *plan)
{
	for (size_t i = 0; i < plan->nunits; i++) {
		if (child_named(s, plan->unit[i].name))
			continue;
		struct child *c = child_new(s, &plan->unit[i]);
		*VEC_PUSH(s->child, s->nchildren, s->child_room) = c;
	}
}

/* Counters */

static int open_counters(struct supervisor *s, struct err *err)
{
	static const struct counter_def per_role[UP_PER_ROLE] = {
		[UP_ROLE_STATE] = {"role_state", NULL, COUNTER_GAUGE,
				   "0 stopped, 1 starting, 2 ready, 3 backing off, 4 stopping"},
		[UP_ROLE_PID] = {"role_pid", NULL, COUNTER_GAUGE, "Process of the role, 0: none"},
		[UP_ROLE_RESTARTS] = {"role_restarts", NULL, COUNTER_TOTAL,
				      "Starts after a failure"},
		[UP_ROLE_SINCE] = {"role_since_seconds", NULL, COUNTER_GAUGE,
				   "When the state was entered, seconds since 1970"},
	};
	static const struct counter_def own[UP_OWN] = {
		[UP_RELOADS] = {"reloads", NULL, COUNTER_TOTAL, "Reloads that took effect"},
		[UP_FAILED_RELOADS] = {"failed_reloads", NULL, COUNTER_TOTAL,
				       "Reloads that were refused and changed nothing"},
	};
	struct arena arena = ARENA_INIT((size_t)1 << 20);
	size_t n = s->nchildren * UP_PER_ROLE;
	struct counter_def *defs = arena_array(&arena, n + UP_OWN, sizeof *defs);
	for (size_t i = 0; i < n; i++) {
		defs[i] = per_role[i % UP_PER_ROLE];
		defs[i].labels =
			arena_printf(&arena, "role=\"%s\"", s->child[i / UP_PER_ROLE]->name);
	}
	memcpy(defs + n, own, sizeof own);
	char path[sizeof s->conf];
	int rc = run_path(s->data, "counters", "up", path, sizeof path, err);
	counters_close(&s->counters);
	if (rc == 0)
		rc = counters_create(&s->counters, path, "up", defs, n + UP_OWN, clock_wall_us(),
				     err);
	arena_free(&arena);
	for (size_t i = 0; rc == 0 && i < s->nchildren; i++)
		child_tell(s->child[i]);
	for (size_t i = 0; rc == 0 && i < UP_OWN; i++)
		counters_set(s->counters, n + i, (int64_t)s->reloads[i]);
	return rc;
}

/* Reloading */

enum { MOST_CONF = 1 << 20 };

static int write_conf(const struct supervisor *s, const struct up_plan *plan, struct err *err)
{
	struct buf text = BUF_INIT(MOST_CONF);
	config_write(plan->config, false, &text);
	int rc = text.over ? err_set(err, ERR_USAGE, "the configuration is longer than %d bytes",
				     MOST_CONF)
			   : file_replace(s->conf, buf_str(&text), 0600, err);
	buf_free(&text);
	FAULT("up.conf.written");
	return rc;
}

/* Open and locked files cannot move. */
static int same_data(const struct supervisor *s, const struct config *config, struct err *err)
{
	char data[sizeof s->conf];
	if (cmd_data_dir(config, data, sizeof data, err) < 0)
		return -1;
	if (strcmp(data, s->data) == 0)
		return 0;
	return err_set(err, ERR_USAGE, "data: cannot change from %s to %s while garner runs",
		       s->data, data);
}

static int make_next_plan(const struct supervisor *s, struct up_plan *ret, struct err *err)
{
	struct config *config;
	struct up_plan plan;
	if (cmd_config_quiet(s->call, &config, err) < 0)
		return -1;
	if (same_data(s, config, err) < 0 ||
	    up_plan_make(&plan, s->call->program, &config, &s->plan, err) < 0) {
		config_free(&config);
		return -1;
	}
	if (write_conf(s, &plan, err) < 0) {
		up_plan_free(&plan);
		return -1;
	}
	*ret = plan;
	return 0;
}

/* New units get a child, and all of them counters: the file has places for those that it was made
 * for. */
static int make_room(struct supervisor *s, const struct up_plan *plan, struct err *err)
{
	size_t before = s->nchildren;
	children_add(s, plan);
	return s->nchildren > before ? open_counters(s, err) : 0;
}

static void take_plan(struct supervisor *s, struct up_plan *plan)
{
	for (size_t i = 0; i < s->nchildren; i++) {
		struct child *c = s->child[i];
		c->wanted = up_plan_lists(plan, c->name);
		if (c->wanted && c->state != CHILD_STOPPED &&
		    up_plan_differs(&s->plan, plan, c->role, c->name))
			c->stale = true;
	}
	up_plan_free(&s->plan);
	s->plan = *plan;
	s->settled = false;
	cmd_log_apply(s->plan.config);
}

static void count_reload(struct supervisor *s, size_t which)
{
	counters_set(s->counters, s->nchildren * UP_PER_ROLE + which, (int64_t)++s->reloads[which]);
}

static void reload_conf(struct supervisor *s)
{
	struct up_plan plan;
	struct err err;
	char text[64];
	snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_us());
	notify_send(text);
	if (make_next_plan(s, &plan, &err) < 0 || make_room(s, &plan, &err) < 0) {
		log_error(UP, "reload refused, everything stays as it is",
			  KV_TEXT("reason", err.msg));
		count_reload(s, UP_FAILED_RELOADS);
		notify_send("READY=1");
		return;
	}
	take_plan(s, &plan);
	count_reload(s, UP_RELOADS);
	log_info(UP, "reloaded", KV_UINT("roles", s->plan.nlisted));
	FAULT("up.reloaded");
}

/* The loop */

enum { SAME_REQUEST_US = 500 * 1000 };

/* The child that is n-th in the order of the start. */
static struct child *nth_child(const struct supervisor *s, size_t n)
{
	return child_named(s, s->plan.unit[n].name);
}

static size_t count_ready(const struct supervisor *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->plan.nlisted; i++)
		n += nth_child(s, i)->state == CHILD_READY;
	return n;
}

/* What a person can follow, where the role has something to look at; search: where they begin. */
static void add_address(const struct up_unit *unit, const char *address, struct buf *line,
			struct buf *search)
{
	const struct role *role = unit->role;
	bool url = role->scheme && !str_starts(str_of(address), STR("unix:"));
	buf_printf(line, ", %s on %s%s%s%s", unit->name, url ? role->scheme : "", url ? "://" : "",
		   address, url ? "/" : "");
	if (url && strcmp(role->name, "web") == 0 && search->n == 0)
		buf_printf(search, "search at %s://%s/\n", role->scheme, address);
}

static void add_addresses(const struct supervisor *s, struct buf *line, struct buf *search)
{
	for (size_t i = 0; i < s->plan.nsockets; i++) {
		const struct up_socket *socket = &s->plan.socket[i];
		char address[256];
		struct err err;
		if (socket->fd >= 0 && !up_plan_told_before(&s->plan, socket) &&
		    listen_name(socket->fd, address, sizeof address, &err) == 0)
			add_address(socket->unit, address, line, search);
	}
}

/* The port that all others keep their distance to, where it is not the usual one. */
static void add_moved_port(const struct config *config, struct buf *line)
{
	const struct value_spec *spec =
		value_find(net_section.specs, net_section.nspecs, STR("port"));
	CLEANUP(buf_free) struct buf is = BUF_INIT(64), usual = BUF_INIT(64);
	value_print(spec, config_get(config, &net_section), &is);
	value_print_default(spec, &usual);
	if (!str_eq(buf_str(&is), buf_str(&usual)))
		buf_printf(line, "-s net.port=%s ", buf_text(&is));
}

/* The command that shows what runs, as it has to be typed here: another terminal knows neither our
 * options nor our environment. */
static void add_look(const struct supervisor *s, struct buf *line)
{
	const struct value_spec *spec =
		value_find(global_section.specs, global_section.nspecs, STR("data"));
	buf_printf(line, "%s ", s->call->self);
	if (config_is_set(s->plan.config, &global_section, spec))
		buf_printf(line, "-s data=%s ", s->data);
	add_moved_port(s->plan.config, line);
	buf_add_text(line, "status");
}

/* The lines for people: all that runs, and last where to search. */
static void announce_up(const struct supervisor *s)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(32768), search = BUF_INIT(400);
	size_t ready = count_ready(s), all = s->plan.nlisted;
	if (all == 0)
		buf_add_text(&line, "no roles are built into this program, so nothing runs");
	else if (ready < all)
		buf_printf(&line, "%zu of %zu roles ready (the log says why)", ready, all);
	else
		buf_printf(&line, "%zu role%s ready", all, all == 1 ? "" : "s");
	add_addresses(s, &line, &search);
	buf_printf(&line, ", data in %s. Look: ", s->data);
	add_look(s, &line);
	fprintf(s->call->out, "garner is up: %s\n%s", buf_text(&line), buf_text(&search));
	fflush(s->call->out);
}

static void settle_start(struct supervisor *s)
{
	size_t ready = count_ready(s), all = s->plan.nlisted;
	char text[96];
	s->settled = true;
	log_info(UP, "up", KV_UINT("ready", ready), KV_UINT("roles", all));
	if (!s->announced)
		announce_up(s); /* last, where it is seen */
	s->announced = true;
	snprintf(text, sizeof text, "READY=1\nSTATUS=%zu of %zu roles ready", ready, all);
	notify_send(text);
	FAULT("up.ready");
}

/* Stops the last that must stop. true: one is on its way out, nothing else may begin. */
static bool stop_one(struct supervisor *s)
{
	for (size_t i = s->nchildren; i-- > 0;)
		if (s->child[i]->state == CHILD_STOPPING)
			return true;
	for (size_t i = s->plan.nunits; i-- > 0;) {
		struct child *c = nth_child(s, i);
		if (c->state == CHILD_STOPPED || (c->wanted && !c->stale))
			continue;
		child_stop(c);
		if (c->state == CHILD_STOPPING)
			return true;
	}
	return false;
}

/* true: one is starting, the next must wait. */
static bool start_one(struct supervisor *s)
{
	for (size_t i = 0; i < s->plan.nlisted; i++) {
		struct child *c = nth_child(s, i);
		if (c->tried)
			continue;
		if (c->state == CHILD_STOPPED)
			child_start(c);
		if (!c->tried)
			return true;
	}
	return false;
}

static void supervisor_advance(struct supervisor *s)
{
	if (stop_one(s))
		return;
	if (s->stopping)
		loop_stop(s->loop);
	else if (!start_one(s) && !s->settled)
		settle_start(s);
}

static struct child *child_of(const struct supervisor *s, pid_t pid)
{
	for (size_t i = 0; i < s->nchildren; i++)
		if (child_owns(s->child[i], pid))
			return s->child[i];
	return NULL;
}

static void take_notice(struct supervisor *s, const struct notice *notice)
{
	struct child *c = child_of(s, notice->pid);
	if (!c) {
		log_outside(UP, "notice from a stranger", KV_INT("pid", notice->pid));
		return;
	}
	if (notice->status.n)
		log_debug(UP, 1, "role says", KV_TEXT("role", c->name),
			  KV_STR("status", notice->status));
	if (notice->ready)
		child_ready(c);
}

static void supervisor_hear(struct supervisor *s)
{
	struct buf bytes = BUF_INIT(8192);
	struct notice notice;
	struct err err;
	int rc;
	while ((rc = notice_read(s->notice_fd, &bytes, &notice, &err)) == 0)
		take_notice(s, &notice);
	if (rc < 0)
		log_error(UP, err.msg);
	buf_free(&bytes);
}

static void on_notice(void *ctx, unsigned what)
{
	(void)what;
	supervisor_hear(ctx);
	supervisor_advance(ctx);
}

/* The first time everything is asked to end, one after the other; the second time nobody is asked.
 * What follows at once is the same request: timeout(1) and others signal the process and then its
 * group. */
static void stop_all(struct supervisor *s, const char *signal_name)
{
	bool again = s->stopping;
	int64_t now_us = clock_mono_us();
	if (again && now_us - s->stopping_us < SAME_REQUEST_US)
		return;
	s->stopping = true;
	s->stopping_us = now_us;
	log_info(UP, again ? "stopping at once" : "stopping", KV_TEXT("signal", signal_name));
	if (!again) {
		s->killed = false;
		notify_send("STOPPING=1");
	}
	for (size_t i = 0; i < s->nchildren; i++) {
		s->child[i]->wanted = false;
		if (again)
			child_kill(s->child[i]);
	}
	FAULT("up.stopping");
}

static bool on_terminal(void)
{
	return isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
}

/* HUP asks for a reload; it also comes when the terminal was closed that somebody ran us on, and
 * then nobody would see or stop us. */
static void hang_up(struct supervisor *s)
{
	if (s->terminal && !on_terminal())
		stop_all(s, "HUP");
	else if (!s->stopping)
		reload_conf(s);
}

static void on_signal(void *ctx, int number)
{
	struct supervisor *s = ctx;
	if (number == SIGHUP)
		hang_up(s);
	else
		stop_all(s, sigabbrev_np(number));
	supervisor_advance(s);
}

static int open_signals(struct supervisor *s, struct err *err)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* inherited as ignored it would reap our children for us */
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (loop_signal(s->loop, numbers[i], on_signal, s, err) < 0)
			return -1;
	return 0;
}

static int open_loop(struct supervisor *s, struct err *err)
{
	if (loop_new(&s->loop, NULL, err) < 0)
		return -1;
	s->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (s->null_fd < 0)
		return err_sys(err, "/dev/null");
	if (proc_safe_fd(&s->null_fd, err) < 0 || open_signals(s, err) < 0 ||
	    notice_open(&s->notice_fd, s->notify_name, sizeof s->notify_name, err) < 0)
		return -1;
	loop_io_want(s->loop, &s->notices, s->notice_fd, LOOP_READ);
	return 0;
}

int supervisor_init(struct supervisor *s, const struct cmd_call *call, const char *data,
		    struct up_plan *plan, struct err *err)
{
	*s = (struct supervisor){.call = call,
				 .data = data,
				 .plan = *plan,
				 .terminal = on_terminal(),
				 .notices = {.fn = on_notice, .ctx = s},
				 .notice_fd = -1,
				 .null_fd = -1};
	*plan = (struct up_plan){0};
	if (run_path(data, NULL, "up.conf", s->conf, sizeof s->conf, err) < 0 ||
	    write_conf(s, &s->plan, err) < 0 || open_loop(s, err) < 0)
		return -1;
	children_add(s, &s->plan);
	return open_counters(s, err);
}

int supervisor_run(struct supervisor *s, struct err *err)
{
	supervisor_advance(s);
	if (loop_run(s->loop, err) < 0)
		return -1;
	FAULT("up.stopped");
	return s->killed ? ERR_PARTLY : 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void supervisor_done(struct supervisor *s)
{
	for (size_t i = 0; i < s->nchildren; i++)
		child_done(s->child[i]);
	mem_free(&s->child);
	loop_io_end(&s->notices);
	loop_free(&s->loop);
	close_fd(s->notice_fd);
	close_fd(s->null_fd);
	counters_close(&s->counters);
	up_plan_free(&s->plan);
}
