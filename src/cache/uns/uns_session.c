/* A session of a provider: its thread feeds what arrives to lococa.h a few kilobytes at a time and
 * does what it is told by that; the loop hands over one piece of input, and reads no further until
 * the thread asks for the next. So a session holds one piece of input and what a few kilobytes of
 * it can produce, however fast its peer sends and however slowly it reads. A session that has
 * received nothing has no thread and holds nothing.
 *
 * After a rejection the loop discards further input for a while, so that the answer arrives; a peer
 * that has stopped sending is released at once. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "cache/uns/uns_inner.h"

#include <stdio.h>

enum {
	SLICE = 4096, /* of input, between two looks at what it made */
	THROWN_MOST = 256 << 20,
	ANSWER_MAX = 4 << 20,
};
#define THROWN_LOOK_US US_PER_S
#define THROWN_US (30 * US_PER_S)

static struct conn *conn_of(const struct uns_session *ss)
{
	return session_conn(ss->session);
}

/* Waiting. */

static void session_wait(struct uns_session *ss)
{
	pthread_mutex_lock(&ss->lock);
	while (ss->is_waiting)
		pthread_cond_wait(&ss->wake, &ss->lock);
	pthread_mutex_unlock(&ss->lock);
	ss->is_over |= ss->is_closed;
}

static void session_wake(struct uns_session *ss)
{
	pthread_mutex_lock(&ss->lock);
	ss->is_waiting = false;
	pthread_cond_signal(&ss->wake);
	pthread_mutex_unlock(&ss->lock);
}

/* Has fn(ss) called in the loop, and waits for session_wake(). */
static void session_await(struct uns_session *ss, void (*fn)(void *ctx))
{
	ss->is_waiting = true;
	loop_post(ss->u->role.loop, fn, ss);
	session_wait(ss);
}

/* The loop: what the thread waits for has come. Until it reads again nothing is handed over, and
 * the connection counts as busy. */
static void wait_over(struct uns_session *ss)
{
	if (ss->waits == UNS_READS && ss->session)
		conn_pause(conn_of(ss));
	ss->waits = UNS_BUSY;
	loop_timer_stop(&ss->timer);
	session_wake(ss);
}

struct asking {
	struct pool_job job;
	struct uns_session *ss;
	void (*fn)(void *ctx);
	void *ctx;
};

static void asking_run(struct pool_job *job)
{
	struct asking *a = LIST_OF(struct asking, job, job);
	a->fn(a->ctx);
	session_wake(a->ss);
}

void uns_session_ask(struct uns_session *ss, struct pool *pool, void (*fn)(void *ctx), void *ctx)
{
	struct asking a = {.job = {.run = asking_run,
				   .client = hash64(str_of(ss->address)) | 1,
				   .beyond = true},
			   .ss = ss,
			   .fn = fn,
			   .ctx = ctx};
	ss->is_waiting = true;
	pool_post(pool, &a.job);
	session_wait(ss);
}

/* The loop, while the thread waits. */
static void counts_take(struct uns_session *ss)
{
	uint64_t *all = (uint64_t *)&ss->u->counts, *own = (uint64_t *)&ss->counts;
	for (size_t i = 0; i < sizeof ss->counts / sizeof *own; i++)
		all[i] += own[i];
	ss->counts = (struct uns_counts){0};
}

/* Input and output. */

static void send_begin(void *ctx)
{
	struct uns_session *ss = ctx;
	bool goes_on = !ss->session || conn_send(conn_of(ss), buf_str(&ss->out));
	counts_take(ss);
	buf_free(&ss->out);
	ss->waits = UNS_DRAINS;
	if (goes_on)
		wait_over(ss);
}

void uns_session_flush(struct uns_session *ss)
{
	if (ss->out.n && !ss->is_over)
		session_await(ss, send_begin);
}

/* Why it cannot go on; NULL: it can. */
static const char *stop_reason(const struct uns_session *ss)
{
	if (ss->u->is_draining)
		return "the server stops";
	if (ss->u->disk_is_full && lococa_in_set(ss->l))
		return "the disk is full";
	return ss->due_us && clock_mono_us() >= ss->due_us ? "it took too long" : NULL;
}

static void read_begin(void *ctx)
{
	struct uns_session *ss = ctx;
	counts_take(ss);
	ss->waits = UNS_READS;
	if (!ss->session || stop_reason(ss)) {
		wait_over(ss);
		return;
	}
	if (ss->due_us)
		loop_timer_in(ss->u->role.loop, &ss->timer,
			      MAX(ss->due_us - clock_mono_us(), INT64_C(0)));
	conn_resume(conn_of(ss));
}

static void session_look(struct uns_session *ss)
{
	const char *why = ss->is_over ? NULL : stop_reason(ss);
	if (why)
		uns_session_refuse(ss, CACHE_LATER, why);
}

void uns_session_refuse(struct uns_session *ss, unsigned code, const char *text)
{
	if (ss->is_over)
		return;
	ss->discards = lococa_in_set(ss->l);
	ss->counts.refused_sets += ss->discards;
	lococa_refuse(ss->l, code, text, &ss->out);
	ss->is_over = true;
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
	ss->due_us = 0;
	if (!no) {
		uns_login(ss, provider, password);
		return;
	}
	ss->counts.refused_logins++;
	uns_session_refuse(ss, CACHE_LATER, no);
}

static void hear_receipts(void *ctx, uint64_t set)
{
	struct uns_session *ss = ctx;
	ss->counts.receipts++;
	uns_receipts(ss, set);
}

static void set_settled(void *ctx, unsigned code, const char *text)
{
	struct uns_session *ss = ctx;
	ss->code = code;
	snprintf(ss->text, sizeof ss->text, "%s", text);
	session_wake(ss);
}

static void set_pass(void *ctx)
{
	struct uns_session *ss = ctx;
	const struct unsdb_set set = {.number = ss->number,
				      .provider = ss->provider,
				      .is_full = ss->is_full,
				      .urls = ss->received,
				      .at_us = clock_wall_us()};
	struct uns_spool *spool = ss->spool;
	if (ss->u->is_ending) {
		set_settled(ss, CACHE_LATER, "the server stops");
		return;
	}
	ss->spool = NULL;
	uns_out_add(ss->u->out, &set, spool, set_settled, ss);
}

static void hear_set(void *ctx, bool is_full)
{
	struct uns_session *ss = ctx;
	const struct uns *u = ss->u;
	const char *no = no_set_now(u);
	unsigned code = 0;
	if (no) {
		uns_session_refuse(ss, CACHE_LATER, no);
		return;
	}
	ss->due_us = u->conf->set_us ? clock_mono_us() + u->conf->set_us : 0;
	ss->is_full = is_full;
	ss->spool = uns_spool_new(u->spools);
	lococa_say_set(ss->l, false, &ss->out);
	if (is_full)
		code = uns_fullset_refusal(ss);
	if (code)
		uns_session_refuse(ss, code, cache_code_text(code));
}

static void spool_failed(struct uns_session *ss, const struct err *err)
{
	log_warn(ROLE, "spooling a set failed", KV_TEXT("why", err->msg));
	uns_session_refuse(ss, CACHE_LATER, "the disk is full");
}

static void hear_notice(void *ctx, const struct notice *n)
{
	struct uns_session *ss = ctx;
	struct err err;
	ss->counts.urls += n->op != NOTICE_NAMED;
	if (uns_spool_add(ss->spool, n, &err) < 0)
		spool_failed(ss, &err);
}

static void hear_wrong(void *ctx, struct str element)
{
	struct uns_session *ss = ctx;
	ss->counts.wrong_urls++;
	lococa_say_set(ss->l, true, &ss->out);
	buf_add_str(&ss->out, element);
}

static void hear_whole(void *ctx, uint64_t received)
{
	struct uns_session *ss = ctx;
	struct err err;
	ss->received = received;
	if (uns_spool_end(ss->spool, &err) < 0) {
		ss->counts.refused_sets++;
		spool_failed(ss, &err);
		return;
	}
	if (uns_out_number(ss->u->out, &ss->number) < 0)
		set_settled(ss, CACHE_LATER, "the set could not be kept");
	else
		session_await(ss, set_pass);
	if (ss->code) {
		ss->counts.refused_sets++;
		uns_session_refuse(ss, ss->code, ss->text);
		return;
	}
	uns_accept(ss);
	ss->counts.sets++;
	FAULT("uns.accepted");
	lococa_say_taken(ss->l, ss->received, ss->number, &ss->out);
	ss->is_over = true;
}

static void hear_error(void *ctx, unsigned code, const char *text)
{
	uns_session_refuse(ctx, code, text);
}

/* The thread. */

static void session_feed(struct uns_session *ss)
{
	struct str piece = buf_str(&ss->in);
	while (piece.n && !ss->is_over) {
		size_t n;
		lococa_put(ss->l, str_head(piece, SLICE), &n);
		piece = str_from(piece, n);
		uns_session_flush(ss);
		session_look(ss);
	}
	buf_free(&ss->in);
}

static void session_begin(struct uns_session *ss)
{
	static const struct lococa_ops ops = {.init = hear_init,
					      .receipts = hear_receipts,
					      .set = hear_set,
					      .notice = hear_notice,
					      .wrong = hear_wrong,
					      .whole = hear_whole,
					      .error = hear_error};
	const struct uns *u = ss->u;
	loop_timer_stop(&ss->timer);
	ss->shared = lococa_shared_new(u->cache, (uint64_t)u->conf->set_max, u->conf->set_bytes);
	ss->l = lococa_new(ss->shared, &ops, ss);
}

static void session_gone(void *ctx);

static void *session_run(void *ctx)
{
	struct uns_session *ss = ctx;
	while (!ss->is_over) {
		session_feed(ss);
		if (!ss->is_over)
			session_await(ss, read_begin);
		session_look(ss);
	}
	loop_post(ss->u->role.loop, session_gone, ss);
	return NULL;
}

/* The loop: its end. */

static void session_free(struct uns_session *ss)
{
	struct uns *u = ss->u;
	loop_timer_stop(&ss->timer);
	list_remove(&ss->link);
	pthread_mutex_destroy(&ss->lock);
	pthread_cond_destroy(&ss->wake);
	buf_free(&ss->out);
	mem_free(&ss);
	if (u->is_ending && list_is_empty(&u->sessions))
		loop_stop(u->role.loop);
}

/* The final answer goes out. Its peer may be in the middle of something long. */
static void session_finish(struct uns_session *ss)
{
	counts_take(ss);
	uns_spool_free(&ss->spool);
	lococa_free(&ss->l);
	lococa_shared_free(&ss->shared);
	prefixes_free(&ss->prefixes);
	buf_free(&ss->in);
	if (!ss->session) {
		session_free(ss);
		return;
	}
	conn_send(conn_of(ss), buf_str(&ss->out));
	buf_free(&ss->out);
	conn_resume(conn_of(ss));
	ss->thrown = 0;
	if (ss->breaks) {
		conn_close(conn_of(ss));
	} else if (ss->discards) {
		ss->over_us = loop_now_us(ss->u->role.loop);
		loop_timer_in(ss->u->role.loop, &ss->timer, THROWN_LOOK_US);
	} else {
		conn_finish(conn_of(ss));
	}
}

static void session_gone(void *ctx)
{
	struct uns_session *ss = ctx;
	pthread_join(ss->thread, NULL);
	ss->is_running = false;
	session_finish(ss);
}

static void discard_look(struct uns_session *ss)
{
	if (ss->thrown == ss->thrown_before || ss->thrown > THROWN_MOST ||
	    loop_now_us(ss->u->role.loop) - ss->over_us > THROWN_US) {
		conn_finish(conn_of(ss));
		return;
	}
	ss->thrown_before = ss->thrown;
	loop_timer_in(ss->u->role.loop, &ss->timer, THROWN_LOOK_US);
}

/* One that has not said anything yet. */
static void silent_refuse(struct uns_session *ss, const char *why)
{
	session_begin(ss);
	uns_session_refuse(ss, CACHE_LATER, why);
	session_finish(ss);
}

static void on_timer(void *ctx)
{
	struct uns_session *ss = ctx;
	if (ss->is_running)
		wait_over(ss); /* it was reading */
	else if (ss->is_over)
		discard_look(ss);
	else
		silent_refuse(ss, "it took too long");
}

/* The connection. */

static struct uns_session *session_of(struct session *s)
{
	return *(struct uns_session **)session_state(s);
}

static void on_opened(struct session *s)
{
	struct uns *u = server_ctx(session_server(s));
	struct uns_session *ss = mem_alloc(sizeof *ss);
	*(struct uns_session **)session_state(s) = ss;
	*ss = (struct uns_session){.u = u,
				   .session = s,
				   .timer = {.fn = on_timer, .ctx = ss},
				   .lock = PTHREAD_MUTEX_INITIALIZER,
				   .wake = PTHREAD_COND_INITIALIZER,
				   .in = BUF_INIT(CONN_READ + 1),
				   .out = BUF_INIT(ANSWER_MAX)};
	snprintf(ss->address, sizeof ss->address, "%s", session_peer(s));
	list_append(&u->sessions, &ss->link);
	if (u->conf->limits.line_us) {
		ss->due_us = clock_mono_us() + u->conf->limits.line_us;
		loop_timer_in(u->role.loop, &ss->timer, u->conf->limits.line_us);
	}
}

static void on_bytes(struct session *s, struct str piece)
{
	struct uns_session *ss = session_of(s);
	struct err err;
	ss->thrown += piece.n;
	if (!ss->is_running && ss->is_over)
		return;
	buf_add_str(&ss->in, piece);
	if (ss->is_running) {
		wait_over(ss);
		return;
	}
	conn_pause(conn_of(ss));
	session_begin(ss);
	ss->is_running = thread_start(&ss->thread, session_run, ss, &err) == 0;
	if (ss->is_running)
		return;
	log_warn(ROLE, "no thread for a session", KV_TEXT("why", err.msg));
	uns_session_refuse(ss, CACHE_LATER, "too many sessions, try again later");
	session_finish(ss);
}

static void on_drained(struct session *s)
{
	struct uns_session *ss = session_of(s);
	if (ss->waits == UNS_DRAINS)
		wait_over(ss);
}

static void on_closed(struct session *s, enum conn_end end)
{
	struct uns_session *ss = session_of(s);
	(void)end;
	ss->session = NULL;
	ss->is_closed = true;
	if (!ss->is_running)
		session_free(ss);
	else if (ss->waits != UNS_BUSY)
		wait_over(ss);
}

void uns_sessions_look(struct uns *u)
{
	LIST_EACH (struct uns_session, ss, &u->sessions, link) {
		if (ss->waits == UNS_READS)
			wait_over(ss);
		else if (u->is_draining && !ss->is_running && !ss->is_over)
			silent_refuse(ss, "the server stops");
	}
}

void uns_sessions_lost(struct uns *u, uint64_t number)
{
	LIST_EACH (struct uns_session, ss, &u->sessions, link)
		if (ss->number == number)
			ss->is_lost = true;
}

void uns_sessions_end(struct uns *u)
{
	struct err err;
	if (!list_is_empty(&u->sessions))
		ENSURE(loop_run(u->role.loop, &err) == 0);
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
