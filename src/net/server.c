/* A server of lines, messages or bytes: owns sessions from accept to close. A drain closes idle
 * sessions first and the others once they have their answers. */
#include "net/server.h"

#include "base/endpoint.h"
#include "role/listen.h"

#include <sys/socket.h>

#define DRAIN_LOOK_US (20 * US_PER_MS) /* how often a drain looks who has become idle */

struct session {
	struct server *server;
	struct conn *conn;
	struct link link;
	struct peer peer;
	bool open;
	max_align_t state[];
};

struct server {
	struct loop *loop;
	const struct server_protocol *protocol;
	struct server_limits limits;
	struct conn_limits conn_limits;
	const struct tls *tls;
	struct conn_pool *pool;
	struct gate *gate;
	struct listener *listener[SERVER_LISTENERS];
	size_t nlisteners;
	struct listener_stats gone; /* of listeners that are freed */
	struct link sessions;
	void *ctx;
	struct loop_timer drain;
	int64_t drain_end_us;
	void (*drained)(void *ctx);
	void *drained_ctx;
};

static const char *word_of(const struct server *s, enum server_word which)
{
	static const char *const plain[SERVER_WORDS] = {
		[SERVER_LONG_LINE] = "error: line too long, closing\n",
		[SERVER_FULL] = "error: too many connections, try later\n",
		[SERVER_STOPPING] = "error: stopping\n",
	};
	const char *own = s->protocol->words[which];
	return own ? own : plain[which];
}

static void session_say(struct session *s, enum server_word which)
{
	conn_send(s->conn, str_of(word_of(s->server, which)));
}

static void on_line(void *ctx, struct str line)
{
	struct session *s = ctx;
	s->server->protocol->line(s, line);
}

static void on_bytes(void *ctx, struct str piece)
{
	struct session *s = ctx;
	s->server->protocol->bytes(s, piece);
}

static void on_long_line(void *ctx)
{
	session_say(ctx, SERVER_LONG_LINE);
}

static void on_drained(void *ctx)
{
	struct session *s = ctx;
	if (s->server->protocol->drained)
		s->server->protocol->drained(s);
}

static void on_closed(void *ctx, enum conn_end end, int sys_errno)
{
	(void)sys_errno;
	struct session *s = ctx;
	struct server *server = s->server;
	if (s->open && server->protocol->closed)
		server->protocol->closed(s, end);
	if (!s->open && end == CONN_END_TLS && server->protocol->refused)
		server->protocol->refused(s, conn_why(s->conn));
	gate_leave(server->gate, &s->peer.server);
	list_remove(&s->link);
	mem_free(&s);
	if (server->drained && list_is_empty(&server->sessions))
		loop_timer_in(server->loop, &server->drain, 0);
}

static void on_opened(void *ctx)
{
	struct session *s = ctx;
	const struct server_protocol *p = s->server->protocol;
	s->open = true;
	if (p->greeting)
		conn_send(s->conn, str_of(p->greeting));
	if (p->opened)
		p->opened(s);
}

static void on_accepted(void *ctx, int fd, const struct peer *peer)
{
	static const struct conn_ops ops = {.line = on_line,
					    .bytes = on_bytes,
					    .drained = on_drained,
					    .long_line = on_long_line,
					    .closed = on_closed,
					    .ready = on_opened};
	struct server *server = ctx;
	struct session *s = mem_alloc(sizeof *s + server->protocol->state_size);
	s->server = server;
	s->peer = *peer;
	list_prepend(&server->sessions, &s->link);
	s->conn = conn_new(server->pool, fd, server->tls, &server->conn_limits, &ops, s);
}

/* Until the deadline those who have their answers; then all. */
static void look_for_idle(void *ctx)
{
	struct server *s = ctx;
	bool late = loop_now_us(s->loop) >= s->drain_end_us;
	LIST_EACH (struct session, it, &s->sessions, link) {
		if (late) {
			conn_close(it->conn);
		} else if (!conn_busy(it->conn)) {
			session_say(it, SERVER_STOPPING);
			conn_finish(it->conn);
		}
	}
	if (!list_is_empty(&s->sessions))
		loop_timer_in(s->loop, &s->drain, DRAIN_LOOK_US);
	else
		s->drained(s->drained_ctx);
}

static void stop_listening(struct server *s)
{
	struct server_stats stats;
	server_stats(s, &stats);
	s->gone = stats.listeners;
	while (s->nlisteners)
		listener_free(&s->listener[--s->nlisteners]);
}

void server_drain(struct server *s, int64_t within_us, void (*done)(void *ctx), void *ctx)
{
	stop_listening(s);
	s->drained = done;
	s->drained_ctx = ctx;
	s->drain_end_us = loop_now_us(s->loop) + within_us;
	loop_timer_in(s->loop, &s->drain, 0);
}

struct server *server_new(struct loop *loop, const struct server_protocol *protocol,
			  const struct server_limits *limits, const struct tls *tls, void *ctx)
{
	struct server *s = mem_alloc(sizeof *s);
	*s = (struct server){
		.loop = loop,
		.protocol = protocol,
		.limits = *limits,
		.tls = tls,
		.conn_limits = {.messages = protocol->messages,
				.line_max = limits->line_max,
				.pieces = protocol->bytes,
				.high_mark = limits->queue_max / 16,
				.queue_max = limits->queue_max,
				.read_mark = protocol->reads_on ? limits->queue_max : 0,
				.idle_us = limits->idle_us,
				.frame_us = limits->line_us},
		.pool = conn_pool_new(loop, limits->memory),
		.gate = gate_new((size_t)limits->max_connections, (size_t)limits->max_per_address),
		.ctx = ctx,
		.drain = {.fn = look_for_idle, .ctx = s},
	};
	list_init(&s->sessions);
	ENSURE(!protocol->bytes != !protocol->line);
	return s;
}

int server_listen(struct server *s, int fd, struct err *err)
{
	const struct listener_options options = {.backlog = (int)s->limits.backlog,
						 /* in plain words it would not be TLS */
						 .refusal = s->tls ? NULL : word_of(s, SERVER_FULL),
						 .accepted = on_accepted,
						 .ctx = s};
	ENSURE(s->nlisteners < SERVER_LISTENERS);
	if (listener_new(&s->listener[s->nlisteners], s->loop, fd, s->gate, &options, err) < 0)
		return err_in(err, "%s", s->protocol->name);
	s->nlisteners++;
	return 0;
}

void server_adopt(struct server *s, int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t n = sizeof at;
	struct peer peer;
	(void)getpeername(fd, (struct sockaddr *)&at, &n);
	peer_of((struct sockaddr *)&at, n, &peer);
	if (peer.server.family)
		conn_tune_tcp(fd);
	gate_count(s->gate, &peer.server);
	on_accepted(s, fd, &peer);
}

static int refuse_to_listen(const char *name, struct err *err)
{
	return err_set(err, ERR_USAGE,
		       "listen: other machines reach %s, so they have to show who they are: set "
		       "tls_shared_key, or tls_cert, tls_key and tls_ca; or listen on 127.0.0.1 or "
		       "a Unix socket",
		       name);
}

int server_may_listen(int fd, const struct tls *tls, struct err *err)
{
	struct sockaddr_storage at = {0};
	socklen_t n = sizeof at;
	char name[128];
	if (getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		return err_sys(err, "cannot tell where it listens");
	if (tls_trusts(tls, (const struct sockaddr *)&at, n))
		return 0;
	return listen_name(fd, name, sizeof name, err) < 0 ? -1 : refuse_to_listen(name, err);
}

int server_may_listen_at(const char *address, const struct tls_conf *conf, struct err *err)
{
	struct tls *tls = NULL;
	struct endpoint at;
	int rc = MIN(tls_new(&tls, conf, true, err), 0);
	if (rc == 0 && address && address[0]) {
		rc = endpoint_parse(str_of(address), &at, err);
		if (rc == 0 && !tls_trusts(tls, &at.any, at.len))
			rc = refuse_to_listen(address, err);
	}
	tls_free(&tls);
	return rc;
}

void server_free(struct server **sp)
{
	struct server *s = *sp;
	if (!s)
		return;
	s->drained = NULL;
	stop_listening(s);
	conn_pool_free(&s->pool);
	loop_timer_stop(&s->drain);
	gate_free(&s->gate);
	mem_free(sp);
}

void server_stats(const struct server *s, struct server_stats *ret)
{
	*ret = (struct server_stats){.listeners = s->gone,
				     .conns = *conn_pool_stats(s->pool),
				     .inside = gate_inside(s->gate),
				     .addresses = gate_addresses(s->gate)};
	for (size_t i = 0; i < s->nlisteners; i++) {
		const struct listener_stats *one = listener_stats(s->listener[i]);
		ret->listeners.accepted += one->accepted;
		ret->listeners.refused += one->refused;
		ret->listeners.stalls += one->stalls;
	}
}

void *server_ctx(const struct server *s)
{
	return s->ctx;
}

void *session_state(struct session *s)
{
	return s->state;
}

struct conn *session_conn(struct session *s)
{
	return s->conn;
}

struct server *session_server(struct session *s)
{
	return s->server;
}

const struct peer *session_from(const struct session *s)
{
	return &s->peer;
}

const char *session_peer(const struct session *s)
{
	return s->peer.text;
}
