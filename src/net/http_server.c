#include "base/clock.h"
#include "base/thread.h"
#include "net/http_inner.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>

enum { DISCARD_MAX = 64 << 10, PAUSE_MS = 5 };

void http_count(struct http_server *s, enum http_counter which, uint64_t n)
{
	if (s->options.counters)
		counters_add(s->options.counters, s->options.counters_at + which, n);
}

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

/* Paths are taken apart by the router, which undoes %XX behind that. */
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

/* By which name this machine was asked. Another one means that a browser was led here; whoever owns
 * a domain owns 127.0.0.1.example too. */
static bool host_is_local(const struct http_request *req)
{
	struct str host = http_header(req, "Host");
	struct addr a;
	if (addr_parse_port(host, 80, &a))
		return addr_loopback(&a);
	return str_eq_nocase(str_head(host, str_find_byte(host, ':')), STR("localhost"));
}

static bool may_ask(const struct http_request *req)
{
	switch (req->route->scope) {
	case HTTP_PUBLIC:
		return true;
	case HTTP_LOCAL:
		return req->local && host_is_local(req);
	default:
		return false;
	}
}

/* The answer is a 200 still, or says what is wrong. */
static void find_route(struct http_conn *c, const char *method)
{
	struct http_request *req = &c->request;
	struct http_match match;
	struct err err;
	int rc = http_router_find(c->server->router, method_of(method), req->path, &req->arena,
				  &match, &err);
	req->route = rc == 0 ? match.route : NULL;
	http_answer_init(c);
	if (rc < 0)
		http_answer_error(req, &c->answer, 400, "%s", err.msg);
	else if (rc > 0)
		not_found(c, match.allow);
	else if (!may_ask(req))
		http_answer_error(req, &c->answer, 403, "only for this machine's own users");
	else if (http_params_parse(&match, req->query, &req->arena, &req->params, &err) < 0)
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

/* The head is complete. What cannot be taken is refused before it comes. */
static enum MHD_Result head_came(struct http_conn *c, const char *method)
{
	struct str length = http_header(&c->request, "Content-Length");
	const char *wrong = http_head_wrong(c);
	uint64_t n;
	c->method = method;
	c->request.head = strcmp(method, "HEAD") == 0;
	c->request.local = http_conn_local(c);
	find_route(c, method);
	buf_free(&c->taken);
	c->taken = BUF_INIT(body_max(c));
	c->step = HTTP_BODY;
	if (wrong)
		http_answer_error(&c->request, &c->answer, 400, "%s", wrong);
	else if (!length.p || (str_u64(length, &n) && n <= body_max(c)))
		return MHD_YES;
	else if (c->answer.status < 400)
		too_large(c);
	c->step = HTTP_ANSWERED;
	return http_answer_send(c, true);
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

static void run_handler(struct http_conn *c)
{
	struct http_request *req = &c->request;
	struct err err = {0};
	if (req->route->handle(req, &c->answer, &err) >= 0)
		return;
	int status = 500;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (err.code == statuses[i].code)
			status = statuses[i].status;
	c->answer.fault = status == 500 ? arena_text(&req->arena, str_of(err.msg)) : NULL;
	http_answer_error(req, &c->answer, status, "%s",
			  status == 500 ? "something failed here; the log says what" : err.msg);
}

static enum MHD_Result send_answer(struct http_conn *c)
{
	struct http_server *s = c->server;
	bool stream = c->answer.stream;
	c->step = HTTP_ANSWERED;
	set_due(c, stream ? INT64_MAX : clock_mono_us() + s->options.limits.answer_us);
	return http_answer_send(c, __atomic_load_n(&s->draining, __ATOMIC_RELAXED));
}

static void run_slow(struct http_job *job)
{
	struct http_conn *c = (struct http_conn *)((char *)job - offsetof(struct http_conn, job));
	struct http_server *s = c->server;
	run_handler(c);
	s->mhd.resume_connection(c->mhd); /* from here on c is not ours */
}

static enum MHD_Result set_aside(struct http_conn *c)
{
	struct http_server *s = c->server;
	if (!http_pool_claim(s->pool)) {
		http_answer_header(&c->request, &c->answer, "Retry-After", STR("1"));
		http_answer_error(&c->request, &c->answer, 503,
				  "too many requests of this kind are under way");
		return send_answer(c);
	}
	c->step = HTTP_SLOW;
	set_due(c, INT64_MAX);
	c->job = (struct http_job){.run = run_slow};
	s->mhd.suspend_connection(c->mhd);
	http_pool_post(s->pool, &c->job);
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
	run_handler(c);
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
	http_count(s, HTTP_COUNT_2XX + (enum http_counter)(class - 2), 1);
	if (c->sent)
		http_count(s, HTTP_COUNT_BYTES, c->sent);
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
	http_pool_free(&s->pool);
	http_router_free(&s->router);
	http_peers_free(&s->peers);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	mem_free(ps);
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
	pthread_condattr_t monotonic;
	s->options = *options;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	s->peers = http_peers_new();
	s->router = http_router_new(options->routes, options->nroutes);
	if (mhd_lib_load(&s->mhd, err) < 0 ||
	    http_pool_new(&s->pool, (size_t)options->limits.slow_threads,
			  (size_t)options->limits.slow_queue, err) < 0 ||
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
	http_streams_end(s, false);
	while (__atomic_load_n(&s->active, __ATOMIC_RELAXED) && clock_mono_us() < end_us)
		(void)poll(NULL, 0, PAUSE_MS);
	end_ticker(s);
	http_pool_drain(s->pool);
	http_streams_end(s, true);
	s->mhd.stop_daemon(s->daemon);
	server_release(ps);
}
