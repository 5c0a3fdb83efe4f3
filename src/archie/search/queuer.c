/* A request is in one of three places: in the queue, with a searcher, or held back while its asker
 * does not read earlier answers. Rows are forwarded without being parsed, because both ends are
 * ours. So a request costs the queuer a few system calls, however long the answer.
 *
 * Everything is bounded: requests by queue_max and their bytes; answers by the number of searchers,
 * because nothing is searched for an asker with many unread answers. If all unread answers together
 * are too many, the asker with the most is disconnected. */
#include "archie/queuer.h"

#include "archie/search/archie_wire.h"
#include "archie/search/queue.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "net/server.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	ANSWERS_MOST = 256 << 20, /* unread bytes of all askers */
	ANSWER_LARGE = 64 << 10,  /* an answer of this size triggers a look at them */
	REQUESTS_MOST = 64 << 20, /* bytes of requests */
	RATE_SECONDS = 60,
	DEATHS_QUICK = 5, /* deaths in a row after which restarting backs off */
};
#define TICK_US US_PER_S
#define STALL_US (30 * US_PER_S) /* an asker that does not read for this long is disconnected */
#define CANCEL_US (1 * US_PER_S) /* time for a search to notice that it was cancelled */
#define GRACE_US (5 * US_PER_S)  /* and that its time is up */
#define RESTART_MOST_US (1 * US_PER_S)
#define FAILURE_US (60 * US_PER_S) /* between log lines about the same failure */

struct request {
	struct queue_item item;
	struct link of_asker, held, untold;
	struct asker *asker;        /* NULL: cancelled */
	struct searcher_slot *slot; /* that searches it; NULL: none */
	struct archie_id id;
	char *bytes;
	size_t n;
	int64_t sent_us;
	uint64_t told; /* the position that was reported last */
	unsigned tries;
	bool verbose;
};

/* The state of a session: a connection of an interface. */
struct asker {
	struct queuer *q;
	struct session *session;
	struct link link, requests;
	struct link held;  /* requests that wait while it does not read */
	int64_t choked_us; /* when it stopped reading; 0: it reads */
	size_t going;      /* unread bytes that end with it; 0: it was not dropped */
};

struct searcher_slot {
	struct queuer *q;
	size_t number;
	struct conn *conn; /* NULL: not running */
	struct request *request;
	struct loop_timer timer; /* time limit of its search, or the next start */
	unsigned deaths;         /* in a row */
	bool alive;              /* its process has not been waited for */
};

struct queuer {
	struct queuer_options o;
	struct server_limits limits;
	struct server *server;
	struct conn_pool *pool; /* of searchers */
	struct queue *queue;
	struct link askers;
	size_t going;       /* of all askers that were dropped and still hold memory */
	struct link untold; /* verbose requests whose place was not reported yet */
	struct searcher_slot *slot;
	struct loop_timer tick;
	struct loop_later dispatch;
	struct buf out;
	struct arena arena; /* of the request being parsed */
	uint64_t seed;
	size_t held;            /* requests */
	uint64_t request_bytes; /* of all */
	uint64_t rate[RATE_SECONDS];
	size_t rate_at, rate_n;
	struct queuer_counts counts;
	char failure[ARCHIE_TEXT_MOST + 1]; /* of a search, as logged last */
	int64_t failure_us;
};

static void dispatch_soon(struct queuer *q)
{
	loop_later(q->o.loop, &q->dispatch);
}

static int64_t now_us(const struct queuer *q)
{
	return loop_now_us(q->o.loop);
}

static bool same_id(struct archie_id a, struct archie_id b)
{
	return a.pid == b.pid && a.n == b.n;
}

/* Searchers that take expensive requests as well. */
static unsigned general_searchers(const struct queuer *q)
{
	return (unsigned)(q->o.searchers - 1);
}

/* Askers that do not read */

static void asker_drop(struct asker *a)
{
	if (a->going)
		return;
	a->q->counts.dropped++;
	a->choked_us = 0;
	a->going = MAX(conn_queued(session_conn(a->session)), 1);
	a->q->going += a->going;
	conn_close(session_conn(a->session));
}

/* The asker with the most unread bytes of those that are not dropped; NULL: none. */
static struct asker *asker_most(struct queuer *q)
{
	struct asker *most = NULL;
	size_t n = 0;
	LIST_EACH (struct asker, a, &q->askers, link)
		if (!a->going && conn_queued(session_conn(a->session)) > n) {
			most = a;
			n = conn_queued(session_conn(a->session));
		}
	return most;
}

static void answers_look(struct queuer *q)
{
	struct server_stats stats;
	struct asker *most;
	server_stats(q->server, &stats);
	while (stats.conns.memory > ANSWERS_MOST + q->going && (most = asker_most(q)))
		asker_drop(most);
}

static void askers_look(struct queuer *q)
{
	answers_look(q);
	LIST_EACH (struct asker, a, &q->askers, link)
		if (a->choked_us && now_us(q) - a->choked_us > STALL_US)
			asker_drop(a);
}

static void request_hold(struct queuer *q, struct request *r)
{
	list_append(&r->asker->held, &r->held);
	q->held++;
}

static void request_unhold(struct queuer *q, struct request *r)
{
	q->held -= list_has(&r->held);
	list_remove(&r->held);
}

static void on_drained(struct session *s)
{
	struct asker *a = session_state(s);
	a->choked_us = 0;
	LIST_EACH (struct request, r, &a->held, held) {
		request_unhold(a->q, r);
		queue_put_back(a->q->queue, &r->item, now_us(a->q));
	}
	dispatch_soon(a->q);
}

/* Words to askers */

static void asker_send(struct asker *a, enum archie_word word, const struct archie_message *m)
{
	struct queuer *q = a->q;
	buf_clear(&q->out);
	message_write(&archie_tells, (int)word, m, &q->out);
	bool reads = conn_send(session_conn(a->session), buf_str(&q->out));
	if (!reads && !a->choked_us)
		a->choked_us = MAX(now_us(q), 1);
	if (q->out.n > ANSWER_LARGE)
		buf_free(&q->out);
	answers_look(q);
}

static void asker_refuse(struct asker *a, struct archie_id id, enum archie_refusal why,
			 const char *text)
{
	const struct archie_message m = {.id = id, .why = why, .text = str_of(text)};
	a->q->counts.refused[why]++;
	asker_send(a, ARCHIE_WORD_REFUSED, &m);
}

static void request_tell(struct request *r, uint64_t position, int64_t eta_us)
{
	if (!r->verbose || r->told == position || r->asker->choked_us)
		return;
	r->told = position;
	const struct archie_message m = {.id = r->id,
					 .position = position,
					 .seconds = (uint64_t)((eta_us + US_PER_S - 1) / US_PER_S)};
	asker_send(r->asker, ARCHIE_WORD_QUEUED, &m);
}

/* Requests */

static struct request *request_of(struct queue_item *item)
{
	return LIST_OF(struct request, item, item);
}

static void request_free(struct queuer *q, struct request *r)
{
	queue_remove(q->queue, &r->item);
	request_unhold(q, r);
	list_remove(&r->of_asker);
	list_remove(&r->untold);
	q->request_bytes -= r->n;
	mem_free(&r->bytes);
	mem_free(&r);
}

/* Cancels a request. A searcher that does not notice is killed. */
static void request_give_up(struct queuer *q, struct request *r)
{
	struct searcher_slot *s = r->slot;
	if (!s) {
		request_free(q, r);
		return;
	}
	list_remove(&r->of_asker);
	r->asker = NULL;
	if (s->conn)
		conn_send(s->conn, STR("stop 0\n"));
	loop_timer_in(q->o.loop, &s->timer, CANCEL_US);
}

static struct request *request_find(struct asker *a, struct archie_id id)
{
	LIST_EACH (struct request, r, &a->requests, of_asker)
		if (same_id(r->id, id))
			return r;
	return NULL;
}

/* A number for an address, or for a /64 network of IPv6. 0: there is no address. */
static uint64_t share_of(const struct queuer *q, struct str from)
{
	struct addr addr;
	if (!from.n)
		return 0;
	if (!addr_parse(from, &addr))
		return hash64_seeded(from, q->seed);
	addr = addr_server(&addr);
	return hash64_seeded((struct str){(const char *)addr.b, sizeof addr.b}, q->seed);
}

/* Our own processes and those of root ask for others and name them. All other requests count for
 * the user of the process, who could name anybody. */
static uint64_t user_of(const struct asker *a, struct str from)
{
	int64_t uid = session_from(a->session)->uid;
	bool for_others = from.n && (uid == 0 || uid == (int64_t)geteuid());
	return for_others ? 0 : hash_u64(a->q->seed ^ (uint64_t)uid) | 1;
}

/* Queues a request. NULL: queued; otherwise why not. */
static const char *request_put_once(struct queuer *q, struct request *r)
{
	static const char *const why[] = {
		[QUEUE_FULL] = "the queue is full; try again later",
		[QUEUE_SHARE] = "too many requests of your address wait already",
		[QUEUE_USER] = "too many requests of your user wait already",
	};
	if (queue_waiting(q->queue) + q->held >= q->o.queue_max ||
	    q->request_bytes + r->n > REQUESTS_MOST)
		return why[QUEUE_FULL];
	return why[queue_put(q->queue, &r->item, now_us(q))];
}

static void queue_dispatch(void *ctx);

/* The same, but if the queue is full gives idle searchers work first. */
static const char *request_put(struct queuer *q, struct request *r)
{
	if (!request_put_once(q, r))
		return NULL;
	queue_dispatch(q);
	return request_put_once(q, r);
}

static void request_take(struct asker *a, const struct archie_ask *ask,
			 const struct archie_message *m)
{
	struct queuer *q = a->q;
	struct request *r = mem_alloc(sizeof *r);
	*r = (struct request){.item = {.niceness = (unsigned)m->niceness,
				       .cost = queue_cost(ask),
				       .arrived_us = now_us(q),
				       .from = share_of(q, ask->from),
				       .user = user_of(a, ask->from)},
			      .asker = a,
			      .id = m->id,
			      .verbose = m->verbose,
			      .bytes = mem_copy(m->request.p, m->request.n),
			      .n = m->request.n};
	q->counts.asked[ask->what]++;
	if (ask->what == ARCHIE_FIND)
		q->counts.asked_type[ask->query.type]++;
	const char *busy = request_put(q, r);
	q->request_bytes += r->n;
	if (busy) {
		asker_refuse(a, r->id, ARCHIE_BUSY, busy);
		request_free(q, r);
		return;
	}
	list_append(&a->requests, &r->of_asker);
	if (r->verbose)
		list_append(&q->untold, &r->untold);
	FAULT("queuer.taken");
	dispatch_soon(q);
}

/* Messages of askers */

static void asker_ask(struct asker *a, const struct archie_message *m)
{
	struct queuer *q = a->q;
	struct archie_ask ask;
	struct err err;
	if (archie_ask_decode(m->request, &q->arena, &ask, &err) < 0)
		asker_refuse(a, m->id, ARCHIE_BAD, err.msg);
	else
		request_take(a, &ask, m);
	arena_clear(&q->arena);
}

static void asker_cancel(struct asker *a, struct archie_id id)
{
	struct request *r = request_find(a, id);
	if (!r)
		return; /* it was answered meanwhile */
	a->q->counts.cancels++;
	asker_refuse(a, id, ARCHIE_CANCELLED, "cancelled, as was asked");
	request_give_up(a->q, r);
}

static void asker_load(struct asker *a);

static void on_message(struct session *s, struct str bytes)
{
	struct asker *a = session_state(s);
	struct archie_message m;
	struct err err;
	int word;
	if (message_read(&archie_asks, bytes, &word, &m, &err) < 0)
		conn_close(session_conn(s));
	else if (word == ARCHIE_WORD_ASK)
		asker_ask(a, &m);
	else if (word == ARCHIE_WORD_CANCEL)
		asker_cancel(a, m.id);
	else
		asker_load(a);
}

static void on_opened(struct session *s)
{
	static const struct archie_message hello = {.version = ARCHIE_VERSION};
	struct asker *a = session_state(s);
	*a = (struct asker){.q = server_ctx(session_server(s)), .session = s};
	list_init(&a->requests);
	list_init(&a->held);
	list_append(&a->q->askers, &a->link);
	asker_send(a, ARCHIE_WORD_HELLO, &hello);
}

static void on_closed(struct session *s, enum conn_end end)
{
	struct asker *a = session_state(s);
	struct queuer *q = a->q;
	q->counts.dropped += end == CONN_END_FULL;
	q->going -= a->going;
	LIST_EACH (struct request, r, &a->requests, of_asker) {
		q->counts.hung_up++;
		request_give_up(q, r);
	}
	list_remove(&a->link);
	dispatch_soon(q);
}

static const struct server_protocol protocol = {
	.name = "archie-queue",
	.messages = &archie_asks,
	.words = {[SERVER_FULL] = "refused 35\nwhy busy\ntext too many connections\n",
		  [SERVER_STOPPING] = ""},
	.state_size = sizeof(struct asker),
	.opened = on_opened,
	.line = on_message,
	.drained = on_drained,
	.closed = on_closed,
};

/* Searchers */

/* Retries the request of a lost searcher once, then refuses it. */
static void slot_lose(struct searcher_slot *s)
{
	struct queuer *q = s->q;
	struct request *r = s->request;
	if (!r)
		return;
	s->request = NULL;
	r->slot = NULL;
	loop_timer_stop(&s->timer);
	if (r->asker && r->tries < 2) {
		q->counts.again++;
		queue_put_back(q->queue, &r->item, now_us(q));
		dispatch_soon(q);
		return;
	}
	if (r->asker)
		asker_refuse(r->asker, r->id, ARCHIE_FAILED, "the search failed twice");
	request_free(q, r);
}

static void slot_closed(void *ctx, enum conn_end end, int sys_errno)
{
	struct searcher_slot *s = ctx;
	(void)end;
	(void)sys_errno;
	s->conn = NULL;
	slot_lose(s);
	if (s->alive)
		s->q->o.ops->kill(s->q->o.ctx, s->number);
}

static void slot_start(struct searcher_slot *s);

static void slot_timer(void *ctx)
{
	struct searcher_slot *s = ctx;
	if (!s->alive) {
		slot_start(s);
		return;
	}
	s->q->counts.overruns += s->request && s->request->asker;
	if (s->conn)
		conn_close(s->conn);
}

/* The words of an internal failure name our files: logs them, at most once a minute, and hides them
 * from strangers. */
static void failure_hide(struct searcher_slot *s, struct archie_message *m)
{
	struct queuer *q = s->q;
	char why[ARCHIE_TEXT_MOST + 1];
	snprintf(why, sizeof why, STR_FMT, STR_ARG(m->text));
	if (strcmp(why, q->failure) != 0 || now_us(q) - q->failure_us >= FAILURE_US) {
		log_warn(ROLE, "search failed", KV_TEXT("why", why));
		memcpy(q->failure, why, sizeof why);
		q->failure_us = now_us(q);
	}
	m->text = STR("something is wrong on this server");
}

/* The search has ended with an answer or a refusal. */
static void slot_answered(struct searcher_slot *s, enum archie_word word, struct archie_message *m)
{
	struct queuer *q = s->q;
	struct request *r = s->request;
	int64_t took_us = now_us(q) - r->sent_us;
	s->request = NULL;
	s->deaths = 0;
	loop_timer_stop(&s->timer);
	r->slot = NULL;
	dispatch_soon(q);
	if (r->asker && word == ARCHIE_WORD_ANSWER) {
		m->wait_us = MAX(r->sent_us - r->item.arrived_us, 0);
		q->counts.answered++;
		q->counts.cut += m->cut;
		q->counts.wait_us += (uint64_t)m->wait_us;
		q->counts.search_us += (uint64_t)took_us;
		q->rate[q->rate_at]++;
		queue_served(q->queue, r->item.cost, took_us);
	} else if (r->asker) {
		q->counts.refused[m->why]++;
		if (m->why == ARCHIE_FAILED)
			failure_hide(s, m);
	}
	if (r->asker)
		asker_send(r->asker, word, m);
	FAULT("queuer.answered");
	request_free(q, r);
}

static void slot_message(void *ctx, struct str bytes)
{
	struct searcher_slot *s = ctx;
	struct archie_message m;
	struct err err;
	int word;
	if (message_read(&archie_finds, bytes, &word, &m, &err) == 0 && s->request &&
	    same_id(s->request->id, m.id))
		slot_answered(s, (enum archie_word)word, &m);
	else
		conn_close(s->conn);
}

static const struct conn_ops slot_ops = {.line = slot_message, .closed = slot_closed};
static const struct conn_limits slot_limits = {
	.messages = &archie_finds,
	.high_mark = 1 << 20,
	.queue_max = 2 << 20,
};

static void slot_send(struct searcher_slot *s, struct request *r)
{
	struct queuer *q = s->q;
	const struct archie_message m = {
		.id = r->id, .limit_us = q->o.limit_us, .request = {r->bytes, r->n}};
	s->request = r;
	r->slot = s;
	r->tries++;
	r->sent_us = now_us(q);
	q->counts.searches++;
	buf_clear(&q->out);
	message_write(&archie_searches, ARCHIE_WORD_SEARCH, &m, &q->out);
	conn_send(s->conn, buf_str(&q->out));
	loop_timer_in(q->o.loop, &s->timer, q->o.limit_us + GRACE_US);
	FAULT("queuer.sent");
}

/* Restarts it at once, unless it keeps dying. */
static void start_later(struct searcher_slot *s)
{
	s->deaths++;
	int64_t us = s->deaths <= DEATHS_QUICK ? 0
					       : backoff_us(s->deaths - DEATHS_QUICK,
							    10 * US_PER_MS, RESTART_MOST_US);
	loop_timer_in(s->q->o.loop, &s->timer, us);
}

static int start_process(struct searcher_slot *s, int *ret_fd, struct err *err)
{
	struct queuer *q = s->q;
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(err, "a socket");
	int rc = fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0
			 ? err_sys(err, "a socket")
			 : q->o.ops->start(q->o.ctx, s->number, ends[1], err);
	close(ends[1]);
	if (rc < 0)
		close(ends[0]);
	else
		*ret_fd = ends[0];
	return rc;
}

static void slot_start(struct searcher_slot *s)
{
	struct queuer *q = s->q;
	struct err err;
	int fd = -1;
	if (start_process(s, &fd, &err) < 0) {
		log_warn(ROLE, "searcher cannot be started; trying again", KV_TEXT("why", err.msg));
		start_later(s);
		return;
	}
	s->alive = true;
	s->conn = conn_new(q->pool, fd, NULL, &slot_limits, &slot_ops, s);
	dispatch_soon(q);
}

void queuer_ended(struct queuer *q, size_t number, const char *reason)
{
	struct searcher_slot *s = &q->slot[number];
	s->alive = false;
	q->counts.deaths++;
	log_warn(ROLE, "searcher ended and is replaced", KV_TEXT("why", reason));
	if (s->conn)
		conn_close(s->conn);
	slot_lose(s);
	start_later(s);
}

/* Turns */

/* Takes the next request whose asker reads; holds back the others. */
static struct request *next_request(struct queuer *q, bool cheap_only)
{
	struct queue_item *item;
	while ((item = queue_take(q->queue, cheap_only))) {
		struct request *r = request_of(item);
		if (!r->asker->choked_us)
			return r;
		request_hold(q, r);
	}
	return NULL;
}

/* Reports their place to new requests; the tick reports changes. */
static void tell_new(struct queuer *q)
{
	enum { AT_ONCE = 16 }; /* since each is a look at the whole queue */
	uint64_t position;
	int64_t eta_us;
	for (int i = 0; !list_is_empty(&q->untold); i++) {
		struct request *r = LIST_FIRST(struct request, &q->untold, untold);
		list_remove(&r->untold);
		if (i < AT_ONCE &&
		    queue_place(q->queue, &r->item, general_searchers(q), &position, &eta_us) == 0)
			request_tell(r, position, eta_us);
	}
}

static void queue_dispatch(void *ctx)
{
	struct queuer *q = ctx;
	for (size_t i = 0; i < q->o.searchers; i++) {
		struct searcher_slot *s = &q->slot[i];
		struct request *r;
		if (s->conn && s->alive && !s->request && (r = next_request(q, i == 0)))
			slot_send(s, r);
	}
	tell_new(q);
}

static void each_told(void *ctx, struct queue_item *item, uint64_t position, int64_t eta_us)
{
	(void)ctx;
	request_tell(request_of(item), position, eta_us);
}

static void on_tick(void *ctx)
{
	struct queuer *q = ctx;
	queue_age(q->queue, now_us(q));
	queue_each(q->queue, general_searchers(q), each_told, NULL);
	askers_look(q);
	q->rate_at = (q->rate_at + 1) % RATE_SECONDS;
	q->rate_n = MIN(q->rate_n + 1, (size_t)RATE_SECONDS);
	q->rate[q->rate_at] = 0;
	dispatch_soon(q);
}

/* Numbers */

static uint64_t searches_running(const struct queuer *q)
{
	uint64_t n = 0;
	for (size_t i = 0; i < q->o.searchers; i++)
		n += q->slot[i].request != NULL;
	return n;
}

/* The expected time until a searcher that takes any request is free. */
static int64_t first_free_us(const struct queuer *q)
{
	int64_t first_us = INT64_MAX;
	for (size_t i = 1; i < q->o.searchers; i++) {
		const struct request *r = q->slot[i].request;
		int64_t left_us =
			r ? r->sent_us + queue_usual_us(q->queue, r->item.cost) - now_us(q) : 0;
		first_us = MIN(first_us, MAX(left_us, 0));
	}
	return first_us;
}

static void asker_load(struct asker *a)
{
	enum { USUAL_COST = 200 }; /* a part of a name, a hundred hits */
	struct queuer *q = a->q;
	uint64_t answers = 0;
	for (size_t i = 0; i < RATE_SECONDS; i++)
		answers += q->rate[i];
	const struct archie_message m = {
		.queue = queue_waiting(q->queue) + q->held + searches_running(q),
		.wait_us = first_free_us(q) +
			   queue_wait_us(q->queue, USUAL_COST, general_searchers(q)),
		.per_1000s = 1000 * answers / MAX(q->rate_n, (size_t)1)};
	asker_send(a, ARCHIE_WORD_LOADED, &m);
}

void queuer_counts(const struct queuer *q, struct queuer_counts *ret)
{
	struct server_stats stats;
	server_stats(q->server, &stats);
	*ret = q->counts;
	ret->waiting = queue_waiting(q->queue) + q->held;
	ret->running = searches_running(q);
	ret->connections = stats.inside;
	for (size_t i = 0; i < q->o.searchers; i++)
		ret->searchers += q->slot[i].alive;
}

/* Beginning and end */

static void slots_make(struct queuer *q)
{
	q->slot = mem_array(q->o.searchers, sizeof *q->slot);
	for (size_t i = 0; i < q->o.searchers; i++) {
		struct searcher_slot *s = &q->slot[i];
		*s = (struct searcher_slot){.q = q, .number = i};
		s->timer = (struct loop_timer){.fn = slot_timer, .ctx = s};
		loop_timer_in(q->o.loop, &s->timer, 0);
	}
}

struct queuer *queuer_new(const struct queuer_options *options)
{
	struct queuer *q = mem_alloc(sizeof *q);
	*q = (struct queuer){.o = *options,
			     .out = BUF_INIT(ARCHIE_ANSWER_MOST + 2 * ARCHIE_SMALL_MOST),
			     .arena = ARENA_INIT((size_t)4 << 20)};
	ENSURE(options->searchers >= 2 && options->searchers <= QUEUER_SEARCHERS_MOST);
	/* every searcher may have an answer for the same asker */
	q->limits = (struct server_limits){.max_connections = QUEUER_CONNECTIONS,
					   .max_per_address = QUEUER_CONNECTIONS,
					   .backlog = 1024,
					   .queue_max = (uint64_t)(ARCHIE_ANSWER_MOST + 4096) *
							(options->searchers + 1),
					   .memory = UINT64_MAX,
					   .line_us = US_PER_MIN};
	q->server = server_new(q->o.loop, &protocol, &q->limits, NULL, q);
	q->pool = conn_pool_new(q->o.loop, UINT64_MAX);
	q->queue = queue_new(q->o.queue_max, QUEUER_SHARE, QUEUER_USER_SHARE);
	if (getrandom(&q->seed, sizeof q->seed, 0) != sizeof q->seed)
		q->seed = (uint64_t)now_us(q);
	list_init(&q->askers);
	list_init(&q->untold);
	q->tick = (struct loop_timer){.fn = on_tick, .ctx = q};
	q->dispatch = (struct loop_later){.fn = queue_dispatch, .ctx = q};
	slots_make(q);
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
		q->slot[i].alive = false; /* the owner ends them */
	conn_pool_free(&q->pool);
	server_free(&q->server);
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
