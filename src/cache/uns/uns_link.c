/* The connection of uns_out.h to the queue manager (doc/protocols/cache-link.md): kept up, greeted,
 * messages read. The supervisor keeps the queue manager's socket open while there is none, so a
 * connection says nothing; a message does. Until it has come the queue manager is away. */
#include "cache/uns/uns_out_inner.h"
#include "fetch/robot.h"

#include <inttypes.h>
#include <stdio.h>

#define GREETING_US (2 * US_PER_S)
#define CONNECT_US (2 * US_PER_S)
#define RETRY_MIN_US (250 * US_PER_MS)
#define RETRY_MAX_US (5 * US_PER_S)

static const struct conn_limits limits = {
	.messages = &link_of_qm,
	.high_mark = 2 << 20,
	.queue_max = 64 << 20,
	.read_mark = 64 << 20, /* answers are small */
};

bool uns_out_is_here(const struct uns_out *o)
{
	return o->is_here && !o->why_dropped[0];
}

void uns_out_drop(struct uns_out *o, const char *why)
{
	snprintf(o->why_dropped, sizeof o->why_dropped, "%s", why);
	outgoing_rest(o->link, RETRY_MIN_US);
}

static void greeting_missed(void *ctx)
{
	uns_out_drop(ctx, "nobody answers there");
}

static void on_up(void *ctx, struct conn *c)
{
	struct uns_out *o = ctx;
	o->conn = c;
	o->why_dropped[0] = '\0';
	loop_timer_in(o->u->role.loop, &o->greeting, GREETING_US);
}

static void on_down(void *ctx, const char *why, int64_t retry_us)
{
	struct uns_out *o = ctx;
	(void)retry_us;
	loop_timer_stop(&o->greeting);
	o->conn = NULL;
	o->is_here = false;
	uns_out_on_away(o, o->why_dropped[0] ? o->why_dropped : why);
	o->why_dropped[0] = '\0';
}

static void say_hello(struct uns_out *o)
{
	const struct link_message hello = {.name = str_of(o->number.name)};
	CLEANUP(buf_free) struct buf out = BUF_INIT(LINK_SMALL_MAX);
	loop_timer_stop(&o->greeting);
	message_write(&link_of_uns, LINK_UNS, &hello, &out);
	conn_send(o->conn, buf_str(&out));
	o->is_here = true;
	uns_out_on_here(o);
}

static void greeting_take(struct uns_out *o, uint64_t version)
{
	char why[sizeof o->why_dropped];
	if (version == LINK_VERSION) {
		say_hello(o);
		return;
	}
	snprintf(why, sizeof why, "it speaks version %" PRIu64 " of this protocol, expected %d",
		 version, LINK_VERSION);
	uns_out_drop(o, why);
}

static void on_message(void *ctx, struct str bytes)
{
	struct uns_out *o = ctx;
	struct link_message said;
	struct err err;
	int kind;
	if (o->why_dropped[0])
		return; /* it is ending */
	if (message_read(&link_of_qm, bytes, &kind, &said, &err) < 0)
		uns_out_drop(o, "it speaks another language");
	else if (kind == LINK_BUSY)
		uns_out_drop(o, "its queue is full");
	else if (kind == LINK_QM && !o->is_here)
		greeting_take(o, said.version);
	else if (kind == LINK_HAVE && o->is_here)
		uns_out_on_answer(o, said.number, 0, STR(""));
	else if (kind == LINK_REFUSED && o->is_here)
		uns_out_on_answer(o, said.number, said.code, said.text);
	else
		uns_out_drop(o, "it says what it may not");
}

static void on_drained(void *ctx)
{
	struct uns_out *o = ctx;
	if (uns_out_is_here(o))
		uns_out_on_room(o);
}

int uns_out_connect(struct uns_out *o, struct err *err)
{
	static const struct conn_ops ops = {.line = on_message, .drained = on_drained};
	const struct robot_section_conf *robot = config_get(o->u->role.env->config, &robot_section);
	const struct outgoing_options out = {
		.address = o->u->conf->qm,
		.dns = &robot->dns,
		.trusted = true,
		.connect_us = CONNECT_US,
		.retry_min_us = RETRY_MIN_US,
		.retry_max_us = RETRY_MAX_US,
		.limits = &limits,
		.tls = o->u->role.tls_out,
		.ops = &ops,
		.up = on_up,
		.down = on_down,
		.ctx = o,
	};
	o->greeting = (struct loop_timer){.fn = greeting_missed, .ctx = o};
	return outgoing_new(&o->link, o->u->conns, &out, err);
}
