/* Gatherers as sources. Two sides, with a lock between them:
 *
 *   loop's thread:  name -> addresses -> connection -> bytes into call->in (paused above IN_MARK)
 *   source's thread: call->in -> gatherer_answer -> change
 *
 * The loop has no descriptor that a collector could wait for, so each source has an eventfd that
 * the loop's side writes when there is something to look at. Reading the answer in the source's
 * thread keeps the loop free: a bomb of one gatherer costs the time of the one who asked it. */
#include "broker/gatherer.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "base/thread.h"
#include "broker/gatherer_answer_inner.h"
#include "net/outgoing.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	CURSOR_VERSION = 1,
	CURSOR_BYTES = 21,
	OVERLAP_S = 600,    /* clocks differ: this much is asked for twice */
	IN_MARK = 64 << 10, /* bytes that wait for the source before the peer is stopped */
	ADDRESSES = 2 * DNS_ADDRS,
};
_Static_assert((int)IN_MARK + (int)CONN_READ <= (int)ANSWER_MAX_PUT, "what waits is put at once");

struct gatherers {
	struct gatherers_conf conf;
	struct conn_limits limits;
	struct loop *loop;
	struct conn_pool *pool;
	struct dns *dns;
	pthread_t thread;
	struct link calls; /* of the loop's thread */
	pthread_mutex_t lock;
	/* With the lock: */
	uint64_t held;  /* bytes of all answers */
	size_t answers; /* that are being read */
};

/* One connection, from the question for a name to its end. Of the loop's thread, but for what the
 * lock guards. */
struct call {
	struct gatherers *g;
	struct link link;
	char *host;
	uint16_t port;
	struct dns_wait dns;
	struct addr addr[ADDRESSES]; /* to be tried one after the other */
	size_t naddrs, at;
	struct outgoing *out;
	struct loop_timer whole;
	bool quitting; /* the source has all; goes when the connection does */
	char request[64];
	/* With the lock: */
	int fd; /* the source's eventfd; -1: it does not listen any more */
	struct buf in;
	bool paused, ended;
	char why[128]; /* it ended */
};

struct gatherer {
	struct source source;
	const struct gatherer_point *point;
	int fd;
	struct source_cursor cursor;
	int64_t since_s; /* of the cursor; 0: everything */
	int64_t asked_s; /* when the request was sent */
	bool complete;
	/* While it is asked: */
	struct call *call;
	struct gatherer_answer *answer;
	struct buf in; /* what the answer is reading */
	size_t counted;
};

/* The loop's side */

static void wake_source(const struct call *c)
{
	if (c->fd >= 0)
		(void)eventfd_write(c->fd, 1);
}

static void leave_peer(struct call *c)
{
	dns_cancel(&c->dns);
	outgoing_free(&c->out);
	loop_timer_stop(&c->whole);
}

static void call_free(struct call *c)
{
	leave_peer(c);
	list_remove(&c->link);
	buf_free(&c->in);
	mem_free(&c->host);
	mem_free(&c);
}

static void PRINTF_LIKE(2, 3) call_ended(struct call *c, const char *fmt, ...)
{
	va_list ap;
	leave_peer(c);
	if (c->quitting) {
		call_free(c);
		return;
	}
	pthread_mutex_lock(&c->g->lock);
	va_start(ap, fmt);
	(void)vsnprintf(c->why, sizeof c->why, fmt, ap);
	va_end(ap);
	c->ended = true;
	wake_source(c);
	pthread_mutex_unlock(&c->g->lock);
}

static void on_bytes(void *ctx, struct str piece)
{
	struct call *c = ctx;
	pthread_mutex_lock(&c->g->lock);
	buf_add_str(&c->in, piece);
	c->paused = c->in.n >= IN_MARK;
	if (c->paused)
		conn_pause(outgoing_conn(c->out));
	wake_source(c);
	pthread_mutex_unlock(&c->g->lock);
}

static void on_up(void *ctx, struct conn *conn)
{
	struct call *c = ctx;
	(void)conn;
	c->at = c->naddrs; /* no other address is tried once one has answered */
}

static void call_connect(struct call *c);

static void on_down(void *ctx, const char *why, int64_t retry_us)
{
	struct call *c = ctx;
	(void)retry_us;
	outgoing_free(&c->out);
	if (c->at < c->naddrs)
		call_connect(c);
	else
		call_ended(c, "%s", why);
}

/* To the next address. */
static void call_connect(struct call *c)
{
	static const struct conn_ops ops = {.bytes = on_bytes};
	char address[ADDR_SHOWN];
	struct err err;
	struct addr *to = &c->addr[c->at++];
	to->port = c->port;
	const struct outgoing_options options = {.address = addr_print_port(to, address),
						 .connect_us = c->g->conf.connect_us,
						 .retry_min_us = US_PER_S,
						 .retry_max_us = US_PER_S,
						 .limits = &c->g->limits,
						 .ops = &ops,
						 .up = on_up,
						 .down = on_down,
						 .ctx = c};
	if (outgoing_new(&c->out, c->g->pool, &options, &err) < 0)
		call_ended(c, "%s", err.msg);
}

static void on_name(void *ctx, const struct dns_result *result)
{
	struct call *c = ctx;
	if (result->outcome != DNS_FOUND) {
		call_ended(c, "%s%s%s", dns_outcome_word(result->outcome), result->why ? ": " : "",
			   result->why ? result->why : "");
		return;
	}
	c->naddrs = MIN(result->n, (size_t)ADDRESSES);
	memcpy(c->addr, result->addr, c->naddrs * sizeof *c->addr);
	call_connect(c);
}

static void on_too_long(void *ctx)
{
	struct call *c = ctx;
	call_ended(c, "it took longer than %" PRId64 " s", c->g->conf.whole_us / US_PER_S);
}

/* Posted by the source: */

static void call_start(void *ctx)
{
	struct call *c = ctx;
	struct dns_result result;
	list_append(&c->g->calls, &c->link);
	loop_timer_in(c->g->loop, &c->whole, c->g->conf.whole_us);
	c->naddrs = addr_parse(str_of(c->host), &c->addr[0]);
	if (c->naddrs)
		call_connect(c);
	else if (dns_lookup(c->g->dns, str_of(c->host), DNS_ANY, &c->dns, &result) == 0)
		on_name(c, &result);
}

static struct conn *call_conn(const struct call *c)
{
	return c->out ? outgoing_conn(c->out) : NULL;
}

static void call_ask(void *ctx)
{
	const struct call *c = ctx;
	if (call_conn(c))
		(void)conn_send(call_conn(c), str_of(c->request));
}

static void call_resume(void *ctx)
{
	const struct call *c = ctx;
	if (call_conn(c))
		conn_resume(call_conn(c));
}

/* The peer is told, and given the time that conn_finish() gives. */
static void call_quit(void *ctx)
{
	struct call *c = ctx;
	c->quitting = true;
	struct conn *conn = call_conn(c);
	if (!conn) {
		call_free(c);
		return;
	}
	(void)conn_send(conn, STR("QUIT\r\n"));
	conn_finish(conn);
}

static void call_drop(void *ctx)
{
	call_free(ctx);
}

/* The source's side */

static void count_held(struct gatherer *s)
{
	struct gatherers *g = s->point->gatherers;
	size_t now = s->answer ? gatherer_answer_held(s->answer) : 0;
	pthread_mutex_lock(&g->lock);
	g->held += now - s->counted;
	g->answers += (now != 0) - (size_t)(s->counted != 0);
	pthread_mutex_unlock(&g->lock);
	s->counted = now;
}

static void call_begin(struct gatherer *s)
{
	struct gatherers *g = s->point->gatherers;
	struct call *c = mem_alloc(sizeof *c);
	c->g = g;
	c->host = mem_text(s->point->host);
	c->port = s->point->port;
	c->dns = (struct dns_wait){.done = on_name, .ctx = c};
	c->whole = (struct loop_timer){.fn = on_too_long, .ctx = c};
	c->in = BUF_INIT(ANSWER_MAX_PUT);
	c->fd = s->fd;
	s->call = c;
	s->answer = gatherer_answer_new(g->conf.object_max, s->point->compressed);
	s->in = BUF_INIT(ANSWER_MAX_PUT);
	count_held(s);
	loop_post(g->loop, call_start, c);
}

static void call_leave(struct gatherer *s, void (*how)(void *ctx))
{
	struct call *c = s->call;
	if (!c)
		return;
	pthread_mutex_lock(&c->g->lock);
	c->fd = -1;
	pthread_mutex_unlock(&c->g->lock);
	loop_post(c->g->loop, how, c);
	s->call = NULL;
	gatherer_answer_free(&s->answer);
	buf_free(&s->in);
	count_held(s);
}

static void send_request(struct gatherer *s)
{
	struct call *c = s->call;
	s->asked_s = clock_wall_us() / US_PER_S;
	(void)snprintf(c->request, sizeof c->request, "%sSEND-UPDATE %" PRId64 "\r\n",
		       s->point->compressed ? "SET compression\r\n" : "",
		       s->point->full ? 0 : s->since_s);
	loop_post(c->g->loop, call_ask, c);
}

/* Takes over what has come. 0: the answer has more to read, or the end; 1: nothing yet. */
static int take_bytes(struct gatherer *s)
{
	struct call *c = s->call;
	eventfd_t ignored;
	(void)eventfd_read(s->fd, &ignored);
	buf_clear(&s->in);
	pthread_mutex_lock(&c->g->lock);
	struct buf empty = s->in;
	s->in = c->in;
	c->in = empty;
	bool was_paused = c->paused, ended = c->ended;
	c->paused = false;
	pthread_mutex_unlock(&c->g->lock);
	if (was_paused)
		loop_post(c->g->loop, call_resume, c);
	if (s->in.n)
		gatherer_answer_put(s->answer, buf_str(&s->in));
	else if (ended)
		gatherer_answer_end(s->answer);
	return s->in.n || ended ? 0 : 1;
}

/* Only who holds more than its share is given up, or a few that begin large objects and never end
 * them would keep all others out. */
static bool over_budget(struct gatherer *s)
{
	struct gatherers *g = s->point->gatherers;
	count_held(s);
	pthread_mutex_lock(&g->lock);
	bool over = g->held > g->conf.memory && s->counted > g->conf.memory / g->answers;
	pthread_mutex_unlock(&g->lock);
	return over;
}

/* What went wrong, with the reason that the loop's side knows. */
static int source_failed(struct gatherer *s, struct err *err)
{
	struct call *c = s->call;
	pthread_mutex_lock(&c->g->lock);
	if (c->ended)
		(void)err_then(err, "%s", c->why);
	pthread_mutex_unlock(&c->g->lock);
	call_leave(s, call_drop);
	(void)err_then(err, "this collection does not count");
	err->code = ERR_SYSTEM;
	return err_in(err, "%s port %u", s->point->host, s->point->port);
}

/* Cursors: which point, and since when to ask. */

static uint64_t point_hash(const struct gatherer_point *p)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(1024);
	unsigned char sum[16];
	buf_printf(&b, "%s %u", p->host, p->port);
	md5(buf_str(&b), sum);
	struct reader r = reader_of((struct str){(const char *)sum, sizeof sum});
	return reader_u64le(&r);
}

static void cursor_seal(struct gatherer *s)
{
	struct buf b = BUF_INIT(sizeof s->cursor.b);
	put_u8(&b, CURSOR_VERSION);
	put_u64le(&b, point_hash(s->point));
	put_u64le(&b, (uint64_t)MAX(s->asked_s - OVERLAP_S, 0));
	put_u32le(&b, crc32c(0, b.p, b.n));
	ENSURE(b.n == CURSOR_BYTES);
	s->cursor = (struct source_cursor){0};
	memcpy(s->cursor.b, b.p, b.n);
	buf_free(&b);
}

static int cursor_unseal(struct gatherer *s, const struct source_cursor *from, struct err *err)
{
	static const struct source_cursor zero;
	s->cursor = *from;
	if (memcmp(from, &zero, sizeof zero) == 0)
		return 0;
	struct reader r = reader_of((struct str){(const char *)from->b, sizeof from->b});
	uint8_t version = reader_u8(&r);
	uint64_t hash = reader_u64le(&r), since_s = reader_u64le(&r);
	if (reader_u32le(&r) != crc32c(0, from->b, CURSOR_BYTES - 4) || version != CURSOR_VERSION ||
	    hash != point_hash(s->point) || since_s > INT64_MAX)
		return err_set(err, ERR_USAGE, "%s port %u: not a cursor of this collection point",
			       s->point->host, s->point->port);
	s->since_s = (int64_t)since_s;
	return 0;
}

/* The source */

static void gatherer_close(struct source **ps)
{
	struct gatherer *s = (struct gatherer *)*ps;
	call_leave(s, call_drop);
	(void)close(s->fd);
	mem_free(&s);
	*ps = NULL;
}

static int gatherer_open(struct source **ret, const void *store, const struct source_cursor *from,
			 struct err *err)
{
	struct gatherer *s = mem_alloc(sizeof *s);
	*s = (struct gatherer){.source.ops = &source_gatherer_ops, .point = store};
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = s->fd < 0 ? err_sys(err, "eventfd") : cursor_unseal(s, from, err);
	if (rc < 0) {
		if (s->fd >= 0)
			(void)close(s->fd);
		mem_free(&s);
		return rc;
	}
	*ret = &s->source;
	return 0;
}

static int gatherer_complete(struct gatherer *s)
{
	call_leave(s, call_quit);
	cursor_seal(s);
	s->complete = true;
	return 1;
}

static int too_much_memory(const struct gatherer *s, struct err *err)
{
	return err_set(err, ERR_SYSTEM,
		       "the memory for what gatherers are sending, %" PRIu64 " bytes, is used up",
		       s->point->gatherers->conf.memory);
}

static int gatherer_next(struct source *source, struct arena *arena, struct source_change *ret,
			 struct err *err)
{
	struct gatherer *s = (struct gatherer *)source;
	if (s->complete)
		return 1;
	if (!s->call)
		call_begin(s);
	for (;;) {
		int rc = gatherer_answer_next(s->answer, arena, ret, err);
		if (rc < 0 && err->code == ERR_PARTLY)
			return err_in(err, "%s port %u", s->point->host, s->point->port);
		if (rc < 0)
			return source_failed(s, err);
		if (rc == ANSWER_CHANGE)
			return 0;
		if (rc == ANSWER_COMPLETE)
			return gatherer_complete(s);
		if (over_budget(s)) {
			(void)too_much_memory(s, err);
			return source_failed(s, err);
		}
		if (rc == ANSWER_ASK)
			send_request(s);
		if (rc == ANSWER_BUSY)
			(void)eventfd_write(s->fd, 1);
		if (rc == ANSWER_BUSY || (rc == ANSWER_MORE && take_bytes(s) == 1))
			return 2;
	}
}

static void gatherer_cursor(struct source *s, struct source_cursor *ret)
{
	*ret = ((struct gatherer *)s)->cursor;
}

static int gatherer_wait_fd(struct source *s)
{
	return ((struct gatherer *)s)->fd;
}

const struct source_ops source_gatherer_ops = {.name = "gatherer",
					       .open = gatherer_open,
					       .next = gatherer_next,
					       .cursor = gatherer_cursor,
					       .wait_fd = gatherer_wait_fd,
					       .close = gatherer_close};

/* What they share */

static void *run_loop(void *arg)
{
	struct err err;
	if (loop_run(((struct gatherers *)arg)->loop, &err) < 0)
		die("gatherers: %s", err.msg);
	return NULL;
}

static void stop_loop(void *ctx)
{
	loop_stop(((struct gatherers *)ctx)->loop);
}

static void free_parts(struct gatherers **pg)
{
	struct gatherers *g = *pg;
	LIST_EACH (struct call, c, &g->calls, link)
		call_free(c);
	dns_free(&g->dns);
	conn_pool_free(&g->pool);
	loop_free(&g->loop);
	pthread_mutex_destroy(&g->lock);
	mem_free(pg);
}

int gatherers_new(struct gatherers **ret, const struct gatherers_conf *conf,
		  const struct dns_conf *dns, const struct policy *policy, struct err *err)
{
	struct gatherers *g = mem_alloc(sizeof *g);
	*g = (struct gatherers){
		.conf = *conf,
		.limits = {.pieces = true,
			   .high_mark = 4096,
			   .queue_max = 4096,
			   .idle_us = conf->idle_us},
	};
	/* or one large object would never come through */
	g->conf.memory = MAX(conf->memory, 3 * conf->object_max);
	list_init(&g->calls);
	pthread_mutex_init(&g->lock, NULL);
	int rc = loop_new(&g->loop, NULL, err);
	if (rc == 0) {
		g->pool = conn_pool_new(g->loop, conf->memory);
		rc = dns_new(&g->dns, g->loop, dns, policy, err);
	}
	if (rc == 0)
		rc = thread_start(&g->thread, run_loop, g, err);
	if (rc < 0) {
		free_parts(&g);
		return rc;
	}
	*ret = g;
	return 0;
}

void gatherers_free(struct gatherers **pg)
{
	struct gatherers *g = *pg;
	if (!g)
		return;
	loop_post(g->loop, stop_loop, g);
	(void)pthread_join(g->thread, NULL);
	free_parts(pg);
}
