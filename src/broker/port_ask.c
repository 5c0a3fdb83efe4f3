/* A request on its way: read, then a job in a pool for each piece of its answer, then bytes for the
 * connection; the next job is given to the pool when these have left. A client that goes away sets
 * the flag that the job looks at; the job's last word then finds nobody and ends the rest. */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/port_inner.h"
#include "broker/reply_inner.h"

#include <stdio.h>

enum { SEND_PART = 64 << 10 }; /* bytes that are handed to a connection at a time */
enum { PIECE_MOST = 64 << 20 };
enum { QUERY_NOTED = 256 };    /* bytes of a query in the event log */
enum { HOLDS_FEW = 64 << 10 }; /* bytes of an answer that finds room in any case */

/* What became of a request. */
enum ask_result { ASK_DONE, ASK_CUT, ASK_REFUSED, ASK_FAILED, ASK_CANCELLED };

struct port_ask {
	struct port *port;
	struct session *session; /* NULL: it went away, or has its answer */
	struct link link;
	char *line; /* what the request is slices of */
	size_t line_n;
	struct request request;
	char peer[ADDR_SHOWN];
	uint64_t client; /* for turns */
	const struct port_answer_ops *ops;
	void *ctx;
	struct loop_timer ping, delay;
	int64_t start_us;
	uint64_t bytes; /* that were sent */
	size_t sent;    /* of the piece */
	size_t memory;  /* as it was counted last */
	enum port_pool pool;
	enum ask_result result;
	int64_t took_us; /* until it was known */
	bool noted;      /* events have its beginning, but not its end */
	bool between;    /* a line may be sent: no value is half told */
	bool out;        /* a job has it: what follows is the job's, but for the flags */
	struct pool_job job;
	struct buf piece;
	int rc;
	struct err err;
	int64_t delay_us;
	atomic_bool running, cancel;
};

static struct port *port_of(struct session *s)
{
	return server_ctx(session_server(s));
}

/* The end */

static void count_time(const struct port *p, int64_t took_us)
{
	enum port_counter which = PORT_TOOK_10MS;
	for (int64_t under = 10 * US_PER_MS; which < PORT_TOOK_MORE && took_us >= under; which++)
		under *= 10;
	port_count(p, which, 1);
	port_count(p, PORT_TOOK, took_us);
}

/* Sets what became of it, and counts. as: PORT_ANSWERED where it was. */
static void ask_end(struct port_ask *ask, enum ask_result result, enum port_counter as)
{
	struct port *p = ask->port;
	ask->result = result;
	ask->took_us = loop_now_us(p->loop) - ask->start_us;
	port_count(p, as, 1);
	port_count(p, PORT_CUT, result == ASK_CUT);
	if (as == PORT_ANSWERED && ask->request.kind == REQUEST_USER)
		count_time(p, ask->took_us);
}

/* Each event of a request has one of its end, whatever that is. Not while a job has it. */
static void ask_note_end(struct port_ask *ask)
{
	static const char *const results[] = {
		[ASK_DONE] = "done",           [ASK_CUT] = "cut",
		[ASK_REFUSED] = "refused",     [ASK_FAILED] = "failed",
		[ASK_CANCELLED] = "cancelled",
	};
	struct events *events = ask->port->o.events;
	const char *result = results[ask->result];
	if (!ask->noted)
		return;
	ask->noted = false;
	if (ask->request.kind == REQUEST_USER)
		event_write(events, QUERY_RETURN, ask->peer, KV_TEXT("result", result),
			    KV_UINT("objects", reply_objects(ask->ctx)),
			    KV_UINT("bytes", ask->bytes), KV_INT("us", ask->took_us));
	else
		event_write(events, BULK_RETURN, ask->peer, KV_TEXT("result", result),
			    KV_UINT("objects", port_bulk_objects(ask->ctx)),
			    KV_UINT("bytes", ask->bytes), KV_INT("us", ask->took_us));
}

static void ask_free(struct port_ask *ask)
{
	struct port *p = ask->port;
	ENSURE(!ask->out);
	ask_note_end(ask);
	p->memory -= ask->memory;
	port_count(p, PORT_OPEN, -1);
	loop_timer_stop(&ask->ping);
	loop_timer_stop(&ask->delay);
	if (ask->ctx)
		ask->ops->close(ask->ctx);
	list_remove(&ask->link);
	buf_free(&ask->piece);
	explicit_bzero(ask->line, ask->line_n); /* it may have a password in it */
	mem_free(&ask->line);
	mem_free(&ask);
}

/* The session has its answer: the rest is its connection's. */
static void ask_leave(struct port_ask *ask)
{
	struct session *s = ask->session;
	((struct port_session *)session_state(s))->ask = NULL;
	ask->session = NULL;
	if (!ask->out)
		ask_note_end(ask); /* before the client knows */
	conn_finish(session_conn(s));
	loop_timer_stop(&ask->ping);
	loop_timer_stop(&ask->delay);
	atomic_store(&ask->cancel, true);
	if (!ask->out)
		ask_free(ask);
}

static void session_refuse(struct session *s, const char *code, const char *why)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(4096);
	buf_printf(&line, "%s - %s", code, code[0] == '1' ? "ERROR: " : "");
	reply_put_line(&line, str_of(why));
	buf_add_byte(&line, '\n');
	(void)conn_send(session_conn(s), buf_str(&line));
}

/* Says why there is no answer, or no more of it, where that can be said. */
static void ask_refuse(struct port_ask *ask, enum port_counter as, const char *why)
{
	bool bulk = ask->request.kind == REQUEST_BULK;
	/* of one that no job has, or that nothing was made of */
	bool cut = as == PORT_FAILED && bulk && port_bulk_was_cut(ask->ctx);
	ask_end(ask, cut ? ASK_CUT : as == PORT_FAILED ? ASK_FAILED : ASK_REFUSED, as);
	if (ask->between)
		session_refuse(ask->session, bulk ? "400" : "111", why);
	ask_leave(ask);
}

static void ask_done_well(struct port_ask *ask)
{
	enum request_kind kind = ask->request.kind;
	bool failed = kind == REQUEST_BULK && port_bulk_failed(ask->ctx);
	bool cut = kind == REQUEST_USER && reply_was_cut(ask->ctx);
	ask_end(ask,
		failed ? ASK_FAILED
		: cut  ? ASK_CUT
		       : ASK_DONE,
		failed ? PORT_FAILED : PORT_ANSWERED);
	log_debug(QUERY, 1, "request answered", KV_TEXT("peer", ask->peer),
		  KV_UINT("bytes", ask->bytes), KV_DURATION("took", ask->took_us));
	ask_leave(ask);
}

/* Pieces */

static void ask_run(struct pool_job *job);
static void ask_take(void *ctx);

static bool ask_unwanted(const struct pool_job *job)
{
	const struct port_ask *ask = LIST_OF(struct port_ask, job, job);
	return atomic_load_explicit(&ask->cancel, memory_order_relaxed);
}

/* Gives it to a pool for its next piece. placed: it needs a place there, which there may not be. */
static void ask_post(struct port_ask *ask, bool placed)
{
	struct pool *pool = ask->port->pool[ask->pool];
	ask->job = (struct pool_job){
		.run = ask_run, .unwanted = ask_unwanted, .client = ask->client, .beyond = !placed};
	if (!pool_claim(pool, &ask->job)) {
		ask_refuse(ask, PORT_FULL, "too many requests wait, try later");
		return;
	}
	port_count(ask->port, PORT_WAITING, 1);
	ask->out = true;
	pool_post(pool, &ask->job);
}

/* In a pool. */
static void ask_run(struct pool_job *job)
{
	struct port_ask *ask = LIST_OF(struct port_ask, job, job);
	struct port *p = ask->port;
	port_count(p, PORT_WAITING, -1);
	port_count(p, PORT_RUNNING, 1);
	atomic_store(&ask->running, true);
	if (job->dropped)
		ask->rc = 1;
	else
		ask->rc = ask->ops->make(ask->ctx, PORT_PIECE, &ask->piece, &ask->err);
	if (ask->piece.over)
		ask->rc = err_set(&ask->err, ERR_PARTLY, "a piece of the answer is too large");
	atomic_store(&ask->running, false);
	port_count(p, PORT_RUNNING, -1);
	loop_post(p->loop, ask_take, ask);
}

/* Hands the piece to the connection, and has the next one made when it was taken. */
static void ask_send(struct port_ask *ask)
{
	struct conn *conn = session_conn(ask->session);
	size_t most = MIN((size_t)SEND_PART, (size_t)ask->port->o.limits.queue_max / 4);
	bool more = true;
	while (more && ask->sent < ask->piece.n) {
		struct str part = str_head(str_from(buf_str(&ask->piece), ask->sent), most);
		ask->sent += part.n;
		ask->bytes += part.n;
		port_count(ask->port, PORT_BYTES, (int64_t)part.n);
		more = conn_send(conn, part);
	}
	if (ask->sent < ask->piece.n)
		return; /* port_drained() goes on */
	ask->sent = 0;
	if (more)
		buf_clear(&ask->piece);
	else
		buf_free(&ask->piece);
	if (ask->rc != 0)
		ask_done_well(ask);
	else if (more)
		ask_post(ask, false);
}

/* What all answers together hold is bounded; one address has at most half of it, and so have all
 * transfers: one more is refused before its first byte. Those that hold few bytes are not, since
 * connections are bounded too: whatever the others hold, light queries are answered. */
static bool memory_fits(struct port_ask *ask)
{
	struct port *p = ask->port;
	uint64_t limit = p->o.limits.memory, transfers = 0, own = 0;
	size_t now = ask->ops->memory ? ask->ops->memory(ask->ctx) + ask->piece.cap : 0;
	bool others = p->memory > ask->memory;
	p->memory += now - ask->memory;
	ask->memory = now;
	if (ask->bytes || !others || now <= HOLDS_FEW || p->memory <= limit / 2)
		return true;
	LIST_EACH (const struct port_ask, a, &p->asks, link) {
		transfers += a->request.kind == REQUEST_BULK ? a->memory : 0;
		own += a->client == ask->client ? a->memory : 0;
	}
	if (ask->request.kind == REQUEST_BULK && transfers > limit / 2)
		return false;
	return p->memory <= limit && own <= limit / 2;
}

/* To the next piece, which may be for another pool. Where nothing was told yet it needs a place
 * there. */
static void ask_go_on(struct port_ask *ask)
{
	enum port_pool before = ask->pool;
	ask->pool = ask->rc == 0 ? ask->ops->pool(ask->ctx) : before;
	bool moved = ask->pool != before;
	port_count(ask->port, PORT_LONG, moved && ask->pool == PORT_POOL_LONG);
	if (moved && ask->bytes == 0 && ask->piece.n == 0)
		ask_post(ask, true);
	else
		ask_send(ask);
}

const char *port_problem(const struct err *err)
{
	if (err->code != ERR_SYSTEM && err->code != ERR_DAMAGED)
		return err->msg;
	log_error(QUERY, "cannot answer request", KV_TEXT("why", err->msg));
	return "the broker cannot read its stores now";
}

/* Takes what a job made. */
static void ask_take(void *ctx)
{
	struct port_ask *ask = ctx;
	ask->out = false;
	if (!ask->session) {
		ask_free(ask);
		return;
	}
	ask->between = (ask->bytes == 0 && ask->piece.n == 0) ||
		       (ask->ops->is_between && ask->ops->is_between(ask->ctx));
	if (ask->rc < 0)
		ask_refuse(ask, ask->err.code == ERR_USAGE ? PORT_BAD : PORT_FAILED,
			   port_problem(&ask->err));
	else if (!memory_fits(ask)) {
		ask->between = true; /* nothing was sent, and the piece is not going to be */
		ask_refuse(ask, PORT_FULL, "answers under way hold too much, try later");
	} else if (ask->delay_us)
		loop_timer_in(ask->port->loop, &ask->delay, ask->delay_us);
	else
		ask_go_on(ask);
}

static void ask_delayed(void *ctx)
{
	struct port_ask *ask = ctx;
	ask->delay_us = 0;
	ask_send(ask);
}

/* While it waits or runs, and only where a line may stand. A client that is not there any more is
 * found out so. */
static void ask_ping(void *ctx)
{
	struct port_ask *ask = ctx;
	struct conn *conn = session_conn(ask->session);
	if (conn_queued(conn) == 0 && ask->between)
		(void)conn_send(conn, STR(PORT_GREETING));
}

/* Kinds of answers */

static int user_make(void *ctx, size_t n, struct buf *out, struct err *err)
{
	return reply_make(ctx, n, out, err);
}

static void user_close(void *ctx)
{
	struct reply *r = ctx;
	reply_free(&r);
}

static enum port_pool user_pool(const void *ctx)
{
	return reply_is_long(ctx) ? PORT_POOL_LONG : PORT_POOL_QUICK;
}

static bool user_is_between(const void *ctx)
{
	return reply_is_between(ctx);
}

static size_t user_memory(const void *ctx)
{
	return reply_memory(ctx);
}

static const struct port_answer_ops user_ops = {.make = user_make,
						.close = user_close,
						.pool = user_pool,
						.is_between = user_is_between,
						.memory = user_memory};

/* What was asked for, within the bounds. */
static int64_t lifetime_of(struct port_ask *ask)
{
	int64_t most_us = atomic_load(ask->port->o.life_us);
	int64_t asked_us = (int64_t)ask->request.lifetime_s * US_PER_S;
	if (asked_us == 0)
		return most_us;
	return MIN(MAX(asked_us, (int64_t)PORT_LIFETIME_LEAST_S * US_PER_S), most_us);
}

/* As it was written, as much of it as an event says. */
static struct str query_of(const struct request *r)
{
	return r->all ? STR("#allb") : str_utf8_head(r->query, QUERY_NOTED);
}

static void begin_user(struct port_ask *ask)
{
	struct port *p = ask->port;
	ask->ops = &user_ops;
	ask->ctx = reply_new(&(struct reply_options){
		.search = p->search,
		.request = &ask->request,
		.url = p->o.url,
		.home = p->home,
		.moment_us = PORT_QUICK_US,
		.lifetime_us = lifetime_of(ask),
		.slice_us = PORT_QUICK_US,
		.cancel = &ask->cancel,
	});
	event_write(p->o.events, QUERY, ask->peer, KV_STR("query", query_of(&ask->request)));
	ask->noted = true;
	ask_post(ask, true);
}

/* Each transfer has the stores open for itself, so their number is bounded. */
static bool transfer_fits(const struct port_ask *ask)
{
	size_t all = 0, own = 0;
	LIST_EACH (const struct port_ask, a, &ask->port->asks, link)
		if (a->request.kind == REQUEST_BULK) {
			all++;
			own += a->client == ask->client;
		}
	return all <= PORT_TRANSFERS && own <= PORT_TRANSFERS / 2;
}

static void begin_bulk(struct port_ask *ask)
{
	struct port *p = ask->port;
	ask->ops = &port_bulk_ops;
	ask->ctx = port_bulk_new(&(struct port_bulk_options){
		.data = p->o.data,
		.search = p->search,
		.request = &ask->request,
		.moment_us = PORT_QUICK_US,
		.lifetime_us = lifetime_of(ask),
		.cancel = &ask->cancel,
	});
	ask->pool = ask->ops->pool(ask->ctx);
	event_write(p->o.events, BULK, ask->peer, KV_UINT("since", ask->request.since_s),
		    KV_STR("query", query_of(&ask->request)));
	ask->noted = true;
	if (transfer_fits(ask))
		ask_post(ask, true);
	else
		ask_refuse(ask, PORT_FULL, "too many transfers are under way, try later");
}

/* All of it at once, perhaps after a while. */
static int admin_make(void *ctx, size_t n, struct buf *out, struct err *err)
{
	struct port_ask *ask = ctx;
	(void)n, (void)err;
	ask->delay_us = ask->port->o.admin(ask->port->o.admin_ctx, &ask->request, ask->peer, out);
	return 1;
}

static void admin_close(void *ctx)
{
	(void)ctx;
}

static enum port_pool admin_pool(const void *ctx)
{
	(void)ctx;
	return PORT_POOL_ADMIN;
}

static const struct port_answer_ops admin_ops = {
	.make = admin_make, .close = admin_close, .pool = admin_pool};

static void begin_admin(struct port_ask *ask)
{
	if (!ask->port->o.admin) {
		ask_refuse(ask, PORT_BAD, "there is no administration here");
		return;
	}
	ask->ops = &admin_ops;
	ask->ctx = ask;
	ask->pool = PORT_POOL_ADMIN;
	ask_post(ask, true);
}

static const struct {
	const char *word, *name;
	enum port_counter counter;
	void (*begin)(struct port_ask *ask);
} kinds[] = {
	[REQUEST_USER] = {"#USER", "user", PORT_USER, begin_user},
	[REQUEST_BULK] = {"#BULK", "bulk", PORT_BULK, begin_bulk},
	[REQUEST_ADMIN] = {"#ADMIN", "admin", PORT_ADMIN, begin_admin},
};

/* Sessions */

static struct port_ask *ask_new(struct session *s, struct str line)
{
	const struct peer *from = session_from(s);
	struct port *p = port_of(s);
	struct port_ask *ask = mem_alloc(sizeof *ask);
	ask->port = p;
	ask->session = s;
	ask->line = mem_copy(line.p, line.n);
	ask->line_n = line.n;
	snprintf(ask->peer, sizeof ask->peer, "%s", from->text);
	ask->client = addr_hash(from->server) | 1;
	ask->start_us = loop_now_us(p->loop);
	ask->between = true;
	ask->piece = BUF_INIT(PIECE_MOST);
	ask->ping = (struct loop_timer){.fn = ask_ping, .ctx = ask};
	ask->delay = (struct loop_timer){.fn = ask_delayed, .ctx = ask};
	list_append(&p->asks, &ask->link);
	port_count(p, PORT_OPEN, 1);
	return ask;
}

/* at: where in the line its kind ends. */
static void port_begin(struct session *s, enum request_kind kind, struct str line, size_t at)
{
	struct port *p = port_of(s);
	struct port_ask *ask = ask_new(s, line);
	struct port_session *state = session_state(s);
	struct str rest = {ask->line + at, ask->line_n - at};
	struct err err;
	conn_pause(session_conn(s)); /* what follows is nobody's */
	state->ask = ask;
	port_count(p, kinds[kind].counter, 1);
	/* No more of it: what is not a request yet may have a password anywhere. */
	log_debug(QUERY, 1, "request", KV_TEXT("peer", ask->peer),
		  KV_TEXT("kind", kinds[kind].name));
	ask->request.kind = kind;
	if (request_parse(kind, rest, at, &ask->request, &err) < 0) {
		ask_refuse(ask, PORT_BAD, err.msg);
		return;
	}
	loop_timer_every(p->loop, &ask->ping, PORT_PING_US);
	kinds[kind].begin(ask);
}

static size_t line_pass(struct str line, size_t at, bool blanks)
{
	while (at < line.n && ascii_is_blank(line.p[at]) == blanks)
		at++;
	return at;
}

void port_line(struct session *s, struct str line)
{
	size_t from = line_pass(line, 0, true), to = line_pass(line, from, false);
	struct str word = str_head(str_from(line, from), to - from);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_eq_nocase(word, str_of(kinds[i].word))) {
			port_begin(s, (enum request_kind)i, line, line_pass(line, to, true));
			return;
		}
	session_refuse(s, "111", "character 1: a request begins with #USER, #BULK or #ADMIN");
	conn_finish(session_conn(s));
}

void port_drained(struct session *s)
{
	struct port_ask *ask = ((struct port_session *)session_state(s))->ask;
	if (ask && !ask->out && ask->delay_us == 0)
		ask_send(ask);
}

void port_closed(struct session *s, enum conn_end end)
{
	struct port_session *state = session_state(s);
	struct port_ask *ask = state->ask;
	(void)end;
	if (!ask)
		return;
	state->ask = NULL;
	ask->session = NULL;
	atomic_store(&ask->cancel, true);
	loop_timer_stop(&ask->ping);
	loop_timer_stop(&ask->delay);
	ask_end(ask, ASK_CANCELLED, PORT_CANCELLED);
	if (!ask->out)
		ask_free(ask);
}

void port_refuse_waiting(struct port *p)
{
	LIST_EACH (struct port_ask, ask, &p->asks, link)
		if (ask->session && ask->out && ask->bytes == 0 && !atomic_load(&ask->running))
			ask_refuse(ask, PORT_FULL, "the broker is stopping");
}
