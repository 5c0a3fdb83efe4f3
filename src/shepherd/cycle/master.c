/* The role `shepherd`: recovers, then runs the modules one after the other, each from the phase in
 * which the newest state stands. A step that is stopped or fails is begun again at the next start.
 */
#include "shepherd/master.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rows.h"
#include "disk/requests.h"
#include "extract/cage_section.h"
#include "role/notify.h"
#include "shepherd/brake.h"
#include "shepherd/cycle.h"
#include "shepherd/feedback.h"
#include "shepherd/reap.h"
#include "state/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_US (500 * US_PER_MS) /* how often an idle master looks for requests */

struct shepherd_conf {
	struct crawl_conf crawl;
};

static const struct value_spec specs[] = {
	CRAWL_SPECS(struct shepherd_conf, crawl),
};

static const struct config_section section = {
	.name = "shepherd",
	.help = "The crawl of the web, in cycles.",
	.size = sizeof(struct shepherd_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

const struct crawl_conf *crawl_conf_of(const struct config *config)
{
	const struct shepherd_conf *conf = config_get(config, &section);
	return &conf->crawl;
}

#define PASS "How long each module of the cycle took when it ran last."
#define URLS "URLs that are known, by what is known of them."
#define MASTER_COUNTERS(X)                                                                \
	X(CYCLES, "cycles", NULL, TOTAL, "Cycles that were begun.")                       \
	X(PHASE, "phase", NULL, GAUGE, "What is being done: the number of the phase.")    \
	/* one for each enum item_type */                                                 \
	X(SLEEPING, "urls", "type=\"sleeping\"", GAUGE, URLS)                             \
	X(NEW, "urls", "type=\"new\"", GAUGE, URLS)                                       \
	X(GATHERED, "urls", "type=\"gathered\"", GAUGE, URLS)                             \
	X(ERROR, "urls", "type=\"error\"", GAUGE, URLS)                                   \
	X(ASKED, "sites_asked", NULL, GAUGE, "Sites whose server is known.")              \
	X(TEMPORARY, "urls", "type=\"temporary\"", GAUGE, URLS)                           \
	X(ZOMBIE, "urls", "type=\"zombie\"", GAUGE, URLS)                                 \
	X(ADDED, "urls_added", NULL, TOTAL, "URLs that became known.")                    \
	X(FORGOTTEN, "urls_forgotten", NULL, TOTAL, "URLs that were forgotten.")          \
	X(PLANNED, "urls_planned", NULL, GAUGE, "URLs in the plan of this cycle.")        \
	X(OVERDUE, "urls_overdue", NULL, GAUGE, "URLs that are due but not in the plan.") \
	X(NEXT_DUE, "next_due_seconds", NULL, GAUGE,                                      \
	  "When the next URL is due, seconds since 1970; 0: none is.")                    \
	X(FULL, "waits_for_space", NULL, GAUGE,                                           \
	  "1 while fetching is paused because the disk is full.")                         \
	/* one for each module */                                                         \
	X(PASS_FEEDBACK, "pass_milliseconds", "module=\"feedback\"", GAUGE, PASS)         \
	X(PASS_PLAN, "pass_milliseconds", "module=\"plan\"", GAUGE, PASS)                 \
	X(PASS_REAP, "pass_milliseconds", "module=\"reap\"", GAUGE, PASS)                 \
	X(PASS_CORK, "pass_milliseconds", "module=\"cork\"", GAUGE, PASS)                 \
	X(PASS_MERGE, "pass_milliseconds", "module=\"merge\"", GAUGE, PASS)               \
	X(PASS_EQUIV, "pass_milliseconds", "module=\"equiv\"", GAUGE, PASS)               \
	X(PASS_SELECT, "pass_milliseconds", "module=\"select\"", GAUGE, PASS)             \
	X(PASS_RECORD, "pass_milliseconds", "module=\"record\"", GAUGE, PASS)             \
	X(PASS_CLEANUP, "pass_milliseconds", "module=\"cleanup\"", GAUGE, PASS)

enum master_counter {
	COUNT_BEFORE = REAP_NCOUNTERS - 1,
#define X(symbol, ...) COUNT_##symbol,
	MASTER_COUNTERS(X)
#undef X
};
_Static_assert(COUNT_ADDED == COUNT_SLEEPING + ITEM_TYPES, "types of URLs");

static const struct counter_def counters[] = {REAP_COUNTERS(COUNTER_DEF) REAP_CODE_DEFS,
					      MASTER_COUNTERS(COUNTER_DEF)};

struct master {
	const struct config *config;
	const char *data;
	const struct shepherd_conf *conf;
	const struct robot_section_conf *robot;
	struct counters *counters;
	struct loop *loop;
	struct states *states;
	struct reap *reap;
	struct cage_options parse; /* the reap's, with its program */
	char program[CAGE_PATH_MAX];
	struct requests *requests;
	struct loop_timer look;
	char folder[PATH_MAX];
	int64_t idle_until_us; /* wall clock */
	struct cycle *cycle;
	bool held;   /* the brake leaves nothing to do, and that was said */
	bool braked; /* select would have lost too much, and nobody has let it through */
	bool fed;    /* the feedback that this state applied was removed */
	bool stop;
	/* Room on the disk. */
	struct loop_timer space;
	uint64_t disk_free; /* what is wanted */
	bool full;          /* there is less than is wanted, and that was said */
	bool refused;       /* a write failed for want of it, and no trial went well since */
	unsigned refusals;  /* such failures in a row */
	int64_t refused_us; /* the last one, by the monotonic clock */
};

static void log_lines(const struct buf *told, bool is_trouble, const char *who)
{
	struct str rest = buf_str(told), line;
	while (str_cut(&rest, '\n', &line) == 0)
		if (line.n && is_trouble)
			log_warn(ROLE, who, KV_STR("what", line));
		else if (line.n)
			log_info(ROLE, who, KV_STR("what", line));
}

/* Waiting. */

static void master_look(void *ctx)
{
	struct master *m = ctx;
	if (clock_wall_us() >= m->idle_until_us || requests_waiting(m->requests))
		loop_stop(m->loop);
}

/* Until a URL is due or somebody asks for something. */
static int master_idle(struct master *m, int64_t next_s, struct err *err)
{
	m->idle_until_us = next_s == INT64_MAX ? INT64_MAX : next_s * US_PER_S;
	counters_set(m->counters, COUNT_NEXT_DUE, next_s == INT64_MAX ? 0 : next_s);
	notify_send("STATUS=nothing due");
	loop_timer_every(m->loop, &m->look, LOOK_US);
	int rc = m->stop ? 0 : loop_run(m->loop, err);
	loop_timer_stop(&m->look);
	return rc;
}

/* Room on the disk. Pages that cannot be kept must not be fetched, again and again: while there is
 * less room than `disk_free` nothing new is begun, and after a write that was refused nothing at
 * all, until a trial has gone well. */

#define SPACE_LOOK_US (500 * US_PER_MS)
#define REFUSED_MIN_US US_PER_S
#define REFUSED_MAX_US (30 * US_PER_S)
enum { TRIAL_BYTES = 1 << 20 };

static uint64_t space_left(const struct master *m)
{
	uint64_t left;
	struct err ignored;
	return file_space(m->folder, &left, NULL, &ignored) == 0 ? left : UINT64_MAX;
}

/* A quota, or a limit of the process, is seen only by writing. */
static bool space_trial(const struct master *m)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct err err;
	char *zeroes = mem_alloc(TRIAL_BYTES);
	bool went_well = file_temporary(&f, m->folder, &err) == 0 &&
			 file_write(&f, zeroes, TRIAL_BYTES, 0, &err) == 0 &&
			 file_sync(&f, &err) == 0;
	mem_free(&zeroes);
	return went_well;
}

static void space_say(struct master *m, bool full, const char *why)
{
	if (full == m->full)
		return;
	m->full = full;
	counters_set(m->counters, COUNT_FULL, full);
	notify_send(full ? "STATUS=disk full; fetching paused" : "STATUS=fetching resumed");
	if (full)
		log_warn(ROLE, "disk full; fetching paused", KV_UINT("free", space_left(m)),
			 KV_UINT("wanted", m->disk_free), KV_TEXT("why", why));
	else
		log_info(ROLE, "disk no longer full; fetching resumed",
			 KV_UINT("free", space_left(m)));
}

/* Whether nothing new may be begun. */
static bool space_is_short(void *ctx)
{
	struct master *m = ctx;
	if (!m->refused)
		space_say(m, space_left(m) < m->disk_free, "less free space than disk_free");
	return m->full;
}

static void space_look(void *ctx)
{
	struct master *m = ctx;
	int64_t wait_us = backoff_us(m->refusals, REFUSED_MIN_US, REFUSED_MAX_US);
	if (space_left(m) < m->disk_free ||
	    (m->refused && (clock_mono_us() < m->refused_us + wait_us || !space_trial(m))))
		return;
	m->refused = false;
	space_say(m, false, "");
	loop_stop(m->loop);
}

static int space_wait(struct master *m, struct err *err)
{
	if (m->stop || !space_is_short(m))
		return 0;
	loop_timer_every(m->loop, &m->space, SPACE_LOOK_US);
	int rc = loop_run(m->loop, err);
	loop_timer_stop(&m->space);
	return rc;
}

/* A write failed: was it for want of space? Then all is given back, to be recovered later. */
static bool space_refused(struct master *m, const struct err *err)
{
	if (err->sys_errno != ENOSPC && err->sys_errno != EDQUOT && err->sys_errno != EFBIG)
		return false;
	m->refused = true;
	m->refusals++;
	m->refused_us = clock_mono_us();
	space_say(m, true, err->msg);
	if (m->reap)
		reap_be_careful(m->reap);
	states_close(&m->states);
	return true;
}

/* Signals that came since the last look. */
static bool is_stopped(void *ctx)
{
	struct master *m = ctx;
	loop_poll(m->loop);
	return m->stop;
}

/* Modules. */

static void master_entered(void *ctx, enum phase phase)
{
	struct master *m = ctx;
	char text[64];
	counters_set(m->counters, COUNT_PHASE, phase);
	snprintf(text, sizeof text, "STATUS=%s", phase_name(phase));
	notify_send(text);
}

static void master_took(void *ctx, enum cycle_module which, int64_t us)
{
	struct master *m = ctx;
	counters_set(m->counters, COUNT_PASS_FEEDBACK + which, (us + US_PER_MS - 1) / US_PER_MS);
}

static void master_show_course(struct master *m, const struct state *st)
{
	const struct state_course *course = &state_params(st)->course;
	for (size_t i = 0; i < ITEM_TYPES; i++)
		counters_set(m->counters, COUNT_SLEEPING + i, (int64_t)course->urls[i]);
}

/* Feedback, if there is any, and plan. */
static int master_plan(struct master *m, struct state *done, struct state **st, struct err *err)
{
	char path[PATH_MAX + 16];
	snprintf(path, sizeof path, "%s/feedback", m->folder);
	*st = done;
	int rc = access(path, F_OK) == 0 ? cycle_run(m->cycle, MODULE_FEEDBACK, st, err) : 0;
	if (rc == 0 && m->cycle->fed.damaged)
		log_warn(ROLE, "feedback damaged; set aside",
			 KV_TEXT("why", m->cycle->fed.why.msg));
	m->cycle->fed.damaged = false;
	if (rc == 0)
		rc = cycle_run(m->cycle, MODULE_PLAN, st, err);
	if (rc != 0)
		return rc;
	m->fed = false;
	counters_add(m->counters, COUNT_CYCLES, 1);
	master_show_course(m, *st);
	counters_set(m->counters, COUNT_PLANNED, (int64_t)m->cycle->planned.urls);
	counters_set(m->counters, COUNT_OVERDUE, (int64_t)m->cycle->planned.waiting);
	return 0;
}

/* While the brake holds nothing is merged. That can go on until there are as many rounds as a merge
 * can take, or until the bucket file would have to be cleaned, which only a closed state can be. */
#define HELD_LOOK_S 10
static bool master_is_held(struct master *m, const struct state *done)
{
	bool rounds = state_params(done)->course.rounds >= CONTRIB_ROUNDS;
	bool held = rounds || (state_phase(done) == PHASE_CORKED && cycle_is_full(m->cycle));
	if (held && !m->held)
		log_warn(ROLE,
			 "fetching paused until select is let through; create the "
			 "file " BRAKE_DISABLE,
			 KV_TEXT("why",
				 rounds ? "too many cycles without a merge" : "bucket file full"));
	m->held = held;
	return held;
}

/* The plan of a state is fetched; one that was being worked on when the role stopped goes on where
 * it was. */
static int master_go_on(struct master *m, struct state *st, struct err *err)
{
	int rc = 0;
	if (state_phase(st) != PHASE_CORK)
		rc = cycle_run(m->cycle, MODULE_REAP, &st, err);
	if (rc == 0)
		rc = cycle_run(m->cycle, MODULE_CORK, &st, err);
	state_free(&st);
	return MIN(rc, 0);
}

/* A cycle begins: something is due, or somebody asks for something; else it is waited for. */
static int master_begin(struct master *m, struct state *done, struct err *err)
{
	const struct state_course *course = &state_params(done)->course;
	int64_t now_s = clock_wall_us() / US_PER_S;
	int64_t due_s = crawl_due_s(&m->conf->crawl, course, now_s);
	if (due_s > now_s && !m->cycle->anew && !requests_waiting(m->requests)) {
		state_free(&done);
		return master_idle(m, due_s, err);
	}
	if (master_is_held(m, done)) {
		state_free(&done);
		return master_idle(m, now_s + HELD_LOOK_S, err);
	}
	struct state *st = NULL;
	int rc = master_plan(m, done, &st, err);
	if (rc == 0)
		return master_go_on(m, st, err);
	state_free(&st);
	return MIN(rc, 0);
}

static int master_audit(struct master *m, struct err *err)
{
	const struct crawl_conf *conf = &m->conf->crawl;
	struct states_keep keep = {conf->old_states, conf->interim_states, conf->gone_us};
	unsigned deleted;
	return states_audit(m->states, &keep, clock_wall_us(), &deleted, err);
}

/* The brake: what select would have lost is written down, and its clone thrown away by recovery.
 * Cycles go on without merging until somebody lets it through. */
static int master_brake(struct master *m, struct err *err)
{
	const struct selected *s = &m->cycle->selected;
	log_warn(ROLE,
		 "select would drop too many pages; merging paused until the file " BRAKE_DISABLE
		 " exists; garner doctor lists what would go",
		 KV_UINT("pages", s->lost), KV_UINT("gathered", s->gathered));
	m->braked = true;
	if (brake_save(m->data, s, clock_wall_us(), err) < 0)
		return -1;
	states_close(&m->states);
	return 0;
}

/* Releases the brake after a select: either the operator overrode it, or the limits were raised. */
static int master_unbrake(struct master *m, struct err *err)
{
	return m->cycle->no_brake ? brake_let_through(m->data, err)
				  : MIN(brake_clear(m->data, err), 0);
}

/* Whether what was found should become known now. */
static bool master_wants_merge(const struct master *m, const struct state *corked)
{
	const struct state_course *course = &state_params(corked)->course;
	int64_t now_s = clock_wall_us() / US_PER_S;
	bool idle = crawl_due_s(&m->conf->crawl, course, now_s) > now_s;
	if (m->braked && !brake_is_disabled(m->data))
		return false;
	return course->rounds >= (uint64_t)m->conf->crawl.merge_every || course->asked || idle ||
	       cycle_is_full(m->cycle);
}

static void master_count_merge(struct master *m, const struct state *st)
{
	const struct cycle *y = m->cycle;
	uint64_t forgotten = y->merged.forgotten + y->selected.expired;
	for (size_t i = 0; i < CRAWL_LIMITS; i++)
		forgotten += y->selected.forgotten[i];
	counters_add(m->counters, COUNT_ADDED, y->merged.added);
	counters_add(m->counters, COUNT_FORGOTTEN, forgotten);
	master_show_course(m, st);
	if (y->merged.lost.code != ERR_NONE)
		log_warn(ROLE, "contributions damaged; links will find their pages again",
			 KV_TEXT("why", y->merged.lost.msg));
}

static int master_merge(struct master *m, struct state *st, struct err *err)
{
	m->cycle->no_brake = brake_is_disabled(m->data);
	int rc = 0;
	for (enum cycle_module i = MODULE_MERGE; rc == 0 && i <= MODULE_RECORD; i++)
		rc = cycle_run(m->cycle, i, &st, err);
	if (rc == 0)
		master_count_merge(m, st);
	state_free(&st);
	if (rc == CYCLE_BRAKED)
		return master_brake(m, err);
	if (rc != 0)
		return MIN(rc, 0); /* stopped: the next start begins it again */
	if (master_unbrake(m, err) < 0)
		return -1;
	m->braked = false;
	return master_audit(m, err);
}

static int master_cleanup(struct master *m, struct state *st, const char *why, struct err *err)
{
	int rc = cycle_run(m->cycle, MODULE_CLEANUP, &st, err);
	state_free(&st);
	if (rc != 0)
		return MIN(rc, 0);
	const struct cleaned_up *c = &m->cycle->cleaned;
	log_info(ROLE, "bucket file cleaned", KV_TEXT("why", why), KV_UINT("before", c->before),
		 KV_UINT("after", c->after), KV_UINT("dropped", c->dropped));
	log_lines(&c->told, false, "cleanup");
	return 0;
}

/* One step from wherever the newest state stands. */
static int master_step(struct master *m, struct err *err)
{
	struct state *st = NULL;
	int rc = state_open(&st, m->states, "current", err);
	if (rc != 0)
		return rc < 0 ? -1 : err_set(err, ERR_DAMAGED, "%s: no state", m->folder);
	if (cycle_reload(m->cycle, err) < 0)
		log_warn(ROLE, "reading the rules failed; keeping the previous ones",
			 KV_TEXT("why", err->msg));
	if (m->cycle->reloaded) /* it may have been their fault */
		m->braked = false;
	enum phase phase = state_phase(st);
	const char *why = phase == PHASE_CLOSED ? cycle_wants_cleanup(m->cycle, st) : NULL;
	if (why)
		return master_cleanup(m, st, why, err);
	if (phase == PHASE_CORKED && master_wants_merge(m, st))
		return master_merge(m, st, err);
	if (phase_is_done(phase))
		return master_begin(m, st, err);
	if (phase == PHASE_REAP || phase == PHASE_CORK)
		return master_go_on(m, st, err);
	rc = err_set(err, ERR_DAMAGED,
		     "%s: state %s is in phase %s, which recovery should have ended", m->folder,
		     state_name(st), phase_name(phase));
	state_free(&st);
	return rc;
}

static int master_recover(struct master *m, struct err *err)
{
	struct recovery r = {0};
	int rc = states_recover(m->states, clock_wall_us(), &r, err);
	log_lines(&r.told, r.damaged > 0, "recovery");
	recovery_free(&r);
	return rc;
}

/* Beginning and end. */

static void on_signal(void *ctx, int number)
{
	struct master *m = ctx;
	if (number == SIGHUP) {
		if (m->reap)
			reap_reopen_log(m->reap);
		return;
	}
	m->stop = true;
	if (m->reap)
		reap_stop(m->reap);
	if (!m->reap || !reap_state(m->reap))
		loop_stop(m->loop);
}

static int take_requests(void *ctx, requests_fn *fn, void *fn_ctx, struct err *err)
{
	struct master *m = ctx;
	return requests_take(m->requests, fn, fn_ctx, err);
}

static void requests_are_kept(void *ctx)
{
	struct master *m = ctx;
	struct err err;
	char path[PATH_MAX + 16];
	snprintf(path, sizeof path, "%s/feedback", m->folder);
	if (!m->fed && reap_state(m->reap) &&
	    feedback_done(path, state_params(reap_state(m->reap))->course.feedback, &err) < 0)
		log_warn(ROLE, "cannot remove feedback that was applied", KV_TEXT("why", err.msg));
	m->fed = true;
	if (requests_kept(m->requests, &err) < 0)
		log_warn(ROLE, "cannot take a request; ignoring it", KV_TEXT("why", err.msg));
}

static int open_states(struct master *m, struct err *err)
{
	int rc = states_open(&m->states, m->folder, true, err);
	if (rc == 1) {
		if (states_init(m->folder, 0, clock_wall_us(), err) < 0)
			return -1;
		rc = states_open(&m->states, m->folder, true, err);
	}
	return rc != 0 ? -1 : master_recover(m, err);
}

/* A step, when there is room for what it writes. */
static int master_go(struct master *m, struct err *err)
{
	int rc = space_wait(m, err);
	if (rc < 0 || m->stop)
		return rc;
	if (!m->states)
		rc = open_states(m, err);
	if (rc == 0)
		rc = master_step(m, err);
	if (rc == 0)
		m->refusals = 0;
	return rc < 0 && space_refused(m, err) ? 0 : rc;
}

/* The reap, with its robot and parsers. */
static int master_make_reap(struct master *m, struct err *err)
{
	if (cage_section_options(config_get(m->config, &cage_section), m->program, &m->parse, err) <
	    0)
		return -1;
	struct reap_options options = {
		.loop = m->loop,
		.data = m->data,
		.parse = &m->parse,
		.robot = m->robot,
		.conf = &m->conf->crawl,
		.counters = m->counters,
		.requests = take_requests,
		.kept = requests_are_kept,
		.full = space_is_short,
		.ctx = m,
		.waits = m->counters == NULL, /* a module by hand */
	};
	if (reap_new(&m->reap, &options, err) < 0)
		return -1;
	m->cycle->o.reap = m->reap;
	return 0;
}

/* Loop, signals, rules: what the role and a single module need. */
static int master_make(struct master *m, struct err *err)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	char requests[PATH_MAX];
	m->conf = config_get(m->config, &section);
	m->robot = config_get(m->config, &robot_section);
	m->look = (struct loop_timer){.fn = master_look, .ctx = m};
	m->space = (struct loop_timer){.fn = space_look, .ctx = m};
	snprintf(requests, sizeof requests, "%s/" CRAWL_REQUESTS, m->data);
	m->requests = requests_new(requests, "add");
	snprintf(m->folder, sizeof m->folder, "%s/shepherd", m->data);
	const struct cycle_options cycle = {
		.folder = m->folder,
		.conf = &m->conf->crawl,
		.robot = m->robot,
		.entered = master_entered,
		.took = master_took,
		.stopped = is_stopped,
		.keeps_classes = m->counters != NULL, /* the role does not end for that */
		.ctx = m,
	};
	if (loop_new(&m->loop, NULL, err) < 0 || cycle_new(&m->cycle, &cycle, err) < 0)
		return -1;
	if (m->cycle->classes_lost.code != ERR_NONE)
		log_warn(ROLE, "reading the classes of sites failed; keeping the previous ones",
			 KV_TEXT("why", m->cycle->classes_lost.msg));
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (loop_signal(m->loop, signals[i], on_signal, m, err) < 0)
			return -1;
	return 0;
}

static void master_unmake(struct master *m)
{
	reap_free(&m->reap);
	states_close(&m->states);
	requests_free(&m->requests);
	cycle_free(&m->cycle);
	if (m->loop)
		loop_free(&m->loop);
}

static int run_all(struct master *m, struct err *err)
{
	if (master_make(m, err) < 0 || (open_states(m, err) < 0 && !space_refused(m, err)) ||
	    master_make_reap(m, err) < 0)
		return -1;
	notify_send("READY=1");
	int rc = 0;
	while (!m->stop && rc == 0) {
		rc = master_go(m, err);
		loop_poll(m->loop); /* signals that came meanwhile */
	}
	notify_send("STOPPING=1");
	return rc;
}

static int run(struct role_env *env, struct err *err)
{
	struct master m = {.config = env->config,
			   .data = env->data,
			   .counters = env->counters,
			   .disk_free = env->disk_free};
	int rc = run_all(&m, err);
	master_unmake(&m);
	return rc;
}

/* As master_brake(), but the clone is thrown away at once: there may be no role to do it. */
static int module_brake(struct master *m, struct err *err)
{
	struct recovery r = {0};
	int rc = brake_save(m->data, &m->cycle->selected, clock_wall_us(), err);
	if (rc == 0)
		rc = states_recover(m->states, clock_wall_us(), &r, err);
	recovery_free(&r);
	return rc < 0 ? -1 : CYCLE_BRAKED;
}

/* What the module appended is kept: the next one is another process. */
static int module_run(struct master *m, enum cycle_module which, struct state **st,
		      struct buf *told, struct err *err)
{
	int rc = cycle_run(m->cycle, which, st, err);
	if (rc == CYCLE_STOPPED)
		return err_set(err, ERR_PARTLY, "stopped; what was done does not count");
	if (rc == 0)
		rc = state_rest(*st, clock_wall_us(), err);
	if (rc >= 0)
		cycle_tell(m->cycle, which, *st, told);
	return rc;
}

static int module_alone(struct master *m, enum cycle_module which, const char *name,
			struct buf *told, struct err *err)
{
	struct state *st = NULL;
	if (master_make(m, err) < 0)
		return -1;
	int rc = states_open(&m->states, m->folder, true, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE,
			       "%s: there is no crawl yet; make one with garner add URL, or garner "
			       "shep init",
			       m->folder);
	if (rc == 0)
		rc = state_open(&st, m->states, name, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE,
			       "there is no state %s; garner shep states lists them", name);
	if (rc == 0 && which == MODULE_REAP)
		rc = master_make_reap(m, err);
	m->cycle->no_brake = brake_is_disabled(m->data);
	if (rc == 0)
		rc = module_run(m, which, &st, told, err);
	state_free(&st);
	if (rc == CYCLE_BRAKED)
		return module_brake(m, err);
	if (rc == 0 && which == MODULE_SELECT)
		rc = master_unbrake(m, err);
	return rc;
}

struct crawl shepherd_crawl(const struct config *config, const struct state_course *course)
{
	const struct crawl_conf *conf = crawl_conf_of(config);
	const struct robot_section_conf *robot = config_get(config, &robot_section);
	return (struct crawl){
		.conf = conf,
		.delay_us = robot->robot.delay_us,
		.concurrent = (unsigned)robot->robot.concurrent,
		.cycle_us = crawl_cycle_us(conf, course),
		.now_us = clock_wall_us(),
	};
}

int shepherd_module(const struct config *config, const char *data, enum cycle_module which,
		    const char *state, struct buf *told, struct err *err)
{
	struct master m = {.config = config, .data = data};
	int rc = module_alone(&m, which, state, told, err);
	master_unmake(&m);
	return rc;
}

const struct role shepherd_role = {
	.name = "shepherd",
	.old_name = true,
	.apart = "reapd",
	.summary = "crawl the web in cycles",
	.description =
		"Crawls the sites that were added with garner add, politely: plans what is "
		"new or due, fetches it, stores it in buckets below shepherd/, adds what the "
		"pages link to, and repeats. It may be stopped or killed at any time; it "
		"continues from its last checkpoint, at most a second before.",
	.section = &section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.run = run,
};
