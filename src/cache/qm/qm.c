/* The role `qm`: settings, counters, signals around the link to notification servers, the source
 * that a botm connects to, and the rounds between them. A round that fails ends the process: what
 * it had is in the databases as it was before, and a new process goes on from there. */
#include "cache/qm/qm_inner.h"

#include "base/file.h"
#include "net/net_section.h"

#include <inttypes.h>

#define S struct qm_conf

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(S, listen), .fallback = "127.0.0.1:8192", .moves = "net.port",
	 .help = "where notification servers (the role uns) connect to: an address with a port, or "
		 "unix:PATH"},
	{"botm_listen", VALUE_LISTEN_AT(S, botm_listen), .fallback = "127.0.0.1:8193",
	 .moves = "net.port", .help = "where the botm connects to that has URLs fetched"},
	{"overload", VALUE_PERCENT_AT(S, overload), .fallback = "10%", .min = 0, .max = 1000,
	 .help = "percentage by which the botm is filled beyond its capacity, so that robots never "
		 "wait for URLs"},
	{"qdb_max", VALUE_INT_AT(S, qdb_max), .fallback = "20000000", .min = 1, .max = 1e12,
	 .help = "URLs in the queue above which sets are refused, until it is down to 80% of that"},
	{"wheel_slots", VALUE_INT_AT(S, wheel_slots), .fallback = "900", .min = 2, .max = 100000,
	 .help = "steps of the wheel in which providers wait for their bandwidth; who has to wait "
		 "for longer waits in a time slot"},
	{"wheel_step", VALUE_TIME_AT(S, wheel_step_us), .fallback = "4s", .min = 10e3,
	 .max = 3600e6, .help = "length of a step of that wheel"},
	{"retries", VALUE_INT_AT(S, retries), .fallback = "5", .min = 0, .max = 100,
	 .help = "retries of a URL after temporary errors of its own"},
	{"retry_wait", VALUE_TIME_AT(S, retry_wait_us), .fallback = "10min", .min = 1e3,
	 .max = 86400e6,
	 .help = "wait before a set that has only such URLs left is tried again; doubled each "
		 "time"},
	{"site_wait", VALUE_TIME_AT(S, site_wait_us), .fallback = "1min", .min = 1e3,
	 .max = 86400e6,
	 .help = "wait of a provider after an error of its site; doubled each time, up to a day"},
	{"old_after", VALUE_TIME_AT(S, old_after_us), .fallback = "90d", .min = 1e6,
	 .max = 36500 * 86400e6,
	 .help = "age of unconfirmed URLs at which their provider is asked for a full set; only "
		 "time while qm runs counts"},
	{"expire_after", VALUE_TIME_AT(S, expire_after_us), .fallback = "180d", .min = 1e6,
	 .max = 36500 * 86400e6, .help = "age at which unconfirmed URLs are deleted"},
	DRAIN_SPEC(S, drain_us, "5s"),
	SERVER_LIMITS_IDLE_AT(S, limits, "0"),
	TLS_SPECS(S, tls),
};

const struct config_section qm_section = {
	.name = "qm",
	.help = "The queue manager of the cache: what is fetched from providers, and when.",
	.size = sizeof(S),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

#define COUNTED(member) COUNTER_AT(struct qm_counts, member)
static const struct counter_def counters[] = {
	{"sets_taken", NULL, COUNTER_TOTAL, "Sets that notification servers have sent.",
	 COUNTED(link.sets)},
	{"sets_again", NULL, COUNTER_TOTAL, "Of those, ones that it had already.",
	 COUNTED(link.again)},
	{"sets_refused", NULL, COUNTER_TOTAL, "Sets that were none.", COUNTED(link.refused)},
	{"urls_taken", NULL, COUNTER_TOTAL, "URLs of the sets that were taken.",
	 COUNTED(link.urls)},
	{"sets", NULL, COUNTER_TOTAL, "Sets that were absorbed into the queue.",
	 COUNTED(core.sets)},
	{"urls_queued", NULL, COUNTER_TOTAL, "Notices that made a new row.", COUNTED(core.queued)},
	{"urls_updated", NULL, COUNTER_TOTAL, "Notices for what was queued already.",
	 COUNTED(core.updated)},
	{"urls_unchanged", NULL, COUNTER_TOTAL, "Notices that what is stored is good.",
	 COUNTED(core.unchanged)},
	{"urls_removed", NULL, COUNTER_TOTAL, "Removals.", COUNTED(core.removed)},
	{"urls_refused", NULL, COUNTER_TOTAL, "Notices beyond a quota.", COUNTED(core.refused)},
	{"fetches", NULL, COUNTER_TOTAL, "URLs that were given to the botm.", COUNTED(core.sent)},
	{"stored", NULL, COUNTER_TOTAL, "Answers with a file that is kept.", COUNTED(core.stored)},
	{"stored_bytes", NULL, COUNTER_TOTAL, "Bytes of these.", COUNTED(core.bytes)},
	{"confirmed", NULL, COUNTER_TOTAL, "Answers that what is stored is good.",
	 COUNTED(core.confirmed)},
	{"failed", NULL, COUNTER_TOTAL, "URLs that have failed for good.", COUNTED(core.failed)},
	{"retried", NULL, COUNTER_TOTAL, "Errors of URLs that are tried again.",
	 COUNTED(core.retried)},
	{"site_errors", NULL, COUNTER_TOTAL, "Errors for which a provider waits.",
	 COUNTED(core.site_errors)},
	{"put_back", NULL, COUNTER_TOTAL, "Answers that say nothing, or came too late.",
	 COUNTED(core.put_back)},
	{"dropped", NULL, COUNTER_TOTAL, "Files that nobody wanted any more.",
	 COUNTED(core.dropped)},
	{"moved", NULL, COUNTER_TOTAL, "Rows that went to their next slot.", COUNTED(core.moved)},
	{"deleted", NULL, COUNTER_TOTAL, "Files that were deleted.", COUNTED(core.deleted)},
	{"rounds", NULL, COUNTER_TOTAL, "Transactions.", COUNTED(rounds)},
	{"links", NULL, COUNTER_GAUGE, "Notification servers, now.", COUNTED(link.links)},
	{"link_bytes", NULL, COUNTER_GAUGE, "Bytes of sets that are not taken yet.",
	 COUNTED(link.held)},
	{"open_sets", NULL, COUNTER_GAUGE,
	 "Sets that are not absorbed, of which at most 64 are counted.", COUNTED(core.open_sets)},
	{"queue_rows", NULL, COUNTER_GAUGE, "Rows of the queue.", COUNTED(core.rows)},
	{"stored_rows", NULL, COUNTER_GAUGE, "URLs that are stored.", COUNTED(core.rows_stored)},
	{"under_way", NULL, COUNTER_GAUGE, "Providers of which a URL is fetched.",
	 COUNTED(core.turns.out)},
	{"ready", NULL, COUNTER_GAUGE, "Providers that wait for a place.",
	 COUNTED(core.turns.ready)},
	{"waiting", NULL, COUNTER_GAUGE, "Providers that wait in the bandwidth wheel.",
	 COUNTED(core.turns.waiting)},
	{"parts", NULL, COUNTER_GAUGE, "Parts of sets that may be fetched.",
	 COUNTED(core.turns.parts)},
	{"deletes", NULL, COUNTER_GAUGE, "Deletes that the botm has.", COUNTED(core.deletes_out)},
	{"overload", NULL, COUNTER_GAUGE, "1 while no sets are taken.", COUNTED(is_over)},
};

static void tell_counters(void *ctx)
{
	struct qm *q = ctx;
	const struct qm_counts *c = &q->counts;
	qm_link_counts(q->link, &q->counts.link);
	role_loop_tell_of(&q->role, c,
			  "%" PRIu64 " URLs queued, %" PRIu64 " being fetched, %" PRIu64 " links%s",
			  c->core.rows, c->core.turns.out, c->link.links,
			  c->is_over ? ", takes no sets" : "");
}

static const struct botsource_ops source_ops = {
	.room = qm_room,
	.answered = qm_answered,
	.repeated = qm_answered,
	.deleted = qm_deleted,
	.machine = qm_machine,
};

static void on_drained(void *ctx)
{
	struct qm *q = ctx;
	if (++q->drained == 2)
		loop_stop(q->role.loop);
}

static void role_drain(void *ctx)
{
	struct qm *q = ctx;
	if (q->is_draining) { /* a second signal */
		loop_stop(q->role.loop);
		return;
	}
	q->is_draining = true;
	qm_link_drain(q->link, q->conf->drain_us, on_drained, q);
	botsource_drain(q->source, q->conf->drain_us, on_drained, q);
}

static int role_make(struct qm *q, struct err *err)
{
	const struct role_env *env = q->role.env;
	int fd, botm_fd = role_fd(env, "botm_listen");
	/* anyone who can connect says what is fetched, or what it holds */
	if (role_loop_socket(&q->role, &q->conf->tls, &fd, err) < 0)
		return -1;
	if (botm_fd < 0)
		return err_set(err, ERR_USAGE, "qm.botm_listen is empty: no botm could connect");
	if (server_may_listen(botm_fd, q->role.tls, err) < 0 ||
	    file_below(env->data, "cache", q->folder, err) < 0 ||
	    dir_make(q->folder, DIR_MODE, err) < 0 || role_loop_open(&q->role, err) < 0 ||
	    qm_rounds_open(q, err) < 0)
		return -1;
	q->link = qm_link_new(&(struct qm_link_options){.loop = q->role.loop,
							.limits = &q->conf->limits,
							.tls = q->role.tls,
							.gathered = qm_wake,
							.ctx = q});
	q->source =
		botsource_new(&(struct botsource_options){.loop = q->role.loop,
							  .limits = &q->conf->limits,
							  .tls = q->role.tls,
							  .overload = (unsigned)q->conf->overload,
							  .ops = &source_ops,
							  .ctx = q});
	qm_rounds_go(q);
	return qm_link_listen(q->link, fd, err) < 0 ? -1
						    : botsource_listen(q->source, botm_fd, err);
}

static int qm_run(struct role_env *env, struct err *err)
{
	struct qm q = {.role = {.env = env, .tell = tell_counters, .drain = role_drain, .ctx = &q},
		       .conf = config_get(env->config, &qm_section)};
	int rc = role_make(&q, err);
	if (rc == 0)
		rc = role_loop_run(&q.role, err);
	qm_rounds_stop(&q);
	qm_link_free(&q.link);
	botsource_free(&q.source);
	qm_rounds_close(&q);
	role_loop_close(&q.role);
	return rc;
}

static int qm_check(const struct config *config, const struct config_section *of, struct err *err)
{
	const struct qm_conf *conf = config_get(config, of);
	if (server_may_listen_at(conf->listen, &conf->tls, err) < 0)
		return err_in(err, "qm.listen");
	if (server_may_listen_at(conf->botm_listen, &conf->tls, err) < 0)
		return err_in(err, "qm.botm_listen");
	return 0;
}

const struct role qm_role = {
	.name = "qm",
	.only_named = true,
	.summary = "queue what providers have announced, and have it fetched",
	.description =
		"Takes sets of URLs from notification servers (the role uns), which connect to it, "
		"and gives them to the botm that connects to it, one URL of a provider at a time, "
		"by "
		"priorities, hours and bandwidths. It is the only writer of the cache's database: "
		"the queue, what is stored, and what is to be deleted. Whatever it has "
		"acknowledged is on disk.",
	.section = &qm_section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = qm_check,
	.run = qm_run,
};
