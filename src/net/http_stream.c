/* Answers that are made while they are sent: streams, and on top of them channels of server-sent
 * events. A stream without data suspends its connection until it is woken, so a thousand idle
 * listeners need no thread and no polling. */
#include "base/clock.h"
#include "net/http_inner.h"

/* Streams. */

enum { BLOCK = 16 << 10 };

struct http_stream {
	const struct http_stream_ops *ops;
	void *ctx;
	struct http_server *server;
	struct http_conn *conn; /* server->lock; NULL: the connection is gone */
	struct MHD_Connection *mhd;
	pthread_mutex_t lock;
	bool woken, waits, ending;
};

struct http_stream *http_answer_stream(struct http_request *req, struct http_answer *a,
				       const struct http_stream_ops *ops, void *ctx)
{
	struct http_stream *s = mem_alloc(sizeof *s);
	ENSURE(!a->stream);
	s->ops = ops;
	s->ctx = ctx;
	s->server = req->conn->server;
	s->mhd = req->conn->mhd;
	pthread_mutex_init(&s->lock, NULL);
	a->stream = s;
	return s;
}

/* With s->lock held. */
static void stream_resume(struct http_stream *s)
{
	if (s->waits)
		s->server->mhd.resume_connection(s->mhd);
	s->waits = false;
}

void http_stream_wake(struct http_stream *s)
{
	pthread_mutex_lock(&s->lock);
	s->woken = true;
	stream_resume(s);
	pthread_mutex_unlock(&s->lock);
}

/* A reader that returns 0 would be asked again at once, and forever: the connection is set aside
 * instead, unless somebody has woken it meanwhile. true: ask again. */
static bool asked_again(struct http_stream *s)
{
	pthread_mutex_lock(&s->lock);
	bool again = s->woken || s->ending;
	if (!again) {
		s->server->mhd.suspend_connection(s->mhd);
		s->waits = true;
	}
	pthread_mutex_unlock(&s->lock);
	return again;
}

static bool begin_read(struct http_stream *s)
{
	pthread_mutex_lock(&s->lock);
	bool go_on = !s->ending;
	s->woken = false;
	pthread_mutex_unlock(&s->lock);
	return go_on;
}

static ssize_t read_some(void *stream, uint64_t at, char *p, size_t n)
{
	struct http_stream *s = stream;
	ssize_t got;
	(void)at;
	do {
		if (!begin_read(s))
			return MHD_CONTENT_READER_END_OF_STREAM;
		got = s->ops->read(s->ctx, p, n);
	} while (got == 0 && asked_again(s));
	if (got > 0 && s->conn) {
		s->conn->sent += (uint64_t)got;
		if (s->ops->holds)
			__atomic_store_n(&s->conn->took_us, clock_mono_us(), __ATOMIC_RELAXED);
	}
	return got >= 0                 ? got
	       : got == HTTP_STREAM_END ? MHD_CONTENT_READER_END_OF_STREAM
					: MHD_CONTENT_READER_END_WITH_ERROR;
}

static void stream_release(struct http_stream *s)
{
	s->ops->close(s->ctx);
	pthread_mutex_destroy(&s->lock);
	mem_free(&s);
}

static void response_freed(void *stream)
{
	struct http_stream *s = stream;
	pthread_mutex_lock(&s->server->lock);
	if (s->conn) {
		s->conn->stream = NULL;
		__atomic_store_n(&s->conn->took_us, 0, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&s->server->lock);
	stream_release(s);
}

void http_stream_drop(struct http_stream *s)
{
	stream_release(s);
}

void http_stream_orphan(struct http_conn *c)
{
	if (c->stream)
		c->stream->conn = NULL;
	c->stream = NULL;
}

struct MHD_Response *http_stream_response(struct http_conn *c, uint64_t size)
{
	struct http_stream *s = c->answer.stream;
	pthread_mutex_lock(&c->server->lock);
	s->conn = c;
	c->stream = s;
	s->ending = c->server->ended ||
		    (s->ops->endless && __atomic_load_n(&c->server->draining, __ATOMIC_RELAXED));
	pthread_mutex_unlock(&c->server->lock);
	if (s->ops->endless)
		http_conn_over(c); /* nobody waits for its end */
	c->answer.stream = NULL;   /* the response has it now */
	size_t block = s->ops->block ? s->ops->block : BLOCK;
	if (s->ops->holds)
		__atomic_store_n(&c->took_us, clock_mono_us(), __ATOMIC_RELAXED);
	c->unhurried = !s->ops->holds;
	return c->server->mhd.create_response_from_callback(size, block, read_some, s,
							    response_freed);
}

void http_streams_end(struct http_server *server, bool all)
{
	pthread_mutex_lock(&server->lock);
	LIST_EACH (struct http_conn, c, &server->conns, link) {
		struct http_stream *s = c->stream;
		if (!s || !(all || s->ops->endless))
			continue;
		pthread_mutex_lock(&s->lock);
		s->ending = true;
		stream_resume(s);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&server->lock);
}

/* Channels. */

enum { EVENT_MAX = 1 << 20 };

/* Shared by all its listeners. */
struct event {
	size_t refs, n;
	char text[];
};

struct listener {
	struct http_channel *channel;
	struct http_stream *stream;
	struct link link;
	struct event *queue[HTTP_CHANNEL_QUEUE]; /* a ring */
	size_t first, n, at;                     /* at: bytes of the first that were sent */
	bool slow;                               /* ends after the comment that says so */
};

struct http_channel {
	pthread_mutex_t lock; /* of all of it */
	struct link listeners;
	size_t n, most;
	int64_t beat_us, next_beat_us;
	struct event *hello, *beat, *farewell;
};

static struct event *event_new(struct str text)
{
	struct event *e = mem_alloc(sizeof *e + text.n);
	e->refs = 1;
	e->n = text.n;
	memcpy(e->text, text.p, text.n);
	return e;
}

static void event_release(struct event *e)
{
	if (--e->refs == 0)
		mem_free(&e);
}

static void listener_push(struct listener *l, struct event *e)
{
	if (l->slow)
		return;
	if (l->n == HTTP_CHANNEL_QUEUE - 1) { /* one place is kept for the farewell */
		l->slow = true;
		e = l->channel->farewell;
	}
	e->refs++;
	l->queue[(l->first + l->n++) % HTTP_CHANNEL_QUEUE] = e;
	http_stream_wake(l->stream);
}

static void listener_shift(struct listener *l)
{
	event_release(l->queue[l->first]);
	l->first = (l->first + 1) % HTTP_CHANNEL_QUEUE;
	l->n--;
	l->at = 0;
}

static ssize_t listener_read(void *ctx, char *p, size_t n)
{
	struct listener *l = ctx;
	size_t done = 0;
	pthread_mutex_lock(&l->channel->lock);
	while (l->n && done < n) {
		struct event *e = l->queue[l->first];
		size_t part = MIN(e->n - l->at, n - done);
		memcpy(p + done, e->text + l->at, part);
		done += part;
		l->at += part;
		if (l->at == e->n)
			listener_shift(l);
	}
	bool over = done == 0 && l->slow;
	pthread_mutex_unlock(&l->channel->lock);
	return over ? HTTP_STREAM_END : (ssize_t)done;
}

static void listener_close(void *ctx)
{
	struct listener *l = ctx;
	struct http_channel *ch = l->channel;
	pthread_mutex_lock(&ch->lock);
	while (l->n)
		listener_shift(l);
	list_remove(&l->link);
	ch->n--;
	pthread_mutex_unlock(&ch->lock);
	mem_free(&l);
}

static const struct http_stream_ops listener_ops = {
	.read = listener_read, .close = listener_close, .block = 1024, .endless = true};

struct http_channel *http_channel_new(size_t max_listeners, int64_t beat_us)
{
	struct http_channel *ch = mem_alloc(sizeof *ch);
	pthread_mutex_init(&ch->lock, NULL);
	list_init(&ch->listeners);
	ch->most = max_listeners;
	ch->beat_us = beat_us;
	ch->hello = event_new(STR("retry: 2000\n\n"));
	ch->beat = event_new(STR(":\n\n"));
	ch->farewell = event_new(STR(": too slow, come again\n\n"));
	return ch;
}

void http_channel_free(struct http_channel **pp)
{
	struct http_channel *ch = *pp;
	if (!ch)
		return;
	ENSURE(list_is_empty(&ch->listeners));
	event_release(ch->hello);
	event_release(ch->beat);
	event_release(ch->farewell);
	pthread_mutex_destroy(&ch->lock);
	mem_free(pp);
}

void http_channel_answer(struct http_channel *ch, struct http_request *req, struct http_answer *a)
{
	struct listener *l = NULL;
	pthread_mutex_lock(&ch->lock);
	if (ch->n < ch->most) {
		l = mem_alloc(sizeof *l);
		l->channel = ch;
		l->stream = http_answer_stream(req, a, &listener_ops, l);
		list_prepend(&ch->listeners, &l->link);
		ch->n++;
		listener_push(l, ch->hello);
	}
	pthread_mutex_unlock(&ch->lock);
	a->type = "text/event-stream";
	a->cache = "no-store";
	if (!l)
		http_answer_error(req, a, 503, "%zu listen already, which is the limit", ch->most);
}

/* Each line of the data gets its field; a carriage return would end a line too. */
static void add_data(struct buf *out, struct str data)
{
	struct str line;
	if (str_ends(data, STR("\n")))
		data.n--;
	while (str_cut(&data, '\n', &line) == 0) {
		buf_add_text(out, "data: ");
		for (size_t i = 0; i < line.n; i++)
			if (line.p[i] != '\r')
				buf_add_byte(out, line.p[i]);
		buf_add_byte(out, '\n');
	}
	buf_add_byte(out, '\n');
}

void http_channel_publish(struct http_channel *ch, const char *name, struct str data)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(EVENT_MAX);
	ENSURE(!strpbrk(name, "\r\n"));
	buf_printf(&text, "event: %s\n", name);
	add_data(&text, data);
	ENSURE(!text.over);
	struct event *e = event_new(buf_str(&text));
	pthread_mutex_lock(&ch->lock);
	LIST_EACH (struct listener, l, &ch->listeners, link)
		listener_push(l, e);
	event_release(e);
	pthread_mutex_unlock(&ch->lock);
}

size_t http_channel_listeners(struct http_channel *ch)
{
	pthread_mutex_lock(&ch->lock);
	size_t n = ch->n;
	pthread_mutex_unlock(&ch->lock);
	return n;
}

void http_channel_tick(struct http_channel *ch, int64_t now_us)
{
	pthread_mutex_lock(&ch->lock);
	if (now_us >= ch->next_beat_us) {
		ch->next_beat_us = now_us + ch->beat_us;
		LIST_EACH (struct listener, l, &ch->listeners, link)
			if (l->n == 0)
				listener_push(l, ch->beat);
	}
	pthread_mutex_unlock(&ch->lock);
}
