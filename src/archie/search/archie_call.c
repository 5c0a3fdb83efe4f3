/* The blocking client of the queuer: net/call.h and messages. It needs no loop, so it suits a
 * process that serves one person, a thread, or a confined process. */
#include "archie/search/archie_wire.h"
#include "base/clock.h"
#include "net/call.h"
#include "net/framing.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define AWAY_US (4 * US_PER_S)  /* that the queuer may be away */
#define TRY_US (50 * US_PER_MS) /* between tries to connect */

struct archie {
	char *path; /* of the socket; NULL: connections are handed over */
	int (*connect)(void *ctx);
	void *ctx;
	struct call call;
	uint64_t n;
	struct framing frame;
	struct buf out;
};

static struct archie *archie_make(void)
{
	struct archie *a = mem_alloc(sizeof *a);
	*a = (struct archie){.call = {.fd = -1, .name = "the queuer"},
			     .out = BUF_INIT(ARCHIE_REQUEST_MOST + ARCHIE_SMALL_MOST)};
	return a;
}

static void queuer_path(const char *data, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/run/archie", data);
}

struct archie *archie_new(const char *data)
{
	char path[PATH_MAX];
	struct archie *a = archie_make();
	queuer_path(data, path);
	a->path = mem_text(path);
	return a;
}

struct archie *archie_new_handed(int (*connect)(void *ctx), void *ctx)
{
	struct archie *a = archie_make();
	a->connect = connect;
	a->ctx = ctx;
	return a;
}

static void archie_hang_up(struct archie *a)
{
	call_end(&a->call);
	framing_free(&a->frame);
}

int archie_dial(const char *data)
{
	char path[PATH_MAX];
	queuer_path(data, path);
	return call_dial_path(path);
}

void archie_free(struct archie **a)
{
	if (!*a)
		return;
	archie_hang_up(*a);
	buf_free(&(*a)->out);
	mem_free(&(*a)->path);
	mem_free(a);
}

struct calling {
	struct archie *a;
	const struct archie_wait *wait; /* NULL: nobody */
	int64_t away_us;                /* that the queuer may still be away */
	struct archie_id id;
	bool greeted;
	int rc; /* 0 and negative are final, 1: the connection broke */
	struct arena *arena;
	struct archie_answer *ret;
	enum archie_refusal *why;
	struct err *err;
};

/* Messages: true for the one that was waited for. */

static int call_refused(struct calling *c, enum archie_refusal why, struct str text)
{
	enum err_code code = why == ARCHIE_BAD     ? ERR_USAGE
			     : why == ARCHIE_BUSY  ? ERR_BUSY
			     : why == ARCHIE_EMPTY ? ERR_USAGE
						   : ERR_REMOTE;
	*c->why = why;
	return err_set(c->err, code, STR_FMT, STR_ARG(text));
}

static int call_answered(struct calling *c, struct archie_message *m)
{
	m->sites.bytes = arena_str(c->arena, m->sites.bytes);
	m->rows.bytes = arena_str(c->arena, m->rows.bytes);
	m->problem = arena_str(c->arena, m->problem);
	if (archie_answer_read(m, c->arena, c->ret, c->err) < 0) {
		*c->why = ARCHIE_FAILED;
		archie_hang_up(c->a);
		return -1;
	}
	*c->why = ARCHIE_NOT_REFUSED;
	return 0;
}

static bool heed_answer(struct calling *c, int word, struct archie_message *m)
{
	if (m->id.pid != c->id.pid || m->id.n != c->id.n)
		return false; /* what was cancelled may still be answered */
	if (word == ARCHIE_WORD_QUEUED && c->wait && c->wait->queued)
		c->wait->queued(c->wait->ctx, m->position, (int64_t)m->seconds);
	if (word == ARCHIE_WORD_ANSWER)
		c->rc = call_answered(c, m);
	else if (word == ARCHIE_WORD_REFUSED)
		c->rc = call_refused(c, m->why, m->text);
	return word == ARCHIE_WORD_ANSWER || word == ARCHIE_WORD_REFUSED;
}

static bool heed_greeting(struct calling *c, int word, struct archie_message *m)
{
	if (word == ARCHIE_WORD_HELLO) {
		c->rc = archie_hello_check(m, c->err) < 0;
	} else if (word == ARCHIE_WORD_REFUSED) {
		*c->why = m->why;
		c->rc = err_set(c->err, ERR_BUSY, STR_FMT, STR_ARG(m->text));
	}
	return true;
}

static bool take_frames(struct calling *c)
{
	struct framing *f = &c->a->frame;
	struct archie_message m;
	struct str frame;
	struct err ignored;
	bool done = false;
	int word;
	while (!done && framing_next(f, &frame) == 0)
		if (message_read(&archie_tells, frame, &word, &m, &ignored) < 0)
			done = true;
		else
			done = c->greeted ? heed_answer(c, word, &m) : heed_greeting(c, word, &m);
	framing_keep(f);
	return done;
}

static bool take_piece(void *ctx, struct str piece)
{
	struct calling *c = ctx;
	framing_put(&c->a->frame, piece);
	return take_frames(c);
}

static int archie_talk(struct calling *c, struct str bytes)
{
	struct err ignored;
	c->rc = 1;
	if (call_send(&c->a->call, bytes, &ignored) == 0 && !take_frames(c))
		(void)call_talk(&c->a->call, STR(""), take_piece, c, &ignored);
	return c->rc;
}

/* Connecting: the queuer has to say its first message, since the socket may be there without it. */

/* 0: it is there; 1: it is not; negative: it refuses. */
static int archie_greet(struct calling *c)
{
	struct archie *a = c->a;
	a->call.fd = a->connect ? a->connect(a->ctx) : call_dial_path(a->path);
	if (a->call.fd < 0) {
		err_sys(c->err, "the server does not search now%s%s", a->path ? ": " : "",
			a->path ? a->path : "");
		return 1;
	}
	(void)err_set(c->err, ERR_BUSY, "the server does not search now");
	framing_messages(&a->frame, &archie_tells, CALL_PIECE);
	c->greeted = false;
	if (archie_talk(c, STR("")) != 0)
		archie_hang_up(a);
	return c->rc;
}

static bool is_cut(const struct archie *a)
{
	char byte;
	ssize_t n = recv(a->call.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Within what is left of the time that the queuer may be away. */
static int archie_connect(struct calling *c)
{
	struct archie *a = c->a;
	struct err ignored;
	int64_t end_us = clock_mono_us() + c->away_us;
	if (a->call.fd >= 0 && is_cut(a))
		archie_hang_up(a);
	if (a->call.fd >= 0)
		return 0;
	*c->why = ARCHIE_AWAY;
	for (;;) {
		a->call.until_us = end_us;
		int rc = archie_greet(c);
		int64_t now_us = clock_mono_us();
		c->away_us = MAX(end_us - now_us, 0);
		if (rc == 1 && !a->call.stopped && now_us < end_us) {
			a->call.until_us = MIN(now_us + TRY_US, end_us);
			(void)call_wait(&a->call, 0, &ignored);
		} else if (!a->call.stopped) {
			return rc ? -1 : 0;
		}
		if (a->call.stopped)
			return call_refused(c, ARCHIE_CANCELLED, STR("cancelled"));
	}
}

/* 0 and negative are final, 1: the connection broke. */
static int call_once(struct calling *c)
{
	struct archie *a = c->a;
	a->call.until_us = 0;
	c->greeted = true;
	if (archie_talk(c, buf_str(&a->out)) == 1)
		archie_hang_up(a); /* cancels as well, and leaves nothing to be read */
	return a->call.stopped ? call_refused(c, ARCHIE_CANCELLED, STR("cancelled")) : c->rc;
}

int archie_call(struct archie *a, const struct archie_ask *ask, const struct archie_wait *wait,
		struct arena *arena, struct archie_answer *ret, enum archie_refusal *ret_why,
		struct err *err)
{
	struct calling c = {.a = a,
			    .wait = wait,
			    .away_us = AWAY_US,
			    .id = {(uint64_t)getpid(), ++a->n},
			    .arena = arena,
			    .ret = ret,
			    .why = ret_why,
			    .err = err};
	a->call.asked_us = clock_mono_us();
	a->call.stopped = false;
	a->call.stop = wait ? wait->stop : NULL;
	if (wait) {
		a->call.stop_ctx = wait->ctx;
		a->call.every_us = wait->every_us;
		a->call.stop_fd = wait->fd;
	}
	buf_clear(&a->out);
	int rc = archie_ask_write(ask, c.id, &a->out, err);
	*ret = (struct archie_answer){0};
	*ret_why = rc < 0 ? ARCHIE_BAD : ARCHIE_NOT_REFUSED;
	for (unsigned tries = 0; rc == 0 && tries < 2; tries++) {
		if (archie_connect(&c) < 0)
			return -1;
		if ((rc = call_once(&c)) != 1)
			return rc;
		*ret_why = ARCHIE_AWAY;
		rc = 0;
	}
	return rc < 0 ? -1
		      : err_set(err, ERR_REMOTE, "the server went away twice before it answered");
}
