/* The provider's side of a session, on the loop: net/conn.h reads and writes in turn, so that
 * neither side waits for the other to read. The server binds no prefix of its own but uses ours, so
 * the reader of its answers is told ours first, by a message that we put into it ourselves. */
#include "cache/lococa_client.h"

#include "base/hash.h"
#include "cache/cache_conf.h"
#include "net/outgoing.h"
#include "net/xml.h"

#include <stdio.h>

#define SEED "<lococa:bind xmlns:lococa=\"" CACHE_NAMESPACE "\"/>"

enum {
	TEXT_MOST = 1024,
	INIT_MOST = 4096,
	TRIES_MOST = 3, /* of connecting */
	ROWS_MOST = 256 << 10,
	MEMORY_MOST = 64 << 20, /* of all that init_accepted says */
	NAMES_MOST = 256,       /* of elements and attributes, in all answers */
};

enum lococa_phase { PHASE_INIT, PHASE_ASKED, PHASE_SENDING, PHASE_SENT, PHASE_DONE };

struct lococa_client {
	struct lococa_client_options o;
	struct conn_limits limits;
	struct outgoing *outgoing;
	struct conn *conn;
	struct xml_stream *xml;
	enum lococa_phase phase;
	unsigned tries; /* that did not reach anyone */
	struct arena arena;
	struct lococa_info info;
	size_t mime_room, fault_room;
	struct buf text;           /* of the element that is being read */
	struct arena row;          /* of the fault that is being read */
	struct lococa_fault fault; /* slices in row, or in arena */
	bool passes_over;          /* it is not kept */
	uint64_t name[NAMES_MOST]; /* hashes */
	size_t names;
	struct lococa_end end; /* how far it is known */
};

static const struct conn_limits limits = {
	.pieces = true,
	.high_mark = 256 << 10,
	.queue_max = 4 << 20,
	.read_mark = 4 << 20, /* answers are read however much waits to be sent */
	.idle_us = 0,
};

static const struct xml_limits xml_limits = {
	.depth = 8,
	.attrs = 64,
	.token_max = 128 << 10,
	.message_max = SIZE_MAX / 2, /* nothing is held of it but what is bounded here */
	.bindings = 8,
};

static void client_end(struct lococa_client *c, const struct lococa_end *end)
{
	if (c->phase == PHASE_DONE)
		return;
	c->phase = PHASE_DONE;
	if (c->conn)
		conn_finish(c->conn);
	c->o.ops->ended(c->o.ctx, end);
}

static void client_broken(struct lococa_client *c, struct str why)
{
	client_end(c, &(struct lococa_end){.how = LOCOCA_BROKEN, .text = why});
}

/* Answers */

static uint64_t number_attr(const struct xml_tag *tag, const char *name)
{
	uint64_t v = 0;
	return str_u64(xml_attr(tag, name, NULL), &v) ? v : 0;
}

static unsigned code_attr(const struct xml_tag *tag)
{
	return (unsigned)MIN(number_attr(tag, "code"), (uint64_t)9999);
}

/* Whatever a server repeats, what is kept of it is bounded. */
static bool is_much(const struct lococa_client *c)
{
	return c->info.faults == LOCOCA_FAULTS || c->arena.used > MEMORY_MOST / 2;
}

static void fault_begin(struct lococa_client *c, const struct xml_tag *tag)
{
	struct arena *a = c->phase == PHASE_INIT ? &c->arena : &c->row;
	if (a == &c->row)
		arena_clear(a);
	c->fault = (struct lococa_fault){.code = code_attr(tag)};
	c->passes_over = a == &c->arena && is_much(c);
	if (c->passes_over)
		return;
	c->fault.url = arena_str(a, xml_attr(tag, "url", NULL));
	c->fault.c = arena_str(a, xml_attr(tag, "c", NULL));
	c->fault.mime = arena_str(a, xml_attr(tag, "mime", NULL));
	c->fault.at = arena_str(a, xml_attr(tag, "at", NULL));
}

static void fault_end(struct lococa_client *c)
{
	if (c->phase != PHASE_INIT) {
		c->fault.text = buf_str(&c->text);
		c->o.ops->fault(c->o.ctx, &c->fault);
	} else if (!c->passes_over) {
		c->fault.text = arena_str(&c->arena, buf_str(&c->text));
		*ARENA_PUSH(&c->arena, c->info.fault, c->info.faults, c->fault_room) = c->fault;
	}
}

static void info_element(struct lococa_client *c, const struct xml_tag *tag)
{
	struct lococa_info *i = &c->info;
	if (is_much(c))
		return;
	if (str_is(tag->name, "connect_info")) {
		i->seq = number_attr(tag, "seq");
		i->last_address = arena_str(&c->arena, xml_attr(tag, "lastConnectIP", NULL));
	} else if (str_is(tag->name, "files")) {
		i->files_used = number_attr(tag, "used");
		i->files_free = number_attr(tag, "free");
	} else if (str_is(tag->name, "space")) {
		i->space_used = number_attr(tag, "used");
		i->space_free = number_attr(tag, "free");
	} else if (str_is(tag->name, "fullset")) {
		i->fullsets = number_attr(tag, "allowed");
		i->wanted = str_is(xml_attr(tag, "wanted", NULL), "yes");
		i->reason = arena_str(&c->arena, xml_attr(tag, "reason", NULL));
	} else if (str_is(tag->name, "processing_status")) {
		i->errors = number_attr(tag, "errors");
		i->processing = number_attr(tag, "processing");
	}
}

static bool name_learn(struct lococa_client *c, struct str name)
{
	uint64_t hash = hash64(name);
	for (size_t i = 0; i < c->names; i++)
		if (c->name[i] == hash)
			return true;
	if (c->names == NAMES_MOST)
		return false;
	c->name[c->names++] = hash;
	return true;
}

/* expat keeps each name until the end of the message, which a server may never come to. */
static bool names_learn(struct lococa_client *c, const struct xml_tag *tag)
{
	bool known = name_learn(c, tag->name);
	for (size_t i = 0; i < tag->n && known; i++)
		known = name_learn(c, tag->attr[i].name);
	return known;
}

/* The message itself: only what may be said here. */
static void message_begin(struct lococa_client *c, const struct xml_tag *tag)
{
	bool at_init = c->phase == PHASE_INIT;
	bool at_set = c->phase == PHASE_SENDING || c->phase == PHASE_SENT;
	c->end = (struct lococa_end){.how = LOCOCA_INIT_REJECTED, .code = code_attr(tag)};
	if (!str_is(tag->uri, CACHE_NAMESPACE) ||
	    !((at_init && str_is(tag->name, "init_accepted")) ||
	      (at_init && str_is(tag->name, "init_rejected")) ||
	      (at_set && str_is(tag->name, "set_result")) || str_is(tag->name, "error")))
		xml_stream_refuse(c->xml, "that is not an answer to what was said");
}

static void answer_start(void *ctx, const struct xml_tag *tag)
{
	struct lococa_client *c = ctx;
	buf_clear(&c->text);
	if (tag->depth == 0 && str_is(tag->name, "bind"))
		return;
	if (!names_learn(c, tag))
		xml_stream_refuse(c->xml, "too many different names");
	else if (tag->depth == 0)
		message_begin(c, tag);
	else if (str_is(tag->name, "url"))
		fault_begin(c, tag);
	else if (str_is(tag->name, "reason"))
		c->end = (struct lococa_end){LOCOCA_INIT_REJECTED, code_attr(tag), 0, 0, {0}};
	else if (str_is(tag->name, "set_rejected"))
		c->end = (struct lococa_end){LOCOCA_SET_REJECTED, code_attr(tag), 0, 0, {0}};
	else if (str_is(tag->name, "set_accepted"))
		c->end = (struct lococa_end){.how = LOCOCA_ACCEPTED,
					     .received = number_attr(tag, "received"),
					     .set = number_attr(tag, "set")};
	else if (c->phase == PHASE_INIT)
		info_element(c, tag);
}

static void answer_text(void *ctx, struct str text)
{
	struct lococa_client *c = ctx;
	buf_add_str(&c->text, str_utf8_head(text, TEXT_MOST - c->text.n));
}

/* At its own end tag, since a set that was rejected need not be sent to its end. */
static void client_ending(struct lococa_client *c)
{
	struct str text = str_trim(buf_str(&c->text));
	c->end.text = text.n ? text : str_of(cache_code_text(c->end.code));
	client_end(c, &c->end);
	xml_stream_stop(c->xml);
}

static void message_end(struct lococa_client *c, const struct xml_tag *tag)
{
	if (str_is(tag->name, "init_accepted")) {
		c->phase = PHASE_ASKED;
		c->o.ops->accepted(c->o.ctx, &c->info);
	} else if (str_is(tag->name, "error")) {
		client_ending(c);
	} else {
		client_broken(c, STR("an answer without a result"));
		xml_stream_stop(c->xml);
	}
}

static void answer_end(void *ctx, const struct xml_tag *tag)
{
	struct lococa_client *c = ctx;
	if (tag->depth == 0 && str_is(tag->name, "bind"))
		return;
	if (tag->depth == 0)
		message_end(c, tag);
	else if (str_is(tag->name, "url"))
		fault_end(c);
	else if (str_is(tag->name, "mime") && c->info.mimes < LOCOCA_MIMES)
		*ARENA_PUSH(&c->arena, c->info.mime, c->info.mimes, c->mime_room) =
			arena_str(&c->arena, str_trim(buf_str(&c->text)));
	else if (str_is(tag->name, "reason") || str_is(tag->name, "set_rejected") ||
		 (str_is(tag->name, "set_accepted") && c->phase == PHASE_SENT))
		client_ending(c);
	buf_clear(&c->text);
}

static void answer_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	struct lococa_client *c = ctx;
	char text[640];
	snprintf(text, sizeof text, "an answer that cannot be read: line %llu, column %llu: %s",
		 (unsigned long long)line, (unsigned long long)column, err->msg);
	client_broken(c, str_of(text));
}

static const struct xml_ops xml_ops = {
	.start = answer_start,
	.text = answer_text,
	.end = answer_end,
	.error = answer_error,
};

/* The connection */

static void client_bytes(void *ctx, struct str piece)
{
	lococa_client_hear(ctx, piece);
}

static void client_pump(struct lococa_client *c)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(ROWS_MOST);
	bool more = true;
	while (c->phase == PHASE_SENDING && c->conn && more) {
		bool is_last = !c->o.ops->rows(c->o.ctx, &out);
		ENSURE(!out.over);
		more = conn_send(c->conn, buf_str(&out));
		buf_clear(&out);
		if (is_last) {
			c->phase = PHASE_SENT;
			conn_send(c->conn, STR("</lococa:set>\n"));
		}
	}
}

static void client_drained(void *ctx)
{
	client_pump(ctx);
}

static void client_up(void *ctx, struct conn *conn)
{
	struct lococa_client *c = ctx;
	CLEANUP(buf_free) struct buf out = BUF_INIT(INIT_MOST);
	if (c->phase != PHASE_INIT || c->tries == TRIES_MOST) {
		conn_close(conn);
		return;
	}
	c->conn = conn;
	c->tries = TRIES_MOST;
	buf_add_text(&out, "<lococa:init xmlns:lococa=\"" CACHE_NAMESPACE "\">\n  <provider");
	xml_add_number(&out, "id", c->o.provider);
	xml_add_attr(&out, "passwd", c->o.password);
	buf_add_text(&out, "/>\n</lococa:init>\n");
	conn_send(conn, buf_str(&out));
	explicit_bzero(out.p, out.n);
}

/* The first connection is the only one; until then each address of a name has its turn. */
static void client_down(void *ctx, const char *why, int64_t retry_us)
{
	struct lococa_client *c = ctx;
	(void)retry_us;
	if (!c->conn && ++c->tries < TRIES_MOST)
		return;
	c->conn = NULL;
	c->tries = TRIES_MOST;
	client_broken(c, str_of(why));
}

static const struct conn_ops conn_ops = {
	.bytes = client_bytes,
	.drained = client_drained,
};

int lococa_client_new(struct lococa_client **ret, struct conn_pool *pool,
		      const struct lococa_client_options *options, struct err *err)
{
	struct lococa_client *c = mem_alloc(sizeof *c);
	const struct outgoing_options out = {
		.address = options->address,
		.trusted = !options->plain,
		.retry_min_us = 20 * US_PER_MS,
		.retry_max_us = 100 * US_PER_MS,
		.limits = &c->limits,
		.tls = options->tls,
		.ops = &conn_ops,
		.up = client_up,
		.down = client_down,
		.ctx = c,
	};
	*c = (struct lococa_client){
		.o = *options,
		.limits = limits,
		.arena = ARENA_INIT(MEMORY_MOST),
		.row = ARENA_INIT(1 << 20),
		.text = BUF_INIT(TEXT_MOST + 1),
	};
	c->limits.idle_us = options->timeout_us;
	c->xml = xml_stream_new(&xml_limits, &xml_ops, c);
	ENSURE(xml_stream_put(c->xml, STR(SEED)) == 0);
	if (outgoing_new(&c->outgoing, pool, &out, err) < 0) {
		lococa_client_free(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void lococa_client_free(struct lococa_client **client)
{
	struct lococa_client *c = *client;
	if (!c)
		return;
	outgoing_free(&c->outgoing);
	xml_stream_free(&c->xml);
	arena_free(&c->arena);
	arena_free(&c->row);
	buf_free(&c->text);
	mem_free(client);
}

void lococa_client_set(struct lococa_client *c, bool full, bool empty)
{
	if (c->phase != PHASE_ASKED)
		return;
	c->phase = c->conn ? PHASE_SENDING : PHASE_SENT;
	if (!c->conn)
		return;
	conn_printf(c->conn, "<lococa:set set=\"%s\"%s>\n", full ? "full" : "partial",
		    empty ? " empty=\"yes\"" : "");
	client_pump(c);
}

void lococa_client_hear(struct lococa_client *c, struct str bytes)
{
	if (c->phase != PHASE_DONE)
		(void)!xml_stream_put(c->xml, bytes);
}

void lococa_client_quit(struct lococa_client *c)
{
	client_end(c, &(struct lococa_end){.how = LOCOCA_QUIT});
}
