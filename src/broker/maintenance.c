#include "broker/maintenance.h"

#include "base/clock.h"
#include "base/thread.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* Bytes of segments that one merge of the first thread has; and how much the other one gives way to
 * who collects and answers. */
enum { SMALL_BYTES = 64 << 20, NICE = 10 };

#define REST_MIN_US (10 * US_PER_S)
#define REST_MAX_US (600 * US_PER_S)

struct worker {
	struct maintenance *maintenance;
	pthread_t thread;
	uint64_t most; /* of a merge */
	bool runs;     /* the thread was started */
	bool merge;    /* there may be something to merge */
	unsigned failures;
	int64_t again_us; /* it merges nothing before */
};

enum { SMALL, ALL, WORKERS };

struct maintenance {
	struct words_writer *words;
	struct worker worker[WORKERS];
	int fd;
	pthread_mutex_t lock; /* all that follows, and the workers */
	pthread_cond_t more, done;
	bool stop;
	struct err err; /* of the first merge that failed and was not told */
	/* The job of the second worker. */
	maintenance_fn *fn;
	void *ctx;
	bool waits, ended;
	int rc;
	struct err why;
};

static void tell_owner(const struct maintenance *t)
{
	(void)!write(t->fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void merge_segments(struct worker *w)
{
	struct maintenance *t = w->maintenance;
	struct err err = {0};
	int rc;
	w->merge = false;
	pthread_mutex_unlock(&t->lock);
	bool some = false;
	while ((rc = words_merge(t->words, w->most, &err)) == 0) {
		some = true;
		tell_owner(t);
	}
	pthread_mutex_lock(&t->lock);
	if (some || rc > 0)
		w->failures = 0;
	if (rc > 0)
		return;
	w->again_us = clock_mono_us() + maintenance_rest_us(++w->failures);
	if (t->err.code == ERR_NONE)
		t->err = err;
	tell_owner(t);
}

static void do_job(struct maintenance *t)
{
	struct err err = {0};
	t->waits = false;
	pthread_mutex_unlock(&t->lock);
	int rc = t->fn(t->ctx, &err);
	pthread_mutex_lock(&t->lock);
	t->rc = rc;
	t->why = err;
	t->ended = true;
	pthread_cond_signal(&t->done);
	tell_owner(t);
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct maintenance *t = w->maintenance;
	bool jobs = w == &t->worker[ALL];
	if (jobs)
		(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		if (jobs && t->waits)
			do_job(t);
		else if (w->merge)
			merge_segments(w);
		else
			pthread_cond_wait(&t->more, &t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

int maintenance_open(struct maintenance **ret, struct words_writer *words, struct err *err)
{
	static const uint64_t most[WORKERS] = {SMALL_BYTES, UINT64_MAX};
	struct maintenance *t = mem_alloc(sizeof *t);
	t->words = words;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->more, NULL);
	pthread_cond_init(&t->done, NULL);
	t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = t->fd < 0 ? err_sys(err, "eventfd") : 0;
	for (size_t i = 0; i < WORKERS && rc == 0; i++) {
		struct worker *w = &t->worker[i];
		*w = (struct worker){.maintenance = t, .most = most[i], .merge = true};
		rc = thread_start(&w->thread, worker_run, w, err);
		w->runs = rc == 0;
	}
	if (rc < 0)
		maintenance_close(&t);
	else
		*ret = t;
	return rc;
}

void maintenance_close(struct maintenance **tp)
{
	struct maintenance *t = *tp;
	if (!t)
		return;
	words_stop_merging(t->words);
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < WORKERS; i++)
		if (t->worker[i].runs)
			pthread_join(t->worker[i].thread, NULL);
	if (t->fd >= 0)
		(void)close(t->fd);
	pthread_cond_destroy(&t->more);
	pthread_cond_destroy(&t->done);
	pthread_mutex_destroy(&t->lock);
	mem_free(tp);
}

void maintenance_merge(struct maintenance *t)
{
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < WORKERS; i++)
		t->worker[i].merge |= clock_mono_us() >= t->worker[i].again_us;
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->lock);
}

void maintenance_begin(struct maintenance *t, maintenance_fn *fn, void *ctx)
{
	pthread_mutex_lock(&t->lock);
	t->fn = fn;
	t->ctx = ctx;
	t->waits = true;
	t->ended = false;
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->lock);
}

int maintenance_ended(struct maintenance *t, int *ret, struct err *err)
{
	pthread_mutex_lock(&t->lock);
	bool ended = t->ended;
	if (ended) {
		*ret = t->rc;
		if (t->rc < 0)
			*err = t->why;
	}
	pthread_mutex_unlock(&t->lock);
	return ended ? 0 : 1;
}

void maintenance_wait(struct maintenance *t)
{
	pthread_mutex_lock(&t->lock);
	while (!t->ended)
		pthread_cond_wait(&t->done, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

int maintenance_fd(const struct maintenance *t)
{
	return t->fd;
}

int maintenance_look(struct maintenance *t, struct err *err)
{
	uint64_t n;
	int rc = 0;
	(void)!read(t->fd, &n, sizeof n);
	pthread_mutex_lock(&t->lock);
	if (t->err.code != ERR_NONE) {
		*err = t->err;
		t->err = (struct err){0};
		rc = -1;
	}
	pthread_mutex_unlock(&t->lock);
	return rc;
}

int64_t maintenance_rest_us(unsigned failures)
{
	return backoff_us(failures, REST_MIN_US, REST_MAX_US);
}
