/* garner fetch: a list of URLs, politely.
 *
 * Hosts whose address is not known are in queues for that alone, which several may share; when the
 * address of one is found the queue becomes that of the address, and URLs of others that were in it
 * go on to theirs when their turn comes. */
#include "cmd/crawl/fetch.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/crawl/fetch_print.h"
#include "cmd/system/text.h"
#include "fetch/hostq.h"
#include "fetch/kit.h"
#include "fetch/result_print.h"

#include <inttypes.h>
#include <limits.h>

/* A URL that is out. */
struct item {
	struct link link; /* all that are out */
	struct fetch *fetch;
	struct hostq_job job;
	struct dns_wait dns;
	struct robot_file_sink sink;
	char *path; /* NULL: the document is not kept */
};

struct fetch {
	const struct fetch_options *options;
	struct fetch_report report;
	struct robot_section_conf conf;
	const struct config *config;
	struct loop *loop;
	struct kit kit;
	struct hostq *queue;
	struct beneath *output; /* the folder for documents; NULL: none */
	struct loop_timer timer, flush;
	struct link items;
	uint64_t out_now; /* jobs of the queue that are out */
	qkey said_key;    /* the last wait that was said, and its end */
	int64_t said_until_us;
	bool is_running;
	char room[URL_TEXT_MAX * 3];
};

/* What is said: lines for URLs, progress, the end. */

#define FLUSH_US (20 * US_PER_MS)
#define SAY_WAIT_US (10 * US_PER_S) /* a longer silence looks like a hang */

enum { FLUSH_BYTES = 64 << 10 };

static uint64_t fetch_under_way(void *ctx)
{
	const struct fetch *f = ctx;
	return robot_stats(f->kit.robot)->under_way;
}

static void fetch_flush(void *ctx)
{
	struct fetch *f = ctx;
	(void)fetch_report_flush(&f->report);
}

/* A thousand lines a second are not written one by one. */
static void flush_soon(struct fetch *f)
{
	if (f->report.out.n >= FLUSH_BYTES || !f->is_running)
		fetch_flush(f);
	else if (!f->flush.set)
		loop_timer_in(f->loop, &f->flush, FLUSH_US);
}

static void fetch_tell(struct fetch *f, struct str url, const struct robot_result *r,
		       const char *file)
{
	bool kept = file && r->outcome == OUTCOME_OK;
	fetch_report_count(&f->report, r->outcome, r->size);
	if (f->options->json)
		result_print_json(url, r, STR(""), kept ? file : "", &f->report.out);
	else
		fetch_print_text(url, r, &f->report.out);
	flush_soon(f);
}

/* A URL that nothing was done for. */
static void fetch_tell_bad(struct fetch *f, struct str url, const char *why)
{
	static const struct robot_head no_head = {.retry_after_us = -1};
	struct robot_result r = {.outcome = OUTCOME_PERMANENT,
				 .cause = ROBOT_CAUSE_URL,
				 .why = why,
				 .head = &no_head,
				 .last_modified_us = -1};
	fetch_tell(f, url, &r, NULL);
}

static void fetch_tell_wait(struct fetch *f, struct str url, const struct robot_result *r)
{
	CLEANUP(buf_free) struct buf why = BUF_INIT(256);
	struct robot_result given_up = *r;
	buf_add_text(&why, "the server is to be left alone for ");
	duration_print_short(&why, r->not_now_us);
	given_up.outcome = OUTCOME_SITE_TEMPORARY;
	given_up.why = buf_text(&why);
	fetch_tell(f, url, &given_up, NULL);
}

static void fetch_say_wait(struct fetch *f, qkey key, const struct robot_result *r)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(512);
	int64_t until_us = loop_now_us(f->loop) + r->not_now_us;
	char shown[ADDR_SHOWN];
	if (r->not_now_us < MAX(SAY_WAIT_US, 2 * r->delay_us) ||
	    (key == f->said_key && until_us <= f->said_until_us + US_PER_S))
		return;
	f->said_key = key;
	f->said_until_us = until_us;
	buf_printf(&line, "%s is to be left alone for ",
		   f->conf.robot.proxy[0] ? "a server" : addr_print(&r->addr, shown));
	duration_print_short(&line, r->not_now_us);
	fetch_report_clear(&f->report);
	fprintf(stderr, "%s: its URLs wait\n", buf_text(&line));
}

/* The queue. */

/* In the next round of the loop, when what came in this one is done: a process that cannot keep up
 * brings what it has begun to an end before it begins more. */
static void fetch_pump_soon(struct fetch *f)
{
	loop_timer_in(f->loop, &f->timer, 0);
}

static void item_free(struct item *item)
{
	item->fetch->out_now--;
	dns_cancel(&item->dns);
	list_remove(&item->link);
	mem_free(&item->path);
	mem_free(&item);
}

/* What the queue keeps with a URL: whether it has gone from one address to another before. A name
 * that has a different address each time is fetched anyway. */
enum { ROUTE_FIRST, ROUTE_LAST };

/* The port does not matter to it, so that two names in four thousand million share a queue. */
static qkey unresolved_key(struct str host)
{
	uint64_t hash = hash64(host);
	return qkey_special(QKEY_UNRESOLVED, hash, (uint16_t)(hash >> 16));
}

static bool is_unresolved(const struct fetch *f, qkey key)
{
	return qkey_kind(key) == QKEY_UNRESOLVED && !f->conf.robot.proxy[0];
}

static int queue_push(struct fetch *f, qkey key, struct str url, uint64_t route, struct err *err)
{
	static const struct polite_rule at_once = {.concurrent = POLITE_CONCURRENT_MAX};
	if (hostq_push(f->queue, key, 0, url, route, err) < 0)
		return -1;
	if (is_unresolved(f, key))
		hostq_set_rule(f->queue, key, &at_once);
	return 0;
}

static void item_fetched(void *ctx, const struct robot_result *r);

static void item_go(struct item *item)
{
	struct fetch *f = item->fetch;
	const struct fetch_options *o = f->options;
	struct robot_job job = {.url = item->job.payload,
				.etag = str_of(o->etag),
				.last_modified = str_of(o->last_modified),
				.patience_us = o->wait_us,
				.flags = (o->no_follow ? (unsigned)ROBOT_NO_FOLLOW : 0) |
					 (o->list_all ? (unsigned)ROBOT_LIST_ALL : 0)};
	struct err err;
	if (hostq_waiting(f->queue, item->job.key) &&
	    f->conf.robot.delay_us <= f->conf.robot.keep_us)
		job.flags |= ROBOT_KEEP;
	if (item->path) {
		item->sink = robot_file_sink(f->output, item->path + strlen(o->output) + 1);
		job.sink = &item->sink.sink;
	}
	if (robot_fetch(f->kit.robot, &job, item_fetched, item, &err) == 0)
		return;
	fetch_tell_bad(f, item->job.payload, err.msg);
	hostq_done(f->queue, &item->job, OUTCOME_PERMANENT, loop_now_us(f->loop));
	item_free(item);
	fetch_pump_soon(f);
}

/* A server that wants to be left alone for longer than we have. The plain delay is none of that. */
static bool waits_too_long(const struct fetch *f, const struct robot_result *r)
{
	return r->cause == ROBOT_CAUSE_NOT_NOW &&
	       r->not_now_us > MAX(f->options->wait_us, r->delay_us);
}

static bool is_fatal(const struct robot_result *r)
{
	/* a disk that is full stays so: no server is asked for what cannot be kept */
	return r->cause == ROBOT_CAUSE_SINK || r->cause == ROBOT_CAUSE_TABLE;
}

static void item_fetched(void *ctx, const struct robot_result *r)
{
	struct item *item = ctx;
	struct fetch *f = item->fetch;
	int64_t now_us = loop_now_us(f->loop);
	struct err err;
	if (r->delay_us > f->conf.robot.delay_us)
		hostq_set_rule(
			f->queue, item->job.key,
			&(struct polite_rule){.delay_us = r->delay_us,
					      .concurrent = (unsigned)f->conf.robot.concurrent});
	if (waits_too_long(f, r)) {
		fetch_tell_wait(f, item->job.payload, r);
		hostq_unasked(f->queue, &item->job);
	} else if (r->cause == ROBOT_CAUSE_NOT_NOW || r->cause == ROBOT_CAUSE_STOPPED) {
		fetch_say_wait(f, item->job.key, r);
		hostq_put_back(f->queue, &item->job, now_us + r->not_now_us);
	} else {
		fetch_tell(f, item->job.payload, r, item->path);
		if (r->times.start_us || r->redirects)
			hostq_done(f->queue, &item->job, r->outcome, now_us);
		else /* nobody was asked: there is nothing to wait for */
			hostq_unasked(f->queue, &item->job);
	}
	if (is_fatal(r)) {
		err_set(&err, ERR_SYSTEM, "%s", r->why);
		fetch_report_fail(&f->report, &err);
	}
	item_free(item);
	if (!f->report.stopped)
		fetch_pump_soon(f);
}

static void item_go_with_path(struct item *item, const struct url *url)
{
	struct fetch *f = item->fetch;
	struct err err;
	if (!f->options->output[0] ||
	    result_file_make(f->options->output, url, &item->path, &err) == 0) {
		item_go(item);
		return;
	}
	fetch_report_fail(&f->report, &err);
	hostq_put_back(f->queue, &item->job, 0);
	item_free(item);
}

/* The queue of a host becomes that of its address. */
static int name_queue(struct fetch *f, qkey from, qkey to, struct err *err)
{
	struct polite_rule rule = {.delay_us = f->conf.robot.delay_us,
				   .concurrent = (unsigned)f->conf.robot.concurrent};
	bool is_new = hostq_waiting(f->queue, to) == 0;
	if (hostq_rekey(f->queue, from, to, err) < 0)
		return -1;
	if (is_new)
		hostq_set_rule(f->queue, to, &rule);
	return 0;
}

/* To the queue where it belongs. */
static void item_route(struct item *item, qkey to)
{
	struct fetch *f = item->fetch;
	struct err err;
	if (is_unresolved(f, item->job.key)) {
		if (name_queue(f, item->job.key, to, &err) < 0)
			fetch_report_fail(&f->report, &err);
		hostq_put_back(f->queue, &item->job, 0);
	} else {
		if (queue_push(f, to, item->job.payload, ROUTE_LAST, &err) < 0)
			fetch_report_fail(&f->report, &err);
		hostq_unasked(f->queue, &item->job);
	}
	item_free(item);
	if (!f->report.stopped)
		fetch_pump_soon(f);
}

/* Where there is no address, the robot says why. */
static void item_go_or_route(struct item *item, const struct url *url,
			     const struct dns_result *result)
{
	qkey key = item->job.key;
	if (result->outcome == DNS_FOUND && item->job.user != ROUTE_LAST)
		key = kit_qkey(robot_choose(result->addr, result->n, url->host));
	if (key == item->job.key)
		item_go_with_path(item, url);
	else
		item_route(item, key);
}

static void item_resolved(void *ctx, const struct dns_result *result)
{
	struct item *item = ctx;
	struct fetch *f = item->fetch;
	struct url url;
	ENSURE(url_parse(item->job.payload, NULL, f->room, sizeof f->room, &url) == 0);
	item_go_or_route(item, &url, result);
}

static void item_begin(struct fetch *f, const struct hostq_job *job)
{
	struct item *item = mem_alloc(sizeof *item);
	struct dns_result result;
	struct url url;
	*item = (struct item){.fetch = f, .job = *job};
	item->dns = (struct dns_wait){.done = item_resolved, .ctx = item};
	list_append(&f->items, &item->link);
	f->out_now++;
	ENSURE(url_parse(job->payload, NULL, f->room, sizeof f->room, &url) == 0);
	if (f->conf.robot.proxy[0])
		item_go_with_path(item, &url);
	else if (dns_lookup(f->kit.dns, url.host, DNS_ANY, &item->dns, &result) == 0)
		item_go_or_route(item, &url, &result);
}

static void fetch_pump(void *ctx)
{
	struct fetch *f = ctx;
	struct hostq_job job;
	struct err err;
	int64_t wait_us = INT64_MAX;
	int rc = 0;
	while (!f->report.stopped && f->out_now < (uint64_t)f->conf.robot.at_once * 2 &&
	       (rc = hostq_take(f->queue, loop_now_us(f->loop), &job, &wait_us, &err)) == 0)
		item_begin(f, &job);
	if (rc < 0) {
		fetch_report_fail(&f->report, &err);
		return;
	}
	if (rc == 1 && wait_us != INT64_MAX)
		loop_timer_in(f->loop, &f->timer, wait_us);
	if (hostq_is_empty(f->queue))
		loop_stop(f->loop);
}

/* The list. */

static int fetch_add(void *ctx, struct str text, struct err *err)
{
	struct fetch *f = ctx;
	struct url url;
	struct dns_result result;
	struct dns_wait wait = {.done = item_resolved};
	qkey key;
	int rc = url_parse(text, NULL, f->room, sizeof f->room, &url);
	f->report.urls++;
	if (rc == 0 && url.href.n > HOSTQ_PAYLOAD_MAX)
		rc = -URL_TOO_LONG;
	if (rc != 0) {
		fetch_tell_bad(f, text, url_error_text(rc));
		return 0;
	}
	key = unresolved_key(url.host);
	if (url.host_kind != URL_NAME && !f->conf.robot.proxy[0] &&
	    dns_lookup(f->kit.dns, url.host, DNS_ANY, &wait, &result) == 0 &&
	    result.outcome == DNS_FOUND)
		key = kit_qkey(&result.addr[0]);
	return queue_push(f, key, url.href, ROUTE_FIRST, err);
}

static void fetch_items_free(struct fetch *f)
{
	/* those that wait for their address */
	LIST_EACH (struct item, item, &f->items, link)
		item_free(item);
}

/* Beginning and end. */

static int check_validator(const char *option, const char *value, size_t most, struct err *err)
{
	if (!value[0] || robot_can_send(str_of(value), most))
		return 0;
	return err_set(err, ERR_USAGE,
		       "--%s: expected at most %zu bytes without control characters, as a server "
		       "has sent them",
		       option, most);
}

int fetch_check_options(const struct fetch_options *o, struct err *err)
{
	int64_t delay_us;
	if (check_validator("etag", o->etag, ROBOT_ETAG_MAX, err) < 0 ||
	    check_validator("last-modified", o->last_modified, ROBOT_DATE_MAX, err) < 0)
		return -1;
	if (o->delay[0] && (!duration_parse(str_of(o->delay), &delay_us) || delay_us > US_PER_DAY))
		return err_set(err, ERR_USAGE,
			       "--delay: expected a time such as 10s, at most a day, got '%s'",
			       o->delay);
	return 0;
}

static int load_settings(struct fetch *f, struct err *err)
{
	const struct fetch_options *o = f->options;
	if (fetch_check_options(o, err) < 0)
		return -1;
	f->conf = *(const struct robot_section_conf *)config_get(f->config, &robot_section);
	if (o->agent[0])
		f->conf.robot.agent = o->agent;
	if (o->delay[0])
		ENSURE(duration_parse(str_of(o->delay), &f->conf.robot.delay_us));
	return 0;
}

static int open_queue(struct fetch *f, const char *data, struct err *err)
{
	char folder[PATH_MAX + 16];
	snprintf(folder, sizeof folder, "%s/run", data);
	struct hostq_options queue = {.rule = {.delay_us = f->conf.robot.delay_us,
					       .concurrent = (unsigned)f->conf.robot.concurrent},
				      .folder = folder};
	return hostq_new(&f->queue, &queue, err);
}

/* Before anybody is asked for what cannot be kept. */
static int open_output(struct fetch *f, struct err *err)
{
	const char *folder = f->options->output;
	if (!folder[0])
		return 0;
	if (dir_make_unsynced(folder, 0777, err) < 0)
		return -1;
	return beneath_open(&f->output, folder, 0666, err);
}

static int open_all(struct fetch *f, struct err *err)
{
	char data[PATH_MAX];
	if (load_settings(f, err) < 0 || cmd_data_dir(f->config, data, sizeof data, err) < 0 ||
	    open_output(f, err) < 0 || loop_new(&f->loop, NULL, err) < 0 ||
	    kit_open(&f->kit, f->loop, data, &f->conf, err) < 0 || open_queue(f, data, err) < 0)
		return -1;
	f->timer = (struct loop_timer){.fn = fetch_pump, .ctx = f};
	f->flush = (struct loop_timer){.fn = fetch_flush, .ctx = f};
	f->report.loop = f->loop;
	f->report.begun_us = loop_now_us(f->loop);
	return 0;
}

static void close_all(struct fetch *f)
{
	struct err err;
	f->report.stopped = true;
	robot_free(&f->kit.robot);
	fetch_items_free(f);
	if (kit_close(&f->kit, &err) < 0)
		log_warn(MAIN, "cannot save the robots.txt cache", KV_TEXT("error", err.msg));
	hostq_free(&f->queue);
	beneath_close(&f->output);
	if (f->loop) {
		loop_timer_stop(&f->timer);
		loop_timer_stop(&f->report.progress);
		loop_timer_stop(&f->flush);
		loop_free(&f->loop);
	}
	buf_free(&f->report.out);
}

static int run_all(struct fetch *f, struct err *err)
{
	char requests[128];
	/* nothing is under way while the list is read: there, signals do what they always do */
	if (open_all(f, err) < 0 ||
	    fetch_each_url(f->report.call, f->options->from, fetch_add, f, err) < 0 ||
	    fetch_report_begin(&f->report, err) < 0)
		return -1;
	fetch_pump_soon(f);
	f->is_running = true;
	int rc = f->report.stopped ? 0 : loop_run(f->loop, err);
	f->is_running = false;
	fetch_flush(f);
	if (rc == 0 && f->output)
		rc = beneath_sync(f->output, err);
	if (rc < 0)
		return -1;
	const struct robot_stats *stats = robot_stats(f->kit.robot);
	snprintf(requests, sizeof requests, "%" PRIu64 " request%s (%" PRIu64 " for robots.txt), ",
		 stats->requests, stats->requests == 1 ? "" : "s", stats->robots_files);
	return fetch_report_end(&f->report, requests, err);
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct fetch_options *o = call->options;
	CLEANUP(config_free) struct config *config = NULL;
	if (cmd_config(call, &config, err) < 0)
		return -1;
	if (call->argc == 0 && !o->from[0])
		return err_set(err, ERR_USAGE, "no URL; see 'garner fetch --help'");
	if (o->through[0])
		return fetch_through(call, o, config, err);
	struct fetch f = {.options = o, .config = config};
	f.report = (struct fetch_report){.call = call,
					 .options = o,
					 .under_way = fetch_under_way,
					 .ctx = &f,
					 .out = BUF_INIT(4 << 20)};
	list_init(&f.items);
	int code = run_all(&f, err) < 0 ? -1 : fetch_report_code(&f.report);
	close_all(&f);
	return code;
}

static const struct cmd_option options[] = {
	CMD_OPTION('f', "FILE", "from", VALUE_PATH_AT(struct fetch_options, from),
		   .help = "fetch the URLs in this file, one a line; - is standard input"),
	CMD_OPTION('o', "DIR", "output", VALUE_PATH_AT(struct fetch_options, output),
		   .help = "keep the documents below this directory, as HOST/NAME, or "
			   "HOST,PORT/NAME where the port is not that of https; all of them are on "
			   "disk at the end"),
	CMD_OPTION(0, "ADDRESS", "through", VALUE_TEXT_AT(struct fetch_options, through),
		   .help = "listen there for a botm, and have its robots fetch the URLs; files are "
			   "stored on the machines of the robots"),
	CMD_OPTION(0, "TIME", "delay", VALUE_TEXT_AT(struct fetch_options, delay),
		   .help = "time between the starts of two requests to one server, in place of the "
			   "setting robot.delay"),
	CMD_OPTION(0, "TIME", "wait", VALUE_TIME_AT(struct fetch_options, wait_us), FETCH_WAIT, 0,
		   7 * 86400e6,
		   .help = "give up on a server that is to be left alone for longer than this, as "
			   "by a Retry-After of its own"),
	CMD_OPTION('a', "NAME", "agent", VALUE_TEXT_AT(struct fetch_options, agent),
		   .help = "the product token to go by, in place of robot.agent"),
	CMD_OPTION(0, "ETAG", "etag", VALUE_TEXT_AT(struct fetch_options, etag),
		   .help = "fetch only what has another ETag than this"),
	CMD_OPTION(0, "DATE", "last-modified", VALUE_TEXT_AT(struct fetch_options, last_modified),
		   .help = "fetch only what has changed since, as a Last-Modified says it"),
	CMD_FLAG(0, "no-follow", struct fetch_options, no_follow, "do not follow redirects"),
	CMD_FLAG(0, "list-all", struct fetch_options, list_all,
		 "list directories of ftp servers with all that is below them"),
	CMD_FLAG(0, "json", struct fetch_options, json,
		 "a line of JSON for each URL, and no summary"),
};
const struct command fetch_command = {
	.name = "fetch",
	.summary = "fetch URLs, politely",
	.description =
		"Fetches http, https and ftp URLs as all of garner does: robots.txt is asked "
		"first, and between two requests to the same server lies the delay of the "
		"setting robot.delay, also for other processes of garner on this machine. "
		"Addresses that are not public are refused, unless robot.networks names "
		"them. URLs of different servers are fetched at the same time.\n\n"
		"A line is printed for each URL: outcome, status, size and the URL. Outcomes: "
		"ok, unchanged, redirect; temporary and permanent failures of the URL; the same "
		"of the whole site; limit, robots and address for what garner refused.",
	CMD_OPTIONS(options, struct fetch_options),
	CMD_ARGS("[URL...]", 0, -1, "what to fetch, in addition to what --from names"),
	CMD_EXAMPLES({"garner fetch https://example.org/", "what comes back, and how"},
		     {"garner fetch --through 127.0.0.1:8193 --from list --json",
		      "let the robots of a botm fetch a list"},
		     {"garner fetch -o pages --from list --json", "keep the documents of a list"},
		     {"garner fetch --delay 1s -s robot.networks=10.1.0.0/16 http://intranet/",
		      "inside one's own network"}),
	CMD_EXITS({ERR_PARTLY, "some URLs could not be fetched, or it was interrupted"},
		  {ERR_REMOTE, "no URL could be fetched"},
		  {ERR_SYSTEM, "a file or standard output cannot be written"}),
	.run = run,
};
