/* The blocking client of the queuer: a socket, poll() and messages. It needs no loop, so it suits a
 * process that serves one person, a thread, or a confined process. */
#include "archie/search/archie_wire.h"
#include "base/clock.h"
#include "net/framing.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define AWAY_US (4 * US_PER_S)  /* that the queuer may be away */
#define TRY_US (50 * US_PER_MS) /* between tries to connect */
#define EVERY_US (1 * US_PER_S) /* between questions whether to go on */
enum { READ_BYTES = 64 << 10 };

struct archie {
	char *path; /* of the socket; NULL: connections are handed over */
	int (*connect)(void *ctx);
	void *ctx;
	int fd; /* -1: not connected */
	uint64_t n;
	struct framing frame;
	char *room; /* READ_BYTES */
	struct buf out;
};

static struct archie *archie_make(void)
{
	struct archie *a = mem_alloc(sizeof *a);
	*a = (struct archie){.fd = -1, .out = BUF_INIT(ARCHIE_REQUEST_MOST + ARCHIE_SMALL_MOST)};
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
	if (a->fd < 0)
		return;
	close(a->fd);
	a->fd = -1;
	framing_free(&a->frame);
	mem_free(&a->room);
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

/* Waiting */

struct waiting {
	const struct archie_wait *wait; /* NULL: nobody */
	int64_t asked_us;               /* when stop() was asked last */
	int64_t away_us, away_until_us; /* that the queuer may still be away */
	bool stopped;
};

static int64_t wait_every_us(const struct waiting *w)
{
	return w->wait && w->wait->every_us > 0 ? w->wait->every_us : EVERY_US;
}

static bool wait_is_over(struct waiting *w)
{
	w->asked_us = clock_mono_us();
	if (!w->stopped && w->wait && w->wait->stop)
		w->stopped = w->wait->stop(w->wait->ctx);
	return w->stopped;
}

/* Until the descriptor (-1: none) is as wanted, or the time has come. 0: it is; 1: it is time;
 * negative: the caller wants no more. */
static int wait_for(struct waiting *w, int fd, short events, int64_t until_us)
{
	bool has_fd = w->wait && w->wait->stop && w->wait->fd >= 0;
	struct pollfd p[2] = {{.fd = fd, .events = events},
			      {.fd = has_fd ? w->wait->fd : -1, .events = POLLIN}};
	for (;;) {
		int64_t now_us = clock_mono_us(), due_us = w->asked_us + wait_every_us(w);
		if (now_us >= due_us && wait_is_over(w))
			return -1;
		if (now_us >= until_us)
			return 1;
		due_us = MIN(w->asked_us + wait_every_us(w), until_us);
		int64_t ms = MAX((due_us - now_us + US_PER_MS - 1) / US_PER_MS, 1);
		if (poll(p, 2, (int)MIN(ms, (int64_t)INT_MAX)) < 0)
			continue; /* EINTR */
		if (p[0].revents)
			return 0;
		/* one that was told and left it unread is told again when it is time */
		bool told = p[1].fd >= 0 && p[1].revents;
		if (told && wait_is_over(w))
			return -1;
		p[1].fd = has_fd && !told ? w->wait->fd : -1;
	}
}

/* Sending and receiving. 0; 1: the connection broke; negative: the caller wants no more. */

static int send_all(struct archie *a, struct waiting *w, struct str bytes)
{
	while (bytes.n) {
		ssize_t n = send(a->fd, bytes.p, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			bytes = str_from(bytes, (size_t)n);
		} else if (errno == EAGAIN) {
			if (wait_for(w, a->fd, POLLOUT, INT64_MAX) < 0)
				return -1;
		} else if (errno != EINTR) {
			return 1;
		}
	}
	return 0;
}

static int receive_frame(struct archie *a, struct waiting *w, int64_t until_us, struct str *ret)
{
	for (;;) {
		int rc = framing_next(&a->frame, ret);
		if (rc <= 0)
			return rc < 0 ? 1 : 0;
		framing_keep(&a->frame);
		ssize_t n = recv(a->fd, a->room, READ_BYTES, MSG_DONTWAIT);
		if (n > 0) {
			framing_put(&a->frame, (struct str){a->room, (size_t)n});
		} else if (n < 0 && errno == EAGAIN) {
			if ((rc = wait_for(w, a->fd, POLLIN, until_us)) != 0)
				return rc;
		} else if (n == 0 || errno != EINTR) {
			return 1;
		}
	}
}

static int receive_message(struct archie *a, struct waiting *w, int64_t until_us, int *ret_word,
			   struct archie_message *ret)
{
	struct str frame;
	struct err ignored;
	int rc = receive_frame(a, w, until_us, &frame);
	if (rc == 0 && message_read(&archie_tells, frame, ret_word, ret, &ignored) < 0)
		return 1;
	return rc;
}

/* Connecting: the queuer has to say its first message, since the socket may be there without it. */

static int dial_path(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	size_t n = strlen(path);
	if (n >= sizeof un.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(un.sun_path, path, n);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&un, sizeof un) < 0) {
		int saved = errno;
		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

int archie_dial(const char *data)
{
	char path[PATH_MAX];
	queuer_path(data, path);
	return dial_path(path);
}

/* 0: it is there; 1: it is not; negative: it refuses, or the caller wants no more. */
static int archie_greet(struct archie *a, struct waiting *w, enum archie_refusal *ret_why,
			struct err *err)
{
	struct archie_message m;
	int word;
	a->fd = a->connect ? a->connect(a->ctx) : dial_path(a->path);
	if (a->fd < 0) {
		err_sys(err, "the server does not search now%s%s", a->path ? ": " : "",
			a->path ? a->path : "");
		return 1;
	}
	framing_messages(&a->frame, &archie_tells, READ_BYTES);
	a->room = mem_alloc(READ_BYTES);
	int rc = receive_message(a, w, w->away_until_us, &word, &m);
	if (rc == 0 && word == ARCHIE_WORD_HELLO) {
		if (archie_hello_check(&m, err) == 0)
			return 0;
		rc = 1;
	} else if (rc == 0 && word == ARCHIE_WORD_REFUSED) {
		*ret_why = m.why;
		rc = err_set(err, ERR_BUSY, STR_FMT, STR_ARG(m.text));
	} else if (rc >= 0) {
		rc = 1;
		err_set(err, ERR_BUSY, "the server does not search now");
	}
	archie_hang_up(a);
	return rc;
}

static bool is_cut(const struct archie *a)
{
	char c;
	ssize_t n = recv(a->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Within what is left of the time that the queuer may be away. */
static int archie_connect(struct archie *a, struct waiting *w, enum archie_refusal *ret_why,
			  struct err *err)
{
	int64_t since_us = clock_mono_us();
	int rc;
	if (a->fd >= 0 && is_cut(a))
		archie_hang_up(a);
	if (a->fd >= 0)
		return 0;
	*ret_why = ARCHIE_AWAY;
	w->away_until_us = since_us + w->away_us;
	while ((rc = archie_greet(a, w, ret_why, err)) == 1) {
		int64_t now_us = clock_mono_us();
		if (now_us >= w->away_until_us)
			return -1;
		if (wait_for(w, -1, 0, MIN(now_us + TRY_US, w->away_until_us)) < 0)
			rc = -1;
		if (rc < 0)
			break;
	}
	w->away_us = MAX(w->away_until_us - clock_mono_us(), 0);
	if (rc == 0)
		return 0;
	if (w->stopped) {
		*ret_why = ARCHIE_CANCELLED;
		err_set(err, ERR_BUSY, "cancelled");
	}
	return -1;
}

/* Calls */

struct calling {
	struct archie *a;
	struct waiting w;
	struct archie_id id;
	struct arena *arena;
	struct archie_answer *ret;
	enum archie_refusal *why;
	struct err *err;
};

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

/* 0 and negative are final, 1: the connection broke. */
static int call_once(struct calling *c)
{
	struct archie_message m;
	int word;
	int rc = send_all(c->a, &c->w, buf_str(&c->a->out));
	while (rc == 0) {
		rc = receive_message(c->a, &c->w, INT64_MAX, &word, &m);
		if (rc != 0 || m.id.pid != c->id.pid || m.id.n != c->id.n)
			continue; /* what was cancelled may still be answered */
		if (word == ARCHIE_WORD_ANSWER)
			return call_answered(c, &m);
		if (word == ARCHIE_WORD_REFUSED)
			return call_refused(c, m.why, m.text);
		if (word == ARCHIE_WORD_QUEUED && c->w.wait && c->w.wait->queued)
			c->w.wait->queued(c->w.wait->ctx, m.position, (int64_t)m.seconds);
	}
	if (rc > 0)
		return 1;
	/* hanging up cancels, and leaves nothing to be read */
	archie_hang_up(c->a);
	return call_refused(c, ARCHIE_CANCELLED, STR("cancelled"));
}

int archie_call(struct archie *a, const struct archie_ask *ask, const struct archie_wait *wait,
		struct arena *arena, struct archie_answer *ret, enum archie_refusal *ret_why,
		struct err *err)
{
	struct calling c = {.a = a,
			    .w = {.wait = wait, .asked_us = clock_mono_us(), .away_us = AWAY_US},
			    .id = {(uint64_t)getpid(), ++a->n},
			    .arena = arena,
			    .ret = ret,
			    .why = ret_why,
			    .err = err};
	buf_clear(&a->out);
	int rc = archie_ask_write(ask, c.id, &a->out, err);
	*ret = (struct archie_answer){0};
	*ret_why = rc < 0 ? ARCHIE_BAD : ARCHIE_NOT_REFUSED;
	for (unsigned tries = 0; rc == 0 && tries < 2; tries++) {
		if (archie_connect(a, &c.w, ret_why, err) < 0)
			return -1;
		if ((rc = call_once(&c)) != 1)
			return rc;
		archie_hang_up(a);
		*ret_why = ARCHIE_AWAY;
		rc = 0;
	}
	return rc < 0 ? -1
		      : err_set(err, ERR_REMOTE, "the server went away twice before it answered");
}
