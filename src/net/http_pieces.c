/* Large answers, which must not hold memory for as long as a client likes.
 *
 * An answer larger than a piece is made, or at least compressed, a piece at a time: when
 * libmicrohttpd has sent one, the connection is set aside and a job in the pool makes the next. So
 * a client that does not read holds one piece, and no thread compresses megabytes at once. A
 * handler that fills a whole body holds all of it. Both count against one budget of the server, of
 * which a client has at most half. An answer that does not fit is refused before it begins and
 * never waits in the middle, where clients could wait for each other. */
#include "base/hash.h"
#include "base/table.h"
#include "net/http_inner.h"

#include <inttypes.h>
#include <stdio.h>

/* The budget. */

TABLE(budget_clients, uint64_t, uint64_t, hash_u64, table_same_u64)

struct http_budget {
	pthread_mutex_t lock; /* the last that is taken */
	uint64_t limit, used;
	struct budget_clients clients; /* bytes of each */
	size_t refused;
};

struct http_budget *http_budget_new(uint64_t limit)
{
	struct http_budget *b = mem_alloc(sizeof *b);
	pthread_mutex_init(&b->lock, NULL);
	b->limit = limit;
	return b;
}

void http_budget_free(struct http_budget **pb)
{
	struct http_budget *b = *pb;
	if (!b)
		return;
	ENSURE(b->used == 0);
	budget_clients_free(&b->clients);
	pthread_mutex_destroy(&b->lock);
	mem_free(pb);
}

/* A request larger than the whole budget is granted only if nothing else is held. */
static bool budget_fits(const struct http_budget *b, uint64_t client, uint64_t has, uint64_t n)
{
	if (b->used == 0)
		return true;
	if (n > b->limit - MIN(b->used, b->limit))
		return false;
	return client == 0 || has == 0 || has + n <= b->limit / 2;
}

bool http_budget_take(struct http_budget *b, uint64_t client, uint64_t n)
{
	pthread_mutex_lock(&b->lock);
	const uint64_t *has = budget_clients_get(&b->clients, client);
	bool fits = budget_fits(b, client, has ? *has : 0, n);
	if (fits) {
		b->used += n;
		*budget_clients_put(&b->clients, client) += n;
	} else {
		b->refused++;
	}
	pthread_mutex_unlock(&b->lock);
	return fits;
}

void http_budget_give(struct http_budget *b, uint64_t client, uint64_t n)
{
	pthread_mutex_lock(&b->lock);
	b->used -= n;
	if ((*budget_clients_put(&b->clients, client) -= n) == 0)
		budget_clients_remove(&b->clients, client);
	pthread_mutex_unlock(&b->lock);
}

size_t http_budget_refused(struct http_budget *b)
{
	pthread_mutex_lock(&b->lock);
	size_t n = b->refused;
	b->refused = 0;
	pthread_mutex_unlock(&b->lock);
	return n;
}

/* Pieces. */

struct http_pieces {
	const struct http_piece_ops *ops; /* NULL: all bytes are there */
	void *ctx;
	struct buf body;        /* then, unless they are static */
	struct str left;        /* and these of them are still to be sent, or packed */
	struct http_conn *conn; /* valid inside callbacks of libmicrohttpd */
	struct http_server *server;
	struct http_stream *stream;
	uint64_t client, cost; /* of the budget */
	bool packs;
	struct http_packer packer;
	struct pool_job job;
	pthread_mutex_t lock; /* of the rest */
	struct buf piece;
	size_t at;      /* bytes of it that were sent */
	bool last;      /* it is the last one, or there is none and nothing follows */
	bool making;    /* a job makes the next */
	bool closed;    /* and frees all when it is done */
	struct err why; /* with a code: reading the rest failed */
};

static struct http_pieces *pieces_new(const struct http_piece_ops *ops, void *ctx)
{
	struct http_pieces *p = mem_alloc(sizeof *p);
	p->ops = ops;
	p->ctx = ctx;
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void http_pieces_free(struct http_pieces *p)
{
	if (p->ops)
		p->ops->close(p->ctx);
	if (p->cost)
		http_budget_give(p->server->budget, p->client, p->cost);
	buf_free(&p->body);
	buf_free(&p->piece);
	pthread_mutex_destroy(&p->lock);
	mem_free(&p);
}

void http_answer_pieces(struct http_answer *a, const struct http_piece_ops *ops, void *ctx)
{
	ENSURE(!a->pieces);
	a->pieces = pieces_new(ops, ctx);
}

int http_pieces_begin(struct http_conn *c, struct err *err)
{
	struct http_pieces *p = c->answer.pieces;
	ENSURE(c->request.route->slow && c->answer.etag[0]);
	(void)buf_room(c->answer.body, HTTP_PIECE_MOST);
	int rc = p->ops->make(p->ctx, HTTP_PIECE, c->answer.body, err);
	if (rc == 0) { /* what it looks like is part of what it is, also in its first piece */
		size_t n = strlen(c->answer.etag);
		snprintf(c->answer.etag + n, sizeof c->answer.etag - n, "-%016" PRIx64,
			 hash64(buf_str(c->answer.body)));
		return 0;
	}
	c->answer.pieces = NULL;
	c->answer.etag[0] = 0; /* its body makes a better one */
	http_pieces_free(p);
	return rc < 0 ? -1 : 0;
}

/* What of the answer comes next: in `raw`, or where it lies. 0: more follows; 1: that was all. */
static int pieces_next(struct http_pieces *p, struct buf *raw, struct str *ret, struct err *err)
{
	int rc = 0;
	if (!p->ops) {
		*ret = str_head(p->left, HTTP_PIECE);
		p->left = str_from(p->left, HTTP_PIECE);
		return p->left.n == 0;
	}
	(void)buf_room(raw, HTTP_PIECE_MOST);
	while (rc == 0 && raw->n == 0)
		rc = p->ops->make(p->ctx, HTTP_PIECE, raw, err);
	if (raw->over)
		rc = err_set(err, ERR_SYSTEM, "a piece of the answer is larger than can be");
	*ret = buf_str(raw);
	return rc;
}

/* Returns a buffer of the exact size, since it is held until it is sent. */
static struct buf pieces_packed(struct http_pieces *p, struct str bytes, bool last)
{
	CLEANUP(buf_free) struct buf wide = BUF_INIT(HTTP_BODY_MAX);
	struct buf tight = BUF_INIT(HTTP_BODY_MAX);
	http_pack_part(&p->packer, bytes, last, &wide);
	buf_add_str(&tight, buf_str(&wide));
	return tight;
}

static void pieces_make(struct pool_job *job)
{
	struct http_pieces *p = LIST_OF(struct http_pieces, job, job);
	struct buf raw = BUF_INIT(HTTP_BODY_MAX), made = raw;
	struct str bytes;
	struct err why = {0};
	int rc = pieces_next(p, &raw, &bytes, &why);
	if (rc < 0 || p->packs) {
		if (rc >= 0)
			made = pieces_packed(p, bytes, rc > 0);
		buf_free(&raw);
	} else {
		made = raw;
	}
	pthread_mutex_lock(&p->lock);
	p->piece = made;
	p->at = 0;
	p->last = rc != 0;
	p->why = why;
	p->making = false;
	bool closed = p->closed;
	if (!closed)
		http_stream_wake(p->stream);
	pthread_mutex_unlock(&p->lock);
	if (closed)
		http_pieces_free(p);
}

/* The words are for the log. */
static ssize_t pieces_broken(struct http_pieces *p)
{
	struct http_conn *c = p->conn;
	c->answer.fault = arena_text(&c->request.arena, str_of(p->why.msg));
	return HTTP_STREAM_BROKEN;
}

static ssize_t pieces_read(void *ctx, char *to, size_t n)
{
	struct http_pieces *p = ctx;
	ssize_t got = 0;
	bool make = false;
	pthread_mutex_lock(&p->lock);
	if (p->at < p->piece.n) {
		got = (ssize_t)MIN(n, p->piece.n - p->at);
		memcpy(to, p->piece.p + p->at, (size_t)got);
		p->at += (size_t)got;
		if (p->at == p->piece.n) {
			buf_free(&p->piece);
			p->piece = BUF_INIT(HTTP_BODY_MAX);
			p->at = 0;
		}
	} else if (p->why.code) {
		got = pieces_broken(p);
	} else if (p->last) {
		got = HTTP_STREAM_END;
	} else if (!p->making) {
		make = p->making = true;
	}
	pthread_mutex_unlock(&p->lock);
	if (!make)
		return got;
	p->job = (struct pool_job){.run = pieces_make, .client = p->client, .beyond = true};
	if (!pool_claim(p->server->pool, &p->job)) {
		p->making = false; /* the server ends */
		return HTTP_STREAM_BROKEN;
	}
	pool_post(p->server->pool, &p->job);
	return 0;
}

/* Of bytes that are there and are not packed nothing has to be made. */
static ssize_t pieces_copy(void *ctx, char *to, size_t n)
{
	struct http_pieces *p = ctx;
	struct str part = str_head(p->left, n);
	memcpy(to, part.p, part.n);
	p->left = str_from(p->left, part.n);
	return part.n ? (ssize_t)part.n : HTTP_STREAM_END;
}

static void pieces_close(void *ctx)
{
	struct http_pieces *p = ctx;
	pthread_mutex_lock(&p->lock);
	bool making = p->making;
	p->closed = true;
	pthread_mutex_unlock(&p->lock);
	if (!making)
		http_pieces_free(p);
}

static const struct http_stream_ops make_ops = {
	.read = pieces_read, .close = pieces_close, .holds = true};
static const struct http_stream_ops copy_ops = {
	.read = pieces_copy, .close = pieces_close, .holds = true};

bool http_pieces_stream(struct http_conn *c, struct str bytes, bool packs)
{
	struct http_answer *a = &c->answer;
	bool there = !a->pieces, owned = !a->bytes.p;
	uint64_t cost = HTTP_PIECE_MOST + (there && owned ? c->body.cap : 0);
	if (!http_budget_take(c->server->budget, c->client, cost))
		return false;
	struct http_pieces *p = there ? pieces_new(NULL, NULL) : a->pieces;
	a->pieces = NULL;
	p->conn = c;
	p->server = c->server;
	p->client = c->client;
	p->cost = cost;
	p->packs = packs;
	if (there) {
		p->left = bytes;
	} else if (packs) {
		p->piece = pieces_packed(p, bytes, false);
	}
	if (owned) { /* it goes when the answer was sent, not with the connection */
		*(there || packs ? &p->body : &p->piece) = c->body;
		c->body = BUF_INIT(HTTP_BODY_MAX);
	}
	if (!there && packs)
		buf_free(&p->body);
	p->stream = http_answer_stream(&c->request, a, there && !packs ? &copy_ops : &make_ops, p);
	return true;
}
