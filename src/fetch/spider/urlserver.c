/* The role `urlserver`: name resolution, doc index and feed, put together. It stores nothing
 * itself: after a stop or kill it goes on where its doc index says. So it ends at once on a
 * signal. */
#include "fetch/urlserver.h"

#include "base/clock.h"
#include "base/endpoint.h"
#include "base/file.h"
#include "fetch/kit.h"
#include "fetch/spider/url_feed.h"
#include "net/outgoing.h"
#include "net/role_loop.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>

#define ROLE "urlserver"

struct urlserver_conf {
	int64_t queue_count, queue_len, concurrent, max_per_address, port;
	double per_sec;
	int64_t status_us;
	struct value_list spiders;
	const char *doc_index, *name;
	bool status_words;
	struct tls_conf tls;
};

#define AT(type, member) VALUE_##type##_AT(struct urlserver_conf, member)
static const struct value_spec specs[] = {
	{"doc_index", AT(TEXT, doc_index),
	 .help = "where URLs come from: file:PATH, below the data directory or absolute, one URL "
		 "per line, outcomes go to PATH.done; or the address of a doc index, such as "
		 "127.0.0.1:8189"},
	{"name", AT(TEXT, name),
	 .help = "its name at the doc index, a word that no other client uses; empty: "
		 "urlserver and the name of this machine"},
	{"spider_host", AT(LIST, spiders), "127.0.0.1",
	 .help = "the spiders: addresses or names of machines, or of single ones as HOST:PORT or "
		 "unix:PATH"},
	{"spider_port", AT(INT, port), "8190", 0, 65535, .moves = "net.port",
	 .help = "port of spiders that are named without one; 0: each names its port"},
	{"timeout_spider_status", AT(TIME, status_us), "2min", 1e3, 86400e6,
	 .help = "time without WORKING or DONE after which a URL is sent again; at least twice the "
		 "spider's status_interval"},
	{"status_words", AT(BOOL, status_words), "no",
	 .help = "whether a spider may add the outcome to DONE; set the same on the spiders"},
	{"queue_count", AT(INT, queue_count), "1000", 1, 10e6,
	 .help = "servers that are fetched from at the same time"},
	{"queue_len", AT(INT, queue_len), "100", 1, 10e6,
	 .help = "URLs of one server; while there are more, its names are not asked for"},
	{"req_host_concurrent", AT(INT, concurrent), "1", 1, POLITE_CONCURRENT_MAX,
	 .help = "URLs of one server that spiders have at the same time"},
	{"req_host_per_sec", AT(REAL, per_sec), "0.1", 1e-4, 1e6,
	 .help = "URLs of one server per second: 0.1 is one every ten seconds"},
	{"max_urls_per_ip", AT(INT, max_per_address), "500", 1, 10e6,
	 .help = "when an answer of the doc index has more URLs for one address, none of the names "
		 "on it are asked for in the next request"},
	TLS_SPECS(struct urlserver_conf, tls),
};

static const struct config_section section = {
	.name = ROLE,
	.help = "Feeds spiders with the URLs of a doc index.",
	.several = true,
	.size = sizeof(struct urlserver_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

struct urlserver_counts {
	struct url_feed_counts feed;
	uint64_t reports; /* that the doc index has not kept yet */
};

#define COUNTED(member) COUNTER_AT(struct urlserver_counts, member)
static const struct counter_def counters[] = {
	{"urls", NULL, COUNTER_TOTAL, "URLs that the doc index handed out.", COUNTED(feed.urls)},
	{"duplicate_urls", NULL, COUNTER_TOTAL, "URLs that came again while we had them.",
	 COUNTED(feed.duplicates)},
	{"unsent_urls", NULL, COUNTER_TOTAL,
	 "URLs without an address, reported without having been sent.", COUNTED(feed.unsent)},
	{"requests", NULL, COUNTER_TOTAL, "Requests to the doc index.", COUNTED(feed.requests)},
	{"unlisted_names", NULL, COUNTER_TOTAL, "Names that reject lists had no room for.",
	 COUNTED(feed.unlisted)},
	{"sent_urls", NULL, COUNTER_TOTAL, "URLs that were sent to spiders.", COUNTED(feed.lines)},
	{"resent_urls", "why=\"silence\"", COUNTER_TOTAL, "URLs to be sent again.",
	 COUNTED(feed.timeouts)},
	{"resent_urls", "why=\"connection\"", COUNTER_TOTAL, "URLs to be sent again.",
	 COUNTED(feed.losses)},
	{"working_lines", NULL, COUNTER_TOTAL, "WORKING, said by spiders.", COUNTED(feed.working)},
	{"done_urls", NULL, COUNTER_TOTAL, "URLs that spiders are done with.", COUNTED(feed.done)},
	{"wrong_lines", "kind=\"late\"", COUNTER_TOTAL, "Lines of spiders that had no effect.",
	 COUNTED(feed.late)},
	{"wrong_lines", "kind=\"unknown\"", COUNTER_TOTAL, "Lines of spiders that had no effect.",
	 COUNTED(feed.unknown)},
	{"wrong_lines", "kind=\"garbage\"", COUNTER_TOTAL, "Lines of spiders that had no effect.",
	 COUNTED(feed.garbage)},
	{"hung_up", NULL, COUNTER_TOTAL,
	 "Connections to spiders that were closed for bad input or silence.",
	 COUNTED(feed.hung_up)},
	{"moved_queues", NULL, COUNTER_TOTAL,
	 "Queues that another spider got, because theirs was away.", COUNTED(feed.moved)},
	{"waiting_urls", NULL, COUNTER_GAUGE, "URLs in queues.", COUNTED(feed.waiting)},
	{"leftover_urls", NULL, COUNTER_GAUGE, "Of these: beyond queue_count and queue_len.",
	 COUNTED(feed.leftovers)},
	{"urls_under_way", NULL, COUNTER_GAUGE, "URLs that spiders have.", COUNTED(feed.out)},
	{"queues", NULL, COUNTER_GAUGE, "Queues that are worked on.", COUNTED(feed.queues)},
	{"spiders", NULL, COUNTER_GAUGE, "Spiders that are connected.", COUNTED(feed.spiders_up)},
	{"unkept_reports", NULL, COUNTER_GAUGE, "Outcomes that the doc index has not kept yet.",
	 COUNTED(reports)},
};

struct urlserver {
	struct role_loop role;
	const struct urlserver_conf *conf;
	const struct robot_section_conf *robot;
	struct policy *policy;
	struct dns *dns;
	struct arena texts;
	const char **spider;
	char name[DOCINDEX_WORD_MAX + 1]; /* at the doc index */
	struct url_feed *feed;
	struct docindex *index;
};

/* Settings. */

/* As outgoing.h takes it: the port is added where none is said. */
static const char *spider_address(const char *item, int64_t port, struct arena *arena)
{
	struct endpoint at;
	struct addr a;
	struct err ignored;
	if (endpoint_parse(str_of(item), &at, &ignored) == 0)
		return item;
	bool v6 = addr_parse(str_of(item), &a) && addr_bytes(&a) == 16;
	return arena_printf(arena, v6 ? "[%s]:%" PRId64 : "%s:%" PRId64, item, port);
}

static int spiders_of(const struct urlserver_conf *conf, const struct tls *tls, struct arena *arena,
		      const char ***ret, struct err *err)
{
	const char **list = arena_array(arena, MAX(conf->spiders.n, 1), sizeof *list);
	if (conf->spiders.n == 0)
		return err_set(err, ERR_USAGE, "spider_host is empty: there is nobody to feed");
	for (size_t i = 0; i < conf->spiders.n; i++) {
		list[i] = spider_address(conf->spiders.item[i], conf->port, arena);
		if (str_ends(str_of(list[i]), STR(":0")))
			return err_set(err, ERR_USAGE,
				       "spider_host: %s has no port: set one, or spider_port (with "
				       "net.port = 0 there is no default)",
				       conf->spiders.item[i]);
		if (outgoing_may_connect(list[i], "", tls, err) < 0)
			return err_in(err, "spider_host");
	}
	*ret = list;
	return 0;
}

static int urlserver_check(const struct config *config, const struct config_section *of,
			   struct err *err)
{
	const struct urlserver_conf *conf = config_get(config, of);
	struct arena arena = ARENA_INIT(1 << 20);
	struct tls *tls = NULL;
	const char **list;
	char name[DOCINDEX_WORD_MAX + 1];
	int rc = MIN(tls_new(&tls, &conf->tls, false, err), 0);
	if (rc == 0)
		rc = docindex_client_name(conf->name, ROLE, name, err);
	if (rc == 0)
		rc = spiders_of(conf, tls, &arena, &list, err);
	if (rc == 0 && conf->doc_index && conf->doc_index[0])
		rc = docindex_may_open(conf->doc_index, tls, err);
	tls_free(&tls);
	arena_free(&arena);
	return rc < 0 ? err_in(err, "%s", of->name) : 0;
}

/* The role. */

static void tell_counters(void *ctx)
{
	struct urlserver *u = ctx;
	struct urlserver_counts now = {.reports = u->index->ops->waiting(u->index)};
	const struct url_feed_counts *c = &now.feed;
	url_feed_count(u->feed, &now.feed);
	role_loop_tell_of(&u->role, &now,
			  "%" PRIu64 " of %zu spiders, %" PRIu64 " URLs under way, %" PRIu64
			  " waiting, %" PRIu64 " done",
			  c->spiders_up, u->conf->spiders.n, c->out, c->waiting, c->done);
}

static int feed_make(struct urlserver *u, struct err *err)
{
	const struct urlserver_conf *conf = u->conf;
	char folder[PATH_MAX];
	uint32_t turn = 0;
	snprintf(folder, sizeof folder, "%s/run", u->role.env->data);
	if (dir_make(folder, DIR_MODE, err) < 0)
		return -1;
	if (getrandom(&turn, sizeof turn, 0) != sizeof turn)
		turn = (uint32_t)clock_wall_us();
	const struct url_feed_options options = {
		.loop = u->role.loop,
		.dns = u->dns,
		.dns_conf = &u->robot->dns,
		.queues = {.rule = {.delay_us = polite_delay_of_rate(conf->per_sec),
				    .concurrent = (unsigned)conf->concurrent},
			   .queues = (uint32_t)conf->queue_count,
			   .length = (uint64_t)conf->queue_len,
			   .turn = turn,
			   .folder = folder},
		.max_per_address = (uint64_t)conf->max_per_address,
		.rejects_max = DOCINDEX_COUNT_MAX,
		.status_us = conf->status_us,
		.status_words = conf->status_words,
		.spiders = u->spider,
		.nspiders = conf->spiders.n,
		.tls = u->role.tls_out,
	};
	return url_feed_new(&u->feed, &options, err);
}

static int urlserver_make(struct urlserver *u, struct err *err)
{
	const struct role_env *env = u->role.env;
	if (docindex_client_name(u->conf->name, env->name, u->name, err) < 0 ||
	    tls_new(&u->role.tls_out, &u->conf->tls, false, err) < 0 ||
	    spiders_of(u->conf, u->role.tls_out, &u->texts, &u->spider, err) < 0 ||
	    role_loop_open(&u->role, err) < 0 ||
	    policy_new(&u->policy, &u->robot->robot.networks, err) < 0 ||
	    dns_new(&u->dns, u->role.loop, &u->robot->dns, u->policy, err) < 0 ||
	    feed_make(u, err) < 0)
		return -1;
	const struct docindex_options options = {.loop = u->role.loop,
						 .where = u->conf->doc_index,
						 .data = env->data,
						 .name = u->name,
						 .tls = u->role.tls_out,
						 .dns = &u->robot->dns,
						 .host = url_feed_host(u->feed)};
	if (docindex_open(&u->index, &options, err) < 0)
		return -1;
	url_feed_start(u->feed, u->index);
	return 0;
}

static int urlserver_run(struct role_env *env, struct err *err)
{
	struct urlserver u = {
		.role = {.env = env, .tell = tell_counters, .ctx = &u},
		.conf = config_get(env->config, &section),
		.robot = config_get(env->config, &robot_section),
		.texts = ARENA_INIT(1 << 20),
	};
	struct err end;
	int rc = urlserver_make(&u, err);
	if (rc == 0)
		rc = role_loop_run(&u.role, err);
	url_feed_free(&u.feed);
	if (u.index && u.index->ops->free(&u.index, &end) < 0 && rc == 0) {
		*err = end;
		rc = -1;
	}
	dns_free(&u.dns);
	policy_free(&u.policy);
	role_loop_close(&u.role);
	arena_free(&u.texts);
	return rc;
}

const struct role urlserver_role = {
	.name = ROLE,
	.only_named = true,
	.summary = "feed spiders with the URLs of a list or a doc index",
	.description =
		"Reads URLs from its doc index (a file with one URL per line, or a server that "
		"speaks doc/protocols/docindex.md), resolves the names of their hosts, and sends "
		"them to spiders, with a queue for each server's address, so that no server is "
		"asked too often. A URL whose spider died or said nothing is sent again. It may be "
		"killed at any time and continues where its doc index says; for a file, PATH.done "
		"next to it records the outcomes.",
	.section = &section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = urlserver_check,
	.run = urlserver_run,
};
