/* The role archie-getter. A night is a run of the getter in this process, then one of the builder.
 * The builder computes for minutes, so it is a process of its own, `garner archie build`, which
 * ends with this one. A night counts as done when both have ended; a night that was missed or
 * interrupted is made up for at once.
 *
 * The role is in this room because only this room starts processes. */
#include "cmd/archie/role_archie.h"

#include "archie/archie_conf.h"
#include "archie/getter.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/system/proc.h"
#include "extract/cage_section.h"
#include "fetch/kit.h"
#include "net/role_loop.h"
#include "role/notify.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LOOK_US (10 * US_PER_MIN) /* the clock may be set meanwhile */
#define BUSY_US (1 * US_PER_MIN)  /* until a getter that was started by hand is asked again */

enum { CONF_MOST = 4 << 20 };

#define NIGHT_COUNTERS(X)                                                           \
	X(NIGHTS, "nights", NULL, TOTAL, "nightly runs that came to their end")     \
	X(GOT, "listings", "end=\"got\"", TOTAL, "listings of sites")               \
	X(UNCHANGED, "listings", "end=\"unchanged\"", TOTAL, "listings of sites")   \
	X(BYTES, "bytes", NULL, TOTAL, "bytes of listings that were received")      \
	X(FOLDERS, "folders", NULL, TOTAL, "folders that were asked for in walks")  \
	X(BUILDS, "builds", "end=\"done\"", TOTAL, "runs of the builder")           \
	X(BUILD_FAILURES, "builds", "end=\"failed\"", TOTAL, "runs of the builder") \
	X(SITES, "sites", NULL, GAUGE, "sites in the list")                         \
	X(UNDER_WAY, "under_way", NULL, GAUGE, "sites that are visited now")        \
	X(BAD_LINES, "bad_lines", NULL, GAUGE, "lines of the site list that mean nothing")

enum {
#define X(symbol, ...) COUNT_##symbol,
	NIGHT_COUNTERS(X)
#undef X
		COUNT_FAILED, /* the first of as many as there are causes */
};

#define CAUSE(symbol, name)                               \
	{"failures", "cause=\"" name "\"", COUNTER_TOTAL, \
	 "visits of sites that brought no listing"},
static const struct counter_def counters[] = {NIGHT_COUNTERS(COUNTER_DEF) ROBOT_CAUSES(CAUSE)
						      GETTER_CAUSES(CAUSE)};
#undef CAUSE
_Static_assert(ARRAY_LEN(counters) == (size_t)COUNT_FAILED + GETTER_NCAUSES, "one for each cause");

struct night {
	struct role_loop role;
	const struct archie_conf *conf;
	const struct robot_section_conf *robot;
	struct cage_options parse;
	char program[CAGE_PATH_MAX], folder[PATH_MAX], child_conf[PATH_MAX];
	int64_t at_s;
	struct loop_timer timer;
	struct loop_later later;
	struct kit kit;
	struct getter *getter;
	struct proc builder;
	struct loop_io builder_io;
	int null_fd;
	int64_t begun_us;        /* the night that runs, wall clock; 0: none does */
	uint64_t bytes, folders; /* as they were told */
	bool stopping;
};

static void night_look(void *ctx);

int64_t archie_last_night_us(int64_t wall_us, int64_t at_s)
{
	time_t now = (time_t)(wall_us / US_PER_S);
	struct tm tm;
	if (!localtime_r(&now, &tm))
		return wall_us - US_PER_DAY;
	tm.tm_hour = (int)(at_s / 3600);
	tm.tm_min = (int)(at_s / 60 % 60);
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	time_t at = mktime(&tm);
	if (at > now) {
		tm.tm_mday--;
		tm.tm_isdst = -1;
		at = mktime(&tm);
	}
	return at == (time_t)-1 ? wall_us - US_PER_DAY : (int64_t)at * US_PER_S;
}

static void night_wait(struct night *n, int64_t us)
{
	if (!n->stopping)
		loop_timer_in(n->role.loop, &n->timer, us);
}

/* The builder */

static void night_end(struct night *n)
{
	const struct getter_record night = {.tried_us = n->begun_us};
	struct small *s = NULL;
	struct err err;
	int rc = getter_table_open(&s, n->role.env->data, &err);
	if (rc == 0)
		rc = small_put(s, &getter_table, &night, &err);
	small_close(&s);
	if (rc < 0)
		log_error(ROLE, "cannot record the end of the night", KV_TEXT("error", err.msg));
	else
		counters_add(n->role.env->counters, COUNT_NIGHTS, 1);
	n->begun_us = 0;
	/* a disk that cannot be written is not asked for a night each moment */
	night_wait(n, rc < 0 ? LOOK_US : 0);
}

static void builder_ended(void *ctx, unsigned what)
{
	struct night *n = ctx;
	siginfo_t info = {0};
	char reason[64];
	struct err err;
	(void)what;
	loop_io_end(&n->builder_io);
	if (proc_reap(&n->builder, &info, &err) < 0) {
		role_loop_fail(&n->role, &err);
		return;
	}
	proc_reason(&info, reason, sizeof reason);
	/* 1: there was nothing to build */
	bool good = info.si_code == CLD_EXITED && info.si_status <= 1;
	counters_add(n->role.env->counters, good ? COUNT_BUILDS : COUNT_BUILD_FAILURES, 1);
	if (n->stopping) {
		loop_stop(n->role.loop);
		return;
	}
	if (good)
		log_info(ROLE, "databases built");
	else
		log_warn(ROLE, "the builder failed", KV_TEXT("reason", reason));
	night_end(n);
}

/* What holds here is written down for it, whatever file, variables and options said it. */
static int write_conf(struct night *n, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(CONF_MOST);
	config_write(n->role.env->config, false, &text);
	if (text.over)
		return err_set(err, ERR_USAGE, "the configuration is longer than %d bytes",
			       CONF_MOST);
	return file_replace(n->child_conf, buf_str(&text), 0600, err);
}

static int builder_start(struct night *n, struct err *err)
{
	char name[] = "garner", archie[] = "archie", build[] = "build", c[] = "-c", log[] = "--log";
	char *const argv[] = {name, archie, build, log, c, n->child_conf, NULL};
	if (write_conf(n, err) < 0 || proc_start_command(&n->builder, argv, n->null_fd, err) < 0)
		return -1;
	n->builder_io = (struct loop_io){.fn = builder_ended, .ctx = n};
	loop_io_want(n->role.loop, &n->builder_io, n->builder.pidfd, LOOP_READ);
	return 0;
}

/* The getter */

static void count_on(struct night *n)
{
	if (!n->getter)
		return;
	const struct getter_counts *c = getter_counts(n->getter);
	counters_add(n->role.env->counters, COUNT_BYTES, c->bytes - n->bytes);
	counters_add(n->role.env->counters, COUNT_FOLDERS, c->folders - n->folders);
	n->bytes = c->bytes;
	n->folders = c->folders;
	counters_set(n->role.env->counters, COUNT_UNDER_WAY, (int64_t)c->under_way);
}

static void night_tell(void *ctx)
{
	struct night *n = ctx;
	char text[128];
	count_on(n);
	if (n->getter) {
		const struct getter_counts *c = getter_counts(n->getter);
		snprintf(text, sizeof text, "STATUS=%" PRIu64 " of %" PRIu64 " sites done", c->done,
			 c->sites);
	} else {
		snprintf(text, sizeof text, "STATUS=%s",
			 n->builder.pid ? "databases built" : "waiting for the night");
	}
	notify_send(text);
}

static void site_told(void *ctx, const struct getter_told *t)
{
	struct night *n = ctx;
	struct counters *c = n->role.env->counters;
	if (t->end == GETTER_GOT)
		counters_add(c, COUNT_GOT, 1);
	else if (t->end == GETTER_UNCHANGED)
		counters_add(c, COUNT_UNCHANGED, 1);
	else if (t->end == GETTER_FAILED)
		counters_add(c, COUNT_FAILED + t->cause, 1);
	if (t->end == GETTER_FAILED)
		log_outside(ROLE, "no listing", KV_STR("site", t->site->key),
			    KV_TEXT("cause", getter_cause_name(t->cause)), KV_TEXT("why", t->why));
	else if (t->end == GETTER_GOT)
		log_info(ROLE, "listing fetched", KV_STR("site", t->site->key),
			 KV_TEXT("by", getter_method_name(t->method)), KV_UINT("bytes", t->bytes));
}

static void getter_close(struct night *n)
{
	struct err err;
	count_on(n);
	if (n->getter)
		getter_stop(n->getter);
	robot_free(&n->kit.robot);
	getter_free(&n->getter);
	if (kit_close(&n->kit, &err) < 0)
		log_warn(ROLE, "cannot save the robots.txt cache", KV_TEXT("error", err.msg));
	n->kit = (struct kit){0};
	counters_set(n->role.env->counters, COUNT_UNDER_WAY, 0);
}

static void night_build(void *ctx)
{
	struct night *n = ctx;
	struct err err;
	getter_close(n);
	if (n->stopping)
		return;
	if (builder_start(n, &err) < 0) {
		log_error(ROLE, "cannot start the builder", KV_TEXT("error", err.msg));
		counters_add(n->role.env->counters, COUNT_BUILD_FAILURES, 1);
		night_end(n);
	}
}

static void all_done(void *ctx)
{
	struct night *n = ctx;
	loop_later(n->role.loop, &n->later);
}

static int add_sites(struct night *n, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct archie_sites sites;
	int64_t now_us = clock_wall_us();
	int rc = archie_sites_read(n->folder, &arena, &sites, err);
	if (rc == 0)
		rc = getter_forget(n->getter, &sites, err);
	for (size_t i = 0; rc == 0 && i < sites.n; i++)
		if (getter_wants(n->getter, &sites.site[i], false, now_us))
			getter_add(n->getter, &sites.site[i]);
	for (size_t i = 0; rc == 0 && i < sites.problems; i++)
		log_warn(ROLE, "invalid line in the site list, ignored",
			 KV_TEXT("line", sites.problem[i]));
	if (rc == 0) {
		counters_set(n->role.env->counters, COUNT_SITES, (int64_t)sites.n);
		counters_set(n->role.env->counters, COUNT_BAD_LINES, (int64_t)sites.problems);
	}
	arena_free(&arena);
	return rc;
}

static int getter_start(struct night *n, struct err *err)
{
	struct getter_options o = {.folder = n->folder,
				   .data = n->role.env->data,
				   .conf = n->conf,
				   .robot = n->robot,
				   .kit = &n->kit,
				   .parse = &n->parse,
				   .disk_free = n->role.env->disk_free,
				   .told = site_told,
				   .done = all_done,
				   .ctx = n};
	n->bytes = n->folders = 0;
	if (kit_open(&n->kit, n->role.loop, n->role.env->data, n->robot, err) < 0 ||
	    getter_new(&n->getter, &o, err) < 0 || add_sites(n, err) < 0)
		return -1;
	log_info(ROLE, "nightly run started", KV_UINT("sites", getter_counts(n->getter)->sites));
	getter_go(n->getter);
	return 0;
}

/* When */

static int last_night_us(const struct night *n, int64_t *ret, struct err *err)
{
	struct getter_record night = {0};
	struct small *s = NULL;
	int rc = getter_table_open(&s, n->role.env->data, err);
	if (rc == 0)
		rc = small_get(s, &getter_table, &night, err);
	small_close(&s);
	*ret = night.tried_us;
	return MIN(rc, 0);
}

static void night_look(void *ctx)
{
	struct night *n = ctx;
	struct err err;
	int64_t now_us = clock_wall_us(), last_us = 0,
		due_us = archie_last_night_us(now_us, n->at_s);
	if (last_night_us(n, &last_us, &err) < 0) {
		role_loop_fail(&n->role, &err);
		return;
	}
	if (last_us >= due_us && last_us <= now_us) {
		night_wait(n, MIN(LOOK_US, MAX(due_us + US_PER_DAY - now_us, US_PER_S)));
		return;
	}
	n->begun_us = now_us;
	if (getter_start(n, &err) == 0)
		return;
	getter_close(n);
	n->begun_us = 0;
	if (err.code == ERR_BUSY) {
		log_info(ROLE, "another getter is running", KV_TEXT("who", err.msg));
		night_wait(n, BUSY_US);
	} else {
		role_loop_fail(&n->role, &err);
	}
}

static void night_drain(void *ctx)
{
	struct night *n = ctx;
	n->stopping = true;
	loop_timer_stop(&n->timer);
	if (n->builder.pid)
		proc_signal(&n->builder, SIGTERM); /* its end ends the loop */
	else
		loop_stop(n->role.loop);
}

static int night_open(struct night *n, struct err *err)
{
	const struct role_env *env = n->role.env;
	snprintf(n->folder, sizeof n->folder, "%s/archie", env->data);
	snprintf(n->child_conf, sizeof n->child_conf, "%s/run/archie-getter.conf", env->data);
	if (archie_nightly_s(n->conf, &n->at_s, err) < 0 ||
	    cage_section_options(config_get(env->config, &cage_section), n->program, &n->parse,
				 err) < 0 ||
	    dir_make(n->folder, DIR_MODE, err) < 0 || role_loop_open(&n->role, err) < 0)
		return -1;
	n->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (n->null_fd < 0)
		return err_sys(err, "/dev/null");
	if (proc_safe_fd(&n->null_fd, err) < 0)
		return -1;
	n->timer = (struct loop_timer){.fn = night_look, .ctx = n};
	n->later = (struct loop_later){.fn = night_build, .ctx = n};
	night_wait(n, 0);
	return 0;
}

static int run(struct role_env *env, struct err *err)
{
	struct night n = {
		.role = {.env = env, .tell = night_tell, .drain = night_drain, .ctx = &n},
		.conf = config_get(env->config, &archie_section),
		.robot = config_get(env->config, &robot_section),
		.builder = {.pidfd = -1},
		.null_fd = -1,
	};
	siginfo_t info;
	struct err ignored;
	int rc = night_open(&n, err);
	if (rc == 0)
		rc = role_loop_run(&n.role, err);
	getter_close(&n);
	if (n.builder.pid) {
		loop_io_end(&n.builder_io);
		(void)proc_reap(&n.builder, &info, &ignored);
	}
	if (n.null_fd >= 0)
		close(n.null_fd);
	loop_timer_stop(&n.timer);
	loop_later_cancel(&n.later);
	role_loop_close(&n.role);
	return rc;
}

const struct role archie_getter_role = {
	.name = "archie-getter",
	.only_named = true,
	.summary = "fetch the listings of archives and build their databases, each night",
	.description =
		"At archie.nightly_at, or at once if a night was missed, fetches the listings of "
		"all "
		"sites that are due (garner archie get), then builds their databases (garner "
		"archie build). The sites are in archie/sites and archie/sites.local: garner "
		"archie sites list.\n\n"
		"A site that fails keeps its database and is left alone for a while. garner "
		"status and garner why URL say how it went.",
	.section = &archie_section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = archie_conf_check,
	.run = run,
};
