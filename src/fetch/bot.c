/* The role `bot`: settings, counters, signals around bot_core.h. It knows nothing that would have
 * to be kept, so it ends at once on a signal: its botm gives what it had to others. */
#include "fetch/bot.h"

#include "base/log.h"
#include "fetch/bot_core.h"
#include "fetch/bot_wire.h"
#include "net/outgoing.h"
#include "role/notify.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>

struct bot_conf {
	const char *botm, *listen, *folder;
	int64_t parallel;
	struct server_limits limits;
	struct tls_conf tls;
};

static const struct value_spec specs[] = {
	{"botm", VALUE_TEXT_AT(struct bot_conf, botm), .fallback = "127.0.0.1:8191",
	 .help = "where its botm listens: an address or a name with a port, or unix:PATH"},
	{"listen", VALUE_LISTEN_AT(struct bot_conf, listen),
	 .help = "in place of connecting to a botm, it listens here for people who type (telnet), "
		 "to try things out: an address with a port, or unix:PATH"},
	{"parallel", VALUE_INT_AT(struct bot_conf, parallel), .fallback = "100", .min = 1,
	 .max = 15000, .help = "fetches at the same time"},
	{"folder", VALUE_PATH_AT(struct bot_conf, folder), .fallback = "cache/files",
	 .help = "where files are written, below the data directory or absolute; its botm has the "
		 "same"},
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

enum {
	COUNT_FETCHES,
	COUNT_STORED,
	COUNT_UNCHANGED,
	COUNT_FAILED,
	COUNT_CANCELLED,
	COUNT_BYTES,
	COUNT_SYNCS,
	COUNT_REFUSED,
	COUNT_TOTALS,
	COUNT_OUT = COUNT_TOTALS,
	COUNT_PEERS,
};

static const struct counter_def counters[] = {
	[COUNT_FETCHES] = {"fetches", NULL, COUNTER_TOTAL, "URLs that it was asked to fetch."},
	[COUNT_STORED] = {"stored", NULL, COUNTER_TOTAL, "Files that were stored."},
	[COUNT_UNCHANGED] = {"unchanged", NULL, COUNTER_TOTAL,
			     "Documents that are as they were for those who asked."},
	[COUNT_FAILED] = {"failed", NULL, COUNTER_TOTAL, "Fetches that failed."},
	[COUNT_CANCELLED] = {"cancelled", NULL, COUNTER_TOTAL,
			     "Fetches whose connection was lost before they were answered."},
	[COUNT_BYTES] = {"stored_bytes", NULL, COUNTER_TOTAL, "Bytes of these files."},
	[COUNT_SYNCS] = {"syncs", NULL, COUNTER_TOTAL, "Syncs, each of them for many files."},
	[COUNT_REFUSED] = {"refused_messages", NULL, COUNTER_TOTAL,
			   "Messages that were none, or not for a robot."},
	[COUNT_OUT] = {"under_way", NULL, COUNTER_GAUGE, "Fetches without an answer."},
	[COUNT_PEERS] = {"peers", NULL, COUNTER_GAUGE, "Connections that ask."},
};

struct bot_process {
	struct role_env *env;
	const struct bot_conf *conf;
	struct robot_section_conf robot;
	struct loop *loop;
	struct kit kit;
	struct tls *tls; /* NULL: none */
	struct bot *bot;
	char folder[PATH_MAX];
	struct loop_timer tell;
	uint64_t told[COUNT_TOTALS];
};

static void log_said(void *ctx, bool is_trouble, const char *what, const char *who)
{
	(void)ctx;
	if (is_trouble)
		log_warn(ROLE, "trouble", KV_TEXT("with", who), KV_TEXT("what", what));
	else
		log_info(ROLE, "botm", KV_TEXT("address", who), KV_TEXT("what", what));
}

static void tell_counters(void *ctx)
{
	struct bot_process *d = ctx;
	const struct bot_counts *c = bot_counts(d->bot);
	const uint64_t now[COUNT_TOTALS] = {
		[COUNT_FETCHES] = c->fetches,     [COUNT_STORED] = c->stored,
		[COUNT_UNCHANGED] = c->unchanged, [COUNT_FAILED] = c->failed,
		[COUNT_CANCELLED] = c->cancelled, [COUNT_BYTES] = c->bytes,
		[COUNT_SYNCS] = c->syncs,         [COUNT_REFUSED] = c->refused,
	};
	char text[96];
	for (size_t i = 0; i < COUNT_TOTALS; i++) {
		counters_add(d->env->counters, i, now[i] - d->told[i]);
		d->told[i] = now[i];
	}
	counters_set(d->env->counters, COUNT_OUT, (int64_t)c->out);
	counters_set(d->env->counters, COUNT_PEERS, (int64_t)c->peers);
	snprintf(text, sizeof text, "STATUS=%" PRIu64 " fetches under way, %" PRIu64 " stored",
		 c->out, c->stored);
	notify_send(text);
}

static void on_signal(void *ctx, int number)
{
	struct bot_process *d = ctx;
	if (number != SIGHUP)
		loop_stop(d->loop);
}

static bool bot_listens(const struct bot_conf *conf)
{
	return conf->listen && conf->listen[0];
}

static int check_one(const void *of, struct err *err)
{
	const struct bot_conf *conf = of;
	struct tls *tls = NULL;
	if (bot_listens(conf))
		return server_may_listen_at(conf->listen, &conf->tls, err);
	int rc = MIN(tls_new(&tls, &conf->tls, false, err), 0);
	if (rc == 0)
		rc = outgoing_may_connect(conf->botm, tls, err);
	tls_free(&tls);
	return rc;
}

int bot_conf_check(const struct config *config, struct err *err)
{
	return config_check_each(config, &section, check_one, err);
}

static int bot_make(struct bot_process *d, struct err *err)
{
	int fd = role_fd(d->env, "listen");
	if (file_below(d->env->data, d->conf->folder, d->folder, err) < 0 ||
	    tls_new(&d->tls, &d->conf->tls, fd >= 0, err) < 0 || loop_new(&d->loop, NULL, err) < 0)
		return -1;
	/* anyone who can connect can have pages fetched */
	if (fd >= 0 && server_may_listen(fd, d->tls, err) < 0)
		return -1;
	d->robot.robot.at_once = d->conf->parallel;
	if (kit_open(&d->kit, d->loop, d->env->data, &d->robot, err) < 0)
		return -1;
	const struct bot_options options = {.kit = &d->kit,
					    .robot = &d->robot,
					    .folder = d->folder,
					    .parallel = (uint64_t)d->conf->parallel,
					    .disk_free = d->env->disk_free,
					    .botm = fd >= 0 ? NULL : d->conf->botm,
					    .limits = &d->conf->limits,
					    .tls = d->tls,
					    .said = log_said,
					    .ctx = d};
	if (bot_new(&d->bot, &options, err) < 0)
		return -1;
	return fd >= 0 ? bot_listen(d->bot, fd, err) : 0;
}

static int bot_serve(struct bot_process *d, struct err *err)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	if (bot_make(d, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (loop_signal(d->loop, signals[i], on_signal, d, err) < 0)
			return -1;
	d->tell = (struct loop_timer){.fn = tell_counters, .ctx = d};
	loop_timer_every(d->loop, &d->tell, US_PER_S);
	notify_send("READY=1");
	int rc = loop_run(d->loop, err);
	notify_send("STOPPING=1");
	tell_counters(d);
	loop_timer_stop(&d->tell);
	return rc;
}

static int bot_run(struct role_env *env, struct err *err)
{
	const struct robot_section_conf *robot = config_get(env->config, &robot_section);
	struct bot_process d = {
		.env = env, .conf = config_get(env->config, &section), .robot = *robot};
	struct err ignored;
	int rc = bot_serve(&d, err);
	bot_free(&d.bot);
	(void)kit_close(&d.kit, &ignored);
	if (d.loop)
		loop_free(&d.loop);
	tls_free(&d.tls);
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
	.run = bot_run,
};
