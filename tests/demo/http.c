/* garner with one role, `demo`, whose routes do what an HTTP server has to stand: parameters of all
 * types, bodies, slow answers, streams, events, files, failures. For the scenes of the server. */
#include "net/http.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/jsonw.h"
#include "base/list.h"
#include "base/log.h"
#include "base/thread.h"
#include "cmd/command.h"
#include "net/net_section.h"
#include "role/notify.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

struct demo_conf {
	const char *listen, *file;
	struct http_names names;
	struct http_limits http;
	int64_t drain_us, max_listeners, beat_us;
};

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct demo_conf, listen), .fallback = "127.0.0.1:0"},
	{"file", VALUE_PATH_AT(struct demo_conf, file), .help = "What /file sends"},
	DRAIN_SPEC(struct demo_conf, drain_us, "5s"),
	{"max_listeners", VALUE_INT_AT(struct demo_conf, max_listeners), .fallback = "1000"},
	{"beat", VALUE_TIME_AT(struct demo_conf, beat_us), .fallback = "15s"},
	{"url", VALUE_TEXT_AT(struct demo_conf, names.url)},
	{"names", VALUE_LIST_AT(struct demo_conf, names.names), .fallback = "x"},
	HTTP_LIMIT_SPECS(struct demo_conf, http),
};

struct demo {
	const struct demo_conf *conf;
	struct http_channel *events;
	pthread_mutex_t lock; /* of the rest */
	struct link waiting;
	bool stopping;
};

struct echo {
	const char *word;
	int64_t times;
	bool loud;
	double share;
	int colour;
	struct value_list tags;
};
static const char *const colours[] = {"red", "green", NULL};
static const struct http_param echo_params[] = {
	{{"word", VALUE_TEXT_AT(struct echo, word), .help = "What is said"}},
	{{"times", VALUE_INT_AT(struct echo, times), .fallback = "1", .min = 1, .max = 10,
	  .help = "How often"}},
	{{"loud", VALUE_BOOL_AT(struct echo, loud), .help = "How"}},
	{{"share", VALUE_REAL_AT(struct echo, share), .fallback = "0.5", .min = 0, .max = 1,
	  .help = "How much of it"}},
	{{"colour", VALUE_WORD_AT(struct echo, colour), .words = colours, .help = "In what colour"},
	 .required = true},
	{{"tags", VALUE_LIST_AT(struct echo, tags), .fallback = "none", .help = "Some words"}},
};

static int echo(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct echo *p = req->params;
	struct jsonw j = JSONW_INIT(ret->body);
	(void)err;
	jsonw_object(&j);
	jsonw_put_text(&j, "word", p->word);
	jsonw_put_int(&j, "times", p->times);
	jsonw_put_bool(&j, "loud", p->loud);
	jsonw_key(&j, "share");
	jsonw_real(&j, p->share);
	jsonw_put_text(&j, "colour", colours[p->colour]);
	jsonw_key(&j, "tags");
	jsonw_array(&j);
	for (size_t i = 0; i < p->tags.n; i++)
		jsonw_text(&j, p->tags.item[i]);
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	return 0;
}

enum { BROKEN_LETTERS = 777777 }; /* so many cannot be made to their end */

struct amount {
	int64_t n;
};
static const struct http_param amount_params[] = {
	{{"n", VALUE_INT_AT(struct amount, n), .fallback = "1", .min = 0, .max = 100e6}},
};

static int slow(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct amount *p = req->params;
	(void)err;
	(void)poll(NULL, 0, (int)p->n);
	buf_printf(ret->body, "%lld\n", (long long)p->n);
	return 0;
}

/* Waits for /again, however often that comes too early. */
struct waiter {
	struct link link;
	struct http_request *req;
	int64_t rounds;
};

static void let_go(struct demo *d, bool stopping)
{
	pthread_mutex_lock(&d->lock);
	d->stopping |= stopping;
	LIST_EACH (struct waiter, w, &d->waiting, link) {
		list_remove(&w->link);
		http_again(w->req);
	}
	pthread_mutex_unlock(&d->lock);
}

static int later(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct amount *p = req->params;
	struct demo *d = req->ctx;
	struct waiter *w = req->later;
	if (!w) {
		w = req->later = arena_alloc(&req->arena, sizeof *w);
		*w = (struct waiter){.req = req, .rounds = p->n};
	}
	pthread_mutex_lock(&d->lock);
	bool ends = d->stopping, waits = !ends && w->rounds-- > 0;
	if (waits)
		list_append(&d->waiting, &w->link);
	pthread_mutex_unlock(&d->lock);
	if (waits)
		return HTTP_LATER;
	if (ends)
		return err_set(err, ERR_BUSY, "the server stops");
	buf_printf(ret->body, "%s\n", http_from(req));
	return 0;
}

static int again(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct amount *p = req->params;
	struct demo *d = req->ctx;
	size_t n = 0;
	(void)err;
	pthread_mutex_lock(&d->lock);
	LIST_EACH (struct waiter, w, &d->waiting, link)
		n++;
	pthread_mutex_unlock(&d->lock);
	buf_printf(ret->body, "%zu\n", n);
	if (p->n)
		let_go(d, false);
	return 0;
}

static int big(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct amount *p = req->params;
	char *room = buf_room(ret->body, (size_t)p->n);
	(void)err;
	for (int64_t i = 0; i < p->n; i++)
		room[i] = (char)('a' + i % 26);
	buf_grew(ret->body, (size_t)p->n);
	return 0;
}

/* The same, made while it is sent. */
struct letters {
	int64_t at, n;
};

static int make_letters(void *ctx, size_t n, struct buf *out, struct err *err)
{
	struct letters *l = ctx;
	for (; l->at < l->n && out->n < n; l->at++)
		buf_add_byte(out, (char)('a' + l->at % 26));
	if (l->n == BROKEN_LETTERS && l->at == l->n)
		return err_set(err, ERR_SYSTEM, "the letters are used up");
	return l->at == l->n;
}

static void close_letters(void *ctx)
{
	struct letters *l = ctx;
	mem_free(&l);
}

static const struct http_piece_ops letters_ops = {.make = make_letters, .close = close_letters};

static int letters(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct amount *p = req->params;
	struct letters *l = mem_alloc(sizeof *l);
	(void)err;
	l->n = p->n;
	http_answer_etag(ret, str_of(arena_printf(&req->arena, "letters-%lld", (long long)p->n)));
	http_answer_pieces(ret, &letters_ops, l);
	return 0;
}

static int body(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)err;
	ret->type = "application/octet-stream";
	buf_add_str(ret->body, req->body);
	return 0;
}

/* A stream that a thread of its own fills: n lines, one at a time. */
struct lines {
	pthread_mutex_t lock;
	pthread_t thread;
	struct http_stream *stream; /* NULL: closed */
	int64_t made, sent, n;
};

static void *make_lines(void *arg)
{
	struct lines *l = arg;
	bool more = true;
	while (more) {
		(void)poll(NULL, 0, 2);
		pthread_mutex_lock(&l->lock);
		more = l->stream && l->made < l->n;
		l->made += more;
		if (l->stream)
			http_stream_wake(l->stream);
		pthread_mutex_unlock(&l->lock);
	}
	return NULL;
}

static ssize_t read_lines(void *ctx, char *p, size_t n)
{
	struct lines *l = ctx;
	ssize_t got = 0;
	pthread_mutex_lock(&l->lock);
	if (l->sent < l->made)
		got = snprintf(p, n, "line %lld\n", (long long)++l->sent);
	else if (l->sent == l->n)
		got = HTTP_STREAM_END;
	pthread_mutex_unlock(&l->lock);
	return got;
}

static void close_lines(void *ctx)
{
	struct lines *l = ctx;
	pthread_mutex_lock(&l->lock);
	l->stream = NULL;
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	pthread_mutex_destroy(&l->lock);
	mem_free(&l);
}

static const struct http_stream_ops lines_ops = {.read = read_lines, .close = close_lines};

static int lines(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct amount *p = req->params;
	struct lines *l = mem_alloc(sizeof *l);
	pthread_mutex_init(&l->lock, NULL);
	l->n = p->n;
	pthread_mutex_lock(&l->lock); /* until the stream is known */
	int rc = thread_start(&l->thread, make_lines, l, err);
	if (rc == 0) {
		ret->type = "text/plain";
		l->stream = http_answer_stream(req, ret, &lines_ops, l);
	}
	pthread_mutex_unlock(&l->lock);
	return rc;
}

static int events(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct demo *d = req->ctx;
	(void)err;
	http_channel_answer(d->events, req, ret);
	return 0;
}

static int publish(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct demo *d = req->ctx;
	(void)err;
	http_channel_publish(d->events, "word", req->body);
	buf_printf(ret->body, "%zu\n", http_channel_listeners(d->events));
	return 0;
}

static int file(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct demo *d = req->ctx;
	struct file f;
	if (file_open(&f, d->conf->file, O_RDONLY, 0, err) != 0)
		return -1;
	return http_answer_file(ret, &f, "text/plain", err);
}

struct header {
	const char *value;
};
static const struct http_param header_params[] = {
	{{"value", VALUE_TEXT_AT(struct header, value)}, .required = true},
};

static int header(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct header *p = req->params;
	(void)err;
	http_answer_header(req, ret, "X-Said", str_of(p->value));
	buf_add_str(ret->body, http_header(req, "x-ASKED"));
	return 0;
}

static int failing(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req;
	(void)ret;
	return err_set(err, ERR_SYSTEM, "the disk is on fire");
}

static int busy(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req;
	(void)ret;
	return err_set(err, ERR_BUSY, "somebody else has it");
}

#define AMOUNT .params = amount_params, .nparams = 1, .params_size = sizeof(struct amount)
static const struct http_route routes[] = {
	{HTTP_GET, "/echo/:word", "Says it again", "application/json", echo_params,
	 ARRAY_LEN(echo_params), sizeof(struct echo), .handle = echo},
	{HTTP_GET, "/slow", "Takes n milliseconds", "text/plain", AMOUNT, .slow = true,
	 .handle = slow},
	{HTTP_GET, "/later", "Waits until /again was asked for n times", "text/plain", AMOUNT,
	 .slow = true, .handle = later},
	{HTTP_GET, "/again", "How many wait for it; 0: goes on to wait", "text/plain", AMOUNT,
	 .handle = again},
	{HTTP_GET, "/big", "n bytes", "text/plain", AMOUNT, .handle = big},
	{HTTP_GET, "/letters", "n bytes, in pieces", "text/plain", AMOUNT, .slow = true,
	 .handle = letters},
	{HTTP_GET, "/lines", "n lines, one after the other", "text/plain", AMOUNT, .handle = lines},
	{HTTP_POST, "/body", "The body", NULL, .body_max = 1000, .handle = body},
	{HTTP_PUT, "/body", "The body, slowly", NULL, .body_max = 1 << 20, .slow = true,
	 .handle = body},
	{HTTP_GET, "/events", "What is published", NULL, .handle = events},
	{HTTP_POST, "/events", "Publishes it", "text/plain", .body_max = 1 << 16,
	 .handle = publish},
	{HTTP_GET, "/file", "A file", NULL, .handle = file},
	{HTTP_GET, "/header", "Sets a header", "text/plain", header_params, 1,
	 sizeof(struct header), .loose = true, .handle = header},
	{HTTP_GET, "/fails", "Cannot be had", NULL, .handle = failing},
	{HTTP_GET, "/busy", "Cannot be had now", NULL, .handle = busy},
};

static void done(void *ctx, const struct http_done *d)
{
	(void)ctx;
	log_info(HTTP, d->fault ? d->fault : "request", KV_TEXT("method", d->method),
		 KV_STR("path", d->path), KV_INT("status", d->status), KV_UINT("bytes", d->bytes));
}

static void tick(void *ctx, int64_t now_us)
{
	struct demo *d = ctx;
	http_channel_tick(d->events, now_us);
}

static void stopping(void *ctx)
{
	let_go(ctx, true);
}

static int run(struct role_env *env, struct err *err)
{
	struct demo d = {.conf = config_get(env->config, env->role->section)};
	struct http_options options = {
		.routes = routes,
		.nroutes = ARRAY_LEN(routes),
		.listen_fd = role_fd(env, "listen"),
		.limits = d.conf->http,
		.names = d.conf->names,
		.ctx = &d,
		.counters = env->counters,
		.log_all = true,
		.done = done,
		.tick = tick,
		.stopping = stopping,
	};
	struct http_server *server;
	sigset_t set;
	pthread_mutex_init(&d.lock, NULL);
	list_init(&d.waiting);
	d.events = http_channel_new((size_t)d.conf->max_listeners, d.conf->beat_us);
	if (http_server_start(&server, &options, err) < 0)
		return -1;
	notify_send("READY=1");
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	while (sigwaitinfo(&set, NULL) < 0)
		;
	http_server_stop(&server, d.conf->drain_us);
	http_channel_free(&d.events);
	pthread_mutex_destroy(&d.lock);
	return 0;
}

static const struct config_section section = {.name = "demo",
					      .help = "A server for the scenes.",
					      .size = sizeof(struct demo_conf),
					      .specs = specs,
					      .nspecs = ARRAY_LEN(specs)};
static const struct counter_def counters[] = {HTTP_COUNTERS(COUNTER_DEF)};
static const struct role demo_role = {.name = "demo",
				      .summary = "serve what the scenes ask for",
				      .description = "A server for the scenes.",
				      .section = &section,
				      .counters = counters,
				      .ncounters = ARRAY_LEN(counters),
				      .run = run};

int main(int argc, char **argv)
{
	static const struct role *const demo_roles[] = {&demo_role};
	const struct program program = {.commands = commands,
					.ncommands = ncommands,
					.roles = demo_roles,
					.nroles = 1,
					.formats = formats,
					.nformats = nformats};
	return cmd_main(&program, argc, argv);
}
