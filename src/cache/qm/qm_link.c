/* Sets on their way from a link into the database. What a link has said becomes a line of items
 * (a piece, the end of a set, a link that was lost), all links' in one line, as they came; a batch
 * is what has gathered of it. The loop makes items, a thread takes them, the loop answers. A set of
 * which something was wrong is remembered until its end, which is where the uns waits for a word.
 */
#include "cache/qm/qm_link.h"

#include "base/fault.h"
#include "base/list.h"
#include "base/log.h"
#include "base/vec.h"
#include "cache/cache_conf.h"

#include <stdio.h>

/* A set that is being taken: of its link, then of its last item. */
struct taking {
	struct db_set set;
	uint64_t urls; /* of pieces so far */
	unsigned code; /* it is refused; 0: it is not */
	char text[LINK_TEXT_MAX + 1];
};

enum item_kind { ITEM_PIECE, ITEM_END, ITEM_LOST };

struct item {
	struct link link;
	enum item_kind kind;
	struct uns *from; /* NULL: the link is gone */
	struct taking *taking;
	struct str bytes; /* of a piece, in this block */
	/* What the thread says of an end. */
	bool was_there;
};

/* Of a connection. */
struct uns {
	struct qm_link *l;
	struct session *session;
	struct link link;
	char name[LINK_NAME_MAX + 1]; /* "": not said yet */
	struct taking *taking;        /* NULL: it is between sets */
	uint64_t held, unanswered;    /* bytes of its items; ends of sets */
	bool is_leaving;
};

struct qm_batch {
	struct link items;
};

struct qm_link {
	struct qm_link_options o;
	struct server_limits limits;
	struct server *server;
	struct link sessions;
	struct link items;
	struct qm_batch *batch; /* that is out */
	bool is_over;
	struct qm_link_counts counts;
	struct buf out;
};

static void uns_send(struct uns *u, enum link_kind kind, const struct link_message *m)
{
	buf_clear(&u->l->out);
	message_write(&link_of_qm, (int)kind, m, &u->l->out);
	conn_send(session_conn(u->session), buf_str(&u->l->out));
}

/* Items. */

/* What it takes of memory: sets without a piece would be any number, else. */
static uint64_t item_weight(const struct item *item)
{
	return item->bytes.n + sizeof *item + (item->kind == ITEM_PIECE ? 0 : sizeof *item->taking);
}

static void item_add(struct qm_link *l, enum item_kind kind, struct uns *from,
		     struct taking *taking, struct str bytes)
{
	struct item *item = mem_alloc(sizeof *item + bytes.n);
	*item = (struct item){.kind = kind, .from = from, .taking = taking};
	if (bytes.n)
		memcpy(item + 1, bytes.p, bytes.n);
	item->bytes = (struct str){(char *)(item + 1), bytes.n};
	list_append(&l->items, &item->link);
	if (from)
		from->held += item_weight(item);
	l->counts.held += item_weight(item);
	l->o.gathered(l->o.ctx);
}

static void item_free(struct qm_link *l, struct item *item)
{
	l->counts.held -= item_weight(item);
	if (item->from)
		item->from->held -= item_weight(item);
	if (item->kind != ITEM_PIECE)
		mem_free(&item->taking);
	list_remove(&item->link);
	mem_free(&item);
}

static void items_leave(struct link *items, const struct uns *u)
{
	LIST_EACH (struct item, item, items, link)
		if (item->from == u)
			item->from = NULL;
}

/* Reading stops while a link, or all of them, hold too much. */
static void uns_look(struct uns *u)
{
	bool pause =
		u->is_leaving || u->held > LINK_AHEAD_MAX || u->l->counts.held > QM_LINK_MEMORY;
	if (pause)
		conn_pause(session_conn(u->session));
	else
		conn_resume(session_conn(u->session));
}

/* Sessions. */

/* Where the queue is full, a link ends when it has its answers. */
static void uns_leave(struct uns *u)
{
	if (!u->l->is_over || u->taking)
		return;
	if (u->unanswered) {
		u->is_leaving = true;
		uns_look(u);
		return;
	}
	uns_send(u, LINK_BUSY, &link_greeting);
	conn_finish(session_conn(u->session));
}

static void on_opened(struct session *s)
{
	struct qm_link *l = server_ctx(session_server(s));
	struct uns *u = session_state(s);
	*u = (struct uns){.l = l, .session = s};
	list_append(&l->sessions, &u->link);
	l->counts.links++;
	if (l->is_over)
		uns_leave(u);
	else
		uns_send(u, LINK_QM, &link_greeting);
}

/* What has not ended is dropped; before anything that the same uns says on another connection. */
static void uns_lose(struct uns *u)
{
	if (u->taking)
		item_add(u->l, ITEM_LOST, NULL, u->taking, STR(""));
	u->taking = NULL;
}

static void on_closed(struct session *s, enum conn_end end)
{
	struct uns *u = session_state(s);
	struct qm_link *l = u->l;
	if (u->name[0] && end != CONN_END_DONE && end != CONN_END_EOF)
		log_warn(ROLE, "notification server disconnected", KV_TEXT("peer", u->name),
			 KV_TEXT("why", conn_end_text(end)));
	uns_lose(u);
	items_leave(&l->items, u);
	if (l->batch)
		items_leave(&l->batch->items, u);
	list_remove(&u->link);
	l->counts.links--;
}

static void uns_end(struct uns *u, const char *why)
{
	log_warn(ROLE, "notification server refused",
		 KV_TEXT("peer", u->name[0] ? u->name : session_peer(u->session)),
		 KV_TEXT("why", why));
	uns_lose(u);
	conn_close(session_conn(u->session));
}

static void uns_name(struct uns *u, struct str name)
{
	struct qm_link *l = u->l;
	LIST_EACH (struct uns, other, &l->sessions, link)
		if (other != u && str_is(name, other->name))
			uns_end(other, "replaced by a newer connection");
	memcpy(u->name, name.p, name.n);
	u->name[name.n] = 0;
	log_info(ROLE, "notification server connected", KV_TEXT("peer", u->name));
}

static void uns_set(struct uns *u, const struct link_message *m)
{
	struct taking *t = mem_alloc(sizeof *t);
	*t = (struct taking){.set = {.number = m->number,
				     .provider = m->provider,
				     .is_full = m->is_full,
				     .urls = m->urls,
				     .at_us = m->at_us}};
	memcpy(t->set.uns, u->name, sizeof u->name);
	u->taking = t;
}

static void uns_piece(struct uns *u, struct str piece)
{
	item_add(u->l, ITEM_PIECE, u, u->taking, piece);
	uns_look(u);
}

static void uns_ended(struct uns *u)
{
	struct taking *t = u->taking;
	u->taking = NULL;
	u->unanswered++;
	item_add(u->l, ITEM_END, u, t, STR(""));
	uns_look(u);
	uns_leave(u);
}

static void on_message(struct session *s, struct str bytes)
{
	struct uns *u = session_state(s);
	struct link_message m;
	struct err err;
	int kind;
	if (message_read(&link_of_uns, bytes, &kind, &m, &err) < 0)
		uns_end(u, err.msg);
	else if (kind == LINK_UNS && !u->name[0] && link_name_is_good(m.name))
		uns_name(u, m.name);
	else if (kind == LINK_SET && u->name[0] && !u->taking)
		uns_set(u, &m);
	else if (kind == LINK_PIECE && u->taking)
		uns_piece(u, m.piece);
	else if (kind == LINK_END && u->taking && u->taking->set.number == m.number)
		uns_ended(u);
	else
		uns_end(u, "unexpected message");
}

static const struct server_protocol protocol = {
	.name = "qm",
	.messages = &link_of_uns,
	.words = {[SERVER_FULL] = "busy 0\n", [SERVER_STOPPING] = ""},
	.state_size = sizeof(struct uns),
	.opened = on_opened,
	.line = on_message,
	.closed = on_closed,
};

struct qm_link *qm_link_new(const struct qm_link_options *options)
{
	struct qm_link *l = mem_alloc(sizeof *l);
	*l = (struct qm_link){.o = *options, .limits = *options->limits, .out = BUF_INIT(4096)};
	list_init(&l->sessions);
	list_init(&l->items);
	l->server = server_new(l->o.loop, &protocol, &l->limits, l->o.tls, l);
	return l;
}

int qm_link_listen(struct qm_link *l, int fd, struct err *err)
{
	return server_listen(l->server, fd, err);
}

void qm_link_drain(struct qm_link *l, int64_t within_us, void (*done)(void *ctx), void *ctx)
{
	server_drain(l->server, within_us, done, ctx);
}

void qm_link_free(struct qm_link **lp)
{
	struct qm_link *l = *lp;
	if (!l)
		return;
	ENSURE(!l->batch);
	server_free(&l->server);
	LIST_EACH (struct item, item, &l->items, link)
		item_free(l, item);
	buf_free(&l->out);
	mem_free(lp);
}

void qm_link_overload(struct qm_link *l, bool is_over)
{
	if (l->is_over == is_over)
		return;
	l->is_over = is_over;
	LIST_EACH (struct uns, u, &l->sessions, link) {
		if (is_over) {
			uns_leave(u);
		} else {
			u->is_leaving = false;
			uns_look(u);
		}
	}
}

/* Batches. */

struct qm_batch *qm_link_gather(struct qm_link *l)
{
	if (list_is_empty(&l->items) || l->batch)
		return NULL;
	struct qm_batch *b = mem_alloc(sizeof *b);
	list_init(&b->items);
	LIST_EACH (struct item, item, &l->items, link) {
		list_remove(&item->link);
		list_append(&b->items, &item->link);
	}
	l->batch = b;
	return b;
}

static void taking_refuse(struct taking *t, const char *text)
{
	if (t->code)
		return;
	t->code = CACHE_SYNTAX;
	snprintf(t->text, sizeof t->text, "%.*s", LINK_TEXT_MAX, text);
}

/* Whether a piece is one: what is taken is never refused later. */
static void piece_look(struct taking *t, struct str bytes, struct buf *room)
{
	struct notice n;
	struct err err;
	buf_clear(room);
	int rc = notice_unpack(bytes, room, &err);
	struct reader r = reader_of(buf_str(room));
	while (rc == 0 && (rc = notice_next(&r, &n, &err)) == 0)
		t->urls += n.op != NOTICE_NAMED;
	if (rc < 0)
		taking_refuse(t, err.msg);
}

static int item_take(struct item *item, struct db *db, struct buf *room, struct err *err)
{
	struct taking *t = item->taking;
	struct db_take take = {.set = t->set, .piece = &item->bytes};
	if (item->kind == ITEM_LOST)
		return db_take_forget(db, t->set.uns, err);
	if (item->kind == ITEM_PIECE && !t->code)
		piece_look(t, item->bytes, room);
	if (item->kind == ITEM_END && t->urls != t->set.urls)
		taking_refuse(t, "it has not as many URLs as was said");
	if (t->code)
		return item->kind == ITEM_END ? db_take_forget(db, t->set.uns, err) : 0;
	take.npieces = item->kind == ITEM_PIECE;
	take.ends = item->kind == ITEM_END;
	FAULT("qm.take");
	int rc = db_take(db, &take, 1, err);
	item->was_there = take.was_there;
	return rc;
}

int qm_batch_run(struct qm_batch *b, struct db *db, struct err *err)
{
	struct buf room = BUF_INIT(NOTICE_PIECE + NOTICE_MOST + 1);
	int rc = 0;
	LIST_EACH (struct item, item, &b->items, link)
		if (rc == 0)
			rc = item_take(item, db, &room, err);
	buf_free(&room);
	return rc;
}

static void set_answer(struct qm_link *l, const struct item *item)
{
	const struct taking *t = item->taking;
	const struct link_message m = {
		.number = t->set.number, .code = t->code, .text = str_of(t->text)};
	if (t->code) {
		l->counts.refused++;
		log_warn(ROLE, "set refused", KV_TEXT("peer", t->set.uns), KV_TEXT("why", t->text));
	} else {
		l->counts.sets++;
		l->counts.again += item->was_there;
		l->counts.urls += item->was_there ? 0 : t->urls;
	}
	if (!item->from)
		return;
	FAULT("qm.have");
	item->from->unanswered--;
	uns_send(item->from, t->code ? LINK_REFUSED : LINK_HAVE, &m);
}

void qm_link_taken(struct qm_link *l, struct qm_batch **bp)
{
	struct qm_batch *b = *bp;
	if (!b)
		return;
	ENSURE(l->batch == b);
	LIST_EACH (struct item, item, &b->items, link) {
		struct uns *from = item->from;
		bool is_end = item->kind == ITEM_END;
		if (is_end)
			set_answer(l, item);
		item_free(l, item);
		if (is_end && from)
			uns_leave(from);
	}
	l->batch = NULL;
	mem_free(bp);
	LIST_EACH (struct uns, u, &l->sessions, link)
		uns_look(u);
}

void qm_link_drop(struct qm_link *l, struct qm_batch **bp)
{
	LIST_EACH (struct item, item, &(*bp)->items, link)
		item_free(l, item);
	l->batch = NULL;
	mem_free(bp);
}

void qm_link_counts(const struct qm_link *l, struct qm_link_counts *ret)
{
	*ret = l->counts;
}
