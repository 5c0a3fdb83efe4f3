/* Sets over the link: those that pass, and those that come out of unsdb. Threads read them, a
 * megabyte at a time; what was sent flies until it is answered. A job that was begun for a link
 * that is gone is known by its turn. */
#include "base/fault.h"
#include "base/log.h"
#include "base/vec.h"
#include "cache/uns/uns_out_inner.h"

#include <stdio.h>

enum {
	READ_AT_ONCE = 1 << 20,
	ROOM = READ_AT_ONCE + LINK_PIECE_MAX + 2 * LINK_SMALL_MAX,
};

/* Over the link. */

static int piece_next(struct uns_out *o, struct reading *r, struct buf *piece, struct err *err)
{
	if (r->set)
		return uns_spool_next(r->set->spool, &r->at, piece, err);
	return unsdb_piece(o->unsdb, &r->at, piece, err);
}

/* Some pieces, each as a message. 1: these were the last. */
static int pieces_read(struct uns_out *o, struct reading *r, struct err *err)
{
	CLEANUP(buf_free) struct buf piece = BUF_INIT(LINK_PIECE_MAX);
	int rc = 0;
	while (rc == 0 && r->out.n < READ_AT_ONCE) {
		buf_clear(&piece);
		rc = piece_next(o, r, &piece, err);
		const struct link_message m = {.piece = buf_str(&piece)};
		if (rc == 0)
			message_write(&link_of_uns, LINK_PIECE, &m, &r->out);
	}
	return rc;
}

static void send_read(struct uns_out *o);

static void read_done(void *ctx)
{
	struct uns_out *o = ctx;
	struct reading *r = &o->reading;
	struct out_set *s = r->set;
	r->is_busy = false;
	if (s) {
		s->is_read = false;
		if (s->is_settled)
			uns_out_set_free(s);
	}
	if (o->is_stopped)
		return;
	if (r->turn == o->turn && o->sending.f)
		send_read(o);
	uns_out_pump(o);
}

static void read_run(struct pool_job *job)
{
	struct uns_out *o = LIST_OF(struct uns_out, job, reading.job);
	o->reading.rc = pieces_read(o, &o->reading, &o->reading.err);
	loop_post(o->u->role.loop, read_done, o);
}

/* What was read goes out. */
static void send_read(struct uns_out *o)
{
	struct reading *r = &o->reading;
	struct sending *s = &o->sending;
	const struct link_message end = {.number = s->f->number};
	if (r->rc < 0 && !s->f->set) {
		role_loop_fail(&o->u->role, &r->err);
		return;
	}
	if (r->rc < 0) {
		log_warn(ROLE, "reading a set failed", KV_TEXT("why", r->err.msg));
		uns_out_drop(o, "a set could not be read");
		o->turn++;
		s->f = NULL;
		return;
	}
	s->at = r->at;
	if (r->rc == 1) {
		message_write(&link_of_uns, LINK_END, &end, &r->out);
		s->f = NULL;
	}
	ENSURE(!r->out.over);
	o->is_choked = !conn_send(o->conn, buf_str(&r->out));
	buf_free(&r->out);
	if (r->rc == 1)
		FAULT("uns.sent");
}

/* Sends the next pieces at once, or has a thread read them first. */
static void send_more(struct uns_out *o)
{
	struct reading *r = &o->reading;
	struct out_set *s = o->sending.f->set;
	r->turn = o->turn;
	r->set = s;
	r->at = o->sending.at;
	buf_free(&r->out);
	r->out = BUF_INIT(ROOM);
	if (s && uns_spool_in_memory(s->spool)) {
		r->rc = pieces_read(o, r, &r->err);
		send_read(o);
		return;
	}
	if (s)
		s->is_read = true;
	r->is_busy = true;
	r->job = (struct pool_job){.run = read_run, .beyond = true};
	pool_post(o->u->disk, &r->job);
}

static void send_begin(struct uns_out *o, const struct unsdb_set *set, struct out_set *of,
		       uint64_t bytes)
{
	const struct link_message m = {.number = set->number,
				       .provider = set->provider,
				       .is_full = set->is_full,
				       .urls = set->urls,
				       .at_us = set->at_us};
	CLEANUP(buf_free) struct buf out = BUF_INIT(LINK_SMALL_MAX);
	struct flying *f = mem_alloc(sizeof *f);
	*f = (struct flying){
		.set = of, .number = set->number, .provider = set->provider, .bytes = bytes};
	list_append(&o->flying, &f->link);
	o->flying_bytes += bytes;
	o->sending = (struct sending){.f = f, .at = of ? 0 : set->place};
	message_write(&link_of_uns, LINK_SET, &m, &out);
	o->is_choked = !conn_send(o->conn, buf_str(&out));
}

static bool has_window(const struct uns_out *o, uint64_t bytes)
{
	return list_is_empty(&o->flying) || o->flying_bytes + bytes <= LINK_AHEAD_MAX;
}

/* The next set that is to be sent, if it may be. On a new link nothing comes out of unsdb before
 * what was answered on the last one has left it: that would be answered twice, and each answer
 * takes a set out. */
static bool send_next(struct uns_out *o)
{
	struct unsdb_set set;
	struct out_set *s = LIST_FIRST(struct out_set, &o->passing, link);
	bool is_taking = o->taking.is_busy || o->taking.due;
	if (list_is_empty(&o->flying) && !is_taking)
		o->drained_to = 0; /* the file may have been emptied */
	if (s) {
		uint64_t bytes = uns_spool_bytes(s->spool);
		if (!has_window(o, bytes))
			return false;
		list_remove(&s->link);
		send_begin(o, &s->set, s, bytes);
		return true;
	}
	if ((o->drained_to == 0 && is_taking) || unsdb_next(o->unsdb, o->drained_to, &set) != 0 ||
	    !has_window(o, set.bytes))
		return false;
	o->drained_to = set.place;
	send_begin(o, &set, NULL, set.bytes);
	return true;
}

void uns_out_pump(struct uns_out *o)
{
	while (uns_out_is_here(o) && !o->is_choked && !o->reading.is_busy && !o->is_stopped) {
		if (!o->sending.f && !send_next(o))
			return;
		if (!o->is_choked)
			send_more(o);
	}
}

/* Out of unsdb. */

static void take_next(struct uns_out *o);

static void sets_taken(void *ctx)
{
	struct uns_out *o = ctx;
	struct taking *t = &o->taking;
	bool is_untold = t->rc < 0 && t->now.n;
	t->is_busy = false;
	mem_free(&t->now.provider);
	t->now = (struct lost_list){0};
	if (is_untold) {
		role_loop_fail(&o->u->role, &t->err); /* the sets are read from unsdb again */
		return;
	}
	if (t->rc < 0)
		log_warn(ROLE, "recording sent sets failed", KV_TEXT("why", t->err.msg));
	if (o->is_stopped)
		return;
	take_next(o);
	uns_out_pump(o);
}

/* Asks the providers of refused sets for full sets. That is durable before the sets leave unsdb. */
static int lost_tell(struct uns_out *o, struct taking *t)
{
	for (size_t i = 0; i < t->now.n; i++)
		if (pidb_want(o->u->pidb, t->now.provider[i], PIDB_CRASH, &t->err) < 0)
			return -1;
	if (t->now.n)
		FAULT("uns.lost");
	return 0;
}

static void take_run(struct pool_job *job)
{
	struct uns_out *o = LIST_OF(struct uns_out, job, taking.job);
	struct taking *t = &o->taking;
	t->rc = lost_tell(o, t);
	for (uint64_t i = 0; i < t->n && (t->rc == 0 || !t->now.n); i++)
		if (unsdb_taken(o->unsdb, &t->err) < 0)
			t->rc = -1;
	loop_post(o->u->role.loop, sets_taken, o);
}

static void take_next(struct uns_out *o)
{
	struct taking *t = &o->taking;
	if (t->is_busy || t->due == 0)
		return;
	t->is_busy = true;
	t->n = t->due;
	t->due = 0;
	t->now = t->lost;
	t->lost = (struct lost_list){0};
	t->job = (struct pool_job){.run = take_run, .beyond = true};
	pool_post(o->u->disk, &t->job);
}

/* What the link says. */

void uns_out_on_here(struct uns_out *o)
{
	o->turn++;
	o->is_choked = false;
	o->counts.is_here = true;
	o->drained_to = 0;
	log_info(ROLE, "queue manager connected");
	uns_out_pump(o);
}

void uns_out_on_room(struct uns_out *o)
{
	o->is_choked = false;
	uns_out_pump(o);
}

/* Stores flying and passing sets before all later ones. */
void uns_out_on_away(struct uns_out *o, const char *why)
{
	if (o->counts.is_here || strcmp(o->why_away, why) != 0)
		log_info(ROLE, "queue manager disconnected", KV_TEXT("why", why));
	snprintf(o->why_away, sizeof o->why_away, "%s", why);
	o->turn++;
	o->sending.f = NULL;
	while (!list_is_empty(&o->passing)) {
		struct out_set *s = LIST_LAST(struct out_set, &o->passing, link);
		list_remove(&s->link);
		list_prepend(&o->to_store, &s->link);
	}
	while (!list_is_empty(&o->flying)) {
		struct flying *f = LIST_LAST(struct flying, &o->flying, link);
		list_remove(&f->link);
		if (f->set)
			list_prepend(&o->to_store, &f->set->link);
		mem_free(&f);
	}
	o->flying_bytes = 0;
	o->counts.is_here = false;
	if (!o->is_stopped)
		uns_out_store_next(o);
}

static void unsdb_answered(struct uns_out *o, const struct flying *f, unsigned code,
			   const char *text)
{
	struct lost_list *lost = &o->taking.lost;
	o->counts.drained += code == 0;
	if (code) {
		o->counts.refused++;
		log_warn(ROLE, "queue manager refused accepted set", KV_UINT("number", f->number),
			 KV_TEXT("why", text));
		uns_sessions_lost(o->u, f->number);
		*VEC_PUSH(lost->provider, lost->n, lost->room) = f->provider;
	}
	o->taking.due++;
	take_next(o);
}

void uns_out_on_answer(struct uns_out *o, uint64_t number, unsigned code, struct str text)
{
	struct flying *f = LIST_FIRST(struct flying, &o->flying, link);
	char words[LINK_TEXT_MAX + 1];
	if (!f || f == o->sending.f || f->number != number) {
		uns_out_drop(o, "it answers what was not asked");
		return;
	}
	snprintf(words, sizeof words, STR_FMT, STR_ARG(text));
	list_remove(&f->link);
	o->flying_bytes -= f->bytes;
	if (f->set) {
		o->counts.passed += code == 0;
		uns_out_settle(o, f->set, code, words);
	} else {
		unsdb_answered(o, f, code, words);
	}
	mem_free(&f);
	uns_out_pump(o);
}
