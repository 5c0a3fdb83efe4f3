/* Sessions of URL servers, and their URLs. Lines come in, each becomes a fetch and then a result in
 * the store; WORKING and DONE go out (document 003; doc/protocols/spider.md). Several URL servers
 * may be connected. The URLs of one whose connection ends are cancelled: it will send them again.
 *
 * A URL is fetched when it arrives, waits in the robot for politeness, and is then with the store
 * until its result is kept. It waits here only while the store has no room.
 *
 * URLs that are not done are in one list, ordered by when their last status was sent, so that one
 * timer serves WORKING for all. */
#include "fetch/spider/spider_inner.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "fetch/spider/spider_line.h"
#include "net/http_head.h"

#include <stdio.h>

/* If a server must be left alone for longer, the URL fails for now: there are others to fetch. */
#define PATIENCE_US (10 * US_PER_MIN)

enum { TRIES = 3 }; /* of a fetch that this process aborted, unless the disk was full */

struct spider_url {
	struct spider_item item;
	struct spider *spider;
	struct session *session; /* NULL: nobody waits for it */
	struct link all, own;    /* in spider.urls, in its session's */
	struct link waiting;     /* in spider.waiting */
	struct link silent;      /* in spider.silent */
	int64_t said_us;
	struct str trans;
	struct addr addr;
	const char *wrong; /* why it cannot be fetched; NULL: nothing yet */
	struct robot_handle robot;
	enum outcome outcome;
	unsigned tries;
	bool put;    /* it is with the store */
	size_t cost; /* of spider.held */
	char text[]; /* the line */
};

struct spider_session {
	struct session *session;
	struct link urls;
	struct link paused; /* in spider.paused */
};

static struct spider *spider_of(struct session *s)
{
	return server_ctx(session_server(s));
}

/* URLs. */

static struct spider_url *url_new(struct session *s, struct str line, const struct spider_line *l)
{
	struct spider *sp = spider_of(s);
	struct spider_session *own = session_state(s);
	struct spider_url *u = mem_alloc(sizeof *u + line.n + 1);
	memcpy(u->text, line.p, line.n);
	u->spider = sp;
	u->session = s;
	u->cost = sizeof *u + 2 * line.n; /* the robot has a copy */
	u->trans = (struct str){u->text + (l->trans.p - line.p), l->trans.n};
	if (l->doc.n)
		u->item.doc_id = (struct str){u->text + (l->doc.p - line.p), l->doc.n};
	if (l->url.n)
		u->item.url = (struct str){u->text + (l->url.p - line.p), l->url.n};
	u->addr = l->addr;
	u->wrong = l->wrong;
	u->said_us = loop_now_us(sp->role.loop);
	list_append(&sp->urls, &u->all);
	list_append(&own->urls, &u->own);
	list_append(&sp->silent, &u->silent);
	if (!sp->status.set)
		loop_timer_in(sp->role.loop, &sp->status, sp->conf->status_us);
	sp->counts.urls++;
	sp->counts.out++;
	sp->held += u->cost;
	return u;
}

static void resume_sessions(struct spider *sp);

static void url_free(struct spider_url *u)
{
	struct spider *sp = u->spider;
	robot_cancel(&u->robot);
	list_remove(&u->all);
	list_remove(&u->own);
	list_remove(&u->waiting);
	list_remove(&u->silent);
	mem_free(&u->item.path);
	sp->counts.out--;
	sp->held -= u->cost;
	mem_free(&u);
}

static void url_put(struct spider_url *u, const struct robot_result *r)
{
	struct spider *sp = u->spider;
	u->put = true;
	u->outcome = r->outcome;
	sp->counts.outcome[r->outcome]++;
	if (r->outcome == OUTCOME_OK) {
		sp->counts.documents++;
		sp->counts.bytes += r->size;
	}
	spider_store_put(sp->store, &u->item, r);
}

/* Stores a result for a URL that was never requested from its server. */
static void url_refuse(struct spider_url *u, enum outcome outcome, enum robot_cause cause,
		       const char *why)
{
	static const struct robot_head no_head = {
		.retry_after_us = -1, .length = -1, .tag.unavailable_after_us = -1};
	const struct robot_result r = {.outcome = outcome,
				       .cause = cause,
				       .why = why,
				       .head = &no_head,
				       .last_modified_us = -1,
				       .delay_us = -1};
	url_put(u, &r);
}

/* Fetches. */

static void url_wait(struct spider_url *u)
{
	struct spider *sp = u->spider;
	list_append(&sp->waiting, &u->waiting);
	loop_later(sp->role.loop, &sp->begin);
}

/* Puts it first: the store uses it to test whether there is room. */
static void url_wait_first(struct spider_url *u)
{
	list_prepend(&u->spider->waiting, &u->waiting);
}

/* Returns whether this process aborted the fetch, so that it is worth another try. */
static bool is_ours(const struct robot_result *r)
{
	return r->cause == ROBOT_CAUSE_SINK || r->cause == ROBOT_CAUSE_LEASE;
}

static bool is_refused(struct spider *sp, const struct robot_result *r)
{
	return r->cause == ROBOT_CAUSE_SINK &&
	       spider_store_refused(sp->store, r->sys_errno, r->why);
}

static void url_fetched(void *ctx, const struct robot_result *result)
{
	struct spider_url *u = ctx;
	struct robot_result r = *result;
	CLEANUP(buf_free) struct buf why = BUF_INIT(256);
	struct err err;
	if (r.cause == ROBOT_CAUSE_STOPPED)
		return; /* the role stops */
	if (r.cause == ROBOT_CAUSE_TABLE) {
		err_set(&err, ERR_SYSTEM, "%s", r.why);
		role_loop_fail(&u->spider->role, &err);
		return;
	}
	if (is_refused(u->spider, &r)) {
		url_wait_first(u);
		return;
	}
	if (is_ours(&r) && ++u->tries < TRIES) {
		url_wait(u);
		return;
	}
	if (r.cause == ROBOT_CAUSE_NOT_NOW) {
		buf_add_text(&why, "the server is to be left alone for ");
		duration_print_short(&why, r.not_now_us);
		r.outcome = OUTCOME_SITE_TEMPORARY;
		r.why = buf_text(&why);
	}
	url_put(u, &r);
}

static void url_fetch(struct spider_url *u)
{
	struct spider *sp = u->spider;
	struct robot_job job = {.url = u->item.url,
				.address = &u->addr,
				.flags = ROBOT_WAIT | ROBOT_NO_FOLLOW,
				.patience_us = PATIENCE_US,
				.handle = &u->robot};
	struct url url;
	struct err err;
	int rc = u->wrong ? 0 : url_parse(u->item.url, NULL, sp->room, sizeof sp->room, &url);
	if (rc != 0)
		u->wrong = url_error_text(rc);
	if (u->wrong) {
		sp->counts.unfetchable++;
		url_refuse(u, OUTCOME_PERMANENT, ROBOT_CAUSE_URL, u->wrong);
	} else if (spider_store_begin(sp->store, &u->item, &url, &err) < 0) {
		if (spider_store_refused(sp->store, err.sys_errno, err.msg))
			url_wait_first(u);
		else
			url_refuse(u, OUTCOME_LIMIT, ROBOT_CAUSE_SINK, err.msg);
	} else {
		job.sink = &u->item.file.sink;
		if (robot_fetch(sp->kit.robot, &job, url_fetched, u, &err) < 0)
			url_refuse(u, OUTCOME_PERMANENT, ROBOT_CAUSE_URL, err.msg);
	}
}

static void begin_waiting(void *ctx)
{
	struct spider *sp = ctx;
	struct spider_url *u;
	while ((u = LIST_FIRST(struct spider_url, &sp->waiting, waiting)) &&
	       spider_store_room(sp->store)) {
		list_remove(&u->waiting);
		url_fetch(u);
	}
}

void spider_room(struct spider *sp)
{
	loop_later(sp->role.loop, &sp->begin);
}

static void url_again(struct spider_url *u)
{
	if (!u->session) {
		url_free(u);
		return;
	}
	robot_cancel(&u->robot);
	u->put = false;
	if (!list_has(&u->waiting))
		url_wait(u);
}

void spider_lost(struct spider *sp)
{
	LIST_EACH (struct spider_url, u, &sp->urls, all)
		url_again(u);
}

/* Status lines. */

static void say_status(struct spider_url *u, const char *word)
{
	if (u->session)
		conn_printf(session_conn(u->session), STR_FMT " %s\n", STR_ARG(u->trans), word);
}

void spider_kept(struct spider *sp, struct spider_item *item)
{
	struct spider_url *u = LIST_OF(struct spider_url, item, item);
	char words[32];
	FAULT("spider.kept");
	snprintf(words, sizeof words, "DONE%s%s", sp->conf->status_words ? " " : "",
		 sp->conf->status_words ? outcome_name(u->outcome) : "");
	say_status(u, words);
	sp->counts.done += u->session != NULL;
	url_free(u);
	resume_sessions(sp);
}

static void say_working(void *ctx)
{
	struct spider *sp = ctx;
	struct spider_url *u;
	int64_t now_us = loop_now_us(sp->role.loop);
	while ((u = LIST_FIRST(struct spider_url, &sp->silent, silent))) {
		if (u->said_us + sp->conf->status_us > now_us) {
			loop_timer_in(sp->role.loop, &sp->status,
				      u->said_us + sp->conf->status_us - now_us);
			return;
		}
		say_status(u, "WORKING");
		sp->counts.working++;
		u->said_us = now_us;
		list_remove(&u->silent);
		list_append(&sp->silent, &u->silent);
	}
}

/* Sessions. */

static void session_refused(struct session *s, const char *why)
{
	spider_of(s)->counts.hung_up++;
	log_warn(ROLE, "URL server disconnected", KV_TEXT("peer", session_peer(s)),
		 KV_TEXT("why", why));
}

static void session_got_line(struct session *s, struct str line)
{
	struct spider *sp = spider_of(s);
	struct spider_session *own = session_state(s);
	struct spider_line l;
	if (http_is_first_line(line)) {
		sp->counts.garbage++;
		session_refused(s, "it speaks HTTP");
		conn_close(session_conn(s));
		return;
	}
	if (!spider_line_read(line, &l)) {
		sp->counts.garbage++;
		return;
	}
	struct spider_url *u = url_new(s, line, &l);
	if (u->wrong || (list_is_empty(&sp->waiting) && spider_store_room(sp->store)))
		url_fetch(u);
	else
		url_wait(u);
	if (sp->counts.out >= (uint64_t)sp->conf->urls_max || sp->held >= sp->conf->limits.memory) {
		list_append(&sp->paused, &own->paused);
		conn_pause(session_conn(s));
	}
}

/* Reads again once a quarter of the room is free, not after each URL. */
static void resume_sessions(struct spider *sp)
{
	struct spider_session *own;
	if (sp->counts.out > (uint64_t)sp->conf->urls_max / 4 * 3 ||
	    sp->held > sp->conf->limits.memory / 4 * 3)
		return;
	while ((own = LIST_FIRST(struct spider_session, &sp->paused, paused))) {
		list_remove(&own->paused);
		conn_resume(session_conn(own->session));
	}
}

static void session_opened(struct session *s)
{
	struct spider_session *own = session_state(s);
	own->session = s;
	list_init(&own->urls);
	spider_of(s)->counts.connections++;
	log_info(ROLE, "URL server connected", KV_TEXT("peer", session_peer(s)));
}

/* URLs that are with the store stay there: a finished result is worth keeping. */
static void session_closed(struct session *s, enum conn_end end)
{
	struct spider *sp = spider_of(s);
	struct spider_session *own = session_state(s);
	bool is_trouble = end == CONN_END_IDLE || end == CONN_END_SLOW ||
			  end == CONN_END_LONG_LINE || end == CONN_END_FULL;
	if (end != CONN_END_DROPPED) /* by us, when we stop */
		log_write(is_trouble ? LOG_WARN : LOG_INFO, LOG_ROLE, "URL server disconnected",
			  LOG_LIST(KV_TEXT("peer", session_peer(s)),
				   KV_TEXT("why", conn_end_text(end))));
	sp->counts.hung_up += is_trouble;
	sp->counts.garbage += end == CONN_END_LONG_LINE;
	sp->counts.connections--;
	list_remove(&own->paused);
	LIST_EACH (struct spider_url, u, &own->urls, own) {
		u->session = NULL;
		list_remove(&u->own);
		list_remove(&u->silent);
		sp->counts.cancelled++;
		if (!u->put)
			url_free(u);
	}
	resume_sessions(sp);
}

/* There is no greeting: a spider sends only WORKING and DONE (document 003). */
static const struct server_protocol spider_protocol = {
	.name = "spider",
	.line = session_got_line,
	.reads_on = true, /* else each side could wait for the other to read */
	.words = {[SERVER_LONG_LINE] = "", [SERVER_FULL] = "", [SERVER_STOPPING] = ""},
	.state_size = sizeof(struct spider_session),
	.opened = session_opened,
	.closed = session_closed,
	.refused = session_refused,
};

void spider_open(struct spider *sp)
{
	sp->status = (struct loop_timer){.fn = say_working, .ctx = sp};
	sp->begin = (struct loop_later){.fn = begin_waiting, .ctx = sp};
	list_init(&sp->urls);
	list_init(&sp->waiting);
	list_init(&sp->silent);
	list_init(&sp->paused);
	sp->server =
		server_new(sp->role.loop, &spider_protocol, &sp->conf->limits, sp->role.tls, sp);
}

void spider_close(struct spider *sp)
{
	if (!sp->server)
		return;
	server_free(&sp->server);
	LIST_EACH (struct spider_url, u, &sp->urls, all)
		url_free(u);
	loop_timer_stop(&sp->status);
	loop_later_cancel(&sp->begin);
}
