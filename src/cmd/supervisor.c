#include "cmd/supervisor.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "cmd/run.h"
#include "role/listen.h"
#include "role/notify.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { SAME_REQUEST_US = 500 * 1000 };

/* The child that is n-th in the order of the start. */
static struct child *nth(const struct supervisor *s, size_t n)
{
	return &s->child[s->plan.order[n]];
}

static size_t count_ready(const struct supervisor *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->plan.nlisted; i++)
		n += nth(s, i)->state == CHILD_READY;
	return n;
}

/* What a person can follow, where the role has something to look at. */
static void add_address(const struct role *role, const char *address, struct buf *line)
{
	bool url = role->scheme && !str_starts(str_of(address), STR("unix:"));
	buf_printf(line, ", %s on %s%s%s%s", role->name, url ? role->scheme : "", url ? "://" : "",
		   address, url ? "/" : "");
}

static void add_addresses(const struct supervisor *s, struct buf *line)
{
	for (size_t i = 0; i < s->plan.nsockets; i++) {
		const struct up_socket *socket = &s->plan.socket[i];
		char address[256];
		struct err err;
		if (socket->fd >= 0 && listen_name(socket->fd, address, sizeof address, &err) == 0)
			add_address(socket->role, address, line);
	}
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
	buf_add_text(line, "status");
}

/* The one line for people. */
static void announce(const struct supervisor *s)
{
	struct buf line = BUF_INIT(32768);
	size_t ready = count_ready(s), all = s->plan.nlisted;
	if (all == 0)
		buf_add_text(&line, "no roles are built into this program, so nothing runs");
	else if (ready < all)
		buf_printf(&line, "%zu of %zu roles ready (the log says why)", ready, all);
	else
		buf_printf(&line, "%zu role%s ready", all, all == 1 ? "" : "s");
	add_addresses(s, &line);
	buf_printf(&line, ", data in %s. Look: ", s->data);
	add_look(s, &line);
	fprintf(s->call->out, "garner is up: %s\n", buf_text(&line));
	fflush(s->call->out);
	buf_free(&line);
}

static void settle(struct supervisor *s)
{
	size_t ready = count_ready(s), all = s->plan.nlisted;
	char text[96];
	s->settled = true;
	log_info(UP, "up", KV_UINT("ready", ready), KV_UINT("roles", all));
	if (!s->announced)
		announce(s); /* last, where it is seen */
	s->announced = true;
	snprintf(text, sizeof text, "READY=1\nSTATUS=%zu of %zu roles ready", ready, all);
	notify_send(text);
	FAULT("up.ready");
}

/* Stops the last that must stop. true: one is on its way out, nothing else may begin. */
static bool stop_one(struct supervisor *s)
{
	for (size_t i = s->call->program->nroles; i-- > 0;)
		if (s->child[i].state == CHILD_STOPPING)
			return true;
	for (size_t i = s->call->program->nroles; i-- > 0;) {
		struct child *c = nth(s, i);
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
		struct child *c = nth(s, i);
		if (c->tried)
			continue;
		if (c->state == CHILD_STOPPED)
			child_start(c);
		if (!c->tried)
			return true;
	}
	return false;
}

void supervisor_advance(struct supervisor *s)
{
	if (stop_one(s))
		return;
	if (s->stopping)
		event_base_loopbreak(s->base);
	else if (!start_one(s) && !s->settled)
		settle(s);
}

static struct child *child_of(const struct supervisor *s, pid_t pid)
{
	for (size_t i = 0; i < s->call->program->nroles; i++)
		if (child_owns(&s->child[i], pid))
			return &s->child[i];
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
		log_debug(UP, 1, "role says", KV_TEXT("role", c->role->name),
			  KV_STR("status", notice->status));
	if (notice->ready)
		child_ready(c);
}

void supervisor_hear(struct supervisor *s)
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

static void on_notice(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what;
	supervisor_hear(ctx);
	supervisor_advance(ctx);
}

/* The first time everything is asked to end, one after the other; the second time nobody is asked.
 * What follows at once is the same request: timeout(1) and others signal the process and then its
 * group. */
static void stop(struct supervisor *s, const char *signal_name)
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
	for (size_t i = 0; i < s->call->program->nroles; i++) {
		s->child[i].wanted = false;
		if (again)
			child_kill(&s->child[i]);
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
		stop(s, "HUP");
	else if (!s->stopping)
		supervisor_reload(s);
}

static void on_signal(evutil_socket_t fd, short what, void *ctx)
{
	(void)what;
	struct supervisor *s = ctx;
	struct signalfd_siginfo info;
	while (read(fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGHUP)
			hang_up(s);
		else
			stop(s, sigabbrev_np((int)info.ssi_signo));
	}
	supervisor_advance(s);
}

static int open_signals(struct supervisor *s, struct err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, "blocking signals");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* inherited as ignored it would reap our children for us */
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? err_sys(err, "signalfd") : 0;
}

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
	const struct program *program = s->call->program;
	struct arena arena = ARENA_INIT((size_t)1 << 20);
	size_t n = program->nroles * UP_PER_ROLE;
	struct counter_def *defs = arena_array(&arena, n + UP_OWN, sizeof *defs);
	for (size_t i = 0; i < n; i++) {
		defs[i] = per_role[i % UP_PER_ROLE];
		defs[i].labels =
			arena_printf(&arena, "role=\"%s\"", program->roles[i / UP_PER_ROLE]->name);
	}
	memcpy(defs + n, own, sizeof own);
	char path[sizeof s->conf];
	int rc = run_path(s->data, "counters", "up", path, sizeof path, err);
	if (rc == 0)
		rc = counters_create(&s->counters, path, "up", defs, n + UP_OWN, clock_wall_us(),
				     err);
	arena_free(&arena);
	return rc;
}

static int watch(struct supervisor *s, int fd, event_callback_fn fn, struct event **ret,
		 struct err *err)
{
	*ret = event_new(s->base, fd, EV_READ | EV_PERSIST, fn, s);
	if (!*ret || event_add(*ret, NULL) < 0)
		return err_set(err, ERR_SYSTEM, "no event for descriptor %d", fd);
	return 0;
}

static int open_loop(struct supervisor *s, struct err *err)
{
	s->base = event_base_new();
	if (!s->base)
		return err_set(err, ERR_SYSTEM, "no event loop");
	s->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (s->null_fd < 0)
		return err_sys(err, "/dev/null");
	if (proc_safe_fd(&s->null_fd, err) < 0 || open_signals(s, err) < 0 ||
	    notice_open(&s->notice_fd, s->notify_name, sizeof s->notify_name, err) < 0 ||
	    watch(s, s->signal_fd, on_signal, &s->signals, err) < 0 ||
	    watch(s, s->notice_fd, on_notice, &s->notices, err) < 0)
		return -1;
	return 0;
}

int supervisor_init(struct supervisor *s, const struct cmd_call *call, const char *data,
		    struct up_plan *plan, struct err *err)
{
	*s = (struct supervisor){.call = call,
				 .data = data,
				 .plan = *plan,
				 .terminal = on_terminal(),
				 .signal_fd = -1,
				 .notice_fd = -1,
				 .null_fd = -1};
	*plan = (struct up_plan){0};
	if (run_path(data, NULL, "up.conf", s->conf, sizeof s->conf, err) < 0 ||
	    supervisor_write_conf(s, &s->plan, err) < 0 || open_counters(s, err) < 0 ||
	    open_loop(s, err) < 0)
		return -1;
	s->child = mem_array(call->program->nroles, sizeof *s->child);
	for (size_t i = 0; i < call->program->nroles; i++)
		if (child_init(&s->child[i], s, i, err) < 0)
			return -1;
	return 0;
}

int supervisor_run(struct supervisor *s)
{
	supervisor_advance(s);
	event_base_dispatch(s->base);
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
	for (size_t i = 0; s->child && i < s->call->program->nroles; i++)
		child_done(&s->child[i]);
	mem_free(&s->child);
	if (s->signals)
		event_free(s->signals);
	if (s->notices)
		event_free(s->notices);
	if (s->base)
		event_base_free(s->base);
	close_fd(s->signal_fd);
	close_fd(s->notice_fd);
	close_fd(s->null_fd);
	counters_close(&s->counters);
	up_plan_free(&s->plan);
}
