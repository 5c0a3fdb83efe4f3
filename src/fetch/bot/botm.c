/* The role `botm`: settings, counters and signals around botm_core.h. It stores only the names of
 * files. It ends at once on a signal; after a kill its source asks again for everything that was
 * not answered. */
#include "fetch/botm.h"

#include "base/file.h"
#include "fetch/bot/botm_core.h"
#include "fetch/bot_wire.h"
#include "fetch/robot.h"
#include "net/outgoing.h"
#include "net/role_loop.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct botm_conf, listen), .fallback = "127.0.0.1:8191",
	 .moves = "net.port",
	 .help = "address where robots connect, or botms if it has no folder: host and port, or "
		 "unix:PATH"},
	{"source", VALUE_TEXT_AT(struct botm_conf, source), .fallback = "127.0.0.1:8193",
	 .moves = "net.port",
	 .help = "source of its URLs: the address of the queue manager, of another botm, or of "
		 "garner fetch --through"},
	{"machine", VALUE_TEXT_AT(struct botm_conf, machine),
	 .help = "name of its machine in answers, at most 64 letters, digits, dots, dashes and "
		 "underscores, unique at its source; empty: the host's name"},
	{"folder", VALUE_PATH_AT(struct botm_conf, folder), .fallback = "cache/files",
	 .help = "folder where its robots store files, below the data directory or absolute; set "
		 "the same on its robots, another one on each botm; empty: botms connect to it "
		 "instead of robots"},
	{"overload", VALUE_PERCENT_AT(struct botm_conf, overload), .fallback = "10%", .min = 0,
	 .max = 1000,
	 .help = "how much more than its capacity a botm below this one gets, so that its robots "
		 "need not wait for URLs"},
	SERVER_LIMITS_AT(struct botm_conf, limits),
	TLS_SPECS(struct botm_conf, tls),
};

const struct config_section botm_section = {
	.name = "botm",
	.help = "The robot multiplexer: between a source of URLs and many robots.",
	.size = sizeof(struct botm_conf),
	.several = true,
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

#define COUNTED(member) COUNTER_AT(struct botm_counts, member)
static const struct counter_def counters[] = {
	{"fetches", NULL, COUNTER_TOTAL, "URLs that the source has submitted.", COUNTED(fetches)},
	{"stored", NULL, COUNTER_TOTAL, "Answers with a file.", COUNTED(answers)},
	{"without_file", NULL, COUNTER_TOTAL,
	 "Answers without one: failures, and what is unchanged.", COUNTED(failures)},
	{"given_again", NULL, COUNTER_TOTAL,
	 "URLs that went to another fetcher, for theirs was gone.", COUNTED(again)},
	{"untrue_answers", NULL, COUNTER_TOTAL, "Answers of robots whose file was not there.",
	 COUNTED(no_file)},
	{"kept", NULL, COUNTER_TOTAL, "Answers that the source has taken.", COUNTED(kept)},
	{"dropped", NULL, COUNTER_TOTAL, "Answers that it had no use for.", COUNTED(dropped)},
	{"removed_files", NULL, COUNTER_TOTAL, "Files that were removed.", COUNTED(deleted)},
	{"refused", NULL, COUNTER_TOTAL, "Robots and botms that were hung up on, with a reason.",
	 COUNTED(refused)},
	{"fetchers", NULL, COUNTER_GAUGE, "Robots, or botms, now.", COUNTED(children)},
	{"machines", NULL, COUNTER_GAUGE, "Machines below it.", COUNTED(machines)},
	{"capacity", NULL, COUNTER_GAUGE, "Fetches that these can do at a time.",
	 COUNTED(capacity)},
	{"queued", NULL, COUNTER_GAUGE, "URLs that wait for a fetcher.", COUNTED(queued)},
	{"under_way", NULL, COUNTER_GAUGE, "URLs that a fetcher has.", COUNTED(out)},
	{"unacknowledged", NULL, COUNTER_GAUGE, "Answers that the source has not spoken about.",
	 COUNTED(unanswered)},
	{"names_free", NULL, COUNTER_GAUGE, "File names to be used again.", COUNTED(names_free)},
	{"names_stored", NULL, COUNTER_GAUGE, "File names of answers that are not acknowledged.",
	 COUNTED(names_stored)},
	{"names_kept", NULL, COUNTER_GAUGE, "File names that are kept.", COUNTED(names_kept)},
};

struct role_botm {
	struct role_loop role;
	const struct botm_conf *conf;
	struct botm *botm;
	char machine[BOT_ID_MAX + 1], folder[PATH_MAX];
};

static void tell_counters(void *ctx)
{
	struct role_botm *r = ctx;
	struct botm_counts c;
	botm_counts(r->botm, &c);
	role_loop_tell_of(&r->role, &c, "%" PRIu64 " fetchers, %" PRIu64 " URLs under way%s",
			  c.children, c.out, c.has_source ? "" : ", no source");
}

/* Settings. */

/* The host's name, without what a machine may not be called. */
static void host_name(char ret[BOT_ID_MAX + 1])
{
	char host[BOT_ID_MAX + 1] = "";
	(void)gethostname(host, sizeof host - 1);
	for (char *p = host; *p; p++)
		if (!bot_is_machine((struct str){p, 1}))
			*p = '-';
	snprintf(ret, BOT_ID_MAX + 1, "%s", host[0] ? host : "localhost");
}

static int machine_of(const struct botm_conf *conf, char ret[BOT_ID_MAX + 1], struct err *err)
{
	if (!conf->machine || !conf->machine[0]) {
		host_name(ret);
		return 0;
	}
	if (!bot_is_machine(str_of(conf->machine)))
		return err_set(err, ERR_USAGE,
			       "botm.machine: expected at most %d letters, digits, dots, dashes "
			       "and underscores, got '%s'",
			       BOT_ID_MAX, conf->machine);
	snprintf(ret, BOT_ID_MAX + 1, "%s", conf->machine);
	return 0;
}

static int botm_check(const struct config *config, const struct config_section *of, struct err *err)
{
	const struct botm_conf *conf = config_get(config, of);
	char machine[BOT_ID_MAX + 1];
	struct tls *tls_source = NULL;
	int rc = server_may_listen_at(conf->listen, &conf->tls, err);
	if (rc == 0)
		rc = MIN(tls_new(&tls_source, &conf->tls, false, err), 0);
	if (rc == 0 && outgoing_may_connect(conf->source, "", tls_source, err) < 0)
		rc = err_in(err, "source");
	if (rc == 0)
		rc = machine_of(conf, machine, err);
	tls_free(&tls_source);
	return rc < 0 ? err_in(err, "%s", of->name) : 0;
}

/* 1: it has none. */
static int folder_of(const struct botm_conf *conf, const char *data, char ret[PATH_MAX],
		     struct err *err)
{
	struct stat is, others;
	if (!conf->folder || !conf->folder[0])
		return 1;
	if (file_below(data, conf->folder, ret, err) < 0)
		return err_in(err, "folder");
	for (size_t n = strlen(ret); n > 1 && ret[n - 1] == '/'; n--)
		ret[n - 1] = '\0';
	if (stat(ret, &is) == 0 && stat(data, &others) == 0 && is.st_dev == others.st_dev &&
	    is.st_ino == others.st_ino)
		return err_set(
			err, ERR_USAGE,
			"botm.folder: %s is the data directory, which roles lock for themselves; "
			"set a folder below it or elsewhere",
			ret);
	return 0;
}

void botm_machines_each(const struct config *config, const char *data, botm_machine_fn *fn,
			void *ctx)
{
	const struct config_section *one;
	char machine[BOT_ID_MAX + 1], folder[PATH_MAX];
	struct err err;
	for (size_t i = 0; (one = config_section_at(config, i)); i++) {
		if (one->specs != botm_section.specs)
			continue;
		const struct botm_conf *conf = config_get(config, one);
		if (folder_of(conf, data, folder, &err) == 0 &&
		    machine_of(conf, machine, &err) == 0)
			fn(ctx, machine, folder);
	}
}

/* Running. */

static int botm_make(struct role_botm *r, struct err *err)
{
	const struct robot_section_conf *robot = config_get(r->role.env->config, &robot_section);
	int fd;
	/* anyone who can connect gets URLs, and says what they hold */
	if (role_loop_socket(&r->role, &r->conf->tls, &fd, err) < 0 ||
	    tls_new(&r->role.tls_out, &r->conf->tls, false, err) < 0 ||
	    machine_of(r->conf, r->machine, err) < 0 ||
	    folder_of(r->conf, r->role.env->data, r->folder, err) < 0 ||
	    role_loop_open(&r->role, err) < 0)
		return -1;
	const struct botm_options options = {
		.loop = r->role.loop,
		.folder = r->folder,
		.data = r->role.env->data,
		.machine = r->machine,
		.source = r->conf->source,
		.dns = &robot->dns,
		.limits = &r->conf->limits,
		.tls = r->role.tls,
		.tls_source = r->role.tls_out,
		.overload = (unsigned)r->conf->overload,
		.failed = role_loop_fail,
		.ctx = &r->role,
	};
	return botm_new(&r->botm, &options, err) < 0 ? -1 : botm_listen(r->botm, fd, err);
}

static int botm_run(struct role_env *env, struct err *err)
{
	struct role_botm r = {
		.role = {.env = env, .tell = tell_counters, .ctx = &r},
		.conf = config_get(env->config, &botm_section),
	};
	int rc = botm_make(&r, err);
	if (rc == 0)
		rc = role_loop_run(&r.role, err);
	botm_free(&r.botm);
	role_loop_close(&r.role);
	return rc;
}

const struct role botm_role = {
	.name = "botm",
	.only_named = true,
	.summary = "hand out URLs to robots, and keep the names of what they store",
	.description =
		"Stands between a source of URLs, which it connects to, and robots (the role bot), "
		"which connect to it. It gives each URL to a robot that has room, with the name "
		"of a file to store it in, and tells the source how that went. The names of files "
		"survive every crash; a URL whose robot dies goes to another one. Without a "
		"folder it stands between a source and other botms, so that trees of them feed "
		"robots on many machines.",
	.section = &botm_section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = botm_check,
	.run = botm_run,
};
