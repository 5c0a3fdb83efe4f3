/* The HTTP server: connections, requests, and its life from start to stop.
 *
 * libmicrohttpd has the sockets and the parser; its threads call back here. Everything that a
 * client decides is bounded before it is stored: connections in total and by address, the head,
 * the body by its route, the time for a request and for an answer. Slow handlers run in a pool
 * while their connection is suspended. */
#include "base/clock.h"
#include "base/library.h"
#include "base/thread.h"
#include "net/http_inner.h"
#include "net/listener.h"

#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

/* libmicrohttpd. */

int mhd_lib_load(struct mhd_lib *ret, struct err *err)
{
	struct mhd_lib mhd;
#define X(name) {"MHD_" #name, &mhd.name},
	const struct library_function functions[] = {MHD_FUNCTIONS(X)};
#undef X
	if (library_load("libmicrohttpd.so.12", "the HTTP server needs the package libmicrohttpd12",
			 functions, ARRAY_LEN(functions), err) < 0)
		return -1;
	*ret = mhd;
	return 0;
}

/* Connections. */

#define TICK_US US_PER_S

/* IPv4 in IPv6's clothes is IPv4. */
static struct addr peer_address(const struct sockaddr *from, size_t n)
{
	struct addr a, server;
	if (!from || !addr_from_sockaddr(from, n, &a))
		return (struct addr){0};
	server = addr_server(&a);
	if (server.family == a.family)
		return a;
	server.port = a.port;
	return server;
}

static struct addr peer_of_conn(const struct http_conn *c)
{
	const union MHD_ConnectionInfo *info =
		c->server->mhd.get_connection_info(c->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	/* it is as long as its family has it */
	return peer_address(info ? info->client_addr : NULL, sizeof(struct sockaddr_in6));
}

/* returns ret */
static const char *http_conn_address(const struct http_conn *c, char ret[ADDR_SHOWN])
{
	if (c->peer.family)
		return addr_print_port(&c->peer, ret);
	snprintf(ret, ADDR_SHOWN, "unix:");
	return ret;
}

const char *http_from(struct http_request *req)
{
	char text[ADDR_SHOWN] = "";
	if (req->conn->peer.family)
		addr_print(&req->conn->peer, text);
	return arena_text(&req->arena, str_of(text));
}

/* Clients take turns at the pool, and have shares of it and of the memory for answers: an IPv4
 * address is one, of IPv6 a /64, and all Unix peers are the program itself. */
static uint64_t client_of(const struct addr *peer)
{
	struct addr server = addr_server(peer);
	return server.family ? addr_hash(server) : 0;
}

/* The kernel would take megabytes for a client that does not read. What is on its way is not
 * limited, so this costs no speed. A Unix peer has no such thing. */
enum { UNSENT_MAX = 128 << 10 };
static void keep_queue_short(int fd)
{
	int most = UNSENT_MAX;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most);
}

/* Several threads may be here at once before the first of them counts: the caps may be passed by
 * less than the number of threads. */
static enum MHD_Result http_conns_allow(void *server, const struct sockaddr *addr, socklen_t n)
{
	struct http_server *s = server;
	struct addr peer = peer_address(addr, n), from = addr_server(&peer);
	pthread_mutex_lock(&s->lock);
	bool full = gate_is_full(s->gate, &from);
	pthread_mutex_unlock(&s->lock);
	if (full)
		counters_add(s->options.counters, HTTP_COUNT_REFUSED, 1);
	return full ? MHD_NO : MHD_YES;
}

static void count_open(struct http_server *s)
{
	counters_set(s->options.counters, HTTP_COUNT_OPEN, (int64_t)gate_inside(s->gate));
}

static struct http_conn *conn_opened(struct http_server *s, struct MHD_Connection *mhd)
{
	struct http_conn *c = mem_alloc(sizeof *c);
	c->server = s;
	c->mhd = mhd;
	c->fd = s->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->peer = peer_of_conn(c);
	c->client = client_of(&c->peer);
	keep_queue_short(c->fd);
	c->due_us = clock_mono_us() + s->options.limits.request_us;
	c->request.arena = ARENA_INIT((size_t)2 * HTTP_BODY_MAX);
	c->body = c->packed = BUF_INIT(HTTP_BODY_MAX);
	http_intake_begin(&c->intake, c->fd, (size_t)s->options.limits.connection_memory);
	struct addr from = addr_server(&c->peer);
	pthread_mutex_lock(&s->lock);
	list_prepend(&s->conns, &c->link);
	gate_count(s->gate, &from);
	count_open(s);
	if (s->ticker_sleeps)
		pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	counters_add(s->options.counters, HTTP_COUNT_CONNECTIONS, 1);
	return c;
}

void http_conn_over(struct http_conn *c)
{
	if (c->active)
		__atomic_sub_fetch(&c->server->active, 1, __ATOMIC_RELAXED);
	c->active = false;
}

/* The descriptor is still open: libmicrohttpd closes it after this. */
static void conn_closed(struct http_server *s, struct http_conn *c)
{
	struct addr from = addr_server(&c->peer);
	pthread_mutex_lock(&s->lock);
	list_remove(&c->link);
	gate_leave(s->gate, &from);
	count_open(s);
	http_stream_orphan(c);
	pthread_mutex_unlock(&s->lock);
	http_intake_end(&c->intake, c->fd);
	http_conn_over(c);
	http_answer_done(c);
	arena_free(&c->request.arena);
	buf_free(&c->body);
	buf_free(&c->taken);
	buf_free(&c->packed);
	mem_free(&c);
}

static void http_conns_notify(void *server, struct MHD_Connection *mhd, void **ret_conn,
			      enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*ret_conn = conn_opened(server, mhd);
	else if (*ret_conn)
		conn_closed(server, *ret_conn);
}

/* Clients that send or take a byte now and then are never idle, but late. */
static void shut_late(struct http_server *s, int64_t now_us)
{
	LIST_EACH (struct http_conn, c, &s->conns, link)
		if (__atomic_load_n(&c->due_us, __ATOMIC_RELAXED) < now_us) {
			shutdown(c->fd, SHUT_RDWR);
			__atomic_store_n(&c->due_us, INT64_MAX, __ATOMIC_RELAXED);
			counters_add(s->options.counters, HTTP_COUNT_LATE, 1);
		}
}

/* Others were refused because the memory for answers is taken: those who hold some of it and take
 * nothing make room, the slowest first. */
enum { STALL_PART = 6 /* of idle_timeout */, STALL_MOST = 100 /* at a time */ };
static void shut_stalled(struct http_server *s, int64_t now_us)
{
	size_t wanted = http_budget_refused(s->budget);
	int64_t before_us = now_us - s->options.limits.idle_us / STALL_PART;
	for (wanted = MIN(wanted, (size_t)STALL_MOST); wanted; wanted--) {
		struct http_conn *slowest = NULL;
		int64_t least_us = before_us;
		LIST_EACH (struct http_conn, c, &s->conns, link) {
			int64_t took_us = __atomic_load_n(&c->took_us, __ATOMIC_RELAXED);
			if (took_us && took_us < least_us) {
				least_us = took_us;
				slowest = c;
			}
		}
		if (!slowest)
			return;
		shutdown(slowest->fd, SHUT_RDWR);
		__atomic_store_n(&slowest->took_us, 0, __ATOMIC_RELAXED);
		counters_add(s->options.counters, HTTP_COUNT_LATE, 1);
	}
}

/* the thread */
static void *http_conns_ticker(void *server)
{
	struct http_server *s = server;
	pthread_mutex_lock(&s->lock);
	while (!s->ended) {
		if (gate_inside(s->gate) == 0) {
			s->ticker_sleeps = true;
			pthread_cond_wait(&s->wake, &s->lock);
			s->ticker_sleeps = false;
			continue;
		}
		int64_t next_us = clock_mono_us() + TICK_US;
		while (!s->ended && thread_cond_wait(&s->wake, &s->lock, next_us))
			;
		if (s->ended)
			break;
		int64_t now_us = clock_mono_us();
		shut_late(s, now_us);
		shut_stalled(s, now_us);
		pthread_mutex_unlock(&s->lock);
		if (s->options.tick)
			s->options.tick(s->options.ctx, now_us);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Requests. */

enum { DISCARD_MAX = 64 << 10, PAUSE_MS = 5 };

static void set_due(struct http_conn *c, int64_t due_us)
{
	__atomic_store_n(&c->due_us, due_us, __ATOMIC_RELAXED);
}

static struct http_conn *conn_of(struct http_server *s, struct MHD_Connection *mhd)
{
	return s->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The first line has come, untouched. */
static void *on_line(void *server, const char *uri, struct MHD_Connection *mhd)
{
	struct http_server *s = server;
	struct http_conn *c = conn_of(s, mhd);
	struct http_request *req = &c->request;
	http_answer_done(c);
	arena_clear(&req->arena);
	struct str target = arena_str(&req->arena, str_of(uri));
	size_t mark = str_find_byte(target, '?');
	struct arena arena = req->arena;
	*req = (struct http_request){
		.path = str_head(target, mark),
		.query = str_from(target, mark + 1),
		.arena = arena,
		.ctx = s->options.ctx,
		.conn = c,
	};
	ENSURE(c->intake.asked); /* or the head came by another call than recv(), unchecked */
	c->refused = http_intake_refused(&c->intake, target);
	c->step = HTTP_HEAD;
	c->came = c->sent = 0;
	c->status = 0;
	c->method = "?";
	c->began_us = clock_mono_us();
	if (!c->active)
		__atomic_add_fetch(&s->active, 1, __ATOMIC_RELAXED);
	c->active = true;
	return c;
}

/* Paths are taken apart by the router, which undoes %XX after that. */
static size_t as_it_is(void *cls, struct MHD_Connection *mhd, char *text)
{
	(void)cls;
	(void)mhd;
	return strlen(text);
}

static enum http_method method_of(const char *name)
{
	size_t i = 0;
	if (strcmp(name, "HEAD") == 0)
		return HTTP_GET;
	while (i < HTTP_NMETHODS && strcmp(name, http_methods[i]) != 0)
		i++;
	return (enum http_method)i;
}

static void not_found(struct http_conn *c, unsigned allow)
{
	struct http_request *req = &c->request;
	char shown[VALUE_SHOWN];
	if (!allow) {
		http_answer_error(req, &c->answer, 404, "there is nothing at %s",
				  value_show(req->path, shown));
		return;
	}
	CLEANUP(buf_free) struct buf list = BUF_INIT(100);
	for (unsigned i = 0; i < HTTP_NMETHODS; i++)
		if (allow >> i & 1)
			buf_printf(&list, "%s%s%s", list.n ? ", " : "", http_methods[i],
				   i == HTTP_GET ? ", HEAD" : "");
	http_answer_header(req, &c->answer, "Allow", buf_str(&list));
	http_answer_error(req, &c->answer, 405, "%s takes %s", value_show(req->path, shown),
			  buf_text(&list));
}

static void ask_elsewhere(struct http_conn *c, struct str host)
{
	char shown[VALUE_SHOWN];
	struct str name = host; /* without its port, as the setting takes it */
	http_answer_error(&c->request, &c->answer, 421,
			  "'%s' is not a name of this server; if it should be, add it to the "
			  "setting web.names",
			  value_show(http_host_cut_port(&name) ? name : host, shown));
}

/* The answer is a 200 still, or says what is wrong. */
static void find_route(struct http_conn *c, const char *method)
{
	struct http_request *req = &c->request;
	struct str name = http_header(req, "Host"); /* HTTP/1.0 may do without */
	struct http_match match;
	struct err err;
	int rc = http_router_find(c->server->router, method_of(method), req->path, &req->arena,
				  &match, &err);
	req->route = rc == 0 ? match.route : NULL;
	http_answer_init(c);
	if (name.p && !http_host_is_ours(c->server->hosts, name))
		ask_elsewhere(c, name);
	else if (rc < 0)
		http_answer_error(req, &c->answer, 400, "%s", err.msg);
	else if (rc > 0)
		not_found(c, match.allow);
	else if (req->route->method != HTTP_GET &&
		 http_is_foreign(http_header(req, "Sec-Fetch-Site"), http_header(req, "Origin"),
				 name))
		http_answer_error(req, &c->answer, 403,
				  "this was sent by a page of another site, which has no business "
				  "here");
	else if (!req->route->form &&
		 http_params_parse(&match, req->query, &req->arena, &req->params, &err) < 0)
		http_answer_error(req, &c->answer, 400, "%s", err.msg);
}

static size_t body_max(const struct http_conn *c)
{
	return c->request.route ? c->request.route->body_max : 0;
}

static void too_large(struct http_conn *c)
{
	http_answer_error(&c->request, &c->answer, 413, "a body of at most %zu bytes is taken here",
			  body_max(c));
}

/* What stands for it says nothing about what was asked for. */
static enum MHD_Result refuse_head(struct http_conn *c)
{
	const struct http_head *head = &c->intake.head;
	c->request.path = STR("");
	http_answer_init(c);
	http_answer_error(&c->request, &c->answer, head->status, "%s", head->wrong);
	c->step = HTTP_ANSWERED;
	http_answer_make(c, true);
	return http_answer_send(c);
}

/* The head is complete. A body that cannot be accepted is refused before it is sent. */
static enum MHD_Result head_came(struct http_conn *c, const char *method)
{
	struct str length = http_header(&c->request, "Content-Length");
	uint64_t n;
	if (c->refused)
		return refuse_head(c);
	c->method = method;
	c->request.head = strcmp(method, "HEAD") == 0;
	find_route(c, method);
	buf_free(&c->taken);
	c->taken = BUF_INIT(body_max(c));
	c->step = HTTP_BODY;
	if (!length.p || (str_u64(length, &n) && n <= body_max(c)))
		return MHD_YES;
	else if (c->answer.status < 400)
		too_large(c);
	c->step = HTTP_ANSWERED;
	http_answer_make(c, true);
	return http_answer_send(c);
}

/* Of what is refused anyway a little is passed over, so that the client sees the answer. */
static enum MHD_Result body_came(struct http_conn *c, const char *p, size_t *n)
{
	c->came += *n;
	buf_add(&c->taken, p, *n);
	*n = 0;
	return c->came > body_max(c) + DISCARD_MAX ? MHD_NO : MHD_YES;
}

static const struct {
	enum err_code code;
	int status;
} statuses[] = {{ERR_USAGE, 400}, {ERR_BUSY, 503}};

/* true: there is an answer. */
static bool run_handler(struct http_conn *c)
{
	struct http_request *req = &c->request;
	struct err err = {0};
	int rc = http_before_handler(c, &err);
	if (rc == 1)
		return true;
	if (rc == HTTP_LOGIN_LATER)
		return false;
	if (rc == 0)
		rc = req->route->handle(req, &c->answer, &err);
	if (rc == HTTP_LATER) {
		ENSURE(req->route->slow);
		return false;
	}
	if (rc >= 0 && c->answer.pieces)
		rc = http_pieces_begin(c, &err);
	if (rc >= 0)
		return true;
	int status = 500;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (err.code == statuses[i].code)
			status = statuses[i].status;
	if (status == 503)
		http_answer_header(req, &c->answer, "Retry-After", STR("5"));
	c->answer.fault = status == 500 ? arena_text(&req->arena, str_of(err.msg)) : NULL;
	http_answer_error(req, &c->answer, status, "%s",
			  status == 500 ? "something failed here; the log says what" : err.msg);
	return true;
}

bool http_stops(const struct http_request *req)
{
	return __atomic_load_n(&req->conn->server->draining, __ATOMIC_RELAXED);
}

/* Bytes after a chunked body were not checked as a head. */
static bool closes_after(const struct http_conn *c)
{
	return http_stops(&c->request) || http_header(&c->request, "Transfer-Encoding").p;
}

static enum MHD_Result send_answer(struct http_conn *c)
{
	struct http_server *s = c->server;
	c->step = HTTP_ANSWERED;
	http_answer_make(c, closes_after(c));
	set_due(c, c->unhurried ? INT64_MAX : clock_mono_us() + s->options.limits.answer_us);
	return http_answer_send(c);
}

/* Nobody looks at a connection that is set aside; its socket knows. A client that has shut its side
 * only to say that it has no more to ask is taken for gone as well: there is no difference. */
static bool client_gone(const struct pool_job *job)
{
	const struct http_conn *c = LIST_OF(const struct http_conn, job, job);
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
	return poll(&p, 1, 0) > 0;
}

static void run_slow(struct pool_job *job);

/* The handler has returned HTTP_LATER, or http_again() was called: whichever is the second has the
 * handler called again. It has its place already, so it is beyond those of the pool. */
static void again_half(struct http_conn *c)
{
	if (!__atomic_exchange_n(&c->half, true, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&c->half, false, __ATOMIC_RELAXED);
	c->job = (struct pool_job){
		.run = run_slow, .unwanted = client_gone, .client = c->client, .beyond = true};
	pool_post(c->server->pool, &c->job);
}

void http_again(struct http_request *req)
{
	again_half(req->conn);
}

static void run_slow(struct pool_job *job)
{
	struct http_conn *c = LIST_OF(struct http_conn, job, job);
	struct http_server *s = c->server;
	if (job->dropped) {
		c->step = HTTP_GONE;
		counters_add(s->options.counters, HTTP_COUNT_GONE, 1);
	} else if (!run_handler(c)) {
		again_half(c); /* from here on c is not ours */
		return;
	} else {
		http_answer_make(c, closes_after(c));
	}
	s->mhd.resume_connection(c->mhd); /* nor from here on */
}

static enum MHD_Result set_aside(struct http_conn *c)
{
	struct http_server *s = c->server;
	c->job = (struct pool_job){.run = run_slow, .unwanted = client_gone, .client = c->client};
	if (!pool_claim(s->pool, &c->job)) {
		http_answer_header(&c->request, &c->answer, "Retry-After", STR("1"));
		http_answer_error(&c->request, &c->answer, 503,
				  "too many requests of this kind are under way");
		return send_answer(c);
	}
	c->step = HTTP_SLOW;
	set_due(c, INT64_MAX);
	s->mhd.suspend_connection(c->mhd);
	pool_post(s->pool, &c->job);
	return MHD_YES;
}

static enum MHD_Result request_came(struct http_conn *c)
{
	if (c->taken.over && c->answer.status < 400)
		too_large(c);
	if (c->answer.status >= 400)
		return send_answer(c);
	c->request.body = buf_str(&c->taken);
	if (c->request.route->slow)
		return set_aside(c);
	(void)run_handler(c);
	return send_answer(c);
}

static enum MHD_Result on_request(void *server, struct MHD_Connection *mhd, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_n, void **conn)
{
	struct http_conn *c = *conn;
	(void)server;
	(void)mhd;
	(void)url;
	(void)version;
	if (c->step == HTTP_GONE)
		return MHD_NO;
	if (c->step == HTTP_HEAD)
		return head_came(c, method);
	if (*upload_n)
		return body_came(c, upload, upload_n);
	return c->step == HTTP_BODY ? request_came(c) : send_answer(c);
}

static void count_request(struct http_conn *c)
{
	struct http_server *s = c->server;
	int class = MIN(MAX(c->status / 100, 2), 5);
	counters_add(s->options.counters, HTTP_COUNT_2XX + (enum http_counter)(class - 2), 1);
	if (c->sent)
		counters_add(s->options.counters, HTTP_COUNT_BYTES, c->sent);
}

static void tell_done(struct http_conn *c, int64_t now_us, bool whole)
{
	const struct http_options *o = &c->server->options;
	char address[ADDR_SHOWN];
	if (!o->done || !(o->log_all || c->answer.fault))
		return;
	o->done(o->ctx, &(struct http_done){.method = c->method,
					    .path = c->request.path,
					    .query = c->request.query,
					    .status = c->status,
					    .bytes = c->sent,
					    .took_us = now_us - c->began_us,
					    .address = http_conn_address(c, address),
					    .fault = c->answer.fault,
					    .whole = whole});
}

static void on_end(void *server, struct MHD_Connection *mhd, void **conn,
		   enum MHD_RequestTerminationCode how)
{
	struct http_server *s = server;
	struct http_conn *c = *conn;
	(void)mhd;
	if (!c)
		return;
	int64_t now_us = clock_mono_us();
	if (c->status) {
		count_request(c);
		tell_done(c, now_us, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
	}
	http_conn_over(c);
	c->step = HTTP_IDLE;
	http_answer_done(c);
	arena_clear(&c->request.arena); /* those who stay hold none of it */
	buf_free(&c->taken);
	set_due(c, now_us + s->options.limits.idle_us + s->options.limits.request_us);
	*conn = NULL;
}

/* Its threads get no signals. The limit of libmicrohttpd is shared out among them, and a thread
 * that has reached its share stops accepting: ours is the one that counts. */
static int start_daemon(struct http_server *s, struct err *err)
{
	const struct http_limits *l = &s->options.limits;
	unsigned threads = (unsigned)l->threads;
	unsigned most = (unsigned)MIN((l->max_connections + 64) * l->threads, (int64_t)INT_MAX);
	struct MHD_OptionItem pool[] = {
		{MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL},
		{MHD_OPTION_END, 0, NULL},
	};
	sigset_t before;
	thread_block_signals(&before);
	s->daemon = s->mhd.start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, http_conns_allow, s,
		on_request, s, MHD_OPTION_LISTEN_SOCKET, s->options.listen_fd,
		MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)l->connection_memory, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)(l->idle_us / US_PER_S), MHD_OPTION_URI_LOG_CALLBACK, on_line, s,
		MHD_OPTION_UNESCAPE_CALLBACK, as_it_is, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_end,
		s, MHD_OPTION_NOTIFY_CONNECTION, http_conns_notify, s, MHD_OPTION_STRICT_FOR_CLIENT,
		1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY,
		threads > 1 ? pool : pool + 1, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s->daemon ? 0 : err_sys(err, "the HTTP server did not start");
}

static void server_release(struct http_server **ps)
{
	struct http_server *s = *ps;
	pool_free(&s->pool);
	http_budget_free(&s->budget);
	http_router_free(&s->router);
	http_hosts_free(&s->hosts);
	gate_free(&s->gate);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	mem_free(ps);
}

/* Half of the places and of the threads: a client that fills its own leaves as many to all others,
 * and behind a proxy, where all have one address, half a queue is still a queue. */
enum { SHARE_OF_PLACES = 2 };

static int start_pool(struct http_server *s, struct err *err)
{
	const struct http_limits *l = &s->options.limits;
	int64_t places = l->slow_threads + l->slow_queue;
	const struct pool_options options = {
		.threads = (size_t)l->slow_threads,
		.queue = (size_t)l->slow_queue,
		.share = (size_t)(places / SHARE_OF_PLACES),
		.abreast = (size_t)MAX(l->slow_threads / SHARE_OF_PLACES, 1)};
	return pool_new(&s->pool, &options, err);
}

static void end_ticker(struct http_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->ticker, NULL);
}

int http_server_start(struct http_server **ret, const struct http_options *options, struct err *err)
{
	struct http_server *s = mem_alloc(sizeof *s);
	s->options = *options;
	list_init(&s->conns);
	pthread_mutex_init(&s->lock, NULL);
	thread_cond_init(&s->wake);
	s->gate = gate_new((size_t)options->limits.max_connections,
			   (size_t)options->limits.max_per_address);
	s->budget = http_budget_new(options->limits.answer_memory);
	s->router = http_router_new(options->routes, options->nroutes);
	if (http_hosts_new(&s->hosts, &options->names, err) < 0 || http_intake_check(err) < 0 ||
	    mhd_lib_load(&s->mhd, err) < 0 || start_pool(s, err) < 0 ||
	    thread_start(&s->ticker, http_conns_ticker, s, err) < 0) {
		server_release(&s);
		return -1;
	}
	if (start_daemon(s, err) < 0) {
		end_ticker(s);
		server_release(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

void http_server_stop(struct http_server **ps, int64_t drain_us)
{
	struct http_server *s = *ps;
	if (!s)
		return;
	int64_t end_us = clock_mono_us() + drain_us;
	__atomic_store_n(&s->draining, true, __ATOMIC_RELAXED);
	(void)s->mhd.quiesce_daemon(s->daemon); /* the socket is the caller's */
	if (s->options.stopping)
		s->options.stopping(s->options.ctx);
	http_streams_end(s, false);
	while (__atomic_load_n(&s->active, __ATOMIC_RELAXED) && clock_mono_us() < end_us)
		(void)poll(NULL, 0, PAUSE_MS);
	end_ticker(s);
	http_streams_end(s, true); /* from here on none waits for the pool */
	pool_drain(s->pool);
	http_streams_end(s, true); /* nor those that slow handlers have begun meanwhile */
	s->mhd.stop_daemon(s->daemon);
	server_release(ps);
}
