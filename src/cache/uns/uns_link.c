/* The supervisor keeps the queue manager's socket open while there is none, so a connection says
 * nothing; a message does. Until it has come the queue manager is away. */
#include "cache/uns/uns_link.h"

#include "cache/uns/link_wire.h"
#include "net/outgoing.h"

#include <inttypes.h>
#include <stdio.h>

#define GREETING_US (2 * US_PER_S)
#define CONNECT_US (2 * US_PER_S)
#define RETRY_MIN_US (250 * US_PER_MS)
#define RETRY_MAX_US (5 * US_PER_S)

struct uns_link {
	struct uns_link_options o;
	struct outgoing *out;
	struct conn *conn; /* NULL: not up */
	struct loop_timer greeting;
	bool is_here;
	char why[128]; /* that it was dropped; "": it was not */
};

static const struct conn_limits limits = {
	.messages = &link_of_qm,
	.high_mark = 2 << 20,
	.queue_max = 64 << 20,
	.read_mark = 64 << 20, /* answers are small */
};

void uns_link_drop(struct uns_link *l, const char *why)
{
	snprintf(l->why, sizeof l->why, "%s", why);
	outgoing_rest(l->out, RETRY_MIN_US);
}

static void greeting_missed(void *ctx)
{
	uns_link_drop(ctx, "nobody answers there");
}

static void on_up(void *ctx, struct conn *c)
{
	struct uns_link *l = ctx;
	l->conn = c;
	l->why[0] = '\0';
	loop_timer_in(conn_pool_loop(l->o.pool), &l->greeting, GREETING_US);
}

static void on_down(void *ctx, const char *why, int64_t retry_us)
{
	struct uns_link *l = ctx;
	(void)retry_us;
	loop_timer_stop(&l->greeting);
	l->conn = NULL;
	l->is_here = false;
	l->o.away(l->o.ctx, l->why[0] ? l->why : why);
	l->why[0] = '\0';
}

static void say_hello(struct uns_link *l)
{
	const struct link_message hello = {.name = str_of(l->o.name)};
	CLEANUP(buf_free) struct buf out = BUF_INIT(LINK_SMALL_MAX);
	loop_timer_stop(&l->greeting);
	message_write(&link_of_uns, LINK_UNS, &hello, &out);
	conn_send(l->conn, buf_str(&out));
	l->is_here = true;
	l->o.here(l->o.ctx);
}

static void greet(struct uns_link *l, uint64_t version)
{
	char why[sizeof l->why];
	if (version == LINK_VERSION) {
		say_hello(l);
		return;
	}
	snprintf(why, sizeof why, "it speaks version %" PRIu64 " of this protocol, expected %d",
		 version, LINK_VERSION);
	uns_link_drop(l, why);
}

static void on_message(void *ctx, struct str bytes)
{
	struct uns_link *l = ctx;
	struct link_message said;
	struct err err;
	int kind;
	if (l->why[0])
		return; /* it is ending */
	if (message_read(&link_of_qm, bytes, &kind, &said, &err) < 0)
		uns_link_drop(l, "it speaks another language");
	else if (kind == LINK_BUSY)
		uns_link_drop(l, "its queue is full");
	else if (kind == LINK_QM && !l->is_here)
		greet(l, said.version);
	else if (kind == LINK_HAVE && l->is_here)
		l->o.answer(l->o.ctx, said.number, 0, STR(""));
	else if (kind == LINK_REFUSED && l->is_here)
		l->o.answer(l->o.ctx, said.number, said.code, said.text);
	else
		uns_link_drop(l, "it says what it may not");
}

static void on_drained(void *ctx)
{
	struct uns_link *l = ctx;
	if (l->is_here && !l->why[0])
		l->o.room(l->o.ctx);
}

int uns_link_new(struct uns_link **ret, const struct uns_link_options *options, struct err *err)
{
	static const struct conn_ops ops = {.line = on_message, .drained = on_drained};
	struct uns_link *l = mem_alloc(sizeof *l);
	l->o = *options;
	l->greeting = (struct loop_timer){.fn = greeting_missed, .ctx = l};
	const struct outgoing_options out = {
		.address = options->address,
		.dns = options->dns,
		.trusted = true,
		.connect_us = CONNECT_US,
		.retry_min_us = RETRY_MIN_US,
		.retry_max_us = RETRY_MAX_US,
		.limits = &limits,
		.tls = options->tls,
		.ops = &ops,
		.up = on_up,
		.down = on_down,
		.ctx = l,
	};
	if (outgoing_new(&l->out, options->pool, &out, err) < 0) {
		mem_free(&l);
		return -1;
	}
	*ret = l;
	return 0;
}

void uns_link_free(struct uns_link **lp)
{
	struct uns_link *l = *lp;
	if (!l)
		return;
	loop_timer_stop(&l->greeting);
	outgoing_free(&l->out);
	mem_free(lp);
}

bool uns_link_is_here(const struct uns_link *l)
{
	return l && l->is_here && !l->why[0];
}

bool uns_link_send(struct uns_link *l, struct str bytes)
{
	return conn_send(l->conn, bytes);
}
