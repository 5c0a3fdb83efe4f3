/* The loop, over libevent. One event of libevent serves all timers, which are in a heap here;
 * deferred calls and posts are lists. Deferred calls run between callbacks, never inside one, so
 * anything may be freed anywhere. */
#include "net/loop.h"

#include "base/heap.h"
#include "base/log.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* How often loop_step() looks at the descriptors before it goes on in time; one that is always
 * ready must not hold it. */
enum { STEP_ROUNDS = 1000 };

static bool timer_sooner(struct loop_timer *const *a, struct loop_timer *const *b)
{
	return (*a)->due_us != (*b)->due_us ? (*a)->due_us < (*b)->due_us : (*a)->turn < (*b)->turn;
}

static void timer_moved(struct loop_timer **t, size_t at)
{
	(*t)->at = at;
}

HEAP(timers, struct loop_timer *, timer_sooner, timer_moved)

struct post {
	struct post *next;
	void (*fn)(void *ctx);
	void *ctx;
};

struct handler {
	void (*fn)(void *ctx, int number);
	void *ctx;
};

struct loop {
	struct event_base *base;
	bool manual;
	int64_t manual_us;
	unsigned depth;    /* callbacks that we are inside of */
	uint64_t calls;    /* callbacks ever */
	size_t watched;    /* descriptors of others, for loop_free() */
	struct event *due; /* fires when the first timer may be due, or deferred calls were left */
	int64_t due_us;    /* INT64_MAX: not set */
	struct timers timers;
	uint64_t turn;
	struct link later; /* deferred calls */
	struct loop_io signals;
	sigset_t signal_set;
	struct handler handler[NSIG];
	struct loop_io wake;
	int signal_fd, wake_fd;
	struct post *posts;   /* that are being called */
	pthread_mutex_t lock; /* of what follows */
	struct post *first, **last;
};

int64_t loop_now_us(const struct loop *l)
{
	return l->manual ? l->manual_us : clock_mono_us();
}

/* A timer for now, because what is activated while callbacks run comes before descriptors again. */
static void wake_in(struct loop *l, int64_t in_us)
{
	struct timeval tv = {.tv_sec = in_us / US_PER_S, .tv_usec = in_us % US_PER_S};
	if (event_add(l->due, &tv) < 0)
		die("no memory for a timer");
}

static void wake_at_once(struct loop *l)
{
	wake_in(l, 0);
	l->due_us = INT64_MIN;
}

/* Makes the deferred calls that wait now; those that they defer are left for the next round. */
static void run_later(struct loop *l)
{
	struct link mark = {0};
	if (list_is_empty(&l->later))
		return;
	list_append(&l->later, &mark);
	l->depth++;
	while (l->later.next != &mark) {
		struct loop_later *call = LIST_OF(struct loop_later, l->later.next, link);
		list_remove(&call->link);
		l->calls++;
		call->fn(call->ctx);
	}
	l->depth--;
	list_remove(&mark);
	if (!list_is_empty(&l->later))
		wake_at_once(l);
}

static void callback_enter(struct loop *l)
{
	l->depth++;
	l->calls++;
	log_debug(SELECT, 9, "a turn of a loop", KV_UINT("turn", l->calls));
}

static void callback_leave(struct loop *l)
{
	if (--l->depth == 0)
		run_later(l);
}

void loop_later(struct loop *l, struct loop_later *call)
{
	if (list_has(&call->link))
		return;
	if (l->depth == 0)
		wake_at_once(l);
	list_append(&l->later, &call->link);
}

void loop_later_cancel(struct loop_later *call)
{
	list_remove(&call->link);
}

static void io_ready(struct loop_io *io, unsigned what)
{
	struct loop *l = io->loop;
	callback_enter(l);
	io->fn(io->ctx, what);
	callback_leave(l);
}

static void on_read(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what;
	io_ready(ctx, LOOP_READ);
}

static void on_write(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what;
	io_ready(ctx, LOOP_WRITE);
}

/* The kernel refuses only what is not a descriptor of this kind, or when it has no memory. */
static void io_watch(struct loop_io *io, struct event **ev, short what, event_callback_fn fn,
		     bool on)
{
	if (!*ev && on && !(*ev = event_new(io->loop->base, io->fd, what | EV_PERSIST, fn, io)))
		die("no memory for a descriptor's event");
	if (*ev && (on ? event_add(*ev, NULL) : event_del(*ev)) < 0)
		die("descriptor %d cannot be watched: %s", io->fd, strerror(errno));
}

void loop_io_want(struct loop *l, struct loop_io *io, int fd, unsigned want)
{
	if (io->loop && (io->loop != l || io->fd != fd))
		loop_io_end(io);
	if (!io->loop) {
		io->loop = l;
		io->fd = fd;
		l->watched++;
	}
	unsigned change = io->want ^ want;
	io->want = want;
	if (change & LOOP_READ)
		io_watch(io, &io->read, EV_READ, on_read, want & LOOP_READ);
	if (change & LOOP_WRITE)
		io_watch(io, &io->write, EV_WRITE, on_write, want & LOOP_WRITE);
}

static void free_event(struct event **ev)
{
	if (*ev)
		event_free(*ev);
	*ev = NULL;
}

void loop_io_end(struct loop_io *io)
{
	if (!io->loop)
		return;
	free_event(&io->read);
	free_event(&io->write);
	io->loop->watched--;
	io->loop = NULL;
	io->want = 0;
}

/* One event of libevent's serves all timers. It may fire early, never late. */
static void timers_arm(struct loop *l)
{
	struct loop_timer **first = timers_top(&l->timers);
	int64_t due_us = first ? (*first)->due_us : INT64_MAX;
	if (l->manual || due_us >= l->due_us)
		return;
	wake_in(l, MIN(MAX(due_us - clock_mono_us(), 0), US_PER_DAY));
	l->due_us = due_us;
}

static void set_timer(struct loop *l, struct loop_timer *t, int64_t due_us)
{
	loop_timer_stop(t);
	t->loop = l;
	t->due_us = due_us;
	t->turn = l->turn++;
	t->set = true;
	timers_push(&l->timers, t);
	timers_arm(l);
}

static int64_t later_us(int64_t us, int64_t by_us)
{
	int64_t sum;
	return __builtin_add_overflow(us, MAX(by_us, 0), &sum) ? INT64_MAX - 1 : sum;
}

void loop_timer_in(struct loop *l, struct loop_timer *t, int64_t in_us)
{
	t->every_us = 0;
	set_timer(l, t, later_us(loop_now_us(l), in_us));
}

void loop_timer_every(struct loop *l, struct loop_timer *t, int64_t every_us)
{
	t->every_us = MAX(every_us, 1);
	set_timer(l, t, later_us(loop_now_us(l), t->every_us));
}

void loop_timer_stop(struct loop_timer *t)
{
	if (t->set)
		timers_remove(&t->loop->timers, t->at);
	t->set = false;
}

static void run_timer(struct loop *l, struct loop_timer *t, int64_t now_us)
{
	int64_t next_us = later_us(t->due_us, t->every_us);
	loop_timer_stop(t);
	if (t->every_us)
		set_timer(l, t, next_us > now_us ? next_us : later_us(now_us, t->every_us));
	callback_enter(l);
	t->fn(t->ctx);
	callback_leave(l);
}

/* A timer that is set meanwhile has to wait for the next round, even if it is due at once. */
static void run_timers(struct loop *l)
{
	int64_t now_us = loop_now_us(l);
	uint64_t turn = l->turn;
	struct loop_timer **first;
	while ((first = timers_top(&l->timers)) && (*first)->due_us <= now_us &&
	       (*first)->turn < turn)
		run_timer(l, *first, now_us);
}

static void on_due(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what;
	struct loop *l = ctx;
	l->due_us = INT64_MAX;
	if (!l->manual)
		run_timers(l);
	if (l->depth == 0)
		run_later(l);
	timers_arm(l);
}

static void on_signal(void *ctx, unsigned what)
{
	(void)what;
	struct loop *l = ctx;
	struct signalfd_siginfo info;
	while (read(l->signal_fd, &info, sizeof info) == sizeof info) {
		const struct handler *h = &l->handler[info.ssi_signo % NSIG];
		if (h->fn)
			h->fn(h->ctx, (int)info.ssi_signo);
	}
}

int loop_signal(struct loop *l, int number, void (*fn)(void *ctx, int number), void *ctx,
		struct err *err)
{
	sigset_t set = l->signal_set;
	ENSURE(number > 0 && number < NSIG);
	sigaddset(&set, number);
	if ((errno = pthread_sigmask(SIG_BLOCK, &set, NULL)) != 0)
		return err_sys(err, "signal %d cannot be blocked", number);
	int fd = signalfd(l->signal_fd, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_sys(err, "signal %d cannot be watched", number);
	l->signal_fd = fd;
	l->signal_set = set;
	l->handler[number] = (struct handler){fn, ctx};
	loop_io_want(l, &l->signals, fd, LOOP_READ);
	return 0;
}

void loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	struct post *post = mem_alloc(sizeof *post);
	*post = (struct post){.fn = fn, .ctx = ctx};
	pthread_mutex_lock(&l->lock);
	bool first = !l->first;
	*l->last = post;
	l->last = &post->next;
	pthread_mutex_unlock(&l->lock);
	uint64_t one = 1;
	if (first && write(l->wake_fd, &one, sizeof one) < 0)
		die("the loop cannot be woken: %s", strerror(errno));
}

static struct post *take_posts(struct loop *l)
{
	pthread_mutex_lock(&l->lock);
	struct post *first = l->first;
	l->first = NULL;
	l->last = &l->first;
	pthread_mutex_unlock(&l->lock);
	return first;
}

static void on_wake(void *ctx, unsigned what)
{
	(void)what;
	struct loop *l = ctx;
	uint64_t sum;
	if (read(l->wake_fd, &sum, sizeof sum) < 0 && errno != EAGAIN)
		die("the loop's wake-ups cannot be read: %s", strerror(errno));
	struct post *post;
	l->posts = take_posts(l);
	while ((post = l->posts)) {
		l->posts = post->next;
		post->fn(post->ctx);
		mem_free(&post);
		if (l->depth == 1)
			run_later(l);
	}
}

/* Returns where the next one goes. */
static struct post **cancel_posts(struct post **at, const void *ctx)
{
	while (*at) {
		struct post *post = *at;
		if (post->ctx != ctx) {
			at = &post->next;
			continue;
		}
		*at = post->next;
		mem_free(&post);
	}
	return at;
}

void loop_post_cancel(struct loop *l, const void *ctx)
{
	(void)cancel_posts(&l->posts, ctx);
	pthread_mutex_lock(&l->lock);
	l->last = cancel_posts(&l->first, ctx);
	pthread_mutex_unlock(&l->lock);
}

static struct event_base *new_base(void)
{
	struct event_config *config = event_config_new();
	if (!config)
		return NULL;
	struct event_base *base = NULL;
	if (event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV) == 0)
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

int loop_new(struct loop **ret, const struct loop_options *options, struct err *err)
{
	struct loop *l = mem_alloc(sizeof *l);
	*l = (struct loop){.manual = options && options->manual,
			   .manual_us = options ? options->start_us : 0,
			   .due_us = INT64_MAX,
			   .signals = {.fn = on_signal, .ctx = l},
			   .wake = {.fn = on_wake, .ctx = l},
			   .signal_fd = -1,
			   .last = &l->first};
	list_init(&l->later);
	sigemptyset(&l->signal_set);
	pthread_mutex_init(&l->lock, NULL);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake_fd < 0) {
		err_sys(err, "no descriptor to wake the loop with");
		loop_free(&l);
		return -1;
	}
	l->base = new_base();
	l->due = l->base ? event_new(l->base, -1, 0, on_due, l) : NULL;
	if (!l->due) {
		err_set(err, ERR_SYSTEM, "no event loop: the kernel gives no more descriptors?");
		loop_free(&l);
		return -1;
	}
	loop_io_want(l, &l->wake, l->wake_fd, LOOP_READ);
	*ret = l;
	return 0;
}

void loop_free(struct loop **lp)
{
	struct loop *l = *lp;
	if (!l)
		return;
	while (!list_is_empty(&l->later))
		run_later(l);
	loop_io_end(&l->signals);
	loop_io_end(&l->wake);
	ENSURE(l->watched == 0 && timers_count(&l->timers) == 0);
	for (struct post *post = take_posts(l), *next; post; post = next) {
		next = post->next;
		mem_free(&post);
	}
	if (l->wake_fd >= 0)
		close(l->wake_fd);
	if (l->signal_fd >= 0)
		close(l->signal_fd);
	free_event(&l->due);
	if (l->base)
		event_base_free(l->base);
	timers_free(&l->timers);
	pthread_mutex_destroy(&l->lock);
	mem_free(lp);
}

int loop_run(struct loop *l, struct err *err)
{
	ENSURE(!l->manual && l->depth == 0);
	timers_arm(l);
	if (event_base_dispatch(l->base) < 0)
		return err_sys(err, "the event loop failed");
	return 0;
}

void loop_stop(struct loop *l)
{
	event_base_loopbreak(l->base);
}

void loop_poll(struct loop *l)
{
	ENSURE(l->depth == 0);
	if (event_base_loop(l->base, EVLOOP_ONCE | EVLOOP_NONBLOCK) < 0)
		die("the event loop failed: %s", strerror(errno));
	run_timers(l);
}

static void loop_settle(struct loop *l)
{
	uint64_t before;
	int rounds = 0;
	do {
		before = l->calls;
		loop_poll(l);
	} while (l->calls != before && ++rounds < STEP_ROUNDS);
}

void loop_step(struct loop *l, int64_t until_us)
{
	struct loop_timer **first;
	ENSURE(l->manual);
	loop_settle(l);
	while ((first = timers_top(&l->timers)) && (*first)->due_us <= until_us) {
		l->manual_us = MAX(l->manual_us, (*first)->due_us);
		loop_settle(l);
	}
	l->manual_us = MAX(l->manual_us, until_us);
}
