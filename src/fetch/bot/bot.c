/* The role `bot`: settings, counters and signals around bot_core.h. It stores nothing, so it ends
 * at once on a signal: its botm gives its URLs to others. */
#include "fetch/bot.h"

#include "fetch/bot/bot_core.h"
#include "fetch/bot_wire.h"
#include "net/outgoing.h"
#include "net/role_loop.h"

#include <inttypes.h>
#include <limits.h>

struct bot_conf {
	const char *botm, *listen, *folder;
	int64_t parallel;
	struct server_limits limits;
	struct tls_conf tls;
};

static const struct value_spec specs[] = {
	{"botm", VALUE_TEXT_AT(struct bot_conf, botm), .fallback = "127.0.0.1:8191",
	 .moves = "net.port",
	 .help = "address of its botm: address or name with a port, or unix:PATH"},
	{"listen", VALUE_LISTEN_AT(struct bot_conf, listen),
	 .help = "address where it listens for people who type (telnet) instead of connecting to a "
		 "botm, for trials: host and port, or unix:PATH"},
	{"parallel", VALUE_INT_AT(struct bot_conf, parallel), .fallback = "100", .min = 1,
	 .max = 15000, .help = "fetches at the same time"},
	{"folder", VALUE_PATH_AT(struct bot_conf, folder), .fallback = "cache/files",
	 .help = "folder where files are written, below the data directory or absolute; set the "
		 "same on its botm"},
	SERVER_LIMITS_AT(struct bot_conf, limits),
	TLS_SPECS(struct bot_conf, tls),
};

static const struct config_section section = {
	.name = "bot",
	.help = "A robot that fetches for a botm, or for people who type.",
	.size = sizeof(struct bot_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
	.several = true,
};

#define COUNTED(member) COUNTER_AT(struct bot_counts, member)
static const struct counter_def counters[] = {
	{"fetches", NULL, COUNTER_TOTAL, "URLs that it was asked to fetch.", COUNTED(fetches)},
	{"stored", NULL, COUNTER_TOTAL, "Files that were stored.", COUNTED(stored)},
	{"unchanged", NULL, COUNTER_TOTAL, "Fetches whose document had not changed.",
	 COUNTED(unchanged)},
	{"failed", NULL, COUNTER_TOTAL, "Fetches that failed.", COUNTED(failed)},
	{"cancelled", NULL, COUNTER_TOTAL,
	 "Fetches whose connection was lost before they were answered.", COUNTED(cancelled)},
	{"stored_bytes", NULL, COUNTER_TOTAL, "Bytes of these files.", COUNTED(bytes)},
	{"syncs", NULL, COUNTER_TOTAL, "Syncs, each of them for many files.", COUNTED(syncs)},
	{"refused_messages", NULL, COUNTER_TOTAL, "Messages that were none, or not for a robot.",
	 COUNTED(refused)},
	{"under_way", NULL, COUNTER_GAUGE, "Fetches without an answer.", COUNTED(out)},
	{"peers", NULL, COUNTER_GAUGE, "Connections that ask.", COUNTED(peers)},
};

struct bot_process {
	struct role_loop role;
	const struct bot_conf *conf;
	struct robot_section_conf robot;
	struct kit kit;
	struct bot *bot;
	char folder[PATH_MAX];
};

static void tell_counters(void *ctx)
{
	struct bot_process *d = ctx;
	const struct bot_counts *c = bot_counts(d->bot);
	role_loop_tell_of(&d->role, c, "%" PRIu64 " fetches under way, %" PRIu64 " stored", c->out,
			  c->stored);
}

static bool bot_listens(const struct bot_conf *conf)
{
	return conf->listen && conf->listen[0];
}

static int bot_check(const struct config *config, const struct config_section *of, struct err *err)
{
	const struct bot_conf *conf = config_get(config, of);
	struct tls *tls = NULL;
	bool listens = bot_listens(conf);
	int rc = listens ? server_may_listen_at(conf->listen, &conf->tls, err)
			 : MIN(tls_new(&tls, &conf->tls, false, err), 0);
	if (rc == 0 && !listens && outgoing_may_connect(conf->botm, "", tls, err) < 0)
		rc = err_in(err, "botm");
	tls_free(&tls);
	return rc < 0 ? err_in(err, "%s", of->name) : 0;
}

static int bot_make(struct bot_process *d, struct err *err)
{
	struct role_env *env = d->role.env;
	int fd = role_fd(env, "listen");
	d->robot.robot.at_once = d->conf->parallel;
	/* anyone who can connect can have pages fetched */
	if (file_below(env->data, d->conf->folder, d->folder, err) < 0 ||
	    tls_new(&d->role.tls, &d->conf->tls, fd >= 0, err) < 0 ||
	    (fd >= 0 && server_may_listen(fd, d->role.tls, err) < 0) ||
	    role_loop_open(&d->role, err) < 0 ||
	    kit_open(&d->kit, d->role.loop, env->data, &d->robot, err) < 0)
		return -1;
	const struct bot_options options = {.kit = &d->kit,
					    .robot = &d->robot,
					    .folder = d->folder,
					    .parallel = (uint64_t)d->conf->parallel,
					    .disk_free = env->disk_free,
					    .botm = fd >= 0 ? NULL : d->conf->botm,
					    .limits = &d->conf->limits,
					    .tls = d->role.tls};
	if (bot_new(&d->bot, &options, err) < 0)
		return -1;
	return fd >= 0 ? bot_listen(d->bot, fd, err) : 0;
}

static int bot_run(struct role_env *env, struct err *err)
{
	const struct robot_section_conf *robot = config_get(env->config, &robot_section);
	struct bot_process d = {
		.role = {.env = env, .tell = tell_counters, .ctx = &d},
		.conf = config_get(env->config, &section),
		.robot = *robot,
	};
	struct err ignored;
	int rc = bot_make(&d, err);
	if (rc == 0)
		rc = role_loop_run(&d.role, err);
	bot_free(&d.bot);
	(void)kit_close(&d.kit, &ignored);
	role_loop_close(&d.role);
	return rc;
}

const struct role bot_role = {
	.name = "bot",
	.only_named = true,
	.summary = "fetch URLs into files for a botm",
	.description =
		"Connects to its botm (bot.botm), says how many URLs it fetches at a time, fetches "
		"what it is given, politely, and answers when the files are on disk. It keeps "
		"nothing, and may be stopped and killed at any time: the botm gives its URLs to "
		"others. It may run several times (bot@1, bot@2).\n\nWith bot.listen it waits for "
		"people in place of a botm: telnet to it and type <fetch id=\"1\" "
		"url=\"http://example.org/\" file=\"page\"/>.",
	.section = &section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = bot_check,
	.run = bot_run,
};
