#include "net/http_inner.h"

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
	if (got > 0 && s->conn)
		s->conn->sent += (uint64_t)got;
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
	if (s->conn)
		s->conn->stream = NULL;
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

struct MHD_Response *http_stream_response(struct http_conn *c)
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
	return c->server->mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, block, read_some, s,
							    response_freed);
}

void http_streams_end(struct http_server *server, bool all)
{
	pthread_mutex_lock(&server->lock);
	for (struct http_conn *c = server->conns; c; c = c->next) {
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
