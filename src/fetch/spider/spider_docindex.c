/* Results to a doc index, over a connection that is made anew as long as the spider lives. A result
 * waits to be sent, then for its OK; OKs come in the order of the results. What had none when the
 * connection was lost is sent again, first. */
#include "base/clock.h"
#include "fetch/docindex_wire.h"
#include "fetch/result_wire.h"
#include "fetch/spider/spider_store.h"
#include "net/outgoing.h"

#include <inttypes.h>
#include <stdio.h>

#define CONNECT_US (10 * US_PER_S)
#define RETRY_MIN_US (100 * US_PER_MS)
#define RETRY_MAX_US (30 * US_PER_S)

/* Bytes of results that are not kept: with more, nothing is fetched. */
enum { HELD_MOST = 128 << 20, POOL_MEMORY = 1 << 30 };

struct docindex_store {
	struct spider_store store;
	struct spider_docindex_options o;
	char *name;
	struct conn_pool *pool;
	struct conn_limits limits;
	struct outgoing *out;
	bool greeted; /* HELLO has its OK */
	bool told_away;
	struct docindex_answers answers;
	struct link unsent, unanswered;
	struct link nameless; /* without a DOC_ID: nobody could be told */
	struct loop_later keep_nameless;
	struct buf line;
	uint64_t held;
};

static struct docindex_store *docindex_of(struct spider_store *s)
{
	return LIST_OF(struct docindex_store, s, store);
}

static void docindex_say(struct docindex_store *d, bool is_trouble, const char *what)
{
	d->store.host->said(d->store.host->ctx, is_trouble, what);
}

/* Results out. */

static bool send_result(struct docindex_store *d, struct conn *c, struct spider_item *item)
{
	const struct docindex_request r = {.verb = DOCINDEX_RESULT,
					   .name = item->doc_id,
					   .head = item->head.n,
					   .body = item->body.n};
	buf_clear(&d->line);
	docindex_request_write(&r, &d->line);
	conn_send(c, buf_str(&d->line));
	conn_send(c, buf_str(&item->head));
	return conn_send(c, buf_str(&item->body));
}

static void send_results(void *ctx)
{
	struct docindex_store *d = ctx;
	struct conn *c = outgoing_conn(d->out);
	struct spider_item *item;
	bool goes_on = true;
	while (c && goes_on && conn_queued(c) < d->limits.high_mark &&
	       (item = LIST_FIRST(struct spider_item, &d->unsent, link))) {
		list_remove(&item->link);
		list_append(&d->unanswered, &item->link);
		goes_on = send_result(d, c, item);
	}
}

/* Answers in. */

static void result_kept(struct docindex_store *d, struct spider_item *item)
{
	const struct spider_store_host *host = d->store.host;
	bool was_full = d->held >= HELD_MOST;
	d->held -= item->head.n + item->body.n;
	list_remove(&item->link);
	host->kept(host->ctx, item);
	if (was_full && d->held < HELD_MOST)
		host->room(host->ctx);
}

static void docindex_lied(struct docindex_store *d, const char *what)
{
	char text[512];
	snprintf(text, sizeof text, "the doc index is hung up on, and tried again: %.400s", what);
	docindex_say(d, true, text);
	d->told_away = true;
	conn_close(outgoing_conn(d->out));
}

static void docindex_there(struct docindex_store *d)
{
	d->greeted = true;
	if (d->told_away)
		docindex_say(d, false, "the doc index is there");
	d->told_away = false;
}

static void docindex_line(void *ctx, struct str line)
{
	struct docindex_store *d = ctx;
	struct docindex_answer a;
	struct err err;
	struct spider_item *item;
	char text[300];
	if (docindex_answer_read(&d->answers, line, &a, &err) < 0) {
		docindex_lied(d, err.msg);
	} else if (a.kind == DOCINDEX_ERROR) {
		snprintf(text, sizeof text, "it says ERROR " STR_FMT,
			 STR_ARG(str_head(a.text, 200)));
		docindex_lied(d, text);
	} else if (a.kind != DOCINDEX_OK) {
		docindex_lied(d, "it sends what was not asked for");
	} else if (!d->greeted) {
		docindex_there(d);
	} else if ((item = LIST_FIRST(struct spider_item, &d->unanswered, link))) {
		result_kept(d, item);
	} else {
		docindex_lied(d, "an OK too many");
	}
}

/* The connection. */

static void docindex_up(void *ctx, struct conn *c)
{
	struct docindex_store *d = ctx;
	const struct docindex_request hello = {.verb = DOCINDEX_HELLO, .name = str_of(d->name)};
	d->greeted = false;
	d->answers = (struct docindex_answers){0};
	buf_clear(&d->line);
	docindex_request_write(&hello, &d->line);
	conn_send(c, buf_str(&d->line));
	send_results(d);
}

static void docindex_down(void *ctx, const char *why, int64_t retry_us)
{
	struct docindex_store *d = ctx;
	struct spider_item *item;
	char text[300];
	while ((item = LIST_LAST(struct spider_item, &d->unanswered, link))) {
		list_remove(&item->link);
		list_prepend(&d->unsent, &item->link);
	}
	if (!d->told_away) {
		snprintf(text, sizeof text,
			 "the doc index is away: %s; tried again in %" PRId64 " ms, and so on", why,
			 retry_us / US_PER_MS);
		docindex_say(d, true, text);
	}
	d->told_away = true;
}

static int docindex_connect(struct docindex_store *d, struct err *err)
{
	static const struct conn_ops ops = {.line = docindex_line, .drained = send_results};
	const struct outgoing_options options = {
		.address = d->o.address,
		.dns = d->o.dns,
		.trusted = true,
		.connect_us = CONNECT_US,
		.retry_min_us = RETRY_MIN_US,
		.retry_max_us = RETRY_MAX_US,
		.limits = &d->limits,
		.tls = d->o.tls,
		.ops = &ops,
		.up = docindex_up,
		.down = docindex_down,
		.ctx = d,
	};
	return outgoing_new(&d->out, d->pool, &options, err);
}

/* The door. */

static int docindex_begin(struct spider_store *s, struct spider_item *item, const struct url *url,
			  struct err *err)
{
	(void)url, (void)err;
	buf_free(&item->body);
	item->body = BUF_INIT(docindex_of(s)->o.body_max);
	item->memory = robot_memory_sink(&item->body, false);
	item->sink = &item->memory.sink;
	return 0;
}

static void nameless_kept(void *ctx)
{
	struct docindex_store *d = ctx;
	struct spider_item *item;
	while ((item = LIST_FIRST(struct spider_item, &d->nameless, link)))
		result_kept(d, item);
}

static void docindex_put(struct spider_store *s, struct spider_item *item,
			 const struct robot_result *result)
{
	struct docindex_store *d = docindex_of(s);
	const struct result_now now = {clock_mono_us(), clock_wall_us()};
	buf_free(&item->head);
	item->head = BUF_INIT(DOCINDEX_HEAD_MAX);
	result_write(result, now, &item->head);
	if (result->outcome != OUTCOME_OK)
		buf_free(&item->body);
	d->held += item->head.n + item->body.n;
	if (item->doc_id.n) {
		list_append(&d->unsent, &item->link);
		send_results(d);
	} else {
		list_append(&d->nameless, &item->link);
		loop_later(d->o.loop, &d->keep_nameless);
	}
}

static bool docindex_room(struct spider_store *s)
{
	return docindex_of(s)->held < HELD_MOST;
}

/* The disk has no part in it. */
static bool docindex_refused(struct spider_store *s, int sys_errno, const char *why)
{
	(void)s, (void)sys_errno, (void)why;
	return false;
}

static void docindex_free(struct spider_store **s)
{
	struct docindex_store *d = docindex_of(*s);
	outgoing_free(&d->out);
	conn_pool_free(&d->pool);
	loop_later_cancel(&d->keep_nameless);
	buf_free(&d->line);
	mem_free(&d->name);
	mem_free(&d);
	*s = NULL;
}

int spider_docindex_open(struct spider_store **ret, const struct spider_docindex_options *options,
			 struct err *err)
{
	static const struct spider_store_ops ops = {.begin = docindex_begin,
						    .put = docindex_put,
						    .room = docindex_room,
						    .refused = docindex_refused,
						    .free = docindex_free};
	struct docindex_store *d = mem_alloc(sizeof *d);
	struct spider_store *s = &d->store;
	*d = (struct docindex_store){
		.store = {&ops, options->host},
		.o = *options,
		.name = mem_text(options->name),
		.pool = conn_pool_new(options->loop, POOL_MEMORY),
		.keep_nameless = {.fn = nameless_kept, .ctx = d},
		.line = BUF_INIT(DOCINDEX_LINE_MAX + 2),
		.limits = {.line_max = DOCINDEX_LINE_MAX,
			   .high_mark = 1 << 20,
			   .queue_max = options->body_max + DOCINDEX_HEAD_MAX + (2 << 20),
			   /* a doc index may wait for its OKs to be read */
			   .read_mark = SIZE_MAX},
	};
	list_init(&d->unsent);
	list_init(&d->unanswered);
	list_init(&d->nameless);
	if (docindex_connect(d, err) < 0) {
		docindex_free(&s);
		return -1;
	}
	*ret = s;
	return 0;
}
