/* A source: the fetches that are out, and the one botm that has them. There is a list of fetches
 * that this botm has, and one of those to be sent to it, first of all the ones that an earlier
 * connection had. */
#include "fetch/botsource.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/log.h"
#include "base/table.h"

/* A fetch that is out. */
struct asked {
	struct link link;
	bool is_sent;
	struct str id, text; /* in this block */
};

/* A delete, sent or to be sent. */
struct doomed {
	struct link link; /* of the deletes to be sent; in no list: it was sent */
	char id[BOT_ID_MAX + 1], machine[BOT_ID_MAX + 1], file[BOT_FILE_MAX + 1];
};

enum { DOOMED_AT_ONCE = 1000 }; /* deletes that a botm has */

TABLE(asked_ids, struct str, struct asked *, hash64, str_eq)
TABLE(doomed_ids, struct str, struct doomed *, hash64, str_eq)
TABLE(machine_ids, struct str, char *, hash64, str_eq) /* by node: the machine; both owned */

/* Of a connection. */
struct botm_state {
	struct botsource *s;
	struct session *session;
	struct link link; /* of all */
	struct bot_reader *reader;
	int64_t heard_us;
	bool is_refused;
};

struct botsource {
	struct botsource_options o;
	struct server_limits limits;
	struct server *server;
	struct link sessions;
	struct session *botm; /* NULL: none */
	char node[BOT_ID_MAX + 1];
	uint64_t capacity;
	bool is_choked;
	struct link unsent, sent;
	uint64_t nsent;
	struct asked_ids asked;
	struct doomed_ids doomed;
	struct link unsaid; /* of those */
	uint64_t nunsaid;
	struct machine_ids machines;
	struct loop_later room, absent;
	struct loop_timer check;
	struct buf out;
};

static uint64_t source_limit(const struct botsource *s)
{
	return s->capacity + s->capacity * s->o.overload / 100;
}

static void source_send(struct botsource *s, const struct bot_message *m)
{
	if (!s->botm)
		return;
	buf_clear(&s->out);
	bot_message_print(m, &s->out);
	s->is_choked = !conn_send(session_conn(s->botm), buf_str(&s->out)) || s->is_choked;
}

/* Fetches. */

static void source_pump(struct botsource *s)
{
	while (s->botm && !s->is_choked && s->nsent < source_limit(s) &&
	       !list_is_empty(&s->unsent)) {
		struct asked *a = LIST_FIRST(struct asked, &s->unsent, link);
		list_remove(&a->link);
		list_append(&s->sent, &a->link);
		a->is_sent = true;
		s->nsent++;
		s->is_choked = !conn_send(session_conn(s->botm), a->text);
	}
}

uint64_t botsource_room(const struct botsource *s)
{
	uint64_t most = source_limit(s), out = asked_ids_count(&s->asked);
	return s->botm && !s->is_choked && out < most ? most - out : 0;
}

static bool has_room(const struct botsource *s)
{
	return botsource_room(s) > 0;
}

static void room_run(void *ctx)
{
	struct botsource *s = ctx;
	if (has_room(s))
		s->o.ops->room(s->o.ctx);
}

static void room_soon(struct botsource *s)
{
	source_pump(s);
	if (has_room(s))
		loop_later(s->o.loop, &s->room);
}

int botsource_submit(struct botsource *s, const struct bot_message *fetch)
{
	if (asked_ids_get(&s->asked, fetch->id))
		return 2;
	if (!has_room(s))
		return 1;
	buf_clear(&s->out);
	bot_message_print(fetch, &s->out);
	struct asked *a = mem_alloc(sizeof *a + fetch->id.n + s->out.n);
	char *block = (char *)(a + 1);
	memcpy(block, fetch->id.p, fetch->id.n);
	memcpy(block + fetch->id.n, s->out.p, s->out.n);
	a->id = (struct str){block, fetch->id.n};
	a->text = (struct str){block + fetch->id.n, s->out.n};
	*asked_ids_put(&s->asked, a->id) = a;
	list_append(&s->unsent, &a->link);
	source_pump(s);
	return 0;
}

static void asked_free(struct botsource *s, struct asked *a)
{
	s->nsent -= a->is_sent;
	list_remove(&a->link);
	asked_ids_remove(&s->asked, a->id);
	mem_free(&a);
}

void botsource_verdict(struct botsource *s, const struct bot_message *answer, bool is_kept)
{
	struct bot_message m = {.kind = is_kept ? BOT_KEPT : BOT_DROPPED,
				.has = BOT_HAS_ID |
				       (answer->has & (BOT_HAS_MACHINE | BOT_HAS_FILE)),
				.id = answer->id,
				.machine = answer->machine,
				.file = answer->file};
	source_send(s, &m);
}

static void hear_fetched(struct botsource *s, const struct bot_message *m)
{
	struct asked **a = asked_ids_get(&s->asked, m->id);
	if (!a) {
		s->o.ops->repeated(s->o.ctx, m);
		return;
	}
	asked_free(s, *a);
	s->o.ops->answered(s->o.ctx, m);
	room_soon(s);
}

/* Deletes. */

static void deletes_pump(struct botsource *s)
{
	while (s->botm && !s->is_choked && !list_is_empty(&s->unsaid) &&
	       doomed_ids_count(&s->doomed) - s->nunsaid < DOOMED_AT_ONCE) {
		struct doomed *d = LIST_FIRST(struct doomed, &s->unsaid, link);
		const struct bot_message m = {.kind = BOT_DELETE,
					      .has = BOT_HAS_ID | BOT_HAS_MACHINE | BOT_HAS_FILE,
					      .id = str_of(d->id),
					      .machine = str_of(d->machine),
					      .file = str_of(d->file)};
		list_remove(&d->link);
		s->nunsaid--;
		source_send(s, &m);
	}
}

void botsource_delete(struct botsource *s, struct str id, struct str machine, struct str file)
{
	ENSURE(id.n <= BOT_ID_MAX && machine.n <= BOT_ID_MAX && file.n <= BOT_FILE_MAX);
	if (doomed_ids_get(&s->doomed, id))
		return;
	struct doomed *d = mem_alloc(sizeof *d);
	memcpy(d->id, id.p, id.n);
	memcpy(d->machine, machine.n ? machine.p : "", machine.n);
	memcpy(d->file, file.n ? file.p : "", file.n);
	*doomed_ids_put(&s->doomed, str_of(d->id)) = d;
	list_append(&s->unsaid, &d->link);
	s->nunsaid++;
	if (s->botm)
		deletes_pump(s);
	else
		loop_later(s->o.loop, &s->absent);
}

static void deletes_end(void *ctx)
{
	struct botsource *s = ctx;
	struct doomed_ids ended = s->doomed;
	if (s->botm)
		return;
	s->doomed = (struct doomed_ids){0};
	list_init(&s->unsaid);
	s->nunsaid = 0;
	TABLE_EACH (doomed_ids, slot, &ended) {
		s->o.ops->deleted(s->o.ctx, str_of(slot->value->id), BOT_DELETED_ABSENT);
		mem_free(&slot->value);
	}
	doomed_ids_free(&ended);
}

static void hear_deleted(struct botsource *s, const struct bot_message *m)
{
	struct doomed **found = doomed_ids_get(&s->doomed, m->id);
	struct doomed *d = found ? *found : NULL;
	if (!d || list_has(&d->link))
		return; /* of an earlier process; or it was never asked */
	doomed_ids_remove(&s->doomed, str_of(d->id));
	s->o.ops->deleted(s->o.ctx, m->id, m->deletion);
	mem_free(&d);
	deletes_pump(s);
}

/* Machines. */

static void machine_tell(struct botsource *s, const char *machine, bool is_up)
{
	if (s->o.ops->machine && machine[0])
		s->o.ops->machine(s->o.ctx, str_of(machine), is_up);
}

static void machine_forget(struct botsource *s, struct machine_ids_slot *slot)
{
	char *node = (char *)slot->key.p, *machine = slot->value;
	machine_ids_remove(&s->machines, slot->key);
	machine_tell(s, machine, false);
	mem_free(&node);
	mem_free(&machine);
}

static void hear_machine(struct botsource *s, struct str node, struct str machine, bool is_up)
{
	enum { MACHINES_MOST = 100000 };
	struct machine_ids_slot *known = machine_ids_find(&s->machines, node, hash64(node));
	if (known && !is_up) {
		machine_forget(s, known);
	} else if (!known && is_up && machine_ids_count(&s->machines) < MACHINES_MOST) {
		char *text = str_dup(machine);
		*machine_ids_put(&s->machines, (struct str){str_dup(node), node.n}) = text;
		machine_tell(s, text, true);
	}
}

/* The botm. */

static void botm_is_gone(struct botsource *s)
{
	s->botm = NULL;
	s->capacity = 0;
	s->is_choked = false;
	while (!list_is_empty(&s->sent)) { /* the last first, so that the first is first again */
		struct asked *a = LIST_LAST(struct asked, &s->sent, link);
		a->is_sent = false;
		list_remove(&a->link);
		list_prepend(&s->unsent, &a->link);
	}
	s->nsent = 0;
	/* a botm that connects at once gets all of them; otherwise they end */
	TABLE_EACH (doomed_ids, slot, &s->doomed)
		if (!list_has(&slot->value->link)) {
			list_append(&s->unsaid, &slot->value->link);
			s->nunsaid++;
		}
	TABLE_EACH (machine_ids, slot, &s->machines)
		machine_forget(s, slot);
	loop_later(s->o.loop, &s->absent);
}

static void botm_refuse(struct session *session, const char *reason)
{
	struct botm_state *state = session_state(session);
	struct botsource *s = state->s;
	struct bot_message m = {.kind = BOT_REFUSED, .has = BOT_HAS_REASON};
	m.reason = str_utf8_head(str_of(reason), BOT_REASON_MAX);
	state->is_refused = true;
	if (s->botm == session)
		botm_is_gone(s);
	log_warn(ROLE, "botm refused", KV_TEXT("peer", session_peer(session)),
		 KV_TEXT("why", reason));
	buf_clear(&s->out);
	bot_message_print(&m, &s->out);
	conn_send(session_conn(session), buf_str(&s->out));
	xml_stream_stop(state->reader->xml);
	conn_finish(session_conn(session));
}

static void botm_meet(struct session *session, const struct bot_message *m)
{
	struct botm_state *state = session_state(session);
	struct botsource *s = state->s;
	if (s->botm && str_is(m->node, s->node)) { /* its old connection is dead */
		struct session *old = s->botm;
		xml_stream_stop(((struct botm_state *)session_state(old))->reader->xml);
		botm_is_gone(s);
		conn_close(session_conn(old));
	}
	if (s->botm) {
		botm_refuse(session, "another botm is connected to this source");
		return;
	}
	s->botm = session;
	memset(s->node, 0, sizeof s->node);
	memcpy(s->node, m->node.p, m->node.n);
	log_info(ROLE, "botm connected", KV_TEXT("peer", session_peer(session)));
}

static void on_message(void *ctx, const struct bot_message *m)
{
	struct session *session = ctx;
	struct botm_state *state = session_state(session);
	struct botsource *s = state->s;
	if (s->botm != session && m->kind == BOT_BOTM)
		botm_meet(session, m);
	if (state->is_refused)
		return;
	state->heard_us = loop_now_us(s->o.loop);
	if (s->botm != session) {
		botm_refuse(session, "the first word has to be <botm/>");
	} else if (m->kind == BOT_BOTM) {
		s->capacity = m->capacity;
		hear_machine(s, m->node, m->machine, true);
		deletes_pump(s);
		room_soon(s);
	} else if (m->kind == BOT_MACHINE) {
		hear_machine(s, m->node, m->machine, m->is_up);
	} else if (m->kind == BOT_FETCHED) {
		hear_fetched(s, m);
	} else if (m->kind == BOT_DELETED) {
		hear_deleted(s, m);
	} else {
		botm_refuse(session, "not a word for a source");
	}
}

static void on_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	char reason[BOT_REASON_MAX + 1];
	bot_error_print(err, line, column, reason);
	botm_refuse(ctx, reason);
}

static void on_opened(struct session *session)
{
	static const struct bot_reader_ops ops = {on_message, on_error};
	struct botm_state *state = session_state(session);
	struct botsource *s = server_ctx(session_server(session));
	state->s = s;
	state->session = session;
	state->heard_us = loop_now_us(s->o.loop);
	state->reader = bot_reader_new(&ops, session);
	list_append(&s->sessions, &state->link);
}

static void on_bytes(struct session *session, struct str piece)
{
	struct botm_state *state = session_state(session);
	bot_reader_put(state->reader, piece);
}

static void on_drained(struct session *session)
{
	struct botm_state *state = session_state(session);
	if (state->s->botm != session)
		return;
	state->s->is_choked = false;
	deletes_pump(state->s);
	room_soon(state->s);
}

static void on_closed(struct session *session, enum conn_end end)
{
	struct botm_state *state = session_state(session);
	if (state->s->botm == session) {
		log_info(ROLE, "botm disconnected", KV_TEXT("peer", session_peer(session)),
			 KV_TEXT("why", conn_end_text(end)));
		botm_is_gone(state->s);
	}
	list_remove(&state->link);
	bot_reader_free(&state->reader);
}

static void check_run(void *ctx)
{
	struct botsource *s = ctx;
	int64_t now_us = loop_now_us(s->o.loop), most_us = s->limits.idle_us;
	LIST_EACH (struct botm_state, state, &s->sessions, link)
		if (most_us && !state->is_refused && now_us - state->heard_us > most_us)
			botm_refuse(state->session, "silent for too long");
}

/* Beginning and end. */

struct botsource *botsource_new(const struct botsource_options *options)
{
	static const struct server_protocol protocol = {
		.name = "botm source",
		.words = BOT_SERVER_WORDS,
		.state_size = sizeof(struct botm_state),
		.opened = on_opened,
		.bytes = on_bytes,
		.drained = on_drained,
		.closed = on_closed,
	};
	struct botsource *s = mem_alloc(sizeof *s);
	s->o = *options;
	s->out = BUF_INIT((size_t)2 * BOT_MESSAGE_MAX);
	s->room = (struct loop_later){.fn = room_run, .ctx = s};
	s->absent = (struct loop_later){.fn = deletes_end, .ctx = s};
	s->check = (struct loop_timer){.fn = check_run, .ctx = s};
	list_init(&s->unsent);
	list_init(&s->sent);
	list_init(&s->unsaid);
	list_init(&s->sessions);
	s->limits = *options->limits;
	s->limits.queue_max = MAX(s->limits.queue_max, (uint64_t)BOT_QUEUE_MIN);
	s->server = server_new(s->o.loop, &protocol, &s->limits, s->o.tls, s);
	loop_timer_every(s->o.loop, &s->check,
			 s->limits.idle_us ? MIN(BOT_BEAT_US, s->limits.idle_us / 2 + 1)
					   : BOT_BEAT_US);
	return s;
}

int botsource_listen(struct botsource *s, int fd, struct err *err)
{
	return server_listen(s->server, fd, err);
}

void botsource_drain(struct botsource *s, int64_t within_us, void (*done)(void *ctx), void *ctx)
{
	server_drain(s->server, within_us, done, ctx);
}

void botsource_free(struct botsource **sp)
{
	struct botsource *s = *sp;
	if (!s)
		return;
	server_free(&s->server);
	loop_later_cancel(&s->room);
	loop_later_cancel(&s->absent);
	loop_timer_stop(&s->check);
	TABLE_EACH (asked_ids, slot, &s->asked)
		mem_free(&slot->value);
	TABLE_EACH (doomed_ids, slot, &s->doomed)
		mem_free(&slot->value);
	asked_ids_free(&s->asked);
	doomed_ids_free(&s->doomed);
	machine_ids_free(&s->machines);
	buf_free(&s->out);
	mem_free(sp);
}
