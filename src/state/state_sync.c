#include "state/state_sync.h"

#include "base/thread.h"

/* The jobs of one run are taken one after the other by whoever is free: the threads, and the one
 * that asked. */
struct sync_pool {
	pthread_mutex_t lock;
	pthread_cond_t more, done;
	pthread_t thread[SYNC_JOBS];
	size_t threads;
	struct sync_job *job;
	size_t n, taken, ended;
	bool stop;
};

struct sync_pool *sync_pool_new(void)
{
	struct sync_pool *p = mem_alloc(sizeof *p);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->done, NULL);
	return p;
}

/* With the lock held, and a job to take. */
static void run_one(struct sync_pool *p)
{
	struct sync_job *job = &p->job[p->taken++];
	pthread_mutex_unlock(&p->lock);
	job->rc = job->run(job->ctx, &job->err);
	pthread_mutex_lock(&p->lock);
	if (++p->ended == p->n)
		pthread_cond_signal(&p->done);
}

static void *work(void *arg)
{
	struct sync_pool *p = arg;
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->stop && p->taken == p->n)
			pthread_cond_wait(&p->more, &p->lock);
		if (p->taken < p->n)
			run_one(p);
		else if (p->stop)
			break;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int sync_pool_run(struct sync_pool *p, struct sync_job *job, size_t n, struct err *err)
{
	struct err ignored; /* without a thread the caller does its work */
	ENSURE(n <= SYNC_JOBS);
	while (p->threads + 1 < n && thread_start(&p->thread[p->threads], work, p, &ignored) == 0)
		p->threads++;
	pthread_mutex_lock(&p->lock);
	p->job = job;
	p->n = n;
	p->taken = p->ended = 0;
	pthread_cond_broadcast(&p->more);
	while (p->taken < p->n)
		run_one(p);
	while (p->ended < p->n)
		pthread_cond_wait(&p->done, &p->lock);
	p->n = p->taken = 0;
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < n; i++) {
		if (job[i].rc < 0) {
			*err = job[i].err;
			return -1;
		}
	}
	return 0;
}

void sync_pool_free(struct sync_pool **pp)
{
	struct sync_pool *p = *pp;
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->threads; i++)
		pthread_join(p->thread[i], NULL);
	pthread_cond_destroy(&p->more);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	mem_free(pp);
}
