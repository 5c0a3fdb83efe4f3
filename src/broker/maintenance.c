/* Two pools of one thread each. A worker is posted when there may be something to do and runs until
 * there is not; merges of small segments have a thread of their own, so that they never wait for a
 * long one. */
#include "broker/maintenance.h"

#include "base/clock.h"
#include "base/pool.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The most bytes that one merge of the first thread takes; how far the other thread yields to
 * collecting and answering. */
enum { SMALL_BYTES = 64 << 20, NICE = 10 };

#define REST_MIN_US (10 * US_PER_S)
#define REST_MAX_US (600 * US_PER_S)

struct worker {
	struct maintenance *maintenance;
	struct pool *pool;    /* of one thread */
	struct pool_job work; /* worker_run() */
	bool busy;            /* that is posted */
	uint64_t most;        /* of a merge */
	bool merge;           /* there may be something to merge */
	unsigned failures;
	int64_t again_us; /* it merges nothing before */
};

enum { SMALL, ALL, WORKERS };

struct maintenance {
	struct words_writer *words;
	struct worker worker[WORKERS];
	int fd;
	pthread_mutex_t lock; /* all that follows, and the workers */
	bool stop;
	struct err err; /* of the first merge that failed and was not told */
	/* The job of the second worker. */
	maintenance_fn *fn;
	void *ctx;
	bool waits, ended;
	int rc;
	struct err why;
};

static void tell_owner(const struct maintenance *m)
{
	(void)!write(m->fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void merge_segments(struct worker *w)
{
	struct maintenance *m = w->maintenance;
	struct err err = {0};
	int rc;
	w->merge = false;
	pthread_mutex_unlock(&m->lock);
	bool some = false;
	while ((rc = words_merge(m->words, w->most, &err)) == 0) {
		some = true;
		tell_owner(m);
	}
	pthread_mutex_lock(&m->lock);
	if (some || rc > 0)
		w->failures = 0;
	if (rc > 0)
		return;
	w->again_us = clock_mono_us() + maintenance_rest_us(++w->failures);
	if (m->err.code == ERR_NONE)
		m->err = err;
	tell_owner(m);
}

static void do_job(struct maintenance *m)
{
	struct err err = {0};
	m->waits = false;
	pthread_mutex_unlock(&m->lock);
	int rc = m->fn(m->ctx, &err);
	pthread_mutex_lock(&m->lock);
	m->rc = rc;
	m->why = err;
	m->ended = true;
	tell_owner(m);
}

/* All that there is to do; a job goes before merges. */
static void worker_run(struct pool_job *work)
{
	struct worker *w = LIST_OF(struct worker, work, work);
	struct maintenance *m = w->maintenance;
	pthread_mutex_lock(&m->lock);
	while (!m->stop) {
		if (w == &m->worker[ALL] && m->waits)
			do_job(m);
		else if (w->merge)
			merge_segments(w);
		else
			break;
	}
	w->busy = false;
	pthread_mutex_unlock(&m->lock);
}

/* With the lock held. */
static void wake_worker(struct worker *w)
{
	if (w->busy)
		return;
	w->busy = true;
	w->work = (struct pool_job){.run = worker_run};
	pool_post(w->pool, &w->work);
}

int maintenance_open(struct maintenance **ret, struct words_writer *words, struct err *err)
{
	static const uint64_t most[WORKERS] = {SMALL_BYTES, UINT64_MAX};
	static const int nice[WORKERS] = {0, NICE};
	struct maintenance *m = mem_alloc(sizeof *m);
	m->words = words;
	pthread_mutex_init(&m->lock, NULL);
	m->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = m->fd < 0 ? err_sys(err, "eventfd") : 0;
	for (size_t i = 0; i < WORKERS && rc == 0; i++) {
		struct worker *w = &m->worker[i];
		struct pool_options options = {.threads = 1, .nice = nice[i]};
		*w = (struct worker){.maintenance = m, .most = most[i]};
		rc = pool_new(&w->pool, &options, err);
	}
	if (rc < 0) {
		maintenance_close(&m);
		return -1;
	}
	maintenance_merge(m);
	*ret = m;
	return 0;
}

void maintenance_close(struct maintenance **mp)
{
	struct maintenance *m = *mp;
	if (!m)
		return;
	words_stop_merging(m->words);
	pthread_mutex_lock(&m->lock);
	m->stop = true;
	pthread_mutex_unlock(&m->lock);
	for (size_t i = 0; i < WORKERS; i++)
		pool_free(&m->worker[i].pool);
	if (m->fd >= 0)
		(void)close(m->fd);
	pthread_mutex_destroy(&m->lock);
	mem_free(mp);
}

void maintenance_merge(struct maintenance *m)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < WORKERS; i++)
		if (clock_mono_us() >= m->worker[i].again_us) {
			m->worker[i].merge = true;
			wake_worker(&m->worker[i]);
		}
	pthread_mutex_unlock(&m->lock);
}

void maintenance_begin(struct maintenance *m, maintenance_fn *fn, void *ctx)
{
	pthread_mutex_lock(&m->lock);
	m->fn = fn;
	m->ctx = ctx;
	m->waits = true;
	m->ended = false;
	wake_worker(&m->worker[ALL]);
	pthread_mutex_unlock(&m->lock);
}

int maintenance_ended(struct maintenance *m, int *ret, struct err *err)
{
	pthread_mutex_lock(&m->lock);
	bool ended = m->ended;
	if (ended) {
		*ret = m->rc;
		if (m->rc < 0)
			*err = m->why;
	}
	pthread_mutex_unlock(&m->lock);
	return ended ? 0 : 1;
}

int maintenance_fd(const struct maintenance *m)
{
	return m->fd;
}

int maintenance_look(struct maintenance *m, struct err *err)
{
	uint64_t n;
	int rc = 0;
	(void)!read(m->fd, &n, sizeof n);
	pthread_mutex_lock(&m->lock);
	if (m->err.code != ERR_NONE) {
		*err = m->err;
		m->err = (struct err){0};
		rc = -1;
	}
	pthread_mutex_unlock(&m->lock);
	return rc;
}

int64_t maintenance_rest_us(unsigned failures)
{
	return backoff_us(failures, REST_MIN_US, REST_MAX_US);
}
