#include "base/clock.h"
#include "net/http_inner.h"

enum { EVENT_MAX = 1 << 20 };

/* Shared by all whom it goes to. */
struct event {
	size_t refs, n;
	char text[];
};

struct listener {
	struct http_channel *channel;
	struct http_stream *stream;
	struct listener *next, *prev;
	struct event *queue[HTTP_CHANNEL_QUEUE]; /* a ring */
	size_t first, n, at;                     /* at: bytes of the first that were sent */
	bool slow;                               /* ends behind the comment that says so */
};

struct http_channel {
	pthread_mutex_t lock; /* of all of it */
	struct listener *listeners;
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
	if (l->prev)
		l->prev->next = l->next;
	else
		ch->listeners = l->next;
	if (l->next)
		l->next->prev = l->prev;
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
	ENSURE(!ch->listeners);
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
		l->next = ch->listeners;
		if (l->next)
			l->next->prev = l;
		ch->listeners = l;
		ch->n++;
		listener_push(l, ch->hello);
	}
	pthread_mutex_unlock(&ch->lock);
	a->type = "text/event-stream";
	a->cache = "no-store";
	if (!l)
		http_answer_error(req, a, 503, "%zu listen already, no more can", ch->most);
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
	for (struct listener *l = ch->listeners; l; l = l->next)
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
		for (struct listener *l = ch->listeners; l; l = l->next)
			if (l->n == 0)
				listener_push(l, ch->beat);
	}
	pthread_mutex_unlock(&ch->lock);
}
