#include "net/http_pool.h"

#include "base/thread.h"

struct http_pool {
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	struct http_job *first, **last;
	size_t claimed, most; /* places in the queue, with those that are being worked on */
	bool ending;
	size_t nthreads;
	pthread_t thread[];
};

static struct http_job *take(struct http_pool *p)
{
	while (!p->first && !(p->ending && p->claimed == 0))
		pthread_cond_wait(&p->work, &p->lock);
	struct http_job *job = p->first;
	if (job) {
		p->first = job->next;
		if (!p->first)
			p->last = &p->first;
	}
	return job;
}

static void *work(void *arg)
{
	struct http_pool *p = arg;
	struct http_job *job;
	pthread_mutex_lock(&p->lock);
	while ((job = take(p))) {
		pthread_mutex_unlock(&p->lock);
		job->run(job);
		pthread_mutex_lock(&p->lock);
		if (--p->claimed == 0)
			pthread_cond_broadcast(&p->idle);
	}
	pthread_cond_broadcast(&p->work); /* the others may end too */
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int http_pool_new(struct http_pool **ret, size_t threads, size_t queue, struct err *err)
{
	struct http_pool *p = mem_alloc(sizeof *p + threads * sizeof p->thread[0]);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->idle, NULL);
	p->last = &p->first;
	p->most = queue + threads;
	for (; p->nthreads < threads; p->nthreads++)
		if (thread_start(&p->thread[p->nthreads], work, p, err) < 0) {
			http_pool_free(&p);
			return -1;
		}
	*ret = p;
	return 0;
}

bool http_pool_claim(struct http_pool *p)
{
	pthread_mutex_lock(&p->lock);
	bool granted = !p->ending && p->claimed < p->most;
	p->claimed += granted;
	pthread_mutex_unlock(&p->lock);
	return granted;
}

void http_pool_post(struct http_pool *p, struct http_job *job)
{
	pthread_mutex_lock(&p->lock);
	job->next = NULL;
	*p->last = job;
	p->last = &job->next;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void http_pool_drain(struct http_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	while (p->claimed)
		pthread_cond_wait(&p->idle, &p->lock);
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void http_pool_free(struct http_pool **pp)
{
	struct http_pool *p = *pp;
	if (!p)
		return;
	http_pool_drain(p);
	for (size_t i = 0; i < p->nthreads; i++)
		pthread_join(p->thread[i], NULL);
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	mem_free(pp);
}
