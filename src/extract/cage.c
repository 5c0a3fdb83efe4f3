/* The owner's side: which document is where, and what time it is for each worker. */
#include "extract/cage.h"
#include "base/clock.h"
#include "extract/cage_inner.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	WALL_FACTOR = 10,       /* by the clock it may take so much longer than by the CPU's */
	FAILURES_MAX = 3,       /* starts in a row, then there is a pause */
	PAUSE_US = 1000 * 1000, /* the first one; each is twice the one before, up to a minute */
	PAUSES_MAX = 6,
	IDLE_SHARE = 10,             /* one that has nothing to do may use so much less CPU time */
	SENT_AHEAD = CAGE_SLOTS / 2, /* documents that a worker has at least, if there are any */
	KEEP_PAGES = 2 << 20,        /* bytes of body and of output that stay allocated in a slot */
};

const struct cage_options cage_defaults = {
	.workers = 1,
	.body_max = 16 << 20,
	.memory = 512 << 20,
	.cpu_us = 10 * US_PER_S,
	.settings = {.links_max = EXTRACT_LINKS_MAX},
};

const char *cage_end_name(enum cage_end end)
{
	static const char *const names[CAGE_ENDS] = {
		[CAGE_READ] = "read",   [CAGE_DIED] = "died",           [CAGE_OVERRAN] = "overran",
		[CAGE_BROKE] = "broke", [CAGE_NO_WORKER] = "no worker",
	};
	return names[end];
}

/* Time. */

static void timer_at(struct cage *c, int64_t us, int64_t now_us)
{
	int64_t in = MAX(us - now_us, 1);
	struct itimerspec t = {.it_value = {in / US_PER_S, in % US_PER_S * 1000}};
	if (us >= c->timer_us)
		return; /* it goes off before, and is set anew then */
	timerfd_settime(c->timer, 0, &t, NULL);
	c->timer_us = us;
}

/* The next document, or none: one that has nothing to do is looked at all the same. */
static void begin_first(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	w->since_us = now_us;
	w->due_us = now_us + c->options.cpu_us;
	timer_at(c, w->due_us, now_us);
}

/* Starting. */

/* Sends what was not sent yet, in one packet. */
static void flush(struct cage_worker *w)
{
	struct cage_calls calls = {.head.magic = CAGE_MAGIC};
	if (w->sent == w->queued || w->state == WORKER_NONE)
		return;
	while (w->sent < w->queued)
		calls.slot[calls.head.n++] = w->queue[w->sent++]->index;
	/* there is room for all slots; a worker that is gone is noticed by itself */
	(void)send(w->fd, &calls, sizeof calls.head + calls.head.n * sizeof calls.slot[0],
		   MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* No worker for a while. */
static void pause_worker(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	unsigned pauses = w->failures > FAILURES_MAX ? w->failures - FAILURES_MAX : 0;
	w->state = WORKER_NONE;
	w->due_us = now_us + ((int64_t)PAUSE_US << MIN(pauses, (unsigned)PAUSES_MAX));
	/* what waits for it is told by the next poll */
	timer_at(c, w->queued ? now_us : w->due_us, now_us);
}

static int start(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	if (cage_start(c, w, now_us, &c->last) < 0) {
		w->failures = MAX(w->failures + 1, (unsigned)FAILURES_MAX);
		pause_worker(c, w, now_us);
		return -1;
	}
	w->sent = 0;
	flush(w);
	timer_at(c, w->due_us, now_us);
	return 0;
}

static void say_hello(struct cage *c, struct cage_worker *w, const struct cage_hello *h,
		      int64_t now_us)
{
	w->state = WORKER_READY;
	w->locks = h->locks;
	snprintf(w->remark, sizeof w->remark, "%.*s", (int)sizeof h->remark - 1, h->remark);
	w->cpu_us = cage_cpu_us(w);
	begin_first(c, w, now_us);
}

/* Ends of documents. */

static void leave_queue(struct cage_worker *w, struct slot *s)
{
	size_t i = 0;
	while (w->queue[i] != s)
		i++;
	w->sent -= i < w->sent;
	for (w->queued--; i < w->queued; i++)
		w->queue[i] = w->queue[i + 1];
	s->state = SLOT_FREE;
}

/* Big documents are rare; their memory goes back. */
static void forget_pages(const struct cage *c, const struct slot *s, size_t out_used)
{
	size_t body = cage_body_room(c->options.body_max);
	if (s->body_n > KEEP_PAGES)
		madvise(s->lent.body, body, MADV_REMOVE);
	if (out_used > KEEP_PAGES)
		madvise(s->lent.body + body, CAGE_OUT, MADV_REMOVE);
}

static void tell(struct cage *c, struct slot *s, struct cage_result *r, size_t out_used)
{
	cage_done_fn *done = s->done;
	void *ctx = s->ctx;
	c->stats.documents++;
	c->stats.bytes += s->body_n;
	c->stats.ends[r->end]++;
	forget_pages(c, s, out_used);
	done(ctx, r);
}

static void tell_no_text(struct cage *c, struct slot *s, enum cage_end end, const char *reason,
			 int64_t cpu_us)
{
	struct cage_result r;
	cage_no_text(c, s, end, reason, &r);
	r.cpu_us = cpu_us;
	tell(c, s, &r, SIZE_MAX);
}

/* No worker, and none soon: the queue ends without text. */
static void give_up(struct cage *c, struct cage_worker *w)
{
	char reason[sizeof c->last.msg + 64];
	for (size_t n = w->queued; n > 0; n--) { /* not what is submitted meanwhile */
		struct slot *s = w->queue[0];
		leave_queue(w, s);
		snprintf(reason, sizeof reason, "no text: no worker can be started: %s",
			 c->last.msg);
		tell_no_text(c, s, CAGE_NO_WORKER, reason, 0);
	}
}

/* The document that a worker is at, as far as it can be believed. */
static struct slot *at_work(struct cage_worker *w)
{
	uint32_t index = __atomic_load_n(&w->progress->slot, __ATOMIC_RELAXED);
	if (w->state != WORKER_READY)
		return NULL;
	for (size_t i = 0; i < w->sent; i++)
		if (w->queue[i]->index == index)
			return w->queue[i];
	return w->queued ? w->queue[0] : NULL;
}

/* Ends a worker and puts another in its place. The document that it was at (NULL: none) ends with
 * it; the others go to the next. */
static void replace(struct cage *c, struct cage_worker *w, struct slot *first, enum cage_end end,
		    const char *why, int64_t now_us)
{
	char how[160], reason[320];
	bool was_ready = w->state == WORKER_READY;
	int64_t cpu_us = first ? cage_cpu_us(w) - w->cpu_us : 0;
	cage_stop(w, how, sizeof how);
	snprintf(reason, sizeof reason, "no text: the worker was at this document when %s",
		 why ? why : how);
	if (!was_ready || !first) {
		w->failures++;
		err_set(&c->last, ERR_SYSTEM, "%s: %s %s", c->program, why ? why : how,
			was_ready ? "and had no document" : "before it was ready");
	}
	if (first) {
		leave_queue(w, first);
		first->state = SLOT_TAKEN; /* its bytes are still needed */
	}
	if (w->failures < FAILURES_MAX)
		(void)start(c, w,
			    now_us); /* a failure is in c->last, and the queue waits for poll */
	else
		pause_worker(c, w, now_us);
	if (first) {
		first->state = SLOT_FREE;
		tell_no_text(c, first, end, reason, cpu_us);
	}
}

/* Answers come in the order of the queue. Negative: they make no sense, and the worker is gone. */
static int take_answer(struct cage *c, struct cage_worker *w, const struct cage_answer *a,
		       int64_t cpu_us, int64_t now_us)
{
	struct cage_result r;
	struct err err;
	struct slot *s = w->sent ? w->queue[0] : NULL;
	if (!s || a->slot != s->index) {
		replace(c, w, s, CAGE_BROKE, "its answer was to another question, and it was ended",
			now_us);
		return -1;
	}
	if (cage_take_answer(c, w, a, &r, &err) < 0) {
		replace(c, w, s, CAGE_BROKE, err.msg, now_us);
		return -1;
	}
	r.cpu_us = cpu_us;
	w->failures = 0;
	leave_queue(w, s);
	begin_first(c, w, now_us);
	tell(c, s, &r, a->side_n + a->text_n);
	return 0;
}

struct answers {
	struct cage_packet head;
	struct cage_answer answer[CAGE_SLOTS];
};

static void take_answers(struct cage *c, struct cage_worker *w, const struct answers *a,
			 int64_t now_us)
{
	int64_t cpu_us = cage_cpu_us(w), each_us = (cpu_us - w->cpu_us) / a->head.n;
	w->cpu_us = cpu_us;
	for (uint32_t i = 0; i < a->head.n; i++)
		if (take_answer(c, w, &a->answer[i], each_us, now_us) < 0)
			return;
}

/* What a worker says, or that it is gone. */
static void listen_to(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	union {
		struct cage_hello hello;
		struct answers answers;
	} packet;
	ssize_t n = recv(w->fd, &packet, sizeof packet, MSG_DONTWAIT);
	/* said once when it died with something unread; what it had said before comes after that */
	if (n < 0 && errno == ECONNRESET)
		n = recv(w->fd, &packet, sizeof packet, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		replace(c, w, at_work(w), CAGE_DIED, NULL, now_us);
		return;
	}
	const struct cage_packet *head = &packet.answers.head;
	if (w->state == WORKER_STARTS && n == sizeof packet.hello &&
	    packet.hello.magic == CAGE_MAGIC)
		say_hello(c, w, &packet.hello, now_us);
	else if (w->state == WORKER_READY && (size_t)n >= sizeof *head &&
		 head->magic == CAGE_MAGIC && head->n > 0 && head->n <= CAGE_SLOTS &&
		 (size_t)n == sizeof *head + head->n * sizeof(struct cage_answer))
		take_answers(c, w, &packet.answers, now_us);
	else
		replace(c, w, at_work(w), CAGE_BROKE, "it said what makes no sense, and was ended",
			now_us);
}

/* Its time is over: by the clock, or by its own. */
static void look_at_time(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	char why[96];
	if (w->state == WORKER_NONE) {
		(void)start(c, w, now_us);
		return;
	}
	if (w->state == WORKER_STARTS) {
		replace(c, w, NULL, CAGE_DIED, NULL, now_us);
		return;
	}
	int64_t used_us = cage_cpu_us(w) - w->cpu_us, left_us = c->options.cpu_us - used_us;
	if (w->queued == 0 && used_us < c->options.cpu_us / IDLE_SHARE) {
		w->cpu_us += used_us;
		begin_first(c, w, now_us);
		return;
	}
	if (w->queued && left_us > 0 && now_us - w->since_us < WALL_FACTOR * c->options.cpu_us) {
		w->due_us = now_us + MAX(left_us, US_PER_MS);
		return;
	}
	snprintf(why, sizeof why, "it had used %.1f s of CPU, and was ended",
		 (double)used_us / US_PER_S);
	replace(c, w, at_work(w), CAGE_OVERRAN, why, now_us);
}

void cage_poll(struct cage *c, int64_t now_us)
{
	struct epoll_event events[CAGE_WORKERS_MAX + 1];
	int n = epoll_wait(c->epoll, events, ARRAY_LEN(events), 0);
	int64_t next_us = INT64_MAX;
	bool rang = c->timer_us <= now_us;
	for (int i = 0; i < n; i++) {
		uint64_t times;
		if (events[i].data.ptr)
			listen_to(c, events[i].data.ptr, now_us);
		else if (read(c->timer, &times, sizeof times) > 0)
			rang = true;
	}
	for (size_t i = 0; i < c->nworkers; i++)
		if (c->worker[i].sent < SENT_AHEAD)
			flush(&c->worker[i]);
	if (!rang)
		return;
	c->timer_us = INT64_MAX;
	for (size_t i = 0; i < c->nworkers; i++) {
		struct cage_worker *w = &c->worker[i];
		if (w->due_us <= now_us)
			look_at_time(c, w, now_us);
		if (w->state == WORKER_NONE)
			give_up(c, w);
		next_us = MIN(next_us, w->due_us);
	}
	if (next_us != INT64_MAX)
		timer_at(c, next_us, now_us);
}

/* Slots. */

/* The slot of the worker that has least to do, if possible one that is running. */
int cage_take(struct cage *c, struct cage_slot **ret)
{
	struct slot *best = NULL;
	size_t best_cost = SIZE_MAX;
	for (size_t i = 0; i < c->nworkers; i++) {
		struct cage_worker *w = &c->worker[i];
		size_t cost = w->queued + (w->state == WORKER_NONE ? CAGE_SLOTS : 0);
		struct slot *free_slot = NULL;
		for (size_t k = 0; k < CAGE_SLOTS; k++) {
			if (w->slot[k].state == SLOT_FREE && !free_slot)
				free_slot = &w->slot[k]; /* the first: its memory is warm */
			else if (w->slot[k].state == SLOT_TAKEN)
				cost++;
		}
		if (free_slot && cost < best_cost) {
			best = free_slot;
			best_cost = cost;
		}
	}
	if (!best)
		return 1;
	best->state = SLOT_TAKEN;
	*ret = &best->lent;
	return 0;
}

void cage_give_back(struct cage *c, struct cage_slot *slot)
{
	struct slot *s = (struct slot *)slot;
	(void)c;
	ENSURE(s->state == SLOT_TAKEN);
	s->state = SLOT_FREE;
}

/* A text behind the others, as much of it as there is room for. */
static uint32_t put_field(char **to, size_t *room, struct str text)
{
	size_t n = MIN(text.n, *room);
	if (n)
		memcpy(*to, text.p, n);
	*to += n;
	*room -= n;
	return (uint32_t)n;
}

/* What the worker has to know, in front of the body. It stays there for the worker that may have to
 * do it instead. */
static void put_call(char *body, const struct extract_job *job)
{
	char *at = body - CAGE_CALL_ROOM, *to = at + sizeof(struct cage_call);
	size_t room = CAGE_HEADER_MAX;
	struct cage_call call = {.body_n = job->body.n,
				 .links_max = job->settings.links_max,
				 .noscript = job->settings.noscript};
	call.url_n = put_field(&to, &room, job->url);
	call.content_type_n = put_field(&to, &room, job->content_type);
	call.charset_n = put_field(&to, &room, job->charset);
	call.robots_n = put_field(&to, &room, job->robots);
	memcpy(at, &call, sizeof call);
}

void cage_submit(struct cage *c, struct cage_slot *slot, const struct extract_job *job,
		 cage_done_fn *done, void *ctx, int64_t now_us)
{
	struct slot *s = (struct slot *)slot;
	struct cage_worker *w = s->worker;
	ENSURE(s->state == SLOT_TAKEN && job->body.n <= s->lent.body_max);
	put_call(s->lent.body, job);
	s->body_n = job->body.n;
	s->done = done;
	s->ctx = ctx;
	s->state = SLOT_QUEUED;
	w->queue[w->queued++] = s;
	if (w->state == WORKER_NONE) {
		timer_at(c, now_us, now_us); /* cage_poll() tells it */
		return;
	}
	if (w->state == WORKER_READY && w->queued == 1)
		begin_first(c, w, now_us);
	/* the first at once, the others together: with enough of them, or when an answer comes */
	if (w->sent == 0 || w->queued - w->sent >= SENT_AHEAD)
		flush(w);
}

int cage_fd(const struct cage *c)
{
	return c->epoll;
}

size_t cage_under_way(const struct cage *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->nworkers; i++)
		n += c->worker[i].queued;
	return n;
}

const struct cage_stats *cage_stats(const struct cage *c)
{
	return &c->stats;
}

int cage_locks(const struct cage *c, unsigned *ret, const char **ret_remark)
{
	unsigned locks = UINT32_MAX;
	const char *remark = "";
	bool some = false;
	for (size_t i = 0; i < c->nworkers; i++) {
		const struct cage_worker *w = &c->worker[i];
		if (w->state != WORKER_READY)
			continue;
		some = true;
		locks &= w->locks;
		remark = w->remark[0] ? w->remark : remark;
	}
	if (!some)
		return 1;
	*ret = locks;
	*ret_remark = remark;
	return 0;
}

int cage_new(struct cage **ret, const struct cage_options *options, int64_t now_us, struct err *err)
{
	struct cage *c = mem_alloc(sizeof *c);
	struct epoll_event event = {.events = EPOLLIN};
	c->options = *options;
	c->program = mem_text(options->program);
	c->timer_us = INT64_MAX;
	c->nworkers = MIN(MAX(options->workers, 1u), (unsigned)CAGE_WORKERS_MAX);
	c->worker = mem_array(c->nworkers, sizeof *c->worker);
	for (size_t i = 0; i < c->nworkers; i++)
		c->worker[i].fd = c->worker[i].memory.fd = -1;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->epoll < 0 || c->timer < 0 ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->timer, &event) != 0) {
		err_sys(err, "the descriptors of the parser's cage");
		cage_free(&c);
		return -1;
	}
	for (size_t i = 0; i < c->nworkers; i++) {
		struct cage_worker *w = &c->worker[i];
		if (cage_memory(c, w, err) < 0) {
			cage_free(&c);
			return -1;
		}
		if (start(c, w, now_us) < 0) {
			*err = c->last;
			cage_free(&c);
			return -1;
		}
	}
	*ret = c;
	return 0;
}

void cage_free(struct cage **pc)
{
	struct cage *c = *pc;
	char how[160];
	if (!c)
		return;
	for (size_t i = 0; i < c->nworkers; i++) {
		struct cage_worker *w = &c->worker[i];
		cage_stop(w, how, sizeof how);
		if (w->map)
			munmap(w->map, cage_memory_size(c->options.body_max));
		file_drop(&w->memory);
	}
	if (c->timer >= 0)
		close(c->timer);
	if (c->epoll >= 0)
		close(c->epoll);
	mem_free(&c->worker);
	mem_free(&c->program);
	mem_free(&c->copy);
	mem_free(&c->attrs);
	mem_free(pc);
}
