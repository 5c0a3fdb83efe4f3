/* The source of a botm, to which it stays connected. Each connection begins with everything that
 * the source must know: the botm, the machines below it, and every unacknowledged answer, in
 * order. */
#include "base/log.h"
#include "fetch/bot/botm_inner.h"

enum {
	HIGH_MARK = 1 << 20, /* of answers */
	/* A source that does not read while it has much to say would wait for us, as we for it: it
	 * is read on, for what it says makes answers fewer. What is said back is little, but for
	 * deletes without end. */
	READ_MARK = 16 << 20,
	QUEUE_MAX = 64 << 20,
};
#define RETRY_MIN_US (100 * US_PER_MS)
#define RETRY_MAX_US (2 * US_PER_S)

static void source_choke(struct botm *b, bool is_choked)
{
	if (is_choked == b->is_choked)
		return;
	b->is_choked = is_choked;
	botm_children_hold(b);
}

void botm_source_send(struct botm *b, const struct bot_message *m)
{
	if (!b->reader)
		return;
	buf_clear(&b->out);
	bot_message_print(m, &b->out);
	if (!conn_send(outgoing_conn(b->source), buf_str(&b->out)))
		source_choke(b, true);
}

/* The nodes below. */

void botm_tell_run(void *ctx)
{
	struct botm *b = ctx;
	struct bot_message m = {.kind = BOT_BOTM,
				.has = BOT_HAS_MACHINE | BOT_HAS_NODE | BOT_HAS_CAPACITY};
	uint64_t capacity = b->is_full ? 0 : MIN(b->capacity, (uint64_t)BOT_PARALLEL_MAX);
	if (!b->reader || b->is_choked || b->told_capacity == capacity)
		return;
	m.machine = b->keep.names ? str_of(b->o.machine) : STR("");
	m.node = str_of(b->node);
	m.capacity = capacity;
	botm_source_send(b, &m);
	b->told_capacity = capacity;
}

void botm_tell_soon(struct botm *b)
{
	loop_later(b->o.loop, &b->tell);
}

void botm_tell_route(struct botm *b, const struct botm_route *r, bool is_up)
{
	struct bot_message m = {.kind = BOT_MACHINE,
				.has = BOT_HAS_MACHINE | BOT_HAS_NODE | BOT_HAS_STATE,
				.machine = str_of(r->machine),
				.node = str_of(r->node),
				.is_up = is_up};
	botm_source_send(b, &m);
}

void botm_tell_deleted(struct botm *b, struct str id, enum bot_deletion how)
{
	struct bot_message m = {.kind = BOT_DELETED,
				.has = BOT_HAS_ID | BOT_HAS_DELETION,
				.id = id,
				.deletion = how};
	botm_source_send(b, &m);
}

void botm_source_pump(struct botm *b)
{
	while (b->reader && !b->is_choked && !list_is_empty(&b->unsent)) {
		struct botm_answer *a = LIST_FIRST(struct botm_answer, &b->unsent, link);
		list_remove(&a->link);
		list_append(&b->sent, &a->link);
		if (!conn_send(outgoing_conn(b->source), a->text))
			source_choke(b, true);
	}
}

/* Its messages. */

void botm_source_hold(struct botm *b, bool is_held)
{
	b->is_held = is_held;
	if (is_held)
		conn_pause(outgoing_conn(b->source));
	else
		conn_resume(outgoing_conn(b->source));
}

void botm_source_hang_up(struct botm *b, const char *why)
{
	if (b->is_left)
		return;
	b->is_left = b->told_away = true;
	log_warn(ROLE, "source disconnected", KV_TEXT("peer", b->o.source), KV_TEXT("why", why));
	xml_stream_stop(b->reader->xml);
	conn_close(outgoing_conn(b->source));
}

static void source_is_gone(struct botm *b)
{
	bot_reader_free(&b->reader);
	b->is_held = false;
	source_choke(b, false);
	botm_queue_forget(b);
	TABLE_EACH (botm_deletion_ids, slot, &b->deletions) {
		list_remove(&slot->value->link);
		mem_free(&slot->value);
	}
	botm_deletion_ids_clear(&b->deletions);
}

static void source_message(void *ctx, const struct bot_message *m)
{
	struct botm *b = ctx;
	switch (m->kind) {
	case BOT_FETCH:
		botm_take_fetch(b, m);
		return;
	case BOT_KEPT:
	case BOT_DROPPED:
		botm_take_verdict(b, m);
		return;
	case BOT_DELETE:
		botm_take_delete(b, m);
		return;
	case BOT_REFUSED:
		b->told_away = true;
		log_warn(ROLE, "source refused this botm", KV_TEXT("peer", b->o.source),
			 KV_STR("why", m->reason));
		xml_stream_stop(b->reader->xml);
		outgoing_rest(b->source, BOT_REFUSED_US);
		return;
	default:
		botm_source_hang_up(b, "the source says what only a botm may say");
	}
}

static void source_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	char why[BOT_REASON_MAX + 1];
	bot_error_print(err, line, column, why);
	botm_source_hang_up(ctx, why);
}

/* The connection. */

static void on_up(void *ctx, struct conn *c)
{
	static const struct bot_reader_ops ops = {source_message, source_error};
	struct botm *b = ctx;
	(void)c;
	b->reader = bot_reader_new(&ops, b);
	b->is_left = b->told_away = false;
	b->told_capacity = UINT64_MAX;
	botm_tell_run(b);
	TABLE_EACH (botm_route_ids, slot, &b->by_node)
		botm_tell_route(b, slot->value, true);
	while (!list_is_empty(&b->sent)) {
		struct link *last = b->sent.prev;
		list_remove(last);
		list_prepend(&b->unsent, last);
	}
	log_info(ROLE, "connected to the source", KV_TEXT("peer", b->o.source));
	botm_source_pump(b);
}

static void on_down(void *ctx, const char *why, int64_t retry_us)
{
	struct botm *b = ctx;
	if (b->reader)
		source_is_gone(b);
	if (b->told_away)
		return;
	b->told_away = true;
	log_info(ROLE, "source away; reconnecting", KV_TEXT("peer", b->o.source),
		 KV_TEXT("why", why), KV_DURATION("retry", retry_us));
}

static void on_bytes(void *ctx, struct str piece)
{
	struct botm *b = ctx;
	bot_reader_put(b->reader, piece);
}

static void on_drained(void *ctx)
{
	struct botm *b = ctx;
	source_choke(b, false);
	botm_tell_run(b);
	botm_source_pump(b);
}

int botm_source_open(struct botm *b, struct err *err)
{
	static const struct conn_ops ops = {.bytes = on_bytes, .drained = on_drained};
	b->source_limits = (struct conn_limits){
		.pieces = true,
		.high_mark = HIGH_MARK,
		.queue_max = QUEUE_MAX,
		.read_mark = READ_MARK,
	};
	const struct outgoing_options options = {
		.address = b->o.source,
		.dns = b->o.dns,
		.trusted = true,
		.retry_min_us = RETRY_MIN_US,
		.retry_max_us = RETRY_MAX_US,
		.limits = &b->source_limits,
		.tls = b->o.tls_source,
		.ops = &ops,
		.up = on_up,
		.down = on_down,
		.ctx = b,
	};
	b->pool = conn_pool_new(b->o.loop, (uint64_t)2 * QUEUE_MAX);
	return outgoing_new(&b->source, b->pool, &options, err);
}

void botm_source_close(struct botm *b)
{
	if (b->source)
		outgoing_free(&b->source);
	bot_reader_free(&b->reader);
	conn_pool_free(&b->pool);
}
