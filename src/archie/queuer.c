/* A request is in one of three places: in the queue, with a searcher, or held back while the one
 * who asked does not read what he was answered. Answers are handed on as they come, unread: both
 * ends are ours. So the queuer costs a few system calls for each request, however long the answer.
 *
 * What can grow is bounded: requests by queue_max and by their bytes, answers by how many searchers
 * there are, since nobody is searched for whose answers lie around; and if those that do not read
 * hold too much all together, the one that has not for longest is hung up on. */
#include "archie/queuer.h"

#include "archie/archie_wire.h"
#include "archie/queue.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"
#include "net/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	HIGH_MARK = 64 << 10,     /* unread bytes of an asker that is served no further */
	ANSWERS_MOST = 256 << 20, /* unread bytes of all */
	REQUESTS_MOST = 64 << 20, /* bytes of requests that wait */
	RATE_SECONDS = 60,
	DEATHS_QUICK = 5, /* deaths in a row after which a searcher is started late */
};
#define TICK_US US_PER_S
#define STALL_US (30 * US_PER_S) /* that an asker may not read */
#define GRACE_US (2 * US_PER_S)  /* that a search may take to notice its end */
#define RESTART_MOST_US (1 * US_PER_S)

struct request {
	struct queue_item item;
	struct link of_asker, held; /* held: while its asker is choked */
	struct asker *asker;        /* NULL: hung up */
	struct searcher_slot *slot; /* that looks for it; NULL: it waits */
	struct archie_id id;
	struct str bytes; /* ours */
	int64_t sent_us;
	uint64_t told; /* the position that it was told last */
	unsigned tries;
	bool verbose, cancelled;
};

/* A connection of an interface: the state of its session. */
struct asker {
	struct queuer *q;
	struct session *session;
	struct link link, requests, held;
	struct archie_line line; /* the one whose block is to come */
	int64_t choked_us;       /* since when it is; 0: it reads */
};

struct searcher_slot {
	struct queuer *q;
	size_t number;
	struct conn *conn; /* NULL: it is not there */
	struct request *request;
	struct archie_line line;
	struct loop_timer timer; /* the time limit; or when to start it again */
	int64_t started_us;
	unsigned deaths; /* in a row */
	bool alive;      /* its process has not been reaped */
};

struct queuer {
	struct queuer_options o;
	struct server *server;
	struct conn_pool *pool; /* of searchers */
	struct queue *queue;
	struct link askers;
	struct searcher_slot *slot;
	struct loop_timer tick;
	struct loop_later dispatch;
	struct buf out;
	struct arena arena; /* of a request that is looked at */
	uint64_t seed;
	size_t held; /* requests */
	uint64_t request_bytes;
	uint64_t rate[RATE_SECONDS];
	size_t rate_at, rate_n;
	struct queuer_counts counts;
};

static void dispatch_soon(struct queuer *q)
{
	loop_later(q->o.loop, &q->dispatch);
}

static int64_t now_us(const struct queuer *q)
{
	return loop_now_us(q->o.loop);
}

/* Words to askers */

static void asker_choke(struct asker *a);

/* What comes after the line may be empty. */
static void asker_send(struct asker *a, const struct archie_line *line, struct str block)
{
	struct queuer *q = a->q;
	struct conn *c = session_conn(a->session);
	buf_clear(&q->out);
	archie_line_print(line, &q->out);
	bool more = conn_send(c, buf_str(&q->out));
	if (block.n)
		more = conn_send(c, block);
	if (!more)
		asker_choke(a);
}

static void asker_refuse(struct asker *a, struct archie_id id, enum archie_refusal why,
			 const char *text)
{
	const struct archie_line line = {
		.word = ARCHIE_WORD_REFUSED, .id = id, .why = why, .text = str_of(text)};
	a->q->counts.refused[why]++;
	asker_send(a, &line, STR(""));
}

/* Requests */

static struct request *request_of(struct queue_item *item)
{
	return LIST_OF(struct request, item, item);
}

static void request_unhold(struct request *r)
{
	if (!list_has(&r->held))
		return;
	list_remove(&r->held);
	r->asker->q->held--;
}

static void request_free(struct queuer *q, struct request *r)
{
	queue_remove(q->queue, &r->item);
	request_unhold(r);
	list_remove(&r->of_asker);
	q->request_bytes -= r->bytes.n;
	mem_free(&r->bytes.p);
	mem_free(&r);
}

/* Nobody wants its answer any more. */
static void request_give_up(struct queuer *q, struct request *r)
{
	struct searcher_slot *s = r->slot;
	if (!s) {
		request_free(q, r);
		return;
	}
	request_unhold(r);
	list_remove(&r->of_asker);
	r->asker = NULL;
	r->cancelled = true;
	if (s->conn)
		conn_send(s->conn, STR("STOP\n"));
	loop_timer_in(q->o.loop, &s->timer, GRACE_US);
}

static void request_refuse(struct queuer *q, struct request *r, enum archie_refusal why,
			   const char *text)
{
	if (r->asker)
		asker_refuse(r->asker, r->id, why, text);
	request_free(q, r);
}

static struct request *request_find(struct asker *a, struct archie_id id)
{
	LIST_EACH (struct request, r, &a->requests, of_asker)
		if (r->id.pid == id.pid && r->id.n == id.n)
			return r;
	return NULL;
}

/* The same for all of an address; of IPv6 for a network of 64 bits. */
static uint64_t share_of(const struct queuer *q, struct str from)
{
	struct addr addr;
	if (!addr_parse(from, &addr))
		return hash64_seeded(from, q->seed);
	addr = addr_server(&addr);
	return hash64_seeded((struct str){(const char *)&addr, sizeof addr}, q->seed);
}

static void request_tell(struct queuer *q, struct request *r, uint64_t position, int64_t eta_us)
{
	if (!r->verbose || r->told == position || !r->asker)
		return;
	r->told = position;
	const struct archie_line line = {.word = ARCHIE_WORD_QUEUED,
					 .id = r->id,
					 .position = position,
					 .seconds = (uint64_t)((eta_us + US_PER_S - 1) / US_PER_S)};
	(void)q;
	asker_send(r->asker, &line, STR(""));
}

/* Those that take dear requests too. */
static unsigned general_searchers(const struct queuer *q)
{
	return (unsigned)MAX(q->o.searchers - 1, 1u);
}

static const char *put_request(struct queuer *q, struct request *r)
{
	if (queue_waiting(q->queue) + q->held >= q->o.queue_max ||
	    q->request_bytes + r->bytes.n > REQUESTS_MOST)
		return "the queue is full; try again later";
	switch (queue_put(q->queue, &r->item, now_us(q))) {
	case QUEUE_OK:
		return NULL;
	case QUEUE_FULL:
		return "the queue is full; try again later";
	case QUEUE_SHARE:
		break;
	}
	return "too many requests of your address wait already";
}

static void request_take(struct asker *a, struct str bytes)
{
	struct queuer *q = a->q;
	struct archie_ask ask;
	struct err err;
	const char *busy;
	if (archie_ask_decode(bytes, &q->arena, &ask, &err) < 0) {
		arena_clear(&q->arena);
		asker_refuse(a, a->line.id, ARCHIE_BAD, err.msg);
		return;
	}
	q->counts.asked[ask.what]++;
	if (ask.what == ARCHIE_FIND)
		q->counts.asked_type[ask.query.type]++;
	struct request *r = mem_alloc(sizeof *r);
	*r = (struct request){.item = {.niceness = (unsigned)a->line.niceness,
				       .cost = queue_cost(&ask),
				       .arrived_us = now_us(q),
				       .from = share_of(q, ask.from)},
			      .asker = a,
			      .id = a->line.id,
			      .verbose = a->line.verbose,
			      .bytes = {mem_copy(bytes.p, bytes.n), bytes.n}};
	arena_clear(&q->arena);
	if ((busy = put_request(q, r))) {
		asker_refuse(a, r->id, ARCHIE_BUSY, busy);
		mem_free(&r->bytes.p);
		mem_free(&r);
		return;
	}
	q->request_bytes += r->bytes.n;
	list_append(&a->requests, &r->of_asker);
	FAULT("queuer.taken");
	dispatch_soon(q);
}

/* Askers */

/* Searches nothing more for one that does not read. */
static void asker_choke(struct asker *a)
{
	struct queuer *q = a->q;
	if (!a->choked_us)
		a->choked_us = MAX(now_us(q), 1);
	LIST_EACH (struct request, r, &a->requests, of_asker) {
		if (r->slot || list_has(&r->held))
			continue;
		queue_remove(q->queue, &r->item);
		list_append(&a->held, &r->held);
		q->held++;
	}
}

static void on_drained(struct session *s)
{
	struct asker *a = session_state(s);
	a->choked_us = 0;
	LIST_EACH (struct request, r, &a->held, held) {
		request_unhold(r);
		queue_put_back(a->q->queue, &r->item, now_us(a->q));
	}
	dispatch_soon(a->q);
}

static void on_opened(struct session *s)
{
	struct asker *a = session_state(s);
	struct queuer *q = server_ctx(session_server(s));
	*a = (struct asker){.q = q, .session = s};
	list_init(&a->requests);
	list_init(&a->held);
	list_append(&q->askers, &a->link);
}

static void on_closed(struct session *s, enum conn_end end)
{
	struct asker *a = session_state(s);
	struct queuer *q = a->q;
	if (end == CONN_END_FULL)
		q->counts.dropped++;
	LIST_EACH (struct request, r, &a->requests, of_asker) {
		q->counts.hung_up++;
		request_give_up(q, r);
	}
	list_remove(&a->link);
	dispatch_soon(q);
}

static void on_block(struct session *s, struct str block)
{
	request_take(session_state(s), block);
}

static void answer_load(struct asker *a);

static void on_line(struct session *s, struct str text)
{
	struct asker *a = session_state(s);
	struct err err;
	struct request *r;
	if (archie_line_parse(text, &a->line, &err) < 0) {
		conn_close(session_conn(s));
		return;
	}
	switch (a->line.word) {
	case ARCHIE_WORD_ASK:
		if (session_block(s, a->line.bytes, on_block))
			return;
		break;
	case ARCHIE_WORD_CANCEL:
		if ((r = request_find(a, a->line.id))) {
			a->q->counts.cancels++;
			asker_refuse(a, r->id, ARCHIE_CANCELLED, "cancelled, as was asked");
			request_give_up(a->q, r);
		}
		return;
	case ARCHIE_WORD_LOAD:
		if (a->line.has_load)
			break;
		answer_load(a);
		return;
	default:
		break;
	}
	conn_close(session_conn(s));
}

static const struct server_protocol protocol = {
	.name = "archie-queue",
	.words = {"", "", "", "", ""},
	.state_size = sizeof(struct asker),
	.opened = on_opened,
	.line = on_line,
	.drained = on_drained,
	.closed = on_closed,
};

/* Hangs up on those that have not read for too long, or since all together hold too much. */
static void askers_drop(struct queuer *q)
{
	struct server_stats stats;
	struct asker *oldest = NULL;
	LIST_EACH (struct asker, a, &q->askers, link) {
		if (!a->choked_us)
			continue;
		if (now_us(q) - a->choked_us > STALL_US) {
			q->counts.dropped++;
			conn_close(session_conn(a->session));
		} else if (!oldest || a->choked_us < oldest->choked_us) {
			oldest = a;
		}
	}
	server_stats(q->server, &stats);
	if (oldest && stats.conns.memory > ANSWERS_MOST) {
		q->counts.dropped++;
		conn_close(session_conn(oldest->session));
	}
}

/* Searchers */

static void slot_start(struct searcher_slot *s);

/* What it was looking for is looked for once more, or given up. */
static void slot_lose(struct searcher_slot *s)
{
	struct queuer *q = s->q;
	struct request *r = s->request;
	s->request = NULL;
	loop_timer_stop(&s->timer);
	if (!r)
		return;
	r->slot = NULL;
	if (r->cancelled) {
		request_free(q, r);
	} else if (r->tries > 1) {
		request_refuse(q, r, ARCHIE_FAILED, "the search failed twice");
	} else {
		q->counts.again++;
		queue_put_back(q->queue, &r->item, now_us(q));
		if (r->asker->choked_us)
			asker_choke(r->asker);
		dispatch_soon(q);
	}
}

static void slot_closed(void *ctx, enum conn_end end, int sys_errno)
{
	struct searcher_slot *s = ctx;
	struct queuer *q = s->q;
	(void)end;
	(void)sys_errno;
	s->conn = NULL;
	slot_lose(s);
	if (s->alive)
		q->o.ops->kill(q->o.ctx, s->number);
}

/* It has not come to its end in time, or says what makes no sense. */
static void slot_kill(struct searcher_slot *s)
{
	struct queuer *q = s->q;
	if (s->conn)
		conn_close(s->conn);
	if (s->alive)
		q->o.ops->kill(q->o.ctx, s->number);
}

static void slot_timer(void *ctx)
{
	struct searcher_slot *s = ctx;
	if (!s->alive) {
		slot_start(s);
		return;
	}
	if (!s->request)
		return;
	if (!s->request->cancelled)
		s->q->counts.overruns++;
	slot_kill(s);
}

static void slot_send(struct searcher_slot *s, struct request *r)
{
	struct queuer *q = s->q;
	const struct archie_line line = {.word = ARCHIE_WORD_SEARCH,
					 .id = r->id,
					 .limit_us = (uint64_t)q->o.limit_us,
					 .bytes = r->bytes.n};
	s->request = r;
	r->slot = s;
	r->tries++;
	r->sent_us = now_us(q);
	q->counts.searches++;
	buf_clear(&q->out);
	archie_line_print(&line, &q->out);
	buf_add_str(&q->out, r->bytes);
	conn_send(s->conn, buf_str(&q->out));
	loop_timer_in(q->o.loop, &s->timer, q->o.limit_us + GRACE_US);
	FAULT("queuer.sent");
}

/* An answer, or a refusal, of the searcher: its request has ended. */
static void slot_answered(struct searcher_slot *s, struct str block)
{
	struct queuer *q = s->q;
	struct request *r = s->request;
	s->request = NULL;
	s->deaths = 0;
	loop_timer_stop(&s->timer);
	r->slot = NULL;
	dispatch_soon(q);
	if (!r->cancelled)
		queue_served(q->queue, r->item.cost, now_us(q) - r->sent_us);
	if (!r->asker) {
		request_free(q, r);
		return;
	}
	if (s->line.word == ARCHIE_WORD_REFUSED) {
		q->counts.refused[s->line.why]++;
	} else {
		s->line.wait_us = (uint64_t)MAX(r->sent_us - r->item.arrived_us, 0);
		q->counts.answered++;
		q->counts.wait_us += s->line.wait_us;
		q->counts.search_us += (uint64_t)(now_us(q) - r->sent_us);
		q->rate[q->rate_at]++;
	}
	asker_send(r->asker, &s->line, block);
	FAULT("queuer.answered");
	request_free(q, r);
}

static void slot_line(void *ctx, struct str text)
{
	struct searcher_slot *s = ctx;
	struct err err;
	if (archie_line_parse(text, &s->line, &err) < 0 || !s->request ||
	    s->request->id.pid != s->line.id.pid || s->request->id.n != s->line.id.n ||
	    (s->line.word != ARCHIE_WORD_ANSWER && s->line.word != ARCHIE_WORD_REFUSED)) {
		slot_kill(s);
		return;
	}
	if (s->line.word == ARCHIE_WORD_ANSWER)
		conn_want(s->conn, s->line.bytes);
	else
		slot_answered(s, STR(""));
}

static void slot_bytes(void *ctx, struct str piece, uint64_t left)
{
	(void)left;
	slot_answered(ctx, piece);
}

static const struct conn_ops slot_ops = {
	.line = slot_line, .bytes = slot_bytes, .closed = slot_closed};
static const struct conn_limits slot_limits = {
	.line_max = ARCHIE_LINE_MOST,
	.block_max = ARCHIE_BLOCK_MOST,
	.high_mark = 1 << 20,
	.queue_max = 2 << 20,
};

static void start_later(struct searcher_slot *s)
{
	int64_t us = s->deaths <= DEATHS_QUICK ? 0
					       : backoff_us(s->deaths - DEATHS_QUICK,
							    10 * US_PER_MS, RESTART_MOST_US);
	loop_timer_in(s->q->o.loop, &s->timer, us);
}

static void slot_start(struct searcher_slot *s)
{
	struct queuer *q = s->q;
	struct err err;
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		err_sys(&err, "cannot make a socket for a searcher");
		q->o.ops->said(q->o.ctx, "a searcher cannot be started", err.msg);
		s->deaths++;
		start_later(s);
		return;
	}
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ||
	    q->o.ops->start(q->o.ctx, s->number, ends[1], &err) < 0) {
		q->o.ops->said(q->o.ctx, "a searcher cannot be started", err.msg);
		close(ends[0]);
		close(ends[1]);
		s->deaths++;
		start_later(s);
		return;
	}
	close(ends[1]);
	s->alive = true;
	s->started_us = now_us(q);
	s->conn = conn_new(q->pool, ends[0], NULL, &slot_limits, &slot_ops, s);
	dispatch_soon(q);
}

void queuer_ended(struct queuer *q, size_t number, const char *reason)
{
	struct searcher_slot *s = &q->slot[number];
	s->alive = false;
	s->deaths++;
	q->counts.deaths++;
	q->o.ops->said(q->o.ctx, "a searcher ended and is replaced", reason);
	if (s->conn)
		conn_close(s->conn);
	slot_lose(s);
	start_later(s);
}

static void dispatch(void *ctx)
{
	struct queuer *q = ctx;
	askers_drop(q);
	for (size_t i = 0; i < q->o.searchers; i++) {
		struct searcher_slot *s = &q->slot[i];
		if (!s->conn || !s->alive || s->request)
			continue;
		struct queue_item *item = queue_take(q->queue, i == 0);
		if (item)
			slot_send(s, request_of(item));
	}
}

/* Numbers */

static void each_told(void *ctx, struct queue_item *item, uint64_t position, int64_t eta_us)
{
	request_tell(ctx, request_of(item), position, eta_us);
}

static void on_tick(void *ctx)
{
	struct queuer *q = ctx;
	queue_age(q->queue, now_us(q));
	queue_each(q->queue, general_searchers(q), each_told, q);
	askers_drop(q);
	q->rate_at = (q->rate_at + 1) % RATE_SECONDS;
	q->rate_n = MIN(q->rate_n + 1, (size_t)RATE_SECONDS);
	q->rate[q->rate_at] = 0;
	dispatch_soon(q);
}

static uint64_t running(const struct queuer *q)
{
	uint64_t n = 0;
	for (size_t i = 0; i < q->o.searchers; i++)
		n += q->slot[i].request != NULL;
	return n;
}

/* Until a general searcher is free: none if one is. */
static int64_t first_free_us(const struct queuer *q)
{
	int64_t first_us = INT64_MAX;
	for (size_t i = 1; i < q->o.searchers; i++) {
		const struct request *r = q->slot[i].request;
		int64_t left_us =
			r ? r->sent_us + queue_usual_us(q->queue, r->item.cost) - now_us(q) : 0;
		first_us = MIN(first_us, MAX(left_us, 0));
	}
	return first_us == INT64_MAX ? 0 : first_us;
}

static void answer_load(struct asker *a)
{
	enum { USUAL_COST = 200 }; /* a part of a name, a hundred hits */
	struct queuer *q = a->q;
	uint64_t answers = 0;
	for (size_t i = 0; i < RATE_SECONDS; i++)
		answers += q->rate[i];
	const struct archie_line line = {
		.word = ARCHIE_WORD_LOAD,
		.has_load = true,
		.load = {.queue = queue_waiting(q->queue) + q->held + running(q),
			 .wait_us = first_free_us(q) +
				    queue_wait_us(q->queue, USUAL_COST, general_searchers(q)),
			 .per_s = (double)answers / (double)MAX(q->rate_n, (size_t)1)}};
	asker_send(a, &line, STR(""));
}

void queuer_counts(const struct queuer *q, struct queuer_counts *ret)
{
	struct server_stats stats;
	server_stats(q->server, &stats);
	*ret = q->counts;
	ret->waiting = queue_waiting(q->queue) + q->held;
	ret->running = running(q);
	ret->connections = stats.inside;
	for (size_t i = 0; i < q->o.searchers; i++)
		ret->searchers += q->slot[i].alive;
}

/* Beginning and end */

struct queuer *queuer_new(const struct queuer_options *options)
{
	static const struct server_limits limits = {.max_connections = QUEUER_CONNECTIONS,
						    .max_per_address = QUEUER_CONNECTIONS,
						    .backlog = 1024,
						    .line_max = ARCHIE_LINE_MOST,
						    .block_max = ARCHIE_REQUEST_MOST,
						    .queue_max = 1 << 30,
						    .memory = (uint64_t)2 * ANSWERS_MOST,
						    .line_us = US_PER_MIN};
	struct queuer *q = mem_alloc(sizeof *q);
	*q = (struct queuer){.o = *options,
			     .out = BUF_INIT(ARCHIE_LINE_MOST + ARCHIE_REQUEST_MOST),
			     .arena = ARENA_INIT((size_t)4 << 20)};
	ENSURE(options->searchers >= 2 && options->searchers <= QUEUER_SEARCHERS_MOST);
	q->server = server_new(q->o.loop, &protocol, &limits, NULL, q);
	q->pool = conn_pool_new(q->o.loop, UINT64_MAX);
	q->queue = queue_new(q->o.queue_max, QUEUER_SHARE);
	(void)!getrandom(&q->seed, sizeof q->seed, 0);
	list_init(&q->askers);
	q->tick = (struct loop_timer){.fn = on_tick, .ctx = q};
	q->dispatch = (struct loop_later){.fn = dispatch, .ctx = q};
	q->slot = mem_array(q->o.searchers, sizeof *q->slot);
	for (size_t i = 0; i < q->o.searchers; i++) {
		q->slot[i] = (struct searcher_slot){.q = q, .number = i};
		q->slot[i].timer = (struct loop_timer){.fn = slot_timer, .ctx = &q->slot[i]};
		loop_timer_in(q->o.loop, &q->slot[i].timer, 0);
	}
	loop_timer_every(q->o.loop, &q->tick, TICK_US);
	return q;
}

int queuer_listen(struct queuer *q, int fd, struct err *err)
{
	uint64_t has, wants;
	(void)listener_make_room(QUEUER_CONNECTIONS, &has, &wants);
	return server_listen(q->server, fd, err);
}

void queuer_free(struct queuer **qp)
{
	struct queuer *q = *qp;
	if (!q)
		return;
	for (size_t i = 0; i < q->o.searchers; i++)
		q->slot[i].alive = false; /* so that none is killed or started any more */
	server_free(&q->server);
	conn_pool_free(&q->pool);
	for (size_t i = 0; i < q->o.searchers; i++)
		loop_timer_stop(&q->slot[i].timer);
	loop_timer_stop(&q->tick);
	loop_later_cancel(&q->dispatch);
	queue_free(&q->queue);
	mem_free(&q->slot);
	buf_free(&q->out);
	arena_free(&q->arena);
	mem_free(qp);
}
