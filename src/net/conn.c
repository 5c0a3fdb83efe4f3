/* Connections: in each round of the loop one read, one dispatch and one write, so that no
 * connection starves the others. What callbacks send is gathered in the pool's scratch buffer and
 * passed to the kernel in one call; only the bytes that the kernel does not take are copied into
 * the connection. So a connection that keeps up owns no memory, and ten thousand idle ones cost
 * little more than their descriptors.
 *
 * TLS is a handshake before the first turn, and other functions in place of recv() and send().
 * Bytes that arrive after conn_finish() are discarded. */
#include "net/conn.h"

#include "net/framing.h"
#include "net/tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SCRATCH_KEPT = 256 * 1024,  /* the pool's output scratch may keep this much */
	LINGER_BYTES = 1024 * 1024, /* what is thrown away after conn_finish() at most */
	FED = 16,                   /* connections that may read again in one round */
};
#define LINGER_US (2 * US_PER_S)
#define SHAKE_US (30 * US_PER_S) /* for a handshake at most */

struct conn_pool {
	struct loop *loop;
	uint64_t limit;
	struct conn_stats stats;
	struct conn *busy; /* in whose callbacks we are; out is its */
	struct buf out;
	struct link all;
	struct link starved; /* those that wait for the budget */
	struct loop_later feed;
	char in[CONN_READ];
};

struct conn {
	struct conn_pool *pool;
	const struct conn_limits *limits;
	const struct conn_ops *ops;
	void *ctx;
	const struct tls *side; /* NULL: no TLS */
	struct tls_conn *tls;   /* from the beginning of the handshake on */
	const char *why;        /* of the end TLS */
	struct loop_io io;
	struct loop_later work;
	struct loop_timer timer;
	struct framing frame;
	struct buf out;
	size_t out_at;               /* bytes of out that were sent */
	size_t counted;              /* bytes that the budget knows of */
	int64_t active_us, began_us; /* last byte; first byte of the frame, 0: none has begun */
	struct link link, starving;  /* of the pool: all; those that wait for the budget */
	uint64_t thrown;             /* bytes read after conn_finish() */
	int fd;
	bool ready; /* the handshake is over */
	bool again; /* TLS may have more inside: read without waiting for the descriptor */
	bool paused, choked, eof;
	bool finishing, lingering; /* to end when all is sent; all is sent, the peer may talk */
	bool hungry;               /* the last frame is not complete */
	bool dead;
	enum conn_end end;
	int sys_errno;
};

const char *conn_end_text(enum conn_end end)
{
	static const char *const text[] = {
#define X(symbol, words) [CONN_END_##symbol] = words,
		CONN_ENDS(X)
#undef X
	};
	return text[end];
}

struct loop *conn_pool_loop(const struct conn_pool *pool)
{
	return pool->loop;
}

const struct conn_stats *conn_pool_stats(const struct conn_pool *pool)
{
	return &pool->stats;
}

/* The budget. */

static void enter_starved(struct conn *c)
{
	if (list_has(&c->starving))
		return;
	c->pool->stats.starved++;
	list_prepend(&c->pool->starved, &c->starving);
}

static bool over_budget(const struct conn_pool *pool)
{
	return pool->stats.memory >= pool->limit;
}

static bool may_feed(const struct conn_pool *pool)
{
	return !list_is_empty(&pool->starved) && !over_budget(pool);
}

/* A few at a time, or all of them would wake to find it used up again. */
static void pool_feed(void *ctx)
{
	struct conn_pool *pool = ctx;
	for (int i = 0; i < FED && may_feed(pool); i++) {
		struct conn *c = LIST_FIRST(struct conn, &pool->starved, starving);
		list_remove(&c->starving);
		loop_later(pool->loop, &c->work);
	}
	if (may_feed(pool))
		loop_later(pool->loop, &pool->feed);
}

/* Tells the pool what the connection holds now. */
static void conn_account(struct conn *c)
{
	struct conn_pool *pool = c->pool;
	size_t now = c->frame.held.cap + c->out.cap;
	if (c->tls)
		now += c->ready ? tls_conn_held(c->tls) : (size_t)TLS_SHAKE_MEMORY;
	pool->stats.memory += now - c->counted;
	c->counted = now;
	pool->stats.memory_peak = MAX(pool->stats.memory_peak, pool->stats.memory);
	if (may_feed(pool))
		loop_later(pool->loop, &pool->feed);
}

/* Has it looked at after the callback; its own turn does so anyway. */
static void conn_poke(struct conn *c)
{
	if (c->pool->busy != c)
		loop_later(c->pool->loop, &c->work);
}

/* Ends it: nothing is called but closed(), and that from the deferred call. */
static void conn_doom(struct conn *c, enum conn_end end, int sys_errno)
{
	if (c->dead)
		return;
	c->dead = true;
	c->end = end;
	c->sys_errno = sys_errno;
	list_remove(&c->starving);
	loop_timer_stop(&c->timer);
	loop_io_end(&c->io);
	close(c->fd);
	loop_later(c->pool->loop, &c->work);
}

static void doom_tls(struct conn *c, const char *why)
{
	conn_doom(c, CONN_END_TLS, 0);
	c->why = why;
}

/* A read or write failed. */
static void conn_broke(struct conn *c, int sys_errno)
{
	if (c->tls && sys_errno == EPROTO)
		doom_tls(c, tls_conn_why(c->tls));
	else
		conn_doom(c, CONN_END_FAILED, sys_errno);
}

static void conn_bury(struct conn *c)
{
	struct conn_pool *pool = c->pool;
	list_remove(&c->link);
	framing_free(&c->frame);
	buf_free(&c->out);
	struct tls_conn *tls = c->tls; /* which knows why */
	c->tls = NULL;
	conn_account(c);
	pool->stats.conns--;
	pool->stats.ended[c->end]++;
	c->ops->closed(c->ctx, c->end, c->sys_errno);
	tls_conn_free(&tls);
	mem_free(&c);
}

/* Output. */

static size_t own_queue(const struct conn *c)
{
	return c->out.n - c->out_at;
}

size_t conn_queued(const struct conn *c)
{
	size_t held = c->tls ? tls_conn_held(c->tls) : 0;
	return held + own_queue(c) + (c->pool->busy == c ? c->pool->out.n : 0);
}

/* Sends what the kernel takes; returns how much that was. */
static size_t send_some(struct conn *c, const char *p, size_t n)
{
	size_t sent = 0;
	while (sent < n && !c->dead) {
		ssize_t rc = c->tls ? tls_conn_write(c->tls, p + sent, n - sent)
				    : send(c->fd, p + sent, n - sent, MSG_NOSIGNAL);
		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0 && errno == EAGAIN)
			break;
		if (rc < 0)
			conn_broke(c, errno);
		else
			sent += (size_t)rc;
	}
	if (sent)
		c->active_us = loop_now_us(c->pool->loop);
	return sent;
}

static void flush_own(struct conn *c)
{
	size_t n = own_queue(c);
	if (n == 0)
		return;
	c->out_at += send_some(c, c->out.p + c->out_at, n);
	if (c->out_at == c->out.n) {
		buf_free(&c->out);
		c->out_at = 0;
	}
}

/* What callbacks queued in the scratch goes straight to the kernel; only what it does not take is
 * copied. */
static void flush_scratch(struct conn *c)
{
	struct buf *out = &c->pool->out;
	if (out->n == 0)
		return;
	size_t sent = send_some(c, out->p, out->n);
	if (!c->dead)
		buf_add(&c->out, out->p + sent, out->n - sent);
	if (out->cap > SCRATCH_KEPT)
		buf_free(out);
	else
		buf_clear(out);
}

/* What TLS has sealed and not sent. */
static void flush_sealed(struct conn *c)
{
	ssize_t sent = c->dead ? 0 : tls_conn_flush(c->tls);
	if (sent < 0)
		conn_broke(c, errno);
	else if (sent > 0)
		c->active_us = loop_now_us(c->pool->loop);
}

static void flush_all(struct conn *c)
{
	if (c->tls)
		flush_sealed(c);
	flush_own(c);
	if (c->pool->busy == c)
		flush_scratch(c);
	conn_account(c);
}

bool conn_send(struct conn *c, struct str bytes)
{
	if (c->dead || c->finishing)
		return false;
	size_t queued = conn_queued(c);
	if (bytes.n > c->limits->queue_max - MIN(queued, c->limits->queue_max)) {
		conn_doom(c, CONN_END_FULL, 0);
		return false;
	}
	if (c->pool->busy == c && c->out.n == 0) {
		buf_add_str(&c->pool->out, bytes);
	} else {
		if (c->out_at > own_queue(c)) {
			memmove(c->out.p, c->out.p + c->out_at, own_queue(c));
			c->out.n -= c->out_at;
			c->out_at = 0;
		}
		buf_add_str(&c->out, bytes);
		conn_poke(c);
	}
	c->choked = c->choked || queued + bytes.n > c->limits->high_mark;
	return !c->choked;
}

bool conn_printf(struct conn *c, const char *fmt, ...)
{
	char small[1024], *p = small;
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(small, sizeof small, fmt, ap);
	ENSURE(n >= 0);
	if ((size_t)n >= sizeof small) {
		p = mem_alloc((size_t)n + 1);
		vsnprintf(p, (size_t)n + 1, fmt, again);
	}
	bool more = conn_send(c, (struct str){p, (size_t)n});
	if (p != small)
		mem_free(&p);
	va_end(again);
	va_end(ap);
	return more;
}

/* Input. */

static bool is_ending(const struct conn *c)
{
	return c->dead || c->finishing;
}

/* Input waits until output has gone. */
static bool is_stuck(const struct conn *c)
{
	return c->choked && (!c->limits->read_mark || conn_queued(c) > c->limits->read_mark);
}

static void too_long(struct conn *c)
{
	if (c->ops->long_line)
		c->ops->long_line(c->ctx);
	if (c->dead)
		return;
	conn_finish(c);
	c->end = CONN_END_LONG_LINE;
}

/* Hands out what is complete, as long as it is wanted. */
static void hand_out(struct conn *c)
{
	struct str frame;
	int rc = 1;
	while (!is_ending(c) && !c->paused && !is_stuck(c)) {
		if ((rc = framing_next(&c->frame, &frame)) != 0)
			break;
		c->pool->stats.frames++;
		c->began_us = 0;
		if (c->limits->pieces)
			c->ops->bytes(c->ctx, frame);
		else
			c->ops->line(c->ctx, frame);
	}
	c->hungry = rc == 1 && !is_ending(c) && !c->paused && !is_stuck(c);
	if (rc < 0)
		too_long(c);
	if (is_ending(c))
		framing_free(&c->frame);
	else
		framing_keep(&c->frame);
}

/* Below the low mark again: tells the producer, or lets frames go on. */
static void conn_unchoke(struct conn *c)
{
	if (!c->choked || c->dead || conn_queued(c) > c->limits->high_mark / 4)
		return;
	c->choked = false;
	if (c->ops->drained && !c->finishing)
		c->ops->drained(c->ctx);
	loop_later(c->pool->loop, &c->work);
}

/* With TLS the end is a word of its own. */
static bool has_last_word(const struct conn *c)
{
	return !c->lingering && (c->finishing || (c->eof && c->hungry));
}

/* Everything was sent and nothing is left to be answered. */
static void maybe_end(struct conn *c)
{
	if (c->dead || !c->ready || conn_queued(c))
		return;
	if (has_last_word(c) && c->tls && tls_conn_bye(c->tls) == 1)
		return; /* when there is room for it */
	if (c->finishing && (c->eof || c->thrown > LINGER_BYTES)) {
		conn_doom(c, c->end, 0);
	} else if (c->finishing && !c->lingering) {
		c->lingering = true;
		c->active_us = loop_now_us(c->pool->loop);
		if (shutdown(c->fd, SHUT_WR) < 0)
			conn_doom(c, c->end, 0);
	} else if (c->eof && c->hungry) {
		conn_doom(c, CONN_END_EOF, 0);
	}
}

static bool wants_input(struct conn *c)
{
	if (c->finishing)
		return !c->eof && c->thrown <= LINGER_BYTES;
	if (c->eof || c->paused || is_stuck(c) || !c->hungry)
		return false;
	if (!over_budget(c->pool))
		return true;
	enter_starved(c);
	return false;
}

/* The events to wait for before reading: a TLS reader may have to write. */
static unsigned input_event(const struct conn *c)
{
	unsigned wants = c->tls && !c->finishing ? tls_conn_wants(c->tls) : LOOP_READ;
	return wants ? wants : LOOP_READ;
}

static unsigned wanted_events(struct conn *c)
{
	if (!c->ready && !c->tls)
		return 0;
	if (!c->ready)
		return tls_conn_wants(c->tls) | (tls_conn_held(c->tls) ? LOOP_WRITE : 0);
	unsigned want = conn_queued(c) || has_last_word(c) ? LOOP_WRITE : 0;
	if (!wants_input(c))
		return want;
	c->again = c->tls && !c->finishing && tls_conn_wants(c->tls) == 0;
	if (c->again)
		loop_later(c->pool->loop, &c->work);
	return want | input_event(c);
}

static int64_t sooner_of(int64_t a_us, int64_t b_us)
{
	return a_us && (!b_us || a_us < b_us) ? a_us : b_us;
}

/* When the time of the connection is up; 0: never. */
static int64_t conn_deadline(const struct conn *c)
{
	const struct conn_limits *l = c->limits;
	if (c->lingering || (!c->ready && c->finishing))
		return c->active_us + LINGER_US;
	if (!c->ready)
		return c->active_us + sooner_of(sooner_of(l->frame_us, l->idle_us), SHAKE_US);
	int64_t frame_us = l->frame_us && c->began_us && c->hungry ? c->began_us + l->frame_us : 0;
	/* who waits for us is not idle */
	bool idle = l->idle_us && !(c->paused && conn_queued(c) == 0);
	return sooner_of(frame_us, idle ? c->active_us + l->idle_us : 0);
}

/* The timer is only moved forward; if it fires early, it is set again. */
static void set_timer(struct conn *c)
{
	int64_t due_us = conn_deadline(c);
	if (due_us && (!c->timer.set || due_us < c->timer.due_us))
		loop_timer_in(c->pool->loop, &c->timer, due_us - loop_now_us(c->pool->loop));
}

/* TLS has failed before the first word. It ends as if it were finished, so that the peer gets the
 * alert that says why. */
static void refuse_peer(struct conn *c)
{
	buf_free(&c->out);
	c->out_at = 0;
	c->finishing = true;
	c->end = CONN_END_TLS;
	c->why = tls_conn_why(c->tls);
}

/* Goes on with the handshake; whether it is over. One that has begun does not wait for the budget,
 * or all might wait for each other. */
static bool shake_hands(struct conn *c)
{
	if (!c->tls && over_budget(c->pool)) {
		enter_starved(c);
		return false;
	}
	if (!c->tls) {
		c->tls = tls_conn_new(c->side, c->fd);
		conn_account(c);
	}
	int rc = tls_conn_shake(c->tls);
	if (rc < 0 && errno != EPROTO)
		conn_doom(c, CONN_END_FAILED, errno);
	else if (rc < 0)
		refuse_peer(c);
	return rc <= 0;
}

/* false: nothing can be done with it yet. */
static bool become_ready(struct conn *c)
{
	if (c->side && !shake_hands(c))
		return false;
	c->ready = true;
	if (is_ending(c))
		return true;
	c->active_us = loop_now_us(c->pool->loop);
	if (c->ops->ready)
		c->ops->ready(c->ctx);
	return true;
}

/* After whatever happened: hands out, sends, ends, and looks for what is next. */
static void conn_turn(struct conn *c)
{
	struct conn_pool *pool = c->pool;
	c->again = false;
	pool->busy = c;
	if (c->ready || become_ready(c)) {
		hand_out(c);
		flush_all(c);
		conn_unchoke(c);
		flush_all(c);
	}
	pool->busy = NULL;
	maybe_end(c);
	if (c->dead)
		return;
	if (c->hungry && !c->began_us && framing_waiting(&c->frame))
		c->began_us = c->active_us;
	loop_io_want(pool->loop, &c->io, c->fd, wanted_events(c));
	set_timer(c);
}

static void take_input(struct conn *c)
{
	ssize_t n = c->tls && !c->finishing ? tls_conn_read(c->tls, c->pool->in, CONN_READ)
					    : recv(c->fd, c->pool->in, CONN_READ, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		conn_broke(c, errno);
		return;
	}
	c->eof = n == 0;
	c->pool->stats.bytes_in += (uint64_t)n;
	if (c->finishing) {
		c->thrown += (uint64_t)n;
		return;
	}
	c->active_us = loop_now_us(c->pool->loop);
	framing_put(&c->frame, (struct str){c->pool->in, (size_t)n});
}

static void conn_work(void *ctx)
{
	struct conn *c = ctx;
	if (c->dead) {
		conn_bury(c);
		return;
	}
	if (c->again && !over_budget(c->pool))
		take_input(c);
	if (!c->dead)
		conn_turn(c);
}

static void on_ready(void *ctx, unsigned what)
{
	struct conn *c = ctx;
	/* it may be that this was asked for to write, or the budget has been used up since */
	bool wanted = c->finishing || (c->hungry && !over_budget(c->pool));
	if (c->ready && wanted && what == input_event(c))
		take_input(c);
	if (!c->dead)
		conn_turn(c);
}

static void on_timer(void *ctx)
{
	struct conn *c = ctx;
	int64_t due_us = conn_deadline(c), now_us = loop_now_us(c->pool->loop);
	if (due_us == 0 || due_us > now_us)
		set_timer(c);
	else if (c->lingering || (!c->ready && c->finishing))
		conn_doom(c, c->end, 0);
	else if (!c->ready)
		doom_tls(c, "the TLS handshake took too long");
	else if (c->limits->idle_us && c->active_us + c->limits->idle_us <= now_us)
		conn_doom(c, conn_queued(c) ? CONN_END_FULL : CONN_END_IDLE, 0);
	else
		conn_doom(c, CONN_END_SLOW, 0);
}

/* The doors. */

struct conn *conn_new(struct conn_pool *pool, int fd, const struct tls *tls,
		      const struct conn_limits *limits, const struct conn_ops *ops, void *ctx)
{
	struct conn *c = mem_alloc(sizeof *c);
	*c = (struct conn){.pool = pool,
			   .limits = limits,
			   .ops = ops,
			   .ctx = ctx,
			   .side = tls,
			   .io = {.fn = on_ready, .ctx = c},
			   .work = {.fn = conn_work, .ctx = c},
			   .timer = {.fn = on_timer, .ctx = c},
			   .out = BUF_INIT(limits->queue_max * 2),
			   .active_us = loop_now_us(pool->loop),
			   .fd = fd};
	if (limits->messages)
		framing_messages(&c->frame, limits->messages, CONN_READ);
	else
		framing_init(&c->frame, limits->line_max, limits->line_max + 2 + CONN_READ);
	if (limits->pieces)
		framing_pieces(&c->frame);
	list_prepend(&pool->all, &c->link);
	pool->stats.conns++;
	loop_later(pool->loop, &c->work);
	return c;
}

void conn_tune_tcp(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		/* answers leave whole, so waiting to fill a packet would only delay the last */
		{IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 60}, {IPPROTO_TCP, TCP_KEEPINTVL, 20},
		{IPPROTO_TCP, TCP_KEEPCNT, 3},
	};
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof options[i].value);
}

void conn_messages(struct conn *c, const struct message_wire *wire)
{
	framing_switch(&c->frame, wire);
}

void conn_pause(struct conn *c)
{
	c->paused = true;
	conn_poke(c);
}

void conn_resume(struct conn *c)
{
	if (!c->paused)
		return;
	c->paused = false;
	c->active_us = loop_now_us(c->pool->loop);
	conn_poke(c);
}

void conn_finish(struct conn *c)
{
	if (is_ending(c))
		return;
	c->finishing = true;
	c->end = CONN_END_DONE;
	list_remove(&c->starving);
	conn_poke(c);
}

void conn_close(struct conn *c)
{
	conn_doom(c, CONN_END_DROPPED, 0);
}

bool conn_busy(const struct conn *c)
{
	return !c->dead && c->ready && (c->paused || conn_queued(c) || !c->hungry);
}

bool conn_is_cut(const struct conn *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
	return c->dead || c->eof || (poll(&p, 1, 0) == 1 && p.revents != 0);
}

const char *conn_why(const struct conn *c)
{
	if (c->end == CONN_END_TLS)
		return c->why;
	return c->sys_errno ? strerror(c->sys_errno) : conn_end_text(c->end);
}

struct conn_pool *conn_pool_new(struct loop *loop, uint64_t memory)
{
	struct conn_pool *pool = mem_alloc(sizeof *pool);
	pool->loop = loop;
	pool->limit = memory;
	list_init(&pool->all);
	list_init(&pool->starved);
	pool->out = BUF_INIT(SIZE_MAX);
	pool->feed = (struct loop_later){.fn = pool_feed, .ctx = pool};
	return pool;
}

void conn_pool_free(struct conn_pool **pool)
{
	if (!*pool)
		return;
	ENSURE(!(*pool)->busy);
	struct conn *c;
	while ((c = LIST_FIRST(struct conn, &(*pool)->all, link))) {
		conn_close(c);
		loop_later_cancel(&c->work);
		conn_bury(c);
	}
	loop_later_cancel(&(*pool)->feed);
	buf_free(&(*pool)->out);
	mem_free(pool);
}
