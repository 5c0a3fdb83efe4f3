/* Outgoing connections: connect, report the connection, and after each end retry with a growing,
 * randomly spread delay. A name is looked up by a resolver without a cache and without a policy:
 * the policy limits what robots may fetch, not what the owner of a machine configures. */
#include "net/outgoing.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "net/dns.h"
#include "net/tls.h"
#include "role/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOT_TRUSTED                                                                          \
	"it is another machine, so it has to show who it is: set tls_shared_key, or tls_ca " \
	"and what else certificates need"

#define CONNECT_US (10 * US_PER_S)
#define RETRY_MIN_US (250 * US_PER_MS)
#define RETRY_MAX_US (10 * US_PER_S)
#define NOT_TOLD "empty: set HOST:PORT or unix:PATH (with net.port = 0 there is no default)"

struct outgoing {
	struct conn_pool *pool;
	struct loop *loop;
	struct outgoing_options options;
	char *name; /* NULL: the address is a number */
	uint16_t port;
	struct policy *policy;
	struct dns *dns;
	struct dns_wait wait;
	bool resolving;
	size_t turn; /* which of a name's addresses is next */
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
	int64_t rest_us; /* least time until the next attempt */
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
	dns_cancel(&o->wait);
	o->resolving = false;
	loop_io_end(&o->io);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

static void outgoing_fail(struct outgoing *o, const char *why)
{
	drop_socket(o);
	o->failures += o->failures < 64;
	int64_t retry_us = MAX(delay_us(o), o->rest_us);
	o->rest_us = 0;
	loop_timer_in(o->loop, &o->timer, retry_us);
	o->options.down(o->options.ctx, why, retry_us);
}

static void on_line(void *ctx, struct str line)
{
	struct outgoing *o = ctx;
	if (!o->freed)
		o->options.ops->line(o->options.ctx, line);
}

static void on_bytes(void *ctx, struct str piece)
{
	struct outgoing *o = ctx;
	if (!o->freed)
		o->options.ops->bytes(o->options.ctx, piece);
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
	o->turn--; /* this address is good */
	o->up_us = loop_now_us(o->loop);
	o->options.up(o->options.ctx, o->conn);
}

static void outgoing_connected(struct outgoing *o)
{
	static const struct conn_ops ops = {on_line,      on_bytes,  on_drained,
					    on_long_line, on_closed, on_up};
	int fd = o->fd;
	loop_timer_stop(&o->timer);
	loop_io_end(&o->io);
	o->fd = -1;
	if (o->to.ss_family != AF_UNIX)
		conn_tune_tcp(fd);
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

static void outgoing_connect(struct outgoing *o)
{
	if (o->options.trusted &&
	    !tls_trusts(o->options.tls, (const struct sockaddr *)&o->to, o->to_len)) {
		outgoing_fail(o, NOT_TRUSTED);
		return;
	}
	o->fd = socket(o->to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = o->fd < 0 ? -1 : connect(o->fd, (const struct sockaddr *)&o->to, o->to_len);
	if (rc == 0)
		outgoing_connected(o);
	else if (o->fd >= 0 && errno == EINPROGRESS)
		loop_io_want(o->loop, &o->io, o->fd, LOOP_WRITE);
	else
		outgoing_fail(o, strerror(errno));
}

static void on_found(void *ctx, const struct dns_result *found)
{
	struct outgoing *o = ctx;
	struct err err;
	o->resolving = false;
	if (found->outcome != DNS_FOUND) {
		outgoing_fail(o, found->why ? found->why : dns_outcome_word(found->outcome));
		return;
	}
	struct addr a = found->addr[o->turn++ % found->n];
	char text[ADDR_SHOWN];
	a.port = o->port;
	if (listen_address(addr_print_port(&a, text), &o->to, &o->to_len, &err) < 0)
		outgoing_fail(o, err.msg);
	else
		outgoing_connect(o);
}

static void outgoing_try(struct outgoing *o)
{
	struct dns_result found;
	loop_timer_in(o->loop, &o->timer, o->options.connect_us);
	if (!o->name) {
		outgoing_connect(o);
	} else if (dns_lookup(o->dns, str_of(o->name), DNS_ANY, &o->wait, &found) == 0) {
		on_found(o, &found);
	} else {
		o->resolving = true;
	}
}

static void on_timer(void *ctx)
{
	struct outgoing *o = ctx;
	if (o->resolving)
		outgoing_fail(o, "no name server has answered in time");
	else if (o->fd >= 0)
		outgoing_fail(o, "the peer did not accept in time");
	else
		outgoing_try(o);
}

static void outgoing_bury(void *ctx)
{
	struct outgoing *o = ctx;
	dns_free(&o->dns);
	policy_free(&o->policy);
	mem_free(&o->name);
	mem_free(&o);
}

/* Whether the text is a name and a port. A name does not end in a number: that is an address with
 * a mistake in it. */
static bool is_name_and_port(struct str text, struct str *ret_name, uint16_t *ret_port)
{
	const char *colon = text.n ? memrchr(text.p, ':', text.n) : NULL;
	uint64_t number;
	if (!colon)
		return false;
	struct str name = str_range(text.p, colon), port = str_range(colon + 1, text.p + text.n);
	bool letters = false; /* in the last label */
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (!ascii_is_alnum(c) && c != '-' && c != '.' && c != '_')
			return false;
		letters = (letters && c != '.') || ascii_is_letter(c);
	}
	if (!letters || name.n > 253 || !str_u64(port, &number) || number == 0 ||
	    number > UINT16_MAX)
		return false;
	*ret_name = name;
	*ret_port = (uint16_t)number;
	return true;
}

static int resolver_open(struct outgoing *o, struct err *err)
{
	static const char *const all[] = {"0.0.0.0/0", "::/0"};
	static const struct dns_conf usual = {
		.timeout_us = 3 * US_PER_S, .tries = 3, .ttl_max_us = US_PER_S};
	const struct value_list networks = {all, ARRAY_LEN(all)};
	struct dns_conf conf = o->options.dns ? *o->options.dns : usual;
	conf.at_once = 1;
	conf.entries = 0; /* each try asks */
	conf.bytes = 64 << 10;
	if (policy_new(&o->policy, &networks, err) < 0 ||
	    dns_new(&o->dns, o->loop, &conf, o->policy, err) < 0)
		return -1;
	return 0;
}

static int outgoing_where(struct outgoing *o, struct err *err)
{
	struct str name;
	if (!is_name_and_port(str_of(o->options.address), &name, &o->port))
		return listen_address(o->options.address, &o->to, &o->to_len, err);
	o->name = mem_copy(name.p, name.n + 1);
	o->name[name.n] = 0;
	return resolver_open(o, err);
}

int outgoing_may_connect(const char *address, const char *others, const struct tls *tls,
			 struct err *err)
{
	struct sockaddr_storage to;
	socklen_t n;
	struct str name;
	uint16_t port;
	if (is_name_and_port(str_of(address), &name, &port))
		return 0;
	if (!address[0])
		return err_set(err, ERR_USAGE, NOT_TOLD);
	if (listen_address(address, &to, &n, err) < 0)
		return str_starts(str_of(address), STR("unix:"))
			       ? -1
			       : err_set(err, ERR_USAGE,
					 "expected %sHOST:PORT such as 127.0.0.1:8189 or "
					 "[::1]:8189, or unix:PATH, got '%s'",
					 others, address);
	if (tls_trusts(tls, (const struct sockaddr *)&to, n))
		return 0;
	return err_set(err, ERR_USAGE, "%s: " NOT_TRUSTED, address);
}

int outgoing_new(struct outgoing **ret, struct conn_pool *pool,
		 const struct outgoing_options *options, struct err *err)
{
	struct outgoing *o = mem_alloc(sizeof *o);
	*o = (struct outgoing){.pool = pool,
			       .loop = conn_pool_loop(pool),
			       .options = *options,
			       .wait = {.done = on_found, .ctx = o},
			       .timer = {.fn = on_timer, .ctx = o},
			       .io = {.fn = on_ready, .ctx = o},
			       .bury = {.fn = outgoing_bury, .ctx = o},
			       .fd = -1};
	if (!o->options.connect_us)
		o->options.connect_us = CONNECT_US;
	if (!o->options.retry_min_us)
		o->options.retry_min_us = RETRY_MIN_US;
	if (!o->options.retry_max_us)
		o->options.retry_max_us = RETRY_MAX_US;
	if (outgoing_where(o, err) < 0) {
		outgoing_bury(o);
		return -1;
	}
	o->options.address = NULL;
	o->options.dns = NULL;
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

void outgoing_rest(struct outgoing *o, int64_t us)
{
	if (!o->conn)
		return;
	o->rest_us = us;
	conn_close(o->conn);
}

int outgoing_check(const char *address, struct err *err)
{
	struct sockaddr_storage to;
	socklen_t n;
	struct str name;
	uint16_t port;
	if (is_name_and_port(str_of(address), &name, &port))
		return 0;
	return address[0] ? listen_address(address, &to, &n, err)
			  : err_set(err, ERR_USAGE, NOT_TOLD);
}
