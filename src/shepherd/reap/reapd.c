/* The role `reapd`: a robot, a cage, a packer and a data directory of its own, and a server that
 * one master talks to. It knows no crawl and keeps nothing: stopped, killed or cut off, it has only
 * to stop asking servers. So it ends at once on a signal; the master gives its jobs to others. */
#include "shepherd/reapd.h"

#include "base/clock.h"
#include "extract/cage_section.h"
#include "fetch/kit.h"
#include "net/role_loop.h"
#include "shepherd/reap/reapd_server.h"
#include "shepherd/reap/reaper_local.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

struct reapd_conf {
	const char *listen;
	int64_t capacity, parsers;
	struct server_limits limits;
	struct tls_conf tls;
};

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct reapd_conf, listen), .fallback = "127.0.0.1:8188",
	 .moves = "net.port",
	 .help = "listening address for its master: an address with a port, or unix:PATH"},
	{"capacity", VALUE_INT_AT(struct reapd_conf, capacity), .fallback = "1000", .min = 1,
	 .max = 100000, .help = "most jobs at a time"},
	{"parsers", VALUE_INT_AT(struct reapd_conf, parsers), .fallback = "1", .min = 1, .max = 64,
	 .help = "number of processes that parse documents"},
	SERVER_LIMITS_AT(struct reapd_conf, limits),
	TLS_SPECS(struct reapd_conf, tls),
};

static const struct config_section section = {
	.name = "reapd",
	.help = "A reaper for the shepherd of another machine.",
	.size = sizeof(struct reapd_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

struct reapd_now {
	struct reapd_counts server;
	struct reaper_counts reaper;
};

#define COUNTED(member) COUNTER_AT(struct reapd_now, member)
static const struct counter_def counters[] = {
	{"masters", NULL, COUNTER_TOTAL, "Sessions of masters.", COUNTED(server.masters)},
	{"jobs", NULL, COUNTER_TOTAL, "Jobs that were taken.", COUNTED(reaper.jobs)},
	{"documents", NULL, COUNTER_TOTAL, "Documents that were packed.",
	 COUNTED(reaper.documents)},
	{"gathered_bytes", NULL, COUNTER_TOTAL, "Bytes of documents, unpacked.",
	 COUNTED(reaper.bytes)},
	{"errors", NULL, COUNTER_TOTAL, "Jobs that ended in an error.", COUNTED(reaper.errors)},
	{"dropped_jobs", NULL, COUNTER_TOTAL,
	 "Jobs that were dropped, because the lease or the connection of the "
	 "master had ended.",
	 COUNTED(server.dropped)},
	{"jobs_under_way", NULL, COUNTER_GAUGE, "Jobs that are being done.", COUNTED(reaper.out)},
};

struct reapd {
	struct role_loop role;
	const struct reapd_conf *conf;
	const struct robot_section_conf *robot;
	struct kit kit;
	struct cage_options parse;
	char program[CAGE_PATH_MAX], dict[PATH_MAX];
	struct reapd_server *server;
	struct reaper *reaper;
	int64_t until_us;
};

/* What the server asks for. */

static void robot_may_until(void *ctx, int64_t mono_us)
{
	struct reapd *d = ctx;
	d->until_us = mono_us;
	robot_until(d->kit.robot, mono_us);
}

/* The new robot is held as the old one was. */
static int drop_all(void *ctx, struct err *err)
{
	struct reapd *d = ctx;
	if (reaper_local_drop(d->reaper, err) < 0)
		return -1;
	robot_until(d->kit.robot, d->until_us);
	return 0;
}

static int take_rules(void *ctx, const struct reaper_rules *rules, struct err *err)
{
	struct reapd *d = ctx;
	return robots_cache_put(d->kit.robots, rules->site, rules->is_reachable, rules->compiled,
				rules->until_us, clock_wall_us(), err);
}

static void on_failure(void *ctx, const struct err *err)
{
	struct reapd *d = ctx;
	role_loop_fail(&d->role, err);
}

/* The role. */

static void tell_counters(void *ctx)
{
	struct reapd *d = ctx;
	const struct reapd_now now = {*reapd_server_counts(d->server), d->reaper->counts};
	role_loop_tell_of(&d->role, &now, "%" PRIu64 " jobs under way, %" PRIu64 " documents",
			  now.reaper.out, now.reaper.documents);
}

static int reapd_check(const struct config *config, const struct config_section *of,
		       struct err *err)
{
	const struct reapd_conf *conf = config_get(config, of);
	return server_may_listen_at(conf->listen, &conf->tls, err) < 0 ? err_in(err, "reapd") : 0;
}

static int reapd_make(struct reapd *d, struct err *err)
{
	const struct role_env *env = d->role.env;
	int fd;
	/* anyone who can connect can have pages fetched, and read what they say */
	if (role_loop_socket(&d->role, &d->conf->tls, &fd, err) < 0 ||
	    cage_section_options(config_get(env->config, &cage_section), d->program, &d->parse,
				 err) < 0 ||
	    role_loop_open(&d->role, err) < 0 ||
	    kit_open(&d->kit, d->role.loop, env->data, d->robot, err) < 0)
		return -1;
	snprintf(d->dict, sizeof d->dict, "%s/run/reapd.dict", env->data);
	const struct reapd_server_options options = {
		.loop = d->role.loop,
		.limits = &d->conf->limits,
		.tls = d->role.tls,
		.capacity = (uint64_t)d->conf->capacity,
		.dict_path = d->dict,
		.robot = &d->robot->robot.limits,
		.until = robot_may_until,
		.drop = drop_all,
		.rules = take_rules,
		.failed = on_failure,
		.ctx = d,
	};
	d->server = reapd_server_new(&options);
	const struct reaper_local_options local = {
		.kit = &d->kit,
		.robot = d->robot,
		.parse = &d->parse,
		.parsers = (unsigned)d->conf->parsers,
		.robots = true,
		.host = reapd_server_host(d->server),
	};
	if (reaper_local_new(&d->reaper, &local, err) < 0)
		return -1;
	reapd_server_reaper(d->server, d->reaper);
	return reapd_server_listen(d->server, fd, err);
}

static int reapd_run(struct role_env *env, struct err *err)
{
	struct reapd d = {
		.role = {.env = env, .tell = tell_counters, .ctx = &d},
		.conf = config_get(env->config, &section),
		.robot = config_get(env->config, &robot_section),
	};
	struct err ignored;
	int rc = reapd_make(&d, err);
	if (rc == 0)
		rc = role_loop_run(&d.role, err);
	reapd_server_free(&d.server);
	if (d.reaper)
		d.reaper->ops->free(&d.reaper);
	(void)kit_close(&d.kit, &ignored);
	role_loop_close(&d.role);
	return rc;
}

const struct role reapd_role = {
	.name = "reapd",
	.only_named = true,
	.apart = "shepherd", /* each takes a lease on the same servers in run/polite */
	.summary = "fetch pages for the shepherd of another machine",
	.description =
		"Waits for the shepherd of a crawl, whose setting shepherd.reapers names this "
		"machine, then fetches, parses and packs the pages that it is given, "
		"politely: it asks only the servers that it is told to, and stops at once "
		"when its master is gone or silent. It stores nothing of the crawl, and may "
		"be stopped or killed at any time. On the machine of the shepherd it needs a "
		"data directory of its own.",
	.section = &section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = reapd_check,
	.run = reapd_run,
};
