/* A session of a provider: feeds the bytes of its connection to lococa.h a few kilobytes at a time,
 * and pauses while a thread works for it, or while the spool or the connection is full. So a
 * session holds one piece of input and what a few kilobytes of it can produce, however fast its
 * peer sends and however slowly it reads. A session that has received nothing holds nothing.
 *
 * After a rejection it discards further input for a while, so that the answer arrives; a peer that
 * has stopped sending is released at once. */
#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "cache/uns/uns_inner.h"

#include <stdio.h>

enum {
	SLICE = 4096, /* of input, between two looks at what it made */
	THROWN_MOST = 256 << 20,
	ANSWER_MAX = 2 << 20,
};
#define THROWN_LOOK_US US_PER_S
#define THROWN_US (30 * US_PER_S)

static struct uns_session *session_of(struct session *s)
{
	return *(struct uns_session **)session_state(s);
}

static struct conn *conn_of(const struct uns_session *ss)
{
	return session_conn(ss->session);
}

void uns_session_send(struct uns_session *ss, struct str bytes)
{
	if (!conn_send(conn_of(ss), bytes))
		ss->is_choked = true;
}

/* Ending. */

static void session_pause(struct uns_session *ss, bool pause)
{
	if (pause)
		conn_pause(conn_of(ss));
	else
		conn_resume(conn_of(ss));
}

static void session_end(struct uns_session *ss)
{
	ss->is_over = true;
	lococa_stop(ss->l);
	uns_spool_free(&ss->spool);
	buf_free(&ss->rest);
	loop_timer_stop(&ss->timer);
	session_pause(ss, false);
}

void uns_session_finish(struct uns_session *ss)
{
	session_end(ss);
	conn_finish(conn_of(ss));
}

/* Its peer may be in the middle of something long. */
static void session_discard(struct uns_session *ss)
{
	session_end(ss);
	ss->is_discarding = true;
	ss->over_us = loop_now_us(ss->u->role.loop);
	loop_timer_in(ss->u->role.loop, &ss->timer, THROWN_LOOK_US);
}

void uns_session_refuse(struct uns_session *ss, unsigned code, const char *text)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(ANSWER_MAX);
	bool is_arriving = lococa_in_set(ss->l);
	if (ss->is_over)
		return;
	ss->u->counts.refused_sets += is_arriving;
	lococa_refuse(ss->l, code, text, &out);
	uns_session_send(ss, buf_str(&out));
	if (is_arriving)
		session_discard(ss);
	else
		uns_session_finish(ss);
}

static void time_is_over(void *ctx)
{
	struct uns_session *ss = ctx;
	int64_t now_us = loop_now_us(ss->u->role.loop);
	if (!ss->is_discarding) {
		uns_session_refuse(ss, CACHE_LATER, "it took too long");
		return;
	}
	if (ss->thrown == ss->thrown_before || ss->thrown > THROWN_MOST ||
	    now_us - ss->over_us > THROWN_US) {
		conn_finish(conn_of(ss));
		return;
	}
	ss->thrown_before = ss->thrown;
	loop_timer_in(ss->u->role.loop, &ss->timer, THROWN_LOOK_US);
}

/* Sets. */

static const char *no_set_now(const struct uns *u)
{
	if (u->is_draining)
		return "the server stops";
	if (u->disk_is_full)
		return "the disk is full";
	return uns_out_is_full(u->out) ? "the system is off-line, and unsdb is full" : NULL;
}

static void hear_init(void *ctx, uint64_t provider, struct str password)
{
	struct uns_session *ss = ctx;
	const char *no = no_set_now(ss->u);
	loop_timer_stop(&ss->timer);
	if (no) {
		ss->u->counts.refused_logins++;
		uns_session_refuse(ss, CACHE_LATER, no);
		return;
	}
	ss->is_asking = true;
	uns_ask_login(ss, provider, password);
}

static void hear_receipts(void *ctx, uint64_t set)
{
	struct uns_session *ss = ctx;
	ss->u->counts.receipts++;
	uns_receipts_begin(ss, set);
}

static void set_settled(void *ctx, uint64_t number, unsigned code, const char *text)
{
	struct uns_accept *a = ctx;
	struct uns_session *ss = a->ss;
	a->number = number;
	if (code == 0) {
		a->now_us = clock_wall_us();
		uns_ask_accept(a);
		return;
	}
	uns_accept_free(&a);
	if (!ss)
		return;
	ss->accept = NULL;
	ss->u->counts.refused_sets++;
	uns_session_refuse(ss, code, text);
}

static void set_submit(struct uns_session *ss)
{
	const struct unsdb_set set = {.provider = ss->provider,
				      .is_full = ss->is_full,
				      .urls = ss->received,
				      .at_us = clock_wall_us()};
	struct uns_accept *a = mem_alloc(sizeof *a);
	struct uns_spool *spool = ss->spool;
	*a = (struct uns_accept){.u = ss->u,
				 .ss = ss,
				 .provider = ss->provider,
				 .received = ss->received,
				 .errors_told = ss->errors_told,
				 .errors_were = ss->errors_were,
				 .is_full = ss->is_full};
	list_append(&ss->u->accepts, &a->link);
	ss->accept = a;
	ss->spool = NULL;
	uns_out_add(ss->u->out, &set, spool, set_settled, a);
}

static void set_spooled(struct uns_session *ss)
{
	struct err err;
	int rc = uns_spool_end(ss->spool, &err);
	if (rc > 0)
		return; /* spool_moved() comes */
	if (rc < 0) {
		log_warn(ROLE, "spooling a set failed", KV_TEXT("why", err.msg));
		ss->u->counts.refused_sets++;
		uns_session_refuse(ss, CACHE_LATER, "the disk is full");
		return;
	}
	set_submit(ss);
}

static void spool_moved(void *ctx)
{
	struct uns_session *ss = ctx;
	struct err err;
	if (!lococa_in_set(ss->l)) {
		if (!ss->is_asking)
			set_spooled(ss);
		return;
	}
	if (uns_spool_failed(ss->spool, &err)) {
		log_warn(ROLE, "spooling a set failed", KV_TEXT("why", err.msg));
		uns_session_refuse(ss, CACHE_LATER, "the disk is full");
		return;
	}
	ss->is_spooling = false;
	uns_session_go_on(ss);
}

static void hear_set(void *ctx, bool is_full)
{
	struct uns_session *ss = ctx;
	struct uns *u = ss->u;
	const char *no = no_set_now(u);
	CLEANUP(buf_free) struct buf out = BUF_INIT(ANSWER_MAX);
	loop_timer_stop(&ss->timer);
	if (no) {
		uns_session_refuse(ss, CACHE_LATER, no);
		return;
	}
	if (u->conf->set_us)
		loop_timer_in(u->role.loop, &ss->timer, u->conf->set_us);
	ss->is_full = is_full;
	ss->spool = uns_spool_new(u->spools, spool_moved, ss);
	if (is_full) {
		ss->is_asking = true;
		uns_ask_fullset(ss);
	}
	lococa_say_set(ss->l, false, &out);
	uns_session_send(ss, buf_str(&out));
}

static void hear_notice(void *ctx, const struct notice *n)
{
	struct uns_session *ss = ctx;
	if (ss->spool)
		uns_spool_add(ss->spool, n);
	ss->u->counts.urls += n->op != NOTICE_NAMED;
}

static void hear_wrong(void *ctx, struct str element)
{
	struct uns_session *ss = ctx;
	CLEANUP(buf_free) struct buf out = BUF_INIT(ANSWER_MAX);
	ss->u->counts.wrong_urls++;
	lococa_say_set(ss->l, true, &out);
	buf_add_str(&out, element);
	uns_session_send(ss, buf_str(&out));
}

static void hear_whole(void *ctx, uint64_t received)
{
	struct uns_session *ss = ctx;
	loop_timer_stop(&ss->timer);
	ss->received = received;
	ss->is_spooling = false;
	session_pause(ss, true);
	if (!ss->is_asking) /* else uns_session_go_on() */
		set_spooled(ss);
}

static void hear_error(void *ctx, unsigned code, const char *text)
{
	uns_session_refuse(ctx, code, text);
}

/* Input. */

static bool can_read(struct uns_session *ss)
{
	if (ss->spool && lococa_in_set(ss->l))
		ss->is_spooling = !uns_spool_has_room(ss->spool);
	return !ss->is_asking && !ss->is_spooling && !ss->is_choked && !ss->is_over;
}

static void session_feed(struct uns_session *ss, struct str piece)
{
	while (piece.n && !ss->is_over && can_read(ss)) {
		size_t n;
		lococa_put(ss->l, str_head(piece, SLICE), &n);
		piece = str_from(piece, n);
	}
	if (ss->is_over)
		return;
	if (piece.n)
		buf_add_str(&ss->rest, piece);
	session_pause(ss, piece.n || !can_read(ss) || ss->accept || ss->received != UINT64_MAX);
}

void uns_session_go_on(struct uns_session *ss)
{
	struct buf rest = ss->rest;
	if (ss->is_over || !can_read(ss))
		return;
	if (ss->spool && ss->received != UINT64_MAX && !lococa_in_set(ss->l)) {
		set_spooled(ss); /* it was whole before the thread had answered */
		return;
	}
	ss->rest = BUF_INIT(CONN_READ + 1);
	session_feed(ss, buf_str(&rest));
	buf_free(&rest);
}

static void on_opened(struct session *s)
{
	static const struct lococa_ops ops = {.init = hear_init,
					      .receipts = hear_receipts,
					      .set = hear_set,
					      .notice = hear_notice,
					      .wrong = hear_wrong,
					      .whole = hear_whole,
					      .error = hear_error};
	struct uns *u = server_ctx(session_server(s));
	struct uns_session *ss = mem_alloc(sizeof *ss);
	*(struct uns_session **)session_state(s) = ss;
	ss->u = u;
	ss->session = s;
	ss->rest = BUF_INIT(CONN_READ + 1);
	ss->received = UINT64_MAX;
	ss->timer = (struct loop_timer){.fn = time_is_over, .ctx = ss};
	ss->l = lococa_new(u->shared, &ops, ss);
	list_append(&u->sessions, &ss->link);
	if (u->conf->limits.line_us)
		loop_timer_in(u->role.loop, &ss->timer, u->conf->limits.line_us);
}

static void on_bytes(struct session *s, struct str piece)
{
	struct uns_session *ss = session_of(s);
	if (ss->is_over) {
		ss->thrown += piece.n;
	} else if (ss->rest.n || !can_read(ss)) {
		buf_add_str(&ss->rest, piece);
		session_pause(ss, true);
		if (ss->rest.over) /* it was paused before: this cannot be */
			conn_close(conn_of(ss));
	} else {
		session_feed(ss, piece);
	}
}

static void on_drained(struct session *s)
{
	struct uns_session *ss = session_of(s);
	ss->is_choked = false;
	if (ss->receipts)
		uns_receipts_go_on(ss->receipts);
	uns_session_go_on(ss);
}

static void on_closed(struct session *s, enum conn_end end)
{
	struct uns_session *ss = session_of(s);
	(void)end;
	loop_timer_stop(&ss->timer);
	if (ss->login)
		uns_login_leave(ss->login);
	if (ss->accept)
		ss->accept->ss = NULL;
	if (ss->receipts)
		uns_receipts_leave(ss->receipts);
	list_remove(&ss->link);
	uns_spool_free(&ss->spool);
	lococa_free(&ss->l);
	prefixes_free(&ss->prefixes);
	buf_free(&ss->rest);
	mem_free(&ss);
}

void uns_sessions_without_room(struct uns *u)
{
	LIST_EACH (struct uns_session, ss, &u->sessions, link)
		if (!ss->is_over && lococa_in_set(ss->l))
			uns_session_refuse(ss, CACHE_LATER, "the disk is full");
}

void uns_sessions_drain(struct uns *u)
{
	u->is_draining = true;
	LIST_EACH (struct uns_session, ss, &u->sessions, link)
		if (!ss->accept) /* those hear in a moment what became of their sets */
			uns_session_refuse(ss, CACHE_LATER, "the server stops");
}

const struct server_protocol uns_protocol = {
	.name = ROLE,
	.words = {[SERVER_FULL] =
			  ("<lococa:init_rejected><reason code=\"102\">too many connections, "
			   "try again later</reason></lococa:init_rejected>\n"),
		  [SERVER_STOPPING] = ""},
	.state_size = sizeof(struct uns_session *),
	.opened = on_opened,
	.bytes = on_bytes,
	.drained = on_drained,
	.closed = on_closed,
};
