/* Orders of the administrator for the thread that collects: a list with a lock, and a descriptor
 * that wakes that thread. Who gave an order waits for it; one that was not begun in time is taken
 * back, one that was begun is waited for, since it uses what belongs to who gave it. */
#include "broker/control.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/thread.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum placed_state { PLACED_WAITS, PLACED_RUNS, PLACED_DONE };

/* On the stack of who gave it. */
struct placed {
	struct link link;
	const struct control_order *order;
	struct buf *out;
	struct err *err;
	enum placed_state state;
	int rc;
};

struct control {
	struct control_hooks hooks;
	int fd;
	pthread_mutex_t lock;
	pthread_cond_t done;
	/* With the lock: */
	struct link waiting;
	bool ended;
};

int control_new(struct control **ret, struct err *err)
{
	struct control *c = mem_alloc(sizeof *c);
	c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->fd < 0) {
		mem_free(&c);
		return err_sys(err, "eventfd");
	}
	list_init(&c->waiting);
	thread_cond_init(&c->done);
	ENSURE(pthread_mutex_init(&c->lock, NULL) == 0);
	*ret = c;
	return 0;
}

void control_free(struct control **cp)
{
	struct control *c = *cp;
	if (!c)
		return;
	ENSURE(list_is_empty(&c->waiting));
	(void)close(c->fd);
	ENSURE(pthread_cond_destroy(&c->done) == 0);
	ENSURE(pthread_mutex_destroy(&c->lock) == 0);
	mem_free(cp);
}

void control_hook(struct control *c, const struct control_hooks *hooks)
{
	c->hooks = *hooks;
}

int control_fd(const struct control *c)
{
	return c->fd;
}

/* Giving orders */

static int refuse_ended(struct err *err)
{
	return err_set(err, ERR_BUSY, "the broker ends or starts again, nothing was done");
}

static void wait_for_order(struct control *c, struct placed *p, int64_t wait_us)
{
	int64_t until_us = clock_mono_us() + wait_us;
	while (p->state != PLACED_DONE) {
		if (p->state != PLACED_WAITS) {
			pthread_cond_wait(&c->done, &c->lock);
			continue;
		}
		if (thread_cond_wait(&c->done, &c->lock, until_us) || p->state != PLACED_WAITS)
			continue;
		list_remove(&p->link);
		p->state = PLACED_DONE;
		p->rc = err_set(p->err, ERR_BUSY,
				"the collector is busy and did not come to it in time, nothing was "
				"done");
	}
}

int control_do(struct control *c, const struct control_order *order, int64_t wait_us,
	       struct buf *out, struct err *err)
{
	static const uint64_t one = 1;
	struct placed p = {.order = order, .out = out, .err = err};
	pthread_mutex_lock(&c->lock);
	if (c->ended) {
		p.rc = refuse_ended(err);
	} else {
		list_append(&c->waiting, &p.link);
		(void)!write(c->fd, &one, sizeof one); /* it cannot be full */
		wait_for_order(c, &p, wait_us);
	}
	pthread_mutex_unlock(&c->lock);
	return p.rc;
}

static void tell_done(struct control *c, struct placed *p, int rc)
{
	p->rc = rc;
	p->state = PLACED_DONE;
	pthread_cond_broadcast(&c->done);
}

void control_end(struct control *c)
{
	pthread_mutex_lock(&c->lock);
	c->ended = true;
	LIST_EACH (struct placed, p, &c->waiting, link) {
		list_remove(&p->link);
		tell_done(c, p, refuse_ended(p->err));
	}
	pthread_mutex_unlock(&c->lock);
}

void control_again(struct control *c)
{
	pthread_mutex_lock(&c->lock);
	c->ended = false;
	pthread_mutex_unlock(&c->lock);
}

/* Doing them, in the thread that collects. 1: it is refused, as err says; negative: a store failed.
 */

static int do_collect(struct collector *c, const struct control_order *o, struct buf *out,
		      struct err *err)
{
	(void)o, (void)err;
	size_t n = collector_ask_all(c, clock_mono_us());
	if (n == 0)
		buf_add_text(out, "there are no gatherers to ask; sources of this machine are "
				  "followed all the time");
	else
		buf_printf(out, "%zu gatherer%s now being asked", n, n == 1 ? " is" : "s are");
	return 0;
}

static int do_clean(struct collector *c, const struct control_order *o, struct buf *out,
		    struct err *err)
{
	(void)o, (void)err;
	collector_clean(c);
	buf_add_text(out, "objects that have expired are being dropped, then the registry is "
			  "compressed");
	return 0;
}

static int do_full(struct collector *c, const struct control_order *o, struct buf *out,
		   struct err *err)
{
	(void)o, (void)err;
	buf_add_text(out, collector_rebuild(c) == 0
				  ? "the index is being built again; the old one answers until then"
				  : "the index is already being built again");
	return 0;
}

static int do_index(struct collector *c, const struct control_order *o, struct buf *out,
		    struct err *err)
{
	uint64_t docs, behind;
	(void)o;
	if (collector_commit(c, err) < 0 || collector_index_stats(c, &docs, &behind, err) < 0)
		return -1;
	if (behind == 0)
		buf_printf(out, "the index has all changes and %llu documents",
			   (unsigned long long)docs);
	else
		buf_printf(out, "the index is being told what it lacks, %llu bytes of the registry",
			   (unsigned long long)behind);
	return 0;
}

static int do_add(struct collector *c, const struct control_order *o, struct buf *out,
		  struct err *err)
{
	struct collector_added added;
	int rc = collector_add(c, o->text, &added, err);
	if (rc != 0)
		return rc;
	buf_printf(out, "%llu object%s taken, %llu left out", (unsigned long long)added.taken,
		   added.taken == 1 ? " was" : "s were", (unsigned long long)added.bad);
	if (!added.ended)
		buf_add_text(out, " so far, and there are more; the log says when all are");
	return 0;
}

static int do_drop(struct collector *c, const struct control_order *o, struct buf *out,
		   struct err *err)
{
	size_t n;
	if (collector_drop(c, o->oid, o->oids, &n, err) < 0)
		return -1;
	if (o->ret_dropped)
		*o->ret_dropped = n;
	buf_printf(out, "%zu object%s deleted", n, n == 1 ? " was" : "s were");
	return 0;
}

static int do_set(struct collector *c, const struct control_order *o, struct buf *out,
		  struct err *err)
{
	(void)out, (void)err;
	collector_set(c, o->set, o->us);
	return 0;
}

typedef int order_fn(struct collector *c, const struct control_order *o, struct buf *out,
		     struct err *err);
static order_fn *const orders[] = {
	[CONTROL_COLLECT] = do_collect, [CONTROL_CLEAN] = do_clean, [CONTROL_FULL] = do_full,
	[CONTROL_INDEX] = do_index,     [CONTROL_ADD] = do_add,     [CONTROL_DROP] = do_drop,
	[CONTROL_SET] = do_set,
};

static int do_restart(struct control *c, struct buf *out, enum control_then *then, struct err *err)
{
	if (!c->hooks.restart) {
		(void)err_set(err, ERR_USAGE, "it cannot read its configuration again here");
		return 1;
	}
	if (c->hooks.restart(c->hooks.ctx, out, err) < 0)
		return 1;
	*then = CONTROL_THEN_RESTART;
	return 0;
}

static int do_order(struct control *c, struct collector *collector, const struct placed *p,
		    enum control_then *then, struct err *err)
{
	if (p->order->kind == CONTROL_RESTART)
		return do_restart(c, p->out, then, err);
	if (p->order->kind == CONTROL_SHUTDOWN) {
		*then = CONTROL_THEN_END;
		buf_add_text(p->out, c->hooks.shutdown ? c->hooks.shutdown : "the broker ends");
		return 0;
	}
	if (!collector) {
		(void)err_set(err, ERR_BUSY, "a store failed and is opened again, try later");
		return 1;
	}
	return orders[p->order->kind](collector, p->order, p->out, err);
}

/* The next order; NULL: there is none. */
static struct placed *take_order(struct control *c)
{
	pthread_mutex_lock(&c->lock);
	struct placed *p = LIST_FIRST(struct placed, &c->waiting, link);
	if (p) {
		list_remove(&p->link);
		p->state = PLACED_RUNS;
	}
	pthread_mutex_unlock(&c->lock);
	return p;
}

int control_run(struct control *c, struct collector *collector, enum control_then *ret,
		struct err *err)
{
	uint64_t count;
	struct placed *p;
	int rc = 0;
	(void)!read(c->fd, &count, sizeof count);
	*ret = CONTROL_GO_ON;
	while (rc == 0 && *ret == CONTROL_GO_ON && (p = take_order(c)) != NULL) {
		struct err why = {0};
		int did = do_order(c, collector, p, ret, &why);
		if (did < 0) {
			*err = why;
			rc = -1;
		}
		pthread_mutex_lock(&c->lock);
		if (did != 0)
			*p->err = why;
		tell_done(c, p, did == 0 ? 0 : -1);
		pthread_mutex_unlock(&c->lock);
	}
	return rc;
}
