/* The client of the queuer for loops: one connection with any number of requests on it. A request
 * keeps its bytes until it is answered, so that it can be sent again when the queuer comes back. */
#include "archie/search/archie_wire.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "net/outgoing.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define AWAY_US (4 * US_PER_S)    /* that the queuer may be away */
#define LOOK_US (250 * US_PER_MS) /* between looks at who has waited for too long */
#define RETRY_MIN_US (20 * US_PER_MS)
#define RETRY_MAX_US (250 * US_PER_MS)

struct pending {
	struct link link;
	uint64_t n;
	const struct archie_link_ops *ops; /* NULL: of the load */
	void (*load)(void *ctx, const struct archie_load *load);
	void *ctx;
	struct str bytes; /* the message; ours; empty: it cannot be asked */
	char *why;        /* it cannot be asked */
	int64_t since_us; /* without the queuer since; 0: it was sent */
	int64_t away_us;  /* that this may still last */
	unsigned sent;    /* how often */
};

TABLE(pendings, uint64_t, struct pending *, hash_u64, table_same_u64)

struct archie_link {
	struct loop *loop;
	struct outgoing *out; /* NULL: there is no such address */
	struct conn *conn;    /* NULL: not connected */
	bool greeted;         /* the queuer is there: it has said its first message */
	struct err other;     /* it is of another version, if set */
	struct link asked;    /* in their order */
	struct pendings by_number;
	struct loop_timer look;
	uint64_t n;
	struct arena_pool arenas; /* of answers */
	bool *freed;              /* set where an answer is being told */
};

static void pending_drop(struct archie_link *l, struct pending *p)
{
	pendings_remove(&l->by_number, p->n);
	list_remove(&p->link);
	mem_free(&p->bytes.p);
	mem_free(&p->why);
	mem_free(&p);
}

/* The end of a request; it is gone before its owner hears of it. */
static void pending_end(struct archie_link *l, struct pending *p, const struct archie_answer *a,
			enum archie_refusal why, const char *text)
{
	const struct pending ended = *p;
	pending_drop(l, p);
	if (ended.ops)
		ended.ops->answered(ended.ctx, a, why, text);
	else
		ended.load(ended.ctx, NULL);
}

static void pending_send(struct archie_link *l, struct pending *p)
{
	p->away_us -= loop_now_us(l->loop) - p->since_us;
	p->since_us = 0;
	p->sent++;
	conn_send(l->conn, p->bytes);
}

/* Those that have waited for too long. What they are told may end in anything, so one at a time. */
static struct pending *pending_overdue(struct archie_link *l, int64_t now_us)
{
	LIST_EACH (struct pending, p, &l->asked, link)
		if (p->why || (p->since_us && (now_us - p->since_us >= p->away_us || !l->out)))
			return p;
	return NULL;
}

static void link_look(void *ctx)
{
	struct archie_link *l = ctx;
	struct pending *p = pending_overdue(l, loop_now_us(l->loop));
	if (list_is_empty(&l->asked))
		return;
	loop_timer_in(l->loop, &l->look, p ? 0 : LOOK_US);
	if (!p)
		return;
	/* where the queuer's socket would be is not for strangers */
	char text[512];
	snprintf(text, sizeof text, "%s",
		 p->why          ? p->why
		 : l->other.code ? l->other.msg
				 : "the server does not search now");
	pending_end(l, p, NULL, p->why ? ARCHIE_BAD : ARCHIE_AWAY, text);
}

static void look_soon(struct archie_link *l, int64_t in_us)
{
	if (!l->look.set || in_us == 0)
		loop_timer_in(l->loop, &l->look, in_us);
}

/* Messages of the queuer */

static struct pending *pending_of(struct archie_link *l, struct archie_id id)
{
	struct pending **p = pendings_get(&l->by_number, id.n);
	return p && (*p)->ops ? *p : NULL;
}

static void on_load(struct archie_link *l, const struct archie_load *load)
{
	LIST_EACH (struct pending, p, &l->asked, link) {
		if (p->ops || p->since_us)
			continue;
		const struct pending ended = *p;
		pending_drop(l, p);
		ended.load(ended.ctx, load);
		return;
	}
}

/* The socket may be there without the queuer; this is the queuer. */
static void on_hello(struct archie_link *l, const struct archie_message *m)
{
	l->other = (struct err){0};
	if (archie_hello_check(m, &l->other) < 0) {
		conn_close(l->conn);
		return;
	}
	l->greeted = true;
	LIST_EACH (struct pending, p, &l->asked, link)
		if (p->since_us && !p->why)
			pending_send(l, p);
}

static void on_answer(struct archie_link *l, struct pending *p, const struct archie_message *m)
{
	struct archie_answer answer;
	struct err err;
	/* the one who is told may free the link */
	struct arena arena = arena_from(&l->arenas, SIZE_MAX);
	bool *freed = l->freed = &(bool){false};
	if (archie_answer_read(m, &arena, &answer, &err) < 0)
		pending_end(l, p, NULL, ARCHIE_FAILED, err.msg);
	else
		pending_end(l, p, &answer, ARCHIE_NOT_REFUSED, "");
	if (*freed) {
		arena_free(&arena);
		return;
	}
	l->freed = NULL;
	arena_give(&arena, &l->arenas);
}

static void on_message(void *ctx, struct str bytes)
{
	struct archie_link *l = ctx;
	struct archie_message m;
	struct err err;
	char why[ARCHIE_TEXT_MOST + 1];
	int word;
	/* one that is too busy for us does not greet */
	if (message_read(&archie_tells, bytes, &word, &m, &err) < 0 ||
	    l->greeted == (word == ARCHIE_WORD_HELLO)) {
		conn_close(l->conn);
		return;
	}
	struct pending *p = pending_of(l, m.id);
	switch (word) {
	case ARCHIE_WORD_HELLO:
		on_hello(l, &m);
		break;
	case ARCHIE_WORD_ANSWER:
		if (p) /* else it was cancelled */
			on_answer(l, p, &m);
		break;
	case ARCHIE_WORD_REFUSED:
		snprintf(why, sizeof why, STR_FMT, STR_ARG(m.text));
		if (p)
			pending_end(l, p, NULL, m.why, why);
		break;
	case ARCHIE_WORD_QUEUED:
		if (p && p->ops->queued)
			p->ops->queued(p->ctx, m.position, (int64_t)m.seconds);
		break;
	default:
		on_load(l, &(struct archie_load){m.queue, m.wait_us, (double)m.per_1000s / 1000});
	}
}

/* The connection */

static void on_up(void *ctx, struct conn *c)
{
	struct archie_link *l = ctx;
	l->conn = c;
	l->greeted = false;
}

static void on_down(void *ctx, const char *why, int64_t retry_us)
{
	struct archie_link *l = ctx;
	int64_t now_us = MAX(loop_now_us(l->loop), 1);
	(void)why, (void)retry_us;
	l->conn = NULL;
	l->greeted = false;
	LIST_EACH (struct pending, p, &l->asked, link) {
		if (p->since_us)
			continue;
		p->since_us = now_us;
		if (p->sent > 1)
			p->away_us = 0; /* it was asked twice */
		look_soon(l, 0);
	}
}

static const struct conn_ops link_ops = {.line = on_message};
static const struct conn_limits link_limits = {
	.messages = &archie_tells,
	.high_mark = 64 << 20,
	.queue_max = 1 << 30,
};

struct archie_link *archie_link_new(struct conn_pool *pool, const char *data)
{
	struct archie_link *l = mem_alloc(sizeof *l);
	char address[PATH_MAX];
	struct err err;
	*l = (struct archie_link){.loop = conn_pool_loop(pool)};
	list_init(&l->asked);
	l->look = (struct loop_timer){.fn = link_look, .ctx = l};
	snprintf(address, sizeof address, "unix:%s/run/archie", data);
	const struct outgoing_options options = {.address = address,
						 .connect_us = AWAY_US,
						 .retry_min_us = RETRY_MIN_US,
						 .retry_max_us = RETRY_MAX_US,
						 .limits = &link_limits,
						 .ops = &link_ops,
						 .up = on_up,
						 .down = on_down,
						 .ctx = l};
	if (outgoing_new(&l->out, pool, &options, &err) < 0)
		l->out = NULL; /* the path is too long: the queuer cannot be reached */
	return l;
}

void archie_link_free(struct archie_link **lp)
{
	struct archie_link *l = *lp;
	if (!l)
		return;
	LIST_EACH (struct pending, p, &l->asked, link)
		pending_drop(l, p);
	outgoing_free(&l->out);
	loop_timer_stop(&l->look);
	pendings_free(&l->by_number);
	arena_pool_free(&l->arenas);
	if (l->freed)
		*l->freed = true;
	mem_free(lp);
}

/* Asking */

static struct pending *pending_new(struct archie_link *l, void *ctx)
{
	struct pending *p = mem_alloc(sizeof *p);
	*p = (struct pending){.n = ++l->n,
			      .ctx = ctx,
			      .since_us = MAX(loop_now_us(l->loop), 1),
			      .away_us = AWAY_US};
	list_append(&l->asked, &p->link);
	*pendings_put(&l->by_number, p->n) = p;
	return p;
}

static void pending_go(struct archie_link *l, struct pending *p)
{
	if (l->greeted && !p->why)
		pending_send(l, p);
	else
		look_soon(l, p->why || !l->out ? 0 : LOOK_US);
}

uint64_t archie_link_ask(struct archie_link *l, const struct archie_ask *ask,
			 const struct archie_link_ops *ops, void *ctx)
{
	struct buf message = BUF_INIT(ARCHIE_REQUEST_MOST + ARCHIE_SMALL_MOST);
	struct pending *p = pending_new(l, ctx);
	struct err err;
	p->ops = ops;
	if (archie_ask_write(ask, (struct archie_id){(uint64_t)getpid(), p->n}, &message, &err) < 0)
		p->why = mem_text(err.msg);
	p->bytes = (struct str){mem_copy(message.p, message.n), message.n};
	buf_free(&message);
	uint64_t n = p->n;
	pending_go(l, p);
	return n;
}

void archie_link_cancel(struct archie_link *l, uint64_t id)
{
	struct pending **p = pendings_get(&l->by_number, id);
	struct buf out = BUF_INIT(ARCHIE_SMALL_MOST);
	const struct archie_message m = {.id = {(uint64_t)getpid(), id}};
	if (!p)
		return;
	if (l->greeted && !(*p)->since_us) {
		message_write(&archie_asks, ARCHIE_WORD_CANCEL, &m, &out);
		conn_send(l->conn, buf_str(&out));
		buf_free(&out);
	}
	pending_drop(l, *p);
}

void archie_link_load(struct archie_link *l,
		      void (*done)(void *ctx, const struct archie_load *load), void *ctx)
{
	struct pending *p = pending_new(l, ctx);
	p->load = done;
	p->bytes = (struct str){mem_copy("load 0\n", 7), 7};
	pending_go(l, p);
}
