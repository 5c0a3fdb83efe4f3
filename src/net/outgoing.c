/* Outgoing connections: connect, hand over, and after each end try again with a growing, randomly
 * spread delay. */
#include "net/outgoing.h"

#include "base/clock.h"
#include "role/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

struct outgoing {
	struct conn_pool *pool;
	struct loop *loop;
	struct outgoing_options options;
	struct sockaddr_storage to;
	socklen_t to_len;
	struct loop_timer timer; /* of the next try, or of the end of this one */
	struct loop_io io;       /* while connecting */
	struct loop_later bury;
	int fd; /* while connecting, else -1 */
	struct conn *conn;
	bool up;
	int64_t up_us; /* since when */
	unsigned failures;
	bool freed;
};

static uint64_t random_bits(const struct outgoing *o)
{
	uint64_t bits;
	if (o->options.random)
		return o->options.random(o->options.ctx);
	if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
		bits = (uint64_t)loop_now_us(o->loop); /* better than all at once */
	return bits;
}

static int64_t delay_us(const struct outgoing *o)
{
	int64_t whole = backoff_us(o->failures, o->options.retry_min_us, o->options.retry_max_us);
	int64_t half = whole / 2;
	return whole - half + (int64_t)(random_bits(o) % (uint64_t)(half + 1));
}

static void drop_socket(struct outgoing *o)
{
	loop_io_end(&o->io);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

static void outgoing_fail(struct outgoing *o, const char *why)
{
	drop_socket(o);
	o->failures += o->failures < 64;
	int64_t retry_us = delay_us(o);
	loop_timer_in(o->loop, &o->timer, retry_us);
	o->options.down(o->options.ctx, why, retry_us);
}

static void on_line(void *ctx, struct str line)
{
	struct outgoing *o = ctx;
	if (!o->freed)
		o->options.ops->line(o->options.ctx, line);
}

static void on_bytes(void *ctx, struct str piece, uint64_t left)
{
	struct outgoing *o = ctx;
	if (!o->freed)
		o->options.ops->bytes(o->options.ctx, piece, left);
}

static void on_drained(void *ctx)
{
	struct outgoing *o = ctx;
	if (!o->freed && o->options.ops->drained)
		o->options.ops->drained(o->options.ctx);
}

static void on_long_line(void *ctx)
{
	struct outgoing *o = ctx;
	if (!o->freed && o->options.ops->long_line)
		o->options.ops->long_line(o->options.ctx);
}

/* Only a connection that lasted resets the back-off: a peer that accepts and hangs up
 * is no better than one that refuses. */
static void on_closed(void *ctx, enum conn_end end, int sys_errno)
{
	struct outgoing *o = ctx;
	(void)end, (void)sys_errno;
	const char *why = conn_why(o->conn);
	bool lasted = o->up && loop_now_us(o->loop) - o->up_us >= o->options.retry_max_us;
	o->conn = NULL;
	o->up = false;
	if (o->freed) {
		loop_later(o->loop, &o->bury);
		return;
	}
	if (lasted)
		o->failures = 0;
	outgoing_fail(o, why);
}

static void on_up(void *ctx)
{
	struct outgoing *o = ctx;
	if (o->freed)
		return;
	o->up = true;
	o->up_us = loop_now_us(o->loop);
	o->options.up(o->options.ctx, o->conn);
}

static void outgoing_connected(struct outgoing *o)
{
	static const struct conn_ops ops = {on_line,      on_bytes,  on_drained,
					    on_long_line, on_closed, on_up};
	int fd = o->fd, one = 1;
	loop_timer_stop(&o->timer);
	loop_io_end(&o->io);
	o->fd = -1;
	if (o->to.ss_family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	o->conn = conn_new(o->pool, fd, o->options.tls, o->options.limits, &ops, o);
}

static void on_ready(void *ctx, unsigned what)
{
	(void)what;
	struct outgoing *o = ctx;
	int failed = 0;
	socklen_t n = sizeof failed;
	if (getsockopt(o->fd, SOL_SOCKET, SO_ERROR, &failed, &n) < 0)
		failed = errno;
	if (failed)
		outgoing_fail(o, strerror(failed));
	else
		outgoing_connected(o);
}

static void outgoing_try(struct outgoing *o)
{
	o->fd = socket(o->to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = o->fd < 0 ? -1 : connect(o->fd, (const struct sockaddr *)&o->to, o->to_len);
	if (rc == 0) {
		outgoing_connected(o);
	} else if (o->fd >= 0 && errno == EINPROGRESS) {
		loop_io_want(o->loop, &o->io, o->fd, LOOP_WRITE);
		loop_timer_in(o->loop, &o->timer, o->options.connect_us);
	} else {
		outgoing_fail(o, strerror(errno));
	}
}

static void on_timer(void *ctx)
{
	struct outgoing *o = ctx;
	if (o->fd >= 0)
		outgoing_fail(o, "the peer did not accept in time");
	else
		outgoing_try(o);
}

static void outgoing_bury(void *ctx)
{
	struct outgoing *o = ctx;
	mem_free(&o);
}

int outgoing_new(struct outgoing **ret, struct conn_pool *pool,
		 const struct outgoing_options *options, struct err *err)
{
	struct outgoing *o = mem_alloc(sizeof *o);
	*o = (struct outgoing){.pool = pool,
			       .loop = conn_pool_loop(pool),
			       .options = *options,
			       .timer = {.fn = on_timer, .ctx = o},
			       .io = {.fn = on_ready, .ctx = o},
			       .bury = {.fn = outgoing_bury, .ctx = o},
			       .fd = -1};
	if (listen_address(options->address, &o->to, &o->to_len, err) < 0) {
		mem_free(&o);
		return -1;
	}
	o->options.address = NULL;
	loop_timer_in(o->loop, &o->timer, 0);
	*ret = o;
	return 0;
}

/* We may be inside one of its callbacks: it goes when the connection has, or after the callback.
 */
void outgoing_free(struct outgoing **op)
{
	struct outgoing *o = *op;
	if (!o)
		return;
	*op = NULL;
	o->freed = true;
	loop_timer_stop(&o->timer);
	drop_socket(o);
	if (o->conn)
		conn_close(o->conn);
	else
		loop_later(o->loop, &o->bury);
}

struct conn *outgoing_conn(const struct outgoing *o)
{
	return o->up ? o->conn : NULL;
}
