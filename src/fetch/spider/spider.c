/* The role `spider`: the robot, the store of results and the server for URL servers, put together.
 * It has no list of its own: its URL servers send again what was not done. So it ends at once on a
 * signal. */
#include "fetch/spider.h"

#include "base/file.h"
#include "fetch/spider/spider_inner.h"

#include <inttypes.h>
#include <limits.h>

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct spider_conf, listen), .fallback = "127.0.0.1:8190",
	 .moves = "net.port",
	 .help = "address where it listens for URL servers: host and port, or unix:PATH"},
	{"results", VALUE_TEXT_AT(struct spider_conf, results), .fallback = "",
	 .help = "where results go: dir:PATH, below the data directory or absolute, files and "
		 "results.jsonl there; empty: dir:spider (of an instance dir:spider@2)"},
	{"status_interval", VALUE_TIME_AT(struct spider_conf, status_us), "30s", 1e3, 86400e6,
	 .help = "time between two WORKING for a URL that is not done; the URL server's "
		 "timeout_spider_status should be at least twice as long"},
	{"status_words", VALUE_BOOL_AT(struct spider_conf, status_words), "no",
	 .help = "whether the outcome follows DONE; set the same on the URL server"},
	{"urls_max", VALUE_INT_AT(struct spider_conf, urls_max), "100000", 1, 10000000,
	 .help = "most URLs at a time; at this number it stops reading from URL servers"},
	SERVER_LIMITS_IDLE_AT(struct spider_conf, limits, "0"),
	TLS_SPECS(struct spider_conf, tls),
};

static const struct config_section section = {
	.name = "spider",
	.help = "Fetches what URL servers name.",
	.several = true,
	.size = sizeof(struct spider_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

#define COUNTED(member) COUNTER_AT(struct spider_counts, member)
static const struct counter_def counters[] = {
	{"urls", NULL, COUNTER_TOTAL, "URLs that URL servers sent.", COUNTED(urls)},
	{"done_lines", NULL, COUNTER_TOTAL, "DONE, said to URL servers.", COUNTED(done)},
	{"working_lines", NULL, COUNTER_TOTAL, "WORKING, said to URL servers.", COUNTED(working)},
	{"unfetchable_lines", NULL, COUNTER_TOTAL,
	 "Lines with a TRANS_ID that name nothing to fetch.", COUNTED(unfetchable)},
	{"garbage_lines", NULL, COUNTER_TOTAL, "Lines without a TRANS_ID, too long, or of HTTP.",
	 COUNTED(garbage)},
	{"hung_up", NULL, COUNTER_TOTAL,
	 "Connections of URL servers that were closed for bad input or silence.", COUNTED(hung_up)},
	{"cancelled_urls", NULL, COUNTER_TOTAL,
	 "URLs whose connection ended before they were done.", COUNTED(cancelled)},
	{"documents", NULL, COUNTER_TOTAL, "Documents that were fetched.", COUNTED(documents)},
	{"gathered_bytes", NULL, COUNTER_TOTAL, "Bytes of documents, unpacked.", COUNTED(bytes)},
#define X(symbol, name, is)                                                              \
	{"fetches", "outcome=\"" name "\"", COUNTER_TOTAL, "Fetches by how they ended.", \
	 COUNTED(outcome[OUTCOME_##symbol])},
	OUTCOMES(X)
#undef X
		{"urls_under_way", NULL, COUNTER_GAUGE, "URLs that are not done.", COUNTED(out)},
	{"connections", NULL, COUNTER_GAUGE, "URL servers now.", COUNTED(connections)},
};

static void tell_counters(void *ctx)
{
	struct spider *sp = ctx;
	const struct spider_counts *c = &sp->counts;
	bool has_room = spider_store_room(sp->store);
	role_loop_tell_of(&sp->role, c, "%" PRIu64 " URLs under way, %" PRIu64 " done%s", c->out,
			  c->done, has_room ? "" : "; waits for room where results go");
}

/* Settings. */

/* Where results go; NULL: `results` does not say. */
static const char *results_folder(const struct spider_conf *conf, const char *instance)
{
	if (!conf->results || !conf->results[0])
		return instance;
	return str_starts(str_of(conf->results), STR("dir:")) && conf->results[4]
		       ? conf->results + 4
		       : NULL;
}

/* A proxy would look up the names itself, and fetch from another address than the URL server said,
 * whatever `networks` allows. */
static int check_proxy(const struct config *config, struct err *err)
{
	const struct robot_section_conf *robot = config_get(config, &robot_section);
	if (!robot->robot.proxy || !robot->robot.proxy[0])
		return 0;
	return err_set(err, ERR_USAGE,
		       "robot.proxy is set, and a spider is to run: a proxy knows the names, and "
		       "spiders are told addresses; unset it, or run the spider with a "
		       "configuration of its own");
}

static int spider_check(const struct config *config, const struct config_section *of,
			struct err *err)
{
	const struct spider_conf *conf = config_get(config, of);
	int rc = check_proxy(config, err);
	if (rc == 0 && !results_folder(conf, section.name))
		rc = err_set(err, ERR_USAGE, "results: expected dir:PATH, got '%s'", conf->results);
	if (rc == 0)
		rc = server_may_listen_at(conf->listen, &conf->tls, err);
	return rc < 0 ? err_in(err, "%s", of->name) : 0;
}

/* Beginning and end. */

static int spider_make(struct spider *sp, struct err *err)
{
	const struct role_env *env = sp->role.env;
	char path[PATH_MAX];
	int fd;
	/* anyone who can connect can have pages fetched */
	if (role_loop_socket(&sp->role, &sp->conf->tls, &fd, err) < 0 ||
	    role_loop_open(&sp->role, err) < 0 ||
	    kit_open(&sp->kit, sp->role.loop, env->data, config_get(env->config, &robot_section),
		     err) < 0)
		return -1;
	spider_open(sp);
	if (file_below(env->data, results_folder(sp->conf, env->name), path, err) < 0 ||
	    spider_store_open(sp, path, err) < 0)
		return err_in(err, "results");
	return server_listen(sp->server, fd, err);
}

static int spider_run(struct role_env *env, struct err *err)
{
	struct spider sp = {
		.role = {.env = env, .tell = tell_counters, .ctx = &sp},
		.conf = config_get(env->config, &section),
	};
	struct err ignored;
	int rc = spider_make(&sp, err);
	if (rc == 0)
		rc = role_loop_run(&sp.role, err);
	spider_store_free(&sp.store);
	spider_close(&sp);
	(void)kit_close(&sp.kit, &ignored);
	role_loop_close(&sp.role);
	return rc;
}

const struct role spider_role = {
	.name = "spider",
	.only_named = true,
	.summary = "fetch what URL servers name",
	.description =
		"Waits for URL servers, each of which sends lines of TRANS_ID, DOC_ID, HOST_IP and "
		"URL, fetches each URL from that address, politely, and answers TRANS_ID DONE when "
		"the result is kept. It keeps no list: what was not "
		"done when it ended is sent again by the URL server.",
	.section = &section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = spider_check,
	.run = spider_run,
};
