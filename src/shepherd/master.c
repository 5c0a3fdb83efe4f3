/* The role `shepherd`: recovers, then runs the modules one after the other, each from the phase in
 * which the newest state stands. A step that is stopped or fails is begun again at the next start.
 */
#include "shepherd/master.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "bucket/bucket.h"
#include "disk/requests.h"
#include "extract/cage_section.h"
#include "role/notify.h"
#include "shepherd/reap.h"
#include "state/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
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

enum {
	COUNT_CYCLES = REAP_NCOUNTERS,
	COUNT_PHASE,
	COUNT_SLEEPING, /* and after it the other types */
	COUNT_ADDED = COUNT_SLEEPING + ITEM_TYPES,
	COUNT_FORGOTTEN,
	COUNT_PLANNED,
	COUNT_OVERDUE,
	COUNT_NEXT_DUE,
	COUNT_FULL,
};

#define URLS "URLs that are known, by what is known of them."
static const struct counter_def counters[] = {
	REAP_COUNTER_DEFS,
	{"cycles", NULL, COUNTER_TOTAL, "Cycles that were begun."},
	{"phase", NULL, COUNTER_GAUGE, "What is being done: the number of the phase."},
	{"urls", "type=\"sleeping\"", COUNTER_GAUGE, URLS},
	{"urls", "type=\"new\"", COUNTER_GAUGE, URLS},
	{"urls", "type=\"gathered\"", COUNTER_GAUGE, URLS},
	{"urls", "type=\"error\"", COUNTER_GAUGE, URLS},
	{"queue_keys", NULL, COUNTER_GAUGE, "Sites whose server is known."},
	{"urls", "type=\"temporary\"", COUNTER_GAUGE, URLS},
	{"urls", "type=\"zombie\"", COUNTER_GAUGE, URLS},
	{"urls_added", NULL, COUNTER_TOTAL, "URLs that became known."},
	{"urls_forgotten", NULL, COUNTER_TOTAL, "URLs that were forgotten."},
	{"urls_planned", NULL, COUNTER_GAUGE, "URLs in the plan of this cycle."},
	{"urls_overdue", NULL, COUNTER_GAUGE, "URLs that are due but not in the plan."},
	{"next_due_seconds", NULL, COUNTER_GAUGE,
	 "When the next URL is due, seconds since 1970; 0: none is."},
	{"waits_for_space", NULL, COUNTER_GAUGE,
	 "1 while nothing is fetched because there is no room on the disk."},
};

struct master {
	const struct shepherd_conf *conf;
	const struct robot_section_conf *robot;
	struct counters *counters;
	struct loop *loop;
	struct states *states;
	struct reap *reap;
	struct requests *requests;
	struct loop_timer look;
	char folder[PATH_MAX], objects[PATH_MAX + 16];
	int64_t idle_until_us; /* wall clock */
	bool fresh;            /* the state has URLs without a bucket */
	struct filter *filter;
	struct equiv *equiv;
	struct schema schema;
	bool stop;
	/* Room on the disk. */
	struct loop_timer space;
	bool full;          /* there is less than is wanted, and that was said */
	bool refused;       /* a write failed for want of it, and no trial went well since */
	unsigned refusals;  /* such failures in a row */
	int64_t refused_us; /* the last one, by the monotonic clock */
};

static void master_gauge(struct master *m, size_t which, int64_t v)
{
	if (m->counters)
		counters_set(m->counters, which, v);
}

static void master_count(struct master *m, size_t which, uint64_t n)
{
	if (m->counters)
		counters_add(m->counters, which, n);
}

static int master_enter(struct master *m, struct state *st, enum phase phase, struct buckets *b,
			struct err *err)
{
	char text[64];
	FAULT("master.phase");
	if (state_enter(st, phase, b, clock_wall_us(), err) < 0)
		return -1;
	master_gauge(m, COUNT_PHASE, phase);
	snprintf(text, sizeof text, "STATUS=%s", phase_name(phase));
	notify_send(text);
	return 0;
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
	master_gauge(m, COUNT_NEXT_DUE, next_s == INT64_MAX ? 0 : next_s);
	notify_send("STATUS=nothing is due");
	loop_timer_every(m->loop, &m->look, LOOK_US);
	int rc = m->stop ? 0 : loop_run(m->loop, err);
	loop_timer_stop(&m->look);
	return rc;
}

/* Room on the disk. Pages that cannot be kept must not be fetched, again and again: while there is
 * less room than `space` nothing new is begun, and after a write that was refused nothing at all,
 * until a trial has gone well. */

#define SPACE_LOOK_US (500 * US_PER_MS)
#define REFUSED_MIN_US US_PER_S
#define REFUSED_MAX_US (30 * US_PER_S)
enum { TRIAL_BYTES = 1 << 20 };

static uint64_t space_left(const struct master *m)
{
	struct statvfs v;
	return statvfs(m->folder, &v) == 0 ? (uint64_t)v.f_bavail * v.f_frsize : UINT64_MAX;
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
	master_gauge(m, COUNT_FULL, full);
	notify_send(full ? "STATUS=waits for room on the disk" : "STATUS=goes on");
	if (full)
		log_warn(ROLE, "no room on the disk: nothing is fetched until there is",
			 KV_UINT("free", space_left(m)), KV_UINT("wanted", m->conf->crawl.space),
			 KV_TEXT("why", why));
	else
		log_info(ROLE, "there is room on the disk again", KV_UINT("free", space_left(m)));
}

/* Whether nothing new may be begun. */
static bool space_is_short(void *ctx)
{
	struct master *m = ctx;
	if (!m->refused)
		space_say(m, space_left(m) < m->conf->crawl.space,
			  "less is free than shepherd.space");
	return m->full;
}

static void space_look(void *ctx)
{
	struct master *m = ctx;
	int64_t wait_us = backoff_us(m->refusals, REFUSED_MIN_US, REFUSED_MAX_US);
	if (space_left(m) < m->conf->crawl.space ||
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

/* What a module works with, now. */
static struct crawl master_crawl(struct master *m, const struct state *st, struct buckets *b)
{
	const struct crawl_conf *conf = &m->conf->crawl;
	return (struct crawl){
		.conf = conf,
		.filter = m->filter,
		.equiv = m->equiv,
		.schema = m->schema,
		.delay_us = m->robot->robot.delay_us,
		.concurrent = (unsigned)m->robot->robot.concurrent,
		.cycle_us = crawl_cycle_us(conf, &state_params(st)->course),
		.now_us = clock_wall_us(),
		.buckets = b,
		.stopped = is_stopped,
		.ctx = m,
	};
}

/* The modules, each from one phase to the next. */

static int master_plan(struct master *m, struct state *closed, struct err *err)
{
	struct crawl c = master_crawl(m, closed, NULL);
	CLEANUP(state_free) struct state *st = NULL;
	struct planned planned;
	int rc = crawl_plan(closed, &c, false, &planned, err);
	if (rc != 0)
		return MIN(rc, 0);
	for (size_t i = 0; i < ITEM_TYPES; i++)
		master_gauge(m, COUNT_SLEEPING + i, (int64_t)planned.types[i]);
	if (planned.urls == 0 && !requests_waiting(m->requests))
		return master_idle(m, planned.next_s, err);
	if (state_clone(&st, closed, false, clock_wall_us(), err) < 0 ||
	    master_enter(m, st, PHASE_PLAN, NULL, err) < 0)
		return -1;
	if ((rc = crawl_plan(st, &c, true, &planned, err)) != 0)
		return MIN(rc, 0);
	master_count(m, COUNT_CYCLES, 1);
	master_gauge(m, COUNT_PLANNED, (int64_t)planned.urls);
	master_gauge(m, COUNT_OVERDUE, (int64_t)planned.waiting);
	return master_enter(m, st, PHASE_REAP, NULL, err);
}

static int with_buckets(struct master *m,
			int (*fn)(struct master *, struct state *, struct buckets *, struct err *),
			struct state *st, struct err *err)
{
	struct bucket_options options = {.mode = BUCKET_APPEND};
	struct buckets *b;
	int rc = bucket_open(&b, m->objects, &options, err);
	if (rc != 0)
		return rc < 0 ? -1 : err_set(err, ERR_DAMAGED, "%s is lost", m->objects);
	rc = fn(m, st, b, err);
	if (rc != 0)
		bucket_drop(&b);
	else
		rc = bucket_close(&b, err);
	return rc;
}

static int master_reap(struct master *m, struct state *st, struct buckets *b, struct err *err)
{
	if (reap_run(m->reap, st, b, err) < 0)
		return -1;
	return m->stop ? 0 : master_enter(m, st, PHASE_CORK, b, err);
}

static int master_cork(struct master *m, struct state *st, struct err *err)
{
	struct crawl c = master_crawl(m, st, NULL);
	int rc = crawl_cork(st, &c, err);
	return rc == 0 ? master_enter(m, st, PHASE_CORKED, NULL, err) : MIN(rc, 0);
}

static int master_record(struct master *m, struct state *st, struct buckets *b, struct err *err)
{
	struct crawl c = master_crawl(m, st, b);
	uint64_t made;
	int rc = m->fresh ? crawl_record(st, &c, &made, err) : 0;
	return rc == 0 ? master_enter(m, st, PHASE_CLOSED, b, err) : rc;
}

static int master_audit(struct master *m, struct err *err)
{
	const struct crawl_conf *conf = &m->conf->crawl;
	struct states_keep keep = {conf->old_states, conf->interim_states, conf->gone_us};
	unsigned deleted;
	return states_audit(m->states, &keep, clock_wall_us(), &deleted, err);
}

/* Cleanup */

static bool wants_cleanup(const struct master *m, const struct state *st)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	const struct crawl_conf *conf = &m->conf->crawl;
	const struct state_course *course = &state_params(st)->course;
	uint64_t size, before = course->cleaned_bytes;
	struct err err;
	if (file_open(&f, m->objects, O_RDONLY, 0, &err) != 0 || file_size(&f, &size, &err) < 0)
		return false;
	/* one that is too large in spite of a cleanup is not cleaned for ever */
	if (size > conf->bucket_file_size && size > before)
		return true;
	if (size > conf->cleanup && size > before + before / 2)
		return true;
	return clock_wall_us() / US_PER_S - (int64_t)course->cleaned_s >=
	       conf->periodic_cleanup_us / US_PER_S;
}

static void cleanup_say(const struct cleaned_up *c)
{
	struct str rest = buf_str(&c->told), line;
	log_info(ROLE, "the bucket file was cleaned", KV_UINT("before", c->before),
		 KV_UINT("after", c->after), KV_UINT("dropped", c->dropped),
		 KV_UINT("trimmed", c->trimmed), KV_UINT("rejected", c->rejected),
		 KV_UINT("ranked", c->ranked), KV_UINT("missing", c->missing));
	while (str_cut(&rest, '\n', &line) == 0)
		if (line.n)
			log_warn(ROLE, "a bucket is missing", KV_STR("what", line));
}

static int master_clean(struct master *m, struct state *st, struct buckets *b, struct err *err)
{
	struct crawl c = master_crawl(m, st, b);
	struct cleaned_up cleaned;
	int rc = crawl_cleanup(st, &c, &cleaned, err);
	if (rc != 0)
		return rc;
	master_count(m, COUNT_FORGOTTEN, cleaned.rejected + cleaned.ranked + cleaned.missing);
	cleanup_say(&cleaned);
	buf_free(&cleaned.told);
	return master_enter(m, st, PHASE_CLOSED, b, err);
}

static int master_cleanup(struct master *m, struct state *closed, struct err *err)
{
	CLEANUP(state_free) struct state *st = NULL;
	if (state_clone(&st, closed, false, clock_wall_us(), err) < 0 ||
	    master_enter(m, st, PHASE_CLEANUP, NULL, err) < 0)
		return -1;
	return MIN(with_buckets(m, master_clean, st, err), 0); /* stopped: begun again */
}

/* In a clone of a corked state. 1: stopped, and the next start begins it again. */
static int master_rework(struct master *m, struct state *st, struct buckets *b, struct err *err)
{
	struct crawl c = master_crawl(m, st, b);
	struct merged merged;
	int rc = crawl_merge(st, &c, &merged, err);
	if (rc != 0)
		return rc;
	if (merged.lost.code != ERR_NONE)
		log_warn(ROLE, "contributions are damaged; pages are found again by their links",
			 KV_TEXT("why", merged.lost.msg));
	m->fresh = merged.added > 0;
	master_count(m, COUNT_ADDED, merged.added);
	master_count(m, COUNT_FORGOTTEN, merged.forgotten);
	return master_enter(m, st, PHASE_RECORD, NULL, err) < 0 ? -1 : master_record(m, st, b, err);
}

static int master_merge(struct master *m, struct state *corked, struct err *err)
{
	CLEANUP(state_free) struct state *st = NULL;
	if (state_clone(&st, corked, true, clock_wall_us(), err) < 0 ||
	    master_enter(m, st, PHASE_MERGE, NULL, err) < 0)
		return -1;
	int rc = with_buckets(m, master_rework, st, err);
	if (rc != 0)
		return MIN(rc, 0);
	state_free(&st);
	return master_audit(m, err);
}

/* One step from wherever the newest state stands. */
static int master_step(struct master *m, struct err *err)
{
	CLEANUP(state_free) struct state *st = NULL;
	int rc = state_open(&st, m->states, "current", err);
	if (rc != 0)
		return rc < 0 ? -1 : err_set(err, ERR_DAMAGED, "%s: no state", m->folder);
	switch (state_phase(st)) {
	case PHASE_CLOSED:
		return wants_cleanup(m, st) ? master_cleanup(m, st, err) : master_plan(m, st, err);
	case PHASE_REAP:
		return with_buckets(m, master_reap, st, err);
	case PHASE_CORK:
		return master_cork(m, st, err);
	case PHASE_CORKED:
		return master_merge(m, st, err);
	default:
		return err_set(err, ERR_DAMAGED,
			       "%s: state %s is in phase %s, which recovery should "
			       "have ended",
			       m->folder, state_name(st), phase_name(state_phase(st)));
	}
}

static int master_recover(struct master *m, struct err *err)
{
	struct recovery r = {0};
	int rc = states_recover(m->states, clock_wall_us(), &r, err);
	struct str rest = buf_str(&r.told), line;
	while (str_cut(&rest, '\n', &line) == 0)
		if (line.n && r.damaged)
			log_warn(ROLE, "recovery", KV_STR("what", line));
		else if (line.n)
			log_info(ROLE, "recovery", KV_STR("what", line));
	recovery_free(&r);
	return rc;
}

/* Beginning and end. */

static void on_signal(void *ctx, int number)
{
	struct master *m = ctx;
	if (number == SIGHUP)
		return;
	m->stop = true;
	reap_stop(m->reap);
	if (!reap_runs(m->reap))
		loop_stop(m->loop);
}

static int take_requests(void *ctx, struct state *st, struct err *err)
{
	struct master *m = ctx;
	return requests_take(m->requests, crawl_ask, st, err);
}

static void requests_are_kept(void *ctx)
{
	struct master *m = ctx;
	struct err err;
	if (requests_kept(m->requests, &err) < 0)
		log_warn(ROLE, "a request cannot be taken, it is left alone",
			 KV_TEXT("why", err.msg));
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

static int run_all(struct master *m, struct role_env *env, struct err *err)
{
	char program[CAGE_PATH_MAX];
	struct cage_options parse;
	if (cage_section_options(config_get(env->config, &cage_section), program, &parse, err) < 0)
		return -1;
	char filter[PATH_MAX + 16];
	const struct filter_defaults defaults = {m->conf->crawl.no_delay,
						 m->conf->crawl.follow == CRAWL_ALL};
	snprintf(filter, sizeof filter, "%s/cf/filter", m->folder);
	if (filter_load(filter, &defaults, &m->filter, err) < 0 ||
	    schema_parse(str_of(m->conf->crawl.refresh_schema), &m->schema, err) < 0)
		return -1;
	struct reap_options options = {
		.loop = m->loop,
		.data = env->data,
		.parse = &parse,
		.robot = m->robot,
		.conf = &m->conf->crawl,
		.counters = env->counters,
		.requests = take_requests,
		.kept = requests_are_kept,
		.full = space_is_short,
		.ctx = m,
	};
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	if ((open_states(m, err) < 0 && !space_refused(m, err)) ||
	    reap_new(&m->reap, &options, err) < 0)
		return -1;
	if (reap_lost(m->reap))
		log_warn(ROLE, "damaged, and begun anew: the sites are asked again",
			 KV_TEXT("why", reap_lost(m->reap)->msg));
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (loop_signal(m->loop, signals[i], on_signal, m, err) < 0)
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
	char requests[PATH_MAX];
	struct master m = {
		.conf = config_get(env->config, env->role->section),
		.robot = config_get(env->config, &robot_section),
		.counters = env->counters,
	};
	m.look = (struct loop_timer){.fn = master_look, .ctx = &m};
	m.space = (struct loop_timer){.fn = space_look, .ctx = &m};
	snprintf(requests, sizeof requests, "%s/" CRAWL_REQUESTS, env->data);
	m.requests = requests_new(requests, "add");
	snprintf(m.folder, sizeof m.folder, "%s/shepherd", env->data);
	snprintf(m.objects, sizeof m.objects, "%s/objects", m.folder);
	int rc = loop_new(&m.loop, NULL, err);
	if (rc == 0)
		rc = run_all(&m, env, err);
	reap_free(&m.reap);
	states_close(&m.states);
	requests_free(&m.requests);
	filter_free(&m.filter);
	if (m.loop)
		loop_free(&m.loop);
	return rc;
}

const struct role shepherd_role = {
	.name = "shepherd",
	.old_name = true,
	.summary = "crawl the web in cycles",
	.description =
		"Gathers the sites that were given with garner add, politely: plans what is new or "
		"due, fetches it, keeps it in buckets below shepherd/, adds what the pages link to "
		"and begins again. It may be stopped and killed at any time and goes on where its "
		"last checkpoint was, at most a second before.",
	.section = &section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.run = run,
};
