/* The clients of a botm: robots if it has a folder, otherwise botms. The first message says what
 * they are and their capacity; later ones change the capacity and show that they are alive.
 *
 * Claims of a robot are verified: it may only answer requests of this connection, and a file that
 * it says it stored must be there. A botm may also repeat answers that an earlier process of ours
 * asked for, but only for the machines below it.
 *
 * Every botm has a random number, its node. The nodes below a botm are announced upwards, so that
 * a ring is detected, and so is a botm that is connected twice. */
#include "base/log.h"
#include "fetch/bot/botm_inner.h"

#include <stdio.h>

static struct botm_child *child_of(struct session *s)
{
	return session_state(s);
}

/* Takes its jobs back before it is closed, since its answers are no longer read. */
static void child_leave(struct botm_child *c);

static void child_refuse(struct botm_child *c, const char *reason)
{
	struct bot_message m = {.kind = BOT_REFUSED, .has = BOT_HAS_REASON};
	if (c->is_gone)
		return;
	m.reason = str_utf8_head(str_of(reason), BOT_REASON_MAX);
	c->b->counts.refused++;
	log_info(ROLE, "fetcher refused", KV_TEXT("peer", session_peer(c->session)),
		 KV_TEXT("why", reason));
	botm_child_send(c, &m);
	xml_stream_stop(c->reader->xml);
	child_leave(c);
	conn_finish(session_conn(c->session));
}

/* Room for jobs. */

static uint64_t child_limit(const struct botm_child *c)
{
	if (c->b->keep.names)
		return c->capacity;
	return c->capacity + c->capacity * c->b->o.overload / 100;
}

void botm_child_ready(struct botm_child *c)
{
	bool has_room = c->is_met && !c->is_gone && !c->is_choked && c->pending < BOTM_BURST &&
			c->out < child_limit(c);
	if (has_room && !list_has(&c->ready))
		list_append(&c->b->ready, &c->ready);
	else if (!has_room)
		list_remove(&c->ready);
}

static void child_capacity(struct botm_child *c, uint64_t capacity)
{
	if (c->capacity == 0 && capacity > 0)
		botm_hosts_share(c->b);
	c->b->capacity += capacity - c->capacity;
	c->capacity = capacity;
	botm_child_ready(c);
	botm_tell_soon(c->b);
	botm_dispatch_soon(c->b);
}

void botm_child_send(struct botm_child *c, const struct bot_message *m)
{
	struct buf *out = &c->b->out;
	buf_clear(out);
	bot_message_print(m, out);
	if (!conn_send(session_conn(c->session), buf_str(out))) {
		c->is_choked = true;
		botm_child_ready(c);
	}
}

/* The nodes below. */

static void route_remove(struct botm *b, struct botm_route *r)
{
	botm_tell_route(b, r, false);
	list_remove(&r->link);
	botm_route_ids_remove(&b->by_node, str_of(r->node));
	if (r->machine[0])
		botm_route_ids_remove(&b->by_machine, str_of(r->machine));
	mem_free(&r);
}

/* Why not, or NULL. */
static const char *route_trouble(struct botm_child *c, const struct bot_message *m, char room[256])
{
	struct botm *b = c->b;
	struct botm_route **by_node = botm_route_ids_get(&b->by_node, m->node);
	struct botm_route **by_machine = botm_route_ids_get(&b->by_machine, m->machine);
	if (str_is(m->node, b->node))
		return "a ring: this botm is below itself";
	if (m->node.n == 0)
		return "a botm without a node";
	if (by_node && (*by_node)->child != c) {
		snprintf(room, 256, "the botm of machine '%s' is connected here already",
			 (*by_node)->machine);
		return room;
	}
	if (m->machine.n && by_machine && !str_is(m->node, (*by_machine)->node)) {
		snprintf(room, 256,
			 "machine '%s' is connected here already: another botm has "
			 "the same botm.machine",
			 (*by_machine)->machine);
		return room;
	}
	if (!by_node && botm_route_ids_count(&b->by_node) >= BOTM_ROUTES_MAX)
		return "too many botms";
	return NULL;
}

static void route_add(struct botm_child *c, const struct bot_message *m)
{
	char room[256];
	struct botm *b = c->b;
	const char *trouble = route_trouble(c, m, room);
	if (trouble) {
		child_refuse(c, trouble);
		return;
	}
	if (botm_route_ids_get(&b->by_node, m->node))
		return; /* said once more */
	struct botm_route *r = mem_alloc(sizeof *r);
	memcpy(r->machine, m->machine.p, m->machine.n);
	memcpy(r->node, m->node.p, m->node.n);
	r->child = c;
	list_append(&c->routes, &r->link);
	*botm_route_ids_put(&b->by_node, str_of(r->node)) = r;
	if (r->machine[0])
		*botm_route_ids_put(&b->by_machine, str_of(r->machine)) = r;
	botm_tell_route(b, r, true);
}

/* Coming and going. */

/* Robots need not wait: what they say is bounded by what they were asked. */
static bool are_held(const struct botm *b)
{
	return !b->keep.names && (b->is_full || b->is_choked);
}

/* While it is not read it is not silent. */
static void child_hold(struct botm_child *c)
{
	int64_t now_us = loop_now_us(c->b->o.loop);
	if (are_held(c->b) == (c->held_us != 0))
		return;
	if (c->held_us) {
		c->heard_us += now_us - c->held_us;
		c->held_us = 0;
		conn_resume(session_conn(c->session));
	} else {
		c->held_us = now_us;
		conn_pause(session_conn(c->session));
	}
}

void botm_children_hold(struct botm *b)
{
	if (b->keep.names)
		return;
	LIST_EACH (struct botm_child, c, &b->children, link)
		child_hold(c);
}

static void child_meet(struct botm_child *c)
{
	if (c->is_met || c->is_gone)
		return;
	c->is_met = true;
	c->b->counts.children++;
	log_info(ROLE, c->b->keep.names ? "robot connected" : "botm connected",
		 KV_TEXT("peer", session_peer(c->session)));
}

static void child_leave(struct botm_child *c)
{
	struct botm *b = c->b;
	if (c->is_gone)
		return;
	c->is_gone = true;
	list_remove(&c->link);
	botm_hosts_forget(b, c);
	while (!list_is_empty(&c->jobs)) /* the last first, so that the first is first again */
		botm_job_again(b, LIST_LAST(struct botm_job, &c->jobs, link));
	LIST_EACH (struct botm_deletion, d, &c->deletions, link) {
		botm_tell_deleted(b, str_of(d->id), BOT_DELETED_ABSENT);
		list_remove(&d->link);
		botm_deletion_ids_remove(&b->deletions, str_of(d->id));
		mem_free(&d);
	}
	botm_bounds_look(b);
	LIST_EACH (struct botm_route, r, &c->routes, link)
		route_remove(b, r);
	child_capacity(c, 0);
	b->counts.children -= c->is_met;
}

/* A botm whose connection was cut comes back before we notice: the old connection is dead. */
static void child_replace(struct botm_child *c, struct str node)
{
	struct botm_route **r = botm_route_ids_get(&c->b->by_node, node);
	struct botm_child *old = r ? (*r)->child : NULL;
	if (!old || old == c || !str_is(node, old->node))
		return;
	child_leave(old);
	xml_stream_stop(old->reader->xml);
	conn_close(session_conn(old->session));
}

/* Their messages. */

static void hear_robot(struct botm_child *c, const struct bot_message *m)
{
	if (!c->b->keep.names) {
		child_refuse(c, "this botm has no folder: botms connect to it, robots to a botm "
				"with a folder");
		return;
	}
	child_meet(c);
	child_capacity(c, m->parallel);
}

static void hear_botm(struct botm_child *c, const struct bot_message *m)
{
	if (c->b->keep.names) {
		child_refuse(c, "this botm has a folder: robots connect to it, botms to a botm "
				"without one");
		return;
	}
	if (!c->is_met) {
		child_replace(c, m->node);
		memcpy(c->node, m->node.p, m->node.n);
	}
	route_add(c, m);
	child_meet(c);
	if (!c->is_gone)
		child_capacity(c, m->capacity);
}

static void hear_machine(struct botm_child *c, const struct bot_message *m)
{
	struct botm_route **r = botm_route_ids_get(&c->b->by_node, m->node);
	if (m->is_up)
		route_add(c, m);
	else if (r && (*r)->child == c && !str_is(m->node, c->node))
		route_remove(c->b, *r);
}

static void answer_pass_up(struct botm *b, const struct bot_message *m)
{
	if (m->outcome == OUTCOME_OK)
		b->counts.answers++;
	else
		b->counts.failures++;
	botm_answer_add(b, m, (struct botm_name){0});
}

/* Of a robot: what it was asked, and a file that is there. */
static void robot_answered(struct botm_child *c, const struct bot_message *heard)
{
	struct botm *b = c->b;
	struct botm_job **found = botm_jobs_get(&b->jobs, heard->id);
	struct botm_job *job = found ? *found : NULL;
	struct bot_message m = *heard;
	if (!job || job->child != c) {
		child_refuse(c, "answered what it was not asked");
		return;
	}
	struct botm_name name = job->name;
	m.machine = str_of(b->o.machine);
	m.has = (m.has & ~(unsigned)BOT_HAS_FILE) | BOT_HAS_MACHINE;
	m.file = (struct str){0};
	botm_job_end(b, job);
	if (m.outcome == OUTCOME_OK && botm_file_there(b, name, &m)) {
		b->counts.answers++;
		botm_keep_answer(b, &m, name);
		return;
	}
	if (m.outcome == OUTCOME_OK) {
		b->counts.no_file++;
		m.outcome = OUTCOME_TEMPORARY;
		m.cause = STR("no-file");
		m.reason = STR("the robot has stored a file that is not there");
		m.has |= BOT_HAS_CAUSE | BOT_HAS_REASON;
		if (!c->has_lied)
			log_warn(ROLE, "robot's file is missing; does it have the same folder?",
				 KV_TEXT("peer", session_peer(c->session)));
		c->has_lied = true;
	}
	botm_keep_unused(b, name);
	answer_pass_up(b, &m);
}

static void botm_answered(struct botm_child *c, const struct bot_message *m)
{
	struct botm *b = c->b;
	struct botm_route **r = botm_route_ids_get(&b->by_machine, m->machine);
	struct botm_job **job = botm_jobs_get(&b->jobs, m->id);
	if (!r || (*r)->child != c) {
		child_refuse(c, "answered for a machine that is not below it");
		return;
	}
	/* another child may have it too: then the source gets both answers and drops one */
	if (job && ((*job)->child == c || !(*job)->child))
		botm_job_end(b, *job);
	if (!botm_answer_known(b, m))
		answer_pass_up(b, m);
}

static void hear_deleted(struct botm_child *c, const struct bot_message *m)
{
	struct botm *b = c->b;
	struct botm_deletion **found = botm_deletion_ids_get(&b->deletions, m->id);
	struct botm_deletion *d = found ? *found : NULL;
	if (!d || d->child != c)
		return; /* of a source that is gone */
	list_remove(&d->link);
	botm_deletion_ids_remove(&b->deletions, str_of(d->id));
	mem_free(&d);
	botm_tell_deleted(b, m->id, m->deletion);
	botm_bounds_look(b);
}

static void child_message(void *ctx, const struct bot_message *m)
{
	struct botm_child *c = ctx;
	bool is_first = m->kind == BOT_ROBOT || m->kind == BOT_BOTM;
	c->heard_us = loop_now_us(c->b->o.loop);
	if (!c->is_met && !is_first)
		child_refuse(c, "the first word has to be <robot/> or <botm/>");
	else if (m->kind == BOT_ROBOT)
		hear_robot(c, m);
	else if (m->kind == BOT_BOTM)
		hear_botm(c, m);
	else if (m->kind == BOT_FETCHED && c->b->keep.names)
		robot_answered(c, m);
	else if (m->kind == BOT_FETCHED)
		botm_answered(c, m);
	else if (m->kind == BOT_MACHINE && !c->b->keep.names)
		hear_machine(c, m);
	else if (m->kind == BOT_DELETED && !c->b->keep.names)
		hear_deleted(c, m);
	else
		child_refuse(c, "not a word for a botm");
}

static void child_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	char reason[BOT_REASON_MAX + 1];
	bot_error_print(err, line, column, reason);
	child_refuse(ctx, reason);
}

/* Sessions. */

static void on_opened(struct session *s)
{
	static const struct bot_reader_ops ops = {child_message, child_error};
	struct botm_child *c = child_of(s);
	c->b = server_ctx(session_server(s));
	c->session = s;
	c->heard_us = loop_now_us(c->b->o.loop);
	c->reader = bot_reader_new(&ops, c);
	list_init(&c->jobs);
	list_init(&c->routes);
	list_init(&c->deletions);
	list_append(&c->b->children, &c->link);
	child_hold(c);
}

static void on_bytes(struct session *s, struct str piece)
{
	struct botm_child *c = child_of(s);
	if (!c->is_gone)
		bot_reader_put(c->reader, piece);
}

static void on_drained(struct session *s)
{
	struct botm_child *c = child_of(s);
	c->is_choked = false;
	botm_child_ready(c);
	botm_dispatch_soon(c->b);
}

static void on_closed(struct session *s, enum conn_end end)
{
	struct botm_child *c = child_of(s);
	if (c->is_met && !c->is_gone)
		log_info(ROLE, "fetcher disconnected", KV_TEXT("peer", session_peer(s)),
			 KV_TEXT("why", conn_end_text(end)));
	child_leave(c);
	bot_reader_free(&c->reader);
}

void botm_children_check(struct botm *b)
{
	int64_t now_us = loop_now_us(b->o.loop), most_us = b->o.limits->idle_us;
	LIST_EACH (struct botm_child, c, &b->children, link)
		if (c->held_us && conn_is_cut(session_conn(c->session)))
			conn_close(session_conn(c->session));
		else if (!c->held_us && most_us && now_us - c->heard_us > most_us)
			child_refuse(c, "silent for too long");
}

const struct server_protocol botm_protocol = {
	.name = "botm",
	.words = BOT_SERVER_WORDS,
	.reads_on = true, /* nothing that is said here is answered */
	.state_size = sizeof(struct botm_child),
	.opened = on_opened,
	.bytes = on_bytes,
	.drained = on_drained,
	.closed = on_closed,
};
