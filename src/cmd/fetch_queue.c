/* The queue of `garner fetch`. Hosts whose address is not known are in queues for that alone, which
 * several may share; when the address of one is found the queue becomes that of the address, and
 * URLs of others that were in it go on to theirs when their turn comes. */
#include "base/file.h"
#include "base/hash.h"
#include "cmd/fetch_inner.h"
#include "cmd/fetch_print.h"

#include <limits.h>

/* Of the URLs that may go the robot is given so many in one round of the loop. What is under way at
 * the same time should not be more than the caches of the processor hold, as long as nobody waits.
 */
enum { BEGUN_AT_ONCE = 16 };

/* In the next round of the loop, when what came in this one is done: a process that cannot keep up
 * brings what it has begun to an end before it begins more. */
void fetch_pump_soon(struct fetch *f)
{
	loop_timer_in(f->loop, &f->timer, 0);
}

static void item_free(struct item *item)
{
	item->fetch->out_now--;
	dns_cancel(&item->dns);
	item->prev->next = item->next;
	item->next->prev = item->prev;
	buf_free(&item->path);
	mem_free(&item);
}

/* What the queue keeps beside a URL: whether it has gone from one address to another before. A name
 * that has another address whenever one asks is fetched all the same. */
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
	static const struct polite_rule at_once = {0, POLITE_CONCURRENT_MAX};
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
	if (item->path.n) {
		item->sink = robot_file_sink(buf_text(&item->path));
		job.sink = &item->sink.sink;
	}
	f->begun++;
	if (robot_fetch(f->kit.robot, &job, item_fetched, item, &err) == 0)
		return;
	fetch_report_bad(f, item->job.payload, err.msg);
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
			&(struct polite_rule){r->delay_us, (unsigned)f->conf.robot.concurrent});
	if (waits_too_long(f, r)) {
		fetch_report_wait(f, item->job.payload, r);
		hostq_unasked(f->queue, &item->job);
	} else if (r->cause == ROBOT_CAUSE_NOT_NOW || r->cause == ROBOT_CAUSE_STOPPED) {
		fetch_say_wait(f, item->job.key, r);
		hostq_put_back(f->queue, &item->job, now_us + r->not_now_us);
	} else {
		fetch_report(f, item->job.payload, r, item->path.n ? buf_text(&item->path) : NULL);
		if (r->times.start_us || r->redirects)
			hostq_done(f->queue, &item->job, r->outcome, now_us);
		else /* nobody was asked: there is nothing to wait for */
			hostq_unasked(f->queue, &item->job);
	}
	if (is_fatal(r)) {
		err_set(&err, ERR_SYSTEM, "%s", r->why);
		fetch_fail(f, &err);
	}
	item_free(item);
	if (!f->stopped)
		fetch_pump_soon(f);
}

static int make_path(struct item *item, const struct url *url, struct err *err)
{
	struct fetch *f = item->fetch;
	item->path = BUF_INIT(PATH_MAX);
	fetch_file_name(f->options->output, url, &item->path);
	if (item->path.over)
		return err_set(err, ERR_USAGE, "%s: the path is too long", f->options->output);
	char *slash = strrchr(item->path.p, '/');
	*slash = 0;
	int rc = dir_make(item->path.p, 0777, err);
	*slash = '/';
	return rc;
}

static void item_go_with_path(struct item *item, const struct url *url)
{
	struct fetch *f = item->fetch;
	struct err err;
	if (!f->options->output[0] || make_path(item, url, &err) == 0) {
		item_go(item);
		return;
	}
	fetch_fail(f, &err);
	hostq_put_back(f->queue, &item->job, 0);
	item_free(item);
}

/* The queue of a host becomes that of its address. */
static int name_queue(struct fetch *f, qkey from, qkey to, struct err *err)
{
	struct polite_rule rule = {f->conf.robot.delay_us, (unsigned)f->conf.robot.concurrent};
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
			fetch_fail(f, &err);
		hostq_put_back(f->queue, &item->job, 0);
	} else {
		if (queue_push(f, to, item->job.payload, ROUTE_LAST, &err) < 0)
			fetch_fail(f, &err);
		hostq_unasked(f->queue, &item->job);
	}
	item_free(item);
	if (!f->stopped)
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
	item->next = &f->items;
	item->prev = f->items.prev;
	item->prev->next = f->items.prev = item;
	f->out_now++;
	ENSURE(url_parse(job->payload, NULL, f->room, sizeof f->room, &url) == 0);
	if (f->conf.robot.proxy[0])
		item_go_with_path(item, &url);
	else if (dns_lookup(f->kit.dns, url.host, DNS_ANY, &item->dns, &result) == 0)
		item_go_or_route(item, &url, &result);
}

void fetch_pump(void *ctx)
{
	struct fetch *f = ctx;
	struct hostq_job job;
	struct err err;
	int64_t wait_us = INT64_MAX;
	uint64_t before = f->begun;
	int rc = 0;
	while (!f->stopped && f->begun - before < BEGUN_AT_ONCE &&
	       f->out_now < (uint64_t)f->conf.robot.at_once * 2 &&
	       (rc = hostq_take(f->queue, loop_now_us(f->loop), &job, &wait_us, &err)) == 0)
		item_begin(f, &job);
	if (rc < 0) {
		fetch_fail(f, &err);
		return;
	}
	if (f->begun - before >= BEGUN_AT_ONCE)
		fetch_pump_soon(f);
	else if (rc == 1 && wait_us != INT64_MAX)
		loop_timer_in(f->loop, &f->timer, wait_us);
	if (hostq_is_empty(f->queue))
		loop_stop(f->loop);
}

/* The list. */

int fetch_add(struct fetch *f, struct str text, struct err *err)
{
	struct url url;
	struct dns_result result;
	struct dns_wait wait = {.done = item_resolved};
	qkey key;
	int rc = url_parse(text, NULL, f->room, sizeof f->room, &url);
	f->urls++;
	if (rc == 0 && url.href.n > HOSTQ_PAYLOAD_MAX)
		rc = -URL_TOO_LONG;
	if (rc != 0) {
		fetch_report_bad(f, text, url_error_text(rc));
		return 0;
	}
	key = unresolved_key(url.host);
	if (url.host_kind != URL_NAME && !f->conf.robot.proxy[0] &&
	    dns_lookup(f->kit.dns, url.host, DNS_ANY, &wait, &result) == 0 &&
	    result.outcome == DNS_FOUND)
		key = kit_qkey(&result.addr[0]);
	return queue_push(f, key, url.href, ROUTE_FIRST, err);
}

void fetch_items_free(struct fetch *f)
{
	while (f->items.next != &f->items) /* those that wait for their address */
		item_free(f->items.next);
}
